"""Sums, products, quotients and roots of float32 and float64, rounded once: to the nearest, to zero, down or up.

NumPy rounds to the nearest only, and has no fused multiply-add.
"""

import math
from fractions import Fraction

import numpy as np

from .formats import canonical32, rounded

ABOVE_ONE, SPLIT = np.array(1 + 2.0**-50), np.array(2.0**27 + 1)  # NumPy takes numbers slower
TINY = np.finfo(np.float32).tiny  # the least that is normal


def fused32(a, b, c):
    """a * b + c, rounded once; arrays of float32.

    The product is exact in float64. Its sum with c is first "rounded to odd": of the two float64 around the exact
    sum, that whose last bit is 1. Such a sum lies on no border between two float32, so that rounding it once more is
    right. Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Transactions on Computers
    57 (2008). Only a sum that was rounded to such a border needs it. It ends in a 1 and 28 zeros; of numbers below the
    normal float32, in 28 zeros.
    """
    product = np.multiply(a, b, dtype=np.float64)
    s = product + c
    bits = s.view(np.int64)
    if np.count_nonzero(bits & 0xFFFFFFF) < s.size:
        small = ~(np.abs(s) >= TINY) & (s != 0)  # or no number
        if np.count_nonzero((bits & 0x1FFFFFFF == 0x10000000) | small):
            return canonical32(to_odd(*two_sum(product, c)))
    return s.astype(np.float32)


def directed(short, way):
    """`add`, `sub`, `mul`, `fma`, `div`, `rcp` or `sqrt` of float32, rounded to zero, down or up; else None."""

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
        near = canonical32(rounded(to_odd(result, np.broadcast_to(rest, result.shape)), "f32", way))
        return with_zero(short, way, near, [np.asarray(value, np.float32) for value in values])

    return function if exactly else None


def with_zero(short, way, result, values):
    """The same, with -0 where a sum that is rounded down is exactly 0, but not of two +0."""
    if way != "rm" or short not in ("add", "sub", "fma", "mad"):
        return result
    first = values[0] if short in ("add", "sub") else values[0] * values[1]
    last = -values[-1] if short == "sub" else values[-1]
    both_plus = (first == 0) & (last == 0) & ~np.signbit(first) & ~np.signbit(last)
    return np.where((result == 0) & ~both_plus & (first == -last), result.dtype.type(-0.0), result)


EXACT = {  # on fractions, which know no square root
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "fma": lambda a, b, c: a * b + c,
    "mad": lambda a, b, c: a * b + c,
}
NEAREST = EXACT | {"sqrt": np.sqrt}  # on float64; `fma` is only near


def directed64(short, way):
    """The same of float64, each element by Python's fractions; None for what is not known here."""

    def function(*values):
        values = np.broadcast_arrays(*(np.asarray(value, np.float64) for value in values))
        near = np.array(NEAREST[short](*values), ndmin=1)
        if short == "fma":  # a product beyond the range is no infinity before c is added
            a, b, c = values
            near = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, near)
        flat = [value.reshape(-1) for value in map(np.atleast_1d, values)]
        known = np.logical_and.reduce([np.isfinite(value) for value in flat])
        if short in ("div", "rcp"):
            known &= flat[-1] != 0
        if short == "sqrt":
            known &= flat[0] > 0
        result = near.reshape(-1)
        for place in np.flatnonzero(known):
            given = [Fraction(float(value[place])) for value in flat]
            result[place] = (
                rounded_root(given[0], way)
                if short == "sqrt"
                else rounded_fraction(EXACT[short](*given), way, result[place])
            )
        return with_zero(short, way, result.reshape(near.shape), values).reshape(np.shape(values[0]))

    return function if short in NEAREST else None


def rounded_fraction(exact, way, zero=0.0):
    """A fraction as the float64 that is nearest, or the next to zero, down or up; 0 with the sign of `zero`."""
    if exact == 0:
        return 0.0 * zero if math.isfinite(zero) else 0.0
    try:
        near = exact.numerator / exact.denominator
    except OverflowError:
        near = math.inf if exact > 0 else -math.inf
    if way == "rn":
        return near if near else (0.0 if exact > 0 else -0.0)
    beyond = math.isinf(near)
    above, below = (near > 0, near < 0) if beyond else (Fraction(near) > exact, Fraction(near) < exact)
    if above and (way == "rm" or (way == "rz" and exact > 0)):
        return math.nextafter(near, -math.inf)
    if below and (way == "rp" or (way == "rz" and exact < 0)):
        return math.nextafter(near, math.inf)
    return near if near else (0.0 if exact > 0 else -0.0)


def rounded_root(exact, way):
    """The root of a fraction that is a float64, likewise."""
    near = math.sqrt(exact)
    if Fraction(near) ** 2 > exact and way in ("rm", "rz"):
        return math.nextafter(near, 0)
    return math.nextafter(near, math.inf) if Fraction(near) ** 2 < exact and way == "rp" else near


def fused64(a, b, c):
    """a * b + c, rounded once; arrays of float64.

    Mostly the last sum leaves less over than half of its last bit: then it is the nearest, whatever was lost before.
    What else there is, also near the ends of the range, is done by fractions.
    """
    product, low = two_product(a, b)
    high, middle = two_sum(product, c)
    rest = middle + low
    result = high + rest
    left = rest - (result - high)
    right = result + left * ABOVE_ONE == result
    if np.count_nonzero(right) == right.size == np.count_nonzero(result * result):  # nor is any as small as 1e-162
        return result
    nothing = (a == 0) | (b == 0)
    result = np.where(nothing, high, result)
    right = nothing | right & (result * result > 0)
    if np.count_nonzero(right) < right.size:
        right |= (two_sum(middle, low)[1] == 0) & (np.abs(product) > 1e-250)  # nothing was lost
    if np.count_nonzero(right) < right.size:
        result, wrong = np.array(result, ndmin=1), np.atleast_1d(~right)
        some = (np.broadcast_to(value, wrong.shape)[wrong] for value in (a, b, c))
        result[wrong] = directed64("fma", "rn")(*some)
    return result.reshape(right.shape)


def two_sum(x, y):
    """(s, e): s = x + y rounded, s + e = x + y exactly (Knuth)."""
    s = x + y
    t = s - x
    return s, (x - (s - t)) + (y - t)


def two_product(x, y):
    """(p, e): p = x * y rounded, p + e = x * y exactly (Dekker)."""

    def halves(value):
        t = SPLIT * value
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
