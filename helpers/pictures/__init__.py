"""What does a learner look at? Sources, who computes and reads what, films, charts, rooflines."""

import lazy_loader

# Loaded when first asked for: a page that shows sources need not wait for Matplotlib.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "charts": [
            "executed_chart",
            "growth_chart",
            "ladder_chart",
            "ladder_roofline",
            "picture_landscape",
            "picture_occupancy",
            "roofline",
            "scoreboard_chart",
        ],
        "drawing": ["Picture"],
        "films": ["Film", "film"],
        "fragments": ["picture_fragments"],
        "many": ["film_panels", "picture_ranks", "picture_summa", "prediction_chart"],
        "predicted": ["picture_units", "predict_beside", "print_requests", "published_chart"],
        "sources": ["show", "show_changes"],
        "traced": [
            "picture_addresses",
            "picture_banks",
            "picture_order",
            "picture_owners",
            "picture_product",
            "picture_program",
            "picture_reads",
            "picture_share",
            "picture_stages",
            "picture_warps",
        ],
    },
)
