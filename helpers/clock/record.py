"""One command for a machine: check every step against float64, tune the upper rungs, measure beside the libraries, write the file.

    python -m helpers record results
"""

from . import cuda, devices, ladder, opencl
from .check import check
from .scoreboard import save, scoreboard
from .tuning import tune

TUNING_SECONDS = 600  # for all rungs and dialects together
# By kind of device: what is tuned, and at which size; what is measured, with which rungs. The lower rungs would take
# minutes at the larger sizes.
ALL, UPPER, CPU = None, ["register_2d", "vectorized", "prefetched"], ["register_2d", "packed"]
PLANS = {
    "GPU": dict(tuned=UPPER, tuning_size=4096, ragged=[(1021, 1023, 1025), (4095, 4095, 4095)],
                sizes=[(512, ALL), (1024, ALL), (2048, ALL), (4095, UPPER), (4096, ALL), (8192, UPPER), ((16, 4096, 4096), UPPER),
                       ((4096, 4096, 16), UPPER), ((4096, 1, 4096), UPPER)]),
    "CPU": dict(tuned=CPU, tuning_size=1024, ragged=[(255, 257, 259), (1021, 1023, 1025)],
                sizes=[(128, ALL), (256, ALL), (512, ALL), (1024, ALL), (2048, CPU), (4096, CPU), ((16, 2048, 2048), CPU),
                       ((2048, 2048, 16), CPU), ((2048, 1, 2048), CPU)]),
}


def record(folder, say=print, plan=None, tuning_seconds=TUNING_SECONDS):
    """Check, tune and measure this machine, and write its file into that folder after each size. Returns the file's path.

    A step that is wrong is said, and left out. Takes half an hour or so. `plan`: one of PLANS; by default that of the device.
    """
    found = {"CUDA": devices.cuda_device(), "OpenCL": devices.opencl_device()}
    found = {dialect: device for dialect, device in found.items() if device.kind != "simulator"}
    plan = plan or PLANS["GPU" if any(device.kind == "GPU" for device in found.values()) else "CPU"]
    verdicts = {}
    for dialect, device in found.items():
        build = {"CUDA": cuda, "OpenCL": opencl}[dialect].kernel
        for name in ladder.steps(dialect):
            if device.kind in ladder.STEPS[name].defaults:
                k = build(name)
                verdict = check(k) and check(k, plan["ragged"])
                verdicts[str(k)] = bool(verdict)
                say(verdict)
    right = {dialect: [name for name in ladder.steps(dialect) if verdicts.get(f"{name} ({dialect})")] for dialect in found}
    searches = [(name, dialect) for dialect in found for name in plan["tuned"] if name in right[dialect]]
    for name, dialect in searches:
        say(tune(name, dialect, plan["tuning_size"], tuning_seconds / len(searches), again=True))
    path = None
    for size, steps in plan["sizes"]:
        names = [name for name in ladder.STEPS if (steps is ALL or name in steps)
                 and all(verdicts.get(f"{name} ({d})", d not in ladder.STEPS[name].dialects) for d in found)]
        board = scoreboard(size, list(found), names, parameters="tuned")
        say(board)
        path = save([board], folder, checked=verdicts)  # after each size, so that an interruption costs one
    say(f"saved: {path}")
    return path
