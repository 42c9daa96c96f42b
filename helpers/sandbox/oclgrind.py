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


def oclgrind_findings(log: str, source: str) -> list[Finding]:
    """Oclgrind's reports on that source as `Finding`s, each kind and line once, causes first."""
    findings = []
    for report in re.split(r"\n(?=\S)", log.lstrip()):
        lines = tuple(sorted({int(n) for n in re.findall(r"At line (\d+)", report)}))
        if "data race at" in report:
            if "local memory" in report:
                what = "work-items read and write the same element of local memory" + missing_barrier(source, lines)
                if report.startswith("Write-write"):
                    what = "two work-items write different numbers to the same element of local memory"
            else:
                what = "two work-items touch the same element of global memory, one of them writing"
            findings.append(Finding("race", what, lines))
        elif re.match(r"Invalid (read|write)", report) or "exceeds static array size" in report:
            does = "writes" if "write" in report.split("\n")[0] or "store" in report else "reads"
            memory = re.search(r"(global|local|private) memory", report)
            where = f"{memory[1]} memory" if memory else "an array"
            findings.append(Finding("out of bounds", f"it {does} outside {where}", lines))
        elif "divergence detected (barrier)" in report:
            message = "only some work-items of a work-group reach this barrier"
            findings.append(Finding("divergent barrier", message, lines))
        elif report.startswith("Uninitialized value"):
            findings.append(Finding("uninitialised", UNSET, lines))
    once = {(f.kind, f.lines): f for f in reversed(findings)}
    if any(kind in ("race", "out of bounds") for kind, _ in once):  # what nobody had set follows from it
        once = {key: f for key, f in once.items() if f.kind != "uninitialised"}
    causes_first = ("out of bounds", "divergent barrier", "race", "uninitialised")
    return sorted(once.values(), key=lambda f: (causes_first.index(f.kind), f.lines))


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
