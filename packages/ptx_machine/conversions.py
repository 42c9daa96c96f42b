"""`cvt`: between numbers of all types, with every way to round and to bring into range.

Source: NVIDIA's PTX ISA, "cvt" and "cvt.pack".
"""

import numpy as np

from .formats import FP8, WAYS, canonical32, exact, rounded, to_fp8
from .rounding import to_odd, two_sum

WHOLE_WAYS = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
FLOATS = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64}
WHOLE = {f"{letter}{bits}": np.dtype(f"{kind}{bits // 8}") for letter, kind in (("b", "u"), ("u", "u"), ("s", "i"))
         for bits in (8, 16, 32, 64)}  # fmt: skip
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
WIDENED = {  # what is no number: as it is, as float32 arithmetic gives it, or a quiet one
    ("f32", "f32"): lambda a: a,
    ("f32", "bf16"): lambda a: (a.astype(np.uint32) << np.uint32(16)).view(np.float32),
    ("f32", "f16"): lambda a: canonical32(exact(a, "f16")),
    ("f64", "f16"): lambda a: exact(a, "f16") * 1.0,
}
LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "tf32": 3.4011621342146535e38}


def conversion(name):
    """What `cvt` of that name does: (function, types it takes, type it gives); Nones for what is not known here."""
    if name[:3] == ("cvt", "pack", "sat"):
        return packing(*name[3:])
    *how, to, of = name[1:]
    words = {word for word in how if word in ("sat", "satfinite", "relu")}
    way = ".".join(word for word in how if word not in words and word != "ftz")
    function, takes, gives = None, (of,), to
    if to in FP8 and of in ("f32", "f16x2", "bf16x2") and way == "rn" and "satfinite" in words:
        relu = "relu" in words
        gives, takes = "b16", ("f32", "f32") if of == "f32" else (of,)
        if of == "f32":
            function = lambda a, b: to_fp8(pair(a, b), to, relu)  # noqa: E731
        else:
            function = lambda a: to_fp8(exact(a, of), to, relu)  # noqa: E731
        words = set()
    elif to == "f16x2" and of in FP8 and way == "rn":
        takes, function = ("b16",), lambda a: finished(exact(a, of), to, "rn", words)
    elif to in PAIRS and of == "f32" and way in ("rn", "rz"):
        takes = ("f32", "f32")
        function = lambda a, b: finished(pair(a, b), to, way, words)  # noqa: E731
    elif to == "tf32" and of == "f32" and way in ("rna", "rn", "rz"):
        gives, function = "b32", lambda a: to_tf32(a, way, words)
    elif to in FLOATS and of in FLOATS:
        widens = np.dtype(FLOATS[to]).itemsize >= np.dtype(FLOATS[of]).itemsize and of != to
        if way in WHOLE_WAYS and to == of:
            function = lambda a: finished(WHOLE_WAYS[way](exact(a, of)), to, "rn", words)  # noqa: E731
        elif way in WAYS or (not way and (widens or to == of)):
            function = lambda a: finished(exact(a, of), to, way or "rn", words)  # noqa: E731
        if not how:
            function = WIDENED.get((to, of), function)
    elif of in FLOATS and to in WHOLE and way in WHOLE_WAYS and words <= {"sat"}:
        function = lambda a: to_whole(WHOLE_WAYS[way](exact(a, of)), WHOLE[to], of)  # noqa: E731
    elif to in FLOATS and of in WHOLE and way in WAYS and words <= {"sat"}:
        function = lambda a: finished(from_whole(a, to, way), to, way, words)  # noqa: E731
    elif to in WHOLE and of in WHOLE and not way and words <= {"sat"} and not (words and holds(WHOLE[to], WHOLE[of])):
        function = clipped(WHOLE[to]) if words else lambda a: a.astype(WHOLE[to])
    return function, takes, gives


def holds(target, of):
    """Whether a type of integers holds all numbers of another: `cvt.sat` is refused then, as by ptxas."""
    target, of = np.iinfo(target), np.iinfo(of)
    return target.min <= of.min and of.max <= target.max


def pair(a, b):
    """Two operands as the halves of a register: the first becomes the upper one."""
    return np.stack(np.broadcast_arrays(b, a), -1).astype(np.float64)


def finished(values, kind, way, words):
    """Numbers rounded to a type: `sat` brings them into 0 to 1, `relu` to 0 or more, `satfinite` off infinity."""
    values = np.asarray(values, np.float64)
    if "sat" in words:
        values = np.where(values > 0, np.minimum(values, 1), 0.0)
    if "relu" in words:
        values = np.where(values > 0, values, np.where(np.isnan(values), values, 0.0))
    if "satfinite" in words:
        most = LARGEST[PAIRS.get(kind, kind)]
        values = np.where(np.abs(values) > most, np.copysign(most, values), values)
    return rounded(values, kind, way)


def to_tf32(a, way, words):
    """float32 as TF32. What is no number keeps its upper bits where ties go away from zero, one less to be finite."""
    values = finished(a, "tf32", way, words)
    if way != "rna":
        return values
    kept, less = np.ascontiguousarray(a).view(np.uint32) & np.uint32(0xFFFFE000), 0x2000 if "satfinite" in words else 0
    return np.where(np.isnan(a), kept - np.uint32(less), values)


def from_whole(a, kind, way):
    """Integers as float64: exactly, to the nearest, or so that rounding them once more is right."""
    if a.dtype.itemsize < 8 or (kind, way) == ("f64", "rn"):
        return a.astype(np.float64)
    low = (a & a.dtype.type(0xFFFFFFFF)).astype(np.float64)
    near, rest = two_sum((a >> a.dtype.type(32)).astype(np.float64) * 2.0**32, low)
    if kind != "f64":
        return to_odd(near, rest)
    if way == "rz":
        way = np.where(near > 0, "rm", "rp")
    near = np.where((np.asarray(way) == "rm") & (rest < 0), np.nextafter(near, -np.inf), near)
    return np.where((np.asarray(way) == "rp") & (rest > 0), np.nextafter(near, np.inf), near)


def to_whole(a, target, of):
    """Floats as integers, the nearest in range; NaN is 0, or of or for 64 bits 1 << bits - 1."""
    limits = np.iinfo(target)
    inside = (a >= float(limits.min)) & (a < float(limits.max) + (limits.bits < 64))
    result = np.where(inside, a, 0).astype(target)
    outside = np.where(a > 0, target.type(limits.max), target.type(limits.min))
    nothing = 1 << limits.bits - 1 if of == "f64" or limits.bits == 64 else 0
    nothing = np.array(nothing, f"u{target.itemsize}").view(target)
    return np.where(inside, result, np.where(np.isnan(a), nothing, outside))


def clipped(target):
    """Integers brought into the range of a type."""
    limits = np.iinfo(target)

    def function(a):
        own = np.iinfo(a.dtype)
        return np.clip(a, max(own.min, limits.min), min(own.max, limits.max)).astype(target)

    return function


def packing(to=None, of=None, before="", *more):
    """`cvt.pack`: two numbers of 32 bits brought into range, side by side; of 8 bits, with half of a third behind."""
    if of != "s32" or to not in ("s8", "u8", "s16", "u16") or more or before != ("b32" if to[1:] == "8" else ""):
        return None, (), None
    clip, bits = clipped(WHOLE[to]), np.uint32(to[1:])

    def function(a, b, c=None):
        upper, lower = (clip(value).view(f"u{bits // 8}").astype(np.uint32) for value in (a, b))
        result = upper << bits | lower
        return result if c is None else c << np.uint32(16) | result

    return function, ("s32", "s32", *(["b32"] if before else [])), "b32"
