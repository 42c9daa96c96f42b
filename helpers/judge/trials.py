"""Tries a learner's OpenCL kernel in a child process, under Oclgrind, which sees what a device hides."""

import itertools
import math
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .. import ladder
from ..launch import Kernel
from ..sandbox import SECONDS, Finding, Job, in_child, limit_computing, oclgrind_findings
from ..sandbox.findings import NAN
from ..sandbox.oclgrind import OCLGRIND
from .examine import examine, examine_stages
from .other_sizes import at_sizes
from .stores import can_be_noted, overlap_noted

# Products of a number of A and one of B, in whole tiles, that
LIMIT = 6_500_000  # Oclgrind does in ten seconds or so,
QUICK = 40_000  # in a second or less, Oclgrind code as it was written,
THOROUGH = 2_000_000  # Oclgrind, while it also follows what was never set, in ten

# Seconds of computing that one launch may take under Oclgrind, and products for which it may take one more.
LAUNCH, PRODUCTS = 4, 4_000
# Vectors of 16, of whose second half Oclgrind says that nobody has set it, whoever has.
SIXTEEN = r"\b(?:u?(?:char|short|int|long)|half|float|double|vload|vstore)16\b"

RACES, UNSET = "OCLGRIND_DATA_RACES", "OCLGRIND_UNINITIALIZED"
# What nothing finds unless Oclgrind is asked for it.
UNSEEN = {RACES: ("races", "reads outside a local array"), UNSET: ("numbers that nobody has set",)}
NO_HALF = "Unsupported float size: 2 bytes"  # Oclgrind's word for sums and products in half
AS_WRITTEN = "-cl-opt-disable"  # what the optimiser leaves out, such as a write past a private array, is seen so only


class Part(NamedTuple):
    """What a child tries of a kernel: these parameters at these shapes (M, N, K).

    `as_written`: not optimised, which is slower. `ask`: what Oclgrind looks for; None for the kernel's own device.
    `stores`: look who stores what, and at nothing else.
    """

    parameters: dict
    shapes: list
    as_written: bool
    ask: tuple | None
    stores: bool = False


class Trial(NamedTuple):
    """What came of it: a list of `Finding`, empty when the kernel did well, what was not looked for, the shapes tried.

    `elsewhere`: what was found with other parameters or shapes, pairs of parameters and findings.
    """

    findings: list
    not_looked_for: tuple
    shapes: list
    elsewhere: tuple = ()


def trial(k: Kernel, shapes: list, *others: tuple, stores: bool = False) -> Trial:
    """Run the kernel in a child on as many of the `shapes`, a list of (M, N, K), as Oclgrind does in seconds.

    `others`: pairs of parameters and shapes, which the same child tries after that. `stores`: look who stores what as
    well; that takes a launch of its own.
    """
    all_of_them = part_of(k, k.parameters, shapes)
    own = [all_of_them]
    if not all_of_them.as_written:
        own.append(all_of_them._replace(shapes=all_of_them.shapes[:2], as_written=True))
    if stores and can_be_noted(k):
        own.append(Part(k.parameters, [], True, all_of_them.ask if all_of_them.as_written else None, stores=True))
    found, looked_for = tried(k, [*own, *(part_of(k, *other) for other in others)])
    there = [(parameters, findings) for (parameters, _), findings in zip(others, found[len(own) :], strict=False)]
    elsewhere = tuple(pair for pair in there if pair[1])
    here = [findings for findings in found[: len(own)] if findings]
    here = here or [findings for parameters, findings in elsewhere if parameters == k.parameters]
    unseen = tuple(what for ask, whats in UNSEEN.items() for what in whats if ask not in looked_for)
    return Trial(here[-1] if here else [], unseen, all_of_them.shapes, elsewhere)


def part_of(k: Kernel, parameters: dict, shapes: list) -> Part:
    """How the kernel is tried with those parameters, to begin with."""
    some, products = small_enough(at_sizes(k, parameters), shapes)
    thorough = products <= THOROUGH and not re.search(SIXTEEN, k.source)
    return Part(parameters, some, products <= QUICK, (RACES, UNSET) if thorough else (RACES,))


def ways(part: Part) -> list[Part]:
    """That part, and how else to try it where a child dies of it.

    Oclgrind does not know every instruction while it follows what was never set, but all of code as it was written. And
    its compiler is older than the device's.
    """
    if part.ask is None:
        return [part]
    other = [part._replace(as_written=not part.as_written)] if UNSET in part.ask else []
    return [part, *other, part._replace(as_written=False, ask=(RACES,)), part._replace(as_written=False, ask=None)]


def tried(k: Kernel, parts: list[Part]) -> tuple[list, tuple]:
    """Try the parts in one child, and what takes that down in others, until something is wrong.

    Returns the findings of each part that was tried, and what Oclgrind looked for in the first one, () without it.
    """
    found, looked_for, waiting = [], (), [ways(part) for part in parts]
    while waiting:
        ask, now = next(itertools.groupby((way for way, *_ in waiting), key=lambda part: part.ask))
        now = [*now]
        seconds = SECONDS / 3 if all(part.as_written for part in now) else SECONDS
        options = None if ask is None else dict.fromkeys(ask, "1")
        outcome = in_child(k, examine_parts, seconds, options, parts=now)
        done = outcome.value or []
        # Wrong numbers follow from what Oclgrind saw; the cause is what the learner needs.
        last = oclgrind_findings(outcome.log, k.source) or outcome.findings
        if outcome.log and not outcome.findings:  # it ended with the part that this is about
            last, done = last or done[-1], done[:-1]
        if not found:
            looked_for = ask if outcome.oclgrind else ()
        found, waiting = found + done, waiting[len(done) :]
        if not waiting:  # it was ended once all was done
            break
        crashed = not outcome.log and any(finding.kind == "crash" for finding in outcome.findings)  # with no report why
        only_there = outcome.unbuilt or NO_HALF in outcome.log
        if outcome.oclgrind and ("Uninitialized.cpp" in outcome.log or crashed or only_there):
            gone, *_ = waiting[0]
            waiting[0] = [way for way in waiting[0] if way != gone and (way.ask is None or not only_there)]
            continue
        if outcome.log or outcome.findings:
            found, waiting = [*found, last], waiting[1:]
        if not goes_on(parts[len(found) - 1], found[-1], waiting[0][0] if waiting else None):
            break
    return found, looked_for


def small_enough(k: Kernel, shapes: list, most: int = LIMIT) -> tuple[list, int]:
    """The smallest of the shapes, at least one, and how many products they take. A partial tile costs a whole one."""
    cost, chosen, products = products_of(k, shapes), [], 0
    for shape in sorted(cost, key=cost.get):
        if not chosen or products + cost[shape] <= most:
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


def examine_parts(job: Job, parts: list[Part]) -> Iterator[list[Finding]]:
    """In the child: try the parts one after the other, until something is wrong. Yields the findings of each."""
    log = Path(os.environ.get("OCLGRIND_LOG", os.devnull))
    k, how = None, ()
    for part, following in itertools.zip_longest(parts, parts[1:]):
        if how != (part.parameters, part.as_written):
            how = part.parameters, part.as_written
            os.environ["OCLGRIND_BUILD_OPTIONS"] = AS_WRITTEN if part.as_written else ""
            k = replace(job, parameters=part.parameters).build()
        findings = overlap_noted(k) if part.stores else examine(k, part.shapes, partial(limit_a_launch, k, log))
        limit_computing(0, log.parent, "")
        reported = log.exists() and log.stat().st_size > 0
        if part.as_written and UNSET in (part.ask or ()) and not reported:  # it would have seen what is unset
            findings = [NAN if finding.kind == "uninitialised" else finding for finding in findings]
        yield findings
        if reported or not goes_on(part, findings, following):
            return


def limit_a_launch(k: Kernel, log: Path, shape: tuple) -> None:
    """In a child under Oclgrind: end it where one launch at that shape takes many times as long as it should."""
    if k.device.name == OCLGRIND:
        products = products_of(k, [shape])[tuple(shape)]
        seconds = LAUNCH + products / PRODUCTS if products <= QUICK else 0
        limit_computing(seconds, log.parent, f"at {' x '.join(map(str, shape))} (M x N x K)")


def goes_on(part: Part, findings: list[Finding], following: Part | None) -> bool:
    """Whether the next part is tried, too, after those findings of one.

    Wrong numbers without a cause may get one from code as it was written. What Oclgrind's compiler refuses may
    be right on the device, or be no mistake at those sizes.
    """
    if not findings or findings[0].kind == "does not compile":
        return True
    again = following is not None and following.as_written and not part.as_written
    return findings[0].kind == "wrong numbers" and again and following.parameters == part.parameters


def examine_there(job: Job, stages: list) -> list[Finding]:
    """In the child: what `examine_stages` finds."""
    return examine_stages(job.build(), stages)
