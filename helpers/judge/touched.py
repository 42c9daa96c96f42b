"""Judges a kernel by what it touches: right numbers are not enough, or are not looked at."""

import ast
import re
from dataclasses import replace
from itertools import combinations

import numpy as np

from .. import ladder
from ..instruments import coalescing, trace
from ..instruments.accesses import grouped
from ..instruments.loads import predicted_traffic, refuse_wgsl
from ..instruments.traces import Trace
from ..launch import DIALECTS, Kernel, KernelError, draw
from ..launch.given import takes
from ..launch.kernel import parameters_like
from ..sandbox import SECONDS, Finding, Job, in_child, oclgrind_findings
from .checking import check, check_also_at, right_with
from .parts import without_comments
from .reference import launched, wrong_elements
from .report import Report
from .trials import products

# What the numbers alone showed. Of the other kinds, somebody watched the cause.
BY_NUMBERS = {"wrong numbers", "wrong index", "wrong row", "wrong column", "wrong place"}
BY_NUMBERS |= {"K is cut", "edge", "transposed"}
NOTHING = ("not yet", "zeros", "nothing stored")  # what C shows where nothing came of a kernel


class MissesTheIdea(Report):
    """The verdict on a kernel that is right and still misses the idea."""

    def __repr__(self):
        text = f"✗ {self.subject} computes the right C, but misses the idea."
        return text + super().__repr__().removeprefix(f"✗ {self.subject} is wrong.")


def misses(report: Report, *findings: Finding) -> Report:
    """The verdict on a kernel of which `report` says that it is right, and of which these findings say the rest."""
    return MissesTheIdea(report.subject, findings, report.shapes, report.source) if findings else report


def answered(k: Kernel, report: Report) -> Report:
    """The report; where that is "not yet" and the kernel reads what it is about, what was seen instead.

    "Not yet" is for the placeholder that nobody has changed, and that reads neither A, nor B, nor a tile.
    """
    if report or report.findings[0].kind not in NOTHING or not reads(k):
        return report
    said = report.findings[0].message.rstrip(".")
    found = Finding("nothing arrives", f"{said}. It reads numbers; follow them through the sum into C")
    outcome = products(k, [[1000 + np.abs(X) for X in draw(*ladder.STEPS[k.step].tile(k.parameters))]])
    if outcome.value and np.nan_to_num(outcome.value[0]).any():
        text = f"{said}, but not with numbers a thousand times as large: an int cuts them off"
        found = Finding("whole numbers", text)
    return replace(report, findings=(found,))


def traced(k: Kernel, *shape: int) -> Trace | None:
    """The kernel's `Trace` at that shape M, N, K; None where nothing can follow it."""
    try:
        return trace(k, *shape)
    except (KernelError, ValueError):
        return None


def reads(k: Kernel) -> bool:
    """Whether threads read A, B and, if the rung does that, shared memory, in a product of one tile."""
    seen = traced(k, *ladder.STEPS[k.step].tile(k.parameters))
    if seen is None:
        return False
    shared = predicted_traffic(k, 8, 8, 8).shared_loads == 0 or len(seen.where(memory="shared", writes=False))
    return all(len(seen.where(array=name, writes=False)) for name in "AB") and bool(shared)


# ------------------------------------------------------------------------------------------------------- addresses


@takes
def judge_transposed(k: Kernel) -> Report:
    """Judge a kernel for C = A @ B.T, with B stored as N rows of K: the addresses that each thread touches, then C.

    `check` knows A @ B only. Returns a `Report`, true when right. Addresses explain wrong numbers; where the numbers
    are right, they may still miss the idea. Raises ValueError for WGSL, which nothing here follows.
    """
    refuse_wgsl(k)
    seen = traced(k, 5, 5, 7), traced(k, 5, 7, 3)
    if all(one is not None and not len(one.accesses) for one in seen):
        return Report(str(k), (Finding("not yet", "No element of C is ever written."),), 1, k.source)
    # In the first one, most wrong formulas stay inside the arrays, so that what they touch can be told.
    stray = misread(k, 5, 5, 7) or misread(k, 5, 7, 3)
    far = FAR if k.dialect == "OpenCL" else []  # Python's whole numbers have no end
    for shapes, limit in ((SHAPES, SECONDS), (LONG, QUICK_SECONDS), (far, QUICK_SECONDS)):
        operands = [draw(*shape) for shape in shapes]
        outcome = products(k, operands, limit, {})
        wrong = oclgrind_findings(outcome.log, k.source)
        for (A, B), C in zip(operands, outcome.value or (), strict=False):
            if not wrong and wrong_elements(C, A, B.reshape(B.shape[::-1]).T).any():
                at = f"{C.shape[0]} x {C.shape[1]} x {len(B)} (M x N x K)"
                wrong = [Finding("wrong numbers", f"numbers of C are not right, for example at {at}")]
        wrong = wrong or outcome.findings
        if wrong:
            break
    if shapes is LONG and [finding.kind for finding in wrong] == ["hang"]:
        text = "right where M, N and K are up to 101, and never done where they are 300: can its counters hold 300?"
        wrong = [Finding("hang", text)]
    report = Report(str(k), tuple(wrong), len(SHAPES + LONG + far), k.source)
    if stray and report:
        return misses(report, stray)
    return replace(report, findings=(stray,)) if stray else report


SHAPES = [(5, 7, 3), (1, 1, 1), (17, 31, 23), (1, 1, 101)]
LONG = [(2, 1, 300), (1, 300, 2), (300, 1, 2)]  # longer than a counter of 8 bits counts
# A row, and positions in A, B and C, that 16 bits do not hold.
FAR = [(1, 1, 66_000), (300, 1, 221), (1, 300, 221), (260, 260, 1)]
QUICK_SECONDS = 5  # of computing: several times what a right kernel takes for the long ones, or for the far ones


def misread(k: Kernel, M: int, N: int, K: int) -> Finding | None:
    """The first element of C = A @ B.T whose thread reads or stores elsewhere, as a `Finding`; None if none does."""
    try:
        touched = trace(k, M, N, K).accesses
    except (KernelError, ValueError) as error:
        if at := re.search(r"line (\d+) (.*)", str(error)):
            return Finding("out of bounds", f"it {at[2].rstrip('.')}", (int(at[1]),))
        return Finding("error", str(error))
    if not len(touched):
        return Finding("unwritten", f"nothing is read or stored at {M} x {N} x {K} (M x N x K)")
    number = grouped(*touched["block"].T, touched["thread"])
    threads = [touched[number == n] for n in np.unique(number)]
    loads = [{name: a[(a["array"] == name) & ~a["writes"]] for name in "AB"} for a in threads]
    sums = [tuple(whole_row(a["index"].tolist(), K) for a in mine.values()) for mine in loads]
    all_there = set(sums) == set(np.ndindex(M, N))  # then it is the store
    for a, mine, (row, col) in zip(threads, loads, sums, strict=True):
        stores = a[a["writes"]]
        places = set(stores["index"].tolist())
        if all_there and places != {row * N + col}:
            where = f"stored at {min(places)} of C" if places else "stored nowhere"
            text = f"the sum of row {row} of A and row {col} of B is {where}; it belongs at {row * N + col}"
            return Finding("wrong index", f"{text}, which is C[{row}, {col}]", lines_of(stores))
        for place in () if all_there else places:
            row, col = divmod(place, N)
            for (name, at), first in zip(mine.items(), (row * K, col * K), strict=True):
                given, wanted = sorted(at["index"].tolist()), list(range(first, first + K))
                if given != wanted:
                    kind = "too many loads" if set(wanted) <= set(given) else "wrong index"
                    text = f"for C[{row}, {col}] it reads {name} at the positions {given}; it should read {wanted}"
                    return Finding(kind, text, lines_of(at))
    return None


def whole_row(positions: list[int], K: int) -> int | None:
    """The number of the row whose K positions these are, each once, such as 2 for [6, 7, 8] and K = 3; None if none."""
    row = min(positions, default=0) // K
    return row if sorted(positions) == list(range(row * K, (row + 1) * K)) else None


def lines_of(accesses: np.ndarray) -> tuple:
    """The lines of k.source at which these accesses are made."""
    return tuple(sorted(set(accesses["line"].tolist()) - {0}))


# ----------------------------------------------------------------------------------------------------------- loads


@takes
def check_loads(k: Kernel, M: int = 16, N: int = 16, K: int = 16) -> Report:
    """Check a kernel, then count what it loads: no more than the rung that it is launched like. Returns a `Report`.

    It counts at M, N, K and where each side is one shorter, since whole tiles hide what is loaded in place of zeros.
    Neighbours in x shall read neighbours where they do in that rung, and no number may be staged that belongs to
    another row of A. It has to be right at the shape that is counted, too: one that leaves its products out there
    loads little.
    """
    report = answered(k, check_also_at(k, (M, N, K), "its loads are counted"))
    if not report:
        return report
    shorter = [max(1, side - 1) for side in (M, N, K)]
    try:
        findings, at_edges = loads_too_much(k, M, N, K), loads_too_much(k, *shorter)
    except (KernelError, ValueError) as error:
        return replace(report, not_looked_for=(*report.not_looked_for, f"how much it loads: {error}"))
    if findings := findings or reads_apart(k):
        return misses(report, *findings)
    if spoilt := takes_anothers_row(k):
        return replace(report, findings=tuple(spoilt))
    return misses(report, *at_edges)


def loads_too_much(k: Kernel, M: int, N: int, K: int) -> list[Finding]:
    """The memories from which it loads more than the rung that it is launched like, in that product.

    Raises ValueError or KernelError where nothing can follow it.
    """
    seen = trace(k, M, N, K)  # as the source has them; a compiler may take some away
    loads, most = seen.where(writes=False), predicted_traffic(k, M, N, K)
    # To sum in C itself costs time, and no idea.
    counts = loads["array"] != ("" if ladder.STEPS[k.step].reuse else "C")
    mine = {memory: int((counts & (loads["memory"] == memory)).sum()) for memory in ("global", "shared")}
    most = {"global": most.global_loads, "shared": most.shared_loads}
    return [
        Finding("too many loads", f"{mine[memory]:,} from {memory} memory at {M} x {N} x {K}, where {needed:,} do")
        for memory, needed in most.items()
        if mine[memory] > needed
    ]


def reads_apart(k: Kernel) -> list[Finding]:
    """Threads beside each other in x that read A or B further apart than those of the rung that k is launched like.

    Counted in stretches of 4 numbers, which a row of threads touches with one instruction.
    """
    rung = DIALECTS[k.dialect].build(k.step, k.device if k.dialect == "OpenCL" else None, **k.parameters)
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    mine, most = (stretches(trace(one, rows, columns, depth), k.block[0]) for one in (k, rung))
    for name, length in zip("AB", (depth, columns), strict=True):
        if mine[name][0] > most[name][0]:
            first, second = (divmod(index, length) for index in mine[name][1])
            text = f"neighbours in x do not read {name} together"
            if first != second:
                text = f"of two threads beside each other in x, one reads {name}[{first[0]}, {first[1]}]"
                text += f" and the other {name}[{second[0]}, {second[1]}]"
            return [Finding("not coalesced", f"{text}; {mine[name][0]} pieces of 16 bytes, where {most[name][0]} do")]
    return []


def stretches(seen: Trace, across: int) -> dict[str, tuple]:
    """{matrix: (pieces of 4 numbers that all rows of threads touch there, the indices of two neighbours)}."""
    found = {}
    for name in "AB":
        a = seen.where(array=name, writes=False)
        row = grouped(a["line"], *a["block"].T, a["round"], a["thread"] // across)
        pieces = len(np.unique(grouped(row, a["index"] // 4)))
        order = np.lexsort((a["thread"], row))
        a, row = a[order], row[order]
        beside = (np.diff(row) == 0) & (np.diff(a["thread"]) == 1)
        apart = np.flatnonzero(beside & (np.abs(np.diff(a["index"])) > 1))[:1]
        found[name] = pieces, a["index"][[*apart, *apart + 1]].tolist() or (0, 0)
    return found


def takes_anothers_row(k: Kernel) -> list[Finding]:
    """A row of C that is spoilt where the next row of A is infinite: it stages numbers of that row, times zero.

    Only OpenCL's arrays have no ends of rows that a guard for memory alone could miss.
    """
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    if k.dialect != "OpenCL" or rows < 2:
        return []
    A, B = draw(2, columns, depth + 1)
    A[1] = np.inf
    C = launched(k, A, B)
    if not wrong_elements(C[:1], A[:1], B).any():
        return []
    text = (
        f"with numbers in row 0 of A, and inf in row 1, row 0 of C is no number (K = {depth + 1}): beyond the end of "
        f"row 0 it takes row 1, times zero, and 0 * inf is no number. The guard of A asks for a column below K"
    )
    return [Finding("another row", text)]


@takes
def judge_coalesced(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, count its loads, then its sectors: no more than could do.

    Where its numbers are wrong, lines that name x and y are tried with the two exchanged.
    """
    tile = parameters_like(k, "tiled")["TILE"]
    report = check_loads(k, tile, tile, tile)
    if not report:
        return exchanged(k, report)
    apart = [row for row in coalescing(k, tile, tile, tile).rows if row.pieces > row.fewest]
    text = "{0.what}: {0.pieces} sectors, where {0.fewest} do"
    return misses(report, *(Finding("not coalesced", text.format(row), (row.line,)) for row in apart))


def exchanged(k: Kernel, report: Report) -> Report:
    """The report; or, where tx and ty exchanged in one line or in some make the kernel right, these lines."""
    if isinstance(report, MissesTheIdea) or k.dialect != "OpenCL" or report.findings[0].kind not in BY_NUMBERS:
        return report
    lines = enumerate(without_comments(k.source).splitlines(), 1)
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


# ------------------------------------------------------------------------------------------- page 02: who computes what


@takes
def judge_naive(k: Kernel) -> Report:
    """Check a kernel launched like `naive`: each thread its own element, from the numbers of its block and itself.

    It has to be right with blocks of other shapes, too, and without the words that give the element away. Raises
    ValueError for WGSL, which nothing here follows.
    """
    refuse_wgsl(k)
    seen = traced(k, 9, 9, 1)  # more than one block along each side, and few products, should all do all of them
    if seen and (several := stored_by_several(k, seen)):
        return Report(str(k), (several,), 1, k.source)
    report = right_with(k, check_loads(k), dict(BM=3, BN=5), dict(BM=6, BN=2))
    if k.dialect == "CUDA":
        used = ["cuda.grid"] * any(re.search(r"\bgrid$", name) for name in called(k.source))
    else:
        code = without_comments(k.source)
        used = [word for word in ("get_global_id", "return") if re.search(rf"\b{word}\b", code)]
    if not report or not used:
        return report
    return misses(report, Finding("not allowed", f"this exercise does without {' and '.join(used)}"))


def called(source: str) -> set[str]:
    """The names of all that Python source calls, such as {"cuda.grid", "range"}; those of a docstring are none."""
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}


def stored_by_several(k: Kernel, seen: Trace) -> Finding | None:
    """An element of C that more than one thread stores, and by how many of them; None if there is none."""
    stores = seen.where(array="C", writes=True)
    who = grouped(*stores["block"].T, stores["thread"])
    elements, _ = np.unique(np.stack([stores["index"], who]), axis=1)
    elements, times = np.unique(elements, return_counts=True)
    if max(times, default=0) < 2:
        return None
    M, N = seen.shapes["C"]
    row, col = divmod(elements[times.argmax()].item(), N)
    all_of_it = len(elements) == M * N and times.min() == len(np.unique(who)) > 1
    text = f"C[{row}, {col}] is stored by {times.max()} threads at {M} x {N} (M x N)"
    text += ": every thread computes all of C" if all_of_it else "; each thread has an element of its own"
    return Finding("stored twice", text, lines_of(stores))


@takes
def judge_rounds(k: Kernel) -> Report:
    """Check a tiled kernel launched like `naive`, whose rounds shall come from K: as many as K has tiles.

    Counted where K has more tiles than C has blocks a side, and where it has fewer.
    """
    tile = k.parameters["BM"]
    for shape, needed in (((tile, tile, tile + 1), 2), ((2 * tile, 2 * tile, tile), 1)):
        seen = traced(k, *shape)
        if seen is None:
            break
        staged = seen.where(memory="shared", writes=True, thread=0)
        staged = staged[(staged["array"] == staged["array"][:1]) & (staged["block"] == staged["block"][:1]).all(axis=1)]
        if len(staged) == needed:
            continue
        few = len(staged) <= needed + 1  # to check many rounds would take minutes
        report = check(k) if few else Report(str(k), (), 1, k.source)
        if not report:
            return report
        text = f"it stages {len(staged)} tiles of a matrix where K is {shape[2]} and the tile {tile} wide"
        found = Finding("rounds", f"{text}; {needed} would do", lines_of(staged))
        return misses(report, found) if few else replace(report, findings=(found,))
    return check(k)


# ----------------------------------------------------------------------------------------------- page 09: a turned tile


@takes
def judge_turned(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, then its tiles: A[row, k] in As[k, row], but B[k, col] in Bs[k, col]."""
    tile = parameters_like(k, "tiled")["TILE"]
    report = check_loads(k, tile, tile, tile)
    return misses(report, *not_turned(k)) if report else report


def not_turned(k: Kernel) -> list[Finding]:
    """A number of A that is not at the turned place in As, or one of B not at its own in Bs, where K is one tile."""
    tile = k.parameters["TILE"]
    a = trace(k, tile, tile, tile)
    for name in "AB":
        stored = a.where(array=f"{name}s", writes=True)
        if not len(stored):
            return [Finding("not turned", f"nothing is stored in {name}s")]
        for access in stored:
            place = divmod(access["index"].item(), a.shapes[f"{name}s"][1])
            mine = [divmod(n, tile) for n in a.where(array=name, thread=access["thread"])["index"].tolist()]
            if (place[::-1] if name == "A" else place) not in mine:
                what = f"{name}[{mine[0][0]}, {mine[0][1]}]" if mine else f"what its thread has not read from {name}"
                told = f"{what} is stored at {name}s[{place[0]}, {place[1]}]"
                return [Finding("not turned", told) if name == "A" else Finding("not in place", told)]
    return []
