"""A PTX program, decoded: each instruction taken apart once, registers as rows, arrays at addresses.

`reader` reads the text, `machine` runs what is made here.
"""

import functools
import operator
import re
import struct
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from .arithmetic import IN_MEMORY, TYPES, carrying, operation, unknown
from .formats import SMALL
from .linking import bytes_of, read_ptx
from .mathematics import mathematics
from .mbarrier import CHANGES, COUNT, over, parity_over
from .memory import WIDEST
from .reader import Instruction, PTXError, int_of, literal
from .warp_groups import DEPTH, WITHIN
from .warpwide import (
    REDUCTIONS,
    bits_of_lanes,
    elect,
    match,
    multiply,
    multiply_doubles,
    multiply_fragments,
    places,
    registers_of,
    shuffle,
    transposed,
    vote,
)

SHARED, LOCAL, GLOBAL = 1 << 24, 1 << 30, 1 << 40  # where the arrays of a memory begin
CONSTANT, VARIABLES = GLOBAL, 1 << 55  # global memory: constants, then the launch's arrays, then the text's own
WINDOWS = {"shared": (SHARED, LOCAL), "local": (LOCAL, GLOBAL), "global": (GLOBAL + (1 << 40), 1 << 63)}
WINDOWS |= {"const": (CONSTANT, GLOBAL + (1 << 40)), "param": (CONSTANT, GLOBAL + (1 << 40))}
GAP = 1 << 20  # from the start of one array of shared or local memory to that of the next
SPECIAL = [f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"] + ["%laneid", "%warpid"]
SPECIAL += [f"%lanemask_{which}" for which in ("eq", "lt", "le", "gt", "ge")]
CLOCKS = {"%clock": 32, "%clock_hi": 32, "%clock64": 64}
CLOCKS |= {"%globaltimer": 64, "%globaltimer_lo": 32, "%globaltimer_hi": 32}
ALWAYS = {"%nwarpid": 64, "%smid": 0, "%nsmid": 1, "%gridid": 0, "%is_explicit_cluster": 0, "%cluster_ctarank": 0}
ALWAYS |= {f"%envreg{number}": 0 for number in range(32)}
ALWAYS |= {"%cluster_nctarank": 1, "%reserved_smem_offset_begin": 0, "WARP_SZ": 32}
ALWAYS |= {f"%{name}.w": 0 for name in ("tid", "ntid", "ctaid", "nctaid")}  # a GPU of one multiprocessor, without
ALWAYS |= {f"%cluster_{name}.{axis}": number for name, number in (("ctaid", 0), ("nctaid", 1)) for axis in "xyz"}
SAME = {"%clusterid.": "%ctaid.", "%nclusterid.": "%nctaid."}  # clusters: each block is one of its own
REFUSED = {  # what this machine has not, by the beginning of an instruction's name
    ("tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep"): "textures and surfaces",
    ("cp.async.bulk", "cp.reduce.async.bulk", "tensormap", "multimem"): "copies by the tensor memory accelerator (TMA)",
    ("wgmma.mma_async.sp",): "products of sparse matrices by warp groups (wgmma.mma_async.sp)",
    ("tcgen05",): "tensor memory (tcgen05)",
}
ENDS = {"ret": "leave", "exit": "leave", "trap": "trap"}
NOTHING = {
    "membar",
    "fence",
    "nop",
    "nanosleep",
    "prefetch",
    "prefetchu",
    "discard",
    "applypriority",
    "brkpt",
    "pmevent",
}
NOTHING |= {"setmaxnreg", "griddepcontrol"}
SPACES = ("param", "global", "shared", "local", "const")
HINTS = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1", "L2", "noftz"}  # what changes nothing here
ATOMIC = {
    "add": operator.add,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "exch": lambda before, given: given,
    "cas": lambda before, compared, given: given if before == compared else before,
    "inc": lambda before, most: before + 1 if before < most else 0,
    "dec": lambda before, most: before - 1 if 0 < before <= most else most,
}
WARP_WIDE = ("shfl", "vote", "match", "redux", "ldmatrix", "stmatrix", "movmatrix", "elect", "mma", "wmma")
BARRIER_VOTES = {  # of how many of a block's threads it holds, and of how many there are
    ("popc", "u32"): lambda many, every: many,
    ("and", "pred"): lambda many, every: many == every,
    ("or", "pred"): lambda many, every: many > 0,
}
ORDERING = ("acquire", "release", "acq_rel", "sc")
ORDERS = ("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio")
SCOPES = {"cta": "cta", "cluster": "cluster", "gpu": "gpu", "gl": "gpu", "sys": "sys"}  # `membar.gl` is of the GPU
HINTS_OF_MBARRIER = {"shared", "noComplete", *ORDERS, *SCOPES}
VOTES = (("all", "pred"), ("any", "pred"), ("uni", "pred"), ("ballot", "b32"))
MATRIX = {"f16": ("m16n8k8", "m16n8k16"), "bf16": ("m16n8k8", "m16n8k16"), "tf32": ("m16n8k4", "m16n8k8")}
MATRIX |= dict.fromkeys(("s8", "u8", "e4m3", "e5m2"), ("m16n8k16", "m16n8k32"))
DOUBLES = {"m8n8k4": (8, 4), "m16n8k4": (16, 4), "m16n8k8": (16, 8), "m16n8k16": (16, 16)}  # rows of A, columns
BY_WMMA = ("m16n16k16", "m8n32k16", "m32n8k16")
FRAGMENTS = dict.fromkeys(("f16", "bf16", "s8", "u8"), BY_WMMA) | {"tf32": ("m16n16k8",)}  # of A and B
SUM_FRAGMENTS = {"f16": BY_WMMA, "s32": BY_WMMA, "f32": (*BY_WMMA, "m16n16k8")}
SUMS = {"f16": ("f32", "f16"), "bf16": ("f32",), "tf32": ("f32",), "s8": ("s32",), "u8": ("s32",)}
SUMS |= dict.fromkeys(("e4m3", "e5m2"), ("f32", "f16"))


@dataclass
class Operation:
    """An instruction, taken apart once for all runs.

    act       name of the method of `Blocks` that does it; `then`, of one that warps meet for, the one they do
    kind      one of `results.KINDS`
    function  of arrays, for arithmetic
    to, of    where its result goes and what it takes: (type, row) of a register, or a number; tuples
    guard     row of a predicate, or None; negated
    width     bytes a thread moves; `type` and `size`, in bytes, of each element
    space     of memory
    target    index of the instruction that a branch goes to, or of a parameter; how many groups a wait leaves; 1 where
              a barrier asks for the contrary of its predicate
    order     one of ORDERS, of an access of memory or a fence: "weak" where the text says nothing, of atomics
              "relaxed", of fences "acq_rel", of `membar` "sc"
    scope     one of the values of SCOPES: whom that order concerns
    barrier   of a barrier of a block: two operands, its number and how many threads take part, 0 for all
    mask      the threads of a warp that do it together: an operand, such as (type, row)
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
    mask: object = None
    then: str = ""
    order: str = "weak"
    scope: str = ""
    barrier: tuple = ()

    def __post_init__(self):
        """`offset`, and the bits of an address that are 0 at a multiple of the width: NumPy takes arrays faster."""
        multiple = max(1, self.width & -self.width)  # a copy may read any number of bytes
        self.further, self.odd = np.array(self.offset % (1 << 64), np.uint64), np.array(multiple - 1, np.uint64)


class Decoded:
    """A program as `Operation`s, and where its registers and arrays lie.

    rows     {bits: how many registers}; 1 bit for predicates
    places   {register: (bits, row)}
    symbols  {shared or local array: address}
    named    whether it has other barriers than a block's first, of all its threads
    orders   whether it has those, a fence, an acquire or a release
    ends     of each instruction: the next one, or, of arithmetic, the one behind the straight line that it begins
    local_unit  bytes of the smallest element of a thread's own memory that it moves, 4 at most
    unit     bytes of the smallest element that it moves, 4 at most: who touched what is noted for each so many
    """

    def __init__(self, program, dynamic=0):
        self.program, self.rows, self.places = program, Counter(), {}
        named = {text for instruction in program.code for text in instruction.operands}
        named |= {
            other + text.removeprefix(one) for text in named for one, other in SAME.items() if text.startswith(one)
        }
        for name in SPECIAL:
            if name in named:
                self.place(name, 32)
        for name, kind in program.registers.items():
            self.place(name, bits_of(kind) if kind in TYPES else 0)
        self.dynamic = dynamic
        static = [array for array in program.shared if array.bytes]
        by_launch = [replace(array, bytes=dynamic) for array in program.shared if not array.bytes]  # all are one array
        self.shared, self.local = laid_out(static + by_launch[:1], SHARED), laid_out(program.local, LOCAL)
        self.constant, self.variables = laid_out(program.constant, CONSTANT), laid_out(program.variables, VARIABLES)
        placed = (*self.shared, *self.local, *self.constant, *self.variables)
        self.symbols = program.functions | {name: address for name, address, _ in placed}
        self.symbols |= {array.name: self.shared[-1][1] for array in by_launch}
        program.constant, program.variables = map(self.with_addresses, (program.constant, program.variables))
        self.always = ALWAYS | {"%dynamic_smem_size": dynamic}
        self.always["%total_smem_size"] = sum(size for _, _, size in self.shared)
        self.operations = [self.decode(instruction) for instruction in program.code]
        self.excuse_guesses()
        watched = [op.size for op in self.operations if op.width and op.space != "local"]
        self.warps_wait = any(op.act == "meet" and op.then == "wait_warp" for op in self.operations)
        self.named = any(op.barrier and op.barrier != (0, 0) for op in self.operations)
        self.orders = self.named or any(
            op.order in ORDERING or op.instruction.name[0] == "fence" for op in self.operations
        )
        self.unit = min([4, *watched])
        self.local_unit = min([4, *(op.size for op in self.operations if op.width and op.space in ("local", "any"))])
        self.ends, ways = [*range(1, len(self.operations) + 1)], [op for op in self.operations if "branch" in op.act]
        entered = {target for op in ways for target in (op.function or [op.target])}
        straight = [op.act in ("compute", "index_within") and op.guard is None for op in self.operations]
        for number in range(len(straight) - 2, -1, -1):
            if straight[number] and straight[number + 1] and number + 1 not in entered:
                self.ends[number] = self.ends[number + 1]

    def excuse_guesses(self):
        """Let a load of what a compare-and-swap swaps be strong, as in CUDA's atomics: a wrong guess loses nothing."""
        moved = {}  # {register: (register, offset)} of what `add` of a number makes
        for op in self.operations:
            adds = op.instruction.name in (("add", "s64"), ("add", "u64"))
            if adds and isinstance(op.of[0], tuple) and not isinstance(op.of[1], tuple):
                moved[op.to[0][1]] = op.of[0][1], int(op.of[1])

        def place(op):
            row = op.of[0][1] if isinstance(op.of[0], tuple) else op.of[0]
            row, more = moved.get(row, (row, 0))
            return row, more + op.offset

        swapped = {place(op) for op in self.operations if op.act == "atomic" and "cas" in op.instruction.name}
        for op in self.operations:
            if op.act == "load" and op.order == "weak" and place(op) in swapped:
                op.order, op.scope = "relaxed", "gpu"

    def memory_of_block(self):
        """Bytes of shared memory that a block takes, with those that the launch adds."""
        return max(sum(size for _, _, size in self.shared), self.dynamic)

    def place(self, name, bits):
        """A register's place: the next row of those with that many bits."""
        self.places[name] = (bits, self.rows[bits])
        self.rows[bits] += 1

    def with_addresses(self, arrays):
        """The same arrays, with the addresses of others that they hold. Raises PTXError for one that there is not."""
        whole = []
        for array in arrays:
            holds = bytearray(array.holds)
            for place, size, name, more, shift in array.addresses:
                if name not in self.symbols:
                    self.program.faults[array.name] = PTXError(
                        f"{array.name} holds the address of {name}, which this PTX has not."
                    )
                    break
                address = (self.symbols[name] + more) >> shift
                holds[place : place + size] = (address % (1 << 8 * size)).to_bytes(size, "little")
            whole.append(replace(array, holds=bytes(holds)))
        return whole

    def operand(self, text, kind):
        """(type, row) of a register, or a number of that type."""
        for one, other in SAME.items():
            text = other + text.removeprefix(one) if text.startswith(one) else text
        if text == "_":  # a result that nobody wants
            text = f"_{bits_of(kind)}"
            if text not in self.places:
                self.place(text, bits_of(kind))
        if text in self.places:
            bits, row = self.places[text]
            if bits != bits_of(kind):
                raise LookupError
            return kind, row
        number = self.number(text)
        if kind == "pred":
            return np.bool_(number)
        if isinstance(number, bytes):  # a float, by its bits
            if 8 * len(number) == bits_of(kind):
                return np.frombuffer(number, TYPES[kind])[0]
            number = struct.unpack("<f" if len(number) == 4 else "<d", number)[0]
            if kind not in ("f32", "f64"):
                raise LookupError
        if kind in SMALL:
            raise LookupError
        if isinstance(number, float) and kind[0] != "f":  # of 64 bits, as the manual has them
            number = int(np.array(number, f"f{TYPES[kind].itemsize}").view(f"u{TYPES[kind].itemsize}"))
        if kind[0] == "f":
            return TYPES[kind].type(number)
        return np.array(number % (1 << bits_of(kind)), f"u{TYPES[kind].itemsize}").view(TYPES[kind])[()]

    def number(self, text):
        """A number that the text gives, or the address of an array or function, or one some bytes further on."""
        if text in self.always:
            return self.always[text]
        name, sign, more = (
            re.fullmatch(r"(?:generic\s*\()?\s*([^\s()+-]*)\s*\)?(?:\s*([+-])\s*(.+))?", text + " ").groups()
            if (re.match(r"[\w$%]", text))
            else (text, "", "")
        )
        if name in self.program.faults and name != self.program.name:
            raise self.program.faults[name]
        if name in self.symbols:
            return self.symbols[name] + (int_of(more.strip()) * (-1 if sign == "-" else 1) if more else 0)
        return literal(text)

    def operands(self, texts, kinds):
        """What `operand` gives for each text and type, as a tuple."""
        return tuple(map(self.operand, texts, kinds))

    def decode(self, instruction):
        """The `Operation` of an `Instruction`. Raises PTXError for one that is not known here."""
        try:
            step = self.step(instruction, instruction.name, instruction.operands)
            if instruction.guard:
                step.guard, step.negated = self.operand(instruction.guard, "pred")[1], instruction.negated
            step.order, step.scope = ordered(instruction.name)
        except (LookupError, ValueError) as problem:  # a type, a register, a label or a way of doing it
            if isinstance(problem, PTXError):
                raise
            raise unknown(instruction) from None
        return step

    def step(self, instruction, name, texts):
        """The same without its guard. What follows raises LookupError for what is not known."""
        kind, whole = name[-1], ".".join(name)
        for beginnings, what in REFUSED.items():
            if any(f"{whole}.".startswith(f"{one}.") for one in beginnings):
                asks = f"line {instruction.line} of the PTX asks for {what}, which this machine does not have"
                raise PTXError(f"{asks}: {instruction.text}")
        if name[0] == "call":
            return self.call(instruction, name[1], texts)
        if name[0] in ENDS:
            return Operation(instruction, ENDS[name[0]], "branch")
        if name[0] == "bra":
            return Operation(instruction, "branch", "branch", target=self.program.labels[texts[0]])
        if name == ("brx", "idx"):
            targets = [self.program.labels[label] for label in self.program.tables[texts[1]]]
            return Operation(instruction, "branch_by_number", "branch", targets, of=self.operands(texts[:1], ("u32",)))
        if name[:3] == ("barrier", "cluster", "arrive"):
            return Operation(instruction, "nothing", "barrier")
        if name[:3] == ("barrier", "cluster", "wait"):
            return self.barrier(instruction, ("sync",), ["0"])
        if name[0] in ("bar", "barrier") and name[1] != "warp":
            return self.barrier(instruction, tuple(word for word in name[1:] if word != "cta"), list(texts))
        if name[0] in WARP_WIDE or name[:2] == ("bar", "warp"):
            return self.warp_wide(instruction, name, list(texts))
        if name[0] == "mbarrier":
            return self.in_memory(instruction, name[1:-1], list(texts))
        if name[:2] == ("cp", "async"):
            return self.copy(instruction, name[2:], list(texts))
        if name == ("activemask", "b32"):
            to = self.operands(texts, ("b32",))
            return Operation(instruction, "active", "other", bits_of_lanes, to, mask=np.uint32(0xFFFFFFFF))
        if name[:2] == ("wgmma", "mma_async"):
            return self.product_of_group(instruction, name[2:], list(texts))
        if name == ("wgmma", "commit_group", "sync", "aligned"):
            return Operation(instruction, "commit", "other")
        if name == ("wgmma", "wait_group", "sync", "aligned"):
            return Operation(instruction, "await_products", "other", target=int_of(texts[0]))
        if name[0] == "index_within":
            of = self.operands(texts[:2], ("u64", "u64"))
            return Operation(instruction, "index_within", "other", of=of, target=int_of(texts[2]))
        if name[0] in NOTHING or name == ("wgmma", "fence", "sync", "aligned"):
            return Operation(instruction, "nothing", "other")
        if name[0] in ("ld", "ldu", "st", "atom", "red"):
            return self.access(instruction)
        if name[0] == "mov" and "{" in "".join(texts):
            return self.halves(instruction)
        if "cc" in name or name[0] in ("addc", "subc", "madc"):
            return self.carry(instruction, name, texts)
        if name[0] == "isspacep" and name[1].partition("::")[0] in WINDOWS:
            first, last = WINDOWS[name[1].partition("::")[0]]
            bits = self.places[texts[1]][0]
            inside = lambda a: (a >= a.dtype.type(first)) & (a <= a.dtype.type(min(last - 1, np.iinfo(a.dtype).max)))  # noqa: E731
            return self.compute(instruction, "other", inside, texts, "pred", (f"u{bits}",))
        if name[0] in ("set", "setp") and texts[-1].startswith("!"):
            positive = (*texts[:-1], texts[-1][1:])
            op = self.step(replace(instruction, operands=positive), name, positive)
            does = op.function
            return replace(op, instruction=instruction, function=lambda *values: does(*values[:-1], ~values[-1]))
        if name[0] == "selp" and texts[-1].startswith("!"):
            return self.step(instruction, name, (texts[0], texts[2], texts[1], texts[3][1:]))
        if name[0] == "setp" and "|" in texts[0]:
            function, of, _ = operation(instruction)
            to = self.operands(re.split(r"\s*\|\s*", texts[0]), ("pred", "pred"))
            return Operation(instruction, "compute", "other", function, to, self.operands(texts[1:], of))
        if texts[1:] and texts[1] in CLOCKS:
            to = self.operands(texts[:1], (f"u{CLOCKS[texts[1]]}",))
            return Operation(instruction, "clock", "other", to=to, target=32 * texts[1].endswith("hi"))
        if name[0] == "createpolicy":  # caches are not followed
            return self.compute(instruction, "other", lambda: np.uint64(0), texts[:1], "u64", ())
        if name[0] == "mapa":  # each block is a cluster of its own
            kind = f"u{name[-1][1:]}"
            return self.compute(instruction, "other", lambda a, b: a, texts, kind, (kind, "u32"))
        if name[0] == "getctarank":
            return self.compute(instruction, "other", lambda a: np.uint32(0), texts, "u32", (f"u{name[-1][1:]}",))
        if name[0] in ("mov", "cvta"):
            same = (lambda a: a) if kind == "pred" else np.positive
            return self.compute(instruction, "other", same, texts, kind, (kind,))
        function, of, to = operation(instruction)
        if name[0] == "cvt":
            function, of, to = self.widened(function, of, to, texts)
        fused, floats = name[0] in ("fma", "mad") and to[0] == "f", "f" in (to[0], of[0][0])
        what = "FMA" if fused else "other float" if floats else "integer arithmetic"
        op = self.compute(instruction, what, function, texts, to, of)
        if name[0] in ("shl", "shr") and not isinstance(op.of[1], tuple) and op.of[1] < bits_of(kind):
            op.function = np.left_shift if name[0] == "shl" else np.right_shift
            op.of = op.of[0], TYPES[kind].type(op.of[1])
        return op

    def barrier(self, instruction, name, texts):
        """A barrier of a block: `bar.sync` and its like."""
        what, to, of, negated = name[0], (), (), False
        if name[-1] in ("popc", "and", "or") or name[-2:] in BARRIER_VOTES:
            function, asked = BARRIER_VOTES[name[-2:]], texts.pop()
            negated, of = asked.startswith("!"), self.operands((asked.lstrip("!"),), ("pred",))
            to = self.operands((texts.pop(0),), name[-1:])
        elif name in (("sync",), ("sync", "aligned"), ("arrive",), ("arrive", "aligned")):
            function = None
        else:
            raise LookupError
        numbers = self.operands([*texts, "0"][:2], ("u32", "u32"))
        if len(texts) > 2 or (what == "arrive" and len(texts) < 2):
            raise LookupError
        act = "arrive_at" if what == "arrive" else "wait"
        return Operation(instruction, act, "barrier", function, to, of, target=int(negated), barrier=numbers)

    def in_memory(self, instruction, name, texts):
        """`mbarrier`: a barrier that lies in shared memory; `reader` makes two instructions of a wait."""
        what = tuple(word for word in name if word.partition("::")[0] not in HINTS_OF_MBARRIER)
        if what == ("inval",):
            return Operation(instruction, "nothing", "barrier")
        if what == ("pending_count",):
            pending = lambda state: (state & np.uint64(COUNT)).astype(np.uint32)  # noqa: E731
            return self.compute(instruction, "barrier", pending, texts, "u32", ("u64",))
        if what in (("passed",), ("passed", "parity")):
            function, kind = (parity_over, "u32") if len(what) > 1 else (over, "u64")
            return self.compute(instruction, "barrier", function, texts, "pred", ("u64", kind))
        to = () if texts[0].startswith("[") else self.operands((texts.pop(0),), ("u64",))
        (where, offset), given = self.address(texts[0]), self.operands(texts[1:], ("u32",) * len(texts[1:]))
        if len(given) > 1:
            raise LookupError
        return Operation(instruction, "atomic", "barrier", CHANGES[what], to, (where, *given), width=8, type="u64",
                         size=8, space="shared", offset=offset)  # fmt: skip

    def call(self, instruction, what, texts):
        """What `linking` makes of calls: a stack for registers, functions of mathematics, and `vprintf`."""
        if what == "mathematics":
            takes, gives, function = mathematics()[texts[0] if len(instruction.name) < 3 else instruction.name[2]]
            of = [kind for kind in takes if kind != "p64"]
            to, of = self.operands(texts[: len(gives)], gives), self.operands(texts[len(gives) :], of)
            return Operation(instruction, "compute", "other float", function, to, of)
        if what == "vprintf":
            to = self.operands(texts[2:], ("u32",))
            return Operation(instruction, "print", "other", None, to, self.operands(texts[:2], ("u64", "u64")))
        registers, depth = self.program.stacks[texts[0]]
        rows = {
            bits: np.array([row for one, row in map(self.places.get, registers) if one == bits], int)
            for bits in self.rows
        }
        target = self.program.labels[texts[1]] if what == "push" else 0
        return Operation(instruction, what, "branch", rows, self.operands((depth,), ("u32",)), target=target)

    def compute(self, instruction, what, function, texts, to, of):
        """The step of a function with one result, of type `to`."""
        return Operation(
            instruction, "compute", what, function, *map(self.operands, (texts[:1], texts[1:]), ((to,), of))
        )

    def carry(self, instruction, name, texts):
        """Arithmetic on parts of long numbers: a carry that one instruction leaves, another takes."""
        short, kind = name[0].removesuffix("c") + f".{name[1]}" * (name[0] in ("mad", "madc")), name[-1]
        if short not in ("add", "sub", "mad.lo", "mad.hi") or kind[0] not in "us" or bits_of(kind) not in (32, 64):
            raise LookupError
        kind = f"u{kind[1:]}"
        if "%carry" not in self.places:
            self.place("%carry", 1)
        before = "%carry" if name[0].endswith("c") else str(int(short == "sub"))
        of = self.operands((*texts[1:], before), (kind,) * (len(texts) - 1) + ("pred",))
        to = self.operands((texts[0], "%carry"), (kind, "pred"))[: 1 + ("cc" in name)]
        if len(of) != (4 if short.startswith("mad") else 3):
            raise LookupError
        return Operation(instruction, "compute", "integer arithmetic", carrying(short), to, of)

    def widened(self, function, of, to, texts):
        """The same for `cvt`, whose operands may stand in registers wider than their types."""
        taken = [self.held(text, kind) for text, kind in zip(texts[1:], of, strict=True)]
        given = self.held(texts[0], to)
        if [*taken, given] == [*of, to]:
            return function, of, to
        types, result = [IN_MEMORY[kind] for kind in of], IN_MEMORY[to]

        def narrow(*values):
            values = (value.astype(dtype) for value, dtype in zip(values, types, strict=True))
            return function(*values).astype(result).astype(IN_MEMORY[given])

        return narrow, tuple(taken), given

    def held(self, text, kind):
        """The type of integers that a register holds where the instruction says `kind`: one as wide as it is."""
        bits = self.places[text][0] if text in self.places else max(bits_of(kind), 16)
        return f"{'s' if kind[0] == 's' else 'u'}{bits}" if kind[0] in "bus" and bits > bits_of(kind) else kind

    def halves(self, instruction):
        """`mov` of a register from its parts, or into them."""
        kind, (to, of) = instruction.name[-1], instruction.operands
        parts, whole = vector(to if "{" in to else of), TYPES[kind]
        part = f"b{bits_of(kind) // len(parts)}"
        if len(parts) not in (2, 4, 8) or part not in IN_MEMORY:
            raise LookupError
        holds = "b16" if part == "b8" else part  # bytes, which only `linking` asks for, stand in registers of 16 bits
        if "{" in of:

            def joined(*values):
                shifted = (value.astype(whole) << whole.type(n * bits_of(part)) for n, value in enumerate(values))
                return functools.reduce(operator.or_, shifted)

            return self.compute(instruction, "other", joined, (to, *parts), kind, (holds,) * len(parts))
        to, of = self.operands(parts, (holds,) * len(parts)), self.operands((of,), (kind,))
        places = [whole.type(n * bits_of(part)) for n in range(len(parts))]
        apart = lambda value: tuple((value >> place).astype(IN_MEMORY[part]) for place in places)  # noqa: E731
        return Operation(instruction, "compute", "other", apart, to, of)

    def address(self, text):
        """(operand, offset) of an address in brackets."""
        address = re.fullmatch(r"\[\s*([^\s+-]+)\s*(?:([+-])\s*(.+?))?\s*\]", text)
        if not address:
            raise LookupError
        offset = int_of(address[3] or "0") * (-1 if address[2] == "-" else 1)
        bits = self.places.get(address[1], (64, 0))[0]
        if bits not in (32, 64):
            raise LookupError
        return self.operand(address[1], f"u{bits}"), offset

    def access(self, instruction):
        """`ld`, `st`, atomics: with the space, the type, how many elements, and the address taken apart."""
        name, *middle = instruction.name[:-1]
        kind, texts = instruction.name[-1], list(instruction.operands)
        middle = [word if word.startswith("L") else word.partition("::")[0] for word in middle]  # .shared::cta
        space = next((word for word in middle if word in SPACES), "any")
        ways = [word for word in middle if word.partition("::")[0] not in {*HINTS, *ORDERS, *SCOPES, space}]
        if kind in SMALL and name not in ("atom", "red"):  # a load or store names such numbers by their bits
            raise LookupError
        size, place = IN_MEMORY[kind].itemsize, texts.pop(0 if name in ("st", "red") else 1)
        if "L2::cache_hint" in instruction.name:
            texts.pop()
        if name in ("atom", "red"):
            bits = ways[-1:] == ["cas"] and size == 2
            known = len(ways) == 1 and (ways[0] in ATOMIC if size in (4, 8) and kind not in SMALL else bits)
            if not known and not (len(ways) == 1 and kind in SMALL and ways[0] in ("add", "min", "max")):
                raise LookupError
            does = atomic_of_halves(ways[0], kind) if kind in SMALL else ATOMIC[ways[0]]
            kind = f"b{8 * size}" if kind in SMALL else kind
            where, offset = self.address(place)
            to = self.operands(texts[:1], (kind,)) if name == "atom" else ()
            given = self.operands(texts[len(to) :], (kind,) * len(texts))
            return Operation(instruction, "atomic", "atomic", does, to, (where, *given), width=size,
                             type=kind, size=size, space=space, offset=offset)  # fmt: skip
        elements, many = vector(texts[0]), {"v2": 2, "v4": 4, "v8": 8}.get(ways[-1] if ways else "", 1)
        if len(ways) > (many > 1) or len(elements) != many or many * size > WIDEST:
            raise LookupError
        data, width = self.data(elements, kind), many * size
        found = re.fullmatch(r"\[\s*([\w$%]+)\s*(?:\+\s*(\w+))?\s*\]", place)
        if space == "param" and found and found[1] in self.program.takes:
            if name != "ld":
                raise LookupError
            target, offset = list(self.program.takes).index(found[1]), int_of(found[2] or "0")
            if offset + width > bytes_of(self.program.takes[found[1]]):
                raise LookupError
            return Operation(instruction, "parameter", "other", None, data, target=target, type=kind, offset=offset,
                             size=size)  # fmt: skip
        where, offset = self.address(place)
        act = "store" if name == "st" else "load"
        if act == "store" and space in ("const", "param"):
            raise LookupError
        space = "global" if space in ("const", "param") else space
        what = {"local": "local", "any": "load or store of any memory"}.get(space, f"{space} {act}")
        to, of = ((), (where, *data)) if act == "store" else (data, (where,))
        return Operation(instruction, act, what, None, to, of, type=kind, size=size, space=space, offset=offset,
                         width=width)  # fmt: skip

    def copy(self, instruction, name, texts):
        """`cp.async` and the waits for it."""
        if name == ("commit_group",):
            return Operation(instruction, "commit", "other")
        if name in (("wait_group",), ("wait_all",)):
            return Operation(instruction, "await_copies", "other", target=int(texts[0], 0) if texts else -1)
        words = [word for word in name if not word.startswith("L2::")]
        if words not in (["ca", "shared", "global"], ["cg", "shared", "global"]) or len(texts) not in (3, 4):
            raise LookupError
        (into, offset), (of, skipped) = map(self.address, texts[:2])
        width = int(texts[2], 0)
        bytes_of_it = self.operand(texts[3] if len(texts) > 3 else texts[2], "u32")
        if width not in (4, 8, 16):
            raise LookupError
        load = Operation(instruction, "load", "", None, (), (of,), type="b8", size=1, space="global", offset=skipped)
        return Operation(instruction, "copy", "asynchronous copy", load, (), (into, bytes_of_it), type="b32", size=4,
                         space="shared", offset=offset, width=width)  # fmt: skip

    def warp_wide(self, instruction, name, texts):
        """What a warp's threads do together."""

        def step(then, function=None, to=(), of=(), mask="-1", kind="other", **more):
            return Operation(
                instruction, "meet", kind, function, to, of, then=then, mask=self.operand(mask, "u32"), **more
            )

        if name[0] in ("shfl", "vote") and "sync" not in name:  # for those that stand here together; up to sm_62
            if int(re.sub(r"\D", "", self.program.target) or 0) >= 70:
                raise LookupError
            op = self.warp_wide(instruction, (name[0], "sync", *name[1:]), [*texts, "-1"])
            return replace(op, act="active")
        if name == ("bar", "warp", "sync"):
            return step("wait_warp", mask=texts[0], kind="barrier")
        if name[:2] == ("shfl", "sync") and name[2] in ("up", "down", "bfly", "idx") and name[-1] == "b32":
            to = self.operands(texts[0].split("|"), ("b32", "pred"))
            of = self.operands(texts[1:4], ("b32", "u32", "u32"))
            return step("across", shuffle(name[2]), to, of, texts[4])
        if name == ("elect", "sync"):
            return step("across", elect, self.operands(re.split(r"\s*\|\s*", texts[0]), ("b32", "pred")), (), texts[1])
        if name == ("movmatrix", "sync", "aligned", "m8n8", "trans", "b16"):
            return step("across", transposed, *(self.operands((text,), ("b32",)) for text in texts), kind="other")
        if name[0] == "match" and name[1] in ("any", "all") and name[2] == "sync":
            to, of = self.operands(texts[0].split("|"), ("b32", "pred")), self.operands(texts[1:2], name[3:])
            return step("across", match(name[1]), to, of, texts[2])
        if name[:2] == ("vote", "sync") and name[2:] in VOTES:
            negated = texts[1].startswith("!")
            ask, kind = vote(name[2]), name[3]
            function = (lambda taking, holds: ask(taking, ~holds)) if negated else ask
            to, of = self.operands(texts[:1], (kind,)), self.operands((texts[1].lstrip("!"),), ("pred",))
            return step("across", function, to, of, texts[2])
        if name[:2] == ("redux", "sync") and len(name) == 4 and name[2] in REDUCTIONS and name[3][1:] == "32":
            if name[3][0] not in ("b" if name[2] in ("and", "or", "xor") else "us"):
                raise LookupError
            to, of = (self.operands((text,), name[3:]) for text in texts[:2])
            return step("across", REDUCTIONS[name[2]], to, of, texts[2])
        if name[0] in ("ldmatrix", "stmatrix") and name[1:3] == ("sync", "aligned") and name[-1] == "b16":
            words = set(name[3:-1]) - {"shared", "shared::cta"}  # a generic address names a place of shared memory, too
            many = {"x1": 1, "x2": 2, "x4": 4}.get(next((word for word in words if word[0] == "x"), ""), 0)
            place, held = texts if name[0] == "stmatrix" else reversed(texts)
            if words - {"trans", f"x{many}"} != {"m8n8"} or len(vector(held)) != many:
                raise LookupError
            (where, offset), held = self.address(place), self.operands(vector(held), ("b32",) * many)
            does = "load" if name[0] == "ldmatrix" else "store"
            to, of = (held, (where,)) if does == "load" else ((), (where, *held))
            return step(f"{does}_matrices", "trans" in words, to, of, kind=f"shared {does}", type="b32", size=4,
                        space="shared", offset=offset, width=16)  # fmt: skip
        if name[:3] == ("mma", "sync", "aligned") and name[4:6] == ("row", "col") and name[6:] == ("f64",) * 4:
            rows, _, depth = (
                map(int, re.fullmatch(r"m(8|16)n(8)k(4|8|16)", name[3]).groups()) if name[3] in DOUBLES else (0, 0, 0)
            )
            registers = [vector(text) for text in texts]
            wanted = [rows * 8 // 32, rows * depth // 32, 8 * depth // 32, rows * 8 // 32]
            if not rows or [len(some) for some in registers] != wanted:
                raise LookupError
            to, *of = (self.operands(some, ("f64",) * len(some)) for some in registers)
            return step("across", multiply_doubles(rows, depth), to, sum(of, ()), kind="matrix")
        if name[:3] == ("mma", "sync", "aligned") and name[4:6] == ("row", "col") and len(name) == 10:
            shape, (sums, kind, same, before) = name[3], name[6:]
            alike = kind == same or {kind, same} <= {"e4m3", "e5m2"} or {kind, same} <= {"s8", "u8"}
            if not alike or sums != before or sums not in SUMS[kind] or shape not in MATRIX[kind]:
                raise LookupError
            function, of_a, of_b, of_c = multiply(kind, int(shape.partition("k")[2]), sums, same)
            registers = [vector(text) for text in texts]
            if [len(some) for some in registers] != [of_c, of_a, of_b, of_c]:
                raise LookupError
            of_c = ("b32" if sums == "f16" else sums,) * of_c
            of = self.operands([text for some in registers[1:] for text in some], ("b32",) * (of_a + of_b) + of_c)
            return step("across", function, self.operands(registers[0], of_c), of, kind="matrix")
        if name[0] == "wmma":
            return self.fragments(step, name[1], name[2:], texts)
        raise LookupError

    def product_of_group(self, instruction, name, texts):
        """`wgmma.mma_async`: a product by four warps, of 64 rows of A, which lies in shared memory or in registers."""
        shape = re.fullmatch(r"m64n(\d+)k(\d+)", name[2])
        columns, depth, kind = int(shape[1]), int(shape[2]), name[-1]
        known = name[:2] == ("sync", "aligned") and name[3:] == ("f32", kind, kind) and depth == DEPTH[kind]
        if not known or columns % 8 or not 8 <= columns <= 256:
            raise LookupError
        arrays = {address for _, address, _ in self.shared}
        if len(arrays) > 1:
            raise PTXError(
                f"line {instruction.line} of the PTX names a place of shared memory by the last "
                f"{WITHIN.bit_length() - 1} bits of its address. The kernel has {len(arrays)} arrays there, which this "
                f"machine lays further apart. Make them one: {instruction.text}"
            )
        sums, a, b, scaled, *others = texts
        numbers = [int_of(text) for text in others]
        signs, by_rows = numbers[:2], [*numbers[2:], 0, 0]
        registers = vector(a) if "{" in a else [a]
        of_a = len(registers)
        if of_a not in (1, 4) or len(numbers) != (2 if kind == "tf32" else 4 if of_a == 1 else 3) or max(numbers) > 1:
            raise LookupError
        to = self.operands(vector(sums), ("f32",) * len(vector(sums)))
        if len(to) != columns // 2 or not {*signs} <= {1, -1}:
            raise LookupError
        # A in registers lies as they hold it; of matrices in shared memory the text says along what.
        along = (None, not by_rows[0]) if of_a == 4 else (not by_rows[0], not by_rows[1])
        of = *self.operands(registers, ("b32" if of_a == 4 else "u64",) * of_a), self.operand(b, "u64")
        return Operation(instruction, "meet_group", "matrix", (kind, columns, *along, signs[0] * signs[1]), to,
                         (*of, self.operand(scaled, "pred")), type="b32", size=4, space="shared", width=16)  # fmt: skip

    def fragments(self, step, what, name, texts):
        """`wmma`: its loads and stores, and its product."""
        registers = [vector(text) for text in texts]
        if what == "mma" and name[:2] == ("sync", "aligned") and len(name) in (7, 9):
            *layouts, shape, sums = name[2:6]
            kind, same, before = name[6:] if len(name) == 9 else ("f16", "f16", name[6])
            known = shape in FRAGMENTS[kind] and kind == same and {sums, before} <= set(SUMS[kind])
            if not known or not set(layouts) <= {"row", "col"}:
                raise LookupError
            function, of_a, of_b = multiply_fragments(kind, shape, layouts, before, sums)
            wanted = [registers_of("d", shape, sums)[0], of_a, of_b, registers_of("c", shape, before)[0]]
            if [len(some) for some in registers] != wanted:
                raise LookupError
            to, *of = (self.operands(some, ("b32",) * len(some)) for some in registers)
            return step("across", function, to, sum(of, ()), kind="matrix")
        part, layout, shape, *space = (name[0], *name[3:-1])
        kind, space = name[-1], ".".join(space).removesuffix("::cta") or "any"
        shapes = (FRAGMENTS if part in ("a", "b") else SUM_FRAGMENTS)[kind]
        known = part in {"load": "abc", "store": "d"}[what] and shape in shapes and layout in ("row", "col")
        if not known or name[1:3] != ("sync", "aligned") or space not in ("any", "global", "shared") or len(texts) != 3:
            raise LookupError
        held = vector(texts.pop(1 if what == "store" else 0))
        if len(held) != registers_of(part, shape, kind)[0]:
            raise LookupError
        held, (where, offset) = self.operands(held, ("b32",) * len(held)), self.address(texts[0])
        *lies, size, width = places(part, layout, shape, kind)
        of = where, self.operand(texts[1], "u32"), *(held if what == "store" else ())
        does = "load or store of any memory" if space == "any" else f"{space} {what}"
        return step("move_fragment", lies, held if what == "load" else (), of, kind=does, type=f"b{8 * size}",
                    size=size, space=space, offset=offset, width=width)  # fmt: skip

    def data(self, texts, kind):
        """The registers that hold elements of memory, as a tuple; a small element may be a part of its register."""
        return self.operands(texts, [self.held(text, kind) for text in texts])


@functools.lru_cache(maxsize=64)
def decoded(ptx: str, kernel: str | None = None, dynamic: int = 0) -> Decoded:
    """The kernel of that name, or the only one, ready to run, with so many bytes of shared memory that the launch sets.

    Raises PTXError, with the line, for what is not known.
    """
    return Decoded(read_ptx(ptx, kernel), dynamic)


def atomic_of_halves(what, kind):
    """`add`, `min` or `max` of an atomic of numbers of 16 bits, or of a pair."""
    function, _, _ = operation(Instruction(0, "", (what, kind), ("", "", "")))
    held, bits = TYPES[kind], TYPES[f"b{bits_of(kind)}"]
    return lambda before, given: function(before.view(held), given.view(held)).view(bits)[()]


def ordered(name):
    """(order, scope) of an access of memory or a fence: see `Operation`."""
    short = "weak", "cta"
    if name[0] in ("atom", "red", "fence", "membar", "mbarrier"):
        short = {"fence": "acq_rel", "membar": "sc"}.get(name[0], "relaxed"), "gpu"
    if name[:1] == ("mbarrier",):
        short = "acquire" if name[1] == "look" else "release" if name[1].startswith("arrive") else "relaxed", "cta"
    order = next((word for word in name[1:] if word in ORDERS), short[0])
    return order, next(
        (SCOPES[word] for word in name[1:] if word in SCOPES), "sys" if order in ("volatile", "mmio") else short[1]
    )


def bits_of(kind):
    """Bits of a type, such as 32 for "f32"."""
    return 1 if kind == "pred" else 8 * IN_MEMORY[kind].itemsize


def vector(text):
    """The parts of "{%f1, %f2}"; of anything else, itself."""
    return [part.strip() for part in text.strip("{}").split(",")]


def laid_out(arrays, base):
    """(name, address, bytes) of each array, whose address ends as where ptxas lays them one behind the other."""
    places, end = [], 0
    for number, array in enumerate(arrays):
        start = -(-end // array.align) * array.align
        end = start + array.bytes
        places.append((array.name, base + number * GAP + start % 1024, array.bytes))
    return places
