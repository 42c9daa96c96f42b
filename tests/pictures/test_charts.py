"""The charts, bar by bar and line by line: what is drawn is compared with numbers that are worked out here.

nbval compares no pixels, so nothing else would see a chart that is wrong.
"""

import dataclasses

import numpy as np
import pytest
from artists import cells, frames, rectangles, ticks, words
from matplotlib.colors import to_hex

from gpu_model.prediction import ON_TOP, UNITS
from helpers import pictures
from helpers.clock import Limits, Scoreboard, Timing
from helpers.instruments import CompiledRun, predict, predicted_ladder
from helpers.pictures import drawing
from ptx_machine import KINDS

GREY, INK, PAPER, GRID = "#8a8a86", "#333333", "#f4f4f2", "#c9c9c6"
CUDA, OPENCL = "#7a5195", "#a987c9"
MULTIPLY_ADDS, LOADS, WHOLE = "#b0456a", "#1f7f86", "#9a8f1e"


def timing(dialect, step, gflops, M=512, device="a device", parameters=None):
    """A timing of M x M x M at that rate."""
    return Timing(dialect, step, M, M, M, 2 * M**3 / (gflops * 1e9), 0.1, device, parameters or {})


def board(M, rates, peak=1000.0):
    """A scoreboard of contestants {(dialect, step): GFLOP/s}, all on one device, in three rounds.

    The times of all others but NumPy's vary, so that the least, the median and the greatest of ratios differ.
    """
    timings = tuple(timing(dialect, step, rate, M) for (dialect, step), rate in rates.items())
    seconds = tuple(
        tuple(factor * t.seconds for factor in ((1, 1, 1) if t.dialect == "Python" else (2, 1, 0.5))) for t in timings
    )
    return Scoreboard(M, M, M, timings, seconds, peak * 1e9, "a device")


RATES = {
    ("Python", "numpy_matmul"): 400.0,
    ("OpenCL", "CLBlast"): 200.0,
    ("OpenCL", "tiled"): 100.0,
    ("OpenCL", "packed"): 800.0,
}


# ------------------------------------------------------------------------------------------ ladder_chart


def bars(ax):
    """[(name, length, colour, word)] of the horizontal bars, from above."""
    assert ax.yaxis_inverted()
    boxes, names = rectangles(ax), [name for _, name in ticks(ax.yaxis)]
    assert [y + height / 2 for _, y, _, height, _ in boxes] == pytest.approx(range(len(names)))
    return [
        (name, pytest.approx(width), colour, word.get_text())
        for name, (_, _, width, _, colour), word in zip(names, boxes, ax.texts, strict=True)
    ]


def test_the_ladder_has_a_bar_as_long_as_each_rate(drawn):
    timings = [
        timing("Python", "numpy_matmul", 300.0, device="host"),
        timing("OpenCL", "naive", 2.0),
        timing("OpenCL", "CLBlast", 20.0),
        timing("CUDA", "tiled", 50.0, device="a GPU"),
    ]
    text = pictures.ladder_chart(timings).text
    (ax,) = drawn[0].axes
    assert bars(ax) == [
        ("NumPy", 300, GREY, "300"),
        ("naive (OpenCL)", 2, OPENCL, "2"),
        ("CLBlast (OpenCL)", 20, GREY, "20"),
        ("tiled (CUDA)", 50, CUDA, "50"),
    ]
    assert ax.get_axisbelow() is True and ax.get_xscale() == "log" and ax.get_xlim() == (0.5, pytest.approx(900))
    assert [t.get_text() for t in drawn[0].texts] == ["512 x 512 x 512 on a device, a GPU"]
    assert text.startswith("Bar chart: numpy_matmul 300 GFLOP/s; naive (OpenCL) 2 GFLOP/s; CLBlast (OpenCL) 20")
    # A slow one has a bar, too; of the host's only NumPy has another name than its own.
    pictures.ladder_chart([timing("OpenCL", "naive", 0.2), timing("Python", "loops", 2.0, device="host")])
    (ax,) = drawn[1].axes
    assert ax.get_xlim()[0] == pytest.approx(0.1) and ax.get_xlabel().endswith("ten times")
    assert [word for _, word in ticks(ax.yaxis)] == ["naive (OpenCL)", "loops"]


def test_predicted_bars_are_hollow_and_say_their_limit(drawn):
    predictions = predicted_ladder("A6000", 4096, ["naive", "prefetched"])
    text = pictures.ladder_chart([timing("OpenCL", "naive", 2.0)], predictions).text
    (ax,) = drawn[0].axes
    assert [bar.get_hatch() for bar in ax.patches] == [None, "///", "///"]
    assert [to_hex(bar.get_facecolor()) for bar in ax.patches] == [OPENCL, "#ffffff", "#ffffff"]
    assert [bar.get_width() for bar in ax.patches[1:]] == [p.gflops for p in predictions]
    assert [to_hex(bar.get_edgecolor()) for bar in ax.patches[1:]] == [LOADS, GREY]  # loads and stores; issue
    assert [t.get_text() for t in ax.texts][1:] == ["284, limit: loads and stores", "23,887, limit: issue"]
    assert [t.get_text() for t in drawn[0].texts] == [
        "512 x 512 x 512 on a device\n4096 x 4096 x 4096 on A6000, predicted (hollow)"
    ]
    assert "prefetched on A6000 23,887 GFLOP/s predicted, by issue" in text
    pictures.ladder_chart([], predictions)
    assert [t.get_text() for t in drawn[1].texts] == ["4096 x 4096 x 4096 on A6000, predicted (hollow)"]


def test_a_bar_a_unit_and_the_longest_is_the_time(drawn):
    p = predict("register_1d", "H100", 4096, 4096, 4096)
    text = pictures.picture_units(p).text
    (ax,) = drawn[0].axes
    units = sorted({*p.units} - {*ON_TOP}, key=p.units.get, reverse=True)
    assert [name for _, name in ticks(ax.yaxis)] == units and units[0] == p.limit
    ends = {}
    for bar in ax.patches:
        ends[round(bar.get_y() + bar.get_height() / 2)] = bar.get_x() + bar.get_width()
    assert p.units["waiting"] > 0  # behind the longest bar
    assert list(ends.values()) == pytest.approx([1e3 * p.seconds, *(1e3 * p.units[unit] for unit in units[1:])])
    assert len(ax.patches) == len(units) + 2 + 3  # what the requests took is drawn in four parts; losses and waiting
    assert len(ax.lines) == 0  # a line would run through the words of the other bars
    assert "ms of waiting" in text and "% lanes" in text


def test_of_the_units_those_that_a_page_has_explained(drawn):
    p = predict("naive", "A6000", 4096, 4096, 4096)
    text = pictures.picture_units(p, upto="memory").text
    (ax,) = drawn[0].axes
    assert [name for _, name in ticks(ax.yaxis)] == ["memory", "multiply-adds"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(
        [1e3 * p.units["memory"], 1e3 * p.units["multiply-adds"]]
    )
    rate = 2 * 4096**3 / p.units["memory"] / 1e9
    assert f"at most {rate:,.0f} GFLOP/s by these units" in text and "predicted" not in text
    assert "predicted" in pictures.picture_units(p, upto=[*UNITS][-1]).text


def test_a_chart_is_as_high_as_a_screen_at_most_and_its_names_do_not_meet_nor_are_cut_off(drawn):
    name = "a function with a name that nobody will read to its end"
    pictures.ladder_chart([timing("OpenCL", f"{name} {i}", 100.0 + i) for i in range(20)])
    (figure,) = drawn
    (ax,) = figure.axes
    assert figure.get_figheight() <= drawing.HIGH + 0.2
    figure.draw_without_rendering()
    for labels in (ax.get_yticklabels(), ax.texts):
        boxes = [label.get_window_extent() for label in labels if label.get_text()]
        assert not any(box.count_overlaps([b for b in boxes if b is not box]) for box in boxes)
        assert min(box.x0 for box in boxes) > 0 and ax.bbox.width > figure.bbox.width / 4


# ----------------------------------------------------------------------------------------- growth_chart


def test_growth_has_a_line_through_the_rates_of_each_contestant(drawn):
    more = {key: rate and 2 * rate for key, rate in RATES.items()}
    boards = [board(1024, more, peak=2000), board(256, RATES), dataclasses.replace(board(64, RATES), M=8)]
    text = pictures.growth_chart(boards, "2026-01-01").text  # the third is of no square size
    (ax,) = drawn[0].axes
    peak, *drawn_lines = ax.lines
    assert list(peak.get_ydata()) == [2000, 2000] and peak.get_linestyle() == "--"
    names = ["packed (OpenCL)", "NumPy", "CLBlast (OpenCL)", "tiled (OpenCL)"]  # the fastest first
    rates = [800, 400, 200, 100]
    assert [line.get_label() for line in drawn_lines] == names
    for line, rate in zip(drawn_lines, rates, strict=True):
        assert list(line.get_xdata()) == [256, 1024] and line.get_linestyle() == ":"
        assert list(line.get_ydata()) == pytest.approx([rate, 2 * rate])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == names
    assert ticks(ax.xaxis) == [(256, "256"), (1024, "1024")] and ax.get_xscale() == "log"
    assert ax.get_ylim()[0] == 0 and ax.get_yscale() == "linear"
    assert drawn[0].texts[0].get_text() == "a device, recorded on 2026-01-01"
    assert text.startswith("a device, recorded on 2026-01-01, GFLOP/s as the product grows: packed (OpenCL) 800 at 256")


# ------------------------------------------------------------------------------------ picture_landscape


def test_a_landscape_has_a_cell_for_each_point_and_a_frame_around_the_best(drawn):
    rates = {(4, 8): 100.0, (8, 8): 50.0, (4, 32): None, (8, 32): 180.0, (16, 8): 10.4, (16, 32): 200.0}
    text = pictures.picture_landscape(rates, "BM", "BN").text
    assert text.endswith(": the best, 200, at BM = 16 and BN = 32; the lowest of 6, 10.")
    (ax,) = drawn[0].axes
    numbers = {(1, 1): "100", (1, 2): "50", (1, 3): "10", (2, 1): "–", (2, 2): "180", (2, 3): "200"}
    assert words(ax) == {(0, 1): "4", (0, 2): "8", (0, 3): "16", (1, 0): "8", (2, 0): "32"} | numbers
    shades = {cell: cells(ax)[cell] for cell in numbers}
    assert shades[2, 1] == PAPER and shades[2, 3] == drawing.tint(CUDA, 0.7) and len({*shades.values()}) == 6
    assert frames(ax) == [(2, 3, 1, 1, INK)] and "across: BM, down: BN" in ax.get_title()


# -------------------------------------------------------------------------------------------- rooflines


LIMITS = Limits("a device", 500e9, 100e9)  # the ridge is at 5 flop per byte


def test_the_roof_rises_to_the_ridge_and_is_flat_from_there(drawn):
    points = [("slow", 0.25), ("fast", 10.0)]
    text = pictures.roofline(LIMITS, points).text
    (ax,) = drawn[0].axes
    roof, ridge, *dots = ax.lines
    xs, ys = roof.get_data()
    assert len(xs) >= 100 and np.allclose(ys, [min(500, 100 * x) for x in xs])  # GFLOP/s
    assert list(ridge.get_xdata()) == [5, 5]
    assert [(float(d.get_xdata()[0]), float(d.get_ydata()[0])) for d in dots] == [(0.25, 25), (10, 500)]
    named = {t.get_text(): t.xy for t in ax.texts if hasattr(t, "xy")}
    assert named == {"slow": (0.25, 25), "fast": (10, 500)}
    assert {t.get_text() for t in ax.texts} - set(named) == {"the slope: 100 GB/s", "the roof: 500 GFLOP/s"}
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_xlim()) == ("log", "log", (0.05, 100_000))
    assert ax.get_ylim() == (pytest.approx(5 / 3), pytest.approx(1200))  # a third of the least, 2.4 times the roof
    assert "until 5 flop per byte" in text and "slow at 0.25 flop per byte; fast at 10" in text
    drawn[0].draw_without_rendering()
    for box in (t.get_window_extent() for t in ax.texts if t.get_text() in named):
        marks = np.concatenate([ax.transData.transform(np.column_stack(line.get_data())) for line in (roof, *dots)])
        assert box.count_contains(marks) == 0  # a name covers neither a dot nor the roof


# ---------------------------------------------------------------------------------------- executed_chart


def test_the_instructions_for_a_multiply_add_stand_end_to_end_by_what_they_are_for(drawn):
    # Of 2 x 4 x 8 = 64 multiply-adds: 64 FMA; 32 loads and stores of three kinds; 16 integers; 48 others.
    kinds = {"FMA": 64, "global load": 16, "shared load": 8, "shared store": 8, "integer arithmetic": 16}
    mixed = dict.fromkeys(KINDS, 0) | kinds | {"branch": 40, "barrier": 8}
    pure = dict.fromkeys(KINDS, 0) | {"FMA": 128}
    runs = {
        name: CompiledRun((), (), executed, {}, (), (), "a kernel", 2, 4, 8, "")
        for name, executed in (("mixed", mixed), ("pure", pure))
    }
    text = pictures.executed_chart(runs).text
    (ax,) = drawn[0].axes
    found = [(round(y + high / 2), x, width, colour) for x, y, width, high, colour in rectangles(ax) if width]
    assert sorted(found) == [
        *((0, 0, 1.0, MULTIPLY_ADDS), (0, 1.0, 0.5, LOADS), (0, 1.5, 0.25, WHOLE), (0, 1.75, 0.75, GREY)),
        (1, 0, 2.0, MULTIPLY_ADDS),
    ]
    assert ticks(ax.yaxis) == [(0, "mixed"), (1, "pure")] and ax.yaxis_inverted()
    assert [t.get_text() for t in ax.texts] == ["2.50", "2.00"] and ax.get_xlim() == (0, pytest.approx(2.75))
    names = ["multiply-adds", "loads and stores", "integers", "the rest"]
    assert [t.get_text() for t in drawn[0].legends[0].get_texts()] == names
    assert "mixed 2.50 (multiply-adds 1.00, loads and stores 0.50, integers 0.25, the rest 0.75)" in text
