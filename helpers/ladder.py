"""The ladder: its steps in order, and all that a step needs to be launched, checked and counted.

Launch geometry is written once, here. A step says how many threads a block has and how many rows and
columns of C that block owns; CUDA's grid and OpenCL's global size both follow from it.
"""

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from . import cpu_sizes
from .arguments import integer, named, told
from .cpu_sizes import ceil_div

# What follows from a step's parameters: Python's formulas of them, in which a step without TM, TN or BK has 1, 1 and 8,
# and TILE is all three sides of a tile.
FORMULAS = dict(
    tile="BM, BN, BK",  # rows and columns of C that a block owns, and the K-tile's depth
    block="BN // TN, BM // TM",  # threads a block: x, y
    filled="BK * (BM + BN)",  # float32 elements of shared (local) memory that a block fills for each K-tile
    staged="BK * (BM + BN)",  # elements of it that a block takes
    read="(BM // TM) * (BN // TN) * BK * (TM + TN)",  # elements that its threads read from it for each K-tile
)
NO_TILES = dict(filled="0", staged="0", read="0")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One rung. Its parameters are a dict `p`: TILE, or BM, BN, BK of a block's tiles and TM, TN of a thread's."""

    name: str  # also that of its file in helpers/cuda and helpers/opencl
    defaults: dict  # parameters by kind of device (`devices.KINDS`), or functions of the device that give them
    space: dict = field(default_factory=dict)  # {parameter: values to try}; `tune` halves and doubles the others
    unlike: tuple = ()  # two sets of parameters, no two sizes of a set equal, by which a check sees two mixed up
    needs: tuple = ()  # formulas that its parameters must fulfil, such as "BM % TM == 0"
    formulas: dict = field(default_factory=dict)  # those of `FORMULAS` that are others for this step
    dialects: tuple = ("CUDA", "OpenCL")  # those it is written in
    x_along: str = "columns"  # x runs along a row of C; "rows": down a column of C
    reuse: bool = True  # a block loads each element of A and B that it needs once; False: each thread does
    inputs: tuple = ()  # types that INPUT may name, to which A and B are rounded: such a step is no rung
    capability: tuple = ()  # the least compute capability of a GPU that has what the step uses
    by_shape: Callable | None = None  # sizes for one product: (defaults, device, M, N, K) -> parameters

    def value(self, formula, p):
        """What a formula comes to, or that of this name."""
        sides = dict.fromkeys(("BM", "BN", "BK"), p["TILE"]) if "TILE" in p else {}
        return eval((FORMULAS | self.formulas).get(formula, formula), dict(TM=1, TN=1, BK=8) | sides | p)

    def tile(self, p):
        """Rows and columns of C that a block owns, and the K-tile's depth."""
        return self.value("tile", p)

    def block(self, p):
        """Threads a block: x, y."""
        return self.value("block", p)

    def grid(self, p, M, N):
        """Blocks along (x, y): as many as cover C of M x N, and no more."""
        rows, columns, _ = self.tile(p)
        down, across = ceil_div(M, rows), ceil_div(N, columns)
        return (down, across) if self.x_along == "rows" else (across, down)

    def global_loads(self, p, M, N, K):
        """Elements of A and B loaded from global memory, counted: each guarded load that is taken. C is stored once."""
        if self.by_shape:  # patches load some elements again, and C, too
            raise ValueError(f"{self.name} has no formula of what it moves; count it: traffic(k, M, N, K).")
        rows, columns = self.tile(p)[:2] if self.reuse else (p.get("TM", 1), p.get("TN", 1))
        return M * K * ceil_div(N, columns) + K * N * ceil_div(M, rows)

    def shared_accesses(self, p, M, N, K):
        """Elements read from, and written to, shared memory by all blocks together."""
        rows, columns, depth = self.tile(p)
        tiles = ceil_div(M, rows) * ceil_div(N, columns) * ceil_div(K, depth)
        return tiles * self.value("read", p), tiles * self.value("filled", p)

    def fits(self, p, device):
        """Whether the device has threads and shared memory enough for a block."""
        x, y = self.block(p)
        return x * y <= device.max_threads and 4 * self.value("staged", p) <= device.shared_bytes

    def defaults_for(self, device):
        """The parameters for that device when none are given, a new dict; an empty one where the step is for others."""
        default = self.defaults.get("GPU" if device.kind == "PTX machine" else device.kind, {})
        return dict(default(device) if callable(default) else default)


PATCHES = "BM % TM == 0", "BN % TN == 0"
SHARES = "BM * BK // 4 % (BM // TM * (BN // TN)) == 0", "BN * BK // 4 % (BM // TM * (BN // TN)) == 0"
IN_FOURS = *PATCHES, "TM % 4 == 0", "TN % 4 == 0", "BK % 8 == 0", *SHARES
WARPS = "BM % WM == 0", "BN % WN == 0"
WORDS = "BK // (1 if INPUT == 'tf32' else 2)"  # in a row of a K-tile: one TF32 number each, or two of 16 bits
VECTORS = "VW in (4, 8, 16)"
CPUS = "CPU", "CPU (PoCL)"

STEPS = {
    step.name: step
    for step in [
        Step(
            name="naive",
            defaults={kind: dict(BM=32, BN=8) for kind in ("GPU", *CPUS)},
            unlike=(dict(BM=3, BN=5), dict(BM=6, BN=2)),
            formulas=NO_TILES | dict(block="BM, BN"),
            x_along="rows",
            reuse=False,
        ),
        Step(
            name="coalesced",
            defaults={kind: dict(BM=8, BN=32) for kind in ("GPU", *CPUS)},
            unlike=(dict(BM=5, BN=3), dict(BM=2, BN=6)),
            formulas=NO_TILES,
            reuse=False,
        ),
        Step(
            name="tiled",
            defaults={"GPU": dict(TILE=16), "CPU": dict(TILE=32), "CPU (PoCL)": dict(TILE=32)},
            unlike=(dict(TILE=3), dict(TILE=6)),
        ),
        Step(
            name="register_1d",
            defaults={
                "GPU": dict(BM=64, BN=32, BK=16, TM=8),
                "CPU": dict(BM=256, BN=128, BK=128, TM=8),
                "CPU (PoCL)": dict(BM=64, BN=64, BK=32, TM=8),
            },
            unlike=(dict(BM=8, BN=3, BK=6, TM=4), dict(BM=6, BN=12, BK=8, TM=3)),
            needs=("BM % TM == 0",),
        ),
        Step(
            name="register_2d",
            defaults={
                "GPU": dict(BM=128, BN=128, BK=16, TM=8, TN=8),
                "CPU": cpu_sizes.register_patch_defaults,
                "CPU (PoCL)": dict(BM=64, BN=64, BK=64, TM=8, TN=64),
            },
            space=dict(
                BM=(32, 64, 96, 128, 256),
                BN=(32, 64, 128, 256, 512),
                BK=(8, 16, 32, 64),
                TM=(4, 6, 8, 16),
                TN=(2, 4, 8, 16, 64),
            ),
            unlike=(dict(BM=20, BN=6, BK=12, TM=5, TN=2), dict(BM=6, BN=12, BK=16, TM=2, TN=3)),
            needs=PATCHES,
        ),
        Step(
            name="vectorized",
            defaults={
                "GPU": dict(BM=128, BN=128, BK=16, TM=8, TN=8),
                "CPU": dict(BM=256, BN=256, BK=64, TM=4, TN=4),
                "CPU (PoCL)": dict(BM=64, BN=64, BK=64, TM=8, TN=64),
            },
            unlike=(dict(BM=12, BN=16, BK=24, TM=4, TN=8), dict(BM=48, BN=32, BK=8, TM=12, TN=4)),
            needs=IN_FOURS,
            formulas=dict(staged="BK * (BM + 4 + BN)"),
        ),
        Step(
            name="prefetched",
            defaults={
                "GPU": dict(BM=128, BN=128, BK=8, TM=8, TN=8, WM=64, WN=32),
                "CPU": dict(BM=128, BN=256, BK=64, TM=4, TN=4, WM=4, WN=256),
                "CPU (PoCL)": dict(BM=64, BN=64, BK=64, TM=8, TN=64, WM=8, WN=64),
            },
            unlike=(
                dict(BM=32, BN=48, BK=8, TM=4, TN=12, WM=32, WN=24),
                dict(BM=48, BN=32, BK=8, TM=12, TN=4, WM=24, WN=32),
            ),
            needs=(*IN_FOURS, *WARPS, "WM % TM == 0", "WN % TN == 0"),
            formulas=dict(
                block="WM // TM * (WN // TN), BM // WM * (BN // WN)",  # the lanes of a warp, and warps
                staged="2 * BK * (BM + 4 + BN)",
            ),
        ),
        Step(
            name="packed",
            defaults=dict.fromkeys(CPUS, cpu_sizes.packed_defaults),
            unlike=(
                dict(BM=10, BN=8, BK=12, TM=5, TN=2, VW=4, STRIPS=3),
                dict(BM=6, BN=24, BK=16, TM=2, TN=3, VW=8, STRIPS=4),
            ),
            needs=(VECTORS, "BM % TM == 0", "BN % (TN * VW) == 0", "BK % VW == 0"),
            formulas=dict(tile="BM, STRIPS * BN, BK", block="1, 1", staged="BK * (BN + TM * (BN >= 4 * TN * VW))"),
            dialects=("OpenCL",),
            by_shape=cpu_sizes.packed_by_shape,
        ),
        Step(
            name="column",
            defaults=dict.fromkeys(CPUS, lambda device: dict(TM=8, VW=cpu_sizes.vector(device))),
            unlike=(dict(TM=3, VW=4), dict(TM=5, VW=8)),
            needs=(VECTORS,),
            formulas=NO_TILES | dict(tile="TM, 1, VW", block="1, 1"),
            dialects=("OpenCL",),
        ),
        Step(
            name="matrix_units",
            defaults={"GPU": dict(BM=128, BN=128, BK=16, WM=64, WN=32, INPUT="tf32")},
            # A fragment has 16 rows, 8 columns, and at most 16 of K; each thread fills as many words of a tile.
            needs=(
                *WARPS,
                "WM % 16 == 0",
                "WN % 8 == 0",
                "BK % 16 == 0",
                f"BM * {WORDS} % (32 * (BM // WM) * (BN // WN)) == 0",
                f"BN * {WORDS} % (32 * (BM // WM) * (BN // WN)) == 0",
            ),
            formulas=dict(
                block="32, BM // WM * (BN // WN)",
                filled=f"{WORDS} * (BM + BN)",
                staged=f"BM * ({WORDS} + 4) + {WORDS} * (BN + 8)",
                read=f"BM // WM * (BN // WN) * ({WORDS}) * (WM + WN)",
            ),
            inputs=("tf32", "float16", "bfloat16"),
            capability=(8, 0),
            dialects=("CUDA",),
        ),
    ]
}


def steps(dialect):
    """The names of the steps that are written in that dialect, such as "OpenCL", in order, and compute in float32."""
    return tuple(name for name, step in STEPS.items() if dialect in step.dialects and not step.inputs)


def rungs():
    """The names of the steps that one climbs, in order. `column` takes over from `packed` for some shapes."""
    return tuple(name for name, step in STEPS.items() if name != "column" and not step.inputs)


def step(name, dialect=None):
    """The `Step` of that name, as `named` reads it. Raises ValueError where none is written in that dialect."""
    found = STEPS[named(name, STEPS, "step")]
    if dialect and dialect not in found.dialects:
        raise ValueError(f"{found.name} is not written in {dialect}; there are: {', '.join(steps(dialect))}.")
    return found


def parameters(step, device, given):
    """The step's parameters for that device: its defaults, replaced by those in `given`.

    Raises ValueError for an unknown parameter, a value that is no positive int, sizes that the step cannot have, and a
    block that exceeds the device's threads or shared memory.
    """
    p = step.defaults_for(device)
    if not p:
        raise ValueError(
            f"{step.name} has no parameters for {device.name}, a {device.kind}; it is for: {', '.join(step.defaults)}."
        )
    for key, value in given.items():
        if key not in p:
            raise ValueError(f"{step.name} has no parameter {key!r}; it has: {', '.join(p)}.")
        if key == "INPUT" and value not in step.inputs:
            raise ValueError(f"INPUT={told(value)} must be one of these words: {', '.join(step.inputs)}.")
        p[key] = value if key == "INPUT" else integer(key, value)
    for need in step.needs:
        if not step.value(need, p):
            raise ValueError(f"{step.name} needs {need}, which {spell(p)} does not fulfil.")
    if not step.fits(p, device):
        x, y = step.block(p)
        raise ValueError(
            f"{step.name} with {spell(p)} needs {x} x {y} threads and {4 * step.value('staged', p)} bytes of shared "
            f"memory a block; {device.name} has {device.max_threads} and {device.shared_bytes}. Choose smaller tiles."
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
