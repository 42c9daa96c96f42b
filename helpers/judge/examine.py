"""Runs a kernel on fresh operands and compares: the part of a check that a child process does as well.

Inputs are fresh random draws, C is full of NaN before the run, the grid is no larger than C needs.
"""

import re
import traceback
from collections.abc import Callable

from ..errors import OutOfTime
from ..launch import Contestant, KernelError, NotYet
from ..launch.cuda_source import came_as_text
from ..launch.kernel import DeviceLost
from ..sandbox import Finding, source_line
from .diagnosis import Launch, diagnose
from .reference import drawn_for, launched, wrong_elements

# (what PyOpenCL or Numba says of host code, what that means)
HOST_SAYS = (
    (
        "INVALID_WORK_GROUP_SIZE",
        ". The global size counts work-items, not groups: along each axis it is a whole multiple of the group's size",
    ),
    (
        "set_arg failed|INVALID_ARG",
        ". Give the kernel's arguments in its order: whole numbers as np.int32(M), matrices as buffers",
    ),
    (
        "create_buffer failed: INVALID_HOST_PTR",
        ". COPY_HOST_PTR takes the numbers from hostbuf=, as in cl.Buffer(context, flags.READ_ONLY | "
        "flags.COPY_HOST_PTR, hostbuf=A)",
    ),
    (
        r"(?s)incompatible function arguments.*_cl\.Buffer, .*ndarray",
        ". The array that fills a buffer goes by its name: cl.Buffer(context, flags.READ_ONLY | "
        "flags.COPY_HOST_PTR, hostbuf=A)",
    ),
    (
        "Enqueue(Read|Write)Buffer failed: INVALID_VALUE",
        ". The buffer is smaller than the array: its size is in bytes, C.nbytes, and C.size counts elements",
    ),
    ("Buffer failed: INVALID_VALUE", ". The buffer is smaller than the array: its size in bytes is C.nbytes"),
    ("launch configuration was not", ". Launch the kernel with its grid and its block: kernel[grid, block](A, B, C)"),
    ("must be a sequence of integers", ". Blocks are whole numbers: math.ceil(M / rows) of them cover M rows"),
)


def examine(k: Contestant, shapes: list, each: Callable = lambda shape: None) -> list[Finding]:
    """Run k on each shape and compare. Returns findings, the clearest first, empty when right.

    `each` is called with every shape before k runs on it. Raises OutOfTime where nothing is wrong until time is over.
    """
    launches = []
    for turn, shape in enumerate(shapes):
        each(shape)
        A, B = drawn_for(k, shape, turn)
        try:
            C = launched(k, A, B)
        except OutOfTime:
            if any(one.wrong.any() for one in launches):
                break
            raise
        except NotYet as error:
            return [Finding("no answer", str(error))]
        except Exception as error:  # whatever a learner's kernel raises is a finding, not our failure
            return [failure(k, error)]
        launches.append(Launch(A, B, C, wrong_elements(C, A, B, k.inputs), k.inputs))
    return [diagnose(k, launches)] if any(r.wrong.any() for r in launches) else []


def examine_stages(k: Contestant, stages: list, each: Callable = lambda shape: None) -> list[Finding]:
    """The findings at the first lists of shapes that show any: at small shapes they are easier to read."""
    return next(filter(None, (examine(k, shapes, each) for shapes in stages)), [])


def failure(k, error):
    """An exception from a kernel as a `Finding`."""
    if isinstance(error, DeviceLost):
        return Finding("crash", str(error).rstrip("."))
    if isinstance(error, KernelError) and "past the end" in str(error):
        return Finding("out of bounds", str(error))
    first = re.sub(r":\n\s*", ": ", str(error).strip()).split("\n")[0]
    first = re.split(r"\. (?:Use the syntax|The following argument types)", first)[0]
    meant = next((words for pattern, words in HOST_SAYS if re.search(pattern, str(error))), "")
    return Finding("error", f"{type(error).__name__}: {first}{meant}", line_raised(k, error))


def line_raised(k, error):
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
