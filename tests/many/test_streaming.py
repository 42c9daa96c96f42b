"""A product in blocks: right, within the bytes that the plan says, and never above it."""

import threading

import numpy as np
import pyopencl as cl
import pytest

from helpers import cuda_kernel, devices, opencl_kernel
from helpers.launch import draw
from helpers.many import streamed
from kernel_judge import wrong_elements

TILED = {"step": "tiled", "TILE": 16}
OBLONG = {"step": "register_2d", "BM": 32, "BN": 16, "BK": 8, "TM": 4, "TN": 4}


@pytest.fixture
def counted(monkeypatch):
    """The bytes of all OpenCL buffers: how many there are, and the most there were."""
    count, lock = {"now": 0, "most": 0}, threading.Lock()
    devices.opencl_device()  # which proves itself once, with a buffer of its own

    class Buffer(cl.Buffer):
        def __init__(self, *args, **others):
            super().__init__(*args, **others)
            self.counted = self.size
            with lock:
                count["now"] += self.size
                count["most"] = max(count["most"], count["now"])

        def __del__(self):
            with lock:
                count["now"] -= self.counted

    monkeypatch.setattr(cl, "Buffer", Buffer)
    return count


# K whole or in pieces, A or B staying, blocks that fill the budget or do not.
@pytest.mark.parametrize(
    "shape, budget", [((1, 1, 1), 2e6), ((33, 1000, 700), 1.4e6), ((1000, 17, 1000), 2e6), ((257, 255, 2000), 5e6)]
)
def test_right_and_within_the_budget_and_the_bytes_are_the_plans(shape, budget, counted):
    k = streamed(opencl_kernel(**TILED), budget)
    A, B = draw(*shape)
    assert not wrong_elements(k(A, B), A, B).any()
    assert 0 < counted["most"] <= k.last.plan.bytes_on_device <= budget and counted["now"] == 0
    assert k.last.bytes_up + k.last.bytes_down == k.last.plan.bytes_over_the_bus
    assert k.last.bytes_down == 4 * shape[0] * shape[1] * k.last.plan.counts[2]
    assert np.isnan(k.upload(A, B).download()).all() and not k.upload(A, B, None).C.any()  # not launched yet


def test_a_step_that_packs_its_operands_is_right():
    k = streamed(opencl_kernel("packed"), 8e6)
    for shape in [(300, 500, 2100), (70, 1, 1)]:
        A, B = draw(*shape)
        assert not wrong_elements(k(A, B), A, B).any(), shape


def test_it_is_right_in_cuda_on_the_ptx_machine(no_spirv):
    k, (A, B) = streamed(cuda_kernel("tiled", TILE=4), 1.4e6), draw(13, 17, 19)
    assert not wrong_elements(k(A, B), A, B).any() and k.last.plan.bytes_on_device <= 1.4e6
    assert k(A[:, :0], B[:0]).tolist() == [[0.0] * 17] * 13


def test_an_own_kernel_runs_in_blocks_only_once_it_is_checked():
    source = opencl_kernel(**TILED).source
    k = streamed(opencl_kernel(source, like="tiled", TILE=16), 2e6)
    with pytest.raises(Exception, match="has not passed a check"):
        k(*draw(40, 40, 40))


def test_the_two_tracks_have_threads_and_queues_of_their_own(monkeypatch):
    """Neither brings its first block of C back until the other can: with one thread, or one queue, they never meet."""
    k, queues, copy = streamed(opencl_kernel(**TILED), 2e6), {}, cl.enqueue_copy
    meet = threading.Barrier(2)

    def note(queue, to, *others, **more):
        track = threading.current_thread()
        if track is not threading.main_thread() and isinstance(to, np.ndarray) and track not in queues:
            queues[track] = queue.int_ptr
            meet.wait(timeout=60)
        return copy(queue, to, *others, **more)

    monkeypatch.setattr(cl, "enqueue_copy", note)
    k(*draw(700, 300, 200))
    assert len(queues) == len({*queues.values()}) == 2
