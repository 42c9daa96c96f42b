"""Runs PTX, the code that a GPU would get, with no GPU: each register is a NumPy array over many threads.

One instruction is done at a time, for all threads that stand there. Threads that stand at different instructions take
turns, those at the smallest one first, so that they meet again where their paths do. Threads that go round in a loop in
which nothing changes step aside until memory changes: what they wait for may be for others to do. A barrier holds
threads until all of their block that have not left have come, an instruction that warps do together until all of their
warp have. Every address is checked,
every word of shared memory and of the arrays that may be written has a note who touched it, and every instruction is
counted.

How PTX is read: `reader`; decoded: `program`; what its arithmetic does: `arithmetic`; memory: `memory`; what warps ask
of it: `warps`; how a kernel gets its arguments: `launch`; what comes out: `results`.
"""

import functools
import itertools
from dataclasses import replace

import numpy as np

from .arithmetic import IN_MEMORY, TYPES
from .linking import DEEPEST
from .memory import IN_BLOCK, NO_NUMBER, SEVERAL, STRONG, THREAD, TIME, VOLATILE, WEAK, Memory, Notes, Touching, Views
from .names import plain_name
from .printing import arguments_of, formatted
from .program import GAP, GLOBAL, LOCAL, SHARED, SPECIAL, bits_of
from .reader import PTXError
from .unset import Unset
from .warp_groups import GROUP, held_by_threads, matrix, pieces, product, registers_of, sums_of
from .warps import WARP, WIDE
from .warpwide import matrices

BARRIERS = 16  # of a block
EVERYONE = 0xFFFFFFFF  # the mask of all of a warp
TIMES = 4  # that lanes come back, until what they held is looked at no more
BESIDE = 100  # threads side by side, for which an instruction takes twice as long as for one, about
A_PRINT = 6  # instructions, for as long as which a thread prints, about
POLLS = 16  # turns in which lanes ask memory, until others that wait get theirs


class Blocks:
    """Some blocks of a launch, side by side. A lane is one of their threads.

    registers  {type: array (registers, lanes)}, `Views`; the types of one size are the same bits
    beside     {width: the same for so many lanes, while some of them do arithmetic}
    ready      {instruction: lanes that stand there}, each (n,) and in order; `waiting` likewise, at barriers, and
               `meeting`, at instructions that warps do together
    threads    (lanes,) int64: the thread's number among those of all blocks, with room for whole warps
    passed     (lanes,) int64: when each passed its block's last barrier; `phases`, int32, how many it passed
    warps_know (lanes, 32) int64: until when each knows what its warp's threads did, by barriers of the warp; or None
    barrier, expected  (lanes,) int64, of kernels with several barriers: at which each stands, 16 of them a block, and
               how many threads that waits for, 0 for all; `arrived`, {barrier: clocks of threads that do not wait}
    own        (units,) bool: what of its local memory each thread has set; `unset`, the `Unset` where one uses others
    aside      {instruction: lanes} that go round where nothing changes; `sure` whether nothing can change by itself
    slots      (lanes,) int64: a number for each thread, with room for whole warps in each block
    alive      (warps,) uint32: a bit for each thread that has not left; `staying`, how many those are
    groups     (lanes,) int64: how many groups of copies each thread has closed
    copies     those on their way: tuples (lanes, groups, place, bytes, stamps), each array with one row a copy
    closed     (lanes,) int64: how many groups of products of warp groups each thread has closed
    products   what those that are not waited for may still read: tuples (step, number, lanes, groups, place)
    """

    def __init__(self, launch, blocks):
        self.launch, self.operations, self.blocks = launch, launch.program.operations, blocks
        threads = launch.threads
        self.lanes = blocks.size * threads
        types = {bits: f"u{bits // 8}" if bits > 1 else bool for bits in (1, 16, 32, 64)}
        rows = {bits: np.zeros((launch.program.rows[bits], self.lanes), dtype) for bits, dtype in types.items()}
        self.registers = Views(lambda kind: rows[bits_of(kind)].view(TYPES[kind]))
        beside = {bits: np.empty_like(some[:, :WIDE]) for bits, some in rows.items()}
        self.beside = Views(lambda w: Views(lambda kind: beside[bits_of(kind)][:, :w].view(TYPES[kind])))
        everyone = np.arange(self.lanes)
        self.block_of, thread = everyone // threads, everyone % threads
        self.slots, self.warps = self.block_of * launch.slots + thread, blocks.size * launch.slots // WARP
        self.threads = blocks[self.block_of] * launch.slots + thread
        self.passed = np.zeros(self.lanes, np.int64)
        self.phases = np.zeros(self.lanes, np.int32)
        self.warps_know = np.zeros((self.lanes, WARP), np.int64) if launch.program.warps_wait else None
        self.alive, self.staying = self.bits(everyone), self.lanes
        self.groups, self.copies = np.zeros(self.lanes, np.int64), []
        self.closed, self.products = np.zeros(self.lanes, np.int64), []
        for name in filter(launch.program.places.__contains__, SPECIAL):
            what, _, axis = name.partition(".")
            value = SPECIAL_VALUES[what](thread, blocks[self.block_of], launch)
            self.registers["u32"][launch.program.places[name][1]] = value["xyz".index(axis)] if axis else value
        shared, local = Memory(launch.program.shared, blocks.size), Memory(launch.program.local, self.lanes)
        self.memories = {"global": launch.memory, "shared": shared, "local": local}
        self.notes = Notes(shared.cells[f"u{8 * launch.program.unit}"], launch.slots, near=True)
        self.unset, self.own = None, np.zeros(local.nowhere // launch.program.local_unit + WARP, bool)
        self.steps, self.ends = [None] * len(self.operations), launch.program.ends
        self.counted, self.touched, self.some = (None, 0), None, (None,)
        if launch.program.named:
            self.barrier, self.expected = np.zeros((2, self.lanes), np.int64)
            self.arrived = {}
        self.stacks = {}  # {(function, bits, how deep): registers that a call of itself keeps}
        self.everyone, self.ready, self.waiting, self.meeting = everyone, {0: everyone}, {}, {}
        self.aside, self.sure, self.aside_since, self.returned = {}, True, 0, None
        self.first_look = 8 + self.lanes // 128  # turns until lanes that go round are looked at first
        self.turns, self.check_at, self.looked, self.polled, self.polls = 0, self.first_look, None, False, 0
        self.printed_at = None  # the instruction that printed in the last turn

    # ---------------------------------------------------------------- who runs next

    def run(self, last=False):
        """Run on. Returns "done", "stuck" where all wait for what only others can change, or "over": no time is left.

        last  whether there are no others that could: those who may not be stuck for ever then go on
        """
        launch = self.launch
        while True:
            if self.aside and (launch.changes != self.aside_since or not self.ready):
                # Those who only asked memory often may be about to come: they go on once before anybody is missed.
                if launch.changes == self.aside_since and (self.sure or self.returned == launch.changes):
                    if self.release():
                        continue
                    if self.sure or not last:
                        return "stuck"
                self.returned = launch.changes
                self.come_back()
            if not self.ready and not self.release():
                self.steps = self.unset = None  # they refer to these blocks, which would stay in memory
                return "done"
            number = min(self.ready)
            self.turns += 1
            if self.turns & 63 == 0 and launch.over(number if self.printed_at is None else self.printed_at):
                return "over"
            self.printed_at = None
            lanes = self.ready.pop(number)
            if self.goes_round(number, lanes):
                self.arrive(self.aside, number, lanes)
                self.aside_since = launch.changes
                continue
            began, many = number, lanes.size
            while lanes is not None:
                if number >= len(self.operations):
                    break
                if number in self.ready:
                    lanes = self.merged(lanes, self.ready.pop(number))
                lanes = (self.steps[number] or self.bound(number))(lanes)
                number = self.ends[number]
            launch.spent += number - began
            launch.work += (number - began) * (1 + many / BESIDE)

    def bound(self, number):
        """The function of lanes that does an instruction, and others up to `ends`; it is made once."""
        op = self.operations[number]
        if op.act in ("compute", "index_within") and op.guard is None:
            step = self.bound_arithmetic(number, self.ends[number])
        elif op.act == "branch":
            step = self.bound_branch(op, number)
        else:
            step = functools.partial(getattr(self, op.act), op, number)
        if self.unset:
            step = self.followed(step, op, number)
        self.steps[number] = step
        return step

    def followed(self, step, op, number):
        """The same, for numbers that nobody has set: see `Unset`."""

        def following(lanes):
            self.unset.follow(op, number, lanes, self.guarded(op, lanes))
            return step(lanes)

        return following

    def bring_unset(self, number, operands, lanes, text):
        """An instruction gives lanes what nobody has set."""
        if not self.unset:
            self.unset, self.steps = Unset(self), [None] * len(self.operations)
            self.ends = range(1, len(self.operations) + 1)
        self.unset.bring(number, operands, lanes, text)

    def bound_arithmetic(self, number, end):
        """The same for arithmetic without a guard, all of it up to `end`."""
        operations, tally, bound, everyone = self.operations[number:end], self.tally, {}, self.lanes

        def step(lanes):
            if everyone > lanes.size > WIDE:
                for place, op in enumerate(operations, number):
                    self.compute(op, place, lanes)
                return lanes
            tally(number, lanes, end)
            self.doing_now = lanes
            if lanes.size == everyone:
                wide, registers, width = lanes, self.registers, 0
            else:
                wide, registers, width = self.side_by_side(lanes)
            if width not in bound:
                bound[width] = straight_line(operations, self.registers, registers, self.index_within)
            reads, steps, writes = bound[width]
            for register, place in reads:
                register.take(wide, None, place, "clip")
            for do in steps:
                do()
            for register, place in writes:
                register[wide] = place
            return lanes

        return step

    def side_by_side(self, lanes):
        """(lanes, registers for so many, how many): some lanes, and the last of them again up to one of few widths."""
        if lanes is not self.some[0]:
            width = min(self.lanes, max(2 * WARP, 1 << (lanes.size - 1).bit_length()))
            self.some = lanes, lanes.take(self.everyone[:width], mode="clip"), self.beside[width], width
        return self.some[1:]

    def bound_branch(self, op, number):
        """The same for `bra`."""
        holds, target, negated, everyone = None, op.target, op.negated, self.lanes
        if op.guard is not None:
            holds = self.registers["pred"][op.guard]

        def step(lanes):
            self.tally(number, lanes)
            if holds is not None:
                taken = holds if lanes.size == everyone else holds[lanes]
                taken = ~taken if negated else taken
                many = np.count_nonzero(taken)
                if not many:
                    return lanes
                if many != lanes.size:
                    self.arrive(self.ready, target, lanes[taken])
                    self.arrive(self.ready, number + 1, lanes[~taken])
                    return None
            self.arrive(self.ready, target, lanes)
            return None

        return step

    def come_back(self):
        """Let those who stepped aside take part again."""
        for number, lanes in self.aside.items():
            self.arrive(self.ready, number, lanes)
        self.aside, self.sure, self.check_at, self.looked, self.polls = {}, True, self.turns + self.first_look, None, 0

    def goes_round(self, number, lanes):
        """Whether lanes have come back to an instruction, and neither their registers nor memory have changed.

        That is looked for again and again, ever more seldom. Where others wait for their turn, lanes also count as such
        that have asked memory POLLS times; they may yet go on by themselves.
        """
        if self.looked and self.looked[0] == number:
            _, changes, before, state = self.looked
            same = changes == self.launch.changes and np.array_equal(before, lanes)
            if same and all(map(np.array_equal, state, self.state(lanes))):
                self.looked = None
                return True
            self.times -= 1
            if not self.times:
                self.looked = None
        if self.turns >= self.check_at:
            self.looked, self.times = (number, self.launch.changes, lanes, list(self.state(lanes))), TIMES
            self.check_at = self.turns + max(self.first_look, min(self.check_at, 1 << 12))
        if self.polled:
            self.polls, self.polled = self.polls + 1, False
        if self.polls > POLLS and self.ready:
            self.polls, self.sure = 0, False
            return True
        return False

    def state(self, lanes):
        """All registers of these lanes, one size after the other."""
        index = self.index(lanes)
        return (self.registers[kind][:, index].copy() for kind in ("u32", "u64", "pred", "u16"))

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

    def tally(self, number, lanes, end=None):
        """Count an instruction, or all up to `end`, for these lanes and for their warps."""
        many, warps = lanes.size, self.warps
        if many < self.lanes:
            if lanes is not self.counted[0]:
                warps = int(self.slots[lanes[-1]] // WARP - self.slots[lanes[0]] // WARP) + 1 if many else 0
                if warps > 2:  # perhaps not all between
                    warps = 1 + np.count_nonzero(np.diff(self.slots[lanes] // WARP))
                self.counted = lanes, warps
            warps = self.counted[1]
        launch, end = self.launch, end or number + 1
        launch.executed[number] += many
        launch.executed[end] -= many
        launch.by_warps[number] += warps
        launch.by_warps[end] -= warps

    # ---------------------------------------------------------------- control

    def branch_by_number(self, op, number, lanes):
        """`brx.idx`: each lane to the one of the targets that its number says.

        Each of these methods returns the lanes that go on with the next instruction, or None.
        """
        doing = self.doing(op, number, lanes)
        chosen = self.full(op.of[0], doing, self.index(doing))
        for one in np.unique(chosen):
            self.arrive(self.ready, op.function[min(one, len(op.function) - 1)], doing[chosen == one])
        return self.others(lanes, doing, number)

    def leave(self, op, number, lanes):
        """`ret` and `exit`."""
        doing = self.doing(op, number, lanes)
        self.alive &= ~self.bits(doing)
        self.staying -= doing.size
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
            text = "thread {thread} of block {block} gives up"
            self.launch.find("error", number, text, gone.size, values=self.place_of(gone[0]))
        return self.leave(op, number, lanes)

    def index_within(self, op, index, size):
        """`index_within index, size, axis`, of the lanes `doing_now`: no GPU has it, whoever made the text does."""
        beyond = np.flatnonzero(index >= size)
        beyond = beyond[: np.searchsorted(beyond, self.doing_now.size)]  # behind them, the last one stands again
        if beyond.size:
            lane = self.doing_now[beyond[0]]
            index, size = (int(np.ravel(one)[beyond[0] % np.size(one)].astype(np.int64)) for one in (index, size))
            index -= size * (index < 0)  # Numba has added the size to a negative one
            text = "thread {thread} of block {block} asks for element {index} of axis {axis}, which has {size}"
            values = self.place_of(lane) | {"index": index, "axis": op.target, "size": size}
            self.launch.find("index", self.operations.index(op), text, beyond.size, values=values)

    def wait(self, op, number, lanes):
        """`bar.sync`: lanes wait until no other can go on."""
        here = self.doing(op, number, lanes)
        if self.launch.program.named:
            self.stands_at(op, here)
        self.arrive(self.waiting, number, here)
        return self.others(lanes, here, number)

    def stands_at(self, op, lanes):
        """Note which barrier of its block each lane comes to, and for how many threads that waits."""
        index = self.index(lanes)
        number, many = (self.full(one, lanes, index).astype(np.int64) for one in op.barrier)
        self.barrier[lanes] = self.block_of[lanes] * BARRIERS + number % BARRIERS
        self.expected[lanes] = many

    def arrive_at(self, op, number, lanes):
        """`bar.arrive`: lanes come to a barrier, and do not wait there."""
        here, now = self.doing(op, number, lanes), self.launch.tick(number)
        self.stands_at(op, here)
        for lane in here.tolist():
            self.arrived.setdefault(int(self.barrier[lane]), []).append(self.done(lane, now))
        return lanes

    def complete(self, lanes):
        """Where those who wait, `lanes`, have all come whom their barrier waits for; bool (n,)."""
        alive = self.how_many_stay()
        if not self.launch.program.named:
            here = np.bincount(self.block_of[lanes], minlength=self.blocks.size)
            return (here == alive)[self.block_of[lanes]]
        at = self.barrier[lanes]
        come = self.how_many_came(at)
        return come[at] >= np.where(self.expected[lanes], self.expected[lanes], alive[self.block_of[lanes]])

    def how_many_came(self, at):
        """How many threads have come to each barrier, where `at` says at which they wait; int64."""
        come = np.bincount(at, minlength=self.blocks.size * BARRIERS)
        for barrier, clocks in self.arrived.items():
            come[barrier] += len(clocks)
        return come

    def look_for_missing_named(self):
        """Find that nobody else comes to a barrier with a number."""
        first = min(self.waiting)
        lanes = self.waiting[first]
        barrier, block = self.barrier[lanes[0]], self.block_of[lanes[0]]
        some = np.concatenate([*self.waiting.values()])
        text = (
            f"{self.how_many_came(self.barrier[some])[barrier]} of "
            f"{self.expected[lanes[0]] or self.how_many_stay()[block]} threads have come to barrier "
            f"{barrier % BARRIERS} of block {self.spell_block(block)}, and no more do"
        )
        self.launch.find("divergent barrier", first, text, some.size)

    def pass_named(self, lanes, now):
        """Let lanes know what their barriers order, where these have numbers."""
        at, alive = self.barrier[lanes], self.how_many_stay()
        for barrier in np.unique(at).tolist():
            some = lanes[at == barrier]
            block = barrier // BARRIERS
            wanted = int(self.expected[some[0]])
            if some.size == (self.launch.threads if wanted else alive[block]):  # a whole block
                self.passed[some] = now
                self.launch.order.together(int(self.blocks[block]))
            else:
                arrived = self.arrived.get(barrier, [])
                many = (wanted or alive[block]) - some.size  # those who came again came for the next time
                done = [*arrived[:many], *(self.done(lane, now) for lane in some.tolist())]
                self.arrived[barrier] = arrived[many:]
                self.launch.order.together(int(self.blocks[block]), self.threads[some].tolist(), done)

    def how_many_stay(self):
        """How many threads of each block have not left; (blocks,) int64."""
        left = (self.alive[self.slots // WARP] >> (self.slots % WARP).astype(np.uint32)) & np.uint32(1)
        return np.bincount(self.block_of, left, self.blocks.size).astype(np.int64)

    def pass_by(self, passing):
        """Let lanes go on behind their barriers. passing: {instruction: lanes}"""
        for number, some in passing.items():
            op = self.operations[number]
            if some.size:
                self.launch.keep(self, op, some, "", "barrier")
            if op.function:  # `bar.red`: a vote
                holds = self.full(op.of[0], some, self.index(some)) != bool(op.target)
                here = np.bincount(self.block_of[some], minlength=self.blocks.size)
                many = np.bincount(self.block_of[some], holds, self.blocks.size)
                self.write(op.to[0], self.index(some), op.function(many, here)[self.block_of[some]])
            self.arrive(self.ready, number + 1, some)

    def release(self):
        """No lane can go on: let those at barriers pass, and look whether threads are missing there.

        Where threads step aside, barriers that nobody is missing at come first. Returns whether any lane waited.
        """
        if not self.waiting and not self.meeting:
            return False
        lanes, named = self.everyone[:0], self.launch.program.named
        for some in self.waiting.values():
            lanes = self.merged(lanes, some)
        full = None if lanes.size == self.staying and not named else self.complete(lanes)  # None: all of them
        if full is not None and not full.any():
            full = None
            if self.meeting:
                number = min(self.meeting)
                lanes = self.meeting.pop(number)
                text = "thread {thread} of block {block} waits here for threads of its warp that do not come"
                self.launch.find("divergent barrier", number, text, lanes.size, values=self.place_of(lanes[0]))
                self.arrive(self.ready, number + 1, lanes)
                return True
            if (waits := self.waits_for_blocks()).any():  # its barrier is of `grid.sync()`, and nobody is missing there
                full = ~waits[self.block_of[lanes]]
                if not full.any():
                    return False
            if named:
                self.look_for_missing_named()
        passing, now = self.waiting, self.launch.tick(min(self.waiting))
        self.waiting = {}
        if full is not None and not full.all():
            going = np.zeros(self.lanes, bool)
            going[lanes[full]] = True
            for number, some in passing.items():
                passing[number] = some[going[some]]
                self.arrive(self.waiting, number, some[~going[some]])
            lanes = lanes[full]
        if named:
            self.pass_named(lanes, now)
        else:
            if len(passing) > 1 or lanes.size < self.staying or any(map(self.of_grid_sync, passing)):
                self.look_for_missing(passing)
            if lanes.size == self.staying:
                self.notes.forget_loads()
            self.passed[lanes] = now
            if self.launch.program.orders:
                for block in np.unique(self.block_of[lanes]):
                    self.launch.order.together(int(self.blocks[block]))
        self.phases[lanes] += 1
        self.touched = None
        self.pass_by(passing)
        return True

    def waits_for_blocks(self):
        """Which of these blocks wait in `grid.sync()` for blocks that do not come; bool (blocks,)."""
        waits = np.zeros(self.blocks.size, bool)
        for number, lanes in self.aside.items():
            waits[self.block_of[lanes]] |= self.of_grid_sync(number)
        return waits

    def of_grid_sync(self, number):
        """Whether an instruction is one of what `grid.sync()` calls, which `linking` puts in the place of the call."""
        return "cudaCGSynchronize" in self.operations[number].instruction.text

    def look_for_missing(self, passing):
        """Find threads that stay away from a barrier, or wait at different ones; {instruction: lanes} that pass."""
        alive = self.how_many_stay()
        here = {
            number: np.bincount(self.block_of[lanes], minlength=self.blocks.size) for number, lanes in passing.items()
        }
        for number, many in here.items():
            wanted = np.full_like(alive, self.launch.threads) if self.of_grid_sync(number) else alive
            short = np.flatnonzero((many > 0) & (many < wanted))
            if not short.size:
                continue
            block = short[0]
            text = "only {came} of the {threads} threads of block {block} reach this barrier"
            values = {"came": int(many[block]), "threads": int(wanted[block]), "block": self.spell_block(block)}
            for at, others in here.items():
                if at != number and others[block]:
                    text = f"{text}; {{others}} wait at {{where}}"
                    values |= {"others": int(others[block]), "where": self.launch.spell_line(at)}
                    break
            self.launch.find("divergent barrier", number, text, short.size, values=values)
            return

    # ---------------------------------------------------------------- calls, clocks

    def push(self, op, number, lanes):
        """A call of a function that calls itself: keep its registers, and where to go on after it."""
        doing, depth = self.doing(op, number, lanes), op.to[0]
        deep = self.registers["u32"][depth[1]][doing] + 1
        self.registers["u32"][depth[1]][doing] = deep
        if deep.size and deep.max() > DEEPEST:
            raise PTXError(
                f"line {op.instruction.line} of the PTX calls itself more than {DEEPEST} times, one in another."
            )
        for level in np.unique(deep):
            some = doing[deep == level]
            for bits, rows in op.function.items():
                stack = self.stacks.setdefault(
                    (depth[1], bits, int(level)), np.zeros((rows.size, self.lanes), f"u{max(1, bits // 8)}")
                )
                kept = self.registers["pred" if bits == 1 else f"u{bits}"][rows[:, None], some]
                self.launch.changes += not np.array_equal(stack[:, some], kept)  # a stack is memory, too
                stack[:, some] = kept
            back = self.stacks.setdefault((depth[1], "back", int(level)), np.zeros(self.lanes, np.int64))
            back[some] = op.target
        return lanes

    def pop(self, op, number, lanes):
        """The end of such a function: its caller goes on, with the registers that it had."""
        depth = op.to[0]
        deep = self.registers["u32"][depth[1]][lanes]
        for level in np.unique(deep):
            some = lanes[deep == level]
            for bits, rows in op.function.items():
                kept = self.registers["pred" if bits == 1 else f"u{bits}"]
                kept[rows[:, None], some] = self.stacks[depth[1], bits, int(level)][:, some]
            back = self.stacks[depth[1], "back", int(level)][some]
            for place in np.unique(back):
                self.arrive(self.ready, int(place), some[back == place])
        self.registers["u32"][depth[1]][lanes] = deep - 1
        return None

    def clock(self, op, number, lanes):
        """`%clock` and its like: how many instructions all warps have executed so far."""
        doing = self.doing(op, number, lanes)
        self.write(op.to[0], self.index(doing), sum(itertools.accumulate(self.launch.by_warps)) >> op.target)
        return lanes

    # ---------------------------------------------------------------- warps

    def bits(self, lanes):
        """A bit for each of these lanes, by warps: (warps,) uint32."""
        warp, thread = np.divmod(self.slots[lanes], WARP)
        return np.bincount(warp, 2.0**thread, self.warps).astype(np.uint32)

    def meet(self, op, number, lanes):
        """What threads of a warp do together: they wait for those that its mask names and that have not left."""
        doing = self.guarded(op, lanes)
        if isinstance(op.mask, tuple) or op.mask != EVERYONE:
            mask = self.full(op.mask, doing, self.index(doing))
            outside = mask >> (self.slots[doing] % WARP).astype(mask.dtype) & 1 == 0
            if outside.any():
                first = np.argmax(outside)
                text = f"{self.who(doing[first])} takes part with a mask in which it is not, {mask[first]:#x}"
                self.launch.find("error", number, text, np.count_nonzero(outside))
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

    def meet_group(self, op, number, lanes):
        """What a warp group does together, four warps of a block: they wait for all of its threads."""
        doing = self.guarded(op, lanes)
        here = self.merged(self.meeting.pop(number), doing) if number in self.meeting else doing
        in_block = self.slots[here] - self.block_of[here] * self.launch.slots
        _, group, many = np.unique(
            self.block_of[here] << 32 | in_block // GROUP, return_inverse=True, return_counts=True
        )
        come = many[group] == GROUP
        self.arrive(self.meeting, number, here[~come])
        going = here[come]
        if going.size:
            self.tally(number, going)
            self.multiply_group(op, number, going)
        if doing.size < lanes.size:
            self.others(lanes, doing, number)
        return going if going.size else None

    def multiply_group(self, op, number, lanes):
        """`wgmma.mma_async`: the product of each warp group, whose threads read a piece of 16 bytes each in turn.

        It is done at once, but until it is waited for the matrix units may read its tiles. So they are read twice, then
        as well, each piece by threads of two warps: whoever stores there meanwhile, races with one of them.
        """
        kind, columns, a_along, b_along, sign = op.function
        index, (*of_a, of_b, scaled) = self.index(lanes), op.of

        def lying(operand, rows, along):
            descriptors = self.full(operand, lanes, index).astype(np.uint64).reshape(-1, GROUP)
            if (descriptors != descriptors[:, :1]).any():
                text = f"{self.who(lanes[0])} and others of its warp group give descriptors that are not the same"
                self.launch.find("error", number, text)
            places = pieces(descriptors[:, 0], rows, along) + SHARED
            found = np.empty((*places.shape, 4), np.uint32)
            for first in range(0, places.shape[1], GROUP):  # as if each thread loaded 16 bytes
                some = places[:, first : first + GROUP]
                taking = lanes.reshape(-1, GROUP)[:, : some.shape[1]].ravel()
                step = replace(op, act="load", of=(some.ravel(),))
                cells, at = self.reach(step, number, taking)
                found[:, first : first + GROUP] = cells[at].reshape(*some.shape, 4)
                later = np.roll(lanes.reshape(-1, GROUP), GROUP // 2, axis=1)[:, : some.shape[1]].ravel()
                self.products.append((step, number, later, self.closed[later], 4 * at[:, 0]))
            return matrix(found, kind, along)

        b = lying(of_b, columns, b_along)
        if a_along is None:
            a = held_by_threads(np.stack([self.full(one, lanes, index) for one in of_a]), kind)
        else:
            a = lying(of_a[0], 64, a_along)
        c = sums_of(np.stack([self.full(one, lanes, index) for one in op.to]))
        c = np.where(self.full(scaled, lanes, index).reshape(-1, GROUP)[:, :1, None], c, 0.0)
        for to, result in zip(op.to, registers_of(product(sign * a, b, c, kind)), strict=True):
            self.write(to, index, result)

    def wait_warp(self, op, number, lanes):
        """`bar.warp.sync`: those who wait together know from now on what each of them did, and knew."""
        now = self.launch.tick(number)
        mask = self.full(op.mask, lanes, self.index(lanes)) if np.ndim(self.read(op.mask, self.index(lanes))) else None
        warps, bit = self.slots[lanes] // WARP, self.slots[lanes] % WARP
        key = warps if mask is None else warps << 32 | mask
        _, group = np.unique(key, return_inverse=True)
        know = np.zeros((group.max() + 1, WARP), np.int64)
        np.maximum.at(know, group, self.warps_know[lanes])
        know[group, bit] = now
        self.warps_know[lanes] = know[group]
        order = self.launch.order
        if self.launch.program.orders and any(order.own.values()):
            for one in range(know.shape[0]):
                threads = self.threads[lanes[group == one]].tolist()
                order.together(threads[0] // self.launch.slots, threads)

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
            if op.instruction.name[0] == "shfl":
                self.look_for_nobody(op, number, some, place, taking, values)
            for to, result in zip(op.to, results if isinstance(results, tuple) else (results,), strict=False):
                self.write(to, index, np.broadcast_to(result, (warps.size, WARP)).reshape(-1)[place])

    def look_for_nobody(self, op, number, lanes, place, taking, values):
        """Look for threads that a shuffle gives what a thread that takes no part would have to give."""
        own = np.broadcast_to(np.arange(WARP, dtype=np.uint32), values[0].shape)
        source = op.function(taking.reshape(-1, WARP), own, *values[1:])[0].reshape(-1)[place]
        absent = ~taking[place // WARP * WARP + source]
        if absent.any():
            first = np.argmax(absent)
            text = f"asks for the number of thread {source[first]} of its warp, which takes no part"
            self.bring_unset(number, op.to[:1], lanes[absent], text)

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
        load = replace(op, act="load")
        self.watch_shared(load, number, getting, words.reshape(-1) * 4, inside, 4)
        rows = memory.cells["b32"][words].reshape(-1, 8 * many, 4)
        index = self.index(lanes)
        for to, result in zip(op.to, matrices(rows, op.function), strict=True):
            self.write(to, index, result.reshape(-1))

    def store_matrices(self, op, number, lanes):
        """`stmatrix`: thread n of a warp names row n % 8 of matrix n // 8, and gives a word of each matrix."""
        index, given = self.index(lanes), op.of[1:]
        words = np.stack([self.full(one, lanes, index).reshape(-1, WARP) for one in given], axis=1)
        rows = matrices(words.reshape(-1, 8, 4), op.function)[0].reshape(-1, 4)
        naming = lanes[self.slots[lanes] % WARP < 8 * len(given)]
        cells, place = self.reach(replace(op, act="store", of=op.of[:1]), number, naming, rows)
        cells[place] = rows

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
        stamps = self.threads[doing] | self.launch.now << TIME
        self.copies.append((doing, self.groups[doing], place, values, stamps))
        return lanes

    def commit(self, op, number, lanes):
        """`cp.async.commit_group`, and that of `wgmma`: what was asked for since the last one is a group."""
        groups = self.closed if op.instruction.name[0] == "wgmma" else self.groups
        groups[self.doing(op, number, lanes)] += 1
        return lanes

    def await_products(self, op, number, lanes):
        """`wgmma.wait_group`: all groups but the last `op.target` are done; see `multiply_group`."""
        doing = self.doing(op, number, lanes)
        until = np.full(self.lanes, -1)
        until[doing] = self.closed[doing] - op.target
        pending, self.products = self.products, []
        for step, at, readers, groups, place in pending:
            done = groups < until[readers]
            if done.any():
                self.watch_shared(step, at, readers[done], place[done], None, step.width)
            if not done.all():
                self.products.append((step, at, readers[~done], groups[~done], place[~done]))
        return lanes

    def await_copies(self, op, number, lanes):
        """`cp.async.wait_group` and `wait_all`: all groups but the last `op.target` have come, -1 for all copies."""
        doing = self.doing(op, number, lanes)
        self.launch.tick(number)
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
        self.launch.changes += 1
        came = self.threads[lanes] | self.launch.now << TIME
        asked, now = (np.repeat(s[inside], units.shape[1]) for s in (stamps, came))
        self.notes.arrive(units[inside].ravel(), asked, now)

    # ---------------------------------------------------------------- arithmetic

    def compute(self, op, number, lanes):
        """Arithmetic with a guard, or of many lanes."""
        doing = self.doing(op, number, lanes)
        if doing.size:
            index = self.index(doing)
            taken = [self.read(operand, index) for operand in op.of]
            if op.act == "index_within":
                self.doing_now = doing
                self.index_within(op, *taken)
                return lanes
            made = op.function(*taken)
            for to, one in zip(op.to, made if isinstance(made, tuple) else (made,), strict=False):
                self.write(to, index, one)
        return lanes

    def parameter(self, op, number, lanes):
        """`ld.param`: what the launch gives."""
        doing = self.doing(op, number, lanes)
        given = self.launch.parameters[op.target][op.offset : op.offset + op.size * len(op.to)]
        for to, value in zip(op.to, given.copy().view(IN_MEMORY[op.type]), strict=True):
            self.write(to, self.index(doing), value)
        return lanes

    def nothing(self, op, number, lanes):
        """A fence, and what changes nothing here."""
        doing = self.doing(op, number, lanes)
        if op.instruction.name[0] == "nanosleep":
            self.polled = True
        if doing.size and op.instruction.name[0] in ("fence", "membar") and "proxy" not in op.instruction.name[1]:
            now = self.launch.tick(number)
            scope = "cta" if op.scope == "cta" else "gpu"
            for lane in doing.tolist():
                self.launch.order.fence(int(self.threads[lane]), scope, self.done(lane, now))
        return lanes

    def print(self, op, number, lanes):
        """`vprintf`: what each thread prints, one thread after the other."""
        doing = self.doing(op, number, lanes)
        index, many, texts, launch = self.index(doing), [], {}, self.launch
        for lane, text, given in zip(doing.tolist(), *(self.full(one, doing, index) for one in op.of), strict=True):
            held = lambda offset, size, lane=lane, given=int(given): self.held(lane, given + offset, size)  # noqa: E731
            string = lambda address, lane=lane: self.text_at(lane, address)  # noqa: E731
            if int(text) not in texts:  # formats are constants, which are the same for all threads
                texts[int(text)] = string(int(text))
            many.append(arguments_of(texts[int(text)]))
            if launch.work < launch.most:
                launch.printed.append(formatted(texts[int(text)], held, string))
                launch.work += A_PRINT
        self.turns, self.printed_at = self.turns | 63, number  # it takes long, so the next turn asks for the time
        for to in op.to:
            self.write(to, index, many)
        return lanes

    def held(self, lane, address, size):
        """The bytes at an address of any memory, as that lane sees them; zeros outside every array."""
        address = np.array([address], np.uint64)
        names, which = self.spaces_of(address)
        memory = self.memories[names[which[0]]]
        place, inside = memory.find(address, size)
        if inside is not None:
            return bytes(size)
        copy = {"local": lane, "shared": self.block_of[lane], "global": 0}[names[which[0]]]
        start = int(place[0]) + memory.size * int(copy)
        return memory.cells["u8"][start : start + size].tobytes()

    def text_at(self, lane, address):
        """The text that stands at an address, up to its zero."""
        text = b""
        while (byte := self.held(lane, address + len(text), 1)) != b"\0":
            text += byte
        return text.decode(errors="replace")

    def done(self, lane, now):
        """The clock of what a lane knows to be done."""
        warp = None if self.warps_know is None else self.warps_know[lane]
        return self.launch.order.done(int(self.threads[lane]), now, int(self.passed[lane]), warp)

    def pass_on(self, op, lanes, units, memory, reads, writes):
        """What strong accesses of words publish and acquire, one lane after the other."""
        order, now = self.launch.order, self.launch.now
        if op.order == "weak" and op.act != "atomic":
            if order.words:
                for unit in units.ravel().tolist():
                    order.words.pop((memory, unit), None)
            return
        scope = "cta" if op.scope == "cta" else "gpu"
        acquires, releases = (op.order in (how, "acq_rel", "sc") for how in ("acquire", "release"))
        for lane, unit in zip(lanes.tolist(), units[:, 0].tolist(), strict=True):
            thread = int(self.threads[lane])
            if reads:
                order.read(thread, (memory, unit), scope, acquires)
            if writes:
                done = self.done(lane, now) if releases else None
                order.write(thread, (memory, unit), scope, reads, done)

    # ---------------------------------------------------------------- memory

    def move(self, op, number, lanes):
        """`ld` and `st`, of one element or several, `atom` and `red`."""
        doing, once = self.doing(op, number, lanes), getattr(self, f"{op.act}_once")
        if doing.size and not self.several(once, op, number, doing):
            once(op, number, doing)
        return lanes

    load = store = atomic = move

    def load_once(self, op, number, doing):
        """`ld`, in one memory."""
        cells, place = self.reach(op, number, doing)
        index = self.index(doing)
        self.polled |= op.order != "weak"
        for part, to in enumerate(op.to):
            self.write(to, index, cells[place[:, part]])

    def store_once(self, op, number, doing):
        """`st`, in one memory."""
        index = self.index(doing)
        given = [self.full(operand, doing, index) for operand in op.of[1:]]
        values = np.stack(given, axis=1) if given[1:] else given[0][:, None]
        values = values.astype(IN_MEMORY[op.type], copy=False)
        cells, place = self.reach(op, number, doing, values)
        cells[place] = values

    def atomic_once(self, op, number, doing):
        """`atom` and `red`, in one memory."""
        cells, place = self.reach(op, number, doing)
        index = self.index(doing)
        before, given = np.zeros(doing.size, cells.dtype), [self.full(one, doing, index) for one in op.of[1:]]
        for n, (where, *values) in enumerate(zip(place[:, 0], *given, strict=True)):  # one by one, in any order
            before[n] = cells[where]
            cells[where] = op.function(before[n], *values)
        self.launch.changes += bool((cells[place[:, 0]] != before).any())
        if op.to:
            self.polled = True
            self.write(op.to[0], index, before)

    def reach(self, op, number, lanes, values=None):
        """Check, count and watch an access, a store of `values` (n, elements).

        Returns (cells, place): memory as an array of elements, and which of them each thread moves, (n, elements).
        """
        memory, place, inside = self.locate(op, number, lanes, values)
        if memory is self.memories["shared"]:
            self.watch_shared(op, number, lanes, place, inside, op.width, values)
        self.launch.changes += op.act == "store"
        return memory.cells[op.type], in_units(place, op.size, op.width)

    def locate(self, op, number, lanes, values=None):
        """Check, count and watch an access: (memory, place, inside) as `Memory.find`; one outside is led to nowhere."""
        index = self.index(lanes)
        address = self.full(op.of[0], lanes, index).astype(np.uint64, copy=False) + op.further
        space = op.space
        if space == "any":
            names, which = self.spaces_of(address[:1])
            space = names[which[0]]
        memory = self.memories[space]
        place, inside = memory.find(address, op.width)
        self.check(op, number, lanes, space, address, inside)
        if space != "local" and self.launch.asks:
            self.launch.count(op, number, space, address, self.slots[index], self.warps)
        if self.launch.room and op.act != "meet":
            self.launch.trace_access(self, op, lanes, space, place if inside is None else np.where(inside, place, -1))
        if space == "global":
            self.watch_global(op, number, lanes, place, inside, values)
        else:
            place += memory.size * (self.block_of if space == "shared" else self.everyone)[index]
        if self.unset and space != "local" and op.act in ("store", "atomic"):
            for operand in op.of[1:]:
                self.unset.use(number, lanes, self.unset.of(operand, lanes))
        if space == "local" and op.act in ("load", "store"):
            self.watch_local(op, number, lanes, place, inside)
        if inside is not None:
            memory.lead_nowhere(place, inside)
        return memory, place, inside

    def watch_local(self, op, number, lanes, place, inside):
        """Note what of its own memory each thread sets, and look for loads of what it has not set."""
        unit = self.launch.program.local_unit
        units = in_units(place, unit, op.width)
        if inside is not None:
            units, lanes = units[inside], lanes[inside]
        each = max(1, op.size // unit)
        operands = op.of[1:] if op.act == "store" else op.to
        for part, operand in enumerate(operands):
            some = units[:, part * each : (part + 1) * each]
            if op.act == "store":
                self.own[some] = True
                if self.unset:
                    self.own[some[np.broadcast_to(self.unset.of(operand, lanes) > 0, lanes.shape)]] = False
                continue
            never = ~self.own[some].all(axis=1)
            if np.count_nonzero(never):
                size = self.memories["local"].size
                where = int(some[np.argmax(never), 0]) * unit % size
                text = f"loads byte {where} of its local memory, which it has not set"
                self.bring_unset(number, (operand,), lanes[never], text)

    def check(self, op, number, lanes, space, address, inside):
        """Find accesses outside of every array, and at no multiple of their width."""
        if inside is not None:
            first, memory = np.argmin(inside), self.memories[space]
            does = "stores" if op.act in ("store", "copy") else "loads"
            text = f"{self.who(lanes[first])} {does} {op.width} bytes outside every array of {space} memory"
            array, offsets, away = nearest(memory, address[first]), np.zeros(lanes.size, np.int64), ~inside
            if array is not None:
                offsets = address.view(np.int64) - memory.addresses[array]
                text += how_far(memory, array, int(offsets[first]), op.width)
                away &= (offsets > -GAP // 2) & (offsets < memory.bytes[array] + GAP // 2)
            who = self.threads[lanes[away]], self.phases[lanes[away]]
            accesses = (self.access(op, *who, space, array, offsets[away]),)
            self.launch.find("out of bounds", number, text, np.count_nonzero(~inside), accesses=accesses)
        crooked = address & op.odd
        if np.count_nonzero(crooked):
            text = "thread {thread} of block {block} moves {bytes} bytes at no multiple of {multiple}"
            named = self.place_of(lanes[np.argmax(crooked > 0)]) | {"bytes": op.width, "multiple": op.width & -op.width}
            self.launch.find("misaligned", number, text, np.count_nonzero(crooked), values=named)

    def access(self, op, threads, phases, space, array, offsets):
        """What threads touch of one array, None for no array, as an `Access`; offsets (n,), from its first byte on."""
        name = "" if array is None else plain_name(self.memories[space].names[array])
        act = op.act.partition("_")[0]
        which = (name,), np.zeros(len(offsets), np.int32)
        return self.launch.access(op, threads, phases, space, act, *which, np.asarray(offsets, np.int64), op.width)

    def spaces_of(self, address):
        """The memory that each of these addresses lies in: (names, which of them, (n,))."""
        number = np.where(address < SHARED, 2, np.searchsorted([LOCAL, GLOBAL], address, "right"))
        return ("shared", "local", "global"), number

    def several(self, act, op, number, lanes):
        """An access whose addresses lie in more than one memory, one memory after the other. Returns whether it was."""
        if op.space != "any" or not lanes.size:
            return False
        address = self.full(op.of[0], lanes, self.index(lanes)).astype(np.uint64) + np.uint64(op.offset % (1 << 64))
        names, which = self.spaces_of(address)
        there = np.unique(which)
        if there.size < 2:
            return False
        held = np.zeros(self.lanes, bool)
        for one in there.tolist():
            held[:] = False
            held[lanes[which == one]] = True
            act(replace(op, space=names[one], guard=None), number, self.everyone[held])
        return True

    def touching(self, op, number, lanes, many):
        """Lanes that touch `many` words each, now, for `Notes`."""
        now = self.launch.tick(number)
        if self.touched is None or self.touched[0] is not lanes or self.touched[1] != many:
            rows = np.repeat(lanes, many) if many > 1 else lanes
            self.touched = lanes, many, rows, self.threads[rows], (self.passed[rows] + 1) << TIME
        *_, rows, threads, bounds = self.touched
        kind = STRONG if op.act == "atomic" else {"weak": WEAK, "volatile": VOLATILE}.get(op.order, STRONG)
        if kind == STRONG and op.scope == "cta":
            kind = IN_BLOCK
        by_barriers = self.warps_know is None and not self.launch.program.orders
        ordered = None if by_barriers else functools.partial(self.ordered, rows, kind != WEAK and op.act == "load")
        stamps = threads | np.array(now << TIME)
        return Touching(stamps, bounds, kind, ordered, lambda before: np.isin(before & THREAD, threads))

    def ordered(self, rows, strong, before, which):
        """Where those of `rows` that are asked for know of earlier accesses; `strong`: by a strong load."""
        lanes, times = rows[which], before >> TIME
        first = before & THREAD
        result = np.zeros(before.size, bool)
        if self.warps_know is not None:
            result |= self.know_by_warp(before, lanes)
        if self.launch.order.knowing():
            for lane in np.unique(lanes[~result]).tolist():
                some = np.flatnonzero(lanes == lane)
                thread = int(self.threads[lane])
                result[some] |= self.launch.order.covers(thread, first[some], times[some], strong)
        return result

    def know_by_warp(self, before, lanes):
        """Where lanes know of earlier accesses by a barrier of their warp; bool."""
        thread = before & THREAD
        same = (thread // WARP == self.threads[lanes] // WARP) & (before & SEVERAL <= 1 << 30)
        return same & (self.warps_know[lanes, thread % WARP] >= before >> TIME)

    def watch_shared(self, op, number, lanes, place, inside, width, values=None):
        """Note who touches which `width` bytes of shared memory. `place`: within all copies."""
        if inside is not None:
            place, lanes = place[inside], lanes[inside]
            values = None if values is None else values[inside]
        if not lanes.size:
            return
        units = in_units(place, self.launch.program.unit, width)
        race, by, unwritten = self.note(self.notes, op, number, lanes, units, values)
        if unwritten is not None and np.count_nonzero(unwritten):
            does = "adds to" if op.act == "atomic" else "reads"
            row = int(np.argmax(unwritten))
            place = units.ravel()[row] * self.launch.program.unit % self.memories["shared"].size
            lane, (array, offset) = lanes[row // units.shape[1]], self.memories["shared"].array_at(place)
            text = f"{self.who(lane)} {does} {self.spell_shared(place, op.size)}, which no thread has written"
            seen = (self.access(op, self.threads[[lane]], self.phases[[lane]], "shared", array, [offset]),)
            self.launch.find("uninitialised", number, text, np.count_nonzero(unwritten), accesses=seen)
        if np.count_nonzero(race):
            row = int(np.argmax(race))
            place = int(units.ravel()[row]) * self.launch.program.unit % self.memories["shared"].size
            lane = lanes[row // units.shape[1]]
            self.find_race(op, number, lane, "shared", place, by[row], np.count_nonzero(race))

    def spell_shared(self, place, size):
        """The element at a place of shared memory in words."""
        array, offset = self.memories["shared"].array_at(place)
        return f"element {offset // size} of {plain_name(self.memories['shared'].names[array])}"

    def note(self, notes, op, number, lanes, units, values):
        """Note an access. Returns (race, the stamps of those it races with, where nobody has written)."""
        by, flat, unwritten = self.touching(op, number, lanes, units.shape[1]), units.ravel(), None
        if self.launch.program.orders:
            memory = "global" if notes is self.launch.notes else id(self)
            self.pass_on(op, lanes, units, memory, op.act in ("load", "atomic"), op.act != "load")
        if op.act == "load":
            race, last, unwritten = notes.read(flat, by)
        elif op.act == "atomic":
            if not {"exch", "init"} & {*op.instruction.name}:
                unwritten = notes.writers[flat] == 0
            race, last = notes.write(flat, by, changes=True)
        elif op.act == "copy":
            race, last = notes.write(flat, by, copied=True)
        else:
            bits = np.ascontiguousarray(values).view(notes.cells.dtype).ravel()
            race, last = notes.write(flat, by, bits)
        return race, last, unwritten

    def find_race(self, op, number, lane, space, place, stamp, many):
        """A race of this lane, at a place of that memory, with the thread of a stamp."""
        does = {"load": "reads", "atomic": "changes"}.get(op.act, "writes")
        what = self.launch.spell(place) if space == "global" else self.spell_shared(place, op.size)
        array, offset = self.memories[space].array_at(place)
        if stamp >= 1 << 62:
            text = f"{self.who(lane)} {does} {what} while an asynchronous copy to it is on its way"
            self.launch.find("race", number, text, many)
            return
        other = self.launch.history[int(stamp >> TIME)]
        act = self.operations[other].act.partition("_")[0]
        did = {"load": "read", "atomic": "changed", "meet": "touched"}.get(act, "wrote")
        thread, several = int(stamp & THREAD), bool(stamp & SEVERAL)
        others, also = self.launch.spell_thread(thread), " and others" * several
        if also and others == self.who(lane):  # of several, the one that is noted is this thread itself
            others, also = others.replace("thread", "another thread than", 1), ""
        text = (
            f"{self.who(lane)} {does} {what}, which {others}{also} {did} at {self.launch.spell_line(other)}, "
            "and nothing orders the two"
        )
        later = self.access(op, self.threads[[lane]], self.phases[[lane]], space, array, [offset])
        earlier = self.access(self.operations[other], [thread], [-1], space, array, [offset])
        self.launch.find("race", number, text, many, other, accesses=(later, earlier), several=several)

    def watch_global(self, op, number, lanes, place, inside, values):
        """Note who touches what of the arrays that may be written, and that nobody stores to the others."""
        launch, act = self.launch, op.act
        if inside is not None or place[place.argmin()] < launch.writable:
            if act == "load" and inside is None and place.max() < launch.writable:
                return
            keep = (place >= launch.writable) & (True if inside is None else inside)
            if act != "load":
                into = ~keep if inside is None else ~keep & inside
                if into.any():
                    first = np.argmax(into)
                    text = "thread {thread} of block {block} stores to {array}"
                    named = self.place_of(lanes[first]) | {"array": launch.spell(place[first], array_only=True)}
                    launch.find("writes to an input", number, text, np.count_nonzero(into), values=named)
            place, lanes = place[keep], lanes[keep]
            values = None if values is None else values[keep]
        if not lanes.size:
            return
        units = in_units(place - launch.writable, launch.program.unit, op.width)
        race, by, _ = self.note(launch.notes, op, number, lanes, units, values)
        if act == "store":
            np.add.at(launch.stored, units.ravel(), 1)
        elif act == "atomic":
            launch.stored[units] = np.maximum(launch.stored[units], 1)
        if np.count_nonzero(race):
            row = int(np.argmax(race))
            place = launch.writable + int(units.ravel()[row]) * launch.program.unit
            self.find_race(op, number, lanes[row // units.shape[1]], "global", place, by[row], np.count_nonzero(race))

    # ---------------------------------------------------------------- words for findings

    def place_of(self, lane):
        """The places of a lane's thread and of its block."""
        return self.launch.place_of(int(self.threads[lane]))

    def who(self, lane):
        """A lane's thread and block, in words."""
        return self.launch.spell_thread(int(self.threads[lane]))

    def spell_block(self, number):
        """The place in the grid of one of these blocks."""
        return spelled(int(self.blocks[number]), self.launch.grid)


def straight_line(operations, registers, beside, index_within):
    """Arithmetic on registers `beside` those of all lanes, or on these themselves: (reads, steps, writes).

    reads, writes  [(register, its place beside)], to be read before, and written behind
    steps          functions without arguments, one behind the other
    """
    reads, steps, writes = {}, [], {}

    def place_of(operand, noted):
        place, register = (some[operand[0]][operand[1]] for some in (beside, registers))
        if beside is not registers and (place.itemsize, operand[1]) not in writes:
            noted[place.itemsize, operand[1]] = register, place
        return place

    for op in operations:
        taken = [place_of(one, reads) if isinstance(one, tuple) else one for one in op.of]
        results = [place_of(one, writes) for one in op.to]
        types = {one.dtype for one in taken}
        if op.act == "index_within":
            steps.append(functools.partial(index_within, op, *taken))
        elif isinstance(op.function, np.ufunc) and len(types) == 1 and results[0].dtype in (np.bool_, *types):
            steps.append(functools.partial(op.function, *map(np.asarray, taken), out=results[0]))
        else:
            steps.append(functools.partial(assign, results, op.function, taken))
    return [*reads.values()], steps, [*writes.values()]


def assign(places, function, taken):
    """Put what a function makes of arrays, one or a tuple of them, in these places; what has none is left out."""
    made = function(*taken)
    for place, one in zip(places, made if isinstance(made, tuple) else (made,), strict=False):
        place[:] = one


def along(number, sides):
    """The places along x, y and z of thread or block `number`, where there are `sides` of them along each."""
    return np.unravel_index(number, sides[::-1])[::-1]


def masks(lane):
    """Masks of a warp's threads: itself, those below it, those and itself, those above it, those and itself."""
    own, all_lanes = np.int64(1) << lane, (np.int64(1) << WARP) - 1
    return {"eq": own, "lt": own - 1, "le": own * 2 - 1, "gt": all_lanes & -own * 2, "ge": all_lanes & -own}


SPECIAL_VALUES = {  # of special registers, as functions of the thread's number, the block's, and the `Launch`
    "%tid": lambda thread, block, launch: along(thread, launch.block),
    "%ntid": lambda thread, block, launch: launch.block,
    "%ctaid": lambda thread, block, launch: along(block, launch.grid),
    "%nctaid": lambda thread, block, launch: launch.grid,
    "%laneid": lambda thread, block, launch: thread % WARP,
    "%warpid": lambda thread, block, launch: thread // WARP,
}
SPECIAL_VALUES |= {
    f"%lanemask_{which}": lambda thread, block, launch, which=which: masks(thread % WARP)[which]
    for which in ("eq", "lt", "le", "gt", "ge")
}


def spelled(number, sides):
    """The same as text: "(3, 1)", or "(3, 1, 2)" where there is more than one along z."""
    return f"({', '.join(map(str, along(number, sides)[: 3 if sides[2] > 1 else 2]))})"


SHIFTS, FIRST = {1 << bits: np.array(bits) for bits in range(5)}, np.arange(16)


def in_units(place, size, width):
    """The units of `size` bytes that accesses of `width` bytes at these places touch: (n, units), counted from 0."""
    first = (place >> SHIFTS[size] if size in SHIFTS else place // size)[:, None]
    return first + FIRST[: width // size] if width > size else first


def nearest(memory, address):
    """The number of the array that an address lies in or near; None where there is none."""
    for number, (base, size) in enumerate(zip(memory.addresses, memory.bytes, strict=True)):
        if -GAP // 2 < int(address) - base < size + GAP // 2:
            return number
    return None


def how_far(memory, number, offset, width):
    """How far off an access is from that array, from whose first byte it is `offset` bytes away, in words."""
    name, size = plain_name(memory.names[number]), memory.bytes[number]
    if offset < 0:
        return f", {-offset} bytes before {name}"
    if offset < size:
        return f": the last {offset + width - size} of them lie past the end of {name}"
    return f", {offset - size} bytes past the end of {name}"
