"""Charts: the one that grows through the course, scoreboards, landscapes, rooflines, occupancy, instructions."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ptx_machine import LOADS_AND_STORES

from .. import ladder
from ..clock import Limits, Scoreboard, Timing
from ..clock.timing import spell_spread
from ..instruments import CompiledRun, CompilerReport, Prediction
from ..language import said
from .drawing import (
    A_COLOUR,
    B_COLOUR,
    C_COLOUR,
    GRID,
    HIGH,
    INK,
    OURS,
    PAPER,
    PEER,
    UNITS,
    Picture,
    label,
    listed,
    look,
    outline,
    plain_ticks,
    refuse_crowded,
)

PURPLES = colormaps["Purples"]  # from little to much
# In growth charts, where no matrix and no unit is drawn, a rung has one colour, and each dialect its marker.
RUNGS = (C_COLOUR, A_COLOUR, B_COLOUR, *UNITS.values(), "#8b5a2b", INK, "#d0b23a", "#e08fb0")
DIALECTS = {"OpenCL": "o", "CUDA": "s"}
MARKERS = "DvPX*h<>dpH8"  # of all others, which are grey, and black where there are more
UNSTEADY = 0.4  # the middle half of the repeats, as a share of the median: on a quiet machine it is below 0.1


def bar_chart(rows: list[tuple[str, list, str]], title: str) -> tuple[Figure, Axes]:
    """A row for each (name, [(length, colour) of parts that stand end to end], words behind them), the first on top."""
    row = np.clip((HIGH - 1.5) / len(rows), 0.25, 0.46)  # inches; below that the names would meet
    figure = Figure(figsize=(8.6, row * len(rows) + 1.5), layout="constrained")
    figure.suptitle(title, x=0.02, ha="left")
    ax = figure.add_subplot()
    for y, (_, parts, words) in enumerate(rows):
        end = 0.0
        for length, colour in parts:
            ax.barh(y, length, left=end, height=0.66, color=colour, edgecolor="white")
            end += length
        white = dict(facecolor="white", edgecolor="none", pad=1.5)
        ax.annotate(words, (end, y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=11, bbox=white)
    ax.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=12)
    ax.invert_yaxis()
    ax.spines["left"].set_visible(False)
    return figure, ax


def along_rates(ax: Axes, least: float, most: float) -> None:
    """Let a bar chart have a logarithmic scale of GFLOP/s, with gridlines behind the bars."""
    ax.set(xscale="log", xlim=(least, most))
    plain_ticks(ax.xaxis)
    ax.grid(axis="x", color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(label("GFLOP/s, logarithmic: from one gridline to the next is ten times"))


def hollow(bars: list, predictions: list[Prediction]) -> None:
    """Show that these bars are predicted, in the colours of their limits."""
    for bar, prediction in zip(bars, predictions, strict=True):
        bar.set(edgecolor=UNITS.get(prediction.limit, PEER), hatch="///", linewidth=1.5)


def plain_name(t: Timing) -> str:
    """The contestant as charts call it."""
    return "NumPy" if t.step in ("numpy_matmul", "matmul") else t.label


def spell_rate(gflops: float) -> str:
    """A rate with three digits, or as a whole number: a GPU's are tens of thousands."""
    return f"{gflops:.3g}" if gflops < 999.5 else f"{gflops:,.0f}"


def spell(t: Timing, unit: str = "") -> tuple:
    """A rate, and where the repeats differ so much that it means little, how much: the key and values of a sentence."""
    values = {"rate": spell_rate(t.gflops) + unit, "spread": (spell_spread(t.spread or 0), {})}
    if (t.spread or 0) <= UNSTEADY:
        return "{rate}", values
    return "{rate}, {spread}: a busy machine" if t.spread <= 2 else "{rate}, {spread}", values


@look
def ladder_chart(timings: Sequence[Timing], predictions: Sequence[Prediction] = ()) -> Picture:
    """The chart that grows through the course: GFLOP/s of NumPy and of each rung, on a log scale.

    `predictions`: of the model, with hollow bars and their limits, below what was timed; `timings` may then be empty.
    """
    colours = OURS | {"Python": PEER}
    rows = [(plain_name(t), [(t.gflops, colours[t.dialect])], label("{rate}", rate=spell(t))) for t in timings]
    devices = ", ".join(dict.fromkeys(t.device for t in timings if t.dialect != "Python"))
    for p in predictions:
        words = label("{rate}, limit: {unit}", rate=f"{p.gflops:,.0f}", unit=(p.limit, {}))
        rows.append((p.kernel.split()[0], [(p.gflops, "white")], words))
    first, rates = [*timings, *predictions][0], [one.gflops for one in (*timings, *predictions)]
    size, lines = f"{first.M} x {first.N} x {first.K}", []
    if timings:
        lines.append(label("{size} on {device}", size=size, device=(devices or "the host", {})))
    for p in {p.gpu: p for p in predictions}.values():
        lines.append(label("{size} on {device}, predicted (hollow)", size=f"{p.M} x {p.N} x {p.K}", device=p.gpu))
    figure, ax = bar_chart(rows, "\n".join(lines))
    hollow(ax.patches[len(timings) :], predictions)
    along_rates(ax, min(0.5, min(rates) / 2), max(rates) * 3)  # the same start on every page
    bars = [("{name} {rate}", {"name": t.label, "rate": spell(t, " GFLOP/s")}) for t in timings]
    for p in predictions:
        values = {"name": p.kernel.split()[0], "gpu": p.gpu, "rate": spell_rate(p.gflops), "unit": (p.limit, {})}
        bars.append(("{name} on {gpu} {rate} GFLOP/s predicted, by {unit}", values))
    return Picture(figure, said("Bar chart: {bars}.", bars=listed(bars)))


def when(recorded: str) -> tuple:
    """Of which day a measurement is, "" for now: the key and values of a sentence."""
    return ("recorded on {date}", {"date": recorded}) if recorded else ("measured now", {})


@look
def scoreboard_chart(board: Scoreboard, recorded: str = "") -> Picture:
    """A contest at one size, fastest first: the ladder in purple, libraries in grey, and the device's peak, hollow.

    The peak is the first bar, where a contestant comes near it.

    `recorded`: the day of a record; "" for what was measured now.
    """
    rows = []
    for i in sorted(range(len(board.timings)), key=lambda i: board.timings[i].seconds):
        t, share, j = board.timings[i], board.of_peak(i), board.library(i)
        ours = t.step in ladder.STEPS
        words = ("{rate}, {share} of peak" if share else "{rate}", {"rate": spell(t), "share": f"{share or 0:.0%}"})
        if ours and j is not None:
            library = f"{board.times(i, j)[0]:.2f} x {plain_name(board.timings[j]).partition(' (')[0]}"
            words = "{words}, {library}", {"words": words, "library": library}
        rows.append((plain_name(t), [(t.gflops, OURS[t.dialect] if ours else PEER)], words))
    size = f"{board.M} x {board.N} x {board.K}"
    title = "{size} on {device}, {source}", {"size": size, "device": board.device, "source": when(recorded)}
    bars = listed([("{name} {words}", {"name": name, "words": words}) for name, _, words in rows])
    rows = [(name, parts, label("{words}", words=words)) for name, parts, words in rows]
    peak = board.peak / 1e9
    near = max(t.gflops for t in board.timings) > 0.3 * peak
    if near:
        rows.insert(0, (label("measured peak"), [(peak, "white")], spell_rate(peak)))
    figure, ax = bar_chart(rows, label("{title}", title=title))
    if near:
        ax.patches[0].set(edgecolor=PEER, linewidth=1.5)
    longest = max(length for _, parts, _ in rows for length, _ in parts)
    ax.set(xlim=(0, 1.4 * longest), xlabel="GFLOP/s")  # room for the words
    return Picture(figure, said("{title}, in GFLOP/s: {bars}.", title=title, bars=bars))


def growth_looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """{name: (its colour, its marker)}: a rung's are the same in all growth charts, and so are NumPy's."""
    looks, others = {}, itertools.cycle((colour, marker) for colour in (PEER, INK) for marker in MARKERS)
    for name in sorted(names, key=lambda name: (name != "NumPy", name)):
        step, _, dialect = name.rstrip(")").partition(" (")
        rung = step in ladder.STEPS and dialect in DIALECTS
        looks[name] = (RUNGS[list(ladder.STEPS).index(step)], DIALECTS[dialect]) if rung else next(others)
    return looks


@look
def growth_chart(boards: list[Scoreboard], recorded: str = "") -> Picture:
    """GFLOP/s of each contestant as square products grow. `boards`: scoreboards of several sizes.

    `recorded`: the day of a record, which is dotted; "" for what was measured now. Raises ValueError for less than two
    square sizes, and where no contestant was timed at two of them.
    """
    boards = sorted((b for b in boards if b.M == b.N == b.K), key=lambda b: b.M)
    if len(boards) < 2:
        raise ValueError("growth needs scoreboards of two square sizes at least, M = N = K.")
    rates = {}
    for b in boards:
        for t in b.timings:
            rates.setdefault(plain_name(t), []).append((b.M, t.gflops))
    rates = {name: points for name, points in rates.items() if len(points) > 1}
    if not rates:
        raise ValueError("growth needs a contestant that was timed at two square sizes at least, M = N = K.")
    peak, values = boards[-1].peak / 1e9, {"device": boards[0].device, "source": when(recorded)}
    # Room for the list of names beside it.
    figure = Figure(figsize=(8.6, max(4.8, 0.25 * len(rates) + 0.9)), layout="constrained")
    figure.suptitle(label("{device}, {source}", **values), x=0.02, ha="left")
    ax = figure.add_subplot()
    ax.axhline(peak, color=INK, linewidth=1, linestyle="--")
    fastest = sorted(rates, key=lambda name: -max(rate for _, rate in rates[name]))
    looks = growth_looks(rates)
    for name in fastest:
        colour, marker = looks[name]
        style = ":" if recorded else "-"
        ax.plot(*zip(*rates[name], strict=True), color=colour, marker=marker, label=name, linestyle=style)
    ax.set_xscale("log", base=2)
    ax.set_xticks([b.M for b in boards], [str(b.M) for b in boards])
    ax.minorticks_off()
    top = 1.08 * max(peak, *(rate for points in rates.values() for _, rate in points))
    ax.set(ylim=(0, top), xlabel="M = N = K", ylabel=label("GFLOP/s; dashed: measured peak"))
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    lines = "; ".join(
        f"{name} " + ", ".join(f"{spell_rate(rate)} at {size}" for size, rate in rates[name]) for name in fastest
    )
    return Picture(figure, said("{device}, {source}, GFLOP/s as the product grows: {lines}.", lines=lines, **values))


@look
def picture_landscape(rates: dict, x: str, y: str) -> Picture:
    """Rates over two parameters, as a map. `rates`: {(value of x, value of y): GFLOP/s, or None where nothing ran}.

    Raises ValueError where nothing ran at all.
    """
    known = [rate for rate in rates.values() if rate]
    if not known:
        raise ValueError("a landscape needs a rate at one place at least; nothing ran.")
    across, down = (sorted({pair[i] for pair in rates}) for i in (0, 1))
    refuse_crowded(len(down), len(across))
    best = max(rates, key=lambda pair: rates[pair] or 0)
    figure = Figure(figsize=(0.95 * len(across) + 1.9, 0.55 * len(down) + 1.5), layout="constrained")
    figure.suptitle(label("GFLOP/s; the best is framed"), x=0.02, ha="left")
    ax = figure.add_subplot()
    for i, row in enumerate(down):
        for j, column in enumerate(across):
            rate = rates.get((column, row))
            share = (rate or 0) / rates[best]
            face = PURPLES(share**2) if rate else PAPER
            ax.add_patch(Rectangle((j, i), 1, 1, facecolor=face, edgecolor="white", linewidth=2))
            looks = dict(color="white") if share > 0.8 else {}
            looks |= dict(fontweight="bold") if (column, row) == best else {}
            ax.text(j + 0.5, i + 0.5, f"{rate:.0f}" if rate else "–", ha="center", va="center", **looks)
    outline(ax, down.index(best[1]), across.index(best[0]), 1, 1)
    ax.set(xlim=(0, len(across)), ylim=(0, len(down)), xlabel=x, ylabel=y)
    ax.set_xticks(np.arange(len(across)) + 0.5, across, fontsize=12)
    ax.set_yticks(np.arange(len(down)) + 0.5, down, fontsize=12)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    text = "GFLOP/s over {x} and {y}: the best, {best}, at {x} = {i} and {y} = {j}; the lowest of {count}, {lowest}."
    values = {"x": x, "y": y, "best": f"{rates[best]:.0f}", "i": best[0], "j": best[1], "lowest": f"{min(known):.0f}"}
    return Picture(figure, said(text, count=len(rates), **values))


@look
def roofline(limits: Limits, points: tuple | list = ()) -> Picture:
    """The roofline of a device, with what a kernel could reach. `points`: (label, flop per byte) a kernel.

    Raises ValueError for an intensity that is not above 0, since the scales are logarithmic.
    """
    for name, intensity in points:
        if not intensity > 0:
            raise ValueError(f"{name}: {intensity!r} flop per byte has no place on a log scale; give one above 0.")
    x = np.geomspace(0.05, 100_000, 200)  # wide enough for a name on the right of 1000
    roof = np.minimum(limits.flops_per_s, x * limits.bytes_per_s) / 1e9
    figure = Figure(figsize=(8, 4.6))
    ax = figure.add_axes((0.1, 0.14, 0.86, 0.76))
    ax.loglog(x, roof, color=INK, linewidth=2)
    ax.fill_between(x, roof, roof.min() / 1000, color=PAPER)
    ax.axvline(limits.ridge, color=GRID, linewidth=1, linestyle="--")
    slope, top = limits.bytes_per_s / 1e9, limits.flops_per_s / 1e9
    for name, intensity in points:
        dot = intensity, min(top, intensity * slope)
        ax.plot(*dot, "o", color=OURS["CUDA"], markersize=9, markerfacecolor="white")
        ax.annotate(label(name), dot, xytext=(7, -14), textcoords="offset points", va="center")  # below the roof
    ax.text(0.06, roof.min() / 2, label("the slope: {rate} GB/s", rate=f"{slope:.0f}"))  # dots lie higher
    ax.text(x[-1], 1.3 * top, label("the roof: {rate} GFLOP/s", rate=f"{top:.0f}"), ha="right")
    ax.set(xlim=(x[0], x[-1]), ylim=(roof.min() / 3, roof.max() * 2.4))
    plain_ticks(ax.xaxis, ax.yaxis)
    ax.set(xlabel=label("arithmetic intensity, flop per byte"), ylabel="GFLOP/s")
    ax.set_title(label("Roofline of {device}, measured", device=limits.device), loc="left")
    rises = "Roofline: the rate rises with arithmetic intensity until {ridge} flop per byte, then is flat."
    dot = "{name} at {intensity} flop per byte"
    named = [(dot, {"name": (name, {}), "intensity": f"{intensity:.3g}"}) for name, intensity in points]
    text = said(rises, ridge=f"{limits.ridge:.2g}")
    return Picture(figure, f"{text} {said('{dots}', dots=listed(named))}".strip())


@look
def picture_occupancy(report: CompilerReport) -> Picture:
    """How the blocks of a kernel fill one multiprocessor: a bar for each resource, a box for each block that fits."""
    blocks, rows, used = report.occupancy.blocks, [], []
    for what, (needed, has) in report.occupancy.needs.items():
        colour = INK if what in report.occupancy.limits else GRID
        parts = [(needed / has, colour)] * blocks + [(1 - blocks * needed / has, PAPER)]
        rows.append((label(what), parts, label("{used} of {all}", used=f"{blocks * needed:,}", all=f"{has:,}")))
        used.append(("{what} {used} of {all}", {"what": (what, {}), "used": blocks * needed, "all": has}))
    values = {"gpus": (report.occupancy.gpus, {}), "name": report.kernel.split(" ")[0]}
    figure, ax = bar_chart(rows, label("One multiprocessor of {gpus}, filled with blocks of {name}", **values))
    for tick, what in zip(ax.get_yticklabels(), report.occupancy.needs, strict=True):
        tick.set_fontweight("bold" if what in report.occupancy.limits else "normal")
    ax.set_xlim(0, 1)
    ax.xaxis.set_visible(False)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(length=0)
    o = report.occupancy
    blocks = ("1 block at a time", {}) if o.blocks == 1 else ("{blocks} blocks at a time", {"blocks": o.blocks})
    values = {"gpus": (o.gpus, {}), "blocks": blocks, "warps": o.warps, "most": o.most_warps, "share": f"{o.share:.0%}"}
    values |= {"limits": listed([(one, {}) for one in o.limits], " and "), "used": listed(used)}
    return Picture(figure, said(OCCUPANCY, **values))


OCCUPANCY = "{gpus}: {blocks}, {warps} of {most} warps ({share}), limited by {limits}. In use: {used}."
# What instructions are for, as a chart colours them: (name, colour, kinds of `CompiledRun.executed`; () for the rest)
PURPOSES = (
    ("multiply-adds", UNITS["multiply-adds"], ("FMA",)),
    ("loads and stores", UNITS["loads and stores"], LOADS_AND_STORES),
    ("whole numbers", UNITS["whole numbers"], ("whole-number arithmetic",)),
    ("the rest", PEER, ()),
)


@look
def executed_chart(runs: dict[str, CompiledRun]) -> Picture:
    """Instructions that threads ran for each multiply-add, by what they are for. `runs`: {label: `CompiledRun`}."""
    rows, bars = [], []
    for name, run in runs.items():
        counts = [sum(run.executed[kind] for kind in kinds) for _, _, kinds in PURPOSES]
        counts[-1] = run.instructions - sum(counts)
        each = [count / (run.M * run.N * run.K) for count in counts]
        all_of_them = f"{sum(each):.2f}"
        rows.append((label(name), [(n, colour) for n, (_, colour, _) in zip(each, PURPOSES, strict=True)], all_of_them))
        named = zip(each, PURPOSES, strict=True)
        parts = [("{what} {n}", {"what": (what, {}), "n": f"{n:.2f}"}) for n, (what, *_) in named]
        bars.append(("{name} {each} ({parts})", {"name": name, "each": all_of_them, "parts": listed(parts, ", ")}))
    figure, ax = bar_chart(rows, "")
    top = 1.1 * max(run.instructions_per_multiply_add for run in runs.values())
    ax.set(xlim=(0, top), xlabel=label("instructions executed for each multiply-add"))
    names = [label(name) for name, _, _ in PURPOSES]
    figure.legend(ax.patches[: len(names)], names, loc="outside upper left", ncols=len(names))
    return Picture(figure, said("Bar chart of instructions executed for each multiply-add: {bars}.", bars=listed(bars)))
