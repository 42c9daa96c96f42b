"""What came of running PTX."""

from dataclasses import dataclass, field

import numpy as np

LOADS_AND_STORES = (
    "global load",
    "global store",
    "shared load",
    "shared store",
    "local",
    "load or store of any memory",
    "asynchronous copy",
    "atomic",
)
KINDS = ("FMA", "matrix", "other float", "integer arithmetic", *LOADS_AND_STORES, "branch", "barrier", "other")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    kind     "out of bounds", "misaligned", "race", "uninitialised", "divergent barrier", "writes to an input", "hang",
             "out of time", "error", "index" (see `Blocks.index_within`), or what the caller adds
    message  a sentence: the first time it happened, and how many times it did
    line     1-based line of the PTX, `text` its text; 0 and "" where it is about no line
    source   1-based line of the source that the PTX was made from; 0 where the PTX does not say
    other, other_source  of a race: the same lines of the earlier access; 0 otherwise
    times    how many times it happened
    accesses  tuple of `Access`: of a race the later and the earlier one, of a thread each; of what is out of bounds
              that of all threads that went there together; of what is uninitialised that of the thread; else ()
    several  of a race: whether more threads than that one did the earlier access
    sentence, values  what `message` was made from, for who says it in another language: a sentence with {places}, and
              {name: what stands there}; "" and {} where it was made from other parts
    """

    kind: str
    message: str
    line: int = 0
    text: str = ""
    source: int = 0
    other: int = 0
    other_source: int = 0
    times: int = field(default=1, kw_only=True)
    accesses: tuple = field(default=(), kw_only=True, compare=False, repr=False)
    several: bool = field(default=False, kw_only=True)
    sentence: str = field(default="", kw_only=True, compare=False, repr=False)
    values: dict = field(default_factory=dict, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class Requests:
    """All that one instruction asked of global or shared memory.

    line          1-based line of the PTX, `text` its text
    memory        "global" or "shared"
    act           "load", "store" or "atomic"
    instructions  by warps
    bytes         that all threads moved
    pieces        sectors of 32 bytes, or wavefronts, that they took
    fewest        as few as could do
    lines         of 128 bytes that they touched in global memory; 0 for shared memory
    paired        instructions in which threads n and n ^ 1, or n and n ^ 2, of a warp always ask for the same
    wide          wavefronts that they would take if each thread asked for all 16 bytes around its 4, as where
                  a compiler joins four loads; 0 for wider ones
    """

    line: int
    text: str
    memory: str
    act: str
    instructions: int
    bytes: int
    pieces: int
    fewest: int
    lines: int
    paired: int
    wide: int = 0


@dataclass(frozen=True, repr=False, eq=False)
class Access:
    """What one instruction did to one memory, or a barrier, for all the threads that did it together.

    line     1-based line of the PTX, `source` that of its source, 0 where the PTX does not say; `text` the instruction
    memory   "global", "shared" or "local"; "" of a barrier
    act      "load", "store", "atomic", "copy" (the store of an asynchronous one) or "barrier"; of a race also "meet",
             where a warp loads or stores a matrix
    blocks   (n,) int32: the number of each thread's block in the grid; `threads`, its number in the block; x runs
             fastest, then y
    phases   (n,) int32: how many barriers of its block each had passed; -1 of a race's earlier access
    arrays   names of the arrays that are touched; "" for what lies outside of all
    array    (n,) int32: which of them each thread touches, a number in `arrays`
    offsets  (n,) int64: from which byte of it on; `bytes` how many. Of what is out of bounds, of the nearest array
    """

    line: int
    source: int
    text: str
    memory: str
    act: str
    blocks: np.ndarray
    threads: np.ndarray
    phases: np.ndarray
    arrays: tuple = ()
    array: np.ndarray | None = None
    offsets: np.ndarray | None = None
    bytes: int = 0


@dataclass(frozen=True, repr=False)
class Run:
    """What came of running a kernel; true if nothing was found.

    arrays    what each array among the arguments holds afterwards, in their order: a tuple of arrays like those
    stores    how often each of their elements was stored: a tuple of int32 arrays of the same shapes. Atomic additions
              to an element count as one store. Of an element of more than 4 bytes, it is its first 4 that count.
    executed  {kind: instructions that threads executed}, for all KINDS
    by_line   {line of the PTX: instructions that warps executed there}
    requests  tuple of `Requests`, in the order of the PTX
    findings  tuple of `Finding`; empty when nothing is wrong
    variables {name: bytes that each variable of the text holds afterwards, an array of uint8}
    trace     tuple of `Access`, in the order in which they happened; empty where it was not asked for
    printed   what the kernel's `printf` wrote, one thread after the other
    work      how much was done here: one for each instruction, and one more for each 100 threads that do it side by
              side; a thread that prints does 6
    """

    arrays: tuple
    stores: tuple
    executed: dict
    by_line: dict
    requests: tuple
    findings: tuple
    variables: dict = field(default_factory=dict, kw_only=True)
    trace: tuple = field(default=(), kw_only=True)
    printed: str = field(default="", kw_only=True)
    work: float = field(default=0.0, kw_only=True)

    def __bool__(self):
        return not self.findings

    @property
    def instructions(self) -> int:
        """Instructions executed, of all threads."""
        return sum(self.executed.values())

    @property
    def sectors(self) -> int:
        """Sectors of 32 bytes that all warps asked global memory for."""
        return self.total("pieces", "global")

    @property
    def wavefronts(self) -> int:
        """Wavefronts that all warps' requests to shared memory took."""
        return self.total("pieces", "shared")

    @property
    def bank_conflicts(self) -> int:
        """Wavefronts beyond those that would have done."""
        return self.wavefronts - self.total("fewest", "shared")

    def total(self, what: str, memory: str, act: str | None = None) -> int:
        """The sum of that field of all `Requests` to that memory, or only of those that load, store or add."""
        return sum(getattr(one, what) for one in self.requests if one.memory == memory and act in (None, one.act))

    def moved(self, memory: str) -> str:
        """How much all threads loaded and stored there, in words."""
        return f"{self.total('bytes', memory, 'load'):,} bytes loaded, {self.total('bytes', memory, 'store'):,} stored"

    def __repr__(self):
        lines = [f"  {count:14,}  {kind}" for kind, count in self.executed.items() if count]
        lines.append(f"  global: {self.moved('global')}, {self.sectors:,} sectors")
        if self.wavefronts:
            wavefronts = f"{self.wavefronts:,} wavefronts, {self.bank_conflicts:,} of them for conflicts"
            lines.append(f"  shared: {self.moved('shared')}, {wavefronts}")
        for finding in self.findings:
            lines.append(f"  {finding.kind}: {finding.message}")
            source = f" (line {finding.source} of the source)" * bool(finding.source)
            lines += [f"    line {finding.line} of the PTX{source}: {finding.text}"] * bool(finding.line)
        return "\n".join(lines + ["  no finding"] * (not self.findings))
