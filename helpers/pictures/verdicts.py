"""What a verdict found, drawn: an array, the elements that it is about, and who touches them."""

import math
from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from kernel_judge import Finding, Report
from kernel_judge.report import SHOWN
from ptx_machine import WARP

from ..language import closed_up, wrapped
from .colours import FAULT, INK, MATRICES, PAPER, PEER
from .drawing import Picture, label, look, outline, panel, tint

MOST = 64  # rows and columns of an array that are drawn, at most
LIGHT, STRONG = 0.4, 0.8  # shares of a colour
WIDE = 88  # signs of a caption's line


def show_verdict(report: Report) -> None:
    """Show a verdict, and a finding's picture; raises NotImplementedError if there is none: IPython then shows text."""
    from IPython.display import display

    picture = next((picture_finding(one) for one in report.findings[:SHOWN] if one.drawn), None)
    if picture is None:
        raise NotImplementedError
    display(report._repr_mimebundle_(), raw=True)
    display(picture)


@look
def picture_finding(finding: Finding) -> Picture:
    """The array of a finding that is drawn, elements marked in it, and beside it who touches them."""
    drawn = finding.drawn
    figure = Figure(figsize=(8.6, 3.9))
    room = dict(left=0.06, right=0.94, top=0.88, bottom=0.2, wspace=0.25)
    axes = figure.subplots(1, 2 if drawn.who else 1, squeeze=False, gridspec_kw=room, subplot_kw={"anchor": "N"})[0]
    colour = MATRICES.get(drawn.array[0], PEER)  # As and Bs have those of A and B
    marked = dict.fromkeys(drawn.elements, tint(colour, STRONG) if drawn.reads else FAULT)
    title = f"{drawn.array} ({' x '.join(f'{side:,}' for side in drawn.shape)})"
    element_at = draw_cells(axes[-1], drawn.shape, marked, tint(colour, LIGHT), title, colour)
    inks = (FAULT, INK) if drawn.reads else (INK,)
    if drawn.who:
        numbers = [y * drawn.sides[0] + x for x, y in drawn.touching]
        touching = dict.fromkeys(numbers, FAULT)
        if drawn.reads:
            touching = {number: tint(ink, LIGHT) for number, ink in zip(numbers, inks, strict=False)}
        thread_at = draw_cells(axes[0], drawn.sides[::-1], touching, PAPER, label("{who}", who=drawn.who))
        for number, ink, reads, bend in zip(numbers, inks, drawn.reads, (0.25, 0.1), strict=False):
            ends = thread_at(number), element_at(drawn.elements[0])
            style = dict(arrowstyle="<|-" if reads else "-|>", connectionstyle=f"arc3,rad={bend}")
            arrow = dict(color=ink, linewidth=1.8, mutation_scale=16, **style)
            figure.add_artist(ConnectionPatch(*ends, axes[0].transData, axes[-1].transData, **arrow))
    captions = [label("{caption}", caption=one) for one in drawn.captions]
    lines = [(line, ink) for text, ink in zip(captions, inks, strict=False) for line in wrapped(text, WIDE).split("\n")]
    for number, (line, ink) in enumerate(reversed(lines)):
        figure.text(0.5, 0.03 + 0.065 * number, line, color=ink, ha="center")
    return Picture(figure, closed_up(" ".join(captions)))


def draw_cells(ax: Axes, shape: tuple, colours: dict, others: str, title: str, ink: str = INK) -> Callable:
    """Draw an array around its first coloured element; returns a function: number of an element -> its middle."""
    size = math.prod(shape)
    wide = WARP if MOST < shape[-1] == size else shape[-1]
    high, (row, column) = -(-size // wide), divmod(next(iter(colours)), wide)
    rows = around(row, min(0, min(colours) // wide), max(high, max(colours) // wide + 1))
    columns = around(column, 0, wide)
    places = {(r - rows[0], c - columns[0]): r * wide + c for r in rows for c in columns}
    cells = {at: colours.get(n, others) for at, n in places.items() if n in colours or 0 <= n < size}
    panel(ax, len(rows), len(columns), cells, title, ink)
    if own := [r for r in rows if 0 <= r < high]:
        outline(ax, own[0] - rows[0], 0, len(own), len(columns), ink)
    return lambda number: (number % wide - columns[0] + 0.5, number // wide - rows[0] + 0.5)


def around(place: int, first: int, end: int) -> range:
    """As many places as are drawn, from first to end, with that one in their middle where there is room."""
    begins = max(first, min(place - MOST // 2, end - MOST))
    return range(begins, min(end, begins + MOST))
