"""What the learner looks at: sources."""

import difflib
import inspect
import re
from pathlib import Path
from types import ModuleType

from IPython.display import display
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from old_roc.roc import RocKernel

from ..launch import Kernel, dialect
from ..launch.dialects import PACKAGE

PLAIN = re.compile(r'<span class="(?:w|n|o|p)">([^<]*)</span>')  # white space, names and signs need no colour


def show(*kernels: Kernel | RocKernel | ModuleType) -> None:
    """Show the source of each kernel, or script, as it will run, with the line numbers that verdicts and tables name.

    `print(k.source)` is the same text without numbers and colours, to copy from. Wide lines scroll.
    """
    for k in kernels:
        if inspect.ismodule(k):
            place = Path(k.__file__).relative_to(PACKAGE.parent).as_posix()
            name, language, source = "Python", "python", inspect.getsource(k)
        elif isinstance(k, RocKernel):
            name, place, language, source = "HSA", k.__name__, "python", k.source
        elif isinstance(k, Kernel) and k.source:
            one = dialect(k.dialect)
            name, place, language, source = k.dialect, one.place(k.step), one.language, k.source
            place = "yours" if k.own else place
        else:
            raise TypeError(f"{k!r} is no built kernel; show(cuda_kernel(...)) or show(opencl_kernel(...)) shows one.")
        first, lines = listing(source)
        width = len(str(first + len(lines) - 1))
        marks = [f"{number:{width}} | " for number, _ in enumerate(lines, first)]
        text = "\n".join(f"{mark}{line}".rstrip() for mark, line in zip(marks, lines, strict=True))
        html = coloured(marks, lines, language)
        title = f"<p><b>{name}</b> · <code>{place}</code></p>"
        display({"text/plain": f"{name} · {place}\n\n{text}", "text/html": f"{title}\n{html}"}, raw=True)


def coloured(marks: list, lines: list, language: str) -> str:
    """Lines of code as HTML, each behind its mark. None is broken: a wide one scrolls. A theme gives the colours."""
    code = highlight("\n".join(lines), get_lexer_by_name(language, stripnl=False), HtmlFormatter(nowrap=True))
    code = PLAIN.sub(r"\1", code)
    rows = zip(marks, code.rstrip("\n").split("\n"), strict=True)
    text = "\n".join(f"{mark}{row}".rstrip() for mark, row in rows)
    return f'<div class="highlight"><pre style="white-space: pre; overflow-x: auto">{text}</pre></div>'


def listing(source: str) -> tuple[int, list]:
    """(the number of the first line that is not empty, the lines from it to the last). Empty lines above count."""
    lines = source.splitlines()
    full = [i for i, line in enumerate(lines) if line.strip()]
    return (full[0] + 1, lines[full[0] : full[-1] + 1]) if full else (1, [])


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
