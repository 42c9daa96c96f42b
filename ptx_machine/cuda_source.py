"""Compiles CUDA C++ to PTX, with no GPU and no driver, by NVIDIA's own compiler NVRTC.

It comes with the package cuda-bindings and its NVRTC, as `pip install numba-cuda[cu13]` brings them. Source: NVIDIA,
"NVRTC", https://docs.nvidia.com/cuda/nvrtc.
"""

import importlib.util
from pathlib import Path

from .reader import PTXError


def from_cuda(source: str, *kernels: str, target: str = "sm_80", options: tuple[str, ...] = ()) -> tuple[str, dict]:
    """PTX of a CUDA C++ text: (ptx, names), what `run` takes as `ptx` and, of each of `kernels`, as `kernel`.

    source   of kernels and functions; it may include NVIDIA's headers, such as cuda_fp16.h
    kernels  their names in C++, such as "scale" or, of a template, "scale<float, 4>": C++ changes names, and makes of a
             template only what is asked for
    target   the GPU to compile for
    options  for the compiler, such as "-DTILE=16"

    Raises PTXError with what the compiler says about the source; ModuleNotFoundError where there is no NVRTC.
    """
    from cuda.bindings import nvrtc

    def done(status, *results):
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            said = bytes(nvrtc.nvrtcGetProgramLogSize(program)[1])
            nvrtc.nvrtcGetProgramLog(program, said)
            raise PTXError(said.rstrip(b"\0 \n").decode() or f"NVRTC says {status.name}.")
        return results[0] if results else None

    program = done(*nvrtc.nvrtcCreateProgram(source.encode(), b"source.cu", 0, [], []))
    try:
        for kernel in kernels:
            done(*nvrtc.nvrtcAddNameExpression(program, kernel.encode()))
        words = [f"--gpu-architecture={target.replace('sm_', 'compute_')}", *headers(), *options]
        done(*nvrtc.nvrtcCompileProgram(program, len(words), [word.encode() for word in words]))
        ptx = bytes(done(*nvrtc.nvrtcGetPTXSize(program)))
        done(*nvrtc.nvrtcGetPTX(program, ptx))
        names = {kernel: done(*nvrtc.nvrtcGetLoweredName(program, kernel.encode())).decode() for kernel in kernels}
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return ptx.rstrip(b"\0").decode(), names


def headers():
    """The compiler's options that say where NVIDIA's packages keep their headers."""
    places = importlib.util.find_spec("nvidia").submodule_search_locations
    folders = [folder for place in places for folder in Path(place).glob("*/include")]
    return [f"-I{one}" for folder in folders for one in (folder, folder / "cccl") if one.is_dir()]
