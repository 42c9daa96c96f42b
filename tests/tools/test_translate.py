"""The Chinese edition: whole, made by the tool, and the same as the English one in all that is not language."""

import copy
import re

import glossary
import nbformat
import notebooks
import pytest
import translate
import translation

PATHS = notebooks.notebook_paths()


def test_every_page_has_a_chinese_edition_and_nothing_else_has():
    assert [path.stem for path in sorted(translate.PO.glob("*.po"))] == [path.stem for path in PATHS]
    assert [path.name for path in sorted(translate.PAGES.glob("*.*"))] == [path.name for path in PATHS]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_page_is_what_the_tool_makes_of_its_translation_and_its_links_lead_to_files(path):
    """Who changes an English sentence need not know Chinese: what waits for a translator is no fault."""
    wrong, _ = translate.make(path, only_check=True)
    assert wrong == []
    chinese = notebooks.read(translate.PAGES / path.name)
    sources = "\n".join(cell.source for cell in chinese.cells if cell.cell_type == "markdown")
    targets = re.findall(r"\]\(((?!https?:)[^)#\s]+)", re.sub(r"```.*?```|`[^`\n]*`", "", sources, flags=re.DOTALL))
    assert targets and [target for target in targets if not (translate.PAGES / target).exists()] == []


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


def state(folder):
    """What is wrong, and what waits for a translator, without the command that shows it."""
    wrong, old = translate.make(folder / f"{STEM}.ipynb", only_check=True)
    return wrong, [line.partition(";")[0] for line in old]


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
    assert last.source == f'[分块](../glossary.md#tile "{tile}") `As`，见第 [03](03_coalescing.ipynb) 页。'
    assert code.outputs[0].text == "42\n"


def test_an_edited_cell_keeps_its_old_translation_with_a_note_and_names_the_command_that_shows_it(page, capsys):
    before = chinese(page, 0)
    edit(page, 0, "32 threads", "64 threads")
    assert [line.partition(" ")[2] for line in state(page)[0]] == ["is out of date; run: make zh"] * 2
    assert translate.main([]) == 0 and state(page)[0] == []
    told = "04-c00 (# 04 · Stage a tile) has changed since it was translated; run: "
    assert f"{told}python tools/translate.py --update 04" in capsys.readouterr().out
    assert chinese(page, 0) == f"{before}\n\n{translate.NOTES[translate.CHANGED]}"
    assert translate.main(["--update", "04"]) == 0
    said = capsys.readouterr().out
    assert "1 of 2 entries" in said and "+ A **warp** of 64 threads." in said and CHINESE[0] in said
    edit(page, 0, "64 threads", "16 threads")  # and again, before anyone translates
    assert translate.main(["--update", "04"]) == 0
    assert "32 threads" in translate.stored(STEM)[0].previous_msgid
    edit(page, 0, "16 threads", "32 threads")  # taken back
    assert translate.main([]) == 0
    assert state(page) == ([], []) and chinese(page, 0) == before


def test_a_new_cell_in_the_place_of_one_that_moved_begins_empty_and_what_is_gone_goes(page):
    notebook = notebooks.read(page / f"{STEM}.ipynb")
    moved = V4.new_markdown_cell(notebook.cells[2].source, id="04-c09")
    notebook.cells[2].source = "A new one."
    write(page, V4.new_notebook(cells=[*notebook.cells, moved]))
    assert state(page)[1] == ["04-c02 (A new one.) is not translated"]
    assert translate.main([]) == 0 and state(page)[0] == []
    assert [(entry.msgstr, entry.fuzzy) for entry in translate.stored(STEM)][1:] == [("", False), (CHINESE[1], False)]
    assert chinese(page, 2) == f"A new one.\n\n{translate.NOTES[translate.EMPTY]}"
    write(page, V4.new_notebook(cells=notebook.cells))
    translate.main(["--update"])
    assert [entry.msgid for entry in translate.stored(STEM)][1:] == ["A new one."]


@pytest.mark.parametrize("old, new", [("**[warp](glossary.md#warp)**", "**warp**"), ("A *", "A\n*")])
def test_a_moved_link_and_other_line_breaks_need_no_translator(page, old, new):
    edit(page, 0, old, new)
    translate.main(["--update"])
    assert translate.untranslated(translate.stored(STEM)) == []


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
    film = FILM.format(PNG).replace("step 1 of 3", "第 1 步，共 3 步").replace("step 2 of 3", "第 2 步，共 3 步")
    assert output.data["text/html"] == film and output.data["image/png"] == PNG


@pytest.mark.parametrize(
    "drawn_for, taken",
    [
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


# -------------------------------------------------------------------------- what differs, and what reads badly

PAIR = (
    "## A warp\n\nIt has **32** threads, `As[0]`, [03](03.ipynb).",
    "## 线程束\n\n它有 **32** 个线程，`As[0]`，[03](03.ipynb)。",
)


def test_a_good_translation_has_no_fault_and_what_is_lost_in_one_is_named():
    assert list(translation.differences(*PAIR)) == list(translation.manners(PAIR[1])) == []
    for old, new, fault in (
        ("## ", "### ", "headings"),
        ("32", "64", "number"),
        ("As[0]", "Bs[0]", "code"),
        ("03.ipynb", "04.ipynb", "link"),
        ("**32**", "32", "emphasis"),
        ("线程束", "warp", "'warp' is '线程束' in the glossary"),
    ):
        assert fault in " ".join(translation.differences(PAIR[0], PAIR[1].replace(old, new)))
    assert "账号 is the usual word" in next(translation.manners("一个帐号。"))
