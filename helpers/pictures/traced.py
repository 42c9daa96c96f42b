"""Who computes what, who reads what: drawn from a traced run of the very kernel."""

from collections import Counter, defaultdict

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ptx_machine import SECTOR, WARP

from .. import ladder
from ..arguments import integer
from ..instruments import cells, trace
from ..launch import Kernel
from .colours import C_COLOUR, FAULT, GRID, MATRICES, PAPER, SHADES
from .drawing import HIGH, Picture, draw_product, label, listed, look, outline, panel

# What is said to those who cannot see a picture.
OWNERS = (
    "C of {shape} under a grid of {grid} blocks of {block} elements. Thread numbers run {along} of C first; cells "
    "marked – were stored by no thread."
)
ONE_WARP = "One warp of {kernel}, one instruction each, {K} columns of A and {N} of B. {sectors}."
SHARE = "{owner}. In one step it reads {As} elements of As and {Bs} of Bs: {reads} reads for {products} products."
STAGES = (
    "{owner}. It stages {As} of As and {Bs} of Bs, outlined, and reads {read_As} elements of As and {read_Bs} of Bs, "
    "which others staged, too."
)
STAGED_RIGHT = "Each cell holds the number that the products need."
STAGED_WRONG = "{count} of {all} cells of {name} hold another number than the products need."
TILES = "As", "Bs", "C"


@look
def picture_owners(k: Kernel, M: int, N: int) -> Picture:
    """Who stores what: each cell of C bears the number of the thread that stored it; blocks are outlined.

    The threads of a block are numbered as the hardware groups them: x first, then y.
    """
    k = k.fitted(M, N, 1)
    rung = ladder.STEPS[k.step]
    rows, columns, _ = rung.tile(k.parameters)
    down, across = ladder.ceil_div(M, rows), ladder.ceil_div(N, columns)
    written = trace(k, M, N, 1).where(array="C", writes=True)
    stores = dict(zip(cells(written, N), written["thread"].tolist(), strict=True))
    labels = {cell: str(stores.get(cell, "–")) for cell in np.ndindex(down * rows, across * columns)}
    colours = {cell: SHADES[1] for cell, thread in stores.items() if thread < k.block[0]}
    figure = Figure(figsize=(0.42 * across * columns + 0.9, 0.42 * down * rows + 0.9))
    ax = figure.add_axes((0.03, 0.03, 0.94, 0.85))
    arrows, along = ("x ↓  y →", "down a column") if rung.x_along == "rows" else ("x →  y ↓", "along a row")
    title = label("C ({shape}), thread numbers, {arrows}", shape=f"{M} x {N}", arrows=arrows)
    panel(ax, down * rows, across * columns, colours, title, C_COLOUR, labels)
    for i, j in np.ndindex(down, across):
        outline(ax, i * rows, j * columns, rows, columns)
    outline(ax, 0, 0, M, N, C_COLOUR)
    values = {"shape": f"{M} x {N}", "grid": f"{down} x {across}", "block": f"{rows} x {columns}"}
    return Picture(figure, label(OWNERS, along=label(along), **values))


@look
def picture_addresses(k: Kernel, M: int, N: int, K: int) -> Picture:
    """What the first warp asks for with one instruction, by 32-byte sector: a row for A, B and C."""
    run = trace(k, M, N, K)
    figure = Figure(figsize=(8.6, 3.1))
    texts = []
    for i, (name, colour) in enumerate(MATRICES.items()):
        touched = run.where(array=name, block=(0, 0, 0))
        touched = touched[touched["thread"] < WARP]
        # Not round 0: a function that loads may have read another array before.
        first = touched["round"] == min(touched["round"], default=0)
        asked = np.unique(4 * touched["index"][first])
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
        above = "{sectors} sectors of 32 bytes, {used} of {all} bytes used"
        if len(sectors) == 1:
            above = "1 sector of 32 bytes, {used} of {all} bytes used"
        ax.text(0, 1.18, label(above, **values), fontsize=11)
        texts.append(label("{name}: {sectors} sectors, {used} of {all} bytes used", name=name, **values))
    return Picture(figure, label(ONE_WARP, kernel=k.step, K=K, N=N, sectors=listed(texts)))


@look
def picture_share(k: Kernel, thread: tuple[int, int] = (1, 1), step: int = 2) -> Picture:
    """What one thread owns of its block's tile of C, and what it reads from As and Bs at one step.

    `thread`: (x, y) in the first block. Raises ValueError for a thread or step that there is none of, and for a kernel
    that has no tiles As and Bs.
    """
    read, _, own = tiles_of(k, thread)
    integer("step", step, 0, ladder.STEPS[k.step].tile(k.parameters)[2] - 1)
    As = {cell: times for cell, times in read["As"].items() if cell[1] == step}
    Bs = {cell: times for cell, times in read["Bs"].items() if cell[0] == step}
    colours = [dict.fromkeys(drawn, ink) for drawn, ink in zip((As, Bs, own["C"]), MATRICES.values(), strict=True)]
    figure = Figure()
    draw_tiles(figure, k, thread, label("at step k = {step}", step=step), colours)
    As, Bs, products = sum(As.values()), sum(Bs.values()), len(own["C"])
    values = {"As": As, "Bs": Bs, "reads": As + Bs, "products": products}
    return Picture(figure, label(SHARE, owner=owner(k, thread, products), **values))


@look
def picture_stages(k: Kernel, thread: tuple[int, int] = (1, 1)) -> Picture:
    """Who stages what, what one thread reads of it, and where a tile holds another number than the products need.

    Drawn is tile 1 along K of block (3, 2), since its row, column and k0 differ, and wrong places show. Each cell bears
    the thread, y and x, that staged or stored it; those of `thread` are outlined, and wrong ones are red. `thread`:
    (x, y) in the block. Raises ValueError for a thread that there is none of, and for a kernel without tiles As and Bs.
    """
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    y, x, tile = at = 2, 3, 1
    read, stored, own = tiles_of(k, thread, at)
    colours, faults = [], []
    for name, sides, row, col in (
        ("As", (rows, depth), y * rows, tile * depth),
        ("Bs", (depth, columns), tile * depth, x * columns),
    ):
        right = {(r, c): (name[0], row + r, col + c) for r, c in np.ndindex(sides)}
        wrong = [cell for cell in right if stored[name].get(cell, (None, None))[1] != right[cell]]
        colours.append(dict.fromkeys(read[name], MATRICES[name[0]]) | dict.fromkeys(wrong, FAULT))
        if wrong:
            faults.append(label(STAGED_WRONG, count=len(wrong), all=len(right), name=name))
    colours.append(dict.fromkeys(own["C"], C_COLOUR))
    writers = [{cell: divmod(writer, k.block[0]) for cell, (writer, _) in stored[name].items()} for name in TILES]
    labels = [{cell: f"{y},{x}" for cell, (y, x) in by.items()} for by in writers]
    when = label("k0 = {depth}; in each cell: y,x of who wrote it", depth=depth)
    figure = Figure()
    axes = draw_tiles(figure, k, thread, when, colours, labels)
    for name, ax in zip(("As", "Bs"), axes, strict=False):
        for cell in own[name]:
            outline(ax, *cell)
    values = {"As": len(own["As"]), "Bs": len(own["Bs"]), "read_As": len(read["As"]), "read_Bs": len(read["Bs"])}
    text = label(STAGES, owner=owner(k, thread, len(own["C"])), **values)
    return Picture(figure, " ".join([text, *(faults or [label(STAGED_RIGHT)])]))


def tiles_of(k, thread, at=(0, 0, 0)):
    """Of a tile along K: {array: {cell: how often `thread` reads it}}, {array: {cell: who stored there, and what}}, and
    {array: the cells that the thread stored}.

    `at`: the block's y and x, and the tile's number, after which the run has one more.
    """
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    (y, x, tile), tiles = at, at[2] + 2
    run = trace(k, (y + 1) * rows, (x + 1) * columns, tiles * depth)
    if not {"As", "Bs"} <= set(run.shapes):
        raise ValueError(f"{k} has no tiles As and Bs to read from; take a step that stages both, such as tiled.")
    for axis in (0, 1):
        integer(f"thread's {'xy'[axis]}", thread[axis], 0, k.block[axis] - 1)
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
    own = {name: {cell for cell, (writer, _) in by.items() if writer == number} for name, by in stored.items()}
    return {name: {cell: n // tiles for cell, n in by.items()} for name, by in read.items()}, stored, own


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


def draw_tiles(figure, k, thread, when, colours, labels=({}, {}, {})):
    """Draw As and Bs above and beside their tile of C, each {cell: colour}; returns the three axes."""
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    scale = 0.44 if any(labels) else min(0.36, (HIGH - 1.9) / (rows + depth))  # inches a cell
    high = scale * (rows + depth) + 1.9
    figure.set_size_inches(scale * (columns + depth) + 2.2, high)
    figure.text(0.03, 1 - 0.22 / high, label("thread x = {x}, y = {y}, {when}", x=thread[0], y=thread[1], when=when))
    titles = "As", "Bs", label("this block's tile of C")
    return draw_product(figure, (rows, columns, depth), colours, titles, labels, top=1 - 0.5 / high)


def owner(k, thread, products):
    """Which thread it is, and how much of C it owns, in words."""
    many = "Thread x = {x}, y = {y} of {kernel} owns {products} elements of C"
    if products == 1:
        many = "Thread x = {x}, y = {y} of {kernel} owns 1 element of C"
    return label(many, x=thread[0], y=thread[1], kernel=k.step, products=products)
