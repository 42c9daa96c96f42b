"""What a device can do at most, measured: the roof and the slope of its roofline."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyopencl as cl

from .. import devices
from ..cpu_sizes import vector
from ..devices import Device
from ..launch.on_opencl import context_and_queue
from .timing import IDLE_SECONDS, LONG_ENOUGH, WARM_SECONDS, most_seen

LAUNCHES = 3  # of a probe in a burst; the fastest of all counts
PAUSE = 0.1  # seconds between bursts
NOTHING_NEW = 2  # bursts in a row, after which the next would bring nothing either
NEW = 0.99  # times the least seconds so far
SUMS = 12  # vectors of the probe in limits.cl: enough to keep a core busy, few enough for 16 registers
COPIED = 1 << 22  # vectors of 64 bytes: 256 MiB in each of two buffers, more than most caches


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
    """Measure the peak arithmetic and the memory bandwidth of the OpenCL device. Returns `Limits`.

    They are the greatest that this process has seen, in this call or before, by a probe or by a rung that was faster.
    """
    device = devices.opencl_device()
    context, _ = context_and_queue(device)
    source = Path(__file__).with_name("limits.cl").read_text(encoding="utf-8")
    program = cl.Program(context, source).build(f"-DLANES={vector(device)}")
    time.sleep(IDLE_SECONDS)
    flops, moved = peak_flops(device, context, program), copy_bandwidth(device, context, program)
    return Limits(device.name, most_seen(device.name, "flop", flops), most_seen(device.name, "byte", moved))


def peak(device: Device, rate: float = 0.0) -> float:
    """The most flop a second that the OpenCL device was seen to do; a contestant of that `rate` on it was seen, too.

    The probe runs if none did, and once more if a contestant is the fastest so far: it may have met a bad moment.
    """
    if not most_seen(device.name, "byte") or rate >= most_seen(device.name, "flop"):
        machine_limits()
    return most_seen(device.name, "flop", rate)


def peak_flops(device, context, program):
    """Float32 flop per second of multiply-adds in registers."""
    # A GPU wants many threads; a CPU one work-item a group, so that each vector is one register.
    groups, threads, rounds = (32, 256, 4000) if device.kind == "GPU" else (8, 1, 400_000)
    items, lanes = device.handle.max_compute_units * groups * threads, vector(device)
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * lanes * items)
    seconds = fastest(device, program, "peak", (out, np.int32(rounds), np.float32(0.999)), items, threads)
    return 2 * lanes * SUMS * rounds * items / seconds


def copy_bandwidth(device, context, program):
    """Bytes per second to and from memory, of a copy."""
    both = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 64 * COPIED) for _ in range(2)]
    return 2 * 64 * COPIED / fastest(device, program, "copy", both, 4 * COPIED, 256)


def fastest(device, program, name, arguments, items, group):
    """Seconds of the fastest launch, in bursts until `NOTHING_NEW` were not faster; by a GPU's clock, or the wall's."""
    on_gpu, (_, queue), kernel = device.kind == "GPU", context_and_queue(device), cl.Kernel(program, name)
    kernel.set_args(*arguments)

    def once():
        start = time.perf_counter()
        event = cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))
        event.wait()
        return (event.profile.end - event.profile.start) * 1e-9 if on_gpu else time.perf_counter() - start

    until = time.perf_counter() + WARM_SECONDS
    once()
    while on_gpu and time.perf_counter() < until:
        once()
    until = time.perf_counter() + LONG_ENOUGH
    least = min(once() for _ in range(LAUNCHES))
    bursts = 0
    while bursts < NOTHING_NEW and time.perf_counter() < until:
        time.sleep(PAUSE)
        now = min(once() for _ in range(LAUNCHES))
        bursts = 0 if now < NEW * least else bursts + 1
        least = min(least, now)
    return least
