"""The verdict of a check."""

import re
from dataclasses import dataclass

from . import words
from .findings import Kind

VERDICT = "application/vnd.matmul-ladder.verdict+json"  # the type of an output that is a verdict as data
SHOWN = 3  # findings; the rest mostly follow from them
WIDTH = 118  # signs that a line of a page's output has; JupyterLab breaks a longer one in mid-word


@dataclass(frozen=True)
class Report:
    """The verdict of `check`: true when right. Prints what is wrong, and where in the source.

    subject   what was judged: its name, or a sentence, see `words.spelled`
    findings  a tuple of `Finding`
    source    its text
    largest   the greatest M, N and K that were tried; () where shapes do not count
    notes     a tuple of `Finding` on what could not be done, such as to look for races
    inputs    the type that A and B are rounded to
    """

    subject: str | tuple
    findings: tuple
    source: str = ""
    largest: tuple = ()
    notes: tuple = ()
    inputs: str = "float32"

    def __bool__(self):
        return not self.findings

    def head(self) -> tuple[str, str, dict]:
        """How it begins: its sign, and the key and the values of what it says."""
        subject = {"subject": self.subject}
        if not self:
            slow = self.findings[0].kind == Kind.TOO_SLOW
            return ("… ", "not_judged", subject) if slow else ("✗ ", "wrong", subject)
        sizes = {name: f"{n:,}" for name, n in zip("MNK", self.largest, strict=False)}
        bound = ("bound", {}) if self.inputs == "float32" else ("bound_of", {"inputs": self.inputs})
        return "✓ ", "right_up_to" if sizes else "right", subject | {"bound": bound} | sizes

    def lines(self) -> list[tuple[str, str, str, dict]]:
        """What it says, line by line: what stands before the sentence, a kind or "", its key and its values."""
        sign, key, values = self.head()
        if self.findings and self.findings[0].kind == Kind.NOT_YET:
            return [("… ", "", "not_yet", values | {"found": self.findings[0]})]
        said, source = [(sign, "", key, values)], self.source.splitlines()
        for finding in self.findings[:SHOWN]:
            said.append(("  ", finding.kind, finding.key, finding.values))
            shown = [line for line in finding.lines if 0 < line <= len(source)]
            said += [(f"  {line:6d} | ", "", "{code}", {"code": source[line - 1].strip()}) for line in shown]
        return said + [("  ", "", "note", {"text": note}) for note in self.notes]

    def __repr__(self):
        return "\n".join(line_in(words.ENGLISH, *line) for line in self.lines())

    def __str__(self):
        return shown(self.lines(), words.NOW[0])

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What a notebook stores: the text as it is shown, and the verdict as data, in English whatever is shown."""
        first = self.findings[0] if self.findings else None
        data = {
            "subject": words.spelled(words.ENGLISH, "{subject}", {"subject": self.subject}),
            "right": bool(self),
            "tried": first is None or first.kind != "not yet",
            "findings": [one.kind for one in self.findings],
            "said": str(first or ""),
            "lines": [[before, kind, key, plain(key, values)] for before, kind, key, values in self.lines()],
        }
        return {"text/plain": str(self), VERDICT: data}


def line_in(chosen: str, before: str, kind: str, key: str, values: dict) -> str:
    """A line of a verdict, as `Report.lines` has it, in that language."""
    text = words.spelled(chosen, key, values)
    if not kind:
        return before + text
    colon = ": " if chosen == words.ENGLISH else "："
    stop = "." if chosen == words.ENGLISH or key not in words.sentences(chosen) else "。"
    return f"{before}{words.kind_in(chosen, kind)}{colon}{text}{'' if text.endswith(('?', '.', '？', '。')) else stop}"


def shown(lines: list, chosen: str) -> str:
    """The lines of a verdict in that language, none longer than WIDTH. `lines`: as `Report.lines`, or its data, has."""
    text = "\n".join(line_in(chosen, *line) for line in lines)
    return "\n".join(map(wrapped, text.splitlines()))


def plain(key: str, values: dict) -> dict:
    """The values that a sentence has a place for, as JSON has them: numbers, texts, and sentences as [key, values]."""
    sentence, found = words.sentences(words.ENGLISH).get(key, key), {}
    for name, value in values.items():
        if pair := words.pair_of(value):
            found[name] = [pair[0], plain(*pair)]
        elif re.search(rf"{{{name}\b", sentence):
            found[name] = value if isinstance(value, int | float | str) else str(value)
    return found


def wrapped(line: str) -> str:
    """A line of a verdict in lines of WIDTH at most, broken between words: a sentence indented by 4, code by more."""
    below = " " * (13 if re.match(r" +\d+ \| ", line) else 4)
    return words.wrapped(line, WIDTH, subsequent_indent=below)
