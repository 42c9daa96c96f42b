"""How long a kernel of the course takes on a GPU that is not there: what is counted of it, given to `gpu_model`.

The ladder's counts are kept in `counts.json`, which `tools/counts.py` makes; another kernel's need NVIDIA's compiler.
One ladder of ours, and what a GPU's counters said of its kernels, is in `counters.toml`. They are the kernels of that
day; held against them is what was counted of their code then, not of the ladder's as it is now.
"""

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

import gpu_model
from gpu_model import GPU, GPUS, Ladder, Prediction, occupancy, tested_limits
from gpu_model import gpu as gpu_like
from gpu_model.comparison import Comparison, compare
from gpu_model.counting import SHORT, count_text
from gpu_model.counts import Counts, read_counts
from gpu_model.gpus import arch_of, known
from gpu_model.published import SIZE, SIZES, theirs
from gpu_model.tested_limits import LimitsTested

from .. import devices, ladder
from ..arguments import sizes
from ..launch import Kernel, cuda_kernel
from .compiler import course_errors, for_gpu, ptx_of, run_text

__all__ = ["GPU", "GPUS", "gpu_like", "occupancy"]  # which this room offers, too
KEPT = Path(__file__).with_name("counts.json")
TRIED = {"tiled": {"TILE": 8}}  # parameters that a page tries: page 04
# What a GPU's own counters said of our kernels.
COUNTERS = tomllib.loads(Path(__file__).with_name("counters.toml").read_text(encoding="utf-8"))


def gpu_here() -> GPU | None:
    """The GPU of this machine, as the table has it; None where there is none, or one that it does not know."""
    device = devices.cuda_device()
    same = [gpu for gpu in GPUS.values() if re.search(rf"\b{gpu.name}\b", device.name)]
    # A laptop's RTX 4090 has fewer multiprocessors, and its RTX 4060 another clock.
    same = [gpu for gpu in same if gpu.sms == device.units and ("Laptop" in gpu.name) == ("Laptop" in device.name)]
    # The name of an RTX 3070 is in that of an RTX 3070 Ti, too.
    return max(same, key=lambda gpu: len(gpu.name), default=None) if device.kind == "GPU" else None


def counts_of(k: Kernel, arch: str) -> Counts:
    """The `Counts` of a CUDA kernel for that architecture: kept ones of the ladder, or counted now.

    Raises KernelError for what does not compile and for what is no product, `needs.Missing` where it has to be counted
    and NVIDIA's compiler is missing.
    """
    if (title(k), arch) in kept() and not k.own:
        return kept()[title(k), arch]
    return count(k, arch)


def title(k):
    """A kernel's name and parameters."""
    return f"{k.step} with {ladder.spell(k.parameters)}"


@cache
def kept():
    """The counts of `counts.json`: {(title, arch): Counts}."""
    return read_counts(KEPT)


def count(k, arch):
    """The same, counted now."""
    ptx, side = ptx_of(k, arch), ladder.step(k.step).tile(k.parameters)
    # Numba writes the same for several architectures, but for the line that names one.
    anywhere = re.sub(r"\.target .*", ".target sm_75", ptx)
    with course_errors():
        return count_text(title(k), ptx, arch, k.block, side, lambda K: run_block(anywhere, k.block, *side[:2], K))


@lru_cache(maxsize=4)
def run_block(ptx, block, rows, columns, K):
    """One block of a kernel, inside matrices large enough that no row of them shares a line with another."""
    A, B = np.ones((rows, K), np.float32), np.ones((K, max(columns, SHORT)), np.float32)
    return run_text(ptx, block, (1, 1), A, B)


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
    gpu, k = known(gpu), for_gpu(k)
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
    tile = counts_of(k, GPUS["A6000"].arch).tile
    asked = {"one": 0.0, "four": 0.0}
    for (memory, _, size), many in tile.requests.items():
        if memory == "shared":
            asked["four" if size == 32 * 16 else "one"] += many / tile.fma
    one, four, all_kinds = *asked.values(), tile.instructions / tile.fma
    print(f"{k.step:12} {one:.3f} requests for one number, {four:.3f} for four; {all_kinds:.2f} instructions")


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


def as_it_ran(row: dict) -> Prediction:
    """What the model says of a kernel of counters.toml, `row`, as it was when the GPU ran it."""
    counts = theirs()[f"{row['step']} with {ladder.spell(row['parameters'])}", GPUS[COUNTERS["gpu"]].arch]
    return gpu_model.predict(counts, COUNTERS["gpu"], SIZE, SIZE, SIZE, by_rows=row["step"] == "naive")


LADDERS = (*gpu_model.LADDERS, Ladder(**COUNTERS["ladder"]))


def against_published(gpu: str | None = None) -> Comparison:
    """Hold the model against the ladders of that GPU that are known, or against all of them. Returns `Comparison`.

    Raises ValueError for a GPU of which no ladder is known.
    """

    def ours(one, step, gpu):
        return one.predicted(step) if one.ran else predict(cuda_kernel(step, **SIZES[step]), gpu, SIZE, SIZE, SIZE)

    return compare(gpu, ours, LADDERS)


def limits_tested() -> LimitsTested:
    """Ask the model for the limits that counters name, and for the sign of changes that were measured."""
    return tested_limits.limits_tested(COUNTERS["kernel"], as_it_ran, LADDERS)
