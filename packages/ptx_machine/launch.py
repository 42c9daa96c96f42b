"""A launch of a kernel: its arguments in global memory, all its blocks, and what was counted and found."""

import itertools
import math
import operator
import time
from array import array as growing
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from .arithmetic import IN_MEMORY
from .limits import refuse_launch
from .machine import Blocks, in_units, spelled
from .memory import Memory, Notes
from .names import plain_name
from .order import Order
from .program import GLOBAL, bytes_of, decoded
from .results import KINDS, Access, Finding, Requests, Run
from .warps import LINE, NOBODY, WARP, around, paired, sectors, wavefronts

LANES = 1 << 15  # threads that run side by side: enough to hide Python's own time
ROOM = 1 << 26  # bytes for their registers
KNOWN = 1 << 24  # bytes of addresses whose requests are counted
SECONDS = 20.0
TRACED = 2_000_000  # accesses of threads
POINTERS = ("u64", "b64", "s64")
ACTS = {("copy", "global"): "load", ("copy", "shared"): "store"}  # in `Requests`


def run(
    ptx: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: list,
    kernel: str | None = None,
    names: dict[int, str] | None = None,
    limit: int | None = None,
    shared: int = 0,
    variables: dict[str, np.ndarray] | None = None,
    seconds: float = SECONDS,
    work: float | None = None,
    trace: bool | int = False,
    blocks: Sequence[int] | None = None,
    requests: bool = True,
) -> Run:
    """Run a kernel of a PTX text, with no GPU. Returns `Run`: arrays, counts and findings.

    ptx     as NVIDIA's compilers write it
    grid    blocks along x, y and z; one to three integers
    block   threads of a block along x, y and z
    args    the kernel's arguments, by position: NumPy arrays where it takes a pointer, numbers elsewhere; for a
            structure, a dict of its members in their order, arrays among them where it holds pointers, or bytes or a
            NumPy scalar of its size. They stay as they are. Of a view, such as `a[1:]` or `a.T`,
            the kernel gets the address of its first element, and may touch all of `a`; the same array twice is one
            array to the kernel, and so are two views of one. One that is read-only (`a.flags.writeable = False`) is an
            input: a store to it is a finding. Numbers of type bfloat16 may be an array of their bits, uint16. A pointer
            into an array is a pair: the array, and bytes from its first element.
    kernel  its name, where the text holds several
    names   {position: name} of arguments, for messages; "argument 0" and so on for others
    limit   how many instructions blocks that run side by side may take together before that is a finding, "hang";
            None for as many as there are
    shared  bytes of shared memory beyond the kernel's own, for its `extern` array
    variables  {name: array} what constants and variables of the text hold instead of what it says
    seconds of computing here, before that is a finding, "out of time". Threads that wait for what no other thread will
            do any more are found without waiting for it.
    work    how much may be done here, before that is a finding, "out of time", too: `Run.work` says how much was. It
            is the same on each computer, and grows as the seconds do; None for as much as there is
    trace   whether to keep what each instruction touched, in order, as `Run.trace`; a number: at most of so many
            accesses of threads, True for 2,000,000; the first are kept
    blocks  the numbers of those that run, along x fastest, where the others are not asked for; None for all
    requests  whether to count what warps ask of memory; False leaves `Run.requests` empty, and takes less time

    Raises PTXError for a text that is not known here, with its line; TypeError or ValueError for what cannot be a grid,
    a block or one of the kernel's arguments, and for what its target's GPUs would not launch.
    """
    program = decoded(ptx, kernel, operator.index(shared))
    grid, block = sides(grid, "grid"), sides(block, "block")
    refuse_launch(program, grid, block)
    launch = Launch(program, grid, block, args, names or {}, variables or {})
    launch.limit, launch.seconds, launch.most = limit, seconds, math.inf if work is None else work
    launch.room, launch.asks = TRACED if trace is True else int(trace), requests
    if blocks is not None:
        launch.blocks = np.asarray(blocks)
    return launch.run()


def sides(given, what):
    """A grid or a block as (x, y, z). Raises TypeError or ValueError for what is none."""
    example = f"{what}={given!r}; give a tuple of one to three integers of 1 or more, such as (16, 16)."
    try:
        whole = tuple(map(operator.index, given))
    except TypeError:
        raise TypeError(example) from None
    if not 1 <= len(whole) <= 3 or min(whole) < 1:
        raise ValueError(example)
    return (*whole, 1, 1)[:3]


def pointed(value):
    """The array that an argument points into, and bytes from its start; (None, 0) for one that is no pointer."""
    if isinstance(value, np.ndarray):
        return value, 0
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], np.ndarray):
        return value[0], operator.index(value[1])
    return None, 0


def members(value, called):
    """(words, value) of an argument; of a structure given as a dict, of each of its members."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from members(member, f"{called}.{name}")
    else:
        yield called, value


def structure(given, address, called):
    """(bytes, alignment) of a structure as C++ lays it out, from {member: value}; `address`: of an array, or None."""
    held, widest = b"", 1
    for name, value in given.items():
        place = address(value)
        if isinstance(value, dict):
            part, align = structure(value, address, f"{called}.{name}")
        elif place is not None:
            part, align = place.to_bytes(8, "little"), 8
        elif isinstance(value, np.generic):
            part, align = value.tobytes(), value.dtype.alignment
        else:
            text = "a number in a structure needs its type, such as np.int32(1) or np.float32(0.5)"
            raise TypeError(f"{called}.{name} is {value!r}; {text}, and a pointer an array, or np.uint64(0) for none.")
        held, widest = held + bytes(-len(held) % align) + part, max(widest, align)
    return held + bytes(-len(held) % widest), widest


def as_bits(value, kind, called):
    """A number or a structure as bytes, for a parameter of type `kind`, `called` so; raises TypeError or ValueError."""
    if kind not in IN_MEMORY:
        given = value.tobytes() if isinstance(value, np.generic) else value
        if not isinstance(given, bytes) or len(given) != bytes_of(kind):
            text = f"the kernel takes a structure of {bytes_of(kind)} bytes there"
            shown = f"of {len(given)} bytes" if isinstance(given, bytes) else repr(value)
            raise TypeError(f"{called} is {shown}; {text}: a dict of its members, bytes, or a NumPy scalar.")
        return np.frombuffer(given, np.uint8)
    dtype, whole = IN_MEMORY[kind], isinstance(value, (int, np.integer, np.bool_))
    if kind[0] == "f" and (whole or isinstance(value, (float, np.floating))):
        value = dtype.type(value)
    elif kind[0] != "f" and whole:
        bits = 8 * dtype.itemsize
        if not -(1 << bits - 1) <= int(value) < 1 << bits:
            raise ValueError(f"{called} is {value}, which has no place in a number of type .{kind}.")
        value = np.uint64(int(value) % (1 << bits))
    elif kind[0] != "b" or not isinstance(value, np.floating) or value.itemsize != dtype.itemsize:
        takes = f"a number of type .{kind}"
        if kind in POINTERS:
            takes = f"an array, or a number of type .{kind},"
        raise TypeError(f"{called} is {value!r}; the kernel takes {takes} there.")
    return np.frombuffer(value.tobytes().ljust(8, b"\0"), np.uint8)


def owner(array):
    """(whole, offset): the array whose memory this one is a part of, C-contiguous, and from which byte on it lies."""
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if not whole.flags.c_contiguous:
        whole = whole.T if whole.T.flags.c_contiguous else array
    return whole, array.ctypes.data - whole.ctypes.data


def elements(whole, view):
    """A whole array as messages name its elements: as a view of all of it does, or in a row, of the view's type."""
    if view.flags.c_contiguous and view.nbytes == whole.nbytes:
        return view
    if whole.dtype == np.uint8 and whole.nbytes % view.itemsize == 0:
        return whole.reshape(-1).view(view.dtype)
    return whole


def memory_of(array):
    """What tells one array's memory from another's, whatever views there are of it: where it is, and how long."""
    return array.ctypes.data, array.nbytes


class Launch:
    """One launch: its arguments in memory, and all that is counted and found while its blocks run.

    memory      the global one: constants of the text and arrays that may not be written first, then, from byte
                `writable` on, arrays that may be, and variables of the text
    parameters  a list of arrays of bytes
    slots       numbers of a block's threads, with room for whole warps
    history     of each access, barrier and fence until now, the number of its instruction; `now`, the last one's place
    changes     how often memory may have changed until now
    limit, seconds, most, room  how many instructions, seconds, how much work, and how many traced accesses there may
                be, see `run`; `work`, how much has been done
    asks       whether requests are counted
    """

    def __init__(self, program, grid, block, args, names, variables):
        self.program, self.grid, self.block, self.blocks = program, grid, block, np.arange(np.prod(grid))
        self.limit, self.seconds, self.most, self.work, self.room = None, SECONDS, math.inf, 0.0, 0
        self.asks = True
        self.history, self.now, self.changes, self.spent = growing("i", [0]), 0, 0, 0
        self.threads = int(np.prod(block))
        self.slots = -(-self.threads // WARP) * WARP
        self.place_arrays(args, names)
        self.set_variables(variables)
        takes = program.program.takes
        if len(takes) != len(args):
            raise TypeError(f"{program.program.name} takes {len(takes)} arguments; {len(args)} are given.")
        self.parameters = []
        for position, (value, (name, kind)) in enumerate(zip(args, takes.items(), strict=True)):
            name = names.get(position, "" if "_param_" in name else name)  # a compiler's name tells nothing
            called = f"argument {position}" + f" ({name})" * bool(name)
            pointed_at, _ = pointed(value)
            if pointed_at is not None and kind not in POINTERS:
                raise TypeError(f"{called} is an array; the kernel takes a number of type .{kind} there.")
            if value is None and kind in POINTERS:
                raise TypeError(
                    f"{called} is None; the kernel takes a pointer there: give an array, or 0 for no array."
                )
            if pointed_at is not None:
                value, kind = self.address(value), "u64"
            if isinstance(value, dict):
                value, _ = structure(value, self.address, called)
            self.parameters.append(as_bits(value, kind, called))
        for number, (name, _, size) in enumerate(program.constant):  # parameters whose address the kernel asks for
            if name in takes:
                start = self.memory.first[number]
                self.memory.cells["u8"][start : start + size] = self.parameters[list(takes).index(name)][:size]
        unit = program.unit
        cells = self.memory.cells[f"u{8 * unit}"][self.writable // unit : self.memory.size // unit]
        self.notes, self.order = Notes(cells, self.slots, near=False), Order(self.slots)
        self.stored = np.zeros(cells.size, np.int32)
        self.traced, self.printed = [], []
        # Of each instruction, how much more often than the one before.
        self.executed, self.by_warps = ([0] * (len(program.operations) + 1) for _ in range(2))
        self.asked = defaultdict(lambda: np.zeros(7, np.int64))  # what `Requests` counts, by instruction and memory
        self.found, self.counted, self.counted_bytes = {}, {}, 0

    def place_arrays(self, args, names):
        """Give each array an address, and global memory a copy of it. Views of one array are all in that."""
        first, self.views = {}, {}  # of each whole array: its position, itself, and whether it may be written
        given = (members(value, names.get(n, f"argument {n}")) for n, value in enumerate(args))
        for name, value in itertools.chain.from_iterable(given):
            value, _ = pointed(value)
            if value is not None:
                whole, offset = owner(value)
                if value.dtype.hasobject:
                    raise ValueError(f"{name} is an array of Python objects; the kernel takes numbers.")
                if not whole.flags.c_contiguous:
                    raise ValueError(f"{name} is no C-contiguous array, and no view of one; np.ascontiguousarray.")
                held = first.setdefault(memory_of(whole), [name, whole, False, elements(whole, value)])
                held[2] |= value.flags.writeable
                self.views.setdefault(id(value), (value, whole, offset))
        placed = sorted(first.values(), key=lambda one: one[2])
        constant, variables = self.program.constant, self.program.variables
        self.arrays = [np.zeros(size, np.uint8) for _, _, size in constant]
        self.arrays += [whole for _, whole, _, _ in placed] + [np.zeros(size, np.uint8) for _, _, size in variables]
        self.shown = [*self.arrays[: len(constant)], *(shown for *_, shown in placed)]
        self.shown += self.arrays[len(self.shown) :]
        self.number = {memory_of(array): number for number, array in enumerate(self.arrays)}
        given = [(name, GLOBAL * number, whole.nbytes) for number, (name, whole, *_) in enumerate(placed, 2)]
        self.memory = Memory(constant + given + variables)
        inputs = sum(not writable for _, _, writable, _ in placed)
        self.writable = np.array(self.memory.first[len(constant) + inputs])
        for array, start in zip(self.arrays, self.memory.first, strict=False):
            self.memory.cells["u8"][start : start + array.nbytes] = array.reshape(-1).view(np.uint8)

    def address(self, value):
        """Where a pointer among the arguments points to; None for one that is none."""
        array, offset = pointed(value)
        if array is None:
            return None
        whole, start = owner(array)
        return self.memory.addresses[self.number[memory_of(whole)]] + start + offset

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
        """Run all blocks, as many side by side as there is room for. Returns `Run`.

        Where some wait for what others have to do, the next ones start beside them.
        """
        blocks = self.blocks
        room = ROOM // max(1, sum(max(1, bits // 8) * rows for bits, rows in self.program.rows.items()))
        at_once = max(1, min(LANES, room) // self.threads)
        self.until, waiting, state = None, [], ""
        with np.errstate(all="ignore"):
            for start in range(0, blocks.size, at_once):
                if start and self.over(0):
                    state = "over"
                    break
                some, self.spent = Blocks(self, blocks[start : start + at_once]), 0
                waiting, state = self.go_on([*waiting, some], last=False)
                if state == "over":
                    break
            while waiting and state != "over":
                before = self.changes, len(waiting)
                waiting, state = self.go_on(waiting, last=True)
                if (self.changes, len(waiting)) == before:
                    break
        if state != "over":
            came = sum(np.count_nonzero(some.waits_for_blocks()) for some in waiting)
            for some in waiting:
                for number, lanes in some.aside.items():
                    if some.of_grid_sync(number):
                        values = {"came": int(came), "blocks": self.blocks.size}
                        text = "only {came} of the {blocks} blocks come here"
                        self.find("divergent barrier", number, text, lanes.size, values=values)
                        continue
                    text = "thread {thread} of block {block} goes round here for ever: nothing changes any more"
                    self.find("hang", number, text, lanes.size, values=some.place_of(lanes[0]))
        return self.result()

    def go_on(self, waiting, last):
        """Let these `Blocks` go on. Returns (those that are not done, "over" if there is no time left)."""
        left = []
        for some in waiting:
            state = some.run(last)
            if state == "over":
                return waiting, state
            left += [some] * (state == "stuck")
        return left, ""

    def over(self, number):
        """Whether there is no time left; found at that instruction."""
        values = {}
        if self.limit is not None and self.spent >= self.limit:
            kind, text = "hang", "it still ran after {spent} instructions; limit={limit} allows no more"
            values = {"spent": f"{self.spent:,}", "limit": self.limit}
        elif self.work >= self.most:
            kind = "out of time"
            text = (
                f"it still ran after work of {self.work:,.0f}; if it only takes long, give it more: "
                f"run(..., work={10 * self.work:.0f})"
            )
        elif self.until is None:  # a short launch never asks for the time, which takes long on some computers
            self.until = time.thread_time() + self.seconds
            return False
        elif time.thread_time() >= self.until:
            kind = "out of time"
            text = (
                f"it still ran after {self.seconds:g} seconds of computing here; if it only takes long, give it more: "
                f"run(..., seconds={10 * self.seconds:g})"
            )
        else:
            return False
        lines = (n for n in range(number, -1, -1) if self.program.operations[n].instruction.source)
        # A compiler's own instructions have no line: the one before has.
        self.find(kind, next(lines, number), text, values=values)
        return True

    def tick(self, number):
        """An access, barrier or fence begins: the next time."""
        self.history.append(number)
        self.now += 1
        return self.now

    def find(self, kind, number, text, many=1, other=None, values=None, **seen):
        """Note something wrong; of each kind and instruction the first, and how many; `other`: an instruction.

        values  of the places of `text`, where it has some
        seen    what else a `Finding` of it has
        """
        if values:
            text, seen = text.format(**values), {"sentence": text, "values": values, **seen}
        self.found.setdefault((kind, number), [text, 0, other, seen])[1] += int(many)

    def count(self, op, number, space, address, slots, warps):
        """Count what threads ask of global or shared memory with one instruction.

        What was counted once is known for the same addresses, and for all of them moved on by lines of 128 bytes.
        """
        moved = address - (address[0] & ~np.uint64(LINE - 1))
        key = number, space, warps, moved.tobytes(), b"" if slots.size == warps * WARP else slots.tobytes()
        if key not in self.counted:
            self.counted_bytes += len(key[3]) + len(key[4])
            if self.counted_bytes > KNOWN:
                self.counted, self.counted_bytes = {}, 0
            self.counted[key] = self.counted_anew(op, space, address, slots, warps)
        self.asked[number, space] += self.counted[key]

    def counted_anew(self, op, space, address, slots, warps):
        """The numbers for that: see `result`."""
        size = op.width if space == "global" else 4
        units = in_units(address.view(np.int64), size, op.width)
        asked = np.full((warps * WARP, units.shape[1]), NOBODY)
        asked[slots] = units
        asked = asked.reshape(warps, WARP, -1)
        pieces = sectors(asked, size) if space == "global" else wavefronts(asked)
        lines = sectors(asked, size, LINE)[1] if space == "global" else 0
        wide = wavefronts(around(asked))[1] if space == "shared" and asked.shape[2] == 1 else 0
        return pieces[0], address.size * op.width, *pieces[1:], lines, paired(asked), wide

    def spell_thread(self, thread):
        """A thread and its block in words, by its number among all."""
        return "thread {thread} of block {block}".format(**self.place_of(thread))

    def place_of(self, thread):
        """The places of a thread and of its block, by its number among all."""
        block, thread = divmod(thread, self.slots)
        return {"thread": spelled(thread, self.block), "block": spelled(block, self.grid)}

    def spell_line(self, number):
        """Where an instruction stands, in words."""
        at = self.program.operations[number].instruction
        return f"line {at.line} of the PTX" + f" (line {at.source} of the source)" * bool(at.source)

    def spell(self, place, array_only=False):
        """The name of the array at a place of global memory, and the element of it: "argument 2[3, 4]"."""
        number, offset = self.memory.array_at(place)
        name, array = plain_name(self.memory.names[number]), self.shown[number]
        if array_only:
            return name
        index = np.unravel_index(offset // array.itemsize, array.shape)
        return f"{name}[{', '.join(map(str, index))}]"

    def result(self):
        """What was counted and found, as `Run`."""
        operations, executed, by_line = self.program.operations, dict.fromkeys(KINDS, 0), defaultdict(int)
        counts = map(itertools.accumulate, (self.executed, self.by_warps))
        for op, threads, warps in zip(operations, *counts, strict=False):
            executed[op.kind] += int(threads)
            by_line[op.instruction.line] += int(warps)
        requests, findings = [], []
        for (number, space), counts in sorted(self.asked.items()):
            at, act = operations[number].instruction, operations[number].act
            if act.startswith("meet"):  # of matrices: whoever gets no register stores
                act = "load" if operations[number].to else "store"
            act = ACTS.get((act, space), act)
            requests.append(Requests(at.line, at.text, space, act, *map(int, counts)))
        for (kind, number), (text, many, other, seen) in self.found.items():
            at, before = operations[number].instruction, other and operations[other].instruction
            where = (at.line, at.text, at.source, *((before.line, before.source) if before else ()))
            findings.append(Finding(kind, text + f" ({many} times)" * (many > 1), *where, times=many, **seen))
        arrays, stores = [], []
        for view, whole, offset in self.views.values():
            start = int(self.memory.first[self.number[memory_of(whole)]])
            held = self.memory.cells["u8"][start : start + whole.nbytes]
            arrays.append(np.ndarray(view.shape, view.dtype, held, offset, view.strides))
            stores.append(self.stores_to(view, whole, start, offset))
        bytes_now, variables = self.memory.cells["u8"], {}
        for name, _, size in self.program.variables:
            start = int(self.memory.first[self.memory.names.index(name)])
            variables[name] = bytes_now[start : start + size].copy()
        kept = dict(variables=variables, trace=tuple(self.traced), printed="".join(self.printed), work=self.work)
        return Run(tuple(arrays), tuple(stores), executed, dict(by_line), tuple(requests), tuple(findings), **kept)

    def stores_to(self, view, whole, start, offset):
        """How often each element of an array was stored, int32 and of its shape."""
        if start < self.writable:
            return np.zeros(view.shape, np.int32)
        first, unit = start - self.writable, self.program.unit
        stored = self.stored[first // unit : -(-(first + whole.nbytes) // unit)]
        if all(stride % unit == 0 for stride in view.strides) and offset % unit == 0:
            strides = [stride // unit * stored.itemsize for stride in view.strides]
            return np.ndarray(view.shape, stored.dtype, stored, offset // unit * stored.itemsize, strides)
        places = np.arange(whole.nbytes, dtype=np.int64)
        return stored[np.ndarray(view.shape, np.int64, places, 8 * offset, [8 * s for s in view.strides]) // unit]

    # ---------------------------------------------------------------- the trace

    def trace_access(self, blocks, op, lanes, space, place):
        """Keep what lanes touch now: place (n,) of a copy of that memory, -1 for what lies outside every array."""
        memory = blocks.memories[space]
        which = np.where(place < 0, -1, np.searchsorted(memory.first, place, "right") - 1)
        numbers, which = np.unique(which, return_inverse=True)
        offsets = np.where(place < 0, 0, place - memory.first[numbers[which]])
        names = tuple("" if one < 0 else plain_name(memory.names[one]) for one in numbers)
        self.keep(blocks, op, lanes, space, op.act, names, which.astype(np.int32), offsets, op.width)

    def keep(self, blocks, op, lanes, *more):
        """Add an `Access`, or that lanes pass a barrier, to the trace, while there is room."""
        if self.room < lanes.size:
            self.room = 0
            return
        self.room -= lanes.size
        self.traced.append(self.access(op, blocks.threads[lanes], blocks.phases[lanes], *more))

    def access(self, op, threads, phases, memory, act, *touched):
        """An `Access` by threads, by their numbers among all."""
        at, (block, thread) = op.instruction, np.divmod(threads, self.slots)
        who = (block.astype(np.int32), thread.astype(np.int32), np.asarray(phases, np.int32))
        return Access(at.line, at.source, at.text, memory, act, *who, *touched)
