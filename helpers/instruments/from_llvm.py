"""A kernel's counts from LLVM's PTX, where NVIDIA's compiler is missing: rules for what its assembler makes of PTX.

PTX is nearly what a GPU runs. The assembler joins loads of neighbours, writes out short loops, asks for several numbers
before it waits, and finds a register for each number. Here each of these is a simple rule. `NOTE` says how far off is
what comes of them; `tests/instruments/test_from_llvm.py` measures it.
"""

import re
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np

from .compiler import kind
from .trips import registers

WRITTEN_OUT = 4  # rounds of a loop that the assembler writes one after the other, so that four loads become one
ASKED = {True: 3, False: 8}  # numbers of global memory that a warp asks for before it needs one: behind guards, or not
BESIDE = 10  # registers for what no line of the PTX names
NOTE = (
    "Counted from LLVM's code, since NVIDIA's compiler is missing. So counted, the rungs' rates are 0.94 to 1.60 times "
    "those by that compiler, and half of them within 1%. `python -m helpers doctor` says how to get it."
)
FREE = r"ld\.param|cvta|mov|cvt\.[us]64\.[us]32|cvt\.[us]32\.[us]64"  # names, constants and copies: no instruction
MOVES = r"(ld|st)\.(?:volatile\.)?(shared|global|local)(?:\.nc)?(?:\.v([24]))?\.\w(\d+)"
LINE = re.compile(r"(@!?%\w+\s+)?([a-z][\w.]*)\b\s*(.*);")


class Code:
    """LLVM's PTX as instructions of a GPU, in the words of NVIDIA's disassembler, which the counts are made from.

    lines   [(instruction, line of the PTX)]
    share   how often each runs, as a share of how often its line does: 0 where it became a part of another
    loops   [(first, end)] among them
    """

    def __init__(self, ptx: str):
        self.lines, self.loops, self.loads, self.numbers = [], [], {}, {}
        labels, ends, rows = {}, [0], list(map(str.strip, ptx.splitlines()))
        self.sets = defaultdict(list)  # a register: each way in which it is set
        for found in filter(None, map(LINE.match, rows)):
            self.sets[parts(found[3])[0]].append((found[2], parts(found[3])[1:]))
        for number, row in enumerate(rows, 1):
            if label := re.match(r"(\$L__BB\w+):", row):
                labels[label[1]] = len(self.lines)
                ends.append(len(self.lines))
            if not (found := LINE.match(row)):
                continue
            guard, name, operands = "@P0 " * bool(found[1]), found[2], parts(found[3])
            self.lines += [(guard + one, number) for one in self.instructions(name, operands)]
            if name.startswith("bra") and operands[0] in labels:
                self.loops.append((labels[operands[0]], len(self.lines)))
            if re.match(r"bra|bar|ret|st\.shared", name):
                ends.append(len(self.lines))
        self.share = np.ones(len(self.lines))
        self.write_out()
        aligned = zero_bits(self.sets)
        for first, end in pairwise([*ends, len(self.lines)]):
            self.join(first, end, aligned)

    def instructions(self, name, operands):
        """The instructions that come of one of PTX; most numbers of 64 bits take two."""
        if moved := re.match(MOVES, name):
            return [self.move(*moved.groups(), operands)]
        if name.startswith(("bra", "bar", "ret")):
            return [{"bra": "BRA", "bar": "BAR.SYNC", "ret": "EXIT"}[name[:3]]]
        named = ", ".join(map(self.register, operands))
        if name.startswith("fma"):
            return [f"FFMA {named}"]
        if re.search(r"\.f(16|32|64)", name):
            return [f"FADD {named}"]
        if re.match(FREE, name):
            if len(self.sets[operands[0]]) == 1 and operands[-1] in self.numbers:
                self.numbers[operands[0]] = self.numbers[operands[-1]]
            return []
        wide = re.search(r"\.[sub]64", name) and ".wide" not in name
        return [f"{'ISETP' if name.startswith('setp') else 'IMAD'} {named}"] * (2 if wide else 1)

    def move(self, act, memory, vector, bits, operands):
        """A load or a store; `loads` keeps where a load of one number of shared memory reads."""
        place = next(one for one in operands if one.startswith("["))
        numbers = next(one for one in operands if not one.startswith("[")).strip("{}").split(",")
        base, _, offset = place.strip("[]").partition("+")
        many = len(numbers) * int(bits) // 32
        if (act, memory, many) == ("ld", "shared", 1):
            self.loads[len(self.lines)] = base, int(offset or 0)
        name = f"{act.upper()}{memory[0].upper()}" + ("" if many < 2 else f".{32 * many}")
        first, at = self.register(numbers[0].strip()), f"[{self.register(base)}]"
        return f"{name} {first}, {at}" if act == "ld" else f"{name} {at}, {first}"

    def register(self, name):
        """A number of its own for each register of the PTX, with room for those of a load of four."""
        if not re.match(r"%(?!p)", name):
            return "0x0"
        return f"R{4 * self.numbers.setdefault(name, len(self.numbers))}"

    def write_out(self):
        """In a loop over shared memory alone, a load that goes on by 4 bytes a round is one of 16 in four rounds."""
        for first, end in self.loops:
            inside = range(first, end)
            does = [kind(self.lines[at][0]) for at in inside]
            if any(one.startswith(("global", "shared store")) for one in does) or "BAR" in str(self.lines[first:end]):
                continue
            for at, one in zip(inside, does, strict=True):
                goes_on = at in self.loads and step(self.sets, self.loads[at][0]) == 4
                if goes_on:
                    self.widen(at, 4)
                if goes_on or not (one == "FMA" or one.startswith("shared")):
                    self.share[at] = 1 / WRITTEN_OUT

    def join(self, first, end, aligned):
        """Make one of loads of two or four neighbours, where their place is known to be one of 8 or of 16 bytes."""
        groups = defaultdict(dict)
        for at in set(range(first, end)) & self.loads.keys():
            base, offset = self.loads[at]
            groups[base][offset] = at
        for base, places in groups.items():
            for many in (4, 2):
                for offset in sorted(places):
                    near = [offset + 4 * n for n in range(many)]
                    if near[0] % (4 * many) or 2 ** aligned(base) % (4 * many) or not places.keys() >= set(near):
                        continue
                    one, *others = sorted(places.pop(where) for where in near)
                    self.widen(one, many)
                    self.share[others] = 0

    def widen(self, at, many):
        """Let an instruction load that many numbers in the place of one."""
        text, number = self.lines[at]
        self.lines[at] = text.replace("LDS ", f"LDS.{32 * many} "), number
        del self.loads[at]

    def most_alive(self):
        """How many registers hold a number that is needed later, where most do."""
        born, last = {}, {}
        for at, (text, _) in enumerate(self.lines):
            for one in set().union(*registers(text)):
                born.setdefault(one, at)
                last[one] = at
        for first, end in sorted(self.loops, reverse=True):  # what a loop did not make, it needs in each round
            last |= {one: end for one in last if born[one] < first <= last[one] < end}
        changes = Counter(born.values())
        changes.subtract(last.values())
        return max(np.cumsum([changes[at] for at in range(len(self.lines))]))


def parts(operands):
    """PTX's operands, one by one."""
    return [one.strip() for one in re.split(r",(?![^\[{]*[\]}])", operands)]


def step(sets, register):
    """By how much a register goes on in each round of a loop, in bytes; None for one that does so otherwise."""
    for name, operands in sets[register]:
        source = sets[operands[0]] if name.startswith("mov") else [(name, operands)]
        for does, (one, *by) in source:
            if does.startswith("add") and one == register and by[0].isdigit():
                return int(by[0])
    return None


def zero_bits(sets):
    """A function: of how many low bits of a register, or of an array's address, it is known that they are 0."""
    known = dict.fromkeys(sets, 64)

    def of(operand):
        if re.fullmatch(r"-?\d+", operand):
            return (int(operand) & -int(operand)).bit_length() - 1 if int(operand) else 64
        return known.get(operand, 0) if operand.startswith("%") else 4  # an array is laid where its loads want it

    def made(name, operands):
        if name.startswith(("mov", "cvt")):
            return of(operands[0])
        if name.startswith("shl"):
            return of(operands[0]) + (int(operands[1]) if operands[1].isdigit() else 0)
        if name.startswith(("mul", "mad")):
            product = of(operands[0]) + of(operands[1])
            return min([product, *map(of, operands[2:])])
        return min(map(of, operands[:2])) if re.match("add|sub|or|selp", name) else 0

    while lower := {
        one: bits for one, ways in sets.items() if (bits := min((made(*way) for way in ways), default=0)) < known[one]
    }:
        known |= lower
    return of


def round_trips(code, order):
    """The round trips of a warp, as `trips` counts them, where it asks for `ASKED` numbers before it needs one."""
    made, asked, latest, needed, many, guarded = Counter(), {}, [0], set(), 0, False
    for now, at in enumerate(order):
        text = code[at][0]
        written, read = registers(text)
        for trip in {asked.pop(one) for one in written | read if one in asked} - needed:
            made[now - latest[trip]] += 1
            needed.add(trip)
        guarded |= "BRA" in text
        if (does := kind(text)).startswith("global load"):
            if many >= ASKED[guarded]:
                latest.append(now)
                many = 0
            asked |= dict.fromkeys(written, len(latest) - 1)
            latest[-1], many, guarded = now, many + int(does.split()[-2]) // 4, False
        elif "BAR" in text:
            latest.append(now)
            many = 0
    return made
