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
from .drawing import A_COLOUR, B_COLOUR, C_COLOUR, CELLS, FAULT, INK, PAPER, PEER, Picture, look, outline, panel, tint

ROWS, COLUMNS = 40, 48  # of an array that are drawn, at most
OWN, OTHERS = 6, 12  # rows of an array, and beyond its end, that are drawn at most where what lies there is touched
COLOURS = {"A": A_COLOUR, "B": B_COLOUR, "C": C_COLOUR}  # As and Bs, too
LIGHT, STRONG = 0.4, 0.8  # shares of a colour
WIDE = 88  # signs of a caption's line


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
    if "drawn" not in values or math.prod(values.get("grid", ())) > CELLS:
        return None
    figure = Figure(figsize=(8.6, 3.9))
    lines = draw_race(figure, values) if "other_thread" in values else draw_red(figure, values)
    shown = [(line, colour) for text, colour in lines for line in language.wrapped(text, WIDE).splitlines()]
    for number, (line, colour) in enumerate(reversed(shown)):
        figure.text(0.5, 0.03 + 0.065 * number, line, color=colour, ha="center")
    return Picture(figure, language.closed_up(" ".join(text for text, _ in lines)))


def draw_race(figure: Figure, values: dict) -> list:
    """An element and the two threads that touch it; of different blocks, the blocks."""
    who, array = panels(figure, 2)
    same = values["block"] == values["other_block"]
    one, sides, title = ("thread", "sides", "drawn_threads") if same else ("block", "grid", "drawn_grid")
    later, earlier = values[one], values[f"other_{one}"]
    colours = {earlier: tint(INK, LIGHT)} | {later: tint(FAULT, LIGHT)}
    seat = draw_places(who, values[sides], colours, PAPER, said(title, values))
    cell = draw_array(array, values, {values["number"]: tint(colour_of(values), STRONG)})
    outline(array, *cell, 1, 1)
    arrows = [(later, "does", FAULT, 0.25)]
    if earlier != later:  # else of several threads only this one is known
        arrows.append((earlier, "other_does", INK, 0.1))
    for place, does, colour, bend in arrows:
        ends = [(column + 0.5, row + 0.5) for row, column in (seat(place), cell)]
        style = dict(arrowstyle="<|-" if values[does].key == "reads" else "-|>", connectionstyle=f"arc3,rad={bend}")
        arrow = dict(color=colour, linewidth=1.8, mutation_scale=16, **style)
        figure.add_artist(ConnectionPatch(*ends, who.transData, array.transData, **arrow))
    key = "drawn_earlier" if earlier != later else "drawn_another"
    return [(said("drawn_later", values), FAULT), (said(key, values), INK)]


def draw_red(figure: Figure, values: dict) -> list:
    """Which threads of a block, and which elements, are not as they should be: those in red."""
    places, numbers = values.get("places", ()), values.get("numbers", ())
    axes = panels(figure, bool(places) + bool(numbers))
    if places:
        green, title = tint(C_COLOUR, LIGHT), said("drawn_threads", values)
        draw_places(axes[0], values["sides"], dict.fromkeys(places, FAULT), green, title)
    if numbers:
        draw_array(axes[-1], values, dict.fromkeys(numbers, FAULT))
    return [(said(values["drawn"], values), INK)]


def panels(figure: Figure, number: int) -> np.ndarray:
    """Axes beside each other, above the place of the caption."""
    room = dict(left=0.06, right=0.9, top=0.88, bottom=0.2, wspace=0.25)
    return figure.subplots(1, number, squeeze=False, gridspec_kw=room, subplot_kw={"anchor": "N"})[0]


def said(key: str, values: dict) -> str:
    """A sentence of the judge's in the language that was chosen."""
    finding = Finding("", key, values=values)
    text = finding.in_chinese if language.NOW[0] == language.CHINESE else finding.message
    return text if text.startswith("and ") else text[0].upper() + text[1:]


def colour_of(values: dict) -> str:
    """An array's colour, by its name."""
    return COLOURS.get(values["array"][0], PEER)


def draw_places(ax: Axes, sides: tuple, colours: dict, others: str, title: str):
    """Draw all places (x, y) as cells, in rows of a warp where they are too many beside each other.

    `colours`: {place: colour}; `others`: that of all others. Returns what tells the row and the column of a place.
    """
    x, y = sides
    wide = x if max(sides) <= 2 * WARP else WARP

    def seat(place):
        return divmod(place[1] * x + place[0], wide)

    cells = {divmod(number, wide): others for number in range(x * y)}
    panel(ax, -(-x * y // wide), wide, cells | {seat(place): colours[place] for place in colours}, title)
    return seat


def draw_array(ax: Axes, values: dict, colours: dict) -> tuple:
    """Draw the part of an array around the first of some elements. Returns the row and the column of that.

    `colours`: {number of an element: colour}, also of what lies outside of the array.
    """
    shape, first, light = values["array_shape"], next(iter(colours)), tint(colour_of(values), LIGHT)
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
    if top <= row < bottom:
        label = f"{row}, {column}" if len(shape) > 1 else f"{first:,}"
        ax.text(right - left + 0.2, row - top + 0.5, label, va="center", fontsize=11)  # arrows come from the left
    if len(shape) > 1:
        begins, ends = max(0, top), min(high, bottom)
        outline(ax, begins - top, 0, ends - begins, right - left, colour_of(values))
    return row - top, column - left
