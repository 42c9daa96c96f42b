"""What the learner looks at: sources."""

import difflib

from IPython.display import Markdown, display

from .kernel import Kernel


def show(*kernels):
    """Show the source of each kernel, as it will run."""
    for k in kernels:
        if getattr(k, "dialect", None) == "HSA":
            display(Markdown(f"**HSA** · `{k.__name__}`\n\n```python\n{k.source.strip()}\n```"))
            continue
        if not isinstance(k, Kernel) or not k.source:
            raise TypeError(f"{k!r} is no built kernel; show(cuda_kernel(...)) or show(opencl_kernel(...)) shows one.")
        folder, suffix, language = {"CUDA": ("cuda", "py", "python"), "OpenCL": ("opencl", "cl", "c")}[k.dialect]
        place = "yours" if k.own else f"helpers/{folder}/{k.step}.{suffix}"
        display(Markdown(f"**{k.dialect}** · `{place}`\n\n```{language}\n{k.source.strip()}\n```"))


def show_changes(before, after):
    """Print the lines of code, comments left out, in which the second kernel's source differs from the first's."""
    comment, begin = {"CUDA": ("#", "@cuda.jit"), "OpenCL": ("//", "__kernel")}[after.dialect]
    sources = []
    for k in (before, after):
        lines = [line.split(comment)[0].strip() for line in k.source.replace(k.step, "STEP").splitlines()]
        start = next((i for i, line in enumerate(lines) if begin in line), 0)  # past the docstring
        sources.append([line for line in lines[start:] if line])
    changed = (line for line in difflib.ndiff(*sources) if line[0] in "+-")
    print(f"{before.step} -> {after.step} ({after.dialect})", *changed, sep="\n  ")
