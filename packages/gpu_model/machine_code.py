"""What NVIDIA's compiler makes of PTX: registers, spills, the instructions of its inner loop. Needs no GPU.

`ptxas` turns PTX into machine code and says what that takes, `nvdisasm` shows it. Both come with NVIDIA's toolkit, and
with `pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm`.
"""

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from .gpus import Occupancy, occupancy

SECONDS = 120  # that a tool may take

# Addresses, counters, their tests.
INTEGERS = r"U?(IMAD|IADD|LEA|SHF|LOP|ISETP|SEL|MOV|PRMT|IABS|IMNMX)|VIADD|R2UR|PLOP"


class CountError(Exception):
    """PTX that does not compile, or that is no product which can be counted. Its text says why."""


@dataclass(frozen=True)
class InnerLoop:
    """The machine instructions of the innermost loop with multiply-adds that is left after unrolling.

    code    one instruction a line, as text
    mix     {kind: how many}, such as {"FMA": 64, "shared load, 4 bytes": 16, "other": 9}
    """

    code: str
    mix: dict

    @property
    def size(self) -> int:
        """Instructions in the loop, of all kinds."""
        return sum(self.mix.values())

    @property
    def stages(self) -> bool:
        """Whether it also brings tiles from global to shared memory: once the loop over k inside it is unrolled."""
        return any(kind.startswith("global load") for kind in self.mix) and any(
            kind.startswith("shared") for kind in self.mix
        )

    @property
    def fma_share(self) -> float:
        """Multiply-adds, as a share of the loop's instructions."""
        return self.mix.get("FMA", 0) / self.size


@dataclass(frozen=True)
class CompilerReport:
    """What a kernel takes on GPUs of one architecture.

    registers     32-bit registers a thread
    stack_bytes   memory a thread uses in place of registers: they were too few, or indexed at run time
    spill_bytes   (stored, loaded): that part of it that was moved out because registers ran out
    shared_bytes  shared memory a block
    loop          `InnerLoop`; None if no loop multiplies and adds
    occupancy     `gpu_model.Occupancy`
    """

    kernel: str
    arch: str
    threads: int
    registers: int
    stack_bytes: int
    spill_bytes: tuple
    shared_bytes: int
    loop: InnerLoop | None
    occupancy: Occupancy

    def __repr__(self):
        stored, loaded = self.spill_bytes
        lines = [
            f"{self.kernel}, compiled for {self.arch}",
            f"  registers   {self.registers} a thread, {self.threads} threads a block",
            f"  stack       {self.stack_bytes} bytes a thread; spills: {stored} bytes stored, {loaded} loaded",
            f"  shared      {self.shared_bytes} bytes a block",
            f"  occupancy   {self.occupancy}",
        ]
        if self.loop is None:
            return "\n".join([*lines, "  inner loop  none that multiplies and adds"])
        staging = ", staging of the tiles included" if self.loop.stages else ""
        lines.append(f"  inner loop  {self.loop.size} instructions, {self.loop.fma_share:.0%} of them FMA{staging}")
        return "\n".join(lines + [f"  {n:10}  {kind}" for kind, n in self.loop.mix.items()])


def report(name: str, ptx: str, arch: str, threads: int) -> CompilerReport:
    """Compile a kernel's PTX for an NVIDIA architecture, with no GPU, and read what came out. Returns `CompilerReport`.

    name     of the kernel, for the report and for messages
    arch     such as "sm_90", one of `gpus.ARCHS`
    threads  of a block
    Raises ValueError for an unknown architecture, CountError for what does not compile and where a tool is missing.
    """
    said, listing = assembled(name, ptx, arch)

    def number(pattern):
        found = re.search(pattern, said)
        return int(found[1]) if found else 0

    registers, stack_bytes = number(r"Used (\d+) registers"), number(r"(\d+) bytes stack frame")
    spills = number(r"(\d+) bytes spill stores"), number(r"(\d+) bytes spill loads")
    shared_bytes = number(r"(\d+) bytes smem")
    kept = occupancy(arch, threads, registers, shared_bytes)
    return CompilerReport(name, arch, threads, registers, stack_bytes, spills, shared_bytes, inner_loop(listing), kept)


@lru_cache(maxsize=16)  # a report and a prediction of the same kernel follow each other
def assembled(name: str, ptx: str, arch: str, tools: tuple | None = None, lines: bool = False) -> tuple[str, str]:
    """What ptxas says of a kernel's PTX, and nvdisasm's listing of what it made; `lines`: with the lines of the PTX.

    name   of the kernel, for messages
    tools  (path of ptxas, path of nvdisasm); where none are given, those that `nvidia_tool` finds
    Raises CountError for what does not compile, and where a tool is missing.
    """
    ptxas, nvdisasm = tools or map(nvidia_tool, ("ptxas", "nvdisasm"))
    if not ptxas or not nvdisasm:
        raise CountError(
            "ptxas or nvdisasm is missing: pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm, or give tools=(path of "
            "ptxas, path of nvdisasm)."
        )
    with tempfile.TemporaryDirectory(prefix="machine-code-") as folder:
        text, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_text(ptx)
        flags = ["--generate-line-info"] * lines
        said = told_by(name, ptxas, "--verbose", *flags, f"--gpu-name={arch}", str(text), "--output-file", str(cubin))
        return said, told_by(name, nvdisasm, "--print-code", *["--print-line-info"] * lines, str(cubin))


def nvidia_tool(name: str) -> str | None:
    """The path of `ptxas` or `nvdisasm`: pip's, conda's or an installed toolkit's; None if there is none."""
    try:
        from cuda.pathfinder import find_nvidia_binary_utility

        return find_nvidia_binary_utility(name)
    except Exception:  # it is not installed; cuda-pathfinder 1.6, on Colab, refuses "ptxas"
        return shutil.which(name)


def told_by(name, *command):
    """What the command said. Raises CountError with its first complaint."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    said = done.stdout + done.stderr
    if done.returncode:
        complaint = next((line for line in said.splitlines() if "error" in line or "fatal" in line), said.strip()[:200])
        complaint = complaint.partition(": ")[2] or complaint
        raise CountError(f"{name} does not compile. {Path(command[0]).name} says: {complaint}")
    return said


def inner_loop(listing):
    """The innermost `InnerLoop` with the most multiply-adds in nvdisasm's listing; None if there is none."""
    code, loops, _ = instructions(listing)
    code = [text for text, _ in code]
    loops = [(a, b) for a, b in loops if any(kind(text) == "FMA" for text in code[a:b])]
    loops = [(a, b) for a, b in loops if not any((c, d) != (a, b) and a <= c and d <= b for c, d in loops)]
    if not loops:
        return None
    a, b = max(loops, key=lambda loop: sum(kind(text) == "FMA" for text in code[slice(*loop)]))
    counted = Counter(map(kind, code[a:b]))
    order = sorted(counted, key=lambda name: (name != "FMA", name in ("integer arithmetic", "other"), name))
    return InnerLoop("\n".join(code[a:b]), {name: counted[name] for name in order})


def instructions(listing: str) -> tuple[list, list, list]:
    """nvdisasm's listing as [(instruction, line of the PTX, or 0)], its loops and its basic blocks.

    A loop or a basic block is (first, end) among the instructions. All instructions of a basic block run equally often.
    """
    code, labels, loops, leaders, line = [], {}, [], {0}, 0
    for row in listing.splitlines():
        if label := re.match(r"\s*(\.L_x?_?\d+):", row):
            labels[label[1]] = len(code)
            leaders.add(len(code))
        elif said := re.match(r'\s*//## File ".*", line (\d+)', row):
            line = int(said[1])
        elif found := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", row):
            code.append((found[1], line))
            back = re.search(r"\bBRA\b.*?\(?(\.L_x?_?\d+)\)?", found[1])
            if back and back[1] in labels:
                loops.append((labels[back[1]], len(code)))
            if re.search(r"\b(BRA|BRX|EXIT|RET)\b", found[1]):
                leaders.add(len(code))
    return code, loops, list(pairwise(sorted(leaders | {len(code)})))


def kind(instruction):
    """What an instruction of the machine does, in words."""
    if instruction.startswith("@!PT "):
        return "other"  # never done: ptxas leaves room with them
    name = re.sub(r"^@!?U?P\w+\s+", "", instruction).split()[0]
    if name.startswith("FFMA"):
        return "FMA"
    if re.match(r"(H|I|HG)MMA\b", name):
        return "matrix product"
    if matrices := re.match(r"LDSM\..*MT?88(?:\.(2|4))?", name):
        return f"shared load of matrices, {4 * int(matrices[1] or 1)} bytes"
    if copied := re.match(r"LDGSTS\b(?:.*\.(64|128)\b)?", name):
        return f"copy from global to shared, {int(copied[1] or 32) // 8} bytes"
    if found := re.match(r"(LD|ST)([SGL])\b(?:.*\.(64|128)\b)?", name):
        memory, act = {"S": "shared", "G": "global", "L": "stack"}[found[2]], {"LD": "load", "ST": "store"}[found[1]]
        return f"{memory} {act}, {int(found[3] or 32) // 8} bytes"
    return "integer arithmetic" if re.match(INTEGERS, name) else "other"
