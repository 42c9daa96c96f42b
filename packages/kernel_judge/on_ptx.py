"""A CUDA kernel of Numba's as a product that is watched: on the PTX machine, in this process, with no GPU."""

import functools
import re
import sys
from collections.abc import Callable, Iterable

import numpy as np

import ptx_machine
from cuda_without_gpu import device, to_ptx

from .findings import Finding, Kind
from .function import Function
from .product import Product, Seen, Shape, Wrong
from .reference import wrong_elements
from .shapes import affordable
from .touched import FLOAT, Launched, outside_on_ptx, race_on_ptx, unset_on_ptx

# Work of a check, as `ptx_machine.Run` counts it: some 15 s of computing, or 22 of one thread alone. It is not counted
# in seconds, so that a verdict is the same on a busy computer. A rung of the course takes a third of it at most.
WORK = 1_500_000
# In `cost`: what is watched in a second or less, and what is multiplied as a GPU gets it.
A_SECOND, MULTIPLIED_FOR = 1_700_000, 20_000_000
A_LAUNCH = 50_000  # of these, whatever it does
SIDE_BY_SIDE = 3000  # threads, for which the machine takes twice as long as for one
EXAMPLE = (np.zeros((1, 1), np.float32),) * 3  # A, B, C
NAMES = {4: "A", 13: "B", 22: "C"}  # where a kernel takes their elements: Numba passes nine numbers for each
# A store to a whole row: Numba fills it with the number.
WHOLE_ROW = re.compile(r"^\s*C\[(?P<index>(?:[^\[\],:]|\[\d\])+)\] *[-+]?=(?!=)", re.MULTILINE)
# Races come of an index that is too large; that a load finds nothing comes of a race.
CLEAREST = {Kind.OUT_OF_BOUNDS: 0, Kind.UNSET: 2}
MISSING = {Kind.UNSET, Kind.RACE}  # what comes of threads that pass no barrier


def within_budget(move: Callable[[Product], Seen], product: Product) -> Seen:
    """What the move finds, where all that is launched on the PTX machine does as much as `WORK` together."""
    here = device.BUDGET.set([WORK])
    try:
        return move(product)
    finally:
        device.BUDGET.reset(here)


def run_arrays(ptx: str, block: tuple, grid: tuple, A, B, C, **options: object) -> ptx_machine.Run:
    """Run PTX of a kernel of (A, B, C), float32, as Numba compiles it; they stay. As `ptx_machine.run` otherwise."""
    args = []
    for array in (A, B, C):
        seen = array.view()
        seen.flags.writeable = array is C
        # So Numba passes an array: two pointers of its own, size, item size, data, two sizes, two strides.
        args += [0, 0, seen.size, seen.itemsize, seen, *seen.shape, *seen.strides]
    return device.run(ptx, grid, block, args, names=NAMES, **options)


class OnPtx(Function):
    """A `@cuda.jit` kernel of (A, B, C), float32 and C-contiguous.

    tile    rows and columns of C that a block owns, and the depth of its K-tiles; `block`: threads along x, y
    grid    a function of (M, N): blocks along x, y
    level   of LLVM's optimiser: WATCHED keeps each access of the source to arrays, COUNTED is as a GPU gets it
    """

    level = to_ptx.WATCHED

    def __init__(self, function: Callable, tile: tuple, block: tuple, grid: Callable, inputs: str = "float32"):
        super().__init__(function.py_func, tile, inputs)
        self.function, self.block, self.grid = function, block, grid

    def line(self, number: int) -> int:
        """A line of the running function as one of `source`."""
        return number - self.function.py_func.__code__.co_firstlineno + 1

    def refused(self, error: Exception) -> Finding:
        """What Numba's compiler refuses."""
        return Finding(Kind.NOT_COMPILED, "{text}", values={"text": str(error)})

    def watched(self, move):
        """What the move finds, here."""
        return within_budget(move, self)

    natively = watched

    def affordable(self, shapes: list[Shape], seconds: float = 1) -> list[Shape]:
        """As many of the shapes as are watched in so many seconds."""
        return affordable(shapes, self.cost, A_SECOND * seconds)

    def possible(self, shapes: list[Shape]) -> list[Shape]:
        """As many of the shapes as are multiplied in a second or so, as a GPU gets the code, and one at least."""
        return affordable(shapes, self.cost, MULTIPLIED_FOR) or [min(shapes, key=self.cost)]

    def cost(self, shape: Shape) -> int:
        """Products in whole tiles, what few threads side by side add to the time, and what a launch takes."""
        rows, columns, depth = self.tile
        threads = np.prod(self.grid(*shape[:2])) * np.prod(self.block)
        products = -(-shape[0] // rows) * rows * -(-shape[1] // columns) * columns * -(-shape[2] // depth) * depth
        return A_LAUNCH + products + products * SIDE_BY_SIDE // int(threads)

    @functools.cached_property
    def compiled(self):
        """What Numba makes of it. Raises `Wrong` with what it refuses."""
        try:
            compiled = to_ptx.compiled_for(self.function, *EXAMPLE)
            to_ptx.text_of(compiled, self.level)  # which knows how large its arrays may be
            return compiled
        except Exception as error:  # Numba raises many kinds, each of which is about the kernel
            raise Wrong(self.refused(error)) from None

    @functools.cached_property
    def unset(self) -> tuple:
        """The names of its variables that are not set on some way."""
        return tuple(to_ptx.variables_of(self.compiled))

    def run(self, A, B, fill=np.nan, unset: tuple = (), limit: int | None = None, trace=False, each=False):
        """One `ptx_machine.Run`, in which those variables begin with NaN or -1 and C full of `fill`."""
        C = np.full((len(A), B.shape[1]), fill, np.float32)
        text, grid = to_ptx.text_of(self.compiled, self.level, unset, each), self.grid(*C.shape)
        return run_arrays(text, self.block, grid, A, B, C, limit=limit or self.limit(B), trace=trace, requests=False)

    def limit(self, B) -> int:
        """How many instructions blocks may take, whatever the style: one thread may load for all of its block."""
        rows, columns, depth = self.tile
        of_a_tile = 20 * (rows + columns) * depth + 100 * rows * columns * depth // (self.block[0] * self.block[1])
        return 20_000 + of_a_tile * -(-len(B) // depth)

    def to_its_end(self, A, B, fill, unset=()):
        """One run; where it has stored more after twice as many instructions, it only takes long, and goes on."""
        done = self.run(A, B, fill, unset)
        if at_limit(done) and (stored := np.count_nonzero(done.stores[2])):
            done = self.run(A, B, fill, unset, 2 * self.limit(B))
            if at_limit(done) and np.count_nonzero(done.stores[2]) > stored:
                done = self.run(A, B, fill, unset, sys.maxsize)
        if [one.kind for one in done.findings] == ["out of time"]:
            line, shape = done.findings[0].source, f"{len(A)} x {B.shape[1]} x {len(B)} (M x N x K)"
            raise Wrong(Finding(Kind.TOO_SLOW, "still_ran", (self.line(line),) if line else (), {"shape": shape}))
        return done

    def multiply(self, A, B, fill=np.nan):
        """C of one run. Raises `Wrong` with what was seen of it."""
        done = self.to_its_end(A, B, fill, self.unset)
        if self.unset and (done.findings or wrong_elements(done.arrays[2], A, B, self.inputs).any()):
            zeros = self.to_its_end(A, B, fill)
            if zeros.arrays[2].any() and (found := self.never_set(A, B, zeros, done)):
                raise Wrong(*found)
            done = zeros if not zeros.arrays[2].any() else done  # nothing is multiplied yet: what is unset is no cause
        if done.findings:
            lost = any(not self.has_lines(one, self.launched(done)) for one in done.findings)
            again = self.run(A, B, fill, each=True) if lost else done  # in it LLVM's optimiser keeps each access's line
            if {one.kind for one in again.findings} == {one.kind for one in done.findings}:
                done = again
            left = self.who_left(A, B) if {one.kind for one in done.findings} <= MISSING else []
            clearest = sorted(done.findings, key=lambda one: CLEAREST.get(one.kind, 1))
            located = [self.located(one, self.launched(done)) for one in clearest if one.kind != "out of time"]
            raise Wrong(*self.whole_row(), *left, *one_a_line(located))
        amiss = wrong_elements(done.arrays[2], A, B, self.inputs).any()
        if amiss and done.arrays[2].any() and (found := self.whole_row() or self.who_left(A, B)):
            raise Wrong(*found)
        return done.arrays[2]

    def failure(self, error):
        """What the PTX machine does not know is no fault of the kernel."""
        raise error

    def of_nan(self):
        """An access outside an array would have been seen."""
        return Finding(Kind.NOT_A_NUMBER, "not_a_number")

    def never_set(self, A, B, zeros, done) -> list[Finding]:
        """What changes with the value that a variable has before it is set: a finding for each such variable."""
        if alike(zeros, done):
            return []
        findings = []
        for name in self.unset:
            if alike(zeros, self.run(A, B, np.nan, (name,))):
                continue
            array = name == to_ptx.LOCAL_ARRAY
            lines = self.mentions(r"local\.array") if array else self.mentions(rf"\b{re.escape(name)}\b")[:1]
            key = "unset_variable" if not array else "unset_array" if len(lines) == 1 else "unset_arrays"
            findings.append(Finding(Kind.UNSET, key, lines, {"name": name}))
        return findings

    def whole_row(self) -> list[Finding]:
        """A store to C with one index, which fills a row, as a finding; [] where there is none."""
        if not (found := WHOLE_ROW.search(self.source)):
            return []
        return [Finding(Kind.WRONG_INDEX, "whole_row", self.mentions(WHOLE_ROW.pattern)[:1], found.groupdict())]

    def who_left(self, A, B) -> list[Finding]:
        """The first barrier that some threads of a block do not come to, since they have ended, as a finding.

        A GPU does not wait for threads that have ended; what they should have staged is missing all the same.
        """
        threads, (across, _) = self.block[0] * self.block[1], self.grid(len(A), B.shape[1])
        for access in self.run(A, B, trace=True).trace:
            blocks, came = np.unique(access.blocks, return_counts=True)
            if access.act == "barrier" and (came < threads).any():
                few = int(np.argmax(came < threads))
                block = f"({blocks[few] % across}, {blocks[few] // across})"
                lines = (self.line(access.source),) if access.source else ()
                return [Finding(Kind.DIVERGENT, "who_left", lines, dict(came=came[few], threads=threads, block=block))]
        return []

    def located(self, found: ptx_machine.Finding, launched: Launched) -> Finding:
        """What the PTX machine found, with lines and names of the source: of a race both, the earlier access first."""
        kind, lines = Kind(found.kind), dict.fromkeys(n for n in (found.other_source, found.source) if n)
        named = tuple(map(self.line, lines))
        if kind == Kind.RACE and found.accesses:
            return race_on_ptx(found, launched, named)
        if kind == Kind.OUT_OF_BOUNDS:
            return outside_on_ptx(found, launched, named)
        if kind == Kind.UNSET and found.accesses:
            return unset_on_ptx(found, launched, named)
        message = found.sentence.removesuffix(" at {where}") or found.message
        message = re.sub(r" at line \d+ of the PTX( \(line \d+ of the source\))?", "", message)
        if kind == Kind.HANG and not named and len(loops := self.mentions(r"^\s*while\b")) == 1:
            named = loops  # of a loop that changes nothing LLVM leaves no line
        return Finding(kind, to_ptx.with_names_of_source(self.compiled, message), named, found.values)

    def has_lines(self, found: ptx_machine.Finding, launched: Launched) -> bool:
        """Whether each access has a line that names its array: LLVM's optimiser may leave none, or one near it."""
        lines = (found.source, found.other_source)[: len(found.accesses) or 1]
        named = zip(lines, (launched.arrays[one.arrays[0]][0] for one in found.accesses), strict=False)
        return all(lines) and all(self.line(n) in self.mentions(rf"\b{name}\b") for n, name in named)

    def launched(self, done: ptx_machine.Run) -> Launched:
        """What was launched, by names of the source where it has them."""
        arrays = {name: (name, array.shape, FLOAT) for name, array in zip("ABC", done.arrays, strict=True)}
        arrays |= to_ptx.shared_arrays(self.compiled)
        for access in (access for one in done.findings for access in one.accesses):
            (name,) = access.arrays
            own = Finding("", "own_arrays") if name.startswith("__local_depot") else name
            arrays.setdefault(name, (own, None, FLOAT))
        return Launched(arrays, self.block, self.grid(*done.arrays[2].shape))


def at_limit(run: ptx_machine.Run) -> bool:
    """Whether a run was ended since it had taken as many instructions as it may."""
    return any(one.kind == "hang" and "limit=" in one.message for one in run.findings)


def alike(one: ptx_machine.Run, other: ptx_machine.Run) -> bool:
    """Whether two runs left the same bits in C and had findings of the same kinds at the same lines of the source."""
    found, found_too = ({(finding.kind, finding.source) for finding in run.findings} for run in (one, other))
    return one.arrays[2].tobytes() == other.arrays[2].tobytes() and found == found_too


def one_a_line(findings: Iterable[Finding]) -> list[Finding]:
    """The first finding of each kind at each line of the source."""
    return list({(finding.kind, finding.lines): finding for finding in reversed([*findings])}.values())[::-1]
