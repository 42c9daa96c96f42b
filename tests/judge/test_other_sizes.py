"""A kernel that is right only where two of its sizes happen to be equal is caught, with both sets of sizes."""

import re

import pytest
from few import few

from helpers import check, cuda_kernel, ladder, opencl_kernel
from helpers.judge.on_ptx import at_another_size
from helpers.judge.other_sizes import other_sizes

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
SQUARE = dict(BM=8, BN=8, BK=4, TM=2, TN=2)
BOTH = [(dialect, step) for dialect in BUILD for step in ladder.steps(dialect)]


def own(dialect, step="register_2d", old="", new="", **sizes):
    """The step's source with one edit, as a kernel of one's own at those sizes, or at the step's small ones."""
    source = BUILD[dialect](step).source
    assert old in source
    return BUILD[dialect](source.replace(old, new, 1), like=step, **(sizes or ladder.STEPS[step].small))


MIXED_UP = [
    ("OpenCL", "get_group_id(1) * BM", "get_group_id(1) * BN"),
    ("CUDA", "(BK, BN), float32", "(BK, BM), float32"),
]


@pytest.mark.parametrize("dialect, old, new", MIXED_UP)
def test_sizes_that_are_mixed_up_are_caught_where_they_are_equal(dialect, old, new):
    report = check(own(dialect, "register_2d", old, new, **SQUARE))
    assert not report and report.findings[0].kind == "wrong at other sizes", report
    assert "right with BM=8, BN=8, " in report.findings[0].message and "wrong with BM=" in report.findings[0].message
    if "float32" in old:  # an array that is too small is found where an index leaves it
        assert report.findings[0].lines and "out of bounds" in report.findings[0].message, report


@pytest.mark.parametrize("dialect, step", few(BOTH, ("CUDA", "tiled"), ("OpenCL", "packed")))
def test_right_kernels_are_right_at_other_sizes(dialect, step):
    k = own(dialect, step)
    others = other_sizes(k)
    assert others or not ladder.STEPS[step].reuse, "a block that shares what it loads has its sizes in its source"
    assert others or step not in ("naive", "coalesced"), "they ask the launch for the sides of their block"
    assert check(k)


def test_the_other_sizes_are_small():
    for dialect, step in BOTH:
        for other in other_sizes(own(dialect, step)):
            assert max(other.values()) <= 96, (step, other)


@pytest.mark.parametrize("step", ["register_1d", "register_2d", "vectorized", "prefetched"])
def test_each_of_two_sizes_is_once_the_larger_one(step):
    k = own("CUDA", step)
    sets = (k.parameters, *other_sizes(k))
    for one, other in (("BM", "BN"), ("BM", "BK"), ("BN", "BK"), ("TM", "TN"), ("WM", "WN")):
        if {one, other} <= set(k.parameters):
            assert any(p[one] > p[other] for p in sets) and any(p[one] < p[other] for p in sets), (one, other, sets)


@pytest.mark.parametrize("step", ["register_1d", "register_2d", "vectorized"])
def test_where_a_thread_owns_more_the_threads_are_once_not_as_many(step):
    """`j * 2` in place of `j * THREADS_X` is right for one j, and wherever two threads lie side by side."""
    k = own("CUDA", step)
    sets = [(p, ladder.STEPS[step].block(p)) for p in other_sizes(k)]
    for name in {"TM", "TN"} & set(k.parameters):
        for side in (0, 1):
            assert any(p[name] > k.parameters[name] and block[side] != k.block[side] for p, block in sets), (name, side)


def test_a_piece_that_is_packed_only_on_one_path_is_tried_there_at_all_sizes():
    """`packed` uses Bs where BM is not TM."""
    k = own("OpenCL", "packed")
    sets = [p for p in (k.parameters, *other_sizes(k)) if p["BM"] != p["TM"]]
    assert any(p["BK"] > p["BN"] for p in sets) and any(p["TN"] > p["TM"] for p in sets)
    report = check(own("OpenCL", "packed", "Bs[BN / PANEL][BK][TN]", "Bs[BN / PANEL][BN][TN]"))
    assert not report and report.findings[0].kind == "wrong at other sizes", report


def test_a_last_strip_that_is_left_out_is_seen():
    source = opencl_kernel("packed").source
    wrong = source.replace("col0 < right;", "col0 + BN <= right || col0 == left && col0 < right;")
    k = opencl_kernel(wrong, like="packed")
    assert wrong != source and k.device.kind != "PTX machine"
    assert not check(k)


LOADS = {
    "CUDA": (
        "    @cuda.jit",
        "    THREADS, LOADS = THREADS_X * THREADS_Y, BM * BK // (THREADS_X * THREADS_Y)\n\n    @cuda.jit",
    ),
    "OpenCL": ("__kernel", "#define THREADS (BM / TM * THREADS_X)\n#define LOADS ((BM * BK) / THREADS)\n__kernel"),
}


@pytest.mark.parametrize("dialect", BUILD)
def test_a_tile_that_the_source_divides_among_its_threads_is_divided_evenly_elsewhere(dialect):
    """As in myGEMM6 and siboehm's kernels: right wherever each thread loads a whole number of elements."""

    def uneven(k):
        return [p for p in other_sizes(k) if p["BM"] * p["BK"] % (p["BM"] // p["TM"] * (p["BN"] // p["TN"]))]

    k = own(dialect, "register_2d", *LOADS[dialect])
    assert other_sizes(k) and not uneven(k)
    assert uneven(own(dialect)), "without that quotient such sizes are tried"


@pytest.mark.parametrize("dialect", BUILD)
def test_sizes_that_a_kernel_has_as_numbers_stay(dialect):
    source = BUILD[dialect]("register_2d").source
    if dialect == "OpenCL":
        source = "/* TN */ // BN\n#define TN 2\n#  define BN 8\n" + source
    else:
        source = source.replace("BN=128, ", "").replace(", TN=8", "")
        source = source.replace("    THREADS_X", "    BN, TN = 8, 2\n    THREADS_X", 1)
    k = BUILD[dialect](source, like="register_2d", **SQUARE)
    for other in other_sizes(k):
        assert (other["BN"], other["TN"]) == (8, 2) and (other["BM"], other["TM"]) != (8, 2)
    assert other_sizes(k)


def test_a_kernel_with_all_its_sizes_as_numbers_passes():
    numbers = "".join(f"#define {name} {value}\n" for name, value in SQUARE.items())
    k = opencl_kernel(numbers + opencl_kernel("register_2d").source, like="register_2d", **SQUARE)
    assert other_sizes(k) == () and check(k, [(9, 17, 5)])
    plain = cuda_kernel("register_2d", **SQUARE).function.py_func
    k = cuda_kernel(plain, like="register_2d", **SQUARE)
    assert other_sizes(k) == () and check(k, [(9, 17, 5)])


def test_a_source_that_refuses_other_sizes_passes():
    source = "#if BM != 8\n#error made for eight rows\n#endif\n" + opencl_kernel("register_2d").source
    assert check(opencl_kernel(source, like="register_2d", **SQUARE), [(9, 17, 5)])


@pytest.mark.parametrize("dialect, old, new", [("OpenCL", "k0 < K;", "k0 < 40;"), ("CUDA", "k0 < K:", "k0 < 40:")])
def test_rounds_that_are_typed_are_caught(dialect, old, new):
    report = check(own(dialect, "tiled", old, new))
    assert re.search(r"the first 40 of (259|1029) products", report.findings[0].message), report


def test_a_kernel_that_says_how_many_threads_it_takes_is_not_tried_with_more():
    """Its author knows the block: `launch_bounds=16`, launched with 4 x 4 threads."""
    source = cuda_kernel("naive").source.replace("@cuda.jit", "@cuda.jit(launch_bounds=16)")
    assert at_another_size(cuda_kernel(source, like="naive", BM=4, BN=4)) == []
