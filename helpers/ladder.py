"""The ladder: its steps in order, and all that a step needs to be launched, checked and counted.

Launch geometry is written once, here. A step says how many threads a block has and how many rows and
columns of C that block owns; CUDA's grid and OpenCL's global size both follow from it.
"""

from collections.abc import Callable
from dataclasses import dataclass


def ceil_div(a, b):
    """The smallest whole number of pieces of size b that cover a."""
    return -(-a // b)


@dataclass(frozen=True)
class Step:
    """One rung.

    name      also the name of its file in helpers/cuda and helpers/opencl
    idea      one line
    defaults  parameters by kind of device (`devices.KINDS`)
    block     parameters -> threads a block, (x, y)
    tile      parameters -> (rows, columns) of C that a block owns, and the K-tile's depth
    staged    parameters -> float32 elements of shared (local) memory a block stages for each K-tile
    read      parameters -> elements that all threads of a block read from it for each K-tile
    x_along   "columns": x runs along a row of C; "rows": down a column of C
    reuse     True: a block loads each element of A and B that it needs once; False: each thread does
    """

    name: str
    idea: str
    defaults: dict
    block: Callable
    tile: Callable
    staged: Callable = lambda p: 0
    read: Callable = lambda p: 0
    x_along: str = "columns"
    reuse: bool = True

    def grid(self, p, M, N):
        """Blocks along (x, y): as many as cover C of M x N, and no more."""
        rows, columns, _ = self.tile(p)
        down, across = ceil_div(M, rows), ceil_div(N, columns)
        return (down, across) if self.x_along == "rows" else (across, down)

    def global_loads(self, p, M, N, K):
        """Elements of A and B loaded from global memory, counted: each guarded load that is taken."""
        if not self.reuse:
            return 2 * M * N * K
        rows, columns, _ = self.tile(p)
        return M * K * ceil_div(N, columns) + K * N * ceil_div(M, rows)

    def shared_accesses(self, p, M, N, K):
        """Elements read from, and written to, shared memory by all blocks together; guards spare none of them."""
        rows, columns, depth = self.tile(p)
        tiles = ceil_div(M, rows) * ceil_div(N, columns) * ceil_div(K, depth)
        return tiles * self.read(p), tiles * self.staged(p)


STEPS = {
    step.name: step
    for step in [
        Step(
            "naive",
            "one thread, one element of C; x counts the rows",
            {"GPU": dict(BM=32, BN=8), "CPU": dict(BM=32, BN=8), "CPU (PoCL)": dict(BM=32, BN=8),
             "simulator": dict(BM=4, BN=4)},
            block=lambda p: (p["BM"], p["BN"]),
            tile=lambda p: (p["BM"], p["BN"], 8),
            x_along="rows",
            reuse=False,
        ),
        Step(
            "coalesced",
            "swap x and y: neighbours read neighbouring addresses",
            {"GPU": dict(BM=8, BN=32), "CPU": dict(BM=8, BN=32), "CPU (PoCL)": dict(BM=8, BN=32),
             "simulator": dict(BM=4, BN=4)},
            block=lambda p: (p["BN"], p["BM"]),
            tile=lambda p: (p["BM"], p["BN"], 8),
            reuse=False,
        ),
        Step(
            "tiled",
            "a block stages tiles of A and B in shared memory",
            {"GPU": dict(TILE=16), "CPU": dict(TILE=32), "CPU (PoCL)": dict(TILE=32),
             "simulator": dict(TILE=4)},
            block=lambda p: (p["TILE"], p["TILE"]),
            tile=lambda p: (p["TILE"], p["TILE"], p["TILE"]),
            staged=lambda p: 2 * p["TILE"] ** 2,
            read=lambda p: p["TILE"] ** 2 * 2 * p["TILE"],
        ),
        Step(
            "register_1d",
            "a thread owns TM elements of a column: one value of B serves TM products",
            {"GPU": dict(BM=64, BN=64, BK=16, TM=16), "CPU": dict(BM=64, BN=128, BK=32, TM=8),
             "CPU (PoCL)": dict(BM=64, BN=64, BK=32, TM=8), "simulator": dict(BM=8, BN=4, BK=4, TM=4)},
            block=lambda p: (p["BN"], p["BM"] // p["TM"]),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=lambda p: p["BM"] * p["BK"] + p["BK"] * p["BN"],
            read=lambda p: p["BN"] * (p["BM"] // p["TM"]) * p["BK"] * (p["TM"] + 1),
        ),
        Step(
            "register_2d",
            "a thread owns a TM x TN patch of C, held in registers",
            {"GPU": dict(BM=128, BN=128, BK=16, TM=8, TN=8), "CPU": dict(BM=128, BN=256, BK=64, TM=8, TN=4),
             "CPU (PoCL)": dict(BM=64, BN=64, BK=64, TM=8, TN=64),
             "simulator": dict(BM=8, BN=8, BK=4, TM=2, TN=2)},
            block=lambda p: (p["BN"] // p["TN"], p["BM"] // p["TM"]),
            tile=lambda p: (p["BM"], p["BN"], p["BK"]),
            staged=lambda p: p["BM"] * p["BK"] + p["BK"] * p["BN"],
            read=lambda p: (p["BN"] // p["TN"]) * (p["BM"] // p["TM"]) * p["BK"] * (p["TM"] + p["TN"]),
        ),
    ]
}


def step(name):
    """The `Step` of that name. Raises ValueError, with the names there are."""
    if not isinstance(name, str) or name not in STEPS:
        raise ValueError(f"unknown step {name!r}; the steps are: {', '.join(STEPS)}.")
    return STEPS[name]


def parameters(step, device, given):
    """The step's parameters for that device: its defaults, replaced by those in `given`.

    Raises ValueError for an unknown parameter, a value that is no positive int, a thread's share that does
    not divide its block's, and a block that exceeds the device's threads or shared memory.
    """
    p = dict(step.defaults[device.kind])
    for key, value in given.items():
        if key not in p:
            raise ValueError(f"{step.name} has no parameter {key!r}; it has: {', '.join(p)}.")
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
            raise ValueError(f"{step.name}: {key}={value!r} must be a whole number, 1 or more.")
        p[key] = int(value)
    for per_block, per_thread in (("BM", "TM"), ("BN", "TN")):
        if per_thread in p and p[per_block] % p[per_thread]:
            raise ValueError(
                f"{step.name}: {per_thread}={p[per_thread]} must divide {per_block}={p[per_block]}, "
                f"so that every thread owns the same number of elements."
            )
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


def spell(p):
    """Parameters as one reads them: TILE=16, or BM=64, BN=64."""
    return ", ".join(f"{key}={value}" for key, value in p.items())
