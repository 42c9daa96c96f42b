"""Who computes what, who reads what: drawn from a traced run of the very kernel."""

from collections import Counter, defaultdict

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ptx_machine import SECTOR, WARP

from .. import ladder
from ..instruments import cells, trace
from ..language import said, wrapped
from ..launch import Kernel
from .drawing import (
    A_COLOUR,
    B_COLOUR,
    C_COLOUR,
    FAULT,
    GRID,
    HIGH,
    INK,
    PAPER,
    SHADES,
    SIDE,
    Picture,
    label,
    listed,
    look,
    outline,
    panel,
    product_axes,
    refuse_outside,
)

# What is said to those who cannot see a picture.
PROGRAM = (
    "A {BM} x {BN} tile of C, from element ({row}, {col}) on, takes a {BM} x {BK} tile of A and a {BK} x {BN} tile of "
    "B, from k = {k0} on. What lies outside a matrix counts as 0."
)
MEETS = "Element ({row}, {col}) of C stands where row {row} of A meets column {col} of B."
BY_COLUMN = (
    "C of {shape} under a grid of {grid} blocks of {block} elements. Thread numbers run down a column of C first; "
    "cells marked – were stored by no thread."
)
BY_ROW = (
    "C of {shape} under a grid of {grid} blocks of {block} elements. Thread numbers run along a row of C first; cells "
    "marked – were stored by no thread."
)
ONE_WARP = "One warp of {kernel}, one instruction each, {K} columns of A and {N} of B. {sectors}."
BANKS = "rows of {width} words: which thread writes to which bank, round by round"
TAKES = "Rows of {width} words: 32 threads write to {banks} of 32 banks, so the store takes {rounds}."
SHARE = "{owner}. In one step it reads {As} elements of As and {Bs} of Bs: {reads} reads for {products} products."
STAGES = (
    "{owner}. It stages {As} of As and {Bs} of Bs, outlined, and reads {read_As} elements of As and {read_Bs} of Bs, "
    "which others staged, too."
)
STAGED_RIGHT = "Each cell holds the number that the products need."
STAGED_WRONG = "{count} of {all} cells of {name} wrong: {cell} holds {holds}; the products need {needed}."
ELEMENT = "{}[{}, {}]"
ORDER = (
    "{who}: {barriers} barriers between its accesses; between asking for a tile and storing it, it does {least}. It "
    "waits {times}."
)
WAIT = 4  # boxes wide: a wait in picture_order


@look
def picture_program(
    M: int, N: int, K: int, BM: int, BN: int, BK: int, x: int = 0, y: int = 0, round: int = 0
) -> Picture:
    """One program of a block language: its tile of C, and the tiles of A and B that it multiplies in that round.

    What of a tile lies outside its matrix is masked: it bears a 0 in A and B, and a – in C.
    Raises ValueError for a program or a round that there is none of.
    """
    for side, value in (("BM", BM), ("BN", BN), ("BK", BK)):
        refuse_outside(side, value, SIDE, "elements of a side", first=1)
    down, across, rounds = (ladder.ceil_div(side, of) for side, of in ((M, BM), (N, BN), (K, BK)))
    refuse_outside("y", y, down, "programs down")
    refuse_outside("x", x, across, "programs across")
    refuse_outside("round", round, rounds, "tiles along K")
    figure = Figure(figsize=(5.6, 4.8))
    axes = product_axes(figure, down * BM, across * BN, rounds * BK)
    sides = (("A", M, K, BM, BK, y, round), ("B", K, N, BK, BN, round, x), ("C", M, N, BM, BN, y, x))
    for ax, (name, rows, columns, high, wide, r, c), colour in zip(
        axes, sides, (A_COLOUR, B_COLOUR, C_COLOUR), strict=True
    ):
        tile = [(i, j) for i in range(r * high, (r + 1) * high) for j in range(c * wide, (c + 1) * wide)]
        inside = {(i, j): colour for i, j in tile if i < rows and j < columns}
        masked = {cell: "–" if name == "C" else "0" for cell in tile if cell not in inside}
        whole = ladder.ceil_div(rows, high) * high, ladder.ceil_div(columns, wide) * wide
        panel(ax, *whole, inside, f"{name} ({rows} x {columns})", colour, masked)
        outline(ax, 0, 0, rows, columns, colour)
        outline(ax, r * high, c * wide, high, wide)
    values = dict(BM=BM, BN=BN, BK=BK, row=y * BM, col=x * BN, k0=round * BK)
    return Picture(figure, said(MEETS if BM == BN == 1 else PROGRAM, **values))


@look
def picture_owners(k: Kernel, M: int, N: int) -> Picture:
    """Who stores what: each cell of C bears the number of the thread that stored it; blocks are outlined.

    From a traced run. The threads of a block are numbered as the hardware groups them: x first, then y.
    """
    k = k.fitted(M, N, 1)
    rung, p = ladder.STEPS[k.step], k.parameters
    rows, columns, _ = rung.tile(p)
    blocks_down, blocks_across = ladder.ceil_div(M, rows), ladder.ceil_div(N, columns)
    written = trace(k, M, N, 1).where(array="C", writes=True)
    stores = dict(zip(cells(written, N), written["thread"].tolist(), strict=True))
    places = [(r, c) for r in range(blocks_down * rows) for c in range(blocks_across * columns)]
    labels = {cell: str(stores.get(cell, "–")) for cell in places}
    colours = {cell: SHADES[1] for cell, thread in stores.items() if thread < k.block[0]}
    figure = Figure(figsize=(0.42 * blocks_across * columns + 0.9, 0.42 * blocks_down * rows + 0.9))
    ax = figure.add_axes((0.03, 0.03, 0.94, 0.85))
    arrows = "x ↓  y →" if rung.x_along == "rows" else "x →  y ↓"
    title = label("C ({shape}), thread numbers, {arrows}", shape=f"{M} x {N}", arrows=arrows)
    panel(ax, blocks_down * rows, blocks_across * columns, colours, title, C_COLOUR, labels)
    for i in range(blocks_down):
        for j in range(blocks_across):
            outline(ax, i * rows, j * columns, rows, columns)
    outline(ax, 0, 0, M, N, C_COLOUR)
    values = {"shape": f"{M} x {N}", "grid": f"{blocks_down} x {blocks_across}", "block": f"{rows} x {columns}"}
    return Picture(figure, said(BY_COLUMN if rung.x_along == "rows" else BY_ROW, **values))


@look
def picture_addresses(k: Kernel, M: int, N: int, K: int) -> Picture:
    """What the first warp asks for with one instruction, by 32-byte sector: a row for A, B and C. From a traced run."""
    run = trace(k, M, N, K)
    figure = Figure(figsize=(8.6, 3.1))
    asked_for = []
    for i, (name, colour) in enumerate(zip("ABC", (A_COLOUR, B_COLOUR, C_COLOUR), strict=True)):
        touched = run.where(array=name, block=(0, 0, 0))
        touched = touched[touched["thread"] < WARP]
        # Not round 0: a function that loads may have read another array before.
        earliest = touched["round"].min(initial=np.iinfo(np.int32).max)
        asked = np.unique(4 * touched["index"][touched["round"] == earliest])
        sectors = np.unique(asked // SECTOR)
        ax = figure.add_axes((0.16, 0.70 - 0.31 * i, 0.82, 0.2))
        for s, sector in enumerate(sectors):
            ax.add_patch(Rectangle((s * 1.15, 0), 1, 1, facecolor=PAPER, edgecolor=GRID, linewidth=0.8))
            for address in asked[asked // SECTOR == sector]:
                corner, fill = (s * 1.15 + address % SECTOR / SECTOR, 0), dict(facecolor=colour, edgecolor="white")
                ax.add_patch(Rectangle(corner, 4 / SECTOR, 1, **fill, linewidth=0.4))
        ax.set(xlim=(-0.1, WARP * 1.15), ylim=(-0.05, 1.05))
        ax.axis("off")
        does = label("store {name}" if name == "C" else "load {name}", name=name)
        ax.text(-0.6, 0.5, does, ha="right", va="center", color=colour)
        values = {"sectors": len(sectors), "used": 4 * len(asked), "all": SECTOR * len(sectors)}
        sentence = "{sectors} sectors of 32 bytes, {used} of {all} bytes used"
        if len(sectors) == 1:
            sentence = "1 sector of 32 bytes, {used} of {all} bytes used"
        ax.text(0, 1.18, label(sentence, **values), fontsize=11)
        asked_for.append(("{name}: {sectors} sectors, {used} of {all} bytes used", values | {"name": name}))
    return Picture(figure, said(ONE_WARP, kernel=k.step, K=K, N=N, sectors=listed(asked_for)))


@look
def picture_banks(width: int) -> Picture:
    """Where a warp's first store into a transposed tile goes: thread numbers by bank, a line of boxes for each round.

    As page 09's kernel does it: thread t has four numbers of row t // 2 of A, from column 4 (t % 2) on. The first of
    them goes to that row of the transposed tile, which is `width` words long. Raises ValueError for rows that are too
    short.
    """
    if not isinstance(width, int | np.integer) or width < WARP // 2:
        raise ValueError(f"width={width!r}: the warp stores {WARP // 2} rows of A; give a whole number from there on.")
    per_bank = {}
    for t in range(WARP):
        per_bank.setdefault((t % 2 * 4 * width + t // 2) % WARP, []).append(t)
    rounds = max(map(len, per_bank.values()))
    labels = {(level, bank): str(t) for bank, threads in per_bank.items() for level, t in enumerate(threads)}
    height = 0.3 * rounds + 0.9
    figure = Figure(figsize=(0.3 * WARP + 1.2, height))
    ax = figure.add_axes((0.105, 0.04, 0.89, (0.3 * rounds + 0.05) / height))
    panel(ax, rounds, WARP, dict.fromkeys(labels, A_COLOUR), "", INK, labels)
    figure.text(0.02, 1 - 0.3 / height, label(BANKS, width=width))
    for bank in range(WARP):
        ax.text(bank + 0.5, -0.4, str(bank), ha="center", va="center", fontsize=11)
    for n, words in enumerate(("bank", *rounds * ("round {number}",))):
        ax.text(-0.4, n - 0.5 + 0.1 * (n == 0), label(words, number=n), ha="right", va="center", fontsize=11)
    takes = ("1 round", {}) if rounds == 1 else ("{rounds} rounds", {"rounds": rounds})
    return Picture(figure, said(TAKES, width=width, banks=len(per_bank), rounds=takes))


@look
def picture_share(k: Kernel, thread: tuple[int, int] = (1, 1), step: int = 2) -> Picture:
    """What one thread owns of its block's tile of C, and what it reads from As and Bs at one step; a traced run.

    `thread`: (x, y) in the first block. Raises ValueError for a thread or step that there is none of, and for a kernel
    that has no tiles As and Bs.
    """
    depth = ladder.STEPS[k.step].tile(k.parameters)[2]
    read, stored, number = tiles_of(k, thread)
    refuse_outside("step", step, depth, "steps over the tile's k")
    As = {cell: times for cell, times in read["As"].items() if cell[1] == step}
    Bs = {cell: times for cell, times in read["Bs"].items() if cell[0] == step}
    C = {cell: C_COLOUR for cell, (writer, _) in stored["C"].items() if writer == number}
    coloured = {"As": dict.fromkeys(As, A_COLOUR), "Bs": dict.fromkeys(Bs, B_COLOUR), "C": C}
    figure, _ = draw_tiles(k, thread, ("at step k = {step}", {"step": step}), coloured)
    As, Bs = sum(As.values()), sum(Bs.values())
    return Picture(figure, said(SHARE, owner=owner(k, thread, len(C)), As=As, Bs=Bs, reads=As + Bs, products=len(C)))


@look
def picture_stages(k: Kernel, thread: tuple[int, int] = (1, 1)) -> Picture:
    """Who stages what, what one thread reads of it, and where a tile holds another number than the products need.

    From a traced run: tile 1 along K of block (3, 2), since its row, column and k0 differ, and wrong places show. Each
    cell bears the thread, y and x, that staged or stored it; those of `thread` are outlined, wrong ones are red, and of
    each tile one is told. `thread`: (x, y) in the block. Raises ValueError for a thread that there is none of, and for
    a kernel without tiles As and Bs.
    """
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    y, x, tile = at = 2, 3, 1
    read, stored, number = tiles_of(k, thread, at)
    own = {name: {cell for cell, (writer, _) in by.items() if writer == number} for name, by in stored.items()}
    labels = {
        name: {cell: "{},{}".format(*divmod(writer, k.block[0])) for cell, (writer, _) in by.items()}
        for name, by in stored.items()
    }
    colours, told = {"C": dict.fromkeys(own["C"], C_COLOUR)}, []
    for name, high, wide, row, col, colour in (
        ("As", rows, depth, y * rows, tile * depth, A_COLOUR),
        ("Bs", depth, columns, tile * depth, x * columns, B_COLOUR),
    ):
        needed = {(r, c): (name[0], row + r, col + c) for r, c in np.ndindex(high, wide)}
        held = {cell: number for cell, (_, number) in stored[name].items()}
        wrong = [cell for cell in needed if held.get(cell) != needed[cell]]
        colours[name] = dict.fromkeys(read[name], colour) | dict.fromkeys(wrong, FAULT)
        if wrong:
            cell = min(own[name] & {*wrong} or wrong)
            holds = ELEMENT.format(*held[cell]) if held.get(cell) else ("no number of A or B", {})
            values = {"holds": holds, "needed": ELEMENT.format(*needed[cell]), "cell": ELEMENT.format(name, *cell)}
            told.append((STAGED_WRONG, values | {"name": name, "count": len(wrong), "all": len(needed)}))
    when = "k0 = {depth}; in each cell: y,x of who wrote it", {"depth": depth}
    below = "\n".join(wrapped(label(sentence, **values), 60) for sentence, values in told)
    figure, axes = draw_tiles(k, thread, when, colours, labels, below)
    for name in ("As", "Bs"):
        for cell in own[name]:
            outline(axes[name], *cell, 1, 1)
    values = {"As": len(own["As"]), "Bs": len(own["Bs"]), "read_As": len(read["As"]), "read_Bs": len(read["Bs"])}
    texts = [said(STAGES, owner=owner(k, thread, len(own["C"])), **values)]
    texts += [said(sentence, **values) for sentence, values in told or [(STAGED_RIGHT, {})]]
    return Picture(figure, " ".join(texts))


def tiles_of(k, thread, at=(0, 0, 0)):
    """How often `thread` reads each cell of As and Bs, {array: {cell: who stored there, and what}} of a tile along K,
    and the thread's number; from a traced run.

    `at`: the block's y and x, and the tile's number, after which the run has one more.
    """
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    (y, x, tile), tiles = at, at[2] + 2
    run = trace(k, (y + 1) * rows, (x + 1) * columns, tiles * depth)
    if not {"As", "Bs"} <= set(run.shapes):
        raise ValueError(f"{k} has no tiles As and Bs to read from; take a step that stages both, such as tiled.")
    refuse_outside("thread's x", thread[0], k.block[0], "threads along x")
    refuse_outside("thread's y", thread[1], k.block[1], "threads along y")
    number = thread[1] * k.block[0] + thread[0]
    mine = run.where(block=(x, y, 0))
    stored = {
        name: {cell: stores[(tile + 1) * len(stores) // tiles - 1] for cell, stores in by.items()}
        for name, by in stores_of(mine, run.shapes).items()
    }
    stored["C"] = {(row - y * rows, col - x * columns): store for (row, col), store in stored["C"].items()}
    reads = mine[(mine["thread"] == number) & ~mine["writes"]]
    read = {name: Counter(cells(reads[reads["array"] == name], run.shapes[name][-1])) for name in ("As", "Bs")}
    rows_owned = {row for (row, _), (writer, _) in stored["C"].items() if writer == number}
    if run.shapes["As"] != (rows, depth) and {row for row, _ in read["As"]} != rows_owned:  # transposed: as it is in A
        read["As"] = {cell[::-1]: times for cell, times in read["As"].items()}
        stored["As"] = {cell[::-1]: store for cell, store in stored["As"].items()}
    return {name: {cell: n // tiles for cell, n in by.items()} for name, by in read.items()}, stored, number


def stores_of(accesses, shapes):
    """{array: {cell: [who stores there, and what: a number's (matrix, row, column), or None]}}.

    It is the first that the thread has loaded and not stored yet, of the array's own matrix if there is one.
    """
    stores, loaded = {name: defaultdict(list) for name in shapes}, defaultdict(list)
    for one in accesses:
        thread, array = one["thread"].item(), str(one["array"])
        place = divmod(one["index"].item(), shapes[array][-1])
        if one["writes"]:
            fitting = [number for number in loaded[thread] if number[0] == array[0]] or loaded[thread]
            stores[array][place].append((thread, fitting[0] if fitting else None))
            if fitting:
                loaded[thread].remove(fitting[0])
        elif one["memory"] == "global":
            loaded[thread].append((array, *place))
    return stores


def draw_tiles(k, thread, when, coloured, labels=None, told=""):
    """As and Bs above and beside their tile of C, {name: {cell: colour}}. Returns the figure and the axes by name.

    `told`: lines below the tiles.
    """
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    scale = 0.44 if labels else min(0.36, (HIGH - 1.9) / (rows + depth))  # inches a cell
    below = 0.2 * len(told.splitlines())
    high = scale * (rows + depth) + 1.9 + below
    figure = Figure(figsize=(scale * (columns + depth) + 2.2, high))
    places = product_axes(figure, rows, columns, depth, top=1 - 0.5 / high, bottom=0.03 + below / high)
    axes = dict(zip(("As", "Bs", "C"), places, strict=True))
    title = label("thread x = {x}, y = {y}, {when}", x=thread[0], y=thread[1], when=when)
    figure.text(0.03, 1 - 0.22 / high, title)
    figure.text(0.03, 0.1 / high, told, fontsize=11, color=FAULT, va="bottom")
    for name, title, sides, colour in (
        ("As", "As", (rows, depth), A_COLOUR),
        ("Bs", "Bs", (depth, columns), B_COLOUR),
        ("C", label("this block's tile of C"), (rows, columns), C_COLOUR),
    ):
        panel(axes[name], *sides, coloured[name], title, colour, (labels or {}).get(name))
    return figure, axes


def owner(k, thread, products):
    """Whose picture it is: the key and the values of a sentence."""
    one = "Thread x = {x}, y = {y} of {kernel} owns 1 element of C"
    some = "Thread x = {x}, y = {y} of {kernel} owns {products} elements of C"
    return one if products == 1 else some, dict(x=thread[0], y=thread[1], kernel=k.step, products=products)


@look
def picture_order(k: Kernel, M: int, N: int, K: int, after: Kernel | None = None) -> Picture:
    """The order in which the first thread asks for tiles, stores and reads them, and meets barriers.

    From a traced run. Where a thread stores what it asks for with no other read between, it has to wait; how long, no
    run without a GPU can tell, so each wait is drawn equally wide. `after`: another kernel, drawn below to the same
    scale. Raises ValueError for a kernel whose first thread reads nothing.
    """
    kernels = (k,) if after is None else (k, after)
    figure = Figure(figsize=(8.6, 2.5 * len(kernels)))
    texts, wide = [], 0
    for n, one in enumerate(kernels):
        mine = accesses(one, M, N, K)
        bottom = 1 - (n + 0.96) / len(kernels)
        ax = figure.add_axes((0.2, bottom, 0.79, 0.78 / len(kernels)))
        x, barriers, meanwhile = draw_order(ax, mine)
        wide = max(wide, x)
        other, values = n == 0 or one.step != k.step, {"kernel": one.step, "K": K}
        what = "thread 0 of {kernel}" if other else "the same, changed", values
        title = label("{what}, from left to right; dashed: a barrier ({barriers})", what=what, barriers=barriers)
        figure.text(0.02, bottom + 0.86 / len(kernels), title)
        least = ("{reads} reads of a tile", {"reads": max(meanwhile)}) if any(meanwhile) else ("nothing", {})
        waits = meanwhile.count(0)
        times = ("{count} time" if waits == 1 else "{count} times", {"count": waits})
        who = "Thread 0 of {kernel}, K = {K}" if other else "Changed", values
        texts.append(said(ORDER, who=who, barriers=barriers, least=least, times=times))
    for ax in figure.axes:
        ax.set(xlim=(0, wide), ylim=(3, 0))
        ax.axis("off")
        for y, text in enumerate(("asks for numbers", "stores in the tile", "reads the tile")):
            ax.text(-0.012 * wide, y + 0.45, label(text), ha="right", va="center")
    return Picture(figure, " ".join(texts))


def accesses(k, M, N, K):
    """What the first thread does with A, B and their tiles, in order. Raises ValueError for nothing."""
    mine = trace(k, M, N, K).where(block=(0, 0, 0), thread=0, part=0)
    mine = mine[mine["array"] != "C"]
    if not len(mine):
        raise ValueError(f"thread 0 of {k} reads nothing at {M} x {N} x {K}; let it compute first.")
    return mine


def draw_order(ax, mine):
    """Draw what a thread does. Returns how wide it is, the barriers, and the reads between each asking and storing."""
    lane = np.where(mine["memory"] == "global", 0, np.where(mine["writes"], 1, 2)).tolist()
    arrays, phase = mine["array"].tolist(), mine["phase"].tolist()
    meanwhile, asked, x = [], None, 0  # asked: the place in the run, and in the picture, of what is on its way
    for n, y in enumerate(lane):
        if n and phase[n] != phase[n - 1]:
            ax.plot([x, x], [0, 3], "--", color=INK, linewidth=1.2)
        if y == 1 and asked is not None:  # the first store after it: the numbers must be there
            meanwhile.append(lane[asked[0] : n].count(2))
            if meanwhile[-1]:
                place = dict(arrowstyle="->", color=INK, linewidth=1.2)
                ax.annotate("", (x, 1.1), (asked[1] + 1, 0.9), arrowprops=place)
            else:
                ax.add_patch(Rectangle((x, 0.15), WAIT, 2.6, facecolor=PAPER, edgecolor=GRID, hatch="//"))
                ax.text(x + WAIT / 2, 1.45, label("waits"), ha="center", va="center", fontsize=11, rotation=90)
                x += WAIT
            asked = None
        colour = A_COLOUR if arrays[n][0] == "A" else B_COLOUR
        ax.add_patch(Rectangle((x, y + 0.15), 1, 0.6, facecolor=colour, edgecolor="white", linewidth=0.8))
        if y == 0:
            asked = n, x
        x += 1
    return x, len(set(phase)) - 1, meanwhile
