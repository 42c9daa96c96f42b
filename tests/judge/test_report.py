"""What a verdict says."""

from helpers.judge import Report
from helpers.judge.report import WIDTH
from helpers.sandbox import Finding

SOURCE = "first\n    second  \nthird"


def test_a_right_one_says_at_which_shapes():
    said = "✓ k is right: {}, every element within the rounding bound."
    assert Report("k", (), 1) and repr(Report("k", (), 1)) == said.format("1 shape")
    found = Report("k", (), 40, largest=(65_539, 7, 12))
    assert repr(found) == said.format("40 shapes, M up to 65,539, N up to 7, K up to 12")
    found = Report("k", (), 2, not_looked_for=("races", "hangs"))
    assert repr(found) == said.format("2 shapes") + ("\n  (not looked for here: races)\n  (not looked for here: hangs)")


def test_not_yet_is_no_cross():
    found = Report("k", (Finding("not yet", "It returns None."), Finding("race", "x")), 1)
    assert not found and repr(found) == "… k: not yet. It returns None."


def test_what_took_too_long_is_no_cross_and_says_where_it_was_right():
    slow = Finding("too slow", "at 8 x 8 x 8 it still ran", (2,))
    found = Report("k", (slow,), 2, SOURCE, largest=(4, 5, 6))
    said = "  too slow: at 8 x 8 x 8 it still ran.\n       2 | second"
    right = "It was right at 2 shapes, M up to 4, N up to 5, K up to 6."
    assert not found and repr(found) == f"… k: not judged. {right}\n{said}"
    assert repr(Report("k", (slow,), 0, SOURCE)) == f"… k: not judged.\n{said}"


def test_a_wrong_one_tells_three_findings_with_their_lines():
    race, *others = Finding("race", "two threads", (1, 2)), Finding("hang", "why?"), Finding("zeros", "all.")
    said = "✗ k is wrong.\n  race: two threads.\n       1 | first\n       2 | second\n  hang: why?\n  zeros: all."
    assert repr(Report("k", (race, *others, Finding("last", "")), 1, SOURCE)) == said


def test_a_wrong_one_in_which_nobody_looked_for_races_says_so():
    found = repr(Report("k", (Finding("out of bounds", "a guard"),), 1, not_looked_for=("races",)))
    assert found.endswith("\n  (not looked for here: races, which may be the cause: python -m helpers doctor)")


def test_a_line_that_the_source_does_not_have_is_left_out():
    found = Report("k", (Finding("race", "a", (-1, 0, 3, 4)),), 1, SOURCE)
    assert repr(found) == "✗ k is wrong.\n  race: a.\n       3 | third"


def test_on_a_page_no_line_is_longer_than_its_width_and_none_breaks_in_a_word():
    sentence = " ".join(f"word-{n}" for n in range(40))
    code = "call(" + ", ".join(f"x[{n}, {n + 1}]" for n in range(20)) + ")"
    found = Report("a kernel", (Finding("race", sentence, (1,)),), 1, code)
    for shown in (str(found), f"{found}", found._repr_mimebundle_()["text/plain"]):
        head, *lines = shown.splitlines()
        assert head == "✗ a kernel is wrong." and len(lines) > 3
        assert all(len(line) <= WIDTH for line in lines)
        assert [len(line) - len(line.lstrip()) for line in lines] == [2, 4, 4, 7, 13]
        assert " ".join(shown.split()) == " ".join(repr(found).split())


def test_a_word_that_is_longer_than_a_line_stays_whole():
    word = "x" * (WIDTH + 1)
    assert word in str(Report("k", (Finding("error", f"it says {word}, and more"),), 1))
