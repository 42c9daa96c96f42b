"""What a notebook says to the stop button: one line, in place of the traceback of whatever was running."""

import sys


def answer_in_one_line() -> None:
    """In a notebook, let a stopped cell say so in one line. Elsewhere do nothing."""
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    if shell:
        shell.set_custom_exc((KeyboardInterrupt,), stopped)


def stopped(shell, kind, error, trace, tb_offset=None):
    """The cell ends with an error all the same, so that "Run All" ends, too."""
    print("Stopped. Nothing is broken: run the cell again.", file=sys.stderr)
