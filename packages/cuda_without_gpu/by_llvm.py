"""PTX of LLVM's text, by the back end for NVIDIA's GPUs that llvmlite brings: no GPU, and no software of NVIDIA's."""

import contextlib
import functools
import re
from pathlib import Path

with contextlib.suppress(ImportError, OSError):  # where it is broken, Numba says so, and who runs no CUDA goes on
    import llvmlite.binding as llvm

TRIPLE = "nvptx64-nvidia-cuda"

# Of the functions that NVIDIA's compiler knows by itself, and Numba asks for, LLVM has some under other names, and one
# for each mode where NVIDIA's takes the mode as a number.
RENAMED = {
    "llvm.nvvm.match.all.sync.i32": "llvm.nvvm.match.all.sync.i32p",
    "llvm.nvvm.match.all.sync.i64": "llvm.nvvm.match.all.sync.i64p",
    "llvm.nvvm.match.any.sync.i64": "match_any_64",  # LLVM's own has had two types
    "llvm.nvvm.shfl.sync.i32": "shfl_of_any_mode",
    "llvm.nvvm.vote.sync": "vote_of_any_mode",
}
ALL_BLOCKS = re.compile(r'(declare i32 @"cudaCGSynchronize"\([^\n]*\))(?! convergent)')
INLINE_PTX = re.compile(
    r'(call [^"\n]*asm sideeffect "(?!index_within)[^"\n]*", ?"[^"\n]*"\s*\([^()\n]*\))(?! convergent)'
)
ADDED = (Path(__file__).parent / "nvidia_in_llvm.ll").read_text("utf-8")

# Functions of numba-cuda for float16, which NVIDIA has in CUDA C++: what LLVM does with their operands as float16, %ah,
# or as float32, %af (a sum, a product or a quotient of two float16 is rounded right so).
HALF = {
    "neg": "fneg half %ah",
    "rcp": "fdiv float 1.0, %af",
    "ne": "fcmp une float %af, %bf",
    "fma": "call half @llvm.fma.f16(half %ah, half %bh, half %ch)",
    "max": "call half @llvm.maxnum.f16(half %ah, half %bh)",
    "min": "call half @llvm.minnum.f16(half %ah, half %bh)",
    "abs": "call half @llvm.fabs.f16(half %ah)",
}
HALF |= {does: f"f{does} float %af, %bf" for does in ("add", "sub", "mul", "div")}
HALF |= {does: f"fcmp o{does} float %af, %bf" for does in ("eq", "lt", "le", "gt", "ge")}
HALF |= {does: f"call float @llvm.{does}.f32(float %af)" for does in ("sqrt", "ceil", "floor", "trunc", "rint")}
MATH = ("sin", "cos", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt")
HALF |= {does: f"call float @__nv_{does}f(float %af)" for does in MATH}
HALF_NAME = re.compile(r"(?:_ZL\d+_*|__numba_wrapper_)h(\w+?)(?:6__half|$)|_Z(\w\w)RK")
OPERATORS = {"ng": "neg", "pl": "add", "mi": "sub", "ml": "mul", "dv": "div"}  # of C++'s names; others are alike
FROM_NUMBER = {"f": "float", "d": "double"} | dict(
    zip("stijlmxy", ["i16"] * 2 + ["i32"] * 2 + ["i64"] * 4, strict=True)
)
STORED = {  # how a result of that type becomes what the function gives
    "i1": "%bits = zext i1 %r to i8\n    store i8 %bits, i8* %out",
    "half": "%bits = bitcast half %r to i16\n    store i16 %bits, i16* %out",
    "float": "%half = fptrunc float %r to half\n    %bits = bitcast half %half to i16\n    store i16 %bits, i16* %out",
}
OPERAND = "%{0}h = bitcast i16 %{0} to half\n    %{0}f = fpext half %{0}h to float"
LOADED = "%{0} = load i16, i16* %{0}_at\n    " + OPERAND


def half_function(name: str) -> str:
    """LLVM's text of a float16 function of numba-cuda's, of pointers, or numbers in `__numba_wrapper_...`; or ""."""
    takes, declared = "float* %out, i16* %a_at", ""
    named = HALF_NAME.match(name)
    if made := named and HALF.get(named[1] or OPERATORS.get(named[2], named[2])):
        operands = [one for one in "abc" if f"%{one}" in made]
        kind = "i1" if made.startswith("fcmp") else "half" if "half" in made else "float"
        declared = re.sub(r" %\w+", "", made).replace("call", "declare") if made.startswith("call") else ""
        kind_out = "i8" if kind == "i1" else "i16"
        by_value = name.startswith("__numba_wrapper_")
        takes = ", ".join([f"{kind_out}* %out", *(f"i16 %{a}" if by_value else f"i16* %{a}_at" for a in operands)])
        lines = [*map((OPERAND if by_value else LOADED).format, operands), f"%r = {made}", STORED[kind]]
    elif number := re.match(r"_ZN6__halfC1E([fdstijlmxy])_", name):
        kind = FROM_NUMBER[number[1]]
        how = "fptrunc" if number[1] in "fd" else "uitofp" if number[1] in "tjmy" else "sitofp"
        takes = f"i32* %ignored, i16* %out, {kind}* %a"
        lines = [f"%n = load {kind}, {kind}* %a", f"%r = {how} {kind} %n to half", STORED["half"]]
    elif name.startswith("_ZL12__half2float"):
        lines = [LOADED.format("a"), "store float %af, float* %out"]
    else:
        return ""
    body = "\n    ".join(lines)
    return f'{declared}\ndefine linkonce_odr i32 @"{name}"({takes}) alwaysinline {{\n    {body}\n    ret i32 0\n}}\n'


@functools.cache
def ready() -> None:
    """Load the back end, once in a process; it makes one instruction of a product and a sum, as NVIDIA's does."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.set_option("", "-nvptx-fma-level=1")


@functools.lru_cache(maxsize=256)
def compiled(modules: tuple[str, ...], level: int, arch: str) -> str:
    """PTX of some texts that belong together.

    level   of LLVM's optimiser, 0 to 3: 0 keeps each variable in memory, 1 each access to arrays
    arch    such as "sm_80"

    Raises RuntimeError for what is no text of LLVM's, or fits no GPU.
    """
    module = linked((*modules, ADDED))
    module.triple = TRIPLE
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, opt=level)
    optimise(module, machine, level)
    return machine.emit_assembly(module)


def linked(modules: tuple[str, ...]) -> "llvm.ModuleRef":
    """One module of some texts that belong together. Raises RuntimeError for what is no text of LLVM's."""
    ready()
    module = llvm.parse_assembly(as_llvm_takes_it(modules[0]))
    for text in modules[1:]:
        module.link_in(llvm.parse_assembly(as_llvm_takes_it(text)))
    return module


def optimise(module: "llvm.ModuleRef", target: "llvm.TargetMachine", level: int) -> None:
    """Let LLVM's optimiser, at a level of 0 to 3, change a module for a machine. Raises RuntimeError for a bad one."""
    module.verify()
    if hasattr(llvm, "create_pass_builder"):
        passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=level))
        passes.getModulePassManager().run(module, passes)
    else:  # before llvmlite 0.44
        builder, passes = llvm.create_pass_manager_builder(), llvm.create_module_pass_manager()
        builder.opt_level, builder.inlining_threshold = level, 225
        target.add_analysis_passes(passes)
        builder.populate(passes)
        passes.run(module)


def as_llvm_takes_it(text: str) -> str:
    """The text, with LLVM's names for what NVIDIA's compiler knows by itself, and of what a debugger wants only lines.

    On all of that, with debug=True, LLVM's back end may end the process. PTX that stands in the text stays with the
    threads that reach it: of `activemask` in both branches, LLVM would make one for all threads. So does the call that
    brings all blocks together; the PTX machine knows that function by its name.
    """
    text = INLINE_PTX.sub(r"\1 convergent nomerge", text)
    text = ALL_BLOCKS.sub(r"\1 convergent", text)
    text = text.replace("emissionKind: FullDebug", "emissionKind: DebugDirectivesOnly")
    for name, llvms in RENAMED.items():
        text = text.replace(f'@"{name}"', f'@"{llvms}"')
    return text
