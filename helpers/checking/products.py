"""What is checked, as the judge takes it: a function of (A, B), or a library; a kernel of either dialect."""

import copy
import math
import re
from contextlib import suppress
from functools import partial

import numpy as np

from kernel_judge import Finding, Function, Kind, Seen, Wrong
from kernel_judge.child import Outcome
from kernel_judge.sizes import asked_of_launch, left_to_builder

from .. import ladder
from ..child import SECONDS, calls_opencl, in_child
from ..errors import KernelError, OutOfTime
from ..launch import Contestant, Kernel, NotYet, dialect
from ..launch.cuda_source import came_as_text
from ..launch.kernel import LOST, PAST_THE_END

KINDS = {LOST: Kind.CRASH, PAST_THE_END: Kind.OUT_OF_BOUNDS}  # {key of an error's sentence: kind of finding}


class FunctionProduct(Function):
    """A `Contestant` that launches itself: what nobody can watch, and has no tile."""

    def __init__(self, k: Contestant):
        self.k, self.name, self.source, self.inputs = k, str(k), k.source, k.inputs
        self.function = k.function if k.dialect == "Python" and hasattr(k, "function") else None
        self.device_name = k.device.name if k.device else "this machine"
        if hasattr(k, "block"):
            self.tile, self.block = ladder.STEPS[k.step].tile(k.parameters), k.block
            self.tile_known = isinstance(k, Kernel) or not k.untimed

    def line(self, number: int) -> int:
        """A line of the function's file, all of which is `source`."""
        return number

    def multiply(self, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> np.ndarray:
        """C of one launch, which found C full of `fill`. Raises `Wrong` where A or B has changed."""
        work = self.k.upload(A, B, fill)
        work.launch()
        C = work.download()
        for name, X, there in (("A", A, work.A), ("B", B, work.B)):
            if not np.array_equal(work.on.read(there, 0, X.size).ravel()[: X.size], X.ravel()):
                raise Wrong(Finding(Kind.INPUT_CHANGED, "input_changed", values={"name": name}))
        if np.isnan(fill) and hasattr(self.k, "amiss") and (found := self.k.amiss(work, A, B, C)):
            raise Wrong(found)
        return C

    def natively(self, move):
        """What the move finds: in a child of what may end its process, as what calls PyOpenCL may."""
        if self.k.own or calls_opencl(self.k):
            return self.came_of(in_child(self.k, partial(move, self), SECONDS))
        from kernel_judge.on_ptx import within_budget  # of a library nothing runs there

        return within_budget(move, self)

    def came_of(self, outcome: Outcome, compiler: str = "") -> Seen:
        """What came of a move in a child, or why nothing did; `compiler`: whose it is that builds the kernel there."""
        if outcome.value is not None:
            return outcome.value
        if outcome.error and (outcome.begun or outcome.error[0] != "KernelError"):
            raise KernelError(f"{self.k} cannot be tried here: {': '.join(outcome.error)}")
        if outcome.error:  # the first of the compiler's: the others mostly follow from it
            about = outcome.error[1].partition("does not compile.\n")[2] or outcome.error[1]
            first = re.search(r"^line (\d+): (.*)", about, re.MULTILINE)
            lines, text = ((int(first[1]),), first[2]) if first else ((), about)
            return Seen([Finding(Kind.NOT_COMPILED, "{text}", lines, {"text": text})])
        if not outcome.begun:
            values = {"compiler": compiler, "what": outcome.why}
            return Seen([Finding(outcome.why.kind, "not_built", values=values)])
        loops = self.mentions(r"\b(for|while|do|goto)\b", "//" if self.k.dialect == "OpenCL" else "#")
        if loops and outcome.why.kind == Kind.HANG:
            return Seen([Finding(Kind.HANG, "loops", loops, {"what": outcome.why})])
        return Seen([outcome.why])

    def failure(self, error: Exception) -> Finding:
        """An exception of `multiply` as a `Finding`."""
        if isinstance(error, OutOfTime):  # as `cuda_without_gpu` says it: the line of code stands below
            text, line = error.sentence[0].partition("\n    ")[0], error.sentence[1]["line"]
            return Finding(Kind.TOO_SLOW, "{text}", (line,) if line else (), {"text": text})
        if isinstance(error, NotYet):
            return Finding(Kind.NO_ANSWER, "returns_none")
        if isinstance(error, KernelError) and (kind := KINDS.get(error.sentence[0])):
            return Finding(kind, error.sentence[0], values=error.sentence[1])
        if isinstance(error, KernelError) and "does not compile" in str(error):
            return Finding(Kind.NOT_COMPILED, "{text}", values={"text": str(error)})
        return super().failure(error)


class KernelProduct(FunctionProduct):
    """A `Kernel`, with its step's tile and block. A subclass, a dialect's, watches it, and runs it natively."""

    def __init__(self, k: Kernel):
        super().__init__(k)
        self.name, self.sizes = k.title, ladder.spell(k.parameters)

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
            if sizes != k.parameters:
                with suppress(KernelError, ValueError):  # its step or its builder may refuse other sizes
                    found.append(self.of(dialect(k.dialect).build(source, device, like=k.step, **sizes)))
        return found

    def products(self, shape: tuple) -> int:
        """Products that a launch takes, in whole tiles."""
        return math.prod(ladder.ceil_div(n, side) * side for n, side in zip(shape, self.tile, strict=True))

    def possible(self, shapes: list) -> list:
        """Those of the shapes for which the device has room, and launches so many blocks."""
        found = []
        for shape in shapes:
            with suppress(ValueError, MemoryError):
                self.k.refuse_size(*shape)
                found.append(shape)
        return found

    def turned(self) -> "KernelProduct":
        """The same, launched with x and y exchanged."""
        there = copy.copy(self.k)
        there.grid = lambda M, N: self.k.grid(N, M)
        return self.of(there)

    def of_nan(self) -> Finding:
        """Behind A and B on a device lies NaN."""
        return Finding(Kind.OUT_OF_BOUNDS, "reads_past")
