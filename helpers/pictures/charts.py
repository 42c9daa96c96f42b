"""Charts: rates of rungs, libraries and predictions, what units take, instructions, occupancy; growth, maps, roofs."""

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpu_model import UNITS as ALL_UNITS
from gpu_model.comparison import Comparison
from gpu_model.prediction import ON_TOP, REQUESTS
from ptx_machine import LOADS_AND_STORES

from .. import ladder
from ..clock import Limits, Scoreboard, Timing
from ..instruments import CompiledRun, CompilerReport, Prediction
from .colours import A_COLOUR, B_COLOUR, C_COLOUR, GRID, INK, OURS, PAPER, PEER, UNITS
from .drawing import HIGH, Picture, label, listed, look, outline, plain_ticks

# In growth charts, where no matrix and no unit is drawn, a rung has one colour, and each dialect its marker.
RUNGS = (C_COLOUR, A_COLOUR, B_COLOUR, *UNITS.values(), "#8b5a2b", INK, "#d0b23a", "#e08fb0")
DIALECTS = {"OpenCL": "o", "CUDA": "s"}
MARKERS = "vPX*h<>dpH8D"  # of libraries, which are grey, and black where there are more
UNSTEADY = 0.4  # the middle half of the repeats, as a share of the median: on a quiet machine it is below 0.1
ADDED = {"losses": GRID, "waiting": INK}  # what a GPU's longest unit takes on top
REQUEST_SHADES = ("#1f7f86", "#6fb3b8", "#0e4a50", "#b3d9db")  # of the colour of loads and stores, for REQUESTS
# What instructions are for: (name, colour, kinds of `CompiledRun.executed`; () for the rest)
PURPOSES = (
    ("multiply-adds", UNITS["multiply-adds"], ("FMA",)),
    ("loads and stores", UNITS["loads and stores"], LOADS_AND_STORES),
    ("whole numbers", UNITS["whole numbers"], ("whole-number arithmetic",)),
    ("the rest", PEER, ()),
)
OCCUPANCY = "{gpus}: {blocks}, {warps} of {most} warps ({share}), limited by {limits}. In use: {used}."


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


def spell(t: Timing, unit: str = "") -> str:
    """A rate, and where the repeats differ so much that it means little, how much."""
    rate = spell_rate(t.gflops) + unit
    return f"{rate}, ± {50 * t.spread:.0f} %" if (t.spread or 0) > UNSTEADY else rate


@look
def ladder_chart(timings: Sequence[Timing], predictions: Sequence[Prediction] = ()) -> Picture:
    """The chart that grows through the course: GFLOP/s of NumPy and of each rung, on a log scale.

    `predictions`: of the model, with hollow bars and their limits, below what was timed; `timings` may then be empty.
    """
    colours = OURS | {"Python": PEER}
    rows, bars, lines = [], [], []
    for t in timings:
        rows.append((plain_name(t), [(t.gflops, colours[t.dialect])], spell(t)))
        bars.append(f"{t.label} {spell(t, ' GFLOP/s')}")
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
    hollow(ax.patches[len(timings) :], predictions)
    rates = [one.gflops for one in (*timings, *predictions)]
    along_rates(ax, min(0.5, min(rates) / 2), max(rates) * 3)  # the same start on every page
    return Picture(figure, label("Bar chart: {bars}.", bars=listed(bars)))


@look
def published_chart(comparison: Comparison) -> Picture:
    """Measured rates, and what the model says of the kernels that were measured, in pairs of bars."""
    rows, pairs, last = [], [], None
    for row in comparison.rows:
        name = row.step if row.ladder is last else f"{row.ladder.gpu}: {row.step}"
        last = row.ladder
        published, predicted = f"{row.published:,.0f}", f"{row.prediction.gflops:,.0f}"
        rows.append((name, [(row.published, PEER)], label("{rate} published", rate=published)))
        words = label("{rate}, {ratio} of it", rate=predicted, ratio=f"{row.ratio:.2f}")
        rows.append(("", [(row.prediction.gflops, "white")], words))
        values = {"name": name, "published": published, "predicted": predicted}
        pairs.append(label("{name} {published} published, {predicted} predicted", **values))
    figure, ax = bar_chart(rows, label("Published (grey) and predicted (hollow), 4096 x 4096 x 4096"))
    hollow(ax.patches[1::2], [row.prediction for row in comparison.rows])
    rates = [length for _, parts, _ in rows for length, _ in parts]
    along_rates(ax, min(rates) / 3, max(rates) * 5)
    return Picture(figure, label("Pairs of bars, GFLOP/s: {pairs}.", pairs=listed(pairs)))


def when(recorded: str) -> str:
    """Of which day a measurement is, "" for now."""
    return label("recorded on {date}", date=recorded) if recorded else label("measured now")


@look
def scoreboard_chart(board: Scoreboard, recorded: str = "") -> Picture:
    """A contest at one size, fastest first: the ladder in purple, libraries in grey, and the device's peak, hollow.

    The peak is the first bar, where a contestant comes near it.

    `recorded`: the day of a record; "" for what was measured now.
    """
    rows = []
    for i in sorted(range(len(board.timings)), key=lambda i: board.timings[i].seconds):
        t, share, j = board.timings[i], board.of_peak(i), board.library(i)
        ours, words = t.step in ladder.STEPS, spell(t)
        if share:
            words = label("{rate}, {share} of peak", rate=words, share=f"{share:.0%}")
        if ours and j is not None:
            library = f"{board.times(i, j)[0]:.2f} x {plain_name(board.timings[j]).partition(' (')[0]}"
            words = label("{words}, {library}", words=words, library=library)
        rows.append((plain_name(t), [(t.gflops, OURS[t.dialect] if ours else PEER)], words))
    size = f"{board.M} x {board.N} x {board.K}"
    title = label("{size} on {device}, {source}", size=size, device=board.device, source=when(recorded))
    bars = listed(f"{name} {words}" for name, _, words in rows)
    peak, fastest = board.peak / 1e9, max(t.gflops for t in board.timings)
    if fastest > 0.3 * peak:
        rows.insert(0, (label("measured peak"), [(peak, "white")], spell_rate(peak)))
        fastest = max(fastest, peak)
    figure, ax = bar_chart(rows, title)
    if len(rows) > len(board.timings):
        ax.patches[0].set(edgecolor=PEER, linewidth=1.5)
    ax.set(xlim=(0, 1.4 * fastest), xlabel="GFLOP/s")  # room for the words
    return Picture(figure, label("{title}, in GFLOP/s: {bars}.", title=title, bars=bars))


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
                lines = [label("{time}:", time=lines[0]), listed(shares, ", ")]
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
def picture_occupancy(report: CompilerReport) -> Picture:
    """How the blocks of a kernel fill one multiprocessor: a bar for each resource, a box for each block that fits."""
    o, gpus, rows, used = report.occupancy, label(report.occupancy.gpus), [], []
    for what, (needed, has) in o.needs.items():
        colour = INK if what in o.limits else GRID
        parts = [(needed / has, colour)] * o.blocks + [(1 - o.blocks * needed / has, PAPER)]
        rows.append((label(what), parts, label("{used} of {all}", used=f"{o.blocks * needed:,}", all=f"{has:,}")))
        used.append(label("{what} {used} of {all}", what=label(what), used=o.blocks * needed, all=has))
    name = report.kernel.split(" ")[0]
    figure, ax = bar_chart(
        rows, label("One multiprocessor of {gpus}, filled with blocks of {name}", gpus=gpus, name=name)
    )
    for tick, what in zip(ax.get_yticklabels(), o.needs, strict=True):
        tick.set_fontweight("bold" if what in o.limits else "normal")
    ax.set(xlim=(0, 1), xticks=[])
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(length=0)
    blocks = label("1 block at a time" if o.blocks == 1 else "{blocks} blocks at a time", blocks=o.blocks)
    values = {"gpus": gpus, "blocks": blocks, "warps": o.warps, "most": o.most_warps, "share": f"{o.share:.0%}"}
    limits = listed(map(label, o.limits), " and ")
    return Picture(figure, label(OCCUPANCY, **values, limits=limits, used=listed(used)))


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


def growth_looks(names: list[str]) -> dict[str, tuple[str, str]]:
    """{name: (its colour, its marker)}: a rung's are the same in all growth charts, and so are NumPy's."""
    looks = {"NumPy": (PEER, "D")}
    for step, colour in zip(ladder.STEPS, RUNGS, strict=False):
        looks |= {f"{step} ({dialect})": (colour, marker) for dialect, marker in DIALECTS.items()}
    others = itertools.cycle((colour, marker) for colour in (PEER, INK) for marker in MARKERS)
    return {name: looks.get(name) or next(others) for name in sorted(names)}


@look
def growth_chart(boards: list[Scoreboard], recorded: str = "") -> Picture:
    """GFLOP/s of each contestant as square products grow. `boards`: scoreboards of several sizes.

    `recorded`: the day of a record, which is dotted; "" for what was measured now. Raises ValueError where no
    contestant was timed at two square sizes.
    """
    boards, rates = sorted((b for b in boards if b.M == b.N == b.K), key=lambda b: b.M), {}
    for b in boards:
        for t in b.timings:
            rates.setdefault(plain_name(t), []).append((b.M, t.gflops))
    fastest = sorted(rates, key=lambda name: -max(rate for _, rate in rates[name]))
    rates = {name: rates[name] for name in fastest if len(rates[name]) > 1}
    if not rates:
        raise ValueError("growth needs a contestant that was timed at two square sizes at least, M = N = K.")
    peak, values = boards[-1].peak / 1e9, {"device": boards[0].device, "source": when(recorded)}
    # Room for the list of names beside it.
    figure = Figure(figsize=(8.6, max(4.8, 0.25 * len(rates) + 0.9)), layout="constrained")
    figure.suptitle(label("{device}, {source}", **values), x=0.02, ha="left")
    ax = figure.add_subplot()
    ax.axhline(peak, color=INK, linewidth=1, linestyle="--")
    looks, style, lines = growth_looks(rates), ":" if recorded else "-", []
    for name, points in rates.items():
        colour, marker = looks[name]
        ax.plot(*zip(*points, strict=True), color=colour, marker=marker, label=name, linestyle=style)
        lines.append(f"{name} " + ", ".join(f"{spell_rate(rate)} at {size}" for size, rate in points))
    ax.set_xscale("log", base=2)
    ax.set_xticks([b.M for b in boards], [str(b.M) for b in boards])
    ax.minorticks_off()
    top = 1.08 * max(peak, *(rate for points in rates.values() for _, rate in points))
    ax.set(ylim=(0, top), xlabel="M = N = K", ylabel=label("GFLOP/s; dashed: measured peak"))
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    text = "{device}, {source}, GFLOP/s as the product grows: {lines}."
    return Picture(figure, label(text, lines="; ".join(lines), **values))


@look
def picture_landscape(rates: dict, x: str, y: str) -> Picture:
    """Rates over two parameters, as a map. `rates`: {(value of x, value of y): GFLOP/s, or None where nothing ran}.

    Raises ValueError where nothing ran at all.
    """
    known = [rate for rate in rates.values() if rate]
    if not known:
        raise ValueError("a landscape needs a rate at one place at least; nothing ran.")
    across, down = (sorted({pair[i] for pair in rates}) for i in (0, 1))
    best = max(rates, key=lambda pair: rates[pair] or 0)
    figure = Figure(figsize=(0.95 * len(across) + 1.9, 0.55 * len(down) + 1.5), layout="constrained")
    figure.suptitle(label("GFLOP/s; the best is framed"), x=0.02, ha="left")
    ax = figure.add_subplot()
    for i, j in np.ndindex(len(down), len(across)):
        rate = rates.get((across[j], down[i])) or 0
        share = rate / rates[best]
        face = colormaps["Purples"](share**2) if rate else PAPER  # from little to much
        ax.add_patch(Rectangle((j, i), 1, 1, facecolor=face, edgecolor="white", linewidth=2))
        weight = "bold" if (across[j], down[i]) == best else "normal"
        looks = dict(ha="center", va="center", fontweight=weight, color="white" if share > 0.8 else INK)
        ax.text(j + 0.5, i + 0.5, f"{rate:.0f}" if rate else "–", **looks)
    outline(ax, down.index(best[1]), across.index(best[0]))
    ax.set(xlim=(0, len(across)), ylim=(0, len(down)), xlabel=x, ylabel=y)
    ax.set_xticks(np.arange(len(across)) + 0.5, across, fontsize=12)
    ax.set_yticks(np.arange(len(down)) + 0.5, down, fontsize=12)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    text = "GFLOP/s over {x} and {y}: the best, {best}, at {x} = {i} and {y} = {j}; the lowest of {count}, {lowest}."
    values = {"x": x, "y": y, "best": f"{rates[best]:.0f}", "i": best[0], "j": best[1], "lowest": f"{min(known):.0f}"}
    return Picture(figure, label(text, count=len(rates), **values))


@look
def roofline(limits: Limits, points: tuple | list = ()) -> Picture:
    """The roofline of a device, with what a kernel could reach. `points`: (label, flop per byte, above 0) a kernel."""
    x = np.geomspace(0.05, 100_000, 200)  # wide enough for a name on the right of 1000
    slope, top = limits.bytes_per_s / 1e9, limits.flops_per_s / 1e9
    roof = np.minimum(limits.flops_per_s, x * limits.bytes_per_s) / 1e9
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
    ax.set(xlim=(x[0], x[-1]), ylim=(roof.min() / 3, roof.max() * 2.4))
    plain_ticks(ax.xaxis, ax.yaxis)
    ax.set(xlabel=label("arithmetic intensity, flop per byte"), ylabel="GFLOP/s")
    ax.set_title(label("Roofline of {device}, measured", device=limits.device), loc="left")
    rises = "Roofline: the rate rises with arithmetic intensity until {ridge} flop per byte, then is flat."
    return Picture(figure, f"{label(rises, ridge=f'{limits.ridge:.2g}')} {listed(texts)}".strip())
