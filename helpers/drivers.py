"""Which OpenCL drivers can be trusted? Each has run a small kernel in a process of its own.

Those that end their process, or never answer, are not shown to OpenCL's loader again.
"""

import os
import subprocess
import sys

from cuda_without_gpu import opencl_drivers

SECONDS = 60  # for a child's answer: Numba compiles, and a driver of many GPUs may take ten
# Without an end of its own: what a driver does wrong as its process ends costs nobody a number.
TRY = "import os; from helpers.devices import *; list(map(problem_of, opencl_devices())); os._exit(0)"
UNTRIED = []  # libraries of the drivers that this process has shown to the loader
FAULTS = {}  # {library: what it did} of those that were left out


def show_drivers() -> None:
    """Show pip's CPU runtime and the system's drivers to OpenCL's loader. Call before it lists any."""
    UNTRIED.extend(opencl_drivers.show_drivers())


def leave_out_what_fails() -> None:
    """Try each driver that `show_drivers` found, once, beside those that work: two LLVMs may fail together only."""
    working = []
    for library in UNTRIED:
        os.environ["OCL_ICD_VENDORS"] = opencl_drivers.folder_of([*working, library])
        if fault := problem_in_child(TRY, PYOPENCL_NO_CACHE="1"):
            FAULTS[library] = fault
        else:
            working.append(library)
    if UNTRIED:
        os.environ["OCL_ICD_VENDORS"] = opencl_drivers.folder_of(working)
        UNTRIED.clear()


def problem_in_child(code: str, **environment: str) -> str | None:
    """None if a Python of its own runs that code to its end within `SECONDS`, else the last line of its error."""
    try:
        child = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": python_path()} | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"it gives no answer within {SECONDS} s; the machine may be busy: try again"
    *_, problem = child.stderr.strip().splitlines() or [f"its process ends with status {child.returncode}"]
    return problem if child.returncode else None


def python_path() -> str:
    """PYTHONPATH under which a child process finds what this one finds."""
    return os.pathsep.join(filter(None, sys.path))
