"""What a verdict found, drawn: an array, and the elements that it is about."""

import math

from matplotlib.figure import Figure

from kernel_judge import Finding, Report
from kernel_judge.report import SHOWN
from ptx_machine import WARP

from ..ladder import ceil_div
from ..language import closed_up, wrapped
from .colours import FAULT, MATRICES, PEER
from .drawing import INK, Picture, label, look, outline, panel, tint

MOST = 64  # rows and columns of an array that are drawn, at most
ARROW = dict(arrowstyle="-|>", linewidth=1.6, color=INK)


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
    """The array of a finding that is drawn, around the first of the elements that it is about, which are red."""
    drawn = finding.drawn
    size, red = math.prod(drawn.shape), {*drawn.elements}
    wide = WARP if MOST < drawn.shape[-1] == size else drawn.shape[-1]
    high, (row, column) = ceil_div(size, wide), divmod(drawn.elements[0], wide)
    rows = around(row, min(0, min(red) // wide), max(high, max(red) // wide + 1))
    columns = around(column, 0, wide)
    places = {(r - rows[0], c - columns[0]): r * wide + c for r in rows for c in columns}
    colour = MATRICES.get(drawn.array[0], PEER)  # As and Bs have those of A and B
    cells = dict.fromkeys((at for at, number in places.items() if 0 <= number < size), tint(colour, 0.4))
    cells |= dict.fromkeys((at for at, number in places.items() if number in red), FAULT)
    figure = Figure(figsize=(8.6, 3.9))
    captions = [label("{caption}", caption=one) for one in drawn.captions]
    beside = len(captions) == 2  # two threads meet at the element
    ax = figure.add_axes((0.3, 0.04, 0.4, 0.84) if beside else (0.06, 0.2, 0.88, 0.68), anchor="N")
    title = f"{drawn.array} ({' x '.join(f'{side:,}' for side in drawn.shape)})"
    panel(ax, len(rows), len(columns), cells, title, colour)
    if own := [r for r in rows if 0 <= r < high]:
        outline(ax, own[0] - rows[0], 0, len(own), len(columns), colour)
    at = column - columns[0] + 0.5, row - rows[0] + 0.5
    for text, side, x in zip(captions, ("right", "left"), (0.26, 0.74), strict=beside):
        if beside:
            text = wrapped(text.replace(", ", ",\xa0"), 26)
            ax.annotate(text, at, (x, 0.5), textcoords="figure fraction", ha=side, arrowprops=ARROW)
        else:
            figure.text(0.5, 0.06, wrapped(text, 88), ha="center")
    return Picture(figure, closed_up(" ".join(captions)))


def around(place: int, first: int, end: int) -> range:
    """As many places as are drawn, from first to end, with that one in their middle where there is room."""
    begins = max(first, min(place - MOST // 2, end - MOST))
    return range(begins, min(end, begins + MOST))
