"""Every access of a run, in both dialects; and the film drawn from it."""

import importlib
from collections import Counter

import pytest

from helpers import cuda_kernel, ladder, opencl_kernel, traffic
from helpers.instruments import trace
from helpers.instruments.annotate import annotate
from helpers.launch import KernelError
from helpers.pictures import film

SHAPES = [(5, 7, 3), (9, 6, 10)]


def touched(run):
    return Counter((a.memory, a.array, a.writes, a.block, a.thread, a.index, a.phase) for a in run.accesses)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "step", [step for step in ladder.steps("CUDA") if step not in ("vectorized", "prefetched")]
)  # their OpenCL kernels take pointers
def test_both_dialects_touch_the_same_elements_between_the_same_barriers(step, shape):
    p = ladder.STEPS[step].defaults["simulator"]
    one, other = trace(cuda_kernel(step, **p), *shape), trace(opencl_kernel(step, **p), *shape)
    assert touched(one) == touched(other) and one.shapes == other.shapes and one.accesses
    counted = traffic(cuda_kernel(step, **p), *shape)
    loads = sum(a.memory == "global" and not a.writes for a in other.accesses)
    shared = sum(a.memory == "shared" and a.writes for a in other.accesses)
    assert (loads, shared) == (counted.global_loads, counted.shared_stores)


def test_each_access_has_its_line_and_its_turn():
    k = opencl_kernel("naive", BM=4, BN=4)
    run, lines = trace(k, 3, 3, 3), k.source.splitlines()
    reads = [a for a in run.accesses if a.array == "A" and a.block == (0, 0, 0) and a.thread == 1]
    assert [a.round for a in reads] == [0, 1, 2] and [a.index for a in reads] == [3, 4, 5]
    assert "A[row * K + k]" in lines[reads[0].line - 1]
    cuda = [a for a in trace(cuda_kernel("naive", BM=4, BN=4), 3, 3, 3).accesses if a.array == "A" and a.thread == 1]
    assert [(a.round, a.index) for a in cuda] == [(a.round, a.index) for a in reads]


OWN = """// a comment with As[ unclosed
#define WIDE (TILE + 1)
__kernel void own(int M, int N, int K, __global const float *A, __global const float *B, __global float *C)
{
    __local float As[TILE][WIDE], one[TILE * TILE];
    __local float4 four[2];
    const int i = get_local_id(0), j = get_local_id(1);
    As[i][j] = A[i * K]; one[i] = B[0];
    four[0] = (float4)(1.0f);
    if (i < M && j < N)
        barrier(CLK_LOCAL_MEM_FENCE);
    if (i < M && j < N) { C[i * N + j] = 0.0f; C[i * N + j] += As[i][j] + one[(int)As[0][0] * 0]; }
}
"""


def test_notes_reach_every_kind_of_access_and_keep_the_lines():
    text, sites, shapes = annotate(OWN, {"TILE": 2})
    assert shapes == {"As": (2, 3), "one": (4,), "four": (8,)}
    seen = Counter((s.memory, s.array, s.writes, s.line) for s in sites)
    assert seen == {
        ("shared", "As", True, 8): 1,
        ("global", "A", False, 8): 1,
        ("shared", "one", True, 8): 1,
        ("global", "B", False, 8): 1,
        ("shared", "four", True, 9): 1,
        ("global", "C", True, 12): 2,
        ("global", "C", False, 12): 1,
        ("shared", "As", False, 12): 2,
        ("shared", "one", False, 12): 1,
    }
    assert text.split("#line 1\n")[1].count("\n") == OWN.count("\n")


def test_notes_are_taken_where_they_are_due():
    run = trace(opencl_kernel(OWN, like="tiled", TILE=2), 2, 2, 2)
    count = Counter((a.array, a.writes) for a in run.accesses)
    assert count == {
        ("A", False): 4,
        ("As", True): 4,
        ("one", True): 4,
        ("B", False): 4,
        ("four", True): 16,
        ("C", True): 8,
        ("C", False): 4,
        ("As", False): 8,
        ("one", False): 4,
    }
    assert {a.phase for a in run.accesses if a.array == "C"} == {1}


def test_a_kernel_that_goes_wrong_is_told_and_large_sizes_are_refused():
    source = opencl_kernel("tiled").source
    with pytest.raises(KernelError):
        trace(
            opencl_kernel(
                source.replace("for (int k = 0", "for (int k = 0; k < 1 << 20; k++) for (int k = 0"),
                like="tiled",
                TILE=4,
            ),
            4,
            4,
            4,
        )
    with pytest.raises(ValueError, match="would take a simulator too long"):
        trace(opencl_kernel("naive"), 100, 100, 100)


def test_a_trace_is_taken_once(monkeypatch):
    k = cuda_kernel("naive", BM=4, BN=4)
    first = trace(k, 3, 2, 2)
    monkeypatch.setattr(
        importlib.import_module("helpers.instruments.trace"), "in_child", lambda *a, **b: pytest.fail("asked again")
    )
    assert trace(k, 3, 2, 2) is first


# ---------------------------------------------------------------------------------------------- film


def test_a_film_counts_what_is_read_by_whom():
    k = cuda_kernel("coalesced", BM=4, BN=4)
    block, thread, grid = (film(k, 8, 12, 6, who=who) for who in ("block", "thread", "grid"))
    assert len(block.frames) == 6 and block.most == 4 and len(block.stored) == 16
    assert thread.most == 1 and len(thread.stored) == 1
    assert grid.most == 12 and sum(grid.frames[-1][0].values()) == 2 * 8 * 12 * 6
    tiled = film(opencl_kernel("tiled", TILE=4), 8, 12, 6)
    assert len(tiled.frames) == 2 and tiled.most == 1
    assert set(tiled.frames[1][1]) == {("A", (r, c)) for r in range(4) for c in (4, 5)} | {
        ("B", (r, c)) for r in (4, 5) for c in range(4)
    }
    warp = film(cuda_kernel("coalesced", BM=2, BN=32), 4, 33, 2, who="warp", block=(0, 1), thread=40)
    assert {row for row, _ in warp.stored} == {3} and len(warp.stored) == 32


def test_a_film_has_a_slider_in_a_notebook_and_a_strip_in_print():
    run = film(cuda_kernel("tiled", TILE=4), 4, 4, 8)
    data, _ = run._repr_mimebundle_()
    assert {"image/png", "text/plain", "application/vnd.jupyter.widget-view+json"} <= set(data)
    _, step, picture = run.slider().children
    before = picture.value
    step.value = 2
    assert picture.value != before and bytes(picture.value).startswith(b"\x89PNG") and step.max == 2


@pytest.mark.parametrize(
    "wrong, says",
    [
        (dict(who="warps"), "is none of: thread, warp, block, grid"),
        (dict(block=(2, 0)), "within the grid of 1 x 1"),
        (dict(block=1), "within the grid of 1 x 1"),
        (dict(thread=16), "thread=16 does not fit the 16 threads of a block"),
    ],
)
def test_a_film_of_nobody_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        film(cuda_kernel("tiled", TILE=4), 4, 4, 4, **wrong)


def test_a_kernel_that_cannot_be_watched_is_named():
    for step, place in (("packed", "line 42 reaches B"), ("vectorized", "reaches A through a pointer")):
        with pytest.raises(KernelError, match=place):
            film(opencl_kernel(step, **ladder.STEPS[step].defaults["simulator"]), 4, 8, 8)


def test_a_film_needs_a_built_kernel_and_a_size():
    with pytest.raises(TypeError, match="'tiled' is no built kernel; build it first"):
        film("tiled", 4, 4, 4)
    with pytest.raises(ValueError, match="each size must be 1 or more"):
        film(cuda_kernel("tiled"), 0, 4, 4)
