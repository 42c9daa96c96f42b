"""A film of what a kernel reads, step by step, from a traced run: a strip in print, a slider on a screen."""

from collections import Counter
from html import escape

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from ..instruments import WARP, cells, trace
from ..launch import Kernel
from ..launch.given import takes
from .drawing import (
    A_COLOUR,
    B_COLOUR,
    C_COLOUR,
    INK,
    PAPER,
    PIXELS,
    TEXT,
    Picture,
    panel,
    product_axes,
    refuse_outside,
)

WHO = ("thread", "warp", "block", "grid")
FRAME = 4.2  # inches, the width of the slider's picture
FRAMES = 24  # of a longer film the slider shows so many, evenly spaced
PRINTED = 3  # frames of the strip

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
FILM = """<figure aria-label="{text}" style="margin: 0">
<figcaption>{legend}</figcaption>
<label style="display: none"><span></span>
<input type="range" min="1" max="{last}" value="1" style="display: block; width: 100%" oninput="{show}"></label>
{images}
</figure>"""
IMAGE = '<img src="data:image/png;base64,{png}" alt="{text}" style="display: inline; width: {width:.0f}px"{loaded}>'


@takes
def film(
    k: Kernel, M: int, N: int, K: int, who: str = "block", block: tuple[int, int] = (0, 0), thread: int = 0
) -> "Film":
    """Show what a thread, warp, block or the whole grid reads from A and B in global memory. Returns a `Film`.

    A step is one round of the loop over k, or, in a kernel with barriers, what lies between two of them. An element is
    darker the more often it was read so far; what is read in this step is outlined.
    `k`: a kernel of either dialect. `block`: (x, y). `thread`: its number in the block, x first; for a warp, any of its
    threads. Raises ValueError for sizes that would take minutes, and for a block or thread that there is none of.
    """
    if who not in WHO:
        raise ValueError(f"who={who!r} is none of: {', '.join(WHO)}.")
    run = trace(k, M, N, K)
    grid = k.fitted(M, N, K).grid(M, N)
    if not (0 <= block[0] < grid[0] and 0 <= block[1] < grid[1]):
        raise ValueError(f"block={block} is no (x, y) within the grid of {grid[0]} x {grid[1]} blocks.")
    refuse_outside("thread", thread, k.block[0] * k.block[1], "threads of a block")
    mine = run.where(memory="global") if who == "grid" else run.where(memory="global", block=(*block, 0))
    if who in ("thread", "warp"):
        together = WARP if who == "warp" else 1
        mine = mine[mine["thread"] // together == thread // together]
    name = {
        "grid": "all blocks",
        "block": f"block {tuple(block)}",
        "thread": f"thread {thread} of block {tuple(block)}",
        "warp": f"warp {thread // WARP} of block {tuple(block)}",
    }[who]
    reads, stores = mine[~mine["writes"]], mine[mine["writes"]]
    when = reads["phase" if run.has_barriers else "round"]
    frames, so_far = [], Counter()
    for step in np.unique(when):
        read = reads[when == step]
        places = zip(read["array"].tolist(), read["index"].tolist(), strict=True)
        now = Counter((array, divmod(index, run.shapes[array][1])) for array, index in places)
        so_far = so_far + now
        frames.append((so_far, now))
    stored = set(cells(stores, N))
    return Film(f"{k.step}, {name}", (M, N, K), frames, stored)


class Film:
    """Frames, each (reads so far, reads now) by (array, cell), and the cells of C that are stored in the end.

    Without any frame, since nothing is read, one is shown that is empty.
    """

    def __init__(self, title: str, size: tuple[int, int, int], frames: list, stored: set):
        self.title, self.size, self.stored = title, size, stored
        self.reads_nothing = not frames
        self.frames = frames or [(Counter(), Counter())]
        total = self.frames[-1][0]
        self.most = max(total.values(), default=1)
        elements = {name: sum(array == name for array, _ in total) for name in "AB"}
        reads = {name: sum(n for (array, _), n in total.items() if array == name) for name in "AB"}
        M, N, K = size
        if self.reads_nothing:
            self.text = f"{title}, {M} x {N} x {K}: it reads nothing; it stores {len(stored)} elements of C."
            return
        self.text = (
            f"{title}, {M} x {N} x {K}: in {len(frames)} step{'s' * (len(frames) != 1)} it reads "
            + " and ".join(f"{elements[name]} elements of {name}, {reads[name]} reads" for name in "AB")
            + f"; it stores {len(stored)} elements of C. The darkest is read {self.most} time{'s' * (self.most > 1)}."
        )

    def shade(self, colour: str, count: int) -> str:
        """Paper for none, the full colour for the most reads of the film."""
        part = 0.25 + 0.75 * count / self.most
        return to_hex([part * c + (1 - part) * p for c, p in zip(to_rgb(colour), to_rgb(PAPER), strict=True)])

    def draw(self, figure: Figure, slot: SubplotSpec, number: int) -> None:
        """Draw frame `number`, from 0 on, in that slot of a grid of the figure."""
        M, N, K = self.size
        so_far, now = self.frames[number]
        a, b, c = product_axes(figure, slot, M, N, K)
        for ax, name, rows, columns, colour in ((a, "A", M, K, A_COLOUR), (b, "B", K, N, B_COLOUR)):
            cells = {cell: self.shade(colour, n) for (array, cell), n in so_far.items() if array == name}
            often = max((n for (array, _), n in so_far.items() if array == name), default=0)
            panel(ax, rows, columns, cells, f"{name}, {often} ×", colour)
            border(ax, {cell for array, cell in now if array == name})
        panel(c, M, N, dict.fromkeys(self.stored, C_COLOUR), "C", C_COLOUR)

    def strip(self) -> Picture:
        """The film in print: the first frames, and the last."""
        count = len(self.frames)
        numbers = list(range(count)) if count <= PRINTED else [*range(PRINTED - 1), count - 1]
        M, N, K = self.size
        width = 3.0
        height = width * (M + K) / (N + K) + 0.35
        figure = Figure(figsize=(width * len(numbers), height + 0.75))
        top = 1 - 0.75 / figure.get_figheight()
        slots = figure.add_gridspec(1, len(numbers), left=0.01, right=0.99, top=top, bottom=0.01, wspace=0.12)
        for place, number in enumerate(numbers):
            self.draw(figure, slots[place], number)
            figure.text(
                (place + 0.02) / len(numbers),
                top + 0.27 / figure.get_figheight(),
                "no steps" if self.reads_nothing else f"step {number + 1} of {count}",
                fontsize=11,
                color=INK,
            )
        figure.text(0.01, 1 - 0.05 / figure.get_figheight(), self.legend(), fontsize=TEXT, color=INK, va="top")
        return Picture(figure, self.text)

    def legend(self) -> str:
        """What is shown, and what the number beside a matrix means."""
        if self.reads_nothing:
            return f"{self.title}: it reads nothing"
        return f"{self.title}; n ×: how often an element was read so far, at most"

    def frame(self, number: int) -> Picture:
        """Frame `number`, from 0 on, as a picture of its own."""
        M, N, K = self.size
        figure = Figure(figsize=(FRAME, FRAME * (M + K) / (N + K) + 0.5))
        self.draw(figure, figure.add_gridspec(1, 1, left=0.03, right=0.97, top=0.9, bottom=0.02)[0], number)
        now = Counter(array for array, _ in self.frames[number][1])
        return Picture(
            figure, f"step {number + 1} of {len(self.frames)} reads {now['A']} cells of A and {now['B']} of B"
        )

    def html(self) -> str:
        """The film as plain HTML: every frame, and a slider that shows one at a time, also by the arrow keys.

        Where a page's scripts do not run, all frames are seen side by side, without a slider.
        """
        shown = sorted({round(n) for n in np.linspace(0, len(self.frames) - 1, min(len(self.frames), FRAMES))})
        pictures = [self.frame(number) for number in shown]
        loaded = ["" for _ in pictures[1:]] + [f' onload="{LOADED}"']  # with the last of them the film is whole
        images = [
            IMAGE.format(png=picture.png, text=escape(picture.text), width=0.6 * picture.width, loaded=script)
            for picture, script in zip(pictures, loaded, strict=True)
        ]
        return FILM.format(
            text=escape(self.text),
            legend=escape(self.legend()),
            last=len(shown),
            show=SHOW,
            images="\n".join(images),
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        data, metadata = self.strip()._repr_mimebundle_()
        if not self.reads_nothing:  # and there is something to step through
            data["text/html"] = self.html()
        return data, metadata

    def __repr__(self):
        return self.text


def border(ax, cells):
    """Outline a set of cells as one shape: a line wherever a cell's neighbour is not in the set."""
    for r, c in cells:
        for dr, dc, xs, ys in (
            (-1, 0, (c, c + 1), (r, r)),
            (1, 0, (c, c + 1), (r + 1, r + 1)),
            (0, -1, (c, c), (r, r + 1)),
            (0, 1, (c + 1, c + 1), (r, r + 1)),
        ):
            if (r + dr, c + dc) not in cells:
                ax.plot(xs, ys, color=INK, linewidth=2, solid_capstyle="projecting", clip_on=False)
