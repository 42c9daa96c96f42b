"""An OpenCL kernel as the judge takes it: watched under Oclgrind, multiplied on its device, each in a child process."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kernel_judge import Finding, Kind, Seen, Wrong, examine
from kernel_judge.moves import in_stages
from kernel_judge.shapes import affordable

from .. import devices
from ..errors import KernelError
from ..launch import Kernel
from ..sandbox import Job, in_child, oclgrind_findings
from .kernels import KernelProduct, without_comments
from .touched import FLOAT, Launched, local_arrays, under_oclgrind

QUICK, MOST = 40_000, 300_000  # products that Oclgrind does in a second or less of code as it was written, and in five
SECONDS = 10  # of computing, for all that is watched, and for all that is multiplied
RACES, UNSET = "OCLGRIND_DATA_RACES", "OCLGRIND_UNINITIALIZED"
UNSEEN = {RACES: ("races", "reads outside a local array"), UNSET: ("numbers that nobody has set",)}
AS_WRITTEN = "-cl-opt-disable"  # what the optimiser leaves out, such as a write past a private array, is seen so only
# Vectors of 16, of whose second half Oclgrind says that nobody has set it, whoever has.
SIXTEEN = r"\b(?:u?(?:char|short|int|long)|half|float|double|vload|vstore)16\b"
# A loop with an empty body that asks an atomic again and again, but not `do { ... } while (...);`, nor one that sets
# something on the way.
WAITS = re.compile(r"(?<![}\s])\s*\bwhile\s*\([^;{}]*\batom(?:ic)?_\w+\s*\([^;{}]*\)\s*(?:;|\{\s*\})")


class OpenCLProduct(KernelProduct):
    """An OpenCL kernel on its own device."""

    def seen(self, move: Callable) -> Seen:
        """What the move finds in a child under Oclgrind; in another one where Oclgrind dies of how it was asked."""
        if not self.k.own:
            return Seen([])
        waits = WAITS.search(without_comments(self.k.source))
        if waits and not re.search(r"[^=!<>]=[^=]", waits[0]):
            line = self.k.source.count("\n", 0, waits.end()) + 1
            return Seen([Finding(Kind.WAITS_FOR_OTHERS, "waits_for_others", (line,))])
        if not devices.oclgrind_library():
            return Seen([], [], not_looked_for(()))
        thorough = (RACES,) if re.search(SIXTEEN, self.k.source) else (RACES, UNSET)
        for ask, written in ((thorough, True), ((RACES,), False)):
            options = dict.fromkeys(ask, "1") | {"OCLGRIND_BUILD_OPTIONS": AS_WRITTEN if written else ""}
            outcome = in_child(self.k, watch_there, SECONDS, options, move=move)
            first = outcome.value.findings[0] if outcome.value and outcome.value.findings else None
            if first and first.kind == Kind.UNKNOWN and "Unsupported" in first.message:  # no fault of the kernel
                continue
            if outcome.value is not None:
                return outcome.value._replace(notes=not_looked_for(ask))
            reported = oclgrind_findings(outcome.log, self.k.source)
            if reported and "Uninitialized.cpp" not in outcome.log and "Unsupported float size" not in outcome.log:
                return Seen(reported)
            if outcome.findings and outcome.findings[0].kind == Kind.HANG:
                return Seen(outcome.findings)
            if outcome.findings and "exit status 1)" in outcome.findings[0].message and not outcome.log:
                raise KernelError(f"{self.k} cannot be tried here: {outcome.findings[0].message}")
        return Seen([], [], not_looked_for(()))

    def watch(self, shapes: list, at_least: int = 1) -> Seen:
        """The same, of those shapes alone."""
        return self.seen(WatchShapes(shapes, at_least))

    def natively(self, stages: list) -> Seen:
        """What `in_stages` finds on the device: in a child, but for the course's own kernels."""
        if not self.k.own:
            return in_stages(self, stages)
        outcome = in_child(self.k, multiply_there, 2 * SECONDS, stages=stages)
        return outcome.value or Seen(outcome.findings)

    def large(self) -> bool:
        """Whether a K-tile or so is all that Oclgrind does of it in a second."""
        return 16 * self.products((1, 1, 1)) > QUICK


class WatchShapes:
    """The move that watches some shapes: an object, which can be sent to a child."""

    def __init__(self, shapes: list, at_least: int):
        self.shapes, self.at_least = shapes, at_least

    def __call__(self, product: "UnderOclgrind") -> Seen:
        """What it finds."""
        return product.watch(self.shapes, self.at_least)


class UnderOclgrind(OpenCLProduct):
    """The same kernel in a child under Oclgrind, where each launch's reports are read at once."""

    def __init__(self, k: Kernel, job: Job):
        super().__init__(k)
        self.job = job

    def at(self, parameters: dict) -> "UnderOclgrind":
        """The same source with those parameters, built here."""
        return self.of(replace(self.job, parameters=parameters).build())

    def of(self, k):
        """Another kernel here."""
        return UnderOclgrind(k, self.job)

    def multiply(self, A, B, fill=float("nan")):
        """C of one launch. Raises `Wrong` with what Oclgrind reports of it."""
        log = Path(os.environ.get("OCLGRIND_LOG", os.devnull))
        C = super().multiply(A, B, fill)
        said = log.read_text(errors="replace") if log.is_file() else ""
        if found := oclgrind_findings(said, self.source):
            arrays = {name: (name, array.shape, FLOAT) for name, array in (("A", A), ("B", B), ("C", C))}
            arrays |= local_arrays(self.source, self.k.parameters)
            launched = Launched(arrays, self.block, self.k.grid(*C.shape), "item")
            raise Wrong(*(under_oclgrind(one, launched) for one in found))
        return C

    def watch(self, shapes, at_least=1):
        """Multiply here, and compare."""
        if at_least == 0 and self.products(shapes[0]) > QUICK:
            return Seen([])
        return examine(self, affordable(shapes, self.products, MOST if at_least else QUICK))

    def of_nan(self):
        """Buffers have no guards here: what nobody has set holds NaN, where Oclgrind does not follow that itself."""
        return super(KernelProduct, self).of_nan() if UNSET in os.environ else Finding(Kind.UNSET, "unset")


def watch_there(job: Job, move: Callable) -> Seen:
    """In the child under Oclgrind: what the move finds."""
    k = job.build()
    k.own = True
    return move(UnderOclgrind(k, job))


def multiply_there(job: Job, stages: list) -> Seen:
    """In the child on the device: what `in_stages` finds."""
    k = job.build()
    k.own = False

    class There(OpenCLProduct):
        def unoptimised(self):
            os.environ["PYOPENCL_BUILD_OPTIONS"] = AS_WRITTEN
            return OpenCLProduct(job.build())

    return in_stages(There(k), stages)


def not_looked_for(ask: tuple) -> tuple:
    """Notes on what Oclgrind was not asked for."""
    unseen = [what for one, whats in UNSEEN.items() for what in whats if one not in ask]
    return tuple(Finding("", "not_looked_for", values={"what": what}) for what in unseen)
