"""Oclgrind, an interpreter of OpenCL kernels: how it is asked, and what its reports say about a kernel's source."""

import re
from pathlib import Path

from .findings import Finding, Kind

DEVICE = "Oclgrind Simulator"  # its name
LOG = "OCLGRIND_LOG"  # the environment variable that names the file of its reports
RACES, UNSET = "OCLGRIND_DATA_RACES", "OCLGRIND_UNINITIALIZED"
UNSEEN = {RACES: ("races", "reads outside a local array"), UNSET: ("numbers that nobody has set",)}
AS_WRITTEN = "-cl-opt-disable"  # what the optimiser leaves out, such as a write past a private array, is seen so only
# Vectors of 16, of whose second half Oclgrind says that nobody has set it, whoever has.
SIXTEEN = r"\b(?:u?(?:char|short|int|long)|half|float|double|vload|vstore)16\b"
# In a log: it dies of how it was asked, or lacks something, which is no fault of the kernel.
ITS_OWN_FAULT = re.compile(r"Uninitialized\.cpp|Unsupported")


def asks(source: str) -> list[tuple[dict[str, str], tuple[Finding, ...]]]:
    """How it is asked about a source, each where it dies of the one before: (environment variables, notes)."""
    thorough = (RACES,) if re.search(SIXTEEN, source) else (RACES, UNSET)
    return [
        (dict.fromkeys(ask, "1") | {"OCLGRIND_BUILD_OPTIONS": options}, not_looked_for(ask))
        for ask, options in ((thorough, AS_WRITTEN), ((RACES,), ""))
    ]


def not_looked_for(ask: tuple = ()) -> tuple[Finding, ...]:
    """Notes on what it was not asked for."""
    unseen = [what for one, whats in UNSEEN.items() for what in whats if one not in ask]
    return tuple(Finding("", "not_looked_for", values={"what": what}) for what in unseen)


def environment(library: Path, folder: Path, local_bytes: int, group: int) -> dict[str, str]:
    """Environment variables under which a process finds Oclgrind as its one OpenCL device.

    `folder`: an existing one for its driver file and its log, "oclgrind.log". `local_bytes`, work-items of a `group`:
    of the device that it stands for.
    """
    (folder / "oclgrind.icd").write_text(f"{library}\n")
    return {
        "OCL_ICD_VENDORS": str(folder),
        "OCLGRIND_NUM_THREADS": "1",  # so that a race is reported the same way each time
        LOG: str(folder / "oclgrind.log"),
        "OCLGRIND_LOCAL_MEM_SIZE": str(local_bytes),
        "OCLGRIND_MAX_WGSIZE": str(group),
    }


# (what a report begins with, what kind of finding it is, the key of what to say of it), the causes first
REPORTS = (
    ("Invalid (?:read|write)|Index .* exceeds static array size", Kind.OUT_OF_BOUNDS, "outside_memory"),
    (r"Work-group divergence detected \(async copy\)", Kind.DIVERGENT, "divergent_copy"),
    ("Work-group divergence", Kind.DIVERGENT, "some_reach_barrier"),
    (".*data race at", Kind.RACE, "two_touch"),
    ("Invalid memory (?:load|store) - source pointer is not aligned", Kind.MISALIGNED, "misaligned_vector"),
    ("Work-item finished without waiting", Kind.NO_WAIT, "nobody_waits"),
    ("Invalid wait event", Kind.NO_WAIT, "waits_for_no_copy"),
    ("Uninitialized value", Kind.UNSET, "unset"),
    ("Controlflow depends", Kind.UNSET, "unset_condition"),
    ("Uninitialized address|Instruction depends", Kind.UNSET, "unset_index"),
    ("", Kind.UNKNOWN, "as_reported"),
)
# A work-item in a report, what it did in LLVM's words, and where that stands.
ITEM = re.compile(r"Local\((\d+),(\d+),\d+\) Group\((\d+),(\d+),\d+\)\n(.*)\n\s*At line (\d+) \(column (\d+)\)")
# Reports that are no fault of a kernel: how many there were, and what Oclgrind itself lacks.
HARMLESS = r"Oclgrind: \d+ errors generated|OCLGRIND FATAL ERROR|\s*$"
FIRST = Kind.OUT_OF_BOUNDS, Kind.DIVERGENT, Kind.RACE, Kind.NO_WAIT  # what nobody had set follows from it


def reports(log: str | Path) -> str:
    """What is in its log; "" where there is none."""
    return Path(log).read_text(errors="replace") if Path(log).is_file() else ""


def findings_in(log: str, source: str) -> list[Finding]:
    """Oclgrind's reports on that source as `Finding`s, each kind and line once, causes first.

    A report that nobody here knows is a finding as well, in Oclgrind's own words.
    """
    findings = [of_report(report, source) for report in re.split(r"\n(?=\S)", log.lstrip())]
    once = {(f.kind, f.lines): f for f in reversed(findings) if f}
    if any(kind in FIRST for kind, _ in once):
        once = {key: f for key, f in once.items() if f.kind != Kind.UNSET}
    causes_first = [kind for _, kind, _ in REPORTS]
    return sorted(once.values(), key=lambda f: (causes_first.index(f.kind), f.lines))


def of_report(report, source):
    """One report as a `Finding`; None for a harmless one."""
    if re.match(HARMLESS, report):
        return None
    kind, key = next((kind, key) for begins, kind, key in REPORTS if re.match(begins, report))
    lines = tuple(sorted({int(n) for n in re.findall(r"At line (\d+)", report)}))
    code = [line.split("//")[0] for line in source.splitlines()]
    first, memory = report.split("\n")[0], re.search(r"(global|local|private) memory", report)
    if kind == Kind.RACE and any("cmpxchg" in line for n, line in enumerate(code, 1) if n in lines):
        return None  # the plain first read of a loop that swaps until nobody was between
    if kind == Kind.RACE and "local memory" in report:
        key = "two_write_local" if report.startswith("Write-write") else missing_barrier(code, lines)
    own = re.search(r"^\s*float\s+(\w+)\s*\[", source, re.MULTILINE)
    if key == "unset" and own and "barrier(" in source and "__local" not in source:
        key = "unset_and_no_local"
    if kind == Kind.NO_WAIT:  # it is reported where the kernel ends
        lines = tuple(n for n, line in enumerate(code, 1) if re.search(r"\basync_work_group\w*copy", line)) or lines
    does = Finding("", "writes" if "write" in first or "store" in report else "reads")
    where = Finding("", f"{memory[1]}_memory" if memory else "an_array")
    values = dict(does=does, where=where, first=first, name=own and own[1], line=lines[:1] and lines[0])
    return Finding(kind, key, lines, values | {"other": lines[-1:] and lines[-1], "touched": touched(report, code)})


def touched(report, code):
    """The array that work-items touched, from which byte on, and for each its place, its group's, and what it does.

    () where the report and the code do not say it.
    """
    address = re.match(r".* address 0x\w*?(\w{12})\n", report)  # before these digits stands the buffer's number
    items = ITEM.findall(report)
    arrays = {array_at(code[int(line) - 1], int(column)) for *_, line, column in items if int(line) <= len(code)}
    if not address or len(arrays) != 1 or arrays == {""}:
        return ()
    does = ["writes" if " store " in llvm else "changes" if "atomic" in llvm else "reads" for *_, llvm, _, _ in items]
    places = [((int(x), int(y)), (int(across), int(down))) for x, y, across, down, *_ in items]
    return (arrays.pop(), int(address[1], 16), *((*both, verb) for both, verb in zip(places, does, strict=True)))


def array_at(text, column):
    """The name of the array that a line reads, or stores to, at a column; "" where it is unclear."""
    read = re.match(r"(\w+)\s*\[", text[column - 1 :])
    stored = re.search(r"(\w+)\s*(?:\[[^\[\]]*\])+\s*$", text[: column - 1])
    return read[1] if read else stored[1] if stored else ""


def missing_barrier(code, lines):
    """Whether a barrier is missing between two lines of a loop, or on the way round: the key of what to say."""
    if len(lines) != 2:
        return "local_race"
    between = any(re.search(r"\bbarrier\s*\(", line) for line in code[lines[0] : lines[1] - 1])
    return "local_race_round" if between else "local_race_between"
