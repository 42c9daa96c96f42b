"""What a wrong C is called, word by word: each C is made here, in NumPy, so that the mistake in it is known."""

import numpy as np
import pytest

from kernel_judge import Finding, Kind, wrong_elements
from kernel_judge.causes import Launch, cause
from kernel_judge.reference import drawn, held

SHAPES = [(8, 8, 8), (9, 6, 12), (5, 13, 11)]  # the last one is what a message tells of


class Wrong:
    """A product with tiles of 4 x 4 x 4, or others: C is product(A, B, what C held before)."""

    inputs, device_name = "float32", "a device"

    def __init__(self, product, tile=(4, 4, 4), known=True, elsewhere=None, turned=None):
        self.product, self.tile, self.tile_known = product, tile, known
        self.turned, self.unoptimised = (lambda: turned), (lambda: elsewhere)

    def multiply(self, A, B, fill=np.nan):
        return self.product(A, B, np.full((len(A), B.shape[1]), fill, np.float32)).astype(np.float32)

    def of_nan(self):
        return Finding(Kind.OUT_OF_BOUNDS, "reads_past")


def named(k, shapes=SHAPES, turn=1):
    """The finding's kind and message."""
    wrong, right = [], []
    for shape in shapes:
        A, B = drawn(shape, k.inputs, turn)
        C = k.multiply(A, B)
        amiss = wrong_elements(C, A, B, k.inputs)
        wrong += [Launch(A, B, C, amiss, k.inputs)] * bool(amiss.any())
        right += [shape] * (not amiss.any())
    found = cause(k, wrong, right)
    return found.kind, found.message


def test_what_is_right_where_the_compiler_optimises_nothing_is_the_compilers_fault():
    wrong, right = (lambda A, B, C: A @ B + 3), (lambda A, B, C: A @ B)
    kind, message = named(Wrong(wrong, elsewhere=Wrong(right)))
    assert kind == Kind.COMPILER and "right on a device where its compiler optimises nothing" in message
    assert named(Wrong(wrong, elsewhere=Wrong(wrong)))[0] == Kind.WRONG_START


def cut(part):
    return lambda A, B, C: A[:, part(A.shape[1])] @ B[part(A.shape[1])]


def skipping(*left_out):
    def product(A, B, C):
        kept = [k for k in range(A.shape[1]) if k not in left_out]
        return A[:, kept] @ B[kept]

    return product


def tiles_turned(X):
    """Each tile of 4 x 4 transposed, zeros beyond the edge."""
    at = {(r, c): (r // 4 * 4 + c % 4, c // 4 * 4 + r % 4) for r, c in np.ndindex(X.shape)}
    inside = {place: X[source] for place, source in at.items() if source[0] < X.shape[0] and source[1] < X.shape[1]}
    return np.array([[inside.get((r, c), 0) for c in range(X.shape[1])] for r in range(X.shape[0])])


def reread(X, length):
    """X as if its rows had so many elements; zeros beyond its end."""
    flat = [*X.ravel().tolist(), *[0.0] * (length * X.size)]
    return np.array([[flat[r * length + c] for c in range(X.shape[1])] for r in range(X.shape[0])], np.float32)


MADE = {
    "transposed": (lambda A, B, C: np.resize((A @ B).T, C.shape), "transposed", "C holds the transpose of A @ B"),
    "two left out": (cut(lambda K: slice(0, K - 2)), "K is cut", "only the first 9 of 11 products are summed"),
    "last tile": (cut(lambda K: slice((K - 1) // 4 * 4, K)), "K is cut", "of 11 products only the last 3 went into"),
    "no first tile": (cut(lambda K: slice(4, K)), "K is cut", "the first K-tile is missing"),
    "no first": (
        cut(lambda K: slice(1, K)),
        "K is cut",
        "the first product is missing; look at the loops over k and where they begin",
    ),
    "parts of two kinds": (
        cut(lambda K: slice(0, K - 2) if K % 2 else slice(1, K)),
        "K is cut",
        "products are missing, those for k = 3, 4 of 5; look at which elements",
    ),
    "next row": (lambda A, B, C: np.roll(A @ B, -1, 0), "wrong row", "C[0, 0] holds the sum for C[1, 0]"),
    "next column": (lambda A, B, C: np.roll(A @ B, -1, 1), "wrong column", "C[0, 0] holds the sum for C[0, 1]"),
    "another place": (lambda A, B, C: (A @ B)[::-1, ::-1], "wrong place", "C[0, 0] holds the sum for C[4, 12]"),
    "A aside": (lambda A, B, C: A[:, 1:] @ B[:-1], "wrong index", "A is read one column too far"),
    "B aside": (lambda A, B, C: A[:, :-1] @ B[1:], "wrong index", "B is read one row too far"),
    "A turned": (lambda A, B, C: tiles_turned(A) @ B, "wrong index", "the tile of A is transposed"),
    "B turned": (lambda A, B, C: A @ tiles_turned(B), "wrong index", "the tile of B is transposed"),
    "+3": (lambda A, B, C: A @ B + 3, "wrong start", "every element is +3 off, for example at 5 x 13 x 11"),
    "A's length": (
        lambda A, B, C: reread(A, len(A)) @ B,
        "wrong index",
        "A is read as if its rows had M elements, not K",
    ),
    "B's length": (
        lambda A, B, C: A @ reread(B, len(B)),
        "wrong index",
        "B is read as if its rows had K elements, not N",
    ),
    "k = 1": (skipping(1, 5, 9), "K is cut", "of each K-tile one product is missing, those for k = 1 of 5"),
    "second tile": (skipping(4, 5, 6, 7), "K is cut", "k = 4 of 5; look at which tile each iteration takes"),
    "B aside and down": (lambda A, B, C: A @ np.roll(np.roll(B, 1, 0), 2, 1), "wrong index", "where B["),
    "A aside and down": (lambda A, B, C: np.roll(np.roll(A, 1, 0), 2, 1) @ B, "wrong index", "where A["),
    "A by columns": (
        lambda A, B, C: np.stack([A[(np.arange(len(A)) + n) % len(A)] @ B[:, n] for n in range(C.shape[1])], 1),
        "wrong row",
        "C[0, 1] holds the sum for C[1, 1]",
    ),
    "A by columns, k > 0": (
        lambda A, B, C: np.stack(
            [np.roll(A, -n, 0)[:, 1:] @ B[1:, n] + A[:, 0] * B[0, n] for n in range(C.shape[1])], 1
        ),
        "wrong index",
        "where A[0, 1] belongs it takes A[1, 1]",
    ),
    "integers": (
        lambda A, B, C: np.trunc(A) @ np.trunc(B),
        "wrong numbers",
        "right for integers in A and B, and wrong for fractions",
    ),
    # https://github.com/ysh329/OpenCL-101/issues/16: row and col are both get_global_id(0)
    "one number for both": (
        lambda A, B, C: np.where(np.eye(*C.shape), A @ B, C),
        "unwritten",
        "only the diagonal of C is stored, for example at 5 x 13 x 11 (M x N x K)",
    ),
    "next row, or zero": (
        lambda A, B, C: np.vstack([0 * (A @ B)[:3], (A @ B)[3:]]) if len(A) == 5 else np.roll(A @ B, -1, 0),
        "wrong row",
        "C[0, 0] holds the sum for C[1, 0]",
    ),
    "whole tiles only, none at first": (
        cut(lambda K: slice(0, K // 9 * 9)),
        "K is cut",
        "only the first 9 of 11 products are summed; look at the loops over k and where they end",
    ),
    "the first product twice": (
        lambda A, B, C: A @ B + A[:, :1] @ B[:1],
        "wrong numbers",
        "for k = 0, 1, ... it is there 2, 1, 1, 1, 1 times",
    ),
    "tiles that overlap": (
        lambda A, B, C: A * np.minimum(np.arange(1, len(B) + 1), 4) @ B,
        "wrong numbers",
        "for k = 0, 1, ... it is there 1, 2, 3, 4, 4 times, where K is 5; look at which tile an iteration takes",
    ),
    "tiles in float16": (
        lambda A, B, C: held(A, "float16") @ held(B, "float16"),
        "wrong numbers",
        "right for an A and a B that are rounded to float16",
    ),
    "products in float16": (
        lambda A, B, C: (A.astype(np.float16)[:, :, None] * B.astype(np.float16)).astype(np.float32).sum(1),
        "wrong numbers",
        "of float32's 24 binary digits",
    ),
    "some at K = 11": (
        lambda A, B, C: A[:, ::2] @ B[::2] if len(B) == 11 else A @ B,
        "wrong numbers",
        "right at other shapes, and wrong at 5 x 13 x 11 (M x N x K), where C[0, 0] is the first",
    ),
}


@pytest.mark.parametrize("product, kind, said", MADE.values(), ids=MADE)
def test_a_mistake_is_told_with_its_numbers(product, kind, said):
    found, message = named(Wrong(product))
    assert found == kind and said in message, (found, message)


def test_products_that_are_there_twice_are_told_from_the_first_of_them_on():
    k = Wrong(lambda A, B, C: A @ B + A[:, 11:] @ B[11:], (16, 16, 16))
    said = "for k = 8, 9, ... it is there 1, 1, 1, 2, 2, 2, 2, 2, ... times, where K is 17"
    assert said in named(k, [(9, 6, 13), (5, 13, 14)])[1]


def with_noise(rows, columns):
    """A @ B, but for that many last rows or columns, which are anything."""

    def product(A, B, C):
        C = A @ B
        C[len(C) - rows :] = np.random.default_rng(1).random(C[len(C) - rows :].shape)
        C[:, C.shape[1] - columns :] = np.random.default_rng(2).random(C[:, C.shape[1] - columns :].shape)
        return C

    return product


# A tile is 8 rows and 4 columns: of 16 x 8 only the last row and column are the edge, of 13 x 6 five and two.
@pytest.mark.parametrize(
    "rows, columns, shape, where",
    [
        (1, 0, (16, 8, 4), "the last rows"),
        (0, 2, (16, 8, 4), ""),
        (5, 0, (13, 6, 4), "the last rows"),
        (6, 0, (13, 6, 4), ""),
        (0, 2, (13, 6, 4), "the last columns"),
    ],
)
def test_the_edge_is_what_the_last_tile_has(rows, columns, shape, where):
    found, message = named(Wrong(with_noise(rows, columns), (8, 4, 4)), [shape])
    assert (found == "edge") == bool(where) and where in message, (found, message)


def with_holes(rows, columns):
    """A @ B, but those rows and columns are never stored."""

    def product(A, B, C):
        stored = np.ix_(
            np.isin(np.arange(len(C)), rows, invert=True), np.isin(np.arange(C.shape[1]), columns, invert=True)
        )
        C[stored] = (A @ B)[stored]
        return C

    return product


@pytest.mark.parametrize(
    "rows, columns, shapes, said",
    [
        ([4], [], [(9, 6, 4)], "whole rows, row 4 first, never stored, for example at 9 x 6 x 4"),
        ([4], [], [(9, 3, 4)], "whole rows, row 4 first"),  # all three columns are the last ones: that says nothing
        ([], [2], [(3, 9, 4)], "whole columns, column 2 first"),
        ([4], [2], [(9, 9, 4)], "part of C, C[0, 2] first"),
        ([8], [], [(9, 3, 4)], "the last rows never stored"),
        ([], [8], [(9, 9, 4), (2, 9, 4)], "the last columns never stored"),
        ([6, 7, 8], [8], [(5, 9, 4), (9, 1, 4)], "part of C, C[6, 0] first"),  # a single column is not all wrong
    ],
)
def test_what_was_never_stored_is_told_by_rows_and_columns(rows, columns, shapes, said):
    found, message = named(Wrong(with_holes(rows, columns)), shapes)
    assert found == "unwritten" and said in message, (found, message)
    axis = "rows" if "rows" in said else "columns" if "columns" in said else "elements"
    assert f"look at which {axis} a thread takes" in message


def test_what_is_wrong_with_zeros_in_c_as_well_does_not_only_add_to_c():
    assert named(Wrong(lambda A, B, C: C + A @ B))[0] == "adds to C"
    assert named(Wrong(lambda A, B, C: C + A @ B * (1 if len(A) == 8 else 2)))[0] == "unwritten"


@pytest.mark.parametrize("known, look", [(True, "a thread's own elements"), (False, "the grid that it launches")])
def test_where_part_is_zero_a_function_of_the_host_is_sent_to_its_grid(known, look):
    def begun_late(A, B, C):
        return np.vstack([0 * (A @ B)[:2], (A @ B)[2:]])

    assert look in named(Wrong(begun_late, known=known), [(9, 6, 12), (8, 8, 8)])[1]


def test_what_is_right_with_x_and_y_exchanged_is_a_turned_launch():
    half = with_holes([0], [])
    assert named(Wrong(half, turned=Wrong(lambda A, B, C: A @ B)))[0] == "x and y swapped"
    assert named(Wrong(half, turned=Wrong(half)))[0] == "unwritten"


@pytest.mark.parametrize(
    "product",
    [
        lambda A, B, C: np.clip(A @ B, -1e6, 1e6),
        lambda A, B, C: np.where(np.abs(A) < 1e-8, 0, A) @ B,
        lambda A, B, C: A @ np.where((B == 0).cumsum(0) > 0, 0, B),  # a loop that ends at a zero
    ],
)
def test_what_is_wrong_for_some_numbers_is_told_as_that(product):
    kind, message = named(Wrong(product), turn=11)
    assert kind == "wrong numbers" and "some are zero, equal, tiny or huge, at 5 x 13 x 11" in message


def test_what_is_cut_off_where_it_should_be_rounded_is_told_as_that():
    """To a bfloat16, the upper half of a float32."""

    def cut_off(X):
        return (X.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)

    k = Wrong(lambda A, B, C: cut_off(A) @ cut_off(B))
    k.inputs = "bfloat16"
    kind, message = named(k, [(40, 40, 1)])
    assert kind == "rounding" and "right where bfloat16 holds each number" in message


def split(X):
    big = held(X, "tf32")
    return big, X - big


@pytest.mark.parametrize("mine, names", [("AB aB", "B"), ("AB Ab", "A"), ("AB Ab Ab", "A and B")])
def test_digits_that_a_sum_of_products_of_parts_leaves_out_are_told_by_their_matrix(mine, names):
    """Capitals are what TF32 holds, small letters what it drops."""

    def product(A, B, C):
        parts = dict(zip("AaBb", (*split(A), *split(B)), strict=True))
        return sum(parts[left] @ parts[right] for left, right in mine.split())

    kind, message = named(Wrong(product), [(20, 30, 33)])
    assert kind == "wrong numbers" and f"right where TF32 holds each number of {names}, and wrong" in message, message


@pytest.mark.parametrize(
    "product, said",
    [
        (lambda A, B, C: 3 * (held(A, "tf32") @ held(B, "tf32")), "it is there 3, 3, 3, "),
        (
            lambda A, B, C: held(A, "tf32")[:, [0, 1, 3, 2, *range(4, len(B))]] @ held(B, "tf32"),
            "where A[0, 2] belongs",
        ),
    ],
)
def test_an_identity_matrix_tells_of_a_kernel_that_rounds_its_inputs_too(product, said):
    k = Wrong(product, tile=(16, 16, 16))
    k.inputs = "tf32"
    assert said in named(k)[1]


BOUND = "wrong from a bound on"


def off(where):
    """One too much there."""

    def product(A, B, C):
        C = A @ B
        C[where] += 1
        return C

    return product


# Where all that is wrong is large: no element is looked for among all of C.
@pytest.mark.parametrize(
    "product, shapes, kind, said",
    [
        (off(np.s_[64:]), [(70, 70, 70), (64, 80, 70)], BOUND, "right before row 64, and wrong in each row from there"),
        (off(np.s_[:, 64:]), [(70, 70, 70), (80, 64, 70)], BOUND, "right before column 64, and wrong in each column"),
        (
            lambda A, B, C: A @ B + (len(B) > 80),
            [(70, 70, 70), (60, 60, 90)],
            BOUND,
            "right up to K = 70, and wrong at K = 90",
        ),
        (  # a larger one is right, so it is no bound
            lambda A, B, C: off(np.s_[64:] if len(A) == 70 else np.s_[:0])(A, B, C),
            [(70, 70, 70), (80, 80, 70)],
            "wrong numbers",
            "right at other shapes, and wrong at 70 x 70 x 70",
        ),
        (
            off(np.s_[3, 5]),
            [(80, 80, 80), (70, 70, 70)],
            "wrong numbers",
            "wrong at 70 x 70 x 70 (M x N x K), where C[3, 5]",
        ),
    ],
)
def test_where_a_large_product_begins_to_be_wrong(product, shapes, kind, said):
    found, message = named(Wrong(product), shapes)
    assert found == kind and said in message, (found, message)
