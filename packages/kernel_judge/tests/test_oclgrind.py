"""What Oclgrind's reports say of a source: each log is written here, as Oclgrind writes it."""

import pytest

from kernel_judge import oclgrind
from kernel_judge.oclgrind import RACES, UNSET, findings_in
from kernel_judge.touched import Launched, local_arrays, under_oclgrind

RACE = """
Write-write data race at local memory address 0x1000000000004
\tKernel: tiled
\tFirst entity:  Global(7,0,0) Local(3,0,0) Group(1,0,0)
\t  store float %8, float addrspace(3)* %arrayidx, align 4
\tAt line 2 (column 12) of input.cl:
\t  As[y][x] = A[row];
\tSecond entity: Global(4,1,0) Local(0,1,0) Group(1,0,0)
\t  %9 = load float, float addrspace(3)* %arrayidx, align 4
\tAt line 4 (column 14) of input.cl:
"""
CODE = "for (;;) {\n  As[y][x] = A[row];  // As[1]\n\n  acc += a * As[y][k];\n\n}"
OUTSIDE = """
Invalid write of size 4 at global memory address 0x30000000000e0
\tEntity: Global(0,8,0) Local(0,0,0) Group(0,2,0)
\t  store float %12, float addrspace(1)* %arrayidx, align 4
\tAt line 33 (column 22) of input.cl:
"""


def said(log, source=""):
    """(kind, lines, message) of each finding."""
    return [(one.kind, one.lines, one.message) for one in findings_in(log, source)]


def test_reports_are_read_causes_first_and_each_kind_and_line_once():
    log = f"{RACE}{OUTSIDE}{OUTSIDE.replace('e0', 'e4')}\nUninitialized value\n\tAt line 2 (column 9) of input.cl:\n"
    assert [(kind, lines) for kind, lines, _ in said(log)] == [("out of bounds", (33,)), ("race", (2, 4))]
    assert findings_in("", "") == []


@pytest.mark.parametrize(
    "report, kind, says",
    [
        ("Invalid read of size 4 at global memory address 0x1", "out of bounds", "it reads outside global memory"),
        ("Invalid write of size 4 at private memory address 0x1", "out of bounds", "it writes outside private memory"),
        ("Index 4 exceeds static array size", "out of bounds", "it reads outside an array"),
        ("Work-group divergence detected (async copy)", "divergent barrier", "the work-items of a work-group do not"),
        ("Work-group divergence detected (barrier)", "divergent barrier", "only some work-items"),
        ("Read-write data race at global memory", "race", "two work-items touch the same element of global memory"),
        ("Invalid memory load - source pointer is not aligned to the pointed type", "misaligned", "it reads a vector"),
        ("Work-item finished without waiting for events", "no wait", "nobody waits"),
        ("Invalid wait event", "no wait", "it waits for an event"),
        ("Uninitialized value being stored", "uninitialised", "what it stores comes from numbers that nobody has set"),
        ("Controlflow depends on uninitialized value", "uninitialised", "an `if` or a loop"),
        ("Instruction depends on an uninitialized index", "uninitialised", "an index here"),
        ("What a later Oclgrind may say", "reported by Oclgrind", "What a later Oclgrind may say"),
    ],
)
def test_each_report_has_its_kind_and_its_sentence(report, kind, says):
    [(found, lines, message)] = said(f"{report}\n\tAt line 7 (column 9) of input.cl:\n")
    assert found == kind and lines == (7,) and message.startswith(says)


def test_what_is_no_fault_of_the_kernel_is_left_out():
    assert said("\nOclgrind: 1000 errors generated - suppressing further errors\n\nOCLGRIND FATAL ERROR\n") == []
    swaps = "do old = *p;\nwhile (atomic_cmpxchg(p, old, new) != old);"
    race = "Read-write data race at global memory address 0x1\n\tAt line 2 (column 9) of input.cl:\n"
    assert said(race, swaps) == [] and said(race, swaps.replace("_cmpxchg", "_add"))


def test_a_race_in_local_memory_names_the_barrier_that_is_missing():
    race = RACE.replace("Write-write", "Read-write")
    [(_, _, between)] = said(race, CODE)
    [(_, _, around)] = said(race, CODE.replace("\n\n  acc", "\nbarrier(CLK_LOCAL_MEM_FENCE);\n  acc"))
    [(_, _, one_line)] = said(race.replace("line 4", "line 2"), CODE)
    assert "since there is no barrier between line 2 and line 4" in between
    assert "no barrier keeps line 2 from running again before all are done with line 4" in around
    assert one_line == "work-items read and write the same element of local memory"
    assert said(RACE, CODE)[0][2] == "two work-items write different numbers to the same element of local memory"


def test_a_copy_that_nobody_waits_for_is_shown_and_so_is_a_tile_that_is_nobody_elses():
    code = "a;\nevent_t e = async_work_group_copy(a, A, 4, 0);\n}"
    assert said("Work-item finished without waiting\n\tAt line 3 (column 1) of input.cl:\n", code)[0][1] == (2,)
    unset = "Uninitialized value\n\tAt line 1 (column 1) of input.cl:\n"
    own = "float tile[16];\nbarrier(CLK_LOCAL_MEM_FENCE);"
    assert "Nothing here is __local: tile is a work-item's own" in said(unset, own)[0][2]
    assert "Nothing here is" not in said(unset, f"__local float other[4];\n{own}")[0][2]


def test_who_touched_which_element_is_drawn():
    arrays = local_arrays("__local float As[TILE][5];\n__local float Bs[N];", {"TILE": 4})
    assert arrays == {"As": ("As", (4, 5), 4)}
    launched = Launched(arrays | {"C": ("C", (5, 11), 4)}, (4, 4), (2, 3), "item")
    [race] = [under_oclgrind(one, launched) for one in findings_in(RACE, CODE)]
    assert (race.drawn.array, race.drawn.shape, race.drawn.elements) == ("As", (4, 5), (1,))
    assert [caption.message for caption in race.drawn.captions] == [
        "work-item (3, 0) of work-group (1, 0) writes As[0, 1],",
        "which work-item (0, 1) of work-group (1, 0) read, and nothing orders the two",
    ]
    store = "\n" * 32 + "  C[row * N + col] = acc;"
    outside = OUTSIDE.replace("column 22", "column 20")
    [found] = [under_oclgrind(one, launched) for one in findings_in(outside, store)]
    assert found.drawn.elements == (0xE0 // 4,)
    assert found.drawn.captions[0].message == "work-item (0, 0) of work-group (0, 2) stores past the end of C"
    [first] = findings_in(outside + outside.replace("e0 at", "e4 at").replace("Local(0", "Local(3"), store)
    assert first.values["touched"] == found.values["touched"]
    [elsewhere] = findings_in(outside.replace("line 33", "line 9"), store)
    assert under_oclgrind(elsewhere, launched) == elsewhere and elsewhere.drawn is None


def test_it_is_asked_for_less_where_it_would_be_wrong_or_die():
    (thorough, nothing_left), (races, not_set) = oclgrind.asks("float4 x;")
    assert thorough == {RACES: "1", UNSET: "1", "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable"} and nothing_left == ()
    assert races == {RACES: "1", "OCLGRIND_BUILD_OPTIONS": ""}
    assert [note.message for note in not_set] == ["not looked for here: numbers that nobody has set"]
    (sixteen, noted), _ = oclgrind.asks("float16 x;")
    assert sixteen == {RACES: "1", "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable"} and noted == not_set
    assert [note.values["what"] for note in oclgrind.not_looked_for()] == [
        "races", "reads outside a local array", "numbers that nobody has set"
    ]  # fmt: skip


def test_a_process_finds_it_as_its_one_device(tmp_path):
    found = oclgrind.environment("lib.so", tmp_path, 4096, 256)
    assert (tmp_path / "oclgrind.icd").read_text() == "lib.so\n" and found["OCL_ICD_VENDORS"] == str(tmp_path)
    assert (found["OCLGRIND_LOCAL_MEM_SIZE"], found["OCLGRIND_MAX_WGSIZE"]) == ("4096", "256")
    assert oclgrind.reports(found[oclgrind.LOG]) == ""
    (tmp_path / "oclgrind.log").write_text("said")
    assert oclgrind.reports(found[oclgrind.LOG]) == "said"
