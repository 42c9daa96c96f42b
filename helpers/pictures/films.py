"""A film of what a kernel reads, step by step, from a traced run: a strip in print, a slider on a screen."""

import re
import time
from collections import Counter
from collections.abc import Callable
from html import escape
from itertools import accumulate

import numpy as np
from matplotlib.figure import Figure, FigureBase

from ptx_machine.touches import turns

from ..instruments import cells, trace
from ..language import said
from ..launch import Kernel
from ..progress import ProgressBar
from .drawing import A_COLOUR, B_COLOUR, C_COLOUR, INK, PIXELS, Picture, above, label, look, panel, product_axes, tint

FRAME = 4.2  # inches, the width of the slider's picture
FRAMES = 24  # of a longer film the slider shows so many, evenly spaced
PRINTED = 3  # frames of the strip
FULL = 4  # reads that have the full colour, at least, so that the films of two kernels can be compared

# Scripts in the attributes of elements run wherever a notebook is trusted, those in <script> do not.
SHOW = (
    "const images = this.closest('figure').querySelectorAll('img'), shown = images[this.value - 1]; "
    "for (const image of images) image.style.display = image == shown ? 'block' : 'none'; "
    "this.previousElementSibling.textContent = this.ariaValueText = shown.alt"
)
LOADED = (
    "const film = this.closest('figure'), slider = film.querySelector('input'); "
    "for (const image of film.querySelectorAll('img')) image.style.width = '100%'; "
    f"film.style.maxWidth = '{FRAME * PIXELS:.0f}px'; slider.parentNode.style.display = 'block'; slider.oninput()"
)
# Without the attribute, JupyterLab takes the slider's arrow keys for its own, and folds cells.
FILM = """<figure aria-label="{text}" style="margin: 0">
<figcaption>{legend}</figcaption>
<label style="display: none"><span></span>
<input type="range" data-lm-suppress-shortcuts="true" min="1" max="{last}" value="1"
style="display: block; width: 100%" oninput="{show}"></label>
{images}
</figure>"""
IMAGE = '<img src="data:image/webp;base64,{webp}" alt="{text}" style="display: inline; width: {width:.0f}px"{loaded}>'


PLACE = f'<div style="flex: 1 1 300px; max-width: {FRAME * PIXELS:.0f}px">{{}}</div>'
ROW = f'<div style="display: flex; flex-wrap: wrap; gap: 16px">{PLACE}{PLACE}</div>'
STEP = "step {number} of {count} reads {cells_a} cells of {a} and {cells_b} of {b}"
TEXT = (
    "{title}, {size}: in {steps} it reads {cells_a} elements of {a}, {reads_a} reads and {cells_b} elements of {b}, "
    "{reads_b} reads; it stores {stored} elements of C. The darkest is read {times}."
)


def film(k: Kernel, M: int, N: int, K: int, beside: Kernel | None = None, memory: str = "global") -> "Film | Films":
    """Show what the first block of a kernel reads from A and B in global memory, step by step. Returns a `Film`.

    A step is one round of the loop over k, or, in a kernel with barriers, what lies between two of them. An element is
    darker the more often it was read so far; what is read in this step is outlined. C has its colour in the last step,
    after which it is stored. The kernel may be of either dialect. `beside`: another one, whose film stands beside; then
    it returns `Films`. `memory`: "global", or "shared" for the tiles As and Bs, where a step is what is read for one k.
    Raises ValueError for sizes that would take minutes, and for a kernel that reads nothing there.
    """
    if beside is not None:
        return Films(film(k, M, N, K, memory=memory), film(beside, M, N, K, memory=memory))
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
    return Film(("{kernel}, block (0, 0)", {"kernel": k.step}), (rows, columns, depth), frames, stored, names)


class Film:
    """Frames, each a Counter of reads by (array, cell), and the cells of C that are stored in the end.

    `title`: the key and the values of a sentence, see `language.spelled`. `names`: of what is drawn as A and as B.
    """

    def __init__(self, title: tuple, size: tuple, frames: list, stored: set, names: tuple = ("A", "B")):
        self.title, self.size, self.stored, self.names = title, size, stored, names
        self.frames = list(zip(accumulate(frames), frames, strict=True))  # so far, and now
        total = self.frames[-1][0]
        most = max(total.values())
        self.full = max(most, FULL)
        values = {"title": title, "size": " x ".join(map(str, size)), "steps": counted(len(frames), "step")}
        for side, name in zip("ab", names, strict=True):
            often = [n for (array, _), n in total.items() if array == name]
            values |= {side: name, f"cells_{side}": len(often), f"reads_{side}": sum(often)}
        self.text = said(TEXT, stored=len(stored), times=counted(most, "time"), **values)

    def draw(self, figure: FigureBase, number: int, top: float) -> None:
        """Draw frame `number`, from 0 on, in the figure up to `top`, a share of its height.

        An element has the full colour for the most reads of the film, or for FULL, and is as good as paper for none.
        C has its colour in the last frame.
        """
        M, N, K = self.size
        so_far, now = self.frames[number]
        a, b, c = product_axes(figure, M, N, K, top, bottom=0.02)
        sides = (a, M, K, A_COLOUR), (b, K, N, B_COLOUR)
        for name, (ax, rows, columns, colour) in zip(self.names, sides, strict=True):
            often = {cell: n for (array, cell), n in so_far.items() if array == name}
            colours = {cell: tint(colour, 0.25 + 0.75 * n / self.full) for cell, n in often.items()}
            panel(ax, rows, columns, colours, f"{name}, {max(often.values(), default=0)} ×", colour)
            border(ax, {cell for array, cell in now if array == name})
        stored = self.stored if number == len(self.frames) - 1 else ()
        panel(c, M, N, dict.fromkeys(stored, C_COLOUR), "C", C_COLOUR)

    @look
    def strip(self) -> Picture:
        """The film in print: the first frames, and the last."""
        count = len(self.frames)
        numbers = list(range(count)) if count <= PRINTED else [*range(PRINTED - 1), count - 1]
        M, N, K = self.size
        # Above one frame or two the legend has two lines, and a single frame is wider, so that it fits.
        legend = self.legend(label) if len(numbers) == PRINTED else re.sub("([;；]) ?", "\\1\n", self.legend(label))
        head, width = 0.95 if "\n" in legend else 0.75, 4.6 if len(numbers) == 1 else 3.0  # inches
        height = width * (M + K) / (N + K) + head + 0.35
        figure = Figure(figsize=(width * len(numbers), height))
        for part, number in zip(figure.subfigures(1, len(numbers), squeeze=False)[0], numbers, strict=True):
            self.draw(part, number, top=1 - head / height)
            step = label("step {number} of {count}", number=number + 1, count=count)
            part.text(0.03, 1 - (head - 0.27) / height, step, fontsize=11)
        figure.text(0.01, 1 - 0.05 / height, legend, va="top")
        return Picture(figure, self.text)

    def legend(self, say: Callable) -> str:
        """What is shown, and what the number beside a matrix means. `say`: `said` or `label`."""
        return say("{title}; n ×: how often an element was read so far, at most", title=self.title)

    @look
    def frame(self, number: int) -> Picture:
        """Frame `number`, from 0 on, as a picture of its own."""
        M, N, K = self.size
        figure = Figure(figsize=(FRAME, FRAME * (M + K) / (N + K) + 0.5))
        self.draw(figure, number, top=0.9)
        now, (a, b) = Counter(array for array, _ in self.frames[number][1]), self.names
        values = {"number": number + 1, "count": len(self.frames), "a": a, "b": b, "cells_a": now[a], "cells_b": now[b]}
        return Picture(figure, said(STEP, **values))

    def html(self) -> str:
        """The film as plain HTML: every frame, and a slider that shows one at a time, also by the arrow keys.

        Where a page's scripts do not run, all frames are seen side by side, without a slider.
        """
        shown = sorted({round(n) for n in np.linspace(0, len(self.frames) - 1, min(len(self.frames), FRAMES))})
        pictures = []
        with ProgressBar("drawing") as bar:
            for number in shown:
                bar.update(time.monotonic() - bar.start, f"| step {number + 1} of {len(self.frames)}")
                pictures.append(self.frame(number))
        loaded = ["" for _ in pictures[1:]] + [f' onload="{LOADED}"']  # with the last of them the film is whole
        images = [
            IMAGE.format(webp=one.webp(), text=escape(one.text), width=0.6 * one.width, loaded=script)
            for one, script in zip(pictures, loaded, strict=True)
        ]
        words = dict(text=escape(self.text), legend=escape(self.legend(said)))
        return FILM.format(**words, last=len(shown), show=SHOW, images="\n".join(images))

    def _repr_mimebundle_(self, include=None, exclude=None):
        data, metadata = self.strip()._repr_mimebundle_()
        return data | {"text/html": self.html()}, metadata

    def __repr__(self):
        return self.text


def counted(number: int, what: str) -> tuple:
    """So many steps or times: the key and values of a sentence."""
    return f"{{number}} {what}" if number == 1 else f"{{number}} {what}s", {"number": number}


class Films:
    """Two films, side by side on a screen that is wide enough; in print, and as `strip`, one below the other."""

    def __init__(self, first: Film, second: Film):
        self.films = first, second

    def strip(self) -> Picture:
        """Both strips, one below the other."""
        return above(*(one.strip() for one in self.films))

    def _repr_mimebundle_(self, include=None, exclude=None):
        data, metadata = self.strip()._repr_mimebundle_()
        return data | {"text/html": ROW.format(*(one.html() for one in self.films))}, metadata

    def __repr__(self):
        return "\n".join(map(repr, self.films))


def border(ax, cells):
    """Outline a set of cells as one shape: a line wherever a cell's neighbour is not in the set."""
    edges: Counter = Counter()
    for r, c in cells:
        edges.update(((c, c + 1), (y, y)) for y in (r, r + 1))
        edges.update(((x, x), (r, r + 1)) for x in (c, c + 1))
    for xs, ys in [edge for edge, times in edges.items() if times == 1]:  # that between two cells is there twice
        ax.plot(xs, ys, color=INK, linewidth=2, solid_capstyle="projecting", clip_on=False)
