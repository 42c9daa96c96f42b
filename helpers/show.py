"""What the learner looks at: sources."""

from IPython.display import Markdown, display


def show(*kernels):
    """Show the source of each kernel, as it will run."""
    for k in kernels:
        folder, suffix, language = {"CUDA": ("cuda", "py", "python"), "OpenCL": ("opencl", "cl", "c")}[k.dialect]
        place = "yours" if k.own else f"helpers/{folder}/{k.step}.{suffix}"
        display(Markdown(f"**{k.dialect}** · `{place}`\n\n```{language}\n{k.source.strip()}\n```"))
