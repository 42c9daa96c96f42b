"""What every picture has: one palette and look, its size on the page, its alternative text, matrices drawn as cells.

A colour has one meaning. A is blue, B is orange, C is green, from the first figure to the last. The course's kernels
and their rates are purple, what they are held against is grey, and each unit of a GPU has a colour of its own. Each
picture function returns a `Picture`. A notebook shows it when it is the last line of a cell, together with its text for
those who cannot see it.
"""

import base64
import copy
import io

import numpy as np
from matplotlib import rc_context
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from PIL import Image

from .. import language

A_COLOUR, B_COLOUR, C_COLOUR = "#2f6db3", "#d9822b", "#3d9a50"
INK, PAPER, GRID = "#333333", "#f4f4f2", "#c9c9c6"
FAULT = "#c4302b"  # what should not be
PEER = "#8a8a86"  # what is not ours, and units without a colour
OURS = {"CUDA": "#7a5195", "OpenCL": "#a987c9", "Python": "#cdb9df"}  # by dialect
UNITS = {"loads and stores": "#1f7f86", "multiply-adds": "#b0456a", "whole numbers": "#9a8f1e"}  # of a GPU
HIGH = 6.6  # inches: a laptop's screen shows that much of a page at once
# What our figures are drawn with, whatever else the process draws: @look stands above each function that draws one.
# Nothing is smaller than 11 points.
look = rc_context(
    {
        "font.size": 12,
        "axes.titlesize": 12,
        "figure.titlesize": 12,
        "xtick.labelsize": 11,
        "ytick.labelsize": 11,
        "legend.fontsize": 11,
        "legend.frameon": False,
        "figure.constrained_layout.w_pad": 0.1,  # inches
        "figure.constrained_layout.h_pad": 0.1,
        "text.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)
SIDE, CELLS = 128, 4096  # elements that are drawn one by one, at most
PIXELS = 96  # an inch on the page; drawn at twice that, so that it is crisp

# Colours that tell threads or blocks of C apart without leaving the family of greens.
SHADES = ("#3d9a50", "#8fcf9b", "#226b33", "#c3e8ca", "#5fb36f", "#17482a")


class Picture:
    """A figure and its alternative text."""

    def __init__(self, figure: Figure, text: str):
        font = language.NOW[0] != language.ENGLISH and language.chinese_font()
        if font:
            for text_drawn in figure.findobj(Text):
                text_drawn.set_fontfamily(["sans-serif", font])
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=2 * PIXELS, facecolor="white")
        self.png, self.text = encoded(Image.open(drawn)), text
        self.width = round(figure.get_figwidth() * PIXELS)

    def webp(self) -> str:
        """The same for HTML, half as large."""
        return encoded(Image.open(io.BytesIO(base64.b64decode(self.png))), "webp")

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"image/png": self.png, "text/plain": self.text}
        return data, {"image/png": {"width": self.width, "alt": self.text}}

    def __repr__(self):
        return self.text


def label(sentence: str, /, **values: object) -> str:
    """A sentence for a figure, as `language.said`; in English where no font here has Chinese characters."""
    if language.NOW[0] != language.ENGLISH and not language.chinese_font():
        return language.spelled(language.ENGLISH, sentence, values)
    return language.said(sentence, **values)


def listed(parts: list, between: str = "; ") -> tuple:
    """Sentences as one, with that between: the key and the values of it."""
    values = {f"part{number}": part for number, part in enumerate(parts)}
    return "{between}".join(f"{{{name}}}" for name in values), values | {"between": (between, {})}


def encoded(image: Image.Image, kind: str = "png") -> str:
    """The image in base 64. A palette of 128 colours makes it a third as large, and it looks the same."""
    small = io.BytesIO()
    image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(small, format=kind, optimize=True, lossless=True)
    return base64.b64encode(small.getvalue()).decode()


def above(first: Picture, second: Picture) -> Picture:
    """One picture of two, the first above the second."""
    images = [Image.open(io.BytesIO(base64.b64decode(one.png))).convert("RGB") for one in (first, second)]
    sheet = Image.new("RGB", (max(image.width for image in images), sum(image.height for image in images)), "white")
    sheet.paste(images[0], (0, 0))
    sheet.paste(images[1], (0, images[0].height))
    both = copy.copy(max(first, second, key=lambda one: one.width))
    both.png, both.text = encoded(sheet), f"{first.text}\n{second.text}"
    return both


def tint(colour: str, part: float) -> str:
    """The colour mixed with paper: all of it for 1, none for 0."""
    return to_hex([part * c + (1 - part) * p for c, p in zip(to_rgb(colour), to_rgb(PAPER), strict=True)])


def refuse_outside(name: str, value: object, count: int, of: str, first: int = 0) -> None:
    """Raise ValueError, with the remedy, unless it is one of `count` whole numbers from `first` on."""
    last = first + count - 1
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not first <= value <= last:
        raise ValueError(f"{name}={value!r} does not fit the {count} {of}; give a whole number from {first} to {last}.")


def refuse_crowded(rows: int, columns: int) -> None:
    """Raise ValueError for more elements than a picture can show one by one."""
    if max(rows, columns) > SIDE or rows * columns > CELLS:
        raise ValueError(
            f"{rows} x {columns} are more elements than a picture can show one by one; stay at {CELLS}, and at "
            f"{SIDE} a side, such as 64 x 64."
        )


def panel(ax, rows, columns, colours, title, colour=INK, labels=None):
    """Draw a matrix of cells: {(row, column): colour}, {(row, column): text}; raises ValueError for too many."""
    refuse_crowded(rows, columns)
    places = list(np.ndindex(rows, columns))
    corners = np.array(places)[:, None, ::-1] + [(0, 0), (1, 0), (1, 1), (0, 1)]
    faces = [colours.get(place, PAPER) for place in places]
    # One artist for all cells: with one for each a film takes twice as long.
    ax.add_collection(PolyCollection(corners, facecolors=faces, edgecolors=GRID, linewidths=0.8), autolim=False)
    for (r, c), text in (labels or {}).items():
        dark = colours.get((r, c), PAPER) in (A_COLOUR, B_COLOUR, SHADES[0], SHADES[2], SHADES[5], FAULT)
        ax.text(c + 0.5, r + 0.53, text, ha="center", va="center", fontsize=11, color="white" if dark else INK)
    ax.set(xlim=(-0.08, columns + 0.08), ylim=(rows + 0.08, -0.08), aspect="equal")
    ax.axis("off")
    ax.set_title(title, color=colour, pad=6, y=1)  # else it is looked for ticks that it must not touch


def outline(ax, row, column, rows, columns, colour=INK):
    """Draw a frame around rows x columns cells, the first of them at (row, column)."""
    ax.add_patch(Rectangle((column, row), columns, rows, fill=False, edgecolor=colour, linewidth=2.2, clip_on=False))


def product_axes(figure, M, N, K, top=0.93, bottom=0.03):
    """Three axes, C[row, col] where its row of A meets its column of B; `top`, `bottom`: shares of the height."""
    ratios = dict(width_ratios=(K, N), height_ratios=(K, M))
    grid = figure.add_gridspec(2, 2, left=0.03, right=0.97, top=top, bottom=bottom, wspace=0.08, hspace=0.16, **ratios)
    return figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])


def plain_ticks(*axes):
    """10, 100, 1000 instead of powers of ten."""
    for axis in axes:
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
