"""`check` whole, its children, Oclgrind and the PTX machine with it: right and wrong ones, a race, a hang, a crash.

Each cause, each word and what is decided on the way is tested on stand-ins: test_products.py, kernel_judge's tests.
"""

import linecache

import numpy as np
import pyopencl
import pytest
from kernels import BUILD, PLACE, UNDER_OCLGRIND, build, cl

from helpers import check, devices, opencl_kernel
from helpers.checking import opencl
from helpers.child import calls_opencl
from helpers.ladder import ceil_div
from helpers.launch import HostKernel
from kernel_judge import child

SHAPES = [(5, 6, 7), (9, 10, 33)]
DIALECTS = ["CUDA", pytest.param("OpenCL", marks=UNDER_OCLGRIND)]
SYNC = {"CUDA": ("cuda.syncthreads()", "pass"), "OpenCL": ("barrier(CLK_LOCAL_MEM_FENCE);", "")}


def edited(dialect, step, old, new):
    """The step as a learner's own, with that edit in its first place."""
    source = BUILD[dialect](step).source
    assert old in source
    return build(dialect, step, source.replace(old, new, 1))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_right_kernel_takes_a_child_for_each_place_where_it_runs(dialect, monkeypatch):
    """Oclgrind and the device; of CUDA the device alone, since the PTX machine runs here."""
    started, start = [], child.start
    monkeypatch.setattr(child, "start", lambda *how: started.append(how) or start(*how))
    k = build(dialect, "tiled", BUILD[dialect]("tiled").source)
    report = check(k, SHAPES)
    assert report and report.notes == () and report.largest == (9, 10, 33) and k.checked
    assert len(started) == {"CUDA": 1, "OpenCL": 2}[dialect]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_missing_barrier_is_a_race_of_two_lines(dialect):
    k = edited(dialect, "tiled", *SYNC[dialect])
    race, lines = check(k, SHAPES[:1]).findings[0], k.source.splitlines()
    staged, summed = (lines[line - 1].strip() for line in race.lines)
    assert race.kind == "race" and "no barrier between" in race.message and not k.checked
    assert staged.startswith(("As[ty", "Bs[ty")) and summed.startswith("acc +=")


def test_a_tile_that_is_dropped_where_the_last_one_is_whole_is_told_as_that():
    short = "while k0 < (K - TILE if K % TILE == 0 and K > 3 * TILE else K):"
    [finding] = check(edited("CUDA", "tiled", "while k0 < K:", short)).findings
    assert finding.kind == "K is cut" and "products are summed" in finding.message, finding


@UNDER_OCLGRIND
def test_a_row_of_16_bits_is_found_at_the_shapes_that_people_use():
    [finding] = check(
        build("OpenCL", "naive", cl(PLACE.format("(ushort)get_global_id(0)", "get_global_id(1)")))
    ).findings
    assert finding.kind == "unwritten" and "65539" in finding.message, finding


@UNDER_OCLGRIND
def test_a_write_past_a_private_array_is_named_though_it_is_optimised_away():
    new = "float acc[TM], seen[TM]; seen[TM] = 1.0f;"
    k = edited("OpenCL", "register_1d", "float acc[TM];", new)
    report = check(k, SHAPES[:1])
    assert not report and report.findings[0].kind == "out of bounds" and new in repr(report), report


def test_of_a_kernel_that_does_not_compile_its_line_is_told():
    k = edited("OpenCL", "naive", "acc +=", "ack +=")
    [finding] = check(k).findings
    assert finding.kind == "does not compile" and "ack" in finding.message
    assert "ack +=" in k.source.splitlines()[finding.lines[0] - 1]


def test_a_kernel_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(devices, "oclgrind_library", lambda: None)
    monkeypatch.setattr(opencl, "SECONDS", 1)
    [finding] = check(edited("OpenCL", "naive", "k < K; k++", "k < K; k += M - M"), SHAPES).findings
    assert finding.kind == "hang" and "after 2 s" in finding.message and "its loops are here" in finding.message


def test_a_wild_write_does_not_reach_this_process(monkeypatch):
    monkeypatch.setattr(devices, "oclgrind_library", lambda: None)
    report = check(edited("OpenCL", "naive", "C[row * N + col]", "C[(long)(row + 1) << 40]"), SHAPES)
    assert [finding.kind for finding in report.findings] == ["crash"], report
    assert "not looked for here: races" in repr(report)


# ---------------------------------------------------------------------------------------------- functions of the host


@pytest.mark.parametrize(
    "function, kind",
    [
        (lambda A, B: np.zeros((len(A), B.shape[1]), np.float32), "zeros"),
        (lambda A, B: None, "no answer"),
        (lambda A, B: (A @ B).T, "error"),
        (lambda A, B: A[:, -1:] @ B[-1:], "K is cut"),
        (lambda A, B: (A @ B, A.fill(0))[0], "writes to an input"),
        (lambda A, B: np.clip(A @ B, -1e6, 1e6), "wrong numbers"),
    ],
)
def test_wrong_python_functions_fail(function, kind):
    report = check(function)
    assert not report and report.findings[0].kind == kind, report
    assert ("must be copied back" in report.findings[0].message) == (kind == "zeros")  # what a device computed


def test_right_python_functions_pass():
    assert check(np.matmul)
    assert check(lambda A, B: (B.T @ A.T).T)


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


@pytest.mark.parametrize(
    "old, new, kinds, lines",  # what is written behind a buffer may be the end of the process, or be told later
    [
        ("", "", set(), ()),
        ("np.int32(N), np.int32(K)", "np.int32(2**30), np.int32(K)", {"crash", "error"}, None),
        (", hostbuf=X", "", {"error"}, (4,)),
    ],
)
def test_a_function_that_calls_opencl_as_page_02_does_may_end_its_child(old, new, kinds, lines):
    source, context = BY_HAND.replace(old, new, 1), pyopencl.Context([opencl_kernel("naive").device.handle])
    program = pyopencl.Program(context, opencl_kernel("naive").source).build()
    names = {"np": np, "cl": pyopencl, "ceil_div": ceil_div, "flags": pyopencl.mem_flags, "context": context}
    names |= {"queue": pyopencl.CommandQueue(context), "naive_cl": program.naive, "__name__": "__main__"}
    linecache.cache["<a cell>"] = len(source), None, source.splitlines(True), "<a cell>"
    exec(compile(source, "<a cell>", "exec"), names)
    findings = check(names["by_hand"], [(5, 6, 70), (33, 9, 2)]).findings
    assert {finding.kind for finding in findings} <= kinds and bool(findings) == bool(kinds), findings
    assert lines is None or [finding.lines for finding in findings] == [lines] * bool(lines)


def test_a_function_that_calls_no_opencl_stays_here():
    k = opencl_kernel("tiled", TILE=4)
    assert not calls_opencl(HostKernel(lambda A, B: k(A, B))) and not calls_opencl(HostKernel(np.matmul))
    assert calls_opencl(HostKernel(lambda A, B: pyopencl.get_platforms()))
