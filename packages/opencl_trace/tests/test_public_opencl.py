"""What people asked in public of their OpenCL kernels, answered by what those touch. The kernels are written anew."""

import numpy as np
import pytest

from opencl_trace import trace

cl = pytest.importorskip("pyopencl")


def indices(run, line, space):
    """The index of each access of the first work-group at that line, in that space."""
    sites = [number for number, site in enumerate(run.sites) if (site.line, site.space) == (line, space)]
    touches = run.touches
    return touches["index"][np.isin(touches["site"], sites) & (touches["group"] == 0)]


def test_a_transpose_through_local_memory_that_is_no_faster_still_writes_down_columns(queue):
    """Stack Overflow 25373979: the write's index takes the item's x times the height, so neighbours lie rows apart."""
    source = """__kernel void turned(__global const float *in, __global float *out, uint w, uint h,
                                 __local float *block) {
        const int2 i = (int2)(get_local_id(0), get_local_id(1)), n = (int2)(get_local_size(0), get_local_size(1));
        block[i.y * n.x + i.x] = in[get_global_id(1) * w + get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        out[h * (i.x + get_group_id(0) * n.x) + h - (i.y + get_group_id(1) * n.y) - 1] = block[i.y * n.x + i.x];
    }"""
    matrix = np.zeros((16, 16), np.float32)
    given = [matrix, matrix, np.uint32(16), np.uint32(16), cl.LocalMemory(4 * 64)]
    run = trace(queue, source, (16, 16), (8, 8), given)
    assert run.arrays == {"in": (256,), "out": (256,), "block": (64,)}
    steps = {at: np.diff(indices(run, *at)[:8]).tolist() for at in ((4, "global"), (6, "global"), (6, "local"))}
    assert steps == {(4, "global"): [1] * 7, (6, "global"): [16] * 7, (6, "local"): [1] * 7}


def test_why_a_local_pointer_moves_by_eight_for_each_work_item(queue):
    """Stack Overflow 13262646: so that each work-item has eight float4 of its own, which no other touches."""
    source = """__kernel void mine(__global float4 *mat, __local float4 *mem, uint size) {
        mem += get_local_id(0) * 8;
        for (int k = 0; k < 8; k++) mem[k] = mat[k * size + get_global_id(0)];
    }"""
    given = [np.zeros(4 * 32, np.float32), cl.LocalMemory(16 * 32), np.uint32(4)]
    run = trace(queue, source, (4,), (4,), given)
    assert {site.width for site in run.sites} == {4}
    assert indices(run, 3, "local").reshape(4, 8).tolist() == [[32 * i + 4 * k for k in range(8)] for i in range(4)]


@pytest.mark.parametrize(
    "room, place, banks",
    [("32 * 16", "x + y * 32", 16), ("32 * 16 + 16", "x + (y >> 1) * 32 + (32 * 8 + 16) * (y & 1)", 32)],
)
def test_sixteen_words_of_padding_let_two_rows_of_work_items_meet_in_no_bank(queue, room, place, banks):
    """zedzone.au, "Simple padding trick": rows of 16 items in an array 32 wide all use the same 16 of 32 banks."""
    source = f"""__kernel void padded(__global float *out) {{
        __local float data[{room}];
        const int x = get_local_id(0), y = get_local_id(1), i = {place};
        data[i] = 1;
    }}"""
    run = trace(queue, source, (16, 16), (16, 16), [np.zeros(1, np.float32)])
    found = indices(run, 4, "local")
    assert len(set((found[:32] % 32).tolist())) == banks and len(set(found.tolist())) == 256
