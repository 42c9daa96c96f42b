"""What became of a kernel written for ROC (HSA), and what is a kernel as the code of an AMD GPU?

`roc` has the old words, `hsa` two old kernels, and `vocabulary` compares their words with others'; these three load
Numba, so call `cuda_without_gpu.enable` first where there is no GPU. `compile_for_amd` needs none. README.md shows how.
"""

from .amd import GPUS, AMDReport, compile_for_amd

__all__ = ["GPUS", "AMDReport", "compile_for_amd"]
