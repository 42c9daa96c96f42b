"""`python -m cuda_without_gpu [--findings warn] prog.py …`: a program as it is, with its CUDA kernels on no GPU."""

import argparse
import os
import runpy
import sys
import traceback

from . import enable
from .errors import KernelError
from .findings import FOUND, way_to_launch
from .settings import WORDS


def main() -> int:
    """Run the program that the command line names. Returns what the process ends with: 1 for a kernel that is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m cuda_without_gpu", description="Run a Python program whose CUDA kernels need no GPU."
    )
    for name, words in WORDS.items():
        parser.add_argument(f"--{name}", choices=words)
    parser.add_argument("--seconds", type=float, help="of computing, before a launch is ended")
    parser.add_argument("-m", action="store_true", dest="is_module", help="the program is a module, as of python -m")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own")
    given = vars(parser.parse_args())
    program, arguments, is_module = (given.pop(name) for name in ("program", "arguments", "is_module"))
    enable(**given)
    sys.argv = [program, *arguments]
    try:
        if is_module:
            sys.path[0] = os.getcwd()
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(program))
            runpy.run_path(program, run_name="__main__")
    except KernelError as error:
        print(*traceback.format_tb(way_to_launch(error)), f"KernelError: {error}", sep="", file=sys.stderr)
        return 1
    finally:
        if FOUND:
            print("\nFound in CUDA kernels:", *FOUND.values(), sep="\n", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
