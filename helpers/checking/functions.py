"""A function of (A, B), or a library, as the judge takes it; kernels build on it."""

import re
import traceback

import numpy as np

from kernel_judge import Finding, Function, Kind, Seen, Wrong
from kernel_judge.moves import in_stages
from kernel_judge.shapes import for_a_function

from ..errors import KernelError, OutOfTime
from ..launch import Contestant, NotYet
from ..launch.cuda_source import came_as_text
from ..launch.kernel import LOST, PAST_THE_END
from ..sandbox import SECONDS, Job, calls_opencl, in_child, source_line
from .in_time import limited, stopped

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
        "create_buffer failed: INVALID_HOST_PTR",
        "{error}. COPY_HOST_PTR takes the numbers from hostbuf=, as in cl.Buffer(context, flags.READ_ONLY | "
        "flags.COPY_HOST_PTR, hostbuf=A)",
    ),
    (
        r"(?s)incompatible function arguments.*_cl\.Buffer, .*ndarray",
        "{error}. The array that fills a buffer goes by its name: cl.Buffer(context, flags.READ_ONLY | "
        "flags.COPY_HOST_PTR, hostbuf=A)",
    ),
    (
        "Enqueue(Read|Write)Buffer failed: INVALID_VALUE",
        "{error}. The buffer is smaller than the array: its size is in bytes, C.nbytes, and C.size counts elements",
    ),
    ("Buffer failed: INVALID_VALUE", "{error}. The buffer is smaller than the array: its size in bytes is C.nbytes"),
    (
        "launch configuration was not",
        "{error}. Launch the kernel with its grid and its block: kernel[grid, block](A, B, C)",
    ),
    ("must be a sequence of integers", "{error}. Blocks are whole numbers: math.ceil(M / rows) of them cover M rows"),
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

    def natively(self, stages: list) -> Seen:
        """What `in_stages` finds: on the shapes that a loop in Python does in a second, or on one given list.

        A function that calls PyOpenCL may end its process, so that is a child.
        """
        stages = [for_a_function()] if len(stages) > 1 else stages
        if calls_opencl(self.k):
            outcome = in_child(self.k, call_there, SECONDS, stages=stages)
            return outcome.value or Seen(outcome.findings)
        try:
            with limited():
                return in_stages(self, stages)
        except OutOfTime as late:
            return stopped(late)

    def failure(self, error: Exception) -> Finding:
        """An exception of `multiply` as a `Finding`."""
        if isinstance(error, OutOfTime):
            raise error
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


def call_there(job: Job, stages: list) -> Seen:
    """In the child: what `in_stages` finds of a function."""
    return in_stages(FunctionProduct(job.build()), stages)


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
