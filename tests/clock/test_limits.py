"""Flops and bytes of `machine_limits`, to the last one: by a clock that stands still, and in numbers of C."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from helpers import devices, machine_limits
from helpers.clock import Limits, scoreboards, timing
from helpers.devices import Device
from helpers.launch.on_opencl import OpenCLBackend

SOURCE = Path(scoreboards.__file__).with_name("limits.cl")

# What a work-item does: see the kernels' numbers below.
FLOP_A_ROUND = 2 * 12  # multiply and add, of 12 vectors; on each lane
BYTES_OF_A_COPY = 16 + 16  # a float4 loaded, and stored


@pytest.mark.parametrize("kind, width, lanes", [("CPU", 16, 16), ("GPU", 1, 4)])
def test_limits_are_the_flop_and_the_bytes_of_all_work_items_over_the_fastest_launch(monkeypatch, kind, width, lanes):
    """With pyopencl's buffers and kernels played, on a device of three units."""
    seconds, launches, built = {"peak": [0.5, 0.25, 0.5], "copy": [0.5, 0.125, 0.5]}, [], []

    class Kernel:
        def __init__(self, program, name):
            self.name, self.set_args = name, lambda *given: setattr(self, "given", given)

    class OpenCLBackend:
        context = queue = None

        def __init__(self, device):
            assert device.name == "a device"

        def timed(self, launch, count):
            launch()
            return seconds[launches[-1].name].pop(0)

    def enqueue(queue, kernel, items, group):
        launches.append(SimpleNamespace(name=kernel.name, given=kernel.given, items=items[0], group=group[0]))

    handle = SimpleNamespace(max_compute_units=3)
    device = Device("OpenCL", "a device", kind, "none", 1024, 1 << 15, handle, width)
    fake = SimpleNamespace(
        mem_flags=cl.mem_flags,
        Program=lambda context, source: SimpleNamespace(build=built.append),
        Buffer=lambda context, flags, size: SimpleNamespace(size=size),
        Kernel=Kernel,
        enqueue_nd_range_kernel=enqueue,
    )
    monkeypatch.setattr(scoreboards, "cl", fake)
    monkeypatch.setattr(scoreboards, "OpenCLBackend", OpenCLBackend)
    monkeypatch.setattr(devices, "opencl_device", lambda: device)
    clock = SimpleNamespace(perf_counter=iter(0.2 * n for n in range(99)).__next__, sleep=lambda seconds: None)
    monkeypatch.setattr(scoreboards, "time", clock)
    found = machine_limits()
    assert [launch.name for launch in launches] == 3 * ["peak"] + 3 * ["copy"]  # each for half a second
    peak, copy = launches[0], launches[-1]
    (out, rounds, a), (source, target) = peak.given, copy.given
    # A vector of the probe fills one of the device's registers: of wider ones, twelve do not fit, and are spilled.
    assert built == [f"-DLANES={lanes}"] and out.size == 4 * lanes * peak.items
    assert a.dtype == "float32" and 0 < a < 1 and peak.items % (3 * peak.group) == 0  # as many groups on each unit
    assert found.flops_per_s == pytest.approx(FLOP_A_ROUND * lanes * int(rounds) * peak.items / 0.25)
    assert source.size == target.size == 16 * copy.items >= 1 << 28  # more than most caches
    assert found.bytes_per_s == pytest.approx(BYTES_OF_A_COPY * copy.items / 0.125)
    assert found.device == "a device" and found.ridge == pytest.approx(found.flops_per_s / found.bytes_per_s)


def test_the_limits_of_the_device_that_is_here_are_measured(monkeypatch):
    monkeypatch.setattr(timing, "LONG_ENOUGH", 0.01)
    found = machine_limits()
    assert found.device == devices.opencl_device().name and found.flops_per_s > 1e9 and found.bytes_per_s > 1e8


def test_limits_say_where_the_ridge_is():
    assert repr(Limits("a device", 5e11, 1e11)) == (
        "a device: 500 GFLOP/s and 100 GB/s, the greatest seen, so arithmetic is the limit from 5 flop per byte on"
    )


def launched(name, items, *given):
    """What a kernel of limits.cl, with vectors of four, leaves in its last buffer, which begins as `given` has it."""
    on = OpenCLBackend(devices.opencl_device())
    program = cl.Program(on.context, SOURCE.read_text(encoding="utf-8")).build("-DLANES=4")
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    given = [cl.Buffer(on.context, flags, hostbuf=one) if isinstance(one, np.ndarray) else one for one in given]
    cl.Kernel(program, name)(on.queue, (items,), (1,), *given)
    found = np.empty((items, 4), np.float32)
    buffers = [one for one in given if isinstance(one, cl.Buffer)]
    cl.enqueue_copy(on.queue, found, buffers[-1])
    return found


def test_each_round_of_the_peak_is_a_multiply_add_of_twelve_vectors_that_are_not_alike():
    """A compiler may compute vectors that are alike only once. Each goes from its own start towards 1."""
    rounds, a = 3, 0.75
    found = launched("peak", 5, np.zeros((5, 4), np.float32), np.int32(rounds), np.float32(a))
    starts = np.arange(12) + 0.5 * np.arange(5)[:, None]
    assert np.allclose(found, (1 + (starts - 1) * a**rounds).sum(axis=1, keepdims=True))


def test_a_work_item_of_the_copy_copies_sixteen_bytes():
    source = np.arange(20, dtype=np.float32).reshape(5, 4)
    assert np.array_equal(launched("copy", 5, source, np.zeros_like(source)), source)
