"""An OpenCL kernel as the judge takes it: watched under Oclgrind, multiplied on its device, each in a child."""

import os
import tempfile
from functools import partial
from pathlib import Path

from kernel_judge import Finding, Kind, Seen, Wrong, oclgrind
from kernel_judge.child import Outcome
from kernel_judge.shapes import affordable
from kernel_judge.touched import FLOAT, Launched, local_arrays, under_oclgrind

from .. import devices
from ..child import in_child
from ..launch.on_opencl import opencl_kernel
from .products import KernelProduct

A_SECOND = 40_000  # products that Oclgrind does in less than that of code as it was written
SECONDS = 10  # of computing, for all that is watched, and for all that is multiplied


class OpenCLProduct(KernelProduct):
    """An OpenCL kernel on its own device."""

    def watched(self, move):
        """What the move finds in a child under Oclgrind; in another one where Oclgrind dies of how it was asked."""
        if not self.k.own:
            return Seen([])
        for options, notes in oclgrind.asks(self.source) if devices.oclgrind_library() else ():
            outcome, log = self.under_oclgrind(move, options)
            why = outcome.why.kind if outcome.why else None
            if oclgrind.ITS_OWN_FAULT.search(log):
                continue
            if why == Kind.CRASH and (reported := oclgrind.findings_in(log, self.source)):
                return Seen(reported)
            if why == Kind.HANG or (outcome.begun and why != Kind.CRASH):  # else the device may compile it
                return self.came_of(outcome, "Oclgrind")._replace(notes=notes)
        return Seen([], [], oclgrind.not_looked_for())

    def under_oclgrind(self, move, options: dict) -> tuple[Outcome, str]:
        """What came of the move in a child under Oclgrind, and Oclgrind's log."""
        library, device = devices.oclgrind_library(), self.k.device
        with tempfile.TemporaryDirectory(prefix="oclgrind-") as folder:
            options |= oclgrind.environment(library, Path(folder), device.shared_bytes, device.max_threads)
            options |= {"HELPERS_OPENCL_DEVICE": "Oclgrind", devices.PROVED_ABOVE: oclgrind.DEVICE}
            outcome = in_child(self.k, partial(move, UnderOclgrind(self.k)), SECONDS, **options)
            return outcome, oclgrind.reports(options[oclgrind.LOG])

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
        os.environ["PYOPENCL_BUILD_OPTIONS"] = "-cl-opt-disable"
        return OpenCLProduct(opencl_kernel(self.source, self.k.device, like=self.k.step, **self.k.parameters))


class UnderOclgrind(OpenCLProduct):
    """The same kernel in a child under Oclgrind, where each launch's reports are read at once."""

    def multiply(self, A, B, fill=float("nan")):
        """C of one launch. Raises `Wrong` with what Oclgrind reports of it."""
        C = super().multiply(A, B, fill)
        if found := oclgrind.findings_in(oclgrind.reports(os.environ[oclgrind.LOG]), self.source):
            arrays = {name: (name, array.shape, FLOAT) for name, array in (("A", A), ("B", B), ("C", C))}
            arrays |= local_arrays(self.source, self.k.parameters)
            launched = Launched(arrays, self.block, self.k.grid(*C.shape), "item")
            raise Wrong(*(under_oclgrind(one, launched) for one in found))
        return C

    def of_nan(self):
        """Buffers have no guards here: what nobody has set holds NaN, where Oclgrind does not follow that itself."""
        made = Finding(Kind.NOT_A_NUMBER, "not_a_number_of_a_function")
        return made if oclgrind.UNSET in os.environ else Finding(Kind.UNSET, "unset")
