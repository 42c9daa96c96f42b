"""Who is how far, and whose kernel is fastest? Answers judged outside their notebooks; a contest and its board."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "ranking": ["Board", "board"],
        "entries": ["NotEntered", "enter"],
        "homework": ["EXERCISES", "Exercise", "judge_source"],
        "standing": ["ClassTable", "progress"],
    },
)
