"""The course's commands."""

import argparse
import base64
import contextlib
import functools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from . import files
from .devices import DeviceError
from .doctor import PLAIN, report
from .jail import NoJail

INTERRUPTED = 130  # the exit status that shells give a program that Ctrl-C ended
TRUST = "run what others wrote without a jail: it may then do all that you may"
PIPE_CLOSED = 141  # ... and one whose reader has gone
LEFT = {  # by a command that was interrupted
    "tune": "What was found so far is above; the same command searches again.",
    "record": "Each size that was measured is in the file; the same command goes on from there today.",
}


@contextlib.contextmanager
def counted(done: str) -> Iterator[Callable[[str], None]]:
    """A line on stderr that says how many are done, as "3 timed in 00:04 | NumPy", and goes when the work is over.

    What it gives is called with a name as each begins.
    """
    from tqdm import tqdm

    with tqdm(leave=False, file=sys.stderr, bar_format=f"{{n}} {done} in {{elapsed}} | {{desc}}") as bar:

        def each(name):
            bar.set_description(name)
            bar.update()

        yield each


def doctor(arguments) -> int:
    """What this machine has, what is used, what would add the rest; exit status 0 if it is ready for class."""
    return 0 if report(arguments.json) else 1


def bench(arguments) -> None:
    """Time the ladder beside NumPy."""
    from . import ladder
    from .clock import scoreboard, write_results
    from .clock.contests import numpy_matmul
    from .clock.results import RESULTS, prepare

    size = tuple(arguments.shape) if arguments.shape else arguments.size
    dialects = arguments.dialect and [arguments.dialect]
    for name in arguments.steps or []:
        ladder.step(name, arguments.dialect)
    folder = RESULTS if arguments.save == "" else arguments.save
    rounds = (3 if arguments.peers or folder else 1) if arguments.rounds is None else arguments.rounds
    if rounds < 1:
        raise ValueError(f"rounds={rounds}: there is nothing to time; give --rounds 1 or more.")
    # Both are tried before the work, so that a wrong path costs nothing, and written after it, each as a whole.
    if arguments.json:
        files.try_writing(arguments.json)
    if folder:
        prepare(folder)
    with counted("timed") as each:
        board = scoreboard(
            size,
            dialects,
            arguments.steps,
            arguments.peers,
            rounds,
            "tuned" if arguments.tuned else None,
            lambda k: each("NumPy" if k.name == numpy_matmul.__name__ else str(k)),
        )
    print(board)
    problems = []
    if arguments.json:
        rows = json.dumps([t.row() for t in board.timings], indent=1)
        try:
            files.replace_text(arguments.json, rows + "\n")
        except OSError as error:
            problems.append(str(error))
    if folder:
        try:
            print("saved:", write_results([board], folder).resolve())
        except OSError as error:
            problems.append(str(error))
    if problems:
        raise OSError(" ".join(problems))


def tune(arguments) -> None:
    """Search for the best parameters on this machine, and keep them."""
    from . import ladder
    from .clock import tune

    for name in arguments.steps:
        ladder.step(name, arguments.dialect)
    problems = []
    for name in arguments.steps:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="what was found is not kept")  # the last line says it
            found = tune(name, arguments.dialect, arguments.size, arguments.seconds / len(arguments.steps), again=True)
        print(found)
        if found.interrupted:
            raise KeyboardInterrupt
        if found.not_kept and found.not_kept not in problems:
            problems.append(found.not_kept)
    if problems:
        raise OSError("what was found is not kept: " + " ".join(problems))


def record(arguments) -> None:
    """Check, tune and measure this machine; write its file."""
    from .clock import record

    record(arguments.folder, say=functools.partial(print, flush=True))


def progress(arguments) -> None:
    """Which exercises are done, in a folder of students' notebooks."""
    from .classroom import progress

    if arguments.csv:
        files.try_writing(arguments.csv)
    with counted("answers") as each:
        found = progress(arguments.folder, each, arguments.trust)
    print(found)
    if arguments.csv:
        files.replace_text(arguments.csv, found.csv())


def board(arguments) -> None:
    """The class's kernels, ranked: the entries that page 16 wrote."""
    from .classroom import board

    if arguments.chart:
        files.try_writing(arguments.chart)
    with counted("looked at") as each:
        found = board(arguments.folder, arguments.again, each, arguments.trust)
    print(found)
    if arguments.chart:
        from .classroom.ranking_chart import board_chart

        Path(arguments.chart).write_bytes(base64.b64decode(board_chart(found).png))


def predict(arguments) -> None:
    """Say how fast the CUDA ladder is on a GPU that need not be there."""
    from .instruments import against_published, predicted_ladder

    if arguments.published:
        print(against_published(arguments.gpu))
        return
    predictions = predicted_ladder(arguments.gpu or "A100", arguments.size, arguments.steps)
    print(f"{arguments.size} x {arguments.size} x {arguments.size} on {predictions[0].gpu}, predicted")
    for p in predictions:
        print(f"  {p.kernel.split()[0]:12} {p.gflops:8,.0f} GFLOP/s {1e3 * p.seconds:9.3f} ms  {p.limit}")


DIALECTS = {"cuda": "CUDA", "opencl": "OpenCL", "webgpu": "WebGPU"}  # without `launch`, which needs Numba


def dialect(name):
    """As one writes it, from any case."""
    return DIALECTS.get(name.lower(), name)


def steps() -> str:
    """The names of the steps, for `--help`. Where NumPy is missing `doctor` must run all the same."""
    try:
        from . import ladder
    except ImportError:
        return "a step of the ladder"
    return f"of: {', '.join(ladder.STEPS)}"


def parser() -> argparse.ArgumentParser:
    """What may be written behind python -m helpers: the functions above, whose docstrings say what they are for."""
    parser = argparse.ArgumentParser(prog="python -m helpers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def add(do):
        command = commands.add_parser(do.__name__, help=do.__doc__[0].lower() + do.__doc__.rstrip(".")[1:])
        command.set_defaults(do=do)
        return command

    command = add(doctor)
    command.add_argument("--json", action="store_true", help="as JSON")

    dialects = ", ".join(DIALECTS)
    command = add(bench)
    command.add_argument(
        "--dialect",
        type=dialect,
        choices=[*DIALECTS.values()],
        help=f"{dialects}; by default the first two, and webgpu where it alone reaches a GPU",
    )
    command.add_argument("--steps", nargs="+", metavar="STEP", help=steps())
    shape = command.add_mutually_exclusive_group()
    shape.add_argument("--size", type=int, default=1024, help="M = N = K (1024)")
    shape.add_argument("--shape", type=int, nargs=3, metavar=("M", "N", "K"))
    command.add_argument(
        "--peers", action="store_true", help="beside PyTorch, MKL, BLIS, CLBlast and cuBLAS, those that are installed"
    )
    command.add_argument("--tuned", action="store_true", help="with the parameters that `tune` found")
    command.add_argument("--rounds", type=int, help="in turns, so many times (1; 3 with --peers or --save)")
    command.add_argument("--json", metavar="FILE", help="write the rows there")
    command.add_argument(
        "--save", metavar="FOLDER", nargs="?", const="", help="add them to this machine's file there (results)"
    )

    command = add(tune)
    command.add_argument("steps", nargs="+", metavar="STEP", help=steps())
    command.add_argument(
        "--dialect", type=dialect, choices=[*DIALECTS.values()], default="OpenCL", help=f"{dialects} (opencl)"
    )
    command.add_argument("--size", type=int, help="M = N = K (512, or 2048 on a GPU)")
    command.add_argument("--seconds", type=float, default=60, help="for all of them together (60)")

    command = add(record)
    command.add_argument("folder", help="where to write it; interrupted, the same command goes on where it stopped")

    command = add(predict)
    command.add_argument("--gpu", help="its name (A100)")
    command.add_argument("--size", type=int, default=4096, help="M = N = K (4096)")
    command.add_argument("--steps", nargs="+", metavar="STEP", help=steps())
    command.add_argument("--published", action="store_true", help="hold the model against published ladders instead")

    command = add(progress)
    command.add_argument("folder", help="a folder for each student in it; or the notebooks of one")
    command.add_argument("--csv", metavar="FILE", help="write a row for each exercise there")
    command.add_argument("--trust", action="store_true", help=TRUST)

    command = add(board)
    command.add_argument("folder", help="with the entry-*.json files in it, or in folders below")
    command.add_argument(
        "--again",
        action="store_true",
        help="before a prize: build and judge each source here, and time again who leads",
    )
    command.add_argument("--trust", action="store_true", help=TRUST)
    command.add_argument("--chart", metavar="FILE", help="draw it, as a PNG")
    return parser


def main() -> None:
    """Run the command that sys.argv names. An error that a user can mend ends in one line on stderr and status 1.

    Ctrl-C ends in one line, too, with status 130.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this, as 2>&- does
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, as long as the process
        with contextlib.suppress(AttributeError):  # a stream that somebody put there may have no encoding to speak of
            getattr(sys, name).reconfigure(errors=PLAIN)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
        arguments = None
        try:
            arguments = parser().parse_args()
            status = arguments.do(arguments)
            sys.stdout.flush()
        except KeyboardInterrupt:
            left = LEFT.get(getattr(arguments, "command", ""), "Nothing was written.")
            print(f"\ninterrupted. {left}", file=sys.stderr)
            sys.exit(INTERRUPTED)
        except BrokenPipeError:  # who reads what it prints has had enough, as head has
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where Python flushes what is left
            sys.exit(PIPE_CLOSED)
        except (ValueError, MemoryError, OSError, ImportError, DeviceError, NoJail) as error:
            sys.exit(f"error: {error}")
        except RuntimeError as error:
            from .launch import KernelError

            if not isinstance(error, KernelError):
                raise
            sys.exit(f"error: {error}")
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
