"""Oclgrind, an interpreter of OpenCL kernels: how it is asked, and what its reports say about a kernel's source."""

import re
from collections import Counter
from pathlib import Path

from .findings import UNSET, Finding

OCLGRIND = "Oclgrind Simulator"  # its device's name


def oclgrind_environment(library: Path, folder: Path, device, options: dict) -> dict:
    """Environment variables under which a process finds Oclgrind as its one OpenCL device, as large as `device`.

    `folder`: an existing one for its driver file and its log, "oclgrind.log". `options`: what else to ask of it.
    """
    (folder / "oclgrind.icd").write_text(f"{library}\n")
    return {
        **options,
        "OCL_ICD_VENDORS": str(folder),
        "HELPERS_OPENCL_DEVICE": "Oclgrind",
        "OCLGRIND_NUM_THREADS": "1",  # so that a race is reported the same way each time
        "OCLGRIND_LOG": str(folder / "oclgrind.log"),
        "OCLGRIND_LOCAL_MEM_SIZE": str(device.shared_bytes),
        "OCLGRIND_MAX_WGSIZE": str(device.max_threads),
    }


# (what a report begins with, what kind of finding it is, what to say of it), the causes first
REPORTS = (
    ("Invalid (?:read|write)|Index .* exceeds static array size", "out of bounds", "it {does} outside {where}"),
    (
        r"Work-group divergence detected \(async copy\)",
        "divergent barrier",
        "the work-items of a work-group do not all ask for the same copy here. async_work_group_copy is one copy for "
        "the whole work-group: each work-item calls it, with the same places and the same number of elements",
    ),
    ("Work-group divergence", "divergent barrier", "only some work-items of a work-group reach this barrier"),
    (".*data race at", "race", "two work-items touch the same element of {where}, one of them writing"),
    (
        "Invalid memory (?:load|store) - source pointer is not aligned",
        "misaligned",
        "it {does} a vector at an address that is no multiple of the vector's size, which GPUs cannot do. vload4 and "
        "vstore4 take any element of a float array",
    ),
    (
        "Work-item finished without waiting",
        "no wait",
        "nobody waits until the copy is done. Call wait_group_events(1, &e) with the event that async_work_group_copy "
        "returned, before the numbers are read",
    ),
    ("Invalid wait event", "no wait", "it waits for an event that no async_work_group_copy has returned"),
    ("Uninitialized value", "uninitialised", UNSET),
    ("Controlflow depends", "uninitialised", "an `if` or a loop here asks for a number that nobody has set"),
    ("Uninitialized address|Instruction depends", "uninitialised", "an index here comes from a number that nobody set"),
    ("", "reported by Oclgrind", "{first}"),
)
# Reports that are no fault of a kernel: how many there were, and what Oclgrind itself lacks.
HARMLESS = r"Oclgrind: \d+ errors generated|OCLGRIND FATAL ERROR|\s*$"
FIRST = "out of bounds", "divergent barrier", "race", "no wait"  # what nobody had set follows from it


def oclgrind_findings(log: str, source: str) -> list[Finding]:
    """Oclgrind's reports on that source as `Finding`s, each kind and line once, causes first.

    A report that nobody here knows is a finding as well, in Oclgrind's own words.
    """
    findings = [of_report(report, source) for report in re.split(r"\n(?=\S)", log.lstrip())]
    once = {(f.kind, f.lines): f for f in reversed(findings) if f}
    if any(kind in FIRST for kind, _ in once):
        once = {key: f for key, f in once.items() if f.kind != "uninitialised"}
    causes_first = [kind for _, kind, _ in REPORTS]
    return sorted(once.values(), key=lambda f: (causes_first.index(f.kind), f.lines))


def of_report(report, source):
    """One report as a `Finding`; None for a harmless one."""
    if re.match(HARMLESS, report):
        return None
    kind, message = next((kind, words) for begins, kind, words in REPORTS if re.match(begins, report))
    lines = tuple(sorted({int(n) for n in re.findall(r"At line (\d+)", report)}))
    first = report.split("\n")[0]
    memory = re.search(r"(global|local|private) memory", report)
    if kind == "race" and "local memory" in report:
        message = "work-items read and write the same element of local memory" + missing_barrier(source, lines)
        if report.startswith("Write-write"):
            message = "two work-items write different numbers to the same element of local memory"
    own = re.search(r"^\s*float\s+(\w+)\s*\[", source, re.MULTILINE)
    if message == UNSET and own and "barrier(" in source and "__local" not in source:
        message += f". Nothing here is __local: {own[1]} is a work-item's own, and no other one's numbers reach it"
    if kind == "no wait":  # it is reported where the kernel ends
        code = enumerate(source.splitlines(), 1)
        lines = tuple(n for n, line in code if re.search(r"\basync_work_group\w*copy", line.split("//")[0])) or lines
    does = "writes" if "write" in first or "store" in report else "reads"
    where = f"{memory[1]} memory" if memory else "an array"
    return Finding(kind, message.format(does=does, where=where, first=first), lines)


def missing_barrier(source, lines):
    """Where a barrier is missing between two lines of a loop: between them, or on the way round; "" if unclear."""
    if len(lines) != 2:
        return ""
    first, second = lines
    code = [line.split("//")[0] for line in source.splitlines()]
    if any(re.search(r"\bbarrier\s*\(", line) for line in code[first : second - 1]):
        return f", since no barrier keeps line {first} from running again before all are done with line {second}"
    return f", since there is no barrier between line {first} and line {second}"


def oclgrind_counts(log: str) -> list[int]:
    """Global loads and stores, local loads and stores, in elements, of the last kernel that Oclgrind counted."""
    last = log.split("Instructions executed for kernel")[-1]
    elements = Counter()
    for kind, memory, size in re.findall(r"- (load|store) (global|local) \((\d+) bytes\)", last):
        elements[kind, memory] += int(size) // 4
    # vloadn and vstoren are counted as calls, under their mangled names: address space 1 is global, 3 is local.
    calls = re.findall(r"(\d+) - call _Z\d+v(load|store)(\d+)\w*PU3AS([13])K?f\(\)", last)
    for times, kind, width, space in calls:
        elements[kind, {"1": "global", "3": "local"}[space]] += int(times) * int(width)
    return [elements[kind, memory] for memory in ("global", "local") for kind in ("load", "store")]
