"""What the arithmetic instructions of PTX do, on NumPy arrays: one element a thread.

`operation(instruction)` gives for `add.s64` and its like a function of arrays of the instruction's type. Source:
NVIDIA's PTX ISA, "Instruction Set". What that leaves open, and the few things that it has otherwise, are as an H200
gave them: `tests/test_as_an_h200.py`.
"""

import operator

import numpy as np

from .conversions import clipped, conversion
from .formats import SMALL, canonical, canonical32, exact, rounded
from .reader import PTXError
from .rounding import TINY, directed, directed64, fused32, fused64, to_odd, two_sum

TYPES = {
    f"{letter}{bits}": np.dtype(f"{kind}{bits // 8}")
    for letter, kind in (("b", "u"), ("u", "u"), ("s", "i"))
    for bits in (16, 32, 64)
}
TYPES |= {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "pred": np.dtype(bool)}
TYPES |= {"f16": np.dtype(np.float16), "bf16": np.dtype("u2"), "f16x2": np.dtype("u4"), "bf16x2": np.dtype("u4")}
IN_MEMORY = TYPES | {"b8": np.dtype(np.uint8), "u8": np.dtype(np.uint8), "s8": np.dtype(np.int8)}
del IN_MEMORY["pred"]


# --------------------------------------------------------------------------------------- integers


def carrying(short):
    """`add`, `sub`, `mad.lo` or `mad.hi` of integers with a carry from before: a function of both results.

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


WIDE = {TYPES[f"{kind}{bits}"]: TYPES[f"{kind}{2 * bits}"] for kind in "us" for bits in (16, 32)}  # twice as many bits


def high(a, b):
    """The upper half of a product of integers. NumPy has none of 128 bits, but arrays of Python's own numbers."""
    grown = np.multiply(a, b, dtype=WIDE.get(a.dtype, object))
    return np.array(grown >> 8 * a.dtype.itemsize).astype(a.dtype)


def quotient(a, b):
    """a / b without its fraction, where NumPy rounds down; by zero, all bits are 1."""
    down = a // b
    if a.dtype.kind == "i":
        down = down + ((down * b != a) & (down < 0)).astype(a.dtype)
    return by_zero(down, b)


def by_zero(result, b):
    """The same, with all bits 1 where something was divided by zero."""
    return result if np.count_nonzero(b) == np.size(b) else np.where(b == 0, ~result.dtype.type(0), result)


def shift(function):
    """Shifting takes a count of 32 bits, whatever it shifts; past the end nothing is left, or the sign."""
    return lambda a, count: function(a, np.minimum(count, 8 * a.dtype.itemsize).astype(a.dtype))


def places_of(count, a):
    """`at` and `many` of `bfi` and `bfe`: of 32 bits their last 8 count; of 64 bits all, whatever the manual says."""
    return count & 255 if a.dtype.itemsize == 4 else np.minimum(count, 255)


def insert_bits(a, b, at, many):
    """b with its bits from `at` on, `many` of them, replaced by the lowest of a; those past the end are left out."""
    bits, at, many = 8 * a.dtype.itemsize, *(np.minimum(places_of(value, a), 64) for value in (at, many))
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
    bits, at, many = 8 * a.dtype.itemsize, places_of(at, a), places_of(many, a)
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


def middle24(a, b):
    """The upper 32 of the 48 bits of a product of the lower 24 bits."""
    return (low24(a).astype(np.int64) * low24(b).astype(np.int64) >> 16).astype(a.dtype)


def extended(a, many):
    """The lower `many` bits, 32 at most, with the sign that they end with where the type has one."""
    many = np.minimum(many, 32).astype(np.int64)
    up = (a.view(np.uint32).astype(np.uint64) << (32 - many).astype(np.uint64)).astype(np.uint32).view(a.dtype)
    return np.where(many == 0, 0, up.astype(np.int64) >> np.where(many == 0, 0, 32 - many)).astype(a.dtype)


def nth_bit(mask, base, offset):
    """`fns`: the place of a mask's n-th bit from a place on, up or down; ~0 for none, 0 for the lowest offset."""

    def one(mask, base, offset):
        if offset == -(1 << 31):
            return 0
        step, left = (-1 if offset < 0 else 1), abs(offset) if offset else 1
        places = range(base, 32 if step > 0 else -1, step) if offset else [base]
        for place in places if base < 32 else ():
            left -= mask >> place & 1
            if not left:
                return place
        return 0xFFFFFFFF

    return np.vectorize(lambda *values: one(*map(int, values)), otypes=[np.uint32])(mask, base, offset)


def dot_halves(which):
    """`dp2a`: c plus the products of two numbers of 16 bits with the lower or upper two bytes."""

    def function(a, b, c):
        a, b, c = map(np.ascontiguousarray, np.broadcast_arrays(a, b, c))
        words = a[..., None].view(f"{a.dtype.kind}2").astype(np.int64)
        octets = b[..., None].view(f"{b.dtype.kind}1").astype(np.int64)
        octets = octets[..., :2] if which == "lo" else octets[..., 2:]
        return (c + (words * octets).sum(-1)).astype(c.dtype)

    return function


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


# --------------------------------------------------------------------------------------- floats


def least(a, b):
    """The smaller of two floats, -0 before +0; of a number and what is none, the number."""
    return chosen(np.fmin(a, b), a, b, np.bitwise_or)


def greatest(a, b):
    """The larger one, likewise."""
    return chosen(np.fmax(a, b), a, b, np.bitwise_and)


def chosen(result, a, b, sign):
    """The same, with the sign of zeros, and the one pattern of bits for what is no number."""
    if np.count_nonzero(result) == np.size(result) == np.count_nonzero(result == result):
        return result
    bits = f"u{result.dtype.itemsize}"
    both = sign(*(np.ascontiguousarray(value).view(bits) for value in (a, b))).view(result.dtype)
    result = np.where((a == b) & (result == 0), both.reshape(np.shape(a == b)), result)
    return np.where(np.isnan(result), canonical(f"f{8 * result.dtype.itemsize}").astype(result.dtype), result)


def or_nothing(function):
    """The same, but no number where any operand is none: `.NaN`."""
    return lambda *values: np.where(
        np.logical_or.reduce([np.isnan(value) for value in values]),
        canonical("f32").astype(values[0].dtype) if values[0].dtype == np.float32 else values[0].dtype.type(np.nan),
        function(*values),
    )


def xor_sign(function):
    """The same of what is left without signs, with the product of the signs: `.xorsign.abs`."""
    return lambda a, b: np.copysign(
        function(np.abs(a), np.abs(b)), np.where(np.signbit(a) ^ np.signbit(b), -1.0, 1.0).astype(a.dtype)
    )


def saturated(function):
    """The same, brought into 0 to 1; what is no number becomes 0."""

    def result(*values):
        found = function(*values)
        return np.where(found > 0, np.minimum(found, found.dtype.type(1)), found.dtype.type(0))

    return result


def not_below_zero(function):
    """The same, with 0 for what is below: `.relu`."""

    def result(*values):
        found = function(*values)
        return np.where((found > 0) | (found != found), found, found.dtype.type(0))

    return result


def flush(a):
    """float32 with those below the smallest normal one as 0."""
    small = np.abs(a) < TINY
    return np.where(small, np.copysign(np.float32(0), a), a) if np.count_nonzero(small) else a


def flushed(function, takes=True):
    """The same with numbers of float32 below the smallest normal one given, and unless `takes` is false taken, as 0."""

    def result(*values):
        if takes:
            values = [flush(value) if value.dtype == np.float32 else value for value in values]
        given = function(*values)
        if given.dtype != np.float32 or np.count_nonzero(np.abs(given) >= TINY) == np.size(given):
            return given
        return flush(canonical32(given))

    return result


# --------------------------------------------------------------------------------------- comparisons

COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


def comparison(name, kind):
    """A comparison of that name, for `setp`; for floats also those that are true where one is no number."""
    if kind in SMALL:
        small = comparison(name, "f64")
        return small and (lambda a, b: small(exact(a, kind), exact(b, kind)))
    if kind[0] == "f":
        if name in ("num", "nan"):
            return lambda a, b: (np.isnan(a) | np.isnan(b)) == (name == "nan")
        if name.endswith("u") and name[:-1] in COMPARE:
            return lambda a, b: COMPARE[name[:-1]](a, b) | np.isnan(a) | np.isnan(b)
        if name == "ne":  # of the ordered ones, NumPy has only this one otherwise
            return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
    return COMPARE.get(name)


# ----------------------------------------------------------------------------------------- the table

ANY = {"add": np.add, "sub": np.subtract, "abs": np.abs, "neg": np.negative}
WHOLE = ANY | {
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "mul.lo": np.multiply,
    "mul.hi": high,
    "mul.wide": lambda a, b: np.multiply(a, b, dtype=WIDE[a.dtype]),
    "mad.lo": lambda a, b, c: a * b + c,
    "mad.hi": lambda a, b, c: high(a, b) + c,
    "mad.wide": lambda a, b, c: np.multiply(a, b, dtype=WIDE[a.dtype]) + c,
    "div": quotient,
    "rem": lambda a, b: by_zero(np.fmod(a, b), b),
    "shl": shift(operator.lshift),
    "shr": shift(operator.rshift),
    "bfi": insert_bits,
    "bfe": take_bits,
    "bmsk.clamp": mask_of_bits,
    "bmsk.wrap": lambda at, many: mask_of_bits(at & 31, many & 31),
    "lop3": looked_up,
    "prmt": permuted,
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
    "mul24.hi": middle24,
    "mad24.hi": lambda a, b, c: middle24(a, b) + c,
    "cnot": lambda a: (a == 0).astype(a.dtype),
    "fns": nth_bit,
    "szext.clamp": extended,
    "szext.wrap": lambda a, many: extended(a, many & np.uint32(31)),
    "add.sat": lambda a, b: clipped(a.dtype)(a.astype(np.int64) + b),
    "sub.sat": lambda a, b: clipped(a.dtype)(a.astype(np.int64) - b),
    "mad.hi.sat": lambda a, b, c: clipped(a.dtype)(high(a, b).astype(np.int64) + c),
}
FLOAT = {  # of all floats, on arrays of their type; of 16 bits on float64, rounded once: exact before
    "abs": np.abs,
    "neg": np.negative,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": least,
    "max": greatest,
    "copysign": lambda a, b: np.copysign(b, a),
    "div.rn": np.true_divide,
    "rcp.rn": lambda a: a.dtype.type(1) / a,
    "sqrt.rn": np.sqrt,
}
FLOAT |= {f"{short}.rn": FLOAT[short] for short in ("add", "sub", "mul")}
FLOAT |= {f"{short}.NaN": or_nothing(FLOAT[short]) for short in ("min", "max")}
FLOAT |= {f"{short}.xorsign.abs": xor_sign(FLOAT[short]) for short in ("min", "max", "min.NaN", "max.NaN")}


def turns(a):
    """Angles less whole turns, as `sin.approx` and `cos.approx` take them: how many there are is cut to float32."""
    many = np.asarray(a * float(np.float32(0.5 / np.pi)))
    many = (many.view(np.int64) & ~0x1FFFFFFF).view(np.float64)
    return np.copysign(many - np.trunc(many), many) * (2 * np.pi)


def upper_words(function):
    """The same of float64 cut to their upper words, with such a result and `.ftz`: `rcp` and `rsqrt.approx.ftz.f64`."""

    def cut(a):
        words = np.ascontiguousarray(a).view(np.uint64) & np.uint64(0xFFFFFFFF00000000)
        return np.where(words << np.uint64(1) < 1 << 53, words & np.uint64(1 << 63), words).view(np.float64)

    return lambda a: cut(function(cut(a)))


QUIET = {  # of float64, by arithmetic: what is no number keeps its sign, and becomes a quiet one
    "abs": lambda a: np.abs(a) * 1.0,
    "neg": lambda a: -0.0 - a,
}
APPROXIMATE = {  # on float64; a GPU gives some last bits otherwise
    "ex2": np.exp2,
    "lg2": np.log2,
    "rcp": np.reciprocal,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sqrt": np.sqrt,
    "sin": lambda a: np.sin(turns(a)),
    "cos": lambda a: np.cos(turns(a)),
    "tanh": np.tanh,
    "div": operator.truediv,
}
FLOAT |= {
    f"{short}.approx": lambda *values, do=do: do(*[value.astype(np.float64) for value in values]).astype(np.float32)
    for short, do in APPROXIMATE.items()
}
FLOAT["div.full"] = FLOAT["div.approx"]
FLOAT["div.approx"] = lambda a, b: np.where(np.abs(b) > 2.0**126, a * np.copysign(b.dtype.type(0), b), a / b)
FLOAT |= {f"{short}.approx.ftz": upper_words(APPROXIMATE[short]) for short in ("rcp", "rsqrt")}  # of float64 alone
FLOAT["ex2.approx.ftz"] = FLOAT["ex2.approx"]  # of bfloat16
OF_HALVES = ("abs", "neg", "add", "sub", "mul", "min", "max", "ex2.approx", "ex2.approx.ftz", "tanh.approx")
PREDICATE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}
TESTS = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= np.finfo(a.dtype).tiny) | (a == 0)),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
}
PERMUTED = {  # modes of `prmt`: which four of the eight bytes, by the last two bits of the third operand
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
BY_PARTS = {  # of two registers as two or four integers each
    "vadd": operator.add,
    "vsub": operator.sub,
    "vavrg": lambda a, b: np.where(a + b >= 0, a + b + 1 >> 1, a + b >> 1),
    "vabsdiff": lambda a, b: np.abs(a - b),
    "vmin": np.minimum,
    "vmax": np.maximum,
}
ONE = {"abs", "neg", "not", "cnot", "popc", "clz", "brev", "bfind", *APPROXIMATE} - {"div"}
SETTLED = {"abs", "neg", "div", *APPROXIMATE}  # sums and products are not: each would take a quarter longer
THREE = ("mad", "mad24", "fma", "sad")
TAKES = {  # types of operands that are not all of the instruction's own, which None stands for
    "bfe": (None, "u32", "u32"),
    "bfi": (None, None, "u32", "u32"),
    "fns": ("b32", "b32", "s32"),
    "lop3": (None, None, None, "u32"),
}
TAKES |= dict.fromkeys(("shl", "shr", "szext.clamp", "szext.wrap"), (None, "u32"))
TAKES |= dict.fromkeys(("bmsk.clamp", "bmsk.wrap"), ("u32", "u32"))
TAKES |= dict.fromkeys(("prmt", "shf.l.wrap", "shf.r.wrap", "shf.l.clamp", "shf.r.clamp"), ("b32", "b32", "u32"))


def unknown(instruction):
    """What to raise for an instruction that this machine does not do."""
    return PTXError(f"line {instruction.line} of the PTX has an instruction that is not known here: {instruction.text}")


def small(function, kind):
    """A function of float64 arrays, on numbers of that type of 16 bits, or on pairs of them."""
    return lambda *values: rounded(function(*(exact(value, kind) for value in np.broadcast_arrays(*values))), kind)


def cut_small(function, kind):
    """The same of approximations: in float32, then cut to zero; beyond the range of float16 infinity."""

    def result(a):
        found = function(exact(a, kind).astype(np.float32)).astype(np.float64)
        return rounded(np.where(found >= 65536, np.inf, found) if kind.startswith("f16") else found, kind, "rz")

    return result


def settled(function):
    """The same with the one pattern of bits that float32 arithmetic of a GPU gives for what is no number."""

    def result(*values):
        found = function(*values)
        return canonical32(found) if np.count_nonzero(found != found) else found

    return result


def flushed_halves(function):
    """The same of float64 that stand for float16, with those below the smallest normal one as 0."""
    flush = lambda a: np.where(np.abs(a) < 2.0**-14, np.copysign(0.0, a), a)  # noqa: E731
    return lambda *values: flush(rounded(function(*map(flush, values)), "f16").astype(np.float64))


def parts_of(function, many, kinds, sums, saturates):
    """An instruction on two or four parts of each register: their results side by side, or with `sums` added up."""
    to, first, second = (np.dtype(("u" if kind[0] == "u" else "i") + str(4 // many)) for kind in kinds)
    limits = np.iinfo(to)

    def result(a, b, c):
        a, b, c = map(np.ascontiguousarray, np.broadcast_arrays(a, b, c))
        split = [value[..., None].view(dtype).astype(np.int64) for value, dtype in ((a, first), (b, second))]
        found = function(*split)
        if sums:
            return (c + found.sum(-1)).astype(np.uint32)
        found = np.clip(found, limits.min, limits.max) if saturates else found
        return np.ascontiguousarray(found.astype(to)).view(np.uint32)[..., 0]

    return result


def compared(name, both=False):
    """`setp` and `set`: (function of arrays, types it takes); None for what is not known here.

    With `both` it gives two results: that of the comparison and of its contrary, or of a pair's two halves.
    """
    words = [word for word in name[1:] if word != "ftz"]
    kind, combine = words[-1], PREDICATE.get(words[1], lambda holds: holds)
    test = comparison(words[0], kind) if kind in TYPES else None
    if test is None or len(words) > 3 or (len(words) == 3 and words[1] not in ("and", "or", "xor")):
        return None, ()
    if "ftz" in name and kind == "f32":
        test = flushed(test)
    if len(words) == 2 and not both and SMALL.get(kind) != 2:
        return test, (kind, kind)
    third = ("pred",) * (len(words) == 3)

    def function(a, b, *c):
        holds = test(a, b)
        if not both:
            return combine(holds, *(one[..., None] if SMALL.get(kind) == 2 else one for one in c))
        pair = (holds[..., 0], holds[..., 1]) if SMALL.get(kind) == 2 else (holds, ~holds)
        return tuple(combine(one, *c) for one in pair)

    return function, (kind, kind, *third)


def truth(kind, of):
    """`set`: what stands for true, as a function of it: 1 as a float, all bits as an integer."""
    if kind in SMALL:
        return lambda holds: rounded(np.asarray(holds, np.float64), kind)
    if kind == "f32":
        return lambda holds: np.asarray(holds, np.float32)
    if SMALL.get(of) == 2:  # a mask of 16 bits for each half
        return lambda holds: np.ascontiguousarray(np.where(holds, np.uint16(0xFFFF), np.uint16(0))).view(np.uint32)[
            ..., 0
        ]
    return lambda holds: np.where(holds, ~TYPES[kind].type(0), TYPES[kind].type(0))


def operation(instruction):
    """(function, types of its operands, type of its result) of an arithmetic instruction.

    Raises PTXError, with the line, for one that is not known here.
    """
    name, kind = instruction.name, instruction.name[-1]
    function, of, to = None, None, kind
    ways = set()
    wrong = {"sat", "NaN"} & {*name} or ("ftz" in name) != ("approx" in name)  # of float64
    if kind == "f64" and name[0] not in ("cvt", "set") and wrong:
        raise unknown(instruction)
    if kind in ("f16", "bf16", "f16x2", "bf16x2", "f32", "f64") or name[0] == "cvt":
        ways = {"ftz", "sat", "relu"} & set(name) if name[0] != "cvt" else {"ftz"} & set(name)
        if "approx" in name and (kind != "f32" or name[0] == "tanh"):
            ways -= {"ftz"}
        name = tuple(word for word in name if word not in ways)
    short = ".".join(name[:-1])
    if name[0] == "cvt":
        function, of, to = conversion(name)
    elif name[0] == "setp":
        both = "|" in instruction.operands[0]
        function, of = compared(instruction.name, both)
        to, ways = "pred", set()
        if SMALL.get(kind) == 2 and not both:
            function = None
    elif name[0] == "set" and len(name) >= 4:
        test, of = compared((*instruction.name[:-2], kind))
        to, ways = name[-2], set()
        if test and to in TYPES:
            says = truth(to, kind)
            function = lambda *values: says(test(*values))  # noqa: E731
    elif name[0] == "testp" and name[1] in TESTS and kind in ("f32", "f64"):
        function, of, to = TESTS[name[1]], (kind,), "pred"
    elif name[0] in ("dp4a", "dp2a") and {*name[-2:]} <= {"u32", "s32"}:
        to = "s32" if "s32" in name else "u32"
        function, of = (dot if name[0] == "dp4a" else dot_halves(name[1])), (*name[-2:], to)
    elif name[:2] == ("prmt", "b32") and len(name) == 3 and kind in PERMUTED:
        modes = np.array(PERMUTED[kind], np.uint32)
        function, of, to = (lambda a, b, c: permuted(a, b, modes[c & 3])), ("b32", "b32", "u32"), "b32"
    elif name[0] == "slct" and len(name) == 3:
        function, of, to = (lambda a, b, c: np.where(c >= 0, a, b)), (name[1], name[1], kind), name[1]
        ways = ways - {"ftz"}
    elif name[0] == "selp":
        function, of = (lambda a, b, chosen: np.where(chosen, a, b)), (kind, kind, "pred")
    elif (
        name[0][:-1] in BY_PARTS
        and name[0][-1] in "24"
        and len([w for w in name[1:] if w[0] in "us" and w[1:] == "32"]) == 3
    ):
        kinds = [word for word in name[1:] if word in ("u32", "s32")]
        rest = {*name[1:]} - {*kinds}
        if rest <= {"add"} or rest <= {"sat"}:
            function = parts_of(BY_PARTS[name[0][:-1]], int(name[0][-1]), kinds, "add" in rest, "sat" in rest)
            of, to = ("b32", "b32", "u32"), "b32"
    elif kind in ("u16x2", "s16x2") and name[0] in ("add", "min", "max") and {*name[1:-1]} <= {"relu", "sat"}:
        pairs = parts_of({"add": operator.add, "min": np.minimum, "max": np.maximum}[name[0]], 2, [f"{kind[0]}32"] * 3,
                         False, "sat" in name)  # fmt: skip
        positive = lambda a: parts_of(np.maximum, 2, ["s32"] * 3, False, False)(a, np.uint32(0), np.uint32(0))  # noqa: E731
        relu = "relu" in name
        function = lambda a, b: positive(pairs(a, b, np.uint32(0))) if relu else pairs(a, b, np.uint32(0))  # noqa: E731
        of, to = ("b32", "b32"), "b32"
    elif kind == "s32" and name[0] in ("min", "max") and name[1:-1] == ("relu",):
        function, of = not_below_zero(WHOLE[name[0]]), (kind, kind)
    elif kind in SMALL and (name[0] == "fma" or ".".join(word for word in name[:-1] if word != "rn") in OF_HALVES
                            or short in ("min.NaN", "max.NaN", "min.xorsign.abs", "max.xorsign.abs",
                                         "min.NaN.xorsign.abs", "max.NaN.xorsign.abs")):  # fmt: skip
        plain = ".".join(word for word in name[:-1] if word != "rn")
        function = FLOAT[plain] if name[0] != "fma" else (lambda a, b, c: to_odd(*two_sum(a * b, c)))
        if name[0] == "fma" and short != "fma.rn":
            function = None
        of = (kind,) * (3 if name[0] == "fma" else 1 if name[0] in ONE else 2)
        if function and "ftz" in ways:
            function = flushed_halves(function) if kind.startswith("f16") else None
        if function and "sat" in ways:
            function = saturated(function)
        if function and "relu" in ways:
            function = not_below_zero(function)
        function, ways = function and (cut_small if "approx" in name else small)(function, kind), set()
    elif kind in ("f32", "f64") and len(name) == 3 and name[1] in ("rz", "rm", "rp"):
        function = (directed if kind == "f32" else directed64)(name[0], name[1])
        of = (kind,) * (3 if name[0] in THREE else 1 if name[0] in ONE else 2)
    elif short in ("fma.rn", "mad.rn") and kind in ("f32", "f64"):
        function, of = (fused32 if kind == "f32" else fused64), (kind,) * 3
    elif kind in TYPES:
        function = (PREDICATE if kind == "pred" else FLOAT if kind in ("f32", "f64") else WHOLE).get(short)
        if kind == "f64":
            function = QUIET.get(short, function)
        if "sat" in name and kind != "s32":
            function = None
        of = (kind,) * (3 if name[0] in THREE else 1 if name[0] in ONE else 2)
        if short in ("mul.wide", "mad.wide"):
            to = f"{kind[0]}{2 * int(kind[1:])}"
            of = (kind, kind, to)[: len(of)]
        elif short in TAKES:
            of = tuple(one or kind for one in TAKES[short])
        if short in ("popc", "clz", "bfind", "bfind.shiftamt"):
            to = "u32"
    if function and "ftz" in ways:
        function = flushed(function, takes=name[0] != "ex2")  # of them it makes 1 anyway
    elif function and kind == "f32" == to and name[0] in SETTLED:
        function = settled(function)
    if function and "sat" in ways:
        function = saturated(function)
    if function and "relu" in ways:
        function = not_below_zero(function) if kind == "f32" and name[0] == "fma" else None
    if function is None or len(of) != len(instruction.operands) - 1:
        raise unknown(instruction)
    return function, of, to
