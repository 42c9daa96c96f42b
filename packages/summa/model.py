"""What a product on many ranks should cost: a model of three numbers, measured here or read in a data sheet."""

from dataclasses import dataclass
from math import ceil, log2

from .algorithm import choose_grid, panels, refuse
from .mpi import bytes_moved, mpirun


@dataclass(frozen=True)
class Network:
    """What moves the panels: `latency`, seconds until the first byte arrives, and `bandwidth`, bytes a second."""

    name: str
    latency: float
    bandwidth: float

    def __post_init__(self):
        refuse("a number", latency=self.latency, bandwidth=self.bandwidth)


# 400 Gbit/s a port: https://docs.nvidia.com/networking/display/ConnectX7VPI/Introduction. That page names no latency;
# 2 µs is assumed.
INFINIBAND_NDR = Network("InfiniBand NDR", 2e-6, 400e9 / 8)
LONG = 1 << 24  # bytes of a message whose bandwidth counts


def this_machine() -> Network:
    """What messages of 1 byte and of 16 MiB between two ranks of this machine take, as mpi4py's own benchmark says."""
    table = mpirun(2, "-m", "mpi4py.bench", "pingpong", "--max-size", str(LONG), "--loop", "1000")
    rows = [line.split() for line in table.splitlines() if not line.startswith("#")]  # bytes, MB/s, |, seconds, ...
    seconds = {int(row[0]): float(row[3]) for row in rows}
    return Network("this machine", seconds[1], LONG / (seconds[LONG] - seconds[1]))


def predicted_seconds(M: int, N: int, K: int, ranks: int, flops: float, network: Network) -> tuple[float, float]:
    """Seconds of SUMMA on so many ranks, as (computing, moving); a prediction. `flops`: a second, of each rank.

    All ranks compute at that rate, whatever the size of their blocks. A panel is broadcast along a tree; its bytes
    arrive once. Nothing else is on the network, and no rank computes while it waits.
    """
    p, q = choose_grid(ranks, M, N, K)
    received, _ = bytes_moved(M, N, K, p, q, p - 1, q - 1)
    hops = ceil(log2(p)) + ceil(log2(q))
    moving = len(panels(K, p, q)) * hops * network.latency + received / network.bandwidth
    return 2 * M * N * K / ranks / flops, moving
