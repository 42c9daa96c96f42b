"""What LLVM makes of a kernel for an AMD GPU: registers, LDS, waves, the inner loop. It needs no GPU and no ROCm.

Numba writes LLVM's text of a kernel for an NVIDIA GPU. That text names a thread's place, the barrier and the kinds of
memory in NVIDIA's words; here they become AMD's, and LLVM's back end for AMD's GPUs, which comes with llvmlite, makes
machine code. Numba's old ROC target took that way, too. Nobody has run what comes out.
"""

import inspect
import itertools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import llvmlite.binding as llvm

from cuda_without_gpu import by_llvm, to_ptx

from .. import ladder
from ..ladder import ceil_div
from ..launch import KernelError, cuda_kernel, numba_internals, on_ptx
from ..names import named
from . import RocKernel

TRIPLE = "amdgcn-amd-amdhsa"
MOST_LDS = 64 * 1024  # bytes, of a group
BLOCK = (16, 16)  # of a kernel that does not say how it is launched


@dataclass(frozen=True)
class AMD:
    """What holds a group's work-items on a GPU: a compute unit, or two of them that share their LDS.

    target     LLVM's name for the GPU's instructions
    unit       what AMD calls the one that holds a group
    wave       work-items a wave
    simds      SIMDs in the unit, between which waves are divided
    waves      waves a SIMD holds at most
    vectors    vector registers of 32 bits a SIMD has for each lane
    step       a wave gets a multiple of this many of them
    scalars    scalar registers a SIMD has; 0 where each wave has enough
    lds_bytes  LDS of the unit
    """

    target: str
    unit: str
    wave: int
    simds: int
    waves: int
    vectors: int
    step: int
    scalars: int
    lds_bytes: int

    def waves_of(self, threads: int, vectors: int, scalars: int, lds_bytes: int) -> int:
        """Waves that the unit holds at the same time, in whole groups of that many work-items.

        `vectors`: registers a work-item; `scalars`: registers a wave; `lds_bytes`: of a group.
        """
        of_simd = min(self.waves, self.vectors // (ceil_div(max(1, vectors), self.step) * self.step))
        if self.scalars:
            of_simd = min(of_simd, self.scalars // max(1, scalars))
        of_group = ceil_div(threads, self.wave)
        groups = min(of_simd * self.simds // of_group, self.lds_bytes // max(1, lds_bytes))
        return groups * of_group


# Sources: LLVM's AMDGPUBaseInfo.cpp and "User Guide for AMDGPU Backend"; AMD's CDNA3 and RDNA3 instruction set manuals.
GPUS = {
    "MI300X": AMD("gfx942", "compute unit", 64, 4, 8, 512, 8, 800, 64 * 1024),
    "RX 7900 XTX": AMD("gfx1100", "work-group processor", 32, 4, 16, 1536, 24, 0, 128 * 1024),
}


@dataclass(frozen=True)
class AMDReport:
    """What a kernel takes on AMD's GPUs of one kind, as LLVM compiled it. Nobody has run it.

    kernel            its name and parameters
    gpu, target       such as "MI300X" and "gfx942"
    threads           work-items a group
    vector_registers  32-bit registers a work-item, those of the matrix units (AGPRs) included
    scalar_registers  32-bit registers a wave
    spills            (vector, scalar): registers moved to memory because they ran out
    private_bytes     memory a work-item uses in place of registers
    lds_bytes         LDS, AMD's shared memory, a group
    waves             waves of this kernel that a compute unit holds at the same time, or on a Radeon a pair of them
    most_waves        waves that it holds at most
    unit              "compute unit" or "work-group processor", which is such a pair
    mix               {kind: instructions} of the innermost loop with most products; empty if no loop has any
    assembly          the machine code, as text
    """

    kernel: str
    gpu: str
    target: str
    threads: int
    vector_registers: int
    scalar_registers: int
    spills: tuple
    private_bytes: int
    lds_bytes: int
    waves: int
    most_waves: int
    unit: str
    mix: dict
    assembly: str = field(repr=False)

    @property
    def fma_share(self) -> float:
        """Instructions that multiply and add, as a share of the inner loop's. 0 without such a loop."""
        return sum(n for kind, n in self.mix.items() if "FMA" in kind) / max(1, sum(self.mix.values()))

    def __repr__(self):
        vector, scalar = self.spills
        lines = [
            f"{self.kernel}, compiled by LLVM for {self.target} ({self.gpu}); nobody has run it",
            f"  vector registers  {self.vector_registers} a work-item, {self.threads} work-items a group",
            f"  scalar registers  {self.scalar_registers} a wave",
            f"  spills            {vector} vector registers, {scalar} scalar; {self.private_bytes} bytes a work-item",
            f"  LDS               {self.lds_bytes} bytes a group",
            f"  waves             {self.waves} in a {self.unit}, of at most {self.most_waves}",
        ]
        if not self.mix:
            return "\n".join([*lines, "  inner loop        none that multiplies"])
        lines.append(f"  inner loop        {sum(self.mix.values())} instructions, {self.fma_share:.0%} of them FMA")
        return "\n".join(lines + [f"  {n:16}  {kind}" for kind, n in self.mix.items()])


def amd_report(k: object, gpu: str = "MI300X", block: tuple[int, int] | None = None) -> AMDReport:
    """Compile a Python kernel for an AMD GPU, with no GPU and no ROCm, and read what came out. Returns `AMDReport`.

    k      a kernel of (A, B, C), float32: what `cuda_kernel` built, or the name of a step, which then has a GPU's
           parameters; a function under @cuda.jit or @roc.jit
    gpu    "MI300X" or "RX 7900 XTX"
    block  work-items a group, (x, y), for a function; (16, 16) if it is left out

    The kernel is compiled, never run. Raises ValueError for another GPU, KernelError for a kernel that is not written
    in Python or does not compile, for what AMD's GPUs have in no such form, as a warp's shuffles, and where llvmlite is
    too old.
    """
    gpu = named(gpu, GPUS, "AMD GPU")
    if isinstance(k, str):
        k = cuda_kernel(k, **ladder.step(k, "CUDA").defaults["GPU"])
    function = k.kernel if isinstance(k, RocKernel) else getattr(k, "function", k)
    if not (inspect.isfunction(function) or numba_internals.is_jitted(function)):
        raise KernelError(f"{k} is not written in Python; give a kernel of cuda_kernel's, or one under @cuda.jit.")
    title = f"{k} with {ladder.spell(k.parameters)}" if hasattr(k, "parameters") else function.__name__
    block = tuple(block or getattr(k, "block", BLOCK))
    one, threads = GPUS[gpu], block[0] * block[1]
    code = machine_code(function, one.target, block)

    def number(name):
        return int(re.search(rf"\.{name}:\s*(\d+)", code)[1])

    vectors, scalars, lds_bytes = map(number, ("vgpr_count", "sgpr_count", "group_segment_fixed_size"))
    return AMDReport(
        title,
        gpu,
        one.target,
        threads,
        vectors,
        scalars,
        (number("vgpr_spill_count"), number("sgpr_spill_count")),
        number("private_segment_fixed_size"),
        lds_bytes,
        one.waves_of(threads, vectors, scalars, lds_bytes),
        one.waves * one.simds,
        one.unit,
        inner_loop(code),
        code,
    )


def machine_code(function: Callable, target: str, block: tuple[int, int]) -> str:
    """The assembly of a kernel of (A, B, C) for that target of LLVM's. Raises KernelError as `amd_report` does."""
    ptx = on_ptx.ptx_of(function)  # raises what speaks against the kernel on any GPU
    shared = sum(map(int, re.findall(r"\.shared .*\[(\d+)\]", ptx)))
    if shared > MOST_LDS:  # LLVM would end the process
        raise KernelError(f"{shared} bytes of shared memory; a group has at most {MOST_LDS} bytes of LDS.")
    kernel = to_ptx.compiled_for(function, *on_ptx.EXAMPLE)
    text = in_amds_words(str(by_llvm.linked(to_ptx.whole(kernel._codelibrary.llvm_strs))), block)
    if foreign := re.search(r'call [^\n]*?(?:@(llvm\.nvvm\.[\w.]+)|asm [\w ]*"([^"]*))', text):
        raise foreign_word(foreign[1] or foreign[2])
    try:
        module = by_llvm.linked((text, added(block)))
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=target, opt=3)
        module.data_layout = str(machine.target_data)
        by_llvm.optimise(module, machine, 3)
    except RuntimeError as error:
        version = ".".join(map(str, llvm.llvm_version_info))
        raise KernelError(
            f"LLVM {version} does not compile this for {target}; it was tried with LLVM 22, of llvmlite 0.50: "
            f"pip install --upgrade numba. It says: {error}"
        ) from None
    for one in module.functions:
        if one.is_declaration and not one.name.startswith("llvm."):
            raise foreign_word(one.name)
    return machine.emit_assembly(module)


def foreign_word(word: str) -> KernelError:
    """The error for what only NVIDIA's GPUs, or their libraries, have."""
    return KernelError(f"{word}: only NVIDIA's GPUs have it. Write the kernel without it.")


def in_amds_words(text: str, block: tuple[int, int]) -> str:
    """LLVM's text of a kernel for NVIDIA's GPUs, as text for AMD's, with a product and a sum as one instruction."""
    for nvidias, amds in WORDS.items():
        text = re.sub(rf"@{nvidias}(?=\()", f"@{amds}", text)
    size = block[0] * block[1]
    text = re.sub(r"^target datalayout = .*", "", text, flags=re.M)
    text = re.sub(r"^target triple = .*", f'target triple = "{TRIPLE}"\n{DECLARED}', text, flags=re.M)
    text = re.sub(
        r"^define ptx_kernel (.*\))",
        rf'define amdgpu_kernel \1 "amdgpu-flat-work-group-size"="{size},{size}"',
        text,
        flags=re.M,
    )
    # Numba numbers shared arrays through all kernels, and LLVM lays them out by their names: smem_9 behind smem_10.
    order = {name: f"_shared_{n:03}" for n, name in enumerate(dict.fromkeys(re.findall(r"@(_cudapy_smem_\d+)", text)))}
    text = re.sub(r"@(_cudapy_smem_\d+)", lambda at: f"@{order[at[1]]}", text)
    text = re.sub(r'asm [\w ]*"mov\.u32 \$0, %dynamic_smem_size;", "=r"', "@dynamic_bytes", text)
    text = re.sub(r" = (fmul|fadd|fsub) ", r" = \1 contract ", text)
    # A variable in memory lies in a kind of memory of its own.
    numbers = itertools.count()

    def in_private_memory(at):
        private = f"%private.{next(numbers)}"
        return (
            f"{private} = alloca {at[2]}, addrspace(5){at[3]}\n"
            f"{at[1]} = addrspacecast ptr addrspace(5) {private} to ptr"
        )

    return re.sub(r"^ +(%.*?) = alloca (.*?, align \d+)(.*)$", in_private_memory, text, flags=re.M)


def added(block: tuple[int, int]) -> str:
    """LLVM's text of the functions that `WORDS` names."""
    axes = zip("xyz", (*block, 1), (12, 16, 20), strict=True)
    return ADDED + "".join(ADDED_FOR_AXIS.format(axis=axis, threads=n, byte=byte) for axis, n, byte in axes)


# ------------------------------------------------------------------------------------- from NVIDIA's words to AMD's

# Functions of LLVM's for NVIDIA's GPUs, and what stands for them; `blocks_x` and so on are below.
WORDS = {
    r"llvm\.nvvm\.read\.ptx\.sreg\.tid\.([xyz])": r"llvm.amdgcn.workitem.id.\1",
    r"llvm\.nvvm\.read\.ptx\.sreg\.ctaid\.([xyz])": r"llvm.amdgcn.workgroup.id.\1",
    r"llvm\.nvvm\.read\.ptx\.sreg\.ntid\.([xyz])": r"threads_\1",
    r"llvm\.nvvm\.read\.ptx\.sreg\.nctaid\.([xyz])": r"blocks_\1",
    r"llvm\.nvvm\.barrier(0|\.cta\.sync\.aligned\.all)": "wait_for_all",
    r"llvm\.nvvm\.membar\.cta": "fence_block",
    r"llvm\.nvvm\.membar\.(gl|sys)": "fence_all",
    r"__nv_(fma|sqrt|fabs|floor|ceil|trunc|rint|exp|exp2|log|log2|sin|cos)f": r"llvm.\1.f32",
    r"__nv_(fma|sqrt|fabs|floor|ceil|trunc|rint)": r"llvm.\1.f64",
}
# A block's sides are known here. The grid's are in the packet by which the host launches a kernel: three numbers of 32
# bits at byte 12, in work-items; the bytes of LDS are at byte 28.
ADDED = """
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
declare void @llvm.amdgcn.s.barrier()

define linkonce_odr void @wait_for_all(i32 %which) alwaysinline convergent {
    fence syncscope("workgroup") release
    call void @llvm.amdgcn.s.barrier()
    fence syncscope("workgroup") acquire
    ret void
}
define linkonce_odr void @fence_block() alwaysinline {
    fence syncscope("workgroup") seq_cst
    ret void
}
define linkonce_odr void @fence_all() alwaysinline {
    fence syncscope("agent") seq_cst
    ret void
}
define linkonce_odr i32 @dynamic_bytes() alwaysinline {
    %packet = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
    %place = getelementptr i8, ptr addrspace(4) %packet, i64 28
    %bytes = load i32, ptr addrspace(4) %place
    ret i32 %bytes
}
"""
DECLARED = "declare i32 @dynamic_bytes()"
ADDED_FOR_AXIS = """
define linkonce_odr i32 @threads_{axis}() alwaysinline {{
    ret i32 {threads}
}}
define linkonce_odr i32 @blocks_{axis}() alwaysinline {{
    %packet = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
    %place = getelementptr i8, ptr addrspace(4) %packet, i64 {byte}
    %items = load i32, ptr addrspace(4) %place
    %blocks = udiv i32 %items, {threads}
    ret i32 %blocks
}}
"""


# ----------------------------------------------------------------------------------------- the machine's own code

MULTIPLY_ADD = r"v_(dual_)?(fma|fmac|fmaak|fmamk|mad|mac)_f32"
KINDS = {
    rf"v_pk_fma_f32|{MULTIPLY_ADD}.* :: {MULTIPLY_ADD}": "FMA, two in one instruction",
    rf"{MULTIPLY_ADD}|v_dual_.* :: {MULTIPLY_ADD}": "FMA",
    "v_fma(c)?_f64": "FMA, float64",
    "v_(dual_)?mul_f(32|64)": "multiplication",
    "v_(dual_)?add_f(32|64)": "addition",
    "v_cvt_f": "conversion",
    "ds_(read|load)": "LDS load",
    "ds_(write|store)": "LDS store",
    "(global|flat|buffer)_load": "global load",
    "(global|flat|buffer)_store": "global store",
    "scratch_": "private memory",
    "s_barrier": "barrier",
    "s_(waitcnt|nop|delay_alu|wait)": "wait",
    "s_": "scalar arithmetic and jumps",
    "v_": "other vector arithmetic",
}
BYTES = {"b32": 4, "b64": 8, "b96": 12, "b128": 16, "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}


def kind_of(instruction: str) -> str:
    """What an instruction does, in words, with the bytes that a load or a store of memory moves for a work-item."""
    kind = next((kind for pattern, kind in KINDS.items() if re.match(pattern, instruction)), "other")
    name = instruction.split()[0]
    if kind.split()[0] in ("LDS", "global") and (width := re.search(r"_(b\d+|dword(x\d)?)$", name)):
        kind += f", {'2 x ' * bool(re.search('read2|write2|2addr', name))}{BYTES[width[1]]} bytes"
    return kind


def inner_loop(assembly: str) -> dict:
    """{kind: instructions} of the innermost loop with most products; empty if no loop has any."""
    code, labels, loops = [], {}, []
    for line in assembly.splitlines():
        line = line.split(";")[0].strip()
        if label := re.match(r"(\.LBB\w+):", line):
            labels[label[1]] = len(code)
        elif re.match(r"[a-z]+_", line):
            code.append(line)
            if (jump := re.match(r"s_c?branch\w* (\.LBB\w+)", line)) and jump[1] in labels:
                loops.append((labels[jump[1]], len(code)))
    counted = {(a, b): Counter(map(kind_of, code[a:b])) for a, b in loops}
    with_products = {loop: mix for loop, mix in counted.items() if products(mix)}
    inner = [
        mix
        for (a, b), mix in with_products.items()
        if not any((c, d) != (a, b) and a <= c and d <= b for c, d in with_products)
    ]
    mix = max(inner, key=products, default={})
    return {kind: mix[kind] for kind in sorted(mix, key=lambda kind: ("FMA" not in kind, kind))}


def products(mix: dict) -> int:
    """Instructions of a mix that multiply elements, with a sum or without."""
    return sum(n for kind, n in mix.items() if "FMA" in kind or kind == "multiplication")
