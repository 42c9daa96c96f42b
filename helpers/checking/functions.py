"""A function of (A, B), or a library, as the judge takes it; kernels build on it."""

import re
import traceback
from functools import partial

import numpy as np

from kernel_judge import Finding, Function, Kind, Seen, Wrong
from kernel_judge.child import Outcome

from ..child import SECONDS, calls_opencl, in_child, source_line
from ..errors import KernelError, OutOfTime
from ..launch import Contestant, NotYet
from ..launch.contestant import PAST_THE_END
from ..launch.cuda_source import came_as_text
from ..launch.kernel import LOST

# (what PyOpenCL or Numba says of host code, what that means)
HOST_SAYS = (
    (
        "INVALID_WORK_GROUP_SIZE",
        "{error}. The global size counts work-items, not groups: along each axis it is a whole multiple of the group's "
        "size",
    ),
    (
        "set_arg failed|INVALID_ARG",
        "{error}. Give the kernel's arguments in its order: whole numbers as np.int32(M), matrices as buffers",
    ),
    (
        r"(?s)INVALID_HOST_PTR|incompatible function arguments.*_cl\.Buffer",
        "{error}. COPY_HOST_PTR takes the numbers from hostbuf=, as in cl.Buffer(context, flags.READ_ONLY | "
        "flags.COPY_HOST_PTR, hostbuf=A)",
    ),
    (
        "Buffer failed: INVALID_VALUE",
        "{error}. The buffer is smaller than the array: its size is in bytes, C.nbytes, and C.size counts elements",
    ),
    ("", "{error}"),
)
KINDS = {LOST: Kind.CRASH, PAST_THE_END: Kind.OUT_OF_BOUNDS}  # {key of an error's sentence: kind of finding}


class FunctionProduct(Function):
    """A `Contestant` that launches itself: what nobody can watch, and has no tile."""

    tile, block, tile_known = (4, 4, 4), (4, 4), False

    def __init__(self, k: Contestant):
        self.k, self.name, self.source, self.inputs = k, str(k), k.source, k.inputs
        self.device_name = k.device.name if k.device else "this machine"

    def multiply(self, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> np.ndarray:
        """C of one launch, which found C full of `fill`. Raises `Wrong` where A or B has changed."""
        work = self.k.upload(A, B, fill)
        work.launch()
        C = work.download()
        for name, X, there in (("A", A, work.A), ("B", B, work.B)):
            if not np.array_equal(work.on.read(there, 0, X.size).ravel()[: X.size], X.ravel()):
                raise Wrong(Finding(Kind.INPUT_CHANGED, "input_changed", values={"name": name}))
        return C

    def natively(self, move):
        """What the move finds: in a child of a function that calls PyOpenCL, which may end its process."""
        if calls_opencl(self.k):
            return self.came_of(in_child(self.k, partial(move, self), SECONDS))
        from kernel_judge.on_ptx import within_budget  # of a library nothing runs there

        return within_budget(move, self)

    def came_of(self, outcome: Outcome, compiler: str = "") -> Seen:
        """What came of a move in a child, or why nothing did; `compiler`: whose it is that builds the kernel there."""
        if outcome.value is not None:
            return outcome.value
        if outcome.error and (outcome.begun or outcome.error[0] != "KernelError"):
            raise KernelError(f"{self.k} cannot be tried here: {': '.join(outcome.error)}")
        if outcome.error:
            return Seen(refused(outcome.error[1]))
        if not outcome.begun:
            values = {"compiler": compiler, "what": outcome.why}
            return Seen([Finding(outcome.why.kind, "not_built", values=values)])
        if outcome.why.kind == Kind.HANG and (loops := mentions(self, r"\b(for|while|do|goto)\b")):
            return Seen([Finding(Kind.HANG, "loops", loops, {"what": outcome.why})])
        return Seen([outcome.why])

    def failure(self, error: Exception) -> Finding:
        """An exception of `multiply` as a `Finding`."""
        if isinstance(error, OutOfTime):  # as `cuda_without_gpu` says it: the line of code stands below
            text, _, code = error.sentence[0].partition("\n    ")
            key = "{text}, at `{code}`" if code else "{text}"
            return Finding(Kind.TOO_SLOW, key, (error.line,) if error.line else (), {"text": text, "code": code})
        if isinstance(error, NotYet):
            return Finding(Kind.NO_ANSWER, "returns_none")
        if isinstance(error, KernelError) and (kind := KINDS.get(error.sentence[0])):
            return Finding(kind, error.sentence[0], values=error.sentence[1])
        if isinstance(error, KernelError) and "does not compile" in str(error):
            return Finding(Kind.NOT_COMPILED, "{text}", values={"text": str(error)})
        first = re.sub(r":\n\s*", ": ", str(error).strip()).split("\n")[0]
        first = re.split(r"\. (?:Use the syntax|The following argument types)", first)[0]
        key = next(words for pattern, words in HOST_SAYS if re.search(pattern, str(error)))
        values = {"error": f"{type(error).__name__}: {first}"}
        return Finding(Kind.ERROR, key, line_raised(self.k, error), values)


def refused(said: str) -> list[Finding]:
    """The findings of a kernel that does not compile, a line each, where the compiler names lines."""
    told = said.partition("does not compile.\n")[2]
    lines = re.findall(r"^line (\d+): (.*)", told, re.MULTILINE)
    found = [Finding(Kind.NOT_COMPILED, "{text}", (int(number),), {"text": message}) for number, message in lines]
    return found or [Finding(Kind.NOT_COMPILED, "{text}", values={"text": told or said})]


def mentions(product: FunctionProduct, pattern: str) -> tuple[int, ...]:
    """The lines of its source, without comments, in which that pattern is found."""
    comment = "//" if product.k.dialect == "OpenCL" else "#"
    lines = enumerate(product.source.splitlines(), 1)
    return tuple(number for number, line in lines if re.search(pattern, line.partition(comment)[0]))


def line_raised(k: Contestant, error: Exception) -> tuple:
    """The line of k.source that raised the error, as a tuple; () for none.

    An index outside an array is told at the kernel's own line, also where a function does it that the kernel calls:
    the kernel chose that index. Of anything else that function's line is told, if it stands in the same source.
    """
    function = getattr(k, "function", None)
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    if code is None:
        return ()
    whole_text = k.dialect == "CUDA" and came_as_text(k.function) and not isinstance(error, IndexError)
    numbers = [
        number
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code is code or (whole_text and frame.f_code.co_filename == code.co_filename)
    ]
    return (source_line(k, numbers[-1]),) if numbers else ()
