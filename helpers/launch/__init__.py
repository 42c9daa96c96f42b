"""How does a kernel run? A built kernel of either dialect, k(A, B) -> C: NumPy arrays in, a NumPy array out."""

import lazy_loader

# Loaded when first asked for: what runs OpenCL alone, such as a rank of page 15, need not wait for Numba.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
