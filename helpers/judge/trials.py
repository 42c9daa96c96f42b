"""Tries a learner's kernel in a child process, on a simulator that sees what a device hides."""

import math
from typing import NamedTuple

from .. import ladder
from ..launch import Kernel
from ..sandbox import SECONDS, Finding, Job, Outcome, Watch, in_child, oclgrind_findings, source_line, watching
from .examine import examine
from .stores import overlap

# Products of a number of A and one of B, in whole tiles. A simulator does as many in ten seconds or so:
LIMITS = {"CUDA": 500_000, "OpenCL": 6_500_000}
# ... in one or two:
QUICK = {"CUDA": 10_000, "OpenCL": 200_000}
# ... and Oclgrind, while it also follows what was never set, in ten:
THOROUGH = 2_000_000


class Trial(NamedTuple):
    """What came of it: a list of `Finding`, empty when the kernel did well, what was not looked for, the shapes tried.

    `other_sizes`: it was tried at other sizes as well.
    """

    findings: list
    not_looked_for: tuple
    shapes: list
    other_sizes: bool = False


def trial(k: Kernel, shapes: list, look_again: bool = True) -> Trial:
    """Run the kernel in a child on as many of the `shapes`, a list of (M, N, K), as a simulator does in seconds.

    `look_again`: run an OpenCL kernel that did well a second time, for what only code shows that is not optimised.
    """
    tried, products = small_enough(k, shapes)
    ask = {"OCLGRIND_DATA_RACES": "1"}
    thorough = small = products <= THOROUGH
    if thorough:
        ask["OCLGRIND_UNINITIALIZED"] = "1"
    seconds = SECONDS if products > QUICK[k.dialect] else SECONDS / 3
    outcome = in_child(k, examine_watched, seconds, ask, shapes=tried)
    # That part of Oclgrind does not know every instruction, and dies of some.
    if thorough and (crashed(outcome) or "Uninitialized.cpp" in outcome.log + outcome.printed):
        thorough = False
        outcome = in_child(k, examine_watched, seconds, {"OCLGRIND_DATA_RACES": "1"}, shapes=tried)
    # Oclgrind's compiler is older than the device's. What it dies of need not be the kernel's fault, either.
    if outcome.oclgrind and (outcome.unbuilt or crashed(outcome)):
        outcome = in_child(k, examine_watched, seconds, None, shapes=tried)
    # Wrong numbers follow from what the simulator saw; the cause is what the learner needs.
    seen = oclgrind_findings(outcome.log, k.source) or outcome.findings
    findings = seen or outcome.value
    if k.dialect == "CUDA":
        return Trial(findings, (), tried)
    unseen = () if outcome.oclgrind else ("races", "reads outside a local array")
    unset = small and not thorough
    # What nobody has set may look like any mistake, so each verdict on numbers waits for that.
    if look_again and outcome.oclgrind and not seen and (unset or not findings or findings[0].kind == "wrong numbers"):
        causes, looked_for_unset = unoptimised(k, tried, unset)
        findings, thorough = causes or findings, thorough or looked_for_unset
    if not outcome.oclgrind or not thorough:
        unseen += ("numbers that nobody has set",)
    return Trial(findings, unseen, tried)


def crashed(outcome: Outcome) -> bool:
    """Whether the child was taken down, by the kernel or by what runs it, and left no report of why."""
    return not outcome.log and any(finding.kind == "crash" for finding in outcome.findings)


def unoptimised(k: Kernel, shapes: list, unset: bool) -> tuple[list[Finding], bool]:
    """Look under Oclgrind, at code as it was written, for what the optimiser left out: writes past a private array.

    `shapes`: from the smallest on. Two are enough, but for numbers that nobody has set, if `unset` says to look for
    those as well: Oclgrind knows all instructions of such code. Returns (findings, whether it did look for those).
    """
    ask = {"OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable"} | ({"OCLGRIND_UNINITIALIZED": "1"} if unset else {})
    outcome = in_child(k, examine_watched, SECONDS, ask, shapes=shapes if unset else shapes[:2])
    did = outcome.value is not None and "Uninitialized.cpp" not in outcome.log + outcome.printed
    kinds = ("out of bounds", "uninitialised") if did else ("out of bounds",)
    return [f for f in oclgrind_findings(outcome.log, k.source) if f.kind in kinds], did and unset


def small_enough(k: Kernel, shapes: list, limits: dict = LIMITS) -> tuple[list, int]:
    """The smallest of the shapes, at least one, and how many products they take. A partial tile costs a whole one."""
    cost, chosen, products = products_of(k, shapes), [], 0
    for shape in sorted(cost, key=cost.get):
        if not chosen or products + cost[shape] <= limits[k.dialect]:
            chosen.append(shape)
            products += cost[shape]
    return chosen, products


def products_of(k: Kernel, shapes: list) -> dict[tuple, int]:
    """{shape: products}, in whole tiles."""
    tile = ladder.STEPS[k.step].tile(k.parameters)
    return {
        shape: math.prod(ladder.ceil_div(n, t) * t for n, t in zip(shape, tile, strict=True))
        for shape in map(tuple, shapes)
    }


def quick(k: Kernel, shapes: list) -> bool:
    """Whether a simulator does all of the shapes in one or two seconds."""
    return sum(products_of(k, shapes).values()) <= QUICK[k.dialect]


def smallest(k: Kernel, shapes: list) -> tuple[int, int, int]:
    """The shape with the fewest products."""
    cost = products_of(k, shapes)
    return min(cost, key=cost.get)


def examine_watched(job: Job, shapes: list) -> list[Finding]:
    """In the child: check the kernel; in the simulator, watch it too. Returns findings, those of the watch if any."""
    k = job.build()
    if not k.simulated:
        return examine(k, shapes)
    with watching() as watch:
        findings = examine(k, shapes)
    if watch.read_and_written:  # few kernels read what they write, so the others need not wait for this
        with watching(note_reads_of=watch.read_and_written) as watch:
            findings = examine(k, shapes)
    return watched_findings(k, watch) or findings or overlapping(k, watch)


def watched_findings(k: Kernel, watch: Watch) -> list[Finding]:
    """What the `Watch` saw, as findings about lines of k.source."""
    findings = []
    for line in sorted(watch.aliased):
        message = (
            "two shared arrays are made on one line, and Numba's simulator gives both "
            "the same memory; make each on a line of its own"
        )
        findings.append(Finding("shared memory", message, (source_line(k, line),)))
    for _, first, second, what in sorted(watch.races):
        lines = tuple(dict.fromkeys([source_line(k, first), source_line(k, second)]))
        findings.append(Finding("race", what, lines))
    for line in sorted(watch.divergent):
        message = "only some threads of a block reach this barrier"
        findings.append(Finding("divergent barrier", message, (source_line(k, line),)))
    return findings


def overlapping(k: Kernel, watch: Watch) -> list[Finding]:
    """Blocks that store the same elements, seen in any launch."""
    return next(filter(None, (overlap(k, stores) for stores in watch.stores)), [])
