"""From what a learner gives, or a step's file, to a `@cuda.jit` function and its source; and what Numba says of it."""

import functools
import hashlib
import inspect
import linecache
import re
import sys
import textwrap
import traceback
from collections.abc import Callable
from types import ModuleType

import numpy as np

from ..arguments import told
from ..devices import compiling
from ..errors import KernelError, in_our_words, quoted
from ..language import ENGLISH, spelled
from .kept_kernels import keep_compiled
from .numba_internals import is_device_function, is_jitted, places_of, plain_function

TEXT = "<kernel "  # the file names of kernels that came as text begin so
EXAMPLE = (np.zeros((1, 1), np.float32),) * 3  # A, B, C


def from_function(function: Callable) -> tuple[Callable, str]:
    """A learner's `@cuda.jit` function, or the plain function inside it, and its source."""
    plain = plain_function(function) or function
    if not inspect.isfunction(plain):
        raise KernelError(f"{told(function)} is no kernel: give a function under @cuda.jit, without [grid, block].")
    try:
        source = textwrap.dedent(inspect.getsource(plain))
    except OSError:  # a child has its code alone
        source = ""
    from numba import cuda  # only here: who checks OpenCL may have no Numba

    return (function if plain is not function else cuda.jit(plain)), source


@functools.lru_cache(maxsize=128)
def from_text(source: str, /, **p: int | str) -> Callable:
    """Build source text that defines one `@cuda.jit` kernel, or one builder such as those of the ladder.

    The same text is built once, and compiled once. Tracebacks and `inspect` find it. Raises KernelError, with the line,
    for what the text raises.
    """
    name = f"{TEXT}{hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace = {"__name__": "kernel"}
    sys.modules.setdefault("kernel", ModuleType("kernel"))  # Numba knows a function that calls itself by its module
    try:
        exec(compile(source, name, "exec"), namespace)
        mine = [v for v in namespace.values() if getattr(v, "__module__", None) == "kernel" and callable(v)]
        mine = [v for v in mine if not is_device_function(v)]
        mine = [v for v in mine if is_jitted(v)] or mine  # beside a kernel, others are functions that it calls
        if len(mine) != 1:
            names = ", ".join(v.__name__ for v in mine)
            raise KernelError(
                f"the source must define exactly one kernel or one function that builds it, not {len(mine)}: {names}. "
                "A function that a kernel calls has @cuda.jit(device=True) above it."
            )
        kernel = mine[0] if is_jitted(mine[0]) else call_builder(mine[0], p)
        if compiling():
            keep_compiled(kernel, source, ["helpers.cuda.intrinsics"], p)
        return kernel
    except KernelError:
        raise
    except SyntaxError as error:
        raise KernelError(quoted(source, error.lineno, error.msg)) from None
    except Exception as error:  # a wrong name, an import that fails, ...
        raise at_its_line(error, name) from None


def call_builder(builder, p):
    """Call builder with those of the parameters that it takes; the others are a matter of the launch."""
    kernel = builder(**{name: p[name] for name in inspect.signature(builder).parameters if name in p})
    if not is_jitted(kernel):
        raise KernelError(f"{builder.__name__} must be a @cuda.jit function, or return one; it returns {kernel!r}.")
    return kernel


def came_as_text(function: Callable) -> bool:
    """Whether that `@cuda.jit` function was built by `from_text`."""
    return plain_function(function).__code__.co_filename.startswith(TEXT)


# What is found in a complaint of Numba's, and what helps.
HINTS = {
    r"No conversion from .+ to none": "a kernel returns nothing: store the number in an array",
    r"array\(\w+, 1d, \w\)": "with one index, A[row] is a whole row: write A[row, column]",
    r"<class 'function'>": "a function that a kernel calls has @cuda.jit(device=True) above it",
    r"(?:shared|local)\.array": "an array takes numbers or names of constants, and a type: ((TILE, TILE), float32)",
    r"liveness info missing": "a loop never ends: nothing in the loop changes what its condition asks for",
    r"NRT required|_ol_array_allocate": "a kernel makes no lists and no arrays while it runs, only cuda.local.array",
}


def numba_says(error: Exception, source: str, line_of: Callable[[str, int], int]) -> tuple[tuple[str, dict], int]:
    """What Numba says to the kernel's author, (sentence, values), and the line of `source` that it means, 0 for none.

    `line_of`: a function of a file and a line in it: that line of `source`, another number for one that is not there.
    """
    numbers = [line_of(*place) for place in places_of(error)]
    line = next((number for number in numbers if 0 < number <= source.count("\n") + 1), 0)
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(("Failed in", "- Resolution failure"))]
    asked = [line[4:] for line in said if line.startswith(">>> ")]  # >>> add(float32, array(float32, 1d, C))
    text = re.sub(r" at 0x\w+|\.? Raised from .*|\.$", "", " ".join([*said[:1], *asked[:1]]))
    if not numbers:
        text = f"{type(error).__name__}: {text}"
    hint = next((hint for complaint, hint in HINTS.items() if re.search(complaint, str(error))), None)
    return ("{text}; {hint}", {"text": text, "hint": (hint, {})}) if hint else ("{text}", {"text": text}), line


def at_its_line(error: Exception, name: str) -> KernelError:
    """What a learner's source raised, as a `KernelError` with the line of the file `name` and its text."""
    numbers = [n for f, n in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == name]
    source = "".join(linecache.getlines(name))
    said, line = numba_says(error, source, lambda file, line: line if file == name else 0)
    return KernelError(quoted(source, line or (numbers[-1] if numbers else None), spelled(ENGLISH, *said)))


def ptx_of(function: Callable, each: bool = False) -> str:
    """PTX of a `@cuda.jit` kernel, or of a plain function, of (A, B, C), for the PTX machine, compiled once.

    `each`: as `to_ptx.text_of` has it. Raises KernelError for what does not compile.
    """
    from cuda_without_gpu import to_ptx

    try:
        with in_our_words():
            return to_ptx.text_of(to_ptx.compiled_for(function, *EXAMPLE), each=each)
    except KernelError:
        raise
    except Exception as error:  # Numba raises many kinds, each of which is about the kernel
        file = (plain_function(function) or function).__code__.co_filename
        raise KernelError(f"the kernel does not compile:\n{at_its_line(error, file)}") from None
