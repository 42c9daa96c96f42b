"""Compiles a CUDA kernel as for a GPU and runs what came out, with no GPU, on the PTX machine."""

from dataclasses import dataclass

import numpy as np

import ptx_machine

from .. import ladder
from ..arguments import sizes
from ..launch import Kernel, draw
from ..launch.on_ptx import refuse_long, run_arrays
from .compiler import for_gpu, ptx_of


def elements(memory: str, act: str) -> property:
    """Float32 elements that all threads load from that memory, or store to it."""

    def moved(run: "CompiledRun") -> int:
        return run.total("bytes", memory, act) // 4

    return property(moved)


@dataclass(frozen=True, repr=False)
class CompiledRun(ptx_machine.Run):
    """What came of running a compiled kernel of (A, B, C): a `ptx_machine.Run`, with these besides.

    C    float32 (M, N)
    ptx  the text that ran
    """

    kernel: str
    M: int
    N: int
    K: int
    ptx: str

    @property
    def C(self) -> np.ndarray:
        """The product as the kernel left it, float32 (M, N)."""
        return self.arrays[2]

    @property
    def instructions_per_multiply_add(self) -> float:
        """Instructions executed, of all threads, for each of the M * N * K multiply-adds."""
        return self.instructions / (self.M * self.N * self.K)

    global_loads, global_stores = elements("global", "load"), elements("global", "store")
    shared_loads, shared_stores = elements("shared", "load"), elements("shared", "store")

    def moved(self, memory: str) -> str:
        """How much all threads loaded and stored there, in words."""
        loaded, stored = getattr(self, f"{memory}_loads"), getattr(self, f"{memory}_stores")
        return f"{loaded:,} elements loaded, {stored:,} stored"

    def __repr__(self):
        return (
            f"{self.kernel}\n  {self.M} x {self.N} x {self.K}: {self.instructions:,} thread instructions, "
            f"{self.instructions_per_multiply_add:.2f} a multiply-add\n{super().__repr__()}"
        )


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


def about_stores(run):
    """Findings about elements of C that are stored twice, or never where the kernel came to its end."""
    stores, findings = run.stores[2], []
    lines = [str(one.line) for one in run.requests if one.memory == "global" and one.act == "store"]
    lines = ", ".join(lines[:3]) + ", …" * (len(lines) > 3)  # a tile of a thread may have hundreds
    ended = all(finding.kind != "hang" for finding in run.findings)
    for kind, where, text in (
        ("stored twice", stores > 1, f"is stored more than once, by line {lines} of the PTX"),
        ("unwritten", (stores == 0) & ended, "is never stored"),
    ):
        if many := int(np.count_nonzero(where)):
            row, column = np.argwhere(where)[0]
            times = f" ({many} times)" * (many > 1)
            findings.append(ptx_machine.Finding(kind, f"C[{row}, {column}] {text}{times}"))
    return tuple(findings)
