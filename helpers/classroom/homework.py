"""The course's exercises as a teacher judges them: what an answer defines, and who judges it, outside its notebook.

A learner's cell holds the answer and a call that checks it. Here only the answer counts: whatever else the cell does is
left out, so that a check that was deleted or edited changes nothing.
"""

import ast
import linecache
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from ..judge import (
    Report,
    check,
    check_also_at,
    check_answer,
    check_loads,
    check_two_sums,
    judge_prefetching,
    judge_search,
    judge_transposed,
    judge_turned,
    with_part,
)
from ..launch import DIALECTS, KernelError, cuda_kernel, opencl_kernel
from ..sandbox import Errand, Finding, apart

SECONDS = 120  # of computing, for one answer; a kernel's own trial has a limit of its own
LONGEST = 100_000  # characters of the cells of one answer

# What answers may use without importing it, as on their pages.
GIVEN = """
import math
import random
import numpy as np
import pyopencl as cl
from numba import cuda, float32, uint32
from helpers import check, cuda_kernel, opencl_kernel, predicted_traffic, with_part
from helpers.ladder import ceil_div
"""
# ... and what page 02 made by hand before its third exercise.
BY_HAND = """
from helpers.devices import opencl_device
context, flags = cl.Context([opencl_device().handle]), cl.mem_flags
queue = cl.CommandQueue(context)
naive_cl = cl.Program(context, opencl_kernel("naive").source).build().naive
"""
# ... and what page 15 has at hand.
PAGE_15 = """
source = opencl_kernel("packed").source
by_name = "fma(a_reg, b_reg[j], acc[i][j])"
"""


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    label   its page and number, "02.1"
    cell    the id of the cell with the stub, the same in every copy of the page
    names   what an answer has to define
    judge   (one value for each of the names) -> Report
    given   Python text: what earlier cells of the page have made for it
    stub    text that only an answer that nobody has changed has, where the stub itself is a wrong answer
    """

    label: str
    cell: str
    names: tuple[str, ...]
    judge: Callable[..., Report]
    given: str = ""
    stub: str = ""

    @property
    def page(self) -> str:
        """The number of its page, "02"."""
        return self.label[:2]


def part_of_kernel(dialect, step, parts, judge=check, **parameters):
    """Judges the text that an answer puts in place of those numbered parts of a step."""
    build = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}[dialect]
    return lambda text: judge(build(with_part(dialect, step, parts, text), like=step, **parameters))


def swapped(text):
    """03.0: part 1 of the naive kernel, for a launch in which x counts columns."""
    return check(opencl_kernel(with_part("OpenCL", "naive", 1, text), like="coalesced"))


def whole_kernel(function):
    """02.1 and 04.1: a `@cuda.jit` function launched like `naive`."""
    return check(cuda_kernel(function, like="naive", BM=4, BN=4))


def keeps_budgets(choice):
    """05.1: sizes of `register_1d` within three budgets."""
    from ..instruments import predicted_traffic

    k = cuda_kernel("register_1d", **(choice | {"BK": 16}))
    x, y = k.block
    used = {"threads": x * y, "sums": choice["TM"], "loads": predicted_traffic(k, 1024, 1024, 1024).global_loads}
    most = {"threads": 256, "sums": 32, "loads": 25_165_824}
    return wishes("budgets", {f"{n:,} {what}, at most {most[what]:,}": n <= most[what] for what, n in used.items()})


def turned(PAD, mine):
    """07.2: `tiled` with its tile of A turned, and the smallest padding without a bank conflict.

    The conflicts are counted with a TILE of 16, so there, too, it has to be right and turned.
    """
    from ..instruments import bank_conflicts

    def padded(pad, TILE):
        source = with_part("CUDA", "tiled", (1, 3), mine)
        return cuda_kernel(source.replace("((TILE, TILE)", f"(({TILE}, {TILE + pad})", 1), like="tiled", TILE=TILE)

    def free(pad):
        rows = [row for row in bank_conflicts(padded(pad, 16), 16, 16, 16).rows if row.what == "store As"]
        return bool(rows) and all(row.pieces == row.fewest for row in rows)

    report = judge_turned(padded(PAD, 4)) and judge_turned(padded(PAD, 16))
    return report and wishes(
        "turned",
        {f"PAD = {PAD}: no conflict": free(PAD), "no smaller padding does": not any(map(free, range(PAD)))},
    )


def double_buffered(mine, double_buffered):
    """08.1: the loop of `tiled` with two tiles, that reads one while the other is on its way."""
    return judge_prefetching(double_buffered(mine))


def patch_for_three_blocks(TM, TN):
    """09.3: a patch of `register_2d` with three wishes, by the compiler's report for an H100."""
    from ..instruments import compiler_report

    k = cuda_kernel("register_2d", BM=16 * TM, BN=16 * TN, BK=16, TM=TM, TN=TN)
    found = compiler_report(k, "H100")
    blocks, fma = found.occupancy.blocks, found.loop.fma_share
    wanted = {f"{blocks} blocks, at least 3": blocks >= 3, f"{fma:.0%} FMA, more than 60 %": fma > 0.6}
    return wishes("patch", wanted | {"fewer than 0.4 reads a product": (TM + TN) / (TM * TN) < 0.4})


def ported(my_lines, frame):
    """13.1: the old ROC kernel in OpenCL, its neighbours reading neighbours."""
    from ..instruments import coalescing

    k = opencl_kernel(frame.replace("MY_LINES", my_lines), like="tiled", TILE=16)
    report = check_also_at(k, (16, 16, 16), "its accesses are looked at")
    if not report:
        return report
    rows = coalescing(k, 16, 16, 16).rows
    return wishes(report.subject, {"every access is coalesced": all(row.pieces == row.fewest for row in rows)})


def own_rung(k):
    """15.1: a kernel that is right and is not the course's."""
    from .entries import code_of

    if code_of(k.source, k.dialect) == code_of(DIALECTS[k.dialect].source_of(k.step), k.dialect):
        return refused("15.1", "not yet", f"It is the course's own {k.step}.")
    return check(k)


def wishes(subject, met):
    """A Report: right if every wish, {what: whether it is met}, is met; "wrong" names those that are not."""
    return Right(subject, tuple(Finding("not met", wish) for wish, done in met.items() if not done), len(met))


class Right(Report):
    """The verdict on an answer that is no kernel."""

    def __repr__(self):
        return f"✓ {self.subject} is right." if self else super().__repr__()


def number(label, cell, name, exercise=None):
    """An exercise whose answer is a function that `check_answer` knows."""
    return Exercise(label, cell, (name,), partial(check_answer, exercise or name))


SMALL_1D = dict(BM=4, BN=16, BK=4, TM=1, TN=4)
SMALL_2D = dict(BM=8, BN=8, BK=4, TM=4, TN=2)
SMALL_PACKED = dict(BM=4, BN=16, BK=8, TM=2, TN=2, VW=4, STRIPS=2)

EXERCISES = {
    exercise.label: exercise
    for exercise in (
        number("00.1", "00-c19", "multiply_adds"),
        number("01.1", "01-c31", "size_at_the_ridge"),
        Exercise("02.1", "02-c41", ("my_naive",), whole_kernel),
        Exercise("02.2", "e7db0c3e", ("mine",), part_of_kernel("OpenCL", "naive", (1, 3))),
        Exercise("02.3", "f473b40a", ("by_hand",), check, BY_HAND),
        Exercise("03.0", "03-c15", ("mine",), swapped),
        number("03.1", "03-c31", "sectors_touched", "sectors"),
        Exercise("03.2", "31110eee", ("mine",), part_of_kernel("OpenCL", "coalesced", 3, judge_transposed)),
        Exercise("04.1", "04-c31", ("mended",), whole_kernel, "TPB = 4", "TPB * cuda.gridDim.x"),
        Exercise("04.2", "e96a363e", ("mine",), part_of_kernel("CUDA", "tiled", (1, 4), check_loads, TILE=4)),
        Exercise("04.3", "3914779a", ("mine",), part_of_kernel("OpenCL", "tiled", (1, 4), check_loads, TILE=4)),
        Exercise("05.1", "05-c25", ("choice",), keeps_budgets, stub="BM=64, BN=64, TM=16"),
        Exercise("05.2", "05-c31", ("my_loop",), part_of_kernel("OpenCL", "register_2d", 3, check_loads, **SMALL_1D)),
        number("06.1", "06-c31", "largest_side"),
        Exercise("06.2", "06-c35", ("my_loop",), part_of_kernel("CUDA", "register_2d", 3, check_loads, **SMALL_2D)),
        number("07.1", "07-c30", "rounds_needed"),
        Exercise("07.2", "07-c41", ("PAD", "mine"), turned),
        Exercise("08.1", "08-c30", ("mine", "double_buffered"), double_buffered),
        number("09.1", "09-c25", "blocks_by_registers"),
        number("09.2", "09-c40", "trap"),
        Exercise("09.3", "09-c29", ("TM", "TN"), patch_for_three_blocks, stub="TM, TN = 8, 8"),
        number("10.1", "10-c28", "fits"),
        Exercise("10.2", "b70c4dfb", ("search",), judge_search),
        number("11.1", "11-c31", "fewest_sums"),
        Exercise("11.2", "f2ca2db6", ("my_packing",), part_of_kernel("OpenCL", "packed", 1, **SMALL_PACKED)),
        number("11.3", "0360cb3b", "tiles_down"),
        number("12.1", "12-c20", "least_seconds"),
        Exercise("12.2", "83f318d0", ("my_part",), part_of_kernel("OpenCL", "tiled", 3, check_two_sums)),
        Exercise("13.1", "13-c23", ("my_lines", "frame"), ported),
        number("14.1", "46a27a456b804aa2a380d5edf15a5daf", "largest_block"),
        Exercise("15.1", "15-c16", ("my_rung",), own_rung, PAGE_15),
    )
}


def judge_source(label: str, source: str) -> Report:
    """Judge the answer that is in the text of an exercise's cells, in a child process. Returns a `Report`."""
    answer = answer_in(label, source)
    return answer if isinstance(answer, Report) else judge_apart(label, answer)


def answer_in(label: str, source: str) -> str | Report:
    """The text of the answer that those cells hold, of which nothing is run; a `Report` where there is none."""
    names = EXERCISES[label].names
    if len(source) > LONGEST:
        return refused(label, "too long", f"{len(source):,} characters; an answer has at most {LONGEST:,}")
    try:
        answer = answer_of(source, names)
        statements = ast.parse(answer).body
        missing = [name for name in names if name not in names_bound(statements)]
    except SyntaxError as error:
        return refused(label, "does not compile", f"line {error.lineno}: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:  # zeros in the text, brackets a thousand deep
        return refused(label, "does not compile", str(error) or type(error).__name__)
    if missing:
        return refused(label, "not yet", f"There is no {' and no '.join(missing)}.")
    stub, binding = EXERCISES[label].stub, [s for s in statements if names[0] in names_bound([s])]
    if stub and stub in answer and len(binding) == 1:
        return refused(label, "not yet", "It is as it was.")
    return answer


def judge_apart(label: str, answer: str) -> Report:
    """Judge the text of an answer in a child process, which is stopped where it never ends. Returns a `Report`."""
    outcome = apart(judge_here, f"exercise {label}", SECONDS, label=label, answer=answer)
    if isinstance(outcome.value, Report):
        return outcome.value
    return Report(label, tuple(outcome.findings), 0)


def judge_here(errand: Errand, label: str, answer: str) -> Report:
    """In the child: run the answer, and judge it. What the text or the judge raises is a finding."""
    exercise, namespace = EXERCISES[label], {"__name__": "__main__"}
    try:
        run(GIVEN + exercise.given, namespace, f"<given to {label}>")
        run(answer, namespace, f"<answer to {label}>")
        return exercise.judge(*(namespace[name] for name in exercise.names))
    except KernelError as error:
        return refused(label, "does not compile", str(error))
    except Exception as error:  # a learner's cell may fail in any way
        return refused(label, "error", f"{type(error).__name__}: {error}, {where(error)}")


def refused(label, kind, message):
    """A Report with that one finding."""
    return Report(label, (Finding(kind, message),), 0)


def where(error):
    """The line of the answer at which it was raised."""
    lines = [n for frame, n in traceback.walk_tb(error.__traceback__) if "answer to" in frame.f_code.co_filename]
    return f"line {lines[-1]}" if lines else "while it was judged"


def run(text, namespace, name):
    """Execute the text, which tracebacks and `inspect` find under that name."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), namespace)


def answer_of(source: str, names: Iterable[str]) -> str:
    """What of a cell's text is the answer: the statements that bind those names, and what these need, in their order.

    A call that checks, a print, a loop that does something else is left out. Magics are, too. Raises SyntaxError.
    """
    from IPython.core.inputtransformer2 import TransformerManager

    text = TransformerManager().transform_cell(source)
    statements, wanted, kept = ast.parse(text).body, set(names), []
    for statement in reversed(statements):
        if names_bound([statement]) & wanted:
            wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            kept.append(statement)
    lines = text.splitlines()
    return "\n".join("\n".join(lines[first_line(s) - 1 : s.end_lineno]) for s in reversed(kept)) + "\n"


def first_line(statement):
    """The number of the statement's first line, its decorators' included."""
    return min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])


def names_bound(statements):
    """The names that these statements bind where they stand, not inside a function."""
    bound = set()
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            bound.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
        else:
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            bound |= {node.id for node in stored if isinstance(node.ctx, ast.Store)}
    return bound
