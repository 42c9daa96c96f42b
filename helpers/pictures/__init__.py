"""What does a learner look at? Sources, who computes and reads what, films, charts, rooflines."""

from .charts import executed_chart, growth_chart, ladder_chart, picture_landscape, picture_units, roofline
from .drawing import Picture
from .films import Film, film
from .indices import picture_fragments, picture_order, picture_program, picture_rungs, picture_summa
from .sources import show, show_changes
from .traced import picture_addresses, picture_owners, picture_share, picture_stages
