"""What LLVM makes of a kernel for an AMD GPU: registers, LDS, waves, the inner loop. It needs no GPU and no ROCm.

Numba writes LLVM's text of a kernel for an NVIDIA GPU. That text names a thread's place, the barrier and the kinds of
memory in NVIDIA's words; here they become AMD's, and LLVM's back end for AMD's GPUs, which comes with llvmlite, makes
machine code. Numba's old ROC target took that way, too. Nobody has run what comes out.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

import llvmlite.binding as llvm

TRIPLE = "amdgcn-amd-amdhsa"
MOST_LDS = 64 * 1024  # bytes, of a group
FOREIGN = "{}: only NVIDIA's GPUs have it. Write the kernel without it."


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
        """Waves the unit holds, in groups of so many work-items; `vectors` of a work-item, `scalars` of a wave."""
        of_simd = min(self.waves, self.vectors // (-(-max(1, vectors) // self.step) * self.step))
        if self.scalars:
            of_simd = min(of_simd, self.scalars // max(1, scalars))
        of_group = -(-threads // self.wave)
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


def compile_for_amd(
    text: str, gpu: str = "MI300X", block: tuple[int, int] = (16, 16), title: str = "kernel"
) -> AMDReport:
    """Compile a kernel for an AMD GPU, with no GPU and no ROCm, and read what came out. The kernel is never run.

    text   what LLVM has of a CUDA kernel, as `inspect_llvm` of a `@cuda.jit` function gives it: one module, or several
           below each other; not of `debug=True`
    gpu    one of `GPUS`: "MI300X" or "RX 7900 XTX"
    block  work-items a group, (x, y)
    title  the kernel's name, for the report

    Raises ValueError for another GPU, for text that does not compile, for more shared memory than a group has, for what
    AMD's GPUs have in no such form, as a warp's shuffles, and where llvmlite is too old.
    """
    if gpu not in GPUS:
        raise ValueError(f"unknown AMD GPU {gpu!r}. The AMD GPUs are: {', '.join(GPUS)}.")
    one, threads = GPUS[gpu], block[0] * block[1]
    code = machine_code(text, one.target, block)
    if ".vgpr_count" not in code:
        raise ValueError("no kernel is in this text; give what `inspect_llvm` says of a `@cuda.jit` kernel.")

    def number(name):
        return int(re.search(rf"\.{name}:\s*(\d+)", code)[1])

    vectors, scalars, lds_bytes = map(number, ("vgpr_count", "sgpr_count", "group_segment_fixed_size"))
    spills, private = (number("vgpr_spill_count"), number("sgpr_spill_count")), number("private_segment_fixed_size")
    waves, most = one.waves_of(threads, vectors, scalars, lds_bytes), one.waves * one.simds
    used = threads, vectors, scalars, spills, private, lds_bytes, waves, most
    return AMDReport(title, gpu, one.target, *used, one.unit, inner_loop(code), code)


def machine_code(text: str, target: str, block: tuple[int, int]) -> str:
    """The assembly of a kernel for one of LLVM's targets, from LLVM's text. Raises ValueError as the function above."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        text = in_amds_words(str(linked(re.split(r"^(?=; ModuleID)", text, flags=re.M))), block)
        if foreign := re.search(r'call [^\n]*?(?:@(llvm\.nvvm\.[\w.]+)|asm [\w ]*"([^"]*))', text):
            raise ValueError(FOREIGN.format(foreign[1] or foreign[2]))
        module = linked([text, added(block)])
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=target, opt=3)
        module.data_layout = str(machine.target_data)
        arrays = [one for one in module.global_variables if "addrspace(3)" in str(one.type)]
        shared = sum(machine.target_data.get_abi_size(one.global_value_type) for one in arrays)
        if shared > MOST_LDS:  # LLVM would end the process
            raise ValueError(f"{shared} bytes of shared memory; a group has at most {MOST_LDS} bytes of LDS.")
        module.verify()
        passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        passes.getModulePassManager().run(module, passes)
    except RuntimeError as error:
        version = ".".join(map(str, llvm.llvm_version_info))
        raise ValueError(
            f"LLVM {version} does not compile this for {target}; it was tried with LLVM 22, of llvmlite 0.50: "
            f"pip install --upgrade numba. It says: {error}"
        ) from None
    for one in module.functions:
        if one.is_declaration and not one.name.startswith("llvm."):
            raise ValueError(FOREIGN.format(one.name))
    return machine.emit_assembly(module)


def linked(texts: list[str]) -> llvm.ModuleRef:
    """One module of some texts that belong together. Raises RuntimeError for what is no text of LLVM's."""
    module, *others = (llvm.parse_assembly(text) for text in texts)
    for other in others:
        module.link_in(other)
    return module


def in_amds_words(text: str, block: tuple[int, int]) -> str:
    """LLVM's text of a kernel for NVIDIA's GPUs, as text for AMD's, with a product and a sum as one instruction."""
    for nvidias, amds in WORDS.items():
        text = re.sub(rf"@{nvidias}(?=\()", f"@{amds}", text)
    size = block[0] * block[1]
    attribute = f'"amdgpu-flat-work-group-size"="{size},{size}"'
    text = re.sub(r"^target datalayout = .*", "", text, flags=re.M)
    text = re.sub(r"^target triple = .*", f'target triple = "{TRIPLE}"\ndeclare i32 @dynamic_bytes()', text, flags=re.M)
    text = re.sub(r"^define ptx_kernel (.*\))", rf"define amdgpu_kernel \1 {attribute}", text, flags=re.M)
    # Numba numbers shared arrays through all kernels, and LLVM lays them out by their names: smem_9 behind smem_10.
    order = {name: f"_shared_{n:03}" for n, name in enumerate(dict.fromkeys(re.findall(r"@(_cudapy_smem_\d+)", text)))}
    text = re.sub(r"@(_cudapy_smem_\d+)", lambda at: f"@{order[at[1]]}", text)
    text = re.sub(r'asm [\w ]*"mov\.u32 \$0, %dynamic_smem_size;", "=r"', "@dynamic_bytes", text)
    text = re.sub(r" = (fmul|fadd|fsub) ", r" = \1 contract ", text)
    # A variable in memory lies in a kind of memory of its own.
    private = (
        r"\1private.\2\3 = alloca \4, addrspace(5)\5\n"
        r"\1\2\3 = addrspacecast ptr addrspace(5) \1private.\2\3 to ptr"
    )
    return re.sub(r'^ +(%"?)(.*?)("?) = alloca (.*?, align \d+)(.*)$', private, text, flags=re.M)


def added(block: tuple[int, int]) -> str:
    """LLVM's text of the functions that `WORDS` names."""
    axes = zip("xyz", (*block, 1), (12, 16, 20), strict=True)
    return ADDED + "".join(ADDED_FOR_AXIS.format(axis=axis, threads=n, byte=byte) for axis, n, byte in axes)


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
    width = re.search(r"_(b\d+|dword(x\d)?)$", name)
    if width and kind.split()[0] in ("LDS", "global"):
        two = "2 x " if re.search("read2|write2|2addr", name) else ""
        kind += f", {two}{BYTES[width[1]]} bytes"
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
            jump = re.match(r"s_c?branch\w* (\.LBB\w+)", line)
            if jump and jump[1] in labels:
                start = labels[jump[1]]
                mix = Counter(map(kind_of, code[start:]))
                if products(mix) and all(inner < start for inner, _ in loops):
                    loops.append((start, mix))
    mix = max((mix for _, mix in loops), key=products, default={})
    return {kind: mix[kind] for kind in sorted(mix, key=lambda kind: ("FMA" not in kind, kind))}


def products(mix: dict) -> int:
    """Instructions of a mix that multiply elements, with a sum or without."""
    return sum(n for kind, n in mix.items() if "FMA" in kind or kind == "multiplication")
