"""What NVIDIA's compiler makes of a CUDA kernel: registers, spills, the instructions of its inner loop. Needs no GPU.

Numba writes PTX, `ptxas` turns it into machine code and says what that takes, `nvdisasm` shows it. All of them come
with the extra `cuda13`, or with NVIDIA's toolkit.
"""

import os
import re
import subprocess
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from gpu_model import Occupancy

from .. import devices, ladder, needs
from ..launch import Kernel, KernelError, cuda_kernel
from ..launch.cuda import SIGNATURE
from ..launch.cuda_source import from_function, from_ladder, from_text
from ..launch.numba_internals import compile_ptx, plain_function
from ..sandbox import SECONDS, Job, in_child
from ..sandbox.job import packed, portable
from .gpus import known_arch, occupancy

KEPT = 16  # PTX texts, and listings; a report, a prediction and a run of the same kernel follow each other
recent = {}  # what was compiled, as bytes -> its PTX, the latest last

# Addresses, counters, their tests.
WHOLE_NUMBERS = r"U?(IMAD|IADD|LEA|SHF|LOP|ISETP|SEL|MOV|PRMT|IABS|IMNMX)|VIADD|R2UR|PLOP"


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

    registers                  32-bit registers a thread
    stack_bytes                memory a thread uses in place of registers: they were too few, or indexed at run time
    spill_bytes                (stored, loaded): that part of it that was moved out because registers ran out
    shared_bytes               shared memory a block
    loop                       `InnerLoop`; None if no loop multiplies and adds
    occupancy                  `gpu_model.Occupancy`
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


def compiler_report(k: Kernel | str, arch: str = "sm_90") -> CompilerReport:
    """Compile a CUDA kernel for an NVIDIA architecture, with no GPU, and read what came out. Returns `CompilerReport`.

    `k`: a kernel that `cuda_kernel` built, or the name of a step, which then has a GPU's parameters. `arch`: "sm_75",
    "sm_80", "sm_89" or "sm_90", or a GPU's name of `GPUS`. The kernel is compiled, never run.
    Raises ValueError for an OpenCL kernel or an unknown architecture, KernelError for a kernel that does not compile,
    `needs.Missing` where NVIDIA's compiler is missing.
    """
    k, arch = for_gpu(k), known_arch(arch)
    said, machine_code = assembled(k, ptx_of(k, arch), arch)

    def number(pattern):
        found = re.search(pattern, said)
        return int(found[1]) if found else 0

    threads = k.block[0] * k.block[1]
    registers, shared_bytes = number(r"Used (\d+) registers"), number(r"(\d+) bytes smem")
    return CompilerReport(
        f"{k} with {ladder.spell(k.parameters)}",
        arch,
        threads,
        registers,
        number(r"(\d+) bytes stack frame"),
        (number(r"(\d+) bytes spill stores"), number(r"(\d+) bytes spill loads")),
        shared_bytes,
        inner_loop(machine_code),
        occupancy(arch, threads, registers, shared_bytes),
    )


def assembled(k: Kernel | str, code: str, arch: str, lines: bool = False) -> tuple[str, str]:
    """What ptxas says of a kernel's PTX, and nvdisasm's listing of what it made; `lines`: with the lines of the PTX.

    `k`: the kernel, or its name, for messages. Raises KernelError for what does not compile, `needs.Missing` where
    NVIDIA's compiler is missing.
    """
    needs.need("compiler")
    ptxas, nvdisasm = map(devices.nvidia_tool, ("ptxas", "nvdisasm"))
    return assembled_by(ptxas, nvdisasm, str(k), code, arch, lines)


@lru_cache(maxsize=KEPT)
def assembled_by(ptxas, nvdisasm, k, code, arch, lines):
    """The same, by these tools."""
    with tempfile.TemporaryDirectory(prefix="compiler-report-") as folder:
        text, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_text(code)
        flags = ["--generate-line-info"] * lines
        said = told_by(k, ptxas, "--verbose", *flags, f"--gpu-name={arch}", str(text), "--output-file", str(cubin))
        return said, told_by(k, nvdisasm, "--print-code", *["--print-line-info"] * lines, str(cubin))


def for_gpu(k: Kernel | str) -> Kernel:
    """The CUDA kernel, or that of a step with a GPU's parameters. Raises ValueError for what is neither."""
    if not isinstance(k, Kernel):
        if "\n" in str(k):
            raise ValueError("this is source text; build it first: cuda_kernel(source, like=...), with its parameters.")
        k = cuda_kernel(k, **ladder.step(k, "CUDA").defaults["GPU"])
    if k.dialect != "CUDA":
        raise ValueError(
            f"{k} is compiled inside its {k.dialect} driver, where one cannot look. Ask for the CUDA kernel of the "
            f"same step and parameters."
        )
    return k


def ptx_of(k: Kernel, arch: str) -> str:
    """The PTX of a CUDA kernel for that architecture, such as "sm_80" or "sm_120", compiled in a child process.

    Raises ValueError for what is no architecture, KernelError for what does not compile, `needs.Missing` where NVIDIA's
    compiler is missing.
    """
    found = re.fullmatch(r"sm_(\d+)(\d)", arch)
    if not found:
        raise ValueError(f'{arch!r} is no architecture; one is written like "sm_80".')
    capability, least = (int(found[1]), int(found[2])), ladder.STEPS[k.step].capability
    if capability < least:
        raise KernelError(
            f"{k} needs the matrix units of sm_{least[0]}{least[1]} or later; {arch} has none that do this."
        )
    needs.need("compiler")
    key = packed((portable(k), k.step, k.parameters, arch))
    text = recent.pop(key, None) or compiled(k, capability)
    while len(recent) >= KEPT:
        del recent[next(iter(recent))]
    recent[key] = text
    return text


def compiled(k, capability):
    """The same, compiled now."""
    outcome = in_child(k, ptx, SECONDS, None, compiler=True, capability=capability)
    if outcome.findings:
        raise KernelError(f"{k} does not compile:\n{outcome.findings[0].message}")
    return outcome.value


def ptx(job: Job, capability: tuple[int, int]) -> str:
    """In the child: PTX of the kernel for GPUs of that compute capability, (major, minor). Raises KernelError."""
    text = isinstance(job.kernel, str)
    function = from_text(job.kernel, job.parameters) if text else from_function(job.kernel)[0]
    try:
        return compile_ptx(plain_function(function), SIGNATURE, capability)
    except Exception as error:  # Numba raises many kinds; the learner needs its words, not the stages of its pipeline
        said = [line for line in str(error).strip().splitlines() if line.strip()]
        said = [line for line in said if not line.startswith(("Failed in", "During:"))]
        raise KernelError("\n".join(said)) from error


def warm_up() -> None:
    """In the process that children are forked from: compile a kernel, so that they find loaded what Numba loads late.

    Does nothing where NVIDIA's compiler is missing, or is not asked.
    """
    if os.environ.get(devices.CUDA_OF_CHILD) == "compiler" and devices.nvidia_tool("ptxas"):
        with suppress(Exception):  # a child that compiles says what is wrong
            compile_ptx(plain_function(from_ladder("tiled", {"TILE": 4})), SIGNATURE, (8, 0))


def told_by(k, *command):
    """What the command said. Raises KernelError with its first complaint."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    said = done.stdout + done.stderr
    if done.returncode:
        complaint = next((line for line in said.splitlines() if "error" in line or "fatal" in line), said.strip()[:200])
        raise KernelError(
            f"{k} does not compile. {Path(command[0]).name} says: {complaint.partition(': ')[2] or complaint}"
        )
    return said


def inner_loop(listing):
    """The `InnerLoop` in nvdisasm's listing; None if no loop multiplies and adds.

    Of the loops with multiply-adds, and no such loop inside, it is the one with the most of them.
    """
    code, loops, _ = instructions(listing)
    code = [text for text, _ in code]
    loops = [(a, b) for a, b in loops if any(kind(text) == "FMA" for text in code[a:b])]
    loops = [(a, b) for a, b in loops if not any((c, d) != (a, b) and a <= c and d <= b for c, d in loops)]
    if not loops:
        return None
    a, b = max(loops, key=lambda loop: sum(kind(text) == "FMA" for text in code[slice(*loop)]))
    counted = Counter(map(kind, code[a:b]))
    order = sorted(counted, key=lambda name: (name != "FMA", name in ("whole-number arithmetic", "other"), name))
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
    return "whole-number arithmetic" if re.match(WHOLE_NUMBERS, name) else "other"
