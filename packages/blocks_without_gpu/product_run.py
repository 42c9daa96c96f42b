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


class SideBySide:
    """What compiled kernels did, {name: run}: a table with a line for each.

    Its columns: instructions of threads for each multiply-add; requests of warps to global memory, asynchronous copies
    among them, and the bytes that one brings to a thread; the same of shared memory; wavefronts, for loads and
    stores, and how many of them conflicts cost.
    """

    def __init__(self, runs: Mapping[str, CompiledRun]):
        self.runs = runs

    def __repr__(self):
        width = max(map(len, self.runs))
        lines = [f"{'':{width}} instructions  global bytes  shared bytes   wavefronts conflicts"]
        for name, run in self.runs.items():
            loads = []
            for memory in ("global", "shared"):
                many = run.total("instructions", memory, "load")
                loads.append(f"{many:7,} {run.total('bytes', memory, 'load') / max(1, ptx_machine.WARP * many):5.3g}")
            did = f"{run.instructions_per_multiply_add:12.2f} {' '.join(loads)}"
            lines.append(f"{name:{width}} {did} {run.bank_rounds:8,} {run.bank_conflicts:9,}")
        return "\n".join(lines)


side_by_side = SideBySide  # as one calls it
