"""What helpers show in Chinese: the catalogue has each sentence of the judges, with the same places on both sides."""

import ast
import importlib
import re
from types import SimpleNamespace

import notebooks
import pytest
import translate
import translation
from glossary import GLOSSARY
from matplotlib import font_manager
from matplotlib.figure import Figure
from PIL import Image

from helpers import check, language, set_language
from helpers.exercises.answers import Answer
from helpers.exercises.rules import MissesTheIdea
from helpers.judge.report import Report
from helpers.launch.cuda import STOPPED
from helpers.launch.refusals import REMEDIES
from helpers.pictures.charts import bar_chart
from helpers.pictures.drawing import Picture
from helpers.sandbox.child import LIKELY
from helpers.sandbox.oclgrind import REPORTS
from helpers.terminal import columns

doctor = importlib.import_module("helpers.doctor")  # `helpers.doctor` is the function
ROOM = notebooks.ROOT / "helpers"
# Whose sentences stand in verdicts.
JUDGES = [
    *sorted((ROOM / "judge").glob("[!_]*.py")),
    *sorted((ROOM / "exercises").glob("[!_]*.py")),
    ROOM / "sandbox" / "findings.py",
]
ENTRIES = [(key, value) for key, value in language.entries() if key not in language.tables()["kinds"]]
PAGES = notebooks.notebook_paths()
FEW_WORDS = re.compile(r"[a-z]{2,}(?: [a-z]{2,}){2,}")


@pytest.fixture(autouse=True)
def begins_in_english(monkeypatch):
    monkeypatch.setattr(language, "NOW", [language.ENGLISH])


def forgetful(A, B):
    return A[:, :-1] @ B[:-1]


def test_a_verdict_is_shown_in_the_language_that_was_chosen():
    english = check(forgetful, [(4, 5, 3)])
    set_language("zh_CN")
    assert str(english).splitlines() == [
        "✗ forgetful 错误。",
        "  K 方向的累加被截断（K is cut）：3 个乘积里只累加了前 2 个；请检查 k 的循环在哪里结束。",
    ]
    assert "is wrong" in repr(english)
    set_language("en")
    assert str(english).startswith("✗ forgetful is wrong.\n  K is cut: only the first 2 of 3 products")


@pytest.mark.parametrize("kind", [Report, Answer, MissesTheIdea])
def test_a_page_shows_each_kind_of_verdict_in_chinese(kind):
    set_language("zh_CN")
    shown = kind("k", (), 3)._repr_mimebundle_()["text/plain"]
    assert shown == str(kind("k", (), 3)) and "k " in shown and re.search("正确|错误", shown)


def test_what_the_catalogue_lacks_stays_english_whole():
    text = "✗ k is wrong.\n  race: nobody has said this before; look at C.\n      17 | race: k is wrong."
    assert language.in_chinese(text).split("\n") == [
        "✗ k 错误。",
        "  数据竞争（race）：nobody has said this before; look at C.",
        "      17 | race: k is wrong.",
    ]


@pytest.mark.parametrize(
    "english, chinese",
    [
        ("writes to an input: thread (0, 1) of block (2, 0) stores to A.", "线程块 (2, 0) 的线程 (0, 1) 写了 A。"),
        ("race: thread (0, 1) of block (2, 0) and others reads x", None),  # half a sentence
        ("error: waiting is used before it is set", "waiting 还没赋值就用了"),  # a learner's name, which is also a word
        ("wrong number: f(3) gives None, and should give 4.", "f(3) 给出 None，应该是 4。"),  # a word of the doctor's
        (
            "out of bounds: thread (1, 0) of block (0, 0) loads before A (2 times).",
            "线程块 (0, 0) 的线程 (1, 0) 从 A 的开头之前加载（2 次）。",
        ),
    ],
)
def test_what_stands_in_a_place_is_put_into_chinese_too(english, chinese):
    assert language.in_chinese(english).partition("：")[2] == (chinese or english.partition(": ")[2])


def test_a_long_line_of_a_learners_own_is_soon_looked_through():
    """It would take minutes if each place could end anywhere."""
    line = "  error: ValueError: " + "a and b x 3 of 4, at 5 (M x N x K) on " * 40
    assert language.in_chinese(line).endswith(line[-20:])


@pytest.mark.parametrize("english, chinese", ENTRIES, ids=[key[:50] for key, _ in ENTRIES])
def test_an_entry_has_the_same_places_on_both_sides_and_good_manners(english, chinese):
    places = [sorted(language.PLACE.findall(text)) for text in (english, chinese)]
    assert places[0] == places[1] and len({*places[0]}) == len(places[0])
    said = re.sub(r"(?<![（“：A-Za-z_\[]) ?\{(any|text)\d?\}", "文", chinese)
    assert not list(translation.manners(language.PLACE.sub("x", said)))
    assert not english.endswith(".") and not chinese.endswith("。")


def test_kinds_are_called_as_in_the_glossary():
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^：|]+)：", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    ours = language.tables()["kinds"]
    assert rows and {kind: ours[kind] for kind, _ in rows if kind in ours} == {k: v for k, v in rows if k in ours}
    assert {kind for kind, _ in rows} - set(ours) == {"is right", "is wrong", "not looked for here"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_each_verdict_that_a_page_shows_has_a_chinese_one(path):
    shown = "\n".join(text for cell in notebooks.read(path).cells for text in notebooks.output_texts(cell))
    for found in translate.VERDICT.finditer(shown):
        for line in translate.GOES_ON.sub(" ", found[0].rstrip()).split("\n"):
            if line.strip() and not language.CODE.match(line) and not line.startswith(" " * 13):
                assert not FEW_WORDS.search(language.in_chinese(line).partition("（")[0]), line


def prose(text):
    """The words of a text, without what stands in its places, numbers and names of matrices; a stroke for a place."""
    return " ".join(re.findall(r"\||[a-z][a-z'-]+", re.sub(r"\{[^}]*\}", " | ", text.replace("(s)", "s")).lower()))


def sentences(path):
    """(line, words) of what stands between the places of each sentence in a file; not of errors, nor of patterns."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        of_re = isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.")
        if docstring or of_re or isinstance(node, ast.Raise):
            skipped |= {id(part) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            for text in re.split(r"; |(?<=[?.]) (?=[A-Z`])", node.value):
                for words in prose(text).split("|"):
                    if len(words.split()) > 2 and not re.search(r"[\\\n=]|^\w+$", text):
                        yield node.lineno, words.strip()


ENGLISH = "\n".join(prose(key) for key, _ in language.entries())
# What looks like a sentence, and is shown to nobody.
OTHERS = {
    *("launch configuration was not", "must be sequence of integers", "set arg failed", "use the syntax"),
    *("unsupported float size bytes", "if it only takes long", "out of time", "where is the length of row"),
    *("local array tm", "tile tile float", "deep tile float", "buffer failed invalid value"),
    *("create buffer failed invalid host ptr", "write buffer failed invalid value"),
}


@pytest.mark.parametrize("path", JUDGES, ids=lambda path: path.stem)
def test_each_sentence_of_a_judge_has_a_chinese_one(path):
    """What stands between the places of an f-string is in an English side of the catalogue."""
    missing = [f"{path.name}:{line}: {words!r}" for line, words in sentences(path) if words not in ENGLISH]
    missing = [one for one in missing if not any(repr(other) in one for other in OTHERS)]
    assert not missing, "no Chinese in helpers/zh_CN.toml:\n" + "\n".join(missing)


TOLD = (
    [one[2] for one in REPORTS[:-1]]
    + [re.sub(r"\{\w+\}", "2", one.words) for one in REMEDIES]
    + [*LIKELY.values(), *STOPPED.values()]
)


@pytest.mark.parametrize("words", TOLD)
def test_what_oclgrind_numba_a_crash_and_a_gpu_tell_has_a_chinese_one(words):
    text = words.format("2", "3", does="reads", where="global memory")
    assert not FEW_WORDS.search(language.sentence(text) or text)


def test_lines_are_broken_between_characters_and_before_no_punctuation():
    text = "  " + "数据竞争（race）：线程读 As 时，别的线程还在写。" * 9
    for width in range(20, 60):
        lines = language.wrapped(text, width, subsequent_indent="    ").split("\n")
        assert all(columns(line) <= width for line in lines)
        assert not any(re.match(r" *[，。：）]", line) or line[-1] == "（" for line in lines)
        assert "".join(line.strip() for line in lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("font", [True, False])
def test_the_labels_of_a_picture_are_chinese_where_a_font_has_the_characters(monkeypatch, font):
    figure, ax = bar_chart([("memory", [(1, "red")], "then 2 ms of losses")], "one, two")
    ax.set_xlabel("milliseconds at work")
    monkeypatch.setattr(language, "chinese_font", lambda: "DejaVu Sans" if font else "")
    monkeypatch.setattr(Figure, "savefig", lambda figure, place, **_: Image.new("RGB", (1, 1)).save(place, "png"))
    set_language("zh_CN")
    picture = Picture(figure, "at work: memory 1 ms, 3%")
    said = [ax.get_xlabel(), ax.get_yticklabels()[0].get_text(), ax.texts[0].get_text(), figure.get_suptitle()]
    english = ["milliseconds at work", "memory", "then 2 ms of losses", "one, two"]
    assert said == (["工作时间（毫秒）", "内存", "然后损失 2 ms", "one, two"] if font else english)
    assert picture.text == "各单元工作：内存 1 ms，3%"


def test_of_several_fonts_the_first_that_can_be_read_is_taken(monkeypatch):
    paths = ["/z/wqy-microhei.ttc", "/x/msyh.ttc", "/a/PingFang.ttc"]
    fonts = [SimpleNamespace(fname=path, name=path) for path in paths]
    manager = SimpleNamespace(addfont=lambda path: 1 / ("PingFang" not in path), ttflist=fonts)  # that one fails
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: paths)
    monkeypatch.setattr(font_manager, "fontManager", manager)
    assert language.chinese_font.__wrapped__() == "/x/msyh.ttc"


def test_the_doctor_names_a_package_where_chinese_has_no_font(monkeypatch):
    assert list(doctor.font()) == []
    set_language("zh_CN")
    monkeypatch.setattr(language, "chinese_font", lambda: "")
    (row,) = doctor.font()
    assert not row["used"] and language.said(row["why"]).endswith("上：sudo apt install fonts-wqy-microhei")


@pytest.mark.parametrize(
    "names, chosen",
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN"),
        ({"LANG": "zh_TW.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, "zh_CN"),
    ],
)
def test_the_users_language_comes_from_the_locale(monkeypatch, names, chosen):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    assert language.of_the_user() == chosen
