"""How is a product computed that is too large for one device, or for one machine?

`streamed` lets them pass through a device, as `summa.passing` plans it; the rest is `summa`, with the ladder's kernels.
"""

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np

import summa
from summa import INFINIBAND_NDR, bytes_moved, from_file, passing, this_machine  # noqa: F401, beside what is the course's
from summa.passing import TRACKS, Plan, pieces

from . import devices, ladder
from .arguments import sizes
from .launch import Contestant, Kernel
from .launch.kernel import GUARD, Work, validate
from .launch.on_opencl import opencl_kernel


def plan(k: Kernel, M: int, N: int, K: int, budget: float) -> Plan:
    """The best `Plan` for that kernel, in blocks of its whole tiles. Raises ValueError for a budget that holds none."""
    return passing.plan(sizes((M, N, K)), ladder.STEPS[k.step].tile(k.parameters), budget, GUARD)


class Streamed(Contestant):
    """`k`, with at most `budget` bytes on its device at the same time: C = streamed(k, budget)(A, B).

    It is checked and timed as any is. A call raises ValueError for too small a budget.
    """

    def __init__(self, k: Kernel, budget: float):
        self.kernel, self.budget = k, budget
        self.dialect, self.step, self.parameters, self.device = k.dialect, k.step, k.parameters, k.device
        self.name, self.inputs = f"{k.step} streamed", k.inputs
        self.last: StreamedWork | None = None  # what was launched last

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against that size: what the kernel has against a block, or too small a budget."""
        if 0 not in (M, N, K):
            self.kernel.refuse(*plan(self.kernel, M, N, K, self.budget).block)

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float | None = np.nan) -> "StreamedWork":
        """A and B stay on the host, beside a C full of `fill`."""
        validate(A, B)
        self.last = StreamedWork(self.kernel, self.budget, A, B, fill)
        return self.last


class StreamedWork(Work):
    """A, B and C on the host, and the plan; after a launch the bytes that went up to the device and came down."""

    def __init__(self, kernel, budget, A, B, fill):
        self.kernel, self.A, self.B = kernel, A, B
        self.plan = plan(kernel, A.shape[0], B.shape[1], A.shape[1], budget)
        self.C = np.full((A.shape[0], B.shape[1]), 0 if fill is None else fill, np.float32)

    def download(self):
        """C, float32 (M, N)."""
        return self.C.copy()

    def multiply(self):
        """Let the blocks pass: for each piece of K, for each block that stays, all blocks of the other operand."""
        up, down = [], []
        rows, columns, depths = map(pieces, self.plan.size, self.plan.block)
        A_stays = self.plan.stays == "A"
        # The PTX machine runs one kernel at a time.
        with ThreadPoolExecutor(1 if self.kernel.untimed else TRACKS) as threads:
            for k, block in product(depths, rows if A_stays else columns):
                X = self.A[block, k] if A_stays else self.B[k, block]
                self.staying = self.kernel.backend(self.kernel.device).hold(X.size, np.nan, X)
                up.append(X.nbytes)
                blocks = [(block, other) for other in columns] if A_stays else [(other, block) for other in rows]
                tracks = [threads.submit(self.let_pass, k, blocks[n::TRACKS], up, down) for n in range(TRACKS)]
                for track in tracks:
                    track.result()
                self.staying = None  # gone before the next one comes
        self.bytes_up, self.bytes_down = sum(up), sum(down)

    def let_pass(self, k, blocks, up, down):
        """In one track: copy a block, multiply it with the one that stays, bring a block of C back; then the next."""
        A_stays, shape, work = self.plan.stays == "A", None, None
        on, K = self.kernel.backend(self.kernel.device), k.stop - k.start
        for rows, columns in blocks:
            X = self.B[k, columns] if A_stays else self.A[rows, k]
            if shape == X.shape:
                on.write(work.B if A_stays else work.A, np.ascontiguousarray(X))
            else:
                shape, work = X.shape, None  # gone before the next one comes
                sizes = rows.stop - rows.start, columns.stop - columns.start, K
                passing = on.hold(X.size, np.nan, X)
                pair = (self.staying, passing) if A_stays else (passing, self.staying)
                work = Work(on, sizes, *pair, None, self.kernel.fitted(*sizes).launcher)
                del passing, pair
            work.launch()
            part = work.download()
            up.append(X.nbytes)
            down.append(part.nbytes)
            self.C[rows, columns] = self.C[rows, columns] + part if k.start else part


@functools.cache
def local_kernel() -> Kernel:
    """The ladder's kernel on the GPU of this rank or worker, where there are any, or on the cores that it may use."""
    if devices.opencl_device().kind != "GPU":
        return opencl_kernel("packed")
    gpus = [one for one in devices.opencl_devices() if one.kind == "GPU" and devices.problem_of(one) is None]
    return opencl_kernel("register_2d", gpus[int(os.environ.get("SUMMA_RANK", 0)) % len(gpus)])


def block_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """C = A @ B by the kernel of this rank or worker, which is built once: its operands and errors are the kernel's."""
    return local_kernel()(A, B)


streamed = Streamed
on_ranks = functools.partial(summa.on_ranks, multiply="helpers.many:block_product")
cluster = functools.partial(summa.cluster, multiply="helpers.many:block_product")
