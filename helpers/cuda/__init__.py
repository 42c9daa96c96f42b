"""The ladder's CUDA kernels for Numba, one file a step, in the order of `ladder.STEPS`; pages show them whole."""
