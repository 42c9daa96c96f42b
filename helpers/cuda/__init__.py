"""The ladder's CUDA kernels for Numba, one file a step, in the order of `ladder.STEPS`; each file is read whole on its page."""
