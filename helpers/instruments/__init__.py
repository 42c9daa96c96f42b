"""What does a kernel do that no clock shows? What it touches and moves, what its warps ask for, how it was compiled."""

import lazy_loader

# Loaded when first asked for: who traces a kernel need not wait for the model of a GPU.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
