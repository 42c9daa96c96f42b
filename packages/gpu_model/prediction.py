"""How long a CUDA kernel takes for a product on a GPU that is not there, and which part of that GPU is the limit.

The model: each unit of a multiprocessor (SM) needs so many cycles for what a kernel asks of it. All units work at the
same time, and so the one that needs most is the limit; units that are almost as busy get in its way. On top comes the
time in which all blocks of the SM wait for what they asked memory for. What is asked is counted (`counts`); what a unit
does in a cycle is in the table of GPUs (`gpus`). Nothing is fitted to a kernel or to a GPU; `LOSSES` is one number for
all of them.
"""

import math
from dataclasses import dataclass

from .counts import Counts
from .gpus import GPU, WARP, Occupancy, ceil_div, integer, known, occupancy

REQUESTS = {  # why a request to shared memory or to the L1 cache takes the cycles that it takes: what it is
    "lanes": "each thread's address takes a lane",
    "wavefronts": "of the banks of shared memory",
    "lines": "of 128 bytes, one after the other",
    "bytes": "that the L1 cache gives in a cycle",
}
UNITS = {  # name: what it is; in the order in which the course explains them
    "multiply-adds": "lanes that multiply and add",
    "memory": "bytes that waves of blocks bring from it",
    "L2 cache": "bytes that blocks bring from it",
    "loads and stores": "requests to shared memory and to the L1 cache",
    "losses": "what units that are busy at once take from each other",
    "waiting": "nobody works: all blocks of an SM wait for what they asked memory for",
    "issue": "instructions that start, one a cycle for each of four schedulers",
    "integers": "lanes that compute addresses and counters",
    "matrix units": "products of small matrices that a warp asks for as one",
}
ON_TOP = ("losses", "waiting")  # of the longest of the others
# Units that need a, b, c, ... cycles take (a^n + b^n + c^n + ...)^(1/n) together: with n = 3, two that are equally busy
# lose 26 %, one half as busy 4 %. Ladders chose it: the integer with the least median error of those marked `fitted`.
LOSSES = 3


@dataclass(frozen=True)
class Prediction:
    """What the model says of one product.

    kernel, gpu, M, N, K
    units      {unit: seconds that it is at work}, for all of UNITS that are known, and for the matrix units where the
               kernel has work for them; "losses" and "waiting" come on top of the longest of the others
    requests   the seconds of "loads and stores", by what each took longest for: {"lanes", "wavefronts", "lines",
               "bytes": seconds}
    blocks     of the whole grid; `waves`, how often an SM is filled with them
    occupancy  what an SM keeps at once
    bytes      (fewest, predicted, most) that memory moves: each matrix once; what blocks of a wave share; no sharing
    """

    kernel: str
    gpu: str
    M: int
    N: int
    K: int
    units: dict
    requests: dict
    blocks: int
    waves: int
    occupancy: Occupancy
    bytes: tuple

    @property
    def seconds(self) -> float:
        """Time of the product: that of its busiest unit, the losses and the waiting."""
        return self.working + sum(self.units[part] for part in ON_TOP)

    @property
    def working(self) -> float:
        """Seconds that its busiest unit is at work."""
        return max(time for unit, time in self.units.items() if unit not in ON_TOP)

    @property
    def latency_bound(self) -> bool:
        """Whether no unit is at work for 60 % of the time: Nsight Compute then suspects latency."""
        return self.working < 0.6 * self.seconds

    @property
    def gflops(self) -> float:
        """2 M N K operations, in billions a second."""
        return 2 * self.M * self.N * self.K / self.seconds / 1e9

    @property
    def limit(self) -> str:
        """The unit that needs most time."""
        return max(self.units, key=self.units.get)

    def __repr__(self):
        lines = [
            f"{self.kernel}, {self.M} x {self.N} x {self.K} on {self.gpu}: predicted {self.gflops:,.0f} GFLOP/s, "
            f"{1e3 * self.seconds:.3g} ms; its limit: {self.limit}{', latency-bound' * self.latency_bound}",
            f"  {self.blocks:,} blocks, {self.waves} wave{'s' * (self.waves != 1)}; {self.occupancy}",
        ]
        for unit, time in sorted(self.units.items(), key=lambda one: -one[1]):
            lines.append(f"  {time / self.seconds:5.0%}  {unit:16}  {UNITS[unit]}")
            if unit == "loads and stores":
                why = [f"{part / time:.0%} {name}" for name, part in self.requests.items() if part > time / 200]
                lines[-1] += f" ({', '.join(why)})"
        return "\n".join(lines)


def predict(counts: Counts, gpu: GPU | str, M: int, N: int, K: int, by_rows: bool = False) -> Prediction:
    """Predict a product of (M, K) by (K, N) on a GPU that need not be there. Returns `Prediction`.

    `gpu`: a name of `GPUS`, or a `GPU`. `by_rows`: x counts rows of C, so that blocks follow a column of it. What a
    launch costs is left out. Raises ValueError for an unknown GPU, for sizes below 1, for a kernel of which not one
    block fits on the GPU, and for matrix units whose rate is not known.
    """
    gpu, M, N, K = known(gpu), integer("M", M), integer("N", N), integer("K", K)
    rows, columns, depth = counts.side
    grid = ceil_div(M, rows), ceil_div(N, columns)
    blocks, tiles = math.prod(grid), ceil_div(K, depth)
    turns = ceil_div(blocks, gpu.sms)  # blocks that the busiest SM computes, one after the other or side by side
    kept = occupancy(gpu, counts.threads, counts.registers, counts.shared_bytes)
    if not kept.blocks:
        raise ValueError(f"{counts.kernel}: not one block fits on {gpu.name}; it takes {kept.needs}.")
    together = min(kept.blocks, turns)
    missing = [of for of in {**counts.tile.matrix, **counts.once.matrix} if of not in gpu.matrix]
    if missing:
        raise ValueError(f"{counts.kernel}: no rate of {gpu.name}'s matrix units is known for {', '.join(missing)}.")
    tile, once = cycles(counts.tile, gpu), cycles(counts.once, gpu)
    units = {unit: turns * (tiles * tile.get(unit, 0) + once.get(unit, 0)) / gpu.clock for unit in tile | once}
    requests = {why: units.pop(why) for why in REQUESTS}
    units["loads and stores"] = sum(requests.values())
    held = gpu.l2_size >= counts.item * (M * K + K * N)
    moved = fetched(counts, grid, by_rows, together * gpu.sms, held, M, N, K)
    units["L2 cache"] = moved[2] / (gpu.l2_bytes * gpu.sms * gpu.clock)
    units["memory"] = moved[1] / gpu.bytes_per_s
    busiest = max(units.values())
    busy = busiest * sum((time / busiest) ** LOSSES for time in units.values()) ** (1 / LOSSES)
    units["losses"] = busy - busiest
    # A block waits a share of its time; all of them wait at once for that share to the power of their number.
    share = waiting_share(counts, gpu, busy / turns / tiles * gpu.clock, held)
    units["waiting"] = busy * (1 / (1 - share**together) - 1)
    waves = ceil_div(blocks, gpu.sms * together)
    return Prediction(counts.kernel, gpu.name, M, N, K, units, requests, blocks, waves, kept, moved)


def waiting_share(counts, gpu, working, cached):
    """The share of its time that a block waits for round trips and bytes, working so many cycles on each K-tile."""
    latency = gpu.l2_latency if cached else gpu.latency
    wait = sum(many * max(0.0, latency - ahead * working) for ahead, many in counts.trips.items())
    if wait:
        rows, columns, depth = counts.side
        wait += counts.item * (rows + columns) * depth / gpu.l2_bytes
    return wait / (wait + working)


def cycles(work, gpu):
    """Cycles that each unit of an SM, and each part of REQUESTS, needs for that work: {name: cycles}."""
    requests = dict.fromkeys(REQUESTS, 0.0)
    for (memory, pieces, size), many in work.requests.items():
        needs = {
            "lanes": WARP / gpu.load_lanes,
            "wavefronts" if memory == "shared" else "lines": pieces * gpu.wavefront_cycles,
            "bytes": size / gpu.l1_bytes if memory == "global" else 0,
        }
        slowest = max(needs, key=needs.get)
        requests[slowest] += many * needs[slowest]
    matrix = {"matrix units": sum(many / gpu.matrix[of] for of, many in work.matrix.items())} if work.matrix else {}
    units = {
        "multiply-adds": work.fma * WARP / gpu.fma_lanes,
        "integers": work.integers * WARP / gpu.integer_lanes,
        "issue": work.instructions / 4,
    }
    return requests | matrix | units


def fetched(counts, grid, by_rows, wave, held, M, N, K):
    """Bytes that memory moves: (fewest, predicted, most). `held`: whether the L2 cache holds A and B.

    The blocks of a wave run side by side, in the order of the grid, and share what they read. Where A and B fit into
    the L2 cache, each number comes from memory once. At most, each block brings its own rows and columns.
    """
    (rows, columns, _), (down, across), blocks, item = counts.side, grid, math.prod(grid), counts.item
    fewest, most = item * (M * K + K * N) + 4 * M * N, item * blocks * (rows + columns) * K + 4 * M * N
    if held:
        return fewest, fewest, most
    wave = min(wave, blocks)
    high, wide = (min(down, wave), ceil_div(wave, down)) if by_rows else (ceil_div(wave, across), min(across, wave))
    shared = item * blocks / wave * (high * rows + wide * columns) * K + 4 * M * N
    return fewest, min(max(fewest, shared), most), most
