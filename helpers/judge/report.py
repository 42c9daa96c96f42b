"""The verdict of a check."""

import re
from dataclasses import dataclass

from .. import files, language
from .findings import Finding, Kind, sentences

# For pages, which are texts.
language.ALSO.update({sentences("en")[key]: chinese for key, chinese in sentences("zh_CN").items()})
SHOWN = 3  # findings; the rest mostly follow from them
WIDTH = 118  # signs that a line of a page's output has; JupyterLab breaks a longer one in mid-word


@dataclass(frozen=True)
class Report:
    """The verdict of `check`: true when right. Prints what is wrong, and where in the source.

    subject   what was judged; `source`: its text
    findings  a tuple of `Finding`
    largest   the greatest M, N and K that were tried; () where shapes do not count
    notes     a tuple of `Finding` on what could not be done, such as to look for races
    inputs    the type that A and B are rounded to
    """

    subject: str
    findings: tuple
    source: str = ""
    largest: tuple = ()
    notes: tuple = ()
    inputs: str = "float32"

    def __bool__(self):
        return not self.findings

    def lines(self) -> list[tuple[Finding | None, str]]:
        """What it says, line by line, in English: pairs of a `Finding` that the line tells, or None, and the line."""
        if self:
            sizes = ", ".join(f"{name} up to {n:,}" for name, n in zip("MNK", self.largest, strict=False))
            bound = "the rounding bound" + (f" of {self.inputs} inputs" if self.inputs != "float32" else "")
            head = f"✓ {self.subject} is right: {sizes}{', ' if sizes else ''}every element within {bound}."
            return [(None, head), *((note, f"  ({note.message})") for note in self.notes)]
        first = self.findings[0]
        if first.kind == Kind.NOT_YET:
            return [(None, f"… {self.subject}: not yet. {first.message}")]
        said = [(None, HEADS.get(first.kind, "✗ {} is wrong.").format(self.subject))]
        source = self.source.splitlines()
        for finding in self.findings[:SHOWN]:
            said.append((finding, f"  {finding}" + ("" if finding.message.endswith(("?", ".")) else ".")))
            shown = [line for line in finding.lines if 0 < line <= len(source)]
            said += [(None, f"  {line:6d} | {source[line - 1].strip()}") for line in shown]
        return said + [(note, f"  ({note.message})") for note in self.notes]

    def __repr__(self):
        return "\n".join(line for _, line in self.lines())

    def __str__(self):
        shown = [in_chinese(*line) if language.NOW[0] == language.CHINESE else line[1] for line in self.lines()]
        return "\n".join(wrapped(line) for text in shown for line in text.splitlines())

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What a notebook stores: the text as it is shown, and the verdict as data, in English whatever is shown."""
        first = self.findings[0] if self.findings else None
        data = {
            "subject": self.subject,
            "right": bool(self),
            "tried": first is None or first.kind != "not yet",
            "findings": [one.kind for one in self.findings],
            "said": f"{first.kind}: {first.message}" if first else "",
        }
        return {"text/plain": str(self), files.VERDICT: data}


# How a verdict begins that is no plain cross.
HEADS = {Kind.TOO_SLOW: "… {}: not judged.", Kind.COMPILER: "… {} is not to blame."}


def in_chinese(finding: Finding | None, line: str) -> str:
    """A line of a verdict in Chinese; `finding`: what it tells, if that is one."""
    text = finding and finding.in_chinese
    if not text:
        return language.in_chinese(line)
    if not finding.kind:
        return f"  （{text}）"
    kind, stop = language.tables()["kinds"].get(finding.kind), "" if text.endswith("？") else "。"
    return f"  {f'{kind}（{finding.kind}）' if kind else finding.kind}：{text}{stop}"


def wrapped(line: str) -> str:
    """A line of a verdict in lines of WIDTH at most, broken between words: a sentence indented by 4, code by more."""
    below = " " * (13 if re.match(r" +\d+ \| ", line) else 4)
    return language.wrapped(line, WIDTH, subsequent_indent=below)
