"""The two dialects: their files, and which step, device and parameters a call of a builder means."""

import importlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from .. import ladder
from ..arguments import named, some
from ..devices import Device

PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Dialect:
    """What differs between CUDA and OpenCL, but for how a kernel is built and launched, which its module says."""

    name: str
    suffix: str  # of its files
    language: str  # of them, as Markdown calls it
    comment: str  # what begins one
    begins: str  # what begins the kernel

    def load(self) -> ModuleType:
        """`on_cuda` or `on_opencl`, loaded now. Raises `needs.Missing` where its package cannot be loaded."""
        return importlib.import_module(f".on_{self.name.lower()}", __package__)

    @property
    def build(self) -> Callable:
        """`cuda_kernel` or `opencl_kernel`."""
        return getattr(self.load(), f"{self.name.lower()}_kernel")

    def device(self, step: ladder.Step | None = None, name: str | Device | None = None) -> Device:
        """The device on which kernels of that step, or of any, run."""
        return self.load().device_for(step, name)

    def file(self, step: str) -> Path:
        """That step's file."""
        return PACKAGE / self.name.lower() / f"{step}.{self.suffix}"

    def source_of(self, step: str) -> str:
        """The text of that step's file."""
        return self.file(step).read_text(encoding="utf-8")

    def resolve(self, step: object, like: str | None, device: object, given: dict) -> dict:
        """What a call of the builder asks for: a `Kernel`'s arguments, but for the source. Raises ValueError."""
        own = like is not None
        if not own and (callable(step) or re.search(r"[\n{;(]", str(step))):  # a name has none of these
            names = ", ".join(ladder.steps(self.name))
            raise ValueError(f"your own kernel needs like=...: the step whose block and grid it has, one of {names}.")
        rung = ladder.step(like if own else step, self.name)
        found = self.device(rung, device)
        parameters = ladder.parameters(rung, found, given)
        by_shape = rung.by_shape is not None and not given
        return dict(step=rung.name, parameters=parameters, device=found, own=own, by_shape=by_shape)


DIALECTS = {
    "CUDA": Dialect("CUDA", "py", "python", "#", "@cuda.jit"),
    "OpenCL": Dialect("OpenCL", "cl", "c", "//", "__kernel"),
}


def dialect(name: str) -> Dialect:
    """The dialect of that name. Raises ValueError for others, `needs.Missing` where one cannot be loaded."""
    found = DIALECTS[named(name, DIALECTS, "dialect")]
    found.load()
    return found


def dialects(names: str | Iterable[str] | None) -> list[Dialect]:
    """The dialects of those names, or of one; None takes all. Raises ValueError for other names."""
    return [dialect(name) for name in (DIALECTS if names is None else some("dialects", names))]
