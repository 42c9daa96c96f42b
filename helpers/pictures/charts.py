"""Charts: the one that grows through the course, scoreboards, landscapes, rooflines, occupancy, instructions."""

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ptx_machine import LOADS_AND_STORES

from .. import ladder
from ..clock import Limits, Scoreboard, Timing
from ..instruments import GPUS, WARP, CompiledRun, CompilerReport
from ..launch import sizes
from ..launch.given import takes, told
from .drawing import (
    A_COLOUR,
    B_COLOUR,
    C_COLOUR,
    GRID,
    INK,
    PAPER,
    SHADES,
    TEXT,
    Picture,
    outline,
    plain_ticks,
    refuse_crowded,
)

GREENS = colormaps["Greens"]  # from little to much


@takes
def ladder_chart(timings: list[Timing]) -> Picture:
    """The chart that grows through the course: GFLOP/s of NumPy and of each rung, on a log scale.

    Raises ValueError where no timing has a rate.
    """
    real = [t for t in timings if not t.simulated]
    if not real:
        raise ValueError("no rate to draw: nothing was timed, or only in the simulator; time OpenCL kernels.")
    simulated = [t for t in timings if t.simulated]
    figure = Figure(figsize=(8.6, 0.46 * len(real) + 1.5))
    ax = figure.add_axes((0.24, 0.9 / figure.get_figheight(), 0.66, 1 - 1.45 / figure.get_figheight()))
    colours = {"Python": "#8a8a86", "OpenCL": A_COLOUR, "CUDA": C_COLOUR}
    for i, t in enumerate(real):
        ax.barh(i, t.gflops, color=colours[t.dialect], height=0.66)
        ax.text(
            t.gflops * 1.1,
            i,
            f"{t.gflops:.3g}",
            va="center",
            fontsize=TEXT,
            color=INK,
            bbox=dict(facecolor="white", edgecolor="none", pad=1.5),
        )
    ax.set_yticks(range(len(real)), [plain_name(t) for t in real], fontsize=TEXT)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlim(
        min(0.5, *(t.gflops / 2 for t in real)), max(t.gflops for t in real) * 3
    )  # the same start on every page
    plain_ticks(ax.xaxis)
    ax.tick_params(axis="x", labelsize=11)
    ax.set_xlabel("GFLOP/s, logarithmic: from one gridline to the next is ten times", fontsize=TEXT)
    ax.grid(axis="x", color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    first = timings[0]
    devices = ", ".join(dict.fromkeys(t.device for t in real if t.dialect != "Python"))
    ax.set_title(f"{first.M} x {first.N} x {first.K} on {devices or 'the host'}", fontsize=TEXT, loc="left", color=INK)
    note = "CUDA runs in a simulator on this machine, so it has no bars." if simulated else ""
    figure.text(0.02, 0.02, note, fontsize=11, color=INK)
    listed = "; ".join(f"{t.label} {t.gflops:.3g} GFLOP/s" for t in real)
    return Picture(figure, f"Bar chart: {listed}. {note}".strip())


PEER = "#8a8a86"  # what is not ours
LINES = ("#3d9a50", "#2f6db3", "#d9822b", "#7a5195", "#8a8a86", "#333333", "#b0506a", "#3f7f8c", "#a58a1f")
MARKERS = "osD^vPX*h"  # as many


@takes
def scoreboard_chart(board: Scoreboard, source: str = "measured now") -> Picture:
    """A contest at one size, fastest first: the ladder in colour, libraries in grey, the device's peak as a line.

    `source`: "measured now", or whose record it is and of when; records are hatched. Raises ValueError where
    nothing was timed.
    """
    if all(t.simulated for t in board.timings):
        raise ValueError("no rate to draw: nothing was timed, or only in the simulator; time OpenCL kernels.")
    order = sorted((i for i, t in enumerate(board.timings) if not t.simulated), key=lambda i: board.timings[i].seconds)
    figure = Figure(figsize=(8.6, 0.46 * len(order) + 1.5))
    height = figure.get_figheight()
    ax = figure.add_axes((0.24, 0.75 / height, 0.5, 1 - 1.3 / height))
    said = []
    for y, i in enumerate(order):
        t, share, j = board.timings[i], board.of_peak(i), board.library(i)
        ours = t.step in ladder.STEPS or t.own
        ax.barh(
            y,
            t.gflops,
            color={"OpenCL": A_COLOUR, "CUDA": C_COLOUR}.get(t.dialect, B_COLOUR) if ours else PEER,
            height=0.66,
            hatch="" if source == "measured now" else "//",
            edgecolor="white",
            linewidth=0,
        )
        text = f"{t.gflops:.3g}" + (f", {share:.0%} of peak" if share else "")
        if ours and j is not None:
            text += f", {board.times(i, j)[0]:.2f} x {plain_name(board.timings[j])}"
        ax.annotate(
            text,
            (t.gflops, y),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=11,
            color=INK,
            bbox=dict(facecolor="white", edgecolor="none", pad=1.5),
        )
        said.append(f"{plain_name(t)} {text}")
    ax.set_yticks(range(len(order)), [plain_name(board.timings[i]) for i in order], fontsize=TEXT)
    ax.invert_yaxis()
    top = max(board.timings[i].gflops for i in order)
    if top > 0.3 * board.peak / 1e9:
        ax.axvline(board.peak / 1e9, color=INK, linewidth=1, linestyle="--")
        top = max(top, board.peak / 1e9)
    ax.set_xlim(0, 1.02 * top)
    ax.tick_params(axis="x", labelsize=11)
    ax.set_xlabel("GFLOP/s; dashed: the device's measured peak", fontsize=TEXT)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    title = f"{board.M} x {board.N} x {board.K} on {board.device}, {source}"
    figure.text(0.02, 1 - 0.32 / height, title, fontsize=TEXT, color=INK)
    return Picture(figure, f"{title}, in GFLOP/s: {'; '.join(said)}.")


def plain_name(t):
    """The contestant of a `Timing` as charts call it."""
    return "NumPy" if t.step == "numpy_matmul" else t.label


@takes
def growth_chart(boards: list[Scoreboard], source: str = "measured now") -> Picture:
    """GFLOP/s of each contestant as square products grow. `boards`: scoreboards of several sizes; `source` as above.

    Raises ValueError for less than two square sizes, and where no contestant was timed at two of them.
    """
    boards = sorted((b for b in boards if b.M == b.N == b.K), key=lambda b: b.M)
    if len(boards) < 2:
        raise ValueError("growth needs scoreboards of two square sizes at least, M = N = K.")
    rates = {}
    for b in boards:
        for t in b.timings:
            if not t.simulated:
                rates.setdefault(plain_name(t), []).append((b.M, t.gflops))
    rates = {name: points for name, points in rates.items() if len(points) > 1}
    if not rates:
        raise ValueError("growth needs a contestant that was timed at two square sizes at least, M = N = K.")
    figure = Figure(figsize=(8.6, max(4.8, 0.25 * len(rates) + 0.9)))  # room for the list beside it
    ax = figure.add_axes((0.09, 0.13, 0.62, 0.77))
    ax.axhline(boards[-1].peak / 1e9, color=INK, linewidth=1, linestyle="--")
    last = sorted(rates, key=lambda name: -max(rate for _, rate in rates[name]))
    for i, name in enumerate(last):  # the fastest first
        ax.plot(
            *zip(*rates[name], strict=True),
            color=LINES[i % len(LINES)],
            marker=MARKERS[(i + i // len(LINES)) % len(MARKERS)],  # from the tenth on, each colour with the next marker
            label=name,
            linestyle="-" if source == "measured now" else ":",
        )
    ax.set_xscale("log", base=2)
    ax.set_xticks([b.M for b in boards], [str(b.M) for b in boards])
    ax.minorticks_off()
    ax.set_ylim(0, 1.08 * max(boards[-1].peak / 1e9, *(rate for points in rates.values() for _, rate in points)))
    ax.tick_params(labelsize=11)
    ax.set_xlabel("M = N = K", fontsize=TEXT)
    ax.set_ylabel("GFLOP/s; dashed: measured peak", fontsize=TEXT)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=11, frameon=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    title = f"{boards[0].device}, {source}"
    figure.text(0.02, 0.945, title, fontsize=TEXT, color=INK)
    said = "; ".join(f"{name} " + ", ".join(f"{rate:.3g} at {size}" for size, rate in rates[name]) for name in last)
    return Picture(figure, f"{title}, GFLOP/s as the product grows: {said}.")


@takes
def picture_landscape(rates: dict, x: str, y: str) -> Picture:
    """Rates over two parameters, as a map. `rates`: {(value of x, value of y): GFLOP/s, or None where nothing ran}.

    Raises ValueError where nothing ran at all.
    """
    if not any(rates.values()):
        raise ValueError("a landscape needs a rate at one place at least; nothing ran.")
    across, down = (sorted({pair[i] for pair in rates}) for i in (0, 1))
    refuse_crowded(len(down), len(across))
    best = max(rates, key=lambda pair: rates[pair] or 0)
    figure = Figure(figsize=(0.95 * len(across) + 1.9, 0.55 * len(down) + 1.5))
    ax = figure.add_axes(
        (
            1.0 / figure.get_figwidth(),
            0.8 / figure.get_figheight(),
            1 - 1.2 / figure.get_figwidth(),
            1 - 1.3 / figure.get_figheight(),
        )
    )
    for i, row in enumerate(down):
        for j, column in enumerate(across):
            rate = rates.get((column, row))
            share = (rate or 0) / rates[best]
            ax.add_patch(
                Rectangle((j, i), 1, 1, facecolor=GREENS(share**2) if rate else PAPER, edgecolor="white", linewidth=2)
            )
            ax.text(
                j + 0.5,
                i + 0.5,
                f"{rate:.0f}" if rate else "–",
                ha="center",
                va="center",
                fontsize=TEXT,
                color="white" if share > 0.8 else INK,
                fontweight="bold" if (column, row) == best else "normal",
            )
    outline(ax, down.index(best[1]), across.index(best[0]), 1, 1)
    ax.set_xlim(0, len(across))
    ax.set_ylim(0, len(down))
    ax.set_xticks(np.arange(len(across)) + 0.5, across, fontsize=TEXT)
    ax.set_yticks(np.arange(len(down)) + 0.5, down, fontsize=TEXT)
    ax.tick_params(length=0)
    ax.set_xlabel(x, fontsize=TEXT)
    ax.set_ylabel(y, fontsize=TEXT)
    for side in ax.spines.values():
        side.set_visible(False)
    figure.text(0.02, 1 - 0.3 / figure.get_figheight(), "GFLOP/s; the best is framed", fontsize=TEXT, color=INK)
    return Picture(
        figure,
        f"GFLOP/s over {x} and {y}: the best, {rates[best]:.0f}, at {x} = {best[0]} and {y} = {best[1]}; the lowest of "
        f"{len(rates)}, {min(rate for rate in rates.values() if rate):.0f}.",
    )


@takes
def roofline(limits: Limits, points: tuple | list = ()) -> Picture:
    """The roofline of a device. `points`: (label, flop per byte, GFLOP/s or None) a kernel; None draws its ceiling.

    Raises ValueError for an intensity or a rate that is not above 0, since the scales are logarithmic.
    """
    if any(np.shape(point) != (3,) for point in points):
        raise ValueError(f"points={told(points)} does not do; give (label, flop per byte, GFLOP/s or None) for each.")
    for label, intensity, rate in points:
        if not intensity > 0 or not (rate is None or rate > 0):
            raise ValueError(
                f"{label}: {intensity!r} flop per byte and {rate!r} GFLOP/s have no place on logarithmic scales; give "
                f"numbers above 0, and None for a rate that was not measured."
            )
    x = np.geomspace(0.05, 1000, 200)
    roof = np.minimum(limits.flops_per_s, x * limits.bytes_per_s) / 1e9
    figure = Figure(figsize=(8, 4.6))
    ax = figure.add_axes((0.1, 0.14, 0.86, 0.76))
    ax.loglog(x, roof, color=INK, linewidth=2)
    ax.fill_between(x, roof, roof.min() / 1000, color=PAPER)
    ax.axvline(limits.ridge, color=GRID, linewidth=1, linestyle="--")
    dots = [(x, rate or min(limits.flops_per_s, x * limits.bytes_per_s) / 1e9) for _, x, rate in points]
    for dot, (_, _, rate) in zip(dots, points, strict=True):
        fill = C_COLOUR if rate else "white"
        ax.plot(*([value] for value in dot), "o", color=C_COLOUR, markersize=9, markerfacecolor=fill)
    ax.text(
        0.06,
        1.7 * limits.bytes_per_s / 1e9,
        f"the slope: {limits.bytes_per_s / 1e9:.0f} GB/s",
        fontsize=TEXT,
        color=INK,
    )
    ax.text(
        990,
        1.3 * limits.flops_per_s / 1e9,
        f"the roof: {limits.flops_per_s / 1e9:.0f} GFLOP/s",
        ha="right",
        fontsize=TEXT,
        color=INK,
    )
    ax.set_ylim(min([roof.min(), *(rate for *_, rate in points if rate)]) / 3, roof.max() * 2.4)
    ax.set_xlim(0.05, 1000)  # wide enough for a name on the left of 0.25
    name_dots(ax, [label for label, *_ in points], dots, list(zip(x, roof, strict=True)))
    plain_ticks(ax.xaxis, ax.yaxis)
    ax.tick_params(labelsize=11)
    ax.set_xlabel("arithmetic intensity, flop per byte", fontsize=TEXT)
    ax.set_ylabel("GFLOP/s", fontsize=TEXT)
    ax.set_title(f"Roofline of {limits.device}, measured", fontsize=TEXT, loc="left")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    named = "; ".join(f"{label} at {intensity:.3g} flop per byte" for label, intensity, _ in points)
    return Picture(
        figure,
        f"Roofline: the rate rises with arithmetic intensity until {limits.ridge:.2g} flop per byte, "
        f"then is flat. {named}".strip(),
    )


def name_dots(ax, labels: list[str], dots: list[tuple], line: list[tuple]) -> None:
    """Writes each label beside its dot, (x, y), inside the axes, where it covers least of what is drawn there.

    Two dots may share an x, and stand close: then only a label on its dot's own height tells whose it is.
    """
    taken = [ax.transData.transform(point) for point in [*line, *dots]]  # in pixels
    for label, dot in zip(labels, dots, strict=True):
        text = ax.annotate(label, dot, xytext=(0, 0), textcoords="offset points", fontsize=TEXT, va="center")
        covers = {}
        for side in ((9, 0), (-9, 0), (7, -14), (-7, -14), (7, 14), (-7, 14)):  # in points, across and up
            text.set(position=side, ha="left" if side[0] > 0 else "right")
            box = text.get_window_extent()
            covers[side] = box.x1 > ax.bbox.x1, box.padded(5).count_contains(taken)
        side = min(covers, key=covers.get)  # of those that cover as little, the first
        text.set(position=side, ha="left" if side[0] > 0 else "right")
        box = text.get_window_extent()
        taken += [(x, y) for x in np.linspace(box.x0, box.x1, 20) for y in (box.y0, (box.y0 + box.y1) / 2, box.y1)]


@takes
def ladder_roofline(limits: Limits, timings: list[Timing]) -> Picture:
    """The roofline of a device with each rung timed on it, at the intensity of its counted traffic."""
    points = []
    for t in timings:
        if t.device == limits.device and t.step in ladder.STEPS and not t.simulated:
            step, product = ladder.step(t.step), (t.parameters, t.M, t.N, t.K)
            moved = 4 * (step.global_loads(*product) + step.global_stores(*product))
            points.append((t.step, 2 * t.M * t.N * t.K / moved, t.gflops))
    return roofline(limits, points)


@takes
def predicted_roofline(size: int = 4096) -> Picture:
    """Where each rung could stand on GPUs not measured here: its counted traffic under the roofs of data sheets.

    `size`: M = N = K, a whole number of 1 or more. Caches are left out.
    """
    size, _, _ = sizes((size, size, size))
    steps = {}  # rungs of the same intensity share a place
    for name in ladder.steps("CUDA"):
        step = ladder.STEPS[name]
        p = step.defaults["GPU"]
        moved = 4 * (step.global_loads(p, size, size, size) + size**2)
        steps.setdefault(round(2 * size**3 / moved, 2), []).append(name)
    figure = Figure(figsize=(8.6, 5.4))
    ax = figure.add_axes((0.1, 0.12, 0.88, 0.79))
    x = np.geomspace(0.1, 200, 200)
    roofs = ("#7a5195", "#8a8a86", "#b0506a", "#3f7f8c", "#a58a1f")
    for i, (gpu, colour, marker) in enumerate(zip(GPUS.values(), roofs, "osD^v", strict=True)):
        roof = np.minimum(gpu.flops_per_s, x * gpu.bytes_per_s) / 1e12
        # Each its own part of the dashes and its own size, so that what coincides, as H100 and H200 do, is seen.
        ax.loglog(x, roof, linestyle=(5 * (i % 2), (4, 6)), color=colour, linewidth=1.5)
        rates = [min(gpu.flops_per_s, intensity * gpu.bytes_per_s) / 1e12 for intensity in steps]
        look = dict(color=colour, markerfacecolor="none", markeredgewidth=1.6, markersize=(8, 8, 8, 7, 15)[i])
        ax.plot(list(steps), rates, marker, label=gpu.name, **look)
    for i, (intensity, names) in enumerate(steps.items()):
        ax.axvline(intensity, color=GRID, linewidth=1, zorder=0)
        ax.text(
            intensity * 1.06, 0.034 * 1.7 ** (i % 2), "\n".join(reversed(names)), fontsize=11, color=INK, va="bottom"
        )
    ax.legend(loc="upper left", fontsize=TEXT, frameon=False)
    ax.set_xlim(0.1, 200)
    ax.set_ylim(0.03, 190)
    plain_ticks(ax.xaxis, ax.yaxis)
    ax.tick_params(labelsize=11)
    ax.set_xlabel("flop per byte asked of global memory, counted", fontsize=TEXT)
    ax.set_ylabel("TFLOP/s without caches, predicted", fontsize=TEXT)
    figure.text(
        0.02,
        0.945,
        "Prediction, not measurement: data sheets' peaks, counted traffic, no cache",
        fontsize=TEXT,
        color=INK,
    )
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    said = "; ".join(
        f"{gpu.name} "
        + ", ".join(
            f"{' and '.join(names)} {min(gpu.flops_per_s, i * gpu.bytes_per_s) / 1e12:.3g}"
            for i, names in steps.items()
        )
        for gpu in GPUS.values()
    )
    return Picture(
        figure, f"Predicted rates in TFLOP/s, if no cache helped, from data sheets and counted traffic: {said}."
    )


@takes
def picture_occupancy(report: CompilerReport) -> Picture:
    """How the blocks of a kernel fill one multiprocessor: a bar for each resource, a box for each block that fits."""
    gpu = next(g for g in GPUS.values() if g.arch == report.arch)
    blocks, warps, piece = report.occupancy.blocks, ladder.ceil_div(report.threads, WARP), gpu.shared_piece
    each = {
        "registers": (ladder.ceil_div(report.registers * WARP, 256) * 256 * warps, gpu.registers),
        "shared memory": (ladder.ceil_div(report.shared_bytes + gpu.reserved_bytes, piece) * piece, gpu.shared_bytes),
        "warps": (warps, gpu.warps),
        "blocks": (1, gpu.blocks),
    }
    figure = Figure(figsize=(8.6, 2.9))
    ax = figure.add_axes((0.19, 0.06, 0.60, 0.74))
    for i, (what, (needs, has)) in enumerate(each.items()):
        limiting = what in report.occupancy.limits
        ax.add_patch(Rectangle((0, i + 0.18), 1, 0.64, facecolor=PAPER, edgecolor=GRID))
        for b in range(blocks):
            ax.add_patch(
                Rectangle(
                    (b * needs / has, i + 0.18),
                    needs / has,
                    0.64,
                    facecolor=A_COLOUR if limiting else SHADES[3],
                    edgecolor="white",
                    linewidth=1,
                )
            )
        ax.text(-0.02, i + 0.5, what, ha="right", va="center", fontsize=TEXT, color=A_COLOUR if limiting else INK)
        ax.text(1.02, i + 0.5, f"{blocks * needs:,} of {has:,}", va="center", fontsize=11, color=INK)
    ax.set_xlim(0, 1)
    ax.set_ylim(4, 0)
    ax.axis("off")
    name = report.kernel.split(" ")[0]
    figure.text(
        0.02,
        0.9,
        f"One multiprocessor of {report.occupancy.gpus}, filled with blocks of {name}",
        fontsize=TEXT,
        color=INK,
    )
    used = "; ".join(f"{what} {blocks * needs} of {has}" for what, (needs, has) in each.items())
    return Picture(figure, f"{report.occupancy}. In use: {used}.")


# What instructions are for, as a chart colours them: (name, colour, kinds of `CompiledRun.executed`; () for the rest)
PURPOSES = (
    ("multiply-adds", C_COLOUR, ("FMA",)),
    ("loads and stores", A_COLOUR, LOADS_AND_STORES),
    ("whole numbers", B_COLOUR, ("whole-number arithmetic",)),
    ("the rest", PEER, ()),
)


@takes
def executed_chart(runs: dict[str, CompiledRun]) -> Picture:
    """Instructions that threads ran for each multiply-add, by what they are for. `runs`: {label: `CompiledRun`}."""
    if not runs:
        raise ValueError("a chart needs one run at least.")
    figure = Figure(figsize=(8.6, 0.46 * len(runs) + 1.6))
    height = figure.get_figheight()
    ax = figure.add_axes((0.24, 0.75 / height, 0.68, 1 - 1.3 / height))
    said = []
    for y, (label, run) in enumerate(runs.items()):
        products, named, start, parts = run.M * run.N * run.K, 0, 0.0, []
        for what, colour, kinds in PURPOSES:
            count = sum(run.executed[kind] for kind in kinds) if kinds else run.instructions - named
            named += count
            ax.barh(y, count / products, left=start, color=colour, height=0.66, label=what if y == 0 else None)
            start += count / products
            parts.append(f"{what} {count / products:.2f}")
        ax.annotate(
            f"{start:.2f}", (start, y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=TEXT, color=INK
        )
        said.append(f"{label} {start:.2f} ({', '.join(parts)})")
    ax.set_yticks(range(len(runs)), list(runs), fontsize=TEXT)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.1 * max(run.instructions_per_multiply_add for run in runs.values()))
    ax.tick_params(axis="x", labelsize=11)
    ax.set_xlabel("instructions executed for each multiply-add", fontsize=TEXT)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    figure.legend(loc="upper left", bbox_to_anchor=(0.02, 1.0), ncols=len(PURPOSES), fontsize=11, frameon=False)
    return Picture(figure, f"Bar chart of instructions executed for each multiply-add: {'; '.join(said)}.")
