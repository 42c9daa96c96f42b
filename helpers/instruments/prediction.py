"""A CUDA kernel compiled as for a GPU, with no GPU: what came out, and how long it would take there.

Numba writes PTX in a child process; NVIDIA's compiler comes with the extra `cuda13`, or with NVIDIA's toolkit. What is
counted is given to `gpu_model`: the ladder's counts are kept in `counts.json`, which `tools/counts.py` makes, and
another kernel's are counted when they are asked for.
"""

import re
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import cache, lru_cache, partial
from pathlib import Path

import numpy as np

import blocks_without_gpu
import gpu_model
import ptx_machine
from blocks_without_gpu import BlockRun, side_by_side
from blocks_without_gpu.product_run import CompiledRun, about_stores
from gpu_model import GPU, GPUS, Prediction, machine_code, occupancy
from gpu_model import gpu as gpu_like
from gpu_model.comparison import Comparison, compare
from gpu_model.counting import SHORT, count_text
from gpu_model.counts import Counts, read_counts
from gpu_model.gpus import arch_of, known, known_arch
from gpu_model.machine_code import CompilerReport
from gpu_model.published import MEASURED, SIZE, SIZES
from gpu_model.tested_limits import LimitsTested, limits_tested
from kernel_judge.on_ptx import run_arrays

from .. import devices, ladder, needs
from ..arguments import sizes
from ..child import in_child, made_from, packed
from ..launch import Kernel, KernelError, cuda_kernel, draw
from ..launch.cuda_source import from_function, from_text
from ..launch.numba_internals import compile_ptx, plain_function
from ..launch.on_cuda import SIGNATURE, refuse_long

# What this room offers, too.
__all__ = ["GPU", "GPUS", "BlockRun", "LimitsTested", "gpu_like", "limits_tested", "occupancy", "side_by_side"]
KEPT = Path(__file__).with_name("counts.json")
TRIED = {"tiled": {"TILE": 8}}  # parameters that a page tries: page 04
made: dict[bytes, str] = {}  # {what was compiled: PTX}: a report, a prediction and a run follow each other


@contextmanager
def course_errors():
    """Within it, or in a function that it decorates: a package's error is a KernelError, and a lack has its remedy."""
    try:
        yield
    except (blocks_without_gpu.BlockError, machine_code.CountError, ptx_machine.PTXError) as error:
        raise KernelError(str(error)) from None
    except ModuleNotFoundError as error:
        raise needs.Missing(needs.line_of(error) or str(error)) from None


run_triton, predict_triton = map(course_errors(), (blocks_without_gpu.run_triton, blocks_without_gpu.predict_triton))


# -------------------------------------------------------------------------------- what the compiler makes of a kernel


def compiler_report(k: Kernel | str, arch: str = "sm_90") -> CompilerReport:
    """Compile a CUDA kernel for an NVIDIA architecture, with no GPU, and read what came out. Returns `CompilerReport`.

    `k`: a kernel that `cuda_kernel` built, or the name of a step, which then has a GPU's parameters. `arch`: "sm_75",
    "sm_80", "sm_89" or "sm_90", or a GPU's name of `GPUS`. The kernel is compiled, never run.
    Raises ValueError for an OpenCL kernel or an unknown architecture, KernelError for a kernel that does not compile,
    `needs.Missing` where NVIDIA's compiler is missing.
    """
    k, arch = for_gpu(k), known_arch(arch)
    with course_errors():
        return machine_code.report(title(k), ptx_of(k, arch), arch, k.block[0] * k.block[1])


def run_ptx(k: Kernel | str, M: int, N: int, K: int, arch: str = "sm_80") -> CompiledRun:
    """Compile a CUDA kernel, and run what came out with no GPU, on drawn A (M, K), B (K, N). Returns `CompiledRun`.

    `k`, `arch`: as for `compiler_report`, or a newer architecture. Raises what that raises, and KernelError, with its
    line, for an instruction that is not known.
    """
    k, (M, N, K) = for_gpu(k), sizes((M, N, K))
    refuse_long(M, N, K)
    return run_text(ptx_of(k, arch), k.block, k.grid(M, N), *draw(M, N, K), f"{title(k)} for {arch}")


def run_text(
    ptx: str, block: tuple, grid: tuple, A: np.ndarray, B: np.ndarray, title: str = "a kernel", limit: int | None = None
) -> CompiledRun:
    """Run PTX of a kernel of (A, B, C), as Numba compiles it: blocks of (x, y) threads in a grid of (x, y) blocks.

    A (M, K), B (K, N): float32. `limit`: instructions that blocks side by side may take together. Raises KernelError,
    with its line, for what the PTX machine does not know.
    """
    (M, K), N = A.shape, B.shape[1]
    with course_errors():
        run = run_arrays(ptx, block, grid, A, B, np.full((M, N), np.nan, np.float32), limit=limit or 5000 * (K + 100))
    findings = run.findings + about_stores(run)
    return CompiledRun(**vars(run) | {"findings": findings}, kernel=title, M=M, N=N, K=K, ptx=ptx)


def for_gpu(k: Kernel | str) -> Kernel:
    """The CUDA kernel, or that of a step with a GPU's parameters. Raises ValueError for what is neither."""
    if not isinstance(k, Kernel):
        if "\n" in str(k):
            raise ValueError("this is source text; build it first: cuda_kernel(source, like=...), with its parameters.")
        k = cuda_kernel(k, **ladder.step(k, "CUDA").defaults["GPU"])
    if k.dialect != "CUDA":
        raise ValueError(
            f"{k} is compiled inside its {k.dialect} driver, where one cannot look. Ask for the CUDA kernel of the "
            f"same step and parameters."
        )
    return k


def title(k: Kernel) -> str:
    """A kernel's name and parameters."""
    return f"{k} with {ladder.spell(k.parameters)}"


def ptx_of(k: Kernel, arch: str) -> str:
    """The PTX of a CUDA kernel for that architecture, such as "sm_80" or "sm_120", compiled in a child process.

    Raises ValueError for what is no architecture, and what `compiler_report` raises.
    """
    found = re.fullmatch(r"sm_(\d+)(\d)", arch)
    if not found:
        raise ValueError(f'{arch!r} is no architecture; one is written like "sm_80".')
    capability, least = (int(found[1]), int(found[2])), ladder.STEPS[k.step].capability
    if capability < least:
        raise KernelError(
            f"{k} needs the matrix units of sm_{least[0]}{least[1]} or later; {arch} has none that do this."
        )
    needs.need("compiler")
    key = packed((made_from(k), k.step, k.parameters, arch))
    if key not in made:
        call = partial(ptx, made_from(k), k.parameters, capability)
        outcome = in_child(k, call, fresh=True, **{devices.CUDA_OF_CHILD: "compiler"})
        if outcome.value is None:
            why = outcome.error[1] if outcome.error else outcome.why.message
            raise KernelError(f"{k} does not compile:\n{why}")
        made[key] = outcome.value
    return made[key]


def ptx(source: str | Callable, parameters: dict, capability: tuple[int, int]) -> str:
    """In the child: PTX of the kernel for GPUs of that compute capability, (major, minor). Raises KernelError."""
    function = from_text(source, **parameters) if isinstance(source, str) else from_function(source)[0]
    try:
        return compile_ptx(plain_function(function), SIGNATURE, capability)
    except Exception as error:  # Numba raises many kinds; the learner needs its words, not the stages of its pipeline
        said = [line for line in str(error).strip().splitlines() if line.strip()]
        said = [line for line in said if not line.startswith(("Failed in", "During:"))]
        raise KernelError("\n".join(said)) from error


# ------------------------------------------------------------------------------------------ how long it takes on a GPU


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


def counts_of(k: Kernel, arch: str) -> Counts:
    """The `Counts` of a CUDA kernel for that architecture, kept or counted now. Raises as `predict` does."""
    return (None if k.own else kept().get((as_step(k), arch))) or count(k, arch)


def as_step(k: Kernel) -> str:
    """The step that a kernel is, or is launched like, and its parameters: its name among counts."""
    return f"{k.step} with {ladder.spell(k.parameters)}"


@cache
def kept() -> dict[tuple[str, str], Counts]:
    """The counts of `counts.json`: {(`as_step`, arch): Counts}."""
    return read_counts(KEPT)


def count(k: Kernel, arch: str) -> Counts:
    """The same, counted now."""
    ptx, side = ptx_of(k, arch), ladder.step(k.step).tile(k.parameters)
    # Numba writes the same for several architectures, but for the line that names one.
    anywhere = re.sub(r"\.target .*", ".target sm_75", ptx)
    with course_errors():
        return count_text(as_step(k), ptx, arch, k.block, side, lambda K: run_block(anywhere, k.block, *side[:2], K))


@lru_cache(maxsize=4)
def run_block(ptx, block, rows, columns, K):
    """One block of a kernel, inside matrices large enough that no row of them shares a line with another."""
    A, B = np.ones((rows, K), np.float32), np.ones((K, max(columns, SHORT)), np.float32)
    return run_text(ptx, block, (1, 1), A, B)


def gpu_here() -> GPU | None:
    """The GPU of this machine, as the table has it; None where there is none, or one that it does not know."""
    device = devices.cuda_device()
    with suppress(ValueError):  # no GPU of the table's is called so
        found = gpu_like(device.name)
        return found if device.kind == "GPU" and found.sms == device.units else None
    return None


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


# -------------------------------------------------------------------------------------- how good the predictions are


def against_published(gpu: str | None = None) -> Comparison:
    """Hold the model against the ladders of that GPU that are known, or against all of them. Returns `Comparison`.

    Raises ValueError for a GPU of which no ladder is known.
    """

    def ours(one, step, gpu):
        return one.predicted(step) if one.ran else predict(cuda_kernel(step, **SIZES[step]), gpu, SIZE, SIZE, SIZE)

    return compare(gpu, ours, MEASURED)
