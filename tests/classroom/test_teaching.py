"""What a teacher reads is true: minutes add up, each wrong answer gets its verdict, exercises.md is as it is made."""

import re
import subprocess
import sys

import notebooks
import pytest
from judged import PAGES as GUIDES
from judged import TOLD
from solved import in_pages

TEACHING = notebooks.ROOT / "teaching"
PAGES = {path.name[:2]: path for path in notebooks.notebook_paths()}
SECTION = re.compile(r"^\| (.+) \| (\d+) \|$", re.MULTILINE)
TIMETABLE = re.compile(r"^### (.+?)(?:, |，)(\d+) (?:minutes|分钟)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


def sections(number):
    return dict(SECTION.findall(GUIDES[number].read_text(encoding="utf-8")))


@pytest.mark.parametrize("number", PAGES)
def test_each_page_has_its_sections_and_their_minutes_add_up(number):
    cells = [cell.source for cell in notebooks.read(PAGES[number]).cells if cell.cell_type == "markdown"]
    headings = [heading for source in cells for heading in re.findall(r"^## (.*)", source, re.MULTILINE)]
    assert list(sections(number)) == headings
    assert sum(map(int, sections(number).values())) == notebooks.minutes(notebooks.read(PAGES[number]))


def test_each_row_of_wrong_answers_is_read_and_each_exercise_has_one():
    """So that test_answers tries all of them."""
    rows = [line for guide in GUIDES.values() for line in guide.read_text("utf-8").split("\n")]
    assert len(TOLD) == sum(bool(re.match(r"\| \d\d\.\d ", line)) for line in rows)
    assert set(in_pages()) - {label for label, *_ in TOLD} == set()


def test_the_list_of_exercises_is_as_it_is_made():
    done = subprocess.run([sys.executable, "tools/exercises.py", "--check"], cwd=notebooks.ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def timetables(guide):
    """[(name, minutes in all, its rows as (what, minutes))] of a teacher's guide."""
    found = TIMETABLE.findall((TEACHING / guide).read_text(encoding="utf-8"))
    return [
        (name, int(total), [(what, int(some)) for what, some in SECTION.findall(text)]) for name, total, text in found
    ]


@pytest.mark.parametrize("name, total, rows", timetables("README.md"), ids=["half", "one", "two"])
def test_a_timetable_sums_to_its_length_and_to_what_the_pages_say(name, total, rows):
    assert abs(sum(minutes for _, minutes in rows) - total) <= 0.05 * total
    for what, minutes in rows:
        if whole := re.fullmatch(r"page (\d\d)", what):
            assert minutes == notebooks.minutes(notebooks.read(PAGES[whole[1]])), what


def test_the_chinese_timetables_have_the_english_pages_and_minutes():
    english, chinese = (
        [
            (total, [(re.findall(r"\b\d\d\b", what), minutes) for what, minutes in rows])
            for _, total, rows in timetables(guide)
        ]
        for guide in ("README.md", "README.zh-CN.md")
    )
    assert english == chinese and len(english) == 3


@pytest.mark.parametrize("guide", ["README.md", "README.zh-CN.md"])
def test_the_hand_out_for_half_a_day_has_the_pages_of_its_timetable(guide):
    [half] = [rows for name, _, rows in timetables("README.md") if name == "Half a day"]
    told = re.findall(r"make handout HANDOUT_FLAGS=\"[^\"]*--pages ([\d ]+)\"", (TEACHING / guide).read_text("utf-8"))
    pages = [page[1] for what, _ in half if (page := re.match(r"page (\d\d)", what))]
    assert [one.split() for one in told] == [list(dict.fromkeys(pages))]
