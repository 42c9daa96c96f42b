"""What a teacher reads is true: minutes add up, each wrong answer gets its verdict, exercises.md is as it is made."""

import functools
import re
import subprocess
import sys

import notebooks
import pytest
from few import few
from judged import BOTH, ROW, TOLD, verdict
from solved import in_pages

from helpers.classroom import EXERCISES

TEACHING = notebooks.ROOT / "teaching"
PAGES = {path.name[:2]: path for path in notebooks.notebook_paths()}
SECTION = re.compile(r"^\| (.+) \| (\d+) \|$", re.MULTILINE)


def page(number):
    return (TEACHING / f"{PAGES[number].stem}.md").read_text(encoding="utf-8")


@functools.cache
def sections(path):
    cells = [cell.source for cell in notebooks.read(path).cells if cell.cell_type == "markdown"]
    return [heading for source in cells for heading in re.findall(r"^## (.*)", source, re.MULTILINE)]


@pytest.mark.parametrize("number", PAGES)
def test_each_page_has_its_sections_and_their_minutes_add_up(number):
    told = SECTION.findall(page(number))
    assert [heading for heading, _ in told] == sections(PAGES[number])
    said, summed = notebooks.minutes(notebooks.read(PAGES[number])), sum(int(minutes) for _, minutes in told)
    assert summed == said, f"teaching/{PAGES[number].stem}.md: its sections take {summed} minutes, its page says {said}"
    for heading in ("**Say:**", "**Ask:**", "## Where people stumble", "## When you are late"):
        assert heading in page(number)
    asked = page(number).partition("**Ask:**")[2].partition("\n\n")[0]
    assert re.search(r"\(.{20,}\)$", asked, re.DOTALL), "the question has its answer in brackets"


def test_each_exercise_with_a_solution_in_a_cell_tells_of_a_wrong_answer():
    lacks = [label for label in in_pages() if label not in {told for told, *_ in TOLD}]
    assert not lacks, f"the pages of teaching/ have no row in `Wrong answers to expect` for: {', '.join(lacks)}"
    for number in PAGES:  # each row of the table is such an answer, and says why
        rows = [line for line in page(number).splitlines() if re.match(r"\| \d\d\.\d ", line)]
        assert rows and all(map(ROW.match, rows)), number
        assert len(rows) >= 5, f"{number}: the five likeliest slips"


@pytest.mark.parametrize("label, right, wrong, kind", few(TOLD, *TOLD[:1]), ids=[label for label, *_ in TOLD])
def test_each_wrong_answer_gets_the_verdict_that_is_told(label, right, wrong, kind):
    right, wrong = (text.strip("` ") if text == " " else text for text in (right, wrong))
    right, wrong = (text.replace(" ⏎ ", "\n") for text in (right, wrong))
    assert right in BOTH[label][1]
    state, said = verdict(label, {right: wrong})
    told = "✗" if kind == "not met" else kind  # a wish, of which the page has a line each
    assert state == ("not yet" if kind == "not yet" else "tried") and told in said, said


def test_the_list_of_exercises_is_as_it_is_made():
    done = subprocess.run([sys.executable, "tools/exercises.py", "--check"], cwd=notebooks.ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    text = (TEACHING / "exercises.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (\d\d\.\d)", text, re.MULTILINE) == list(EXERCISES)


PATHS = re.compile(r"^### (.+?), (\d+) minutes\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
WRITING = "Your turn", "Now you: ", "One function, many threads", "The kernel you will make fast"  # or begin so
TIMETABLES = PATHS.findall((TEACHING / "README.md").read_text(encoding="utf-8"))


@functools.cache
def cells_to_run(number):
    """{section: code cells that one runs there}: all but the set-up cell."""
    found, section = {}, None
    for cell in notebooks.read(PAGES[number]).cells[2:]:
        if cell.cell_type == "markdown":
            section = ([section, *re.findall(r"^## (.*)", cell.source, re.MULTILINE)])[-1]
        else:
            found[section] = found.get(section, 0) + 1
    return found


def spent(what, minutes):
    """(reading, running, writing): what that row of a timetable gives to each, in minutes; a cell takes one to run."""
    number = re.match(r"page (\d\d)", what)
    if not number:
        return 0, 0, 0
    if "more time to write" in what:
        return 0, 0, minutes
    told = dict(SECTION.findall(page(number[1])))
    parts = what.split(": ", 1)[1].split("; ") if ": " in what else list(told)
    writing = sum(int(told[part]) for part in parts if part.startswith(WRITING))
    reading = [part for part in parts if not part.startswith(WRITING)]
    running = sum(many for section, many in cells_to_run(number[1]).items() if section in reading)
    return minutes - writing - running, running, writing


def test_there_are_three_timetables():
    assert len(TIMETABLES) == 3


@pytest.mark.parametrize("name, total, table", TIMETABLES, ids=[name for name, *_ in TIMETABLES])
def test_a_timetable_sums_to_its_length_and_to_what_the_pages_say(name, total, table):
    rows = [(what, int(minutes)) for what, minutes in SECTION.findall(table)]
    assert abs(sum(minutes for _, minutes in rows) - int(total)) <= 0.05 * int(total)
    assert any("set-up" in what and minutes == 30 for what, minutes in rows)
    for what, minutes in rows:
        if whole := re.fullmatch(r"page (\d\d)", what):
            said = notebooks.minutes(notebooks.read(PAGES[whole[1]]))
            assert minutes == said, f"teaching/README.md has {minutes} minutes for {what}, which says {said}"
        for number in re.findall(r"page (\d\d): ", what):  # a part of it, by the names of its sections
            told = dict(SECTION.findall(page(number)))
            parts = what.split(": ", 1)[1].split("; ")
            assert minutes == sum(int(told[part]) for part in parts), what
    assert len(rows) == len(set(rows))
    reading, running, writing = (sum(some) for some in zip(*(spent(*row) for row in rows), strict=True))
    said = f"Minutes on pages: {reading} of reading, {running} of running cells, {writing} of writing."
    assert said in table, said
    assert name != "Half a day" or writing >= reading + running


CHINESE = (TEACHING / "README.zh-CN.md").read_text(encoding="utf-8")
OTHER_ROWS = {  # of a timetable: those that are no page
    "set-up": "准备",
    "break": "休息",
    "a second break": "第二次休息",
    "a break in the afternoon": "下午的休息",
    "a break on the second day": "第二天的休息",
    "the last break": "最后一次休息",
    "questions": "提问",
}


def in_chinese(what):
    """That row of a timetable as the Chinese guide has it, sections by the names that the Chinese page gives them."""
    page = re.fullmatch(r"page (\d\d)(: (?P<parts>.*))?(, more time to write)?", what)
    if not page:
        return OTHER_ROWS[what]
    path, parts = PAGES[page[1]], ""
    if page["parts"]:
        names = dict(zip(sections(path), sections(notebooks.FOLDER / "zh_CN" / path.name), strict=True))
        parts = "；".join(names[part] for part in page["parts"].split("; "))
    return f"第 {page[1]} 页" + f"：{parts}" * bool(parts) + "，多给一些时间写" * what.endswith("to write")


def test_the_chinese_timetables_are_the_english_ones():
    tables = re.findall(r"^### (?:.+?)，(\d+) 分钟\n(.*?)(?=^##|\Z)", CHINESE, re.MULTILINE | re.DOTALL)
    assert [total for total, _ in tables] == [total for _, total, _ in TIMETABLES]
    for (_, chinese), (_, _, english) in zip(tables, TIMETABLES, strict=True):
        assert SECTION.findall(chinese) == [(in_chinese(what), minutes) for what, minutes in SECTION.findall(english)]
        told = re.search(r"^Minutes on pages: (\d+) .* (\d+) .* (\d+) of writing\.$", english, re.MULTILINE)
        assert "页面上的分钟：读 {}，运行单元格 {}，写 {}。".format(*told.groups()) in chinese


@pytest.mark.parametrize("guide", ["README.md", "README.zh-CN.md"])
def test_the_hand_out_for_half_a_day_has_the_pages_of_its_timetable(guide):
    half = next(table for name, _, table in TIMETABLES if name == "Half a day")
    told = re.findall(r"make handout HANDOUT_FLAGS=\"[^\"]*--pages ([\d ]+)\"", (TEACHING / guide).read_text("utf-8"))
    assert [one.split() for one in told] == [list(dict.fromkeys(re.findall(r"^\| page (\d\d)", half, re.MULTILINE)))]


def test_the_first_ten_minutes_name_sections_of_page_02():
    english = (TEACHING / "README.md").read_text("utf-8").partition("## Your first ten minutes")[2].partition("## ")[0]
    chinese = CHINESE.partition("## 第一堂课的前十分钟")[2].partition("## ")[0]
    named = re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", english), re.findall(r"“([^”]+)”那一节", chinese)
    for names, place in zip(named, ("", "zh_CN"), strict=True):
        assert len(names) == 2 and set(names) <= set(sections(notebooks.FOLDER / place / PAGES["02"].name))
