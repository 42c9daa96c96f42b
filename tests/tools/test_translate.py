"""The Chinese edition: whole, made by the tool, and the same as the English one in all that is not language."""

import copy
import re
from collections import defaultdict

import glossary
import nbformat
import notebooks
import polib
import pytest
import translate
import translation

PATHS = notebooks.notebook_paths()
TRANSLATED = [path for path in PATHS if (translate.PO / f"{path.stem}.po").exists()]
by_stem = pytest.mark.parametrize("path", TRANSLATED, ids=lambda path: path.stem)


def test_every_page_has_a_chinese_edition_and_nothing_else_has():
    assert [path.stem for path in sorted(translate.PO.glob("*.po"))] == [path.stem for path in PATHS]
    assert [path.name for path in sorted(translate.PAGES.glob("*.*"))] == [path.name for path in PATHS]


@by_stem
def test_the_page_is_what_the_tool_makes_of_its_translation(path):
    """No entry is obsolete or wrong, and notebooks/zh_CN/po/ and notebooks/zh_CN/ are in line with the English page."""
    wrong, _ = translate.make(path, only_check=True)
    assert wrong == []


@by_stem
def test_no_translation_is_old_or_missing(path):
    """Who changes an English sentence need not know Chinese: what waits for a translator is an expected failure."""
    if old := translate.behind(path, translate.stored(path.stem)):
        pytest.xfail("; ".join(old))


@by_stem
def test_what_is_not_language_is_the_same_byte_for_byte(path):
    english, chinese = (nbformat.read(file, as_version=4) for file in (path, translate.PAGES / path.name))
    assert len(english.cells) == len(chinese.cells) and english.metadata == chinese.metadata
    for one, other in zip(english.cells, chinese.cells, strict=True):
        assert (one.id, one.cell_type, one.metadata) == (other.id, other.cell_type, other.metadata)
    code = [[cell for cell in page.cells if cell.cell_type == "code"] for page in (english, chinese)]
    sources, outputs = ([[cell[what] for cell in cells] for cells in code] for what in ("source", "outputs"))
    assert sources[0][1:] == sources[1][1:] and translate.with_chinese_chosen(sources[0][0]) == sources[1][0]
    for one, other in zip(map(str, outputs[0]), map(str, outputs[1]), strict=True):
        assert re.findall("[✓✗…] ", one) == re.findall("[✓✗…] ", other)  # what `progress` looks for
    linked = [set(glossary.anchors(page)) for page in (english, chinese)]
    assert linked[0] == linked[1] or translate.untranslated(translate.stored(path.stem))


@by_stem
def test_links_of_the_chinese_page_lead_to_files(path):
    cells = notebooks.read(translate.PAGES / path.name).cells
    sources = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    targets = re.findall(r"\]\(((?!https?:)[^)#\s]+)", re.sub(r"```.*?```|`[^`\n]*`", "", sources, flags=re.DOTALL))
    assert targets and all((translate.PAGES / target).exists() or target in names() for target in targets), targets


def names():
    """The pages that there are in English: their translation is missed by another test."""
    return {path.name for path in PATHS}


def headings(text):
    return [line for line in text.split("\n") if line.startswith("#")]


def test_a_heading_is_the_same_on_every_page_and_a_link_says_the_next_pages_title():
    said, titles, following = defaultdict(set), {}, {}
    for path in TRANSLATED:
        po = translate.stored(path.stem)
        titles[path.name] = headings(translate.said(po[0]))[0].removeprefix("# ")
        for entry in po.translated_entries():
            for english, chinese in zip(headings(entry.msgid), headings(entry.msgstr), strict=True):
                said[english].add(chinese)
            following |= {
                name: title for title, name in re.findall(r"\[(\d\d · [^\]]*)\]\((\w+\.ipynb)\)", entry.msgstr)
            }
    assert [words for words in said.values() if len(words) > 1] == []
    assert {name: following[name] for name in following if name in titles} == {
        name: titles[name] for name in following if name in titles
    }


# -------------------------------------------------------------------------------- what the tool says and does

V4 = nbformat.v4
STEM = "04_tiling"
ENGLISH = (
    f"# 04 · Stage a tile\n\n{notebooks.badges(STEM)}\n\nA **[warp](glossary.md#warp)** of 32 threads.",
    "The [tile](glossary.md#tile) `As`, page [03](03_coalescing.ipynb).",
)
CHINESE = ("# 04 · 载入分块\n\n由 32 个线程组成的**线程束**。", "分块 `As`，见第 [03](03_coalescing.ipynb) 页。")


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A small page and its whole translation, in folders of their own."""
    monkeypatch.setattr(notebooks, "repository", lambda: "https://github.com/somebody/course")
    monkeypatch.setattr(translate, "PO", tmp_path / "po")
    monkeypatch.setattr(translate, "PAGES", tmp_path / "zh_CN")
    monkeypatch.setattr(translate, "notebook_paths", lambda names=(): [tmp_path / f"{STEM}.ipynb"])
    cells = [
        V4.new_markdown_cell(ENGLISH[0]),
        V4.new_code_cell("6 * 7", outputs=[V4.new_output("stream", text="42\n")], execution_count=1),
        V4.new_markdown_cell(ENGLISH[1]),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"04-c{number:02}"
    write(tmp_path, V4.new_notebook(cells=cells))
    assert translate.main(["--update"]) == 0
    po = translate.stored(STEM)
    for entry, chinese in zip(po, CHINESE, strict=True):
        entry.msgstr = chinese
    po.save(str(translate.PO / f"{STEM}.po"))
    assert translate.main([]) == 0
    return tmp_path


def write(folder, notebook):
    (folder / f"{STEM}.ipynb").write_text(notebooks.as_text(notebook), encoding="utf-8")


def edit(folder, number, old, new):
    """As an author edits a cell of the English page."""
    notebook = notebooks.read(folder / f"{STEM}.ipynb")
    assert old in notebook.cells[number].source
    notebook.cells[number].source = notebook.cells[number].source.replace(old, new)
    write(folder, notebook)


def wrong(folder):
    return translate.make(folder / f"{STEM}.ipynb", only_check=True)[0]


def old(folder):
    """What waits for a translator, without the command that shows it."""
    return [line.partition(";")[0] for line in translate.make(folder / f"{STEM}.ipynb", only_check=True)[1]]


def chinese(folder, number):
    """What a cell of the Chinese page says."""
    return notebooks.read(folder / "zh_CN" / f"{STEM}.ipynb").cells[number].source


def test_the_chinese_page_has_its_own_links_and_badges(page):
    first, code, last = notebooks.read(page / "zh_CN" / f"{STEM}.ipynb").cells
    warp, tile = (glossary.meanings(glossary.CHINESE)[anchor] for anchor in ("warp", "tile"))
    assert first.source == (
        f"# 04 · 载入分块\n\n{notebooks.badges(f'zh_CN/{STEM}')}\n\n"
        f'由 32 个线程组成的[**线程束**](../glossary.md#warp "{warp}")。'
    )
    assert "notebooks/zh_CN/04_tiling.ipynb" in first.source
    assert last.source == f'[分块](../glossary.md#tile "{tile}") `As`，见第 [03](03_coalescing.ipynb) 页。'
    assert code.outputs[0].text == "42\n"


def test_an_edited_cell_keeps_its_old_translation_with_a_note_and_names_the_command_that_shows_it(page, capsys):
    before = chinese(page, 0)
    edit(page, 0, "32 threads", "64 threads")
    assert len(wrong(page)) == 2 and all("is out of date; run: make zh" in line for line in wrong(page))
    assert translate.main([]) == 0 and wrong(page) == []
    told = "04-c00 (# 04 · Stage a tile) has changed since it was translated; run: "
    assert f"{told}python tools/translate.py --update 04" in capsys.readouterr().out
    assert chinese(page, 0) == f"{before}\n\n{translate.NOTES[translate.CHANGED]}"
    assert translate.main(["--check"]) == 1  # for translators
    capsys.readouterr()
    assert translate.main(["--update", "04"]) == 0
    said = capsys.readouterr().out
    assert "1 of 2 entries" in said and "+ A **warp** of 64 threads." in said and CHINESE[0] in said
    assert "04-c02" not in said
    assert translate.stored(STEM)[0].fuzzy and len(old(page)) == 1
    edit(page, 0, "64 threads", "16 threads")  # and again, before anyone translates
    assert translate.main(["--update", "04"]) == 0
    assert "32 threads" in translate.stored(STEM)[0].previous_msgid
    edit(page, 0, "16 threads", "32 threads")  # taken back
    assert translate.main([]) == 0
    assert wrong(page) == old(page) == [] and chinese(page, 0) == before


def test_a_new_cell_and_one_that_is_gone(page):
    notebook = notebooks.read(page / f"{STEM}.ipynb")
    notebook.cells[2] = V4.new_markdown_cell("A new one.", id="04-c09")
    write(page, notebook)
    assert old(page) == ["04-c09 (A new one.) is not translated"]
    assert translate.main([]) == 0 and wrong(page) == []
    assert chinese(page, 2) == f"A new one.\n\n{translate.NOTES[translate.EMPTY]}"
    po = translate.stored(STEM)
    assert [entry.msgid for entry in po][1:] == ["A new one."] and not po.obsolete_entries()


def test_a_new_cell_in_the_place_of_one_that_moved_begins_empty(page):
    notebook = notebooks.read(page / f"{STEM}.ipynb")
    moved = V4.new_markdown_cell(notebook.cells[2].source, id="04-c09")
    notebook.cells[2].source = "A new one."
    write(page, V4.new_notebook(cells=[*notebook.cells, moved]))
    translate.main(["--update"])
    assert [(entry.msgstr, entry.fuzzy) for entry in translate.stored(STEM)][1:] == [("", False), (CHINESE[1], False)]


def test_an_entry_that_no_cell_needs_is_seen(page):
    po = translate.stored(STEM)
    po.append(polib.POEntry(msgid="Gone.", msgstr="没有了。"))
    po.save()
    assert wrong(page) == [f"notebooks/zh_CN/po/{STEM}.po is out of date; run: make zh"]


@pytest.mark.parametrize(
    "old, new",
    [("**[warp](glossary.md#warp)**", "**warp**"), (notebooks.badges(STEM), "[![x](y)](z)"), ("A *", "A\n*")],
)
def test_a_moved_link_new_badges_and_other_line_breaks_need_no_translator(page, old, new):
    edit(page, 0, old, new)
    translate.main(["--update"])
    assert translate.untranslated(translate.stored(STEM)) == []


def test_a_new_output_needs_the_tool_and_no_translator(page):
    edit(page, 1, "6 * 7", "7 * 6")
    assert wrong(page) == [f"notebooks/zh_CN/{STEM}.ipynb is out of date; run: make zh"]
    assert translate.main([]) == 0 and wrong(page) == []


# ------------------------------------------------------------------------------------------- outputs in Chinese

PNG, DRAWN = "aGVsbG8=", "d29ybGQ="
ALT = "C of 6 x 9 under a grid of 2 x 5 blocks of 4 x 2 elements. Thread numbers run along a row of C first; "
ALT += "cells marked – were stored by no thread."
FILM = '<figure aria-label="step 1 of 3"><img src="data:image/png;base64,{}" alt="step 2 of 3">of A</figure>'


def picture(png=PNG, alt=ALT):
    data = {"image/png": png, "text/plain": alt, "text/html": FILM.format(png)}
    output = V4.new_output("display_data", data, metadata={"image/png": {"width": 9, "alt": alt}})
    return V4.new_code_cell("show()", outputs=[output], id="04-p1")


def test_the_words_for_a_picture_are_chinese_and_its_pixels_stay():
    output = picture().outputs[0]
    translate.output_in_chinese(output)
    chinese = "C 为 6 x 9，网格有 2 x 5 个线程块，每块 4 x 2 个元素。线程编号先沿 C 的一行走；标 – 的格子没有线程写过。"
    assert output.data["text/plain"] == output.metadata["image/png"]["alt"] == chinese
    assert output.data["text/html"] == FILM.format(PNG).replace("step 1 of 3", "第 1 步，共 3 步").replace(
        "step 2 of 3", "第 2 步，共 3 步"
    )
    assert output.data["image/png"] == PNG


@pytest.mark.parametrize(
    "drawn_for, taken",
    [
        (picture(), True),
        (picture(png=DRAWN), True),  # the English one's words are what counts, not its pixels
        (picture(alt="Other words."), False),
        (None, False),  # of a timed cell, as `draw` leaves it
    ],
)
def test_a_picture_that_was_drawn_in_chinese_stays_as_long_as_the_english_one_says_the_same(drawn_for, taken):
    english, drawn = V4.new_notebook(cells=[picture()]), picture(png=DRAWN, alt="C 的元素 (1, 3)")
    if drawn_for:
        drawn.outputs[0].metadata[translate.OF] = translate.words_of(drawn_for.outputs[0])
    page = copy.deepcopy(english)
    translate.take_pictures(page, english, V4.new_notebook(cells=[drawn]))
    assert page.cells[0] == (drawn if taken else english.cells[0])


def test_what_the_doctor_said_is_in_chinese():
    said = "Ready: OpenCL kernels run on this machine's CPU, a CPU, CUDA kernels on the PTX machine.\n"
    output = V4.new_output("stream", text=said)
    translate.output_in_chinese(output)
    assert output.text.startswith("准备好了") and "Ready" not in output.text and output.text.endswith("\n")


# -------------------------------------------------------------------------- what differs, and what reads badly

PAIR = (
    "## A warp\n\nIt has **32** threads, `As[0]`, [03](03.ipynb). ![A warp](warp.png)\n\n"
    "<details><summary>A hint</summary>Use <code>k</code>.</details>",
    "## 线程束\n\n它有 **32** 个线程，`As[0]`，[03](03.ipynb)。![线程束](warp.png)\n\n"
    "<details><summary>提示</summary>用 <code>k</code>。</details>",
)


def test_a_good_translation_has_no_fault():
    assert list(translation.differences(*PAIR)) == list(translation.manners(PAIR[1])) == []


@pytest.mark.parametrize(
    "old, new, fault",
    [
        ("## ", "### ", "headings"),
        ("## 线程束\n\n", "", "headings"),
        ("\n\n<", "\n\n多一段。\n\n<", "headings"),
        ("32", "64", "number"),
        ("As[0]", "Bs[0]", "code"),
        ("<code>k</code>", "<code>j</code>", "code"),
        ("<code>k</code>", "k", "code"),
        ("03.ipynb", "04.ipynb", "link"),
        ("warp.png", "tile.png", "link"),
        ("**32**", "32", "emphasis"),
        ("<summary>提示</summary>", "提示", "tag"),
        ("线程束", "warp", "'warp' is '线程束' in the glossary"),
    ],
)
def test_what_is_lost_in_translation_is_named(old, new, fault):
    assert old in PAIR[1]
    assert any(fault in line for line in translation.differences(PAIR[0], PAIR[1].replace(old, new)))


def test_a_word_that_is_no_term_here_is_excused():
    pair = "The core of it.", "要点。"
    assert list(translation.differences(*pair)) and not list(translation.differences(*pair, "not a term: stack, core"))


@pytest.mark.parametrize(
    "text",
    ["线程A", "用`k`吧", "共32 个", "占 5 %。", "好,", "好:", "（好) 。", "一行，\n又一行", "这叫**“块”**的东西"],
)
def test_bad_manners_are_named(text):
    assert list(translation.manners(text))


OLD = (
    "测时/判词/累加和/屏障分歧/合并的核函数/保存的时间/由缓存满足/主内存/笔记本/二级缓存/存档的时间/屋脊点/柱子/盖住/卡住速率/发表/通道应答/"
    "遮住/梯子/牢笼/帐号/产品资料/矩阵乘积/难分高下/评语/顺序/x 数的是/流水线级/限制就是/看时钟/"
    "第 3 步/机器代码/柱状图/转过来存放/大小为 512/小组数/整个的/溢出"
)


def test_each_word_that_is_not_used_any_more_is_named():
    said = [list(translation.manners(f"一个 {word}。")) for word in OLD.split("/")]
    assert [len(one) for one in said] == [1] * len(translation.RETIRED)
    assert "寄存器溢出 is the usual word in '一个 溢出。'" in said[-1]


@pytest.mark.parametrize(
    "file",
    [
        "README.zh-CN.md",
        "teaching/README.zh-CN.md",
        "notebooks/glossary.md",
        "tools/web/gpu/texts.json",
        "tools/web/gpu/your_gpu.zh_CN.md",
        "tools/web/index.zh_CN.md",
        "tools/web_pages.py",
    ],
)
def test_what_is_written_in_chinese_by_hand_uses_the_same_words(file):
    text = (notebooks.ROOT / file).read_text("utf-8")
    assert [old for old in translation.RETIRED if re.search(old, text)] == []
