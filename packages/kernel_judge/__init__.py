"""Is it right? The verdict on whatever computes A @ B, with the cause and the line when it is wrong: `judge`."""

import lazy_loader

# Loaded when first asked for: who only says a sentence needs no NumPy.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
