"""`python -m helpers record results`: check every step, tune the upper rungs, measure, and write the file."""

from collections.abc import Callable
from pathlib import Path

from .. import ladder
from ..arguments import sizes
from ..checking import check
from ..launch import dialect as dialect_called
from .contests import ladder_kernels
from .libraries import peers
from .results import key, made_now, prepare, read_file, used_devices, write_results
from .scoreboards import scoreboard_of
from .tuning import tune

TUNING_SECONDS = 600  # for all rungs and dialects together


def planned(kind: str, tuning_size: int, ragged: list, small: list, large: list) -> dict:
    """What is done on a device of that kind. At the large sizes, steps before register_2d would take minutes."""
    names = ladder.rungs()
    upper = [name for name in names[names.index("register_2d") :] if kind in ladder.STEPS[name].defaults]
    sizes = [(size, names) for size in small] + [(size, upper) for size in large]
    return dict(tuned=upper, tuning_size=tuning_size, ragged=ragged, sizes=sizes)


PLANS = {
    "GPU": planned(
        "GPU",
        tuning_size=4096,
        ragged=[(1021, 1023, 1025), (4095, 4095, 4095)],
        small=[512, 1024, 2048, 4096],
        large=[4095, 8192, (16, 4096, 4096), (4096, 4096, 16), (4096, 1, 4096)],
    ),
    "CPU": planned(
        "CPU",
        tuning_size=1024,
        ragged=[(255, 257, 259), (1021, 1023, 1025)],
        small=[128, 256, 512, 1024],
        large=[2048, 4096, (16, 2048, 2048), (2048, 2048, 16), (2048, 1, 2048)],
    ),
}


def record(folder: str | Path, say: Callable = print) -> Path:
    """Check, tune and measure this machine. Writes its file into that folder after each size, and returns its path.

    `say` is called with each verdict, search and scoreboard; a wrong step is left out. Takes half an hour or so.
    Interrupted, it leaves out on the same day the sizes that it has measured. Raises OSError where the file cannot be
    written and ValueError where there is nothing to time, both before it measures anything.
    """
    path = prepare(folder)
    found = {device.dialect: device for device in used_devices()}
    kinds = {dialect: "GPU" if device.kind == "GPU" else "CPU" for dialect, device in found.items()}
    plans = {dialect: PLANS[kind] for dialect, kind in kinds.items()}
    verdicts = {}
    for dialect, device in found.items():
        for name in (name for name in ladder.steps(dialect) if ladder.STEPS[name].suits(device)):
            k = dialect_called(dialect).build(name)
            verdict = check(k) and check(k, plans[dialect]["ragged"])
            verdicts[name, dialect] = bool(verdict)
            say(verdict)
    searches = [(name, d) for (name, d), right in verdicts.items() if right and name in plans[d]["tuned"]]
    parameters = {}
    for name, dialect in searches:
        tuning = tune(name, dialect, plans[dialect]["tuning_size"], TUNING_SECONDS / len(searches))
        say(tuning)
        if tuning.interrupted:
            raise KeyboardInterrupt
        if tuning.best != tuning.default:  # where none are given, a step may fit its sizes to each product
            parameters[name, dialect] = tuning.best
    checked = {f"{name} ({dialect})": right for (name, dialect), right in verdicts.items()}
    for kind in dict.fromkeys(kinds.values()):
        dialects = [dialect for dialect in kinds if kinds[dialect] == kind]  # they share their scoreboards
        for size, steps in PLANS[kind]["sizes"]:
            right = [name for name in steps if right_in(dialects, name, verdicts)]
            spelled = f"{' x '.join(map(str, sizes(size)))} ({' and '.join(dialects)})"
            if not right:
                say(f"{spelled} is left out: no step is right there.")
                continue
            run = f"record: {', '.join(right)}"
            if measured_today(path, size, dialects, run):
                say(f"{spelled} is in {path.name} from today, and is not measured again.")
                continue
            kernels = ladder_kernels(None, size, dialects, right, parameters)
            board = scoreboard_of(kernels, peers(dialects), size)
            say(board)
            write_results([board], folder, run, checked=checked)  # after each size, so that an interruption costs one
    say(f"saved: {path.resolve()}")
    return path


def right_in(dialects: list, name: str, verdicts: dict) -> bool:
    """Whether the step is right in all of these dialects that it is written in, and is for the device of each."""
    asked = [d for d in dialects if d in ladder.STEPS[name].dialects]
    return bool(asked) and all(verdicts.get((name, d), False) for d in asked)


def measured_today(path: Path, size: int | tuple, dialects: list, run: str) -> bool:
    """Whether the file has that board from a run of today, with the same steps, drivers and versions."""
    old = read_file(path)
    wanted = (sizes(size), frozenset(dialects)), made_now(run)
    return old is not None and wanted in zip(map(key, old.boards), old.made, strict=True)
