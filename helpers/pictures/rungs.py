"""Page 00: the ladder, rung by rung: who reads what."""

from itertools import product

from matplotlib.figure import Figure

from ..language import said, wrapped
from .drawing import A_COLOUR, B_COLOUR, C_COLOUR, Picture, label, look, panel, product_axes

SIDE = 4  # elements of a side of each small matrix
ALL = range(SIDE)
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


@look
def picture_rungs() -> Picture:
    """The ladder: of each rung its word, and a small product with the elements that this word is about."""
    figure = Figure(figsize=(8.6, 5.6))
    for place, (name, (words, *sides)) in zip(figure.subfigures(2, 4).flat, RUNGS.items(), strict=False):
        place.text(0.05, 0.98, name, va="top", fontweight="bold")
        place.text(0.05, 0.9, wrapped(label(words), 24), va="top", fontsize=11)
        axes = product_axes(place, SIDE, SIDE, SIDE, top=0.72, bottom=0.04)
        for ax, side, colour in zip(axes, sides, (A_COLOUR, B_COLOUR, C_COLOUR), strict=True):
            panel(ax, SIDE, SIDE, dict.fromkeys(product(*side), colour), "")
    what = "; ".join(f"{name}: {said(words)}" for name, (words, *_) in RUNGS.items())
    text = "The rungs of the ladder, each with a drawing of who reads what. {what}."
    return Picture(figure, said(text, what=what))
