"""What a CUDA kernel asks of a multiprocessor: so much for each block, and so much more for each of its K-tiles."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

MEMORIES = ("shared", "global")


@dataclass(frozen=True)
class Work:
    """What all warps of a block ask for together.

    fma           multiply-adds, one for 32 threads
    integers         instructions that compute with integers
    instructions  of all kinds
    requests      {(memory, pieces, bytes): how many}: "shared" with wavefronts, "global" with lines of 128
                  bytes, and the bytes that a request brings to its threads; a spilled register's is "global", too
    matrix        {type of A and B: multiply-adds of the matrix units}, all of them, not one for 32 threads
    """

    fma: float = 0.0
    integers: float = 0.0
    instructions: float = 0.0
    requests: dict = field(default_factory=dict)
    matrix: dict = field(default_factory=dict)

    def __post_init__(self):
        for key in self.requests:
            if len(key) != 3 or key[0] not in MEMORIES:
                raise ValueError(f"requests: {key!r} is no (memory, pieces, bytes), whose memory is one of {MEMORIES}.")


@dataclass(frozen=True, kw_only=True)
class Counts:
    """A kernel's counts, and what decides how many of its blocks a multiprocessor keeps.

    kernel, arch    its name, and the architecture whose code was counted, such as "sm_80"
    threads         of a block; `registers`, 32-bit ones of a thread; `shared_bytes`, shared memory of a block
    once, tile      the `Work` of a block, and of one of its K-tiles
    side            rows, columns and depth of the tile of C that a block computes
    item            bytes of a number of A and of B; those of C have 4
    trips           {ahead: round trips of a warp for a K-tile}: how often it needs what it asked global memory for and
                    what no earlier wait has brought. `ahead`: which share of a tile's instructions it runs in between
    """

    kernel: str
    arch: str = ""
    threads: int
    registers: int
    shared_bytes: int
    side: tuple
    once: Work = field(default_factory=Work)
    tile: Work
    trips: dict = field(default_factory=dict)
    item: int = 4

    def __post_init__(self):
        if len(self.side) != 3 or not min(self.side) > 0:
            raise ValueError(f"side={self.side!r} does not do; give three integers above 0: rows, columns, depth.")


def read_counts(path: Path) -> dict:
    """{(kernel, arch): Counts} of a file."""
    return {(row["kernel"], row["arch"]): from_row(row) for row in json.loads(path.read_text())}


def to_row(counts):
    """`Counts` as JSON takes them."""
    row = asdict(counts)
    for part in ("once", "tile"):
        row[part]["requests"] = [[*key, many] for key, many in row[part]["requests"].items()]
        row[part] = {name: held for name, held in row[part].items() if name != "matrix" or held}
    row = {name: held for name, held in row.items() if (name, held) != ("item", 4)}
    return row | {"trips": [*row["trips"].items()]}


def from_row(row):
    """`Counts` from what `to_row` made."""
    work = {
        part: Work(**row[part] | {"requests": {tuple(key): many for *key, many in row[part]["requests"]}})
        for part in ("once", "tile")
    }
    return Counts(**row | work | {"side": tuple(row["side"]), "trips": dict(row["trips"])})
