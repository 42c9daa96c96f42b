"""How is a product computed that is too large for one device, or for one machine?

`streamed` lets A, B and C pass through a device in blocks, within a budget of bytes. A block of A or of B stays there,
and blocks of the other pass by it, in two tracks: while one computes, the other copies. Each pair makes a block of C,
which comes back to the host. Where K is cut, the host adds up. The rest is `summa`, with the ladder's kernels.
"""

import contextlib
import functools
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace

import numpy as np

import summa
from summa import INFINIBAND_NDR, bytes_moved, from_file, this_machine  # noqa: F401, beside what is the course's

from . import devices, ladder
from .arguments import sizes
from .ladder import ceil_div
from .launch import Contestant, Kernel, opencl_kernel, operands
from .launch.kernel import Work

PIECES = 1024  # that K is cut into at most, where more than a single tile of it fits
# Blocks that pass by, at least, where there are as many tiles: the first copy and the last hide behind nothing.
PASSING = 8


@dataclass(frozen=True)
class Plan:
    """How a product of M x K times K x N passes through a device: blocks, tracks, and the bytes that follow from them.

    stays       "A" or "B": whose block stays while the other's pass by
    BM, BN, BK  rows of a block of A and C, columns of one of B and C, and what of K they have
    tracks      pairs of a passing block and its block of C on the device at the same time
    """

    M: int
    N: int
    K: int
    stays: str
    BM: int
    BN: int
    BK: int
    tracks: int

    @property
    def counts(self) -> tuple[int, int, int]:
        """Blocks along M, N and K."""
        return ceil_div(self.M, self.BM), ceil_div(self.N, self.BN), ceil_div(self.K, self.BK)

    @property
    def bytes_up(self) -> int:
        """What is copied to the device: what stays once, and the other for each row or column of blocks that stay."""
        A, B, (down, across, _) = self.M * self.K, self.K * self.N, self.counts
        return 4 * (A + B * down if self.stays == "A" else B + A * across)

    @property
    def bytes_down(self) -> int:
        """What is copied from the device: C, once for each piece of K."""
        return 4 * self.M * self.N * self.counts[2]

    @property
    def steps(self) -> int:
        """Products of two blocks."""
        return math.prod(self.counts)

    @property
    def bytes_on_device(self) -> int:
        """The most that lies there at the same time, with the guard behind each buffer."""
        A, B, C = self.BM * self.BK, self.BK * self.BN, self.BM * self.BN
        stays, passes = (A, B) if self.stays == "A" else (B, A)
        guards = (1 + 2 * self.tracks) * operands.GUARD  # behind the block that stays, and behind the two of each track
        return 4 * (stays + self.tracks * (passes + C) + guards)

    @property
    def blocks(self) -> set[tuple[int, int, int]]:
        """The sizes (M, N, K) of the products of two blocks: the last of a row, a column or of K may be smaller."""
        ends = ((self.M, self.BM), (self.N, self.BN), (self.K, self.BK))
        return set(product(*({part.stop - part.start for part in pieces(*one)} for one in ends)))

    def __str__(self):
        deep = self.counts[2]
        return (
            f"{self.stays} stays, in blocks of {self.BM} x {self.BK} (A) and {self.BK} x {self.BN} (B)"
            f"{f', K in {deep} pieces' * (deep > 1)}: {self.bytes_on_device:,} bytes on the device, "
            f"{self.bytes_up + self.bytes_down:,} over the bus"
        )


def plan(k: Kernel, M: int, N: int, K: int, budget: float) -> Plan:
    """The plan with the fewest bytes over the bus within the budget; of those, with the fewest sums on the host.

    Blocks are whole tiles of the kernel, except where the matrix ends. Raises ValueError for a budget that holds none.
    """
    M, N, K = sizes((M, N, K))
    tracks, budget = 1 if k.untimed else 2, int(budget)  # the PTX machine runs one kernel at a time
    tile = [min(pair) for pair in zip(ladder.STEPS[k.step].tile(k.parameters), (M, N, K), strict=True)]
    least = min(Plan(M, N, K, stays, *tile, tracks).bytes_on_device for stays in "AB")
    if budget < least:
        raise ValueError(
            f"a budget of {budget:,} bytes holds no tile of {k} in {tracks} track{'s' * (tracks > 1)}, "
            f"with the guards behind the buffers. The least that would do: {least:,}."
        )
    # A block is as deep as a tile, or as one of 1, 2, 3 and so many pieces of K, in whole tiles.
    depth = tile[2]
    depths = {depth} | {min(K, depth * ceil_div(ceil_div(K, n), depth)) for n in range(1, PIECES + 1)}
    found = [widest(stays, (M, N, K), tile, BK, tracks, budget) for stays in "BA" for BK in sorted(depths)]
    return min(filter(None, found), key=lambda p: (p.bytes_up + p.bytes_down, -p.BK, p.steps))


def widest(stays: str, size: tuple, tile: list, BK: int, tracks: int, budget: int) -> Plan | None:
    """The plan of that depth with the widest staying block; what passes by is one tile at first. None without room."""
    M, N, K = size
    end, other_end, tile_wide, tile_thick = (M, N, *tile[:2]) if stays == "A" else (N, M, tile[1], tile[0])
    room = budget // 4 - (1 + 2 * tracks) * operands.GUARD
    wide = in_tiles((room - tracks * tile_thick * BK) // (BK + tracks * tile_thick), tile_wide, end)
    if wide == 0:
        return None
    # So many blocks stay, one after the other. All of them are as wide, but for a tile.
    staying = ceil_div(end, wide)
    wide = min(wide, in_tiles(ceil_div(end, staying) + tile_wide - 1, tile_wide, end))
    thick = (room - wide * BK) // (tracks * (BK + wide))
    thick = in_tiles(min(thick, ceil_div(other_end, PASSING) + tile_thick - 1), tile_thick, other_end)
    return Plan(M, N, K, stays, *((wide, thick) if stays == "A" else (thick, wide)), BK, tracks)


def in_tiles(n: int, tile: int, end: int) -> int:
    """The elements of as many whole tiles as there are in n; or `end`, which may cut a tile, where n reaches it."""
    return end if n >= end else max(0, n // tile * tile)


class Streamed(Contestant):
    """`k`, with at most `budget` bytes on its device at the same time: C = streamed(k, budget)(A, B).

    It is checked and timed as any is. A call raises ValueError, with the least that would do, for too small a budget.
    """

    def __init__(self, k: Kernel, budget: float):
        self.kernel, self.budget = k, int(budget)
        self.dialect, self.step, self.parameters, self.device = k.dialect, k.step, k.parameters, k.device
        self.name, self.inputs = f"{k.step} streamed", k.inputs
        self.last: StreamedWork | None = None  # what was launched last

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against that size: what the kernel has against a block, or too small a budget."""
        if 0 in (M, N, K):
            return
        p = plan(self.kernel, M, N, K, self.budget)
        self.kernel.refuse(*((M, N, K) if self.untimed else (p.BM, p.BN, p.BK)))

    def ready(self, M: int, N: int, K: int) -> "Streamed":
        """Itself, its kernel ready for each size of block."""
        for block in plan(self.kernel, M, N, K, self.budget).blocks:
            self.kernel.ready(*block)
        return self

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float | None = np.nan) -> "StreamedWork":
        """A and B stay on the host, beside a C full of `fill`."""
        operands.validate(A, B)
        return StreamedWork(self, A, B, fill)


class StreamedWork(Work):
    """A, B and C on the host, and the plan. After a launch: what was copied, and in which order.

    bytes_up, bytes_down  copied to the device and from it, by the last launch
    order                 as it happened: (what, begins, block), where what is "copy" or "multiply", begins is True or
                          False, and block is the number of a block that passes
    """

    def __init__(self, streamed, A, B, fill):
        self.kernel, self.A, self.B = streamed.kernel, A, B
        self.plan = plan(self.kernel, A.shape[0], B.shape[1], A.shape[1], streamed.budget)
        self.C = np.full((A.shape[0], B.shape[1]), 0 if fill is None else fill, np.float32)
        streamed.last = self

    def download(self):
        """C, float32 (M, N)."""
        return self.C.copy()

    @property
    def came_beside(self) -> int:
        """How many blocks were copied, for a while at least, while another was multiplied, as the host saw it."""
        now, beside = {"copy": set(), "multiply": set()}, set()
        for what, begins, block in self.order:
            (now[what].add if begins else now[what].remove)(block)
            beside |= now["copy"] if now["multiply"] else set()
        return len(beside)

    def multiply(self):
        """Let the blocks pass: for each piece of K, for each block that stays, all blocks of the other operand."""
        p, self.order, self.up, self.down = self.plan, [], [], []
        stays, passes = pieces(p.M, p.BM), pieces(p.N, p.BN)
        if p.stays == "B":
            stays, passes = passes, stays
        # What each track holds on the device: a block that passes, and the work that it is part of.
        self.tracks = [SimpleNamespace(passing=None, work=None) for _ in range(p.tracks)]
        self.staying, self.stopped = None, False
        with ThreadPoolExecutor(p.tracks) as threads:
            for done, (k, block) in enumerate(product(pieces(p.K, p.BK), stays)):
                self.stay(self.cut(p.stays, block, k))
                numbered = list(enumerate(passes, done * len(passes)))
                turns = [(track, numbered[first :: p.tracks], block, k) for first, track in enumerate(self.tracks)]
                try:
                    list(threads.map(self.let_pass, turns))
                except BaseException:
                    self.stopped = True  # the other track need not finish its blocks
                    raise
        self.tracks, self.staying = [], None  # and with them what they hold on the device
        self.bytes_up, self.bytes_down = sum(self.up), sum(self.down)

    def cut(self, name, block, k):
        """A block that is to be copied, C-contiguous: `block` of A's rows or B's columns, `k` of what they share."""
        X = np.ascontiguousarray(self.A[block, k] if name == "A" else self.B[k, block])
        self.up.append(X.nbytes)
        return X

    def stay(self, X):
        """Put X where the last block that stayed was; if that was of another shape, let go of everything first."""
        if self.staying and self.staying.shape != X.shape:
            self.staying = None
            for track in self.tracks:
                track.passing = track.work = None
        self.staying = self.kernel.place(X, self.staying)

    def let_pass(self, turn):
        """In one track: copy a block, multiply it with the one that stays, bring the block of C back; then the next."""
        track, blocks, staying, k = turn
        other = "B" if self.plan.stays == "A" else "A"
        for number, block in blocks:
            if self.stopped:
                return
            X = self.cut(other, block, k)
            with self.noted("copy", number):
                self.put(track, X, other)
            with self.noted("multiply", number):
                track.work.launch()
            part = track.work.download()
            self.down.append(part.nbytes)
            C = self.C[(block, staying) if other == "A" else (staying, block)]
            C[:] = C + part if k.start else part

    def put(self, track, X, name):
        """Put X, the block of A or B of that name, where the track's last one was, or, if of another shape, anew."""
        if track.passing and track.passing.shape == X.shape:
            self.kernel.place(X, track.passing)
            return
        track.passing = track.work = None
        track.passing = self.kernel.place(X)
        A, B = (track.passing, self.staying) if name == "A" else (self.staying, track.passing)
        track.work = self.kernel.upload(A, B, fill=None)

    @contextlib.contextmanager
    def noted(self, what, number):
        """Note when that begins and when it has ended, as the host sees it."""
        self.order.append((what, True, number))
        yield
        self.order.append((what, False, number))


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
