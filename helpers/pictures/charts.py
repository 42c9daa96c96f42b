"""Pictures: who computes what, who reads what, the growing chart, the roofline. `film` has those that move.

What a kernel touches is drawn from a traced run of that very kernel. A is blue, B is orange, C is green, from the first
figure to the last. Each function returns a `Picture`, which a notebook shows when it stands last in a cell, together with
its text for those who cannot see it.
"""

import base64
import io

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullFormatter
from PIL import Image

from . import ladder
from .instruments.gpus import GPUS, WARP
from .instruments.trace import trace
from .instruments.warps import SECTOR

A_COLOUR, B_COLOUR, C_COLOUR = "#2f6db3", "#d9822b", "#3d9a50"
INK, PAPER, GRID = "#333333", "#f4f4f2", "#c9c9c6"
TEXT = 12  # points; nothing smaller than 11
PIXELS = 96  # an inch on the page; drawn at twice that, so that it is crisp

GREENS = colormaps["Greens"]  # from little to much

# Colours that tell threads or blocks of C apart without leaving the family of greens.
SHADES = ("#3d9a50", "#8fcf9b", "#226b33", "#c3e8ca", "#5fb36f", "#17482a")


class Picture:
    """A figure and its alternative text."""

    def __init__(self, figure, text):
        drawn, small = io.BytesIO(), io.BytesIO()
        figure.savefig(drawn, format="png", dpi=2 * PIXELS, facecolor="white")
        # A palette of 128 colours makes the stored notebooks a third as large, and looks the same.
        Image.open(drawn).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
        self.png, self.text = base64.b64encode(small.getvalue()).decode(), text
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


def picture_owners(k, M, N, K=1):
    """Who stores what: each cell of C bears the number of the thread that stored it; blocks are outlined.

    From a traced run. The threads of a block are numbered as the hardware groups them: x first, then y.
    """
    rung, p = ladder.STEPS[k.step], k.parameters
    rows, columns, _ = rung.tile(p)
    blocks_down, blocks_across = ladder.ceil_div(M, rows), ladder.ceil_div(N, columns)
    stores = {divmod(a.index, N): a.thread for a in trace(k, M, N, K).accesses if a.array == "C" and a.writes}
    cells = [(r, c) for r in range(blocks_down * rows) for c in range(blocks_across * columns)]
    labels = {cell: str(stores.get(cell, "–")) for cell in cells}
    colours = {cell: SHADES[1] for cell, thread in stores.items() if thread < k.block[0]}
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


def picture_reads(k, M, N, K, lanes=8, step=2):
    """What the first `lanes` threads of the first block read at one step of their loop. From a traced run without tiles."""
    mine = [a for a in trace(k, M, N, K).accesses if a.block == (0, 0, 0) and a.thread < lanes]
    read = {"A": {divmod(a.index, K) for a in mine if a.array == "A" and a.round == step},
            "B": {divmod(a.index, N) for a in mine if a.array == "B" and a.round == step}}
    owned = {divmod(a.index, N): a.thread for a in mine if a.array == "C"}
    figure = Figure(figsize=(6.4, 5.6))
    a, b, c = product_axes(figure, figure.add_gridspec(1, 1, left=0.03, right=0.97, top=0.93, bottom=0.03)[0], M, N, K)
    panel(a, M, K, dict.fromkeys(read["A"], A_COLOUR), "A", A_COLOUR)
    panel(b, K, N, dict.fromkeys(read["B"], B_COLOUR), "B", B_COLOUR)
    panel(c, M, N, dict.fromkeys(owned, SHADES[1]), f"C: threads 0 to {lanes - 1}", C_COLOUR,
          {cell: str(thread) for cell, thread in owned.items()})
    counted = [f"{len(cells)} element{'s' * (len(cells) > 1)} of {name}" for name, cells in read.items()]
    return Picture(figure, f"At step k = {step}, {lanes} neighbouring threads of {k.step} read {' and '.join(counted)}.")


def picture_addresses(k, M, N, K):
    """What the first warp asks for with one instruction, by 32-byte sector: a row for A, B and C. From a traced run."""
    first = [a for a in trace(k, M, N, K).accesses if a.block == (0, 0, 0) and a.thread < WARP and a.round == 0]
    figure = Figure(figsize=(8.6, 3.1))
    text = []
    for i, (name, colour) in enumerate(zip("ABC", (A_COLOUR, B_COLOUR, C_COLOUR))):
        asked = np.unique([4 * a.index for a in first if a.array == name])
        sectors = np.unique(asked // SECTOR)
        ax = figure.add_axes((0.16, 0.70 - 0.31 * i, 0.82, 0.2))
        for s, sector in enumerate(sectors):
            ax.add_patch(Rectangle((s * 1.15, 0), 1, 1, facecolor=PAPER, edgecolor=GRID, linewidth=0.8))
            for address in asked[asked // SECTOR == sector]:
                ax.add_patch(Rectangle((s * 1.15 + address % SECTOR / SECTOR, 0), 4 / SECTOR, 1, facecolor=colour,
                                       edgecolor="white", linewidth=0.4))
        ax.set_xlim(-0.1, WARP * 1.15)
        ax.set_ylim(-0.05, 1.05)
        ax.axis("off")
        ax.text(-0.6, 0.5, ("store " if name == "C" else "load ") + name, ha="right", va="center", fontsize=TEXT, color=colour)
        moved = f"{4 * len(asked)} of {SECTOR * len(sectors)} bytes used"
        ax.text(0, 1.18, f"{len(sectors)} sector{'s' * (len(sectors) > 1)} of 32 bytes moved, {moved}", fontsize=11, color=INK)
        text.append(f"{name}: {len(sectors)} sectors, {moved}")
    return Picture(figure, f"One warp of {k.step}, one instruction each, {K} columns of A and {N} of B. " + "; ".join(text) + ".")


def picture_banks(width):
    """Where a warp's first store into a turned tile goes: thread numbers by bank, one line for each round.

    As page 07's kernel does it: thread t has four numbers of row t // 2 of A, from column 4 (t % 2) on; the first of them
    goes to that row of the turned tile, which is `width` words long.
    """
    words = {t % 2 * 4 * width + t // 2: t for t in range(WARP)}
    per_bank = {}
    for word, t in words.items():
        per_bank.setdefault(word % WARP, []).append(t)
    rounds = max(map(len, per_bank.values()))
    labels = {(level, bank): str(t) for bank, threads in per_bank.items() for level, t in enumerate(threads)}
    figure = Figure(figsize=(0.3 * WARP + 0.5, 0.3 * rounds + 1.0))
    ax = figure.add_axes((0.02, 0.05, 0.96, 0.4 if rounds == 1 else 0.55))
    title = f"rows of {width} words: banks 0 to 31, and the threads that write to them, round by round"
    panel(ax, rounds, WARP, dict.fromkeys(labels, A_COLOUR), title, INK, labels)
    return Picture(figure, f"Rows of {width} words: 32 threads write to {len(per_bank)} of 32 banks, so the store takes {rounds} "
                           f"round{'s' * (rounds > 1)}.")


def picture_share(k, thread=(1, 1), step=2):
    """What one thread owns in its block's tile of C, and what it reads from As and Bs at one step. From a traced run."""
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    run = trace(k, rows, columns, depth)
    number = thread[1] * k.block[0] + thread[0]
    mine = [(a, divmod(a.index, run.shapes[a.array][1])) for a in run.accesses if a.thread == number]
    owned = {cell for a, cell in mine if a.array == "C"}
    reads = {"As": {cell for a, cell in mine if a.array == "As" and not a.writes and cell[1] == step},
             "Bs": {cell for a, cell in mine if a.array == "Bs" and not a.writes and cell[0] == step}}
    figure = Figure(figsize=(0.36 * (columns + depth) + 2.2, 0.36 * (rows + depth) + 1.9))
    a, b, c = product_axes(figure, figure.add_gridspec(1, 1, left=0.03, right=0.97, top=0.84, bottom=0.03)[0],
                           rows, columns, depth)
    figure.text(0.03, 0.94, f"thread x = {thread[0]}, y = {thread[1]}, at step k = {step}", fontsize=TEXT, color=INK)
    panel(a, rows, depth, dict.fromkeys(reads["As"], A_COLOUR), "As", A_COLOUR)
    panel(b, depth, columns, dict.fromkeys(reads["Bs"], B_COLOUR), "Bs", B_COLOUR)
    panel(c, rows, columns, dict.fromkeys(owned, C_COLOUR), "this block's tile of C", C_COLOUR)
    count = {name: len(cells) for name, cells in reads.items()}
    return Picture(figure, f"Thread x = {thread[0]}, y = {thread[1]} of {k.step} owns {len(owned)} elements of C. In one step "
                           f"it reads {count['As']} elements of As and {count['Bs']} of Bs: {sum(count.values())} reads for "
                           f"{len(owned)} products.")


def picture_warps(k, M, N, K=1):
    """Which warp stores what in C: a shade for each warp of the first block, outlined where one ends. From a traced run."""
    stores = [(*divmod(a.index, N), a.thread // WARP) for a in trace(k, M, N, K).accesses if a.array == "C" and a.block == (0, 0, 0)]
    scale = 6.4 / N  # inches an element
    figure = Figure(figsize=(6.9, scale * M + 0.8))
    ax = figure.add_axes((0.03, 0.03, 0.94, 0.94 - 0.4 / figure.get_figheight()))
    patches, sides = {}, set()
    for row, col, warp in stores:
        patches.setdefault(warp, set()).add((row, col))
        ax.add_patch(Rectangle((col, row), 1, 1, facecolor=SHADES[warp % len(SHADES)], linewidth=0))
    for warp, cells in patches.items():
        rows, columns = len({row for row, _ in cells}), len({col for _, col in cells})
        sides.add((rows, columns))
        middle = np.mean(list(cells), axis=0) + 0.5
        ax.text(middle[1], middle[0], f"warp {warp}: {rows} + {columns} = {rows + columns}", ha="center", va="center", fontsize=TEXT,
                color=INK, bbox=dict(facecolor="white", edgecolor="none", pad=2, alpha=0.85))
    ax.set_xlim(0, N)
    ax.set_ylim(M, 0)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(f"C ({M} x {N}), {k.step}: rows + columns of a warp's patch", fontsize=TEXT, color=C_COLOUR)
    said = " or ".join(f"{rows} rows and {columns} columns, {rows + columns} different numbers of As and Bs a step" for rows, columns in sides)
    return Picture(figure, f"{len(patches)} warps of {k.step}, each with a patch of {said}.")


def picture_order(k, M, N, K, thread=0):
    """What one thread of the first block does, in order: asks for a tile, stores it, reads it; barriers. From a traced run."""
    mine = [a for a in trace(k, M, N, K).accesses if a.block == (0, 0, 0) and a.thread == thread and a.part == 0 and a.array != "C"]
    lane = {("global", False): 0, ("shared", True): 1, ("shared", False): 2}
    figure = Figure(figsize=(8.6, 2.5))
    ax = figure.add_axes((0.2, 0.04, 0.79, 0.78))
    meanwhile, asked = [], None
    for x, a in enumerate(mine):
        y = lane[a.memory, a.writes]
        ax.add_patch(Rectangle((x, y + 0.15), 1, 0.6, facecolor=A_COLOUR if a.array[0] == "A" else B_COLOUR, edgecolor="white",
                               linewidth=0.8))
        if x and a.phase != mine[x - 1].phase:
            ax.plot([x, x], [0, 3], "--", color=INK, linewidth=1.2)
        if y == 0:
            asked = x
        elif y == 1 and asked is not None:  # the first store after it: the numbers must be there
            meanwhile.append(sum(lane[b.memory, b.writes] == 2 for b in mine[asked:x]))
            if meanwhile[-1]:
                ax.annotate("", (x, 1.1), (asked + 1, 0.9), arrowprops=dict(arrowstyle="->", color=INK, linewidth=1.2))
            asked = None
    for y, text in enumerate(("asks for numbers", "stores in the tile", "reads the tile")):
        ax.text(-0.012 * len(mine), y + 0.45, text, ha="right", va="center", fontsize=TEXT, color=INK)
    ax.set_xlim(0, len(mine))
    ax.set_ylim(3, 0)
    ax.axis("off")
    barriers = len({a.phase for a in mine}) - 1
    figure.text(0.02, 0.9, f"thread {thread} of {k.step}, from left to right; dashed: a barrier ({barriers})", fontsize=TEXT, color=INK)
    least = f"{max(meanwhile)} reads of the other tile" if any(meanwhile) else "nothing"
    return Picture(figure, f"Thread {thread} of {k.step}, K = {K}: {barriers} barriers between its accesses; between asking for a tile "
                           f"and storing it, it does {least}.")


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


PEER = "#8a8a86"  # what is not ours
LINES = ("#3d9a50", "#2f6db3", "#d9822b", "#7a5195", "#8a8a86", "#333333", "#b0506a", "#3f7f8c", "#a58a1f")


def scoreboard_chart(board, source="measured now"):
    """A contest at one size, fastest first: the ladder's kernels in colour, the libraries in grey, the device's peak as a line.

    `source`: "measured now", or whose record it is and of when; records are hatched.
    """
    order = sorted((i for i, t in enumerate(board.timings) if not t.simulated), key=lambda i: board.timings[i].seconds)
    figure = Figure(figsize=(8.6, 0.46 * len(order) + 1.5))
    height = figure.get_figheight()
    ax = figure.add_axes((0.24, 0.75 / height, 0.5, 1 - 1.3 / height))
    said = []
    for y, i in enumerate(order):
        t, share, j = board.timings[i], board.of_peak(i), board.library(i)
        ours = t.step in ladder.STEPS
        ax.barh(y, t.gflops, color={"OpenCL": A_COLOUR, "CUDA": C_COLOUR}[t.dialect] if ours else PEER, height=0.66,
                hatch="" if source == "measured now" else "//", edgecolor="white", linewidth=0)
        text = f"{t.gflops:.3g}" + (f", {share:.0%} of peak" if share else "")
        if ours and j is not None:
            text += f", {board.times(i, j)[0]:.2f} x {plain_name(board.timings[j])}"
        ax.annotate(text, (t.gflops, y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=11, color=INK,
                    bbox=dict(facecolor="white", edgecolor="none", pad=1.5))
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
    return "NumPy" if t.step == "numpy_matmul" else t.label


def growth_chart(boards, source="measured now"):
    """GFLOP/s of each contestant as square products grow. `boards`: scoreboards of several sizes; `source` as above."""
    boards = sorted((b for b in boards if b.M == b.N == b.K), key=lambda b: b.M)
    if len(boards) < 2:
        raise ValueError("growth needs scoreboards of two square sizes at least, M = N = K.")
    rates = {}
    for b in boards:
        for t in b.timings:
            if not t.simulated:
                rates.setdefault(plain_name(t), []).append((b.M, t.gflops))
    rates = {name: points for name, points in rates.items() if len(points) > 1}
    figure = Figure(figsize=(8.6, 4.8))
    ax = figure.add_axes((0.09, 0.13, 0.62, 0.77))
    ax.axhline(boards[-1].peak / 1e9, color=INK, linewidth=1, linestyle="--")
    last = sorted(rates, key=lambda name: -max(rate for _, rate in rates[name]))
    for name, colour, marker in zip(last, LINES, "osD^vPX*h"):
        ax.plot(*zip(*rates[name]), color=colour, marker=marker, label=name, linestyle="-" if source == "measured now" else ":")
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


def picture_landscape(rates, x, y):
    """Rates over two parameters, as a map. `rates`: {(value of x, value of y): GFLOP/s, or None where nothing ran}."""
    if not any(rates.values()):
        raise ValueError("a landscape needs a rate at one place at least; nothing ran.")
    across, down = (sorted({pair[i] for pair in rates}) for i in (0, 1))
    best = max(rates, key=lambda pair: rates[pair] or 0)
    figure = Figure(figsize=(0.95 * len(across) + 1.9, 0.55 * len(down) + 1.5))
    ax = figure.add_axes((1.0 / figure.get_figwidth(), 0.8 / figure.get_figheight(), 1 - 1.2 / figure.get_figwidth(),
                          1 - 1.3 / figure.get_figheight()))
    for i, row in enumerate(down):
        for j, column in enumerate(across):
            rate = rates.get((column, row))
            share = (rate or 0) / rates[best]
            ax.add_patch(Rectangle((j, i), 1, 1, facecolor=GREENS(share**2) if rate else PAPER, edgecolor="white", linewidth=2))
            ax.text(j + 0.5, i + 0.5, f"{rate:.0f}" if rate else "–", ha="center", va="center", fontsize=TEXT,
                    color="white" if share > 0.8 else INK, fontweight="bold" if (column, row) == best else "normal")
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
    return Picture(figure, f"GFLOP/s over {x} and {y}: the best, {rates[best]:.0f}, at {x} = {best[0]} and {y} = {best[1]}; the lowest of "
                           f"{len(rates)}, {min(rate for rate in rates.values() if rate):.0f}.")


def roofline(limits, points=()):
    """The roofline of a device. `points`: (label, flop per byte, GFLOP/s or None) a kernel; None draws its ceiling."""
    x = np.geomspace(0.1, 1000, 200)
    roof = np.minimum(limits.flops_per_s, x * limits.bytes_per_s) / 1e9
    figure = Figure(figsize=(8, 4.6))
    ax = figure.add_axes((0.1, 0.14, 0.86, 0.76))
    ax.loglog(x, roof, color=INK, linewidth=2)
    ax.fill_between(x, roof, roof.min() / 1000, color=PAPER)
    ax.axvline(limits.ridge, color=GRID, linewidth=1, linestyle="--")
    for i, (label, intensity, rate) in enumerate(points):
        ceiling = min(limits.flops_per_s, intensity * limits.bytes_per_s) / 1e9
        ax.plot([intensity], [rate or ceiling], "o", color=C_COLOUR, markersize=9,
                markerfacecolor=C_COLOUR if rate else "white")
        above = rate and intensity > limits.ridge and i % 2  # there the dots stand close; their names take turns
        ax.annotate(label, (intensity, rate or ceiling), xytext=(6, 8) if above else (6, -19), fontsize=TEXT,
                    textcoords="offset points", ha="right" if above else "left")
    ax.text(0.12, 1.7 * limits.bytes_per_s / 1e9, f"the slope: {limits.bytes_per_s / 1e9:.0f} GB/s", fontsize=TEXT, color=INK)
    ax.text(990, 1.3 * limits.flops_per_s / 1e9, f"the roof: {limits.flops_per_s / 1e9:.0f} GFLOP/s", ha="right",
            fontsize=TEXT, color=INK)
    ax.set_ylim(min([roof.min(), *(rate for *_, rate in points if rate)]) / 3, roof.max() * 2.4)
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


def ladder_roofline(limits, timings):
    """The roofline of a device with each rung timed on it, at the intensity of its counted traffic."""
    points = []
    for t in timings:
        if t.device == limits.device and t.step in ladder.STEPS and not t.simulated:
            step, sizes = ladder.step(t.step), (t.parameters, t.M, t.N, t.K)
            moved = 4 * (step.global_loads(*sizes) + step.global_stores(*sizes))
            points.append((t.step, 2 * t.M * t.N * t.K / moved, t.gflops))
    return roofline(limits, points)


def predicted_roofline(size=4096):
    """Where each rung could stand on GPUs that nobody measured here: its counted traffic under the data sheets' roofs."""
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
    for gpu, colour, marker in zip(GPUS.values(), roofs, "osD^v"):
        ax.loglog(x, np.minimum(gpu.flops_per_s, x * gpu.bytes_per_s) / 1e12, "--", color=colour, linewidth=1.5)
        ceilings = [min(gpu.flops_per_s, intensity * gpu.bytes_per_s) / 1e12 for intensity in steps]
        ax.plot(list(steps), ceilings, marker, color=colour, markerfacecolor="white", markersize=8, label=gpu.name)
    for i, (intensity, names) in enumerate(steps.items()):
        ax.axvline(intensity, color=GRID, linewidth=1, zorder=0)
        ax.text(intensity * 1.06, 0.034 * 1.7 ** (i % 2), "\n".join(reversed(names)), fontsize=11, color=INK, va="bottom")
    ax.legend(loc="upper left", fontsize=TEXT, frameon=False)
    ax.set_xlim(0.1, 200)
    ax.set_ylim(0.03, 190)
    plain_ticks(ax.xaxis, ax.yaxis)
    ax.tick_params(labelsize=11)
    ax.set_xlabel("flop per byte asked of global memory, counted", fontsize=TEXT)
    ax.set_ylabel("TFLOP/s at most, predicted", fontsize=TEXT)
    figure.text(0.02, 0.945, "Prediction, not measurement: data sheets' peaks, counted traffic, no cache", fontsize=TEXT, color=INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    said = "; ".join(
        f"{gpu.name} " + ", ".join(f"{' and '.join(names)} {min(gpu.flops_per_s, i * gpu.bytes_per_s) / 1e12:.3g}" for i, names in steps.items())
        for gpu in GPUS.values())
    return Picture(figure, f"Predicted ceilings in TFLOP/s, from data sheets and counted traffic, without caches: {said}.")


def picture_occupancy(report):
    """How the blocks of a kernel fill one multiprocessor: a bar for each resource, a box for each block that fits."""
    gpu = next(g for g in GPUS.values() if g.arch == report.arch)
    blocks, warps = report.occupancy.blocks, -(-report.threads // WARP)
    each = {"registers": (-(-report.registers * WARP // 256) * 256 * warps, gpu.registers),
            "shared memory": (report.shared_bytes + gpu.reserved_bytes, gpu.shared_bytes),
            "warps": (warps, gpu.warps), "blocks": (1, gpu.blocks)}
    figure = Figure(figsize=(8.6, 2.9))
    ax = figure.add_axes((0.19, 0.06, 0.60, 0.74))
    for i, (what, (takes, has)) in enumerate(each.items()):
        limiting = what in report.occupancy.limits
        ax.add_patch(Rectangle((0, i + 0.18), 1, 0.64, facecolor=PAPER, edgecolor=GRID))
        for b in range(blocks):
            ax.add_patch(Rectangle((b * takes / has, i + 0.18), takes / has, 0.64, facecolor=A_COLOUR if limiting else SHADES[3],
                                   edgecolor="white", linewidth=1))
        ax.text(-0.02, i + 0.5, what, ha="right", va="center", fontsize=TEXT, color=A_COLOUR if limiting else INK)
        ax.text(1.02, i + 0.5, f"{blocks * takes:,} of {has:,}", va="center", fontsize=11, color=INK)
    ax.set_xlim(0, 1)
    ax.set_ylim(4, 0)
    ax.axis("off")
    name = report.kernel.split(" ")[0]
    figure.text(0.02, 0.9, f"One multiprocessor of {report.occupancy.gpus}, filled with blocks of {name}", fontsize=TEXT, color=INK)
    used = "; ".join(f"{what} {blocks * takes} of {has}" for what, (takes, has) in each.items())
    return Picture(figure, f"{report.occupancy}. In use: {used}.")
