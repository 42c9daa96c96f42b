"""Pictures come with words, and their numbers with the ladder's own."""

import base64
import functools
import re
import sys
from html import unescape

import pytest
from few import SMALL
from matplotlib.text import Text

from helpers import check, cuda_kernel, ladder, opencl_kernel, pictures, show, with_part
from helpers.clock import Limits, Scoreboard, Timing
from helpers.instruments import CompiledRun, predict, predicted_ladder
from helpers.pictures import film, indices
from ptx_machine import KINDS

TIMINGS = [
    Timing("OpenCL", step, 512, 512, 512, seconds, 0.1, "a device", ladder.STEPS[step].defaults["CPU (PoCL)"])
    for step, seconds in zip(ladder.steps("CUDA")[:5], (0.2, 0.02, 0.002, 0.0015, 0.0012), strict=True)
]

EXECUTED = dict.fromkeys(KINDS, 0) | {"FMA": 64, "shared load": 32, "global load": 16, "whole-number arithmetic": 8}
RUN = CompiledRun((), (), EXECUTED | {"branch": 8}, {}, (), (), "naive", 4, 4, 4, "")


def board(M):
    """A scoreboard of three contestants at M x M x M."""
    timings = (
        Timing("Python", "numpy_matmul", M, M, M, 2.0, 0.1, "a device", {}),
        Timing("OpenCL", "CLBlast", M, M, M, 4.0, 0.1, "a device", {}),
        Timing("OpenCL", "tiled", M, M, M, 1.0, 0.1, "a device", {}),
    )
    return Scoreboard(M, M, M, timings, ((2.0,), (4.0,), (1.0,)), 4 * M**3, "a device")


FOURS = dict(BM=8, BN=8, BK=8, TM=4, TN=4)
ALL = {
    "owners": lambda build: pictures.picture_owners(build("naive", BM=4, BN=2), 6, 9),
    "addresses": lambda build: pictures.picture_addresses(build("naive", BM=32, BN=8), 32, 8, 8),
    "share": lambda build: pictures.picture_share(build("register_1d", BM=8, BN=4, BK=4, TM=4)),
    "stages": lambda build: pictures.picture_stages(build("tiled", TILE=4), thread=(2, 1)),
    "film": lambda build: film(build("tiled", TILE=4), 5, 9, 7).strip(),
    "program": lambda _: pictures.picture_program(4, 6, 8, 1, 1, 8, x=3, y=1),
    "rungs": lambda _: pictures.picture_rungs(),
    "fragments": lambda _: pictures.picture_fragments(31),
    "landscape": lambda _: pictures.picture_landscape(
        {(x, y): x * y if x < y else None for x in (4, 8, 16) for y in (8, 16, 32)}, "BM", "BN"
    ),
    "growth": lambda _: pictures.growth_chart([board(8), board(16)], "recorded on 2026-01-01"),
    "predicted ladder": lambda _: pictures.ladder_chart([], predicted_ladder("A100", 512)),
    "units": lambda _: pictures.picture_units(predict("tiled", "A100", 512, 512, 512)),
    "executed": lambda _: pictures.executed_chart({"naive": RUN, "again": RUN}),
    "chart": lambda _: pictures.ladder_chart(
        [
            Timing("Python", "numpy_matmul", 8, 8, 8, 1e-3, 0.1, "host", {}),
            Timing("OpenCL", "naive", 8, 8, 8, 1e-2, 0.1, "a device", {}),
        ]
    ),
    "roofline": lambda _: pictures.roofline(Limits("a device", 5e11, 1e11), [("naive", 0.25), ("ceiling", 8)]),
}


INIT = pictures.Picture.__init__  # as it is when no test has changed it


@functools.cache  # so that each is traced and drawn once
def made(name, build=opencl_kernel):
    """The picture of that name, and the figure that it was made from."""
    figures = []

    def keep(picture, figure, text):
        figures.append(figure)
        INIT(picture, figure, text)
        figure.draw_without_rendering()  # so that its texts have places, in its own pixels

    with pytest.MonkeyPatch.context() as now:
        now.setattr(pictures.Picture, "__init__", keep)
        picture = ALL[name](build)
    return picture, figures[0]


def test_the_picture_of_the_ladder_has_each_rung_of_both_dialects():
    assert [*indices.RUNGS] == [name for name in ladder.rungs() if len(ladder.STEPS[name].dialects) > 1]


@pytest.mark.parametrize("name", ALL)
def test_every_picture_has_an_image_and_a_text(name):
    data, metadata = made(name)[0]._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert len(data["text/plain"]) > 40 and metadata["image/png"]["alt"] == data["text/plain"]


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_drawn_outside_its_picture_or_below_eleven_points(name):
    _, figure = made(name)
    texts = [*figure.texts, *(text for part in figure.subfigs for text in part.texts)]
    for ax in figure.axes:
        titles = [child for child in ax.get_children() if isinstance(child, Text)]
        texts += {*ax.texts, *titles}
        if ax.axison:
            low, high = sorted(ax.get_ylim())
            texts += [ax.xaxis.label, ax.yaxis.label]
            texts += [t for t in ax.get_yticklabels() if low <= t.get_position()[1] <= high]
    width, height = figure.canvas.get_width_height()
    for text in texts:
        if text.get_text().strip():
            box = text.get_window_extent()
            assert text.get_fontsize() >= 11, text
            assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1, text


def test_the_pictured_sectors_are_the_exercises(drawn):
    """The answers for strides of 8 and 1, on page 03."""
    assert "A: 32 sectors" in made("addresses")[0].text
    text = pictures.picture_addresses(cuda_kernel("coalesced", BM=8, BN=32), 8, 32, 8).text
    assert "B: 4 sectors" in text


def test_both_dialects_give_the_same_picture():
    """So do all that are drawn from a trace, since that is the same in both."""
    one, other = (made("owners", build)[0] for build in (cuda_kernel, opencl_kernel))
    assert one.encoded() == other.encoded() and one.text == other.text


def test_a_kernel_for_cpus_has_pictures_too(drawn):
    k = opencl_kernel("packed", **SMALL["packed"])
    # Its first block has four of the eight rows, which it copies, and goes over B's twelve columns for each of them.
    read = "32 elements of A, 32 reads and 96 elements of B, 96 reads; it stores 48"
    assert read in film(k, 8, 12, 8).text
    with pytest.raises(ValueError, match=r"naive .* has no tiles As and Bs to read from; take a step that"):
        pictures.picture_share(opencl_kernel("naive", **SMALL["naive"]), (0, 0))
    addresses = pictures.picture_addresses(k, 8, 16, 8).text
    assert addresses.count("1 sectors, 16 of 32 bytes used") == 3  # a vector of A, of B and of C


@pytest.fixture
def shown(monkeypatch):
    """What `show` displays, a dict of formats for each source."""
    displayed = []
    monkeypatch.setattr(sys.modules["helpers.pictures.sources"], "display", lambda one, raw: displayed.append(one))
    return displayed


def test_show_displays_the_source_as_it_runs(shown):
    k = opencl_kernel("tiled")
    show(k)
    lines = [f"{number:2} | {line}".rstrip() for number, line in enumerate(k.source.splitlines(), 1)]
    assert shown[0]["text/plain"].split("\n") == ["OpenCL · helpers/opencl/tiled.cl", "", *lines]


@pytest.mark.parametrize("build", [cuda_kernel, opencl_kernel])
def test_the_coloured_source_is_the_same_text_and_breaks_no_line(build, shown):
    show(build("vectorized"))
    html = shown[0]["text/html"]
    plain = unescape(re.sub("<[^>]*>", "", html.split("</p>\n")[1]))
    listed = shown[0]["text/plain"].split("\n\n", 1)[1]
    assert plain.removesuffix("\n").split("\n") == listed.split("\n")
    assert html.count("<span class=") > 50 and 'style="white-space: pre; overflow-x: auto"' in html


def test_a_shown_number_is_the_one_that_a_verdict_names(shown):
    wrong = cuda_kernel("tiled").source.replace("cuda.syncthreads()", "pass")
    k = cuda_kernel("\n\n" + wrong, like="tiled", TILE=4)  # empty lines in front count, too
    quoted = [line.strip() for line in repr(check(k)).splitlines() if " | " in line]
    show(k)
    pairs = [line.split(" | ") for line in shown[0]["text/plain"].splitlines() if " | " in line]
    assert quoted and set(quoted) <= {f"{number.strip()} | {code.strip()}" for number, code in pairs}


@pytest.mark.parametrize("dialect, step", [(d, s) for d in ("CUDA", "OpenCL") for s in ladder.steps(d)])
def test_each_part_of_a_kernel_can_be_replaced(dialect, step):
    source = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}[dialect](step).source
    last = int(max(re.findall(r"(?:#|//) (\d)\. ", source)))
    together = [(1, min(last, 4)), (2, 3)] if step in ladder.rungs() and step != "packed" else []
    for parts in [*range(1, last + 1), *together]:
        head, gap, tail = with_part(dialect, step, parts, "@gap@").partition("@gap@\n")
        assert gap and source.startswith(head.rstrip(" ")) and source.endswith(tail)
        own = source[len(head.rstrip(" ")) : len(source) - len(tail)]
        first = parts[0] if isinstance(parts, tuple) else parts
        assert f" {first}. " in own.split("\n")[0] and with_part(dialect, step, parts, own) == source


def test_a_part_ends_before_the_block_of_the_next_part():
    source = with_part("OpenCL", "packed", 2, "@gap@")
    assert "@gap@\n\n            for (int r = 0; r < rows; r += TM) {\n                // 3. " in source
    assert source.count("{") - source.count("}") == 0


def test_a_part_that_there_is_none_of_is_named():
    with pytest.raises(ValueError, match=r"tiled in CUDA has no part 7; its parts are 1, 2, 3, 4, 5\."):
        with_part("CUDA", "tiled", 7, "")
    with pytest.raises(ValueError, match=r"no part \(3, 7\)"):
        with_part("CUDA", "tiled", (3, 7), "")
