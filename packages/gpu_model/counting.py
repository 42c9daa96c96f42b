"""What a CUDA kernel asks of a multiprocessor, counted: by the compiler's code and by running it, with no GPU.

A count is linear: so much for each block, and so much more for each of its K-tiles. It needs `ptx_machine`, NumPy and
NVIDIA's ptxas and nvdisasm: the extra `count`.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np

from ptx_machine import WARP

from .counts import Counts, Work
from .gpus import ceil_div
from .machine_code import CountError, assembled, instructions, kind
from .round_trips import order_of, trips

SHORT = 64  # K of the shorter of two runs, at least: rows of A and B then lie in lines of their own
# Where threads n and n ^ 1, or n and n ^ 2, of a warp always ask for the same 16 bytes, it takes half the wavefronts.
# Source: Greg Smith of NVIDIA, forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228.
PAIRED = 2
# A line of the PTX that becomes as many instructions as it runs.
MULTIPLIES = r"\bfma\.|(?<!w)mma\.sync|wgmma\.mma_async"
TYPES = {"BF16": "bfloat16", "TF32": "tf32", "S8": "int8", "U8": "int8"}
SHAPES = {"16816": 16 * 8 * 16, "1688": 16 * 8 * 8, "1684": 16 * 8 * 4, "16832": 16 * 8 * 32}  # multiply-adds of a warp


def count_text(
    name: str, ptx: str, arch: str, block: tuple, side: tuple, run: Callable, tools: tuple | None = None
) -> Counts:
    """Compile a kernel's PTX, run one block of it twice on the PTX machine, and count. Takes some seconds.

    name   of the kernel
    ptx    the text; `arch`: the architecture whose code is counted, such as "sm_80"
    block  (x, y) threads of a block
    side   rows, columns and depth of the tile of C that a block computes
    run    a function of K, a multiple of the tile's depth: the `ptx_machine.Run` of one block of that text at that K.
           A row of B must have `SHORT` numbers at least: rows then lie in lines of their own
    tools  as `machine_code.assembled` has them
    The machine says how often warps ran each line of the PTX, and what they asked of memory there. The compiler's code,
    with those lines beside it, says which instructions came of them, which loads it joined and what it left out.
    Raises CountError for what does not compile, for what is no product, and where a tool is missing.
    """
    said, listing = assembled(name, numbered(ptx), arch, tools, lines=True)
    code, loops, blocks = instructions(listing)
    threads, (rows, columns, depth) = block[0] * block[1], side
    warps, short = ceil_div(threads, WARP), ceil_div(SHORT, depth) * depth
    runs = [run(K) for K in (short, 2 * short)]
    short_times, times = (np.array(executions(code, loops, blocks, ptx, ran.by_line, warps)) for ran in runs)
    a_tile, once = (times - short_times) * depth / short, np.maximum(2 * short_times - times, 0)
    of_a_tile = work(code, a_tile, runs[1])
    multiplied = WARP * of_a_tile.fma + sum(of_a_tile.matrix.values())
    if 2 * multiplied < rows * columns * depth:
        raise CountError(
            f"{name}: its loops do {multiplied:.0f} multiply-adds for {rows} x {columns} x {depth}, so this is no "
            f"product that the model knows. Check it first."
        )
    return Counts(
        kernel=name,
        arch=arch,
        side=side,
        threads=threads,
        registers=int(re.search(r"Used (\d+) registers", said)[1]),
        shared_bytes=int((re.search(r"(\d+) bytes smem", said) or (0, 0))[1]),
        once=work(code, once, runs[1]),
        tile=of_a_tile,
        trips=trips_of_a_tile(code, loops, short_times / warps, times / warps, short // depth),
    )


def numbered(ptx):
    """The PTX, with its own lines as those of a source: each instruction says where it stands."""
    lines, inside = [], False
    for number, line in enumerate(ptx.splitlines(), 1):
        if re.match(r"\s*\.(loc|file)\b", line):  # those of the source that it was compiled from
            lines.append("")
            continue
        if inside and re.match(r"\s*(@!?%\w+\s+)?[a-z][\w.]*[\s;]", line):
            lines.append(f".loc 1 {number} 0")
        inside = line.strip() == "{" or (inside and line.strip() != "}")
        lines.append(line)
        if line.startswith(".address_size"):
            lines.append('.file 1 "kernel.ptx"')
    return "\n".join(lines) + "\n"


def executions(code, loops, blocks, ptx, by_line, warps):
    """How often the warps of a run execute each instruction of the machine's code: a list of numbers.

    `by_line`: how often they ran each line of the PTX. An instruction runs in each iteration of its innermost loop, or
    once; one whose line ran less often, as behind a guard, runs as often as its line. Where the compiler moved some
    from other places, those of a basic block run as often as most of them say.
    """
    where = [
        min((loop for loop in loops if loop[0] <= at < loop[1]), key=lambda loop: loop[1] - loop[0], default=None)
        for at in range(len(code))
    ]
    fused = {number for number, line in enumerate(ptx.splitlines(), 1) if re.search(MULTIPLIES, line)}
    # What tells of a loop: its multiply-adds, or else its loads and stores, or else all of it.
    of_a_kind = [defaultdict(Counter) for _ in range(3)]
    for place, (text, line) in zip(where, code, strict=True):
        does = kind(text)
        first = 2
        if does in ("FMA", "matrix product") and line in fused:
            first = 0
        elif "load" in does or "store" in does or "copy" in does:
            first = 1
        for which in {first, 2}:
            of_a_kind[which][line][place] += 1
    iterations, gone = {None: warps}, iterations_gone(ptx, by_line)
    for loop in sorted(set(where) - {None}, key=lambda loop: loop[0] - loop[1]):
        said = (iterations_said(loop, copies, iterations, gone) for copies in of_a_kind)
        iterations[loop] = max(next(filter(None, said), [0]))
    times = [min(iterations[loop], by_line.get(line, 0)) for loop, (_, line) in zip(where, code, strict=True)]
    for first, end in blocks:
        votes = Counter(times[first:end])
        times[first:end] = [max(votes, key=lambda many: (votes[many], many))] * (end - first)
    return times


def iterations_gone(ptx, by_line):
    """{line of the PTX: how often warps went round its innermost loop, by what no guard stands before, or ran it}."""
    labels, gone = {}, {}
    for number, line in enumerate(ptx.splitlines(), 1):
        if label := re.match(r"\s*(\$?\w+):", line):
            labels[label[1]] = number
        back = re.search(r"\bbra(?:\.uni)?\s+(\$?\w+)", line)
        if back and back[1] in labels:
            inside = [at for at in range(labels[back[1]], number + 1) if at in by_line and at not in gone]
            gone |= dict.fromkeys(inside, max((by_line[at] for at in inside), default=0))
    return dict(by_line) | gone


def iterations_said(loop, copies, iterations, by_line):
    """How often warps go round a loop of the machine's code, as each of some lines of the PTX says it.

    A line that ran 80 times and stands in the loop 4 times, since ptxas unrolled it by four, makes 20. What it ran in
    places whose iterations are known does not count: a fifth copy outside, for those left over. A line says
    nothing of this loop if it stands in another of unknown iterations more often. `by_line`: of `iterations_gone`.
    """
    said = []
    for line, places in copies.items():
        unknown = {place: many for place, many in places.items() if place not in iterations}
        if loop in places and places[loop] == max(unknown.values()):
            elsewhere = sum(many * iterations[place] for place, many in places.items() if place in iterations)
            said.append(max(0, by_line.get(line, 0) - elsewhere) / places[loop])
    return said


def work(code, times, run):
    """The `Work` of instructions that run so often; what each asked of memory on average, the run says."""
    asked, fma, integers, requests, matrix = defaultdict(list), 0.0, 0.0, Counter(), Counter()
    for one in run.requests:
        asked[one.line].append(one)  # a copy asks two memories
    # Products of warp groups read shared memory themselves, as if each thread loaded 16 bytes.
    group = [one for one in run.requests if one.text.startswith("wgmma")]
    products = sum(run.by_line[line] for line in {one.line for one in group})
    for (text, line), many in zip(code, times.tolist(), strict=True):
        does = kind(text)
        fma += many * (does == "FMA")
        integers += many * (does == "integer arithmetic")
        if does.startswith(("shared", "global", "copy")) and many:
            for one in asked[line]:
                requests[request(one, int(does.split()[-2]))] += many
        if does.startswith("stack") and many:  # a spilled number of 32 threads is one line, kept in the L1 cache
            width = int(does.split()[-2])
            requests["global", width / 4, float(WARP * width)] += many
        if does == "matrix product" and many:
            of, multiplied = matrix_product(text)
            matrix[of] += many * multiplied
            for one in group if "HGMMA" in text else ():  # on average, since the assembler gives some another's line
                requests[request(one, 16)] += many * one.instructions / products
    return Work(
        round(fma, 6), round(integers, 6), round(float(times.sum()), 6),
        {key: round(many, 6) for key, many in sorted(requests.items())},
        {key: round(many, 6) for key, many in sorted(matrix.items())},
    )  # fmt: skip


def matrix_product(text):
    """(type, multiply-adds of a warp) of an instruction of the matrix units. Raises CountError for an unknown one."""
    if group := re.search(r"HGMMA\.(\d+)x(\d+)x(\d+)\.([\w.]+)", text):  # four warps do it together
        of = next((TYPES[word] for word in group[4].split(".") if word in TYPES), "float16")
        return f"{of}, warp groups", math.prod(map(int, group.groups()[:3])) / 4
    words = re.search(r"[HI]MMA\.([\w.]+)", text)[1].split(".")  # such as 16816, F32 and BF16
    if words[0] not in SHAPES:
        raise CountError(f"the model knows no such product of matrices: {text}")
    of = next((TYPES[word] for word in words if word in TYPES), "float16")
    return of + ", float16 sums" * ("F16" in words), SHAPES[words[0]]


def request(one, width):
    """The key of `Work.requests` for an instruction that moves `width` bytes a thread, made from that line's.

    A load that joins two of the PTX takes as many wavefronts as they did, and one that joins four the wavefronts
    of their 16 bytes; one of matrices, or a copy, joins none.
    """
    wide = re.search(r"\.v4|^ldmatrix|^cp\.async|^wgmma", one.text)
    joined = width // 4 if one.memory == "shared" and not wide else 1
    wavefronts = one.wide if joined == 4 and one.wide else joined * one.pieces
    pieces = one.lines if one.memory == "global" else wavefronts
    of_four = width == 16 and (one.memory, one.act) == ("shared", "load") and not one.text.startswith("ldmatrix")
    if of_four and one.paired == one.instructions:
        pieces /= PAIRED
    return one.memory, round(pieces / one.instructions, 6), round(joined * one.bytes / one.instructions, 6)


def trips_of_a_tile(code, loops, short_times, times, tiles):
    """The `trips` of `Counts`: how often a warp runs each instruction at a depth of so many tiles, and of twice."""
    instructions = (times - short_times).sum() / tiles
    short, long = (trips(code, order_of(loops, one.tolist())) for one in (short_times, times))
    of_a_tile = Counter()
    for after, many in long.items():
        of_a_tile[round(float(after / instructions), 2)] += many - short[after]
    return {ahead: round(many / tiles, 6) for ahead, many in sorted(of_a_tile.items()) if many > 0}
