"""What the learner looks at: sources."""

import difflib
import inspect
import re
import textwrap
from collections.abc import Callable

from IPython.display import display
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from ..launch import Kernel, dialect
from ..launch.dialects import PACKAGE

PLAIN = re.compile(r'<span class="(?:w|n|o|p)">([^<]*)</span>')  # white space, names and signs need no colour


def show(*kernels: Kernel | Callable) -> None:
    """Show the source of each kernel as it will run, with the line numbers that verdicts and tables name.

    `print(k.source)` is the same text without numbers and colours, to copy from. Wide lines scroll.
    """
    for k in kernels:
        if hasattr(k, "py_func"):
            name, place, language = "HSA", k.__name__, "python"
            source = textwrap.dedent(inspect.getsource(k.py_func))
        elif isinstance(k, Kernel) and k.source:
            one = dialect(k.dialect)
            name, language, source = k.dialect, one.language, k.source
            place = "yours" if k.own else one.file(k.step).relative_to(PACKAGE.parent).as_posix()
        else:
            raise TypeError(f"{k!r} is no built kernel; show(cuda_kernel(...)) or show(opencl_kernel(...)) shows one.")
        first = len(source) - len(source.lstrip("\n")) + 1  # empty lines above count
        plain = source.rstrip().lstrip("\n")
        coloured = highlight(plain, get_lexer_by_name(language, stripnl=False), HtmlFormatter(nowrap=True))
        text, code = (numbered(lines.rstrip("\n"), first) for lines in (plain, PLAIN.sub(r"\1", coloured)))
        # A theme gives the colours. No line is broken: a wide one scrolls.
        html = f"<p><b>{name}</b> · <code>{place}</code></p>\n"
        html += f'<div class="highlight"><pre style="white-space: pre; overflow-x: auto">{code}</pre></div>'
        display({"text/plain": f"{name} · {place}\n\n{text}", "text/html": html}, raw=True)


def numbered(text: str, first: int) -> str:
    """The text with a number in front of each line, from `first` on."""
    lines = text.split("\n")
    width = len(str(first + len(lines) - 1))
    return "\n".join(f"{number:{width}} | {line}".rstrip() for number, line in enumerate(lines, first))


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
