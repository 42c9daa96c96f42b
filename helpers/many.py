"""How is a product computed that is too large for one device, or for one machine?

`streamed` lets A, B and C pass through a device in blocks, within a budget of bytes. A block of A or of B stays there,
and blocks of the other pass by it, in two tracks: while one computes, the other copies. Each pair makes a block of C,
which comes back to the host. Where K is cut, the host adds up. The rest is `summa`, with the ladder's kernels.
"""

import functools
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

import summa
from summa import INFINIBAND_NDR, bytes_moved, from_file, this_machine  # noqa: F401, beside what is the course's

from . import devices, ladder
from .arguments import sizes
from .ladder import ceil_div
from .launch import Contestant, Kernel, opencl_kernel, operands
from .launch.contestant import Work

TRACKS = 2
BUFFERS = 1 + 2 * TRACKS  # on the device: what stays, and of each track what passes by and its block of C
# Blocks that pass by, at least, where there are as many tiles: the first copy and the last hide behind nothing.
PASSING = 8


@dataclass(frozen=True)
class Plan:
    """How a product of M x K times K x N passes through a device: blocks, and the bytes that follow from them.

    stays       "A" or "B": whose block stays while the other's pass by
    BM, BN, BK  rows of a block of A and C, columns of one of B and C, and what of K they have
    """

    M: int
    N: int
    K: int
    stays: str
    BM: int
    BN: int
    BK: int

    @property
    def counts(self) -> tuple[int, int, int]:
        """Blocks along M, N and K."""
        return ceil_div(self.M, self.BM), ceil_div(self.N, self.BN), ceil_div(self.K, self.BK)

    @property
    def bytes_over_the_bus(self) -> int:
        """What stays crosses once, the other for each row or column of blocks that stay, C for each piece of K."""
        A, B, (down, across, deep) = self.M * self.K, self.K * self.N, self.counts
        return 4 * ((A + B * down if self.stays == "A" else B + A * across) + self.M * self.N * deep)

    @property
    def steps(self) -> int:
        """Products of two blocks."""
        return math.prod(self.counts)

    @property
    def bytes_on_device(self) -> int:
        """The most that lies there at the same time, with the guard behind each buffer."""
        A, B, C = self.BM * self.BK, self.BK * self.BN, self.BM * self.BN
        stays, passes = (A, B) if self.stays == "A" else (B, A)
        return 4 * (stays + TRACKS * (passes + C) + BUFFERS * operands.GUARD)

    def __str__(self):
        deep = self.counts[2]
        in_pieces = f", K in {deep} pieces" if deep > 1 else ""
        return (
            f"{self.stays} stays, in blocks of {self.BM} x {self.BK} (A) and {self.BK} x {self.BN} (B)"
            f"{in_pieces}: {self.bytes_on_device:,} bytes on the device, {self.bytes_over_the_bus:,} over the bus"
        )


def plan(k: Kernel, M: int, N: int, K: int, budget: float) -> Plan:
    """The plan with the fewest bytes over the bus within the budget; of those, with the fewest sums on the host.

    Blocks are whole tiles of the kernel, except where the matrix ends. Raises ValueError for a budget that holds none.
    """
    M, N, K = sizes((M, N, K))
    room = int(budget) // 4 - BUFFERS * operands.GUARD
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    depths = sorted({in_tiles(K, n, depth) for n in range(1, ceil_div(K, depth) + 1)})
    found = []
    for stays, BK in product("BA", depths):
        along, tile = ((M, N), (rows, columns)) if stays == "A" else ((N, M), (columns, rows))
        thin = min(tile[1], along[1])  # what passes by is one tile thick, and what stays as wide as there is room for
        wide = widest(along[0], (room - TRACKS * thin * BK) // (BK + TRACKS * thin), tile[0])
        if wide:
            thick = widest(along[1], (room - wide * BK) // (TRACKS * (BK + wide)), tile[1], PASSING)
            BM, BN = (wide, thick) if stays == "A" else (thick, wide)
            found.append(Plan(M, N, K, stays, BM, BN, BK))
    if not found:
        raise ValueError(f"a budget of {int(budget):,} bytes holds no tile of {k} beside the guards; give more.")
    return min(found, key=lambda p: (p.bytes_over_the_bus, -p.BK, p.steps))


def in_tiles(end: int, parts: int, tile: int) -> int:
    """How much has each of so many parts of `end`, in whole tiles."""
    return min(end, tile * ceil_div(ceil_div(end, parts), tile))


def widest(end: int, most: int, tile: int, least: int = 1) -> int:
    """The same, of as few parts as have `most` elements at most, but of `least` parts; 0 where no tile fits."""
    if most < min(tile, end):
        return 0
    whole = end if most >= end else most // tile * tile
    return in_tiles(end, max(least, ceil_div(end, whole)), tile)


class Streamed(Contestant):
    """`k`, with at most `budget` bytes on its device at the same time: C = streamed(k, budget)(A, B).

    It is checked and timed as any is. A call raises ValueError for too small a budget.
    """

    def __init__(self, k: Kernel, budget: float):
        self.kernel, self.budget = k, budget
        self.dialect, self.step, self.parameters, self.device = k.dialect, k.step, k.parameters, k.device
        self.name, self.inputs = f"{k.step} streamed", k.inputs
        self.last: StreamedWork | None = None  # what was launched last

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against that size: what the kernel has against a block, or too small a budget."""
        if 0 not in (M, N, K):
            p = plan(self.kernel, M, N, K, self.budget)
            self.kernel.refuse(p.BM, p.BN, p.BK)

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float | None = np.nan) -> "StreamedWork":
        """A and B stay on the host, beside a C full of `fill`."""
        self.last = StreamedWork(self, *operands.pair_for(A, B), fill)
        return self.last


class Passed(NamedTuple):
    """A block that passed by: bytes copied up and down, and the times when its copy began and ended, and its product."""

    bytes_up: int
    bytes_down: int
    begin: float
    copied: float
    multiplied: float


class StreamedWork(Work):
    """A, B and C on the host, and the plan. After a launch: what was copied, and when.

    bytes_up, bytes_down  copied to the device and from it
    passed                a list of `Passed`: the blocks that passed by
    """

    def __init__(self, streamed, A, B, fill):
        self.kernel, self.A, self.B = streamed.kernel, A, B
        self.plan = plan(self.kernel, A.shape[0], B.shape[1], A.shape[1], streamed.budget)
        self.C = np.full((A.shape[0], B.shape[1]), 0 if fill is None else fill, np.float32)

    def download(self):
        """C, float32 (M, N)."""
        return self.C.copy()

    @property
    def came_beside(self) -> int:
        """How many blocks were copied, for a while at least, while another was multiplied, as the host saw it."""
        return sum(any(a.begin < b.multiplied and b.copied < a.copied for b in self.passed) for a in self.passed)

    def multiply(self):
        """Let the blocks pass: for each piece of K, for each block that stays, all blocks of the other operand."""
        p, self.passed, self.bytes_up = self.plan, [], 0
        stays, passes = pieces(p.M, p.BM), pieces(p.N, p.BN)
        if p.stays == "B":
            stays, passes = passes, stays
        # The PTX machine runs one kernel at a time.
        with ThreadPoolExecutor(1 if self.kernel.untimed else TRACKS) as threads:
            for k, block in product(pieces(p.K, p.BK), stays):
                X = self.cut(p.stays, block, k)
                self.staying = self.kernel.place(X)
                self.bytes_up += X.nbytes
                turns = [(passes[first::TRACKS], block, k) for first in range(TRACKS)]
                for passed in threads.map(self.let_pass, turns):
                    self.passed += passed
                self.staying = None  # gone before the next one comes
        self.bytes_up += sum(one.bytes_up for one in self.passed)
        self.bytes_down = sum(one.bytes_down for one in self.passed)

    def cut(self, name, block, k):
        """A block that is to be copied, C-contiguous: `block` of A's rows or B's columns, `k` of what they share."""
        return np.ascontiguousarray(self.A[block, k] if name == "A" else self.B[k, block])

    def let_pass(self, turn):
        """In one track: copy a block, multiply it with the one that stays, bring the block of C back; then the next.

        Returns a list of `Passed`.
        """
        (blocks, staying, k), passing, work, passed = turn, None, None, []
        for block in blocks:
            X, begin = self.cut("B" if self.plan.stays == "A" else "A", block, k), time.perf_counter()
            if passing and passing.shape == X.shape:
                self.kernel.place(X, passing)
            else:
                passing = work = None  # gone before the next one comes
                passing = self.kernel.place(X)
                A, B = (self.staying, passing) if self.plan.stays == "A" else (passing, self.staying)
                work = self.kernel.upload(A, B, fill=None)
            copied = time.perf_counter()
            work.launch()
            multiplied = time.perf_counter()
            part = work.download()
            passed.append(Passed(X.nbytes, part.nbytes, begin, copied, multiplied))
            C = self.C[(staying, block) if self.plan.stays == "A" else (block, staying)]
            C[:] = C + part if k.start else part
        return passed


def pieces(end: int, step: int) -> list[slice]:
    """0 to `end` in slices of `step`, the last of what is left."""
    return [slice(start, min(start + step, end)) for start in range(0, end, step)]


@functools.cache
def local_kernel() -> Kernel:
    """The ladder's kernel on the GPU of this rank or worker, where there are any, or on the cores that it may use."""
    device = devices.opencl_device()
    if device.kind != "GPU":
        return opencl_kernel("packed", device)
    gpus = [one for one in devices.opencl_devices() if one.kind == "GPU" and devices.problem_of(one) is None]
    return opencl_kernel("register_2d", gpus[int(os.environ.get("SUMMA_RANK", 0)) % len(gpus)])


def block_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """C = A @ B by the kernel of this rank or worker, which is built once: its operands and errors are the kernel's."""
    return local_kernel()(A, B)


streamed = Streamed
on_ranks = functools.partial(summa.on_ranks, multiply="helpers.many:block_product")
cluster = functools.partial(summa.cluster, multiply="helpers.many:block_product")
on_ranks.__doc__, cluster.__doc__ = summa.on_ranks.__doc__, summa.cluster.__doc__
