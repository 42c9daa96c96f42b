"""Page 00: which elements the threads of the first kernel have, and the ladder, rung by rung: who reads what."""

from matplotlib.figure import Figure

from .drawing import A_COLOUR, B_COLOUR, C_COLOUR, INK, Picture, look, outline, panel, product_axes, tint

SIDE = 4  # elements of a side of each small matrix
ALL = range(SIDE)
PALE = 0.35


def block(rows, columns):
    """The cells of those rows and columns."""
    return [(row, column) for row in rows for column in columns]


# {rung: (its words, the cells of A, B and C that they are about)}
RUNGS = {
    "naive": ("each thread reads alone", block([1], ALL), block(ALL, [2]), [(1, 2)]),
    "coalesced": ("neighbours read\nneighbours", [(1, 1)], block([1], ALL), block([1], ALL)),
    "tiled": ("a block shares what\nit has read", block((0, 1), (0, 1)), block((0, 1), (2, 3)), block((0, 1), (2, 3))),
    "register_1d": ("a thread makes\na column", block(ALL, [1]), [(1, 2)], block(ALL, [2])),
    "register_2d": ("a thread makes\na patch", block((1, 2), [1]), block([1], (1, 2)), block((1, 2), (1, 2))),
    "vectorized": ("four numbers\nin one load", block([1], ALL), block([1], ALL), block((1, 2), ALL)),
    "prefetched": ("the next tile\nis on its way", block((0, 1), (0, 1)), block((0, 1), (2, 3)), block((0, 1), (2, 3))),
}
NEXT = block((0, 1), (2, 3)), block((2, 3), (2, 3)), []  # of `prefetched`: the tiles that are on their way


@look
def picture_rungs() -> Picture:
    """The ladder: of each rung its word, and a small product with the elements that this word is about."""
    figure = Figure(figsize=(8.6, 5.6))
    places = figure.subfigures(2, 4).flat
    for place, (name, (words, *cells)) in zip(places, RUNGS.items(), strict=False):
        axes = product_axes(place, SIDE, SIDE, SIDE, top=0.72, bottom=0.04)
        place.text(0.05, 0.98, name, va="top", fontweight="bold")
        place.text(0.05, 0.9, words, va="top", fontsize=11)
        for ax, mine, after, colour in zip(axes, cells, NEXT, (A_COLOUR, B_COLOUR, C_COLOUR), strict=True):
            colours = dict.fromkeys(mine, colour)
            if name == "prefetched":
                colours |= dict.fromkeys(after, tint(colour, PALE))
            panel(ax, SIDE, SIDE, colours, "")
            if name == "vectorized" and colour != C_COLOUR:
                outline(ax, 1, 0, 1, SIDE)
    said = "; ".join(f"{name}: {words}".replace("\n", " ") for name, (words, *_) in RUNGS.items())
    return Picture(figure, f"The rungs of the ladder, each with a drawing of who reads what. {said}.")


@look
def picture_add() -> Picture:
    """Threads 0 to 7 above x, y and out, and what thread 2 reads and writes."""
    figure = Figure(figsize=(6.4, 2.9))
    ax = figure.add_axes((0.13, 0.02, 0.86, 0.96))
    for row, (name, colour) in enumerate((("thread", INK), ("x", A_COLOUR), ("y", B_COLOUR), ("out", C_COLOUR))):
        ax.text(-0.3, 1.5 * row + 0.5, name, ha="right", va="center", color=colour)
        for at in range(8):
            own = at == 2
            edge = dict(facecolor=tint(colour, 1 if own else 0.2), edgecolor="white", linewidth=2)
            ax.barh(1.5 * row + 0.5, 1, left=at, height=1, **edge)
            text = str(at) if name == "thread" else f"{name}[{at}]"
            ax.text(at + 0.5, 1.5 * row + 0.5, text, ha="center", va="center", fontsize=11, color="w" if own else INK)
    arrow = dict(arrowstyle="->", color=INK, linewidth=1.4)
    for y in (1.5, 3.0, 4.5):
        ax.annotate("", (2.5, y), (2.5, y - 0.5), arrowprops=arrow)
    ax.set(xlim=(-0.1, 8.1), ylim=(5.6, -0.1))
    ax.axis("off")
    return Picture(figure, "Threads 0, 1, 2, ... Thread 2 reads x[2] and y[2], adds them, and writes out[2].")
