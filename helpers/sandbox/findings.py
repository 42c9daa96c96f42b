"""One thing wrong with a kernel."""

from dataclasses import dataclass

UNSET = (
    "what it stores comes from numbers that nobody has set, such as a sum that does not start at zero, or an element "
    "of a tile that was never staged"
)


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a kernel.

    kind     "race", "out of bounds", "divergent barrier", "crash", "hang", "error", "unwritten", ...
    message  a sentence
    lines    1-based lines of the kernel's source that it is about, a tuple
    """

    kind: str
    message: str
    lines: tuple = ()

    @property
    def in_a_line(self) -> str:
        """Its kind and its message in one line."""
        return " ".join(f"{self.kind}: {self.message}".split())
