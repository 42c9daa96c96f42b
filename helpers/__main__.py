"""Matrix multiplication kernels, step by step, in CUDA and OpenCL: the course's commands."""

import argparse
import sys

from .devices import DeviceError, version
from .errors import KernelError
from .needs import diagnosis, missing, shown


def doctor(options: argparse.Namespace) -> int:
    """Say what this machine has, what is used, and what would add the rest; exit status 0 if it is ready."""
    rows = diagnosis()
    print(shown(rows))
    return 1 if missing(rows) else 0


def bench(options: argparse.Namespace) -> None:
    """Time the ladder beside NumPy, as a table."""
    from .clock import scoreboard

    print("building, checking and timing each kernel", file=sys.stderr, flush=True)
    dialects, rounds = options.dialect and [options.dialect], 3 if options.peers else 1
    print(scoreboard(options.size, dialects, options.steps, options.peers, rounds))


def record(options: argparse.Namespace) -> None:
    """Measure this machine, and write its file."""
    from . import clock

    print("saved:", clock.record(options.folder).resolve())


def progress(options: argparse.Namespace) -> None:
    """Say which exercises are done, by the verdicts in a folder of students' notebooks; nothing in them runs."""
    from . import classroom

    print(classroom.progress(options.folder))


def log(options: argparse.Namespace) -> None:
    """Write what a reader, or each of a class, wrote, guessed, saw and measured, as one page; nothing in it runs."""
    from .logbook import work_log

    work_log(options.folder)


COMMANDS = {do.__name__: do for do in (doctor, bench, record, progress, log)}


def parser() -> argparse.ArgumentParser:
    """What may be written behind python -m helpers."""
    course = argparse.ArgumentParser(prog="python -m helpers", description=__doc__)
    course.add_argument("--version", action="version", version=f"matmul-ladder {version('matmul-ladder')}")
    commands = course.add_subparsers(metavar="COMMAND", title="commands")
    of = {name: commands.add_parser(name, help=do.__doc__, description=do.__doc__) for name, do in COMMANDS.items()}
    for name, do in COMMANDS.items():
        of[name].set_defaults(do=do)
    of["bench"].add_argument("--steps", nargs="+", metavar="STEP", help="of the ladder, such as tiled; by default all")
    of["bench"].add_argument("--dialect", help="CUDA or OpenCL; by default both")
    of["bench"].add_argument("--size", type=int, default=1024, help="M = N = K (1024)")
    of["bench"].add_argument("--peers", action="store_true", help="beside PyTorch and CuPy's cuBLAS, if installed")
    of["record"].add_argument("folder", help="where to write it")
    for name in ("progress", "log"):
        of[name].add_argument("folder", help="a folder for each student in it; or the notebooks of one")
    return course


def main(words: list[str] | None = None) -> int | None:
    """Do what those words ask for, or else sys.argv. Returns an exit status other than 0.

    An error that a user can mend ends in one line, with status 1; Ctrl-C with status 130.
    """
    options = parser().parse_args(words)
    if not hasattr(options, "do"):
        return parser().print_help()
    try:
        return options.do(options)
    except (ValueError, MemoryError, OSError, ImportError, DeviceError, KernelError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print("\ninterrupted. What was written before is there.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
