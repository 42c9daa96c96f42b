"""What does a learner look at? Sources, who computes and reads what, films, charts, rooflines."""

from .charts import (
    growth_chart,
    ladder_chart,
    ladder_roofline,
    picture_landscape,
    picture_occupancy,
    predicted_roofline,
    roofline,
    scoreboard_chart,
)
from .drawing import Picture
from .film import Film, film
from .show import show, show_changes
from .traced import (
    picture_addresses,
    picture_banks,
    picture_order,
    picture_owners,
    picture_product,
    picture_reads,
    picture_share,
    picture_warps,
)

__all__ = [
    "Film",
    "Picture",
    "film",
    "growth_chart",
    "ladder_chart",
    "ladder_roofline",
    "picture_addresses",
    "picture_banks",
    "picture_landscape",
    "picture_occupancy",
    "picture_order",
    "picture_owners",
    "picture_product",
    "picture_reads",
    "picture_share",
    "picture_warps",
    "predicted_roofline",
    "roofline",
    "scoreboard_chart",
    "show",
    "show_changes",
]
