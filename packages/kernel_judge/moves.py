"""Is this product right, and if not, why? Three moves: watch a few small shapes, multiply many, say what is wrong.

1. *Watch*: where each access is seen, eight small shapes show races, accesses out of bounds, barriers that not all
   reach, and numbers that nobody has set. The same source at two sets of unlike sizes shows two sizes mixed up.
2. *Multiply*: at native speed, the same small shapes and the list of `shapes.MULTIPLIED`, which is what people use.
3. *Say*: what the wrong elements have in common, by the experiments of `causes`.
"""

from dataclasses import replace
from functools import partial
from time import perf_counter

from .causes import Launch, cause
from .findings import Finding, Kind
from .product import Product, Seen, Shape, Wrong
from .reference import drawn, wrong_elements
from .report import Report
from .shapes import MULTIPLIED, PART, PATIENCE, for_a_function, largest, telling, watched

WHOLE, OTHERS = 3.5, 6  # seconds at most for all small shapes, else one; and for those of another size
ENOUGH = 4  # wrong launches, to see what they have in common


def judge(product: Product, shapes: list[Shape] | None = None) -> Report:
    """Judge a product in three moves. Returns a `Report`, true when right.

    `shapes`: a list of (M, N, K); by default those that `shapes` makes from its tile, and those that people use.
    """
    small = watched(product.tile)
    seen = product.watched(partial(watch, shapes=shapes))
    findings, tried, notes = seen.findings, [*seen.shapes], seen.notes
    if findings and shapes is None:
        findings = in_full(product, seen)
    if not findings:
        stages = [shapes] if shapes else [small, [*MULTIPLIED]] if product.tile_known else [for_a_function()]
        multiplied = product.natively(partial(multiply, stages=stages))
        findings, tried, notes = multiplied.findings, tried + multiplied.shapes, (*notes, *multiplied.notes)
    if findings and findings[0].kind == Kind.NOT_COMPILED:
        notes = ()  # nothing was looked for at all
    return Report(product.name, tuple(findings), product.source, largest(tried), notes, product.inputs)


def watch(product: Product, shapes: list[Shape] | None = None) -> Seen:
    """The first move: the small shapes once, at its own sizes or, where these are too large for all, at unlike ones."""
    small, unlike = shapes or watched(product.tile), [] if shapes else product.unlike()
    whole = product.affordable(small, WHOLE) == small
    chosen = small if whole else product.affordable(small) or ([] if unlike else [(1, 1, 1)])
    lists = [telling if whole or number else watched for number in range(len(unlike))]
    others = [(one, one.affordable(of(one.tile), OTHERS) or [(1, 1, 1)]) for of, one in zip(lists, unlike, strict=True)]
    for one, those in [(product, chosen), *others] if whole else [*others, (product, chosen)]:
        found = examine(one, those).findings
        if found and (one is product or found[0].kind != Kind.NOT_COMPILED):  # a source may refuse other sizes
            return Seen(found, chosen, at="" if one is product else one.sizes)
    return Seen([], chosen)


def in_full(product: Product, seen: Seen) -> list[Finding]:
    """What to say of what was seen, where not all small shapes were watched, or at other sizes than its own."""
    first, *others = seen.findings
    small, by_numbers = watched(product.tile), Kind(first.kind).by_numbers
    if seen.shapes != small and by_numbers and (own := product.natively(partial(multiply, stages=[small])).findings):
        return own
    if not seen.at:
        return seen.findings
    values = {"own": product.sizes, "other": seen.at, "kind": first.kind, "found": first}
    if seen.shapes != small and not by_numbers:  # at its own it may be wrong, too
        return [replace(first, key="with_sizes", values=values), *others]
    return [Finding(Kind.OTHER_SIZES, "other_sizes", first.lines, values, first.drawn)]


def multiply(product: Product, stages: list[list[Shape]]) -> Seen:
    """The second move: what `examine` finds at the first list that shows anything; small ones are easier to read."""
    tried = []
    for shapes in stages:
        chosen = product.possible(shapes)
        seen = examine(product, chosen, len(tried))
        tried += seen.shapes
        if seen.findings or len(seen.shapes) < len(chosen):  # its time was over
            break
    return seen._replace(shapes=tried)


def examine(product: Product, shapes: list[Shape], turn: int = 0) -> Seen:
    """Multiply at each of the shapes, compare, and name the cause. `turn`: of the first draw."""
    wrong, right, slow = [], [], False
    for number, shape in enumerate(shapes, turn):
        if slow and shape == MULTIPLIED[-1]:
            break
        A, B = drawn(shape, product.inputs, number)
        begun = perf_counter()
        try:
            C = product.multiply(A, B)
        except Wrong as seen:
            if right and seen.findings[0].kind == Kind.TOO_SLOW:
                return Seen([], right)
            return Seen(seen.findings, shapes)
        except Exception as error:  # whatever a learner's code raises is a finding, not our failure
            if wrong:
                break
            return Seen([product.failure(error)], shapes)
        slow = slow or (shape == PART and perf_counter() - begun > PATIENCE)
        amiss = wrong_elements(C, A, B, product.inputs)
        if not amiss.any():
            right.append(shape)
            continue
        wrong.append(Launch(A, B, C, amiss, product.inputs))
        if len(wrong) == ENOUGH:
            break
    return Seen([cause(product, wrong, right)] if wrong else [], shapes)
