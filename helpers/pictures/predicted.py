"""Charts of the model: what a GPU's units take, and predictions beside what others published."""

from gpu_model import UNITS as ALL
from gpu_model import Prediction
from gpu_model.comparison import Comparison
from gpu_model.prediction import ON_TOP, REQUESTS

from .charts import along_rates, bar_chart, hollow
from .drawing import GRID, INK, PEER, UNITS, Picture, look

COLOURS = {"losses": GRID, "waiting": INK}
SHADES = ("#1f7f86", "#6fb3b8", "#0e4a50", "#b3d9db")  # of the unit's colour, for REQUESTS


@look
def picture_units(prediction: Prediction, upto: str | None = None) -> Picture:
    """A bar a unit of the GPU: how long it is at work. They work at once: the longest, and what is on top, is the time.

    `upto`: the last of `gpu_model.UNITS` to draw, for a page that has explained no more; then the longest
    says how fast the product can be at most. Raises ValueError for what is no unit.
    """
    p, scale = prediction, 1e3
    if upto is not None and upto not in ALL:
        raise ValueError(f"{upto!r} is no unit; give one of {', '.join(ALL)}.")
    drawn = list(ALL)[: list(ALL).index(upto) + 1] if upto else list(ALL)
    working = {unit: p.units[unit] for unit in drawn if unit in p.units and unit not in ON_TOP}
    on_top = {part: p.units[part] for part in ON_TOP if part in drawn and p.units[part]}  # parts of the longest bar
    seconds = max(working.values()) + sum(on_top.values())
    rows, said = [], []
    for unit, time in sorted(working.items(), key=lambda one: -one[1]):
        parts = [(scale * time, UNITS.get(unit, PEER))]
        words = f"{scale * time:.3g} ms, {time / seconds:.0%}"
        if unit == "loads and stores":
            parts = [(scale * p.requests[why], colour) for why, colour in zip(REQUESTS, SHADES, strict=True)]
            names = [f"{p.requests[why] / time:.0%} {why}" for why in REQUESTS if p.requests[why] > time / 200]
            words += f":\n{', '.join(names)}" * (len(names) > 1)
        for part, more in on_top.items() if not rows else ():
            parts.append((scale * more, COLOURS[part]))
            words += f"\nthen {scale * more:.3g} ms of {part}"
        rows.append((unit, parts, words))
        said.append(f"{unit} {words}".replace("\n", " "))
    rate = 2 * p.M * p.N * p.K / seconds / 1e9
    end = f"{rate:,.0f} GFLOP/s, predicted" if drawn == list(ALL) else f"at most {rate:,.0f} GFLOP/s by these units"
    title = f"{p.kernel.split()[0]}, {p.M} x {p.N} x {p.K} on {p.gpu}: {end}"
    figure, ax = bar_chart(rows, title)
    ax.set_xlim(0, 1.6 * scale * seconds)
    ax.set_xlabel("milliseconds at work" + "; pale grey: losses; black: waiting" * bool(on_top))
    return Picture(figure, f"{title}; at work: {'; '.join(said)}.")


@look
def published_chart(comparison: Comparison) -> Picture:
    """Measured rates, and what the model says of the kernels that were measured, in pairs of bars."""
    rows, said, last = [], [], None
    for row in comparison.rows:
        name = row.step if row.ladder is last else f"{row.ladder.gpu}: {row.step}"
        last = row.ladder
        rows.append((name, [(row.published, PEER)], f"{row.published:,.0f} published"))
        rows.append(("", [(row.prediction.gflops, "white")], f"{row.prediction.gflops:,.0f}, {row.ratio:.2f} of it"))
        said.append(f"{name} {row.published:,.0f} published, {row.prediction.gflops:,.0f} predicted")
    figure, ax = bar_chart(rows, "Published (grey) and predicted (hollow), 4096 x 4096 x 4096")
    hollow(ax.patches[1::2], [row.prediction for row in comparison.rows])
    rates = [length for _, parts, _ in rows for length, _ in parts]
    along_rates(ax, min(rates) / 3, max(rates) * 5)
    return Picture(figure, f"Pairs of bars, GFLOP/s: {'; '.join(said)}.")
