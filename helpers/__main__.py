"""Matrix multiplication kernels, step by step, in CUDA and OpenCL: the course's commands."""

import argparse
import json
import re
import sys
import warnings
from collections.abc import Callable

from . import devices, files, stopping
from .devices import DeviceError
from .doctor import diagnosis, missing, shown
from .errors import KernelError
from .language import of_the_user, set_language
from .names import named, unknown

# By a command that was interrupted.
LEFT = {"record": "Each size that was measured is in the file."}
DIALECTS = ("CUDA", "OpenCL")  # without `launch`, which needs Numba


class Command(argparse.ArgumentParser):
    """What may be written behind a command, `words`; its function says what it is for."""

    def __init__(self, do: Callable, words: list[str]):
        super().__init__(prog=f"python -m helpers {do.__name__}", description=do.__doc__)
        self.words = words

    def given(self) -> argparse.Namespace:
        """The arguments that were written. Raises ValueError, with the nearest, for an option that there is not."""
        arguments, rest = self.parse_known_args(self.words)
        if rest:
            raise unknown(rest[0].partition("=")[0], re.findall(r"--\w+", self.format_usage()), "option")
        return arguments


def take_steps(command: Command, name: str) -> None:
    """Let the command take names of steps. Where NumPy is missing `doctor` must run all the same."""
    from . import ladder

    command.add_argument(name, nargs="+", metavar="STEP", help=f"of: {', '.join(ladder.STEPS)}")


def doctor(command: Command) -> int:
    """Say what this machine has, what is used, and what would add the rest; exit status 0 if it is ready."""
    command.given()
    set_language(of_the_user())
    rows = diagnosis()
    print(shown(rows))
    return 1 if missing(rows) else 0


def bench(command: Command) -> None:
    """Time the ladder beside NumPy, as a table."""
    from . import ladder
    from .arguments import sizes
    from .launch.operands import refuse_beyond_host

    command.add_argument("--dialect", help=f"{' or '.join(DIALECTS)}; by default both")
    take_steps(command, "--steps")
    shape = command.add_mutually_exclusive_group()
    shape.add_argument("--size", type=int, default=1024, help="M = N = K (1024)")
    shape.add_argument("--shape", type=int, nargs=3, metavar=("M", "N", "K"))
    command.add_argument("--peers", action="store_true", help="beside PyTorch and CuPy's cuBLAS, if installed")
    command.add_argument("--rounds", type=int, help="in turns, so many times (1; 3 with --peers)")
    command.add_argument("--json", metavar="FILE", help="write the rows there")
    given = command.given()
    size = sizes(given.shape or given.size)
    refuse_beyond_host(*size)
    dialect = given.dialect and named(given.dialect, DIALECTS, "dialect")
    steps = given.steps and [ladder.step(name, dialect).name for name in given.steps]
    rounds = (3 if given.peers else 1) if given.rounds is None else given.rounds
    if given.json:
        files.try_writing(given.json)  # before the work, so that a wrong path costs nothing
    from . import clock

    print("building and checking each kernel", file=sys.stderr, flush=True)
    board = clock.scoreboard(size, dialect and [dialect], steps, given.peers, rounds)
    print(board)
    if given.json:
        rows = [vars(t) | {"gflops": t.gflops} for t in board.timings]
        files.replace_text(given.json, json.dumps(rows, indent=1) + "\n")


def record(command: Command) -> None:
    """Measure this machine, and write its file."""
    command.add_argument("folder", help="where to write it")
    place = command.given().folder
    from . import clock

    print("saved:", clock.record(place).resolve())


def predict(command: Command) -> None:
    """Say how fast the CUDA ladder is on a GPU that need not be there."""
    import gpu_model

    from . import instruments, ladder
    from .arguments import sizes

    command.add_argument("--gpu", help=f"one of: {', '.join(gpu_model.GPUS)} (A100)")
    command.add_argument("--sms", type=int, help="as many multiprocessors, on a GPU of your own that is like that one")
    command.add_argument("--clock", type=float, help="its cycles a second, such as 2.45e9")
    command.add_argument("--memory", dest="bytes_per_s", type=float, help="bytes a second of its memory, such as 504e9")
    command.add_argument("--size", type=int, default=4096, help="M = N = K (4096)")
    take_steps(command, "--steps")
    given = command.given()
    gpu = given.gpu and gpu_model.gpu(given.gpu).name
    own = {name: value for name in ("sms", "clock", "bytes_per_s") if (value := getattr(given, name)) is not None}
    own = gpu_model.gpu(gpu or "A100", **own) if own else None
    size, *_ = sizes(given.size)
    steps = given.steps and [ladder.step(name, "CUDA").name for name in given.steps]
    predictions = instruments.predicted_ladder(own or gpu or "A100", size, steps)
    print(f"{size} x {size} x {size} on {predictions[0].gpu}, predicted")
    print(f"  {'step':12} {'GFLOP/s':>8} {'ms':>10}  limited by")
    for p in predictions:
        print(f"  {p.kernel.split()[0]:12} {p.gflops:8,.0f} {1e3 * p.seconds:10.3f}  {p.limit}")


def progress(command: Command) -> None:
    """Say which exercises are done, by the verdicts in a folder of students' notebooks; nothing in them runs."""
    command.add_argument("folder", help="a folder for each student in it; or the notebooks of one")
    command.add_argument("--csv", metavar="FILE", help="write a row for each exercise there")
    given = command.given()
    if given.csv:
        files.try_writing(given.csv)
    from . import classroom

    found = classroom.progress(given.folder)
    print(found)
    if given.csv:
        files.replace_text(given.csv, found.csv())


COMMANDS = {do.__name__: do for do in (doctor, bench, record, predict, progress)}


def greet() -> None:
    """Say what there is, with a sentence for each command."""
    print(__doc__, *(f"  {name:10}{do.__doc__}" for name, do in COMMANDS.items()), sep="\n")
    print("python -m helpers COMMAND --help: what may be written behind it. --version: which version this is.")


def obey(words: list[str]) -> int | None:
    """Do what those words ask for, all that stands behind python -m helpers. Returns an exit status other than 0."""
    if not words or words[0] in ("-h", "--help"):
        return greet()
    if words[0] == "--version":
        return print("matmul-ladder", devices.version("matmul-ladder") or "(not installed)")
    name = named(words[0], COMMANDS, "command")
    with stopping.ctrl_c_is_heard(LEFT.get(name, "Nothing was written.")):
        return COMMANDS[name](Command(COMMANDS[name], words[1:]))


def main() -> None:
    """Do what sys.argv says. An error that a user can mend ends in one line on stderr and status 1.

    Ctrl-C ends in one line, too, with status 130.
    """
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
        try:
            status = obey(sys.argv[1:])
            sys.stdout.flush()
        except (ValueError, MemoryError, OSError, ImportError, DeviceError, KernelError) as error:
            sys.exit(f"error: {error}")
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
