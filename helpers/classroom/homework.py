"""The course's exercises as a teacher judges them: what an answer defines, and who judges it, outside its notebook.

A learner's cell holds the answer and a call that checks it. Here only the answer counts: whatever else the cell does is
left out, so that a check that was deleted or edited changes nothing.
"""

import ast
import builtins
import contextlib
import itertools
import json
import linecache
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path

from ..judge import (
    CommaIndex,
    Report,
    answered,
    check,
    check_answer,
    check_loads,
    check_two_sums,
    judge_coalesced,
    judge_naive,
    judge_packing,
    judge_panel_step,
    judge_prefetching,
    judge_rounds,
    judge_search,
    judge_transposed,
    judge_turned,
    judge_wgsl,
    judge_wide,
    not_turned,
    refuse_commas,
    unturned,
    with_part,
    wrong_elements,
)
from ..judge.checking import wrong_at
from ..judge.exercises import Answer as NoKernel
from ..ladder import ceil_div
from ..launch import DIALECTS, KernelError, cuda_kernel, draw, opencl_kernel
from ..launch.given import takes, told
from ..sandbox import Errand, Finding, allow, apart, folder_of_a_stranger
from .cells import Cell, names_of, needed

# Of computing, to run an answer and for all trials of its kernels; those of the pages' solutions take six at most.
SECONDS = 20
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
# ... and what page 16 has at hand.
PAGE_16 = """
source = opencl_kernel("packed").source
by_name = "fma(a_reg, b_reg[j], acc[i][j])"
"""
# ... and page 18's product, in Triton.
PAGE_18 = """
@triton.jit
def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    row = tl.program_id(1) * BM + tl.arange(0, BM)[:, None]
    col = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(A + row * K + k[None, :], mask=(row < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * N + col, mask=(k[:, None] < K) & (col < N), other=0.0)
        acc = tl.dot(a, b, acc, PRECISION)
    tl.store(C + row * N + col, acc, mask=(row < M) & (col < N))
"""


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    label   its page and number, "02.1"
    cell    the id of the cell with the stub, the same in every copy of the page
    names   what an answer has to define
    judge   (one value for each of the names) -> Report
    given   Python text: what earlier cells of the page have made for it
    """

    label: str
    cell: str
    names: tuple[str, ...]
    judge: Callable[..., Report]
    given: str = ""

    @property
    def page(self) -> str:
        """The number of its page, "02"."""
        return self.label[:2]


def part_of_kernel(dialect, step, parts, judge=check, **parameters):
    """Judges the text that an answer puts in place of those numbered parts of a step."""
    return lambda text: judge(DIALECTS[dialect].build(with_part(dialect, step, parts, text), like=step, **parameters))


def swapped(text):
    """03.0: part 1 of the naive kernel, for a launch in which x counts columns."""
    return check_loads(opencl_kernel(with_part("OpenCL", "naive", 1, text), like="coalesced"))


def whole_kernel(judge, **block):
    """02.1 and 04.1: a `@cuda.jit` function launched like `naive`."""
    return lambda function: judge(cuda_kernel(function, like="naive", **block))


def whole_tiled(text):
    """04.3: what stands between the braces of an OpenCL kernel, launched like `tiled`."""
    refuse_commas(text)
    head, _, _ = opencl_kernel("tiled", TILE=4).source.partition("\n{")
    return check_loads(opencl_kernel(f"{head}\n{{{text}}}", like="tiled", TILE=4))


def launched_by_hand(by_hand):
    """02.3: a function that launches `naive_cl`, with groups of 16 x 4. Both show with another kernel of that name."""
    report, given = check(by_hand), by_hand.__globals__
    if report and not (large := check(by_hand, [(33, 18, 5), (50, 7, 130)])):  # more than one group along each side
        report = large
    if not report:
        idle = report.findings[0].kind == "not yet" and "naive_cl" in by_hand.__code__.co_names
        seen = Finding("nothing arrives", "C is as it was made; is it copied back from the device?")
        return replace(report, findings=(seen,)) if idle else report
    told = opencl_kernel("naive").source.replace("= acc;", "= 1000 * get_local_size(0) + get_local_size(1);")
    own, A_and_B = given["naive_cl"], draw(33, 9, 5)
    given["naive_cl"] = given["cl"].Program(given["context"], told).build().naive
    try:
        C = by_hand(*A_and_B)
    finally:
        given["naive_cl"] = own
    if not wrong_elements(C, *A_and_B).any():
        return refused("02.3", "not by hand", "It computes C without naive_cl")
    x, y = divmod(int(C.flat[0]), 1000)
    return report if (C == 16004).all() else refused("02.3", "work-group", f"It has {x} x {y} work-items, not 16 x 4")


def keeps_budgets(choice):
    """05.1: sizes of `register_1d` within three budgets."""
    from ..instruments import predicted_traffic

    if not isinstance(choice, dict) or set(choice) != {"BM", "BN", "TM"}:
        return refused("budgets", "error", f"choice is {choice!r}; it should be a dict of BM, BN and TM")
    k = cuda_kernel("register_1d", BK=16, **choice)
    x, y = k.block
    used = {"threads": x * y, "sums": choice["TM"], "loads": predicted_traffic(k, 1024, 1024, 1024).global_loads}
    most = {"threads": 256, "sums": 32, "loads": 25_165_824}
    return wishes("budgets", {f"{n:,} {what}, at most {most[what]:,}": n <= most[what] for what, n in used.items()})


def turned(PAD, mine):
    """09.2: `tiled` with its tile of A turned, and the smallest padding without a bank conflict.

    The conflicts are counted with a TILE of 16, so there, too, it has to be right and turned.
    """
    from ..instruments import bank_conflicts

    def padded(pad, TILE):
        source = with_part("CUDA", "tiled", (1, 3), mine)
        return cuda_kernel(source.replace("((TILE, TILE)", f"(({TILE}, {TILE + pad})", 1), like="tiled", TILE=TILE)

    def free(pad):
        rows = [row for row in bank_conflicts(padded(pad, 16), 16, 16, 16).rows if row.what == "store As"]
        return bool(rows) and all(row.pieces == row.fewest for row in rows)

    report = judge_turned(padded(PAD, 4))
    if report and (found := wrong_at(padded(PAD, 16), (16, 16, 16)) or not_turned(padded(PAD, 16))):
        return replace(report, findings=tuple(found))
    smaller = next((pad for pad in range(min(PAD, 17)) if free(pad)), None) if report and free(PAD) else None
    return report and wishes(
        "turned",
        {f"PAD = {PAD}: no conflict": smaller is not None or free(PAD), "no smaller padding does": smaller is None},
    )


def patch_for_three_blocks(TM, TN):
    """07.3: a patch of `register_2d` with three wishes, by the compiler's report for an H100."""
    from ..instruments import compiler_report

    k = cuda_kernel("register_2d", BM=16 * TM, BN=16 * TN, BK=16, TM=TM, TN=TN)
    found = compiler_report(k, "H100")
    blocks, fma = found.occupancy.blocks, found.loop.fma_share
    wanted = {f"{blocks} blocks, at least 3": blocks >= 3, f"{fma:.0%} FMA, more than 60 %": fma > 0.6}
    return wishes("patch", wanted | {"fewer than 0.4 reads a product": (TM + TN) / (TM * TN) < 0.4})


def ported(my_lines, frame):
    """14.1: the old ROC kernel in OpenCL, its neighbours reading neighbours."""
    refuse_commas(my_lines)
    return judge_coalesced(opencl_kernel(frame.replace("MY_LINES", my_lines), like="tiled", TILE=16))


def own_rung(k):
    """16.1: a kernel that is right and is not the course's."""
    from .entries import not_ones_own

    if k.source == DIALECTS[k.dialect].source_of(k.step):
        return refused("16.1", "not yet", f"It is the course's own {k.step}.")
    if why := not_ones_own(k.source, k.dialect):
        return refused("16.1", *why.split(": ", 1))
    return answered(k, check(k))


def chosen_blocks(choice):
    """18.1: tiles, stages and warps of page 18's product in float16, with four wishes, by counts."""
    from ..instruments import run_triton

    if not isinstance(choice, dict) or set(choice) != {"BM", "BN", "BK", "stages", "warps"}:
        return refused("blocks", "error", f"choice is {choice!r}; it should be a dict of BM, BN, BK, stages and warps")
    M, N, K = 256, 192, 128
    run = run_triton(PAGE_18, M, N, K, "float16", **choice)
    if not run:
        return Report("blocks", tuple(Finding(one.kind, one.message) for one in run.findings), 0)
    programs = ceil_div(M, choice["BM"]) * ceil_div(N, choice["BN"])
    loaded, copies, blocks = run.total("bytes", "global", "load"), run.copies_left, run.occupancy.blocks
    wanted = {f"{programs} programs, at least 6": programs >= 6}
    wanted |= {f"{loaded:,} bytes loaded, at most 330,000": loaded <= 330_000}
    wanted |= {f"{copies} copies left, at least 4": copies >= 4, f"{blocks} blocks, at least 3": blocks >= 3}
    return wishes("blocks", wanted)


def wishes(subject, met):
    """A Report: right if every wish, {what: whether it is met}, is met; "wrong" names those that are not."""
    missed = tuple(Finding("not met", wish) for wish, done in met.items() if not done)
    return Report(subject, missed, len(met)) if missed else NoKernel(subject, (), len(met))


def number(label, cell, name, exercise=None):
    """An exercise whose answer is a function that `check_answer` knows."""
    return Exercise(label, cell, (name,), partial(check_answer, exercise or name))


WALKED = dict(BM=8, BN=8, BK=6, TM=2, TN=2)  # 4 x 4 threads walk over 8 x 6 and 6 x 8 elements
SMALL_2D = dict(BM=8, BN=8, BK=4, TM=4, TN=2)
SMALL_FOURS = dict(BM=8, BN=8, BK=8, TM=4, TN=4)
SMALL_UNITS = dict(BM=64, BN=32, BK=32, WM=32, WN=16)  # each warp has two fragments of A, two of B
SMALL_PACKED = dict(BM=4, BN=16, BK=8, TM=2, TN=2, VW=4, STRIPS=2)

EXERCISES = {
    exercise.label: exercise
    for exercise in (
        number("00.1", "00-c19", "multiply_adds"),
        number("01.1", "01-c31", "size_at_the_ridge"),
        Exercise("02.1", "02-c41", ("my_naive",), whole_kernel(judge_naive, BM=8, BN=4)),
        Exercise("02.2", "e7db0c3e", ("mine",), part_of_kernel("OpenCL", "naive", (1, 3), judge_naive, BM=8, BN=4)),
        Exercise("02.3", "f473b40a", ("by_hand",), launched_by_hand, BY_HAND),
        Exercise("03.0", "03-c15", ("mine",), swapped),
        number("03.1", "03-c31", "sectors_touched", "sectors"),
        Exercise("03.2", "31110eee", ("mine",), part_of_kernel("OpenCL", "coalesced", 3, judge_transposed)),
        Exercise("04.1", "04-c31", ("mended",), whole_kernel(judge_rounds, BM=4, BN=4), "TPB = 4"),
        Exercise("04.2", "e96a363e", ("mine",), part_of_kernel("CUDA", "tiled", (1, 4), check_loads, TILE=4)),
        Exercise("04.3", "3914779a", ("mine",), whole_tiled),
        Exercise("05.1", "05-c25", ("choice",), keeps_budgets),
        Exercise("05.2", "05-c31", ("my_staging",), part_of_kernel("OpenCL", "register_2d", 1, check_loads, **WALKED)),
        number("06.1", "06-c31", "largest_side"),
        Exercise("06.2", "06-c35", ("my_loop",), part_of_kernel("CUDA", "register_2d", 3, check_loads, **SMALL_2D)),
        number("07.1", "07-c25", "blocks_by_registers"),
        number("07.2", "07-c40", "trap"),
        Exercise("07.3", "07-c29", ("TM", "TN"), patch_for_three_blocks),
        number("08.1", "08-c24", "busiest"),
        number("08.2", "08-c28", "idle"),
        Exercise("09.1", "09-c30", ("by_fours",), lambda text: judge_wide(unturned(text, **SMALL_FOURS))),
        Exercise("09.2", "09-c41", ("PAD", "mine"), turned),
        Exercise("10.1", "10-c30", ("mine", "double_buffered"), lambda mine, build: judge_prefetching(build(mine))),
        number("11.1", "11-c28", "fits"),
        Exercise("11.2", "b70c4dfb", ("search",), judge_search),
        number("12.1", "12-c31", "fewest_sums"),
        Exercise(
            "12.2", "f2ca2db6", ("my_packing",), part_of_kernel("OpenCL", "packed", 1, judge_packing, **SMALL_PACKED)
        ),
        number("12.3", "0360cb3b", "tiles_down"),
        number("13.1", "13-c20", "least_seconds"),
        Exercise("13.2", "83f318d0", ("my_part",), part_of_kernel("OpenCL", "tiled", 3, check_two_sums, TILE=8)),
        Exercise("14.1", "14-c23", ("my_lines", "frame"), ported),
        Exercise("14.2", "14-w3", ("my_wgsl",), judge_wgsl),
        Exercise("15.1", "46a27a456b804aa2a380d5edf15a5daf", ("panel_step",), judge_panel_step),
        Exercise("16.1", "16-c16", ("my_rung",), own_rung, PAGE_16),
        number("17.1", "17-c22", "lane_of"),
        Exercise("17.2", "17-c26", ("mine",), part_of_kernel("CUDA", "matrix_units", 3, **SMALL_UNITS)),
        Exercise("18.1", "18-choice", ("choice",), chosen_blocks),
    )
}


@dataclass(frozen=True)
class Answer:
    """What is run of a learner's cells, and then judged.

    text    the statements that the names need, as Python
    whole   what those cells need of earlier ones, and then each of them whole: for what nobody can see in a text
    lacks   what there is to say where `text` does not bind the names, "" where it does
    """

    text: str
    whole: tuple[str, ...]
    lacks: str


@takes
def judge_source(label: str, source: str, trust: bool = False) -> Report:
    """Judge the answer that is in the text of an exercise's cell, in a child process. Returns a `Report`.

    `trust`: without the jail that keeps the answer from this machine's files and network. Raises NoJail where there is
    none, and no trust.
    """
    if label not in EXERCISES:
        raise ValueError(f"there is no exercise {told(label)}; there are: {', '.join(EXERCISES)}.")
    answer = answer_in(label, [Cell(source, label)])
    return answer if isinstance(answer, Report) else judge_answer(label, answer, partial(judge_apart, trust=trust))


def answer_in(label: str, cells: Sequence[Cell], before: Sequence[Cell] = ()) -> Answer | Report:
    """The answer that those cells hold, of which nothing is run; a `Report` where there is none.

    `before`: the page's cells above them, for the names that they need and do not bind.
    """
    exercise = EXERCISES[label]
    if (length := sum(len(cell.source) for cell in cells)) > LONGEST:
        return refused(label, "too long", f"{length:,} characters; an answer has at most {LONGEST:,}")
    broken = next((cell.broken for cell in cells if cell.broken), "")
    binding = [cell for cell in cells if cell.touches & set(exercise.names)]
    stubs = [cell for cell in binding if same(text_of(needed(exercise.names, [cell])), stubs_of_pages()[label])]
    if broken and stubs == binding:
        return refused(label, "does not compile", broken)
    if binding and stubs == binding:
        return refused(label, "not yet", "It is as it was.")
    cells = sorted(cells, key=lambda cell: cell not in stubs)  # of a stub that was kept and an answer the answer counts
    binds = {name for cell in cells for name in cell.binds}
    reads = {name for cell in cells for statement in cell.statements for name in statement.reads}
    given, before = names_of(GIVEN + exercise.given)[0], latest(before)
    found = needed(exercise.names, cells, before, given)
    whole = needed(reads, (), before, given | binds), *(cell.statements for cell in cells)
    missing = [name for name in exercise.names if not any(name in statement.binds for statement in found)]
    others = sorted(binds - names_of(stubs_of_pages()[label])[0])
    lacks = f"There is no {' and no '.join(missing)}, and an answer is looked for under that name" if missing else ""
    lacks += f"; here is {', '.join(others[:4])}" if missing and others else ""
    return Answer(text_of(found), tuple(filter(None, map(text_of, whole))), lacks)


def text_of(statements):
    """The statements as one text."""
    return "".join(f"{statement.text}\n" for statement in statements)


def latest(cells):
    """The last of the cells, as many as one looks through."""
    lengths = itertools.accumulate(len(cell.source) for cell in reversed(cells))
    return cells[len(cells) - sum(length <= LONGEST for length in lengths) :]


@cache
def stubs_of_pages() -> dict[str, str]:
    """{label: the answer in the stub that nobody has changed}, as `tools/exercises.py` finds them in the pages."""
    return json.loads(Path(__file__).with_name("stubs.json").read_text(encoding="utf-8"))


def same(text, other):
    """Whether two texts are the same Python, comments aside. One that is too deep to be looked at is none's stub."""
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(other))
    except RecursionError:
        return False


def judge_answer(label: str, answer: Answer, attempt: Callable[..., Report]) -> Report:
    """Judge an answer. Returns a `Report`: that on its text, or, where this ends in an error, that on whole cells.

    `attempt`: `judge_apart`, or what remembers for it.
    """
    report = refused(label, "no answer", answer.lacks) if answer.lacks else attempt(label, (answer.text,))
    if report or report.findings[0].kind not in ("error", "no answer") or not answer.whole:
        return report
    return attempt(label, answer.whole) or report


def judge_apart(label: str, texts: tuple[str, ...], whose: str = "", trust: bool = False) -> Report:
    """Run the texts, and judge the answer, in a child process, which is stopped where it never ends.

    `whose`: a student's name, for a progress bar. `trust`: as for `judge_source`.
    """
    about = {"label": label, "texts": texts, "limit": SECONDS}
    outcome = apart(judge_here, f"{whose} exercise {label}".strip(), SECONDS, trust, **about)
    if outcome.findings:
        return Report(label, tuple(outcome.findings), 0)
    try:
        return verdict_of(*outcome.value)
    except (ValueError, TypeError, LookupError):
        return refused(label, "crash", "it wrote something else than a verdict")


def verdict_of(kind: str, said: dict) -> Report:
    """A verdict from what JSON kept of it. Raises ValueError, TypeError or LookupError for anything else."""
    findings = [Finding(str(f["kind"]), str(f["message"]), tuple(map(int, f["lines"]))) for f in said["findings"]]
    return {verdict.__name__: verdict for verdict in (Report, *Report.__subclasses__())}[kind](
        str(said["subject"]),
        tuple(findings),
        int(said["shapes"]),
        str(said["source"]),
        tuple(map(str, said["not_looked_for"])),
        tuple(map(int, said["largest"])),
    )


def judge_here(errand: Errand, label: str, texts: tuple[str, ...], limit: float) -> tuple[str, dict]:
    """In the child: run the answer, and judge it. What the text or the judge raises is a finding.

    Returns (the class of the verdict, what is in it). `limit`: seconds, for it and for the trials of its kernels.

    A text that fails does not keep the next from running, as in a notebook, nor what has its value from being judged.
    """
    exercise, namespace, failed = EXERCISES[label], {"__name__": "__main__"}, None
    # The folder is for the files that it writes.
    with allow(limit), folder_of_a_stranger() as folder, contextlib.chdir(folder):
        try:
            execute(GIVEN + exercise.given, namespace, f"<given to {label}>")
            for number, text in enumerate(texts):
                try:
                    execute(text, namespace, f"<answer to {label}, {number}>")
                except BaseException as error:
                    failed = error
            if unbound := [name for name in exercise.names if name not in namespace]:
                raise failed or NameError(f"{' and '.join(unbound)} got no value")
            try:
                report = exercise.judge(*(namespace[name] for name in exercise.names))
            except Exception as error:
                raise failed or error from None
            if failed and not report:
                raise failed
        except CommaIndex as error:
            report = refused(label, "comma index", str(error))
        except KernelError as error:
            report = refused(label, "does not compile", str(error))
        except SystemExit as error:
            report = refused(label, "exit", f"it ends the program: exit({error.code!r}){where(error)}")
        except BaseException as error:  # a learner's cell may fail in any way
            report = refused(label, "error", f"{type(error).__name__}: {error}{where(error)}")
    unknown = sorted(names_of("".join(texts))[1] - namespace.keys() - set(dir(builtins)))
    if unknown and not report:
        first, *rest = report.findings
        said = f"{first.message.rstrip('.')}; no cell up to this one defines {', '.join(unknown[:4])}"
        report = replace(report, findings=(replace(first, message=said), *rest))
    return type(report).__name__, asdict(report)


def refused(label, kind, message):
    """A Report with that one finding."""
    return Report(label, (Finding(kind, message),), 0)


def where(error):
    """The line of the answer at which it was raised."""
    lines = [frame.line for frame in traceback.extract_tb(error.__traceback__) if "answer to" in frame.filename]
    return f", in {lines[-1]!r:.100}" if lines else ", while it was judged"


def execute(text, namespace, name):
    """Execute the text, which tracebacks and `inspect` find under that name."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), namespace)


def answer_of(source: str, names: Iterable[str]) -> str:
    """What of a cell's text is the answer to an exercise that asks for those names."""
    return text_of(needed(names, [Cell(source)]))
