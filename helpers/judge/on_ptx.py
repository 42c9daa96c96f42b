"""Tries a CUDA kernel compiled, on the PTX machine: in this process, or in a child where this one has a GPU.

Numba's compiler refuses it, in words that `REMEDIES` has the cure for, or it runs twice: as code that keeps each access
of the source to arrays, watched, and as a GPU would get it, at more shapes. In both, what the source has not set holds
NaN or -1 in place of the zero that Numba lays there, which no GPU promises.
"""

import functools
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

import ptx_machine
from cuda_without_gpu import to_ptx

from .. import devices, ladder
from ..errors import OutOfTime, in_our_words
from ..launch import Kernel, KernelError, draw, numba_internals, refusals
from ..launch.on_ptx import ARGUMENTS, EXAMPLE, run_arrays
from ..sandbox import Finding, Job, in_child, source_line
from ..sandbox.progress import ProgressBar
from .argument_order import another_order, may_be_the_order, other_orders, whole_tiles
from .diagnosis import Launch, diagnose
from .in_time import limited, more_said, still_ran
from .other_sizes import at_sizes, other_sizes, takes_all_sizes, wrong_at_other_sizes
from .private_memory import too_much_kept
from .reference import drawn_for, wrong_elements
from .shapes import compiled_shapes, long_shapes, shapes_for, tile_and_block, usual_shapes
from .stores import nine_blocks, overlap
from .trials import Trial

# What a check may spend, in `cost`: about 0.1 s of computing a million, watched, and half of that as a GPU gets it.
WATCH_FOR, RUN_FOR = 10_000_000, 2_000_000
A_LAUNCH = 50_000  # of these, whatever it does
SIDE_BY_SIDE = 3000  # threads, for which the machine takes twice as long as for one
SMALL = (1, 1, 1)

# A store to a whole row: Numba fills it with the number.
WHOLE_ROW = re.compile(r"^\s*C\[(?P<index>(?:[^\[\],:]|\[\d\])+)\] *[-+]?=(?!=)", re.MULTILINE)
# How the PTX machine says where an access lies.
OUTSIDE = re.compile(
    r"(?P<who>.*) (?P<does>loads|stores) \d+ bytes outside every array of \w+ memory"
    r"(, \d+ bytes |: the last \d+ of them lie |)(?P<where>(behind the end of|before) \w+|)(?P<times>( \(\d+ times\))?)"
)
RACE = re.compile(
    r".* of block (?P<block>\(.*?\)) (?P<now>reads|writes|changes) (element \d+ of )?(?P<array>\w+).*?, "
    r"which .* of block (?P<other>\(.*?\))( and others)? (?P<before>read|wrote|changed|touched)\b.*"
)
# Races come of an index that is too large; that a load finds nothing comes of a race.
CLEAREST = {"out of bounds": 0, "uninitialised": 2}
MISSING = "unwritten", "uninitialised", "race", "wrong numbers"  # what comes of threads that pass no barrier


def try_on_ptx(k: Kernel, given: list) -> Trial:
    """Compile a CUDA kernel and run it, watched, on those shapes (M, N, K), or on such as suit it."""
    if not devices.compiling():  # Numba compiles for the GPU here
        outcome = in_child(k, try_there, own=k.own, source=k.source, given=given)
        return outcome.value or Trial(outcome.findings, (), [SMALL])
    if k.runs_natively:  # all of them are multiplied natively after that
        given = [shape for shape in given if cost(k, shape) <= WATCH_FOR]
    there = as_on_gpu(k)
    outcome = watched(there, given)
    if not outcome.findings:
        k.compile()  # which tells whether it runs natively
    if there.parameters != k.parameters and outcome.findings and outcome.findings[0].kind != "does not compile":
        first, *rest = outcome.findings
        text = f"with {ladder.spell(there.parameters)}, {first.message}"
        return outcome._replace(findings=[replace(first, message=text), *rest])
    return outcome


def as_on_gpu(k: Kernel) -> Kernel:
    """The kernel on the PTX machine: with a GPU's sizes, where no GPU launches its own and the source takes others."""
    step, sizes = ladder.STEPS[k.step], k.parameters
    if not step.fits(sizes, devices.PTX_MACHINE) and takes_all_sizes(k):
        sizes = step.defaults_for(devices.PTX_MACHINE)
    there = at_sizes(k, sizes)
    there.device, there.native, there.build_seconds = devices.PTX_MACHINE, None, None
    return there


def watched(k: Kernel, given: list) -> Trial:
    """What `try_on_ptx` does, for a kernel on the PTX machine."""
    try:
        kernel = to_ptx.compiled_for(k.function, *EXAMPLE)
    except Exception as error:  # Numba raises many kinds, each of which is about the kernel
        return Trial([refused(k, error)], (), [SMALL])
    if found := too_much_kept(k):
        return Trial(found, (), [SMALL])
    watch, more = given, given
    if not given:
        small = shapes_for(k)
        watch = [*affordable(k, [*small, *long_shapes(k)], WATCH_FOR)]
        watch += [shape for shape in small[2:3] if shape not in watch]  # of several blocks and K-tiles
        watch += [(*tile_and_block(k)[0][:2], 1)] * (k.inputs != "float32")  # each of many numbers rounded once
        left = [shape for shape in small if shape not in watch]
        others = [*long_shapes(k), *compiled_shapes(k), *usual_shapes(k)]
        more = left + affordable(k, others, RUN_FOR - sum(cost(k, one) for one in left))
    right = []
    try:
        with in_our_words(), limited():
            for level, shapes in ((to_ptx.WATCHED, watch), (to_ptx.COUNTED, more)):
                if findings := run_all(k, kernel, level, shapes, right):
                    order = more_said(order_of, k, kernel) if may_be_the_order(findings) else []
                    return Trial(order or findings, (), shapes)
            return Trial([] if given else at_another_size(k), (), list(dict.fromkeys([*watch, *more])))
    except OutOfTime as late:
        return so_far(late, right, given or shapes_for(k))
    except KernelError as error:  # no fault of the kernel
        raise KernelError(f"{k} cannot be tried here: {error}") from None


def so_far(late: OutOfTime, right: list, needed: list) -> Trial:
    """The verdict on what had no time left, and was `right` at those shapes: right, where it `needed` no others."""
    right = list(dict.fromkeys(map(tuple, right)))
    if {*map(tuple, needed)} <= {*right}:
        where = f", in line {late.line}" * bool(late.line)
        return Trial([], (f"what other sizes show: {late}{where}",), right)
    return Trial([Finding("too slow", str(late), (late.line,) * bool(late.line))], (), right)


def try_there(job: Job, own: bool, source: str, given: list) -> Trial:
    """In the child: `try_on_ptx`. `own`: whether the kernel is a learner's; `source`: as that process has it."""
    k = job.build()
    k.own, k.source = own, source
    return try_on_ptx(k, given)


def at_another_size(k: Kernel) -> list[Finding]:
    """What is wrong with a kernel that takes its sizes as parameters, where they are others: two sizes mixed up."""
    for other in other_sizes(k) if k.own else ():
        try:
            there = at_sizes(k, other)
            kernel = to_ptx.compiled_for(there.function, *EXAMPLE)
            found = run_all(there, kernel, to_ptx.WATCHED, shapes_for(there)[1:4:2], [])
        except OutOfTime:
            raise
        except Exception:  # a source may refuse other sizes, and so may its launch_bounds
            continue
        if found:
            return [wrong_at_other_sizes(k.parameters, other, found[0])]
    return []


def run_all(k: Kernel, kernel: object, level: int, shapes: list, right: list) -> list[Finding]:
    """The findings at the first shapes that show any; none where the kernel is right at all of them.

    kernel  what Numba compiled
    level   of LLVM's optimiser
    right   takes each shape at which the kernel did well
    """
    launches, variables = [], tuple(to_ptx.variables_of(kernel))
    text_of = functools.cache(functools.partial(to_ptx.text_of, kernel, level))
    with ProgressBar(str(k)) as bar:
        for turn, shape in enumerate(shapes):
            bar.update(time.monotonic() - bar.start, "| " + " x ".join(map(str, shape)))
            alone = shape[2] == 1 < shape[0]  # many sums of one product: a wrong rounding of the inputs shows there
            A, B = drawn_for(k, shape, 1 if alone else turn)

            def run(unset, A=A, B=B):
                return run_ptx(k, text_of(unset), A, B)

            try:
                done = run(variables)
            except OutOfTime:
                if any(launch.wrong.any() for launch in launches):
                    break
                raise
            wrong = wrong_elements(done.arrays[2], A, B, k.inputs)
            if (done.findings or wrong.any()) and not ended_late(done):
                zeros = more_said(run, ()) if variables else None
                zeros = zeros or done
                if not zeros.arrays[2].any():  # nothing is multiplied yet: what stands unset is no cause
                    done, wrong = zeros, wrong_elements(zeros.arrays[2], A, B, k.inputs)
                elif unset := more_said(never_set, k, run, zeros, done, variables):
                    return unset
            launches.append(Launch(A, B, done.arrays[2], wrong, k.inputs))
            if done.findings:
                missing = {one.kind for one in done.findings} <= set(MISSING)
                left = (missing and more_said(who_left, k, kernel, level, A, B)) or []
                clearest = sorted(faults(done), key=lambda one: CLEAREST.get(one.kind, 1))
                return whole_row(k) + left + one_a_line(located(k, one, kernel) for one in clearest)
            if launches[-1].wrong.any():
                if left := more_said(who_left, k, kernel, level, A, B):
                    return left
            else:
                right.append(shape)
            if done.stores[2].max() > 1 and (found := overlap(k, stores_of(k, kernel, level))):
                return found
    return [diagnose(k, launches)] if any(launch.wrong.any() for launch in launches) else []


def run_ptx(
    k: Kernel, ptx: str, A: np.ndarray, B: np.ndarray, trace: bool = False, blocks: list | None = None
) -> ptx_machine.Run:
    """One run of that code of the kernel, with a C full of NaN; of some blocks, or of all. Raises OutOfTime."""
    M, N, K = A.shape[0], B.shape[1], A.shape[1]
    limit = instructions(k, K)

    def run(limit):
        C = np.full((M, N), np.nan, np.float32)
        options = dict(limit=limit, trace=trace, blocks=blocks, requests=False)
        return run_arrays(ptx, k.block, k.grid(M, N), A, B, C, **options)

    done = run(limit)
    if at_limit(done) and (stored := np.count_nonzero(done.stores[2])):
        # It does few elements at a time, if it has stored more after twice as many instructions: so it only takes long.
        done = run(2 * limit)
        if at_limit(done) and np.count_nonzero(done.stores[2]) > stored:
            done = run(sys.maxsize)
    if ended_late(done) and not faults(done):
        line, printed = done.findings[0].source, done.printed.count("\n")
        more = f", and had printed {printed:,} lines" * bool(printed)
        raise OutOfTime(still_ran((M, N, K), more), source_line(k, line) if line else 0)
    return done


def faults(run: ptx_machine.Run) -> list[ptx_machine.Finding]:
    """What a run found wrong with its kernel: to take long is no fault."""
    return [one for one in run.findings if one.kind != "out of time"]


def ended_late(run: ptx_machine.Run) -> bool:
    """Whether there was no time left for a run."""
    return any(one.kind == "out of time" for one in run.findings)


def at_limit(run: ptx_machine.Run) -> bool:
    """Whether a run was ended since it had taken as many instructions as it may."""
    return any(one.kind == "hang" and "limit=" in one.message for one in run.findings)


def order_of(k: Kernel, kernel: object) -> list[Finding]:
    """The order of its three arguments, other than the course's, in which a kernel is right, as a finding."""
    M, N, K = whole_tiles(k)
    (A, B), C = draw(M, N, K), np.full((M, N), np.nan, np.float32)
    ptx = to_ptx.text_of(kernel, to_ptx.WATCHED)
    for order in other_orders(ARGUMENTS):
        run = run_arrays(ptx, k.block, k.grid(M, N), A, B, C, limit=instructions(k, K), order=order, requests=False)
        if not run.findings and not wrong_elements(run.arrays[order.index("C")], A, B, k.inputs).any():
            return [another_order(k, ARGUMENTS, order)]
    return []


def instructions(k: Kernel, K: int) -> int:
    """How many instructions blocks may take, whatever the kernel's style: one thread may load for all of its block."""
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    of_a_tile = 20 * (rows + columns) * depth + 100 * rows * columns * depth // (k.block[0] * k.block[1])
    return 20_000 + of_a_tile * ladder.ceil_div(K, depth)


def cost(k: Kernel, shape: tuple) -> int:
    """Products in whole tiles, what few threads side by side add to the time, and what a launch takes."""
    M, N, K = shape
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    across, down = k.grid(M, N)
    blocks = across * down
    products = blocks * rows * columns * ladder.ceil_div(K, depth) * depth
    return A_LAUNCH + products + products * SIDE_BY_SIDE // (blocks * k.block[0] * k.block[1])


def affordable(k: Kernel, shapes: list, most: int) -> list:
    """The cheapest of the shapes, the cheapest first: at least one, and as many as cost no more than that together."""
    chosen, spent = [], 0
    for shape in sorted(map(tuple, shapes), key=lambda shape: cost(k, shape)):
        spent += cost(k, shape)
        if chosen and spent > most:
            break
        chosen.append(shape)
    return chosen


def never_set(
    k: Kernel, run: Callable, zeros: ptx_machine.Run, done: ptx_machine.Run, variables: list[str]
) -> list[Finding]:
    """What changes with the value that a variable has before it is set, as findings: one for each such variable.

    run    runs the kernel again, with other values than zero in some variables that are not set yet
    zeros  what came of it with none of them so
    done   what came of it with all of them so
    """
    if alike(zeros, done):
        return []
    findings = []
    for name in variables:
        if alike(zeros, run((name,))):
            continue
        array = name == to_ptx.LOCAL_ARRAY
        lines = mentions(k, r"local\.array") if array else mentioned(k, rf"\b{re.escape(name)}\b")
        of = "one of these local arrays" if len(lines) > 1 else "a local array"
        what = f"an element of {of}" if array else name
        text = f"{what} is used before it is set. Numba happens to begin it with zero, which nothing promises"
        findings.append(Finding("uninitialised", text, lines))
    return findings


def alike(one: ptx_machine.Run, other: ptx_machine.Run) -> bool:
    """Whether two runs left the same bits in C and had findings of the same kinds at the same lines of the source."""
    found, found_too = ({(finding.kind, finding.source) for finding in run.findings} for run in (one, other))
    return one.arrays[2].tobytes() == other.arrays[2].tobytes() and found == found_too


def stores_of(k: Kernel, kernel: object, level: int) -> Iterator[tuple]:
    """((row, column), (block's x, y)) of each store to C, none atomic, at a shape of nine blocks."""
    M, N, K = nine_blocks(k)
    A, B = drawn_for(k, (M, N, K), 0)
    across, _ = k.grid(M, N)
    for access in run_ptx(k, to_ptx.text_of(kernel, level), A, B, trace=True).trace:
        if access.act == "store" and access.memory == "global":
            into_C = access.array == access.arrays.index("C") if "C" in access.arrays else np.zeros(0, bool)
            for offset, block in zip(access.offsets[into_C].tolist(), access.blocks[into_C].tolist(), strict=True):
                for place in range(offset // 4, (offset + access.bytes) // 4):
                    yield divmod(place, N), (block % across, block // across)


def who_left(k: Kernel, kernel: object, level: int, A: np.ndarray, B: np.ndarray) -> list[Finding]:
    """Barriers that some threads of a block do not come to, since they have ended, as findings: the first one.

    A GPU does not wait for threads that have ended; what they should have staged is missing all the same.
    """
    threads, (across, _) = k.block[0] * k.block[1], k.grid(A.shape[0], B.shape[1])
    for access in run_ptx(k, to_ptx.text_of(kernel, level), A, B, trace=True).trace:
        blocks, came = np.unique(access.blocks, return_counts=True)
        if access.act == "barrier" and (came < threads).any():
            few = int(np.argmax(came < threads))
            block = f"({blocks[few] % across}, {blocks[few] // across})"
            text = (
                f"only {came[few]} of the {threads} threads of block {block} reach this barrier; the others ended, "
                "or go round it, and what they should stage is missing. Let all threads reach it, and guard the loads"
            )
            return [Finding("divergent barrier", text, (source_line(k, access.source),) if access.source else ())]
    return []


def whole_row(k: Kernel) -> list[Finding]:
    """A store to C with one index, which fills a row, as a finding; [] where there is none."""
    if not (found := WHOLE_ROW.search(k.source)):
        return []
    text = f"C[{found['index']}] is a whole row of C, and all of it is stored: write C[row, column], with a comma"
    return [Finding("wrong index", text, mentioned(k, re.escape(f"C[{found['index']}]")))]


def located(k: Kernel, finding: ptx_machine.Finding, kernel: object) -> Finding:
    """What the PTX machine found, with lines and names of k.source: of a race both lines, the earlier access first."""
    lines = dict.fromkeys(line for line in (finding.other_source, finding.source) if line)
    message = re.sub(r" at line \d+ of the PTX( \(line \d+ of the source\))?", "", finding.message)
    message = message.partition("; if it only takes long")[0]  # a right kernel of these sizes takes a few seconds
    if outside := OUTSIDE.fullmatch(message):
        message = f"{outside['who']} {outside['does']} {outside['where'] or 'outside every array'}{outside['times']}"
    message = to_ptx.with_names_of_source(kernel, message)
    if race := RACE.fullmatch(message) if finding.kind == "race" else None:
        message = f"{of_race(race, len(lines) == 1)}: {message}"
    named = tuple(source_line(k, line) for line in lines)
    if finding.kind == "hang" and not named and len(re.findall(r"^\s*while\b", k.source, re.MULTILINE)) == 1:
        named = mentioned(k, r"^\s*while\b")  # of a loop that changes nothing LLVM leaves no line
    return Finding(finding.kind, message, named)


def of_race(race: re.Match, on_one_line: bool) -> str:
    """What threads do to each other in a race, and what keeps nothing in order there."""
    doing = {("reads", "wrote"): "read what others are still writing to"}
    doing["writes", "read"] = "overwrite what others are still reading from"
    both = "write to the same element of" if race["now"] == "writes" else "touch the same element of"
    what = f"threads {doing.get((race['now'], race['before']), both)} {race['array']}"
    across = race["block"] != race["other"]
    if on_one_line and race["before"] == "wrote":  # the kernel may well take a wrong element; no barrier is missing
        return f"{what}, in different blocks" if across else what
    return (
        f"{what} in different blocks, which no barrier keeps in order" if across else f"{what} with no barrier between"
    )


def one_a_line(findings: Iterable[Finding]) -> list[Finding]:
    """The first finding of each kind at each line of the source."""
    return list({(finding.kind, finding.lines): finding for finding in reversed([*findings])}.values())[::-1]


def refused(k: Kernel, error: BaseException) -> Finding:
    """What Numba's compiler refuses: what it means, what helps, and the line."""
    file = numba_internals.plain_function(k.function).__code__.co_filename
    words, line = refusals.told(error, k.source, lambda name, line: source_line(k, line) if name == file else 0)
    return Finding("does not compile", words, (line,) * bool(line))


def mentioned(k: Kernel, pattern: str | None) -> tuple:
    """The first line of the kernel's source in which that pattern is found, as a tuple; () for none."""
    return mentions(k, pattern)[:1] if pattern else ()


def mentions(k: Kernel, pattern: str) -> tuple:
    """All lines of the kernel's source in which that pattern is found."""
    lines = enumerate(k.source.splitlines(), 1)
    return tuple(number for number, line in lines if re.search(pattern, line.partition("#")[0]))
