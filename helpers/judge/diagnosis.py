"""Names what the wrong elements of C have in common."""

import copy
import inspect
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .. import ladder
from ..launch import Contestant, draw, operands
from ..sandbox import Finding
from ..sandbox.findings import NAN, UNSET
from .in_time import more_said
from .reference import (
    FORMATS,
    UNIT_ROUNDOFF,
    drawn_for,
    error_bound,
    held,
    launched,
    right_within_bound,
    wrong_elements,
)

PLACEHOLDER = "your turn"
NOTHING = ("no answer", "nothing stored", "zeros")  # what came of it, where nothing did
LARGEST = 64  # rows and columns of an identity matrix that Oclgrind multiplies within a second or so
SMALL = 1 << 18  # products, such as 64 x 64 x 64
FEW = 16  # products of a sum, among which a missing one shows
LOOK = "look at which {} a thread takes, and at the guards"


@dataclass(frozen=True)
class Launch:
    """One launch: A (M, K), B (K, N), the C (M, N) that came of it, and where that is wrong, bool (M, N).

    `inputs`: the type that the kernel rounds A and B to.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    wrong: np.ndarray
    inputs: str = "float32"

    @property
    def K(self) -> int:
        """The products of one sum."""
        return self.A.shape[1]

    @property
    def shape(self) -> str:
        """Its sizes as one reads them."""
        return f"{self.C.shape[0]} x {self.C.shape[1]} x {self.K} (M x N x K)"

    @property
    def first(self) -> tuple[int, int]:
        """The row and the column of the first wrong element."""
        return tuple(np.argwhere(self.wrong)[0].tolist())

    @property
    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """A and B as the type of the inputs holds them."""
        return held(self.A, self.inputs), held(self.B, self.inputs)

    @property
    def clear(self) -> bool:
        """Whether that changes neither, so that the bound is narrow and no sum passes for another's by chance."""
        return all(np.array_equal(X, own) for X, own in zip((self.A, self.B), self.held, strict=True))

    def holds(self, A: np.ndarray, B: np.ndarray) -> bool:
        """Whether C is the product of these two, in place of its own A and B."""
        return not wrong_elements(self.C, A, B, self.inputs).any()


def diagnose(k: Contestant, launches: list[Launch]) -> Finding:
    """What the wrong elements of all launches have in common: the first suspicion that fits. At least one is wrong."""
    # Some look for each wrong element among all of C, or try each part of a sum: in seconds where the product is small.
    small = [r for r in launches if r.C.size * r.K <= SMALL]
    looked_at, suspicions = (small, SUSPICIONS) if bad(small) else (launches, QUICK)
    for suspicion in suspicions:
        if found := more_said(suspicion, k, looked_at):
            return found
    first = min(bad(launches), key=lambda r: r.C.size * r.K)
    row, col = first.first
    right = len(launches) - len(bad(launches))
    some = f"right at {right} shape{'s' * (right > 1)}, and " if right else ""
    return Finding("wrong numbers", f"{some}wrong at {first.shape}, where C[{row}, {col}] is the first wrong element")


def bad(launches):
    """Those of the launches that are wrong."""
    return [r for r in launches if r.wrong.any()]


def tile_of(k):
    """Rows, columns and depth of the kernel's tile; (1, 1, 1) for a function that has none."""
    return ladder.STEPS[k.step].tile(k.parameters) if k.step else (1, 1, 1)


# ----------------------------------------------------------------------- which numbers A and B hold: some are special


def looks_at_the_numbers(k, launches):
    """Right at the same shapes for fresh numbers between -1 and 1, and wrong again for those of `mixed`."""

    def is_wrong(A, B):
        return wrong_elements(launched(k, A, B), A, B, k.inputs).any()

    for r in (wrong := bad(launches)):
        special = (r.A == 0).any() or (r.B == 0).any()
        if not special or is_wrong(*drawn_for(k, (*r.C.shape, r.K), 1)) or not is_wrong(r.A, r.B):
            return None
    if all((far(r.A)[:, None] | far(r.B.T))[r.wrong].all() for r in wrong):
        where, look = "a row or a column is all tiny, or all huge", "limits, and for small numbers that are added"
    else:
        where, look = "some are 0, 1, -1 or 2, or equal", "tests of A's and B's numbers"
    text = f"right where A and B hold any numbers between -1 and 1, and wrong where {where}; look for {look}"
    return Finding("wrong numbers", text)


def far(X):
    """Which rows of X hold no number near one: those of zeros, and those that `mixed` made tiny or huge."""
    largest = np.abs(X).max(1)
    return (largest < 2.0**-6) | (largest > 2.0**6)


# --------------------------------------------------------------------------- what C holds: nothing, zeros, or NaN


def holds_nothing(k, launches):
    """Zeros everywhere; or NaN everywhere: if it is right when C held zeros, C was read."""
    if not any(r.C.any() for r in launches):
        back = "" if k.step else "; what a device has computed must be copied back into the array that is returned"
        return Finding("zeros", f"every element of C is zero{back}")
    if not all(np.isnan(r.C).all() for r in launches):
        return None
    again = [(r, launched(k, r.A, r.B, 0)) for r in launches]
    if not any(wrong_elements(C, r.A, r.B, r.inputs).any() for r, C in again):
        return Finding("adds to C", "it adds to what C held before it ran; start from zero and store the sum")
    if not any(C.any() for _, C in again):
        return Finding("nothing stored", "no element of C is ever written")
    return None


def in_whole_numbers(k, launches):
    """C holds whole numbers only, and is right for an A and a B of whole numbers."""
    wrong = bad(launches)
    if any((np.rint(r.C) != r.C).any() for r in wrong):  # NaN is no whole number
        return None
    whole = [np.rint(8 * X) + 9 for X in (wrong[-1].A, wrong[-1].B)]
    if wrong_elements(launched(k, *whole), *whole, k.inputs).any():
        return None
    text = "right for whole numbers in A and B, and wrong for fractions: a sum, a product or a tile is an int, no float"
    return Finding("wrong numbers", text)


def unanswered(k: Contestant, findings: list[Finding]) -> list[Finding]:
    """The findings; "not yet" where nothing came of the placeholder of an exercise, which says "your turn".

    It is asked in the process that has the source: a child has none of a function from a notebook.
    """
    if not findings or findings[0].kind not in NOTHING:
        return findings
    source, said = k.source, findings[0].message
    with suppress(OSError, TypeError, AttributeError):  # of a function of the host
        source += inspect.getsource(k.function)
    said = said.partition(";")[0]  # a stub has nothing to copy back
    return [Finding("not yet", f"{said[0].upper()}{said[1:]}.")] if PLACEHOLDER in source else findings


def leaves_holes(k, launches):
    """NaN in C: never stored there, or read from behind the end of A or B?"""
    wrong = bad(launches)
    holes = [Launch(r.A, r.B, r.C, np.isnan(r.C)) for r in wrong if np.isnan(r.C).any()]
    if not holes:
        return None
    example = f"for example at {holes[-1].shape}"
    if np.isnan(launched(k, holes[-1].A, holes[-1].B, 0)).any():
        if operands.GUARD == 0:  # under Oclgrind, where NaN stands for what was never set
            return Finding("uninitialised", UNSET)
        # Behind the arrays of a function there is no NaN, and the PTX machine would have seen an access outside them.
        if not k.step or getattr(k, "untimed", False):
            return NAN
        return Finding("out of bounds", f"it reads past the end of A or B, {example}: a load guard is missing")
    if right_with_x_and_y_swapped(k, wrong):
        text = f"right when it is launched with x and y exchanged, and wrong at {holes[-1].shape}"
        return Finding("x and y swapped", text)
    if any((r.wrong & ~np.isnan(r.C)).any() for r in wrong):
        return Finding("wrong index", f"part of C is never stored and of the rest some is wrong, {example}")
    if all((np.isnan(r.C) != np.eye(*r.C.shape, dtype=bool)).all() for r in wrong):
        text = f"only the diagonal of C is stored, {example}: a thread's row and its column are the same number"
        return Finding("unwritten", text)
    if said := blocks_begin(k, launches):
        return Finding("unwritten", f"part of C is never stored, {example}: {said}")
    place, lines = place_of(k, holes)
    return Finding("unwritten", f"{place} never stored, {example}; {LOOK.format(lines)}")


def place_of(k, launches):
    """Where all that is wrong lies, such as "the last rows" or "whole rows, row 4 first,", and which lines to look at.

    "The last" ones are the last tile's share, and where it has all there is in each C, that says nothing.
    """
    row, col = launches[-1].first
    for name, axis, side in (("rows", 0, tile_of(k)[0]), ("columns", 1, tile_of(k)[1])):
        begins = [r.C.shape[axis] - (r.C.shape[axis] % side or 1) for r in launches]
        if any(begins) and all((np.nonzero(r.wrong)[axis] >= n).all() for r, n in zip(launches, begins, strict=True)):
            return f"the last {name}", name
    for name, axis, first in (("rows", 1, f"row {row}"), ("columns", 0, f"column {col}")):
        if all((r.wrong == r.wrong.all(axis=axis, keepdims=True)).all() for r in launches):
            return f"whole {name}, {first} first,", name
    return f"part of C, C[{row}, {col}] first,", "elements"


def right_with_x_and_y_swapped(k, launches):
    """Whether a kernel is right where x counts what y did, and the other way round."""
    if not hasattr(k, "grid"):
        return False
    swapped = copy.copy(k)
    swapped.grid = lambda M, N: k.grid(N, M)
    try:
        return all(right_within_bound(swapped, r.A, r.B) for r in launches)
    except Exception:  # that launch may fail in any way; it was only to say more
        return False


def blocks_begin(k, launches):
    """Which wrong number the block's number was multiplied by, if that explains what each launch stored; else None.

    With tiles of 4 rows, of which only rows 0 to 5 of 12 are stored, blocks 0, 1 and 2 begin at their number times 1.
    """
    rows, columns, _ = tile_of(k)
    said = []
    for name, axis, size, other in (("rows", 0, rows, columns), ("columns", 1, columns, rows)):
        stored = [(~np.isnan(r.C)).any(axis=1 - axis) for r in launches]
        if all(lines.all() for lines in stored):
            continue
        factors = dict.fromkeys((0, 1, other, "the number of blocks"))
        factors = [n for n in factors if all((lines == begun_at(n, len(lines), size)).all() for lines in stored)]
        if len(factors) != 1:
            return None
        said.append(
            f"of the {name} of C, only those are stored that blocks reach if each begins at "
            + (
                f"0: add the block's number times {size}"
                if factors[0] == 0
                else f"its number times {factors[0]}, not {size}"
            )
        )
    return "; ".join(said) or None


def begun_at(factor, length, size):
    """Which of so many rows, or columns, are in blocks of that size that begin at their number times factor."""
    blocks = ladder.ceil_div(length, size)
    begins = np.arange(blocks) * (blocks if isinstance(factor, str) else factor)
    return np.isin(np.arange(length), np.add.outer(begins, np.arange(size)))


# --------------------------------------------------------------------- every element is stored: which numbers are they?


def rounds_amiss(k, launches):
    """Right at the same shapes where the type of its inputs holds A and B, so that there is nothing to round."""
    wrong = bad(launches)
    if any(r.clear for r in wrong) or not all(right_within_bound(k, *r.held) for r in wrong):
        return None
    text = (
        f"right where {wrong[0].inputs} holds each number of A and B, and wrong where it does not, for example at "
        f"{wrong[-1].shape}; look at how they are rounded: to the nearest"
    )
    return Finding("rounding", text)


def rounds_to_fewer_digits(k, launches):
    """Right for A and B as a shorter type than float32 holds them, or as near as products and sums in that type are."""
    short = [r for r in bad(launches) if r.K <= FEW and in_range(r.A) and in_range(r.B)]
    if k.inputs != "float32" or not short:
        return None
    for kind in ("bfloat16", "float16", "tf32"):
        if not any(wrong_elements(r.C, held(r.A, kind), held(r.B, kind)).any() for r in short):
            text = f"C is right for an A and a B that are rounded to {kind}; keep them in float32"
            return Finding("wrong numbers", text)
    sums = [np.abs(r.A) @ np.abs(r.B) for r in short]
    if all((off(r) <= (r.K + 4) * 2.0**-8 * of).all() for r, of in zip(short, sums, strict=True)):  # as bfloat16 rounds
        share = max((off(r)[of > 0] / of[of > 0]).max(initial=0) for r, of in zip(short, sums, strict=True))
        if share > 2.0**-20:
            text = f"C is right to some {int(-np.log2(share))} of float32's 24 binary digits"
            return Finding("wrong numbers", f"{text}; look for a type of fewer, and for sums of numbers that cancel")
    return None


def in_range(X):
    """Whether float16 holds each number of X as a normal one, or as zero."""
    return bool(((X == 0) | ((np.abs(X) >= 2.0**-14) & (np.abs(X) <= FORMATS["float16"].greatest))).all())


def off(r):
    """How far each element of C is from the right one."""
    return np.abs(r.C - r.A.astype(np.float64) @ r.B.astype(np.float64))


def transposed(k, launches):
    """C.T is right where C is square."""
    square = [r for r in bad(launches) if r.C.shape[0] == r.C.shape[1] > 1]
    if not square or any(wrong_elements(r.C.T, r.A, r.B, r.inputs).any() for r in square):
        return None
    text = "C holds the transpose of A @ B: row and column are swapped, in the store or in all before it"
    return Finding("transposed", text)


def sums_a_part(k, launches):
    """Each wrong C is a sum over part of K, a part of one kind in all of them."""
    wrong = bad(launches)
    if not any(r.C.any() for r in wrong):  # zeros only: any part may be left out
        return None
    parts = [parts_of(r.K, tile_of(k)[2]) for r in wrong]
    for advice in parts[0]:
        said = [
            next((text for part, text in of[advice] if r.holds(r.A[:, part], r.B[part])), None)
            for r, of in zip(wrong, parts, strict=True)
        ]
        if all(said):
            return Finding("K is cut", f"{said[-1]}{advice}")
    return None


def parts_of(K, depth):
    """What may be left of a sum over K in tiles of that depth: {where to look: pairs of a slice and what to say}."""
    last = (K - 1) // depth * depth
    only_last = [
        (slice(last, K), f"of {K} products only the last {K - last} went into the sum, as if = stood for +="),
        (slice(K - 1, K), f"only the last of {K} products is there, as if = stood for +="),
        (slice(0, 0), "nothing is left of the sum, as if = stood for +="),  # where the last tile lies beyond K
    ]
    return {
        "; look at the loops over k and where they end": [
            (slice(0, stop), f"only the first {stop} of {K} products are summed") for stop in range(K)
        ],
        "": only_last[last == 0 : 3 if K % depth else 2],
        "; look at the loops over k and where they begin": [
            (slice(depth, K), "the first K-tile is missing"),
            (slice(1, K), "the first product is missing"),
        ],
    }


def counts_twice(k, launches):
    """Each wrong C has one product, or one K-tile, of its sums twice."""
    depth = tile_of(k)[2]
    for what, advice, part in (
        ("the first product", "where the sum starts and where k begins", lambda K: slice(0, 1)),
        ("the last product", "where k begins, and what is added behind the loop over it", lambda K: slice(K - 1, K)),
        ("the first K-tile", "which tile each round takes", lambda K: slice(0, depth)),
        ("the last K-tile", "which tile is added behind the loop", lambda K: slice((K - 1) // depth * depth, K)),
    ):
        twice = [(r, part(r.K)) for r in bad(launches)]
        if all(r.holds(np.hstack([r.A, r.A[:, of]]), np.vstack([r.B, r.B[of]])) for r, of in twice):
            return Finding("wrong numbers", f"{what} of each sum is there twice; look at {advice}")
    return None


def begins_beyond(k, launches):
    """Right in all that lies before some row, some column or some K, and wrong in all from there on."""
    for name, axis in (("row", 0), ("column", 1)):
        first = min(np.nonzero(r.wrong)[axis].min() for r in bad(launches))
        from_there = [np.moveaxis(r.wrong, axis, 0)[first:].any(axis=1) for r in launches]
        if first > 0 and all(lines.all() for lines in from_there):
            text = f"right before {name} {first}, and wrong in each {name} from there on"
            return Finding("wrong from a bound on", text)
    shortest = min(r.K for r in bad(launches))
    right = [r.K for r in launches if not r.wrong.any()]
    if right and shortest > max(right):
        return Finding("wrong from a bound on", f"right up to K = {max(right)}, and wrong at K = {shortest}")
    return None


def holds_anothers(k, launches):
    """Each wrong element holds what belongs to another row, column or place."""
    for what, advice in (
        ("row", "which row of A it reads, and which row of C it stores"),
        ("column", "which column of B it reads, and which column of C it stores"),
        ("place", "where it stores, and which row and column it sums"),
    ):
        taken = [(r, taken_from(what, r)) for r in bad(launches) if r.clear]
        examples = [(r, example) for r, example in taken if example]
        if examples and all(example is not None for _, example in taken):
            r, (to, source) = examples[-1]
            return Finding(
                f"wrong {what}",
                f"each wrong element of C holds what belongs to another {what}: at {r.shape}, "
                f"C[{to[0]}, {to[1]}] holds the sum for C[{source[0]}, {source[1]}]; look at {advice}",
            )
    return None


def taken_from(what, r):
    """A wrong element and whose value it holds, such as ((0, 0), (1, 0)), if that explains all; else None.

    `what`: they differ in "row", in "column", or in "place", either. Zeros come from beyond the edge, though a right
    number may be as near to zero by chance; () if all that is wrong is zero.
    """
    right, bound = r.A.astype(np.float64) @ r.B.astype(np.float64), error_bound(r.A, r.B, r.inputs)
    example = ()
    for row, col in np.argwhere(r.wrong & (r.C != 0)).tolist():
        rows = slice(None) if what != "column" else slice(row, row + 1)
        columns = slice(None) if what != "row" else slice(col, col + 1)
        at = np.argwhere(np.abs(r.C[row, col] - right[rows, columns]) <= bound[rows, columns])
        if not len(at):
            return None
        down, across = at[0].tolist()
        example = example or ((row, col), (down + (rows.start or 0), across + (columns.start or 0)))
    return example


def misreads(k, launches):
    """The product of A and B as a mistaken index would read them."""
    wrong = bad(launches)
    read = [misread(r, tile_of(k)) for r in wrong]
    for text in read[0]:
        if all(r.holds(*operands[text]) for r, operands in zip(wrong, read, strict=True)):
            return Finding("wrong index", text.format(f"for example at {wrong[-1].shape}"))
    return None


def explained_at_one_shape(k, launches):
    """A part of K, or a mistaken index, at one shape: at others a kernel may take other paths, as whole vectors do.

    Where C is a row or a column, different mistakes give the same numbers.
    """
    some = [r for r in bad(launches) if r.K > 1 and r.C.all()]
    wide = [r for r in some if min(r.C.shape) > 1]
    tried = (*(sums_a_part(k, [r]) for r in some), *(misreads(k, [r]) for r in wide))
    return next(filter(None, tried), None)


def misread(r, tile):
    """What mistaken indices would read for A and for B: {what to say, with {} for an example: (A, B)}."""
    A, B, (rows, columns, depth) = r.A, r.B, tile
    turn = "is transposed: compare how it is stored and how it is read; {}"
    stay = "is the first one in every round: its index does not move on; {}"
    read = {
        "A is read one column too far to the left or right of B's row; {}": (A[:, 1:], B[:-1]),
        "B is read one row too far above or below A's column; {}": (A[:, :-1], B[1:]),
        f"the tile of A {turn}": (turned(A, rows, depth), B),
        f"the tile of B {turn}": (A, turned(B, depth, columns)),
        f"the tile of A {stay}": (np.resize(A.T[:depth], A.T.shape).T, B),
        f"the tile of B {stay}": (A, np.resize(B[:depth], B.shape)),
    }
    M, N, K = *r.C.shape, r.K
    for name, size, length, right in (("A", "M", M, "K"), ("A", "N", N, "K"), ("B", "M", M, "N"), ("B", "K", K, "N")):
        for more, ends in (("", False), (" and no more", True)):
            text = f"{name} is read as if its rows had {size} elements{more}, not {right}, {{}}"
            other = reread(A if name == "A" else B, length, ends)
            read[f"{text}: the rows of {name} begin {right} apart"] = (other, B) if name == "A" else (A, other)
    return read


def turned(X, rows, columns):
    """X with each of its tiles of rows x columns transposed, zeros beyond the edge; X itself if they are not square."""
    if rows != columns:
        return X
    padded = np.pad(X, [(0, -length % rows) for length in X.shape])
    m, n = padded.shape
    tiles = padded.reshape(m // rows, rows, n // rows, rows)
    return tiles.transpose(0, 3, 2, 1).reshape(m, n)[: X.shape[0], : X.shape[1]]


def reread(X, length, ends):
    """X read with another row length, such as A[row * M + k] for A[row * K + k]; zeros beyond the end.

    `ends`: a guard keeps to that length as well, so that a row has zeros from there on.
    """
    flat = np.append(X.ravel(), np.float32(0))
    rows, columns = np.indices(X.shape)
    return np.where(ends & (columns >= length), 0, flat[np.minimum(rows * length + columns, X.size)])


def alike_along_a_tile(k, launches):
    """Each tile of C has one number in all of a row, or of a column: no index of the sum tells them apart."""
    found = []
    for axis, line, other, name in ((1, "row", "column", "B"), (0, "column", "row", "A")):
        side, some = tile_of(k)[axis], [np.moveaxis(r.C, axis, 0) for r in bad(launches) if r.C.shape[axis] > 1]
        if some and side > 1 and all(np.array_equal(C, C[np.arange(len(C)) // side * side]) for C in some):
            text = f"in each tile of C all elements of a {line} are the same: the sum does not depend on the {other}"
            found.append(Finding("wrong index", f"{text}; look at the indices of {name}"))
    return found[0] if len(found) == 1 else None


def wrong_at_the_edge(k, launches):
    """All that is wrong lies in the last tiles."""
    place, lines = place_of(k, bad(launches))
    if not place.startswith("the last"):
        return None
    example = f"for example at {bad(launches)[-1].shape}"
    return Finding("edge", f"wrong only in {place}, {example}; {LOOK.format(lines)}")


# ------------------------------------------------------------------------------ every element is some other sum


def starts_off_zero(k, launches):
    """Every element of a wrong C is too large or too small by the same whole number."""
    off = 0
    for r in bad(launches):
        excess = r.C - r.A.astype(np.float64) @ r.B.astype(np.float64)
        off = round(float(np.median(excess))) if np.isfinite(excess).all() else 0
        if off == 0 or not (np.abs(excess - off) <= 2 * error_bound(r.A, r.B, r.inputs) + 1e-5 * abs(off)).all():
            return None
    example = f"for example at {bad(launches)[-1].shape}"
    return Finding("wrong start", f"every element is {off:+d} off, {example}: where does its sum start?")


def takes_another_operator(k, launches):
    """Sums of A + B, A - B or A / B in place of sums of A * B, wherever C is wrong."""
    for sign, of in (("+", np.add), ("-", np.subtract), ("/", np.divide)):
        if all(sums_of(of, r)[r.wrong].all() for r in bad(launches)):
            which = "each element" if all(r.wrong.all() for r in launches) else "each wrong element"
            text = f"{which} is the sum of A[row, k] {sign} B[k, col]; it takes their products"
            return Finding("wrong operator", text)
    return None


def sums_of(of, r):
    """Where C is the sum of what that operator makes of A[row, k] and B[k, col], within its rounding; bool (M, N)."""
    with np.errstate(all="ignore"):
        terms = of(r.A.astype(np.float64)[:, :, None], r.B)
        return np.abs(r.C - terms.sum(1)) <= (r.K + 2) * UNIT_ROUNDOFF * np.abs(terms).sum(1)


def stays_zero_in_part(k, launches):
    """All that is wrong is zero: nothing was summed there."""
    if any(r.C[r.wrong].any() for r in bad(launches)):
        return None
    r = bad(launches)[-1]
    row, col = r.first
    look = "the loops over a thread's own elements and at the guards of the loads"
    if k.step is None:  # a function that launches its kernel itself
        look = "the grid that it launches, which must cover C, and at the guards"
    text = f"part of C is zero, the rest is right: at {r.shape}, C[{row}, {col}] is the first; look at {look}"
    return Finding("part is zero", text)


# ------------------------------------------------------------- no such pattern: ask the kernel with an identity matrix


def shows_with_identity(k, launches):
    """What C holds for a matrix X times the identity, and for the identity times X: products missing, or other ones.

    Each element of X is another number, and no sum of a few of them is one, so that C shows which the kernel took.
    """
    n = max(tile_of(k)) + 1
    if n > LARGEST:
        return None
    X = 1 + 16 * np.random.default_rng().permutation(n * n).reshape(n, n).astype(np.float32)
    identity = np.eye(n, dtype=np.float32)
    try:
        of_A, of_B = launched(k, X, identity), launched(k, identity, X)
    except Exception:  # it did well at other sizes; this was only to say more
        return None
    return skips_products(k, X, of_A, of_B) or repeats_products(X, of_A, of_B) or takes_other_elements(k, X, of_A, of_B)


def skips_products(k, X, of_A, of_B):
    """For some k the products are missing: the same one of every K-tile, whole K-tiles, or others."""
    K, depth = len(X), tile_of(k)[2]
    missing = [n for n in range(K) if not of_A[:, n].any() and not of_B[n].any()]
    kept = [n for n in range(K) if n not in missing]
    if not missing or (of_A != X)[:, kept].any() or (of_B != X)[kept].any():
        return None
    one_each = len({n % depth for n in missing}) == 1 and len(missing) == len(range(missing[0] % depth, K, depth))
    whole = all(n in missing for m in missing for n in range(m // depth * depth, min(K, (m // depth + 1) * depth)))
    which, advice = "products are missing", "which elements of A and B each round takes"
    if whole:
        which, advice = "whole K-tiles are missing", "which tile each round takes"
    elif one_each:
        which, advice = "of each K-tile one product is missing", "the loops over k and where they begin"
    some = ", ".join(map(str, missing[:4])) + (", ..." if len(missing) > 4 else "")
    return Finding("K is cut", f"{which}, those for k = {some} of {K}; look at {advice}")


def repeats_products(X, of_A, of_B):
    """For some k the product is in each sum several times, as where rounds overlap or take one tile again."""
    times = np.rint(of_A[0] / X[0])
    if not times.max() > 1 or (of_A != X * times).any() or (of_B != X * times[:, None]).any():
        return None
    some = ", ".join(f"{n:.0f}" for n in times[:8]) + ", ..." * (len(X) > 8)
    text = f"each product belongs in the sum once; for k = 0, 1, ... it is there {some} times, where K is {len(X)}"
    return Finding("wrong numbers", f"{text}; look at which tile a round takes, and where the next one begins")


def takes_other_elements(k, X, of_A, of_B):
    """Where one element of A or B belongs it takes another one of the same matrix, or none.

    They meet in one sum, so both may seem to be read so. Then what one holds is asked again, times a random matrix.
    """
    places, seem = {value: place for place, value in np.ndenumerate(X)}, []
    for name, found in (("A", of_A), ("B", of_B)):
        wrong = found != X
        taken = [place for place in map(tuple, np.argwhere(wrong).tolist()) if found[place] != 0]
        if taken and all(value == 0 or value in places for value in found[wrong].tolist()):
            seem.append((name, found, taken[0]))
    if len(seem) == 2:
        seem = [(name, found, first) for name, found, first in seem if explains(k, name, X, found)]
    if not seem:
        return None
    name, found, (row, col) = seem[0]
    other_row, other_col = places[found[row, col].item()]
    return Finding(
        "wrong index",
        f"where {name}[{row}, {col}] belongs it takes {name}[{other_row}, {other_col}], at "
        f"{len(X)} x {len(X)} x {len(X)} (M x N x K); look at how {name} is staged and read, and with which row length",
    )


def explains(k, name, X, found):
    """Whether a kernel given X for A, or for B, takes `found` in its place, whatever it is multiplied by."""
    other = draw(*X.shape, len(X))[0]
    given, taken = ((X, other), (found, other)) if name == "A" else ((other, X), (other, found))
    try:
        return not wrong_elements(launched(k, *given), *taken, k.inputs).any()
    except Exception:  # it did well at other sizes; this was only to say more
        return False


# In this order: each looks at what the ones before it did not explain.
SUSPICIONS = (
    looks_at_the_numbers,
    in_whole_numbers,
    holds_nothing,
    leaves_holes,
    rounds_amiss,
    rounds_to_fewer_digits,
    transposed,
    sums_a_part,
    counts_twice,
    holds_anothers,
    misreads,
    alike_along_a_tile,
    wrong_at_the_edge,
    starts_off_zero,
    takes_another_operator,
    stays_zero_in_part,
    shows_with_identity,
    explained_at_one_shape,
)
# Those that take no longer than the product itself.
QUICK = (holds_nothing, leaves_holes, rounds_amiss, transposed, begins_beyond, wrong_at_the_edge)
