"""A CUDA kernel as the judge takes it: watched on the PTX machine, multiplied natively, on a GPU or as SPIR-V."""

import functools
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np

import ptx_machine
from cuda_without_gpu import NotNative, to_ptx
from cuda_without_gpu.native import NativeKernel
from kernel_judge import Finding, Kind, Seen, Wrong, examine, wrong_elements
from kernel_judge.moves import in_stages
from kernel_judge.shapes import affordable, watched

from .. import devices, ladder
from ..errors import KernelError, OutOfTime, in_our_words
from ..launch import Kernel, numba_internals
from ..launch.cuda_source import from_text, numba_says
from ..launch.on_cuda import native_code, native_launcher
from ..launch.on_ptx import EXAMPLE, run_arrays
from ..sandbox import Job, in_child, source_line
from .in_time import limited, stopped
from .kernels import KernelProduct
from .touched import FLOAT, Launched, outside_on_ptx, race_on_ptx, unset_on_ptx

# What may be spent, in `cost`: about 0.1 s of computing a million, watched, and half of that as a GPU gets it.
WATCH_FOR, RUN_FOR, LARGE = 10_000_000, 20_000_000, 6_000_000
A_LAUNCH = 50_000  # of these, whatever it does
SIDE_BY_SIDE = 3000  # threads, for which the machine takes twice as long as for one
SECONDS = 40  # of computing, for all that is multiplied

# A store to a whole row: Numba fills it with the number.
WHOLE_ROW = re.compile(r"^\s*C\[(?P<index>(?:[^\[\],:]|\[\d\])+)\] *[-+]?=(?!=)", re.MULTILINE)
# Races come of an index that is too large; that a load finds nothing comes of a race.
CLEAREST = {Kind.OUT_OF_BOUNDS: 0, Kind.UNSET: 2}
MISSING = {Kind.UNSET, Kind.RACE}  # what comes of threads that pass no barrier


class CudaProduct(KernelProduct):
    """A CUDA kernel on its own device: a GPU, an OpenCL device that takes SPIR-V, or the PTX machine."""

    def seen(self, move: Callable) -> Seen:
        """What the move finds on the PTX machine, here, or in a child where this process has a GPU."""
        if not self.k.own and not self.k.untimed:
            return Seen([])
        if not devices.compiling():
            outcome = in_child(self.k, watch_there, move=move, own=self.k.own, source=self.k.source)
            return outcome.value or Seen(outcome.findings)
        try:
            with in_our_words(), limited():
                return move(OnPtx(self.k, to_ptx.WATCHED))
        except OutOfTime as late:
            return stopped(late)
        except KernelError as error:  # no fault of the kernel
            raise KernelError(f"{self.k} cannot be tried here: {error}") from None

    def watch(self, shapes: list, at_least: int = 1) -> Seen:
        """The same, of those shapes alone."""
        return self.seen(lambda product: product.watch(shapes, at_least))

    def at(self, parameters: dict) -> "CudaProduct":
        """The same source with those parameters, compiled when it is needed."""
        there = super().at(parameters)
        if self.k.own and there.k.function is self.k.function and self.source_is_text:
            there.k.function = from_text(self.k.source, **parameters)
        return there

    def large(self) -> bool:
        """Whether the PTX machine takes long for all small shapes, or has no room for a block."""
        fits = ladder.STEPS[self.k.step].fits(self.k.parameters, devices.PTX_MACHINE)
        return not fits or sum(map(self.cost, watched(self.tile))) > LARGE

    def affordable(self, shapes: list, most: int) -> list:
        """As many of the shapes as cost no more than that."""
        return affordable(shapes, self.cost, most)

    def cost(self, shape: tuple) -> int:
        """Products in whole tiles, what few threads side by side add to the time, and what a launch takes."""
        M, N, _ = shape
        threads, products = np.prod(self.k.global_size(M, N)), self.products(shape)
        return A_LAUNCH + products + products * SIDE_BY_SIDE // int(threads)

    @property
    def source_is_text(self) -> bool:
        """Whether the kernel came as text, which can be built again."""
        return numba_internals.plain_function(self.k.function).__code__.co_filename.startswith("<kernel ")

    def natively(self, stages: list) -> Seen:
        """What `in_stages` finds: on a GPU here, natively in a child, or on the PTX machine where nothing else is."""
        if not self.k.own and not self.k.untimed:
            return in_stages(self, stages)
        if not devices.compiling():
            return in_stages(self, stages)
        if self.k.runs_natively and not self.k.untimed:
            with suppress(NotNative):
                code = native_code(self.k)
                outcome = in_child(self.k, multiply_there, SECONDS, stages=stages, code=code)
                if outcome.value != "not native":
                    return outcome.value or Seen(outcome.findings)
            self.k.compile()  # for the PTX machine, then
        there = OnPtx(self.k, to_ptx.COUNTED)
        seen = Seen([], [])
        try:
            with in_our_words(), limited():
                for stage in stages:
                    found, shapes, *_ = in_stages(there, [there.affordable(stage, RUN_FOR)])
                    seen = Seen(found, seen.shapes + shapes, (Finding("", "on_the_PTX_machine"),))
                    if found:
                        break
        except OutOfTime as late:  # it is slow, but right at the sizes of the stage before
            return seen if seen.shapes else stopped(late)
        return seen


class OnPtx(CudaProduct):
    """The same kernel on the PTX machine, in this process; `level`: of LLVM's optimiser."""

    def __init__(self, k: Kernel, level: int):
        super().__init__(k)
        self.level = level

    def of(self, k):
        """Another kernel here."""
        return OnPtx(k, self.level)

    @functools.cached_property
    def compiled(self):
        """What Numba makes of it. Raises `Wrong` with what it refuses."""
        try:
            compiled = to_ptx.compiled_for(self.k.function, *EXAMPLE)
            to_ptx.text_of(compiled, self.level)  # which knows how large its arrays may be
            return compiled
        except Exception as error:  # Numba raises many kinds, each of which is about the kernel
            raise Wrong(refused(self.k, error)) from None

    @functools.cached_property
    def unset(self) -> tuple:
        """The names of its variables that are not set on some way."""
        return tuple(to_ptx.variables_of(self.compiled))

    def run(self, A: np.ndarray, B: np.ndarray, fill: float = np.nan, unset: tuple = (), **how: object):
        """One run, in which those variables begin with NaN or -1 and C full of `fill`. Raises OutOfTime."""
        (M, K), N = A.shape, B.shape[1]
        text = to_ptx.text_of(self.compiled, self.level, unset)

        def once(limit):
            C = np.full((M, N), fill, np.float32)
            return run_arrays(text, self.k.block, self.k.grid(M, N), A, B, C, limit=limit, requests=False, **how)

        limit = self.instructions(K)
        done = once(limit)
        if at_limit(done) and (stored := np.count_nonzero(done.stores[2])):
            # It does few elements at a time, if it has stored more after twice as many: so it only takes long.
            done = once(2 * limit)
            if at_limit(done) and np.count_nonzero(done.stores[2]) > stored:
                done = once(sys.maxsize)
        if any(one.kind == "out of time" for one in done.findings) and len(done.findings) == 1:
            line = done.findings[0].source
            shape = " x ".join(map(str, (M, N, K)))
            raise OutOfTime("still_ran", source_line(self.k, line) if line else 0, shape=f"{shape} (M x N x K)")
        return done

    def multiply(self, A, B, fill=np.nan):
        """C of one run. Raises `Wrong` with what was seen of it."""
        done = self.run(A, B, fill, self.unset)
        if self.unset and (done.findings or wrong_elements(done.arrays[2], A, B, self.inputs).any()):
            zeros = self.run(A, B, fill)
            if zeros.arrays[2].any() and (found := self.never_set(A, B, zeros, done)):
                raise Wrong(*found)
            done = zeros if not zeros.arrays[2].any() else done  # nothing is multiplied yet: what is unset is no cause
        amiss = wrong_elements(done.arrays[2], A, B, self.inputs).any()
        if done.findings:
            left = self.who_left(A, B) if {one.kind for one in done.findings} <= MISSING else []
            clearest = sorted(done.findings, key=lambda one: CLEAREST.get(one.kind, 1))
            launched = self.launched(done)
            located = [self.located(one, launched) for one in clearest if one.kind != "out of time"]
            raise Wrong(*whole_row(self.k), *left, *one_a_line(located))
        if amiss and done.arrays[2].any() and (found := whole_row(self.k) or self.who_left(A, B)):
            raise Wrong(*found)
        return done.arrays[2]

    def watch(self, shapes, at_least=1):
        """Multiply here, and compare. A GPU's block has 1,024 threads at most, which a processor's need not keep to."""
        if not ladder.STEPS[self.k.step].fits(self.k.parameters, devices.PTX_MACHINE) and at_least == 0:
            return Seen([])
        try:
            self.compiled  # noqa: B018, what Numba refuses comes first
        except Wrong as refusal:
            return Seen(refusal.findings)
        return examine(self, self.affordable(shapes, WATCH_FOR))

    def takes(self, shape):
        """Any that was chosen."""
        return True

    def failure(self, error):
        """What the PTX machine does not know is no fault of the kernel."""
        if isinstance(error, KernelError):
            raise error
        return super().failure(error)

    def of_nan(self):
        """An access outside an array would have been seen."""
        return Finding(Kind.NOT_A_NUMBER, "not_a_number")

    def instructions(self, K: int) -> int:
        """How many instructions blocks may take, whatever the style: one thread may load for all of its block."""
        rows, columns, depth = self.tile
        of_a_tile = 20 * (rows + columns) * depth + 100 * rows * columns * depth // (self.block[0] * self.block[1])
        return 20_000 + of_a_tile * ladder.ceil_div(K, depth)

    def never_set(self, A, B, zeros, done) -> list[Finding]:
        """What changes with the value that a variable has before it is set: a finding for each such variable."""
        if alike(zeros, done):
            return []
        findings = []
        for name in self.unset:
            if alike(zeros, self.run(A, B, np.nan, (name,))):
                continue
            array = name == to_ptx.LOCAL_ARRAY
            lines = mentions(self.k, r"local\.array") if array else mentions(self.k, rf"\b{re.escape(name)}\b")[:1]
            key = "unset_variable" if not array else "unset_array" if len(lines) == 1 else "unset_arrays"
            findings.append(Finding(Kind.UNSET, key, lines, {"name": name}))
        return findings

    def who_left(self, A, B) -> list[Finding]:
        """The first barrier that some threads of a block do not come to, since they have ended, as a finding.

        A GPU does not wait for threads that have ended; what they should have staged is missing all the same.
        """
        threads, (across, _) = self.block[0] * self.block[1], self.k.grid(A.shape[0], B.shape[1])
        for access in self.run(A, B, trace=True).trace:
            blocks, came = np.unique(access.blocks, return_counts=True)
            if access.act == "barrier" and (came < threads).any():
                few = int(np.argmax(came < threads))
                values = dict(
                    came=came[few], threads=threads, block=f"({blocks[few] % across}, {blocks[few] // across})"
                )
                lines = (source_line(self.k, access.source),) if access.source else ()
                return [Finding(Kind.DIVERGENT, "who_left", lines, values)]
        return []

    def located(self, finding: ptx_machine.Finding, launched: Launched) -> Finding:
        """What the PTX machine found, with lines and names of k.source: of a race both, the earlier access first."""
        k, kind = self.k, Kind(finding.kind)
        lines = dict.fromkeys(line for line in (finding.other_source, finding.source) if line)
        named = tuple(source_line(k, line) for line in lines)
        if kind == Kind.RACE and finding.accesses:
            return race_on_ptx(finding, launched, named)
        if kind == Kind.OUT_OF_BOUNDS:
            return outside_on_ptx(finding, launched, named)
        if kind == Kind.UNSET and finding.accesses:
            return unset_on_ptx(finding, launched, named)
        message = finding.sentence.removesuffix(" at {where}") or finding.message
        message = re.sub(r" at line \d+ of the PTX( \(line \d+ of the source\))?", "", message)
        message = message.partition("; if it only takes long")[0]  # a right kernel of these sizes takes a few seconds
        if kind == Kind.HANG and not named and len(mentions(k, r"^\s*while\b")) == 1:
            named = mentions(k, r"^\s*while\b")  # of a loop that changes nothing LLVM leaves no line
        return Finding(kind, to_ptx.with_names_of_source(self.compiled, message), named, finding.values)

    def launched(self, done: ptx_machine.Run) -> Launched:
        """What was launched, by names of k.source where it has them."""
        arrays = {name: (name, array.shape, FLOAT) for name, array in zip("ABC", done.arrays, strict=True)}
        arrays |= to_ptx.shared_arrays(self.compiled)
        for access in (access for one in done.findings for access in one.accesses):
            (name,) = access.arrays
            own = Finding("", "own_arrays") if name.startswith("__local_depot") else name
            arrays.setdefault(name, (own, None, FLOAT))
        return Launched(arrays, self.k.block, self.k.grid(*done.arrays[2].shape))


def watch_there(job: Job, move: Callable, own: bool, source: str) -> Seen:
    """In the child of a process with a GPU: what the move finds. `source`: as that process has it."""
    k = job.build()
    k.own, k.source = own, source
    return CudaProduct(k).seen(move)


def multiply_there(job: Job, stages: list, code: NativeKernel) -> Seen | str:
    """In the child: what `in_stages` finds natively; "not native" where the device does not take the kernel's code."""

    def built(*options):
        k = job.build()
        k.native, k.build_seconds = native_launcher(k, code, *options), 0.0
        return k

    class There(CudaProduct):
        def unoptimised(self):
            return CudaProduct(built("-cl-opt-disable"))

    try:
        return in_stages(There(built()), stages)
    except NotNative:
        return "not native"


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


def whole_row(k: Kernel) -> list[Finding]:
    """A store to C with one index, which fills a row, as a finding; [] where there is none."""
    if not (found := WHOLE_ROW.search(k.source)):
        return []
    index = found["index"]
    return [Finding(Kind.WRONG_INDEX, "whole_row", mentions(k, re.escape(f"C[{index}]"))[:1], {"index": index})]


def refused(k: Kernel, error: BaseException) -> Finding:
    """What Numba's compiler refuses: what it means, what helps, and the line."""
    file = numba_internals.plain_function(k.function).__code__.co_filename
    said, line = numba_says(error, k.source, lambda name, line: source_line(k, line) if name == file else 0)
    key, values = said
    return Finding(Kind.NOT_COMPILED, key, (line,) if line else (), values)


def mentions(k: Kernel, pattern: str) -> tuple:
    """All lines of the kernel's source in which that pattern is found."""
    lines = enumerate(k.source.splitlines(), 1)
    return tuple(number for number, line in lines if re.search(pattern, line.partition("#")[0]))
