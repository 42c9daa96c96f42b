"""What a warp's threads do together: shuffles, votes, sums, matrices. On arrays (warps, 32), one column a thread.

Fragments: thread n of a warp stands in row n // 4, its group, and column n % 4 of a picture of 8 x 4. Register r of A
holds row n // 4 + 8 * (r % 2) and word n % 4 + 4 * (r // 2) of that row; register r of B the same of B's column n // 4;
a word is one TF32 number or two neighbours of 16 bits. One rule for all shapes. Source: NVIDIA's PTX ISA, "Matrix
Fragments for mma.m16n8k4, m16n8k8, m16n8k16", `ldmatrix`, `shfl.sync`, `vote.sync`, `redux.sync`.

Fragments of `wmma`: the manual leaves open which thread holds what. Here thread n holds the n-th part of 32 of the
matrix: A and B as they lie in memory, C by rows.
"""

import re
from functools import reduce

import numpy as np

from .formats import canonical32, exact, fp8_numbers, rounded, tf32
from .warps import WARP

LANE = np.arange(WARP, dtype=np.int64)
WORD = {
    "f16": 2,
    "bf16": 2,
    "tf32": 1,
    "s8": 4,
    "u8": 4,
    "e4m3": 4,
    "e5m2": 4,
    "f32": 1,
    "s32": 1,
}  # numbers in a register of 32 bits
CUT = ("f16", "bf16", "tf32")  # of these, sums of float32 are cut, not rounded
WIDEST = 16  # bytes that a thread moves at once


def shuffle(mode):
    """`shfl.sync` of a mode: (who takes part, numbers, b, c), each (warps, 32) -> (numbers, whether in range)."""

    def function(taking, values, b, c):
        b, c = b.astype(np.int64), c.astype(np.int64)
        bound, clamp, segment = b & 31, c & 31, c >> 8 & 31
        most = (LANE & segment) | (clamp & ~segment)
        if mode == "up":
            lane = LANE - bound
            inside = lane >= most
        else:
            lane = {"down": LANE + bound, "bfly": LANE ^ bound, "idx": (LANE & segment) | (bound & ~segment)}[mode]
            inside = lane <= most
        return np.take_along_axis(values, np.where(inside, lane, LANE), axis=1), inside

    return function


def bits_of_lanes(holds):
    """One bit a thread, uint32 (warps, 1); holds (warps, 32) bool."""
    return (holds.astype(np.uint64) << LANE.astype(np.uint64)).sum(axis=1, keepdims=True).astype(np.uint32)


def vote(mode):
    """`vote.sync` of that mode: a function of who takes part and a predicate, each bool (warps, 32)."""

    def function(taking, holds):
        if mode == "ballot":
            return bits_of_lanes(taking & holds)
        every = (holds | ~taking).all(axis=1, keepdims=True)
        none = ~(holds & taking).any(axis=1, keepdims=True)
        return {"all": every, "any": ~none, "uni": every | none}[mode]

    return function


def match(mode):
    """`match.sync` of that mode: who has the same number; for "all", everybody or nobody, and which."""

    def function(taking, values):
        same = (values[:, :, None] == values[:, None, :]) & taking[:, None, :]
        if mode == "any":
            return (same.astype(np.uint64) << LANE.astype(np.uint64)).sum(axis=2).astype(np.uint32)
        every = ((same == taking[:, None, :]).all(axis=2) | ~taking).all(axis=1, keepdims=True)
        return np.where(every, bits_of_lanes(taking), np.uint32(0)), every

    return function


def reduction(operator, start):
    """`redux.sync`: one number of all that take part."""

    def function(taking, values):
        given = np.where(taking, values, values.dtype.type(start(np.iinfo(values.dtype))))
        return reduce(operator, given.T)[:, None]

    return function


REDUCTIONS = {
    "add": reduction(np.add, lambda limits: 0),
    "min": reduction(np.minimum, lambda limits: limits.max),
    "max": reduction(np.maximum, lambda limits: limits.min),
    "and": reduction(np.bitwise_and, lambda limits: limits.max),  # of type .b32: all bits
    "or": reduction(np.bitwise_or, lambda limits: 0),
    "xor": reduction(np.bitwise_xor, lambda limits: 0),
}


def matrices(rows, transposed):
    """`ldmatrix`: what each thread gets of matrices of 8 rows of 8 numbers of 16 bits.

    rows (warps, 8 * matrices, 4) uint32: 16 bytes each. Returns (warps, 32) for each matrix: thread n gets numbers
    2 * (n % 4) and the next of row n // 4, or, transposed, of column n // 4.
    """
    found = []
    for first in range(0, rows.shape[1], 8):
        matrix = np.ascontiguousarray(rows[:, first : first + 8])
        if transposed:
            matrix = np.ascontiguousarray(matrix.view(np.uint16).swapaxes(1, 2)).view(np.uint32)
        found.append(matrix.reshape(-1, WARP))
    return found


def numbers(words, kind):
    """Words of 32 bits along the last axis as the float64 that they hold."""
    words = np.ascontiguousarray(words)
    if kind == "tf32":
        return tf32(words).astype(np.float64)
    if kind in ("f32", "s32"):
        return words.view(np.float32 if kind == "f32" else np.int32).astype(np.float64)
    if kind in ("s8", "u8"):
        return words.view(kind.replace("s", "i")[0] + "1").astype(np.float64)
    if kind in ("e4m3", "e5m2"):
        return fp8_numbers(f"{kind}x2")[words.view(np.uint8)]
    return exact(words.view(np.float16 if kind == "f16" else np.uint16), kind)


def elect(taking):
    """`elect.sync`: the first of those that take part, and whether a thread is that one."""
    first = taking.argmax(axis=1)[:, None].astype(np.uint32)
    return first, first == LANE


def transposed(taking, words):
    """`movmatrix`: a matrix of 8 x 8 numbers of 16 bits that a warp holds, by columns."""
    return matrices(words.reshape(-1, 8, 4), True)[0]


def multiply_doubles(rows, depth):
    """`mma.sync` of rows x depth by depth x 8 numbers of float64, sums rounded as NumPy does.

    Register r of A holds row n // 4 + 8 * (r % 2), or of 8 rows n // 4, and column n % 4 + 4 * (r // 2) of that row;
    register r of B row n % 4 + 4 * r of column n // 4. Source: the manual, "Matrix Fragments for mma", those of .f64.
    """
    high, deep = rows // 8, depth // 4

    def function(taking, *registers):
        warps = len(taking)
        a, b, c = np.split(np.stack(registers, axis=1), [high * deep, high * deep + deep], axis=1)
        a = a.reshape(warps, deep, high, 8, 4).transpose(0, 2, 3, 1, 4).reshape(warps, rows, depth)
        b = b.reshape(warps, deep, 8, 4).transpose(0, 1, 3, 2).reshape(warps, depth, 8)
        product = (a @ b).reshape(warps, high, 8, 4, 2).transpose(0, 1, 4, 2, 3).reshape(warps, 2 * high, WARP)
        return tuple((product + c).swapaxes(0, 1))

    return function


def power(numbers, least):
    """The power of two that each number begins with, `least` where that is smaller; 0 of 0. float64."""
    powers = (np.ascontiguousarray(numbers).view(np.int64) & (0x7FF << 52)).view(np.float64)
    return np.where(numbers == 0, 0.0, np.maximum(powers, least))


def cut_sum(a, b, c, kind):
    """c + a @ b, float32, as an H200's matrix units add it; float64 (warps, rows, depth), (warps, depth, columns).

    All products and c are cut to zero at one place, two bits below the last of a float32 with the largest exponent
    among them, that of a product being the sum of its factors' exponents. Then they are added, and the sum is cut, too.
    The manual leaves it open. Source: 132 launches on an H200; F. A. Khattak and M. Mikaitis, "Accurate Models of
    NVIDIA Tensor Cores", arXiv:2512.07004, which has other places for other GPUs.
    """
    plain = a @ b + c
    a = np.ascontiguousarray(a.transpose(2, 0, 1))[..., None]  # depth first: sums over it are quicker
    b = np.ascontiguousarray(b.transpose(1, 0, 2))[:, :, None]
    least = 2.0**-14 if kind == "f16" else 2.0**-126
    largest = np.maximum((power(a, least) * power(b, least)).max(axis=0), power(c, 2.0**-126))
    place = np.maximum(largest, 2.0**-126) * 2.0**-25
    terms = a * b
    terms *= 1 / place
    total = (np.trunc(terms, out=terms).sum(axis=0) + np.trunc(c / place)) * place
    cut = (total.view(np.int64) & ~0x1FFFFFFF).view(np.float64)
    return canonical32(np.where(np.isfinite(plain), cut, plain))


def multiply(kind, depth, sums, other=None):
    """`mma.sync` of 16 x `depth` numbers of type `kind` by `depth` x 8 of type `other`, where that is another.

    It is a function of registers, each (warps, 32).

    It takes who takes part, A's registers, B's and those of C: four of type `sums`, or two pairs of float16; it returns
    as many. Of 8 bits and with sums of float16 they are exact to float64, and then rounded once; of integers they
    are exact, and wrap.
    """
    of_c = 2 if sums == "f16" else 4
    of_b = depth // WORD[kind] // 4
    of_a = 2 * of_b

    def function(taking, *registers):
        stacked = [np.stack(some, axis=1) for some in (registers[:of_a], registers[of_a:-of_c], registers[-of_c:])]
        warps = len(taking)
        a = stacked[0].reshape(warps, of_b, 2, 8, 4).transpose(0, 2, 3, 1, 4).reshape(warps, 16, -1)
        b = stacked[1].reshape(warps, of_b, 8, 4).transpose(0, 2, 1, 3).reshape(warps, 8, -1)
        a, b = numbers(a, kind), numbers(b, other or kind).swapaxes(1, 2)
        if sums == "f32" and kind in CUT:
            c = stacked[2].reshape(warps, 2, 2, 8, 4).transpose(0, 1, 3, 4, 2).reshape(warps, 16, 8)
            product = cut_sum(a, b, c.astype(np.float64), kind)
        else:
            product = a @ b
        # Registers 2 * r and 2 * r + 1 of C hold two neighbours of row n // 4 + 8 * r.
        product = product.reshape(warps, 2, 8, 4, 2).transpose(0, 1, 4, 2, 3).reshape(warps, 4, WARP)
        if sums == "s32":
            total = (product.astype(np.int64) + stacked[2]).astype(np.int32)
        elif sums == "f32":
            total = product if kind in CUT else canonical32(product + stacked[2])
        else:  # registers of C are pairs of neighbours
            pairs = product.reshape(warps, 2, 2, WARP).transpose(0, 1, 3, 2)
            total = rounded(pairs + exact(stacked[2], "f16x2"), "f16x2")
        return tuple(total.swapaxes(0, 1))

    return function, of_a, of_b, of_c


# ------------------------------------------------------------------------------- fragments of wmma


def sides(shape):
    """Rows and columns of the matrices of a shape such as "m16n16k8": {"a": (16, 8), "b": (8, 16), "c", "d"}."""
    m, n, k = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape).groups())
    return {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}


def registers_of(part, shape, kind):
    """(registers of a fragment, those among them that are not a copy): A and B of float16 are given twice."""
    words = int(np.prod(sides(shape)[part])) // WORD[kind] // WARP
    return (8 if part in "ab" and kind == "f16" else words), words


def places(part, layout, shape, kind):
    """Where the parts of a fragment lie: (line, place, size, width).

    line, place  int64 (32, accesses): the bytes that a line further on counts for each access of each thread, as if a
                 line had one number; and the bytes from the beginning of a line
    size, width  bytes of an element, and of an access
    """
    bytes_of_one = 4 // WORD[kind]
    rows, columns = sides(shape)[part]
    by_columns = part in "ab" and layout == "col"  # then that is how threads hold it, too
    length = rows if by_columns else columns
    scattered = part in "cd" and layout == "col"
    many = 1 if scattered else min(rows * columns // WARP, WIDEST // bytes_of_one)
    first = np.arange(rows * columns).reshape(WARP, -1)[:, ::many]
    line, place = np.divmod(first, length)
    if scattered:
        line, place = place, line
    return line * bytes_of_one, place * bytes_of_one, bytes_of_one if scattered else 4, many * bytes_of_one


def multiply_fragments(kind, shape, layouts, before, sums):
    """`wmma.mma` of that shape: a function of registers of A, B and C, each uint32 (warps, 32), as `multiply` gives.

    layouts  "row" or "col", of A and of B; `before` and `sums`: the types of C and of the result
    """
    (of_a, words_a), (of_b, words_b) = (registers_of(part, shape, kind) for part in "ab")
    sizes = sides(shape)

    def matrix(part, layout, words, held):
        rows, columns = sizes[part]
        flat = numbers(words, held).reshape(len(words), -1)
        if layout == "col":
            return flat.reshape(-1, columns, rows).swapaxes(1, 2)
        return flat.reshape(-1, rows, columns)

    def function(taking, *registers):
        a, b, c = (np.stack(some, axis=2) for some in np.split(np.array(registers), [of_a, of_a + of_b]))
        a, b = matrix("a", layouts[0], a[..., :words_a], kind), matrix("b", layouts[1], b[..., :words_b], kind)
        c = matrix("c", "row", c, before)
        total = cut_sum(a, b, c, kind) if sums == "f32" and kind in CUT else a @ b + c
        total = total.astype(np.int64).astype(np.int32) if sums == "s32" else rounded(total, sums)
        return tuple(np.ascontiguousarray(total).reshape(len(taking), WARP, -1).view(np.uint32).transpose(2, 0, 1))

    return function, of_a, of_b
