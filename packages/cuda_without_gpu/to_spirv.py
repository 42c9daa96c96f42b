"""SPIR-V of LLVM's texts of a kernel: CUDA's names get OpenCL's meaning, all becomes one function, a child emits it."""

import functools
import json
import os
import re
import subprocess
import sys

import llvmlite
import llvmlite.binding as llvm

from . import emit_spirv
from .errors import MayMissBarrier, NotNative
from .opencl_names import IN_WORDS, OF_WARPS, ONE_BY_ONE, definition

SECONDS = 120  # for LLVM, before a kernel stays on the PTX machine

INLINE_PTX = re.compile(r'asm +(?:sideeffect +)?"([^"]*)", ?"[^"]*" *(\([^()\n]*\))')
WORDS_OF_PTX = re.compile(r"(?<![$%])[a-z][a-z_.0-9]*|(?<=%)[a-z_]+")


@functools.cache
def refuse_old_llvm() -> None:
    """Raise NotNative where llvmlite has no back end for SPIR-V."""
    try:
        emit_spirv.target_machine(emit_spirv.TRIPLE)
    except RuntimeError:
        raise NotNative(f"llvmlite {llvmlite.__version__} has no back end for SPIR-V; 0.45 and later have") from None


def spirv_of(
    texts: tuple[str, ...],
    entry: str,
    block: tuple[int, int, int],
    shared: int = 0,
    grid: tuple[int, int, int] | None = None,
    numbers: tuple[int | None, ...] | None = None,
) -> tuple[bytes, tuple[str, ...], list[str]]:
    """(SPIR-V, LLVM's types of the kernel's flat arguments, the passes that changed the text) of a kernel `kernel`.

    texts     LLVM's, as Numba makes them
    entry     the kernel's name in them
    block     threads of a block along x, y, z
    shared    bytes of the shared memory whose size a launch sets
    grid, numbers   where they are given, the SPIR-V is for this grid, and these integers among the arguments, only

    Raises NotNative for what is not there natively, MayMissBarrier for a barrier that some threads may miss.
    """
    refuse_old_llvm()
    module, kinds, warps = linked(texts, entry, block, shared, grid)
    if warps and block[0] % 32:
        raise NotNative("threads of a warp talk to each other, and a row of a block is no whole number of warps")
    module.link_in(parsed(wrapper(entry, kinds, block, warps, numbers)))
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration and one.name != "kernel":
            one.linkage = "internal"
    # As text: llvmlite before 0.48 takes it for an attribute of what the function returns.
    inlined = re.sub(r"(?m)^(define internal .*?)((?: !dbg !\d+)?) \{$", r"\1 alwaysinline\2 {", str(module))
    layout = emit_spirv.target_machine(emit_spirv.TRIPLE).target_data
    text = f'target datalayout = "{layout}-A5"\n' + with_spaces(inlined, shared)
    answer, spirv = emitted_in_child(text)
    if answer["refused"]:
        raise (MayMissBarrier if answer["missed"] else NotNative)(answer["refused"])
    return spirv, kinds, answer["found"]


def parsed(text):
    """A module of LLVM's text."""
    try:
        return llvm.parse_assembly(text)
    except RuntimeError as error:
        raise NotNative(f"LLVM does not take its text: {' '.join(str(error).split())[-300:]}") from None


def renamed(text):
    """Numba's text, in which what only NVIDIA's compiler knows has names that a module may define."""
    text = re.sub(r'^(@"?llvm\.(compiler\.)?used|target |!nvvm).*\n', "", text, flags=re.MULTILINE)
    text = re.sub(r"\b(noinline|optnone)\b ?", "", text)
    text = text.replace("llvm.nvvm.", "nvvm.")
    # NVIDIA's compiler makes one instruction of a product and a sum, unasked.
    text = re.sub(r"= (fmul|fadd) (?!contract)", r"= \1 contract ", text)
    return with_functions_for_ptx(text)


def with_functions_for_ptx(text):
    """LLVM's text that calls a function such as "asm.activemask.b32" where PTX stood in it."""
    declared = {}

    def called(at):
        name = f'@"asm.{".".join(WORDS_OF_PTX.findall(at[1]))}"'
        gives = at.string[: at.start()].rpartition("call ")[2].strip()
        takes = re.sub(r" [%@]?[\w.\"]+(?=[,)])", "", at[2])
        declared[name] = f"declare {gives} {name}{takes}\n"
        return name + at[2]

    text = INLINE_PTX.sub(called, text)
    if left := re.search(r'\basm +(?:sideeffect +)?"([^"]*)"|module asm "([^"]*)"', text):
        raise NotNative(f"PTX that stands in the kernel: {left[1] or left[2]}")
    return text + "".join(declared.values())


def linked(texts, entry, block, shared, grid):
    """(a module of Numba's texts and of all that they ask for, the types of the kernel's arguments, warps or not)."""
    module = parsed(renamed(texts[0]))
    for text in texts[1:]:
        module.link_in(parsed(renamed(text)))
    asked = [one for one in module.functions if one.is_declaration and not one.name.startswith("llvm.")]
    warps = any(one.name in OF_WARPS for one in asked)
    made = []
    for function in asked:
        kind = function.global_value_type
        gives, *takes = map(str, kind.elements)
        made.append(definition(function.name, gives, takes, block, shared, grid))
    for text in filter(None, [ONE_BY_ONE, *made]):
        module.link_in(parsed(text))
    unknown = [one.name for one in module.functions if one.is_declaration and not one.name.startswith(("llvm.", "_Z"))]
    if unknown:
        words = dict.fromkeys(IN_WORDS.get(name, name.replace("asm.", "PTX's ")) for name in unknown)
        raise NotNative(f"not there natively: {', '.join(words)}")
    kinds = tuple(str(argument.type) for argument in module.get_function(entry).arguments)
    return module, kinds, warps


def wrapper(entry, kinds, block, warps, numbers):
    """A kernel of OpenCL's, whose arrays are global memory, that calls Numba's, to which all memory is alike."""
    takes, casts, passed = [], "", []
    for i, kind in enumerate(kinds):
        if kind == "ptr":
            takes.append(f"ptr addrspace(1) %{i}")
            casts += f"  %g{i} = addrspacecast ptr addrspace(1) %{i} to ptr\n"
            passed.append(f"ptr %g{i}")
        else:
            takes.append(f"{kind} %{i}")
            known = numbers and numbers[i] is not None
            passed.append(f"{kind} {numbers[i] if known else f'%{i}'}")
    size_of_warp = "!intel_reqd_sub_group_size !1 " if warps else ""
    return f"""declare void @"{entry}"({", ".join(kinds)})
define spir_kernel void @kernel({", ".join(takes)}) !reqd_work_group_size !0 {size_of_warp}{{
{casts}  call void @"{entry}"({", ".join(passed)})
  ret void
}}
!0 = !{{i32 {block[0]}, i32 {block[1]}, i32 {block[2]}}}
!1 = !{{i32 32}}
"""


def with_spaces(text, shared):
    """LLVM's text with a thread's own in space 5, as on AMD's GPUs, and all dynamic shared arrays as one memory."""
    dynamic = re.compile(r"^(@\S+) = external .*addrspace\(3\) global \[0 x .*$", re.MULTILINE)
    text = dynamic.sub(r"\1 = internal alias i8, ptr addrspace(3) @dynamic", text)
    text += f"@dynamic = internal addrspace(3) global [{max(shared, 1)} x i8] undef, align 16\n"

    def alloca(at):
        own = f'%"private {at[1] or at[2]}"'
        cast = f'%"{at[1] or at[2]}" = addrspacecast ptr addrspace(5) {own} to ptr'
        return f"{own} = {at[3]}, addrspace(5){at[4]}\n{cast}"

    return re.sub(r'^ *%(?:"(.*?)"|(\S+)) = (alloca [^!\n]*?)((?:, !.*)?)$', alloca, text, flags=re.MULTILINE)


def environment() -> dict[str, str]:
    """A child's, which imports what this process does."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def emitted_in_child(text):
    """What `emit_spirv` answers."""
    options = dict(input=text.encode(), capture_output=True, timeout=SECONDS, env=environment())
    try:
        done = subprocess.run([sys.executable, "-m", emit_spirv.__name__], **options)
    except subprocess.TimeoutExpired:
        raise NotNative(f"LLVM takes over {SECONDS} s for it") from None
    if done.returncode:
        said = re.search("LLVM ERROR.*|.*Error: .*", done.stderr.decode(errors="replace"))
        raise NotNative(f"LLVM fails to make SPIR-V of it: {said[0] if said else f'exit code {done.returncode}'}")
    answer, _, spirv = done.stdout.partition(b"\n")
    return json.loads(answer), spirv
