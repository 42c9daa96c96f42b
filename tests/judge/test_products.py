"""A kernel as the judge takes it, and what is made of a child's end: the children's answers are made here."""

from functools import partial

import numpy as np
import pytest
from kernels import HEAD, build, cl

from helpers import check, cuda_kernel, devices, opencl_kernel
from helpers.checking import cuda, opencl
from helpers.checking.run_check import not_yet, product_of
from helpers.errors import OutOfTime
from helpers.launch import HostKernel, KernelError, NotYet
from helpers.launch.kernel import PAST_THE_END
from helpers.launch.on_cuda import CudaKernel
from kernel_judge import Finding, Kind, Report, Seen, on_ptx
from kernel_judge.child import Outcome
from kernel_judge.moves import multiply
from kernel_judge.oclgrind import not_looked_for

SEEN = Seen([], [(1, 1, 1)])
CRASH, HANG = (
    Finding(Kind.CRASH, "far_outside", values={"status": -11}),
    Finding(Kind.HANG, "late", values={"seconds": 2}),
)
OUTSIDE = "Invalid read of size 4 at global memory address 0x1\n\tAt line 3 (column 1) of input.cl:\n"
REFUSED = Outcome(
    error=("KernelError", "mine does not compile.\nline 3: unknown name 'x'\n    x = 1;\nline 4: and more")
)


# ---------------------------------------------------------------------------------------------------- what a child said


@pytest.mark.parametrize(
    "outcome, kind, lines, said",
    [
        (REFUSED, "does not compile", (3,), "unknown name 'x'"),
        (Outcome(error=("KernelError", "no room")), "does not compile", (), "no room"),
        (Outcome(why=CRASH), "crash", (), "the compiler of a device did not build your kernel: it took its process"),
        (Outcome(begun=True, why=CRASH), "crash", (), "it took its process down (exit status -11)"),
        (Outcome(begun=True, why=HANG), "hang", (7,), "it still ran after 2 s of computing; its loops are here"),
    ],
)
def test_what_came_of_a_child_is_a_finding(outcome, kind, lines, said):
    [found] = product_of(build("OpenCL", "naive", cl())).came_of(outcome, "a device").findings
    assert (found.kind, found.lines) == (kind, lines) and found.message.startswith(said), found.message


def test_what_a_child_returned_is_given_and_what_went_wrong_with_the_check_itself_is_raised():
    k = product_of(HostKernel(np.matmul))
    assert k.came_of(Outcome(SEEN, True)) is SEEN
    for outcome in (Outcome(begun=True, error=("KernelError", "why")), Outcome(error=("TypeError", "why"))):
        with pytest.raises(KernelError, match=r"cannot be tried here: \w+Error: why"):
            k.came_of(outcome)


@pytest.mark.parametrize(
    "error, kind, said, lines",
    [
        (NotYet("it returns None"), "no answer", "it returns None", ()),
        (OutOfTime("it took long at {line}\n    code", line=7), "too slow", "it took long at {line}", (7,)),
        (KernelError(PAST_THE_END, count=3), "out of bounds", "the kernel wrote 3 elements past the end of C", ()),
        (KernelError("k does not compile: x"), "does not compile", "k does not compile: x", ()),
        (ValueError("it returns shape (2,)"), "error", "ValueError: it returns shape (2,)", ()),
    ],
)
def test_an_error_of_a_launch_is_a_finding(error, kind, said, lines):
    found = product_of(HostKernel(np.matmul)).failure(error)
    assert (found.kind, found.lines) == (kind, lines) and found.message.startswith(said), found


# ------------------------------------------------------------------------------------ OpenCL: Oclgrind, then the device


def watched(monkeypatch, *answers):
    """What is seen of a kernel where Oclgrind's children come to that: (outcome, log) of each."""
    given = iter(answers)
    monkeypatch.setattr(devices, "oclgrind_library", lambda: "lib.so")
    monkeypatch.setattr(opencl.OpenCLProduct, "under_oclgrind", lambda self, move, options: next(given))
    seen = product_of(build("OpenCL", "naive", cl())).watched(None)
    assert next(given, None) is None, "it is asked too seldom"
    return seen


ITS_FAULT = "Uninitialized.cpp:12: what"


@pytest.mark.parametrize(
    "answers, kinds, unseen",
    [
        ([(Outcome(SEEN, True), "")], [], 0),
        ([(Outcome(begun=True, why=CRASH), ITS_FAULT), (Outcome(SEEN, True), "")], [], 1),
        ([(Outcome(begun=True, why=CRASH), ""), (Outcome(begun=True, why=HANG), "")], ["hang"], 1),
        ([(Outcome(begun=True, why=CRASH), OUTSIDE)], ["out of bounds"], 0),
        ([(Outcome(begun=False, why=HANG), "")], ["hang"], 0),
        ([(REFUSED, ""), (REFUSED, "")], [], 3),  # Oclgrind is of OpenCL 1.2: the device may compile it
        ([(Outcome(begun=True, why=CRASH), "")] * 2, [], 3),
    ],
)
def test_oclgrind_is_asked_for_less_where_it_dies_and_then_the_device(monkeypatch, answers, kinds, unseen):
    seen = watched(monkeypatch, *answers)
    assert [finding.kind for finding in seen.findings] == kinds and len(seen.notes) == unseen


def test_without_oclgrind_it_is_told_what_was_not_looked_for_and_the_courses_own_need_none(monkeypatch):
    monkeypatch.setattr(devices, "oclgrind_library", lambda: None)
    assert product_of(build("OpenCL", "naive", cl())).watched(None) == Seen([], [], not_looked_for())
    rung = product_of(opencl_kernel("naive"))
    assert rung.watched(None) == Seen([]) and rung.natively(lambda product: [product]) == [rung]


def test_nan_under_oclgrind_is_what_nobody_has_set_unless_oclgrind_follows_that(monkeypatch):
    k = opencl.UnderOclgrind(build("OpenCL", "naive", cl()))
    assert k.of_nan().kind == "uninitialised"
    monkeypatch.setenv("OCLGRIND_UNINITIALIZED", "1")
    assert k.of_nan().kind == "not a number"
    assert product_of(k.k).of_nan().kind == "out of bounds"


def test_a_move_on_the_device_is_made_in_one_child_and_the_compiler_is_named(monkeypatch):
    asked = []
    monkeypatch.setattr(opencl, "in_child", lambda k, job, seconds: asked.append(job) or Outcome(why=CRASH))
    k = product_of(build("OpenCL", "naive", cl()))
    [found] = k.natively(max).findings
    assert f"the compiler of {k.k.device.name}" in found.message
    assert asked[0].func is max and type(asked[0].args[0]) is opencl.InChild


# ------------------------------------------------------------------------------- CUDA: the PTX machine, then the device


def test_where_the_device_takes_no_code_the_ptx_machine_multiplies(monkeypatch):
    k = cuda_kernel(cuda_kernel("naive").source, like="naive", BM=4, BN=4)
    monkeypatch.setattr(CudaKernel, "runs_natively", True)
    monkeypatch.setattr(cuda, "compile_native", lambda *how, block: None)
    monkeypatch.setattr(cuda, "in_child", lambda *how: Outcome(SEEN, True))
    assert product_of(k).natively(None) is SEEN
    monkeypatch.setattr(cuda, "in_child", lambda *how: Outcome("not native", True))
    seen = product_of(k).natively(partial(multiply, stages=[[(5, 6, 7)]]))
    assert seen.shapes == [(5, 6, 7)] and [note.key for note in seen.notes] == ["on_the_PTX_machine"]


@pytest.mark.parametrize(
    "sizes, kinds, done", [([(1, 1, 999)], ["too slow"], [(1, 1, 999)]), ([(1, 1, 1), (1, 1, 999)], [], [(1, 1, 1)])]
)
def test_what_is_slow_on_the_ptx_machine_is_right_at_the_sizes_that_it_did(monkeypatch, sizes, kinds, done):
    monkeypatch.setattr(CudaKernel, "runs_natively", False)
    monkeypatch.setattr(on_ptx, "WORK", 1)
    k = product_of(cuda_kernel(cuda_kernel("naive").source, like="naive", BM=4, BN=4))
    seen = k.natively(partial(multiply, stages=[sizes, sizes]))
    assert [finding.kind for finding in seen.findings] == kinds and seen.shapes == done


# ----------------------------------------------------------------------------------- the same source at sizes unlike it

STAGED = HEAD + "{ __local float a[TILE][TILE]; }"


@pytest.mark.parametrize(
    "dialect, step, source, sizes",
    [
        ("OpenCL", "naive", cl(), [dict(BM=3, BN=5), dict(BM=6, BN=2)]),
        (
            "OpenCL",
            "naive",
            cl(where="const size_t row = 4, col = get_global_id(1);"),
            [dict(BM=4, BN=5), dict(BM=4, BN=2)],
        ),
        ("OpenCL", "tiled", STAGED, [dict(TILE=3), dict(TILE=6)]),
        ("OpenCL", "tiled", STAGED.replace("TILE", "4"), []),
        ("OpenCL", "packed", opencl_kernel("packed").source.replace("STRIPS", "2"), []),
        ("CUDA", "tiled", cuda_kernel("tiled").source, [dict(TILE=3), dict(TILE=6)]),
        ("CUDA", "coalesced", cuda_kernel("coalesced").source, [dict(BM=5, BN=3), dict(BM=2, BN=6)]),
    ],
)
def test_a_source_that_leaves_its_sizes_open_is_tried_at_two_sets_of_them(dialect, step, source, sizes):
    found = product_of(build(dialect, step, source)).unlike()
    assert [one.k.parameters for one in found] == sizes
    assert all(one.source == source for one in found)


def test_a_builder_may_refuse_other_sizes_and_the_courses_own_kernels_have_none():
    head, rest = cuda_kernel("tiled").source.split("    @cuda.jit\n", 1)
    refuses = f"{head}    if TILE == 3:\n        raise ValueError('not 3')\n\n    @cuda.jit\n{rest}"
    found = product_of(cuda_kernel(refuses, like="tiled", TILE=4)).unlike()
    assert [one.k.parameters for one in found] == [dict(TILE=6)]
    assert product_of(cuda_kernel("tiled", TILE=4)).unlike() == []


def test_a_product_has_its_tile_its_turned_launch_and_what_fits():
    k = product_of(build("OpenCL", "register_1d", opencl_kernel("register_1d").source))
    assert (k.tile, k.block, k.sizes) == ((8, 4, 4), (4, 2), "BM=8, BN=4, BK=4, TM=4")
    assert k.turned().k.grid(17, 5) == k.k.grid(5, 17) != k.k.grid(17, 5)
    assert k.products((9, 3, 4)) == 16 * 4 * 4
    assert k.possible([(1, 1, 1), (1 << 20, 1 << 20, 1)]) == [(1, 1, 1)]
    assert k.affordable([(64, 64, 64), (8, 4, 4)]) == [(8, 4, 4)]


# ------------------------------------------------------------------------------------------------------- `check` itself


def test_not_yet_is_for_the_placeholder_only():
    zeros = Report("k", (Finding(Kind.ZEROS, "zeros_of_a_function"),))
    unfilled = build("OpenCL", "naive", "// your turn\n" + cl())
    assert not_yet(build("OpenCL", "naive", cl()), zeros) == zeros
    assert not_yet(unfilled, zeros).findings == (Finding(Kind.NOT_YET, "not_yet_zeros"),)
    race, right = Report("k", (Finding(Kind.RACE, "two"),)), Report("k", ())
    assert not_yet(unfilled, race) == race and not_yet(unfilled, right) == right


def test_a_verdict_is_kept_for_all_that_a_kernel_is(monkeypatch):
    judged = []
    found = Report("k", (Finding(Kind.RACE, "two"),)), Report("k", ())
    monkeypatch.setattr("helpers.checking.run_check.judge", lambda *how: judged.append(how) or found[len(judged) - 1])
    k = build("OpenCL", "naive", cl())
    assert check(k, [(1, 1, 1)]) is check(build("OpenCL", "naive", cl()), [(1, 1, 1)]) is found[0] and not k.checked
    assert check(k) is found[1] and k.checked and len(judged) == 2
    assert check(k, [(1, 1, 1)]) is found[0] and not k.checked


def test_a_kernel_that_was_not_built_is_named_and_so_is_one_that_has_no_room():
    with pytest.raises(TypeError, match="Build a kernel first"):
        check(cl())
    with pytest.raises(MemoryError, match="is too large"):
        check(build("OpenCL", "naive", cl()), [(1 << 16, 1 << 16, 1)])
