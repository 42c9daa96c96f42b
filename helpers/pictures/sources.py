"""What the learner looks at: sources."""

import difflib

from IPython.display import Markdown, display

from ..launch import Kernel, dialect


def show(*kernels: Kernel) -> None:
    """Show the source of each kernel, as it will run."""
    for k in kernels:
        if getattr(k, "dialect", None) == "HSA":
            display(Markdown(f"**HSA** · `{k.__name__}`\n\n```python\n{k.source.strip()}\n```"))
            continue
        if not isinstance(k, Kernel) or not k.source:
            raise TypeError(f"{k!r} is no built kernel; show(cuda_kernel(...)) or show(opencl_kernel(...)) shows one.")
        one = dialect(k.dialect)
        place = "yours" if k.own else one.place(k.step)
        display(Markdown(f"**{k.dialect}** · `{place}`\n\n```{one.language}\n{k.source.strip()}\n```"))


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
