"""What the arithmetic instructions of PTX do, on NumPy arrays: one element a thread.

`operation(instruction)` gives for `add.s64` and its like a function of arrays of the instruction's type. What PTX
leaves open, such as a whole number divided by zero, is as NumPy has it. Source: NVIDIA's PTX ISA, "Instruction Set".
"""

import operator

import numpy as np

from .formats import SMALL, WAYS, exact, rounded
from .reader import PTXError

TYPES = {
    f"{letter}{bits}": np.dtype(f"{kind}{bits // 8}")
    for letter, kind in (("b", "u"), ("u", "u"), ("s", "i"))
    for bits in (16, 32, 64)
}
TYPES |= {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "pred": np.dtype(bool)}
TYPES |= {"f16": np.dtype(np.float16), "bf16": np.dtype("u2"), "f16x2": np.dtype("u4"), "bf16x2": np.dtype("u4")}
IN_MEMORY = TYPES | {"b8": np.dtype(np.uint8), "u8": np.dtype(np.uint8), "s8": np.dtype(np.int8)}
del IN_MEMORY["pred"]


# ------------------------------------------------------------------------- multiply-add, rounded once


def fused32(a, b, c):
    """a * b + c, rounded once; arrays of float32.

    The product is exact in float64. Its sum with c is first "rounded to odd": of the two float64 around the exact
    sum, that whose last bit is 1. Such a sum lies on no border between two float32, so that rounding it once more is
    right. Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Transactions on Computers
    57 (2008). Only a sum rounded to a border needs it, one whose last 28 bits are 0.
    """
    product = np.multiply(a, b, dtype=np.float64)
    s = product + c
    if np.count_nonzero(s.view(np.int64) & 0xFFFFFFF) < s.size:
        s = to_odd(*two_sum(product, c))
    return s.astype(np.float32)


def directed(short, way):
    """`add`, `sub`, `mul`, `fma`, `div`, `rcp` or `sqrt` of float32, rounded to zero, down or up; else None.

    Each is found in float64 first, rounded to odd as in `fused32`, from the sign of what is left over.
    """

    def over(a, b):
        q = a / b
        product, rest = two_product(q, b)
        return q, ((a - product) - rest) * np.sign(b)

    def root(a):
        product, rest = two_product(s := np.sqrt(a), s)
        return s, (a - product) - rest

    exactly = {
        "add": two_sum,
        "sub": lambda a, b: two_sum(a, -b),
        "mul": lambda a, b: (a * b, 0.0),
        "fma": lambda a, b, c: two_sum(a * b, c),
        "mad": lambda a, b, c: two_sum(a * b, c),
        "div": over,
        "rcp": lambda a: over(np.float64(1), a),
        "sqrt": root,
    }.get(short)

    def function(*values):
        result, rest = exactly(*(np.asarray(value, np.float64) for value in values))
        return rounded(to_odd(result, np.broadcast_to(rest, result.shape)), "f32", way)

    return function if exactly and way in WAYS else None


def fused64(a, b, c):
    """a * b + c, rounded once; arrays of float64, and no product near overflow or underflow. Source: as `fused32`."""
    high, low = two_product(*np.broadcast_arrays(a, b))
    rest_high, rest_low = two_sum(np.asarray(c, np.float64), low)
    high, middle = two_sum(high, rest_high)
    return np.where(np.isfinite(high), high + to_odd(*two_sum(middle, rest_low)), a * b + c)


def two_sum(x, y):
    """(s, e): s = x + y rounded, s + e = x + y exactly (Knuth)."""
    s = x + y
    t = s - x
    return s, (x - (s - t)) + (y - t)


def two_product(x, y):
    """(p, e): p = x * y rounded, p + e = x * y exactly (Dekker)."""

    def halves(value):
        t = 134217729.0 * value  # 2**27 + 1
        high = t - (t - value)
        return high, value - high

    (xh, xl), (yh, yl), p = halves(x), halves(y), x * y
    return p, xl * yl - (((p - xh * yh) - xl * yh) - xh * yl)


def to_odd(s, e):
    """s + e rounded to odd, where s is that sum rounded to the nearest float64, and e what rounding left over."""
    bits = np.array(s, np.float64, ndmin=1).view(np.int64)
    inexact = (e > 0) | (e < 0)  # false where it is no number
    away = np.where((e > 0) == (s > 0), 1, -1)  # one up is away from zero
    bits += np.where(inexact & (bits & 1 == 0), away, 0)
    return bits.view(np.float64).reshape(np.shape(s))


# --------------------------------------------------------------------------------------- whole numbers


def carrying(short):
    """`add`, `sub`, `mad.lo` or `mad.hi` of whole numbers with a carry from before: a function of both results.

    It takes the operands and then the flag, bool; it gives the result, unsigned, and the flag. That is the carry; after
    `sub` it says that nothing was borrowed, as on the hardware: NVIDIA's division of 128 bits adds it with `addc`.
    """

    def function(*values):
        *values, carry = np.broadcast_arrays(*values)
        values = [value.view(f"u{value.dtype.itemsize}") for value in map(np.ascontiguousarray, values)]
        unsigned, carry = values[0].dtype, carry.astype(values[0].dtype)
        if short == "sub":
            a, b = values
            borrow = 1 - carry
            return a - b - borrow, ~((a < b) | ((a == b) & (borrow > 0)))
        if short != "add":
            a, b, c = values
            values = [a * b if short == "mad.lo" else high(a, b), c]
        total = values[0] + values[1]
        with_carry = (total + carry).astype(unsigned)
        return with_carry, (total < values[0]) | (with_carry < total)

    return function


def wide(a):
    """The same numbers in twice as many bits."""
    return a.astype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")


def high(a, b):
    """The upper half of a product of whole numbers. NumPy has none of 128 bits, but arrays of Python's own numbers."""
    grown = wide if a.dtype.itemsize < 8 else lambda numbers: numbers.astype(object)
    return np.array(grown(a) * grown(b) >> 8 * a.dtype.itemsize).astype(a.dtype)


def quotient(a, b):
    """a / b without its fraction; NumPy rounds down instead."""
    down = a // b
    return down + ((down * b != a) & (down < 0)).astype(a.dtype) if a.dtype.kind == "i" else down


def shift(function):
    """Shifting takes a count of 32 bits, whatever it shifts; past the end nothing is left, or the sign."""
    return lambda a, count: function(a, np.minimum(count, 8 * a.dtype.itemsize).astype(a.dtype))


def insert_bits(a, b, at, many):
    """b with its bits from `at` on, `many` of them, replaced by the lowest of a; those past the end are left out."""
    bits, at, many = 8 * a.dtype.itemsize, np.minimum(at & 255, 64), np.minimum(many & 255, 64)
    shifted = shift(operator.lshift)
    none = a.dtype.type(0)
    mask = shifted(np.where(many >= bits, ~none, shifted(none + a.dtype.type(1), many) - a.dtype.type(1)), at)
    return (shifted(a, at) & mask) | (b & ~mask)


def mask_of_bits(at, many):
    """uint32 with `many` bits set from bit `at` on, cut at the last one."""
    first, behind = (np.minimum(place, 32).astype(np.uint64) for place in (at, at.astype(np.uint64) + many))
    one = np.uint64(1)
    return ((one << behind) - (one << first)).astype(np.uint32)


def take_bits(a, at, many):
    """The `many` bits of a from `at` on; where a is signed, with the last of them, or a's own, before them."""
    bits, at, many = 8 * a.dtype.itemsize, at & 255, many & 255
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    mask = np.where(many >= bits, ~unsigned.type(0), shift(operator.lshift)(np.ones_like(a, unsigned), many) - 1)
    taken = (shift(operator.rshift)(a.view(unsigned), at) & mask).astype(unsigned)
    if a.dtype.kind == "i":
        last = np.minimum(at.astype(np.int64) + many - 1, bits - 1)
        sign = (shift(operator.rshift)(a.view(unsigned), np.maximum(last, 0)) & 1).astype(bool) & (many > 0)
        reach = np.maximum(np.minimum(many.astype(np.int64), bits - at.astype(np.int64)), 0)
        above = np.where(reach >= bits, 0, shift(operator.lshift)(~np.zeros_like(a, unsigned), reach))
        taken = np.where(sign, taken | above, taken).astype(unsigned)
    return taken.view(a.dtype)


def permuted(a, b, chosen):
    """`prmt`: four bytes among the eight of a and b, each by four bits, the last of which asks for its sign instead."""
    both, result = a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32), 0
    for place in range(4):
        one = (chosen >> np.uint32(4 * place)).astype(np.uint64)
        byte = both >> (one & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        byte = np.where(one & np.uint64(8), np.where(byte & np.uint64(128), 255, 0), byte).astype(np.uint32)
        result = result | byte << np.uint32(8 * place)
    return result


def looked_up(a, b, c, table):
    """`lop3`: any function of three bits; bit 4 * a + 2 * b + c of the table says what it is."""
    result = np.zeros_like(a | b | c)
    for case in range(8):
        one = (a if case & 4 else ~a) & (b if case & 2 else ~b) & (c if case & 1 else ~c)
        result |= np.where(table >> case & 1, one, 0).astype(result.dtype)
    return result


def funnel(left, clamps):
    """`shf`: two words in a row, shifted; what falls off one end of one comes in at the other."""

    def function(a, b, count):
        both = a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32)
        many = (np.minimum(count, 32) if clamps else count & 31).astype(np.uint64)
        return (both << many >> np.uint64(32) if left else both >> many).astype(np.uint32)

    return function


def low24(a):
    """The lower 24 bits as a number of the same type."""
    return a << a.dtype.type(8) >> a.dtype.type(8)


def dot(a, b, c):
    """`dp4a`: c plus the products of four bytes each; each of a and b holds four numbers of its sign."""
    pairs = ((value[..., None].view(f"{value.dtype.kind}1")).astype(np.int64) for value in map(np.atleast_1d, (a, b)))
    return (c + np.prod(np.broadcast_arrays(*pairs), axis=0).sum(-1)).astype(c.dtype)


def population(a):
    """How many bits are 1."""
    return sum((a >> a.dtype.type(n) & a.dtype.type(1)).astype(np.uint32) for n in range(8 * a.dtype.itemsize))


def leading_zeros(a):
    """How many bits from the top are 0."""
    bits = 8 * a.dtype.itemsize
    return sum((a >> a.dtype.type(n) == 0).astype(np.uint32) for n in range(bits))


# --------------------------------------------------------------------------------------- comparisons

COMPARE = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "lo": operator.lt,
    "ls": operator.le,
    "hi": operator.gt,
    "hs": operator.ge,
}


def comparison(name, kind):
    """A comparison of that name, for `setp`; for floats also those that are true where one is no number."""
    if kind in SMALL:
        small = comparison(name, "f64") if SMALL[kind] == 1 else None
        return small and (lambda a, b: small(exact(a, kind), exact(b, kind)))
    if kind[0] == "f":
        if name in ("num", "nan"):
            return lambda a, b: (np.isnan(a) | np.isnan(b)) == (name == "nan")
        if name.endswith("u") and name[:-1] in COMPARE:
            return lambda a, b: COMPARE[name[:-1]](a, b) | np.isnan(a) | np.isnan(b)
        if name == "ne":  # of the ordered ones, NumPy has only this one otherwise
            return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
    return COMPARE.get(name)


# --------------------------------------------------------------------------------------- conversions

ROUND = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
FLOATS = ("f16", "bf16", "f32", "f64")
CONVERTED = (*(kind for kind in TYPES if kind not in ("pred", "f16x2", "bf16x2")), "u8", "s8")


def conversion(name):
    """What `cvt` of that name does: (function, types it takes, type it gives); Nones for what is not known here."""
    *how, to, of = name[1:]
    saturates, way = "sat" in how, ".".join(word for word in how if word != "sat")
    function, takes, gives = None, (of,), to
    if to in ("f16x2", "bf16x2") and of == "f32":  # the first operand becomes the upper half
        takes = ("f32", "f32")
        if way in ("rn", "rz"):
            function = lambda a, b: rounded(np.stack(np.broadcast_arrays(b, a), -1), to, way)  # noqa: E731
    elif to == "tf32" and of == "f32":
        gives = "b32"
        if way in ("rna", "rn", "rz"):
            function = lambda a: rounded(a, "tf32", way)  # noqa: E731
    elif to in CONVERTED and of in CONVERTED:
        if to in FLOATS and of in FLOATS:
            widens = TYPES[to].itemsize >= TYPES[of].itemsize and of != to
            if way in ROUND and to == of:
                function = lambda a: rounded(ROUND[way](exact(a, of)), to)  # noqa: E731
            elif way in WAYS or (not way and (widens or to == of)):
                function = lambda a: rounded(exact(a, of), to, way or "rn")  # noqa: E731
        elif of in FLOATS and way in ROUND:
            function = lambda a: to_whole(ROUND[way](exact(a, of)), IN_MEMORY[to])  # noqa: E731
        elif to in ("f32", "f64") and of not in FLOATS and way == "rn":
            function = lambda a: a.astype(TYPES[to])  # noqa: E731
        elif to in FLOATS and of not in FLOATS and way in WAYS and IN_MEMORY[of].itemsize < 8:
            function = lambda a: rounded(a.astype(np.float64), to, way)  # noqa: E731
        elif to not in FLOATS and of not in FLOATS and not way:
            function = clipped(IN_MEMORY[to]) if saturates else lambda a: a.astype(IN_MEMORY[to])
            saturates = False
    if function and saturates and to in FLOATS:
        function = saturated(function) if to == "f32" else None
    return function, takes, gives


def saturated(function):
    """The same, brought into 0 to 1; what is no number becomes 0."""
    return lambda *values: np.fmax(np.fmin(function(*values), 1), 0).astype(np.float32)


def clipped(target):
    """Whole numbers brought into the range of a type."""
    limits = np.iinfo(target)

    def function(a):
        own = np.iinfo(a.dtype)
        return np.clip(a, max(own.min, limits.min), min(own.max, limits.max)).astype(target)

    return function


def flushed(function):
    """The same with numbers of float32 below the smallest normal one taken and given as 0: `.ftz`."""

    def flush(a):
        return np.where(np.abs(a) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), a), a)

    def result(*values):
        given = function(*(flush(value) if value.dtype == np.float32 else value for value in values))
        return flush(given) if given.dtype == np.float32 else given

    return result


def to_whole(a, target):
    """Whole floats as whole numbers: the nearest there is for those out of range, 0 for what is no number."""
    limits = np.iinfo(target)
    inside = (a >= float(limits.min)) & (a < float(limits.max) + (limits.bits < 64))
    result = np.where(inside, a, 0).astype(target)
    return np.where(inside, result, np.where(a > 0, limits.max, np.where(a < 0, limits.min, 0)).astype(target))


# ----------------------------------------------------------------------------------------- the table

ANY = {"add": operator.add, "sub": operator.sub, "abs": np.abs, "neg": operator.neg}
WHOLE = ANY | {
    "min": np.minimum,
    "max": np.maximum,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": operator.invert,
    "mul.lo": operator.mul,
    "mul.hi": high,
    "mul.wide": lambda a, b: wide(a) * wide(b),
    "mad.lo": lambda a, b, c: a * b + c,
    "mad.hi": lambda a, b, c: high(a, b) + c,
    "mad.wide": lambda a, b, c: wide(a) * wide(b) + c,
    "div": quotient,
    "rem": lambda a, b: a - quotient(a, b) * b,
    "shl": shift(operator.lshift),
    "shr": shift(operator.rshift),
    "bfi": insert_bits,
    "bfe": take_bits,
    "bmsk.clamp": mask_of_bits,
    "bmsk.wrap": lambda at, many: mask_of_bits(at & 31, many & 31),
    "prmt": permuted,
    "lop3": looked_up,
    "shf.l.wrap": funnel(True, False),
    "shf.r.wrap": funnel(False, False),
    "shf.l.clamp": funnel(True, True),
    "shf.r.clamp": funnel(False, True),
    "brev": lambda a: sum(
        (a >> a.dtype.type(n) & a.dtype.type(1)) << a.dtype.type(8 * a.dtype.itemsize - 1 - n)
        for n in range(8 * a.dtype.itemsize)
    ).astype(a.dtype),
    "popc": population,
    "clz": leading_zeros,
    "bfind": lambda a: np.uint32(8 * a.dtype.itemsize - 1) - leading_zeros(np.where(a < 0, ~a, a)),
    "bfind.shiftamt": lambda a: leading_zeros(found := np.where(a < 0, ~a, a)) | np.where(found == 0, ~np.uint32(0), 0),
    "sad": lambda a, b, c: c + (np.maximum(a, b) - np.minimum(a, b)).view(c.dtype),
    "mul24.lo": lambda a, b: low24(a) * low24(b),
    "mad24.lo": lambda a, b, c: low24(a) * low24(b) + c,
}
FLOAT = ANY | {
    "min": np.fmin,
    "max": np.fmax,
    "min.NaN": np.minimum,
    "max.NaN": np.maximum,
    "copysign": lambda a, b: np.copysign(b, a),
    "add.rn": operator.add,
    "sub.rn": operator.sub,
    "mul": operator.mul,
    "mul.rn": operator.mul,
    "div.rn": operator.truediv,
    "rcp.rn": lambda a: a.dtype.type(1) / a,
    "sqrt.rn": np.sqrt,
}
APPROXIMATE = {  # on float64; a GPU gives some last bits otherwise
    "ex2": np.exp2,
    "lg2": np.log2,
    "rcp": np.reciprocal,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "div": operator.truediv,
}
FLOAT |= {
    f"{short}.{how}": lambda *values, do=do: do(*(value.astype(np.float64) for value in values)).astype(values[0].dtype)
    for short, do in APPROXIMATE.items()
    for how in ("approx", "approx.ftz")
}
FLOAT["div.full"] = FLOAT["div.approx"]
OPERANDS = dict.fromkeys(("abs", "neg", "not", "rcp.rn", "sqrt.rn", "popc", "clz", "brev"), 1)  # two, where not said
OPERANDS |= {f"{short}.{how}": 1 for short in APPROXIMATE if short != "div" for how in ("approx", "approx.ftz")}
OPERANDS |= dict.fromkeys(("mad.lo", "mad.hi", "mad.wide", "mad24.lo"), 3) | {"bfind": 1, "bfind.shiftamt": 1}
SMALL_FLOAT = ANY | {  # on float64, rounded once: exact before, or to so many bits that nothing is rounded twice
    "add.rn": operator.add,
    "sub.rn": operator.sub,
    "mul": operator.mul,
    "mul.rn": operator.mul,
    "min": np.fmin,
    "max": np.fmax,
    "fma.rn": lambda a, b, c: to_odd(*two_sum(a * b, c)),
}
PREDICATE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert}


def unknown(instruction):
    """What to raise for an instruction that this machine does not do."""
    return PTXError(f"line {instruction.line} of the PTX has an instruction that is not known here: {instruction.text}")


def small(function, kind):
    """A function of float64 arrays, on numbers of that type of 16 bits, or on pairs of them."""
    return lambda *values: rounded(function(*(exact(value, kind) for value in np.broadcast_arrays(*values))), kind)


def operation(instruction):
    """(function, types of its operands, type of its result) of an arithmetic instruction.

    Raises PTXError, with the line, for one that is not known here.
    """
    name, ways = instruction.name, ()
    if "f32" in name and "approx" not in name:
        taken = {"ftz"} if name[0] == "cvt" else {"ftz", "sat"}  # a conversion knows its own `.sat`
        ways, name = taken & set(name), tuple(word for word in name if word not in taken)
    kind, short = name[-1], ".".join(name[:-1])
    function, of, to = None, None, kind
    if name[0] == "cvt":
        function, of, to = conversion(name)
    elif name[0] == "setp" and len(name) == 3 and kind in TYPES:
        function, of, to = comparison(name[1], kind), (kind, kind), "pred"
    elif name[0] == "setp" and len(name) == 4 and kind in TYPES and name[2] in PREDICATE and name[1] in COMPARE:
        test, combine = comparison(name[1], kind), PREDICATE[name[2]]
        function, of, to = (lambda a, b, c: combine(test(a, b), c)), (kind, kind, "pred"), "pred"
    elif name[0] == "dp4a" and {*name[1:]} <= {"u32", "s32"}:
        to = "s32" if "s32" in name else "u32"
        function, of = dot, (*name[1:], to)
    elif name[0] == "selp":
        function, of = (lambda a, b, chosen: np.where(chosen, a, b)), (kind, kind, "pred")
    elif kind in SMALL and short in SMALL_FLOAT:
        function, of = small(SMALL_FLOAT[short], kind), (kind,) * (3 if short == "fma.rn" else OPERANDS.get(short, 2))
    elif kind == "f32" and len(name) == 3 and name[1] in ("rz", "rm", "rp"):
        function = directed(name[0], name[1])
        of = (kind,) * {"fma": 3, "mad": 3, "rcp": 1, "sqrt": 1}.get(name[0], 2)
    elif short in ("fma.rn", "mad.rn") and kind in ("f32", "f64"):
        function, of = (fused32 if kind == "f32" else fused64), (kind,) * 3
    elif kind in TYPES:
        function = (PREDICATE if kind == "pred" else FLOAT if kind in ("f32", "f64") else WHOLE).get(short)
        of = (kind,) * OPERANDS.get(short, 2)
        if short in ("shl", "shr"):
            of = (kind, "u32")
        elif short in ("mul.wide", "mad.wide"):
            to = f"{kind[0]}{2 * int(kind[1:])}"
            of = (kind, kind, to)[: len(of)]
        elif short == "bfe":
            of = (kind, "u32", "u32")
        elif short.startswith("bmsk."):
            of, to = ("u32", "u32"), "u32"
        elif short == "prmt" or short.startswith("shf."):
            of = ("b32", "b32", "u32")
        elif short == "lop3":
            of = (kind, kind, kind, "u32")
        elif short == "bfi":
            of = (kind, kind, "u32", "u32")
        elif short in ("popc", "clz", "bfind", "bfind.shiftamt"):
            to = "u32"
        elif short == "sad":
            of = (kind, kind, kind)
    if function and "ftz" in ways:
        function = flushed(function)
    if function and "sat" in ways:
        function = saturated(function) if kind == "f32" else None
    if function is None or len(of) != len(instruction.operands) - 1:
        raise unknown(instruction)
    return function, of, to
