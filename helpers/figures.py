"""Pictures: who computes what, who reads what, which tile is where, the growing chart, the roofline.

A is blue, B is orange, C is green, from the first figure to the last. Each function returns a `Picture`,
which a notebook shows when it stands last in a cell, together with its text for those who cannot see it.
"""

import base64
import io

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullFormatter

from . import ladder

A_COLOUR, B_COLOUR, C_COLOUR = "#2f6db3", "#d9822b", "#3d9a50"
INK, PAPER, GRID = "#333333", "#f4f4f2", "#c9c9c6"
TEXT = 12  # points; nothing smaller than 11
PIXELS = 96  # an inch on the page; drawn at twice that, so that it is crisp

# Colours that tell threads or blocks of C apart without leaving the family of greens.
SHADES = ("#3d9a50", "#8fcf9b", "#226b33", "#c3e8ca", "#5fb36f", "#17482a")


class Picture:
    """A figure and its alternative text."""

    def __init__(self, figure, text):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=2 * PIXELS, facecolor="white", metadata={"Software": None})
        self.png, self.text = base64.b64encode(buffer.getvalue()).decode(), text
        self.width = round(figure.get_figwidth() * PIXELS)

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"image/png": self.png, "text/plain": self.text}
        return data, {"image/png": {"width": self.width, "alt": self.text}}

    def __repr__(self):
        return self.text


def panel(ax, rows, columns, colours, title, colour=INK, labels=None):
    """Draw a matrix of cells. `colours`: {(row, column): colour}; `labels`: {(row, column): text}."""
    for r in range(rows):
        for c in range(columns):
            face = colours.get((r, c), PAPER)
            ax.add_patch(Rectangle((c, r), 1, 1, facecolor=face, edgecolor=GRID, linewidth=0.8))
    for (r, c), text in (labels or {}).items():
        dark = colours.get((r, c), PAPER) in (A_COLOUR, B_COLOUR, SHADES[0], SHADES[2], SHADES[5])
        ax.text(c + 0.5, r + 0.53, text, ha="center", va="center", fontsize=11, color="white" if dark else INK)
    ax.set_xlim(-0.08, columns + 0.08)
    ax.set_ylim(rows + 0.08, -0.08)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(title, fontsize=TEXT, color=colour, pad=6)


def outline(ax, row, column, rows, columns, colour=INK):
    ax.add_patch(Rectangle((column, row), columns, rows, fill=False, edgecolor=colour, linewidth=2.2, clip_on=False))


def product_axes(figure, slot, M, N, K):
    """Three axes laid out so that C[row, col] stands where its row of A meets its column of B."""
    grid = slot.subgridspec(2, 2, width_ratios=(K, N), height_ratios=(K, M), wspace=0.08, hspace=0.16)
    return figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])


def picture_product(M=4, N=5, K=3, row=1, col=3):
    """One element of C, and the row of A and the column of B that make it."""
    figure = Figure(figsize=(5.2, 4.4))
    a, b, c = product_axes(figure, figure.add_gridspec(1, 1, left=0.03, right=0.97, top=0.92, bottom=0.03)[0], M, N, K)
    panel(a, M, K, {(row, k): A_COLOUR for k in range(K)}, f"A ({M} x {K})", A_COLOUR)
    panel(b, K, N, {(k, col): B_COLOUR for k in range(K)}, f"B ({K} x {N})", B_COLOUR)
    panel(c, M, N, {(row, col): C_COLOUR}, f"C ({M} x {N})", C_COLOUR)
    return Picture(figure, f"Element ({row}, {col}) of C stands where row {row} of A meets column {col} of B.")


def picture_owners(step, M=6, N=10, **parameters):
    """Who computes what: each cell of C bears the number of its thread in its block; blocks are outlined.

    The threads of a block are numbered as the hardware groups them: x first, then y.
    """
    rung = ladder.step(step)
    rows, columns, _ = rung.tile(parameters)
    bx, by = rung.block(parameters)
    per_row, per_col = rows // (bx if rung.x_along == "rows" else by), columns // (by if rung.x_along == "rows" else bx)
    labels, colours = {}, {}
    for r in range(ladder.ceil_div(M, rows) * rows):
        for c in range(ladder.ceil_div(N, columns) * columns):
            down, across = r % rows % (rows // per_row), c % columns % (columns // per_col)
            x, y = (down, across) if rung.x_along == "rows" else (across, down)
            number = y * bx + x
            inside = r < M and c < N
            labels[r, c] = str(number) if inside else "–"
            if inside and number < bx:
                colours[r, c] = SHADES[1]
    blocks_down, blocks_across = ladder.ceil_div(M, rows), ladder.ceil_div(N, columns)
    figure = Figure(figsize=(0.42 * blocks_across * columns + 0.9, 0.42 * blocks_down * rows + 0.9))
    ax = figure.add_axes((0.03, 0.03, 0.94, 0.85))
    axes = "x ↓  y →" if rung.x_along == "rows" else "x →  y ↓"
    panel(ax, blocks_down * rows, blocks_across * columns, colours, f"C ({M} x {N}), thread numbers, {axes}", C_COLOUR, labels)
    for i in range(blocks_down):
        for j in range(blocks_across):
            outline(ax, i * rows, j * columns, rows, columns)
    outline(ax, 0, 0, M, N, C_COLOUR)
    way = "down a column" if rung.x_along == "rows" else "along a row"
    text = (f"C of {M} x {N} under a grid of {blocks_down} x {blocks_across} blocks of {rows} x {columns} elements. "
            f"Thread numbers run {way} of C first; cells marked – lie outside C.")
    return Picture(figure, text)


def picture_reads(step, lanes=8, M=8, N=10, K=6, k=2):
    """What `lanes` neighbouring threads read at one moment, at step k of their loop: naive or coalesced."""
    down = ladder.step(step).x_along == "rows"
    mine = [(i, 1) if down else (1, i) for i in range(lanes)]
    figure = Figure(figsize=(6.4, 5.6))
    a, b, c = product_axes(figure, figure.add_gridspec(1, 1, left=0.03, right=0.97, top=0.93, bottom=0.03)[0], M, N, K)
    panel(a, M, K, {(r, k): A_COLOUR for r, _ in mine}, "A", A_COLOUR)
    panel(b, K, N, {(k, col): B_COLOUR for _, col in mine}, "B", B_COLOUR)
    panel(c, M, N, {e: SHADES[1] for e in mine}, f"C: threads 0 to {lanes - 1}", C_COLOUR,
          {e: str(i) for i, e in enumerate(mine)})
    text = (f"At step k = {k}, {lanes} neighbouring threads of {step} read "
            + (f"{lanes} elements of a column of A and one element of B."
               if down else f"one element of A and {lanes} neighbouring elements of a row of B."))
    return Picture(figure, text)


def picture_addresses(step, lanes=32, K=1024, N=1024):
    """The addresses that one warp asks for in one round, by 32-byte sector: one row for A, one for B, one for C."""
    down = ladder.step(step).x_along == "rows"
    thread = np.arange(lanes)
    row, col = (thread, 0 * thread) if down else (0 * thread, thread)
    asked = {"A": 4 * row * K, "B": 4 * col, "C": 4 * (row * N + col)}
    figure = Figure(figsize=(8.6, 3.1))
    text = []
    for i, (name, colour) in enumerate(zip("ABC", (A_COLOUR, B_COLOUR, C_COLOUR))):
        sectors = np.unique(asked[name] // 32)
        used = len(np.unique(asked[name])) * 4
        ax = figure.add_axes((0.16, 0.70 - 0.31 * i, 0.82, 0.2))
        for s in range(len(sectors)):
            ax.add_patch(Rectangle((s * 1.15, 0), 1, 1, facecolor=PAPER, edgecolor=GRID, linewidth=0.8))
            for address in np.unique(asked[name][asked[name] // 32 == sectors[s]]):
                ax.add_patch(Rectangle((s * 1.15 + address % 32 / 32, 0), 1 / 8, 1, facecolor=colour, edgecolor="white",
                                       linewidth=0.4))
        ax.set_xlim(-0.1, 32 * 1.15)
        ax.set_ylim(-0.05, 1.05)
        ax.axis("off")
        ax.text(-0.6, 0.5, "store " * (name == "C") + name, ha="right", va="center", fontsize=TEXT, color=colour)
        ax.text(0, 1.18, f"{len(sectors)} sector{'s' * (len(sectors) > 1)} of 32 bytes moved, "
                         f"{used} of {32 * len(sectors)} bytes used", fontsize=11, color=INK)
        text.append(f"{name}: {len(sectors)} sectors, {used} of {32 * len(sectors)} bytes used")
    return Picture(figure, f"One warp of {step}, one step, 1024 columns a row. " + "; ".join(text) + ".")


def picture_tiles(rows=4, columns=4, depth=4, M=8, N=12, K=12, block=(1, 1)):
    """A film strip of the K-tiles: what one block stages, tile after tile, for its own tile of C."""
    count = ladder.ceil_div(K, depth)
    figure = Figure(figsize=(3.25 * count, 3.5))
    grid = figure.add_gridspec(1, count, left=0.01, right=0.99, top=0.88, bottom=0.02, wspace=0.14)
    r0, c0 = block[0] * rows, block[1] * columns
    for t in range(count):
        k0 = t * depth
        a, b, c = product_axes(figure, grid[t], M, N, K)
        panel(a, M, K, {(r, k): A_COLOUR for r in range(r0, r0 + rows) for k in range(k0, k0 + depth)}, "A", A_COLOUR)
        panel(b, K, N, {(k, n): B_COLOUR for k in range(k0, k0 + depth) for n in range(c0, c0 + columns)},
              f"B, k0 = {k0}", B_COLOUR)
        panel(c, M, N, {(r, n): C_COLOUR for r in range(r0, r0 + rows) for n in range(c0, c0 + columns)}, "C", C_COLOUR)
        outline(a, r0, 0, rows, K, A_COLOUR)
        outline(b, 0, c0, K, columns, B_COLOUR)
    return Picture(figure, f"One block computes one {rows} x {columns} tile of C in {count} rounds. In each it stages the "
                           f"next {rows} x {depth} tile from its rows of A and {depth} x {columns} tile from its columns of B.")


def picture_share(step, thread=(1, 1), k=2, **parameters):
    """What one thread owns in its block's tile of C, and what it reads from As and Bs at one step k."""
    rung = ladder.step(step)
    rows, columns, depth = rung.tile(parameters)
    bx, by = rung.block(parameters)
    my_rows, my_columns = range(thread[1], rows, by), range(thread[0], columns, bx)
    figure = Figure(figsize=(0.36 * (columns + depth) + 2.2, 0.36 * (rows + depth) + 1.9))
    a, b, c = product_axes(figure, figure.add_gridspec(1, 1, left=0.03, right=0.97, top=0.84, bottom=0.03)[0],
                           rows, columns, depth)
    figure.text(0.03, 0.94, f"thread x = {thread[0]}, y = {thread[1]}, at step k = {k}", fontsize=TEXT, color=INK)
    panel(a, rows, depth, {(r, k): A_COLOUR for r in my_rows}, "As", A_COLOUR)
    panel(b, depth, columns, {(k, n): B_COLOUR for n in my_columns}, "Bs", B_COLOUR)
    panel(c, rows, columns, {(r, n): C_COLOUR for r in my_rows for n in my_columns}, "this block's tile of C", C_COLOUR)
    reads, products = len(my_rows) + len(my_columns), len(my_rows) * len(my_columns)
    return Picture(figure, f"Thread x = {thread[0]}, y = {thread[1]} of {step} owns {products} elements of C. In one step "
                           f"it reads {len(my_rows)} elements of As and {len(my_columns)} of Bs: {reads} reads for {products} products.")


def plain_ticks(*axes):
    """10, 100, 1000 instead of powers of ten."""
    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def ladder_chart(timings):
    """The chart that grows through the course: GFLOP/s of NumPy and of each rung, on a log scale."""
    real = [t for t in timings if not t.simulated]
    simulated = [t for t in timings if t.simulated]
    figure = Figure(figsize=(8.6, 0.46 * len(real) + 1.5))
    ax = figure.add_axes((0.24, 0.9 / figure.get_figheight(), 0.66, 1 - 1.45 / figure.get_figheight()))
    colours = {"Python": "#8a8a86", "OpenCL": A_COLOUR, "CUDA": C_COLOUR}
    for i, t in enumerate(real):
        ax.barh(i, t.gflops, color=colours[t.dialect], height=0.66)
        ax.text(t.gflops * 1.1, i, f"{t.gflops:.3g}", va="center", fontsize=TEXT, color=INK,
                bbox=dict(facecolor="white", edgecolor="none", pad=1.5))
    ax.set_yticks(range(len(real)), ["NumPy" if t.dialect == "Python" else t.label for t in real], fontsize=TEXT)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlim(min(0.5, *(t.gflops / 2 for t in real)), max(t.gflops for t in real) * 3)  # the same start on every page
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


def roofline(limits, points=()):
    """The roofline of a device. `points`: (label, flop per byte, GFLOP/s or None) a kernel; None draws its ceiling."""
    x = np.geomspace(0.1, 1000, 200)
    roof = np.minimum(limits.flops_per_s, x * limits.bytes_per_s) / 1e9
    figure = Figure(figsize=(8, 4.6))
    ax = figure.add_axes((0.1, 0.14, 0.86, 0.76))
    ax.loglog(x, roof, color=INK, linewidth=2)
    ax.fill_between(x, roof, roof.min() / 10, color=PAPER)
    ax.axvline(limits.ridge, color=GRID, linewidth=1, linestyle="--")
    for label, intensity, rate in points:
        ceiling = min(limits.flops_per_s, intensity * limits.bytes_per_s) / 1e9
        ax.plot([intensity], [rate or ceiling], "o", color=C_COLOUR, markersize=9,
                markerfacecolor=C_COLOUR if rate else "white")
        under_the_roof = intensity > limits.ridge
        ax.annotate(label, (intensity, rate or ceiling), xytext=(0 if under_the_roof else 9, -21), fontsize=TEXT,
                    textcoords="offset points", ha="center" if under_the_roof else "left")
    ax.text(0.12, 1.7 * limits.bytes_per_s / 1e9, f"the slope: {limits.bytes_per_s / 1e9:.0f} GB/s", fontsize=TEXT, color=INK)
    ax.text(990, 1.3 * limits.flops_per_s / 1e9, f"the roof: {limits.flops_per_s / 1e9:.0f} GFLOP/s", ha="right",
            fontsize=TEXT, color=INK)
    ax.set_ylim(roof.min() / 3, roof.max() * 2.4)
    ax.set_xlim(0.1, 1000)
    plain_ticks(ax.xaxis, ax.yaxis)
    ax.tick_params(labelsize=11)
    ax.set_xlabel("arithmetic intensity, flop per byte", fontsize=TEXT)
    ax.set_ylabel("GFLOP/s", fontsize=TEXT)
    ax.set_title(f"Roofline of {limits.device}, measured", fontsize=TEXT, loc="left")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    named = "; ".join(f"{label} at {intensity:.3g} flop per byte" for label, intensity, _ in points)
    return Picture(figure, f"Roofline: the rate rises with arithmetic intensity until {limits.ridge:.2g} flop per byte, "
                           f"then is flat. {named}".strip())
