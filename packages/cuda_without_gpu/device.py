"""What stands for an NVIDIA GPU and its driver in Numba's eyes, where there is none: the PTX machine.

Each launch has ended when it returns, so nothing has to be waited for. `stand_in.py` puts these in their places.
"""

import math
import re
import time
from contextvars import ContextVar

import ptx_machine

CAPABILITY = (8, 0)  # an A100's
CUDA_VERSION = (12, 8)  # which numba-cuda and Numba's own target both know
CAPABILITIES = ((5, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
DEFAULT_THREADS = 256  # of a block, for `forall`
NO_GPU = "No NVIDIA GPU: CUDA kernels are compiled, and run on the PTX machine, on this computer's processor."
NO_DRIVER = (
    "there is no NVIDIA GPU, and so no driver, which this call would ask. CUDA kernels run on the PTX machine: keep to "
    "numba.cuda's own calls, such as cuda.to_device"
)


class Device:
    """The PTX machine as a GPU: the limits are those of a launch on an A100."""

    id, name, uuid = 0, b"PTX machine (no GPU)", "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = CAPABILITY
    supports_float16 = supports_bfloat16 = True
    supports_fp8 = False
    MULTIPROCESSOR_COUNT, WARP_SIZE, MAX_THREADS_PER_BLOCK = 108, 32, 1024
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = 1024, 1024, 64
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = 2**31 - 1, 65535, 65535
    MAX_SHARED_MEMORY_PER_BLOCK, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 48 * 1024, 163 * 1024
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, TOTAL_CONSTANT_MEMORY = 164 * 1024, 64 * 1024
    MAX_THREADS_PER_MULTI_PROCESSOR, MAX_BLOCKS_PER_MULTIPROCESSOR = 2048, 32
    MAX_REGISTERS_PER_BLOCK = MAX_REGISTERS_PER_MULTIPROCESSOR = 64 * 1024
    COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = CAPABILITY
    CLOCK_RATE, MEMORY_CLOCK_RATE = 1_410_000, 1_215_000  # kHz
    L2_CACHE_SIZE, GLOBAL_MEMORY_BUS_WIDTH, MAX_PITCH = 40 * 2**20, 5120, 2**31 - 1
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, ASYNC_ENGINE_COUNT, COOPERATIVE_LAUNCH, CONCURRENT_KERNELS = 2, 3, 1, 1
    UNIFIED_ADDRESSING, CAN_MAP_HOST_MEMORY, MANAGED_MEMORY, ECC_ENABLED = 1, 1, 1, 1
    KERNEL_EXEC_TIMEOUT = INTEGRATED = TCC_DRIVER = COMPUTE_MODE = PCI_BUS_ID = PCI_DEVICE_ID = PCI_DOMAIN_ID = 0

    def __init__(self, context):
        self.context, self.device = context, self  # `cuda.gpus` lists what has both

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return None

    def __getattr__(self, name):
        raise AttributeError(f"{name}: the PTX machine stands for a GPU here, and does not have it.")

    def __repr__(self):
        return "<CUDA device 0: the PTX machine, no GPU>"

    def get_device_identity(self):
        """A dict that tells devices apart."""
        return {"pci_domain_id": 0, "pci_bus_id": 0, "pci_device_id": 0}

    def get_primary_context(self):
        """The one context."""
        return self.context

    def reset(self):
        """Do nothing: nothing is kept here."""


class Event:
    """An event of a stream. What it waits for has been done already."""

    seconds = watched = None

    def record(self, stream=0):
        """Note the time: everything before the event has been done."""
        self.seconds, self.watched = time.perf_counter(), launches_watched

    def synchronize(self, stream=0):
        """Do nothing: everything before the event has been done."""

    wait = synchronize

    def query(self):
        """True: everything before the event has been done."""
        return True

    def elapsed_time(self, end):
        """Milliseconds; NaN where a launch between ran on the PTX machine, whose time says nothing about a device's."""
        if self.seconds is None or end.seconds is None:
            raise RuntimeError("an event was not recorded: event.record() notes its time.")
        return 1e3 * (end.seconds - self.seconds) if self.watched == end.watched else math.nan


class Attributes:
    """In the place of what a driver says of a kernel that it has loaded.

    shared, const, local   bytes of shared, constant and, a thread, local memory in the PTX of the kernel
    maxthreads             of a block
    """

    maxthreads = Device.MAX_THREADS_PER_BLOCK

    def __init__(self, ptx: str):
        declared = re.findall(r"\.(shared|const|local) [^;=]*?\.[bfsu](\d+)\s+\S+?\[(\d+)\]", ptx)
        self.shared, self.const, self.local = (
            sum(int(bits) // 8 * int(count) for space, bits, count in declared if space == one)
            for one in ("shared", "const", "local")
        )

    def __getattr__(self, name):
        raise NotImplementedError(f"{name}: only NVIDIA's compiler knows it.")


def detect() -> bool:
    """Say where CUDA kernels run. Returns True, since they do."""
    print(NO_GPU)
    return True


# [how much work, as `ptx_machine.run` counts it, launches may still do together]
BUDGET: ContextVar[list[float] | None] = ContextVar("BUDGET", default=None)

launches_watched = launches_native = 0


def run(*given: object, **named: object) -> ptx_machine.Run:
    """What `ptx_machine.run` returns, for as much work as is left in `BUDGET`, if there is one."""
    global launches_watched
    launches_watched += 1
    budget = BUDGET.get()
    done = ptx_machine.run(*given, **named, work=budget and max(0, budget[0]))
    if budget:
        budget[0] -= done.work
    return done
