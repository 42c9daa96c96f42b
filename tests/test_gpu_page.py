"""The page "Run the ladder on your GPU", in headless Chromium: its kernels and verdicts, and each state a reader may see.

Chromium computes with the processor here (SwiftShader), so any machine will do. Most tests open the page's parts on a
bare page; those marked `bulk` open the web edition itself.
"""

import functools
import http.server
import itertools
import json
import re
import threading

import gpu_page
import numpy as np
import pytest
import web
from launch.test_webgpu import sixty_shapes
from test_browser import CHROMIUM, FLAGS
from test_web import Quiet, faults, ours, site  # noqa: F401

from helpers import ladder

STEPS = ladder.steps("WebGPU")
SOFTWARE = [flag for flag in FLAGS if flag != "--disable-gpu"]
SOFTWARE += ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
BARE = """<!doctype html><html lang="{}"><title>bare</title><link rel="stylesheet" href="_static/course.css">
<script defer src="_static/course.js"></script><article>{}</article></html>"""
IMPORTS = "const run = await import('/_static/gpu/run.js'), judge = await import('/_static/gpu/check.js');"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """(folder, address) of a page with all three parts, served; zh_CN/ has the Chinese one."""
    home = tmp_path_factory.mktemp("bare")
    for language, folder in (("en", home), ("zh_CN", home / "zh_CN")):
        gpu_page.copy_to(folder / "_static" / "gpu", language)
        for name in ("course.css", "course.js"):
            (folder / "_static" / name).write_bytes((web.ROOT / "tools" / "web" / "static" / name).read_bytes())
        parts = [("ladder", {}), ("own", {}), ("rung", {"step": "tiled"})]
        places = "\n".join(gpu_page.place(language, part, **data) for part, data in parts)
        (folder / "bare.html").write_text(BARE.format(language.replace("_", "-"), places), encoding="utf-8")
    (home / "empty.html").write_text(BARE.format("en", ""), encoding="utf-8")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=home))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield home, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def chromium():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; add it: sudo apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=SOFTWARE)
        yield running
        running.close()


@pytest.fixture
def opened(chromium):
    """A function that opens an address in a tab of its own. Afterwards: no error, no request to another host."""
    said, left, contexts = [], [], []

    def open_page(address, width=1400, scheme="light", before=None):
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.set_default_timeout(120_000)
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        home = re.match(r"https?://[^/]+/|file://", address)[0]
        page.on("request", lambda request: left.append(request.url) if not ours(request.url, home) else None)
        if before:
            page.add_init_script(before)
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == [] and left == []


@pytest.fixture(scope="module")
def judged(chromium, bare):
    """A function that checks a kernel in the browser: (step, source, shapes or None) -> the report, a dict."""
    page = chromium.new_page()
    page.set_default_timeout(300_000)
    page.goto(bare[1] + "empty.html")
    if not page.evaluate("navigator.gpu?.requestAdapter().then(Boolean)"):
        pytest.skip("this Chromium has no WebGPU in software: SwiftShader")

    def judge(step, source=None, shapes=None, choice=None):
        [about] = [each for each in gpu_page.steps()["steps"] if each["name"] == step]
        if choice is not None:
            about["choices"] = [about["choices"][choice]]
        asked = dict(name=step, source=source or gpu_page.source(step), step=about, own=source is not None)
        return page.evaluate(
            f"""async ([one, stages]) => {{
                {IMPORTS}
                const gpu = await run.Gpu.open();
                try {{ return await judge.check(gpu, one, async () => {{}}, stages ?? undefined); }}
                catch (error) {{ return {{ right: false, findings: [{{ kind: error.kind ?? String(error), ...error.detail }}] }}; }}
                finally {{ gpu.close(); }}
            }}""",
            [asked, shapes and [shapes]],
        )

    yield judge
    page.close()


# ------------------------------------------------------------------------------------------------ the kernels, judged


@pytest.mark.parametrize("step", STEPS)
def test_a_rung_is_right_at_ragged_shapes(judged, step):
    assert judged(step, shapes=sixty_shapes()[:12])["right"]


@pytest.mark.bulk
@pytest.mark.parametrize("step", STEPS)
def test_a_rung_is_right_at_sixty_ragged_shapes(judged, step):
    report = judged(step, shapes=sixty_shapes())
    assert report["right"] and report["shapes"] == 60


@pytest.mark.parametrize("step", ["vectorized", "prefetched"])
def test_a_rung_is_right_with_the_sizes_of_small_devices(judged, step):
    about = [each for each in gpu_page.steps()["steps"] if each["name"] == step][0]
    assert len(about["choices"]) == 2 and about["choices"][0]["shared_bytes"] <= 16 * 1024
    assert judged(step, choice=0, shapes=sixty_shapes()[:9])["right"]


# (what, step, old, new, the verdict's name)
WRONG = [
    ("zeros", "naive", "C[row * N + col] = acc", "C[row * N + col] = 0.0 * acc", "zeros"),
    ("nothing", "naive", "C[row * N + col] = acc;", "", "nothing stored"),
    ("adds", "naive", "var acc = 0.0;", "var acc = C[row * N + col];", "adds to C"),
    ("no guard", "naive", "if (row < M && col < N)", "if (row < M)", "out of bounds"),
    ("guard of K", "tiled", "if (k0 + ty < K && col < N) {", "if (col < N) {", "out of bounds"),
    ("last rows", "naive", "if (row < M && col", "if (row + 1 < M && col", "unwritten"),
    ("swapped", "naive", "let row = id.x; let col = id.y;", "let row = id.y; let col = id.x;", "x and y swapped"),
    ("turned", "naive", "C[row * N + col]", "C[col * M + row]", "transposed"),
    ("= for +=", "naive", "acc +=", "acc =", "K is cut"),
    ("k from 1", "coalesced", "k = 0u", "k = 1u", "K is cut"),
    ("a tile less", "tiled", "k0 < K;", "k0 + TILE <= K;", "K is cut"),
    ("next row", "naive", "A[row * K + k]", "A[((row + 1) % M) * K + k]", "wrong row"),
    ("next column", "naive", "B[k * N + col]", "B[k * N + (col + 1) % N]", "wrong column"),
    ("row length", "naive", "A[row * K + k]", "A[row * N + k]", "wrong index|out of bounds"),
    ("tile turned", "tiled", "acc += As[ty][k] * Bs[k][tx]", "acc += As[ty][k] * Bs[tx][k]", "wrong index"),
    ("starts at one", "naive", "var acc = 0.0;", "var acc = 1.0;", "wrong start"),
    ("adds up", "naive", "A[row * K + k] * B", "A[row * K + k] + B", "wrong operator"),
    ("at the edge", "tiled", "col < N) { C[row * N + col] = acc", "col < N) { C[row * N + col] = select(acc, 2.0 * acc, row + 1 == M)", "edge"),
    ("no first barrier", "tiled", "        workgroupBarrier();\n\n        // 3.", "\n\n        // 3.", "race"),
    ("for ever", "naive", "k++", "k += 0u", "hang"),
    ("leaves", "tiled", "    var acc = 0.0;", "    var acc = 0.0; if (row >= M || col >= N) { return; }", "does not compile"),
]  # fmt: skip


def changed(step, old, new):
    source = gpu_page.source(step)
    assert source.count(old) >= 1
    return source.replace(old, new, 1)


@pytest.mark.parametrize("what, step, old, new, kind", WRONG, ids=[case[0] for case in WRONG])
def test_a_wrong_kernel_is_refused_by_name(judged, what, step, old, new, kind):
    report = judged(step, changed(step, old, new))
    assert not report["right"] and re.fullmatch(kind, report["findings"][0]["kind"]), report


def test_a_loop_without_an_end_is_named_with_its_line(judged):
    source = changed("naive", "k++", "k += 0u")
    [finding] = judged("naive", source)["findings"]
    assert source.splitlines()[finding["line"] - 1].strip().startswith("for (var k")


def test_what_does_not_compile_is_told_with_the_line_of_ones_own_text(judged):
    source = changed("tiled", "acc += ", "ac += ")
    [error, *_] = judged("tiled", source)["findings"][0]["errors"]
    assert "ac" in error["message"] and source.splitlines()[error["line"] - 1].strip().startswith("ac +=")


HEAD = gpu_page.source("naive").split("@compute")[0]
RIGHT = {
    "a while loop": ("naive", "for (var k = 0u; k < K; k++) {", "var k = 0u; while (k < K) {", "B[k * N + col];", "B[k * N + col]; k++;"),
    "fma": ("tiled", "acc += As[ty][k] * Bs[k][tx];", "acc = fma(As[ty][k], Bs[k][tx], acc);"),
    "backwards": ("coalesced", "for (var k = 0u; k < K; k++) {", "for (var n = 0u; n < K; n++) { let k = K - 1 - n;"),
    "select": ("tiled", "Bs[ty][tx] = 0.0;", "", "if (k0 + ty < K && col < N) { Bs[ty][tx] = B[(k0 + ty) * N + col]; }",
               "Bs[ty][tx] = select(0.0, B[(k0 + ty) * N + col], k0 + ty < K && col < N);"),
    "leaves early": ("naive", "if (row < M && col < N) {", "if (row >= M || col >= N) { return; } {"),
    "a loop with a break": ("naive", "for (var k = 0u; k < K; k++) {", "var k = 0u; loop { if (k == K) { break; }", "B[k * N + col];", "B[k * N + col]; k++;"),
    "its own names": ("naive", "fn naive", "fn mine", "acc", "sum", "acc", "sum", "acc", "sum"),
}  # fmt: skip


@pytest.mark.parametrize("what", RIGHT)
def test_a_right_kernel_in_another_style_passes(judged, what):
    step, *changes = RIGHT[what]
    source = gpu_page.source(step)
    for old, new in itertools.batched(changes, 2) if hasattr(itertools, "batched") else zip(changes[::2], changes[1::2], strict=True):
        assert old in source
        source = source.replace(old, new, 1)
    report = judged(step, source)
    assert report["right"], report["findings"]


@pytest.mark.parametrize("step", STEPS)
def test_a_rung_is_right_with_its_loops_counted(judged, step):
    """A reader's kernel is: the count must neither refuse nor cut a loop of a right one."""
    report = judged(step, gpu_page.source(step), shapes=sixty_shapes()[:5])
    assert report["right"], report


@pytest.mark.parametrize("name", gpu_page.LEFT_OUT)
def test_an_exercise_that_nobody_filled_in_is_not_yet_done(judged, name):
    [finding] = judged(name, gpu_page.stub(name))["findings"]
    assert finding["kind"] == "not yet"
