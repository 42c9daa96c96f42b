"""What a verdict found, drawn from the values of its finding: the array, the element, and who touches it."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from ptx_machine import WARP

from .. import language
from ..judge import Finding, Report
from ..judge.report import SHOWN
from .drawing import A_COLOUR, B_COLOUR, C_COLOUR, CELLS, FAULT, INK, PEER, Picture, look, outline, panel, tint

ROWS, COLUMNS = 40, 48  # of an array that are drawn, at most
OWN, OTHERS = 6, 12  # rows of an array, and beyond its end, that are drawn at most where what lies there is touched
COLOURS = {"A": A_COLOUR, "B": B_COLOUR, "C": C_COLOUR}  # As and Bs, too
LIGHT = 0.4
WIDE = 84  # signs of a caption's line


def show_verdict(report: Report) -> None:
    """Show a verdict in a notebook, and below its text a picture of the first finding that has one.

    Raises NotImplementedError where none has: then IPython shows the text alone.
    """
    from IPython.display import display

    picture = next(filter(None, map(picture_finding, report.findings[:SHOWN])), None)
    if picture is None:
        raise NotImplementedError
    display({"text/plain": str(report)} | getattr(report, "_repr_mimebundle_", dict)(), raw=True)
    display(picture)


@look
def picture_finding(finding: Finding) -> Picture | None:
    """A race, an access out of bounds, a barrier that some do not reach, or what is never stored; None for others."""
    values = finding.values
    if "found" in values:  # at other sizes
        return picture_finding(values["found"])
    draw = next((DRAWN[name] for name in DRAWN if name in values), None)
    if not draw or math.prod(values.get("grid", ())) > CELLS:
        return None
    figure = Figure(figsize=(8.6, 3.9))
    lines = draw(figure, values)
    shown = [(line, colour) for text, colour in lines for line in language.wrapped(text, WIDE).splitlines()]
    for number, (line, colour) in enumerate(reversed(shown)):
        figure.text(0.5, 0.03 + 0.065 * number, line, color=colour, ha="center")
    return Picture(figure, language.closed_up(" ".join(text for text, _ in lines)))


def draw_race(figure: Figure, values: dict) -> list:
    """An element and the two threads that touch it; of different blocks, the blocks."""
    who, array = figure.subplots(1, 2, gridspec_kw=GRID, subplot_kw={"anchor": "N"})
    same = values["block"] == values["other_block"]
    one, sides, title = ("thread", "sides", "drawn_threads") if same else ("block", "grid", "drawn_grid")
    now, before = values[one], values[f"other_{one}"]
    seat = draw_places(who, values[sides], {before: tint(INK, LIGHT)} | {now: tint(FAULT, LIGHT)}, said(title, values))
    number = int(np.ravel_multi_index(values["element"], values["shape"]))
    cell = draw_array(array, values, {number: tint(colour_of(values), 0.8)}, number)
    outline(array, *cell, 1, 1)
    for place, does, colour, bend in ((before, values["before"], INK, 0.1), (now, values["now"], FAULT, 0.25)):
        ends = [(column + 0.5, row + 0.5) for row, column in (seat(place), cell)]
        style = dict(arrowstyle="<|-" if does.key == "reads" else "-|>", connectionstyle=f"arc3,rad={bend}")
        arrow = dict(color=colour, linewidth=1.8, mutation_scale=16, **style)
        figure.add_artist(ConnectionPatch(*ends, who.transData, array.transData, **arrow))
    return [(said("drawn_now", values), FAULT), (said("drawn_before", values), INK)]


def draw_outside(figure: Figure, values: dict) -> list:
    """What was touched outside of an array, and, where that is known, which threads of the first block did."""
    places = values.get("places", ())
    *who, array = figure.subplots(1, 2 if places else 1, squeeze=False, gridspec_kw=GRID)[0]
    draw_array(array, values, dict.fromkeys(values["beyond"], FAULT), values["beyond"][0])
    if places:
        return [(draw_threads(*who, values, set(places), "drawn_outsiders"), INK)]
    return [(said("drawn_outside", values), INK)]


def draw_barrier(figure: Figure, values: dict) -> list:
    """The threads of a block that come to a barrier, and those that do not."""
    x, y = values["sides"]
    absent = {(n % x, n // x) for n in range(x * y)} - {*values["came_to_barrier"]}
    return [(draw_threads(figure.subplots(gridspec_kw=GRID), values, absent, "drawn_barrier"), INK)]


def draw_holes(figure: Figure, values: dict) -> list:
    """The elements of C that are never stored."""
    draw_array(figure.subplots(gridspec_kw=GRID), values, dict.fromkeys(values["holes"], FAULT), values["holes"][0])
    return [(said("drawn_holes", values), INK)]


GRID = dict(left=0.06, right=0.97, top=0.88, bottom=0.2, wspace=0.25)  # where the panels are
DRAWN = {"other_thread": draw_race, "beyond": draw_outside, "came_to_barrier": draw_barrier, "holes": draw_holes}


def said(key: str, values: dict) -> str:
    """A sentence of the judge's in the language that was chosen."""
    finding = Finding("", key, values=values)
    text = finding.in_chinese if language.NOW[0] == language.CHINESE else finding.message
    return text if key == "drawn_before" else text[0].upper() + text[1:]


def colour_of(values: dict) -> str:
    """An array's colour, by its name."""
    return COLOURS.get(values["array"][0], PEER)


def draw_threads(ax: Axes, values: dict, red: set, key: str) -> str:
    """Draw a block's threads, some in red, the others in green. Returns the sentence of that key, with both counts."""
    x, y = values["sides"]
    green = {(n % x, n // x): tint(C_COLOUR, LIGHT) for n in range(x * y)}
    draw_places(ax, values["sides"], green | dict.fromkeys(red, FAULT), said("drawn_threads", values))
    return said(key, values | {"red": len(red), "green": x * y - len(red), "all": x * y})


def draw_places(ax: Axes, sides: tuple, colours: dict, title: str):
    """Draw all places (x, y) as cells, in rows of a warp where they are too many beside each other.

    `colours`: {place: colour}. Returns what tells the row and the column of a place.
    """
    x, y = sides
    wide = x if max(sides) <= 2 * WARP else WARP

    def seat(place):
        return divmod(place[1] * x + place[0], wide)

    panel(ax, -(-x * y // wide), wide, {seat(place): colour for place, colour in colours.items()}, title)
    return seat


def draw_array(ax: Axes, values: dict, colours: dict, first: int) -> tuple:
    """Draw the part of an array that element number `first` lies in, or beside. Returns its row and column there.

    `colours`: {number of an element: colour}, also of what lies outside of the array.
    """
    shape, light = values["shape"], tint(colour_of(values), LIGHT)
    size, wide = math.prod(shape), shape[-1] if len(shape) > 1 else min(shape[0], WARP)
    high, (row, column) = -(-size // wide), divmod(first, wide)
    top = min(max(0, row - ROWS // 2), max(0, high - ROWS))
    bottom, left = min(high, top + ROWS), min(max(0, column - COLUMNS // 2), max(0, wide - COLUMNS))
    if first >= size:
        top, bottom = max(0, high - OWN), min(max(colours) // wide + 1, high + OTHERS)
    elif first < 0:
        top, bottom = max(min(colours) // wide, -OTHERS), min(high, OWN)
    right = min(wide, left + COLUMNS)
    numbers = {(r - top, c - left): r * wide + c for r in range(top, bottom) for c in range(left, right)}
    cells = {cell: colours.get(n, light) for cell, n in numbers.items() if n in colours or 0 <= n < size}
    title = f"{values['array']} ({' x '.join(f'{side:,}' for side in shape)})"
    panel(ax, bottom - top, right - left, cells, title, colour_of(values))
    beside = dict(fontsize=11, textcoords="offset points")
    for r in {top, row, bottom - 1} & {*range(top, bottom)}:
        if r == row or abs(r - row) > (bottom - top) // 8:
            label = r if len(shape) > 1 else f"{r * wide:,}"
            ax.annotate(label, (0, r - top + 0.5), (-5, 0), ha="right", va="center", **beside)
    if len(shape) < 2:
        return row - top, column - left
    ax.annotate(column, (column - left + 0.5, bottom - top), (0, -5), ha="center", va="top", **beside)
    own = max(0, top), min(high, bottom)
    outline(ax, own[0] - top, 0, own[1] - own[0], right - left, colour_of(values))
    return row - top, column - left
