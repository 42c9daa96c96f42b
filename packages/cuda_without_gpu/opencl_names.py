"""LLVM's text that defines, in OpenCL's terms, a name of CUDA's that a kernel asks for: `definition`.

`cuda_in_opencl.ll` has those that are written one by one.
"""

import re
from pathlib import Path

AXES = {"x": 0, "y": 1, "z": 2}
PLACES = {"tid": "get_local_id", "ctaid": "get_group_id", "nctaid": "get_num_groups"}

# NVIDIA's functions that OpenCL has under the same name; `f` at the end is for float32.
SAME = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc exp exp10 exp2 expm1 fabs fdim "
    "floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma log log10 log1p log2 logb modf nextafter pow remainder "
    "remquo rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc"
)
OTHER = {name: name for name in SAME.split()} | {"powi": "pown", "scalbn": "ldexp", "fast_fdivide": "divide"}
FAST = {f"fast_{name}f": name for name in ("cos", "exp", "exp10", "log", "log10", "log2", "pow", "sin", "tan")}
CODES = {"float": "f", "double": "d", "i32": "i", "i64": "l"}  # of C++'s names, for OpenCL's functions

# What LLVM makes of NVIDIA's functions that are an instruction of its own, or one of its functions.
INSTRUCTIONS = {
    "isnanf": "fcmp uno float %0, 0.0",
    "isnand": "fcmp uno double %0, 0.0",
    "float_as_int": "bitcast float %0 to i32",
    "int_as_float": "bitcast i32 %0 to float",
    "double_as_longlong": "bitcast double %0 to i64",
    "longlong_as_double": "bitcast i64 %0 to double",
    "frcp_rn": "fdiv float 1.0, %0",
    "drcp_rn": "fdiv double 1.0, %0",
    "fast_fdividef": "fdiv float %0, %1",
    "abs": "call i32 @llvm.abs.i32(i32 %0, i1 0)",
    "llabs": "call i64 @llvm.abs.i64(i64 %0, i1 0)",
    "popc": "call i32 @llvm.ctpop.i32(i32 %0)",
    "brev": "call i32 @llvm.bitreverse.i32(i32 %0)",
    "brevll": "call i64 @llvm.bitreverse.i64(i64 %0)",
    "clz": "call i32 @llvm.ctlz.i32(i32 %0, i1 0)",
    "fsqrt_rn": "call float @llvm.sqrt.f32(float %0)",
    "dsqrt_rn": "call double @llvm.sqrt.f64(double %0)",
    "fmaf_rn": "call float @llvm.fma.f32(float %0, float %1, float %2)",
    "fma_rn": "call double @llvm.fma.f64(double %0, double %1, double %2)",
}
for letter, kind in (("f", "float"), ("d", "double")):
    for does in ("add", "sub", "mul", "div"):
        INSTRUCTIONS[f"{letter}{does}_rn"] = f"f{does} {kind} %0, %1"
for does in ("max", "min"):
    for start, kind in (("", "i32"), ("ll", "i64")):
        INSTRUCTIONS[f"{start}{does}"] = f"call {kind} @llvm.s{does}.{kind}({kind} %0, {kind} %1)"
        INSTRUCTIONS[f"u{start}{does}"] = f"call {kind} @llvm.u{does}.{kind}({kind} %0, {kind} %1)"
COMPARED = {"isinff": "oeq", "isinfd": "oeq", "finitef": "olt", "isfinited": "olt"}  # of |x| with infinity

OF_WARPS = {  # threads of a warp that learn of each other
    "nvvm.shfl.sync.i32",
    "nvvm.vote.sync",
    "nvvm.read.ptx.sreg.laneid",
    "nvvm.bar.warp.sync",
    "asm.activemask.b32",
}
IN_WORDS = {"vprintf": "print", "cudaCGGetIntrinsicHandle": "grid.sync()", "cudaCGSynchronize": "grid.sync()"}
ONE_BY_ONE = (Path(__file__).parent / "cuda_in_opencl.ll").read_text("utf-8")


def definition(name: str, gives: str, takes: list[str], block: tuple, shared: int, grid: tuple | None) -> str:
    """LLVM's text that defines a name; "" for one that is not known, or that `cuda_in_opencl.ll` has.

    gives, takes    LLVM's types of its result and of its arguments
    block, grid     three sizes, in threads and in blocks; None for a grid that is not known
    shared          bytes of the shared memory whose size a launch sets
    """
    if match := re.fullmatch(r"nvvm\.read\.ptx\.sreg\.(\w+)\.([xyz])", name):
        return place(name, match[1], AXES[match[2]], block, grid)
    if name == "asm.mov.u32.dynamic_smem_size":
        return f'define i32 @"{name}"() {{\n  ret i32 {shared}\n}}\n'
    if match := re.fullmatch(r"asm\.cvt\.(?:r\w+\.)?([fsu])(\d+)\.([fsu])(\d+)", name):
        return conversion(name, *match.groups())
    return mathematics(name, gives, takes) if name.startswith("__nv_") else ""


def place(name, kind, axis, block, grid):
    """Where a thread is, or how many there are; what is known of the launch is a constant, or bounds the number."""
    if kind == "ntid" or (kind == "nctaid" and grid):
        return f"define i32 @{name}() {{\n  ret i32 {(block if kind == 'ntid' else grid)[axis]}\n}}\n"
    most = block[axis] if kind == "tid" else grid[axis] if grid else 2**31
    function = f"spir_func i64 @_Z{len(PLACES[kind])}{PLACES[kind]}j(i32"
    return f"""declare {function}) memory(none) nounwind willreturn
define i32 @{name}() {{
  %wide = call {function} {axis}), !range !0
  %number = trunc nuw nsw i64 %wide to i32
  ret i32 %number
}}
!0 = !{{i64 0, i64 {most}}}
"""


def conversion(name, to, size, of, width):
    """PTX's `cvt`, which Numba asks for where a float16 is involved; it passes that as an integer."""
    floats = {"16": "half", "32": "float", "64": "double"}
    before = floats[width] if of == "f" else f"i{width}"
    after = floats[size] if to == "f" else f"i{size}"
    among_floats = "fpext" if int(size) > int(width) else "fptrunc"
    does = {"ff": among_floats, "sf": "sitofp", "uf": "uitofp", "fs": "fptosi", "fu": "fptoui"}[of + to]
    takes = "i16" if before == "half" else before
    gives = "i16" if after == "half" else after
    return f"""define {gives} @"{name}"({takes} %x) {{
  %before = bitcast {takes} %x to {before}
  %after = {does} {before} %before to {after}
  %bits = bitcast {after} %after to {gives}
  ret {gives} %bits
}}
"""


def mathematics(name, gives, takes):
    """One of NVIDIA's `__nv_` functions; "" for one that is not known."""
    base = name.removeprefix("__nv_")
    parameters = ", ".join(f"{kind} %{i}" for i, kind in enumerate(takes))
    head = f"define {gives} @{name}({parameters}) {{\nentry:\n"
    if base in ("sincos", "sincosf", "fast_sincosf"):
        return sine_and_cosine(head, takes[0], gives)
    if base in COMPARED:
        kind, absolute = takes[0], f"@llvm.fabs.f{32 if takes[0] == 'float' else 64}({takes[0]}"
        compared = f"  %r = fcmp {COMPARED[base]} {kind} %a, 0x7FF0000000000000\n"
        return f"declare {kind} {absolute})\n{head}  %a = call {kind} {absolute} %0)\n{compared}{returned('i1', gives)}"
    does = INSTRUCTIONS.get(base)
    named = FAST.get(base) or OTHER.get(base) or OTHER.get(base.removesuffix("f"))
    if not does and named and {gives, *takes} <= {*CODES, "ptr"}:
        # OpenCL's pointers here are to generic memory: to the result's type in `modf`, to int elsewhere.
        pointer = "PU3AS4" + (CODES[gives] if named == "modf" else "i")
        codes = "".join(pointer if kind == "ptr" else CODES[kind] for kind in takes)
        does = f"call spir_func {gives} @_Z{len(named)}{named}{codes}({parameters})"
    if not does:
        return ""
    declared = ""
    if does.startswith("call"):
        declared = re.sub(r" %?\d+(?=[,)])", "", does).replace("call", "declare", 1) + "\n"
    return f"{declared}{head}  %r = {does}\n{returned('i1' if does.startswith('fcmp') else gives, gives)}"


def returned(kind, gives):
    """The end of a function whose %r is of a kind, and which gives another."""
    return f"  ret {gives} %r\n}}\n" if kind == gives else f"  %bits = zext i1 %r to {gives}\n  ret {gives} %bits\n}}\n"


def sine_and_cosine(head, kind, gives):
    """NVIDIA's function of both, where OpenCL has one for each."""
    sin, cos = (f"spir_func {kind} @_Z3{name}{CODES[kind]}({kind}" for name in ("sin", "cos"))
    end = "void" if gives == "void" else f"{gives} null"
    return f"""declare {sin})
declare {cos})
{head}  %sin = call {sin} %0)
  %cos = call {cos} %0)
  store {kind} %sin, ptr %1
  store {kind} %cos, ptr %2
  ret {end}
}}
"""
