"""A kernel as the judge takes it, of either dialect: its tile, its device, and its source at other sizes."""

import copy
import math
from contextlib import suppress

from kernel_judge import Finding, Kind
from kernel_judge.sizes import asked_of_launch, left_to_builder

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
        whole = k.dialect == "OpenCL" or came_as_text(k.function)
        large = {name for name, value in k.parameters.items() if name != "INPUT" and value > 1}
        sides = ("BM", "BN") if step.x_along == "rows" else ("BN", "BM")
        asks = asked_of_launch(self.source, k.dialect == "CUDA")
        by_launch = {name for name, asked in zip(sides, asks, strict=True) if asked}
        if set(k.parameters) != {*sides}:  # only naive and coalesced have no size but their block's
            by_launch = set()
        names = large & (by_launch or (left_to_builder(self.source, k.dialect == "CUDA") if whole else set()))
        if not k.own or not names or (names < large and not by_launch):
            return []
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
