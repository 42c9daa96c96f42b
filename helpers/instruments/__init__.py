"""What does a kernel do that no clock shows? What it touches and moves, what its warps ask for, how it was compiled."""

import lazy_loader

# Loaded when first asked for: who reads the table of GPUs need not wait for Numba.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
