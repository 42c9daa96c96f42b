"""The work log has what a reader did, nothing that the course did, and nothing in it runs."""

import json
import re

import notebooks
import pytest
from test_browser import chromium
from test_standing import RIGHT, WRONG, code, page_of, printed, result

from helpers import work_log
from helpers.classroom import EXERCISES, LABELS, MARK


def copied(folder, page, answers=(), mark=False):
    """The course's page in the folder, as a reader has left it: with those {label: (source, outputs)} in it."""
    [path] = notebooks.notebook_paths([page])
    copy = json.loads(path.read_text(encoding="utf-8"))
    own = {EXERCISES.get(name, name): answer for name, answer in dict(answers).items()}
    for cell in copy["cells"]:
        cell.get("outputs", []).reverse()  # what was printed stands elsewhere among pictures, as editors store it
        if cell["id"] in own:
            cell["source"], cell["outputs"] = own[cell["id"]]
        elif mark and cell["id"] in LABELS:
            cell["source"] = f"{MARK}{LABELS[cell['id']]}\n{''.join(cell['source'])}"
    (folder / path.name).write_text(json.dumps(copy), encoding="utf-8")


def log_of(folder, capsys):
    work_log(folder)
    assert capsys.readouterr().out == f"saved: {folder / 'work_log.html'}, of the pages as they were last saved\n"
    return (folder / "work_log.html").read_text(encoding="utf-8")


def test_a_kernel_its_verdict_a_guess_a_film_and_times_are_on_it(tmp_path, capsys):
    chart = "naive (CUDA) 7 ms; numpy_matmul 282 GFLOP/s; tiled (CUDA) 94.1 GFLOP/s; tiled on A6000 9,999 GFLOP/s"
    told = "the time falls by a factor of 1.7; your guess was 3"
    answers = {"04.0": ("mine < 1", [result(RIGHT)]), "04.2": ("other", [result(WRONG)])}
    answers |= {"04-guess": ("my_guess = 3", []), "04-m9": ("my_guess", [printed(told)])}
    copied(tmp_path, "04", answers | {"04-c17": ("measure_ladder()", [printed(chart)])})
    text = log_of(tmp_path, capsys)
    assert '<h3 id="04.0">✓ 04.0</h3><section class="done"><pre>mine &lt; 1</pre><pre>✓ your kernel is right' in text
    assert '<h3 id="04.2">✗ 04.2</h3><section class="tried"><pre>other</pre><pre>✗ your kernel is wrong' in text
    assert "<pre>my_guess = 3</pre>" in text and f"</a><td>{told}\n" in text
    assert '<div class="film" tabindex="0"><img srcset="data:image/webp;base64,' in text
    assert "SYNC" not in text  # a cell that was not touched
    assert re.findall(r"<tr><th>([^<]*)<td>([\d.,]+)", text) == [("numpy_matmul", "282"), ("tiled (CUDA)", "94.1")]


@pytest.mark.parametrize("mark", [False, True])
def test_what_is_as_the_course_has_it_is_not_yet(mark, tmp_path, capsys):
    """Page 04 has a wrong kernel to mend, whose verdict is stored."""
    copied(tmp_path, "04", mark=mark)
    text = log_of(tmp_path, capsys)
    assert re.findall(r">(. 04\.\d)</a>", text) == ["· 04.0", "· 04.1", "· 04.2", "· 04.3"]
    assert "<section" not in text and "<h2" not in text


def test_no_time_and_no_solution_of_the_course_is_the_readers(tmp_path, capsys):
    copied(tmp_path, "00", {"00.1": ("def add(): 1", [result(RIGHT)])})
    text = log_of(tmp_path, capsys)
    assert "film(mine" in text and "@title" not in text
    assert "measure(" not in text and "GFLOP/s;" not in text


def test_each_of_a_class_has_a_file_and_no_link_is_followed(tmp_path, capsys):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "ada.html.part").symlink_to(tmp_path / "victim")
    (tmp_path / "notes").mkdir()
    for name, source in (("ada", "by ada"), ("<b>", "由乙写成")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "00.ipynb").write_text(page_of(source, result(RIGHT)))
    work_log(tmp_path)
    assert {path.name for path in tmp_path.glob("*.html")} == {"ada.html", "<b>.html"}
    assert "by ada" in (tmp_path / "ada.html").read_text() and (tmp_path / "victim").read_text() == "mine"
    chinese = (tmp_path / "<b>.html").read_text()
    assert "<b>" not in chinese and "<h1>学习记录</h1>" in chinese and "[[" not in chinese


EVIL = "<script>document.title = 'ran'</script><img src='http://x.org/a.png' onerror=\"document.title = 'ran'\">"


@pytest.mark.bulk
def test_nothing_runs_and_nothing_is_fetched_even_if_a_script_came_through(tmp_path, capsys):
    html = {"output_type": "display_data", "data": {"text/html": EVIL, "text/plain": EVIL}, "metadata": {}}
    (tmp_path / "00.ipynb").write_text(page_of(EVIL, result(RIGHT), html, more=[code(EVIL, html)]))
    text = log_of(tmp_path, capsys)
    assert "ran" in text and "<script" not in text
    (tmp_path / "through.html").write_text(text.replace("</html>", f"{EVIL}</html>"), encoding="utf-8")
    with chromium() as browser:
        for name in ("work_log.html", "through.html"):
            page, refused = browser.new_page(), []
            page.on("requestfailed", lambda request, refused=refused: refused.append(request.failure))
            page.goto((tmp_path / name).as_uri())
            assert page.title() == f"Work log: {tmp_path.name}"
            assert refused == ([] if name == "work_log.html" else ["csp"])
