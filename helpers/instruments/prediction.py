"""How long a kernel of the course takes on a GPU that is not there: what is counted of it, given to `gpu_model`."""

import gpu_model
from gpu_model import GPU, Prediction
from gpu_model.gpus import arch_of, known

from .. import ladder
from ..arguments import sizes
from ..launch import Kernel
from .compiler import for_gpu
from .counts import counts_of


def predict(k: Kernel | str, gpu: GPU | str, M: int, N: int, K: int) -> Prediction:
    """Predict a product of (M, K) by (K, N) on a GPU that need not be there. Returns `Prediction`.

    `k`: a CUDA kernel, or the name of a step, which then has a GPU's parameters. `gpu`: a name of `GPUS`, or a `GPU`.
    Counts are of whole tiles, in matrices whose rows begin on lines of 128 bytes; what a launch costs is left out.
    What the course has not counted is counted with NVIDIA's compiler.
    Raises ValueError for what is no CUDA kernel or no GPU, and for a GPU that lacks what the step uses; KernelError for
    what does not compile, and for what is no product; `needs.Missing` for a kernel that the course has not counted,
    where that compiler is missing.
    """
    M, N, K = sizes((M, N, K))
    gpu = known(gpu)
    k = for_gpu(k)
    least, has = ladder.step(k.step).capability, (int(gpu.arch[3:-1]), int(gpu.arch[-1]))
    if least > has:
        raise ValueError(
            f"{k.step} needs compute capability {'.'.join(map(str, least))}; {gpu.name} has {'.'.join(map(str, has))}."
        )
    counts = counts_of(k, arch_of(gpu))
    return gpu_model.predict(counts, gpu, M, N, K, by_rows=ladder.step(k.step).x_along == "rows")


def predicted_ladder(gpu: GPU | str, size: int = 4096, steps: list[str] | None = None) -> tuple[Prediction, ...]:
    """The `Prediction` of each CUDA rung, or of those `steps`, at M = N = K = `size`, with a GPU's parameters."""
    return tuple(predict(step, gpu, size, size, size) for step in steps or ladder.steps("CUDA"))


def print_requests(k: Kernel) -> None:
    """Print a CUDA kernel's requests to shared memory, and its instructions, for each multiply-add of a warp.

    It is compiled for an A6000. Requests that bring each thread four numbers, 16 bytes, are told apart from those that
    bring it one. Raises what `counts_of` raises.
    """
    tile = counts_of(k, gpu_model.GPUS["A6000"].arch).tile
    asked = {"one": 0.0, "four": 0.0}
    for (memory, _, size), many in tile.requests.items():
        if memory == "shared":
            asked["four" if size == 32 * 16 else "one"] += many / tile.fma
    print(
        f"{k.step:12} {asked['one']:.3f} requests for one number, {asked['four']:.3f} for four; "
        f"{tile.instructions / tile.fma:.2f} instructions"
    )


def predict_beside(mine: Kernel, rung: str, gpu: str = "A6000", size: int = 4096) -> None:
    """Print what the model predicts for a kernel and for a rung of the ladder, at M = N = K = `size`.

    mine  a CUDA kernel, with sizes for a GPU
    rung  the name of a step, which has a GPU's parameters
    gpu   a name of `GPUS`
    Raises what `predict` raises.
    """
    for name, k in {"this kernel": mine, rung: rung}.items():
        p = predict(k, gpu, size, size, size)
        print(f"{name:11} {p.gflops:7,.0f} GFLOP/s predicted for {gpu}, by {p.limit}")
