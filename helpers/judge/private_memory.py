"""How many bytes a thread keeps to itself, in arrays: local memory in CUDA, private memory in OpenCL.

A processor has room for any; GPUs do not. NVIDIA's give a thread 512 KiB at most, under OpenCL as well (CUDA C++
Programming Guide, "Technical Specifications per Compute Capability"), AMD's almost 128 KiB (8,387,584 bytes for the 64
work-items of a wave: MAX_WAVE_SCRATCH in ROCm's runtime), Intel's 32 KiB (262,144 bytes, its compiler's "max permitted
PTSS", for the eight work-items or more of a hardware thread). NVIDIA's set it aside for each thread that the GPU holds.
"""

import math
import re

from cuda_without_gpu import to_ptx
from cuda_without_gpu.device import Device
from ptx_machine.limits import LOCAL

from ..launch import Kernel
from ..launch.on_ptx import EXAMPLE
from ..sandbox import Finding
from .other_sizes import code_of, formulas, values_of, worked_out

AMD, INTEL = 8_387_584 // 64, 262_144 // 8
THREADS = Device.MULTIPROCESSOR_COUNT * Device.MAX_THREADS_PER_MULTI_PROCESSOR  # that an A100 holds
MUCH = 128 * 1024  # bytes of a thread, of which GPUs of some 24 GB hold as many as they have threads

TYPES = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "int": 4, "uint": 4, "float": 4}
TYPES |= {"long": 8, "ulong": 8, "double": 8}
DECLARATION = r"\b({})(\d*)\s+((?:[^;(){{}}=[]|\[[^]]*\])*)"  # of types, what they declare
TYPEDEF = re.compile(r"\btypedef\s+(\w+?)(\d*)\s+(\w+)\s*;")
ARRAY = re.compile(r"\w+\s*((?:\[[^]]+\]\s*)+)")
ELSEWHERE = re.compile(r"\b(__)?(local|constant|global)\b")


def kept(k: Kernel) -> tuple[int, tuple]:
    """The bytes of the arrays that each thread of a kernel has to itself, and the lines that declare them."""
    if k.dialect == "CUDA":
        lines = [n for n, line in enumerate(k.source.splitlines(), 1) if re.search(r"\blocal\.array\(", line)]
        return to_ptx.local_bytes(to_ptx.compiled_for(k.function, *EXAMPLE)), tuple(lines)
    arrays = declared(k)
    return sum(size for _, size in arrays), tuple(dict.fromkeys(line for line, _ in arrays))


def too_much_kept(k: Kernel) -> list[Finding]:
    """What no GPU has room for, as a finding; [] where there is no such thing."""
    size, lines = kept(k)
    if size <= LOCAL:
        return []
    text = (
        f"{size:,} bytes of arrays for each thread alone, and a GPU has {LOCAL:,} at most: keep fewer numbers at a time"
    )
    return [Finding("too much memory", text, lines)]


def much_kept(k: Kernel) -> tuple[str, ...]:
    """What few GPUs have room for, as a remark to a right kernel that no GPU ran: a tuple of one, or none."""
    if k.device.kind == "GPU" or not MUCH < (size := kept(k)[0]) <= LOCAL:
        return ()
    limits = f"; AMD's GPUs have {AMD:,} at most, Intel's {INTEL:,}" * (k.dialect == "OpenCL")
    return (
        f"each thread keeps {size:,} bytes of arrays to itself; an A100 holds {THREADS:,} threads, and would set "
        f"{size * THREADS / 1e9:.1f} GB aside for them{limits}",
    )


def declared(k: Kernel) -> list[tuple[int, int]]:
    """The line, and the bytes, of each private array in OpenCL C whose sides the text tells."""
    code, sizes, found = code_of(k), values_of(k.parameters, formulas(k)[0]), []
    types = dict(TYPES)
    for kind, width, name in TYPEDEF.findall(code):
        if kind in types:
            types[name] = types[kind] * int(width or 1)
    declaration = re.compile(DECLARATION.format("|".join(types)))
    for number, line in enumerate(code.splitlines(), 1):
        for kind, width, names in () if ELSEWHERE.search(line) else declaration.findall(line):
            for sides in ARRAY.findall(names):
                elements = [worked_out(side, sizes) for side in re.findall(r"\[(.+?)\]", sides)]
                if None not in elements:
                    found.append((number, types[kind] * int(width or 1) * math.prod(elements)))
    return found
