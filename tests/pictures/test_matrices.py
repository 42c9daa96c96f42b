"""The pictures of matrices, cell by cell. What is expected is worked out here, from the indices that the pages tell.

nbval compares no pixels, so nothing else would see a picture that is wrong.
"""

import base64
import functools
import io
import itertools
import re

import numpy as np
import pytest
from artists import cells, frames, matrix, rectangles, segments, words
from matplotlib.figure import Figure
from PIL import Image

from helpers import cuda_kernel, opencl_kernel, pictures, with_part
from helpers.pictures import Picture, drawing, film, films, indices
from ptx_machine import warpwide

A, B, C, INK, PAPER, GRID = "#2f6db3", "#d9822b", "#3d9a50", "#333333", "#f4f4f2", "#c9c9c6"
RED = "#c4302b"  # what should not be
GREEN = "#8fcf9b"


FOURS = dict(BM=8, BN=8, BK=8, TM=4, TN=4)


@functools.cache  # so that a kernel's run is watched once
def kernel(step, **parameters):
    return opencl_kernel(step, **parameters)


def test_a_picture_has_two_pixels_for_each_of_the_page_and_its_words():
    figure = Figure(figsize=(3, 2))
    figure.add_axes((0, 0, 0.5, 1), facecolor=A).set(xticks=[], yticks=[])
    picture = Picture(figure, "half of it is blue")
    image = Image.open(io.BytesIO(base64.b64decode(picture.encoded()))).convert("RGB")
    assert image.size == (2 * 288, 2 * 192) and picture.width == 288 and repr(picture) == "half of it is blue"
    blue, white = image.getpixel((100, 100)), image.getpixel((500, 100))
    assert max(abs(x - y) for x, y in zip(blue, (0x2F, 0x6D, 0xB3), strict=True)) < 8 and white == (255, 255, 255)
    data, metadata = picture._repr_mimebundle_()
    assert data == {"image/png": picture.encoded(), "text/plain": "half of it is blue"}
    assert metadata == {"image/png": {"width": 288, "alt": "half of it is blue"}}


def test_a_panel_has_white_words_on_dark_cells_and_outlines():
    ax = Figure().add_axes((0, 0, 1, 1))
    drawing.panel(ax, 2, 3, {(0, 0): A, (1, 2): GREEN}, "a title", C, {(0, 0): "a", (0, 1): "b", (1, 2): "c"})
    assert [t.get_color() for t in ax.texts] == ["white", INK, INK] and ax.title.get_color() == C
    assert drawing.tint("#000000", 0.5) == "#7a7a79" and drawing.tint(A, 1) == A
    drawing.outline(ax, 1, 0, 1, 3, A)
    assert frames(ax) == [(1, 0, 1, 3, A)]
    for sides in ((129, 1), (64, 65)):
        with pytest.raises(ValueError, match="stay at 4096, and at 128 a side"):
            drawing.panel(ax, *sides, {}, "too many")


def test_c_stands_where_its_row_of_a_meets_its_column_of_b():
    figure = Figure(figsize=(6, 6))
    axes = drawing.draw_product(figure, (4, 5, 3), ({}, {}, {}))
    figure.draw_without_rendering()
    a, b, c = (ax.get_position() for ax in axes)
    assert [len(cells(ax)) for ax in axes] == [4 * 3, 3 * 5, 4 * 5]
    assert a.x1 < c.x0 and b.y0 > c.y1
    assert a.y0 == pytest.approx(c.y0, abs=0.02) and a.y1 == pytest.approx(c.y1, abs=0.02)
    assert b.x0 == pytest.approx(c.x0, abs=0.02) and b.x1 == pytest.approx(c.x1, abs=0.02)


def test_a_program_its_tiles_and_what_is_masked_of_them(drawn):
    picture = pictures.picture_program(5, 7, 6, 3, 4, 2, x=1, y=1, round=2)
    a, b, c = drawn[0].axes
    assert cells(a) == matrix(6, 6, {(row, k): A for row in (3, 4) for k in (4, 5)})
    assert cells(b) == matrix(6, 8, {(k, col): B for k in (4, 5) for col in (4, 5, 6)})
    assert cells(c) == matrix(6, 8, {(row, col): C for row in (3, 4) for col in (4, 5, 6)})
    assert words(a) == {(5, 4): "0", (5, 5): "0"} and words(b) == {(4, 7): "0", (5, 7): "0"}
    assert words(c) == {cell: "–" for cell in ((3, 7), (4, 7), (5, 4), (5, 5), (5, 6), (5, 7))}
    assert frames(a) == [(0, 0, 5, 6, A), (3, 4, 3, 2, INK)] and frames(b) == [(0, 0, 6, 7, B), (4, 4, 2, 4, INK)]
    assert frames(c) == [(0, 0, 5, 7, C), (3, 4, 3, 4, INK)]
    assert [ax.get_title() for ax in (a, b, c)] == ["A (5 x 6)", "B (6 x 7)", "C (5 x 7)"]
    assert "A 3 x 4 tile of C, from element (3, 4) on" in picture.text and "from k = 4 on" in picture.text


@pytest.mark.parametrize(
    "step, number, first_row, title",
    [
        # x runs down a column, so thread (x, y) of a block of 4 x 2 stores row x, column y.
        ("naive", lambda r, c: c % 2 * 4 + r % 4, 4, "x ↓  y →"),
        ("coalesced", lambda r, c: r % 4 * 2 + c % 2, 2, "x →  y ↓"),
    ],
)
def test_each_cell_bears_the_number_of_the_thread_that_stored_it(drawn, step, number, first_row, title):
    M, N = 6, 5
    text = pictures.picture_owners(kernel(step, BM=4, BN=2), M, N).text
    (ax,) = drawn[0].axes
    inside = {(r, c): number(r, c) for r in range(M) for c in range(N)}
    assert cells(ax) == matrix(8, 6, {cell: GREEN for cell, n in inside.items() if n < first_row})  # of y = 0
    assert words(ax) == {(r, c): str(inside.get((r, c), "–")) for r in range(8) for c in range(6)}
    blocks = [(r, c, 4, 2, INK) for r in (0, 4) for c in (0, 2, 4)]
    assert frames(ax) == [*blocks, (0, 0, M, N, C)]
    assert ax.get_title() == f"C (6 x 5), thread numbers, {title}"
    assert text.startswith("C of 6 x 5 under a grid of 2 x 3 blocks of 4 x 2 elements.")


@pytest.mark.parametrize(
    "step, block, size, asked",
    [
        # A warp of naive has 32 rows of 8 floats, a sector each, of which it asks for the first float.
        ("naive", dict(BM=32, BN=8), (32, 8, 8), {"load A": [1] * 32, "load B": [1], "store C": [1] * 32}),
        # A warp of coalesced has one row: one float of A, four whole sectors of B and of C.
        ("coalesced", dict(BM=8, BN=32), (8, 32, 8), {"load A": [1], "load B": [8] * 4, "store C": [8] * 4}),
    ],
)
def test_the_sectors_of_a_warp_and_the_bytes_it_asks_for(drawn, step, block, size, asked):
    pictures.picture_addresses(kernel(step, **block), *size)
    for ax, (what, sectors), colour in zip(drawn[0].axes, asked.items(), (A, B, C), strict=True):
        expected = []
        for s, floats in enumerate(sectors):
            expected.append((s * 1.15, 1, PAPER))
            expected += [(s * 1.15 + f / 8, 1 / 8, colour) for f in range(floats)]
        found = rectangles(ax)
        assert [box[4] for box in found] == [colour for *_, colour in expected]
        assert [box[0] for box in found] == pytest.approx([x for x, *_ in expected])
        assert [box[2] for box in found] == pytest.approx([width for _, width, _ in expected])
        used, moved, many = 4 * sum(sectors), 32 * len(sectors), "s" * (len(sectors) > 1)
        said = f"{len(sectors)} sector{many} of 32 bytes, {used} of {moved} bytes used"
        assert [t.get_text() for t in ax.texts] == [what, said]


def test_a_threads_share_of_a_tile(drawn):
    k = kernel("register_2d", BM=8, BN=8, BK=4, TM=4, TN=2)  # a block of 4 x 2 threads
    text = pictures.picture_share(k, thread=(1, 0), step=2).text
    rows, columns = (0, 2, 4, 6), (1, 5)  # from y = 0 on every second row, from x = 1 on every fourth column
    a, b, c = drawn[0].axes
    assert cells(a) == matrix(8, 4, {(r, 2): A for r in rows})
    assert cells(b) == matrix(4, 8, {(2, c): B for c in columns})
    assert cells(c) == matrix(8, 8, {cell: C for cell in itertools.product(rows, columns)})
    assert drawn[0].texts[0].get_text() == "thread x = 1, y = 0, at step k = 2"
    assert "owns 8 elements of C. In one step it reads 4 elements of As and 2 of Bs: 6 reads for 8 products." in text


def test_who_stages_and_who_reads_a_tile(drawn):
    text = pictures.picture_stages(kernel("tiled", TILE=4), thread=(2, 1)).text
    a, b, c = drawn[0].axes
    assert cells(a) == matrix(4, 4, {(1, k): A for k in range(4)})  # its row
    assert cells(b) == matrix(4, 4, {(k, 2): B for k in range(4)})  # its column
    assert cells(c) == matrix(4, 4, {(1, 2): C})
    for ax in (a, b, c):
        assert words(ax) == {(y, x): f"{y},{x}" for y in range(4) for x in range(4)}
    assert [len(rectangles(ax, filled=False)) for ax in (a, b, c)] == [1, 1, 0]  # its own cell is outlined
    assert drawn[0].texts[0].get_text() == "thread x = 2, y = 1, k0 = 4; in each cell: y,x of who wrote it"
    assert text == (
        "Thread x = 2, y = 1 of tiled owns 1 element of C. It stages 1 of As and 1 of Bs, outlined, and reads 4 "
        "elements of As and 4 of Bs, which others staged, too. Each cell holds the number that the products need."
    )


def test_wrong_cells_of_a_staged_tile_are_red(drawn):
    wrong = "As[ty, tx] = A[row, tx]\nBs[ty, tx] = 1"  # the first tile in every round; and no number
    k = cuda_kernel(with_part("CUDA", "tiled", 1, wrong), like="tiled", TILE=4)
    text = pictures.picture_stages(k, thread=(2, 1)).text
    a, b, _ = drawn[0].axes
    assert cells(a) == cells(b) == matrix(4, 4, dict.fromkeys(itertools.product(range(4), repeat=2), RED))
    for name in ("As", "Bs"):
        assert f"16 of 16 cells of {name} hold another number than the products need." in text


def test_only_the_wrong_cells_of_a_staged_tile_are_red(drawn):
    swapped = "As[ty, tx] = A[row, k0 + ty]\nb = B[k0 + ty, col]\nBs[ty, tx] = b"  # x and y; and right, in two lines
    k = cuda_kernel(with_part("CUDA", "tiled", 1, swapped), like="tiled", TILE=4)
    text = pictures.picture_stages(k, thread=(1, 1)).text
    a, b, _ = drawn[0].axes
    wrong = {(y, x): RED for y, x in itertools.permutations(range(4), 2)}
    assert cells(a) == matrix(4, 4, {(1, 1): A} | wrong) and cells(b) == matrix(4, 4, {(k, 1): B for k in range(4)})
    assert text.endswith("12 of 16 cells of As hold another number than the products need.")


def test_a_threads_share_of_a_turned_tile_stands_as_in_A(drawn):
    k = kernel("vectorized", **FOURS)
    assert pictures.picture_stages(k).text.endswith("Each cell holds the number that the products need.")
    pictures.picture_share(k, thread=(1, 1), step=3)
    a, b, _ = drawn[1].axes
    assert cells(a) == matrix(8, 8, {(r, 3): A for r in range(4, 8)})
    assert cells(b) == matrix(8, 8, {(3, c): B for c in range(4, 8)})


def test_wrong_rows_of_a_tile_are_drawn_where_they_are_read(drawn):
    sizes = dict(BM=8, BN=4, BK=4, TM=4)
    source = kernel("register_1d").source.replace("As[ty + i * THREADS_Y]", "As[ty * TM + i]")
    pictures.picture_share(opencl_kernel(source, like="register_1d", **sizes), thread=(1, 1), step=2)
    a, _, c = drawn[0].axes
    assert cells(a) == matrix(8, 4, {(r, 2): A for r in range(4, 8)})
    assert cells(c) == matrix(8, 4, {(r, 1): C for r in (1, 3, 5, 7)})


# ---------------------------------------------------------------------------------------------- film


def around(rows, columns):
    """The edges of a rectangle of cells, each a unit long."""
    edges = {((c, r), (c + 1, r)) for r in (rows[0], rows[-1] + 1) for c in columns}
    return edges | {((c, r), (c, r + 1)) for c in (columns[0], columns[-1] + 1) for r in rows}


def test_a_film_darkens_what_is_read_more_often(drawn):
    run = film(kernel("coalesced", BM=4, BN=2), 8, 12, 6)
    run.strip()
    # Each element of A is read by the two threads of its row of the block, each of B by the four of its column.
    dark, light = B, drawing.tint(A, 0.25 + 0.75 * 2 / 4)
    axes, numbers = drawn[0].axes, (0, 1, 5)
    for (a, b, c), k in zip((axes[0:3], axes[3:6], axes[6:9]), numbers, strict=True):
        assert cells(a) == matrix(8, 6, {(r, n): light for r in range(4) for n in range(k + 1)})
        assert cells(b) == matrix(6, 12, {(n, j): dark for n in range(k + 1) for j in range(2)})
        assert cells(c) == matrix(8, 12, {(i, j): C for i in range(4) for j in range(2) if k == 5})  # at the end
        assert segments(a) == around(range(4), [k]) and segments(b) == around([k], range(2)) and segments(c) == set()
        assert [ax.get_title() for ax in (a, b, c)] == ["A, 2 ×", "B, 4 ×", "C"]
    steps = [part.texts[0].get_text() for part in drawn[0].subfigs]
    assert steps == [f"step {n + 1} of 6" for n in numbers]
    assert [t.get_text() for t in drawn[0].texts] == [run.legend]
    assert run.legend == "coalesced, block (0, 0); n ×: how often an element was read so far, at most"
    assert run.text == (
        "coalesced, block (0, 0), 8 x 12 x 6: in 6 steps it reads 24 elements of A, 48 reads and 12 elements of B, "
        "48 reads; it stores 8 elements of C. The darkest is read 4 times."
    )


def test_a_step_lies_between_two_barriers_however_often_a_line_runs():
    run = film(kernel("register_2d", BM=8, BN=8, BK=4, TM=4, TN=2), 8, 8, 8)  # a thread stages four rows of a tile
    assert [set(now) for _, now in run.frames] == [
        {("A", (r, k)) for r in range(8) for k in tile} | {("B", (k, c)) for k in tile for c in range(8)}
        for tile in (range(4), range(4, 8))
    ]
    assert run.full == 4  # what is read once is lighter than what is read four times


def test_a_film_of_shared_memory_has_a_step_for_each_k_of_a_tile():
    run = film(cuda_kernel("register_1d", BM=8, BN=4, BK=2, TM=4), 8, 4, 4, memory="shared")  # two tiles
    steps = [{("As", (r, n)) for r in range(8)} | {("Bs", (n, c)) for c in range(4)} for n in (0, 1, 0, 1)]
    assert [set(now) for _, now in run.frames] == steps
    so_far = run.frames[-1][0]  # of each tile As is read by the four threads of a row, Bs by the two of a column
    assert {(name, often) for (name, _), often in so_far.items()} == {("As", 8), ("Bs", 4)}


def test_a_border_goes_around_a_shape_with_a_corner():
    ax = Figure().add_axes((0, 0, 1, 1))
    films.border(ax, {(0, 0), (1, 0), (1, 1)})
    assert segments(ax) == around([0], [0]) ^ around([1], [0, 1]) and len(ax.lines) == 8


def test_the_slider_has_every_frame_with_its_words_and_needs_nothing_from_elsewhere(monkeypatch):
    run = film(kernel("tiled", TILE=4), 5, 9, 7)
    html = run.html()
    images = re.findall(r'<img src="data:image/webp;base64,([^"]*)" alt="([^"]*)"', html)
    assert images == [
        (run.frame(0).encoded("webp"), "step 1 of 2 reads 16 cells of A and 16 of B"),
        (run.frame(1).encoded("webp"), "step 2 of 2 reads 12 cells of A and 12 of B"),
    ]
    assert run.frame(1).image.width == round(2 * 96 * 4.2)
    assert f'aria-label="{run.text}"' in html and run.legend in html and 'min="1" max="2" value="1"' in html
    # No script element, and no address of another place.
    assert {*re.findall(r"<(\w+)", html)} == {"figure", "figcaption", "label", "span", "input", "img"}
    assert html.count("onload") == 1 and "http" not in html
    monkeypatch.setattr(run, "html", lambda: html)
    assert set(run._repr_mimebundle_()[0]) == {"text/html", "image/png", "text/plain"}


# --------------------------------------------------------------------------------------- bad arguments


IDLE = "from numba import cuda\n\n@cuda.jit\ndef mine(A, B, C):\n    C[0, 0] = 0\n"


@pytest.mark.parametrize(
    "draw, says",  # what else is none of an argument's values: tests/test_bad_values.py
    [
        (
            lambda: pictures.picture_share(kernel("tiled", TILE=4), thread=(4, 0)),
            "thread's x=4 does not do; give a",
        ),
        (lambda: pictures.picture_share(kernel("tiled", TILE=4), step=4), "step=4 does not do; .* from 0 to 3"),
        (lambda: pictures.picture_stages(kernel("naive", BM=4, BN=2)), "has no tiles As and Bs to read from; take"),
        (lambda: film(cuda_kernel(IDLE, like="naive", BM=4, BN=2), 1, 1, 1), "your kernel .* reads nothing at 1 x 1"),
    ],
)
def test_what_cannot_be_drawn_is_named(drawn, draw, says):
    with pytest.raises(ValueError, match=says):
        draw()
    assert drawn == []


def arrows(figure):
    return [sum(hasattr(t, "arrow_patch") for t in ax.texts if t.get_text() == "") for ax in figure.axes]


def test_a_step_of_summa_moves_a_panel_of_each_and_leaves_c(drawn):
    picture = pictures.picture_summa(2, 3)
    ranks = {(0, 0): "0", (0, 1): "1", (0, 2): "2", (1, 0): "3", (1, 1): "4", (1, 2): "5"}
    assert [ax.get_title() for ax in drawn[0].axes] == ["A: along the rows", "B: along the columns", "C: stays"]
    assert words(drawn[0].axes[2]) == ranks and arrows(drawn[0]) == [2, 3, 0]
    assert "along its row of 3" in picture.text and "along its column of 2" in picture.text
    pictures.picture_summa(2, 1)
    assert arrows(drawn[1]) == [0, 1, 0]  # on one column of ranks only panels of B move


def test_an_order_of_blocks_has_their_numbers_in_c_and_what_the_first_of_them_read_in_a_and_b(drawn):
    picture = pictures.picture_order(lambda number, down, across: (number % down, number // down), 3, 2, together=4)
    assert words(drawn[0].axes[2]) == {(0, 0): "0", (1, 0): "1", (2, 0): "2", (0, 1): "3", (1, 1): "4", (2, 1): "5"}
    assert picture.text == "The first 4 of 3 x 2 blocks read 3 rows of tiles of A, 2 columns of B's."
    pictures.picture_order(lambda number, down, across: divmod(number, across), 6, 9, together=12)
    drawn[1].draw_without_rendering()
    of_A, of_C = ([ax.transData.transform((0, row))[1] for row in range(7)] for ax in drawn[1].axes[::2])
    assert of_A == pytest.approx(of_C)  # a row of A stands beside its row of C


def registers(name, matrix):
    """What the lanes of a warp hold of a matrix, register by register, (1, 32) each, as the picture has it."""
    places = [indices.fragment(name, lane) for lane in range(32)]
    return [np.float32([[matrix[place[r]] for place in places]]) for r in range(len(places[0]))]


def test_fragments_are_those_of_the_hardware(drawn):
    """What the PTX machine makes of matrices that are shared out as the picture says is their product."""
    lane = 5
    text = pictures.picture_fragments(lane).text
    X, Y, Z = (np.arange(rows * 8, dtype=np.float32).reshape(rows, 8) % 11 for rows in (16, 8, 16))
    multiply, *_ = warpwide.multiply("tf32", 8, "f32")
    words_of = [word.view(np.uint32) for word in (*registers("A", X), *registers("B", Y))]
    sums = multiply(np.ones((1, 32), bool), *words_of, *registers("C", Z))
    np.testing.assert_array_equal(sums, registers("C", X @ Y + Z))
    for ax, name, colour, shape in zip(drawn[0].axes, "ABC", (A, B, C), ((16, 8), (8, 8), (16, 8)), strict=True):
        own = {cell for cell, found in cells(ax).items() if found == colour}
        assert own == set(indices.fragment(name, lane)) and len(cells(ax)) == shape[0] * shape[1]
        said = words(ax)
        assert {cell for cell, number in said.items() if number == str(lane)} == own and len(said) == len(cells(ax))
        assert all(f"{name}[{row}, {column}]" in text for row, column in own) and ax.get_title() == name
