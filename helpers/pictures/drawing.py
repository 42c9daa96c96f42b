"""What every picture has: one look, its size on the page, its alternative text, matrices drawn as cells.

Each picture function returns a `Picture`. A notebook shows it when it is the last line of a cell, together with its
text for those who cannot see it.
"""

import base64
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from PIL import Image

from .. import language
from .colours import DARK, GRID, INK, MATRICES, PAPER

HIGH = 6.6  # inches: a laptop's screen shows that much of a page at once
SIDE, CELLS = 128, 4096  # elements that are drawn one by one, at most
PIXELS = 96  # an inch on the page; drawn at twice that, so that it is crisp
# @look stands above each function that draws a figure, whatever else the process draws.
look = style.context(Path(__file__).with_name("course.mplstyle"))


class Picture:
    """A figure, as an image, and its alternative text."""

    def __init__(self, figure: Figure, text: str):
        if language.NOW[0] != language.ENGLISH and language.chinese_font():
            for words in figure.findobj(Text):
                words.set_fontfamily(["sans-serif", language.chinese_font()])
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=2 * PIXELS, facecolor="white")
        # A palette of 128 colours: a third as large, and it looks the same.
        self.image = Image.open(drawn).convert("RGB").quantize(128, dither=Image.Dither.NONE)
        self.text = text
        self.width = round(figure.get_figwidth() * PIXELS)

    def encoded(self, kind: str = "png") -> str:
        """The image in base 64, as "png", or as "webp", which is half as large."""
        file = io.BytesIO()
        self.image.save(file, format=kind, optimize=True, lossless=True)
        return base64.b64encode(file.getvalue()).decode()

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"image/png": self.encoded(), "text/plain": self.text}
        return data, {"image/png": {"width": self.width, "alt": self.text}}

    def __repr__(self):
        return self.text


def label(sentence: str, /, **values: object) -> str:
    """A sentence in or about a figure, as `language.said`; in English where no font here has Chinese characters."""
    chosen = language.NOW[0]
    if chosen != language.ENGLISH and not language.chinese_font():
        chosen = language.ENGLISH
    return language.spelled(chosen, sentence, values)


def listed(parts: Iterable[str], between: str = "; ") -> str:
    """Sentences as one, with that between."""
    return label(between).join(parts)


def tint(colour: str, part: float) -> str:
    """The colour mixed with paper: all of it for 1, none for 0."""
    return to_hex([part * c + (1 - part) * p for c, p in zip(to_rgb(colour), to_rgb(PAPER), strict=True)])


def panel(ax, rows, columns, colours, title, colour=INK, labels=None):
    """Draw a matrix of cells: {(row, column): colour}, {(row, column): text}; raises ValueError for too many."""
    if max(rows, columns) > SIDE or rows * columns > CELLS:
        raise ValueError(
            f"{rows} x {columns} are more elements than a picture can show one by one; stay at {CELLS}, and at "
            f"{SIDE} a side, such as 64 x 64."
        )
    places = list(np.ndindex(rows, columns))
    corners = np.array(places)[:, None, ::-1] + [(0, 0), (1, 0), (1, 1), (0, 1)]
    faces = [colours.get(place, PAPER) for place in places]
    # One artist for all cells: with one for each a film takes twice as long.
    ax.add_collection(PolyCollection(corners, facecolors=faces, edgecolors=GRID, linewidths=0.8), autolim=False)
    for (r, c), text in (labels or {}).items():
        ink = "white" if colours.get((r, c)) in DARK else INK
        ax.text(c + 0.5, r + 0.53, text, ha="center", va="center", fontsize=11, color=ink)
    ax.set(xlim=(-0.08, columns + 0.08), ylim=(rows + 0.08, -0.08), aspect="equal")
    ax.axis("off")
    ax.set_title(title, color=colour, pad=6, y=1)  # else it is looked for ticks that it must not touch


def outline(ax, row, column, rows=1, columns=1, colour=INK):
    """Draw a frame around rows x columns cells, the first of them at (row, column)."""
    ax.add_patch(Rectangle((column, row), columns, rows, fill=False, edgecolor=colour, linewidth=2.2, clip_on=False))


def draw_product(figure, size, colours, titles=tuple(MATRICES), labels=({}, {}, {}), top=0.93, bottom=0.03):
    """Draw A, B and C of a product of size (M, N, K), C[row, col] where its row of A meets its column of B.

    `colours`, `titles`, `labels`: of each, as `panel` takes them. `top`, `bottom`: shares of the figure's height.
    Returns the three axes.
    """
    M, N, K = size
    ratios = dict(width_ratios=(K + 0.16, N + 0.16), height_ratios=(K + 0.16, M + 0.16))  # with `panel`'s margins
    grid = figure.add_gridspec(2, 2, left=0.03, right=0.97, top=top, bottom=bottom, wspace=0.08, hspace=0.16, **ratios)
    axes = [figure.add_subplot(grid[place]) for place in ((1, 0), (0, 1), (1, 1))]
    sides = (M, K), (K, N), (M, N)
    for ax, side, cells, title, ink, words in zip(axes, sides, colours, titles, MATRICES.values(), labels, strict=True):
        panel(ax, *side, cells, title, ink, words)
    return axes


def plain_ticks(*axes):
    """10, 100, 1000 instead of powers of ten."""
    for axis in axes:
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
