"""Pictures come with words, and their numbers with the ladder's own."""

import re
import sys
from html import unescape

import pytest
from few import SMALL
from matplotlib.text import Text

from helpers import cuda_kernel, ladder, opencl_kernel, pictures, show
from helpers.clock import Limits, Timing, read_results
from helpers.instruments import CompiledRun, predict, predicted_ladder
from helpers.pictures import film, indices
from ptx_machine import KINDS

EXECUTED = dict.fromkeys(KINDS, 0) | {"FMA": 64, "shared load": 32, "global load": 16, "integer arithmetic": 8}
RUN = CompiledRun((), (), EXECUTED | {"branch": 8}, {}, (), (), "naive", 4, 4, 4, "")


ALL = {
    "owners": lambda: pictures.picture_owners(opencl_kernel("naive", BM=4, BN=2), 6, 9),
    "addresses": lambda: pictures.picture_addresses(opencl_kernel("naive", BM=32, BN=8), 32, 8, 8),
    "share": lambda: pictures.picture_share(opencl_kernel("register_1d", BM=8, BN=4, BK=4, TM=4)),
    "stages": lambda: pictures.picture_stages(opencl_kernel("tiled", TILE=4), thread=(2, 1)),
    "film": lambda: film(opencl_kernel("tiled", TILE=4), 5, 9, 7).strip(),
    "program": lambda: pictures.picture_program(4, 6, 8, 1, 1, 8, x=3, y=1),
    "rungs": lambda: pictures.picture_rungs(),
    "fragments": lambda: pictures.picture_fragments(31),
    "landscape": lambda: pictures.picture_landscape(
        {(x, y): x * y if x < y else None for x in (4, 8, 16) for y in (8, 16, 32)}, "BM", "BN"
    ),
    "growth": lambda: pictures.growth_chart(read_results()[0].boards, "2026-01-01"),
    "ladder": lambda: pictures.ladder_chart(
        [Timing("OpenCL", "naive", 8, 8, 8, 1e-2, 0.1, "a device", {})], predicted_ladder("A100", 512)
    ),
    "units": lambda: pictures.picture_units(predict("tiled", "A100", 512, 512, 512)),
    "executed": lambda: pictures.executed_chart({"naive": RUN, "again": RUN}),
    "roofline": lambda: pictures.roofline(Limits("a device", 5e11, 1e11), [("naive", 0.25), ("ceiling", 8)]),
}


def test_the_picture_of_the_ladder_has_each_rung_of_both_dialects():
    assert [*indices.RUNGS] == [name for name in ladder.rungs() if len(ladder.STEPS[name].dialects) > 1]


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_drawn_outside_its_picture_or_below_eleven_points_or_over_another(name, monkeypatch):
    figures = []

    def keep(picture, figure, text):
        figure.draw_without_rendering()  # so that its texts have places, in its own pixels
        figures.append(figure)
        picture.text = text

    monkeypatch.setattr(pictures.Picture, "__init__", keep)
    assert len(ALL[name]().text) > 40
    [figure] = figures
    beside = [*figure.texts, *(text for part in figure.subfigs for text in part.texts)]
    inside, panels = [], []
    for ax in figure.axes:
        titles = [child for child in ax.get_children() if isinstance(child, Text)]
        panels += [ax, ax.title]
        inside += {*ax.texts, *titles}
        if ax.axison:
            low, high = sorted(ax.get_ylim())
            inside += [ax.xaxis.label, ax.yaxis.label]
            inside += [t for t in ax.get_yticklabels() if low <= t.get_position()[1] <= high]
    width, height = figure.canvas.get_width_height()
    for text in filter(Text.get_text, beside + inside):
        box = text.get_window_extent()
        assert text.get_fontsize() >= 11, text
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1, text
    for text in filter(Text.get_text, beside):
        assert not text.get_window_extent().padded(-3).count_overlaps([one.get_window_extent() for one in panels]), text


def test_a_kernel_for_cpus_has_pictures_too(drawn):
    k = opencl_kernel("packed", **SMALL["packed"])
    # Its first block has four of the eight rows, which it copies, and goes over B's twelve columns for each of them.
    read = "32 elements of A, 32 reads and 96 elements of B, 96 reads; it stores 48"
    assert read in film(k, 8, 12, 8).text
    addresses = pictures.picture_addresses(k, 8, 16, 8).text
    assert addresses.count("1 sectors, 16 of 32 bytes used") == 3  # a vector of A, of B and of C


@pytest.fixture
def shown(monkeypatch):
    """What `show` displays, a dict of formats for each source."""
    displayed = []
    monkeypatch.setattr(sys.modules["helpers.pictures.sources"], "display", lambda one, raw: displayed.append(one))
    return displayed


def test_the_coloured_source_is_the_same_text_and_breaks_no_line(shown):
    show(opencl_kernel("vectorized"))
    assert shown[0]["text/plain"].startswith("OpenCL · helpers/opencl/vectorized.cl\n\n 1 | ")
    html = shown[0]["text/html"]
    plain = unescape(re.sub("<[^>]*>", "", html.split("</p>\n")[1]))
    listed = shown[0]["text/plain"].split("\n\n", 1)[1]
    assert plain.removesuffix("\n").split("\n") == listed.split("\n")
    assert html.count("<span class=") > 50 and 'style="white-space: pre; overflow-x: auto"' in html


def test_a_line_has_its_number_in_the_source_whose_empty_lines_above_count(shown):
    show(cuda_kernel("\n\n" + cuda_kernel("tiled").source, like="tiled", TILE=4))
    source = ["", "", *cuda_kernel("tiled").source.splitlines()]
    title, _, *lines = shown[0]["text/plain"].split("\n")
    assert title == "CUDA · yours"
    assert lines == [f"{number:2} | {line}".rstrip() for number, line in enumerate(source, 1)][2:]
