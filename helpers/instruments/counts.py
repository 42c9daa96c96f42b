"""What a CUDA kernel asks of a multiprocessor, counted: by the compiler's code and by running it, with no GPU.

A count is linear: so much for each block, and so much more for each of its K-tiles. The ladder's own are kept in
`counts.json`, which `tools/counts.py` makes; another kernel's need NVIDIA's compiler.
"""

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ptx_machine import WARP

from .. import ladder
from ..launch import Kernel
from .compiler import compiler_report, ptx_of
from .ptx_run import run_text

KEPT = Path(__file__).with_name("counts.json")
SHORT = 64  # K of the shorter of two runs, at least: rows of A and B then lie in lines of their own
WHOLE = re.compile(
    r"(?:@!?%\w+\s+)?(?:add|sub|mul|mad|shl|shr|and|or|xor|setp|selp|min|max|bfe|cvt)\.\S*[sub](16|32|64)\b"
)


@dataclass(frozen=True)
class Work:
    """What all warps of a block ask for together.

    fma           multiply-adds, one for 32 threads
    whole         instructions that reckon with whole numbers
    instructions  of all kinds
    requests      {(memory, pieces, bytes): how many}: "shared" with rounds of the banks, "global" with lines of 128
                  bytes, and the bytes that a request brings to its threads
    """

    fma: float
    whole: float
    instructions: float
    requests: dict


@dataclass(frozen=True)
class Counts:
    """A kernel's counts, and what decides how many of its blocks a multiprocessor keeps.

    once, tile  the `Work` of a block, and of one of its K-tiles
    side        rows, columns and depth of the tile of C that a block computes
    waits       whether all warps of a block stand still until a tile has come from global memory
    """

    kernel: str
    arch: str
    threads: int
    registers: int
    shared_bytes: int
    side: tuple
    waits: bool
    once: Work
    tile: Work


def counts_of(k: Kernel, arch: str) -> Counts:
    """The `Counts` of a CUDA kernel for that architecture: kept ones of the ladder, or counted now.

    Raises KernelError where it has to be counted and NVIDIA's compiler is missing.
    """
    return kept().get((title(k), arch)) if is_rung(k) and (title(k), arch) in kept() else count(k, arch)


def title(k):
    """A kernel's name and parameters."""
    return f"{k.step} with {ladder.spell(k.parameters)}"


def is_rung(k):
    """Whether it is the ladder's own kernel, not one that a learner wrote in its place."""
    return not k.own


@cache
def kept():
    """The counts of `counts.json`: {(title, arch): Counts}."""
    rows = json.loads(KEPT.read_text()) if KEPT.exists() else []
    return {(row["kernel"], row["arch"]): from_row(row) for row in rows}


def to_row(counts):
    """`Counts` as JSON takes them."""
    row = asdict(counts)
    for part in ("once", "tile"):
        row[part]["requests"] = [[*key, many] for key, many in row[part]["requests"].items()]
    return row


def from_row(row):
    """`Counts` from what `to_row` made."""
    work = {
        part: Work(**row[part] | {"requests": {tuple(key): many for *key, many in row[part]["requests"]}})
        for part in ("once", "tile")
    }
    return Counts(**row | work | {"side": tuple(row["side"])})


def count(k: Kernel, arch: str) -> Counts:
    """Compile a kernel, run two small blocks of it on the PTX machine, and count. Takes some seconds."""
    report, ptx = compiler_report(k, arch), ptx_of(k, arch)
    rows, columns, depth = ladder.step(k.step).tile(k.parameters)
    short = max(SHORT, 2 * depth)
    runs = [run_block(k, ptx, rows, columns, K) for K in (short, 2 * short)]
    loop = loop_of(ptx, runs[1], report.loop.stages)
    works = [work(run, ptx, loop, report.loop) for run in runs]
    tiles = short / depth
    tile = mixed(works[1], works[0], 1 / tiles, -1 / tiles)
    once = mixed(works[0], works[1], 2, -1)
    barriers = runs[1].executed["barrier"] > runs[0].executed["barrier"]
    return Counts(
        title(k),
        arch,
        k.block[0] * k.block[1],
        report.registers,
        report.shared_bytes,
        (rows, columns, depth),
        bool(barriers) and not fetches_ahead(runs),
        once,
        tile,
    )


def run_block(k, ptx, rows, columns, K):
    """One block of the kernel, inside matrices large enough that no row of them shares a line with another."""
    A, B = np.ones((rows, K), np.float32), np.ones((K, max(columns, SHORT)), np.float32)
    return run_text(ptx, k.block, (1, 1), A, B)


def mixed(one, other, a, b):
    """a times one work and b times another."""
    requests = {
        key: round(a * one.requests.get(key, 0) + b * other.requests.get(key, 0), 6)
        for key in sorted({*one.requests, *other.requests})
    }
    return Work(
        *(round(a * getattr(one, what) + b * getattr(other, what), 6) for what in ("fma", "whole", "instructions")),
        {key: many for key, many in requests.items() if many},
    )


def loop_of(ptx, run, stages):
    """The lines of the PTX that the machine's loop was made from: the innermost loop around the multiply-adds that run
    most often; the innermost one that stages tiles, too, if the machine's loop does. A range."""
    lines = ptx.splitlines()
    labels = {found[1]: number for number, line in enumerate(lines, 1) if (found := re.match(r"\s*(\$\w+):", line))}
    fma = [number for number in run.by_line if "fma." in lines[number - 1]]
    most = max(run.by_line[number] for number in fma)
    inside = [number for number in fma if run.by_line[number] == most]
    if stages:
        inside += [one.line for one in run.requests if (one.memory, one.act) == ("shared", "store")]
    loops = []
    for number, line in enumerate(lines, 1):
        found = re.search(r"\bbra\S*\s+(\$\w+)", line)
        if found and labels[found[1]] < min(inside) and max(inside) < number:
            loops.append(range(labels[found[1]], number + 1))
    return min(loops, key=len, default=range(0))


def work(run, ptx, loop, machine):
    """The `Work` of a run: in the loop as the machine code has it, elsewhere as the PTX was executed."""
    lines, fma = ptx.splitlines(), run.executed["FMA"] / WARP
    inside = sum(many for number, many in run.by_line.items() if number in loop and "fma." in lines[number - 1]) / WARP
    trips = inside / machine.mix["FMA"]
    instructions, whole = trips * machine.size, trips * machine.mix.get("whole-number arithmetic", 0)
    for number, many in run.by_line.items():
        if number not in loop:
            instructions += many / WARP
            found = WHOLE.match(lines[number - 1].strip())
            whole += many / WARP * (int(found[1]) > 32) + many / WARP if found else 0
    requests = Counter()
    for (memory, *size), many in joined(run.requests, loop, machine.mix, trips):
        requests[memory, *(round(number, 6) for number in size)] += many
    return Work(fma, whole, instructions, dict(requests))


def joined(requests, loop, mix, trips):
    """Pairs of (a key of `Work.requests`, how many). Loads that ptxas joined are one request.

    It joins four loads of a thread's neighbouring words in shared memory into one of 16 bytes; how many it joined, the
    machine's code says. Loads that several threads do together come first: where neighbours read neighbouring words, a
    thread's own next word is a row further on.
    """
    pairs, narrow, wide = [], [], mix.get("shared load, 16 bytes", 0) * trips
    for one in requests:
        many, size = one.instructions, one.bytes / one.instructions
        if one.memory == "global":
            pairs.append((("global", one.lines / many, size), many))
        elif one.act != "load" or one.line not in loop:
            pairs.append((("shared", one.pieces / many, size), many))
        elif ".v4" in one.text:
            pairs.append((("shared", rounds_of_16(one.paired == many, one.pieces / many), size), many))
            wide -= many
        else:
            narrow.append((one.paired < many, one.pieces / many, size, many))
    for alone, rounds, size, many in sorted(narrow):
        fours = max(0, min(many / 4, wide))
        wide -= fours
        pairs.append((("shared", rounds_of_16(not alone, 4 * rounds), 4 * size), fours))
        pairs.append((("shared", rounds, size), many - 4 * fours))
    return [(key, many) for key, many in pairs if many]


def rounds_of_16(paired, rounds):
    """Cycles of a warp's load of 16 bytes a thread: as many as the banks' rounds, or 2 where pairs ask for the same.

    Source: Greg Smith of NVIDIA, forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228.
    """
    return rounds / 2 if paired else rounds


def fetches_ahead(runs):
    """Whether a tile is asked for before the one before it is multiplied: its loads follow the stores of that one."""
    short, long = ({one.line: one for one in run.requests} for run in runs)
    again = [one for line, one in long.items() if one.instructions > getattr(short.get(line), "instructions", 0)]
    loads = [one.line for one in again if (one.memory, one.act) == ("global", "load")]
    stores = [one.line for one in again if (one.memory, one.act) == ("shared", "store")]
    return bool(loads and stores) and min(loads) > max(stores)
