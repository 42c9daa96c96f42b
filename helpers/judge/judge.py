"""Is this product right, and if not, why? Three moves: watch a few small shapes, multiply many, say what is wrong.

1. *Watch*: where each access is seen, eight small shapes show races, accesses out of bounds, barriers that not all
   reach, and numbers that nobody has set. The same source at two sets of unlike sizes shows two sizes mixed up.
2. *Multiply*: at native speed, the same small shapes and the list of `shapes.MULTIPLIED`, which is what people use.
3. *Say*: what the wrong elements have in common, by the experiments of `causes`.
"""

from dataclasses import replace

from .causes import Launch, cause
from .findings import Finding, Kind
from .product import Product, Seen, Shape, Wrong
from .reference import drawn, wrong_elements
from .report import Report
from .shapes import MULTIPLIED, largest, watched

ENOUGH = 4  # wrong launches, to see what they have in common
FEW = 2  # of the eight shapes: enough where another set of sizes has had them all


def judge(product: Product, shapes: list[Shape] | None = None) -> Report:
    """Judge a product in three moves. Returns a `Report`, true when right.

    `shapes`: a list of (M, N, K); by default those that `shapes` makes from its tile, and those that people use.
    """
    seen = product.seen(watch) if shapes is None else product.watch(shapes)
    multiplied = Seen([])
    if not seen.findings:
        multiplied = product.natively([watched(product.tile), [*MULTIPLIED]] if shapes is None else [shapes])
    findings = seen.findings or multiplied.findings
    tried = [*seen.shapes, *multiplied.shapes]
    return Report(
        product.name, tuple(findings), product.source, largest(tried), (*seen.notes, *multiplied.notes), product.inputs
    )


def watch(product: Product) -> Seen:
    """The first move: all of the small shapes once, at its own sizes or, where these are large, at unlike ones."""
    small = watched(product.tile)
    unlike = product.unlike()
    if not unlike or not product.large():
        seen = product.watch(small)
        for other in unlike if not seen.findings else ():
            if found := other.watch(watched(other.tile)[:FEW]).findings:
                return seen._replace(findings=[at_other_sizes(product, other, found[0])])
        return seen
    first, second = unlike
    for other, few in ((first, None), (second, FEW)):
        seen = other.watch(watched(other.tile)[:few])
        if seen.findings:
            return seen._replace(findings=with_sizes(product, other, seen.findings))
    own = product.watch([(1, 1, 1)], at_least=0)
    return own if own.findings else seen._replace(shapes=own.shapes)


def with_sizes(product: Product, other: Product, found: list[Finding]) -> list[Finding]:
    """What was found at other sizes than its own, which are too large to be watched: numbers may be right at these."""
    if found[0].kind == Kind.NOT_COMPILED:  # a source may refuse other sizes
        return []
    own = product.natively([watched(product.tile)]).findings
    if own and found[0].kind.by_numbers:
        return own
    if not own and found[0].kind.by_numbers:
        return [at_other_sizes(product, other, found[0])]
    return [replace(found[0], key="with_sizes", values={"sizes": other.sizes, "found": found[0]}), *found[1:]]


def at_other_sizes(product: Product, other: Product, found: Finding) -> Finding:
    """What to say of a product that is right at its own sizes, and has that finding at other ones."""
    values = {"own": product.sizes, "other": other.sizes, "kind": found.kind, "found": found}
    return Finding(Kind.OTHER_SIZES, "other_sizes", found.lines, values)


def in_stages(product: Product, stages: list[list[Shape]]) -> Seen:
    """What `examine` finds at the first list of shapes that shows anything: at small ones it is easier to read."""
    tried = []
    for shapes in stages:
        seen = examine(product, [shape for shape in shapes if product.takes(shape)], len(tried))
        tried += seen.shapes
        if seen.findings:
            break
    return seen._replace(shapes=tried)


def examine(product: Product, shapes: list[Shape], turn: int = 0) -> Seen:
    """Multiply at each of the shapes, compare, and name the cause. `turn`: of the first draw."""
    wrong, right = [], []
    for number, shape in enumerate(shapes, turn):
        A, B = drawn(shape, product.inputs, number)
        try:
            C = product.multiply(A, B)
        except Wrong as seen:
            return Seen(seen.findings, shapes)
        except Exception as error:  # whatever a learner's code raises is a finding, not our failure
            if wrong:
                break
            return Seen([product.failure(error)], shapes)
        amiss = wrong_elements(C, A, B, product.inputs)
        if not amiss.any():
            right.append(shape)
            continue
        wrong.append(Launch(A, B, C, amiss, product.inputs))
        if len(wrong) == ENOUGH:
            break
    return Seen([cause(product, wrong, right)] if wrong else [], shapes)
