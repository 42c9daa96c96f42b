"""A launch of a kernel: its arguments in global memory, all its blocks, and what was counted and found."""

import operator
from collections import defaultdict

import numpy as np

from .arithmetic import IN_MEMORY
from .machine import Blocks, in_units
from .memory import Memory, Seen
from .program import GLOBAL, bytes_of, decoded
from .results import KINDS, Finding, Requests, Run
from .warps import LINE, NOBODY, WARP, bank_rounds, paired, sectors

LANES = 1 << 15  # threads that run side by side: enough to hide Python's own time
ROOM = 1 << 26  # bytes for their registers
THREADS = 1024  # of a block, at most
LIMIT = 5_000_000  # instructions, which take a minute or two
ACTS = {("copy", "global"): "load", ("copy", "shared"): "store"}  # in `Requests`


def run(
    ptx: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: list,
    kernel: str | None = None,
    names: dict[int, str] | None = None,
    limit: int = LIMIT,
    shared: int = 0,
    variables: dict[str, np.ndarray] | None = None,
) -> Run:
    """Run a kernel of a PTX text, with no GPU. Returns `Run`: arrays, counts and findings.

    ptx     as NVIDIA's compilers write it
    grid    blocks along x, y and z; one to three whole numbers
    block   threads of a block along x, y and z
    args    the kernel's arguments, by position: C-contiguous NumPy arrays where it takes a pointer, numbers elsewhere;
            for a structure, bytes or a NumPy scalar of its size. They stay as they are. The same array twice is one
            array to the kernel. One that is read-only (`a.flags.writeable = False`) is an input: a store to it is a
            finding. Numbers of type bfloat16 may be an array of their bits, uint16. A pointer into an array is a pair:
            the array, and bytes from its start.
    kernel  its name, where the text holds several
    names   {position: name} of arguments, for messages; "argument 0" and so on for others
    limit   how many instructions blocks that run side by side may take together before that is a finding, "hang"
    shared  bytes of shared memory beyond the kernel's own, for its `extern` array
    variables  {name: array} what constants and variables of the text hold instead of what it says

    Raises PTXError for a text that is not known here, with its line; TypeError or ValueError for what cannot be a grid,
    a block or one of the kernel's arguments.
    """
    program = decoded(ptx, kernel, operator.index(shared))
    return Launch(program, sides(grid, "grid"), sides(block, "block"), args, names or {}, limit, variables or {}).run()


def sides(given, what):
    """A grid or a block as (x, y, z). Raises TypeError or ValueError for what is none."""
    example = f"{what}={given!r}; give a tuple of one to three whole numbers of 1 or more, such as (16, 16)."
    try:
        whole = tuple(map(operator.index, given))
    except TypeError:
        raise TypeError(example) from None
    if not 1 <= len(whole) <= 3 or min(whole) < 1:
        raise ValueError(example)
    if what == "block" and np.prod(whole) > THREADS:
        raise ValueError(f"block={given!r} has {np.prod(whole)} threads; a block has {THREADS} at most.")
    return (*whole, 1, 1)[:3]


def pointed(value):
    """The array that an argument points into, and bytes from its start; (None, 0) for one that is no pointer."""
    if isinstance(value, np.ndarray):
        return value, 0
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], np.ndarray):
        return value[0], operator.index(value[1])
    return None, 0


def as_bits(value, kind, position):
    """A number or a structure as a kernel takes it, where it wants one of type `kind`: an array of its bytes.

    Raises TypeError or ValueError for what is none.
    """
    if kind not in IN_MEMORY:
        given = value.tobytes() if isinstance(value, np.generic) else value
        if not isinstance(given, bytes) or len(given) != bytes_of(kind):
            text = f"the kernel takes a structure of {bytes_of(kind)} bytes there"
            raise TypeError(f"argument {position} is {value!r}; {text}: bytes, or a NumPy scalar.")
        return np.frombuffer(given, np.uint8)
    dtype, whole = IN_MEMORY[kind], isinstance(value, (int, np.integer, np.bool_))
    if kind[0] == "f" and (whole or isinstance(value, (float, np.floating))):
        value = dtype.type(value)
    elif kind[0] != "f" and whole:
        bits = 8 * dtype.itemsize
        if not -(1 << bits - 1) <= int(value) < 1 << bits:
            raise ValueError(f"argument {position} is {value}, which has no place in a number of type .{kind}.")
        value = np.uint64(int(value) % (1 << bits))
    elif kind[0] != "b" or not isinstance(value, np.floating) or value.itemsize != dtype.itemsize:
        raise TypeError(f"argument {position} is {value!r}; the kernel takes a number of type .{kind} there.")
    return np.frombuffer(value.tobytes().ljust(8, b"\0"), np.uint8)


class Launch:
    """One launch: its arguments in memory, and all that is counted and found while its blocks run.

    memory      the global one: constants of the text and arrays that may not be written first, then, from byte
                `writable` on, arrays that may be, and variables of the text
    parameters  a list of arrays of bytes
    slots       numbers of a block's threads, with room for whole warps
    """

    def __init__(self, program, grid, block, args, names, limit, variables):
        self.program, self.grid, self.block, self.limit = program, grid, block, limit
        self.threads = int(np.prod(block))
        self.slots = -(-self.threads // WARP) * WARP
        self.place_arrays(args, names)
        self.set_variables(variables)
        takes = program.program.takes
        if len(takes) != len(args):
            raise TypeError(f"{program.program.name} takes {len(takes)} arguments; {len(args)} are given.")
        self.parameters = []
        for position, (value, kind) in enumerate(zip(args, takes.values(), strict=True)):
            array, offset = pointed(value)
            if array is not None and kind not in ("u64", "b64", "s64"):
                raise TypeError(f"argument {position} is an array; the kernel takes a number of type .{kind} there.")
            if array is not None:
                value, kind = self.memory.addresses[self.number[id(array)]] + offset, "u64"
            self.parameters.append(as_bits(value, kind, position))
        writable = (self.memory.size - self.writable) // program.unit
        self.seen = Seen(writable, self.slots, program.warps_wait)
        self.stored, self.offered = np.zeros(writable, np.int64), np.zeros(writable, f"u{program.unit}")
        self.executed, self.by_warps = np.zeros((2, len(program.operations)), np.int64)
        self.asked = defaultdict(lambda: np.zeros(6, np.int64))  # what `Requests` counts, by instruction and memory
        self.found = {}

    def place_arrays(self, args, names):
        """Give each array an address, and global memory a copy of it."""
        first = {}  # of each array: its position, and itself
        for position, value in enumerate(args):
            array, _ = pointed(value)
            if array is not None:
                if array.dtype.hasobject or not array.flags.c_contiguous:
                    raise ValueError(f"argument {position} is no C-contiguous array of numbers; np.ascontiguousarray.")
                first.setdefault(id(array), (position, array))
        placed = sorted(first.values(), key=lambda one: one[1].flags.writeable)
        constant, variables = self.program.constant, self.program.variables
        self.arrays = [np.zeros(size, np.uint8) for _, _, size in constant]
        self.arrays += [array for _, array in placed] + [np.zeros(size, np.uint8) for _, _, size in variables]
        self.number = {id(array): number for number, array in enumerate(self.arrays)}
        self.order = [self.number[one] for one in first]  # theirs among the arguments
        given = [
            (names.get(position, f"argument {position}"), GLOBAL * number, array.nbytes)
            for number, (position, array) in enumerate(placed, 2)
        ]
        self.memory = Memory(constant + given + variables)
        inputs = sum(not array.flags.writeable for _, array in placed)
        self.writable = int(self.memory.first[len(constant) + inputs])
        for array, start in zip(self.arrays, self.memory.first, strict=False):
            self.memory.cells["u8"][start : start + array.nbytes] = array.reshape(-1).view(np.uint8)

    def set_variables(self, given):
        """Let the text's constants and variables hold what it says, or what is given. Raises ValueError."""
        declared = {array.name: array for array in (*self.program.program.constant, *self.program.program.variables)}
        for name in (*declared, *given):
            holds = given[name].tobytes() if name in given else declared[name].holds
            if name not in declared or (name in given and len(holds) > declared[name].bytes):
                sizes = ", ".join(f"{array.name} of {array.bytes} bytes" for array in declared.values())
                raise ValueError(
                    f"{name}, of {len(holds)} bytes, is no variable of this PTX; it has {sizes or 'none'}."
                )
            start = self.memory.first[self.memory.names.index(name)]
            self.memory.cells["u8"][start : start + len(holds)] = np.frombuffer(holds, np.uint8)

    def run(self):
        """Run all blocks, as many side by side as there is room for. Returns `Run`."""
        blocks = np.arange(np.prod(self.grid))
        room = ROOM // sum(max(1, bits // 8) * rows for bits, rows in self.program.rows.items())
        at_once = max(1, min(LANES, room) // self.threads)
        with np.errstate(all="ignore"):
            for start in range(0, blocks.size, at_once):
                if not Blocks(self, blocks[start : start + at_once]).run():
                    break
        return self.result()

    def find(self, kind, number, text, many=1):
        """Note something wrong; of each kind and instruction the first, and how many."""
        self.found.setdefault((kind, number), [text, 0])[1] += int(many)

    def count(self, op, number, space, address, slots, warps):
        """Count what threads ask of global or shared memory with one instruction."""
        size = op.width if space == "global" else 4
        units = in_units(address.view(np.int64), size, op.width)
        asked = np.full((warps * WARP, units.shape[1]), NOBODY)
        asked[slots] = units
        asked = asked.reshape(warps, WARP, -1)
        pieces = sectors(asked, size) if space == "global" else bank_rounds(asked)
        lines = sectors(asked, size, LINE)[1] if space == "global" else 0
        self.asked[number, space] += (pieces[0], address.size * op.width, *pieces[1:], lines, paired(asked))

    def same_value(self, units, values):
        """Where a store changes nothing that another thread can have seen: no race; bool, like units (n,)."""
        unit, bits = self.program.unit, values.view(self.offered.dtype).ravel()
        self.offered[units] = bits  # of several stores to a place in one instruction, one remains
        held = self.memory.cells[f"u{8 * unit}"][units + self.writable // unit]
        return (self.offered[units] == bits) & (self.seen.untouched(units) | (held == bits))

    def spell(self, place, array_only=False):
        """The name of the array at a place of global memory, and the element of it: "argument 2[3, 4]"."""
        number, offset = self.memory.array_at(place)
        name, array = self.memory.names[number], self.arrays[number]
        if array_only:
            return name
        index = np.unravel_index(offset // array.itemsize, array.shape)
        return f"{name}[{', '.join(map(str, index))}]"

    def result(self):
        """What was counted and found, as `Run`."""
        operations, executed, by_line = self.program.operations, dict.fromkeys(KINDS, 0), defaultdict(int)
        for op, threads, warps in zip(operations, self.executed, self.by_warps, strict=True):
            executed[op.kind] += int(threads)
            by_line[op.instruction.line] += int(warps)
        requests, findings = [], []
        for (number, space), counts in sorted(self.asked.items()):
            at, act = operations[number].instruction, operations[number].act
            if act == "meet":  # of matrices: whoever gets no register stores
                act = "load" if operations[number].to else "store"
            act = ACTS.get((act, space), act)
            requests.append(Requests(at.line, at.text, space, act, *map(int, counts)))
        for (kind, number), (text, many) in self.found.items():
            at = operations[number].instruction
            findings.append(Finding(kind, text + f" ({many} times)" * (many > 1), at.line, at.text, at.source))
        arrays, stores = [], []
        for number in self.order:
            array, start = self.arrays[number], int(self.memory.first[number])
            arrays.append(self.memory.cells["u8"][start : start + array.nbytes].view(array.dtype).reshape(array.shape))
            stores.append(self.stores_to(array, start))
        bytes_now, variables = self.memory.cells["u8"], {}
        for name, _, size in self.program.variables:
            start = int(self.memory.first[self.memory.names.index(name)])
            variables[name] = bytes_now[start : start + size].copy()
        return Run(tuple(arrays), tuple(stores), executed, dict(by_line), tuple(requests), tuple(findings), variables)

    def stores_to(self, array, start):
        """How often each element of an array was stored, int64 and of its shape."""
        if start < self.writable:
            return np.zeros(array.shape, np.int64)
        first, unit = start - self.writable, self.program.unit
        return self.stored[(first + array.itemsize * np.arange(array.size)) // unit].reshape(array.shape)
