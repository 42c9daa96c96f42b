"""What a page says where its first cell has not run, as after a restart: one line, in place of a NameError's traceback.

`tools/install.py` puts this where IPython looks for what to run as a notebook's Python begins.
"""

from IPython import get_ipython


def begun_anew(shell, kind, error, trace, tb_offset=None):
    """Say it in a folder of the course, before the course is imported; show the usual traceback elsewhere."""
    import os
    import sys

    if "helpers" in sys.modules or not any(map(os.path.exists, ("glossary.md", "../glossary.md"))):
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    else:
        why = "the first cell has not run since Python started. Run the page from there."
        print(f"{error.name} is not there: {why}", file=sys.stderr)


get_ipython().set_custom_exc((NameError,), begun_anew)
del get_ipython, begun_anew  # what is defined here would be there on each page
