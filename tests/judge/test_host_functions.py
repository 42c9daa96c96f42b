"""A learner's function that calls OpenCL itself, as on page 02, may end its process, and ends a child's."""

import linecache

import numpy as np
import pyopencl as cl
import pytest

from helpers import check, opencl_kernel
from helpers.child import calls_opencl
from helpers.ladder import ceil_div
from helpers.launch import HostKernel

BY_HAND = """def by_hand(A, B):
    (M, K), N = A.shape, B.shape[1]
    C = np.zeros((M, N), np.float32)
    d_A, d_B = (cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=X) for X in (A, B))
    d_C = cl.Buffer(context, flags.WRITE_ONLY, C.nbytes)
    global_size = (ceil_div(M, 16) * 16, ceil_div(N, 4) * 4)
    naive_cl(queue, global_size, (16, 4), np.int32(M), np.int32(N), np.int32(K), d_A, d_B, d_C)
    cl.enqueue_copy(queue, C, d_C)
    return C
"""
SHAPES = [(5, 6, 70), (33, 9, 2)]


def by_hand(old="", new=""):
    """That function of page 02, with its own objects of OpenCL, and other words in place of some."""
    assert old in BY_HAND
    source = BY_HAND.replace(old, new) if old else BY_HAND
    context = cl.Context([opencl_kernel("naive").device.handle])
    program = cl.Program(context, opencl_kernel("naive").source).build()
    names = {"np": np, "cl": cl, "ceil_div": ceil_div, "flags": cl.mem_flags, "context": context}
    names |= {"queue": cl.CommandQueue(context), "naive_cl": program.naive, "__name__": "__main__"}
    linecache.cache["<a cell>"] = len(source), None, source.splitlines(True), "<a cell>"
    exec(compile(source, "<a cell>", "exec"), names)
    return names["by_hand"]


@pytest.mark.parametrize(
    "old, new, lines, words",  # what is written behind a buffer may be the end of the process, or be told later
    [
        ("", "", (), ""),
        ("np.int32(N), np.int32(K)", "np.int32(2**30), np.int32(K)", None, "likely with an index far outside an array"),
        (", hostbuf=X", "", (4,), "COPY_HOST_PTR takes the numbers from hostbuf=, as in cl.Buffer("),
        ("hostbuf=X", "X", (4,), "COPY_HOST_PTR takes the numbers from hostbuf="),
        ("np.int32(M)", "M", (7,), "whole numbers as np.int32(M)"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_this_process_goes_on(old, new, lines, words):
    report = check(by_hand(old, new), SHAPES)
    assert bool(report) == (not old) and words in repr(report), report
    assert report or lines is None or report.findings[0].lines[0] in lines


def test_a_function_travels_with_a_kernel_and_one_that_calls_no_opencl_stays():
    k = opencl_kernel("tiled", TILE=4)
    context = cl.Context([k.device.handle])
    queue = cl.CommandQueue(context)

    def copied(A, B):
        C = np.zeros_like(A)
        cl.enqueue_copy(queue, C, cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=A))
        return k(C, B)

    assert calls_opencl(HostKernel(copied)) and check(copied, SHAPES)
    assert not calls_opencl(HostKernel(lambda A, B: k(A, B))) and not calls_opencl(HostKernel(np.matmul))
