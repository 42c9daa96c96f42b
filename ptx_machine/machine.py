"""Runs PTX, the code that a GPU would get, with no GPU: each register is a NumPy array over many threads.

Numba's simulator runs a kernel as Python. This runs what the compiler made of it, one instruction at a time. Threads
that stand at different instructions take turns, those at the smallest one first, so that they meet again where their
paths do. A barrier holds threads until all of their block have come. Every address is checked, every word of shared
memory and of C has a note who touched it, and every instruction is counted.

`ptx_run.run_ptx` is what one calls. How PTX is read: `ptx_reader`; decoded: `ptx_program`; what its arithmetic does:
`ptx_arithmetic`; memory: `ptx_memory`.
"""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ..launch import KernelError
from ..sandbox import Finding
from .gpus import WARP
from .ptx_arithmetic import TYPES
from .ptx_memory import NO_NUMBER, Memory, Seen, rounds, sectors
from .ptx_program import GAP, GLOBAL, KINDS, LOCAL, SHARED, SPECIAL, bits_of, decoded

LANES = 1 << 15  # threads that run side by side: enough to hide Python's own time
ROOM = 1 << 26  # bytes for their registers
UNWRITTEN_SHARED = "a thread reads shared memory that no thread has written"


@dataclass(frozen=True)
class Requests:
    """All that one instruction asked of global or shared memory.

    line          1-based line of the PTX, `text` its text
    memory        "global" or "shared"
    instructions  by warps
    pieces        sectors of 32 bytes, or rounds of the banks, that they took
    fewest        as few as could do
    """

    line: int
    text: str
    memory: str
    instructions: int
    pieces: int
    fewest: int


@dataclass(frozen=True)
class CompiledRun:
    """What came of running PTX.

    C              float32 (M, N)
    findings       tuple of `Finding`, whose lines are those of the PTX; empty when nothing is wrong
    executed       {kind: instructions that threads executed}
    global_loads, global_stores, shared_loads, shared_stores   float32 elements, of all threads
    accesses       tuple of `Requests`, in the order of the PTX
    ptx            the text that ran
    sources        {line of the PTX: line of the kernel's source, 0 if unknown}, of the lines in findings
    """

    kernel: str
    M: int
    N: int
    K: int
    C: np.ndarray
    findings: tuple
    executed: dict
    global_loads: int
    global_stores: int
    shared_loads: int
    shared_stores: int
    accesses: tuple
    ptx: str
    sources: dict

    @property
    def instructions(self) -> int:
        """Instructions executed, of all threads."""
        return sum(self.executed.values())

    @property
    def instructions_per_multiply_add(self) -> float:
        """Instructions executed, of all threads, for each of the M * N * K multiply-adds."""
        return self.instructions / (self.M * self.N * self.K)

    @property
    def sectors(self) -> int:
        """Sectors of 32 bytes that all warps asked global memory for."""
        return sum(access.pieces for access in self.accesses if access.memory == "global")

    @property
    def bank_rounds(self) -> int:
        """Rounds of the banks that all warps' requests to shared memory took."""
        return sum(access.pieces for access in self.accesses if access.memory == "shared")

    @property
    def bank_conflicts(self) -> int:
        """Rounds beyond those that would have done."""
        return sum(access.pieces - access.fewest for access in self.accesses if access.memory == "shared")

    def __bool__(self):
        return not self.findings

    def __repr__(self):
        lines = [
            self.kernel,
            f"  {self.M} x {self.N} x {self.K}: {self.instructions:,} thread instructions, "
            f"{self.instructions_per_multiply_add:.2f} a multiply-add",
        ]
        lines += [f"  {count:14,}  {kind}" for kind, count in self.executed.items() if count]
        lines.append(
            f"  global: {self.global_loads:,} elements loaded, {self.global_stores:,} stored, {self.sectors:,} sectors"
        )
        if self.shared_loads or self.shared_stores:
            lines.append(
                f"  shared: {self.shared_loads:,} elements loaded, {self.shared_stores:,} stored, "
                f"{self.bank_rounds:,} rounds of the banks, {self.bank_conflicts:,} of them for conflicts"
            )
        code = self.ptx.splitlines()
        for finding in self.findings:
            lines.append(f"  {finding.kind}: {finding.message}")
            lines += [f"    line {line} of the PTX: {code[line - 1].strip()}" for line in finding.lines]
        lines += ["  no finding"] * (not self.findings)
        return "\n".join(lines)


def run_text(
    ptx: str,
    block: tuple,
    grid: tuple,
    A: np.ndarray,
    B: np.ndarray,
    title: str = "a kernel",
    budget: int | None = None,
    fill: float = np.nan,
) -> CompiledRun:
    """Run PTX of a kernel of (A, B, C), as Numba compiles it: blocks of (x, y) threads in a grid of (x, y) blocks.

    A (M, K), B (K, N): float32. `budget`: instructions that blocks side by side may take together. `fill`: what
    C holds before.
    """
    return Launch(decoded(ptx), ptx, block, grid, A, B, budget, fill).run(title)


class Launch:
    """One launch: A, B and C, and all that is counted and found while its blocks run."""

    def __init__(self, program, ptx, block, grid, A, B, budget, fill):
        self.program, self.ptx, self.block, self.grid = program, ptx, tuple(block), tuple(grid)
        (self.M, self.K), self.N = A.shape, B.shape[1]
        shapes = {"A": A.shape, "B": B.shape, "C": (self.M, self.N)}
        arrays = [
            (name, GLOBAL * number, 4 * rows * columns)
            for number, (name, (rows, columns)) in enumerate(shapes.items(), 1)
        ]
        self.memory = Memory(arrays)
        self.C_first = A.size + B.size
        self.memory.words[: self.C_first] = np.concatenate([A.ravel(), B.ravel()]).view(np.uint32)
        self.memory.words[self.C_first :] = np.array(fill, np.float32).view(np.uint32)
        self.threads = self.block[0] * self.block[1]
        self.seen = Seen(self.M * self.N, self.threads)
        self.stored, self.offered = np.zeros(self.M * self.N, np.int64), np.zeros(self.M * self.N, np.uint32)
        # Numba passes an array as: two pointers of its own, size, item size, data, two sizes, two strides.
        self.parameters = [
            value
            for name, address, size in arrays
            for value in (0, 0, size // 4, 4, address, *shapes[name], 4 * shapes[name][1], 4)
        ]
        if len(program.program.takes) != len(self.parameters):
            raise KernelError(
                f"this kernel takes {len(program.program.takes)} parameters; as Numba passes A, B and "
                f"C they are {len(self.parameters)}."
            )
        self.executed = np.zeros(len(program.operations), np.int64)
        self.pieces = np.zeros((len(program.operations), 3), np.int64)
        self.moved = Counter()  # bytes, by memory and method
        self.found = {}
        self.budget = 5000 * (self.K + 100) if budget is None else budget

    def run(self, title):
        """Run all blocks, as many side by side as there is room for. Returns `CompiledRun`."""
        blocks = np.arange(self.grid[0] * self.grid[1])
        room = ROOM // sum(max(1, bits // 8) * rows for bits, rows in self.program.rows.items())
        at_once = max(1, min(LANES, room) // self.threads)
        with np.errstate(all="ignore"):
            ended = all(Blocks(self, blocks[start : start + at_once]).run() for start in range(0, blocks.size, at_once))
        holes = np.flatnonzero(self.stored == 0)
        if holes.size and ended:
            row, column = divmod(int(holes[0]), self.N)
            self.found["unwritten", None] = [f"C[{row}, {column}] is never stored", holes.size]
        return self.result(title)

    def find(self, kind, op, text, many=1):
        """Note something wrong; of each kind and line the first, and how many."""
        self.found.setdefault((kind, op), [text, 0])[1] += int(many)

    def result(self, title):
        """What was counted and found, as `CompiledRun`."""
        operations, executed = self.program.operations, dict.fromkeys(KINDS, 0)
        for op, count in zip(operations, self.executed, strict=True):
            executed[op.kind] += int(count)

        traffic = [self.moved[space, act] // 4 for space in ("global", "shared") for act in ("load", "store")]
        accesses = tuple(
            Requests(op.instruction.line, op.instruction.text, op.kind.split()[0], *map(int, row))
            for op, row in zip(operations, self.pieces, strict=True)
            if row[0]
        )
        findings, sources = [], {}
        for (kind, number), (text, many) in self.found.items():
            lines = ()
            if number is not None:
                instruction = operations[number].instruction
                lines, sources[instruction.line] = (instruction.line,), instruction.source
            findings.append(Finding(kind, f"{text}{f' ({many} times)' if many > 1 else ''}", lines))
        C = self.memory.words[self.C_first :].view(np.float32).reshape(self.M, self.N).copy()
        return CompiledRun(
            title, self.M, self.N, self.K, C, tuple(findings), executed, *traffic, accesses, self.ptx, sources
        )


class Blocks:
    """Some blocks of a launch, side by side. A lane is one of their threads.

    registers  {type: array (registers, lanes)}; the types of one size are views of the same bits
    ready      {instruction: lanes that stand there}, each (n,) and in order; `waiting` likewise, at barriers
    stamps     (lanes,) int64: thread and number of barriers passed, see `Seen`
    """

    def __init__(self, launch, blocks):
        self.launch, self.operations, self.blocks = launch, launch.program.operations, blocks
        threads = launch.threads
        self.lanes = blocks.size * threads
        self.registers = {"pred": np.zeros((launch.program.rows[1], self.lanes), bool)}
        for bits in (16, 32, 64):
            rows = np.zeros((launch.program.rows[bits], self.lanes), f"u{bits // 8}")
            self.registers |= {kind: rows.view(dtype) for kind, dtype in TYPES.items() if bits_of(kind) == bits}
        everyone = np.arange(self.lanes)
        self.block_of, thread = everyone // threads, everyone % threads
        self.stamps = blocks[self.block_of] * threads + thread
        warps = -(-threads // WARP)  # a block's warps are its own, the last of them not always full
        self.slots, self.warps = self.block_of * warps * WARP + thread, blocks.size * warps
        x, y = launch.block
        block_y, block_x = np.divmod(blocks[self.block_of], launch.grid[0])
        values = (thread % x, thread // x, 0, x, y, 1, block_x, block_y, 0, *launch.grid, 1, thread % WARP)
        for name, value in zip(SPECIAL, values, strict=True):
            self.registers["u32"][launch.program.places[name][1]] = value
        self.shared, self.local = Memory(launch.program.shared, blocks.size), Memory(launch.program.local, self.lanes)
        self.seen = Seen(self.shared.words.size)
        self.everyone, self.ready, self.waiting = everyone, {0: everyone}, {}

    # ---------------------------------------------------------------- who runs next

    def run(self):
        """Run to the end. Returns whether it was reached."""
        left = self.launch.budget
        while self.ready or self.release():
            number = min(self.ready)
            if left <= 0:
                self.launch.find("hang", number, "it still ran after as many instructions as it may take")
                return False
            lanes = self.ready.pop(number)
            while lanes is not None:
                if number >= len(self.operations):
                    break
                if number in self.ready:
                    lanes = self.merged(lanes, self.ready.pop(number))
                op = self.operations[number]
                left -= 1
                lanes = getattr(self, op.act)(op, number, lanes)
                number += 1
        return True

    def arrive(self, place, number, lanes):
        """Let lanes stand at an instruction, with those that stand there already."""
        if lanes.size:
            place[number] = self.merged(place[number], lanes) if number in place else lanes

    def merged(self, some, others):
        """Both groups of lanes as one, in order."""
        if some.size + others.size == self.lanes:
            return self.everyone
        return np.sort(np.concatenate([some, others]), kind="stable")

    def index(self, lanes):
        """What picks these lanes out of a register: all of them without copying."""
        return slice(None) if lanes.size == self.lanes else lanes

    def read(self, operand, index):
        """An operand's value: an array over the lanes, or one number."""
        return self.registers[operand[0]][operand[1]][index] if isinstance(operand, tuple) else operand

    def write(self, operand, index, value):
        """Set a register of these lanes."""
        self.registers[operand[0]][operand[1]][index] = value

    def full(self, operand, lanes, index):
        """An operand as an array over the lanes, also where it is one number."""
        value = self.read(operand, index)
        return value if np.ndim(value) else np.full(lanes.size, value)

    def guarded(self, op, lanes):
        """The lanes among these for which the instruction's guard holds."""
        if op.guard is None:
            return lanes
        holds = self.registers["pred"][op.guard][self.index(lanes)] != op.negated
        return lanes if holds.all() else lanes[holds]

    def doing(self, op, number, lanes):
        """The lanes among these that do the instruction, each of them counted."""
        doing = self.guarded(op, lanes)
        self.launch.executed[number] += doing.size
        return doing

    # ---------------------------------------------------------------- control

    def branch(self, op, number, lanes):
        """`bra`. Each of these methods returns the lanes that go on with the next instruction, or None."""
        self.launch.executed[number] += lanes.size
        taken = self.guarded(op, lanes)
        if taken.size == lanes.size:
            self.arrive(self.ready, op.target, lanes)
            return None
        if not taken.size:
            return lanes
        left = np.ones(self.lanes, bool)
        left[taken] = False
        self.arrive(self.ready, op.target, taken)
        self.arrive(self.ready, number + 1, lanes[left[lanes]])
        return None

    def leave(self, op, number, lanes):
        """`ret` and `exit`."""
        gone = self.doing(op, number, lanes)
        if gone.size < lanes.size:
            self.arrive(self.ready, number + 1, np.setdiff1d(lanes, gone, assume_unique=True))
        return None

    def trap(self, op, number, lanes):
        """`trap`: a thread gives up."""
        gone = self.guarded(op, lanes)
        if gone.size:
            self.launch.find("error", number, f"{self.who(gone[0])} gives up", gone.size)
        return self.leave(op, number, lanes)

    def wait(self, op, number, lanes):
        """`bar.sync`: lanes wait until no other can go on."""
        here = self.doing(op, number, lanes)
        self.arrive(self.waiting, number, here)
        if here.size < lanes.size:
            self.arrive(self.ready, number + 1, np.setdiff1d(lanes, here, assume_unique=True))
        return None

    def release(self):
        """No lane can go on: let those at barriers pass, and look whether threads are missing there.

        Returns whether any lane waited.
        """
        passed = bool(self.waiting)
        for number, lanes in self.waiting.items():
            here = np.bincount(self.block_of[lanes], minlength=self.blocks.size)
            short = np.flatnonzero((here > 0) & (here < self.launch.threads))
            if short.size:
                text = (
                    f"only {here[short[0]]} of the {self.launch.threads} threads of block "
                    f"{self.spell_block(short[0])} reach this barrier"
                )
                self.launch.find("divergent barrier", number, text, short.size)
            self.stamps[lanes] += 1 << 32
            self.arrive(self.ready, number + 1, lanes)
        self.waiting = {}
        return passed

    # ---------------------------------------------------------------- arithmetic

    def compute(self, op, number, lanes):
        """Arithmetic."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            index = self.index(doing)
            self.write(op.to[0], index, op.function(*[self.read(operand, index) for operand in op.of]))
        return lanes

    def unpack(self, op, number, lanes):
        """`mov` of a register into its two halves."""
        doing = self.doing(op, number, lanes)
        index = self.index(doing)
        value = self.read(op.of[0], index)
        for part, to in enumerate(op.to):
            self.write(to, index, (value >> value.dtype.type(part * bits_of(op.type))).astype(TYPES[op.type]))
        return lanes

    def parameter(self, op, number, lanes):
        """`ld.param`: what the launch gives."""
        doing = self.doing(op, number, lanes)
        value = np.uint64(self.launch.parameters[op.target])
        self.write(op.to[0], self.index(doing), value.astype(TYPES[op.type]))
        return lanes

    def nothing(self, op, number, lanes):
        """A fence: memory is always in order here."""
        self.launch.executed[number] += lanes.size
        return lanes

    # ---------------------------------------------------------------- memory

    def load(self, op, number, lanes):
        """`ld`, of one element or several."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            memory, words, good, small = self.reach(op, number, doing)
            index = self.index(doing)
            values = memory.words[words] if small is None else memory.words.view(f"u{op.width}")[small]
            if good is not None:
                values[~good] = NO_NUMBER if small is None else 0
            byte = "i1" if op.type == "s8" else "u1"
            values = np.ascontiguousarray(values).view(TYPES.get(op.type, byte))
            for part, to in enumerate(op.to):
                self.write(to, index, values[:, part])
        return lanes

    def store(self, op, number, lanes):
        """`st`, of one element or several."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            index = self.index(doing)
            values = np.stack([self.full(operand, doing, index) for operand in op.of[1:]], axis=1)
            memory, words, good, small = self.reach(op, number, doing, values)
            where = slice(None) if good is None else good
            if small is None:
                memory.words[words[where]] = values.view(np.uint32)[where]
            else:
                memory.words.view(f"u{op.width}")[small[where]] = values[where]
        return lanes

    def atomic(self, op, number, lanes):
        """`atom.add` and `red.add`."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            memory, words, good, _ = self.reach(op, number, doing)
            held, index = memory.words.view(TYPES[op.type]), self.index(doing)
            before = np.zeros(doing.size, TYPES[op.type])
            given = self.full(op.of[1], doing, index)
            for n in range(doing.size) if good is None else np.flatnonzero(good):  # one after the other, in any order
                before[n] = held[words[n, 0]]
                held[words[n, 0]] += given[n]
            if op.to:
                self.write(op.to[0], index, before)
        return lanes

    def reach(self, op, number, lanes, values=None):
        """Check and count an access, a store of `values` (n, elements). Returns (memory, words, good, small).

        words (n, width // 4) lie in memory.words; good is None, or where the address is one; small (n, 1) are the
        elements of less than a word, None for others.
        """
        launch = self.launch
        address = self.full(op.of[0], lanes, self.index(lanes)).astype(np.uint64)
        address += np.uint64(op.offset % (1 << 64))
        space = op.space if op.space != "any" else self.space_of(op, address)
        launch.moved[space, op.act] += lanes.size * op.width
        memory = {"global": launch.memory, "shared": self.shared, "local": self.local}[space]
        word, good = memory.find(address, op.width)
        if good is not None:
            first = np.flatnonzero(~good)[0]
            what = "stores" if op.act == "store" else "loads"
            text = (
                f"{self.who(lanes[first])} {what} {op.width} bytes outside every array of {space} memory"
                f"{self.nearest(memory, address[first])}"
            )
            launch.find("out of bounds", number, text, np.count_nonzero(~good))
        crooked = address % np.uint64(op.width) != 0
        if crooked.any():
            first = np.flatnonzero(crooked)[0]
            text = f"{self.who(lanes[first])} moves {op.width} bytes at no multiple of {op.width}"
            launch.find("misaligned", number, text, np.count_nonzero(crooked))
        where = address.astype(np.int64), op.width, self.slots[lanes], self.warps
        if space != "local":
            launch.pieces[number] += sectors(*where) if space == "global" else rounds(*where)
        words = word[:, None] + np.arange(max(1, op.width // 4))
        if space == "global":
            self.watch_global(op, number, lanes, words, good, values)
        else:
            words += ((self.block_of if space == "shared" else self.everyone)[lanes] * memory.size)[:, None]
            if space == "shared" and op.act != "atomic":
                self.watch_shared(op, number, lanes, words, good)
        small = None
        if op.width < 4:
            small = words * (4 // op.width) + (address[:, None] % np.uint64(4)).astype(np.int64) // op.width
        return memory, words, good, small

    def space_of(self, op, address):
        """The memory that these addresses lie in, for an instruction that names none."""
        spaces = {
            "shared" if SHARED <= one < LOCAL else "local" if LOCAL <= one < GLOBAL else "global"
            for one in (int(address.min()), int(address.max()))
        }
        if len(spaces) > 1:
            both = " and ".join(sorted(spaces))
            raise KernelError(
                f"line {op.instruction.line} of the PTX touches {both} memory at once, which is not "
                f"known here: {op.instruction.text}"
            )
        return spaces.pop()

    def watch_shared(self, op, number, lanes, words, good):
        """Note who touches which word of shared memory."""
        keep = slice(None) if good is None else good
        words, stamps = words[keep].ravel(), np.repeat(self.stamps[lanes[keep]], words.shape[1])
        if op.act == "store":
            race = self.seen.write(words, stamps)
        else:
            race, unwritten = self.seen.read(words, stamps)
            if unwritten.any():
                self.launch.find("uninitialised", number, UNWRITTEN_SHARED, np.count_nonzero(unwritten))
        if race.any():
            name, element = self.shared.element(words[np.flatnonzero(race)[0]] % self.shared.size)
            text = (
                f"threads of a block touch element {element} of {short(name)} between the same barriers, and one "
                f"of them writes"
            )
            self.launch.find("race", number, text, np.count_nonzero(race))

    def watch_global(self, op, number, lanes, words, good, values):
        """Note who touches which element of C, and that nobody stores to A or B."""
        launch = self.launch
        if op.act == "load" and good is None and words[:, 0].max() < launch.C_first:
            return
        keep = (words[:, 0] >= launch.C_first) & (True if good is None else good)
        if op.act != "load":
            into = ~keep if good is None else ~keep & good
            if into.any():
                text = f"{self.who(lanes[into][0])} stores to A or B"
                launch.find("writes to an input", number, text, np.count_nonzero(into))
        words, stamps = words[keep].ravel() - launch.C_first, np.repeat(self.stamps[lanes[keep]], words.shape[1])
        if op.act == "load":
            race, _ = launch.seen.read(words, stamps)
        else:
            race = np.zeros(words.size, bool)
            if op.act == "store":
                same = self.same_value(words, values[keep]) if op.width >= 4 else race
                race = launch.seen.write(words, stamps) & ~same
            again = (launch.stored[words] > 0) & (op.act == "store")
            if again.any():
                text = f"{self.spell_C(words[again][0])} was stored before"
                launch.find("stored twice", number, text, np.count_nonzero(again))
            launch.stored[words] += 1
        if race.any():
            text = f"two threads touch {self.spell_C(words[race][0])}, and one of them writes"
            launch.find("race", number, text, np.count_nonzero(race))

    def same_value(self, words, values):
        """Where a store to words of C, (n,), changes nothing that another thread can have seen: no race; bool."""
        launch, bits = self.launch, np.ascontiguousarray(values).view(np.uint32).ravel()
        launch.offered[words] = bits  # of several stores to a word in one instruction, one remains
        alone = launch.offered[words] == bits
        return alone & (launch.seen.untouched(words) | (launch.memory.words[words + launch.C_first] == bits))

    # ---------------------------------------------------------------- words for findings

    def who(self, lane):
        """A lane's thread and block, in words."""
        y, x = divmod(int(lane) % self.launch.threads, self.launch.block[0])
        return f"thread ({x}, {y}) of block {self.spell_block(self.block_of[lane])}"

    def spell_block(self, number):
        """A block's place in the grid, (x, y)."""
        y, x = divmod(int(self.blocks[number]), self.launch.grid[0])
        return f"({x}, {y})"

    def spell_C(self, word):
        """A word of C as an element."""
        row, column = divmod(int(word), self.launch.N)
        return f"C[{row}, {column}]"

    def nearest(self, memory, address):
        """How far off an address is from the array below it, or above."""
        for name, base, size in zip(memory.names, memory.addresses, memory.bytes, strict=True):
            offset = int(address) - base
            if -GAP // 2 < offset < size + GAP // 2:
                return (
                    f", {offset - size} bytes behind the end of {short(name)}"
                    if offset >= 0
                    else f", {-offset} bytes before {short(name)}"
                )
        return ""


def short(name):
    """A shared array's name without what the compiler put around it."""
    found = re.search(r"_cudapy_smem_\d+", name)
    return found[0] if found else name
