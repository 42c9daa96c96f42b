"""A film of what a kernel reads, step by step, from a traced run: a strip in print, a slider on a screen."""

import re
from collections import Counter
from html import escape
from itertools import accumulate
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure, FigureBase

from ptx_machine.touches import turns

from ..instruments import cells, trace
from ..launch import Kernel
from .colours import A_COLOUR, B_COLOUR, C_COLOUR, INK
from .drawing import Picture, draw_product, label, look, tint

FRAME = 4.2  # inches, the width of the slider's picture
PRINTED = 3  # frames of the strip
FULL = 4  # reads that have the full colour, at least, so that the films of two kernels can be compared
# Scripts in the attributes of elements run wherever a notebook is trusted, those in <script> do not. Without its
# data-lm-suppress-shortcuts, JupyterLab takes the slider's arrow keys for its own, and folds cells.
HTML = Path(__file__).with_name("film.html").read_text(encoding="utf-8").strip()
IMAGE = '<img src="data:image/webp;base64,{webp}" alt="{text}" style="display: inline; width: {width:.0f}px"'
TEXT = (
    "{title}, {size}: in {steps} it reads {cells_a} elements of {a}, {reads_a} reads and {cells_b} elements of {b}, "
    "{reads_b} reads; it stores {stored} elements of C. The darkest is read {times}."
)


def film(k: Kernel, M: int, N: int, K: int, memory: str = "global") -> "Film":
    """Show what the first block of a kernel reads from A and B in global memory, step by step. Returns a `Film`.

    A step is one iteration of the loop over k, or, in a kernel with barriers, what lies between two of them. An element is
    darker the more often it was read so far; what is read in this step is outlined. C has its colour in the last step,
    after which it is stored. The kernel may be of either dialect. `memory`: "global", or "shared" for the tiles As and
    Bs, where a step is what is read for one k.
    Raises ValueError for sizes that would take minutes, and for a kernel that reads nothing there.
    """
    run = trace(k, M, N, K)
    reads = run.where(memory=memory, block=(0, 0, 0), writes=False)
    if not len(reads):
        raise ValueError(f"{k} reads nothing at {M} x {N} x {K}; let it compute first.")
    when, names = reads["phase" if run.accesses["phase"].any() else "round"], ("A", "B")
    if memory == "shared":
        names, depth, nth = ("As", "Bs"), run.shapes["Bs"][0], turns(when, reads["thread"])
        when = when * depth + nth * depth // (nth.max() + 1)
    frames = []
    for step in np.unique(when):
        read = reads[when == step]
        places = zip(read["array"].tolist(), read["index"].tolist(), strict=True)
        frames.append(Counter((array, divmod(index, run.shapes[array][1])) for array, index in places))
    (rows, depth), (_, columns) = (run.shapes[name] for name in names)
    stored = set(cells(run.where(array="C", block=(0, 0, 0), writes=True), N))
    return Film(k.step, (rows, columns, depth), frames, stored, names)


class Film:
    """Frames, each a Counter of reads by (array, cell), and the cells of C that are stored in the end.

    `kernel`: its step. `size`: (M, N, K). `names`: of what is drawn as A and as B.
    """

    def __init__(self, kernel: str, size: tuple, frames: list, stored: set, names: tuple):
        self.size, self.stored, self.names = size, stored, names
        self.frames = list(zip(accumulate(frames), frames, strict=True))  # so far, and now
        total = self.frames[-1][0]
        most = max(total.values())
        self.full = max(most, FULL)
        title = label("{kernel}, block (0, 0)", kernel=kernel)
        self.legend = label("{title}; n ×: how often an element was read so far, at most", title=title)
        values = {"title": title, "size": " x ".join(map(str, size)), "stored": len(stored)}
        values |= {"steps": counted(len(frames), "step"), "times": counted(most, "time")}
        for side, name in zip("ab", names, strict=True):
            often = [n for (array, _), n in total.items() if array == name]
            values |= {side: name, f"cells_{side}": len(often), f"reads_{side}": sum(often)}
        self.text = label(TEXT, **values)

    def draw(self, figure: FigureBase, number: int, top: float) -> None:
        """Draw frame `number`, from 0 on, in the figure up to `top`, a share of its height.

        An element has the full colour for the most reads of the film, or for FULL, and is as good as paper for none.
        C has its colour in the last frame.
        """
        so_far, now = self.frames[number]
        colours, titles = [], []
        for name, colour in zip(self.names, (A_COLOUR, B_COLOUR), strict=True):
            often = {cell: n for (array, cell), n in so_far.items() if array == name}
            colours.append({cell: tint(colour, 0.25 + 0.75 * n / self.full) for cell, n in often.items()})
            titles.append(f"{name}, {max(often.values(), default=0)} ×")
        stored = self.stored if number == len(self.frames) - 1 else ()
        colours.append(dict.fromkeys(stored, C_COLOUR))
        axes = draw_product(figure, self.size, colours, [*titles, "C"], top=top, bottom=0.02)
        for name, ax in zip(self.names, axes, strict=False):
            border(ax, {cell for array, cell in now if array == name})

    @look
    def strip(self) -> Picture:
        """The film in print: the first frames, and the last."""
        count = len(self.frames)
        numbers = list(range(count)) if count <= PRINTED else [*range(PRINTED - 1), count - 1]
        M, N, K = self.size
        # Above one frame or two the legend has two lines, and a single frame is wider, so that it fits.
        legend = self.legend if len(numbers) == PRINTED else re.sub("([;；]) ?", "\\1\n", self.legend)
        head, width = 0.95 if "\n" in legend else 0.75, 4.6 if len(numbers) == 1 else 3.0  # inches
        height = width * (M + K) / (N + K) + head + 0.35
        figure = Figure(figsize=(width * len(numbers), height))
        for part, number in zip(figure.subfigures(1, len(numbers), squeeze=False)[0], numbers, strict=True):
            self.draw(part, number, top=1 - head / height)
            step = label("step {number} of {count}", number=number + 1, count=count)
            part.text(0.03, 1 - (head - 0.27) / height, step, fontsize=11)
        figure.text(0.01, 1 - 0.05 / height, legend, va="top")
        return Picture(figure, self.text)

    @look
    def frame(self, number: int) -> Picture:
        """Frame `number`, from 0 on, as a picture of its own."""
        M, N, K = self.size
        figure = Figure(figsize=(FRAME, FRAME * (M + K) / (N + K) + 0.5))
        self.draw(figure, number, top=0.9)
        now, (a, b) = Counter(array for array, _ in self.frames[number][1]), self.names
        values = {"number": number + 1, "count": len(self.frames), "a": a, "b": b, "cells_a": now[a], "cells_b": now[b]}
        text = "step {number} of {count} reads {cells_a} cells of {a} and {cells_b} of {b}"
        return Picture(figure, label(text, **values))

    def html(self) -> str:
        """The film as plain HTML: every frame, and a slider that shows one at a time, also by the arrow keys.

        Where a page's scripts do not run, all frames are seen side by side, without a slider.
        """
        frames = [self.frame(number) for number in range(len(self.frames))]
        images = ">\n".join(
            IMAGE.format(webp=one.encoded("webp"), text=escape(one.text), width=0.6 * one.width) for one in frames
        )
        return HTML.format(text=escape(self.text), legend=escape(self.legend), last=len(frames), images=images)

    def _repr_mimebundle_(self, include=None, exclude=None):
        data, metadata = self.strip()._repr_mimebundle_()
        return data | {"text/html": self.html()}, metadata

    def __repr__(self):
        return self.text


def counted(number: int, what: str) -> str:
    """So many steps or times."""
    return label(f"{{number}} {what}" if number == 1 else f"{{number}} {what}s", number=number)


def border(ax, cells):
    """Outline a set of cells as one shape: a line wherever a cell's neighbour is not in the set."""
    edges: Counter = Counter()
    for r, c in cells:
        edges.update(((c, c + 1), (y, y)) for y in (r, r + 1))
        edges.update(((x, x), (r, r + 1)) for x in (c, c + 1))
    for xs, ys in [edge for edge, times in edges.items() if times == 1]:  # that between two cells is there twice
        ax.plot(xs, ys, color=INK, linewidth=2, solid_capstyle="projecting", clip_on=False)
