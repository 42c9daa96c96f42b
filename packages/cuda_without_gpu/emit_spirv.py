"""LLVM's text of a kernel in, SPIR-V out: a program of its own, since LLVM's options are those of a whole process.

What LLVM cannot do ends that process, too. The answer is a line of JSON, and SPIR-V after it:

refused   why there is no SPIR-V, or ""
missed    whether that is a barrier which some threads may miss
found     the names of `PASSES` that changed the text; "fours", where sums of fours were made
"""

import json
import re
import sys
from collections import Counter

import llvmlite.binding as llvm

from .missed_barriers import NAME, may_be_missed

TRIPLE = "spirv64-unknown-unknown"
OPTIMISED_FOR = "amdgcn-amd-amdhsa"  # LLVM finds the space of each pointer for these GPUs, and not for SPIR-V
FOURS_FOR = "x86_64-unknown-linux-gnu"  # a machine that adds four numbers at once
OPTIONS = [
    "-amdgpu-simplify-libcall=0",
    "-disable-promote-alloca-to-vector",
    "-slp-max-vf=4",
    "-spirv-ext=+SPV_EXT_shader_atomic_float_add,+SPV_EXT_shader_atomic_float_min_max,+SPV_KHR_bit_instructions",
]
SPACES = {None: 4, "0": 4, "1": 1, "3": 3, "4": 1, "5": 0}  # AMD's address spaces, and NVIDIA's, as SPIR-V's


def target_machine(triple: str) -> llvm.TargetMachine:
    """One of LLVM's back ends: a new one each time, since it keeps pointers into the last module that it had.

    At a higher level the one for SPIR-V has made wrong code, and code in which fours are slow.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(triple).create_target_machine(opt=0)


def optimise(module: llvm.ModuleRef) -> bool:
    """Inline all functions, find the space of each pointer, unroll loops over a thread's own array, and optimise.

    The device makes vectors itself, of neighbouring threads. Returns whether sums of fours were made, too, as where a
    kernel loads fours.
    """
    passes = llvm.create_new_module_pass_manager()
    passes.add_strip_symbols_pass()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(target_machine(OPTIMISED_FOR), options)
    passes.run(module, builder)
    builder.getModulePassManager().run(module, builder)
    if "load <4 x float>" not in str(module):
        return False
    before = str(module).count("fadd contract <4 x float>")
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(target_machine(FOURS_FOR), options)
    builder.getModulePassManager().run(module, builder)
    return str(module).count("fadd contract <4 x float>") > before


def renumbered(text: str) -> str:
    """LLVM's text with SPIR-V's numbers of the address spaces; a pointer of a space that is not known is generic."""

    def space(at):
        number = SPACES[at[1] or at[2]]
        return f"ptr addrspace({number})" if at[0].startswith("ptr") else f"addrspace({number})"

    text = re.sub(r'(target datalayout = ".*)-A5"', r'\1"', text)
    return re.sub(r'(?<![\w%@."$-])(?:ptr addrspace\((\d)\)|addrspace\((\d)\)|ptr(?![\w."$-]))', space, text)


def with_sums(text: str) -> str:
    """`or` of numbers that share no bit is a sum, as addresses must be: %i = or disjoint i64 %a, 1 -> add nuw nsw."""
    return text.replace("= or disjoint ", "= add nuw nsw ")


def fused(text: str) -> str:
    """A product that is used once, in a sum, is one instruction with it, as on a GPU; the device makes none itself.

    %p = fmul contract float %a, %b
    %s = fadd contract float %c, %p    ->    %s = call float @llvm.fma.f32(float %a, float %b, float %c)
    """
    functions = {"float": "f32", "double": "f64", "<4 x float>": "v4f32"}
    line = rf"^  ({NAME}) = {{}} (?:[a-z]+ )*(?:contract|fast) (?:afn )?({'|'.join(functions)}) ([^,\n]+), ([^,\n]+)$"
    products = {at[1]: at.groups()[2:] for at in re.finditer(line.format("fmul"), text, re.MULTILINE)}
    uses = Counter(re.findall(NAME, text))

    def one(at):
        kind = at[2]
        for product, other in ((at[3], at[4]), (at[4], at[3])):
            if product in products and uses[product] == 2:  # where it is made, and here
                operands = ", ".join(f"{kind} {operand}" for operand in (*products[product], other))
                return f"  {at[1]} = call {kind} @llvm.fma.{functions[kind]}({operands})"
        return at[0]

    text = re.sub(line.format("fadd"), one, text, flags=re.MULTILINE)
    for kind, end in functions.items():
        name = f"{kind} @llvm.fma.{end}("
        if f"call {name}" in text and f"declare {name}" not in text:
            text += f"declare {name}{kind}, {kind}, {kind})\n"
    return text


def in_fours(text: str) -> str:
    """p + 16 x, in bytes, is the x-th four from p on: else the device gathers where neighbours load neighbouring fours.

    %b = shl nuw nsw i64 %x, 4
    %q = getelementptr i8, ptr addrspace(3) %p, i64 %b
        ->    %q = getelementptr <4 x float>, ptr addrspace(3) %p, i64 %x
    """
    shifted = dict(re.findall(rf"^  ({NAME}) = shl [a-z ]*i64 ({NAME}), 4$", text, re.MULTILINE))

    def one(at):
        return f"{at[1]}<4 x float>, {at[2]}, i64 {shifted[at[3]]}" if at[3] in shifted else at[0]

    address = rf"^(  {NAME} = getelementptr )(?:[a-z]+ )*i8, (ptr addrspace.*), i64 ({NAME})$"
    return re.sub(address, one, text, flags=re.MULTILINE)


def by_address(text: str) -> str:
    """A shared array is chosen by an address in it: one that is only chosen by its name gets the size of one element.

    %p = select i1 %c, ptr addrspace(3) @0, ptr addrspace(3) @1
        ->    %"chosen 0" = getelementptr i8, ptr addrspace(3) @0, i64 0, where the kernel begins, in the place of @0
    """
    chosen = {}

    def one(at):
        place = r"getelementptr (?:[a-z]+ )*\((?:[^()]|\([^()]*\))*\)|@[\w.$-]+"
        return re.sub(place, lambda of: chosen.setdefault(of[0], f'%"chosen {len(chosen)}"'), at[0])

    text = re.sub(rf"^  {NAME} = (?:select|phi) .*ptr addrspace\(3\) .*@.*$", one, text, flags=re.MULTILINE)
    begins = "".join(f"  {name} = getelementptr i8, ptr addrspace(3) {of}, i64 0\n" for of, name in chosen.items())
    return re.sub(r"^define spir_kernel .*\n", lambda at: at[0] + begins, text, flags=re.MULTILINE)


# What LLVM's back end needs, or else it is wrong, and what the device's compiler wants to see. Without it a product's
# kernels keep, of their speed at 512: with_sums 0.25 (coalesced), fused 0.72 (register_2d), in_fours 0.35 (prefetched);
# sums of fours 0.79 (vectorized).
PASSES = (by_address, with_sums, fused, in_fours)


def emitted(text: str) -> tuple[dict, bytes]:
    """(what stands in the line of JSON, SPIR-V) of a module whose kernel is `kernel`."""
    for option in OPTIONS:
        llvm.set_option("", option)
    module = llvm.parse_assembly(text)
    module.verify()
    answer = dict(refused="", missed=False, found=["fours"] * optimise(module))
    if left := [one.name for one in module.functions if not one.is_declaration and one.name != "kernel"]:
        answer["refused"] = f"a function that calls itself: {', '.join(left)}"
        return answer, b""
    text = renumbered(str(module))
    if may_be_missed(text):
        answer["refused"] = "a barrier that some threads of a block may miss: in a branch, in a loop, or after a return"
        answer["missed"] = True
        return answer, b""
    for change in PASSES:
        if (changed := change(text)) != text:
            text = changed
            answer["found"].append(change.__name__)
    module = llvm.parse_assembly(text)
    module.triple = TRIPLE
    module.verify()
    return answer, target_machine(TRIPLE).emit_object(module)


if __name__ == "__main__":
    said, code = emitted(sys.stdin.read())
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + code)
