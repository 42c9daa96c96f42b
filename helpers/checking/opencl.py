"""An OpenCL kernel as the judge takes it: watched under Oclgrind, multiplied on its device, each in a child process."""

import os
import re
import tempfile
from functools import partial
from pathlib import Path

from kernel_judge import Finding, Kind, Seen, Wrong, oclgrind
from kernel_judge.child import Outcome
from kernel_judge.shapes import affordable
from kernel_judge.touched import FLOAT, Launched, local_arrays, under_oclgrind

from .. import devices
from ..child import WATCHED, in_child
from ..launch import opencl_kernel
from .kernels import KernelProduct

A_SECOND = 40_000  # products that Oclgrind does in less than that of code as it was written
SECONDS = 10  # of computing, for all that is watched, and for all that is multiplied
RACES, UNSET = "OCLGRIND_DATA_RACES", "OCLGRIND_UNINITIALIZED"
UNSEEN = {RACES: ("races", "reads outside a local array"), UNSET: ("numbers that nobody has set",)}
AS_WRITTEN = "-cl-opt-disable"  # what the optimiser leaves out, such as a write past a private array, is seen so only
# Vectors of 16, of whose second half Oclgrind says that nobody has set it, whoever has.
SIXTEEN = r"\b(?:u?(?:char|short|int|long)|half|float|double|vload|vstore)16\b"
# What Oclgrind says, here or as a report, where it dies of how it was asked, which is no fault of the kernel.
ITS_OWN_FAULT = re.compile(r"Uninitialized\.cpp|Unsupported")


class OpenCLProduct(KernelProduct):
    """An OpenCL kernel on its own device."""

    def watched(self, move):
        """What the move finds in a child under Oclgrind; in another one where Oclgrind dies of how it was asked."""
        if not self.k.own:
            return Seen([])
        thorough = (RACES,) if re.search(SIXTEEN, self.source) else (RACES, UNSET)
        for ask, written in ((thorough, AS_WRITTEN), ((RACES,), "")) if devices.oclgrind_library() else ():
            options = dict.fromkeys(ask, "1") | {"OCLGRIND_BUILD_OPTIONS": written}
            outcome, log = self.under_oclgrind(move, options)
            crashed, hangs = (outcome.why is not None and outcome.why.kind == one for one in (Kind.CRASH, Kind.HANG))
            if ITS_OWN_FAULT.search(log):
                continue
            if crashed and (reported := oclgrind.findings_in(log, self.source)):
                return Seen(reported)
            if hangs or (outcome.begun and not crashed):  # what does not compile there may do so on the device
                return self.came_of(outcome, "Oclgrind")._replace(notes=not_looked_for(ask))
        return Seen([], [], not_looked_for(()))

    def under_oclgrind(self, move, options: dict) -> tuple[Outcome, str]:
        """What came of the move in a child under Oclgrind, and Oclgrind's log."""
        with tempfile.TemporaryDirectory(prefix="oclgrind-") as name:
            folder, device = Path(name), self.k.device
            library = devices.oclgrind_library()
            options |= oclgrind.environment(library, folder, device.shared_bytes, device.max_threads)
            options |= {"HELPERS_OPENCL_DEVICE": "Oclgrind", devices.PROVED_ABOVE: oclgrind.DEVICE}
            outcome = in_child(self.k, partial(move, UnderOclgrind(self.k)), SECONDS, **options)
            log = folder / "oclgrind.log"
            return outcome, log.read_text(errors="replace") if log.is_file() else ""

    def natively(self, move):
        """What the move finds on the device: in a child, but for the course's own kernels."""
        if not self.k.own:
            return move(self)
        return self.came_of(in_child(self.k, partial(move, InChild(self.k)), 2 * SECONDS), self.device_name)

    def affordable(self, shapes, seconds=1):
        """As many of the shapes as Oclgrind does in so many seconds."""
        return affordable(shapes, self.products, A_SECOND * seconds)


class InChild(OpenCLProduct):
    """The same kernel in a child on its device."""

    def unoptimised(self):
        """The same where nothing is optimised."""
        os.environ["PYOPENCL_BUILD_OPTIONS"] = AS_WRITTEN
        return OpenCLProduct(opencl_kernel(self.source, self.k.device, like=self.k.step, **self.k.parameters))


class UnderOclgrind(OpenCLProduct):
    """The same kernel in a child under Oclgrind, where each launch's reports are read at once."""

    def multiply(self, A, B, fill=float("nan")):
        """C of one launch. Raises `Wrong` with what Oclgrind reports of it."""
        log = Path(os.environ[WATCHED])
        C = super().multiply(A, B, fill)
        said = log.read_text(errors="replace") if log.is_file() else ""
        if found := oclgrind.findings_in(said, self.source):
            arrays = {name: (name, array.shape, FLOAT) for name, array in (("A", A), ("B", B), ("C", C))}
            arrays |= local_arrays(self.source, self.k.parameters)
            launched = Launched(arrays, self.block, self.k.grid(*C.shape), "item")
            raise Wrong(*(under_oclgrind(one, launched) for one in found))
        return C

    def of_nan(self):
        """Buffers have no guards here: what nobody has set holds NaN, where Oclgrind does not follow that itself."""
        made = Finding(Kind.NOT_A_NUMBER, "not_a_number_of_a_function")
        return made if UNSET in os.environ else Finding(Kind.UNSET, "unset")


def not_looked_for(ask: tuple) -> tuple:
    """Notes on what Oclgrind was not asked for."""
    unseen = [what for one, whats in UNSEEN.items() for what in whats if one not in ask]
    return tuple(Finding("", "not_looked_for", values={"what": what}) for what in unseen)
