"""The ladder: its steps in order, and all that a step needs to be launched, checked and counted.

Launch geometry is written once, here. A step says how many threads a block has and how many rows and
columns of C that block owns; CUDA's grid and OpenCL's global size both follow from it.
"""

import itertools
import numbers
import reprlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .names import named


def ceil_div(a, b):
    """The smallest whole number of pieces of size b that cover a."""
    return -(-a // b)


def nothing(p):
    """No elements, whatever the parameters are."""
    return 0


@dataclass(frozen=True)
class Step:
    """One rung. `block`, `tile`, `staged` and `read` are functions of its parameters, a dict.

    name      also the name of its file in helpers/cuda and helpers/opencl
    idea      one line
    defaults  parameters by kind of device (`devices.KINDS`); "small GPU" for one with little shared memory a block
    small     parameters so small that what watches each access, as Oclgrind does, is done in a second
    space     values worth trying on some device, {parameter: tuple}; `tuning` searches them
    block     threads a block: x, y
    tile      rows and columns of C that a block owns, and the K-tile's depth
    staged    float32 elements of shared (local) memory that a block takes, and fills for each K-tile; a step that does
              not fill all of it, as where rows are padded, has `shared`, too
    read      elements that all threads of a block read from it for each K-tile
    x_along   "columns": x runs along a row of C; "rows": down a column of C
    reuse     True: a block loads each element of A and B that it needs once; False: each thread does
    dialects  those it is written in
    adds      True: C is stored after each K-tile, and loaded again for the next
    needs     what its parameters must fulfil: pairs of a condition, which takes them, and the words for a broken one
    by_shape  (parameters, device, M, N, K) -> parameters for that product, made from those for large ones; None where
              one choice suits all
    shared    (parameters, M, N, K) -> float32 elements read from, and written to, shared memory; for steps that leave
              some of it out
    loads     (parameters, M, N, K) -> float32 elements of A and B loaded from global memory; for a step that loads them
              neither once a block nor once a thread
    column    the name of the step that takes over where B is a single column; None where this step does it itself
    inputs    types that the parameter INPUT may name, to which A and B are rounded. Such a step is less exact than
              float32, so it is no rung, and in no contest unless one asks for it by name; () for all others
    capability
              the least compute capability of a GPU that has what the step uses; () where any will do
    """

    name: str
    idea: str
    defaults: dict
    small: dict
    space: dict
    block: Callable
    tile: Callable
    staged: Callable = nothing
    read: Callable = nothing
    x_along: str = "columns"
    reuse: bool = True
    dialects: tuple = ("CUDA", "OpenCL", "WebGPU")
    adds: bool = False
    needs: tuple = ()
    by_shape: Callable | None = None
    shared: Callable | None = None
    loads: Callable | None = None
    column: str | None = None
    inputs: tuple = ()
    capability: tuple = ()

    def grid(self, p, M, N):
        """Blocks along (x, y): as many as cover C of M x N, and no more."""
        rows, columns, _ = self.tile(p)
        down, across = ceil_div(M, rows), ceil_div(N, columns)
        return (down, across) if self.x_along == "rows" else (across, down)

    def suits(self, device):
        """Whether the step has parameters for a device of that kind."""
        return self.kind_of(device) in self.defaults

    def kind_of(self, device):
        """Which of `defaults` are for that device."""
        kind = "GPU" if device.kind == "PTX machine" else device.kind.removesuffix(" in software")
        small = f"small {kind}"
        return small if small in self.defaults and device.shared_bytes < SMALL else kind

    def defaults_for(self, device):
        """The parameters for that device when none are given, a new dict."""
        default = self.defaults[self.kind_of(device)]
        return dict(default(device) if callable(default) else default)

    def fitted(self, p, device, M, N, K):
        """The parameters for one product, when none are given: `p`, or what the step makes of them for that shape."""
        return self.by_shape(p, device, M, N, K) if self.by_shape else p

    def global_loads(self, p, M, N, K):
        """Elements of A and B loaded from global memory, counted: each guarded load that is taken."""
        if not (self.reuse or self.loads):
            return 2 * M * N * K
        rows, columns, _ = self.tile(p)
        again = self.global_stores(p, M, N, K) - M * N  # of C, to add to it
        if self.loads:
            return self.loads(p, M, N, K) + again
        return M * K * ceil_div(N, columns) + K * N * ceil_div(M, rows) + again

    def global_stores(self, p, M, N, K):
        """Elements of C stored to global memory."""
        return M * N * (ceil_div(K, self.tile(p)[2]) if self.adds else 1)

    def shared_accesses(self, p, M, N, K):
        """Elements read from, and written to, shared memory by all blocks together."""
        if self.shared:
            return self.shared(p, M, N, K)
        rows, columns, depth = self.tile(p)
        tiles = ceil_div(M, rows) * ceil_div(N, columns) * ceil_div(K, depth)
        return tiles * self.read(p), tiles * self.staged(p)


SMALL = 32 * 1024  # bytes of shared memory a block: less of it makes a GPU small
LONGEST_ROW = 2048  # columns of one row of C that a work-item adds to, again and again: a part of the first cache
TALLEST_TILE = 1024  # rows of a tile of `packed`, about: what it packs of B serves so many
WIDEST_TILE = 512  # columns of a tile of `packed`, at most
DEEP_PIECE = 512  # rows of B that `packed` packs at a time, at least, where K has more: strips are no wider than that
DEEPEST = 1024  # a patch's six rows of A, so deep, leave room for a part of B in a first cache of 32 KiB
SMALLEST_PACKED = 2**19  # multiply-adds of a tile of `packed`: less work is not worth another core's way to it
TILES_A_CORE = 4  # of `packed`, about: while one core is held up, the others take more of them


def packed_defaults(device):
    """The parameters of `packed` on a CPU: a patch fills its vector registers; tiles are tall, and two patches wide."""
    # No more rows of A than fit beside B into the eight places that a nearest cache often has for lines that compete.
    VW, TM = vector(device), 6
    TN = patch_columns(device, TM)
    # Two patches, so that the second finds A in a near cache; one where local memory is small.
    BN = min(2, max(1, device.shared_bytes // (512 * TN * VW))) * TN * VW
    # More than one strip: a check leaves a size of 1 as it is, and by shape there may be several.
    BM, BK, STRIPS = ceil_div(TALLEST_TILE, TM) * TM, packed_depth(device, BN), WIDEST_TILE // BN
    return dict(BM=BM, BN=BN, BK=BK, TM=TM, TN=TN, VW=VW, STRIPS=STRIPS)


def vector_registers(device):
    """How many vector registers a core has: 32 of 16 floats, 16 of 8 floats, and on ARM 32 of 4 floats."""
    return 16 if vector(device) == 8 else 32


def patch_columns(device, TM):
    """Vectors in a patch's row: its TM rows of sums, a row of B and one number of A fill the registers. At most 8."""
    return min(8, (vector_registers(device) - 1) // (TM + 1))


def column_defaults(device):
    """The parameters of `column` on a CPU: as many rows of A at a time as keep its memory busy, a sum for each."""
    return dict(TM=8, VW=vector(device))


def vector(device):
    """Floats in a vector of OpenCL that fills that device's vector register, 4 at least."""
    return next((width for width in (16, 8, 4) if width <= device.vector_width), 4)


def register_patch_defaults(device):
    """For a CPU: two vectors wide, and so many rows that the sums, a row of B and a number of A stay in registers.

    With 32 registers these are 8 rows, 8 x 2 + 2 + 1 = 19; with 16 they are 6, 6 x 2 + 2 + 1 = 15.
    """
    BN, TN = 256, 2
    TM = max(rows for rows in (4, 6, 8) if rows * TN + TN + 1 <= vector_registers(device))
    BM = 16 * TM
    BK = max(8, min(128, device.shared_bytes // (4 * (BM + BN)) // 8 * 8))
    return dict(BM=BM, BN=BN, BK=BK, TM=TM, TN=TN)


def packed_depth(device, BN):
    """How many rows of B, BN wide, local memory holds; of 192 KiB at most."""
    return max(32, min(DEEPEST, min(device.shared_bytes, 192 * 1024) // (4 * BN) // 32 * 32))


def packed_by_shape(p, device, M, N, K):
    """The parameters of `packed` for one product, from `p`, those for large ones.

    A patch has few rows and columns to spare, and tiles are the tallest that leave each core enough to do: what a tall
    tile packs of B serves many rows. C is cut into tiles of one height, and K into pieces of one depth, since a short
    last one costs a round, too.
    """
    VW = next((width for width in (4, 8) if N <= width < p["VW"]), p["VW"])
    if M == 1:  # all of B is read, and nothing twice: so read it in long pieces, a few rows at a time
        TN = min(4, ceil_div(N, VW))
        BN = doubled(TN * VW, ceil_div(N, device.units), min(LONGEST_ROW, device.shared_bytes // (8 * VW)))
        return p | dict(BM=1, BN=BN, BK=VW, TM=1, TN=TN, VW=VW, STRIPS=1)
    # A patch takes about the time of its rows, and of one more for its row of B. No vector without a column of C, and
    # no panel for which local memory has no room.
    TM = min(range(p["TM"], 0, -1), key=lambda rows: ceil_div(M, rows) * (rows + 1))
    TN = min(patch_columns(device, TM), ceil_div(N, VW), device.shared_bytes // (4 * 32 * VW))
    tiles, down = TILES_A_CORE * device.units, ceil_div(M, p["BM"])
    BN = min(p["BN"] // (p["TN"] * p["VW"]), ceil_div(N, TN * VW)) * TN * VW
    # A wider strip reads A less often. But K stays in one piece, if it can be, or else in deep ones.
    widest = min(N, WIDEST_TILE, device.shared_bytes // (4 * 32))
    deep = K if packed_depth(device, BN) >= K else DEEP_PIECE
    while widest >= 2 * BN and packed_depth(device, 2 * BN) >= deep and ceil_div(N, 2 * BN) * down >= tiles:
        BN *= 2
    strips, BK = ceil_div(N, BN), evenly(K, packed_depth(device, BN))
    down = max(down, min(ceil_div(tiles, strips), M * min(N, BN) * K // SMALLEST_PACKED))
    BM = ceil_div(ceil_div(M, down), TM) * TM
    # Where K comes in pieces, several strips read the same piece of A, one after the other. That is worth less than
    # even shares of the work: so only while there are twice as many tiles.
    abreast = min(p["STRIPS"] * p["BN"] // BN, strips * down // (2 * tiles)) if K > BK else 1
    return p | dict(BM=BM, BN=BN, BK=BK, TM=TM, TN=TN, VW=VW, STRIPS=evenly(strips, max(1, abreast)))


def evenly(length, piece):
    """The size of a piece, so that as few cover `length` as of size `piece`, and all are of one size.

    A length of 100 takes four pieces of 32, the last of which is short: so it gets 25. One of 20 keeps its piece of 32.
    """
    pieces = ceil_div(length, piece)
    return ceil_div(length, pieces) if pieces > 1 else piece


def doubled(side, covered, most):
    """The side of a block, doubled until it reaches `covered`, or until twice of it is more than `most`.

    A side of 4 that should cover 30 becomes 32 where `most` is 32 or more, and 16 where it is 20.
    """
    while side < covered and 2 * side <= most:
        side *= 2
    return side


def shared_in_fours(p, M, N, K):
    """The elements that steps with wide loads read from, and write to, shared memory.

    They are as many as those of register_2d, since the padding of a tile is neither read nor written.
    """
    tiles = ceil_div(M, p["BM"]) * ceil_div(N, p["BN"]) * ceil_div(K, p["BK"])
    return tiles * patches(p) * p["BK"] * (p["TM"] + p["TN"]), tiles * p["BK"] * (p["BM"] + p["BN"])


def packed_shared(p, M, N, K):
    """The elements that `packed` reads from, and writes to, local memory.

    B goes there in whole panels, unless a tile has a single row of patches: that reads B where it lies, once.
    """
    if p["BM"] == p["TM"]:
        return 0, 0
    row = ceil_div(N, p["TN"] * p["VW"]) * p["TN"] * p["VW"]  # of all panels
    return K * ceil_div(M, p["TM"]) * row, K * ceil_div(M, p["BM"]) * row


def packed_loads(p, M, N, K):
    """The elements of A and B that `packed` loads from global memory.

    A patch loads all its rows of A; one that reaches below C loads the last row again for each row that C lacks. A tile
    loads its columns of B.
    """
    rows, panels = ceil_div(M, p["TM"]) * p["TM"], ceil_div(N, p["TN"] * p["VW"])
    return K * (rows * panels + N * ceil_div(M, p["BM"]))


def divides(small, large, why):
    """What parameters must fulfil so that one divides another: a condition, and the words for one that is broken."""
    return lambda p: p[large] % p[small] == 0, f"{small}={{{small}}} must divide {large}={{{large}}}, {why}"


EQUAL_SHARES = "so that every thread owns the same number of elements"
TM_DIVIDES, TN_DIVIDES = divides("TM", "BM", EQUAL_SHARES), divides("TN", "BN", EQUAL_SHARES)
VECTORS = (lambda p: p["VW"] in (4, 8, 16), "VW={VW} must be 4, 8 or 16, the vectors that there are")
IN_FOURS = (
    TM_DIVIDES,
    TN_DIVIDES,
    (lambda p: p["TM"] % 4 == 0 and p["TN"] % 4 == 0, "TM={TM} and TN={TN} must be multiples of 4"),
    (lambda p: p["BK"] % 8 == 0, "BK={BK} must be a multiple of 8"),
    (
        lambda p: all(side * p["BK"] // 4 % patches(p) == 0 for side in (p["BM"], p["BN"])),
        "the threads, {BM}//{TM} x {BN}//{TN}, must divide the fours of each tile, {BM} x {BK} / 4 and {BK} x {BN} / 4",
    ),
)


def words(p):
    """The words of 32 bits in a row of a K-tile: each holds one TF32 number, or two of 16 bits."""
    return p["BK"] // (1 if p["INPUT"] == "tf32" else 2)


def shared_in_words(p, M, N, K):
    """The words of 32 bits that `matrix_units` reads from, and writes to, shared memory; the padding is neither."""
    tiles = ceil_div(M, p["BM"]) * ceil_div(N, p["BN"]) * ceil_div(K, p["BK"])
    warps = p["BM"] // p["WM"] * (p["BN"] // p["WN"])
    return tiles * warps * words(p) * (p["WM"] + p["WN"]), tiles * words(p) * (p["BM"] + p["BN"])


def patches(p):
    """How many patches of TM x TN elements a block of BM x BN has, one for each of its threads."""
    return p["BM"] // p["TM"] * (p["BN"] // p["TN"])


STEPS = {
    step.name: step
    for step in [
        Step(
            "naive",
            "one thread, one element of C; x counts the rows",
            {
                "GPU": dict(BM=32, BN=8),
                "CPU": dict(BM=32, BN=8),
                "CPU (PoCL)": dict(BM=32, BN=8),
            },
            small=dict(BM=4, BN=4),
            space=dict(BM=(1, 2, 4, 8, 16, 32, 64, 128), BN=(1, 2, 4, 8, 16, 32, 64, 128)),
            block=lambda p: (p["BM"], p["BN"]),
            tile=lambda p: (p["BM"], p["BN"], 8),
            x_along="rows",
            reuse=False,
        ),
        Step(
            "coalesced",
            "swap x and y: neighbours read neighbouring addresses",
            {
                "GPU": dict(BM=8, BN=32),
                "CPU": dict(BM=8, BN=32),
                "CPU (PoCL)": dict(BM=8, BN=32),
            },
            small=dict(BM=4, BN=4),
            space=dict(BM=(1, 2, 4, 8, 16, 32, 64, 128), BN=(1, 2, 4, 8, 16, 32, 64, 128)),
            block=lambda p: (p["BN"], p["BM"]),
            tile=lambda p: (p["BM"], p["BN"], 8),
            reuse=False,
        ),
        Step(
            "tiled",
            "a block stages tiles of A and B in shared memory",
            {"GPU": dict(TILE=16), "CPU": dict(TILE=32), "CPU (PoCL)": dict(TILE=32)},
            small=dict(TILE=4),
            space=dict(TILE=(4, 8, 16, 32, 64)),
            block=lambda p: (p["TILE"], p["TILE"]),
            tile=lambda p: (p["TILE"], p["TILE"], p["TILE"]),
            staged=lambda p: 2 * p["TILE"] ** 2,
            read=lambda p: p["TILE"] ** 2 * 2 * p["TILE"],
        ),
        Step(
            "register_1d",
            "a thread owns TM elements of a column: one value of B serves TM products",
            {
                "GPU": dict(BM=64, BN=32, BK=16, TM=8),
                "CPU": dict(BM=256, BN=128, BK=128, TM=8),
                "CPU (PoCL)": dict(BM=64, BN=64, BK=32, TM=8),
            },
            small=dict(BM=8, BN=4, BK=4, TM=4),
            space=dict(BM=(32, 64, 128, 256), BN=(32, 64, 128, 256), BK=(8, 16, 32, 64), TM=(4, 8, 16, 32)),
            block=lambda p: (p["BN"], p["BM"] // p["TM"]),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=lambda p: p["BM"] * p["BK"] + p["BK"] * p["BN"],
            read=lambda p: p["BN"] * (p["BM"] // p["TM"]) * p["BK"] * (p["TM"] + 1),
            needs=(TM_DIVIDES,),
        ),
        Step(
            "register_2d",
            "a thread owns a TM x TN patch of C, held in registers",
            {
                "GPU": dict(BM=128, BN=128, BK=16, TM=8, TN=8),
                "CPU": register_patch_defaults,
                "CPU (PoCL)": dict(BM=64, BN=64, BK=64, TM=8, TN=64),
            },
            small=dict(BM=8, BN=8, BK=4, TM=2, TN=2),
            space=dict(
                BM=(32, 64, 96, 128, 256),
                BN=(32, 64, 128, 256, 512),
                BK=(8, 16, 32, 64),
                TM=(4, 6, 8, 16),
                TN=(2, 4, 8, 16, 64),
            ),
            block=lambda p: (p["BN"] // p["TN"], p["BM"] // p["TM"]),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=lambda p: p["BM"] * p["BK"] + p["BK"] * p["BN"],
            read=lambda p: (p["BN"] // p["TN"]) * (p["BM"] // p["TM"]) * p["BK"] * (p["TM"] + p["TN"]),
            needs=(TM_DIVIDES, TN_DIVIDES),
        ),
        Step(
            "vectorized",
            "four numbers a load, from tiles that lie the right way round",
            {
                "GPU": dict(BM=128, BN=128, BK=16, TM=8, TN=8),
                "small GPU": dict(BM=128, BN=128, BK=8, TM=8, TN=8),
                "CPU": dict(BM=256, BN=256, BK=64, TM=4, TN=4),
                "CPU (PoCL)": dict(BM=64, BN=64, BK=64, TM=8, TN=64),
            },
            small=dict(BM=8, BN=8, BK=8, TM=4, TN=4),
            space=dict(
                BM=(32, 64, 128, 256),
                BN=(32, 64, 128, 256, 512),
                BK=(8, 16, 32, 64),
                TM=(4, 8, 16),
                TN=(4, 8, 16, 64),
            ),
            block=lambda p: (p["BN"] // p["TN"], p["BM"] // p["TM"]),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=lambda p: p["BK"] * (p["BM"] + 4) + p["BK"] * p["BN"],
            needs=IN_FOURS,
            shared=shared_in_fours,
        ),
        Step(
            "prefetched",
            "bring the next tile while multiplying this one; a compact patch a warp",
            {
                "GPU": dict(BM=128, BN=128, BK=8, TM=8, TN=8, WM=64, WN=32),
                "small GPU": dict(BM=64, BN=128, BK=8, TM=8, TN=8, WM=64, WN=32),
                "CPU": dict(BM=128, BN=256, BK=64, TM=4, TN=4, WM=4, WN=256),
                "CPU (PoCL)": dict(BM=64, BN=64, BK=64, TM=8, TN=64, WM=8, WN=64),
            },
            small=dict(BM=16, BN=8, BK=8, TM=4, TN=4, WM=8, WN=8),
            space=dict(
                BM=(64, 128, 256),
                BN=(64, 128, 256),
                BK=(8, 16, 32, 64),
                TM=(4, 8),
                TN=(4, 8, 16, 64),
                WM=(4, 8, 32, 64, 128),
                WN=(32, 64, 128, 256),
            ),
            block=lambda p: (p["WM"] // p["TM"] * (p["WN"] // p["TN"]), p["BM"] // p["WM"] * (p["BN"] // p["WN"])),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=lambda p: 2 * p["BK"] * (p["BM"] + 4 + p["BN"]),
            needs=(
                *IN_FOURS,
                divides("WM", "BM", "a whole number of warps"),
                divides("WN", "BN", "a whole number of warps"),
                divides("TM", "WM", "a whole number of threads"),
                divides("TN", "WN", "a whole number of threads"),
            ),
            shared=shared_in_fours,
        ),
        Step(
            "packed",
            "for CPUs: panels packed for the cache, a patch of vector registers",
            {
                "CPU": packed_defaults,
                "CPU (PoCL)": packed_defaults,
            },
            small=dict(BM=4, BN=16, BK=8, TM=2, TN=2, VW=4, STRIPS=2),
            space=dict(
                BM=(96, 192, 384, 768, 1536),
                BN=(32, 48, 64, 96, 128, 192, 256),
                BK=(128, 256, 512, 1024),
                TM=(4, 6, 8),
                TN=(1, 2, 3, 4),
                VW=(4, 8, 16),
                STRIPS=(1, 4, 16),
            ),
            block=lambda p: (1, 1),
            tile=lambda p: (p["BM"], p["STRIPS"] * p["BN"], p["BK"]),
            staged=lambda p: p["BN"] * p["BK"],
            dialects=("OpenCL",),
            adds=True,
            needs=(
                VECTORS,
                TM_DIVIDES,
                (
                    lambda p: p["BN"] % (p["TN"] * p["VW"]) == 0,
                    "TN x VW = {TN} x {VW} must divide BN={BN}, a whole number of panels",
                ),
            ),
            by_shape=packed_by_shape,
            shared=packed_shared,
            loads=packed_loads,
            column="column",
        ),
        Step(
            "column",
            "for CPUs: a B of one column, with the vectors along K",
            {"CPU": column_defaults, "CPU (PoCL)": column_defaults},
            small=dict(TM=2, VW=4),
            space=dict(TM=(1, 2, 4, 8, 16), VW=(4, 8, 16)),
            block=lambda p: (1, 1),
            tile=lambda p: (p["TM"], 1, p["VW"]),
            dialects=("OpenCL",),
            needs=(VECTORS,),
        ),
        Step(
            "matrix_units",
            "the hardware multiplies tiles: inputs of fewer digits, sums in float32",
            {
                "GPU": dict(BM=128, BN=128, BK=16, WM=64, WN=32, INPUT="tf32"),
            },
            small=dict(BM=64, BN=32, BK=32, WM=32, WN=16, INPUT="tf32"),
            space=dict(BM=(32, 64, 128, 256), BN=(32, 64, 128, 256), BK=(16, 32, 64), WM=(16, 32, 64), WN=(16, 32, 64)),
            block=lambda p: (32, p["BM"] // p["WM"] * (p["BN"] // p["WN"])),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=lambda p: p["BM"] * (words(p) + 4) + words(p) * (p["BN"] + 8),
            dialects=("CUDA",),
            needs=(
                divides("WM", "BM", "a whole number of warps"),
                divides("WN", "BN", "a whole number of warps"),
                (lambda p: p["WM"] % 16 == 0, "WM={WM} must be a multiple of 16, the rows of a fragment"),
                (lambda p: p["WN"] % 8 == 0, "WN={WN} must be a multiple of 8, the columns of a fragment"),
                (lambda p: p["BK"] % 16 == 0, "BK={BK} must be a multiple of 16, the depth of a fragment"),
                (
                    lambda p: all(
                        side * words(p) % (32 * (p["BM"] // p["WM"]) * (p["BN"] // p["WN"])) == 0
                        for side in (p["BM"], p["BN"])
                    ),
                    "the threads, 32 x {BM}//{WM} x {BN}//{WN}, must divide the words of each tile",
                ),
            ),
            shared=shared_in_words,
            inputs=("tf32", "float16", "bfloat16"),
            capability=(8, 0),
        ),
    ]
}


def steps(dialect):
    """The names of the steps that are written in that dialect, such as "OpenCL", in order, and compute in float32."""
    return tuple(name for name, step in STEPS.items() if dialect in step.dialects and not step.inputs)


def rungs():
    """The names of the steps that one climbs, in order.

    They are all but those that take over from another for some shape, and those that are less exact than float32.
    """
    instead = {step.column for step in STEPS.values()}
    return tuple(name for name, step in STEPS.items() if name not in instead and not step.inputs)


def step(name, dialect=None):
    """The `Step` of that name, as `named` reads it. Raises ValueError where none is written in that dialect."""
    name = named(name, STEPS, "step")
    if dialect and dialect not in STEPS[name].dialects:
        raise ValueError(
            f"{name} is written in {' and '.join(STEPS[name].dialects)} only; "
            f"in {dialect} there are: {', '.join(steps(dialect))}."
        )
    return STEPS[name]


def parameters(step, device, given):
    """The step's parameters for that device: its defaults, replaced by those in `given`.

    Raises ValueError for an unknown parameter, a value that is no positive int, a thread's share that does
    not divide its block's, and a block that exceeds the device's threads or shared memory.
    """
    if not step.suits(device):
        raise ValueError(
            f"{step.name} has no parameters for {device.name}, a device of kind {device.kind}; it is for: "
            f"{', '.join(step.defaults)}."
        )
    p = step.defaults_for(device)
    for key, value in given.items():
        if key not in p:
            raise ValueError(f"{step.name} has no parameter {key!r}; it has: {', '.join(p)}.")
        if key == "INPUT":
            if not isinstance(value, str) or value not in step.inputs:
                said = reprlib.repr(value)
                raise ValueError(f"{step.name}: INPUT={said} must be one of these words: {', '.join(step.inputs)}.")
            p[key] = value
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 1 <= value < 2**31:
            said = repr(value)[:80] if not isinstance(value, int) or value < 2**31 else "a number beyond 32 bits"
            raise ValueError(f"{step.name}: {key}={said} must be a whole number, 1 or more.")
        p[key] = int(value)
    for fulfilled, why in step.needs:
        if not fulfilled(p):
            raise ValueError(f"{step.name}: {why.format(**p)}.")
    x, y = step.block(p)
    if x * y > device.max_threads:
        raise ValueError(
            f"{step.name} with {spell(p)} needs a block of {x} x {y} = {x * y} threads; "
            f"{device.name} allows {device.max_threads}. Choose a smaller tile, or more elements a thread."
        )
    if 4 * step.staged(p) > device.shared_bytes:
        raise ValueError(
            f"{step.name} with {spell(p)} stages {4 * step.staged(p)} bytes a block; "
            f"{device.name} has {device.shared_bytes} bytes of shared memory a block. Choose a smaller tile."
        )
    return p


def points(step, device, space=None):
    """The points of the step's space, or of the `space` given, that can run on that device: a list of dicts.

    Raises ValueError when there is none, with what the first of them asks too much of.
    """
    space = dict(step.space if space is None else space)
    if set(space) != set(step.space):
        raise ValueError(
            f"a space for {step.name} names {', '.join(step.space)}, each with its values; "
            f"this one names {', '.join(space)}."
        )
    for name, values in space.items():
        if not np.iterable(values) or not all(isinstance(value, numbers.Integral) and value >= 1 for value in values):
            raise ValueError(
                f"a space for {step.name} has a list of whole numbers, 1 or more, for each parameter; "
                f"{name} has {values!r}."
            )
    legal, refused = [], None
    for values in itertools.product(*space.values()):
        try:
            legal.append(parameters(step, device, dict(zip(space, values, strict=True))))
        except ValueError as error:
            refused = refused or error
    if not legal:
        raise ValueError(
            f"no point of this space can run here. The first of them: {refused}"
            if refused
            else f"the space {space} is empty."
        )
    return legal


def spell(p):
    """Parameters as one reads them: TILE=16, or BM=64, BN=64."""
    return ", ".join(f"{key}={value}" for key, value in p.items())
