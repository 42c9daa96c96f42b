"""Is it right? `reference` says what right means, `examine` runs and compares, `trials` watch a learner's kernel."""

from collections.abc import Callable
from dataclasses import replace

from .. import ladder
from ..launch import Contestant, Kernel, sizes
from ..launch.host import contestant
from ..sandbox import Finding
from .compiled import get_ready, trial_compiled
from .examine import examine, long_shapes, shapes_for
from .other_sizes import at_sizes, may_be_outgrown, other_sizes, sizes_mixed_up, takes_all_sizes
from .report import Report
from .trials import Trial, quick, smallest, trial


def check(k: Contestant | Callable, shapes: list | None = None) -> Report:
    """Check a kernel, or any function of (A, B) that should return A @ B. Returns a `Report`, true when right.

    `shapes`: a list of (M, N, K); by default six that suit the kernel's tiles, most of them ragged. A learner's kernel
    is tried in a child process first: in a simulator, and, where NVIDIA's compiler is there, compiled. It is tried at
    other sizes as well, if it takes any.
    """
    k = contestant(k)
    shapes = [sizes(shape) for shape in shapes or shapes_for(k)]
    if not k.own:
        findings = examine(k, shapes) or examine(k, long_shapes(k))
        return Report(str(k), tuple(findings), len(shapes), k.source)
    tried = try_out(k, shapes)
    k.checked = not tried.findings  # a later check may find what an earlier one, of other shapes, did not
    return Report(str(k), tuple(tried.findings), len(tried.shapes), k.source, tried.not_looked_for)


def check_also_at(k: Kernel, shape: tuple, what: str) -> Report:
    """Check a kernel, and that it is right at one more shape (M, N, K) as well. Returns a `Report`.

    `what` is looked at there, "its loads are counted": a kernel that takes another path at this shape, one that gives
    wrong numbers, could show anything.
    """
    report = check(k)
    if not report or not (wrong := wrong_at(k, shape)):
        return report
    where = f"{' x '.join(map(str, shape))} (M x N x K), where {what}"
    text = f"right elsewhere, and wrong at {where}: {wrong[0].message}"
    return replace(report, findings=(Finding("wrong at one size", text, wrong[0].lines),))


def try_out(k: Kernel, shapes: list) -> Trial:
    """Try a learner's kernel, first where it can do no harm, and then, if it did well there, on its device."""
    get_ready(k)
    outcome = small_first(k, shapes)
    findings, not_looked_for, in_simulator = outcome.findings, outcome.not_looked_for, outcome.shapes
    if not findings:
        findings, unseen = trial_compiled(k, in_simulator)
        not_looked_for += unseen
    if k.simulated:
        shapes = in_simulator
    elif not findings:
        findings = examine(k, shapes)
    if not findings and not outcome.other_sizes:
        findings = wrong_at(k, *long_shapes(k)) or tried_at_other_sizes(k, large_tiles(k, shapes)).findings
    elif not findings and not k.simulated:
        findings = examine(k, long_shapes(k))
    return Trial(findings, not_looked_for, shapes)


def small_first(k: Kernel, shapes: list) -> Trial:
    """Try a kernel in a simulator, which takes minutes for large tiles.

    One that takes all its sizes as parameters is then tried with small ones. If it is right there, one shape is enough
    at its own sizes, and none where its source has no number that could be too small for these.
    """
    if large_tiles(k, shapes):
        small = tried_at_other_sizes(k, thorough=True, must_compile=True)
        if not small.findings and not may_be_outgrown(k):
            return small._replace(other_sizes=True)
        if not small.findings:
            own = trial(k, [smallest(k, shapes)], look_again=False)
            return Trial(of_the_device(k, own.findings), small.not_looked_for, own.shapes, other_sizes=True)
    own = trial(k, shapes)
    return Trial(of_the_device(k, own.findings), own.not_looked_for, own.shapes)


def large_tiles(k: Kernel, shapes: list) -> bool:
    """Whether a simulator takes long for those shapes, and the kernel can have smaller tiles."""
    return not k.simulated and not quick(k, shapes) and takes_all_sizes(k)


def of_the_device(k: Kernel, findings: list) -> list[Finding]:
    """The findings without those that tell a limit of the simulator, where that is not the device."""
    return [finding for finding in findings if finding.kind != "shared memory" or k.simulated]


def wrong_at(k: Kernel, *shapes: tuple) -> list[Finding]:
    """What is wrong at more shapes (M, N, K) with a kernel that is right at others."""
    return of_the_device(k, trial(k, list(shapes), look_again=False).findings)


def tried_at_other_sizes(k: Kernel, thorough: bool = False, must_compile: bool = False) -> Trial:
    """What is wrong with a kernel that is right at its own sizes at others; no findings where it is right there, too.

    `thorough`: at the first of them with all shapes, and all there is to look for. `must_compile`: a source that does
    not compile there has a finding; else it refuses those sizes, which is no mistake.
    """
    not_looked_for = ()
    for number, other in enumerate(other_sizes(k)):
        there, first = at_sizes(k, other), thorough and number == 0
        rows, columns, depth = ladder.STEPS[k.step].tile(other)
        few = [(rows, columns, depth), (rows + 1, columns + 1, depth + 1)]
        outcome = trial(there, [*shapes_for(there), *long_shapes(there)] if first else few, look_again=first)
        if first:
            not_looked_for = outcome.not_looked_for
        for finding in of_the_device(k, outcome.findings):
            if finding.kind != "does not compile" or must_compile:
                return Trial([sizes_mixed_up(k.parameters, other, finding)], not_looked_for, outcome.shapes)
    return Trial([], not_looked_for, [])
