"""Is it right? The verdict on whatever computes A @ B, with the cause and the line when it is wrong: `judge`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "findings": ["Drawn", "Finding", "Kind"],
        "function": ["Function"],
        "moves": ["examine", "judge"],
        "product": ["Product", "Seen", "Wrong"],
        "reference": ["error_bound", "held", "wrong_elements"],
        "report": ["Report"],
        "words": ["set_language"],
    },
)
