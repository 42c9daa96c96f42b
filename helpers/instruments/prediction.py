"""How long a kernel of the course takes on a GPU that is not there: what is counted of it, given to `gpu_model`."""

import gpu_model
from gpu_model import GPU, Prediction
from gpu_model.gpus import known
from gpu_model.published import arch_of

from .. import ladder
from ..launch import Kernel, KernelError
from ..launch.given import Count, sizes, takes
from .compiler import for_gpu
from .counts import count, counts_of


@takes
def predict(k: Kernel | str, gpu: GPU | str, M: Count, N: Count, K: Count) -> Prediction:
    """Predict a product of (M, K) by (K, N) on a GPU that need not be there. Returns `Prediction`.

    `k`: a CUDA kernel, or the name of a step, which then has a GPU's parameters. `gpu`: a name of `GPUS`, or a `GPU`.
    Counts are of whole tiles, in matrices whose rows begin on lines of 128 bytes; what a launch costs is left out.
    What the course has not counted is counted with NVIDIA's compiler; an older one is named in the last line.
    Raises ValueError for what is no CUDA kernel or no GPU, and for a GPU that lacks what the step uses; KernelError for
    what does not compile, for what is no product, and where that compiler is needed and missing.
    """
    return predicted(k, gpu, M, N, K, counts_of)


def predicted(k, gpu, M, N, K, counted):
    """The same. `counted`: a function of a kernel and an architecture, which gives its `Counts`."""
    M, N, K = sizes((M, N, K))
    gpu = known(gpu)
    k = for_gpu(k)
    least, has = ladder.step(k.step).capability, (int(gpu.arch[3:-1]), int(gpu.arch[-1]))
    if least > has:
        raise ValueError(
            f"{k.step} needs compute capability {'.'.join(map(str, least))}; {gpu.name} has {'.'.join(map(str, has))}."
        )
    counts = counted(k, arch_of(gpu))
    return gpu_model.predict(counts, gpu, M, N, K, by_rows=ladder.step(k.step).x_along == "rows")


@takes
def predicted_ladder(gpu: GPU | str, size: Count = 4096, steps: list[str] | None = None) -> tuple[Prediction, ...]:
    """The `Prediction` of each CUDA rung, or of those `steps`, at M = N = K = `size`, with a GPU's parameters."""
    return tuple(predict(step, gpu, size, size, size) for step in steps or ladder.steps("CUDA"))


@takes
def print_requests(k: Kernel) -> None:
    """Print a CUDA kernel's requests to shared memory, and its instructions, for each multiply-add of a warp.

    It is compiled for an A6000. Requests that bring each thread four numbers, 16 bytes, are told apart from those that
    bring it one.
    Where NVIDIA's compiler is missing, and the course has not counted that kernel, it prints what adds it.
    """
    try:
        tile = counts_of(k, gpu_model.GPUS["A6000"].arch).tile
    except KernelError as error:
        print(f"not counted: {error}")
        return
    asked = {"one": 0.0, "four": 0.0}
    for (memory, _, size), many in tile.requests.items():
        if memory == "shared":
            asked["four" if size == 32 * 16 else "one"] += many / tile.fma
    print(
        f"{k.step:12} {asked['one']:.3f} requests for one number, {asked['four']:.3f} for four; "
        f"{tile.instructions / tile.fma:.2f} instructions"
    )


@takes
def predict_beside(mine: Kernel, rung: str, gpu: str = "A6000", size: Count = 4096) -> None:
    """Print what the model predicts for a kernel and for a rung of the ladder, at M = N = K = `size`.

    mine  a CUDA kernel, with sizes for a GPU
    rung  the name of a step, which has a GPU's parameters
    gpu   a name of `GPUS`
    Where NVIDIA's compiler is missing, it prints what adds it; where it is an old one, a last line says so.
    """
    try:
        p = predict(mine, gpu, size, size, size)
        alike = count if p.note else counts_of  # by the same compiler
        found = {"this kernel": p, rung: predicted(rung, gpu, size, size, size, alike)}
    except KernelError as error:
        print(f"no prediction: {error}")
        return
    for name, one in found.items():
        print(f"{name:11} {one.gflops:7,.0f} GFLOP/s predicted for {gpu}, by {one.limit}")
    if p.note:
        print(p.note)
