"""Page 16: a product of two launches: each slice of K makes a part of every element of C, then the parts are added."""

import copy
from collections.abc import Callable

import numpy as np

from kernel_judge import Finding, Kind, wrong_elements

from ..launch.kernel import Contestant, Kernel, Work


class SplitK(Contestant):
    """C = A @ B by two kernels of one dialect, each of which a reader may have written.

    parts   has `slices` blocks along z for each tile of C; its C is (slices * M, N), one part below the other
    add_up  is launched like `coalesced`, with these in the place of A, `slices` in that of K, and B of no use
    """

    def __init__(self, parts: Kernel, add_up: Kernel, slices: int):
        self.as_given, self.slices, self.name = parts, slices, f"split-K of {slices}"
        self.parts, self.add_up = copy.copy(parts), copy.copy(add_up)
        self.parts.grid, self.parts.block = lambda M, N: (*parts.grid(M, N), slices), (*parts.block, 1)
        self.parts.build_seconds = None  # it is built again, with that grid
        self.own = parts.dialect == "OpenCL" or parts.device.kind not in ("GPU", "PTX machine")  # tried in a child
        self.dialect, self.device, self.step = parts.dialect, parts.device, parts.step
        self.parameters, self.block = parts.parameters, parts.block
        self.source = parts.source + "\n" + add_up.source  # a compiler's lines are those of both, one below the other
        self.add_up.source = "\n" * (1 + parts.source.count("\n")) + add_up.source

    def __reduce__(self):
        return SplitK, (self.as_given, self.add_up, self.slices)

    @property
    def backend(self):
        """Where both run."""
        self.add_up.compile()
        return self.parts.backend

    def launcher(self, work: Work) -> Callable:
        """What launches both kernels, one after the other."""
        (M, N, K), slices = work.sizes, self.slices
        first, second = copy.copy(work), copy.copy(work)
        unset = np.full(slices * M * N, np.nan, np.float32)
        first.C = second.A = work.between = work.on.hold(unset.size, np.nan, unset)  # a kernel does not keep it
        first.shapes = (M, K), (K, N), (slices * M, N)
        second.sizes, second.shapes = (M, N, slices), ((slices * M, N), (1, 1), (M, N))
        launches = self.parts.launcher(first), self.add_up.launcher(second)
        return lambda: [launch() for launch in launches]

    def amiss(self, work: Work, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> Finding | None:
        """Which of the two launches made a C wrong, as far as the parts between them tell; None where they do not."""
        (M, N, _), slices = work.sizes, self.slices
        parts = work.on.read(work.between, 0, slices * M * N)
        if not C.any() or not wrong_elements(C, A, B).any():
            return None
        if np.isnan(parts).any():
            row = int(np.isnan(parts).argmax()) // N
            return Finding(Kind.UNSET, "unset_part", values={"row": row, "part": row // M, "of": row % M, "M": M})
        ways = "(s * M + row) * N + col", "(row * slices + s) * N + col", "(row * N + col) * slices + s"
        for axis, way in enumerate(ways):  # the slices stand before the rows, before the columns, or last
            sums = parts.reshape(np.insert((M, N), axis, slices)).sum(axis)
            if not np.isnan(C).any() and not wrong_elements(sums, A, B).any():
                return Finding(Kind.WRONG_NUMBERS, "parts_are_right", values={"way": way})
        return None
