"""Products on many ranks: who owns what, the panels of a run, and what many more would take."""

from collections import Counter

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator

from summa import INFINIBAND_NDR, Network, Run, predicted_seconds

from ..arguments import sizes
from ..language import said
from .colours import A_COLOUR, B_COLOUR, C_COLOUR, INK
from .drawing import Picture, label, listed, look, panel, plain_ticks, tint
from .films import Film

SECONDS = (
    "Measured and predicted seconds on {both} ranks. Predicted, {network}, {ranks} ranks: {computing} s computing, "
    "{moving} s moving."
)
ONE_STEP = (
    "One step of SUMMA on {p} x {q} ranks: each rank of the first column sends its part of a panel of A along its row "
    "of {q}; each of the first row sends its part of a panel of B along its column of {p}; all C stays."
)


@look
def picture_ranks(run: Run) -> Picture:
    """Show which rank owns which block of A, B and C. The number in a block is its rank's."""
    (p, q), (M, N, K) = run.grid, run.size
    ranks = {tuple(report["place"]): rank for rank, report in enumerate(run.reports)}
    titles = f"A, {M} x {K}", f"B, {K} x {N}", f"C, {M} x {N}"
    figure, _ = three_matrices(p, q, titles, ranks, [0.2 + 0.5 * rank / len(ranks) for rank in range(len(ranks))])
    owned = [label("rank {rank} block {place}", rank=rank, place=place) for place, rank in sorted(ranks.items())]
    text = "A, B and C, each cut into {p} x {q} blocks, the same for all: {owns}."
    return Picture(figure, said(text, p=p, q=q, owns=listed(owned)))


def three_matrices(p, q, titles, ranks, shades):
    """A figure and its three axes: A, B and C, cut into p x q blocks, each with its rank's number and shade."""
    figure = Figure(figsize=(8.4, 0.9 + 2.4 * p / max(p, q)))
    axes = figure.subplots(1, 3)
    figure.subplots_adjust(left=0.01, right=0.99, top=1 - 0.4 / figure.get_figheight(), bottom=0.02, wspace=0.12)
    for ax, title, colour in zip(axes, titles, (A_COLOUR, B_COLOUR, C_COLOUR), strict=True):
        panel(ax, p, q, {place: tint(colour, shades[rank]) for place, rank in ranks.items()}, title, colour, ranks)
    return figure, axes


@look
def picture_summa(p: int, q: int) -> Picture:
    """Show one step of SUMMA on a grid of p x q ranks: which panels of A and B move, and that C stays."""
    ranks = {(i, j): i * q + j for i in range(p) for j in range(q)}
    titles = label("A: along the rows"), label("B: along the columns"), label("C: stays")
    figure, axes = three_matrices(p, q, titles, ranks, [0.2] * len(ranks))
    # The panel is the first third of the first blocks of A, and of those of B.
    axes[0].add_patch(Rectangle((0, 0), 0.3, p, color=tint(A_COLOUR, 0.8), linewidth=0))
    axes[1].add_patch(Rectangle((0, 0), q, 0.3, color=tint(B_COLOUR, 0.8), linewidth=0))
    for i in range(p if q > 1 else 0):
        axes[0].annotate("", (q - 0.1, i + 0.8), (0.15, i + 0.8), arrowprops=dict(arrowstyle="->", color=INK))
    for j in range(q if p > 1 else 0):
        axes[1].annotate("", (j + 0.8, p - 0.1), (j + 0.8, 0.15), arrowprops=dict(arrowstyle="->", color=INK))
    return Picture(figure, said(ONE_STEP, p=p, q=q))


def film_panels(run: Run, rank: int = 0) -> Film:
    """Show the panels of A and of B that come to that rank, step by step, from its report. Returns a `Film`."""
    (p, q), (M, N, K) = run.grid, run.size
    report = run.reports[rank]
    i, j = report["place"]
    rows, columns = range(M * i // p, M * (i + 1) // p), range(N * j // q, N * (j + 1) // q)
    frames = []
    for k0, k1, _, _ in report["panels"]:
        frames.append(Counter(("A", (row, k)) for row in rows for k in range(k0, k1)))
        frames[-1].update(("B", (k, column)) for k in range(k0, k1) for column in columns)
    stored = {(row, column) for row in rows for column in columns}
    return Film(("SUMMA, rank {rank}", {"rank": rank}), (M, N, K), frames, stored)


@look
def prediction_chart(runs: list[Run], flops: float, here: Network, size: int | tuple) -> Picture:
    """Draw seconds against ranks: measured and predicted here, and a prediction for a fast network and another size.

    `flops`: a second, of a rank. `here`: this machine's network. Both axes are logarithmic.
    """
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    there, few, many = INFINIBAND_NDR, sorted({len(run.reports) for run in runs}), [4**n for n in range(6)]
    measured = [min(run.seconds for run in runs if len(run.reports) == ranks) for ranks in few]
    expected = [sum(predicted_seconds(*runs[0].size, ranks, flops, here)) for ranks in few]
    left.plot(few, measured, "o", color=INK, label=label("measured"))
    left.plot(few, expected, "--", color=INK, label=label("predicted"))
    left.set_title(label("measured here:") + "\n{} x {} x {}".format(*runs[0].size))
    parts = [predicted_seconds(*sizes(size), ranks, flops, there) for ranks in many]
    computing, moving = zip(*parts, strict=True)
    right.plot(many, computing, "--", color=INK, label=label("computing"))
    right.plot(many[1:], moving[1:], ":", color=INK, label=label("moving"))
    right.set_title(label("prediction, {network}:", network=there.name) + "\n{} x {} x {}".format(*sizes(size)))
    for ax, ticks in ((left, few), (right, many)):
        ax.set_xscale("log", base=2)
        ax.set(yscale="log", xticks=ticks, xlabel=label("ranks"), ylabel=label("seconds"))
        ax.minorticks_off()
        plain_ticks(ax.xaxis, ax.yaxis)
        ax.legend()
    left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))  # a few ranks span less than a power of ten
    both = ", ".join(f"{ranks}: {m:.3g} and {e:.3g}" for ranks, m, e in zip(few, measured, expected, strict=True))
    values = {"network": there.name, "ranks": many[-1]}
    values |= {"computing": f"{computing[-1]:.3g}", "moving": f"{moving[-1]:.3g}"}
    return Picture(figure, said(SECONDS, both=both, **values))
