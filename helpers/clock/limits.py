"""What a device can do at most, measured: the roof and the slope of its roofline."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyopencl as cl

from .. import devices
from ..cpu_sizes import vector
from ..launch.opencl import context_and_queue
from .timing import IDLE_SECONDS, LONG_ENOUGH

SOURCE = Path(__file__).with_name("limits.cl")
SUMS = 12  # vectors of the probe in limits.cl: enough to keep a core busy, few enough for 16 registers
COPIED = 1 << 28  # bytes in each of two buffers: more than most caches hold


@dataclass(frozen=True)
class Limits:
    """The most that a device was seen to do: float32 arithmetic and memory traffic."""

    device: str
    flops_per_s: float
    bytes_per_s: float

    @property
    def ridge(self) -> float:
        """The arithmetic intensity, flop per byte, from which on arithmetic is what limits."""
        return self.flops_per_s / self.bytes_per_s

    def __repr__(self):
        return (
            f"{self.device}: {self.flops_per_s / 1e9:.0f} GFLOP/s and {self.bytes_per_s / 1e9:.0f} GB/s, the greatest "
            f"seen, so arithmetic is the limit from {self.ridge:.0f} flop per byte on"
        )


def machine_limits() -> Limits:
    """Measure the OpenCL device: flop of multiply-adds in registers, and bytes that a copy reads and writes."""
    device = devices.opencl_device()
    context, _ = context_and_queue(device)
    lanes = vector(device)
    program = cl.Program(context, SOURCE.read_text(encoding="utf-8")).build(f"-DLANES={lanes}")
    # A GPU wants many threads; a CPU one work-item a group, so that each vector is one register.
    groups, threads, rounds = (32, 256, 4000) if device.kind == "GPU" else (8, 1, 400_000)
    items = device.handle.max_compute_units * groups * threads
    out, *both = (cl.Buffer(context, cl.mem_flags.READ_WRITE, size) for size in (4 * lanes * items, COPIED, COPIED))
    peak, copy = cl.Kernel(program, "peak"), cl.Kernel(program, "copy")
    peak.set_args(out, np.int32(rounds), np.float32(0.999))
    copy.set_args(*both)
    time.sleep(IDLE_SECONDS)
    flops_per_s = 2 * lanes * SUMS * rounds * items / fastest(device, peak, items, threads)
    bytes_per_s = 2 * COPIED / fastest(device, copy, COPIED // 16, 256)  # a work-item copies 16 bytes
    return Limits(device.name, flops_per_s, bytes_per_s)


def fastest(device: devices.Device, kernel: cl.Kernel, items: int, group: int) -> float:
    """Seconds of the fastest of launches that go on for `LONG_ENOUGH`; by a GPU's clock, or the wall's."""
    _, queue = context_and_queue(device)
    times, until = [], time.perf_counter() + LONG_ENOUGH
    while not times or time.perf_counter() < until:
        start = time.perf_counter()
        event = cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))
        event.wait()
        on_gpu = (event.profile.end - event.profile.start) * 1e-9
        times.append(on_gpu if device.kind == "GPU" else time.perf_counter() - start)
    return min(times)
