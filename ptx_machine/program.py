"""A PTX program, decoded: each instruction taken apart once, registers as rows, arrays at addresses.

`reader` reads the text, `machine` runs what is made here.
"""

import functools
import re
import struct
from collections import Counter
from dataclasses import dataclass

import numpy as np

from .arithmetic import IN_MEMORY, TYPES, operation, unknown
from .memory import WIDEST
from .reader import Instruction, read_ptx

SHARED, LOCAL, GLOBAL = 1 << 24, 1 << 30, 1 << 40  # where the arrays of a memory begin
GAP = 1 << 20  # from the start of one array of shared or local memory to that of the next
SPECIAL = [f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"] + ["%laneid"]
ENDS = {"ret": "leave", "exit": "leave", "trap": "trap"}


@dataclass
class Operation:
    """An instruction, taken apart once for all runs.

    act       name of the method of `Blocks` that does it
    kind      one of `results.KINDS`
    function  of arrays, for arithmetic
    to, of    where its result goes and what it takes: (type, row) of a register, or a number; tuples
    guard     row of a predicate, or None; negated
    width     bytes a thread moves; `type` and `size`, in bytes, of each element
    space     of memory
    target    index of the instruction that a branch goes to, or of a parameter
    """

    instruction: Instruction
    act: str
    kind: str
    function: object = None
    to: tuple = ()
    of: tuple = ()
    guard: int | None = None
    negated: bool = False
    width: int = 0
    type: str = ""
    size: int = 0
    space: str = ""
    offset: int = 0
    target: int = 0


class Decoded:
    """A program as `Operation`s, and where its registers and arrays lie.

    rows     {bits: how many registers}; 1 bit for predicates
    places   {register: (bits, row)}
    symbols  {shared or local array: address}
    unit     bytes of the smallest element that it moves, 4 at most: who touched what is noted for each so many
    """

    def __init__(self, program):
        self.program, self.rows, self.places = program, Counter(), {}
        for name in SPECIAL:
            self.place(name, 32)
        for name, kind in program.registers.items():
            self.place(name, bits_of(kind) if kind in TYPES else 0)
        self.shared, self.local = laid_out(program.shared, SHARED), laid_out(program.local, LOCAL)
        self.symbols = {name: address for name, address, _ in (*self.shared, *self.local)}
        self.operations = [self.decode(instruction) for instruction in program.code]
        watched = [op.size for op in self.operations if op.width and op.space != "local"]
        self.unit = min([4, *watched])

    def place(self, name, bits):
        """A register's place: the next row of those with that many bits."""
        self.places[name] = (bits, self.rows[bits])
        self.rows[bits] += 1

    def operand(self, text, kind):
        """(type, row) of a register, or a number of that type."""
        if text in self.places:
            bits, row = self.places[text]
            if bits != bits_of(kind):
                raise LookupError
            return kind, row
        number = self.symbols[text] if text in self.symbols else literal(text)
        if kind == "pred":
            return np.bool_(number)
        if isinstance(number, bytes):  # a float, by its bits
            if 8 * len(number) != bits_of(kind):
                raise LookupError
            return np.frombuffer(number, TYPES[kind])[0]
        if kind[0] == "f":
            return TYPES[kind].type(number)
        return np.array(number % (1 << bits_of(kind)), f"u{TYPES[kind].itemsize}").view(TYPES[kind])[()]

    def operands(self, texts, kinds):
        """What `operand` gives for each text and type, as a tuple."""
        return tuple(map(self.operand, texts, kinds))

    def decode(self, instruction):
        """The `Operation` of an `Instruction`. Raises PTXError for one that is not known here."""
        try:
            step = self.step(instruction, instruction.name, instruction.operands)
            if instruction.guard:
                step.guard, step.negated = self.operand(instruction.guard, "pred")[1], instruction.negated
        except LookupError:  # a type, a register, a label or a way of doing it that is not known
            raise unknown(instruction) from None
        return step

    def step(self, instruction, name, texts):
        """The same without its guard. What follows raises LookupError for what is not known."""
        kind = name[-1]
        if name[0] in ENDS:
            return Operation(instruction, ENDS[name[0]], "branch")
        if name[0] == "bra":
            return Operation(instruction, "branch", "branch", target=self.program.labels[texts[0]])
        if name == ("bar", "sync") and texts == ("0",):
            return Operation(instruction, "wait", "barrier")
        if name[0] in ("membar", "fence"):
            return Operation(instruction, "nothing", "other")
        if name[0] in ("ld", "ldu", "st", "atom", "red"):
            return self.access(instruction)
        if name[0] == "mov" and "{" in "".join(texts):
            return self.halves(instruction)
        if name[0] in ("mov", "cvta"):
            return self.compute(instruction, "other", lambda a: a, texts, kind, (kind,))
        function, of, to = operation(instruction)
        fused, floats = name[0] in ("fma", "mad") and to[0] == "f", "f" in (to[0], of[0][0])
        what = "FMA" if fused else "other float" if floats else "whole-number arithmetic"
        return self.compute(instruction, what, function, texts, to, of)

    def compute(self, instruction, what, function, texts, to, of):
        """The step of a function with one result, of type `to`."""
        return Operation(
            instruction, "compute", what, function, *map(self.operands, (texts[:1], texts[1:]), ((to,), of))
        )

    def halves(self, instruction):
        """`mov` of a register from its two halves, or into them."""
        kind, (to, of) = instruction.name[-1], instruction.operands
        parts, whole, half = vector(to if "{" in to else of), TYPES[kind], f"b{bits_of(kind) // 2}"
        if len(parts) != 2 or half not in TYPES:
            raise LookupError
        if "{" in of:

            def joined(low, high):
                return low.astype(whole) | high.astype(whole) << whole.type(bits_of(half))

            return self.compute(instruction, "other", joined, (to, *parts), kind, (half, half))
        to, of = self.operands(parts, (half, half)), self.operands((of,), (kind,))
        return Operation(instruction, "unpack", "other", None, to, of, type=half)

    def access(self, instruction):
        """`ld`, `st`, atomics: with the space, the type, how many elements, and the address taken apart."""
        operator, *middle = instruction.name[:-1]
        kind, texts = instruction.name[-1], list(instruction.operands)
        space = next((word for word in middle if word in ("param", "global", "shared", "local")), "any")
        middle = [word for word in middle if word != space]
        size = IN_MEMORY[kind].itemsize
        place = texts.pop(0 if operator in ("st", "red") else 1)
        address = re.fullmatch(r"\[\s*([^\s+]+?)\s*(?:\+\s*(-?\d+))?\s*\]", place)
        if not address:
            raise LookupError
        base, offset = address[1], int(address[2] or 0)
        if space == "param":
            if operator != "ld" or middle or base not in self.program.takes or offset:
                raise LookupError
            target = list(self.program.takes).index(base)
            return Operation(instruction, "parameter", "other", None, self.data(texts, kind), target=target, type=kind)
        address_bits = self.places.get(base, (64, 0))[0]
        if address_bits not in (32, 64):
            raise LookupError
        where = self.operands((base,), (f"u{address_bits}",))
        common = dict(type=kind, size=size, space=space, offset=offset)
        if operator in ("atom", "red"):
            if middle != ["add"] or kind not in ("f32", "u32", "s32"):
                raise LookupError
            to = self.operands(texts[:1], (kind,)) if operator == "atom" else ()
            given = self.operands(texts[-1:], (kind,))
            return Operation(instruction, "atomic", "atomic", None, to, where + given, width=4, **common)
        elements = vector(texts[0])
        known = {"v2": 2, "v4": 4}.get(middle[-1] if middle else "", 1)
        hints = set(middle) - {"v2", "v4", "nc", "volatile", "relaxed", "weak"}
        if hints or len(elements) != known or known * size > WIDEST:
            raise LookupError
        data, common["width"] = self.data(elements, kind), known * size
        act = "store" if operator == "st" else "load"
        what = {"local": "local", "any": "load or store of any memory"}.get(space, f"{space} {act}")
        to, of = ((), where + data) if act == "store" else (data, where)
        return Operation(instruction, act, what, None, to, of, **common)

    def data(self, texts, kind):
        """The registers that hold elements of memory, as a tuple; a small element may be a part of its register."""
        kinds = [kind] * len(texts)
        if bits_of(kind) < 32:
            sign = "s" if kind[0] == "s" else "u"
            kinds = [f"{sign}{self.places[text][0] if text in self.places else 16}" for text in texts]
        return self.operands(texts, kinds)


@functools.lru_cache(maxsize=64)
def decoded(ptx: str, kernel: str | None = None) -> Decoded:
    """The kernel of that name, or the only one, ready to run. Raises PTXError, with the line, for what is not known."""
    return Decoded(read_ptx(ptx, kernel))


def bits_of(kind):
    """Bits of a type, such as 32 for "f32"."""
    return 1 if kind == "pred" else int(re.sub(r"\D", "", kind))


def vector(text):
    """The parts of "{%f1, %f2}"; of anything else, itself."""
    return [part.strip() for part in text.strip("{}").split(",")]


def literal(text):
    """A number of the PTX: int; bytes for the bits of a float. Raises LookupError for anything else."""
    if found := re.fullmatch(r"0([fd])([0-9A-Fa-f]+)", text):
        return struct.pack("<I" if found[1] == "f" else "<Q", int(found[2], 16))
    if found := re.fullmatch(r"(-?)(0x[0-9A-Fa-f]+|\d+)U?", text):
        return int(found[2], 0 if found[2].startswith("0x") else 10) * (-1 if found[1] else 1)
    raise LookupError


def laid_out(arrays, base):
    """(name, address, bytes) of each array.

    An address ends as it would if the arrays lay one behind the other, each as aligned as it asks, which is how ptxas
    lays them out: an array that asks for 4 bytes, and comes after one of 20, lies on no multiple of 16.
    """
    places, end = [], 0
    for number, array in enumerate(arrays):
        start = -(-end // array.align) * array.align
        end = start + array.bytes
        places.append((array.name, base + number * GAP + start % 1024, array.bytes))
    return places
