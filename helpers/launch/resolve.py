"""What the two builders share: a dialect's files and words, and which step, device and parameters a call means."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import ladder
from ..arguments import told
from ..devices import Device

PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What differs between CUDA and OpenCL, but for how a kernel is built and launched.

    name      "CUDA" or "OpenCL"
    folder    in helpers/, with one file a step; `suffix`: of these files
    language  of the files, as Markdown calls it; `comment` begins a comment, `begins` the kernel
    device    (step or None, name or None) -> the `Device` that kernels of that step, or any, run on
    build     (step, ...) -> `Kernel`, as `cuda_kernel` and `opencl_kernel`
    """

    name: str
    folder: str
    suffix: str
    language: str
    comment: str
    begins: str
    device: Callable[..., Device]
    build: Callable

    def place(self, step: str) -> str:
        """Where that step's file lies in the repository."""
        return f"helpers/{self.folder}/{step}.{self.suffix}"

    def source_of(self, step: str) -> str:
        """The text of that step's file."""
        return (PACKAGE / self.folder / f"{step}.{self.suffix}").read_text(encoding="utf-8")

    def resolve(self, step, like, device, given) -> dict:
        """What a call of the builder asks for: a `Kernel`'s arguments, but for the source. Raises ValueError."""
        if isinstance(step, str) and not step.strip():
            raise ValueError("the text of the kernel is empty: give a step's name, or a kernel's source.")
        own = not isinstance(step, str) or bool(re.search(r"[\n{;(]", step))  # a name has none of these
        if own and not isinstance(step, str) and not callable(step):
            raise ValueError(f"{told(step)} is no kernel: pass a step's name, source text, or a kernel of your own.")
        if own and like is None:
            raise ValueError(
                f"a kernel of your own needs like=...: the step whose "
                f"{'block' if self.name == 'CUDA' else 'work-group'} and grid it is launched with, one of "
                f"{', '.join(ladder.steps(self.name))}."
            )
        if not own and Path(step).suffix.lstrip(".") in (self.suffix, "c", "cu", "cpp", "txt"):
            raise ValueError(f"{told(step)} is a file's name; give what the file holds: Path({step!r}).read_text().")
        if not own and like is not None and not (isinstance(like, str) and like == step):
            raise ValueError(
                f"{told(step)} is a step, launched like itself; leave out like={told(like)}, or give a source "
                f"of your own."
            )
        rung = ladder.step(like if own else step, self.name)
        found = self.device(rung, device)
        return dict(
            step=rung.name,
            parameters=ladder.parameters(rung, found, given),
            device=found,
            own=own,
            by_shape=rung.by_shape is not None and not given,
        )
