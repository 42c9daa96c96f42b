"""Instructions on bits and bytes, against the manual's own words in Python's whole numbers."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from ptx_machine import arithmetic
from ptx_machine.arithmetic import carrying
from ptx_machine.reader import Instruction

RNG = np.random.default_rng(10)
MANY = 300
TYPES = {"u": "u", "s": "i", "b": "u"}


def numbers(kind):
    """Numbers of that type: at random, and the ends of its range."""
    bits = int(kind[1:])
    some = RNG.integers(0, 1 << 63, MANY, dtype=np.uint64) << np.uint64(1) | RNG.integers(0, 2, MANY, dtype=np.uint64)
    some >>= RNG.integers(0, 64, MANY).astype(np.uint64)  # of all sizes
    some[:8] = np.array([0, 1, 2, -1, -2, 1 << bits - 1, (1 << bits - 1) - 1, 255], object) % (1 << bits)
    return RNG.permutation(some).astype(f"u{bits // 8}").view(f"{TYPES[kind[0]]}{bits // 8}")


def small(most):
    return RNG.integers(0, most, MANY).astype(np.uint32)


def results(name, *values):
    """What the machine makes of arrays, as Python's whole numbers."""
    parts = tuple(name.split("."))
    instruction = Instruction(1, name, parts, ("%d", *("%a",) * len(values)))
    with np.errstate(all="ignore"):
        return np.asarray(arithmetic.operation(instruction)[0](*values)).tolist()


def rows(*values):
    return zip(*(value.tolist() for value in values), strict=True)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_taking_bits(kind):
    """The manual's pseudo-code of `bfe`, bit by bit."""
    a, at, many = numbers(kind), small(256), small(256)
    at[:200], many[:200] = at[:200] % 70, many[:200] % 40
    msb = int(kind[1:]) - 1
    for (value, pos, length), got in zip(rows(a, at, many), results(f"bfe.{kind}", a, at, many), strict=True):
        bit = lambda n, value=value: value >> n & 1  # noqa: E731
        sign = 0 if kind[0] == "u" or length == 0 else bit(min(pos + length - 1, msb))
        found = sum((bit(pos + i) if i < length and pos + i <= msb else sign) << i for i in range(msb + 1))
        assert got == (found - (1 << msb + 1) if kind[0] == "s" and found >> msb else found), (value, pos, length)


def test_choosing_bytes():
    """`prmt`: nibble n of c says which of the eight bytes of {b, a} becomes byte n, or the sign of it."""
    a, b, c = numbers("b32"), numbers("b32"), numbers("u32")
    for (x, y, chosen), got in zip(rows(a, b, c), results("prmt.b32", a, b, c), strict=True):
        both = x.to_bytes(4, "little") + y.to_bytes(4, "little")
        made = []
        for n in range(4):
            nibble = chosen >> 4 * n & 15
            byte = both[nibble & 7]
            made.append((255 if byte & 128 else 0) if nibble & 8 else byte)
        assert got == int.from_bytes(made, "little")


@pytest.mark.parametrize("table", range(0, 256, 5))
def test_any_function_of_three_bits(table):
    """`lop3`: the table is what the function gives for 0xF0, 0xCC and 0xAA."""
    a, b, c = numbers("b32")[:20], numbers("b32")[:20], numbers("b32")[:20]
    for (x, y, z), got in zip(rows(a, b, c), results("lop3.b32", a, b, c, np.uint32(table)), strict=True):
        places = ((x >> n & 1) << 2 | (y >> n & 1) << 1 | z >> n & 1 for n in range(32))
        assert got == sum((table >> place & 1) << n for n, place in enumerate(places))
    assert results("lop3.b32", np.uint32([0xF0]), np.uint32([0xCC]), np.uint32([0xAA]), np.uint32(table)) == [
        table | 0xFFFFFF00 * (table & 1)
    ]


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
@pytest.mark.parametrize("way", ["l", "r"])
def test_shifting_two_words(way, mode):
    a, b, c = numbers("b32"), numbers("b32"), small(80)
    for (x, y, count), got in zip(rows(a, b, c), results(f"shf.{way}.{mode}.b32", a, b, c), strict=True):
        n = count & 31 if mode == "wrap" else min(count, 32)
        expected = y << n | x >> 32 - n if way == "l" else y << 32 - n | x >> n
        assert got == expected % 2**32


@pytest.mark.parametrize("bits", [32, 64])
def test_looking_for_bits(bits):
    a, signed = numbers(f"u{bits}"), numbers(f"s{bits}")
    assert results(f"brev.b{bits}", a) == [int(f"{x:0{bits}b}"[::-1], 2) for x in a.tolist()]
    assert results(f"popc.b{bits}", a) == [x.bit_count() for x in a.tolist()]
    assert results(f"clz.b{bits}", a) == [bits - x.bit_length() for x in a.tolist()]
    assert results(f"bfind.u{bits}", a) == [(x.bit_length() - 1) % 2**32 for x in a.tolist()]
    found = [(~x if x < 0 else x).bit_length() for x in signed.tolist()]
    assert results(f"bfind.s{bits}", signed) == [(n - 1) % 2**32 for n in found]
    assert results(f"bfind.shiftamt.s{bits}", signed) == [bits - n if n else 2**32 - 1 for n in found]


def test_differences_and_products_of_parts():
    for kind in ("u32", "s32"):
        a, b, c = numbers(kind), numbers(kind), numbers(kind)
        limit = 2**31 if kind == "s32" else 0

        def wrapped(value, limit=limit):
            return (value + limit) % 2**32 - limit

        assert results(f"sad.{kind}", a, b, c) == [wrapped(z + abs(x - y)) for x, y, z in rows(a, b, c)]

        def low(x, kind=kind):
            x %= 1 << 24
            return x - (1 << 24) if kind == "s32" and x >> 23 else x

        assert results(f"mul24.lo.{kind}", a, b) == [wrapped(low(x) * low(y)) for x, y in rows(a, b)]
        assert results(f"mad24.lo.{kind}", a, b, c) == [wrapped(low(x) * low(y) + z) for x, y, z in rows(a, b, c)]
        parts = np.int8 if kind == "s32" else np.uint8
        dots = (a.view(parts).reshape(-1, 4).astype(int) * b.view(parts).reshape(-1, 4)).sum(1)
        assert results(f"dp4a.{kind}.{kind}", a, b, c) == [wrapped(x + z) for x, z in rows(dots, c)]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", ["add", "sub", "mad.lo", "mad.hi"])
def test_carries(name, bits):
    a, b, c = (numbers(f"u{bits}") for _ in range(3))
    carry, size = RNG.integers(0, 2, MANY).astype(bool), 1 << bits
    with np.errstate(all="ignore"):
        got, left = carrying(name)(*((a, b) if name in ("add", "sub") else (a, b, c)), carry)
    for x, y, z, d, result, after in rows(a, b, c, carry, got, left):
        exact = {
            "add": x + y + d,
            "sub": x - y - (not d),  # the flag says that nothing was borrowed
            "mad.lo": x * y % size + z + d,
            "mad.hi": x * y // size + z + d,
        }[name]
        assert (result, after) == (exact % size, (not 0 <= exact < size) != (name == "sub"))


def exactly(name, x, y=None, z=None):
    """A result on Fractions; of a square root 200 bits, cut: it equals no float32 that it is not."""
    if name == "sqrt":
        return Fraction(isqrt(x.numerator * x.denominator << 400), x.denominator << 200)
    if name in ("div", "rcp"):
        return x / y if name == "div" else 1 / x
    return x + y if name == "add" else x - y if name == "sub" else x * y + (z or 0)


@pytest.mark.parametrize("way", ["rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma", "div", "rcp", "sqrt"])
def test_rounding_another_way_than_to_the_nearest(name, way):
    """Against exact fractions: no float32 lies between the result and the exact one, on that side."""
    values = [RNG.standard_normal(MANY).astype(np.float32) for _ in range(3)]
    values[1][:20], values[0][20:40] = 2.0, values[1][20:40] * 3  # some results are exact
    values = values[: {"fma": 3, "rcp": 1, "sqrt": 1}.get(name, 2)]
    if name == "sqrt":
        values = [np.abs(values[0]) ** np.float32(2)]
    for parts, result in zip(rows(*values), results(f"{name}.{way}.f32", *values), strict=True):
        exact, result = exactly(name, *map(Fraction, parts)), np.float32(result)
        around = (Fraction(float(np.nextafter(result, np.float32(side)))) for side in (-np.inf, np.inf))
        beyond = Fraction(float(result)) - exact
        assert abs(beyond) < max(abs(one - Fraction(float(result))) for one in around)
        assert beyond <= 0 if way == "rm" or (way == "rz" and exact > 0) else beyond >= 0


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_masks_of_bits(mode):
    """As the PTX manual spells it out: ISA 9, "bmsk", on Python's whole numbers."""
    at, many = (
        side.ravel().astype(np.uint32) for side in np.meshgrid([*range(70), 2**32 - 1], [*range(70), 2**32 - 1])
    )
    for a, b, got in zip(at.tolist(), many.tolist(), results(f"bmsk.{mode}.b32", at, many), strict=True):
        below, behind = ~0 << (a & 31), ~0 << ((a & 31) + (b & 31))
        over = (a & 31) + (b & 31) >= 32 or (mode == "clamp" and (a >= 32 or b >= 32))
        below = 0 if mode == "clamp" and a >= 32 else below
        behind = 0 if over else ~0 if b & 31 == 0 else behind
        assert got == below & ~behind & 0xFFFFFFFF, (a, b)
