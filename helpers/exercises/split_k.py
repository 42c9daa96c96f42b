"""Page 16: a product of two launches: each slice of K makes a part of every element of C, then the parts are added."""

import copy
from collections.abc import Callable

import numpy as np

from ..launch import Contestant, Kernel
from ..launch.kernel import Work
from ..launch.on_opencl import opencl_kernel


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


def tiled_slices(bounds: str, store: str) -> Kernel:
    """The OpenCL kernel `tiled` with a reader's lines: the `first` and `last` k of a slice, and its store to C."""
    source = opencl_kernel("tiled").source.replace("    float acc", f"    {bounds.strip()}\n\n    float acc")
    source = source.replace("k0 = 0; k0 < K;", "k0 = first; k0 < last;")
    return opencl_kernel(source.replace("C[row * N + col] = acc;", store), like="tiled")
