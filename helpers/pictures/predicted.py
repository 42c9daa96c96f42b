"""Charts of the model: what a GPU's units take, and predictions beside what others published."""

from gpu_model import UNITS as ALL
from gpu_model import Prediction
from gpu_model.comparison import Comparison
from gpu_model.prediction import ON_TOP, REQUESTS

from ..language import said
from .charts import along_rates, bar_chart, hollow
from .drawing import GRID, INK, PEER, UNITS, Picture, label, listed, look

COLOURS = {"losses": GRID, "waiting": INK}
SHADES = ("#1f7f86", "#6fb3b8", "#0e4a50", "#b3d9db")  # of the unit's colour, for REQUESTS


@look
def picture_units(prediction: Prediction, upto: str | None = None) -> Picture:
    """A bar a unit of the GPU: how long it is at work. They work at once: the longest, and what is on top, is the time.

    `upto`: the last of `gpu_model.UNITS` to draw, for a page that has explained no more; then the longest
    says how fast the product can be at most. Raises ValueError for what is no unit.
    """
    p, scale = prediction, 1e3
    drawn = list(ALL)[: list(ALL).index(upto) + 1] if upto else list(ALL)
    working = {unit: p.units[unit] for unit in drawn if unit in p.units and unit not in ON_TOP}
    on_top = {part: p.units[part] for part in ON_TOP if part in drawn and p.units[part]}  # parts of the longest bar
    seconds = max(working.values()) + sum(on_top.values())
    rows, working_units = [], []
    for unit, time in sorted(working.items(), key=lambda one: -one[1]):
        parts = [(scale * time, UNITS.get(unit, PEER))]
        lines = [("{time} ms, {share}", {"time": f"{scale * time:.3g}", "share": f"{time / seconds:.0%}"})]
        if unit == "loads and stores":
            parts = [(scale * p.requests[why], colour) for why, colour in zip(REQUESTS, SHADES, strict=True)]
            reasons = [why for why in REQUESTS if p.requests[why] > time / 200]
            spelled = {why: f"{p.requests[why] / time:.0%}" for why in reasons}
            shares = [("{share} {what}", {"share": share, "what": (why, {})}) for why, share in spelled.items()]
            if len(reasons) > 1:
                lines = [("{time}:", {"time": lines[0]}), listed(shares, ", ")]
        for part, more in on_top.items() if not rows else ():
            parts.append((scale * more, COLOURS[part]))
            lines.append(("then {time} ms of {what}", {"time": f"{scale * more:.3g}", "what": (part, {})}))
        rows.append((label(unit), parts, "\n".join(label("{line}", line=line) for line in lines)))
        working_units.append(listed([(unit, {}), *lines], " "))
    rate = 2 * p.M * p.N * p.K / seconds / 1e9
    key = "{kernel}, {size} on {gpu}: at most {rate} GFLOP/s by these units"
    if drawn == list(ALL):
        key = "{kernel}, {size} on {gpu}: {rate} GFLOP/s, predicted"
    values = {"kernel": p.kernel.split()[0], "size": f"{p.M} x {p.N} x {p.K}", "gpu": p.gpu, "rate": f"{rate:,.0f}"}
    figure, ax = bar_chart(rows, label(key, **values))
    ax.set_xlim(0, 1.6 * scale * seconds)
    unit = "milliseconds at work; pale grey: losses; black: waiting" if on_top else "milliseconds at work"
    ax.set_xlabel(label(unit))
    return Picture(figure, said("{title}; at work: {units}.", title=(key, values), units=listed(working_units)))


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
        pairs.append(("{name} {published} published, {predicted} predicted", values))
    figure, ax = bar_chart(rows, label("Published (grey) and predicted (hollow), 4096 x 4096 x 4096"))
    hollow(ax.patches[1::2], [row.prediction for row in comparison.rows])
    rates = [length for _, parts, _ in rows for length, _ in parts]
    along_rates(ax, min(rates) / 3, max(rates) * 5)
    return Picture(figure, said("Pairs of bars, GFLOP/s: {pairs}.", pairs=listed(pairs)))
