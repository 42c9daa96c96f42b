"""A product passes through a device within a budget: right, by the bytes that the plan says, and never above it."""

import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from helpers import check, cuda_kernel, devices, opencl_kernel
from helpers.launch import draw, kernel
from helpers.launch.kernel import Work
from helpers.launch.operands import GUARD
from helpers.many import Plan, StreamedWork, in_tiles, plan, streamed, widest
from kernel_judge import wrong_elements

TILED = {"step": "tiled", "TILE": 16}
# K whole or in pieces, A or B staying, blocks that fill the budget or do not.
SHAPES = [((1, 1, 1), 2e6), ((33, 1000, 700), 1.4e6), ((1000, 17, 1000), 2e6), ((257, 255, 2000), 5e6)]


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


@pytest.mark.parametrize("shape, budget", SHAPES)
def test_right_and_within_the_budget_and_the_bytes_are_the_plans(shape, budget, counted):
    k = streamed(opencl_kernel(**TILED), budget)
    A, B = draw(*shape)
    assert not wrong_elements(k(A, B), A, B).any()
    assert 0 < counted["most"] <= k.last.plan.bytes_on_device <= budget and counted["now"] == 0
    assert (k.last.bytes_up, k.last.bytes_down) == (k.last.plan.bytes_up, k.last.plan.bytes_down)


def test_a_step_that_packs_its_operands_is_right():
    assert check(streamed(opencl_kernel("packed"), 8e6), shapes=[(300, 500, 2100), (70, 1, 1)])


def test_cuda_is_right_and_within_the_budget():
    k, (A, B) = streamed(cuda_kernel("tiled", TILE=4), 1.4e6), draw(13, 17, 19)
    assert not wrong_elements(k(A, B), A, B).any()
    assert k.last.plan.bytes_on_device <= 1.4e6
    assert k.last.plan.tracks == (1 if k.untimed else 2)
    with pytest.raises(ValueError, match="in 1 track, " if k.untimed else "in 2 tracks, "):
        plan(k.kernel, 30, 30, 30, 1000)


def test_the_two_tracks_have_threads_and_queues_of_their_own(monkeypatch):
    """Neither brings its first block of C back until the other can: with one thread, or one queue, they never meet."""
    k, queues, copy = streamed(opencl_kernel(**TILED), 2e6), set(), cl.enqueue_copy
    meet = threading.Barrier(2)

    def note(queue, to, *others, **more):
        beside = threading.current_thread() is not threading.main_thread()
        if beside and isinstance(to, np.ndarray) and queue.int_ptr not in queues:
            queues.add(queue.int_ptr)
            meet.wait(timeout=60)
        return copy(queue, to, *others, **more)

    monkeypatch.setattr(cl, "enqueue_copy", note)
    k(*draw(700, 300, 200))
    assert len(queues) == 2 and k.kernel.queue.int_ptr not in queues


def test_the_order_shows_a_copy_beside_a_product(monkeypatch):
    """The first product waits until the other track has copied a block: that block came while it was multiplied."""
    k = streamed(opencl_kernel(**TILED), 2e6)
    A, B = draw(700, 300, 200)
    launch, copied, lock, launched = Work.launch, threading.Event(), threading.Lock(), []
    noted = StreamedWork.noted

    def waits(self):
        if isinstance(self, StreamedWork):
            return launch(self)
        with lock:
            launched.append(1)
            first = len(launched) == 1
        if first:
            assert copied.wait(timeout=60)
        else:
            copied.set()
        return launch(self)

    def late(self, what, number):
        if what == "copy" and number == 1:
            while not launched:
                time.sleep(0.001)
        return noted(self, what, number)

    monkeypatch.setattr(Work, "launch", waits)
    monkeypatch.setattr(StreamedWork, "noted", late)
    k(A, B)
    order = k.last.order
    assert (
        order.index(("multiply", True, 0))
        < order.index(("copy", True, 1))
        < order.index(("copy", False, 1))
        < order.index(("multiply", False, 0))
    )
    assert 1 <= k.last.came_beside < k.last.plan.steps  # nothing is multiplied while the first block comes
    steps = range(k.last.plan.steps)
    assert sorted(order) == sorted((w, b, n) for w in ("copy", "multiply") for b in (True, False) for n in steps)


def test_with_one_track_no_copy_runs_beside_a_product(no_spirv):
    k = streamed(cuda_kernel("tiled", TILE=4), 1.4e6)
    k(*draw(13, 17, 19))
    steps = range(k.last.plan.steps)
    assert k.last.came_beside == 0
    assert k.last.order == [(w, b, n) for n in steps for w in ("copy", "multiply") for b in (True, False)]


OBLONG = {"step": "register_2d", "BM": 32, "BN": 16, "BK": 8, "TM": 4, "TN": 4}


@pytest.mark.parametrize("size", [(96, 128, 80), (64, 192, 48), (192, 64, 48)])
def test_the_plan_is_the_best_of_all_that_fit(size):
    """Against every plan there is: all widths and depths in whole tiles, either operand staying."""
    budget, tile = 4 * (5 * GUARD + 6000), (32, 16, 8)
    k = opencl_kernel(**OBLONG)
    ways = [range(side, end + 1, side) for side, end in zip(tile, size, strict=True)]
    every = [Plan(*size, stays, *blocks, 2) for stays in "AB" for blocks in itertools.product(*ways)]
    fit = [p.bytes_up + p.bytes_down for p in every if p.bytes_on_device <= budget]
    best = plan(k, *size, budget)
    assert 0 < len(fit) < len(every)
    assert best.bytes_up + best.bytes_down == min(fit)


@pytest.mark.parametrize("tile", [dict(BM=32, BN=16), dict(BM=16, BN=32)])
def test_the_least_budget_is_of_whichever_operand_stays(tile):
    k = opencl_kernel(**OBLONG | tile)
    least = min(Plan(300, 300, 300, stays, tile["BM"], tile["BN"], 8, 2).bytes_on_device for stays in "AB")
    with pytest.raises(ValueError, match=rf"in 2 tracks, .* The least that would do: {least:,}\.$"):
        plan(k, 300, 300, 300, least - 1)
    assert plan(k, 300, 300, 300, least).bytes_on_device == least


def test_a_plan_is_told_with_the_pieces_of_k_if_there_are_some():
    whole, cut = Plan(10, 20, 30, "A", 5, 10, 30, 1), Plan(10, 20, 30, "B", 5, 10, 8, 2)
    on_device = 4 * (150 + 300 + 50 + 3 * GUARD)
    assert str(whole) == (
        f"A stays, in blocks of 5 x 30 (A) and 30 x 10 (B): {on_device:,} bytes on the device, 6,800 over the bus"
    )
    assert str(cut).startswith("B stays, in blocks of 5 x 8 (A) and 8 x 10 (B), K in 4 pieces: ")


def test_every_size_of_block_is_made_ready(monkeypatch):
    k, ready = streamed(opencl_kernel(**TILED), 1.4e6), []
    monkeypatch.setattr(type(k.kernel), "ready", lambda self, *size: ready.append(size))
    assert k.ready(700, 1000, 300) is k
    p = plan(k.kernel, 700, 1000, 300, k.budget)
    assert len(ready) > 1 and set(ready) == p.blocks and max(ready) == (p.BM, p.BN, p.BK)


def test_the_time_is_the_walls_for_each_launch(monkeypatch):
    work, clock, launched = streamed(opencl_kernel(**TILED), 2e6).upload(*draw(4, 4, 4)), iter([10.0, 16.0]), []
    monkeypatch.setattr(kernel, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(work, "multiply", lambda: launched.append(1))
    assert work.timed(3) == 2.0 and len(launched) == 3


def test_four_times_the_memory_halves_what_crosses():
    """2 M N K / sqrt(S), where the guards and the passing blocks are small beside S."""
    k, n, moved = opencl_kernel(**TILED), 100_000, []
    for budget in (64e6, 256e6, 1024e6):
        p = plan(k, n, n, n, int(budget))
        moved.append(p.bytes_up + p.bytes_down)
        assert moved[-1] / (4 * 2 * n**3 / (budget / 4) ** 0.5) == pytest.approx(1, abs=0.25)
    assert moved[0] / moved[1] == pytest.approx(2, rel=0.2) and moved[1] / moved[2] == pytest.approx(2, rel=0.2)


@pytest.mark.parametrize("step", ["register_2d", "naive"])  # tiles of 64 x 64 x 16, and of a single element
@pytest.mark.parametrize("size", [(65, 300, 1029), (300, 500, 2100)])
def test_every_plan_keeps_within_its_budget_where_a_tile_is_cut_off_at_the_end(size, step):
    k = opencl_kernel(step, **(dict(BM=64, BN=64, BK=16, TM=4, TN=4) if step == "register_2d" else {}))
    for budget in range(1_400_000, 8_100_000, 199_999):
        p = plan(k, *size, budget)
        assert p.bytes_on_device <= budget and min(p.BM, p.BN, p.BK) > 0


def test_a_product_with_nothing_to_add_is_zeros():
    k = streamed(opencl_kernel(**TILED), 2e6)
    assert k(np.ones((3, 0), np.float32), np.ones((0, 5), np.float32)).tolist() == [[0.0] * 5] * 3


def test_an_error_in_one_track_ends_both(monkeypatch):
    """The other one multiplies the block that it has, once the first has failed, and no more."""
    k = streamed(opencl_kernel(**TILED), 2e6)
    launch, launched = Work.launch, []

    def fails(self):
        if isinstance(self, StreamedWork):
            return launch(self)
        launched.append(self)
        if self is k.last.tracks[0].work:
            raise RuntimeError("no more")
        until = time.monotonic() + 2
        while not k.last.stopped and time.monotonic() < until:
            time.sleep(0.001)
        return launch(self)

    monkeypatch.setattr(Work, "launch", fails)
    with pytest.raises(RuntimeError, match="no more"):
        k(*draw(3000, 100, 100))
    assert len(launched) <= 2 < k.last.plan.steps - 1


def test_a_block_that_stays_is_whole_tiles_or_all_there_is_and_blocks_are_as_wide_but_for_a_tile():
    assert widest("B", (100, 100, 100), [16, 16, 16], 96, 2, 4 * (5 * GUARD + 2000)) is None  # no room for a tile
    assert widest("A", (96, 96, 16), [16, 16, 16], 16, 2, 4 * (5 * GUARD + 3872)).BM == 48  # and not 64 and 32
    assert [in_tiles(n, 16, 65) for n in (15, 64, 65, 80)] == [0, 64, 65, 65]
