"""Numbers of fewer bits, and every way to round to them: float16, bfloat16, TF32; pairs of them in a register.

NumPy has no bfloat16 and no TF32: the first is the upper half of a float32, the second a float32 whose last 13 bits
count for nothing. Source: NVIDIA's PTX ISA, "Alternate Floating-Point Data Formats" and `cvt`.
"""

import functools

import numpy as np

SMALL = {"f16": 1, "bf16": 1, "f16x2": 2, "bf16x2": 2}  # type: how many of them a register holds
WAYS = ("rn", "rz", "rm", "rp")
FP8 = {"e4m3x2": (3, 7), "e5m2x2": (2, 15)}  # two in a register of 16 bits: bits behind the point, bias
NO_HALF = 0x7FFF  # what a conversion makes of what is no number, as float16 and as bfloat16


def exact(bits, kind):
    """Numbers of type `kind`, as registers hold them, as float64; those of a pair along a last axis."""
    if kind.startswith("bf16"):
        halves = np.ascontiguousarray(bits, f"u{2 * SMALL[kind]}").view(np.uint16)
        values = (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)
    elif kind in FP8:
        halves = np.ascontiguousarray(bits).view(np.uint8)
        return fp8_numbers(kind)[halves].reshape((*np.shape(bits), 2))
    elif kind in SMALL:
        values = np.ascontiguousarray(bits).view(np.float16)
    else:
        return np.asarray(bits, np.float64)
    return values.astype(np.float64).reshape((*np.shape(bits), *[2] * (SMALL[kind] == 2)))


def rounded(values, kind, way="rn"):
    """float64 numbers rounded once to type `kind`, as registers hold them: the inverse of `exact`.

    way  "rn" to the nearest, ties to even; "rz" to zero, "rm" down, "rp" up; "rna", for tf32, ties away from zero
    """
    values = np.asarray(values, np.float64)
    if kind == "f64":
        return values
    if kind in ("f32", "f16", "f16x2"):
        near = values.astype(np.float32 if kind == "f32" else np.float16)
        if way != "rn":
            wrong = {"rz": np.abs(near) > np.abs(values), "rm": near > values, "rp": near < values}[way]
            aim = near.dtype.type({"rz": 0, "rm": -np.inf, "rp": np.inf}[way])
            near = np.where(wrong, np.nextafter(near, aim), near)
        if kind == "f32":
            return near
        bits = np.where(np.isnan(near), np.uint16(NO_HALF), near.view(np.uint16))
        return bits.view(np.float16) if kind == "f16" else np.ascontiguousarray(bits).view(np.uint32)[..., 0]
    # What is left are float32 with their last bits cut off: 16 for bfloat16, 13 for TF32.
    cut = np.uint32(13 if kind == "tf32" else 16)
    bits = float32_to_odd(values).view(np.uint32)
    half = np.uint32(1) << (cut - np.uint32(1))
    if way == "rna":
        bits = bits + half
    elif way == "rn":
        bits = bits + (half - np.uint32(1)) + (bits >> cut & np.uint32(1))
    elif way != "rz":
        away = (values < 0) == (way == "rm")  # from zero, so that any bit that is cut off counts as one more
        bits = bits + np.where(away, half * np.uint32(2) - np.uint32(1), np.uint32(0))
    bits = bits >> cut
    if kind == "tf32":
        return np.where(np.isnan(values), np.uint32(0x7FFFE000), bits << cut)
    bits = np.where(np.isnan(values), NO_HALF, bits).astype(np.uint16)
    return bits if kind == "bf16" else np.ascontiguousarray(bits).view(np.uint32)[..., 0]


def float32_to_odd(values):
    """float64 as float32, cut to zero, and with a last bit of 1 where something was cut: it can be rounded again."""
    cut = rounded(values, "f32", "rz")
    inexact = cut.astype(np.float64) != values
    return (cut.view(np.uint32) | (inexact & np.isfinite(values)).astype(np.uint32)).view(np.float32)


def tf32(bits):
    """float32 or their bits as the matrix units take them for TF32: without their last 13 bits."""
    return (np.asarray(bits).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


@functools.cache
def fp8_numbers(kind):
    """All 256 numbers of a type of 8 bits as float64. Source: "FP8 Formats for Deep Learning", arXiv:2209.05433."""
    places, bias = FP8[kind]
    code = np.arange(128)
    exponent, fraction = code >> places, code & (1 << places) - 1
    values = np.where(
        exponent > 0, 2.0 ** (exponent - bias) * (1 + fraction / 2**places), 2.0 ** (1 - bias) * fraction / 2**places
    )
    if kind == "e4m3x2":
        values[127] = np.nan
    else:
        values[124:] = [np.inf, np.nan, np.nan, np.nan]
    return np.concatenate([values, -values])


def to_fp8(values, kind, relu=False):
    """Pairs of float64 rounded to the nearest number of 8 bits, ties to even; those too large to the largest."""
    numbers = fp8_numbers(kind)[:128]
    numbers = numbers[np.isfinite(numbers)]
    size, between = np.abs(values), (numbers[1:] + numbers[:-1]) / 2
    lower, upper = (np.searchsorted(between, size, side) for side in ("left", "right"))
    code = np.where(lower & 1, upper, lower)
    code = np.where(np.isnan(values), 127, code | (np.signbit(values) << 7))
    if relu:
        code = np.where(values < 0, 0, np.where((values == 0) & np.signbit(values), 0, code))
    return np.ascontiguousarray(code.astype(np.uint8)).view(np.uint16)[..., 0]


def canonical32(values):
    """Numbers as float32; what is no number as the bits that a GPU gives."""
    values = np.asarray(values).astype(np.float32)
    return np.where(np.isnan(values), canonical("f32"), values)


def canonical(kind):
    """What arithmetic gives that is no number."""
    return np.uint32(0x7FFFFFFF).view(np.float32) if kind == "f32" else np.float64(np.nan)
