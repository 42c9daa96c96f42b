"""Compiles CUDA C++ to PTX, with no GPU and no driver, by NVIDIA's own compiler NVRTC.

NVRTC comes with the package cuda-bindings and its libraries, as `pip install numba-cuda[cu13]` brings them. It takes no
host code and has no headers of a system. So it gets a file without host code, see `device_code`, and short headers in
place of those. Source: NVIDIA, "NVRTC", https://docs.nvidia.com/cuda/nvrtc.
"""

import importlib.util
import re
from collections import Counter
from pathlib import Path

from .device_code import INCLUDE, Source
from .names import plain_name
from .reader import PTXError

ERROR = re.compile(  # the place, and below it the line with a mark in the column
    r"^(?P<file>[^\n(]+)\((?P<line>\d+)\): (?:catastrophic )?error(?:.*\n)+?  (?P<column> *)\^", re.MULTILINE
)
NO_HEADER = re.compile(r'cannot open source file "([^"]+)"')
ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)")
OF_HOST = re.compile(r"thrust/(?!tuple|pair|functional|detail|version)|cub/device/|cub/cub\.cuh")
ATTEMPTS = 40  # compilations of a file, each without what the one before found wrong in host code
C_LIBRARY = (Path(__file__).parent / "c_library.h").read_text("utf-8")
OPTIONS = (
    "-lineinfo",  # for findings, the lines of the source
    "-default-device",
    "-w",  # warnings, most of them about NVIDIA's own headers
    "-include=c_library.h",  # numbers and types that nvcc takes from the system's headers
    "-DCCCL_DISABLE_CUB_NVRTC_COMPATIBILITY_CHECK",
)


def from_cuda(source: str | Path, *kernels: str, target: str = "sm_80", options: tuple = ()) -> tuple[str, dict]:
    """PTX of CUDA C++: (ptx, names), what `run` takes as `ptx` and, of each kernel by its name in C++, as `kernel`.

    source   a text, or the `Path` of a `.cu` file. Its host code is left out: functions without a word such as
             `__global__`, and whatever else the compiler finds wrong outside of code for the GPU. Headers are looked
             for beside the file, in folders that `options` name, and among NVIDIA's; any other is taken as empty.
             Numbers and types of C's headers, such as FLT_MAX, are always there.
    kernels  names of templates' kernels, such as "scale<float, 4>": C++ makes of a template only what is asked for.
             `names` has these, and by their plain names all kernels that are no templates.
    target   the GPU to compile for
    options  for the compiler, such as "-DTILE=16" or "-Iinclude"

    Raises PTXError with what the compiler says about the source; FileNotFoundError where there is no such file;
    ModuleNotFoundError where there is no NVRTC.
    """
    is_file = isinstance(source, Path)
    name, text = (source.name, source.read_text("utf-8")) if is_file else ("source.cu", source)
    folders = [source.parent] if is_file else []
    folders += [Path(option[2:]) for option in options if option.startswith("-I")]
    files = with_headers(name, text, folders)
    for library in (False, True):  # C++'s library takes seconds, so it is a second try
        said, ptx, names = without_host_code(name, files, kernels, target, options, library)
        if not said:
            break
    else:
        raise PTXError(said)
    of_files = [function for file in files.values() for function in file.functions()]
    taken = set(re.findall(r"%?[\w$]+", ptx))
    known = Counter(map(plain_name, entries := dict(ENTRY.findall(ptx))))
    for entry, takes in entries.items():
        last = plain_name(entry).rpartition("::")[2]
        given = {one.takes for one in of_files if one.function == last and len(one.takes) == takes.count(".param")}
        if len(given) == 1:
            ptx = named_parameters(ptx, entry, *given, taken)
    return ptx, {plain_name(entry): entry for entry in entries if known[plain_name(entry)] == 1} | names


def with_headers(name, text, folders):
    """{name: `Source`} of a file and of the headers that it includes and that lie in these folders or beside it."""
    files, to_do, gpu_words = {}, [(name, text, folders)], frozenset()
    while to_do:
        name, text, folders = to_do.pop()
        files[name] = Source(text, gpu_words)
        gpu_words = files[name].gpu_words
        for included in INCLUDE.findall(text):
            path = next((folder / included for folder in folders if (folder / included).is_file()), None)
            if path and included not in files:
                to_do.append((included, path.read_text("utf-8"), [path.parent, *folders]))
    return {name: Source(file.text, gpu_words) for name, file in files.items()}  # with all files' macros


def without_host_code(name, files, kernels, target, options, library):
    """(what the compiler says, PTX, {kernel: its name}) without host code; `library`: with NVIDIA's C++ headers."""
    places = [Path(option[2:]) for option in headers()]
    gone = {one: file.host_functions() for one, file in files.items()}
    named = {one for file in files.values() for one in INCLUDE.findall(file.text)}
    missing = {one for one in named if one not in files and (is_of_host(one) or not in_any(places, one))}
    words = [f"--gpu-architecture={target.replace('sm_', 'compute_')}", *headers(), *OPTIONS, *options]
    for _ in range(ATTEMPTS):
        texts = {"c_library.h": C_LIBRARY} | {one: stand_in(one, places, library) for one in missing}
        texts |= {one: file.without(gone[one]) for one, file in files.items()}
        said, ptx, names = compiled(name, texts, kernels, words)
        more = []
        for at in ERROR.finditer(said):
            file = files.get(at["file"])
            part = file and file.to_leave_out(int(at["line"]), len(at["column"]))
            if part and part not in gone[at["file"]]:
                gone[at["file"]].append(part)
                more.append(part)
        lacking = set(NO_HEADER.findall(said)) - set(texts)
        if not said or not (more or lacking):
            break
        missing |= lacking
    if said and missing:
        said += f"\nNot found, or not for kernels, and taken as empty: {', '.join(sorted(missing))}."
    return said, ptx, names


def is_of_host(header):
    """Whether NVIDIA's header is one that kernels have no use of."""
    return bool(OF_HOST.match(header))


def in_any(folders, header):
    """Whether a header lies in one of these folders."""
    return any((folder / header).is_file() for folder in folders)


def stand_in(header, places, library):
    """What a header holds that is none of NVIDIA's."""
    same = f"cuda/std/{header}"
    if header == "cub/cub.cuh":  # all of it but what the host calls
        found = [one for place in places for kind in ("block", "warp") for one in (place / "cub" / kind).glob("*.cuh")]
        return "".join(f"#include <cub/{one.parent.name}/{one.name}>\n" for one in sorted(found))
    if library and in_any(places, same):
        return f"#include <{same}>\nnamespace std {{ using namespace cuda::std; }}\n"
    return ""


def compiled(name, texts, kernels, words):
    """(what the compiler says if it fails, PTX, {kernel: its name in PTX}); texts {file or header: its text}."""
    from cuda.bindings import nvrtc

    def done(status, *results):
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            said = bytes(nvrtc.nvrtcGetProgramLogSize(program)[1])
            nvrtc.nvrtcGetProgramLog(program, said)
            raise PTXError(said.rstrip(b"\0 \n").decode() or f"NVRTC says {status.name}.")
        return results[0] if results else None

    others = {one.encode(): text.encode() for one, text in texts.items() if one != name}
    program = done(
        *nvrtc.nvrtcCreateProgram(texts[name].encode(), name.encode(), len(others), list(others.values()), list(others))
    )
    try:
        for kernel in kernels:
            done(*nvrtc.nvrtcAddNameExpression(program, kernel.encode()))
        done(*nvrtc.nvrtcCompileProgram(program, len(words), [word.encode() for word in words]))
        ptx = bytes(done(*nvrtc.nvrtcGetPTXSize(program)))
        done(*nvrtc.nvrtcGetPTX(program, ptx))
        names = {kernel: done(*nvrtc.nvrtcGetLoweredName(program, kernel.encode())).decode() for kernel in kernels}
    except PTXError as error:
        return str(error), "", {}
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return "", ptx.rstrip(b"\0").decode(), names


def named_parameters(ptx, entry, names, taken):
    """The PTX with the source's names of a kernel's parameters, where nothing else in it is called so."""

    def name(found):
        chosen = names[int(found[1])]
        return chosen if chosen and chosen not in taken else found[0]

    return re.sub(rf"\b{re.escape(entry)}_param_(\d+)\b", name, ptx)


def headers():
    """The compiler's options that say where NVIDIA's packages keep their headers."""
    found = importlib.util.find_spec("nvidia")
    folders = [folder for place in found.submodule_search_locations for folder in Path(place).glob("*/include")]
    return [f"-I{one}" for folder in folders for one in (folder, folder / "cccl") if one.is_dir()]
