"""Matrix multiplication kernels, step by step, in CUDA and OpenCL: the course's commands."""

import argparse
import json
import sys

from . import files
from .devices import DeviceError, version
from .doctor import diagnosis, missing, shown
from .errors import KernelError
from .language import of_the_user, set_language


def doctor(options: argparse.Namespace) -> int:
    """Say what this machine has, what is used, and what would add the rest; exit status 0 if it is ready."""
    set_language(of_the_user())
    rows = diagnosis()
    print(shown(rows))
    return 1 if missing(rows) else 0


def bench(options: argparse.Namespace) -> None:
    """Time the ladder beside NumPy, as a table."""
    if options.json:  # so that a wrong path costs nothing
        files.try_writing(options.json)
    from .clock import scoreboard

    print("building, checking and timing each kernel", file=sys.stderr, flush=True)
    dialects, rounds = options.dialect and [options.dialect], 3 if options.peers else 1
    board = scoreboard(options.size, dialects, options.steps, options.peers, rounds)
    print(board)
    if options.json:
        rows = [vars(t) | {"gflops": t.gflops} for t in board.timings]
        files.replace_text(options.json, json.dumps(rows, indent=1) + "\n")


def record(options: argparse.Namespace) -> None:
    """Measure this machine, and write its file."""
    from . import clock

    print("saved:", clock.record(options.folder).resolve())


def predict(options: argparse.Namespace) -> None:
    """Say how fast the CUDA ladder is on a GPU that need not be there."""
    import gpu_model

    from .instruments import predicted_ladder

    own = {"sms": options.sms, "clock": options.clock, "bytes_per_s": options.memory}
    gpu = gpu_model.gpu(options.gpu, **{name: value for name, value in own.items() if value is not None})
    print(f"4096 x 4096 x 4096 on {gpu.name}, predicted")
    print(f"  {'step':12} {'GFLOP/s':>8} {'ms':>10}  limited by")
    for p in predicted_ladder(gpu):
        print(f"  {p.kernel.split()[0]:12} {p.gflops:8,.0f} {1e3 * p.seconds:10.3f}  {p.limit}")


def progress(options: argparse.Namespace) -> None:
    """Say which exercises are done, by the verdicts in a folder of students' notebooks; nothing in them runs."""
    from . import classroom

    found = classroom.progress(options.folder)
    print(found)
    if options.csv:
        files.replace_text(options.csv, found.csv())


COMMANDS = {do.__name__: do for do in (doctor, bench, record, predict, progress)}


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
    of["bench"].add_argument("--json", metavar="FILE", help="write the rows there")
    of["record"].add_argument("folder", help="where to write it")
    of["predict"].add_argument("--gpu", default="A100", help="such as H100 (A100)")
    of["predict"].add_argument("--sms", type=int, help="as many multiprocessors, on a GPU that is like that one")
    of["predict"].add_argument("--clock", type=float, help="its cycles a second, such as 2.45e9")
    of["predict"].add_argument("--memory", type=float, help="bytes a second of its memory, such as 504e9")
    of["progress"].add_argument("folder", help="a folder for each student in it; or the notebooks of one")
    of["progress"].add_argument("--csv", metavar="FILE", help="write a row for each exercise there")
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
