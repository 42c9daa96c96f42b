"""A learner's wrong kernel costs a child process, never the notebook."""

from functools import partial

import pytest
from few import SMALL
from kernels import UNDER_OCLGRIND

from helpers import check, cuda_kernel, devices, opencl_kernel
from helpers.checking import opencl
from helpers.checking.run_check import product_of
from helpers.launch import KernelError
from kernel_judge import child
from kernel_judge.moves import watch
from kernel_judge.oclgrind import findings_in

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
    report = check(own("register_1d", ("float acc[TM];", new), **SMALL["register_1d"]), SHAPES)
    assert not report and report.findings[0].kind == "out of bounds" and new in repr(report), report


@UNDER_OCLGRIND
def test_numbers_that_nobody_has_set_are_looked_for_where_oclgrind_knows_not_every_optimised_instruction():
    k = own("vectorized", ("acc[i][j] = 0.0f;", ";"), **SMALL["vectorized"])
    assert check(k, SHAPES).findings[0].kind == "uninitialised"


@pytest.mark.parametrize("wrong, said", [("BM // (TM - TM)", "ZeroDivisionError"), ("BQ // TM", "NameError: .*BQ")])
def test_what_python_refuses_in_a_builder_is_told_with_its_line(wrong, said):
    source = cuda_kernel("register_1d").source.replace("BM // TM\n", f"{wrong}\n", 1)
    line = 1 + source[: source.index(wrong)].count("\n")
    with pytest.raises(KernelError, match=f"line {line}: {said}.*\n.*THREADS_Y = "):
        cuda_kernel(source, like="register_1d")


def test_a_kernel_that_oclgrind_cannot_compile_is_tried_on_the_device():
    # Oclgrind is of OpenCL 1.2, today's drivers are of 3.0.
    k = naive(("__kernel", "#if __OPENCL_VERSION__ < 200\n#error too old\n#endif\n__kernel"))
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
    assert [(f.kind, f.lines) for f in findings_in(LOG, "")] == [("out of bounds", (33,)), ("race", (33, 34))]


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
    findings = findings_in(log, "")
    assert [(f.kind, f.lines) for f in findings] == [
        ("divergent barrier", (8,)),
        ("misaligned", (10,)),
        ("reported by Oclgrind", (9,)),
    ]
    assert findings[-1].message == "What a later Oclgrind may say"
    assert findings_in("\nOclgrind: 1000 errors generated - suppressing further errors\n\n", "") == []


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
    findings = product_of(k).watched(partial(watch, shapes=[(4, 4, 3)])).findings
    assert findings and findings[0].kind == kind, findings
    assert line in k.source.splitlines()[findings[0].lines[0] - 1]


@UNDER_OCLGRIND
def test_nan_that_a_kernel_makes_is_not_called_unset():
    k = naive(("acc = 0.0f;", "acc = 0.0f / (K - K);"))
    assert [finding.kind for finding in product_of(k).watched(partial(watch, shapes=[(4, 4, 3)])).findings] == [
        "not a number"
    ]


def test_no_barrier_is_missing_where_two_work_items_write_and_one_may_be_where_one_reads():
    report = LOG.partition("\n\n")[0].replace("global memory", "local memory")
    for kind, said in (
        ("Write-write", "two work-items write different numbers to the same element of local memory"),
        ("Read-write", "work-items read and write the same element of local memory, since there is no barrier between"),
    ):
        [finding] = findings_in(report.replace("Write-write", kind), "\n" * 40)
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
    assert check(k, SHAPES) and len(started) == 2
    k = cuda_kernel(cuda_kernel("naive").source, like="naive", BM=4, BN=4)
    started.clear()
    assert check(k, SHAPES) and len(started) == 1


def test_a_kernel_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(opencl, "SECONDS", 2)
    product = product_of(naive(("k < K; k++", "k < K; k += M - M")))
    [finding] = product.watched(partial(watch, shapes=SHAPES)).findings
    assert finding.kind == "hang" and "after 2 s" in finding.message and "its loops are here" in finding.message
