"""Which clock times a launch, and in which unit: stand-ins for the GPUs' events, and a wall that they move."""

import dataclasses
import importlib
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import cuda_kernel, opencl_kernel
from helpers.checking.run_check import product_of
from helpers.launch import KernelError

# The modules; `helpers.launch` has no other of these names.
OPENCL, CUDA = (importlib.import_module(f"helpers.launch.{name}") for name in ("on_opencl", "on_cuda"))


@pytest.fixture
def opencl_work(monkeypatch):
    """upload(kind) -> naive's work on a device of that kind, whose n-th launch takes 2 + n ms by its own clock.

    A launch takes another 0.5 s by the wall, when it is waited for.
    """
    wall = SimpleNamespace(now=50.0)
    monkeypatch.setattr(OPENCL, "time", SimpleNamespace(perf_counter=lambda: wall.now))
    monkeypatch.setattr(OPENCL.cl, "enqueue_nd_range_kernel", lambda *what: launched(what))
    events = []

    def launched(what):
        n = len(events) + 1
        began = 7_000_000_000 + 100_000_000 * n  # nanoseconds
        profile = SimpleNamespace(
            queued=began - 900_000, submit=began - 500_000, start=began, end=began + (2 + n) * 1_000_000
        )

        def wait():
            wall.now += 0.5 * sum(not event.waited for event in events)
            for event in events:
                event.waited = True

        events.append(SimpleNamespace(profile=profile, what=what, waited=False, wait=wait))
        return events[-1]

    def upload(kind):
        work = opencl_kernel("naive", BM=4, BN=2).upload(np.ones((5, 3), np.float32), np.ones((3, 7), np.float32))
        work.on.device = dataclasses.replace(work.on.device, kind=kind)
        return work, events

    return upload


def test_an_opencl_gpu_is_timed_by_the_profile_of_each_launch_in_nanoseconds(opencl_work):
    work, events = opencl_work("GPU")
    assert work.launch() == pytest.approx(0.003) and len(events) == 1
    assert work.timed(3) == pytest.approx((0.004 + 0.005 + 0.006) / 3) and len(events) == 4
    assert all(event.waited for event in events)
    one, work.multiply = work.multiply, lambda: [one(), one()]  # a product of two launches
    assert work.timed(2) == pytest.approx((0.007 + 0.008 + 0.009 + 0.010) / 2) and all(event.waited for event in events)


def test_an_opencl_cpu_is_timed_by_the_wall_over_launches_of_the_whole_grid(opencl_work):
    work, events = opencl_work("CPU (PoCL)")
    assert work.launch() == pytest.approx(0.5) and work.timed(4) == pytest.approx(0.5) and len(events) == 5
    for event in events:
        queue, function, global_size, local_size = event.what
        assert (queue, function.function_name) == (work.on.queue, "naive")
        assert (global_size, local_size) == ((8, 8), (4, 2))  # 5 x 7 of C in blocks of 4 x 2: 2 x 4 of them


@pytest.fixture
def gpu(monkeypatch):
    """Stand-ins for CUDA's events: a launch takes 3 ms of the GPU, a record none. Yields what was called, in order."""
    called = []

    class Event:
        def __init__(self, timing):
            assert timing

        def record(self):
            self.at = 40.0 + 3.0 * called.count("launch")  # milliseconds
            called.append("record")

        def synchronize(self):
            called.append("synchronize")

    def elapsed(start, stop):
        assert called[-1] == "synchronize"
        return stop.at - start.at

    monkeypatch.setattr(CUDA, "cuda", SimpleNamespace(event=Event, event_elapsed_time=elapsed))
    return called


def test_a_cuda_gpu_is_timed_between_two_events_around_all_launches_in_milliseconds(gpu):
    assert CUDA.CudaBackend().timed(lambda: gpu.append("launch"), 5) == pytest.approx(0.003)
    assert gpu == ["record", *["launch"] * 5, "record", "synchronize"]


def test_what_a_driver_stops_says_what_to_do(gpu):
    def stopped():
        raise RuntimeError("[700] Call to cuEventSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS")

    with pytest.raises(KernelError, match=r"the GPU stopped a kernel: .*restart Python") as lost:
        CUDA.CudaBackend().timed(stopped, 3)
    assert product_of(cuda_kernel("naive")).failure(lost.value).kind == "crash"
