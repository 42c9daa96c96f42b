"""What the learner looks at: sources."""

import difflib

from IPython.display import Markdown, display

from .kernel import Kernel


def show(*kernels):
    """Show the source of each kernel, as it will run."""
    for k in kernels:
        if not isinstance(k, Kernel) or not k.source:
            raise TypeError(f"{k!r} is no built kernel; show(cuda_kernel(...)) or show(opencl_kernel(...)) shows one.")
        folder, suffix, language = {"CUDA": ("cuda", "py", "python"), "OpenCL": ("opencl", "cl", "c")}[k.dialect]
        place = "yours" if k.own else f"helpers/{folder}/{k.step}.{suffix}"
        display(Markdown(f"**{k.dialect}** · `{place}`\n\n```{language}\n{k.source.strip()}\n```"))


def show_changes(before, after):
    """Print the lines of code, comments left out, in which the second kernel's source differs from the first's."""
    comment = {"CUDA": "#", "OpenCL": "//"}[after.dialect]
    sources = []
    for k in (before, after):
        lines = [line.split(comment)[0].strip() for line in k.source.replace(k.step, "STEP").splitlines()]
        sources.append([line for line in lines if line])
    code = sources[1].index(next(line for line in sources[1] if "id(" in line or "grid(" in line))
    start = min(code, len(sources[0]))
    changed = difflib.ndiff(sources[0][start:], sources[1][start:])
    print(f"{before.step} -> {after.step} ({after.dialect})", *(line for line in changed if line[0] in "+-"), sep="\n  ")
