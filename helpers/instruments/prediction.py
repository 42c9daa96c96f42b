"""A CUDA kernel compiled as for a GPU, with no GPU: what came out, and how long it would take there.

Numba writes PTX in a child process, NVIDIA's compiler makes code of it. `gpu_model` gets what is counted: the ladder's
counts are kept in `counts.json`, which `tools/counts.py` makes; another kernel's are counted when they are asked for.
"""

import re
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import cache, partial
from multiprocessing import forkserver
from pathlib import Path

import numpy as np

import blocks_without_gpu
import gpu_model
import ptx_machine
from blocks_without_gpu.product_run import CompiledRun, about_stores
from gpu_model import GPU, GPUS, Prediction, machine_code
from gpu_model import gpu as gpu_like
from gpu_model.block_order import Order, column_by_column, row_by_row
from gpu_model.comparison import Comparison, compare
from gpu_model.counting import SHORT, count_text
from gpu_model.counts import Counts, read_counts
from gpu_model.gpus import arch_of, known, known_arch
from gpu_model.machine_code import CompilerReport
from gpu_model.published import MEASURED, SIZE, SIZES
from kernel_judge import child
from kernel_judge.on_ptx import run_arrays

from .. import devices, ladder, needs
from ..arguments import sizes
from ..child import in_child, made_from, packed
from ..launch import Kernel, KernelError, draw
from ..launch.cuda_source import from_function, from_text
from ..launch.numba_internals import compile_ptx
from ..launch.on_cuda import SIGNATURE, cuda_kernel, refuse_long

KEPT = Path(__file__).with_name("counts.json")
TRIED = {"tiled": {"TILE": 8}}  # parameters that a page tries: page 04
COMPILES = forkserver.ForkServer()  # children that have NVIDIA's compiler in the place of the PTX machine
child.preload(__name__, "numba.cuda", server=COMPILES)
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
run_cutile, cutile_code = map(course_errors(), (blocks_without_gpu.run_cutile, blocks_without_gpu.cutile_code))


# -------------------------------------------------------------------------------- what the compiler makes of a kernel


def compiler_report(k: Kernel | str, arch: str = "sm_90") -> CompilerReport:
    """Compile a CUDA kernel for an NVIDIA architecture, with no GPU, and read what came out. Returns `CompilerReport`.

    `k`: a CUDA kernel, or the name of a step, which then has a GPU's parameters. `arch`: such as "sm_90", or a name of
    `GPUS`. Raises ValueError for an OpenCL kernel or an unknown architecture, KernelError for a kernel that does not
    compile, `needs.Missing` where NVIDIA's compiler is missing.
    """
    k, arch = for_gpu(k), known_arch(arch)
    with course_errors():
        called = f"{k} with {ladder.spell(k.parameters)}"
        return machine_code.report(called, ptx_of(k, arch), arch, k.block[0] * k.block[1])


def run_ptx(k: Kernel | str, M: int, N: int, K: int, arch: str = "sm_80") -> CompiledRun:
    """Compile a CUDA kernel, and run what came out with no GPU, on drawn A (M, K), B (K, N). Returns `CompiledRun`.

    `k`, `arch`, errors: as of `compiler_report`; a KernelError, too, for an instruction that is not known.
    """
    k, (M, N, K) = for_gpu(k), sizes((M, N, K))
    refuse_long(M, N, K)
    return run_text(
        ptx_of(k, arch), k.block, k.grid(M, N), *draw(M, N, K), f"{k} with {ladder.spell(k.parameters)} for {arch}"
    )


def run_text(
    ptx: str, block: tuple, grid: tuple, A: np.ndarray, B: np.ndarray, title: str = "a kernel", limit: int | None = None
) -> CompiledRun:
    """Run PTX of a kernel of (A, B, C), as Numba compiles it: blocks of (x, y) threads in a grid of (x, y) blocks.

    A (M, K), B (K, N): float32. `limit`: instructions that blocks side by side may take together.
    """
    (M, K), N = A.shape, B.shape[1]
    with course_errors():
        run = run_arrays(ptx, block, grid, A, B, np.full((M, N), np.nan, np.float32), limit=limit or 5000 * (K + 100))
    findings = run.findings + about_stores(run)
    return CompiledRun(**vars(run) | {"findings": findings}, kernel=title, M=M, N=N, K=K, ptx=ptx)


def for_gpu(k: Kernel | str) -> Kernel:
    """The CUDA kernel, or that of a step with a GPU's parameters. Raises ValueError for what is neither."""
    if not isinstance(k, Kernel):
        k = cuda_kernel(k, **ladder.step(k, "CUDA").defaults["GPU"])
    if k.dialect != "CUDA":
        raise ValueError(f"{k} is compiled inside its {k.dialect} driver; ask for the CUDA kernel of the same step.")
    return k


def ptx_of(k: Kernel, arch: str) -> str:
    """The PTX of a CUDA kernel for that architecture, compiled in a child process. Raises as `compiler_report` does."""
    found = re.fullmatch(r"sm_(\d+)(\d)", arch)
    if not found:
        raise ValueError(f'{arch!r} is no architecture; one is written like "sm_80".')
    capability, least = (int(found[1]), int(found[2])), ladder.STEPS[k.step].capability
    if capability < least:
        raise KernelError(f"{k} needs the matrix units of sm_{least[0]}{least[1]} or later, not {arch}.")
    needs.need("compiler")
    key = packed((made_from(k), k.step, k.parameters, arch))
    if key not in made:
        call = partial(ptx, made_from(k), k.parameters, capability)
        outcome = in_child(k, call, server=COMPILES, **{devices.CUDA_OF_CHILD: "compiler"})
        if outcome.value is None:
            why = outcome.error[1] if outcome.error else outcome.why.message
            raise KernelError(f"{k} does not compile:\n{why}")
        made[key] = outcome.value
    return made[key]


def ptx(source: str | Callable, parameters: dict, capability: tuple[int, int]) -> str:
    """In the child: PTX of the kernel for GPUs of that compute capability, (major, minor). Raises KernelError."""
    function = from_text(source, **parameters) if isinstance(source, str) else from_function(source)[0]
    try:
        return compile_ptx(function, SIGNATURE, capability)
    except Exception as error:  # Numba raises many kinds; the learner needs its words, not the stages of its pipeline
        said = [line for line in str(error).strip().splitlines() if line.strip()]
        said = [line for line in said if not line.startswith(("Failed in", "During:"))]
        raise KernelError("\n".join(said)) from error


# ------------------------------------------------------------------------------------------ how long it takes on a GPU


def predict(k: Kernel | str, gpu: GPU | str, M: int, N: int, K: int, order: Order | None = None) -> Prediction:
    """Predict a product of (M, K) by (K, N) on a GPU that need not be there. Returns `Prediction`.

    `k`: a CUDA kernel, or the name of a step, which then has a GPU's parameters. `gpu`: a name of `GPUS`, or a `GPU`.
    `order`: in which blocks take tiles of C, by default that of the step's grid; see `gpu_model.block_order`.
    Raises ValueError for what is no CUDA kernel or no GPU, and KernelError for what does not compile there, or is no
    product; for what the course has not counted itself, `needs.Missing` where NVIDIA's compiler is missing.
    """
    M, N, K = sizes((M, N, K))
    gpu, k = known(gpu), for_gpu(k)
    grids = column_by_column if ladder.step(k.step).x_along == "rows" else row_by_row
    return gpu_model.predict(counts_of(k, arch_of(gpu)), gpu, M, N, K, order or grids)


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

    def one_block(K):
        A, B = np.ones((side[0], K), np.float32), np.ones((K, max(side[1], SHORT)), np.float32)
        return run_text(ptx, k.block, (1, 1), A, B)

    with course_errors():
        return count_text(as_step(k), ptx, arch, k.block, side, one_block)


def gpu_here() -> GPU | None:
    """The GPU of this machine, as the table has it; None where there is none, or one that it does not know."""
    device = devices.cuda_device()
    with suppress(ValueError):  # no GPU of the table's is called so
        found = gpu_like(device.name)
        return found if device.kind == "GPU" and found.sms == device.units else None
    return None


def print_requests(k: Kernel) -> None:
    """Print a CUDA kernel's requests to shared memory, and its instructions, on an A6000, for each multiply-add."""
    tile = counts_of(k, GPUS["A6000"].arch).tile
    asked = [(size, many / tile.fma) for (memory, _, size), many in tile.requests.items() if memory == "shared"]
    four = sum(many for size, many in asked if size == 32 * 16)
    one, all_kinds = sum(many for _, many in asked) - four, tile.instructions / tile.fma
    print(f"{k.step:12} {one:.3f} requests for one number, {four:.3f} for four; {all_kinds:.2f} instructions")


def predict_beside(mine: Kernel, rung: str, gpu: str = "A6000", size: int = 4096) -> None:
    """Print what the model predicts for a CUDA kernel and for the step of that name, at M = N = K = `size`."""
    for name, k in {"this kernel": mine, rung: rung}.items():
        p = predict(k, gpu, size, size, size)
        print(f"{name:11} {p.gflops:7,.0f} GFLOP/s predicted for {gpu}, by {p.limit}")


# -------------------------------------------------------------------------------------- how good the predictions are


def against_published(gpu: str | None = None) -> Comparison:
    """Hold the model against the ladders of that GPU that are known, or against all of them. Returns `Comparison`."""

    def ours(one, step, gpu):
        return one.predicted(step) if one.ran else predict(cuda_kernel(step, **SIZES[step]), gpu, SIZE, SIZE, SIZE)

    return compare(gpu, ours, MEASURED)
