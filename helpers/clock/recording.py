"""One command for a machine: check every step, tune the upper rungs, measure beside the libraries, write the file.

python -m helpers record results
"""

from collections.abc import Callable
from pathlib import Path
from time import strftime

from .. import ladder
from ..devices import Device
from ..judge import check
from ..launch import DIALECTS, kept, sizes
from ..launch.given import takes, told
from .results import drivers, key, prepare, readable, versions, write_results
from .scoreboards import scoreboard
from .tuning import tune

TUNING_SECONDS = 600  # for all rungs and dialects together
EVERY_STEP = None


def upper(kind: str) -> list[str]:
    """The steps from register_2d on that are for that kind of device. At large sizes the lower ones take minutes."""
    names = ladder.rungs()
    return [name for name in names[names.index("register_2d") :] if kind in ladder.STEPS[name].defaults]


# By kind of device: what is tuned, and at which size; what is measured, with which steps.
UPPER_GPU, UPPER_CPU = upper("GPU"), upper("CPU")
PLANS = {
    "GPU": dict(
        tuned=UPPER_GPU,
        tuning_size=4096,
        ragged=[(1021, 1023, 1025), (4095, 4095, 4095)],
        sizes=[
            (512, EVERY_STEP),
            (1024, EVERY_STEP),
            (2048, EVERY_STEP),
            (4095, UPPER_GPU),
            (4096, EVERY_STEP),
            (8192, UPPER_GPU),
            ((16, 4096, 4096), UPPER_GPU),
            ((4096, 4096, 16), UPPER_GPU),
            ((4096, 1, 4096), UPPER_GPU),
        ],
    ),
    "CPU": dict(
        tuned=UPPER_CPU,
        tuning_size=1024,
        ragged=[(255, 257, 259), (1021, 1023, 1025)],
        sizes=[
            (128, EVERY_STEP),
            (256, EVERY_STEP),
            (512, EVERY_STEP),
            (1024, EVERY_STEP),
            (2048, UPPER_CPU),
            (4096, UPPER_CPU),
            ((16, 2048, 2048), UPPER_CPU),
            ((2048, 2048, 16), UPPER_CPU),
            ((2048, 1, 2048), UPPER_CPU),
        ],
    ),
}


@takes
def record(
    folder: str | Path, say: Callable = print, plan: dict | None = None, tuning_seconds: float = TUNING_SECONDS
) -> Path:
    """Check, tune and measure this machine. Writes its file into that folder after each size, and returns its path.

    `say` is called with each verdict, search and scoreboard; a wrong step is left out. `plan`: one of PLANS; by default
    that of each dialect's own device. Takes half an hour or so. Interrupted, it goes on the same day where it stopped.
    Raises OSError where the file cannot be written and ValueError where there are only simulators, both before it
    measures anything.
    """
    path = prepare(folder)
    if plan is not None and set(plan) != set(PLANS["CPU"]):
        raise ValueError(f"plan={told(plan)} is no plan; give one of PLANS, or leave it out.")
    found = {name: one.device(None, None) for name, one in DIALECTS.items()}
    found = {dialect: device for dialect, device in found.items() if device.kind != "simulator"}
    plans = {dialect: plan or plan_for(device) for dialect, device in found.items()}
    verdicts = {}
    for dialect, device in found.items():
        for name in steps_for(dialect, device):
            k = DIALECTS[dialect].build(name)
            verdict = check(k) and check(k, plans[dialect]["ragged"])
            verdicts[name, dialect] = bool(verdict)
            say(verdict)
    searches = [(name, d) for (name, d), right in verdicts.items() if right and name in plans[d]["tuned"]]
    for name, dialect in searches:
        size = plans[dialect]["tuning_size"]
        again = not tuned_today(name, dialect, found[dialect], size)
        found_there = tune(name, dialect, size, tuning_seconds / len(searches), again=again)
        say(found_there)
        if found_there.interrupted:
            raise KeyboardInterrupt
    checked = {f"{name} ({dialect})": right for (name, dialect), right in verdicts.items()}
    for dialects, one in together(plans):
        for size, steps in one["sizes"]:
            right = [name for name in steps or ladder.rungs() if right_in(dialects, name, verdicts)]
            spelled = f"{' x '.join(map(str, sizes(size)))} ({' and '.join(dialects)})"
            if not right:
                say(f"{spelled} is left out: no step is right there.")
                continue
            run = f"record: {', '.join(right)}"
            if measured_today(path, size, dialects, run):
                say(f"{spelled} is in {path.name} from today, and is not measured again.")
                continue
            board = scoreboard(size, dialects, right, parameters="tuned")
            say(board)
            write_results([board], folder, run, checked=checked)  # after each size, so that an interruption costs one
    say(f"saved: {path.resolve()}")
    return path


def plan_for(device: Device) -> dict:
    """What is tuned and measured on a device of that kind."""
    return PLANS["GPU" if device.kind == "GPU" else "CPU"]


def together(plans: dict) -> list[tuple[list, dict]]:
    """Dialects with one plan share its scoreboards; others have their own: a list of (dialects, plan)."""
    groups = []
    for dialect, plan in plans.items():
        for dialects, other in groups:
            if other is plan:
                dialects.append(dialect)
                break
        else:
            groups.append(([dialect], plan))
    return groups


def right_in(dialects: list, name: str, verdicts: dict) -> bool:
    """Whether the step is right in all of these dialects that it is written in, and is for the device of each."""
    asked = [d for d in dialects if d in ladder.STEPS[name].dialects]
    return bool(asked) and all(verdicts.get((name, d), False) for d in asked)


def tuned_today(name: str, dialect: str, device: Device, size: int) -> bool:
    """Whether a whole search of today, for that size and this version of the kernel, is kept."""
    stored = kept.entry(ladder.STEPS[name], device, DIALECTS[dialect].source_of(name))
    whole = bool(stored) and not stored.get("interrupted")
    return whole and stored.get("date") == strftime("%Y-%m-%d") and stored.get("size") == list(sizes(size))


def measured_today(path: Path, size: int | tuple, dialects: list, run: str) -> bool:
    """Whether the file has that board from a run of today, with the same steps, drivers and versions."""
    now = {"date": strftime("%Y-%m-%d"), "drivers": drivers(), "versions": versions(), "run": run}
    old = readable(path)
    wanted = (*sizes(size),), frozenset(dialects)
    return old is not None and any(
        key(b) == wanted and then == now for b, then in zip(old.boards, old.made, strict=True)
    )


def steps_for(dialect, device):
    """The names of the steps of that dialect which are for that device."""
    return [name for name in ladder.steps(dialect) if device.kind in ladder.STEPS[name].defaults]
