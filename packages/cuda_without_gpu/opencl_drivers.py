"""Which OpenCL drivers are there? pip's CPU runtime is shown to OpenCL's loader beside the system's drivers.

The loader reads one folder of driver files (.icd). OCL_ICD_VENDORS names another in its place: here a new one.
"""

import atexit
import contextlib
import ctypes
import importlib.metadata
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

RUNTIME = "intel-opencl-rt"  # pip's OpenCL CPU runtime


def version(package: str) -> str | None:
    """The version of that package, as pip or conda has recorded it; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_file(package: str, pattern: str) -> Path | None:
    """The file of an installed package whose name fits the pattern; None where there is none, or it was deleted."""
    listed = importlib.metadata.files(package) or [] if version(package) else []
    paths = [Path(file.locate()).resolve() for file in listed if re.fullmatch(pattern, file.name)]
    return next((path for path in paths if path.exists()), None)


def pip_cpu_runtime() -> Path | None:
    """The library of the OpenCL CPU runtime that pip installed, wherever that is; or None."""
    return installed_file(RUNTIME, r"(lib)?intelocl(64)?\.(so|dll)")


def show_drivers() -> list[str]:
    """Let OpenCL's loader see pip's CPU runtime beside the system's drivers. Call before it lists any.

    Returns the libraries that it sees now; none where the user, or the parent process, has named a folder. On Windows,
    where the loader reads the registry, pip's runtime is added to OCL_ICD_FILENAMES. Intel's runtime is told how much
    local memory there is.
    """
    # Without it pyopencl raises a KeyError where another processor's code is in its cache, as in a home that is shared.
    os.environ.setdefault("PYOPENCL_CACHE_FAILURE_FATAL", "")
    os.environ.setdefault("POCL_KERNEL_CACHE", "0")  # processes that build at once spoil it: pocl's issue 1480
    with contextlib.suppress(OSError, ValueError):  # of a core's L2 cache, as PoCL does; 256 KiB is Intel's setting
        kib = int(Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().strip().removesuffix("K"))
        os.environ.setdefault("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", f"{max(256, kib)}KB")
    if sys.platform == "win32" and (runtime := pip_cpu_runtime()):
        os.environ.setdefault("OCL_ICD_FILENAMES", str(runtime))
    if sys.platform == "linux" and "OCL_ICD_VENDORS" not in os.environ:
        libraries = found_drivers()
        os.environ["OCL_ICD_VENDORS"] = folder_of(libraries)
        return libraries
    return []


def found_drivers() -> list[str]:
    """The libraries of pip's driver, and of the system's and conda's."""
    found = [str(without_space(runtime))] if (runtime := pip_cpu_runtime()) else []
    for folder in (Path("/etc/OpenCL/vendors"), Path(sys.prefix, "etc/OpenCL/vendors")):
        found += [icd.read_text(errors="replace").strip() for icd in sorted(folder.glob("*.icd"))]
    if not any("nvidia-opencl" in library for library in found):  # as in many containers
        with contextlib.suppress(OSError):
            ctypes.CDLL("libnvidia-opencl.so.1")
            found.append("libnvidia-opencl.so.1")
    # Intel's wheel names a placeholder. Oclgrind's LLVM and another driver's may end a process together.
    return [one for one in dict.fromkeys(found) if not re.search("anaconda1anaconda2|oclgrind", one)]


def without_space(runtime: Path) -> Path:
    """Intel's runtime, which reads its own path up to a space: where there is one, a copy beside links to the rest."""
    if " " not in str(runtime):
        return runtime
    folder = new_folder("intel-opencl-")
    for file in runtime.parent.iterdir():
        (folder / file.name).symlink_to(file)
    (folder / runtime.name).unlink()
    return shutil.copyfile(runtime, folder / runtime.name)


def folder_of(libraries) -> str:
    """A new folder with a driver file for each of those libraries."""
    folder = new_folder("opencl-vendors-")
    for number, library in enumerate(libraries):
        (folder / f"{number}.icd").write_text(f"{library}\n")
    return str(folder)


def new_folder(prefix: str) -> Path:
    """A new folder that goes when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
