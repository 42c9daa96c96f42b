"""What lies on an axes, as plain values that a test can compare: cells, frames, words, lines."""

from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle


def rectangles(ax, filled=True):
    """(x, y, width, height, colour) of each rectangle, in the order they were drawn; of frames the edge's colour."""
    cells = [
        (*path.get_extents().bounds, to_hex(colour))
        for group in ax.collections
        if type(group) is PolyCollection and filled
        for path, colour in zip(group.get_paths(), group.get_facecolors(), strict=True)
    ]
    found = [p for p in ax.patches if isinstance(p, Rectangle) and p.get_fill() == filled]
    colours = [to_hex(p.get_facecolor() if filled else p.get_edgecolor()) for p in found]
    rest = [(p.get_x(), p.get_y(), p.get_width(), p.get_height(), c) for p, c in zip(found, colours, strict=True)]
    return cells + rest


def cells(ax):
    """{(row, column): colour} of a matrix's cells. Each is a square of 1, drawn once, and within the axes' limits."""
    found = {}
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # row 0 above
    for x, y, width, height, colour in rectangles(ax):
        assert (width, height) == (1, 1) and (int(y), int(x)) not in found and (x, y) == (int(x), int(y))
        assert left <= x < x + 1 <= right and low <= y < y + 1 <= high
        found[int(y), int(x)] = colour
    return found


def frames(ax):
    """[(row, column, rows, columns, colour)] of the frames around cells."""
    return [(y, x, height, width, colour) for x, y, width, height, colour in rectangles(ax, filled=False)]


def matrix(rows, columns, colours, paper="#f4f4f2"):
    """What `cells` finds on a matrix with those colours, and paper elsewhere."""
    return {(r, c): colours.get((r, c), paper) for r in range(rows) for c in range(columns)}


def words(ax):
    """{(row, column): text} of the words in cells: each in the middle of its cell."""
    found = {}
    for t in ax.texts:
        x, y = t.get_position()
        assert abs(x % 1 - 0.5) < 0.05 and abs(y % 1 - 0.5) < 0.05
        assert (t.get_ha(), t.get_va()) == ("center", "center")
        found[int(y), int(x)] = t.get_text()
    return found


def segments(ax):
    """{((x, y), (x, y))} of lines with two ends."""
    return {tuple(sorted(zip(*(map(float, d) for d in line.get_data()), strict=True))) for line in ax.lines}


def ticks(axis):
    """[(position, label)] of the ticks that were set."""
    return list(zip(axis.get_ticklocs(), (t.get_text() for t in axis.get_ticklabels()), strict=True))
