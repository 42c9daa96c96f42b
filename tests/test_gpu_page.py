"""The page "Run the ladder on your GPU", in headless Chromium: its verdicts, and what it promises to a reader.

Chromium computes with the processor here (SwiftShader), so any machine will do. test_gpu_words.py has what needs none.
"""

import gpu_page
import pytest
import test_browser
import web
from test_web import served

from helpers import ladder

pytestmark = pytest.mark.bulk
SOFTWARE = [flag for flag in test_browser.FLAGS if flag != "--disable-gpu"]
SOFTWARE += ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
BARE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>bare</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="_static/course.css">
<script defer src="_static/course.js"></script><article>{}</article></html>"""
WORDS = gpu_page.TEXTS["en"]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """(folder, address) of a page with all three parts, one with an exercise that asks first, and an empty one."""
    home = tmp_path_factory.mktemp("bare")
    gpu_page.copy_to(home / "_static" / "gpu", "en")
    for name in ("course.css", "course.js"):
        (home / "_static" / name).write_bytes((web.ROOT / "tools" / "web" / "static" / name).read_bytes())
    rung = gpu_page.beside_the_chart("en", "tiled")
    parts = {
        "bare": gpu_page.place("en", "ladder") + gpu_page.place("en", "own") + rung,
        "exercise": gpu_page.place("en", "own", WORDS["own"]["try"], step="naive"),
        "empty": "",
    }
    for name, places in parts.items():
        (home / f"{name}.html").write_text(BARE.format(places), encoding="utf-8")
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


@pytest.fixture(scope="module")
def blank(chromium, bare):
    """A page from which the parts' own code can be called."""
    page = chromium.new_page()
    page.set_default_timeout(300_000)
    page.goto(bare[1] + "empty.html")
    yield page
    page.close()


@pytest.fixture
def opened(chromium):
    with test_browser.tabs(chromium) as open_page:
        yield open_page


# --------------------------------------------------------------------------------------------------------- verdicts

SHAPES = [(1, 1, 1), (5, 6, 7), (16, 16, 16), (17, 33, 19), (40, 36, 21)]
SIZES = {  # so small that the processor's compiler has done in a moment
    "register_1d": dict(BM=16, BN=8, BK=8, TM=4),
    "register_2d": dict(BM=16, BN=16, BK=8, TM=4, TN=4),
    "vectorized": dict(BM=16, BN=16, BK=8, TM=4, TN=4),
    "prefetched": dict(BM=32, BN=32, BK=8, TM=4, TN=4, WM=16, WN=16),
}
JUDGE = """async ([one, shapes]) => {
    const run = await import('/_static/gpu/run.js'), judge = await import('/_static/gpu/check.js');
    const gpu = await run.Gpu.open();
    gpu.seconds = 200; // a busy machine is no fault of a kernel
    try { return await judge.check(gpu, one, async () => {}, [shapes]); }
    catch (error) { return { findings: [{ kind: error.kind ?? String(error), ...error.detail }] }; }
    finally { gpu.close(); }
}"""


def judged(blank, step, source):
    """What the browser reports on an answer to a step's exercise, at small sizes: a dict."""
    [about] = [each for each in gpu_page.steps()["steps"] if each["name"] == step]
    p = SIZES.get(step) or about["choices"][0]["parameters"]
    about["choices"] = [about["choices"][0] | dict(parameters=p, tile=ladder.STEPS[step].tile(p))]
    exercise = dict(own=True, rung=gpu_page.source(step), neighbours=step in gpu_page.NEIGHBOURS)
    return blank.evaluate(JUDGE, [dict(name=step, source=source, step=about, **exercise), SHAPES])


@pytest.mark.parametrize("step", gpu_page.RUNGS)
def test_an_exercise_is_solved_by_the_rungs_own_text_and_its_loads_are_the_ladders(blank, step):
    report = judged(blank, step, gpu_page.source(step))
    assert report["right"] and report["missed"] is None, report
    M, N, K = map(int, report["counts"]["shape"].split(" x "))
    p = SIZES.get(step) or gpu_page.SIZES["parameters"][step][0]
    width = 4 if step in ("vectorized", "prefetched") else 1
    assert report["counts"]["loads"] * width == ladder.STEPS[step].global_loads(p, M, N, K)


STORE, LOOP, SUM = "C[row * N + col] = acc;", "for (var k = 0u; k < K; k++) {", "B[k * N + col];"
TURNED = "let at = id.x % BN + id.y % BM * BN;"
TURNED += "let row = id.y / BM * BM + at % BM; let col = id.x / BN * BN + at / BM;"
NEXT, FLIP = "        fetch(row0, col0, k0 + BK, item);\n", "        now = BK - now;\n"
STRUCT = "struct Numbers { all: array<f32> }\n@compute"
# A step, what is replaced by what in its text, and the verdict: "uncounted" is right, too.
TRIES = [
    ("naive", {STORE: "C[row * N + col] = 0.0; // your turn"}, "not yet"),
    ("naive", {"= acc;": "= 0.0 * acc;"}, "zeros"),
    ("naive", {STORE: ""}, "nothing stored"),
    ("naive", {"var acc = 0.0;": "var acc = C[row * N + col];"}, "adds to C"),
    ("naive", {"var acc = 0.0;": "var acc = 0.5;"}, "wrong numbers"),
    ("naive", {"if (row < M && col < N)": "if (row < M)"}, "out of bounds"),
    ("naive", {"if (row < M && col": "if (row + 1 < M && col"}, "unwritten"),
    ("naive", {"let row = id.x; let col = id.y;": "let row = id.y; let col = id.x;"}, "x and y swapped"),
    ("naive", {"C[row * N + col]": "C[col * M + row]"}, "transposed"),
    ("naive", {LOOP: "var k = 0u; while (k < K) {", SUM: f"{SUM} k++;"}, "right"),
    ("naive", {"acc += A[row": "acc += 0.0 * B[k * N + col] + A[row"}, "too many loads"),
    ("naive", {"A: array<f32>": "A: Numbers", "A[row": "A.all[row", "@compute": STRUCT}, "uncounted"),
    ("coalesced", {"let row = id.y; let col = id.x;": TURNED}, "not coalesced"),
    ("tiled", {"workgroupBarrier();": "if (row < M) { workgroupBarrier(); }"}, "does not compile"),
    ("tiled", {"        workgroupBarrier();\n\n        // 3.": "        // 3."}, "race"),
    ("prefetched", {NEXT: "", FLIP: NEXT + FLIP}, "waits"),
]


@pytest.mark.parametrize("step, changes, kind", TRIES, ids=[f"{step} {kind}" for step, _, kind in TRIES])
def test_a_try_gets_its_verdict_by_name(blank, step, changes, kind):
    source = gpu_page.source(step)
    for old, new in changes.items():
        assert old in source
        source = source.replace(old, new)
    report = judged(blank, step, source)
    right = [{"kind": "right" if "counts" in report else "uncounted"}]
    [finding, *_] = [report["missed"]] if report.get("missed") else report["findings"] or right
    assert finding["kind"] == kind, report


def test_a_loop_without_an_end_is_named_with_its_line(blank):
    source = gpu_page.source("naive").replace("k++", "k += 0u")
    [finding] = judged(blank, "naive", source)["findings"]
    line = 1 + source[: source.index("k += 0u")].count("\n")
    assert (finding["kind"], finding["line"]) == ("hang", line)


# ------------------------------------------------------------------------------------------ what a reader sees and does

ARENA = "document.querySelector('[data-gpu={}] .gpu-arena')?.dataset.state"


def ended(page, part="ladder"):
    """Wait until that part's contest is over. Returns how it ended, and what it says then."""
    page.wait_for_function(f"![undefined, 'running'].includes({ARENA.format(part)})")
    place = page.locator(f"[data-gpu={part}]")
    return page.evaluate(ARENA.format(part)), place.locator(".gpu-status").inner_text()


def ready(page, part="ladder"):
    page.wait_for_selector(f"[data-gpu={part}][data-ready]")
    return page.locator(f"[data-gpu={part}]")


def begins(text):
    """The words before the first gap of a text with gaps."""
    return text.partition("{")[0]


def test_a_click_checks_the_ladder_and_draws_its_bars(opened, bare):
    page = opened(bare[1] + "bare.html", 375)
    place = ready(page)
    button = place.locator(".gpu-go")
    button.focus()
    page.keyboard.press("Enter")
    assert button.inner_text() == WORDS["stop"] and page.locator(".gpu-go:disabled").count() == 1
    how, said = ended(page)
    assert how == "done" and said.startswith("Done. 7 of 7 kernels are right."), said
    assert place.locator(".gpu-idea").all_inner_texts() == list(WORDS["ideas"].values())
    widths = place.locator(".gpu-drawn i").evaluate_all("all => all.map(bar => parseFloat(bar.style.width))")
    assert len(widths) == 7 and all(0 < width <= 100 for width in widths)
    assert "swiftshader" in place.locator(".gpu-facts").inner_text()
    assert begins(WORDS["software"]) in place.inner_text()
    assert page.locator(".gpu-go:disabled").count() == 0 and button.inner_text() == WORDS["go"]["ladder"]


def test_the_button_stops_it(opened, bare):
    page = opened(bare[1] + "bare.html")
    place = ready(page, "rung")
    place.locator(".gpu-go").click()
    page.wait_for_selector("[data-gpu=rung] tr[data-state=checking]")
    place.locator(".gpu-go").click()
    assert ended(page, "rung") == ("stopped", WORDS["status"]["stopped"])


def test_a_device_that_is_not_there_is_told_with_a_remedy(opened, bare):
    page = opened(bare[1] + "bare.html", before="GPU.prototype.requestAdapter = async () => null")
    ready(page, "rung").locator(".gpu-go").click()
    assert ended(page, "rung") == ("trouble", WORDS["trouble"]["no adapter"])


def test_a_page_that_is_opened_as_a_file_says_what_to_do(opened, bare):
    page = opened(f"file://{bare[0]}/bare.html")
    page.wait_for_selector("[data-gpu][data-missing]")
    assert page.locator(".gpu-missing:visible").count() == 3 and page.locator(".gpu-go:visible").count() == 0


def test_an_exercise_without_webgpu_is_to_be_read_and_says_so(opened, bare):
    page = opened(bare[1] + "exercise.html", before="delete Navigator.prototype.gpu")
    page.wait_for_selector("[data-gpu=own][data-unable]")
    assert page.locator("[data-gpu=own] p:visible").all_inner_texts() == [WORDS["unable"]]
    assert page.locator("[data-gpu=own] button:visible").count() == 0


def test_a_kernel_is_written_refused_at_its_line_and_kept(opened, bare):
    page = opened(bare[1] + "bare.html", 375)
    place, text = ready(page, "own"), page.get_by_label(WORDS["own"]["editor"])
    assert text.input_value() == gpu_page.stub("naive")
    wrong = gpu_page.source("naive").replace("acc +=", "ac +=")
    text.fill(wrong)
    place.locator(".gpu-go").click()
    assert ended(page, "own") == ("done", WORDS["status"]["none"])
    verdict, line = place.locator(".gpu-verdict"), 1 + wrong[: wrong.index("ac +=")].count("\n")
    assert verdict.inner_text().startswith("✗ naive is wrong.\n  does not compile: ")
    verdict.get_by_role("button", name=f"line {line}").click()
    assert page.evaluate("getSelection().toString()").strip().startswith("ac +=")
    page.get_by_label("tiled").check()
    assert text.input_value() == gpu_page.stub("tiled")
    page.reload()
    ready(page, "own")
    assert text.input_value() == wrong
    place.locator(".gpu-again").click()
    assert text.input_value() == gpu_page.stub("naive")


def test_an_exercise_is_fetched_when_it_is_asked_for_and_solved_and_kept(opened, bare):
    page, fetched = opened(bare[1] + "exercise.html", 375), []
    page.on("request", lambda request: fetched.append(request.url.rpartition("/")[2]))
    place, ask = ready(page, "own"), page.get_by_role("button", name=WORDS["own"]["try"])
    page.wait_for_load_state("networkidle")
    assert fetched == []
    ask.click()
    page.wait_for_selector("#gpu-editor:focus")
    text, source = page.get_by_label(WORDS["own"]["editor"]), gpu_page.source("naive")
    for answer, begin in (
        (source.replace("+= A", "+= 0.0 * A[row] + A"), "✗ naive computes the right C, but misses the idea.\n  too"),
        (source, "✓ naive is right: "),
    ):
        text.fill(answer)
        place.locator(".gpu-go").click()
        assert ended(page, "own")[0] == "done"
        assert place.locator(".gpu-verdict").inner_text().startswith(begin)
    assert place.locator("tr[data-timed]").count() == 2, "it is timed beside the course's"
    kept = {"": source, "/verdict": "right", "/solved": "yes"}
    assert page.evaluate("({ ...localStorage })") == {f"matmul-ladder/naive{what}": kept[what] for what in kept}
    page.reload()
    ready(page, "own")
    assert ask.inner_text() == f"{WORDS['own']['try']} ✓"
