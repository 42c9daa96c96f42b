"""Several devices of one machine, each with its share of C's rows."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..clock import measure
from ..launch import Contestant, Kernel
from ..launch.contestant import Work
from ..launch.given import Size, some, takes
from ..launch.operands import pair_for


def shares(rows: int, rates: list[float]) -> list[slice]:
    """0 to `rows` in one slice for each rate, in proportion to it; whole rows, and none left out."""
    ends = np.rint(rows * np.cumsum(rates) / np.sum(rates)).astype(int).tolist()
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]


class Together(Contestant):
    """Kernels on several devices that compute C together: C = k(A, B), checked and timed like any other.

    `rates`: what each is known to compute in a second, in any unit: its share of the rows follows from it.
    """

    def __init__(self, kernels: list[Kernel], rates: list[float]):
        self.kernels, self.rates = kernels, rates
        self.dialect, self.inputs = kernels[0].dialect, kernels[0].inputs
        self.name = f"{kernels[0].step} on {len(kernels)} devices"

    def parts(self, M: int) -> list[tuple[Kernel, slice]]:
        """Each kernel that has rows of C, with these."""
        rows = shares(M, self.rates)
        return [(k, mine) for k, mine in zip(self.kernels, rows, strict=True) if mine.stop > mine.start]

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what one of the kernels has to say against its share."""
        for k, rows in self.parts(M):
            k.refuse(rows.stop - rows.start, N, K)

    def ready(self, M: int, N: int, K: int) -> "Together":
        """Itself, each kernel ready for its rows."""
        for k, rows in self.parts(M):
            k.ready(rows.stop - rows.start, N, K)
        return self

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float | None = np.nan) -> "TogetherWork":
        """To each device its rows of A, and all of B, beside its rows of C, full of `fill`."""
        return TogetherWork(self, *pair_for(A, B), fill)


@takes
def together(kernels: list[Kernel], size: Size = 512) -> Together:
    """The kernels, each on a device of its own, as one: C = together([k, other])(A, B). Each is measured first.

    `size` of the product that they are measured at. Raises ValueError for no kernel, two on one device, no GPU.
    """
    kernels = some("kernels", kernels)
    names = [k.device.name for k in kernels]
    for k in kernels:
        if k.untimed:
            raise ValueError(f"{k} runs on the PTX machine, which has no rate to share by; give OpenCL kernels.")
        if names.count(k.device.name) > 1:
            raise ValueError(
                f"{names.count(k.device.name)} kernels are on {k.device.name}; give each a device of its own."
            )
    return Together(kernels, [measure(k, size).gflops for k in kernels])


class TogetherWork(Work):
    """A work for each device that has rows, and a thread for each, which asks for its launches and waits for them."""

    def __init__(self, k, A, B, fill):
        self.works = [one.upload(A[rows], B, fill) for one, rows in k.parts(len(A))]
        self.threads = ThreadPoolExecutor(len(self.works))

    def timed(self, launches):
        """Let all devices multiply so many times. Returns the wall's seconds a launch, until the last has finished."""
        start = time.perf_counter()
        list(self.threads.map(lambda work: work.timed(launches), self.works))
        return (time.perf_counter() - start) / launches

    def download(self):
        """C, from the rows of each device."""
        return np.concatenate([work.download() for work in self.works])
