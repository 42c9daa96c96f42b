"""Page 14: a kernel of Numba's old ROC dialect in OpenCL, whose sectors are counted; AMD's FMA."""

import re
from dataclasses import replace
from itertools import combinations

from ..instruments import coalescing
from ..judge.other_sizes import code_of
from ..judge.reference import launched, wrong_elements
from ..judge.report import Report
from ..launch import Kernel, draw
from ..launch.kernel import parameters_like
from ..roc.amd import amd_report
from ..sandbox import Finding, Job, in_child
from .loads import check_loads
from .rules import BY_NUMBERS, MissesTheIdea, judged, right


def judge_fma(k: Kernel) -> Report:
    """Check a CUDA kernel; in an MI300X's code its loop shall multiply and add in float32, with one instruction."""
    return judged(k, right(k), widened)


def widened(k: Kernel) -> list[Finding]:
    """What shows that no FMA of float32 is in the inner loop, or that its numbers are made wider there."""
    mix = amd_report(k, "MI300X").mix
    wide = {kind: n for kind, n in mix.items() if kind == "conversion" or "float64" in kind}
    if "FMA" in " ".join(kind for kind in mix if kind not in wide) and not wide:
        return []
    inside = ", ".join(f"{n} {kind}" for kind, n in (wide or mix).items())
    return [Finding("no FMA", f"an MI300X's inner loop has {inside or 'no product'}; of which type is the sum?")]


def judge_coalesced(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, count its loads, then its sectors: no more than could do.

    Where its numbers are wrong, lines that name x and y are tried with the two exchanged.
    """
    tile = parameters_like(k, "tiled")["TILE"]
    report = check_loads(k, tile, tile, tile)
    if not report:
        return exchanged(k, report)
    return judged(k, report, apart)


def apart(k: Kernel) -> list[Finding]:
    """The lines of a kernel like `tiled` that touch more sectors than could do, in a product of one tile."""
    tile = k.parameters["TILE"]
    text = "{0.what}: {0.pieces} sectors, where {0.fewest} do"
    rows = [row for row in coalescing(k, tile, tile, tile).rows if row.pieces > row.fewest]
    return [Finding("not coalesced", text.format(row), (row.line,)) for row in rows]


def exchanged(k: Kernel, report: Report) -> Report:
    """The report; or, where tx and ty exchanged in one line or in some make the kernel right, these lines."""
    if isinstance(report, MissesTheIdea) or k.dialect != "OpenCL" or report.findings[0].kind not in BY_NUMBERS:
        return report
    lines = enumerate(code_of(k).splitlines(), 1)
    both = [n for n, line in lines if {"tx", "ty"} <= {*re.findall(r"\w+", line)} and "get_local_id" not in line][:4]
    choices = [chosen for count in range(1, len(both) + 1) for chosen in combinations(both, count)]
    outcome = in_child(k, first_right, sources=[with_exchanged(k.source, chosen) for chosen in choices])
    if outcome.value is None:
        return report
    lines = choices[outcome.value]
    where = "this line" if len(lines) == 1 else "these lines"
    return replace(report, findings=(Finding("x and y swapped", f"right with tx and ty exchanged in {where}", lines),))


def with_exchanged(source: str, lines: tuple[int, ...]) -> str:
    """The source with ty for tx and tx for ty in the lines of these numbers."""
    text = source.splitlines()
    for n in lines:
        text[n - 1] = re.sub(r"\bt([xy])\b", lambda found: "ty" if found[1] == "x" else "tx", text[n - 1])
    return "\n".join(text)


def first_right(job: Job, sources: list[str]) -> int | None:
    """In the child: the number of the first source whose product is right; None if none is."""
    for number, source in enumerate(sources):
        k = replace(job, kernel=source).build()
        tile = k.parameters["TILE"]
        A, B = draw(tile + 1, 2 * tile + 1, 2 * tile + 3)
        if not wrong_elements(launched(k, A, B), A, B).any():
            return number
    return None
