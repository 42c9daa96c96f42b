"""Many pages: a learner's lines in a kernel of the ladder, which shall be right and do no more than an answer needs."""

import re
from collections.abc import Callable
from dataclasses import replace
from textwrap import dedent, indent

import numpy as np

from kernel_judge import Finding, Report

from .. import ladder
from ..checking import check
from ..instruments import predicted_traffic, trace
from ..launch import Kernel, KernelError, dialect

PART = re.compile(r".*(?:#|//) (\d)\. ")  # as in "# 3. Everyone is done reading"; code may stand before it
MORE = "{loads} from {memory} at {shape}, where {least} do"
APART = "neighbours in x do not read {name} together; {pieces} pieces of 16 bytes, where {least} do"


class MissesTheIdea(Report):
    """The verdict on a kernel that is right and still misses the idea."""

    def head(self) -> tuple[str, str, dict]:
        """As `Report.head`."""
        return "✗ ", "{subject} computes the right C, but misses the idea.", {"subject": self.subject}


def judged(k: Kernel, *looks: Callable) -> Report:
    """Check a kernel; where it is right, the verdict is what the first look finds that finds anything.

    `looks`: functions of the kernel. Each counts something, and returns a list of findings: what an answer needs not.
    A KernelError that one raises, where nothing can follow the kernel, is a note of the verdict.
    """
    report = check(k)
    if not report:
        return report
    try:
        for look in looks:
            if findings := look(k):
                return MissesTheIdea(report.subject, tuple(findings), report.source)
    except KernelError as error:
        note = Finding("", "not looked for here: whether it keeps to the idea: {text}", values={"text": str(error)})
        return replace(report, notes=(*report.notes, note))
    return report


def check_loads(k: Kernel, M: int = 16, N: int = 16, K: int = 16) -> Report:
    """Check a kernel, then count what it loads: no more than the rung that it is launched like. Returns a `Report`.

    It counts at M, N, K and where each side is one shorter, since whole tiles hide what is loaded in place of zeros.
    Neighbours in x shall read neighbours where they do in that rung. Raises ValueError for what is no shape.
    """
    return judged(k, lambda k: more_than_its_rung(k, M, N, K))


def more_than_its_rung(k: Kernel, M: int, N: int, K: int) -> list[Finding]:
    """What the kernel loads that its rung does not, or loads in more pieces."""
    shorter = [max(1, side - 1) for side in (M, N, K)]
    return loads_too_much(k, M, N, K) or reads_apart(k) or loads_too_much(k, *shorter)


def loads_too_much(k: Kernel, M: int, N: int, K: int) -> list[Finding]:
    """The memories it loads more from than its rung."""
    loads = trace(k, M, N, K).where(writes=False)  # as the source has them; a compiler may take some away
    most = predicted_traffic(k, M, N, K)
    if not ladder.STEPS[k.step].reuse:  # to sum in C itself costs time, and no idea
        loads = loads[loads["array"] != "C"]
    found = []
    for memory, needed in (("global", most.global_loads), ("shared", most.shared_loads)):
        mine = np.count_nonzero(loads["memory"] == memory)
        if mine > needed:
            values = {"loads": f"{mine:,}", "least": f"{needed:,}", "memory": Finding("", f"{memory}_memory")}
            found.append(Finding("too many loads", MORE, values=values | {"shape": f"{M} x {N} x {K}"}))
    return found


def reads_apart(k: Kernel) -> list[Finding]:
    """The matrix that neighbours in x read further apart than the rung's, counted in pieces of 4 numbers."""
    rung = dialect(k.dialect).build(k.step, k.device if k.dialect == "OpenCL" else None, **k.parameters)
    for name in "AB":
        mine, most = pieces(k, name), pieces(rung, name)
        if mine > most:
            return [Finding("not coalesced", APART, values={"name": name, "pieces": mine, "least": most})]
    return []


def pieces(k: Kernel, name: str) -> int:
    """The pieces of 4 numbers that all rows of threads touch in that matrix, in a product of one tile."""
    a = trace(k, *ladder.STEPS[k.step].tile(k.parameters)).where(array=name, writes=False)
    rows = a["line"], a["block"], a["round"], a["thread"] // k.block[0], a["index"] // 4
    return len(np.unique(np.column_stack(rows), axis=0))


def with_part(name: str, step: str, parts: int | tuple[int, int], text: str) -> str:
    """The source of a step in that dialect, with a learner's text in place of one of its numbered parts.

    `parts`: the number in the comment that begins the part, or (first, last). The last one ends where the next part
    begins, or the block of lines around that part or around this one. Raises ValueError for a part that the kernel
    has not.
    """
    lines = dialect(name).source_of(ladder.step(step).name).splitlines(keepends=True)
    first, last = parts if isinstance(parts, tuple) else (parts, parts)
    begins = {part_of(line): at for at, line in enumerate(lines) if part_of(line)}
    if not {first, last} <= begins.keys():
        raise ValueError(f"{step} in {name} has no part {parts}; its parts are {', '.join(map(str, begins))}.")
    depth = margin(lines[begins[first]])
    end = begins[last] + 1
    while lines[end].isspace() or (margin(lines[end]) >= depth and part_of(lines[end]) != last + 1):
        end += 1
    if margin(lines[begins[last]]) == depth < margin(lines[end]):  # the next part is in a block that begins before it
        while margin(lines[end]) > depth or lines[end].isspace():
            end -= 1
    while lines[end - 1].isspace():
        end -= 1
    mine = indent(dedent(text).strip("\n"), depth * " ").rstrip()
    return "".join(lines[: begins[first]]) + mine + "\n" + "".join(lines[end:])


def margin(line: str) -> int:
    """The number of spaces that a line begins with."""
    return len(line) - len(line.lstrip(" "))


def part_of(line: str) -> int | None:
    """The number of the part that the line begins; None if it begins none."""
    found = PART.match(line)
    return int(found[1]) if found else None
