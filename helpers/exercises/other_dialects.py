"""Page 14, exercise 2: a port to WGSL."""

import re
from dataclasses import replace

from ..devices import DeviceError
from ..judge import Report, check
from ..launch import DIALECTS, webgpu_kernel
from ..sandbox import Finding
from .rules import NOTHING, misses


def waits_around(code: str) -> bool:
    """Whether the tiles are used between two of the waits, and before or after them, so round by round in turn."""
    first, *between, last = code.split("workgroupBarrier") if "workgroupBarrier" in code else (code, "")
    return all(re.search(r"\b[AB]s\b", part) for part in (first + last, "".join(between)))


def wgsl_frame() -> str:
    """The course's `tiled` in WGSL with MY_LINES for what stands in its loop over the tiles."""
    source = DIALECTS["WebGPU"].source_of("tiled")
    before, opened, rest = source.partition("k0 += TILE) {\n")
    _, closed, after = rest.partition("\n    }\n\n")
    return f"{before}{opened}MY_LINES{closed}{after}".rstrip()


def judge_wgsl(my_lines: str) -> Report:
    """Judge what stands in the loop of `wgsl_frame`: right numbers, A and B read at one place each, two waits.

    `check` cannot look for races here, and a GPU may hide them: so both barriers have to be there. Where no adapter
    runs WGSL, the report is "not yet", and says what would add one. Raises KernelError for lines that do not compile.
    """
    try:
        k = webgpu_kernel(wgsl_frame().replace("MY_LINES", my_lines), like="tiled", TILE=16)
    except DeviceError as error:
        return Report("your kernel (WGSL)", (Finding("not yet", f"Nothing here can run it: {error}"),), 0)
    report, code = check(k), re.sub(r"//.*", "", my_lines)
    places = {name: len(re.findall(rf"\b{name}\s*\[|&\s*{name}\b", code)) for name in "AB"}
    if not report and report.findings[0].kind in NOTHING and all(places.values()):
        said = report.findings[0].message.rstrip(".")
        return replace(report, findings=(Finding("nothing arrives", f"{said}. Follow the numbers through the sum"),))
    if not report:
        return report
    missing = [
        Finding("too many loads", f"{name} is read at {n} places; stage it at one")
        for name, n in places.items()
        if n > 1
    ]
    missing += [
        Finding("too many loads", f"{name}s is not both filled and read: each number of {name} is to come from there")
        for name in "AB"
        if len(re.findall(rf"\b{name}s\b", code)) < 2
    ]
    if not waits_around(code):
        why = "two waits are needed: before the tiles are read, and before they are overwritten"
        missing.append(Finding("race", why))
    return misses(report, *missing)
