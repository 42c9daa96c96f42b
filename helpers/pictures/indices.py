"""Who computes what, who reads what: worked out from indices, with no run."""

from itertools import product

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpu_model.block_order import Order
from ptx_machine import WARP

from ..ladder import ceil_div
from ..language import wrapped
from .colours import A_COLOUR, B_COLOUR, INK, MATRICES
from .drawing import HIGH, Picture, draw_product, label, look, outline, panel, tint

FEW = 4  # elements of a side of each small matrix of picture_rungs
ALL = range(FEW)
# {rung: (its words, the rows and columns of A, B and C that they are about)}
RUNGS = {
    "naive": ("each thread reads alone", ([1], ALL), (ALL, [2]), ([1], [2])),
    "coalesced": ("neighbours read neighbours", ([1], [1]), ([1], ALL), ([1], ALL)),
    "tiled": ("a block shares what it has read", ((0, 1), (0, 1)), ((0, 1), (2, 3)), ((0, 1), (2, 3))),
    "register_1d": ("a thread makes a column", (ALL, [1]), ([1], [2]), (ALL, [2])),
    "register_2d": ("a thread makes a patch", ((1, 2), [1]), ([1], (1, 2)), ((1, 2), (1, 2))),
    "vectorized": ("four numbers in one load", ((1, 2), [1]), ([1], ALL), ((1, 2), ALL)),
    "prefetched": ("the next tile is on its way", ((0, 1), ALL), (ALL, (2, 3)), ((0, 1), (2, 3))),
}
MEETS = "Element ({row}, {col}) of C stands where row {row} of A meets column {col} of B."
PROGRAM = (
    "A {BM} x {BN} tile of C, from element ({row}, {col}) on, takes a {BM} x {BK} tile of A and a {BK} x {BN} tile of "
    "B, from k = {k0} on. What lies outside a matrix counts as 0."
)
FRAGMENTS = (
    "A of 16 x 8, B of 8 x 8 and C of 16 x 8 numbers, shared out among {warp} lanes. Lane {lane} holds {numbers}."
)
IN_ORDER = "The first {together} of {down} x {across} blocks read {rows} rows of tiles of A, {columns} columns of B's."
ONE_STEP = (
    "One step of SUMMA on {p} x {q} ranks: each rank of the first column sends its part of a panel of A along its row "
    "of {q}; each of the first row sends its part of a panel of B along its column of {p}; all C stays."
)


@look
def picture_rungs() -> Picture:
    """The ladder: of each rung its word, and a small product with the elements that this word is about."""
    figure = Figure(figsize=(8.6, 5.6))
    for place, (name, (words, *sides)) in zip(figure.subfigures(2, 4).flat, RUNGS.items(), strict=False):
        place.text(0.05, 0.98, name, va="top", fontweight="bold")
        place.text(0.05, 0.9, wrapped(label(words), 24), va="top", fontsize=11)
        colours = [dict.fromkeys(product(*side), ink) for side, ink in zip(sides, MATRICES.values(), strict=True)]
        draw_product(place, (FEW, FEW, FEW), colours, ("", "", ""), top=0.72, bottom=0.04)
    what = "; ".join(f"{name}: {label(words)}" for name, (words, *_) in RUNGS.items())
    return Picture(figure, label("The rungs of the ladder, each with a drawing of who reads what. {what}.", what=what))


@look
def picture_program(M: int, N: int, K: int, BM: int, BN: int, BK: int, x: int, y: int, round: int = 0) -> Picture:
    """One program of a block language: its tile of C, and the tiles of A and B that it multiplies in that round.

    What of a tile lies outside its matrix is masked: it bears a 0 in A and B, and a – in C.
    """
    down, across, rounds = ceil_div(M, BM), ceil_div(N, BN), ceil_div(K, BK)
    tiles = {  # rows and columns of the matrix, and of its tile; the tile's place
        "A": (M, K, BM, BK, y, round),
        "B": (K, N, BK, BN, round, x),
        "C": (M, N, BM, BN, y, x),
    }
    colours, labels = [], []
    for name, (rows, columns, high, wide, r, c) in tiles.items():
        tile = list(product(range(r * high, (r + 1) * high), range(c * wide, (c + 1) * wide)))
        inside = [(i, j) for i, j in tile if i < rows and j < columns]
        colours.append(dict.fromkeys(inside, MATRICES[name]))
        labels.append(dict.fromkeys({*tile} - {*inside}, "–" if name == "C" else "0"))
    figure = Figure(figsize=(5.6, 4.8))
    titles = [f"{name} ({rows} x {columns})" for name, (rows, columns, *_) in tiles.items()]
    axes = draw_product(figure, (down * BM, across * BN, rounds * BK), colours, titles, labels)
    for ax, (name, (rows, columns, high, wide, r, c)) in zip(axes, tiles.items(), strict=True):
        outline(ax, 0, 0, rows, columns, MATRICES[name])
        outline(ax, r * high, c * wide, high, wide)
    values = dict(BM=BM, BN=BN, BK=BK, row=y * BM, col=x * BN, k0=round * BK)
    return Picture(figure, label(MEETS if BM == BN == 1 else PROGRAM, **values))


def fragment(name: str, lane: int) -> list[tuple[int, int]]:
    """The places (row, column) of the numbers of "A", "B" or "C" that a lane holds, in the order of its registers.

    Source: NVIDIA's PTX ISA, "Matrix Fragments for mma.m16n8k8", type TF32.
    """
    group, place = divmod(lane, 4)
    if name == "A":
        return [(group + r % 2 * 8, place + r // 2 * 4) for r in range(4)]
    if name == "B":
        return [(place + r * 4, group) for r in range(2)]
    return [(group + r // 2 * 8, place * 2 + r % 2) for r in range(4)]


@look
def picture_fragments(lane: int = 5) -> Picture:
    """The product of 16 x 8 by 8 x 8 TF32 numbers that a warp's 32 lanes do together.

    Each cell bears the lane that holds it; those of `lane` are coloured.
    """
    colours, labels, numbers = [], [], []
    for name, ink in MATRICES.items():
        lanes = {cell: one for one in range(WARP) for cell in fragment(name, one)}
        colours.append({cell: ink if one == lane else tint(ink, 0.12) for cell, one in lanes.items()})
        labels.append({cell: str(one) for cell, one in lanes.items()})
        numbers.append(", ".join(f"{name}[{row}, {column}]" for row, column in fragment(name, lane)))
    figure = Figure(figsize=(5.0, HIGH))
    draw_product(figure, (16, 8, 8), colours, labels=labels, top=0.92)
    figure.suptitle(label("which lane holds which number; lane {lane} is coloured", lane=lane), x=0.03, ha="left")
    return Picture(figure, label(FRAGMENTS, warp=WARP, lane=lane, numbers="; ".join(numbers)))


@look
def picture_order(order: Order, down: int, across: int, together: int) -> Picture:
    """C in tiles, each with the number of the block that computes it, and what the first so many blocks read."""
    places = [order(number, down, across) for number in range(down * across)]
    rows, columns = ({place[axis] for place in places[:together]} for axis in (0, 1))
    read = {(row, 0) for row in rows}, {(0, column) for column in columns}, places[:together]
    colours = [dict.fromkeys(cells, ink) for cells, ink in zip(read, MATRICES.values(), strict=True)]
    figure = Figure(figsize=(5.6, 5.6))
    draw_product(figure, (down, across, 1), colours, labels=({}, {}, {at: str(n) for n, at in enumerate(places)}))
    values = dict(together=together, down=down, across=across, rows=len(rows), columns=len(columns))
    return Picture(figure, label(IN_ORDER, **values))


@look
def picture_summa(p: int, q: int) -> Picture:
    """Show one step of SUMMA on a grid of p x q ranks: which panels of A and B move, and that C stays."""
    ranks = {(i, j): i * q + j for i in range(p) for j in range(q)}
    figure = Figure(figsize=(8.4, 0.9 + 2.4 * p / max(p, q)))
    axes = figure.subplots(1, 3)
    figure.subplots_adjust(left=0.01, right=0.99, top=1 - 0.4 / figure.get_figheight(), bottom=0.02, wspace=0.12)
    titles = label("A: along the rows"), label("B: along the columns"), label("C: stays")
    for ax, title, colour in zip(axes, titles, MATRICES.values(), strict=True):
        panel(ax, p, q, dict.fromkeys(ranks, tint(colour, 0.2)), title, colour, ranks)
    # The panel is the first third of the first blocks of A, and of those of B.
    axes[0].add_patch(Rectangle((0, 0), 0.3, p, color=tint(A_COLOUR, 0.8), linewidth=0))
    axes[1].add_patch(Rectangle((0, 0), q, 0.3, color=tint(B_COLOUR, 0.8), linewidth=0))
    for i in range(p if q > 1 else 0):
        axes[0].annotate("", (q - 0.1, i + 0.8), (0.15, i + 0.8), arrowprops=dict(arrowstyle="->", color=INK))
    for j in range(q if p > 1 else 0):
        axes[1].annotate("", (j + 0.8, p - 0.1), (j + 0.8, 0.15), arrowprops=dict(arrowstyle="->", color=INK))
    return Picture(figure, label(ONE_STEP, p=p, q=q))
