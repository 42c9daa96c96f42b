"""The ladder: its steps in order, and all that a step needs to be launched, checked and counted.

Launch geometry is written once, here. A step says how many threads a block has and how many rows and
columns of C that block owns; CUDA's grid and OpenCL's global size both follow from it.
"""

import itertools
import numbers
import reprlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from .arguments import named
from .cpu_sizes import (
    ceil_div,
    column_defaults,
    packed_by_shape,
    packed_defaults,
    packed_loads,
    packed_shared,
    packed_staged,
    register_patch_defaults,
)


@dataclass(frozen=True)
class Step:
    """One rung. `block`, `tile`, `staged` and `read` are functions of its parameters, a dict.

    name      also the name of its file in helpers/cuda and helpers/opencl
    idea      one line
    defaults  parameters by kind of device (`devices.KINDS`)
    small     parameters so small that what watches each access, as Oclgrind does, is done in a second
    unlike    two sets of small parameters, no two sizes of a set equal, by which a check sees two of them mixed up; odd
              ones where the step allows them, and multiples where kernels share a tile out among their threads
    space     values worth trying on some device, {parameter: tuple}; `tuning` searches them
    block     threads a block: x, y
    tile      rows and columns of C that a block owns, and the K-tile's depth
    staged    float32 elements of shared (local) memory that a block takes
    filled    elements of it that a block fills for each K-tile; by default all: a step that pads rows leaves some out
    read      elements that all threads of a block read from it for each K-tile
    x_along   "columns": x runs along a row of C; "rows": down a column of C
    reuse     True: a block loads each element of A and B that it needs once; False: each thread does
    dialects  those it is written in
    adds      True: C is stored after each K-tile, and loaded again for the next
    needs     what its parameters must fulfil: pairs of a condition, which takes them, and the words for a broken one
    by_shape  (parameters, device, M, N, K) -> parameters for that product, made from those for large ones; None where
              one choice suits all
    shared    (parameters, M, N, K) -> float32 elements read from, and written to, shared memory; for a step of which
              `read` and `filled` do not tell
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
    staged: Callable = lambda p: 0
    filled: Callable | None = None
    read: Callable = lambda p: 0
    x_along: str = "columns"
    reuse: bool = True
    dialects: tuple = ("CUDA", "OpenCL")
    adds: bool = False
    needs: tuple = ()
    by_shape: Callable | None = None
    shared: Callable | None = None
    loads: Callable | None = None
    column: str | None = None
    inputs: tuple = ()
    capability: tuple = ()
    unlike: tuple = ()

    def accepts(self, p):
        """Whether those parameters fulfil what the step needs."""
        return all(fulfilled(p) for fulfilled, _ in self.needs)

    def grid(self, p, M, N):
        """Blocks along (x, y): as many as cover C of M x N, and no more."""
        rows, columns, _ = self.tile(p)
        down, across = ceil_div(M, rows), ceil_div(N, columns)
        return (down, across) if self.x_along == "rows" else (across, down)

    def suits(self, device):
        """Whether the step has parameters for a device of that kind."""
        return self.kind_of(device) in self.defaults

    def fits(self, p, device):
        """Whether the device has threads and shared memory enough for a block."""
        x, y = self.block(p)
        return x * y <= device.max_threads and 4 * self.staged(p) <= device.shared_bytes

    def kind_of(self, device):
        """Which of `defaults` are for that device."""
        return "GPU" if device.kind == "PTX machine" else device.kind

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
        return tiles * self.read(p), tiles * (self.filled or self.staged)(p)


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


def patches(p):
    """How many patches of TM x TN elements a block of BM x BN has, one for each of its threads."""
    return p["BM"] // p["TM"] * (p["BN"] // p["TN"])


def tiles_of_ab(p):
    """The elements of a K-tile of A and one of B."""
    return p["BK"] * (p["BM"] + p["BN"])


def read_by_patches(p):
    """What the threads of a block read of such tiles, each for its patch of TM x TN."""
    return patches(p) * p["BK"] * (p["TM"] + p["TN"])


def warps(p):
    """How many warps a block of `matrix_units` has."""
    return p["BM"] // p["WM"] * (p["BN"] // p["WN"])


STEPS = {
    step.name: step
    for step in [
        Step(
            "naive",
            "one thread, one element of C; x counts the rows",
            {"GPU": dict(BM=32, BN=8), "CPU": dict(BM=32, BN=8), "CPU (PoCL)": dict(BM=32, BN=8)},
            small=dict(BM=4, BN=4),
            unlike=(dict(BM=3, BN=5), dict(BM=6, BN=2)),
            space=dict(BM=(1, 2, 4, 8, 16, 32, 64, 128), BN=(1, 2, 4, 8, 16, 32, 64, 128)),
            block=lambda p: (p["BM"], p["BN"]),
            tile=lambda p: (p["BM"], p["BN"], 8),
            x_along="rows",
            reuse=False,
        ),
        Step(
            "coalesced",
            "swap x and y: neighbours read neighbouring addresses",
            {"GPU": dict(BM=8, BN=32), "CPU": dict(BM=8, BN=32), "CPU (PoCL)": dict(BM=8, BN=32)},
            small=dict(BM=4, BN=4),
            unlike=(dict(BM=5, BN=3), dict(BM=2, BN=6)),
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
            unlike=(dict(TILE=3), dict(TILE=6)),
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
            unlike=(dict(BM=8, BN=3, BK=6, TM=4), dict(BM=6, BN=12, BK=8, TM=3)),
            space=dict(BM=(32, 64, 128, 256), BN=(32, 64, 128, 256), BK=(8, 16, 32, 64), TM=(4, 8, 16, 32)),
            block=lambda p: (p["BN"], p["BM"] // p["TM"]),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=tiles_of_ab,
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
            unlike=(dict(BM=20, BN=6, BK=12, TM=5, TN=2), dict(BM=6, BN=12, BK=16, TM=2, TN=3)),
            space=dict(
                BM=(32, 64, 96, 128, 256),
                BN=(32, 64, 128, 256, 512),
                BK=(8, 16, 32, 64),
                TM=(4, 6, 8, 16),
                TN=(2, 4, 8, 16, 64),
            ),
            block=lambda p: (p["BN"] // p["TN"], p["BM"] // p["TM"]),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=tiles_of_ab,
            read=read_by_patches,
            needs=(TM_DIVIDES, TN_DIVIDES),
        ),
        Step(
            "vectorized",
            "four numbers a load, from tiles that lie the right way round",
            {
                "GPU": dict(BM=128, BN=128, BK=16, TM=8, TN=8),
                "CPU": dict(BM=256, BN=256, BK=64, TM=4, TN=4),
                "CPU (PoCL)": dict(BM=64, BN=64, BK=64, TM=8, TN=64),
            },
            small=dict(BM=8, BN=8, BK=8, TM=4, TN=4),
            unlike=(dict(BM=12, BN=16, BK=24, TM=4, TN=8), dict(BM=48, BN=32, BK=8, TM=12, TN=4)),
            space=dict(
                BM=(32, 64, 128, 256),
                BN=(32, 64, 128, 256, 512),
                BK=(8, 16, 32, 64),
                TM=(4, 8, 16),
                TN=(4, 8, 16, 64),
            ),
            block=lambda p: (p["BN"] // p["TN"], p["BM"] // p["TM"]),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=lambda p: p["BK"] * (p["BM"] + 4 + p["BN"]),
            filled=tiles_of_ab,
            read=read_by_patches,
            needs=IN_FOURS,
        ),
        Step(
            "prefetched",
            "bring the next tile while multiplying this one; a compact patch a warp",
            {
                "GPU": dict(BM=128, BN=128, BK=8, TM=8, TN=8, WM=64, WN=32),
                "CPU": dict(BM=128, BN=256, BK=64, TM=4, TN=4, WM=4, WN=256),
                "CPU (PoCL)": dict(BM=64, BN=64, BK=64, TM=8, TN=64, WM=8, WN=64),
            },
            small=dict(BM=16, BN=8, BK=8, TM=4, TN=4, WM=8, WN=8),
            unlike=(
                dict(BM=32, BN=48, BK=8, TM=4, TN=12, WM=32, WN=24),
                dict(BM=48, BN=32, BK=8, TM=12, TN=4, WM=24, WN=32),
            ),
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
            filled=tiles_of_ab,
            read=read_by_patches,
            needs=(
                *IN_FOURS,
                divides("WM", "BM", "a whole number of warps"),
                divides("WN", "BN", "a whole number of warps"),
                divides("TM", "WM", "a whole number of threads"),
                divides("TN", "WN", "a whole number of threads"),
            ),
        ),
        Step(
            "packed",
            "for CPUs: panels packed for the cache, a patch of vector registers",
            {"CPU": packed_defaults, "CPU (PoCL)": packed_defaults},
            small=dict(BM=4, BN=32, BK=16, TM=2, TN=2, VW=4, STRIPS=2),
            unlike=(
                dict(BM=10, BN=8, BK=12, TM=5, TN=2, VW=4, STRIPS=3),
                dict(BM=6, BN=24, BK=16, TM=2, TN=3, VW=8, STRIPS=4),
            ),
            space=dict(
                BM=(96, 192, 384, 768, 1536),
                BN=(64, 96, 128, 192, 256, 512, 1024),
                BK=(128, 256, 512, 1024),
                TM=(4, 6, 8),
                TN=(1, 2, 3, 4),
                VW=(4, 8, 16),
                STRIPS=(1, 4, 16),
            ),
            block=lambda p: (1, 1),
            tile=lambda p: (p["BM"], p["STRIPS"] * p["BN"], p["BK"]),
            staged=packed_staged,
            dialects=("OpenCL",),
            adds=True,
            needs=(
                VECTORS,
                TM_DIVIDES,
                (
                    lambda p: p["BN"] % (p["TN"] * p["VW"]) == 0,
                    "TN x VW = {TN} x {VW} must divide BN={BN}, a whole number of panels",
                ),
                divides("VW", "BK", "a whole number of vectors"),
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
            unlike=(dict(TM=3, VW=4), dict(TM=5, VW=8)),
            space=dict(TM=(1, 2, 4, 8, 16), VW=(4, 8, 16)),
            block=lambda p: (1, 1),
            tile=lambda p: (p["TM"], 1, p["VW"]),
            dialects=("OpenCL",),
            needs=(VECTORS,),
        ),
        Step(
            "matrix_units",
            "the hardware multiplies tiles: inputs of fewer digits, sums in float32",
            {"GPU": dict(BM=128, BN=128, BK=16, WM=64, WN=32, INPUT="tf32")},
            small=dict(BM=64, BN=32, BK=32, WM=32, WN=16, INPUT="tf32"),
            space=dict(BM=(32, 64, 128, 256), BN=(32, 64, 128, 256), BK=(16, 32, 64), WM=(16, 32, 64), WN=(16, 32, 64)),
            block=lambda p: (32, warps(p)),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=lambda p: p["BM"] * (words(p) + 4) + words(p) * (p["BN"] + 8),
            filled=lambda p: words(p) * (p["BM"] + p["BN"]),
            read=lambda p: warps(p) * words(p) * (p["WM"] + p["WN"]),
            dialects=("CUDA",),
            needs=(
                divides("WM", "BM", "a whole number of warps"),
                divides("WN", "BN", "a whole number of warps"),
                (lambda p: p["WM"] % 16 == 0, "WM={WM} must be a multiple of 16, the rows of a fragment"),
                (lambda p: p["WN"] % 8 == 0, "WN={WN} must be a multiple of 8, the columns of a fragment"),
                (lambda p: p["BK"] % 16 == 0, "BK={BK} must be a multiple of 16, the depth of a fragment"),
                (
                    lambda p: all(side * words(p) % (32 * warps(p)) == 0 for side in (p["BM"], p["BN"])),
                    "the threads, 32 x {BM}//{WM} x {BN}//{WN}, must divide the words of each tile",
                ),
            ),
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


def points(step, device, space):
    """The points of that space, {parameter: values}, that can run on that device with that step: a list of dicts."""
    legal = []
    for values in itertools.product(*space.values()):
        with suppress(ValueError):
            legal.append(parameters(step, device, dict(zip(space, values, strict=True))))
    return legal


def spell(p):
    """Parameters as one reads them: TILE=16, or BM=64, BN=64."""
    return ", ".join(f"{key}={value}" for key, value in p.items())
