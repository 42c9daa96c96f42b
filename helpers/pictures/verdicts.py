"""What a verdict found, drawn: an array, and the elements that it is about."""

import math

from matplotlib.figure import Figure

from kernel_judge import Finding, Report
from kernel_judge.report import SHOWN
from ptx_machine import WARP

from ..ladder import ceil_div
from ..language import closed_up, wrapped
from .colours import FAULT, MATRICES, PEER
from .drawing import Picture, label, look, outline, panel, tint

MOST = 64  # rows and columns of an array that are drawn, at most
LIGHT = 0.4  # a share of a colour
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
    """The array of a finding that is drawn, around the first of the elements that it is about, which are red."""
    drawn = finding.drawn
    size, red = math.prod(drawn.shape), {*drawn.elements}
    wide = WARP if MOST < drawn.shape[-1] == size else drawn.shape[-1]
    high, (row, column) = ceil_div(size, wide), divmod(drawn.elements[0], wide)
    rows = around(row, min(0, min(red) // wide), max(high, max(red) // wide + 1))
    columns = around(column, 0, wide)
    places = {(r - rows[0], c - columns[0]): r * wide + c for r in rows for c in columns}
    colour = MATRICES.get(drawn.array[0], PEER)  # As and Bs have those of A and B
    cells = dict.fromkeys((at for at, number in places.items() if 0 <= number < size), tint(colour, LIGHT))
    cells |= dict.fromkeys((at for at, number in places.items() if number in red), FAULT)
    figure = Figure(figsize=(8.6, 3.9))
    ax = figure.add_axes((0.06, 0.2, 0.88, 0.68), anchor="N")
    title = f"{drawn.array} ({' x '.join(f'{side:,}' for side in drawn.shape)})"
    panel(ax, len(rows), len(columns), cells, title, colour)
    if own := [r for r in rows if 0 <= r < high]:
        outline(ax, own[0] - rows[0], 0, len(own), len(columns), colour)
    captions = [label("{caption}", caption=one) for one in drawn.captions]
    lines = [line for text in captions for line in wrapped(text, WIDE).split("\n")]
    for number, line in enumerate(reversed(lines)):
        figure.text(0.5, 0.03 + 0.065 * number, line, ha="center")
    return Picture(figure, closed_up(" ".join(captions)))


def around(place: int, first: int, end: int) -> range:
    """As many places as are drawn, from first to end, with that one in their middle where there is room."""
    begins = max(first, min(place - MOST // 2, end - MOST))
    return range(begins, min(end, begins + MOST))
