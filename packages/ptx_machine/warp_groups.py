"""Products of matrices by a warp group, four warps together: `wgmma.mma_async`. B, and A too, may lie in shared memory.

A descriptor of 64 bits says where a matrix lies there and how: bits 0 to 13 its address, 16 to 29 and 32 to 45 two
strides, all in units of 16 bytes, 62 and 63 the swizzle. Lines of 16, 32, 64 or 128 bytes lie eight to an atom, and the
places of 16 bytes in a line are exchanged by the line's number in its atom. Fragments are those of `mma.sync`
(`warpwide`), warp after warp. Source: NVIDIA's PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
"""

import numpy as np

from .warps import WARP
from .warpwide import cut_sum, numbers

GROUP = 4 * WARP  # threads
PIECE = 16  # bytes that lie side by side
LINE = np.array([16, 128, 64, 32])  # bytes of an atom's line, by the descriptor's swizzle
EXCHANGED = LINE // PIECE - 1  # which bits of a line's number exchange places
DEPTH = {"f16": 16, "bf16": 16, "tf32": 8}  # of each type, the columns of A that one instruction takes: 32 bytes
WITHIN = 1 << 18  # bytes of shared memory whose addresses a descriptor tells apart


def pieces(descriptors, rows, by_depth):
    """Where a matrix lies in shared memory, by its descriptors, uint64 (groups,): addresses of its pieces of 16 bytes.

    rows      of A, or columns of B; along the depth lie two pieces or, of 16 bits, 16 numbers
    by_depth  whether numbers that are neighbours along the depth lie side by side, as of 32 bits they must; else those
              of neighbouring rows do
    Returns int64 (groups, pieces), in the order (rows / 8, 2 along the depth, 8 rows), or (2, rows / 8, 8 of the
    depth): eight behind each other lie in one atom, one in each line.
    """
    descriptors = descriptors[:, None, None, None]
    start, lead, stride = (PIECE * (descriptors >> np.uint64(at)).astype(np.int64) % WITHIN for at in (0, 16, 32))
    swizzle = (descriptors >> np.uint64(62)).astype(np.int64)
    line, plain = LINE[swizzle], swizzle == 0
    if by_depth:
        atom, piece, within = np.ogrid[: rows // 8, :2, :8]
        place = within * line + atom * stride + piece * np.where(plain, lead, PIECE)
    else:
        deep, piece, within = np.ogrid[:2, : rows // 8, :8]
        atom, beside = np.divmod(piece, line // PIECE)
        across = np.where(plain, piece * stride, atom * lead + beside * PIECE)
        place = within * line + deep * np.where(plain, lead, stride) + across
    place = start + place
    return (place ^ (place >> 7 & EXCHANGED[swizzle]) * PIECE).reshape(len(descriptors), -1)


def matrix(found, kind, by_depth):
    """The numbers of those pieces, uint32 (groups, pieces, 4), as float64 (groups, rows, depth)."""
    groups, many, _ = found.shape
    lines = found.reshape(groups, *((-1, 2) if by_depth else (2, -1)), 8, 4).swapaxes(2, 3)  # (..., line, piece, word)
    lines = numbers(lines.reshape(groups, many // 2 if by_depth else 16, -1), kind)
    return lines if by_depth else lines.swapaxes(1, 2)


def held_by_threads(registers, kind):
    """A of 64 rows as threads hold it: four registers, uint32 (4, groups * 128), as float64 (groups, 64, depth)."""
    words = registers.reshape(2, 2, -1, 4, 8, 4).transpose(2, 3, 1, 4, 0, 5)
    return numbers(words.reshape(words.shape[0], 64, -1), kind)


def sums_of(registers):
    """A matrix of sums as threads hold it, float32 (columns / 2, groups * 128), as float64 (groups, 64, columns)."""
    parts = registers.reshape(-1, 2, 2, registers.shape[1] // GROUP, 4, 8, 4).transpose(3, 4, 1, 5, 0, 6, 2)
    return parts.reshape(parts.shape[0], 64, -1).astype(np.float64)


def registers_of(sums):
    """The registers that hold sums (groups, 64, columns): float32 (columns / 2, groups * 128)."""
    parts = sums.reshape(len(sums), 4, 2, 8, -1, 4, 2).transpose(4, 2, 6, 0, 1, 3, 5)
    return np.ascontiguousarray(parts, np.float32).reshape(-1, len(sums) * GROUP)


def product(a, b, c, kind):
    """c + a @ b of each group, float64 (groups, 64, depth), (groups, columns, depth), (groups, 64, columns).

    Sums are cut as those of `mma.sync`.
    """
    each = zip(a, b.swapaxes(1, 2), c, strict=True)  # one by one: what all of them take would fit in no cache
    return np.concatenate([cut_sum(*(one[None] for one in some), kind) for some in each])
