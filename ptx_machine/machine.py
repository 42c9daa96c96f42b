"""Runs PTX, the code that a GPU would get, with no GPU: each register is a NumPy array over many threads.

One instruction is done at a time, for all threads that stand there. Threads that stand at different instructions take
turns, those at the smallest one first, so that they meet again where their paths do. A barrier holds threads until all
of their block have come, an instruction that warps do together until all of their warp have. Every address is checked,
every word of shared memory and of the arrays that may be written has a note who touched it, and every instruction is
counted.

How PTX is read: `reader`; decoded: `program`; what its arithmetic does: `arithmetic`; memory: `memory`; what warps ask
of it: `warps`; how a kernel gets its arguments: `launch`; what comes out: `results`.
"""

from dataclasses import replace

import numpy as np

from .arithmetic import IN_MEMORY, TYPES
from .memory import NO_NUMBER, Memory, Seen, after_barrier
from .program import GAP, GLOBAL, LOCAL, SHARED, SPECIAL, bits_of
from .reader import PTXError
from .warps import WARP
from .warpwide import matrices


class Blocks:
    """Some blocks of a launch, side by side. A lane is one of their threads.

    registers  {type: array (registers, lanes)}; the types of one size are views of the same bits
    ready      {instruction: lanes that stand there}, each (n,) and in order; `waiting` likewise, at barriers, and
               `meeting`, at instructions that warps do together
    stamps     (lanes,) int64: thread and number of barriers passed, see `Seen`
    slots      (lanes,) int64: a number for each thread, with room for whole warps in each block
    alive      (warps,) uint32: a bit for each thread that has not left
    groups     (lanes,) int64: how many groups of copies each thread has closed
    copies     those on their way: tuples (lanes, groups, place, bytes, stamps), each array with one row a copy
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
        self.slots, self.warps = self.block_of * launch.slots + thread, blocks.size * launch.slots // WARP
        self.stamps = blocks[self.block_of] * launch.slots + thread
        self.alive = self.bits(everyone)
        self.groups, self.copies = np.zeros(self.lanes, np.int64), []
        at = (*along(thread, launch.block), *launch.block), (*along(blocks[self.block_of], launch.grid), *launch.grid)
        lane, one = thread % WARP, np.int64(1)
        below, all_lanes = (one << lane) - 1, (one << WARP) - 1  # masks of other threads of a warp
        masks = (one << lane, below, below | one << lane, all_lanes & ~(below | one << lane), all_lanes & ~below)
        for name, value in zip(SPECIAL, (*at[0], *at[1], lane, thread // WARP, *masks), strict=True):
            if name in launch.program.places:
                self.registers["u32"][launch.program.places[name][1]] = value
        shared, local = Memory(launch.program.shared, blocks.size), Memory(launch.program.local, self.lanes)
        self.memories = {"global": launch.memory, "shared": shared, "local": local}
        self.seen = Seen(shared.nowhere // launch.program.unit, warps=launch.program.warps_wait)
        self.everyone, self.ready, self.waiting, self.meeting = everyone, {0: everyone}, {}, {}

    # ---------------------------------------------------------------- who runs next

    def run(self):
        """Run to the end. Returns whether it was reached."""
        left = self.launch.limit
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
        self.tally(number, doing)
        return doing

    def tally(self, number, lanes):
        """Count an instruction, for these lanes and for their warps."""
        self.launch.executed[number] += lanes.size
        warps = self.warps
        if 0 < lanes.size < self.lanes:
            warps = 1 + np.count_nonzero(np.diff(self.slots[lanes] // WARP))
        self.launch.by_warps[number] += warps if lanes.size else 0

    # ---------------------------------------------------------------- control

    def branch(self, op, number, lanes):
        """`bra`. Each of these methods returns the lanes that go on with the next instruction, or None."""
        self.tally(number, lanes)
        taken = self.guarded(op, lanes)
        if taken.size == lanes.size:
            self.arrive(self.ready, op.target, lanes)
            return None
        if not taken.size:
            return lanes
        self.arrive(self.ready, op.target, taken)
        return self.others(lanes, taken, number)

    def branch_by_number(self, op, number, lanes):
        """`brx.idx`: each lane to the one of the targets that its number says."""
        doing = self.doing(op, number, lanes)
        chosen = self.full(op.of[0], doing, self.index(doing))
        for one in np.unique(chosen):
            self.arrive(self.ready, op.function[min(one, len(op.function) - 1)], doing[chosen == one])
        return self.others(lanes, doing, number)

    def leave(self, op, number, lanes):
        """`ret` and `exit`."""
        doing = self.doing(op, number, lanes)
        self.alive &= ~self.bits(doing)
        for where, held in self.meeting.items():  # nobody waits for those any longer
            self.arrive(self.ready, where, held)
        self.meeting = {}
        return self.others(lanes, doing, number)

    def others(self, lanes, some, number):
        """Let all these lanes but some go on behind the instruction, when it is their turn."""
        left = np.ones(self.lanes, bool)
        left[some] = False
        self.arrive(self.ready, number + 1, lanes[left[lanes]])

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
        return self.others(lanes, here, number)

    def release(self):
        """No lane can go on: let those at barriers pass, and look whether threads are missing there.

        Returns whether any lane waited.
        """
        if self.meeting:
            number = min(self.meeting)
            lanes = self.meeting.pop(number)
            text = f"{self.who(lanes[0])} waits here for threads of its warp that do not come"
            self.launch.find("divergent barrier", number, text, lanes.size)
            self.arrive(self.ready, number + 1, lanes)
            return True
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
            op = self.operations[number]
            if op.function:  # `bar.red`: a vote
                holds = self.full(op.of[0], lanes, self.index(lanes)) != bool(op.target)
                many = np.bincount(self.block_of[lanes], holds, self.blocks.size)
                self.write(op.to[0], self.index(lanes), op.function(many, here)[self.block_of[lanes]])
            self.stamps[lanes] = after_barrier(self.stamps[lanes])
            self.arrive(self.ready, number + 1, lanes)
        self.waiting = {}
        return passed

    # ---------------------------------------------------------------- warps

    def bits(self, lanes):
        """A bit for each of these lanes, by warps: (warps,) uint32."""
        warp, thread = np.divmod(self.slots[lanes], WARP)
        return np.bincount(warp, 2.0**thread, self.warps).astype(np.uint32)

    def meet(self, op, number, lanes):
        """What threads of a warp do together: they wait for those that its mask names and that have not left."""
        doing = self.guarded(op, lanes)
        here = self.merged(self.meeting.pop(number), doing) if number in self.meeting else doing
        aligned = "aligned" in op.instruction.name  # for all threads of a warp
        if here.size == self.warps * WARP:
            come = np.ones(here.size, bool)
        else:
            warp, named = self.slots[here] // WARP, self.full(op.mask, here, self.index(here))
            missing = named & ~self.bits(here)[warp]
            come = (missing if aligned else missing & self.alive[warp]) == 0
        self.arrive(self.meeting, number, here[~come])
        going = here if come.all() else here[come]
        if going.size:
            self.tally(number, going)
            getattr(self, op.then)(op, number, going)
        if doing.size < lanes.size:
            self.others(lanes, doing, number)
        return going if going.size else None

    def wait_warp(self, op, number, lanes):
        """`bar.warp.sync`."""
        self.stamps[lanes] = after_barrier(self.stamps[lanes], of_warp=True)

    def active(self, op, number, lanes):
        """`activemask`: who stands here together."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            self.across(op, number, doing)
        return lanes

    def across(self, op, number, lanes):
        """What a warp's threads give each other; `op.function` sees warps, (warps, 32), and who takes part."""
        mask = self.read(op.mask, self.index(lanes))
        for some in [lanes[mask == one] for one in np.unique(mask)] if np.ndim(mask) else [lanes]:
            slots, index = self.slots[some], self.index(some)
            warps = np.unique(slots // WARP)
            place = np.searchsorted(warps, slots // WARP) * WARP + slots % WARP
            taking = np.zeros(warps.size * WARP, bool)
            taking[place] = True
            values = [self.spread(operand, some, index, place, warps.size) for operand in op.of]
            results = op.function(taking.reshape(-1, WARP), *values)
            for to, result in zip(op.to, results if isinstance(results, tuple) else (results,), strict=False):
                self.write(to, index, np.broadcast_to(result, (warps.size, WARP)).reshape(-1)[place])

    def spread(self, operand, lanes, index, place, warps):
        """An operand of these lanes as (warps, 32); no number for threads that take no part."""
        values = self.full(operand, lanes, index)
        whole = np.full(warps * WARP, False if values.dtype == bool else NO_NUMBER, f"u{values.itemsize}")
        whole = whole.view(values.dtype)
        whole[place] = values
        return whole.reshape(warps, WARP)

    def load_matrices(self, op, number, lanes):
        """`ldmatrix`: thread n of a warp names row n % 8 of matrix n // 8, and gets a word of each matrix."""
        many = len(op.to)
        naming = lanes[self.slots[lanes] % WARP < 8 * many]
        memory, place, inside = self.locate(op, number, naming)
        words = in_units(place, 4, op.width)
        getting = np.repeat(lanes.reshape(-1, 1, WARP), many, axis=1).reshape(-1)
        inside = inside if inside is None else np.repeat(inside, 4)
        self.watch_shared(op, number, getting, words.reshape(-1) * 4, inside, 4)
        rows = memory.cells["b32"][words].reshape(-1, 8 * many, 4)
        index = self.index(lanes)
        for to, result in zip(op.to, matrices(rows, op.function), strict=True):
            self.write(to, index, result.reshape(-1))

    def move_fragment(self, op, number, lanes):
        """`wmma.load` and `wmma.store`: each thread moves its part of a matrix, some numbers of a line at a time."""
        index, thread = self.index(lanes), self.slots[lanes] % WARP
        start, stride = (self.full(one, lanes, index).astype(np.int64)[:, None] for one in op.of[:2])
        line, place = (lies[thread] for lies in op.function)
        address, step = start + line * stride + place, replace(op, act="load" if op.to else "store")
        if op.to:
            loaded = []
            for some in address.T:
                cells, at = self.reach(replace(step, of=(some,)), number, lanes)
                loaded.append(cells[at])
            words = np.ascontiguousarray(np.concatenate(loaded, axis=1)).view(np.uint32)
            for register, to in enumerate(op.to):
                self.write(to, index, words[:, register % words.shape[1]])
            return
        words = np.stack([self.full(one, lanes, index) for one in op.of[2:]], axis=1)
        values = words.view(IN_MEMORY[op.type]).reshape(*address.shape, -1)
        for number_of, some in enumerate(address.T):
            given = np.ascontiguousarray(values[:, number_of])
            cells, at = self.reach(replace(step, of=(some,)), number, lanes, given)
            cells[at] = given

    # ---------------------------------------------------------------- asynchronous copies

    def copy(self, op, number, lanes):
        """`cp.async`: what it reads is taken now, and stands in shared memory when it has been waited for."""
        doing = self.doing(op, number, lanes)
        if not doing.size:
            return lanes
        size = np.minimum(self.full(op.of[1], doing, self.index(doing)), op.width)
        values = np.zeros((doing.size, op.width), np.uint8)  # behind the bytes that are read, zeros are stored
        for many in np.unique(size[size > 0]).tolist():
            some = size == many
            unit, kind = (4, "b32") if many % 4 == 0 else (1, "b8")
            cells, place = self.reach(replace(op.function, width=many, size=unit, type=kind), number, doing[some])
            values[some, :many] = cells[place].view(np.uint8)
        _, place, inside = self.locate(op, number, doing)
        self.watch_shared(op, number, doing, place, inside, op.width)
        self.copies.append((doing, self.groups[doing], place, values, self.stamps[doing]))
        return lanes

    def commit(self, op, number, lanes):
        """`cp.async.commit_group`: what was asked for since the last one is a group."""
        self.groups[self.doing(op, number, lanes)] += 1
        return lanes

    def await_copies(self, op, number, lanes):
        """`cp.async.wait_group` and `wait_all`: all groups but the last `op.target` have come, -1 for all copies."""
        doing = self.doing(op, number, lanes)
        until = np.full(self.lanes, -1)
        until[doing] = self.groups[doing] - op.target
        held, self.copies = self.copies, []
        for copies in held:
            came = copies[1] < until[copies[0]]
            if came.any():
                self.come(*(part[came] for part in copies))
            if not came.all():
                self.copies.append(tuple(part[~came] for part in copies))
        return lanes

    def come(self, lanes, groups, place, values, stamps):
        """Let copies arrive."""
        memory, unit, width = self.memories["shared"], self.launch.program.unit, values.shape[1]
        memory.cells["b32"][in_units(place, 4, width)] = values.view(np.uint32)
        units = in_units(place, unit, width)
        inside = place < memory.nowhere
        asked, now = (np.repeat(s[inside], units.shape[1]) for s in (stamps, self.stamps[lanes]))
        self.seen.arrive(units[inside].ravel(), asked, now)

    # ---------------------------------------------------------------- arithmetic

    def compute(self, op, number, lanes):
        """Arithmetic."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            index = self.index(doing)
            self.write(op.to[0], index, op.function(*[self.read(operand, index) for operand in op.of]))
        return lanes

    def compute_both(self, op, number, lanes):
        """Arithmetic with two results."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            index = self.index(doing)
            results = op.function(*[self.read(operand, index) for operand in op.of])
            for to, result in zip(op.to, results, strict=False):
                self.write(to, index, result)
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
        given = self.launch.parameters[op.target][op.offset : op.offset + op.size * len(op.to)]
        for to, value in zip(op.to, given.copy().view(IN_MEMORY[op.type]), strict=True):
            self.write(to, self.index(doing), value)
        return lanes

    def nothing(self, op, number, lanes):
        """A fence: memory is always in order here."""
        self.tally(number, lanes)
        return lanes

    # ---------------------------------------------------------------- memory

    def load(self, op, number, lanes):
        """`ld`, of one element or several."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            cells, place = self.reach(op, number, doing)
            values, index = cells[place], self.index(doing)
            for part, to in enumerate(op.to):
                self.write(to, index, values[:, part])
        return lanes

    def store(self, op, number, lanes):
        """`st`, of one element or several."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            index = self.index(doing)
            values = np.stack([self.full(operand, doing, index) for operand in op.of[1:]], axis=1)
            values = values.astype(IN_MEMORY[op.type], copy=False)
            cells, place = self.reach(op, number, doing, values)
            cells[place] = values
        return lanes

    def atomic(self, op, number, lanes):
        """`atom` and `red`."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            cells, place = self.reach(op, number, doing)
            index = self.index(doing)
            before, given = np.zeros(doing.size, cells.dtype), [self.full(one, doing, index) for one in op.of[1:]]
            for n, (where, *values) in enumerate(zip(place[:, 0], *given, strict=True)):  # one by one, in any order
                before[n] = cells[where]
                cells[where] = op.function(before[n], *values)
            if op.to:
                self.write(op.to[0], index, before)
        return lanes

    def reach(self, op, number, lanes, values=None):
        """Check, count and watch an access, a store of `values` (n, elements).

        Returns (cells, place): memory as an array of elements, and which of them each thread moves, (n, elements).
        """
        memory, place, inside = self.locate(op, number, lanes, values)
        if memory is self.memories["shared"] and op.act != "atomic":
            self.watch_shared(op, number, lanes, place, inside, op.width)
        return memory.cells[op.type], in_units(place, op.size, op.width)

    def locate(self, op, number, lanes, values=None):
        """Check and count an access; watch one of global memory.

        Returns (memory, place, inside): where among all its copies each access begins, and whether it lies in an array,
        as `Memory.find` gives it. One that does not is led to bytes that nobody else uses.
        """
        index = self.index(lanes)
        address = self.full(op.of[0], lanes, index).astype(np.uint64)
        address += np.uint64(op.offset % (1 << 64))
        space = op.space if op.space != "any" else self.space_of(op, address)
        memory = self.memories[space]
        place, inside = memory.find(address, op.width)
        self.check(op, number, lanes, space, address, inside)
        if space != "local":
            self.launch.count(op, number, space, address, self.slots[index], self.warps)
        if space == "global":
            self.watch_global(op, number, lanes, place, inside, values)
        else:
            place += memory.size * (self.block_of if space == "shared" else self.everyone)[index]
        if inside is not None:
            memory.lead_nowhere(place, inside)
        return memory, place, inside

    def check(self, op, number, lanes, space, address, inside):
        """Find accesses outside of every array, and at no multiple of their width."""
        if inside is not None:
            first, memory = np.argmin(inside), self.memories[space]
            does = "stores" if op.act in ("store", "copy") else "loads"
            text = (
                f"{self.who(lanes[first])} {does} {op.width} bytes outside every array of {space} memory"
                f"{nearest(memory, address[first])}"
            )
            self.launch.find("out of bounds", number, text, np.count_nonzero(~inside))
        multiple = op.width & -op.width  # a copy may read any number of bytes
        crooked = address % np.uint64(multiple) != 0
        if crooked.any():
            text = f"{self.who(lanes[np.argmax(crooked)])} moves {op.width} bytes at no multiple of {multiple}"
            self.launch.find("misaligned", number, text, np.count_nonzero(crooked))

    def space_of(self, op, address):
        """The memory that these addresses lie in, for an instruction that names none."""
        spaces = {
            "shared" if SHARED <= one < LOCAL else "local" if LOCAL <= one < GLOBAL else "global"
            for one in (int(address.min()), int(address.max()))
        }
        if len(spaces) > 1:
            both = " and ".join(sorted(spaces))
            raise PTXError(
                f"line {op.instruction.line} of the PTX touches {both} memory at once, which is not "
                f"known here: {op.instruction.text}"
            )
        return spaces.pop()

    def watch_shared(self, op, number, lanes, place, inside, width):
        """Note who touches which `width` bytes of shared memory. `place`: within all copies."""
        if inside is not None:
            place, lanes = place[inside], lanes[inside]
        units = in_units(place, self.launch.program.unit, width)
        stamps, units = np.repeat(self.stamps[lanes], units.shape[1]), units.ravel()
        late = self.seen.on_the_way(units) if self.seen.copies else None
        if op.act in ("store", "copy"):
            race = self.seen.write(units, stamps, op.act == "copy")
        else:
            race, unwritten = self.seen.read(units, stamps)
            if unwritten.any():
                text = "a thread reads shared memory that no thread has written"
                self.launch.find("uninitialised", number, text, np.count_nonzero(unwritten))
        if race.any():
            memory, first = self.memories["shared"], units[np.argmax(race)] * self.launch.program.unit
            array, offset = memory.array_at(first % memory.size)
            touched = f"element {offset // op.size} of {memory.names[array]}"
            text = f"threads of a block touch {touched} between the same barriers, and one of them writes"
            if late is not None and late[np.argmax(race)]:
                text = f"a thread touches {touched} while an asynchronous copy to it is on its way"
            self.launch.find("race", number, text, np.count_nonzero(race))

    def watch_global(self, op, number, lanes, place, inside, values):
        """Note who touches what of the arrays that may be written, and that nobody stores to the others."""
        launch, act = self.launch, op.act
        if act == "load" and inside is None and place.max() < launch.writable:
            return
        keep = (place >= launch.writable) & (True if inside is None else inside)
        if act != "load":
            into = ~keep if inside is None else ~keep & inside
            if into.any():
                first = np.argmax(into)
                text = f"{self.who(lanes[first])} stores to {launch.spell(place[first], array_only=True)}"
                launch.find("writes to an input", number, text, np.count_nonzero(into))
        units = in_units(place[keep] - launch.writable, launch.program.unit, op.width)
        stamps, units = np.repeat(self.stamps[lanes[keep]], units.shape[1]), units.ravel()
        if act == "load":
            race, _ = launch.seen.read(units, stamps)
            race &= op.order == "weak"
        elif act == "store":
            harmless = launch.same_value(units, values[keep])
            race = launch.seen.write(units, stamps) & ~harmless
            np.add.at(launch.stored, units, 1)
        else:
            race = np.zeros(units.size, bool)
            launch.stored[units] = np.maximum(launch.stored[units], 1)
        if race.any():
            first = launch.writable + units[np.argmax(race)] * launch.program.unit
            text = f"two threads touch {launch.spell(first)}, and one of them writes"
            launch.find("race", number, text, np.count_nonzero(race))

    # ---------------------------------------------------------------- words for findings

    def who(self, lane):
        """A lane's thread and block, in words."""
        thread = int(lane) % self.launch.threads
        return f"thread {spelled(thread, self.launch.block)} of block {self.spell_block(self.block_of[lane])}"

    def spell_block(self, number):
        """The place in the grid of one of these blocks."""
        return spelled(int(self.blocks[number]), self.launch.grid)


def along(number, sides):
    """The places along x, y and z of thread or block `number`, where there are `sides` of them along each."""
    return np.unravel_index(number, sides[::-1])[::-1]


def spelled(number, sides):
    """The same as text: "(3, 1)", or "(3, 1, 2)" where there is more than one along z."""
    return f"({', '.join(map(str, along(number, sides)[: 3 if sides[2] > 1 else 2]))})"


def in_units(place, size, width):
    """The units of `size` bytes that accesses of `width` bytes at these places touch: (n, units), counted from 0."""
    return (place // size)[:, None] + np.arange(max(1, width // size))


def nearest(memory, address):
    """How far off an address is from the array below it, or above."""
    for name, base, size in zip(memory.names, memory.addresses, memory.bytes, strict=True):
        offset = int(address) - base
        if -GAP // 2 < offset < size + GAP // 2:
            if offset >= 0:
                return f", {offset - size} bytes behind the end of {name}"
            return f", {-offset} bytes before {name}"
    return ""
