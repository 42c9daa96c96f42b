"""What a verdict found, drawn: an array, the elements that it is about, and who touches them."""

import math
from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from kernel_judge import Finding, Report
from kernel_judge.report import SHOWN
from ptx_machine import WARP

from .. import language
from .drawing import A_COLOUR, B_COLOUR, C_COLOUR, FAULT, INK, PAPER, PEER, Picture, look, outline, panel, tint

MOST = 64  # rows and columns of an array that are drawn, at most
COLOURS = {"A": A_COLOUR, "B": B_COLOUR, "C": C_COLOUR}  # As and Bs, too
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
    colour = COLOURS.get(drawn.array[0], PEER)
    marked = dict.fromkeys(drawn.elements, tint(colour, STRONG) if drawn.reads else FAULT)
    title = f"{drawn.array} ({' x '.join(f'{side:,}' for side in drawn.shape)})"
    element_at = draw_cells(axes[-1], drawn.shape, marked, tint(colour, LIGHT), title, colour)
    if drawn.who:
        numbers = [y * drawn.sides[0] + x for x, y in drawn.touching]
        arrows = dict(zip(numbers, zip((FAULT, INK), drawn.reads, strict=True), strict=False)) if drawn.reads else {}
        touching = {n: tint(arrows[n][0], LIGHT) if arrows else FAULT for n in numbers}
        who = language.said(drawn.who.key, **drawn.who.values)
        thread_at = draw_cells(axes[0], drawn.sides[::-1], touching, PAPER, who)
        for bend, (number, (ink, reads)) in enumerate(arrows.items()):
            ends = thread_at(number), element_at(drawn.elements[0])
            style = dict(arrowstyle="<|-" if reads else "-|>", connectionstyle=f"arc3,rad={0.25 - 0.15 * bend}")
            arrow = dict(color=ink, linewidth=1.8, mutation_scale=16, **style)
            figure.add_artist(ConnectionPatch(*ends, axes[0].transData, axes[-1].transData, **arrow))
    captions = [language.said(one.key, **one.values) for one in drawn.captions]
    inks = (FAULT, INK) if drawn.reads else (INK,)
    lines = []
    for text, ink in zip(captions, inks, strict=False):
        lines += [(line, ink) for line in language.wrapped(text, WIDE).split("\n")]
    for number, (line, ink) in enumerate(reversed(lines)):
        figure.text(0.5, 0.03 + 0.065 * number, line, color=ink, ha="center")
    return Picture(figure, language.closed_up(" ".join(captions)))


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
