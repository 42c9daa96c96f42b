"""What the arithmetic instructions of PTX do, on NumPy arrays: one element a thread.

`operation(instruction)` gives for `add.s64` and its like a function of arrays of the instruction's type. What PTX
leaves open, such as a whole number divided by zero, is as NumPy has it. Source: NVIDIA's PTX ISA, "Instruction Set".
"""

import operator

import numpy as np

from .reader import PTXError

TYPES = {
    f"{letter}{bits}": np.dtype(f"{kind}{bits // 8}")
    for letter, kind in (("b", "u"), ("u", "u"), ("s", "i"))
    for bits in (16, 32, 64)
}
TYPES |= {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "pred": np.dtype(bool)}
IN_MEMORY = TYPES | {"b8": np.dtype(np.uint8), "u8": np.dtype(np.uint8), "s8": np.dtype(np.int8)}
del IN_MEMORY["pred"]


# ------------------------------------------------------------------------- multiply-add, rounded once


def fused32(a, b, c):
    """a * b + c, rounded once; arrays of float32.

    The product is exact in float64. Its sum with c is first "rounded to odd": of the two float64 around the exact
    sum, that whose last bit is 1. Such a sum lies on no border between two float32, so that rounding it once more is
    right. Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Transactions on Computers
    57 (2008).
    """
    return to_odd(*two_sum(np.multiply(a, b, dtype=np.float64), c)).astype(np.float32)


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
    if kind[0] == "f":
        if name in ("num", "nan"):
            return lambda a, b: (np.isnan(a) | np.isnan(b)) == (name == "nan")
        if name.endswith("u") and name[:-1] in COMPARE:
            return lambda a, b: COMPARE[name[:-1]](a, b) | np.isnan(a) | np.isnan(b)
        if name == "ne":  # of the ordered ones, NumPy has only this one otherwise
            return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
    return COMPARE.get(name)


# --------------------------------------------------------------------------------------- conversions

ROUND = {"rn": None, "rz": np.trunc, "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def conversion(name):
    """What `cvt` of that name does; None for a way of rounding that is not known here."""
    *how, to, of = name[1:]
    if to not in TYPES or of not in TYPES or len(how) > 1 or (how and how[0] not in ROUND):
        return None
    to_float, of_float = to[0] == "f", of[0] == "f"
    target, way = TYPES[to], how[0] if how else None
    if of_float and to_float:
        if way in (None, "rn"):
            return lambda a: a.astype(target)
        return (lambda a: ROUND[way](a).astype(target)) if way in ("rni", "rzi", "rmi", "rpi") and to == of else None
    if of_float:
        return (lambda a: to_whole(ROUND[way](a), target)) if way in ("rni", "rzi", "rmi", "rpi") else None
    return (lambda a: a.astype(target)) if not to_float or way == "rn" else None


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
    "popc": population,
    "clz": leading_zeros,
}
FLOAT = ANY | {
    "min": np.fmin,
    "max": np.fmax,
    "add.rn": operator.add,
    "sub.rn": operator.sub,
    "mul": operator.mul,
    "mul.rn": operator.mul,
    "div.rn": operator.truediv,
    "rcp.rn": lambda a: a.dtype.type(1) / a,
    "sqrt.rn": np.sqrt,
}
OPERANDS = dict.fromkeys(("abs", "neg", "not", "rcp.rn", "sqrt.rn", "popc", "clz"), 1)  # two, where it is not said
OPERANDS |= dict.fromkeys(("mad.lo", "mad.hi", "mad.wide"), 3)
PREDICATE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert}


def unknown(instruction):
    """What to raise for an instruction that this machine does not do."""
    return PTXError(f"line {instruction.line} of the PTX has an instruction that is not known here: {instruction.text}")


def operation(instruction):
    """(function, types of its operands, type of its result) of an arithmetic instruction.

    Raises PTXError, with the line, for one that is not known here.
    """
    name = instruction.name
    kind, short = name[-1], ".".join(name[:-1])
    function, of, to = None, None, kind
    if name[0] == "cvt":
        function, of, to = conversion(name), (kind,), name[-2]
    elif name[0] == "setp" and len(name) == 3 and kind in TYPES:
        function, of, to = comparison(name[1], kind), (kind, kind), "pred"
    elif name[0] == "setp" and len(name) == 4 and kind in TYPES and name[2] in PREDICATE and name[1] in COMPARE:
        test, combine = comparison(name[1], kind), PREDICATE[name[2]]
        function, of, to = (lambda a, b, c: combine(test(a, b), c)), (kind, kind, "pred"), "pred"
    elif name[0] == "selp":
        function, of = (lambda a, b, chosen: np.where(chosen, a, b)), (kind, kind, "pred")
    elif short in ("fma.rn", "mad.rn") and kind in ("f32", "f64"):
        function, of = (fused32 if kind == "f32" else fused64), (kind,) * 3
    elif kind in TYPES:
        function = (PREDICATE if kind == "pred" else FLOAT if kind[0] == "f" else WHOLE).get(short)
        of = (kind,) * OPERANDS.get(short, 2)
        if short in ("shl", "shr"):
            of = (kind, "u32")
        elif short in ("mul.wide", "mad.wide"):
            to = f"{kind[0]}{2 * int(kind[1:])}"
            of = (kind, kind, to)[: len(of)]
        elif short == "bfi":
            of = (kind, kind, "u32", "u32")
        elif short in ("popc", "clz"):
            to = "u32"
    if function is None or len(of) != len(instruction.operands) - 1:
        raise unknown(instruction)
    return function, of, to
