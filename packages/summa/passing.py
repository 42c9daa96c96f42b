"""How does a product pass through one device, in blocks, within a budget of bytes?

A block of A or of B stays there, and blocks of the other pass by it, in two tracks: while one computes, the other
copies. Each pair makes a block of C, which comes back. Where K is cut, the host adds up.
"""

import math
from dataclasses import dataclass
from itertools import product

TRACKS = 2
BUFFERS = 1 + 2 * TRACKS  # on the device: what stays, and of each track what passes by and its block of C
# Blocks that pass by, at least, where there are as many tiles: the first copy and the last hide behind nothing.
PASSING = 8


@dataclass(frozen=True)
class Plan:
    """How a product of float32 passes through a device.

    `size`, `block`: M, N and K of all and of a block. `stays`: "A" or "B". `guard`: floats behind each buffer there.
    """

    size: tuple[int, int, int]
    block: tuple[int, int, int]
    stays: str
    guard: int = 0

    @property
    def counts(self) -> list[int]:
        """Blocks along M, N and K."""
        return [-(-end // step) for end, step in zip(self.size, self.block, strict=True)]

    @property
    def bytes_over_the_bus(self) -> int:
        """What stays crosses once, the other for each row or column of blocks that stay, C for each piece of K."""
        (M, N, K), (down, across, deep) = self.size, self.counts
        return 4 * ((M * K + K * N * down if self.stays == "A" else K * N + M * K * across) + M * N * deep)

    @property
    def bytes_on_device(self) -> int:
        """The most that lies there at the same time, with the guard behind each buffer."""
        M, N, K = self.block
        stays, passes = (M * K, K * N) if self.stays == "A" else (K * N, M * K)
        return 4 * (stays + TRACKS * (passes + M * N) + BUFFERS * self.guard)

    def __str__(self):
        (M, N, K), deep = self.block, self.counts[2]
        in_pieces = f", K in {deep} pieces" if deep > 1 else ""
        return (
            f"{self.stays} stays, in blocks of {M} x {K} (A) and {K} x {N} (B){in_pieces}: "
            f"{self.bytes_on_device:,} bytes on the device, {self.bytes_over_the_bus:,} over the bus"
        )


def plan(size: tuple[int, int, int], tile: tuple[int, int, int], budget: float, guard: int = 0) -> Plan:
    """The plan with the fewest bytes over the bus within the budget; of those, with the fewest sums on the host.

    `size`: M, N and K. Blocks are whole tiles, except where the matrix ends. `guard`: as `Plan` has it. Raises
    ValueError for a budget that holds none.
    """
    (M, N, K), (rows, columns, depth) = size, tile
    room, found = int(budget) // 4 - BUFFERS * guard, []
    for stays, BK in product("BA", [min(K, n) for n in range(depth, K + depth, depth)]):
        (end, side), (other_end, thin) = ((M, rows), (N, columns)) if stays == "A" else ((N, columns), (M, rows))
        # First what passes by is a tile thick, and what stays as wide as there is room for; then the rest is for both.
        least = TRACKS * min(thin, other_end)
        wide = widest(end, (room - least * BK) // (BK + least), side)
        if wide:
            thick = widest(other_end, (room - wide * BK) // (TRACKS * (BK + wide)), thin, PASSING)
            block = (wide, thick, BK) if stays == "A" else (thick, wide, BK)
            found.append(Plan(size, block, stays, guard))
    if not found:
        named = " x ".join(map(str, tile))
        raise ValueError(f"a budget of {int(budget):,} bytes holds no tile of {named} (M x N x K); give more.")
    return min(found, key=lambda p: (p.bytes_over_the_bus, p.counts[2], p.block[2], math.prod(p.counts)))


def widest(end: int, most: int, tile: int, least: int = 1) -> int:
    """What each block has of `end`: whole tiles, `most` at most, of `least` blocks or more; 0 where no tile fits."""
    if most < min(tile, end):
        return 0
    blocks = max(least, -(-end // (end if most >= end else most // tile * tile)))
    return min(end, -(-end // (blocks * tile)) * tile)


def pieces(end: int, step: int) -> list[slice]:
    """0 to `end` in slices of `step`, the last of what is left."""
    return [slice(start, min(start + step, end)) for start in range(0, end, step)]
