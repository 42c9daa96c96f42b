"""The page "Run the ladder on your GPU", in headless Chromium: its kernels, its verdicts, each state that one may see.

Chromium computes with the processor here (SwiftShader), so any machine will do. Most tests open the page's parts on a
bare page; the last ones open the web edition itself.
"""

import json
import re

import gpu_page
import numpy as np
import pytest
import test_browser
import web
from glossary import GLOSSARY
from test_web import faults, ours, served, site  # noqa: F401

from helpers import ladder

pytestmark = pytest.mark.bulk
SOFTWARE = [flag for flag in test_browser.FLAGS if flag != "--disable-gpu"]
SOFTWARE += ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
BARE = """<!doctype html><html lang="{}"><meta charset="utf-8"><title>bare</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="_static/course.css">
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
        parts = [gpu_page.place(language, part) for part in ("ladder", "own")]
        places = "\n".join([*parts, gpu_page.beside_the_chart(language, "tiled")])
        (folder / "bare.html").write_text(BARE.format(language.replace("_", "-"), places), encoding="utf-8")
        asks = gpu_page.place(language, "own", words(language)["own"]["try"], step="naive")
        asks += gpu_page.beside_the_chart(language, "tiled")
        (folder / "exercise.html").write_text(BARE.format(language.replace("_", "-"), asks), encoding="utf-8")
    (home / "empty.html").write_text(BARE.format("en", ""), encoding="utf-8")
    with served(home) as address:
        yield home, address


@pytest.fixture(scope="module")
def chromium(bare):
    with test_browser.chromium(SOFTWARE) as running:
        page = running.new_page()
        page.goto(bare[1] + "empty.html")
        there = page.evaluate("navigator.gpu?.requestAdapter().then(Boolean)")
        page.close()
        if not there:
            pytest.skip("this Chromium has no WebGPU in software: SwiftShader")
        yield running


@pytest.fixture
def blank(chromium, bare):
    """A page from which the parts' own code can be called."""
    page = chromium.new_page()
    page.set_default_timeout(300_000)
    page.goto(bare[1] + "empty.html")
    yield page
    page.close()


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
    """A function that checks a kernel in the browser: (step, source, shapes or None) -> the report, a dict.

    `p`: the step's parameters, if not those of a device. `exercise`: what the page adds to an answer to an exercise.
    """
    page = chromium.new_page()
    page.set_default_timeout(300_000)
    page.goto(bare[1] + "empty.html")

    def judge(step, source=None, shapes=None, choice=None, p=None, exercise=None):
        [about] = [each for each in gpu_page.steps()["steps"] if each["name"] == step]
        if choice is not None:
            about["choices"] = [about["choices"][choice]]
        if p:
            about["choices"] = [about["choices"][0] | dict(parameters=p, tile=ladder.STEPS[step].tile(p))]
        asked = dict(name=step, source=source or gpu_page.source(step), step=about, own=source is not None)
        asked |= exercise or {}
        return page.evaluate(
            f"""async ([one, stages]) => {{
                {IMPORTS}
                const gpu = await run.Gpu.open();
                gpu.seconds = 200; // a busy machine is no fault of a kernel
                try {{ return await judge.check(gpu, one, async () => {{}}, stages ?? undefined); }}
                catch (error) {{ return {{ findings: [{{ kind: error.kind ?? String(error), ...error.detail }}] }}; }}
                finally {{ gpu.close(); }}
            }}""",
            [asked, shapes and [shapes]],
        )

    yield judge
    page.close()


# ------------------------------------------------------------------------------------------------ the kernels, judged

# Single numbers, rows and columns, whole tiles, and odd sizes.
RAGGED = [(1, 1, 1), (1, 150, 3), (150, 1, 3), (1, 1, 150), (131, 2, 3), (64, 64, 64), (128, 128, 128), (99, 93, 146)]


@pytest.mark.parametrize("step", ["vectorized", "prefetched"])
def test_a_rung_is_right_with_the_sizes_of_small_devices(judged, step):
    about = next(each for each in gpu_page.steps()["steps"] if each["name"] == step)
    assert len(about["choices"]) == 2 and about["choices"][0]["shared_bytes"] <= 16 * 1024
    assert judged(step, choice=0, shapes=RAGGED)["right"]


# (what, step, old, new, the verdict's name)
WRONG = [
    ("zeros", "naive", "C[row * N + col] = acc", "C[row * N + col] = 0.0 * acc", "zeros"),
    ("nothing", "naive", "C[row * N + col] = acc;", "", "nothing stored"),
    ("adds", "naive", "var acc = 0.0;", "var acc = C[row * N + col];", "adds to C"),
    ("no guard", "naive", "if (row < M && col < N)", "if (row < M)", "out of bounds"),
    ("last rows", "naive", "if (row < M && col", "if (row + 1 < M && col", "unwritten"),
    ("swapped", "naive", "let row = id.x; let col = id.y;", "let row = id.y; let col = id.x;", "x and y swapped"),
    ("turned", "naive", "C[row * N + col]", "C[col * M + row]", "transposed"),
    ("right up to 4000", "coalesced", "k < K;", "k < min(K, 4000);", "wrong numbers"),
    ("a wait for some", "tiled", "workgroupBarrier();", "if (row < M) { workgroupBarrier(); }", "does not compile"),
]  # fmt: skip


def changed(step, old, new):
    source = gpu_page.source(step)
    assert source.count(old) >= 1
    return source.replace(old, new, 1)


@pytest.mark.parametrize("what, step, old, new, kind", WRONG, ids=[case[0] for case in WRONG])
def test_a_wrong_kernel_is_refused_by_name(judged, what, step, old, new, kind):
    report = judged(step, changed(step, old, new))
    assert not report.get("right") and re.fullmatch(kind, report["findings"][0]["kind"]), report


def test_a_loop_without_an_end_is_named_with_its_line(judged):
    source = changed("naive", "k++", "k += 0u")
    [finding] = judged("naive", source)["findings"]
    assert source.splitlines()[finding["line"] - 1].strip().startswith("for (var k")


LOOP, SUM = "for (var k = 0u; k < K; k++) {", "B[k * N + col];"
RIGHT = {  # a step, and what is replaced by what
    "a while loop": ("naive", (LOOP, "var k = 0u; while (k < K) {"), (SUM, f"{SUM} k++;")),
    "leaves early": ("naive", ("if (row < M && col < N) {", "if (row >= M || col >= N) { return; } {")),
    "its own names": ("naive", ("fn naive", "fn mine"), ("acc", "sum"), ("acc", "sum"), ("acc", "sum")),
}


@pytest.mark.parametrize("what", RIGHT)
def test_a_right_kernel_in_another_style_passes(judged, what):
    step, *changes = RIGHT[what]
    source = gpu_page.source(step)
    for old, new in changes:
        assert old in source
        source = source.replace(old, new, 1)
    report = judged(step, source)
    assert report["right"], report["findings"]


# ---------------------------------------------------------------------------------------------- the rungs' exercises

SHAPES = [(1, 1, 1), (5, 6, 7), (16, 16, 16), (17, 33, 19), (40, 36, 21)]  # of the quick tests of exercises
SIZES = {  # so small that the processor's compiler has done in a moment
    "register_1d": dict(BM=16, BN=8, BK=8, TM=4),
    "register_2d": dict(BM=16, BN=16, BK=8, TM=4, TN=4),
    "vectorized": dict(BM=16, BN=16, BK=8, TM=4, TN=4),
    "prefetched": dict(BM=32, BN=32, BK=8, TM=4, TN=4, WM=16, WN=16),
}


@pytest.fixture
def answered(judged):
    """A function that judges an answer to a step's exercise at small sizes: (step, source) -> the report.

    An answer's loops are counted, too, while it is checked: that must neither refuse nor cut a loop of a right one.
    """

    def answer(step, source, shapes=SHAPES):
        exercise = dict(rung=gpu_page.source(step), neighbours=step in gpu_page.NEIGHBOURS)
        return judged(step, source, shapes, p=SIZES.get(step), exercise=exercise)

    return answer


def test_page_14_shows_the_frame_that_one_fills_here():
    page = json.loads((web.ROOT / "notebooks" / "14_other_dialects.ipynb").read_text("utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in page["cells"])
    assert f"```wgsl\n{gpu_page.stub('tiled')}```" in text


@pytest.mark.parametrize("step", gpu_page.RUNGS)
def test_an_exercise_is_solved_by_the_rungs_own_text_and_its_loads_are_the_ladders(answered, step):
    report = answered(step, gpu_page.source(step))
    assert report["right"] and report["missed"] is None, report
    M, N, K = map(int, report["counts"]["shape"].split(" x "))
    p = SIZES.get(step) or gpu_page.steps()["steps"][gpu_page.RUNGS.index(step)]["choices"][0]["parameters"]
    width = 4 if step in ("vectorized", "prefetched") else 1
    assert report["counts"]["loads"] * width == ladder.STEPS[step].global_loads(p, M, N, K)


MULTIPLIES = "acc += As[ty][k] * Bs[k][tx];"
TURNED = "let at = id.x % BN + id.y % BM * BN;"
TURNED += "let row = id.y / BM * BM + at % BM; let col = id.x / BN * BN + at / BM;"
WIDE_A = "    if (columns % 4 == 0) { return A[at / 4]; }\n"
NEXT, FLIP = "        fetch(row0, col0, k0 + BK, item);\n", "        now = BK - now;\n"
# A step, what is replaced by what in its text, and the verdict's name.
TRIES = [
    ("naive", {"acc += A[row": "acc += 0.0 * B[k * N + col] + A[row"}, "too many loads"),
    ("coalesced", {"let row = id.y; let col = id.x;": TURNED}, "not coalesced"),
    ("tiled", {"        workgroupBarrier();\n\n        // 3.": "        // 3."}, "race"),
    ("vectorized", {WIDE_A: "    return A[at / 4];\n"}, "wrong.*|out of bounds"),
    ("prefetched", {NEXT: "", FLIP: NEXT + FLIP}, "waits"),
]


@pytest.mark.parametrize("step, changes, kind", TRIES)
def test_a_try_of_an_exercise_gets_its_verdict_by_name(answered, step, changes, kind):
    source = gpu_page.source(step)
    for old, new in changes.items():
        assert old in source
        source = source.replace(old, new, 1)
    report = answered(step, source)
    finding = report.get("missed") or report["findings"][0]
    assert re.fullmatch(kind, finding["kind"]), report


STRUCT = "struct Numbers { all: array<f32> }\n@compute"
ONE, ALL = "array<array<f32, TILE>, TILE>", "array<array<array<f32, TILE>, TILE>, 2>"
UNCOUNTED = {  # a step, and what is replaced by what in its text, which stays right
    "a pointer": ("tiled", {MULTIPLIES: "let a = &As; acc += (*a)[ty][k] * Bs[k][tx];"}),
    "three sides": ("tiled", {ONE: ALL, "As[": "As[1][", "Bs[": "Bs[1]["}),
    "a struct": ("naive", {"A: array<f32>": "A: Numbers", "A[row": "A.all[row", "@compute": STRUCT}),
    "the name of a note": ("tiled", {"As": "note"}),
}


@pytest.mark.parametrize("what", UNCOUNTED)
def test_what_cannot_be_counted_is_judged_by_its_numbers(answered, what):
    step, changes = UNCOUNTED[what]
    source = gpu_page.source(step)
    for old, new in changes.items():
        assert old in source
        source = source.replace(old, new)
    report = answered(step, source)
    assert report["right"] and report.keys().isdisjoint({"counts", "missed"}), report


@pytest.mark.parametrize("name", gpu_page.LEFT_OUT)
def test_an_exercise_that_nobody_filled_in_is_not_yet_done(answered, name):
    [finding] = answered(name, gpu_page.stub(name))["findings"]
    assert finding["kind"] == "not yet"


def of_a_launch(blank, size, before, after):
    """What `after` returns of `gpu`, `kernel` and `work`, a product of that size, once `before` was done."""
    [about] = [each for each in gpu_page.steps()["steps"] if each["name"] == "naive"]
    return blank.evaluate(
        f"""async (one) => {{
            {IMPORTS}
            {before}
            const gpu = await run.Gpu.open(), kernel = await gpu.build(one);
            const work = await run.Work.on(gpu, {size}, {size}, {size});
            work.putAll(judge.draw({size**2}), judge.draw({size**2}));
            {after}
        }}""",
        dict(name="naive", source=gpu_page.source("naive"), step=about),
    )


def test_what_the_gpus_clock_says_holds_no_launch_and_no_transfer(blank):
    """The page is held up for 40 ms whenever it asks, uploads or reads: the wall holds that, the stamps do not."""
    slow = """for (const name of ["submit", "writeBuffer"]) {
        const now = GPUQueue.prototype[name];
        GPUQueue.prototype[name] = function (...how) {
            for (const until = performance.now() + 40; performance.now() < until; );
            return now.apply(this, how);
        };
    }"""
    after = "const { seconds, wall } = await work.launch(kernel, 3); return [gpu.clock, seconds, wall];"
    clock, seconds, wall = of_a_launch(blank, 9, slow, after)
    assert clock == "stamps" and wall - seconds >= 0.04


def test_launches_are_those_of_the_ladder(blank):
    shapes = [(1, 1, 1), (33, 17, 5), (128, 129, 8), (1000, 7, 3)]
    for about in gpu_page.steps()["steps"]:
        step = ladder.STEPS[about["name"]]
        for choice in about["choices"]:
            groups = blank.evaluate(
                f"async ([kernel, shapes]) => {{ {IMPORTS} return shapes.map(([M, N]) => run.grid(kernel, M, N)); }}",
                [dict(step=about, choice=choice), shapes],
            )
            assert groups == [[*step.grid(choice["parameters"], M, N), 1] for M, N, _ in shapes]
            assert choice["threads"] == np.prod(step.block(choice["parameters"]))


def test_medians_halves_and_what_is_undecided(blank):
    found = blank.evaluate(
        """async () => {
            const { figures, beside } = await import('/_static/gpu/contest.js');
            const one = figures([4e-3, 1e-3, 2e-3, 3e-3, 5e-3], 100);
            const nine = [10, 10.1, 10.2, 9.9, 9.8, 10, 10.3, 9.7, 10], base = figures(nine, 100);
            const drift = [10, 11, 12, 13, 14, 15, 16, 17, 18];
            const other = (change) => beside(figures(nine.map(change), 100), base);
            return {
                one,
                twice: other((time) => time / 2), half: other((time) => 2 * time),
                within: other((time) => time / 1.04), once: other((time, at) => (at ? time / 2 : time)),
                overlaps: beside(figures(drift.map((time) => time / 1.1), 100), figures(drift, 100)),
                few: beside(figures([1], 100), figures([2], 100)),
            };
        }"""
    )
    low, median, high = np.percentile([1e-3, 2e-3, 3e-3, 4e-3, 5e-3], (25, 50, 75))
    one = found["one"]
    assert one["seconds"] == pytest.approx(median) and one["rate"] == pytest.approx(2e6 / median / 1e9)
    assert (one["from"], one["to"]) == pytest.approx((2e6 / high / 1e9, 2e6 / low / 1e9))
    assert one["spread"] == pytest.approx((high - low) / median / 2)
    assert found["twice"] == pytest.approx(2) and found["half"] == pytest.approx(1 / 2)
    assert [found[name] for name in ("within", "once", "overlaps", "few")] == [None] * 4


# ------------------------------------------------------------------------------------------ what a reader sees and does

# One shape is checked, so that a contest is soon over.
FEW = """const get = fetch;
    window.fetch = async (address) => {
        const answer = await get(address);
        if (!`${address}`.endsWith("steps.json")) return answer;
        const book = await answer.json();
        for (const choice of book.steps.flatMap(({ choices }) => choices)) choice.stages = [[[5, 6, 7]]];
        return new Response(JSON.stringify(book));
    };\n"""
# A compiler for the processor may take longer than a GPU's.
FOREVER = "const wait = setTimeout; window.setTimeout = (go, after) => wait(go, after === 10000 ? 200000 : after);"
ARENA = "document.querySelector('[data-gpu={}] .gpu-arena')?.dataset.state"


def ended(page, part="ladder"):
    """Wait until that part's contest is over. Returns how it ended, and what it says then."""
    page.wait_for_function(f"![undefined, 'running'].includes({ARENA.format(part)})")
    place = page.locator(f"[data-gpu={part}]")
    return page.evaluate(ARENA.format(part)), place.locator(".gpu-status").inner_text()


def ready(page, part="ladder"):
    page.wait_for_selector(f"[data-gpu={part}][data-ready]")
    return page.locator(f"[data-gpu={part}]")


def words(language="en"):
    return gpu_page.TEXTS[language]


def begins(text):
    """The words before the first gap of a text with gaps."""
    return text.partition("{")[0]


AT_FIRST_BAR = """new MutationObserver(() => {
        if (window.atFirstBar || !document.querySelector('tr[data-timed]')) return;
        window.atFirstBar = [document.querySelector('progress').value, document.querySelector('.gpu-chart').innerText];
    }).observe(document, { subtree: true, childList: true, attributes: true });"""


def test_a_click_checks_the_ladder_and_draws_its_bars(opened, bare):
    page = opened(bare[1] + "bare.html", 375, before=AT_FIRST_BAR)
    ladder_place = ready(page)
    button = ladder_place.locator(".gpu-go")
    button.focus()
    page.keyboard.press("Enter")
    assert button.inner_text() == words()["stop"] and page.locator(".gpu-go:disabled").count() == 1
    how, said = ended(page)
    assert how == "done" and said.startswith("Done. 7 of 7 kernels are right."), said
    done, shown = page.evaluate("atFirstBar")
    assert done == 0 and words()["state"]["spot"] not in shown, "another phase is over"
    rows = ladder_place.get_by_role("row").all_inner_texts()
    assert [next(name for name in gpu_page.RUNGS if name in row) for row in rows[1:]] == list(gpu_page.RUNGS)
    assert ladder_place.locator(".gpu-idea").all_inner_texts() == list(words()["ideas"].values())
    widths = ladder_place.locator(".gpu-drawn i").evaluate_all("all => all.map(bar => parseFloat(bar.style.width))")
    assert len(widths) == 7 and all(0 < width <= 100 for width in widths)
    facts = ladder_place.locator(".gpu-facts").inner_text()
    assert "swiftshader" in facts and facts.count(words()["apart"]) in (2, 3) and "float32" in facts
    assert words()["software"].partition("(")[0] in ladder_place.inner_text()
    assert page.locator(".gpu-go:disabled").count() == 0 and button.inner_text() == words()["go"]["ladder"]
    assert page.evaluate("document.activeElement.className") == "gpu-go"


def test_the_button_stops_it(opened, bare):
    page = opened(bare[1] + "bare.html")
    place = ready(page, "rung")
    place.locator(".gpu-go").click()
    page.wait_for_selector("[data-gpu=rung] tr[data-state=checking]")
    place.locator(".gpu-go").click()
    assert ended(page, "rung") == ("stopped", words()["status"]["stopped"])


@pytest.mark.parametrize(
    "kind, before",
    [
        ("no WebGPU", "delete Navigator.prototype.gpu"),
        ("no adapter", "GPU.prototype.requestAdapter = async () => null"),
        ("memory", "GPUDevice.prototype.popErrorScope = async () => ({ message: 'none left' })"),
    ],
)
def test_a_device_that_is_not_there_is_told_with_a_remedy(opened, bare, kind, before):
    page = opened(bare[1] + "bare.html", before=before)
    ready(page, "rung").locator(".gpu-go").click()
    how, said = ended(page, "rung")
    assert how == "trouble" and said.startswith(begins(words()["trouble"][kind])), said
    assert "{" not in said and page.locator("[data-gpu=rung] table").count() == 0


# At the first bar `does` happens, once: the device goes, or no wait comes to its end and ten seconds are soon over.
FIRST_BAR = """const ask = GPUAdapter.prototype.requestDevice, map = GPUBuffer.prototype.mapAsync;
    const wait = window.setTimeout, never = new Promise(() => {{}});
    let device, stuck = false, armed = true;
    GPUAdapter.prototype.requestDevice = async function (...how) {{ return (device = await ask.apply(this, how)); }};
    GPUBuffer.prototype.mapAsync = function (...how) {{ return stuck ? never : map.apply(this, how); }};
    window.setTimeout = (go, after) => wait(go, stuck && after === 10000 ? 100 : after);
    window.mend = () => {{ stuck = false; }};
    new MutationObserver(() => {{
        if (armed && document.querySelector('tr[data-timed]')) {{ armed = false; {does}; }}
    }}).observe(document, {{ subtree: true, childList: true, attributes: true }});"""


@pytest.mark.parametrize("kind, does", [("lost", "device.destroy()"), ("slow", "stuck = true")])
def test_a_device_that_is_lost_or_slow_ends_the_run_in_words_and_the_next_one_goes(opened, bare, kind, does):
    page = opened(bare[1] + "bare.html", before=FEW + FIRST_BAR.format(does=does))
    place = ready(page, "rung")
    place.locator(".gpu-go").click()
    how, said = ended(page, "rung")
    told = [words()["trouble"][kind].replace("{seconds}", "10").replace("{name}", name) for name in gpu_page.RUNGS]
    assert how == "trouble" and said.startswith(tuple(map(begins, told))) and "{" not in said, said
    assert place.locator("tr[data-timed]").count() == 1, "what was measured stays"
    page.evaluate("mend()")
    place.locator(".gpu-go").click()
    assert ended(page, "rung")[0] == "done"


def test_without_a_clock_of_the_gpu_the_wall_is_the_clock_and_said_to_be(opened, bare):
    page = opened(bare[1] + "bare.html", before=f"{FEW} GPUSupportedFeatures.prototype.has = () => false")
    place = ready(page, "rung")
    place.locator(".gpu-go").click()
    how, said = ended(page, "rung")
    facts = place.locator(".gpu-facts").inner_text()
    assert how == "done", said
    assert words()["clocks"]["wall"] in facts and facts.count(words()["shared"]) == 1
    rates = [float(rate) for rate in place.locator(".gpu-rate").all_inner_texts()]
    assert len(rates) == 2 and all(0 < rate < 1000 for rate in rates)


def test_a_page_that_is_opened_as_a_file_says_what_to_do(opened, bare):
    page = opened(f"file://{bare[0]}/bare.html")
    page.wait_for_selector("[data-gpu][data-missing]")
    assert page.locator(".gpu-missing:visible").count() == 3 and page.locator(".gpu-go:visible").count() == 0
    assert "python -m http.server" in page.locator(".gpu-missing").first.inner_text()


def test_a_kernel_is_written_refused_and_kept(opened, bare):
    page = opened(bare[1] + "bare.html", 375)
    place, text = ready(page, "own"), page.get_by_label(words()["own"]["editor"])
    assert text.input_value() == gpu_page.stub("naive")
    go, verdict = place.locator(".gpu-go"), place.locator(".gpu-verdict")
    go.click()
    assert ended(page, "own") == ("done", words()["status"]["none"])
    assert verdict.inner_text() == words()["report"]["not yet"].format(name="naive")
    wrong = changed("naive", "acc +=", "ac +=")
    text.fill(wrong)
    go.click()
    ended(page, "own")
    assert verdict.inner_text().startswith("✗ naive is wrong.\n  does not compile: ")
    line = 1 + wrong[: wrong.index("ac +=")].count("\n")
    assert place.locator(".gpu-numbers .gpu-wrong").inner_text().strip() == str(line)
    verdict.get_by_role("button", name=f"line {line}").click()
    assert page.evaluate("getSelection().toString()").strip().startswith("ac +=")
    page.get_by_label("tiled").check()
    assert text.input_value() == gpu_page.stub("tiled")
    page.reload()
    ready(page, "own")
    assert "ac +=" in text.input_value()
    place.locator(".gpu-again").click()
    assert text.input_value() == gpu_page.stub("naive")


def test_a_right_kernel_is_timed_beside_the_courses(opened, bare):
    page = opened(bare[1] + "zh_CN/bare.html", before=FEW)
    place, text = ready(page, "own"), page.get_by_label(words("zh_CN")["own"]["editor"])
    page.get_by_label("tiled").check()
    text.fill(gpu_page.source("tiled"))
    place.locator(".gpu-go").click()
    assert ended(page, "own")[0] == "done"
    assert place.locator(".gpu-verdict").inner_text().startswith("✓ tiled 正确：")
    assert place.locator("tr[data-timed]").count() == 2
    place.get_by_text(words("zh_CN")["own"]["solution"]).click()
    page.wait_for_function(
        "document.querySelector('[data-gpu=own] details[open] pre').textContent.includes('workgroupBarrier')"
    )


def test_an_exercise_is_fetched_when_it_is_asked_for_and_solved_and_kept(opened, bare):
    page, fetched = opened(bare[1] + "exercise.html", 375, before=FEW), []
    page.on("request", lambda request: fetched.append(request.url.rpartition("/")[2]))
    place, ask = ready(page, "own"), page.get_by_role("button", name=words()["own"]["try"])
    page.wait_for_load_state("networkidle")
    assert fetched == [] and place.locator(".gpu-missing:visible, .gpu-unable:visible").count() == 0
    ask.click()
    page.wait_for_selector("#gpu-editor:focus")
    assert {"page.js", "check.js", "editor.js", "texts.json", "steps.json"} <= set(fetched)
    assert place.get_by_role("radio").count() == 0, "there is one exercise here"
    text = page.get_by_label(words()["own"]["editor"])
    for source, begin in (
        (changed("naive", "+= A", "+= 0.0 * A[row] + A"), "✗ naive computes the right C, but misses the idea.\n  too"),
        (gpu_page.source("naive"), "✓ naive is right: "),
    ):
        text.fill(source)
        place.locator(".gpu-go").click()
        assert ended(page, "own")[0] == "done"
        assert place.locator(".gpu-verdict").inner_text().startswith(begin)
    said = place.locator(".gpu-verdict").inner_text()
    assert "16,384 loads from memory, 0 from workgroup memory, and no race seen" in said
    kept = page.evaluate("({ ...localStorage })")
    mine = {"": gpu_page.source("naive"), "/verdict": "right", "/solved": "yes"}
    assert kept == {f"matmul-ladder/naive{what}": value for what, value in mine.items()}
    page.reload()
    ready(page, "own")
    assert ask.inner_text() == f"{words()['own']['try']} ✓"
    ask.click()
    assert text.input_value() == gpu_page.source("naive") and "right" in place.locator(".gpu-kept").inner_text()
    place.locator(".gpu-again").click()
    assert page.evaluate("localStorage.length") == 0 and text.input_value() == gpu_page.stub("naive")


HELD = """window.held = true;
    const map = GPUBuffer.prototype.mapAsync, wait = (go) => setTimeout(go, 20);
    GPUBuffer.prototype.mapAsync = async function (...how) {
        while (window.held) await new Promise(wait);
        return map.apply(this, how);
    };"""


def test_what_is_asked_for_while_something_runs_waits_for_its_turn(opened, bare):
    page = opened(bare[1] + "exercise.html", before=HELD)
    place, rung = ready(page, "own"), ready(page, "rung")
    place.locator(".gpu-ask").click()
    place.locator(".gpu-go:not(.gpu-ask)").click()
    rung.locator(".gpu-ask").click()
    page.wait_for_selector("[data-gpu=rung] .gpu-go:not(.gpu-ask):disabled")
    assert page.evaluate("document.activeElement.dataset.gpu") == "rung"
    page.evaluate("held = false")
    assert ended(page, "own")[0] == "done" and page.evaluate(ARENA.format("rung")) is None
    assert rung.locator(".gpu-go:enabled").count() == 1


@pytest.mark.parametrize("folder, language", [("", "en"), ("zh_CN/", "zh_CN")])
def test_an_exercise_without_webgpu_is_to_be_read_and_says_so(opened, bare, folder, language):
    page = opened(bare[1] + folder + "exercise.html", before="delete Navigator.prototype.gpu")
    page.wait_for_selector("[data-gpu=own][data-unable]")
    assert page.locator("[data-gpu=own] p:visible").all_inner_texts() == [words(language)["unable"]]
    assert page.locator("[data-gpu=own] button:visible").count() == 0


# ---------------------------------------------------------------------------------------------------- words and files


def leaves(texts, above=""):
    """Every place of a word in the texts, with the gaps that it has."""
    if isinstance(texts, str):
        yield above, tuple(sorted(re.findall(r"\{\w+\}", texts)))
    else:
        for key, value in texts.items() if isinstance(texts, dict) else enumerate(texts):
            yield from leaves(value, f"{above}/{key}")


def test_both_languages_have_the_same_words_and_gaps():
    english, chinese = (set(leaves(words(language))) for language in ("en", "zh_CN"))
    assert chinese == english


def test_every_finding_has_its_words_and_its_name_in_the_glossary():
    named = set(re.findall(r"kind: \"([^\"]+)\"", (gpu_page.HERE / "check.js").read_text("utf-8")))
    named |= {"too many loads", "not coalesced", "waits", "does not compile", "divergent barrier", "shared memory"}
    rows = dict(re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^：|]+)：", GLOSSARY.read_text("utf-8"), re.M))
    for language in ("en", "zh_CN"):
        kinds, messages = words(language)["kinds"], words(language)["messages"]
        assert named <= kinds.keys() and len(named) > 12
        told = {key.partition("/")[0] for key in messages}
        assert kinds.keys() - {"not yet"} == told
        for kind, name in kinds.items():
            assert name == (kind if language == "en" else f"{rows[kind]}（{kind}）")


def test_the_page_holds_the_kernels_themselves(bare):
    folder = bare[0] / "_static" / "gpu"
    for step in gpu_page.RUNGS:
        assert (folder / f"{step}.wgsl").read_bytes() == (gpu_page.KERNELS / f"{step}.wgsl").read_bytes()
    told = json.loads((folder / "steps.json").read_text("utf-8"))["steps"]
    assert [each["name"] for each in told] == list(gpu_page.RUNGS)
    pages = [each["page"].partition("_")[0] for each in told]
    assert pages == ["02", "03", "04", "05", "06", "09", "10"]


# ------------------------------------------------------------------------------------------------- in the web edition


@pytest.mark.parametrize("scheme, folder", [("light", ""), ("dark", "zh_CN/")])
def test_in_the_book_everybody_can_read_each_state_on_a_phone_and_a_screen(opened, site, folder, scheme):  # noqa: F811
    page = opened(site[1] + folder + "your_gpu.html", 375, scheme, FOREVER)
    ready(page)
    own = ready(page, "own")
    assert faults(page) == []
    page.locator("[data-gpu=ladder] .gpu-go").click()
    page.wait_for_selector("tr[data-timed]")
    assert faults(page) == []
    assert ended(page)[0] == "done"
    page.locator("#gpu-editor").fill(changed("naive", "acc +=", "ac +="))
    own.locator(".gpu-go").click()
    assert ended(page, "own")[0] == "done"
    for width in (375, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert faults(page) == []


@pytest.mark.parametrize("folder", ["", "zh_CN/"])
def test_in_the_book_the_first_page_and_each_rung_lead_there(opened, site, folder):  # noqa: F811
    page = opened(site[1] + folder + "index.html")
    page.locator(".ways a").nth(1).click()
    page.wait_for_url(re.compile(f"/{folder}your_gpu.html$"))
    for about in gpu_page.steps()["steps"]:
        if not (site[0] / folder / f"{about['page']}.html").exists():
            continue
        page.goto(f"{site[1]}{folder}{about['page']}.html")
        place = ready(page, "rung")
        assert place.count() == 1 and about["name"] in place.locator(".gpu-go").inner_text()
        before = place.evaluate("place => place.closest('section').querySelectorAll('.cell_output img').length")
        assert before >= 1, "no chart stands in that section"
    page.locator("[data-gpu=rung] .gpu-go").click()
    assert ended(page, "rung")[0] == "done"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
