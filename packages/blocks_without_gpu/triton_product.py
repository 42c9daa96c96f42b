"""Compiles a Triton product as for a GPU, runs what came out, with no GPU, on the PTX machine, and predicts it."""

import math
import re
import reprlib
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

import gpu_model
import ptx_machine
from gpu_model import GPU, Occupancy, Prediction
from gpu_model.counting import SHORT, count_text
from gpu_model.gpus import ceil_div, integer, known, known_arch

from .product_run import BlockError, CompiledRun, Judged, about_numbers, about_stores, complaint, operands

ELEMENT = {"float32": "*fp32", "tf32": "*fp32", "float16": "*fp16"}  # what A and B hold, in Triton's words
PROMISE = 16  # Triton's launch promises the compiler that a size is a multiple of 16 where it is
ABOUT_LINES = re.compile(r"^\s*\.section\b[^{]*\{[^}]*\}\n?|^\s*\.(?:loc|file)\b.*\n", re.MULTILINE)
WARPS = (1, 2, 4, 8, 16, 32)  # of a block
UNROLLED, STAGES = 8192, 16  # multiply-adds of a thread for a tile, which Triton unrolls; stages: the most


@dataclass(frozen=True, repr=False)
class BlockRun(CompiledRun, Judged):
    """What came of running a Triton product: a `CompiledRun`, with these besides.

    numbers       "float32", "tf32" or "float16"
    arch          the architecture that it was compiled for
    threads       of a block
    shared_bytes  shared memory a block, which the launch adds
    registers     32-bit registers a thread, and `stack_bytes`, by the ptxas that comes with Triton
    """

    numbers: str
    arch: str
    threads: int
    shared_bytes: int
    registers: int
    stack_bytes: int

    moved = ptx_machine.Run.moved  # in bytes, since not all its elements have four

    @property
    def occupancy(self) -> Occupancy:
        """How many of its blocks a multiprocessor of that architecture keeps at once."""
        return gpu_model.occupancy(self.arch, self.threads, self.registers, self.shared_bytes)

    @property
    def loaded_bytes(self) -> int:
        """What all its threads load from global memory."""
        return self.total("bytes", "global", "load")


def run_triton(
    kernel: Callable,
    M: int,
    N: int,
    K: int,
    numbers: str = "float32",
    warps: int = 4,
    stages: int = 3,
    arch: str = "sm_80",
    arrays: tuple | None = None,
    **constants: int,
) -> BlockRun:
    """Compile a Triton product for that architecture and run what came out, with no GPU. Returns `BlockRun`.

    kernel     a function under `@triton.jit` of (A, B, C, M, N, K) and constants. Its program (x, y) computes the
               BM x BN tile y down and x across of C (M, N), which is float32.
    numbers    "float32", "tf32", which rounds A's and B's float32 for the matrix units, or "float16". A constant
               `PRECISION` of the kernel becomes what `tl.dot` calls that
    warps      of 32 threads, a block
    stages     Triton's `num_stages`
    arch       such as "sm_80", or a GPU's name of `gpu_model.GPUS`
    arrays     (A, B), of (M, K) and (K, N) numbers; where none are given, they are drawn, uniform in [-1, 1)
    constants  values of its other constants, BM and BN among them

    As Triton's own launch does, the compiler is promised that each array begins, and that each of M, N and K is, at a
    multiple of 16, where that is so. A finding "wrong numbers" is an element outside the bound of its numbers.
    Raises ValueError for what is no such kernel, size or constant, and for what would take minutes; BlockError for what
    does not compile; `ptx_machine.PTXError`, with its line, for an instruction that the PTX machine does not know;
    ModuleNotFoundError where Triton is missing.
    """
    M, N, K = integer("M", M), integer("N", N), integer("K", K)
    A, B = operands(arrays, M, N, K, numbers)
    function, constants, made = built(kernel, (M, N, K), numbers, warps, stages, known_arch(arch), constants)
    run = launched(made, (ceil_div(N, constants["BN"]), ceil_div(M, constants["BM"])), A, B)
    findings = by_source(run.findings, function) + about_stores(run)
    findings = findings or about_numbers(run.arrays[2], A, B, numbers)
    return BlockRun(**vars(run) | {"findings": findings}, M=M, N=N, K=K, **made)


def predict_triton(
    kernel: Callable,
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
    counted, from what the compiler that comes with Triton makes of it. Products that four warps do together, as on an
    H100 from 64 rows on, have the peak of the data sheet; no measured time was held against them.
    Raises what `run_triton` raises, and `gpu_model.machine_code.CountError` for what is no product.
    """
    from triton.backends.nvidia.compiler import get_ptxas
    from triton.knobs import nvidia

    gpu, M, N, K = known(gpu), integer("M", M), integer("N", N), integer("K", K)
    function, constants, made = built(kernel, (M, N, K), numbers, warps, stages, known_arch(gpu.arch), constants)
    if "BK" not in constants:
        raise ValueError(f"{function.__name__} has no constant BK; the model counts what a tile of that depth takes.")
    rows, columns, _ = side = tuple(constants[name] for name in ("BM", "BN", "BK"))
    made["ptx"] = ABOUT_LINES.sub("", made["ptx"])  # of the source; those of the PTX take their place
    wide, kept = max(columns, SHORT), np.dtype("float16" if numbers == "float16" else "float32")

    def one_block(K):
        return launched(made, (1, 1), np.ones((rows, K), kept), np.ones((K, wide), kept))

    tools = get_ptxas(int(gpu.arch[3:])).path, nvidia.nvdisasm.path  # it has several
    target = re.search(r"\.target (\w+)", made["ptx"])[1]  # Triton writes for sm_90a where it is asked for sm_90
    counts = count_text(made["kernel"], made["ptx"], target, (made["threads"], 1), side, one_block, tools)
    counts = replace(counts, registers=made["registers"], shared_bytes=made["shared_bytes"], item=kept.itemsize)
    return gpu_model.predict(counts, gpu, M, N, K)


def built(kernel, sides, numbers, warps, stages, arch, constants):
    """(The kernel's function, all its constants, {field of `BlockRun`: value}) for a product with sides (M, N, K).

    Raises ValueError for what is no such kernel or constant, and BlockError for what does not compile.
    """
    if numbers not in ELEMENT:
        raise ValueError(f"numbers={reprlib.repr(numbers)}; they are one of {', '.join(ELEMENT)}.")
    function = function_of(kernel)
    names = [one.name for one in function.params if one.is_constexpr]
    if set(names) - {"PRECISION"} != set(constants) or not {"BM", "BN"} <= set(names):
        raise ValueError(f"{function.__name__} has the constants {', '.join(names)}; give BM, BN, all but PRECISION.")
    constants = {name: integer(name, value) for name, value in constants.items()}
    warps, stages = integer("warps", warps), integer("stages", stages)
    if warps not in WARPS:
        raise ValueError(f"warps={warps}; a block has {', '.join(map(str, WARPS))}.")
    unrolled = math.prod(constants.values()) // (ptx_machine.WARP * warps)
    if unrolled > UNROLLED or stages > STAGES:
        raise ValueError(
            f"each thread would do {unrolled:,} multiply-adds a tile, in {stages} stages, all unrolled, and it would "
            f"take minutes to compile. Stay at {UNROLLED:,}, by smaller sides or more warps, and at {STAGES} stages."
        )
    spelled = ", ".join(f"{name}={value}" for name, value in constants.items())
    title = f"{function.__name__} (Triton) of {numbers} with {spelled}, {warps} warps, {stages} stages for {arch}"
    if "PRECISION" in names:
        constants = constants | {"PRECISION": "tf32" if numbers == "tf32" else "ieee"}
    promised = (0, 1, 2, *(3 + at for at, side in enumerate(sides) if side % PROMISE == 0))
    made = compiled(function, ELEMENT[numbers], promised, warps, stages, arch, tuple(sorted(constants.items())))
    about = dict(kernel=title, numbers=numbers, arch=arch, threads=ptx_machine.WARP * warps)
    return function, constants, about | made


def launched(made, grid, A, B):
    """The `ptx_machine.Run` of a grid (x, y) of its blocks, on A (M, K) and B (K, N), which stay as they are."""
    (M, K), N = A.shape, B.shape[1]
    args = [A.view(), B.view(), np.full((M, N), np.nan, np.float32), M, N, K, 0, 0]  # the last two are Triton's own
    for side in args[:2]:
        side.flags.writeable = False
    options = dict(names=dict(enumerate("ABC")), limit=5000 * (K + 100), shared=made["shared_bytes"])
    return ptx_machine.run(made["ptx"], grid, (made["threads"],), args, **options)


def function_of(kernel):
    """The kernel, where it is a product's. Raises what `run_triton` does."""
    import triton

    if not isinstance(kernel, triton.JITFunction):
        raise ValueError(f"{reprlib.repr(kernel)} is no Triton kernel; give a function under @triton.jit.")
    if kernel.arg_names[:6] != ["A", "B", "C", "M", "N", "K"] or any(p.is_constexpr for p in kernel.params[:6]):
        raise ValueError(
            f"{kernel.__name__} takes {', '.join(kernel.arg_names)}; a product begins with A, B, C, M, N, K."
        )
    return kernel


@lru_cache(maxsize=64)
def compiled(function, element, promised, warps, stages, arch, constants):
    """What Triton makes of the kernel: {field of `BlockRun`: value}. Raises BlockError for what does not compile."""
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
            raise BlockError(f"{function.__name__} does not compile. Triton says: {complaint(error)}") from None
        cubin = Path(folder, "kernel.cubin")
        cubin.write_bytes(made.asm["cubin"])
        command = [triton.knobs.nvidia.cuobjdump.path, "--dump-resource-usage", str(cubin)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    registers, stack = (int(re.search(rf"{what}:(\d+)", said)[1]) for what in ("REG", "STACK"))
    sizes = dict(shared_bytes=made.metadata.shared, registers=registers, stack_bytes=stack)
    return dict(ptx=made.asm["ptx"], **sizes)


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
