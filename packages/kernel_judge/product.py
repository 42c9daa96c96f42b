"""What is judged: whatever computes A @ B, a kernel with its launch or a function."""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .findings import Finding, Kind

Shape = tuple[int, int, int]  # M, N, K


class Seen(NamedTuple):
    """What came of a move: the findings, empty where all is right, the shapes tried, and notes on what was not done.

    `notes` are `Finding`s whose kind is "". `at`: the sizes at which that was found, "" where they are its own.
    """

    findings: list
    shapes: list = []  # noqa: RUF012, never changed
    notes: tuple = ()
    at: str = ""


class Product:
    """A kernel, or a function, that should compute C = A @ B, as a judge needs it. A subclass overrides what differs.

    name     as a verdict calls it; `source`: its text, whose lines findings name
    sizes    its parameters in words, such as "TILE=16"; "" for none
    inputs   the type that it rounds A and B to: "float32" for none
    device_name  where it runs; `tile_known`: False for a function, whose tile is made up
    tile     rows and columns of C that a block owns, and the depth of its K-tiles; `block`: threads along x, y
    """

    name: str
    source: str
    sizes, device_name, inputs = "", "this machine", "float32"
    tile, block, tile_known = (4, 4, 4), (4, 4), False

    def multiply(self, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> np.ndarray:
        """C of one launch in this process, which found C full of `fill`. Raises `Wrong` where more than C is wrong."""
        raise NotImplementedError

    def watched(self, move: Callable[["Product"], Seen]) -> Seen:
        """What the move finds of this product where each access is seen; nothing where nobody sees them."""
        return Seen([])

    def natively(self, move: Callable[["Product"], Seen]) -> Seen:
        """What the move finds at native speed, where a crash, or a loop that never ends, does no harm: here."""
        return move(self)

    def affordable(self, shapes: list[Shape], seconds: float = 1) -> list[Shape]:
        """As many of the shapes as are multiplied in so many seconds where each access is seen; [] for none."""
        return shapes

    def unlike(self) -> list["Product"]:
        """The same source at two sets of sizes, no two of them equal; [] where the source takes none."""
        return []

    def possible(self, shapes: list[Shape]) -> list[Shape]:
        """Those of the shapes at which it may be launched: no room, or too many blocks, is no fault."""
        return shapes

    def turned(self) -> "Product | None":
        """The same, launched with x and y exchanged; None for a function, which launches itself."""

    def of_nan(self) -> Finding:
        """What NaN means that C holds whatever it held before: made, read behind A or B, or never set."""
        return Finding(Kind.NOT_A_NUMBER, "not_a_number_of_a_function")

    def failure(self, error: Exception) -> Finding:
        """What an exception of `multiply` says of it."""
        return Finding(Kind.ERROR, "{error}", values={"error": f"{type(error).__name__}: {error}"})

    def mentions(self, pattern: str, comment: str = "#") -> tuple[int, ...]:
        """The lines of `source`, without comments, in which that pattern is found."""
        lines = enumerate(self.source.splitlines(), 1)
        return tuple(number for number, line in lines if re.search(pattern, line.partition(comment)[0]))


class Wrong(Exception):
    """What a launch showed beside its C: `findings`."""

    def __init__(self, *findings: Finding):
        super().__init__(*map(str, findings))
        self.findings = list(findings)
