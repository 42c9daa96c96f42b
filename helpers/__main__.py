"""python -m helpers doctor: what this machine has; bench: the ladder, timed;
tune: better parameters; record: all of it, kept.
"""

import argparse
import json
import sys
from contextlib import nullcontext

from tqdm import tqdm

from . import devices, ladder
from .clock import record, scoreboard, tune, write_results
from .clock.results import RESULTS
from .doctor import doctor
from .launch import DIALECTS, KernelError


def bench(arguments):
    """Time the ladder beside NumPy, and the libraries if asked; print a table; write rows, or the machine's file."""
    size = tuple(arguments.shape) if arguments.shape else arguments.size
    dialects = [arguments.dialect] if arguments.dialect else list(DIALECTS)
    for name in arguments.steps or []:
        ladder.step(name, arguments.dialect)
    rounds = (3 if arguments.peers or arguments.save else 1) if arguments.rounds is None else arguments.rounds
    # The file is opened before the work, so that a wrong path costs nothing.
    with open(arguments.json, "w") if arguments.json else nullcontext() as file:
        with tqdm(leave=False, file=sys.stderr, bar_format="{n} timed in {elapsed} | {desc}") as progress:

            def each(k):
                progress.set_description("NumPy" if k.dialect == "Python" else str(k))
                progress.update()

            board = scoreboard(
                size, dialects, arguments.steps, arguments.peers, rounds, "tuned" if arguments.tuned else None, each
            )
        print(board)
        if file:
            json.dump([t.row() for t in board.timings], file, indent=1)
            file.write("\n")
    if arguments.save:
        print("saved:", write_results([board], arguments.save))


def search(arguments):
    """Tune steps one after another, each with its share of the time."""
    for name in arguments.steps:
        ladder.step(name, arguments.dialect)
    for name in arguments.steps:
        print(tune(name, arguments.dialect, arguments.size, arguments.seconds / len(arguments.steps), again=True))


def dialect(name):
    """As one writes it, from any case."""
    return {one.lower(): one for one in DIALECTS}.get(name.lower(), name)


def main():
    """Run the command that sys.argv names. An error that a user can mend ends in one line on stderr and status 1."""
    parser = argparse.ArgumentParser(prog="python -m helpers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    look = commands.add_parser("doctor", help="what this machine has, what is used, what would add the rest")
    look.add_argument("--json", action="store_true", help="as JSON")
    time = commands.add_parser("bench", help="time the ladder beside NumPy")
    time.add_argument("--dialect", type=dialect, choices=list(DIALECTS), help="cuda or opencl; both by default")
    time.add_argument("--steps", nargs="+", metavar="STEP", help=f"of: {', '.join(ladder.STEPS)}")
    shape = time.add_mutually_exclusive_group()
    shape.add_argument("--size", type=int, default=1024, help="M = N = K (1024)")
    shape.add_argument("--shape", type=int, nargs=3, metavar=("M", "N", "K"))
    time.add_argument(
        "--peers", action="store_true", help="beside PyTorch, MKL, CLBlast and cuBLAS, those that are installed"
    )
    time.add_argument("--tuned", action="store_true", help="with the parameters that `tune` found")
    time.add_argument("--rounds", type=int, help="in turns, so many times (1; 3 with --peers or --save)")
    time.add_argument("--json", metavar="FILE", help="write the rows there")
    time.add_argument(
        "--save", metavar="FOLDER", nargs="?", const=RESULTS, help="add them to this machine's file there (results)"
    )
    look = commands.add_parser("tune", help="search for the best parameters on this machine, and keep them")
    look.add_argument("steps", nargs="+", metavar="STEP", help=f"of: {', '.join(ladder.STEPS)}")
    look.add_argument(
        "--dialect", type=dialect, choices=list(DIALECTS), default="OpenCL", help="cuda or opencl (opencl)"
    )
    look.add_argument("--size", type=int, help="M = N = K (512, or 2048 on a GPU)")
    look.add_argument("--seconds", type=float, default=60, help="for all of them together (60)")
    look = commands.add_parser("record", help="check, tune and measure this machine; write its file")
    look.add_argument("folder", help="where to write it")
    arguments = parser.parse_args()
    if arguments.command == "doctor":
        doctor(arguments.json)
        return
    try:
        {"bench": bench, "tune": search, "record": lambda arguments: record(arguments.folder)}[arguments.command](
            arguments
        )
    except (ValueError, MemoryError, OSError, KernelError, devices.DeviceError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
