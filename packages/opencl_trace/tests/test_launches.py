"""What a launch touched is what the kernel was written to touch: its arrays, indices, work-items and barriers."""

import numpy as np
import pytest

from opencl_trace import TraceError, annotate, notes, trace

cl = pytest.importorskip("pyopencl")

TRANSPOSE = """__kernel void transpose(const int n, __global const float *in, __global float *out)
{
    const int x = get_global_id(0), y = get_global_id(1);
    out[x * n + y] = in[y * n + x];
}
"""
# As people write it to be fast: through local memory, a column wider than it needs to be.
THROUGH_LOCAL = """__kernel void transpose(const int n, __global const float *in, __global float *out)
{
    __local float tile[T][T + 1];
    const int i = get_local_id(0), j = get_local_id(1), x = get_group_id(0) * T, y = get_group_id(1) * T;
    tile[j][i] = in[(y + j) * n + x + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(x + j) * n + y + i] = tile[i][j];
}
"""


def square(n):
    return np.zeros((n, n), np.float32)


def indices(run, number):
    """The index of each access at that site, (groups, items)."""
    mine = run.touches[run.touches["site"] == number]
    return mine["index"].reshape(int(np.prod(run.groups)), -1)


def test_each_work_item_touches_what_the_source_says(queue):
    run = trace(queue, TRANSPOSE, (8, 8), (4, 2), [np.int32(8), square(8), square(8)])
    assert run.arrays == {"in": (64,), "out": (64,)} and run.groups == (2, 4, 1) and len(run.touches) == 2 * 64
    assert [(site.line, site.reads, site.writes) for site in run.sites] == [(4, True, False), (4, False, True)]
    x = np.array([[4 * (group % 2) + item % 4 for item in range(8)] for group in range(8)])
    y = np.array([[2 * (group // 2) + item // 4 for item in range(8)] for group in range(8)])
    assert np.array_equal(indices(run, 0), 8 * y + x) and np.array_equal(indices(run, 1), 8 * x + y)
    assert [run.touches[run.touches["site"] == number]["array"].tolist() for number in (0, 1)] == [[0] * 64, [1] * 64]


def test_local_arrays_and_barriers_are_followed(queue):
    run = trace(queue, THROUGH_LOCAL, (8, 8), (4, 4), [np.int32(8), square(8), square(8)], {"T": 4})
    assert run.arrays == {"in": (64,), "out": (64,), "tile": (4, 5)}
    by_line = {(site.line, site.space): number for number, site in enumerate(run.sites)}
    across = [np.unique(np.diff(indices(run, by_line[line, space])[:, :4])).tolist() for line, space in by_line]
    assert dict(zip(by_line, across, strict=True)) == {
        (5, "global"): [1], (5, "local"): [1], (7, "global"): [1], (7, "local"): [5]
    }  # fmt: skip
    phases = {(run.sites[one["site"]].line, int(one["phase"])) for one in run.touches}
    assert phases == {(5, 0), (7, 1)}


def test_a_local_pointer_is_an_array_and_a_vector_so_many_numbers(queue):
    """Stack Overflow 13262646: it moves by eight, so that each work-item has eight float4 that no other touches."""
    source = """__kernel void mine(__global float4 *mat, __local float4 *mem, uint size) {
        mem += get_local_id(0) * 8;
        for (int k = 0; k < 8; k++) mem[k] = mat[k * size + get_global_id(0)];
    }"""
    run = trace(queue, source, (4,), (4,), [np.zeros(4 * 32, np.float32), cl.LocalMemory(16 * 32), np.uint32(4)])
    assert run.arrays == {"mat": (128,), "mem": (128,)} and {site.width for site in run.sites} == {4}
    by_space = {site.space: indices(run, number).reshape(4, 8) for number, site in enumerate(run.sites)}
    i, k = np.arange(4)[:, None], np.arange(8)
    assert np.array_equal(by_space["global"], 16 * k + 4 * i) and np.array_equal(by_space["local"], 32 * i + 4 * k)


def test_groups_and_items_are_numbered_in_three_directions(queue):
    source = """__kernel void k(__global int *out) {
        const int y = get_global_id(2) * get_global_size(1) + get_global_id(1);
        out[y * get_global_size(0) + get_global_id(0)] = 1; }"""
    run = trace(queue, source, (4, 9, 4), (2, 3, 2), [np.zeros(144, np.int32)])
    assert run.groups == (2, 3, 2)
    group, item = (run.touches[name] for name in ("group", "item"))
    x, y, z = group % 2 * 2 + item % 2, group // 2 % 3 * 3 + item // 2 % 3, group // 6 * 2 + item // 6
    assert np.array_equal(run.touches["index"], (z * 9 + y) * 4 + x)


def test_one_of_several_kernels_is_followed_by_its_name_and_on_its_own_lines(queue):
    both = "__kernel void first(__constant float *x, __global float *y)\n{\n    y[0] = x[0];\n}\n" + TRANSPOSE
    run = trace(queue, both, (4, 4), (2, 2), [np.int32(4), square(4), square(4)], kernel="transpose")
    assert {site.line for site in run.sites} == {8} and len(run.touches) == 32
    for name in (None, "third"):
        with pytest.raises(TraceError, match=r"name one kernel .*; its kernels: first, transpose"):
            annotate(both, kernel=name)


def test_buffers_are_taken_as_they_are_and_written_as_the_kernel_writes_them(queue):
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    out = cl.Buffer(queue.context, flags, hostbuf=square(4))
    trace(queue, TRANSPOSE, (4, 4), (2, 2), [np.int32(4), values, out])
    found = square(4)
    cl.enqueue_copy(queue, found, out)
    assert np.array_equal(found, values.T)
    run = trace(queue, TRANSPOSE, (1, 1), (1, 1), [np.int32(1), out, out])
    assert run.touches["array"].tolist() == [0, 0]  # the first of those that share memory


@pytest.mark.parametrize(
    "given, error, said",
    [
        ({"local_size": (3, 2)}, ValueError, r"global_size=\(4, 4\) is no multiple of local_size=\(3, 2\)"),
        ({"local_size": (2,)}, ValueError, r"is no multiple of local_size=\(2,\)"),
        ({"arguments": [np.int32(4), square(4)]}, ValueError, "the kernel takes 3 arguments, not 2"),
        ({"arguments": [square(4)] * 3}, ValueError, "the kernel takes 2 arrays, in, out, not 3"),
        ({"arguments": [np.int32(4), np.ones((4, 4)), square(4)]}, ValueError, "an array of float64, .* holds no numb"),
        ({"arguments": [np.int32(4), square(4), square(3)]}, TraceError, "line 4 writes global memory outside of its"),
        ({"source": TRANSPOSE.replace("int x", "int4 x")}, TraceError, "with notes in it, it does not compile"),
    ],
)
def test_what_does_not_fit_is_refused(queue, given, error, said):
    right = {"source": TRANSPOSE, "global_size": (4, 4), "local_size": (2, 2)}
    right["arguments"] = [np.int32(4), square(4), square(4)]
    with pytest.raises(error, match=said):
        trace(queue, **right | given)


def test_more_accesses_than_there_is_room_for_are_refused(queue, monkeypatch):
    monkeypatch.setattr(notes, "CAPACITY", 31)
    with pytest.raises(TraceError, match="the kernel makes 32 accesses, more than the 31 that are noted"):
        trace(queue, TRANSPOSE, (4, 4), (2, 2), [np.int32(4), square(4), square(4)])


@pytest.mark.parametrize(
    "i, body, said",
    [
        (-1, "A[i] = 8;", "writes global"),
        (10**6, "A[1] = third(A + i);", "reads global"),
        (-100, "vstore8((float8)(8), i, A);", "writes global"),
        (16, "A[1] = vload2(i, A).x;", "reads global"),
        (30, "vstore4((float4)(8), 0, A + i);", "writes global"),  # two of the four lie there
        (29, "((__global float4 *)(A + i))->x = 8;", "writes global"),  # the vector does not end there
        (32, "t[i] = 8;", "writes local"),
        (10**6, "float16 x = ((__local float16 *)t)[i];", "reads local"),
    ],
)
def test_an_access_outside_of_all_arrays_is_told_and_touches_nothing(queue, i, body, said):
    memory = np.full(4096, 7, np.float32)
    memory[2048:2080] = 0
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    whole = cl.Buffer(queue.context, flags, hostbuf=memory)
    source = f"""float third(__global float *p) {{ return p[2]; }}
    __kernel void k(const int i, __global float *A) {{ __local float t[32]; t[0] = A[0];
        {body} }}"""
    with pytest.raises(TraceError, match=rf"line \d {said} memory outside of its arrays"):
        trace(queue, source, (1,), (1,), [np.int32(i), whole.get_sub_region(4 * 2048, 4 * 32)])
    found = np.empty_like(memory)
    cl.enqueue_copy(queue, found, whole)
    assert np.array_equal(found, memory)


def test_a_pointer_may_leave_its_array_and_come_back(queue):
    source = "__kernel void k(__global float *A) { A -= 1000000; A[1000003] = *(1000001 + A - 1); }"
    assert trace(queue, source, (1,), (1,), [square(2)]).touches["index"].tolist() == [0, 3]
