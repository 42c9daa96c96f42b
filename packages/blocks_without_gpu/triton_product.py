"""Compiles a Triton product as for a GPU, runs what came out, with no GPU, on the PTX machine, and predicts it."""

import math
import re
import subprocess
import tempfile
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

import gpu_model
import ptx_machine
from gpu_model import GPU, Occupancy, Prediction
from gpu_model.counting import SHORT, count_text
from gpu_model.gpus import ceil_div, known, known_arch

from .. import devices, ladder, needs
from ..arguments import sizes, told
from ..launch import KernelError, draw
from ..launch.cuda_source import executed
from ..launch.on_ptx import refuse_long
from .compiled_run import CompiledRun, about_stores

ELEMENT = {"float32": "*fp32", "tf32": "*fp32", "float16": "*fp16"}  # what A and B hold, in Triton's words
PROMISE = 16  # Triton's launch promises the compiler that a size is a multiple of 16 where it is
UNIT = 2.0**-24  # unit roundoff of float32, in which all sums are
TF32 = 2.0**-10  # of what TF32 keeps of a factor it loses less than this part
ABOUT_LINES = re.compile(r"^\s*\.section\b[^{]*\{[^}]*\}\n?|^\s*\.(?:loc|file)\b.*\n", re.MULTILINE)
WARPS, STAGES, SIDE = (1, 2, 4, 8, 16, 32), 16, 4096  # warps of a block; stages, and the side of a tile, at most
WRITTEN = 8192  # multiply-adds a tile of one thread, which Triton writes all out


@dataclass(frozen=True, repr=False)
class Made:
    """What Triton made of a kernel.

    ptx           the text
    swizzles      for each kind of tile in shared memory what Triton says of it, "vec = 4, perPhase = 2, maxPhase = 4":
                  in pieces of `vec` numbers, row r's piece c stands at the place c ^ (r // perPhase % maxPhase);
                  nothing of tiles that warp groups read
    shared_bytes  shared memory a block, which the launch adds
    registers     32-bit registers a thread, and `stack_bytes`, by the ptxas that comes with Triton
    """

    ptx: str
    swizzles: tuple
    shared_bytes: int
    registers: int
    stack_bytes: int


@dataclass(frozen=True, repr=False)
class BlockRun(Made, CompiledRun):
    """What came of running a Triton product: a `CompiledRun`, what `Made` has, and these besides.

    numbers  "float32", "tf32" or "float16"
    threads  of a block
    arch     the architecture that it was compiled for
    """

    numbers: str
    threads: int
    arch: str

    moved = ptx_machine.Run.moved  # in bytes, since not all its elements have four

    @property
    def occupancy(self) -> Occupancy:
        """How many of its blocks a multiprocessor of that architecture keeps at once."""
        return gpu_model.occupancy(self.arch, self.threads, self.registers, self.shared_bytes)

    @property
    def copies_left(self) -> int:
        """Groups of asynchronous copies that may be on their way while a tile is multiplied; a tile of A is one."""
        return max(map(int, re.findall(r"cp\.async\.wait_group\s+(\d+)", self.ptx)), default=0)

    @property
    def verdict(self) -> str:
        """One line where C is right and nothing was found, else the first thing that was found."""
        size = f"{self.M} x {self.N} x {self.K} of {self.numbers}"
        if self:
            return f"✓ {size}: right, each element within the bound"
        first = self.findings[0]
        return f"✗ {size}: {first.kind}: {first.message}" + f"\n    line {first.line} of the PTX: {first.text}" * bool(
            first.line
        )


def run_triton(
    kernel: Callable | str,
    M: int,
    N: int,
    K: int,
    numbers: str = "float32",
    warps: int = 4,
    stages: int = 3,
    arch: str = "sm_80",
    **constants: int,
) -> BlockRun:
    """Compile a Triton product for that architecture and run what came out, with no GPU. Returns `BlockRun`.

    kernel     a function under `@triton.jit`, or its text, of (A, B, C, M, N, K) and constants. Its program (x, y)
               computes the BM x BN tile y down and x across of C (M, N), which is float32.
    numbers    "float32", "tf32", which rounds A's and B's float32 for the matrix units, or "float16". A constant
               `PRECISION` of the kernel becomes what `tl.dot` calls that
    warps      of 32 threads, a block
    stages     Triton's `num_stages`
    constants  values of its other constants, BM and BN among them

    As Triton's own launch does, the compiler is promised that each array begins, and that each of M, N and K is, at a
    multiple of 16, where that is so. A finding "wrong numbers" is an element outside the bound of its numbers.
    Raises ValueError for what is no such kernel or constant; KernelError for what does not compile and, with its line,
    for an instruction that the PTX machine does not know; `needs.Missing` where Triton is missing.
    """
    M, N, K = sizes((M, N, K))
    refuse_long(M, N, K)
    function, made, constants = built(kernel, (M, N, K), numbers, warps, stages, known_arch(arch), constants)
    A, B = draw(M, N, K)
    if numbers == "float16":
        A, B = A.astype(np.float16), B.astype(np.float16)
    grid = ceil_div(N, constants["BN"]), ceil_div(M, constants["BM"])
    run = launched(made, grid, warps, A, B)
    findings = by_source(run.findings, function) + about_stores(run)
    return BlockRun(
        **vars(run) | {"findings": findings or about_numbers(run.arrays[2], A, B, numbers)},
        kernel=title(function, numbers, warps, stages, arch, constants),
        M=M, N=N, K=K, numbers=numbers, threads=ptx_machine.WARP * warps, arch=arch,
        **vars(made),
    )  # fmt: skip


def predict_triton(
    kernel: Callable | str,
    gpu: GPU | str,
    M: int,
    N: int,
    K: int,
    numbers: str = "float32",
    warps: int = 4,
    stages: int = 3,
    **constants: int,
) -> Prediction:
    """Predict a Triton product on a GPU that need not be there, as `predict` does. Returns `Prediction`.

    The arguments are those of `run_triton`, with a constant BK, the depth of a tile. One block is run twice, and
    counted. Products that four warps do together, as on an H100 from 64 rows on, have the peak of the data sheet; no
    measured time was held against them.
    Raises what `run_triton` and `predict` raise; `needs.Missing` where NVIDIA's compiler is missing.
    """
    gpu, (M, N, K) = known(gpu), sizes((M, N, K))
    function, made, constants = built(kernel, (M, N, K), numbers, warps, stages, known_arch(gpu.arch), constants)
    if "BK" not in constants:
        raise ValueError(f"{function.__name__} has no constant BK; the model counts what a tile of that depth takes.")
    rows, columns, _ = side = tuple(constants[name] for name in ("BM", "BN", "BK"))
    made = replace(made, ptx=ABOUT_LINES.sub("", made.ptx))  # of the source; those of the PTX take their place

    def one_block(K):
        return launched(made, (1, 1), warps, np.ones((rows, K), kept), np.ones((K, wide), kept))

    wide, kept = max(columns, SHORT), np.dtype("float16" if numbers == "float16" else "float32")
    name = title(function, numbers, warps, stages, gpu.arch, constants)
    target = re.search(r"\.target (\w+)", made.ptx)[1]  # Triton writes for sm_90a where it is asked for sm_90
    counts = count_text(name, made.ptx, target, (ptx_machine.WARP * warps, 1), side, one_block)
    counts = replace(counts, registers=made.registers, shared_bytes=made.shared_bytes, item=kept.itemsize)
    return gpu_model.predict(counts, gpu, M, N, K)


def built(kernel, sides, numbers, warps, stages, arch, constants):
    """(The kernel's function, what was `Made` of it, all its constants), for a product with those sides (M, N, K).

    Raises ValueError for what is no such kernel or constant, and KernelError for what does not compile.
    """
    if numbers not in ELEMENT:
        raise ValueError(f"numbers={told(numbers)}; they are one of {', '.join(ELEMENT)}.")
    function = function_of(kernel)
    names = [one.name for one in function.params if one.is_constexpr]
    if "PRECISION" in names:
        constants = constants | {"PRECISION": "tf32" if numbers == "tf32" else "ieee"}
    if set(names) != set(constants) or not {"BM", "BN"} <= set(names):
        raise ValueError(f"{function.__name__} has the constants {', '.join(names)}; give each, BM and BN among them.")
    for name, value in constants.items():
        if name != "PRECISION" and (type(value) is not int or not 1 <= value <= SIDE):
            raise ValueError(f"{name}={told(value)}; give a whole number from 1 to {SIDE}.")
    if warps not in WARPS:
        raise ValueError(f"warps={warps}; a block has {', '.join(map(str, WARPS))}.")
    if not 1 <= stages <= STAGES:
        raise ValueError(f"stages={stages}; give a whole number from 1 to {STAGES}.")
    written = math.prod(value for name, value in constants.items() if name != "PRECISION") // (ptx_machine.WARP * warps)
    if written > WRITTEN:
        raise ValueError(
            f"each thread would do {written:,} multiply-adds a tile, all written out, and the compiler would take "
            f"minutes. Stay at {WRITTEN:,}: smaller sides, or more warps."
        )
    promised = (0, 1, 2, *(3 + at for at, side in enumerate(sides) if side % PROMISE == 0))
    made = compiled(function, ELEMENT[numbers], promised, warps, stages, arch, tuple(sorted(constants.items())))
    return function, made, constants


def title(function, numbers, warps, stages, arch, constants):
    """A kernel's name and choices."""
    spelled = ladder.spell({name: value for name, value in constants.items() if name != "PRECISION"})
    return f"{function.__name__} (Triton) of {numbers} with {spelled}, {warps} warps, {stages} stages for {arch}"


def launched(made, grid, warps, A, B):
    """The `ptx_machine.Run` of a grid (x, y) of its blocks, on A (M, K) and B (K, N), which stay as they are."""
    (M, K), N = A.shape, B.shape[1]
    args = [A.view(), B.view(), np.full((M, N), np.nan, np.float32), M, N, K, 0, 0]  # the last two are Triton's own
    for side in args[:2]:
        side.flags.writeable = False
    block, names = (ptx_machine.WARP * warps,), dict(enumerate("ABC"))
    try:
        return ptx_machine.run(
            made.ptx, grid, block, args, names=names, limit=5000 * (K + 100), shared=made.shared_bytes
        )
    except ptx_machine.PTXError as error:
        raise KernelError(str(error)) from None


def function_of(kernel):
    """The function under `@triton.jit`; made from its text, where that is given. Raises what `run_triton` does."""
    if not devices.version("triton"):
        needs.need("blocks")
    import triton
    import triton.language as tl

    if isinstance(kernel, str) and kernel.strip():
        text = "@triton.jit\n" * ("@triton.jit" not in kernel) + textwrap.dedent(kernel).strip() + "\n"
        made, _ = executed(text, triton=triton, tl=tl)
        kernel = next((one for one in made.values() if isinstance(one, triton.JITFunction)), None)
    if not isinstance(kernel, triton.JITFunction):
        raise ValueError(f"{told(kernel)} is no Triton kernel; give a function under @triton.jit, or its text.")
    if kernel.arg_names[:6] != ["A", "B", "C", "M", "N", "K"] or any(p.is_constexpr for p in kernel.params[:6]):
        raise ValueError(
            f"{kernel.__name__} takes {', '.join(kernel.arg_names)}; a product begins with A, B, C, M, N, K."
        )
    return kernel


@lru_cache(maxsize=64)
def compiled(function, element, promised, warps, stages, arch, constants):
    """What Triton makes of the kernel, as `Made`. Raises KernelError for what does not compile."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = [one.name for one in function.params if one.is_constexpr]
    source = ASTSource(
        fn=function,
        signature=dict(zip("ABCMNK", (element, element, "*fp32", "i32", "i32", "i32"), strict=True))
        | dict.fromkeys(names, "constexpr"),
        constexprs=dict(constants),
        attrs={(argument,): [["tt.divisibility", PROMISE]] for argument in promised},
    )
    options = {"num_warps": warps, "num_stages": stages, "enable_fp_fusion": True}
    with tempfile.TemporaryDirectory(prefix="triton-") as folder, triton.knobs.cache.scope():
        triton.knobs.cache.dir = folder  # nothing stays in the home folder
        try:
            made = triton.compile(source, target=GPUTarget("cuda", int(arch[3:]), 32), options=options)
        except Exception as error:  # Triton raises many kinds
            raise KernelError(f"{function.__name__} does not compile. Triton says: {complaint(error)}") from None
        cubin = Path(folder, "kernel.cubin")
        cubin.write_bytes(made.asm["cubin"])
        command = [triton.knobs.nvidia.cuobjdump.path, "--dump-resource-usage", str(cubin)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    registers, stack = (int(re.search(rf"{what}:(\d+)", said)[1]) for what in ("REG", "STACK"))
    swizzles = tuple(
        re.findall(r"#ttg\.swizzled_shared<\{(vec = \d+, perPhase = \d+, maxPhase = \d+)", made.asm["ttgir"])
    )
    return Made(made.asm["ptx"], swizzles, made.metadata.shared, registers, stack)


def by_source(findings, function):
    """The first finding of each kind for each line of the kernel's source, and that line; it may be many of the PTX."""
    first = function.starting_line_number
    written = {first + at: line.strip() for at, line in enumerate(function.raw_src)}
    kept = {}
    for finding in findings:
        from_line = f"\n    from {written[finding.source]}" if finding.source in written else ""
        where = finding.kind, finding.source if from_line else finding.line
        kept.setdefault(where, replace(finding, text=finding.text + from_line))
    return tuple(kept.values())


def complaint(error):
    """What a compiler's error says in its last lines: with Triton's, the line that it is about, without the arrow."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^")]
    return " ".join(lines[-2:])[:300] or type(error).__name__


def about_numbers(C, A, B, numbers):
    """A finding where an element of C is not A @ B within the bound of its numbers; an empty tuple elsewhere.

    The bound is that of sums in float32, in any order (Higham, section 3.5); TF32 besides cuts both factors short,
    since Triton does not round them.
    """
    A, B = A.astype(np.float64), B.astype(np.float64)
    cut = TF32 if numbers == "tf32" else 0
    part = (1 + cut) ** 2 / (1 - UNIT * A.shape[1]) - 1  # 1 / (1 - K u) is 1 + gamma
    wrong = ~(np.abs(C - A @ B) <= part * (np.abs(A) @ np.abs(B)))
    many = int(np.count_nonzero(wrong))
    if not many:
        return ()
    row, column = np.argwhere(wrong)[0]
    times = f" ({many} elements)" * (many > 1)
    return (ptx_machine.Finding("wrong numbers", f"C[{row}, {column}] is outside the bound of {numbers}{times}"),)


class SideBySide:
    """What compiled kernels did, {name: run}: a table with a line for each.

    Its columns: instructions of threads for each multiply-add; requests of warps to global memory, asynchronous copies
    among them, and the bytes that one brings to a thread; the same of shared memory; rounds of the banks, for loads and
    stores, and how many of them conflicts cost.
    """

    def __init__(self, runs: Mapping[str, CompiledRun]):
        self.runs = runs

    def __repr__(self):
        width = max(map(len, self.runs))
        lines = [f"{'':{width}} instructions  global bytes  shared bytes   rounds conflicts"]
        for name, run in self.runs.items():
            loads = []
            for memory in ("global", "shared"):
                many = run.total("instructions", memory, "load")
                loads.append(f"{many:7,} {run.total('bytes', memory, 'load') / max(1, ptx_machine.WARP * many):5.3g}")
            did = f"{run.instructions_per_multiply_add:12.2f} {' '.join(loads)}"
            lines.append(f"{name:{width}} {did} {run.bank_rounds:8,} {run.bank_conflicts:9,}")
        return "\n".join(lines)


def side_by_side(runs: Mapping[str, CompiledRun]) -> SideBySide:
    """What compiled kernels did, a line each: instructions, loads and how wide they are, rounds of the banks."""
    if not runs:
        raise ValueError("a table needs one run at least, as {name: run}.")
    return SideBySide(runs)
