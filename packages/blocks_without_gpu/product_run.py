"""What came of running a compiled product on the PTX machine, and several of them side by side."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import ptx_machine


def elements(memory: str, act: str) -> property:
    """Float32 elements that all threads load from that memory, or store to it."""

    def moved(run: "CompiledRun") -> int:
        return run.total("bytes", memory, act) // 4

    return property(moved)


LONGEST, LARGEST, MOST = 1 << 17, 1 << 22, 1 << 28  # K, M * N and M * N * K that take seconds
UNIT = 2.0**-24  # unit roundoff of float32, in which all sums are
TF32 = 2.0**-10  # of what TF32 keeps of a factor it loses less than this part


class BlockError(Exception):
    """A program that does not compile. Its text has the compiler's words and, where there is one, the line."""


class Judged:
    """A run of a product that has M, N, K, `numbers` and `findings`, and is true where there are none."""

    @property
    def verdict(self) -> str:
        """One line where C is right and nothing was found, else the first thing that was found."""
        size = f"{self.M} x {self.N} x {self.K} of {self.numbers}"
        if self:
            return f"✓ {size}: right, each element within the bound"
        first = self.findings[0]
        where = f"line {first.line} of the PTX: " * bool(first.line)
        return f"✗ {size}: {first.kind}: {first.message}" + f"\n    {where}{first.text}" * bool(first.text)


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


def about_stores(run: ptx_machine.Run) -> tuple[ptx_machine.Finding, ...]:
    """Findings about elements of C that are stored twice, or never where the kernel came to its end."""
    lines = [str(one.line) for one in run.requests if one.memory == "global" and one.act == "store"]
    lines = ", ".join(lines[:3]) + ", …" * (len(lines) > 3)  # a tile of a thread may have hundreds
    ended = all(finding.kind != "hang" for finding in run.findings)
    return about_counts(run.stores[2], f", by line {lines} of the PTX", ended)


def about_counts(stores: np.ndarray, by: str = "", ended: bool = True) -> tuple[ptx_machine.Finding, ...]:
    """The same from how often each element of C was stored; `by`: what stored it twice, in words."""
    findings = []
    for kind, where, text in (
        ("stored twice", stores > 1, f"is stored more than once{by}"),
        ("unwritten", (stores == 0) & ended, "is never stored"),
    ):
        if many := int(np.count_nonzero(where)):
            row, column = np.argwhere(where)[0]
            times = f" ({many} times)" * (many > 1)
            findings.append(ptx_machine.Finding(kind, f"C[{row}, {column}] {text}{times}"))
    return tuple(findings)


def about_numbers(C, A, B, numbers):
    """A finding where an element of C is not A @ B within the bound of its numbers; an empty tuple elsewhere.

    The bound is that of sums in float32, in any order (Higham, section 3.5); TF32 besides cuts both factors short,
    since Triton does not round them.
    """
    A, B = A.astype(np.float64), B.astype(np.float64)
    cut = TF32 if numbers == "tf32" else 0
    part = (1 + cut) ** 2 / (1 - UNIT * A.shape[1]) - 1  # 1 / (1 - K u) is 1 + gamma
    wrong = ~(np.abs(C - A @ B) <= part * (np.abs(A) @ np.abs(B)))
    many = int(np.count_nonzero(wrong))
    if not many:
        return ()
    row, column = np.argwhere(wrong)[0]
    times = f" ({many} elements)" if many > 1 else ""
    return (ptx_machine.Finding("wrong numbers", f"C[{row}, {column}] is outside the bound of {numbers}{times}"),)


def operands(arrays, M, N, K, numbers):
    """A (M, K) and B (K, N) as that kernel takes them: those that are given, or drawn. Raises ValueError for others."""
    if K > LONGEST or M * N > LARGEST or M * N * K > MOST:
        most = f"K <= {LONGEST}, M * N <= {LARGEST} and M * N * K <= {MOST}, such as 128 x 128 x 64"
        raise ValueError(f"{M} x {K} times {K} x {N} would take minutes: it runs in Python. Stay at {most}.")
    rng = np.random.default_rng()
    A, B = arrays or (2 * rng.random(shape, np.float32) - 1 for shape in ((M, K), (K, N)))
    if (np.shape(A), np.shape(B)) != ((M, K), (K, N)):
        raise ValueError(f"arrays of {np.shape(A)} and {np.shape(B)}; give A of {(M, K)} and B of {(K, N)}.")
    return (np.ascontiguousarray(side, "float16" if numbers == "float16" else "float32") for side in (A, B))


def complaint(error):
    """What a compiler's error says in its last lines: with Triton's, the line that it is about, without the arrow."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^")]
    return " ".join(lines[-2:])[:300] or type(error).__name__


def side_by_side(runs: Mapping[str, CompiledRun]) -> str:
    """What compiled kernels did, {name: run}: a table with a line for each.

    Its columns: instructions of threads for each multiply-add; requests of warps to global memory, asynchronous copies
    among them, and the bytes that one brings to a thread; the same of shared memory; wavefronts, for loads and
    stores, and how many of them conflicts cost.
    """
    width = max(map(len, runs))
    lines = [f"{'':{width}} instructions  global bytes  shared bytes wavefronts conflicts"]
    for name, run in runs.items():
        loads = []
        for memory in ("global", "shared"):
            many = run.total("instructions", memory, "load")
            loads.append(f"{many:7,} {run.total('bytes', memory, 'load') / max(1, ptx_machine.WARP * many):5.3g}")
        did = f"{run.instructions_per_multiply_add:12.2f} {' '.join(loads)}"
        lines.append(f"{name:{width}} {did} {run.wavefronts:10,} {run.bank_conflicts:9,}")
    return "\n".join(lines)
