"""Charts: rates of rungs, libraries and predictions, what units take, instructions, growth, maps, roofs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpu_model import UNITS as ALL_UNITS
from gpu_model.prediction import ON_TOP, REQUESTS
from ptx_machine import LOADS_AND_STORES

from .. import ladder
from ..clock import Limits, Scoreboard, Timing
from ..instruments import CompiledRun, Prediction
from ..language import wrapped
from .colours import GRID, INK, OURS, PAPER, PEER, UNITS
from .drawing import HIGH, Picture, label, listed, look, outline, panel, plain_ticks, tint

ADDED = {"losses": GRID, "waiting": INK}  # what a GPU's longest unit takes on top
REQUEST_SHADES = ("#1f7f86", "#6fb3b8", "#0e4a50", "#b3d9db")  # of the colour of loads and stores, for REQUESTS
# What instructions are for: (name, colour, kinds of `CompiledRun.executed`; () for the rest)
PURPOSES = (
    ("multiply-adds", UNITS["multiply-adds"], ("FMA",)),
    ("loads and stores", UNITS["loads and stores"], LOADS_AND_STORES),
    ("integers", UNITS["integers"], ("integer arithmetic",)),
    ("the rest", PEER, ()),
)


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


def plain_name(t: Timing) -> str:
    """The contestant as charts call it."""
    return "NumPy" if t.step in ("numpy_matmul", "matmul") else t.label


def spell_rate(gflops: float) -> str:
    """A rate with three digits, or as an integer: a GPU's are tens of thousands."""
    return f"{gflops:.3g}" if gflops < 999.5 else f"{gflops:,.0f}"


@look
def ladder_chart(timings: Sequence[Timing], predictions: Sequence[Prediction] = ()) -> Picture:
    """The chart that grows through the course: GFLOP/s of each rung, and in grey of libraries, on a log scale.

    `predictions`: of the model, with hollow bars and their limits, below what was timed; `timings` may then be empty.
    """
    rows, bars, lines = [], [], []
    for t in timings:
        colour = OURS[t.dialect] if t.step in ladder.STEPS else PEER
        rows.append((plain_name(t), [(t.gflops, colour)], spell_rate(t.gflops)))
        bars.append(f"{t.label} {spell_rate(t.gflops)} GFLOP/s")
    if timings:
        devices = ", ".join(dict.fromkeys(t.device for t in timings if t.dialect != "Python"))
        size = f"{timings[0].M} x {timings[0].N} x {timings[0].K}"
        lines.append(label("{size} on {device}", size=size, device=devices or label("the host")))
    for p in predictions:
        name, unit = p.kernel.split()[0], label(p.limit)
        rows.append((name, [(p.gflops, "white")], label("{rate}, limit: {unit}", rate=f"{p.gflops:,.0f}", unit=unit)))
        values = {"name": name, "gpu": p.gpu, "rate": spell_rate(p.gflops), "unit": unit}
        bars.append(label("{name} on {gpu} {rate} GFLOP/s predicted, by {unit}", **values))
    for p in {p.gpu: p for p in predictions}.values():
        lines.append(label("{size} on {device}, predicted (hollow)", size=f"{p.M} x {p.N} x {p.K}", device=p.gpu))
    figure, ax = bar_chart(rows, "\n".join(lines))
    for bar, prediction in zip(ax.patches[len(timings) :], predictions, strict=True):
        bar.set(edgecolor=UNITS.get(prediction.limit, PEER), hatch="///", linewidth=1.5)  # hollow
    rates = [one.gflops for one in (*timings, *predictions)]
    ax.set(xscale="log", xlim=(min(0.5, min(rates) / 2), max(rates) * 3))  # the same start on every page
    plain_ticks(ax.xaxis)
    ax.grid(axis="x", color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(label("GFLOP/s, logarithmic: from one gridline to the next is ten times"))
    return Picture(figure, label("Bar chart: {bars}.", bars=listed(bars)))


@look
def picture_units(prediction: Prediction, upto: str | None = None) -> Picture:
    """A bar a unit of the GPU: how long it is at work. They work at once: the longest, and what is on top, is the time.

    `upto`: the last of `gpu_model.UNITS` to draw, for a page that has explained no more; then the longest
    says how fast the product can be at most. Raises ValueError for what is no unit.
    """
    p, every = prediction, list(ALL_UNITS)
    drawn = every[: every.index(upto) + 1] if upto else every
    working = {unit: p.units[unit] for unit in drawn if unit in p.units and unit not in ON_TOP}
    on_top = {part: p.units[part] for part in ON_TOP if part in drawn and p.units[part]}  # parts of the longest bar
    seconds = max(working.values()) + sum(on_top.values())
    rows, texts = [], []
    for unit, time in sorted(working.items(), key=lambda one: -one[1]):
        parts = [(1e3 * time, UNITS.get(unit, PEER))]
        lines = [label("{time} ms, {share}", time=f"{1e3 * time:.3g}", share=f"{time / seconds:.0%}")]
        if unit == "loads and stores":
            parts = [(1e3 * p.requests[why], colour) for why, colour in zip(REQUESTS, REQUEST_SHADES, strict=True)]
            shares = [f"{p.requests[why] / time:.0%} {label(why)}" for why in REQUESTS if p.requests[why] > time / 200]
            if len(shares) > 1:
                lines = wrapped(label("{time}: {shares}", time=lines[0], shares=listed(shares, ", ")), 35).split("\n")
        for part, more in on_top.items() if not rows else ():
            parts.append((1e3 * more, ADDED[part]))
            lines.append(label("then {time} ms of {what}", time=f"{1e3 * more:.3g}", what=label(part)))
        rows.append((label(unit), parts, "\n".join(lines)))
        texts.append(" ".join([label(unit), *lines]))
    title = "{kernel}, {size} on {gpu}: at most {rate} GFLOP/s by these units"
    if drawn == every:
        title = "{kernel}, {size} on {gpu}: {rate} GFLOP/s, predicted"
    rate = f"{2 * p.M * p.N * p.K / seconds / 1e9:,.0f}"
    title = label(title, kernel=p.kernel.split()[0], size=f"{p.M} x {p.N} x {p.K}", gpu=p.gpu, rate=rate)
    figure, ax = bar_chart(rows, title)
    unit = "milliseconds at work; pale grey: losses; black: waiting" if on_top else "milliseconds at work"
    ax.set(xlim=(0, 1600 * seconds), xlabel=label(unit))
    return Picture(figure, label("{title}; at work: {units}.", title=title, units=listed(texts)))


@look
def executed_chart(runs: dict[str, CompiledRun]) -> Picture:
    """Instructions that threads ran for each multiply-add, by what they are for. `runs`: {label: `CompiledRun`}."""
    names, colours, kinds_of = zip(*PURPOSES, strict=True)
    names = [label(name) for name in names]
    rows, bars = [], []
    for name, run in runs.items():
        counts = [sum(run.executed[kind] for kind in kinds) for kinds in kinds_of]
        counts[-1] = run.instructions - sum(counts)
        each = [count / (run.M * run.N * run.K) for count in counts]
        all_of_them = f"{sum(each):.2f}"
        rows.append((label(name), list(zip(each, colours, strict=True)), all_of_them))
        parts = listed([f"{what} {n:.2f}" for what, n in zip(names, each, strict=True)], ", ")
        bars.append(label("{name} {each} ({parts})", name=name, each=all_of_them, parts=parts))
    figure, ax = bar_chart(rows, "")
    top = 1.1 * max(run.instructions_per_multiply_add for run in runs.values())
    ax.set(xlim=(0, top), xlabel=label("instructions executed for each multiply-add"))
    figure.legend(ax.patches[: len(names)], names, loc="outside upper left", ncols=len(names))
    text = "Bar chart of instructions executed for each multiply-add: {bars}."
    return Picture(figure, label(text, bars=listed(bars)))


@look
def growth_chart(boards: list[Scoreboard], recorded: str) -> Picture:
    """GFLOP/s of each contestant as square products grow. `boards`: scoreboards of several sizes, of one device.

    `recorded`: the day on which that was measured.
    """
    boards, rates = sorted((b for b in boards if b.M == b.N == b.K), key=lambda b: b.M), {}
    for b in boards:
        for t in b.timings:
            rates.setdefault(plain_name(t), []).append((b.M, t.gflops))
    values = {"device": boards[0].device, "source": label("recorded on {date}", date=recorded)}
    figure = Figure(figsize=(8.6, 4.8), layout="constrained")
    figure.suptitle(label("{device}, {source}", **values), x=0.02, ha="left")
    ax = figure.add_subplot()
    ax.axhline(boards[-1].peak / 1e9, color=INK, linewidth=1, linestyle="--")
    lines = []
    for name in sorted(rates, key=lambda name: -max(rate for _, rate in rates[name])):
        ax.plot(*zip(*rates[name], strict=True), marker="o", label=name, linestyle=":")
        lines.append(f"{name} " + ", ".join(f"{spell_rate(rate)} at {size}" for size, rate in rates[name]))
    ax.set_xscale("log", base=2)
    ax.set_xticks([b.M for b in boards], [str(b.M) for b in boards])
    ax.minorticks_off()
    ax.set(ylim=(0, None), xlabel="M = N = K", ylabel=label("GFLOP/s; dashed: measured peak"))
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    text = "{device}, {source}, GFLOP/s as the product grows: {lines}."
    return Picture(figure, label(text, lines="; ".join(lines), **values))


@look
def picture_landscape(rates: dict, x: str, y: str) -> Picture:
    """Rates over two parameters, as a map. `rates`: {(value of x, value of y): GFLOP/s, or None where nothing ran}."""
    across, down = (sorted({pair[i] for pair in rates}) for i in (0, 1))
    best = max(rates, key=lambda pair: rates[pair] or 0)
    labels = {(0, column): str(value) for column, value in enumerate(across, 1)}
    labels |= {(row, 0): str(value) for row, value in enumerate(down, 1)}
    colours = {}
    for place, rate in rates.items():
        cell = down.index(place[1]) + 1, across.index(place[0]) + 1
        labels[cell] = f"{rate:.0f}" if rate else "–"
        colours[cell] = tint(OURS["CUDA"], 0.7 * (rate or 0) / rates[best])
    figure = Figure(figsize=(0.5 * len(across) + 3.4, 0.6 * len(down) + 1.2))
    ax = figure.add_axes((0.03, 0.03, 0.94, 0.8))
    title = label("GFLOP/s; across: {x}, down: {y}; the best is framed", x=x, y=y)
    panel(ax, len(down) + 1, len(across) + 1, colours, title, labels=labels)
    outline(ax, down.index(best[1]) + 1, across.index(best[0]) + 1)
    text = "GFLOP/s over {x} and {y}: the best, {best}, at {x} = {i} and {y} = {j}; the lowest of {count}, {lowest}."
    lowest = min(filter(None, rates.values()))
    values = {"x": x, "y": y, "best": f"{rates[best]:.0f}", "i": best[0], "j": best[1], "lowest": f"{lowest:.0f}"}
    return Picture(figure, label(text, count=len(rates), **values))


@look
def roofline(limits: Limits, points: tuple | list = ()) -> Picture:
    """The roofline of a device, with what a kernel could reach. `points`: (label, flop per byte, above 0) a kernel."""
    x = np.geomspace(0.05, 100_000, 200)  # wide enough for a name on the right of 1000
    slope, top = limits.bytes_per_s / 1e9, limits.flops_per_s / 1e9
    roof = np.minimum(top, x * slope)
    figure = Figure(figsize=(8, 4.6))
    ax = figure.add_axes((0.1, 0.14, 0.86, 0.76))
    ax.loglog(x, roof, color=INK, linewidth=2)
    ax.fill_between(x, roof, roof.min() / 1000, color=PAPER)
    ax.axvline(limits.ridge, color=GRID, linewidth=1, linestyle="--")
    texts = []
    for name, intensity in points:
        dot = intensity, min(top, intensity * slope)
        ax.plot(*dot, "o", color=OURS["CUDA"], markersize=9, markerfacecolor="white")
        ax.annotate(label(name), dot, xytext=(7, -14), textcoords="offset points", va="center")  # below the roof
        texts.append(label("{name} at {intensity} flop per byte", name=label(name), intensity=f"{intensity:.3g}"))
    ax.text(0.06, roof.min() / 2, label("the slope: {rate} GB/s", rate=f"{slope:.0f}"))  # dots lie higher
    ax.text(x[-1], 1.3 * top, label("the roof: {rate} GFLOP/s", rate=f"{top:.0f}"), ha="right")
    ax.set(xlim=(x[0], x[-1]), ylim=(roof.min() / 3, roof.max() * 2.4), ylabel="GFLOP/s")
    ax.set_xlabel(label("arithmetic intensity, flop per byte"))
    ax.set_title(label("Roofline of {device}, measured", device=limits.device), loc="left")
    plain_ticks(ax.xaxis, ax.yaxis)
    rises = "Roofline: the rate rises with arithmetic intensity until {ridge} flop per byte, then is flat."
    return Picture(figure, f"{label(rises, ridge=f'{limits.ridge:.2g}')} {listed(texts)}".strip())
