"""Compiles CUDA C++ to PTX, with no GPU and no driver, by NVIDIA's own compiler NVRTC.

NVRTC comes with the package cuda-bindings and its libraries, as `pip install numba-cuda[cu13]` brings them. It takes no
host code and has no headers of a system. Source: NVIDIA, "NVRTC", https://docs.nvidia.com/cuda/nvrtc.
"""

import importlib.util
import re
from collections import Counter
from pathlib import Path

from .names import plain_name
from .reader import PTXError

NO_HEADER = re.compile(r'cannot open source file "([^"]+)"')
ENTRY = re.compile(r"\.entry\s+([\w$]+)")
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

    source   a text, or the `Path` of a file, without host code. Headers are looked for beside the file, in folders that
             `options` name, and among NVIDIA's; any other is taken as empty. Numbers and types of C's headers, such as
             FLT_MAX, are always there.
    kernels  names of templates' kernels, such as "scale<float, 4>": C++ makes of a template only what is asked for.
             `names` has these, and by their plain names all kernels that are no templates.
    target   the GPU to compile for
    options  for the compiler, such as "-DTILE=16" or "-Iinclude"

    Raises PTXError with what the compiler says about the source; FileNotFoundError where there is no such file;
    ModuleNotFoundError where there is no NVRTC.
    """
    name, text, beside = "source.cu", source, ()
    if isinstance(source, Path):
        name, text, beside = source.name, source.read_text("utf-8"), (f"-I{source.parent}",)
    words = [f"--gpu-architecture={target.replace('sm_', 'compute_')}", *headers(), *OPTIONS, *beside, *options]
    texts = {"c_library.h": C_LIBRARY}
    while True:
        said, ptx, names = compiled(name, text, texts, kernels, words)
        lacking = set(NO_HEADER.findall(said)) - set(texts)
        if not lacking:
            break
        texts |= dict.fromkeys(lacking, "")
    if said:
        raise PTXError(said)
    entries = ENTRY.findall(ptx)
    known = Counter(map(plain_name, entries))
    return ptx, {plain_name(entry): entry for entry in entries if known[plain_name(entry)] == 1} | names


def compiled(name, source, texts, kernels, words):
    """(what the compiler says if it fails, PTX, {kernel: its name in PTX}); `texts`: {header: its text}."""
    from cuda.bindings import nvrtc

    def done(status, *results):
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            said = bytes(nvrtc.nvrtcGetProgramLogSize(program)[1])
            nvrtc.nvrtcGetProgramLog(program, said)
            raise PTXError(said.rstrip(b"\0 \n").decode() or f"NVRTC says {status.name}.")
        return results[0] if results else None

    headers = {header.encode(): text.encode() for header, text in texts.items()}
    given = source.encode(), name.encode(), len(headers), list(headers.values()), list(headers)
    program = done(*nvrtc.nvrtcCreateProgram(*given))
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


def headers():
    """The compiler's options that say where NVIDIA's packages keep their headers."""
    found = importlib.util.find_spec("nvidia")
    folders = [folder for place in found.submodule_search_locations for folder in Path(place).glob("*/include")]
    return [f"-I{one}" for folder in folders for one in (folder, folder / "cccl") if one.is_dir()]
