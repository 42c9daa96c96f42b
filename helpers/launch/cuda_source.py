"""From what a learner gives, or a step's file, to a `@cuda.jit` function and its source text."""

import functools
import importlib
import inspect
import linecache
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable
from types import ModuleType

from ..errors import KernelError, quoted
from ..language import ENGLISH, spelled
from . import refusals
from .contestant import no_exit
from .numba_internals import is_device_function, is_jitted, plain_function

TEXT = "<kernel "  # the file names of kernels that came as text begin so
warnings.filterwarnings("ignore", message="Could not find source for function")  # older Numba looks for such files


def once(build: Callable) -> Callable:
    """`build(text, parameters)`, which returns the same function again, with what Numba compiled of it in seconds."""
    kept = functools.lru_cache(maxsize=128)(lambda text, parameters: build(text, dict(parameters)))
    return functools.wraps(build)(lambda text, parameters: kept(text, tuple(parameters.items())))


@once
def from_ladder(name, p):
    """The step's kernel, built with those parameters."""
    return call_builder(getattr(importlib.import_module(f"helpers.cuda.{name}"), name), p)


def from_function(function):
    """A learner's `@cuda.jit` function, or the plain function inside it, and its source."""
    plain = getattr(function, "py_func", function)
    if not hasattr(plain, "__name__"):
        raise KernelError(
            "this kernel has its grid and block already. Give it without [grid, block]: like=... sets both."
        )
    try:
        source = textwrap.dedent(inspect.getsource(plain))
    except (OSError, TypeError):
        source = f"# There is no source at hand of {plain.__name__}, which was typed at a prompt\n"
    from numba import cuda  # only here: who checks OpenCL may have no Numba

    return (function if plain is not function else cuda.jit(plain)), source


@once
def from_text(source, p):
    """Build source text that defines one `@cuda.jit` kernel, or one builder such as those of the ladder.

    Tracebacks and `inspect` find the text. Raises KernelError, with the line, for what the text raises.
    """
    name = f"{TEXT}{abs(hash(source)):x}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace = {"__name__": "kernel"}
    sys.modules.setdefault("kernel", ModuleType("kernel"))  # Numba knows a function that calls itself by its module
    try:
        with no_exit("the source"):
            exec(compile(source, name, "exec"), namespace)
    except KernelError:
        raise
    except SyntaxError as error:
        is_c = re.search(r"\b(__global__|__kernel|__device__)\b", source)
        says = "this is C: cuda_kernel takes Python, a function under @cuda.jit" if is_c else error.msg
        raise KernelError(quoted(source, error.lineno, says)) from None
    except Exception as error:  # a wrong name, an import that fails, ...
        raise at_its_line(error, name) from None
    mine = [v for v in namespace.values() if getattr(v, "__module__", None) == "kernel" and callable(v)]
    called = [v for v in mine if is_device_function(v)]
    mine = [v for v in mine if v not in called]
    mine = [v for v in mine if is_jitted(v)] or mine  # beside a kernel, others are functions that it calls
    if called and not mine:
        raise KernelError(f"{called[0].__name__} is called, not launched: a kernel's @cuda.jit is without device=True.")
    if len(mine) != 1:
        which = ": " + ", ".join(v.__name__ for v in mine) if mine else ""
        raise KernelError(
            f"the source must define exactly one kernel or one function that builds it, not {len(mine)}{which}. A "
            "function that a kernel calls has @cuda.jit(device=True) above it."
        )
    if hasattr(mine[0], "py_func"):
        return mine[0]
    try:
        return call_builder(mine[0], p)
    except KernelError:
        raise
    except Exception as error:
        raise at_its_line(error, name) from None


def at_its_line(error, name):
    """An exception that a learner's source raised, as a `KernelError` with the line of the file `name` and its text."""
    numbers = [n for f, n in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == name]
    source = "".join(linecache.getlines(name))
    said, line = refusals.told(error, source, lambda file, line: line if file == name else 0)
    return KernelError(quoted(source, line or (numbers[-1] if numbers else None), spelled(ENGLISH, *said)))


def call_builder(builder, p):
    """Call builder with those of the parameters that it takes; the others are a matter of the launch."""
    takes = inspect.signature(builder).parameters
    missing = [name for name, q in takes.items() if name not in p and q.default is q.empty]
    if missing:
        raise KernelError(
            f"{builder.__name__} takes {', '.join(missing)}, which is no parameter of this step "
            f"({', '.join(p)}). If it is the kernel itself, put @cuda.jit above it."
        )
    with no_exit(builder.__name__):
        kernel = builder(**{name: p[name] for name in takes if name in p})
    if not hasattr(kernel, "py_func"):
        raise KernelError(f"{builder.__name__} must return the kernel, a @cuda.jit function; it returns {kernel!r}.")
    return kernel


def came_as_text(function) -> bool:
    """Whether that `@cuda.jit` function was built by `from_text`."""
    return plain_function(function).__code__.co_filename.startswith(TEXT)
