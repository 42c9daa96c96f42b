"""The board as a chart."""

import itertools

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

from ..pictures.charts import OURS
from ..pictures.drawing import GRID, INK, Picture, look
from .ranking import Board

NO_LETTERS = "Last Resort High-Efficiency"  # Matplotlib's own, which has a box for any letter


@look
def board_chart(board: Board) -> Picture:
    """Bars for each machine's entries, in times NumPy, in one panel a machine. Raises ValueError without times."""
    timed = {m: timed for m, entries in board.machines.items() if (timed := [e for e in entries if e["times"]])}
    if not timed:
        raise ValueError("no bar to draw: no entry has times. A kernel that ran in a simulator has none.")
    heights = [0.4 * len(entries) + 1.1 for entries in timed.values()]
    figure = Figure(figsize=(8.6, sum(heights)), layout="constrained")
    panels = figure.subplots(len(timed), squeeze=False, height_ratios=heights)[:, 0]
    said = []
    for ax, (machine, entries) in zip(panels, timed.items(), strict=True):
        ratios = [entry["times"]["square"]["of_numpy"] for entry in entries]
        colours = [OURS[entry["dialect"]] for entry in entries]
        ax.bar_label(ax.barh(range(len(entries)), ratios, color=colours, height=0.66), fmt=" %.2f", color=INK)
        ax.axvline(1, color=INK, linewidth=1)
        fonts = [fonts_for(entry["name"]) for entry in entries]
        names = [
            e["name"] if known else f"place {n}" for n, (e, known) in enumerate(zip(entries, fonts, strict=True), 1)
        ]
        ax.set_yticks(range(len(entries)), names, parse_math=False)
        for label, known in zip(ax.get_yticklabels(), fonts, strict=True):
            label.set_fontfamily(known or None)
        ax.invert_yaxis()
        ax.margins(x=0.12)
        ax.set_title(machine, loc="left", color=INK, parse_math=False)
        ax.set_xlabel("times as fast as NumPy (the line), measured in turns")
        ax.grid(axis="x", color=GRID, linewidth=0.6)
        ax.set_axisbelow(True)
        listed = ", ".join(f"{e['name']} {ratio:.2f}" for e, ratio in zip(entries, ratios, strict=True))
        said.append(f"on {machine}: {listed}")
    return Picture(figure, f"Bar chart, times as fast as NumPy; {'; '.join(said)}.")


def fonts_for(text: str) -> list[str]:
    """Names of fonts that have all letters of the text between them, the usual one first; none where some have none."""
    missing, chosen = set(map(ord, text)), []
    usual = FontProperties()
    installed = ((font.fname, font.name) for font in fontManager.ttflist if font.name != NO_LETTERS)
    for path, name in itertools.chain([(findfont(usual), usual.get_name())], installed):
        if has := missing & get_font(path).get_charmap().keys():
            chosen.append(name)
            missing -= has
        if not missing:
            return chosen
    return []
