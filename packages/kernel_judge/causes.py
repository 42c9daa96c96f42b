"""What the wrong elements of C have in common: the causes that pages, answers and public reports show.

Each cause is an experiment: a function of (product, wrong launches, right shapes) that gives a `Finding`, or None where
it does not hold for all that is wrong. `CAUSES`, at the end, has them in the order in which they are tried.
"""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .findings import Drawn, Finding, Kind
from .product import Product, Shape
from .reference import drawn, error_bound, held, wrong_elements

SMALL = 1 << 18  # products: of a larger one no element is looked for among all of C
FEW = 16  # products of a sum, among which a missing one shows
DRAWN = 4096  # elements of a C whose holes can be drawn
LARGEST = 64  # rows and columns of an identity matrix that Oclgrind multiplies in a second or so


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
    def size(self) -> int:
        """All its products."""
        return self.C.size * self.K

    @property
    def holes(self) -> np.ndarray:
        """Where C holds NaN, as it did before the launch."""
        return np.isnan(self.C)

    @property
    def exact(self) -> np.ndarray:
        """The product in float64."""
        return self.A.astype(np.float64) @ self.B.astype(np.float64)

    @property
    def where(self) -> dict:
        """Its sizes, and the first wrong element, as values of a sentence."""
        row, col = np.argwhere(self.wrong)[0].tolist()
        return {"shape": spelled((*self.C.shape, self.K)), "row": row, "col": col, "K": self.K}

    @property
    def drawn(self) -> Drawn | None:
        """Where C holds NaN; None for a large C."""
        numbers = tuple(np.flatnonzero(self.holes).tolist())
        caption = Finding("", "drawn_holes", values={"count": len(numbers), "all": self.C.size})
        return Drawn((caption,), "C", self.C.shape, numbers) if self.C.size <= DRAWN else None

    def holds(self, A: np.ndarray, B: np.ndarray) -> bool:
        """Whether C is the product of these two, in place of its own A and B."""
        return not wrong_elements(self.C, A, B, self.inputs).any()


def spelled(shape: Shape) -> str:
    """A shape as one reads it."""
    return f"{' x '.join(map(str, shape))} (M x N x K)"


def cause(product: Product, wrong: list[Launch], right: list[Shape]) -> Finding:
    """Why these launches are wrong: the first cause whose experiment holds. `right`: shapes at which C was right."""
    small = [r for r in wrong if r.size <= SMALL]
    for ask in CAUSES if small else QUICK:
        if found := ask(product, small or wrong, right):
            return found
    first = min(wrong, key=lambda r: r.size)
    key = "wrong_at_some" if right else "wrong_numbers"
    return Finding(Kind.WRONG_NUMBERS, key, values=first.where | {"count": len(right)})


def again(product: Product, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> bool:
    """Whether another launch, of these, is right; False for one that fails: it was only to say more."""
    with suppress(Exception):
        return not wrong_elements(product.multiply(A, B, fill), A, B, product.inputs).any()
    return False


# -------------------------------------------------------------------------- the device: is the kernel to blame at all?


def compiler(product, wrong, right):
    """Right on the same device where its compiler optimises nothing."""
    there = product.unoptimised()
    if not there or not all(again(there, r.A, r.B) for r in wrong):
        return None
    return Finding(Kind.COMPILER, "miscompiled", values=wrong[-1].where | {"device": product.device_name})


# -------------------------------------------------------------------------------- what C holds: nothing, zeros, or NaN


def nothing(product, wrong, right):
    """Zeros everywhere; or NaN everywhere: if it is right when C held zeros, C was read."""
    if not any(r.C.any() for r in wrong):
        return Finding(Kind.ZEROS, "zeros" if product.tile_known else "zeros_of_a_function")
    if not all(r.holes.all() for r in wrong):
        return None
    if all(again(product, r.A, r.B, 0) for r in wrong):
        return Finding(Kind.ADDS, "adds_to_C")
    if not any(product.multiply(r.A, r.B, 0).any() for r in wrong):
        return Finding(Kind.NOTHING_STORED, "nothing_stored")
    return None


def holes(product, wrong, right):
    """NaN in C: never stored there, or made, or read from past the end of A or B?"""
    with_holes = [Launch(r.A, r.B, r.C, r.holes) for r in wrong if r.holes.any()]
    if not with_holes:
        return None
    last = with_holes[-1]
    if np.isnan(product.multiply(last.A, last.B, 0)).any():
        found = product.of_nan()
        return Finding(found.kind, found.key, values=last.where)
    turned = product.turned()
    if turned and all(again(turned, r.A, r.B) for r in wrong):
        return Finding(Kind.SWAPPED, "x_and_y_swapped", values=last.where, drawn=last.drawn)
    if any((r.wrong & ~r.holes).any() for r in wrong):
        return Finding(Kind.WRONG_INDEX, "holes_and_wrong", values=last.where, drawn=last.drawn)
    if all((r.holes != np.eye(*r.C.shape, dtype=bool)).all() for r in wrong):
        return Finding(Kind.UNWRITTEN, "only_the_diagonal", values=last.where, drawn=last.drawn)
    return Finding(Kind.UNWRITTEN, f"unwritten_{place(product, with_holes)}", values=last.where, drawn=last.drawn)


def place(product, launches):
    """Where all that is wrong lies: "last_rows", "rows", "columns", ..., "elements" where in neither of them.

    "The last" ones are the last tile's share. Where that is all of C, all of it has to be wrong, and of every C it says
    nothing.
    """
    for axis, name in ((0, "rows"), (1, "columns")):
        begins = [r.C.shape[axis] - (r.C.shape[axis] % product.tile[axis] or 1) for r in launches]
        explained = [
            (np.nonzero(r.wrong)[axis] >= n).all() if n else r.wrong.all()
            for r, n in zip(launches, begins, strict=True)
        ]
        if any(begins) and all(explained):
            return f"last_{name}"
    for axis, name in ((1, "rows"), (0, "columns")):
        if all((r.wrong == r.wrong.all(axis=axis, keepdims=True)).all() for r in launches):
            return name
    return "elements"


# -------------------------------------------------------------------------------------- how numbers are held and drawn


def integers_only(product, wrong, right):
    """C holds integers only, and is right for an A and a B of integers."""
    if any((np.rint(r.C) != r.C).any() for r in wrong):  # NaN is no integer
        return None
    if again(product, *(np.rint(8 * X) + 9 for X in (wrong[-1].A, wrong[-1].B))):
        return Finding(Kind.WRONG_NUMBERS, "integers_only")
    return None


def special_numbers(product, wrong, right):
    """Right at the same shapes for numbers between -1 and 1, and wrong where some are zero, equal, tiny or huge."""
    if not all((r.A == 0).any() or (r.B == 0).any() for r in wrong):
        return None
    if all(again(product, *drawn((*r.C.shape, r.K), r.inputs, 1)) for r in wrong):
        return Finding(Kind.WRONG_NUMBERS, "special_numbers", values=wrong[-1].where)
    return None


def rounds_amiss(product, wrong, right):
    """Right at the same shapes where the type of its inputs holds A and B, so that there is nothing to round."""
    if product.inputs == "float32" or any(np.array_equal(held(r.A, r.inputs), r.A) for r in wrong):
        return None
    if all(again(product, held(r.A, r.inputs), held(r.B, r.inputs)) for r in wrong):
        return Finding(Kind.ROUNDING, "rounds_amiss", values=wrong[-1].where | {"inputs": product.inputs})
    return None


def fewer_digits(product, wrong, right):
    """Right for A and B as a shorter type than float32 holds them, or as near as products and sums in that type are."""
    short = [r for r in wrong if r.K <= FEW]
    if product.inputs != "float32" or not short:
        return None
    for kind in ("bfloat16", "float16", "tf32"):
        if not any(wrong_elements(r.C, held(r.A, kind), held(r.B, kind)).any() for r in short):
            return Finding(Kind.WRONG_NUMBERS, "rounded_to", values={"inputs": kind})
    shares = [(np.abs(r.C - r.exact) / (np.abs(r.A) @ np.abs(r.B))).max() for r in short]
    if all(2.0**-20 < share <= (FEW + 4) * 2.0**-8 for share in shares):
        return Finding(Kind.WRONG_NUMBERS, "fewer_digits", values={"digits": int(-np.log2(max(shares)))})
    return None


# ------------------------------------------------------------------------------------------------ which sums are they?


def transposed(product, wrong, right):
    """C.T is right where C is square."""
    square = [r for r in wrong if r.C.shape[0] == r.C.shape[1] > 1]
    if square and not any(wrong_elements(r.C.T, r.A, r.B, r.inputs).any() for r in square):
        return Finding(Kind.TRANSPOSED, "transposed")
    return None


def k_is_cut(product, wrong, right):
    """Each wrong C is a sum over one part of K: the first products, all but the first, or the last."""
    depth = product.tile[2]
    for key, stops in (("first_of_K", None), ("last_of_K", 1), ("no_first_tile", 2), ("no_first", 3)):
        parts = []
        for r in wrong:
            last = (r.K - 1) // depth * depth
            tried = {
                None: [slice(0, stop) for stop in range(r.K)],
                1: [slice(last, r.K)] * (last > 0) + [slice(r.K - 1, r.K)] * (r.K > 1),
                2: [slice(depth, r.K)],
                3: [slice(1, r.K)],
            }[stops]
            parts.append(next((part for part in tried if r.holds(r.A[:, part], r.B[part])), None))
        if all(parts):
            count = parts[-1].stop - parts[-1].start
            return Finding(Kind.K_CUT, key, values=wrong[-1].where | {"count": count})
    return None


def anothers_sum(product, wrong, right):
    """Each wrong element holds what belongs to another row, column or place."""
    for kind, key, same in (
        (Kind.WRONG_ROW, "wrong_row", 1),
        (Kind.WRONG_COLUMN, "wrong_column", 0),
        (Kind.WRONG_PLACE, "wrong_place", None),
    ):
        taken = [taken_from(r, same) for r in wrong]
        examples = [(r, one) for r, one in zip(wrong, taken, strict=True) if one]
        if examples and None not in taken:
            r, (to, of) = examples[-1]
            where = r.where | {"row": to[0], "col": to[1], "other_row": of[0], "other_col": of[1]}
            return Finding(kind, key, values=where)
    return None


def taken_from(r, same):
    """A wrong element and whose value it holds, such as ((0, 0), (1, 0)), if that explains all; else None.

    `same`: the axis along which they have one number, None where both may differ. Zeros come from beyond the edge; ()
    if all that is wrong is zero.
    """
    exact, bound, example = r.exact, error_bound(r.A, r.B, r.inputs), ()
    for row, col in np.argwhere(r.wrong & (r.C != 0)).tolist():
        near = np.abs(r.C[row, col] - exact) <= bound
        if same is not None:
            near &= np.expand_dims(np.arange(r.C.shape[same]) == (row, col)[same], 1 - same)
        if not near.any():
            return None
        example = example or ((row, col), tuple(np.argwhere(near)[0].tolist()))
    return example


def misread(product, wrong, right):
    """The product of A and B as a mistaken index would read them."""
    read = [as_misread(product.tile, r) for r in wrong]
    for key in read[0]:
        if all(r.holds(*operands[key]) for r, operands in zip(wrong, read, strict=True)):
            return Finding(Kind.WRONG_INDEX, key, values=wrong[-1].where)
    return None


def as_misread(tile, r):
    """What mistaken indices would read for A and for B: {key of the sentence: (A, B)}."""
    A, B, (rows, columns, depth), (M, N), K = r.A, r.B, tile, r.C.shape, r.K
    read = {
        "A_aside": (A[:, 1:], B[:-1]),
        "B_aside": (A[:, :-1], B[1:]),
        "tile_of_A_transposed": (tiles_transposed(A, rows, depth), B),
        "tile_of_B_transposed": (A, tiles_transposed(B, depth, columns)),
        "A_stays": (np.resize(A.T[:depth], A.T.shape).T, B),
        "B_stays": (A, np.resize(B[:depth], B.shape)),
    }
    for name, size, length in (("A", "M", M), ("A", "N", N), ("B", "M", M), ("B", "K", K)):
        other = with_rows_of(A if name == "A" else B, length)
        read[f"{name}_in_rows_of_{size}"] = (other, B) if name == "A" else (A, other)
    return read


def tiles_transposed(X, rows, columns):
    """X with each of its tiles of rows x columns transposed, zeros beyond the edge; X itself if they are not square."""
    if rows != columns:
        return X
    padded = np.pad(X, [(0, -length % rows) for length in X.shape])
    m, n = padded.shape
    tiles = padded.reshape(m // rows, rows, n // rows, rows)
    return tiles.transpose(0, 3, 2, 1).reshape(m, n)[: X.shape[0], : X.shape[1]]


def with_rows_of(X, length):
    """X read with another row length, such as A[row * M + k] for A[row * K + k]; zeros beyond the end."""
    flat, (rows, columns) = np.append(X.ravel(), np.float32(0)), np.indices(X.shape)
    return flat[np.minimum(rows * length + columns, X.size)]


def starts_off_zero(product, wrong, right):
    """Every element of a wrong C is too large or too small by the same integer."""
    for r in wrong:
        excess = r.C - r.exact
        off = round(float(np.median(excess))) if np.isfinite(excess).all() else 0
        if off == 0 or not (np.abs(excess - off) <= 2 * error_bound(r.A, r.B, r.inputs) + 1e-5 * abs(off)).all():
            return None
    return Finding(Kind.WRONG_START, "starts_off_zero", values=wrong[-1].where | {"off": f"{off:+d}"})


# -------------------------------------------------------------------------------------------------- where is it wrong?


def at_the_edge(product, wrong, right):
    """All that is wrong lies in the last tiles."""
    where = place(product, wrong)
    return Finding(Kind.EDGE, f"edge_{where}", values=wrong[-1].where) if where.startswith("last") else None


def zero_in_part(product, wrong, right):
    """All that is wrong is zero: nothing was summed there."""
    if any(r.C[r.wrong].any() for r in wrong):
        return None
    key = "part_is_zero" if product.tile_known else "part_is_zero_of_a_function"
    return Finding(Kind.PART_ZERO, key, values=wrong[-1].where)


def from_a_bound(product, wrong, right):
    """Right in all that lies before some row, some column or some K, and wrong in all from there on."""
    for axis, key in ((0, "from_a_row"), (1, "from_a_column")):
        first = min(int(np.nonzero(r.wrong)[axis].min()) for r in wrong)
        lines = [np.moveaxis(r.wrong, axis, 0)[first:].any(axis=1) for r in wrong]
        if first > 0 and all(one.all() for one in lines) and all(shape[axis] <= first for shape in right):
            return Finding(Kind.FROM_A_BOUND, key, values={"first": first})
    shortest, most = min(r.K for r in wrong), max((K for *_, K in right), default=0)
    if 0 < most < shortest:
        return Finding(Kind.FROM_A_BOUND, "from_a_K", values={"most": most, "first": shortest})
    return None


# ------------------------------------------------------------- no such pattern: ask the kernel with an identity matrix


def with_identity(product, wrong, right):
    """What C holds for a matrix X times the identity, and for the identity times X: products missing, or other ones.

    Each element of X is another number, and no sum of a few of them is one, so that C shows which the kernel took.
    """
    n = max(product.tile) + 1
    if n > LARGEST:
        return None
    X = 1 + 16 * np.random.default_rng().permutation(n * n).reshape(n, n).astype(np.float32)
    identity = np.eye(n, dtype=np.float32)
    try:
        of_A, of_B = product.multiply(X, identity), product.multiply(identity, X)
    except Exception:  # it did well at other sizes; this was only to say more
        return None
    return missing(product, X, of_A, of_B) or repeated(X, of_A, of_B) or others(product, X, of_A, of_B)


def missing(product, X, of_A, of_B):
    """For some k the products are missing: the same one of every K-tile, whole K-tiles, or others."""
    K, depth = len(X), product.tile[2]
    gone = [n for n in range(K) if not of_A[:, n].any() and not of_B[n].any()]
    kept = [n for n in range(K) if n not in gone]
    if not gone or (of_A != X)[:, kept].any() or (of_B != X)[kept].any():
        return None
    one_each = gone == list(range(gone[0] % depth, K, depth))
    whole = all(n in gone for m in gone for n in range(m // depth * depth, min(K, (m // depth + 1) * depth)))
    key = "tiles_missing" if whole else "one_of_each_tile_missing" if one_each else "products_missing"
    some = ", ".join(map(str, gone[:4])) + (", ..." if len(gone) > 4 else "")
    return Finding(Kind.K_CUT, key, values={"some": some, "K": K})


def repeated(X, of_A, of_B):
    """For some k the product is in each sum several times, as where rounds overlap or take one tile again."""
    with np.errstate(invalid="ignore"):
        times = np.rint(of_A[0] / X[0])
    if not times.max() > 1 or (of_A != X * times).any() or (of_B != X * times[:, None]).any():
        return None
    some = ", ".join(f"{n:.0f}" for n in times[:8]) + (", ..." if len(X) > 8 else "")
    return Finding(Kind.WRONG_NUMBERS, "products_repeated", values={"some": some, "K": len(X)})


def others(product, X, of_A, of_B):
    """Where one element of A or B belongs it takes another one of the same matrix, or none.

    They meet in one sum, so both may seem to be read so. Then what one holds is asked again, times a random matrix.
    """
    places, seem = {value: place for place, value in np.ndenumerate(X)}, []
    for name, found in (("A", of_A), ("B", of_B)):
        taken = [at for at in map(tuple, np.argwhere(found != X).tolist()) if found[at] != 0]
        if taken and all(value == 0 or value in places for value in found[found != X].tolist()):
            seem.append((name, found, taken[0]))
    if len(seem) == 2:
        seem = [one for one in seem if explains(product, *one[:2], X)]
    if not seem:
        return None
    name, found, (row, col) = seem[0]
    other_row, other_col = places[found[row, col].item()]
    values = dict(row=row, col=col, other_row=other_row, other_col=other_col, shape=spelled((len(X),) * 3))
    return Finding(Kind.WRONG_INDEX, f"other_element_of_{name}", values=values)


def explains(product, name, found, X):
    """Whether a kernel given X for A, or for B, takes `found` in its place, whatever it is multiplied by."""
    other, _ = drawn((*X.shape, len(X)), turn=1)
    given, taken = ((X, other), (found, other)) if name == "A" else ((other, X), (other, found))
    with suppress(Exception):  # it did well at other sizes; this was only to say more
        return not wrong_elements(product.multiply(*given), *taken, product.inputs).any()
    return False


# In this order: each looks at what the ones before it did not explain.
CAUSES = (
    compiler,
    special_numbers,
    integers_only,
    nothing,
    holes,
    rounds_amiss,
    fewer_digits,
    transposed,
    k_is_cut,
    anothers_sum,
    misread,
    at_the_edge,
    starts_off_zero,
    zero_in_part,
    with_identity,
)
# Those that take no longer than the product itself.
QUICK = (compiler, special_numbers, nothing, holes, rounds_amiss, transposed, from_a_bound, at_the_edge)
