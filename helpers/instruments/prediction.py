"""How long a kernel of the course takes on a GPU that is not there: what is counted of it, given to `gpu_model`."""

import gpu_model
from gpu_model import GPU, Prediction
from gpu_model.gpus import known
from gpu_model.published import arch_of

from .. import ladder
from ..launch import Kernel, cuda_kernel
from ..launch.given import sizes, takes
from .counts import counts_of


@takes
def predict(k: Kernel | str, gpu: GPU | str, M: int, N: int, K: int) -> Prediction:
    """Predict a product of (M, K) by (K, N) on a GPU that need not be there. Returns `Prediction`.

    `k`: a CUDA kernel, or the name of a step, which then has a GPU's parameters. `gpu`: a name of `GPUS`, or a `GPU`.
    Counts are of whole tiles, in matrices whose rows begin on lines of 128 bytes; what a launch costs is left out.
    Raises ValueError for what is no CUDA kernel or no GPU, and for a GPU that lacks what the step uses; KernelError for
    a kernel that is not kept, or has other parameters than the counted ones, where NVIDIA's compiler is missing.
    """
    M, N, K = sizes((M, N, K))
    gpu = known(gpu)
    if not isinstance(k, Kernel):
        k = cuda_kernel(k, **ladder.step(k, "CUDA").defaults["GPU"])
    if k.dialect != "CUDA":
        raise ValueError(
            f"{k} is compiled inside its {k.dialect} driver; the model counts what NVIDIA's compiler makes."
        )
    least, has = ladder.step(k.step).capability, (int(gpu.arch[3:-1]), int(gpu.arch[-1]))
    if least > has:
        raise ValueError(
            f"{k.step} needs compute capability {'.'.join(map(str, least))}; {gpu.name} has {'.'.join(map(str, has))}."
        )
    return gpu_model.predict(counts_of(k, arch_of(gpu)), gpu, M, N, K, by_rows=ladder.step(k.step).x_along == "rows")


@takes
def predicted_ladder(gpu: GPU | str, size: int = 4096, steps: list[str] | None = None) -> tuple[Prediction, ...]:
    """The `Prediction` of each CUDA rung, or of those `steps`, at M = N = K = `size`, with a GPU's parameters."""
    return tuple(predict(step, gpu, size, size, size) for step in steps or ladder.steps("CUDA"))
