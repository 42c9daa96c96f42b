"""Which sizes a kernel takes from its builder, and which other ones tell most of it. Nothing is launched here."""

import math

import pytest

from helpers import cuda_kernel, ladder, opencl_kernel
from helpers.judge.other_sizes import (
    asked_of_launch,
    at_sizes,
    compared_in,
    may_be_outgrown,
    most_telling,
    other_sizes,
    padding_of,
    shown_by,
    taken_by,
    takes_all_sizes,
    without_comments,
    wrong_at_other_sizes,
)
from helpers.sandbox import Finding

SQUARE = dict(BM=8, BN=8, BK=4, TM=2, TN=2)
REGISTERS = ladder.STEPS["register_2d"]
HEAD = "__kernel void mine(int M, int N, int K, __global float *A, __global float *B, __global float *C) { %s\n}"


def opencl(text, like="register_2d", **sizes):
    return opencl_kernel(HEAD % text, like=like, **(sizes or SQUARE))


def cuda(text, arguments, like="tiled", **sizes):
    source = (
        f"from numba import cuda\n\ndef build({arguments}):\n    @cuda.jit\n    def kernel(A, B, C):\n"
        f"        {text}\n    return kernel\n"
    )
    return cuda_kernel(source, like=like, **(sizes or dict(TILE=4)))


def test_a_comment_is_spaces_and_keeps_the_lines():
    assert without_comments("a/* b\nc */d // e\nf /* g */ h") == "a    \n    d     \nf         h"


def test_opencl_takes_what_it_names_and_does_not_define():
    k = opencl("int n = BM, TN_ = 3; // BN\n#define BK 4\n#  define  TN 2\n n = BK * TN * /* TM */ 1;")
    assert taken_by(k) & {"BM", "BN", "BK", "TM", "TN", "TN_", "n"} == {"BM", "TN_", "n"}


def test_cuda_takes_the_arguments_of_its_builder_that_it_names():
    assert taken_by(cuda("C[0, 0] = TILE", "TILE=4")) == {"TILE"}
    assert taken_by(cuda("C[0, 0] = TILE", "*, TILE=4")) == {"TILE"}
    assert taken_by(cuda("C[0, 0] = 4", "TILE=4")) == set()
    assert taken_by(cuda_kernel(cuda_kernel("tiled").function.py_func, like="tiled", TILE=4)) == set()


SIDES = [
    ("OpenCL", "naive", "int n = get_local_size(0);", {"BM"}),
    ("OpenCL", "naive", "int n = get_local_size(1);", {"BN"}),
    ("OpenCL", "coalesced", "int n = get_global_id(0);", {"BN"}),
    ("OpenCL", "coalesced", "int n = get_global_id(1);", {"BM"}),
    ("OpenCL", "coalesced", "int n = get_global_id(0) + get_global_id(1);", {"BM", "BN"}),
    ("OpenCL", "coalesced", "int n = get_local_id(0); // get_global_id(0)", set()),
    ("OpenCL", "coalesced", "__local float X[4]; int n = get_global_id(0);", set()),
    ("CUDA", "naive", "C[0, 0] = cuda.blockDim.x", {"BM"}),
    ("CUDA", "naive", "C[0, 0] = cuda.blockDim.y", {"BN"}),
    ("CUDA", "naive", "x, y = cuda.grid(2)", {"BM", "BN"}),
    ("CUDA", "naive", "half = 7 // 2; x = cuda.blockDim.x", {"BM"}),
    ("CUDA", "naive", "x = cuda.shared.array(4, int); y = cuda.grid(2)", set()),
]


@pytest.mark.parametrize("dialect, step, text, sides", SIDES)
def test_a_kernel_may_ask_the_launch_for_the_sides_of_its_block(dialect, step, text, sides):
    k = opencl(text, step, BM=4, BN=8) if dialect == "OpenCL" else cuda(text, "BM=4, BN=8", step, BM=4, BN=8)
    assert asked_of_launch(k) == sides and (not sides or taken_by(k) == sides)


def test_only_a_kernel_whose_sizes_are_all_sides_asks_for_them():
    assert asked_of_launch(opencl("int n = get_global_id(0);")) == set()


def test_a_padding_is_the_most_that_a_source_adds_to_a_size():
    source = "As[BM + 4][BM+1]; Bs[XBM + 9][BM - 7][BM * 8]"
    assert padding_of("BM", source) == 4 and padding_of("BM", "BM  +12") == 12 and padding_of("BN", source) == 0


def test_sizes_that_a_source_compares_are_told_once_each():
    source = "if (BM == TM) a; if (BM!=TM) b; if (BK == TN) c; if (BM == 4) d; if (n == TN) e; BM <= BN;"
    taken = {"BM", "BN", "BK", "TM", "TN"}
    assert compared_in(source, taken) == [("BK", "TN"), ("BM", "TM")] and compared_in(source, {"BM", "TN"}) == []


def test_what_stands_behind_a_division_in_python_is_looked_at():
    sizes = dict(BM=128, BN=128, BK=32, TM=8, TN=8)
    text, arguments = "x = BM // TM * BN * BK * TN", ", ".join(sizes)
    plain, typed, compares = (
        cuda(text + more, arguments, "register_2d", **sizes) for more in ("", " * 999", " * (BM == BN)")
    )
    assert may_be_outgrown(typed) and not may_be_outgrown(plain)
    assert other_sizes(compares) != other_sizes(plain)


ALL = "int n = BM + BN + BK + TM + TN;"


def test_a_kernel_that_names_none_of_its_sizes_has_no_others():
    assert other_sizes(opencl("int n = 8;")) == () and other_sizes(opencl(ALL))
    assert not takes_all_sizes(opencl("int n = 8;")) and takes_all_sizes(opencl(ALL))
    assert not takes_all_sizes(opencl("int n = BM + BN + BK + TM;")) and other_sizes(opencl("int n = BM + BN;"))
    assert takes_all_sizes(
        opencl("int n = BM + BN + BK + TM;", BM=4, BN=4, BK=4, TM=2, TN=1)
    )  # a size of 1 may be none


def test_sizes_are_tried_that_a_padding_in_the_source_does_not_hide():
    plain, padded = other_sizes(opencl(ALL)), other_sizes(opencl(f"{ALL} float X[TN + 9];"))
    assert any(p["TN"] + 9 < p["BM"] for p in padded) and any(p["TN"] + 9 < p["BN"] for p in padded)
    assert plain != padded


def test_sizes_of_one_and_sizes_in_numbers_stay():
    for other in other_sizes(opencl("int n = BM + BN;")):
        assert (other["BK"], other["TM"], other["TN"]) == (4, 2, 2)
    others = other_sizes(opencl(ALL, BM=4, BN=16, BK=4, TM=1, TN=4))
    assert others and {other["TM"] for other in others} == {1} and all(other["TN"] > 1 for other in others)


def test_a_number_that_other_sizes_may_stay_below_may_be_outgrown():
    large = dict(BM=128, BN=128, BK=64, TM=8, TN=8)
    most = {key: max(p[key] for p in other_sizes(opencl(ALL, **large))) for key in large}
    least = min(most.values())
    assert least > 2 and all(most[key] < large[key] for key in large if key[0] == "B")
    for number, outgrown in ((least, True), (least - 1, False), (999, True)):
        assert may_be_outgrown(opencl(f"{ALL} float X[{number}];", **large)) == outgrown, (number, most)
    assert not may_be_outgrown(opencl(f"{ALL} // X[999]", **large))
    assert may_be_outgrown(opencl(f"{ALL} n = 0;")) and not may_be_outgrown(opencl(ALL))  # no size is smaller elsewhere
    assert not may_be_outgrown(opencl(f"{ALL} int X999;", **large))


def test_a_point_shows_what_is_smaller_than_what_and_what_the_block_is_no_part_of():
    p = dict(BM=9, BN=16, BK=4, TM=3, TN=4)  # a block of 4 x 3
    assert shown_by(REGISTERS, p, p, frozenset({"BM", "TN"}), (), ()) == {
        ((), *what)
        for what in [("TN", "BM"), ("x", "BM"), ("y", "BM"), ("y", "TN"), ("y", "x"), (0, "x"), (1, "y"), (2, "y")]
    }
    paths = [{what[0] for what in shown_by(REGISTERS, p, p, frozenset({"BM"}), (), ((a, "TN"),))} for a in ("BK", "BM")]
    assert paths == [{(True,)}, {(False,)}]
    for padding, hidden in ((4, False), (5, True), (6, True)):
        shown = shown_by(REGISTERS, p, p, frozenset({"BM", "TN"}), (("TN", padding),), ())
        assert (((), "TN", "BM", padding) not in shown) == hidden
    own = dict(BM=8, BN=8, BK=4, TM=2, TN=2)  # a block of 4 x 4: only along y are its threads others
    at_p, at_own = (shown_by(REGISTERS, p, one, frozenset({"BM", "TN"}), (), ()) for one in (p, own))
    assert at_own - at_p == {((), "TN", "other", "y")}


def points_of(taken=frozenset(SQUARE), own=None, **more):
    return most_telling("register_2d", opencl_kernel("tiled").device, tuple((own or SQUARE).items()), taken, **more)


@pytest.mark.parametrize("compared", [(), (("BM", "BN"),)])
@pytest.mark.parametrize("padded", [(), (("BK", 4),)])
def test_each_point_shows_more_of_what_none_before_did_than_any_later_one_or_has_a_smaller_tile(padded, compared):
    taken = frozenset(SQUARE)
    chosen = points_of(padded=padded, compared=compared)
    shows = [shown_by(REGISTERS, p, SQUARE, taken, padded, compared) for p in chosen]
    seen = shown_by(REGISTERS, SQUARE, SQUARE, taken, padded, compared)
    assert len(chosen) > 1 and SQUARE not in chosen
    for number, shown in enumerate(shows):
        new = [(len(later - seen), -math.prod(REGISTERS.tile(p))) for later, p in zip(shows, chosen, strict=True)]
        assert new[number][0] and new[number] == max(new[number:])
        seen |= shown
    if padded:
        assert any(p["BK"] + 4 < p["BM"] for p in chosen) and any(p["BK"] + 4 < p["BN"] for p in chosen)


def test_points_are_small():
    tiles = [math.prod(REGISTERS.tile(p)) for p in points_of()]
    assert max(tiles) <= 8 * 4 * 4 * 2 and min(min(p.values()) for p in points_of()) == 2
    assert [p["BK"] for p in points_of(frozenset({"BK"}))] == [2, 8]


def test_sizes_that_go_with_no_others_have_none():
    assert points_of(frozenset({"TM"}), SQUARE | dict(BM=7, TM=7)) == ()


def test_a_kernel_at_other_sizes_is_the_same_and_is_built_elsewhere():
    k = opencl_kernel("packed")
    there = at_sizes(opencl_kernel("register_2d", **SQUARE), SQUARE | dict(BN=16))
    assert there.block == (8, 4) and there.parameters["BN"] == 16 and not at_sizes(k, k.parameters).by_shape
    assert k.by_shape


def test_both_sets_of_sizes_are_told_with_the_finding():
    found = wrong_at_other_sizes(dict(BM=8, BN=8), dict(BM=8, BN=4), Finding("K is cut", "of K = 3 only 2", (7, 9)))
    assert found == Finding(
        "wrong at other sizes",
        "right with BM=8, BN=8, and wrong with BM=8, BN=4, where the finding is: K is cut, of K = 3 only 2",
        (7, 9),
    )
