"""Compiles a kernel as for a GPU, with no GPU: for `gpu_model`, and to run on the PTX machine. Triton's do so, too.

Numba writes PTX in a child process; NVIDIA's compiler comes with the extra `cuda13`, or with NVIDIA's toolkit.
"""

import os
import re
from contextlib import contextmanager, suppress

import numpy as np

import blocks_without_gpu
import ptx_machine
from blocks_without_gpu import BlockRun, side_by_side
from blocks_without_gpu.product_run import CompiledRun, about_stores
from gpu_model import machine_code
from gpu_model.gpus import known_arch
from gpu_model.machine_code import CompilerReport

from .. import devices, ladder, needs
from ..arguments import sizes
from ..launch import Kernel, KernelError, cuda_kernel, draw
from ..launch.cuda_source import from_function, from_ladder, from_text
from ..launch.numba_internals import compile_ptx, plain_function
from ..launch.on_cuda import SIGNATURE
from ..launch.on_ptx import refuse_long, run_arrays
from ..sandbox import SECONDS, Job, in_child
from ..sandbox.job import packed, portable

__all__ = ["BlockRun", "side_by_side"]  # which this room offers, too
made = {}  # PTX by what was compiled, as bytes: a report, a prediction and a run of the same kernel follow each other


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


def compiler_report(k: Kernel | str, arch: str = "sm_90") -> CompilerReport:
    """Compile a CUDA kernel for an NVIDIA architecture, with no GPU, and read what came out. Returns `CompilerReport`.

    `k`: a kernel that `cuda_kernel` built, or the name of a step, which then has a GPU's parameters. `arch`: "sm_75",
    "sm_80", "sm_89" or "sm_90", or a GPU's name of `GPUS`. The kernel is compiled, never run.
    Raises ValueError for an OpenCL kernel or an unknown architecture, KernelError for a kernel that does not compile,
    `needs.Missing` where NVIDIA's compiler is missing.
    """
    k, arch = for_gpu(k), known_arch(arch)
    name = f"{k} with {ladder.spell(k.parameters)}"
    with course_errors():
        return machine_code.report(name, ptx_of(k, arch), arch, k.block[0] * k.block[1])


def run_ptx(k: Kernel | str, M: int, N: int, K: int, arch: str = "sm_80") -> CompiledRun:
    """Compile a CUDA kernel for that architecture and run what came out, with no GPU. Returns `CompiledRun`.

    `k`: a kernel that `cuda_kernel` built, or the name of a step, which then has a GPU's parameters. A (M, K) and B
    (K, N) are drawn. `arch`: such as "sm_80" or "sm_120". Raises ValueError for what is no CUDA kernel or no
    architecture; KernelError for what does not compile and, with its line, for an instruction that is not known;
    `needs.Missing` where NVIDIA's compiler is missing.
    """
    k, (M, N, K) = for_gpu(k), sizes((M, N, K))
    refuse_long(M, N, K)
    title = f"{k} with {ladder.spell(k.parameters)} for {arch}"
    return run_text(ptx_of(k, arch), k.block, k.grid(M, N), *draw(M, N, K), title)


def run_text(
    ptx: str, block: tuple, grid: tuple, A: np.ndarray, B: np.ndarray, title: str = "a kernel", limit: int | None = None
) -> CompiledRun:
    """Run PTX of a kernel of (A, B, C), as Numba compiles it: blocks of (x, y) threads in a grid of (x, y) blocks.

    A (M, K), B (K, N): float32. `limit`: instructions that blocks side by side may take together. Raises KernelError,
    with its line, for what the PTX machine does not know.
    """
    (M, K), N = A.shape, B.shape[1]
    run = run_arrays(ptx, block, grid, A, B, np.full((M, N), np.nan, np.float32), limit)
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


def ptx_of(k: Kernel, arch: str) -> str:
    """The PTX of a CUDA kernel for that architecture, such as "sm_80" or "sm_120", compiled in a child process.

    Raises ValueError for what is no architecture, KernelError for what does not compile, `needs.Missing` where NVIDIA's
    compiler is missing.
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
    key = packed((portable(k), k.step, k.parameters, arch))
    if key not in made:
        outcome = in_child(k, ptx, SECONDS, None, compiler=True, capability=capability)
        if outcome.findings:
            raise KernelError(f"{k} does not compile:\n{outcome.findings[0].message}")
        made[key] = outcome.value
    return made[key]


def ptx(job: Job, capability: tuple[int, int]) -> str:
    """In the child: PTX of the kernel for GPUs of that compute capability, (major, minor). Raises KernelError."""
    text = isinstance(job.kernel, str)
    function = from_text(job.kernel, **job.parameters) if text else from_function(job.kernel)[0]
    try:
        return compile_ptx(plain_function(function), SIGNATURE, capability)
    except Exception as error:  # Numba raises many kinds; the learner needs its words, not the stages of its pipeline
        said = [line for line in str(error).strip().splitlines() if line.strip()]
        said = [line for line in said if not line.startswith(("Failed in", "During:"))]
        raise KernelError("\n".join(said)) from error


def warm_up() -> None:
    """Where children are forked that ask NVIDIA's compiler: load what Numba loads late, by compiling a kernel."""
    if os.environ.get(devices.CUDA_OF_CHILD) == "compiler":
        with suppress(Exception):  # a child that compiles says what is wrong
            compile_ptx(plain_function(from_ladder("tiled", TILE=4)), SIGNATURE, (8, 0))
