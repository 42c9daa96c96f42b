"""What a verdict says."""

from helpers.judge import Report
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


def test_a_wrong_one_tells_three_findings_with_their_lines():
    found = [
        Finding("race", "two threads", (1, 2)),
        Finding("hang", "why?"),
        Finding("zeros", "all."),
        Finding("last", ""),
    ]
    assert repr(Report("k", tuple(found), 1, SOURCE)) == (
        "✗ k is wrong.\n  race: two threads.\n       1 | first\n       2 | second\n  hang: why?\n  zeros: all."
    )


def test_a_line_that_the_source_does_not_have_is_left_out():
    found = Report("k", (Finding("race", "a", (-1, 0, 3, 4)),), 1, SOURCE)
    assert repr(found) == "✗ k is wrong.\n  race: a.\n       3 | third"
