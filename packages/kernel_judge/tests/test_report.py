"""What a verdict says."""

from kernel_judge import Finding, Kind, Report, words
from kernel_judge.report import WIDTH

SOURCE = "first\n    second  \nthird"


def test_a_right_one_says_how_large_the_shapes_were_and_what_was_not_done():
    said = "✓ k is right: {}every element within the rounding bound."
    assert Report("k", ()) and repr(Report("k", ())) == said.format("")
    found = Report("k", (), largest=(65_539, 7, 12))
    assert repr(found) == said.format("M up to 65,539, N up to 7, K up to 12, ")
    notes = Finding("", "not_looked_for", values={"what": "races"}), Finding("", "on_the_PTX_machine")
    lines = repr(Report("k", (), notes=notes, inputs="tf32")).splitlines()
    assert (
        lines[0].endswith("within the rounding bound of tf32 inputs.") and lines[1] == "  (not looked for here: races)"
    )
    assert len(lines) == 3


def test_not_yet_is_no_cross():
    found = Report("k", (Finding(Kind.NOT_YET, "It returns None."), Finding("race", "x")))
    assert not found and repr(found) == "… k: not yet. It returns None."


def test_what_took_too_long_and_what_a_compiler_does_wrong_are_no_crosses():
    slow = Finding(Kind.TOO_SLOW, "at 8 x 8 x 8 it still ran", (2,))
    said = "  too slow: at 8 x 8 x 8 it still ran.\n       2 | second"
    assert repr(Report("k", (slow,), SOURCE)) == f"… k: not judged.\n{said}"
    assert repr(Report("k", (Finding(Kind.COMPILER, "x"),))) == "… k is not to blame.\n  miscompiled: x."


def test_a_wrong_one_tells_three_findings_with_their_lines():
    race, *others = Finding("race", "two threads", (1, 2)), Finding("hang", "why?"), Finding("zeros", "all.")
    said = "✗ k is wrong.\n  race: two threads.\n       1 | first\n       2 | second\n  hang: why?\n  zeros: all."
    assert repr(Report("k", (race, *others, Finding("last", "")), SOURCE)) == said


def test_a_finding_is_said_by_its_key_in_either_language(monkeypatch):
    where = dict(row=1, col=0, other_row=4, other_col=0, shape="9 x 9 x 11 (M x N x K)")
    other = Finding(Kind.WRONG_ROW, "wrong_row", values=where)
    found = Report("k", (Finding(Kind.OTHER_SIZES, "with_sizes", (1,), {"other": "TILE=3", "found": other}),), SOURCE)
    assert "with TILE=3, each wrong element of C holds" in repr(found) and "C[1, 0] holds the sum for C[4, 0]" in repr(
        found
    )
    monkeypatch.setattr(words, "NOW", [words.CHINESE])
    first, second, *_ = str(found).splitlines()
    assert first == "✗ k 错误。" and second.startswith(
        "  换了分块大小就错（wrong at other sizes）：TILE=3 时，C 的每个错误元素"
    )
    sizes = {"own": "TILE=4", "other": "TILE=3", "kind": Kind.RACE, "found": "x"}
    assert "（race）" in words.said("other_sizes", **sizes)


def test_a_line_that_the_source_does_not_have_is_left_out():
    found = Report("k", (Finding("race", "a", (-1, 0, 3, 4)),), SOURCE)
    assert repr(found) == "✗ k is wrong.\n  race: a.\n       3 | third"


def test_on_a_page_no_line_is_longer_than_its_width_and_none_breaks_in_a_word():
    sentence = " ".join(f"word-{n}" for n in range(40))
    code = "call(" + ", ".join(f"x[{n}, {n + 1}]" for n in range(20)) + ")"
    found = Report("a kernel", (Finding("race", sentence, (1,)),), code)
    for shown in (str(found), f"{found}", found._repr_mimebundle_()["text/plain"]):
        head, *lines = shown.splitlines()
        assert head == "✗ a kernel is wrong." and len(lines) > 3
        assert all(len(line) <= WIDTH for line in lines)
        assert [len(line) - len(line.lstrip()) for line in lines] == [2, 4, 4, 7, 13]
        assert " ".join(shown.split()) == " ".join(repr(found).split())


def test_a_word_that_is_longer_than_a_line_stays_whole():
    word = "x" * (WIDTH + 1)
    assert word in str(Report("k", (Finding("error", f"it says {word}, and more"),)))
