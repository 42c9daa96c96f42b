"""A kernel as the judge takes it, of either dialect: its tile, its device, and its source at other sizes."""

import ast
import copy
import math
import re
from contextlib import suppress

from kernel_judge import Finding, Kind

from .. import ladder
from ..errors import KernelError
from ..launch import Kernel, dialect
from ..launch.cuda_source import came_as_text
from .functions import FunctionProduct


class KernelProduct(FunctionProduct):
    """A `Kernel`, with its step's tile and block. A subclass, a dialect's, watches it, and runs it natively."""

    tile_known = True

    def __init__(self, k: Kernel):
        super().__init__(k)
        self.name, self.sizes = k.title, ladder.spell(k.parameters)
        self.tile, self.block = ladder.STEPS[k.step].tile(k.parameters), k.block

    def of(self, k: Kernel) -> "KernelProduct":
        """Another kernel where this one is."""
        return type(self)(k)

    def unlike(self) -> list["KernelProduct"]:
        """The same source at the step's two sets of unlike sizes; [] where it has a size as a number."""
        k, step = self.k, ladder.STEPS[self.k.step]
        large = {name for name, value in k.parameters.items() if name != "INPUT" and value > 1}
        by_launch = asked_of_launch(k, self.source)
        names = large & (by_launch or asked_of_builder(k, self.source))
        if not k.own or not names or (names < large and not by_launch):
            return []
        whole = k.dialect == "OpenCL" or came_as_text(k.function)
        source, device = self.source if whole else k.function, k.device if k.dialect == "OpenCL" else None
        found = []
        for one in step.unlike:
            sizes = k.parameters | {name: value for name, value in one.items() if name in names}
            if sizes != k.parameters and step.accepts(sizes):
                with suppress(KernelError):  # its builder may refuse other sizes
                    found.append(self.of(dialect(k.dialect).build(source, device, like=k.step, **sizes)))
        return found

    def products(self, shape: tuple) -> int:
        """Products that a launch takes, in whole tiles."""
        return math.prod(ladder.ceil_div(n, side) * side for n, side in zip(shape, self.tile, strict=True))

    def takes(self, shape: tuple) -> bool:
        """Whether the device has room for that shape, and launches so many blocks."""
        try:
            self.k.refuse_size(*shape)
        except (ValueError, MemoryError):
            return False
        return True

    def turned(self) -> "KernelProduct":
        """The same, launched with x and y exchanged."""
        there = copy.copy(self.k)
        there.grid = lambda M, N: self.k.grid(N, M)
        return self.of(there)

    def of_nan(self) -> Finding:
        """Behind A and B on a device lies NaN."""
        return Finding(Kind.OUT_OF_BOUNDS, "reads_past")


def asked_of_builder(k: Kernel, source: str) -> set[str]:
    """The names of sizes that a kernel's source leaves to its builder: macros, arguments of a function."""
    if k.dialect == "OpenCL":
        code = without_comments(source)
        return set(re.findall(r"\w+", code)) - set(re.findall(r"(?:#\s*define|\bconst)\s+(\w+)", code))
    if not came_as_text(k.function):
        return set()
    builders = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    arguments = {a.arg for node in builders for a in (*node.args.args, *node.args.kwonlyargs)}
    return arguments & {n.id for node in builders for n in ast.walk(node) if isinstance(n, ast.Name)}


def asked_of_launch(k: Kernel, source: str) -> set[str]:
    """Which sides of its block a kernel reads from the launch, where it has no other sizes: naive, coalesced.

    A kernel that stages tiles has a size of its own, to which its block must keep.
    """
    if set(k.parameters) != {"BM", "BN"} or re.search(r"__local\b|shared\.array", source):
        return set()
    x, y = ("BM", "BN") if ladder.STEPS[k.step].x_along == "rows" else ("BN", "BM")
    code = without_comments(source) if k.dialect == "OpenCL" else source
    asks = {
        x: r"blockDim\.x|cuda\.grid\b|get_(local_size|global_id)\(0\)",
        y: r"blockDim\.y|cuda\.grid\b|get_(local_size|global_id)\(1\)",
    }
    return {name for name, words in asks.items() if re.search(words, code)}


def without_comments(source: str) -> str:
    """OpenCL C without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)
