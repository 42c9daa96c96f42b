"""One command for a machine: check every step, tune the upper rungs, measure beside the libraries, write the file.

python -m helpers record results
"""

from collections.abc import Callable
from pathlib import Path

from .. import ladder
from ..judge import check
from ..launch import DIALECTS
from .results import write_results
from .scoreboard import scoreboard
from .tuning import tune

TUNING_SECONDS = 600  # for all rungs and dialects together
ALL = None  # steps


def upper(kind: str) -> list[str]:
    """The steps from register_2d on that are for that kind of device. At large sizes the lower ones take minutes."""
    names = list(ladder.STEPS)
    return [name for name in names[names.index("register_2d") :] if kind in ladder.STEPS[name].defaults]


# By kind of device: what is tuned, and at which size; what is measured, with which steps.
GPU, CPU = upper("GPU"), upper("CPU")
PLANS = {
    "GPU": dict(
        tuned=GPU,
        tuning_size=4096,
        ragged=[(1021, 1023, 1025), (4095, 4095, 4095)],
        sizes=[
            (512, ALL),
            (1024, ALL),
            (2048, ALL),
            (4095, GPU),
            (4096, ALL),
            (8192, GPU),
            ((16, 4096, 4096), GPU),
            ((4096, 4096, 16), GPU),
            ((4096, 1, 4096), GPU),
        ],
    ),
    "CPU": dict(
        tuned=CPU,
        tuning_size=1024,
        ragged=[(255, 257, 259), (1021, 1023, 1025)],
        sizes=[
            (128, ALL),
            (256, ALL),
            (512, ALL),
            (1024, ALL),
            (2048, CPU),
            (4096, CPU),
            ((16, 2048, 2048), CPU),
            ((2048, 2048, 16), CPU),
            ((2048, 1, 2048), CPU),
        ],
    ),
}


def record(
    folder: str | Path, say: Callable = print, plan: dict | None = None, tuning_seconds: float = TUNING_SECONDS
) -> Path:
    """Check, tune and measure this machine. Writes its file into that folder after each size, and returns its path.

    `say` is called with each verdict, search and scoreboard; a wrong step is left out. `plan`: one of PLANS; by default
    that of the device. Takes half an hour or so.
    """
    found = {name: one.device(None, None) for name, one in DIALECTS.items()}
    found = {dialect: device for dialect, device in found.items() if device.kind != "simulator"}
    plan = plan or PLANS["GPU" if any(device.kind == "GPU" for device in found.values()) else "CPU"]
    verdicts = {}
    for dialect, device in found.items():
        for name in steps_for(dialect, device):
            k = DIALECTS[dialect].build(name)
            verdict = check(k) and check(k, plan["ragged"])
            verdicts[name, dialect] = bool(verdict)
            say(verdict)
    searches = [(name, dialect) for (name, dialect), right in verdicts.items() if right and name in plan["tuned"]]
    for name, dialect in searches:
        say(tune(name, dialect, plan["tuning_size"], tuning_seconds / len(searches), again=True))
    path = None
    for size, steps in plan["sizes"]:
        right = [
            name
            for name in steps or ladder.STEPS
            if all(verdicts.get((name, d), d not in ladder.STEPS[name].dialects) for d in found)
        ]
        board = scoreboard(size, list(found), right, parameters="tuned")
        say(board)
        checked = {f"{name} ({dialect})": right for (name, dialect), right in verdicts.items()}
        path = write_results([board], folder, checked=checked)  # after each size, so that an interruption costs one
    say(f"saved: {path}")
    return path


def steps_for(dialect, device):
    """The names of the steps of that dialect which are for that device."""
    return [name for name in ladder.steps(dialect) if device.kind in ladder.STEPS[name].defaults]
