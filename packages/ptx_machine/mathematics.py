"""The functions of NVIDIA's library for mathematics, libdevice, where a text only declares them.

Numba calls them by names such as `__nv_expf`, and NVIDIA's compiler then brings their code. LLVM's does not. Here each
is a function of NumPy or of Python's `math`: on float64, and of float32 rounded once at the end; NVIDIA's own differ
in last bits. What is an instruction of PTX, too, is done as that is. Source: NVIDIA, "Libdevice User's Guide".
"""

import functools
import math

import numpy as np

from .arithmetic import TYPES, operation, population
from .reader import Instruction


def one_by_one(function, kind=np.float64):
    """A function of arrays made of one of Python's `math`; NaN where that has no result, infinity beyond float64."""

    def of_numbers(*values):
        try:
            return function(*values)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    every = np.vectorize(of_numbers, otypes=[kind])
    return lambda *values: every(*values)


def away(a):
    """The nearest integer, halves away from zero."""
    whole = np.trunc(a)
    return whole + np.copysign(np.abs(a - whole) >= 0.5, a)


def gamma(x):
    """Of 0 infinity with its sign, of negative integers NaN."""
    if x == 0:
        return math.copysign(math.inf, x)
    return math.nan if x == -math.inf else math.gamma(x)


def log_gamma(x):
    """Infinity at 0 and negative integers."""
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else math.lgamma(x)


def quotient_of(x, y):
    """(remainder, three last bits of the quotient, with its sign), as `remquo`."""
    if not (math.isfinite(x) and y) or math.isnan(y):
        return math.nan, 0
    rest = math.remainder(x, y)
    if math.isinf(y):
        return x, 0
    many = round((abs(math.fmod(x, 8 * y)) - math.copysign(rest, rest * math.copysign(1, x))) / abs(y)) & 7
    return rest, int(math.copysign(many, x) * math.copysign(1, y))


remquo = np.vectorize(quotient_of, otypes=[np.float64, np.int32])  # as the C function, of arrays


def binary_exponent(a):
    """As `ilogb`: INT_MIN for 0 and NaN, INT_MAX for infinity."""
    exponent = (np.frexp(a)[1] - 1).astype(np.int32)
    limits = np.iinfo(np.int32)
    return np.where(np.isinf(a), limits.max, np.where((a == 0) | np.isnan(a), limits.min, exponent)).astype(np.int32)


def turned(function):
    """sin, cos of a times pi, exact at multiples of a half."""

    def result(a):
        quarter = np.rint(2 * a)
        rest = (a - quarter / 2) * np.pi
        sine, cosine, turn = np.sin(rest), np.cos(rest), np.mod(quarter, 4)
        choices = {"sin": (sine, cosine, -sine, -cosine), "cos": (cosine, -sine, -cosine, sine)}[function]
        value = np.select([turn == n for n in range(4)], choices, np.nan)
        zero = np.copysign(0.0, a) if function == "sin" else 0.0
        return np.where(value == 0, zero, value)

    return result


sin_pi, cos_pi = turned("sin"), turned("cos")
FLOATS = {  # of one float: as float64
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "cospi": cos_pi,
    "erf": one_by_one(math.erf), "erfc": one_by_one(math.erfc), "exp": np.exp,
    "exp10": lambda a: np.float_power(10.0, a), "exp2": np.exp2, "expm1": np.expm1, "fabs": np.abs,
    "floor": np.floor, "lgamma": one_by_one(log_gamma), "log": np.log, "log10": np.log10, "log1p": np.log1p,
    "log2": np.log2,
    "logb": lambda a: np.where(np.isfinite(a), np.where(a == 0, -np.inf, np.frexp(a)[1] - 1.0), np.abs(a)),
    "nearbyint": np.rint, "normcdf": one_by_one(lambda x: math.erfc(-x / math.sqrt(2)) / 2),
    "rcbrt": lambda a: 1 / np.cbrt(a),
    "rint": np.rint, "round": away, "rsqrt": lambda a: 1 / np.sqrt(a), "sin": np.sin, "sinh": np.sinh,
    "sinpi": sin_pi, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh, "tgamma": one_by_one(gamma),
    "trunc": np.trunc,
}  # fmt: skip
PAIRS = {  # of two
    "atan2": np.arctan2, "copysign": np.copysign, "fdim": lambda a, b: np.where(a <= b, 0.0, a - b),
    "fmod": np.fmod, "hypot": np.hypot, "pow": np.power,
    "remainder": one_by_one(math.remainder),
}  # fmt: skip
FAST = ("exp", "exp10", "log10", "log2", "log", "tan")  # __nv_fast_cosf and so on
WITH_WHOLE = {  # of a float and an int, in this order
    "ldexp": np.ldexp, "scalbn": np.ldexp, "powi": lambda a, n: np.power(a, n.astype(np.float64)),
}  # fmt: skip
STORED = {  # what they give, last where pointers say
    "frexp": (("{}", "s32"), np.frexp),
    "modf": (("{}", "{}"), lambda a: (np.copysign(np.where(np.isinf(a), 0, a - np.trunc(a)), a), np.trunc(a))),
    "sincos": (("{}", "{}"), lambda a: (np.sin(a), np.cos(a))),
    "sincospi": (("{}", "{}"), lambda a: (sin_pi(a), cos_pi(a))),
}  # fmt: skip
TESTS = {
    "finitef": ("f32", np.isfinite), "isfinited": ("f64", np.isfinite), "isinfd": ("f64", np.isinf),
    "isinff": ("f32", np.isinf), "isnand": ("f64", np.isnan), "isnanf": ("f32", np.isnan),
    "signbitd": ("f64", np.signbit), "signbitf": ("f32", np.signbit),
}  # fmt: skip
WAYS = {"rn": "rn", "rz": "rz", "rd": "rm", "ru": "rp"}  # libdevice's words, PTX's
INSTRUCTIONS = {  # {name: (instruction, its types)}
    "abs": "abs.s32", "llabs": "abs.s64", "brev": "brev.b32", "brevll": "brev.b64", "byte_perm": "prmt.b32",
    "clz": "clz.b32", "clzll": "clz.b64", "popc": "popc.b32", "popcll": "popc.b64", "mulhi": "mul.hi.s32",
    "umulhi": "mul.hi.u32", "mul64hi": "mul.hi.s64", "umul64hi": "mul.hi.u64", "mul24": "mul24.lo.s32",
    "umul24": "mul24.lo.u32", "sad": "sad.s32", "usad": "sad.u32", "min": "min.s32", "max": "max.s32",
    "umin": "min.u32", "umax": "max.u32", "llmin": "min.s64", "llmax": "max.s64", "ullmin": "min.u64",
    "ullmax": "max.u64", "fma": "fma.rn.f64", "fmaf": "fma.rn.f32", "fmin": "min.f64", "fminf": "min.f32",
    "fmax": "max.f64", "fmaxf": "max.f32", "saturatef": "cvt.sat.f32.f32", "float2half_rn": "cvt.rn.f16.f32",
    "half2float": "cvt.f32.f16", "fast_fdividef": "div.approx.f32", "fast_sinf": "sin.approx.f32",
    "fast_cosf": "cos.approx.f32", "frsqrt_rn": "rsqrt.approx.f32",
    "llrint": "cvt.rni.s64.f64", "llrintf": "cvt.rni.s64.f32", "int2double_rn": "cvt.rn.f64.s32",
    "uint2double_rn": "cvt.rn.f64.u32",
}  # fmt: skip
for way, ptx in WAYS.items():
    for short in ("add", "mul", "div", "rcp", "sqrt"):
        INSTRUCTIONS[f"d{short}_{way}"] = f"{short}.{ptx}.f64"
        INSTRUCTIONS[f"f{short}_{way}"] = f"{short}.{ptx}.f32"
    INSTRUCTIONS |= {f"fsub_{way}": f"sub.{ptx}.f32", f"dsub_{way}": f"sub.{ptx}.f64"}
    INSTRUCTIONS |= {f"fma_{way}": f"fma.{ptx}.f64", f"fmaf_{way}": f"fma.{ptx}.f32"}
    INSTRUCTIONS[f"double2float_{way}"] = f"cvt.{ptx}.f32.f64"
    for whole, kind in {"int": "s32", "uint": "u32", "ll": "s64", "ull": "u64"}.items():
        for name, of in (("double", "f64"), ("float", "f32")):
            INSTRUCTIONS[f"{name}2{whole}_{way}"] = f"cvt.{ptx}i.{kind}.{of}"
            INSTRUCTIONS[f"{whole}2{name}_{way}"] = f"cvt.{ptx}.{of}.{kind}"


def halves(a, b, rounds_up=0):
    """Half of the sum of two numbers of 32 bits."""
    return (a.astype(np.int64) + b + rounds_up >> 1).astype(a.dtype)


def first_bit(a):
    """The place of the lowest bit that is 1, counted from 1; 0 for none."""
    return np.where(a == 0, 0, population((a & -a) - a.dtype.type(1)) + 1)


def rounded_long(a):
    """`llround`."""
    return operation(Instruction(0, "", ("cvt", "rzi", "s64", "f64"), ("", "")))[0](away(a.astype(np.float64)))


BITS = {  # {name: (types it takes, types it gives, function)}
    "double2hiint": (("b64",), ("b32",), lambda a: (a >> np.uint64(32)).astype(np.uint32)),
    "double2loint": (("b64",), ("b32",), lambda a: a.astype(np.uint32)),
    "hiloint2double": (("b32", "b32"), ("b64",), lambda a, b: a.astype(np.uint64) << np.uint64(32) | b),
    "ffs": (("b32",), ("s32",), first_bit), "ffsll": (("b64",), ("s32",), first_bit),
    "hadd": (("s32", "s32"), ("s32",), halves), "uhadd": (("u32", "u32"), ("u32",), halves),
    "rhadd": (("s32", "s32"), ("s32",), lambda a, b: halves(a, b, 1)),
    "urhadd": (("u32", "u32"), ("u32",), lambda a, b: halves(a, b, 1)),
    "ilogb": (("f64",), ("s32",), binary_exponent), "ilogbf": (("f32",), ("s32",), binary_exponent),
    "llround": (("f64",), ("s64",), rounded_long), "llroundf": (("f32",), ("s64",), rounded_long),
    "nextafter": (("f64", "f64"), ("f64",), np.nextafter), "nextafterf": (("f32", "f32"), ("f32",), np.nextafter),
}  # fmt: skip
for name, bits in (("double_as_longlong", 64), ("longlong_as_double", 64), ("float_as_int", 32), ("int_as_float", 32)):
    BITS[name] = (f"b{bits}",), (f"b{bits}",), lambda a: a


def in_doubles(function, gives):
    """The same function of numbers of any type, computed on float64 and rounded once to the types that it gives."""

    def result(*values):
        grown = (value.astype(np.float64) if value.dtype.kind == "f" else value for value in map(np.asarray, values))
        found = function(*grown)
        found = found if isinstance(found, tuple) else (found,)
        return tuple(np.asarray(one).astype(TYPES[kind], copy=False) for one, kind in zip(found, gives, strict=True))

    return result


@functools.cache
def mathematics():
    """All of them: {name: (types it takes, types it gives, function of arrays)}; "p64" is a pointer to a result."""
    found = {}

    def add(name, takes, gives, function):
        found[f"__nv_{name}"] = takes, gives, in_doubles(function, gives)

    for kind, end in (("f64", ""), ("f32", "f")):
        for name, function in FLOATS.items():
            add(name + end, (kind,), (kind,), function)
        for name, function in PAIRS.items():
            add(name + end, (kind, kind), (kind,), function)
        for name, function in WITH_WHOLE.items():
            add(name + end, (kind, "s32"), (kind,), function)
        for name, (gives, function) in STORED.items():
            gives = tuple(one.format(kind) for one in gives)
            by_pointer = len(gives) if name.startswith("sincos") else 1
            add(name + end, (kind, *["p64"] * by_pointer), gives, function)
        add(f"remquo{end}", (kind, kind, "p64"), (kind, "s32"), remquo)
    for name in FAST:
        add(f"fast_{name}f", ("f32",), ("f32",), FLOATS[name])
    add("fast_powf", ("f32", "f32"), ("f32",), PAIRS["pow"])
    add("fast_sincosf", ("f32", "p64", "p64"), ("f32", "f32"), STORED["sincos"][1])
    for name, (kind, function) in TESTS.items():
        add(name, (kind,), ("s32",), function)
    for name, (takes, gives, function) in BITS.items():
        kind = TYPES[gives[0]]
        found[f"__nv_{name}"] = (
            takes,
            gives,
            lambda *values, do=function, kind=kind: (np.asarray(do(*values)).astype(kind),),
        )
    for name, instruction in INSTRUCTIONS.items():
        many = {"fma": 4, "prmt": 4, "sad": 4}.get(instruction.split(".")[0])
        for operands in (many,) if many else (2, 3):
            try:
                function, takes, gives = operation(Instruction(0, "", tuple(instruction.split(".")), ("",) * operands))
            except ValueError:
                continue
            found[f"__nv_{name}"] = takes, (gives,), lambda *values, do=function: (do(*values),)
    return found
