"""The verdict of a check."""

import re
from dataclasses import dataclass

from .. import files, language

SHOWN = 3  # findings; the rest mostly follow from them
WIDTH = 118  # signs that a line of a page's output has; JupyterLab breaks a longer one in mid-word


@dataclass(frozen=True)
class Report:
    """The verdict of `check`: true when right. Prints what is wrong, and where in the source."""

    subject: str
    findings: tuple
    shapes: int
    source: str = ""
    not_looked_for: tuple = ()
    largest: tuple = ()  # the greatest M, N and K among the shapes
    within: str = "the rounding bound"
    remarks: tuple = ()

    @property
    def tried(self) -> str:
        """How many shapes were tried, and how large they were, in words."""
        sizes = ", ".join(f"{name} up to {n:,}" for name, n in zip("MNK", self.largest, strict=False))
        return f"{self.shapes} shape{'s' * (self.shapes != 1)}{f', {sizes}' * bool(sizes)}"

    def __bool__(self):
        return not self.findings

    def __repr__(self):
        if self:
            text = f"✓ {self.subject} is right: {self.tried}, every element within {self.within}."
            notes = [f"not looked for here: {what}" for what in self.not_looked_for]
            return text + "".join(f"\n  ({note})" for note in [*notes, *self.remarks])
        if self.findings[0].kind == "not yet":
            return f"… {self.subject}: not yet. {self.findings[0].message}"
        text = f"✗ {self.subject} is wrong."
        if self.findings[0].kind == "too slow":
            text = f"… {self.subject}: not judged." + f" It was right at {self.tried}." * bool(self.shapes)
        source = self.source.splitlines()
        for finding in self.findings[:SHOWN]:
            text += f"\n  {finding.kind}: {finding.message}"
            text += "" if finding.message.endswith(("?", ".")) else "."
            for line in finding.lines:
                if 0 < line <= len(source):
                    text += f"\n  {line:6d} | {source[line - 1].strip()}"
        if "races" in self.not_looked_for:
            text += "\n  (not looked for here: races, which may be the cause: python -m helpers doctor)"
        return text

    def __str__(self):
        return "\n".join(map(wrapped, language.said(repr(self)).splitlines()))

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


def wrapped(line: str) -> str:
    """A line of a verdict in lines of WIDTH at most, broken between words: a sentence indented by 4, code by more."""
    below = " " * (13 if re.match(r" +\d+ \| ", line) else 4)
    return language.wrapped(line, WIDTH, subsequent_indent=below)
