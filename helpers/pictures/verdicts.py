"""What a verdict found, drawn: the array and the element, and the threads that touch it."""

from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from .. import language
from ..judge import Finding, Report
from .drawing import A_COLOUR, B_COLOUR, C_COLOUR, FAULT, INK, PAPER, PEER, Picture, look, outline, panel, tint

ROWS, COLUMNS, BEHIND = 24, 32, 12  # of an array that are drawn, at most, and of them behind its end
WARP = 32


def show_verdict(report: Report) -> None:
    """Show a verdict in a notebook, and below its text a picture of what it found.

    Raises NotImplementedError, for which IPython shows the text alone, where there is nothing to draw.
    """
    from IPython.display import display

    pictures = filter(None, map(picture_finding, report.findings))
    picture = next(pictures, None)
    if picture is None:
        raise NotImplementedError
    display({"text/plain": str(report)}, raw=True)
    display(picture)


@look
def picture_finding(finding: Finding) -> Picture | None:
    """A race, an access out of bounds, a barrier that some do not reach, or what is never stored; None for others."""
    values = finding.values
    if "found" in values:
        return picture_finding(values["found"])
    shape = values.get("shape")
    if "other_thread" in values and shape:
        return of_race(values)
    if "beyond" in values and shape:
        return of_outside(values)
    if "came_to_barrier" in values:
        return of_barrier(values)
    return of_unwritten(values) if "holes" in values else None


def said(key: str, values: dict) -> str:
    """A sentence of the judge's in the language that was chosen."""
    finding = Finding("", key, values=values)
    text = finding.in_chinese if language.NOW[0] == language.CHINESE else finding.message
    return text[0].upper() + text[1:] if key.startswith("drawn_") and key != "drawn_before" else text


def of_race(values: dict) -> Picture:
    """The element, and the two threads or, in different blocks, the two blocks."""
    figure, (left, right) = two_panels()
    same_block = values["block"] == values["other_block"]
    if same_block:
        ours, theirs = places_panel(left, values["sides"], [values["thread"], values["other_thread"]], "drawn_threads", values)
    else:
        ours, theirs = places_panel(left, values["grid"], [values["block"], values["other_block"]], "drawn_grid", values)
    row, column = array_panel(right, values["array"], values["shape"], values["element"])
    for (y, x), colour, act, bend in ((theirs, INK, values["before"], 0.15), (ours, FAULT, values["now"], -0.15)):
        arrow = ConnectionPatch(
            (x + 0.5, y + 0.5), (column + 0.5, row + 0.5), left.transData, right.transData, color=colour, linewidth=1.8,
            arrowstyle="<|-" if act.key == "reads" else "-|>", connectionstyle=f"arc3,rad={bend}", mutation_scale=16,
        )
        figure.add_artist(arrow)
    lines = [(said("drawn_now", values), FAULT), (said("drawn_before", values), INK)]
    return captioned(figure, lines)
