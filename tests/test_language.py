"""What helpers show in Chinese: each sentence of the code is in the tables, with the same places on both sides."""

import ast
import json
import re
from types import SimpleNamespace

import pytest
from distribution import sources
from glossary import GLOSSARY
from matplotlib import font_manager
from matplotlib.figure import Figure
from PIL import Image

from helpers import check, language, logbook, set_language
from helpers.exercises.rules import MissesTheIdea
from helpers.language import CHINESE, ENGLISH
from helpers.pictures.charts import bar_chart
from helpers.pictures.drawing import Picture, label, listed
from kernel_judge import Finding, Kind, Report, words
from kernel_judge.answers import Answer
from kernel_judge.report import VERDICT, shown
from kernel_judge.words import FOLDERS, PLACE, tables

IN_A_LOG = set(logbook.WORDS.findall(logbook.HTML))
PRODUCT = [*sources("helpers"), *sources("kernel_judge")]
RACE = (Finding(Kind.RACE, "zeros", (1,)),)
ENTRIES = words.sentences(CHINESE)
KINDS = words.kinds()


@pytest.fixture(autouse=True)
def begins_in_english(monkeypatch):
    monkeypatch.setattr(words, "NOW", [ENGLISH])
    monkeypatch.setattr(language, "NOW", words.NOW)


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
def test_a_page_stores_a_verdict_as_shown_and_as_data_that_give_it_in_either_language(kind):
    report = kind(("your kernel ({dialect}, launched like {step})", {"dialect": "CUDA", "step": "tiled"}), RACE, "x")
    english = str(report)
    set_language("zh_CN")
    bundle = json.loads(json.dumps(report._repr_mimebundle_()))
    assert bundle["text/plain"] == str(report) != english and "你的核函数（CUDA，启动方式同 tiled）" in str(report)
    assert [shown(bundle[VERDICT]["lines"], one) for one in (ENGLISH, CHINESE)] == [english, str(report)]


def test_what_stands_in_a_place_is_said_too_and_kinds_have_both_names():
    found = Finding(Kind.OUT_OF_BOUNDS, "outside_memory", values={"does": ("reads", {}), "where": ("local_memory", {})})
    values = {"own": "TILE=4", "other": "TILE=3", "kind": found.kind, "found": found}
    assert language.spelled(CHINESE, "other_sizes", values) == (
        "TILE=4 时正确，TILE=3 时错误，后者的判定是：越界（out of bounds），它读到了局部内存之外"
    )


def test_what_the_tables_lack_stays_english_whole_and_what_is_no_sentence_stays_as_it_is():
    report = Report("zeros", (Finding("race", "nobody said {this}; look", values={"this": ("zeros", {})}),), "zeros")
    set_language("zh_CN")
    assert str(report).splitlines()[1] == "  数据竞争（race）：nobody said every element of C is zero; look."
    assert str(Report("zeros", RACE, "zeros")).splitlines() == [
        "✗ zeros 错误。",
        "  数据竞争（race）：C 的每个元素都是零。",
        "       1 | zeros",
    ]
    assert language.said("a {brace} of nobody's") == "a {brace} of nobody's"


def test_an_entry_has_the_same_places_on_both_sides():
    english = words.sentences(ENGLISH)
    places = {key: [set(PLACE.findall(text)) for text in (english.get(key, key), ENTRIES[key])] for key in ENTRIES}
    assert [key for key, (one, other) in places.items() if one != other] == []


def test_the_judges_tables_have_the_same_keys():
    theirs = {key for name, table in tables(FOLDERS[0]).items() if name != "kinds" for key in table}
    assert theirs == set(words.sentences(ENGLISH))


def test_kinds_are_called_as_in_the_glossary():
    rows = dict(re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^：|]+)：", GLOSSARY.read_text("utf-8"), re.MULTILINE))
    assert {kind: rows.pop(kind) for kind in KINDS} == KINDS
    not_of_a_check = {"shared memory", "wrong at one size", "index"}  # but the browser's, or a launch's
    assert set(rows) == {"is right", "is wrong", "not looked for here"} | not_of_a_check


def said_in(path):
    """The sentences that a file gives to what says them."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            first = node.args[name == "Finding" :][:1] if name in ("Finding", "said", "label") else []
            yield from (one.value for one in first if isinstance(one, ast.Constant) and isinstance(one.value, str))


def test_each_sentence_that_code_says_has_a_chinese_one():
    said = {key for path in PRODUCT for key in said_in(path) if re.search("[A-Za-z]", PLACE.sub("", key))}
    assert len(said) > 50 and (said | IN_A_LOG) - set(ENTRIES) == set()


def test_each_chinese_sentence_is_said_somewhere():
    said_by = [*PRODUCT, *sources("ptx_machine")]  # which says what it finds
    nodes = [node for path in said_by for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    constants = {node.value for node in nodes if isinstance(node, ast.Constant)}
    made = {f"{{number}} {what}" for what in ("step", "steps", "time", "times")}
    # Words of gpu_model's, and of a page's.
    made |= {"registers", "shared memory", "H100 and H200", "issue", "matrix units", "L2 cache", "lanes"}
    made |= {"no reuse", "read once"}
    made |= {"only {came} of the {threads} threads of block {block} reach this barrier; {others} wait"}
    assert set(ENTRIES) - set(words.sentences(ENGLISH)) - constants - made - IN_A_LOG == set()


def test_lines_are_broken_between_characters_and_before_no_punctuation():
    text = "  " + "数据竞争（race）：线程读 As 时，别的线程还在写。" * 9
    for width in range(20, 60):
        lines = language.wrapped(text, width, subsequent_indent="    ").split("\n")
        assert all(len(line) + len(re.findall("[^\x00-\u2fff]", line)) <= width for line in lines)
        assert not any(re.match(r" *[，。：）]", line) or line[-1] == "（" for line in lines)
        assert "".join(line.strip() for line in lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("font", [True, False])
def test_the_labels_of_a_picture_are_chinese_where_a_font_has_the_characters(monkeypatch, font):
    monkeypatch.setattr(language, "chinese_font", lambda: "DejaVu Sans" if font else "")
    monkeypatch.setattr(Figure, "savefig", lambda figure, place, **_: Image.new("RGB", (1, 1)).save(place, "png"))
    set_language("zh_CN")
    figure, ax = bar_chart([(label("memory"), [(1, "red")], "")], label("{size} on {device}", size=1, device="A"))
    drawn = ax.get_yticklabels()[0].get_text(), figure.get_suptitle()
    assert drawn == (("内存", "1，A") if font else ("memory", "1 on A"))
    units = listed([label("memory"), label("losses")])
    picture = Picture(figure, label("{title}; at work: {units}.", title="k", units=units))
    assert picture.text == ("k；各单元工作：内存；损失。" if font else "k; at work: memory; losses.")
    assert figure._suptitle.get_fontfamily() == (["sans-serif", "DejaVu Sans"] if font else ["sans-serif"])


def test_of_several_fonts_the_first_is_taken(monkeypatch):
    manager = SimpleNamespace(get_font_names=lambda: ["DejaVu Sans", "SimHei", "Microsoft YaHei"])
    monkeypatch.setattr(font_manager, "fontManager", manager)
    assert language.chinese_font.__wrapped__() == "Microsoft YaHei"
