"""Pictures of products on many ranks: every block, panel and point is where numbers worked out here say."""

import numpy as np
from artists import arrows

from helpers.pictures import film_panels, many, picture_ranks, picture_summa, prediction_chart
from summa import INFINIBAND_NDR, Network, Run, predicted_seconds


def a_run(size=(6, 4, 5), grid=(3, 2), panels=((0, 2, 0, 0), (2, 5, 1, 1)), seconds=1.0):
    places = [(i, j) for i in range(grid[0]) for j in range(grid[1])]
    reports = [{"place": place, "panels": panels, "seconds": seconds} for place in places]
    return Run(np.zeros(size[:2], np.float32), size, grid, reports)


def test_each_block_has_the_number_of_its_rank(monkeypatch):
    drawn = []
    monkeypatch.setattr(many, "panel", lambda ax, *what: drawn.append(what))
    picture = picture_ranks(a_run())
    places = {(0, 0): 0, (0, 1): 1, (1, 0): 2, (1, 1): 3, (2, 0): 4, (2, 1): 5}
    assert [(rows, columns, labels) for rows, columns, _, _, _, labels in drawn] == [(3, 2, places)] * 3
    assert [title for _, _, _, title, _, _ in drawn] == ["A, 6 x 5", "B, 5 x 4", "C, 6 x 4"]
    assert all(len(set(colours.values())) == 6 and colours.keys() == places.keys() for _, _, colours, _, _, _ in drawn)
    assert "rank 3 block (1, 1)" in picture.text


def test_the_film_shows_the_panels_that_come_to_a_rank():
    film = film_panels(a_run(), rank=3)
    first, second = (now for _, now in film.frames)
    assert set(first) == {("A", (r, k)) for r in (2, 3) for k in (0, 1)} | {
        ("B", (k, c)) for k in (0, 1) for c in (2, 3)
    }
    assert set(second) == {("A", (r, k)) for r in (2, 3) for k in (2, 3, 4)} | {
        ("B", (k, c)) for k in (2, 3, 4) for c in (2, 3)
    }
    assert film.frames[-1][0] == first + second and set(film.frames[-1][0].values()) == {1}
    assert film.stored == {(r, c) for r in (2, 3) for c in (2, 3)}


def test_the_chart_has_what_was_measured_and_what_is_predicted(monkeypatch):
    figures = []
    monkeypatch.setattr(many, "Picture", lambda figure, text: figures.append(figure) or text)
    here, there = Network("here", 1e-3, 1e6), INFINIBAND_NDR
    runs = [a_run(size=(60, 40, 50), grid=grid, seconds=s) for grid, s in (((1, 1), 4.0), ((2, 1), 2.5))]
    runs.insert(0, a_run(size=(60, 40, 50), grid=(2, 1), seconds=9.0))  # the fastest of a number of ranks counts
    text = prediction_chart(runs, 1e6, here, (4096, 4096, 4096))
    left, right = figures[0].axes
    measured, predicted = left.lines
    assert (list(measured.get_xdata()), list(measured.get_ydata())) == ([1, 2], [4.0, 2.5])
    assert list(predicted.get_ydata()) == [sum(predicted_seconds(60, 40, 50, ranks, 1e6, here)) for ranks in (1, 2)]
    computing, moving = right.lines
    expected = [predicted_seconds(4096, 4096, 4096, 4**n, 1e6, there) for n in range(6)]
    assert list(computing.get_xdata()) == [1, 4, 16, 64, 256, 1024]
    assert list(computing.get_ydata()) == [one for one, _ in expected]
    assert list(moving.get_ydata()) == [other for _, other in expected[1:]]
    assert f"prediction, {there.name}" in right.get_title() and "1024 ranks" in text
    prediction_chart(runs, 6e4, here, (4096, 4096, 4096))
    low, high = figures[1].axes[0].get_ylim()  # less than a power of ten, and numbers all the same
    ticks = figures[1].axes[0].yaxis.get_majorticklocs()
    assert high < 5 * low and sum(low <= tick <= high for tick in ticks) >= 2


def test_a_step_of_summa_moves_a_panel_of_each_and_leaves_c(monkeypatch):
    drawn = []
    monkeypatch.setattr(many, "panel", lambda ax, *what: drawn.append(what))
    picture = picture_summa(2, 3)
    assert [(rows, columns) for rows, columns, *_ in drawn] == [(2, 3)] * 3
    assert [title for _, _, _, title, *_ in drawn] == ["A: along the rows", "B: along the columns", "C: stays"]
    assert drawn[0][-1] == {(0, 0): 0, (0, 1): 1, (0, 2): 2, (1, 0): 3, (1, 1): 4, (1, 2): 5}
    assert "along its row of 3" in picture.text and "along its column of 2" in picture.text


def test_on_one_column_of_ranks_only_panels_of_b_move(drawn):
    picture_summa(2, 1)
    a, b, _ = drawn[0].axes
    assert not arrows(a) and len(arrows(b)) == 1
