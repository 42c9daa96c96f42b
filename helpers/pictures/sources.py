"""What the learner looks at: sources."""

import difflib
import inspect
from pathlib import Path
from types import ModuleType

from IPython.display import Markdown, display

from ..launch import Kernel, dialect
from ..launch.given import takes
from ..launch.resolve import PACKAGE
from ..roc import RocKernel


@takes
def show(*kernels: Kernel | RocKernel | ModuleType, numbers: bool = True) -> None:
    """Show the source of each kernel, or script, as it will run, with the line numbers that verdicts and tables name.

    numbers=False leaves them out, to copy from. `print(k.source)` is the same text without colours.
    """
    for k in kernels:
        if inspect.ismodule(k):
            place = Path(k.__file__).relative_to(PACKAGE.parent).as_posix()
            name, language, source = "Python", "python", inspect.getsource(k)
        elif getattr(k, "dialect", None) == "HSA":
            name, place, language, source = "HSA", k.__name__, "python", k.source
        elif isinstance(k, Kernel) and k.source:
            one = dialect(k.dialect)
            name, place, language, source = k.dialect, one.place(k.step), one.language, k.source
            place = "yours" if k.own else place
        else:
            raise TypeError(f"{k!r} is no built kernel; show(cuda_kernel(...)) or show(opencl_kernel(...)) shows one.")
        display(Markdown(f"**{name}** · `{place}`\n\n```{language}\n{listing(source, numbers)}\n```"))


def listing(source: str, numbers: bool) -> str:
    """The source without empty lines around it. Its numbers are those of the whole source, empty lines counted."""
    lines = source.splitlines()
    full = [i for i, line in enumerate(lines) if line.strip()]
    first, last = (full[0], full[-1]) if full else (0, -1)
    if not numbers:
        return "\n".join(lines[first : last + 1])
    width = len(str(last + 1))
    return "\n".join(f"{i + 1:{width}} | {lines[i]}".rstrip() for i in range(first, last + 1))


@takes
def show_changes(before: Kernel, after: Kernel) -> None:
    """Print the lines of code, comments left out, in which the second kernel's source differs from the first's."""
    one = dialect(after.dialect)
    sources = []
    for k in (before, after):
        lines = [line.split(one.comment)[0].strip() for line in k.source.replace(k.step, "STEP").splitlines()]
        start = next((i for i, line in enumerate(lines) if one.begins in line), 0)  # past the docstring
        sources.append([line for line in lines[start:] if line])
    changed = (line for line in difflib.ndiff(*sources) if line[0] in "+-")
    print(f"{before.step} -> {after.step} ({after.dialect})", *changed, sep="\n  ")
