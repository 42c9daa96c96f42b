"""Right to the last bit: against Python's fractions and whole numbers, NumPy and ml_dtypes; exhaustive where bits are few."""

# ruff: noqa: E501
import operator
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import ptx_machine
from ptx_machine import arithmetic, formats
from ptx_machine.reader import Instruction

RNG = np.random.default_rng(44)
ALL = np.arange(1 << 16, dtype=np.uint16)


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def results(name, *values):
    """What an instruction makes of arrays."""
    instruction = Instruction(1, name, tuple(name.split(".")), ("%d", *("%a",) * len(values)))
    return arithmetic.operation(instruction)[0](*values)


def doubles(many):
    """float64 of all sizes, powers of two and their neighbours, the ends of the range."""
    bits = RNG.integers(0, 1 << 64, many, dtype=np.uint64)
    near_one = 1 + RNG.integers(-4, 5, many) * 2.0**-52
    ends = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1.0, -1.0, 0.1, 1e-300, 1e300]
    values = np.concatenate([bits.view(np.float64), near_one, RNG.standard_normal(many), ends])
    return RNG.permutation(values[np.isfinite(values)])


def right(exact, got, way):
    """Whether float64 `got` is that fraction, rounded: no other number lies nearer on that side."""
    if np.isinf(got):
        above = exact > Fraction(np.finfo(float).max) if got > 0 else exact < -Fraction(np.finfo(float).max)
        return above and way == ("rp" if got > 0 else "rm")
    value, up, down = Fraction(float(got)), np.nextafter(got, np.inf), np.nextafter(got, -np.inf)
    if way == "rz":
        way = "rm" if exact > 0 else "rp"
    if way == "rm":
        return value <= exact and (np.isinf(up) or Fraction(float(up)) > exact)
    return value >= exact and (np.isinf(down) or Fraction(float(down)) < exact)


@pytest.mark.parametrize("way", ["rz", "rm", "rp"])
@pytest.mark.parametrize("short", ["add", "sub", "mul", "div", "fma"])
def test_float64_rounded_another_way(short, way):
    exactly = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
    a, b, c = (doubles(60)[:120] for _ in range(3))
    a[:30], c[:30] = b[:30] * (1 + 2.0**-52), -(b[:30] * b[:30])
    values = (a, b, c) if short == "fma" else (a, b)
    for *given, got in zip(*values, results(f"{short}.{way}.f64", *values), strict=True):
        if not np.isfinite(given).all() or (short == "div" and given[1] == 0):
            continue
        parts = [Fraction(float(one)) for one in given]
        exact = parts[0] * parts[1] + parts[2] if short == "fma" else exactly[short](*parts)
        assert right(exact, got, way), (given, got)


@pytest.mark.parametrize("way", ["rz", "rm", "rp"])
def test_roots_of_float64_rounded_another_way(way):
    a = np.abs(doubles(60))
    for value, got in zip(a, results(f"sqrt.{way}.f64", a), strict=True):
        value, low, got = Fraction(float(value)), np.nextafter(got, 0), Fraction(float(got))
        high = Fraction(float(np.nextafter(float(got), np.inf)))
        assert (
            (got**2 >= value and (not got or Fraction(float(low)) ** 2 < value))
            if way == "rp"
            else (got**2 <= value < high**2)
        )


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_the_sign_of_a_zero_that_a_sum_gives(kind):
    """IEEE 754, 6.3: a sum of x and -x is +0, or -0 where sums are rounded down; of two alike it keeps their sign."""
    dtype = {"f32": np.float32, "f64": np.float64}[kind]
    a, b = dtype([1.5, 0, -0.0, 0, -0.0]), dtype([-1.5, 0, -0.0, -0.0, 0])
    for way, negative in (("rm", [1, 0, 1, 1, 1]), ("rz", [0, 0, 1, 0, 0]), ("rp", [0, 0, 1, 0, 0])):
        assert np.signbit(results(f"add.{way}.{kind}", a, b)).tolist() == [bool(one) for one in negative]


def test_fma_of_float64_at_the_ends_of_the_range():
    a = np.array([1e-200, 5e-324, 1e300, 1.5e-154, 1e-160, -1e200])
    b = np.array([1e-150, 0.75, 1e-300, 1.5e-154, 3e-160, 1e200])
    c = np.array([5e-324, 5e-324, -1.0, -2e-308, 1e-310, np.inf])
    for x, y, z, got in zip(a, b, c, results("fma.rn.f64", a, b, c), strict=True):
        assert got == (float(Fraction(x) * Fraction(y) + Fraction(z)) if np.isfinite(z) else z), (x, y, z)


def test_smaller_and_larger():
    for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
        a, b = dtype([0, -0.0, 1, np.nan, 2, np.nan, -np.inf]), dtype([-0.0, 0, np.nan, 1, 3, np.nan, 0])
        least, most = results(f"min.{kind}", a, b), results(f"max.{kind}", a, b)
        assert least[:5].tolist() == [0, 0, 1, 1, 2] and np.signbit(least[:2]).all() and np.isnan(least[5])
        assert most[:5].tolist() == [0, 0, 1, 1, 3] and not np.signbit(most[:2]).any() and most[6] == 0
        assert kind == "f64" or np.isnan(results(f"min.NaN.{kind}", a, b)[[2, 3, 5]]).all()
    bits = results("max.f32", np.float32([np.nan]), np.float32([np.nan])).view(np.uint32)
    assert bits[0] == 0x7FFFFFFF  # the manual's canonical NaN
    assert results("max.xorsign.abs.f32", np.float32([-3, 2]), np.float32([2, -3])).tolist() == [-3, -3]


def test_sums_brought_into_range():
    a = RNG.integers(-(2**31), 2**31, 400).astype(np.int32)
    b = RNG.integers(-(2**31), 2**31, 400).astype(np.int32)
    clip = lambda value: max(-(2**31), min(2**31 - 1, value))  # noqa: E731
    pairs = [*zip(a.tolist(), b.tolist(), strict=True)]
    assert results("add.sat.s32", a, b).tolist() == [clip(x + y) for x, y in pairs]
    assert results("sub.sat.s32", a, b).tolist() == [clip(x - y) for x, y in pairs]
    assert results("mad.hi.sat.s32", a, b, b).tolist() == [clip((x * y >> 32) + y) for x, y in pairs]


@pytest.mark.parametrize("mode", ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])
def test_modes_of_prmt(mode):
    """The manual's table: which bytes of {b, a}, from the lowest, for the last two bits of c."""
    table = {
        "f4e": ("0123", "1234", "2345", "3456"), "b4e": ("0765", "1076", "2107", "3210"),
        "rc8": ("0000", "1111", "2222", "3333"), "ecl": ("0123", "1123", "2223", "3333"),
        "ecr": ("0000", "0111", "0122", "0123"), "rc16": ("0101", "2323", "0101", "2323"),
    }[mode]  # fmt: skip
    a, b = RNG.integers(0, 1 << 32, (2, 64)).astype(np.uint32)
    for c in range(4):
        got = results(f"prmt.b32.{mode}", a, b, np.full(64, c + 4, np.uint32))
        both = np.concatenate([a[:, None].view(np.uint8), b[:, None].view(np.uint8)], axis=1)
        assert np.array_equal(got[:, None].view(np.uint8), both[:, [int(one) for one in table[c]]])


def test_bits_and_parts_of_numbers():
    a, b, c = RNG.integers(0, 1 << 32, (3, 200)).astype(np.uint32)
    many = RNG.integers(0, 40, 200).astype(np.uint32)
    for kind in ("u32", "s32"):
        values, found = (a if kind == "u32" else a.view(np.int32)), []
        for value, bits in zip(a.tolist(), many.tolist(), strict=True):
            bits = min(bits, 32)
            low = value & (1 << bits) - 1
            found.append(low - (1 << bits) if kind == "s32" and bits and low >> bits - 1 else low)
        assert results(f"szext.clamp.{kind}", values, many).tolist() == found
    assert results("cnot.b32", np.uint32([0, 1, 7])).tolist() == [1, 0, 0]
    assert results("slct.u32.s32", a, b, c.view(np.int32)).tolist() == np.where(c.view(np.int32) >= 0, a, b).tolist()
    product = lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF)  # noqa: E731
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    assert results("mul24.hi.u32", a, b).tolist() == [product(x, y) >> 16 for x, y in pairs]
    nth = [(0b1011, 0, 1, 0), (0b1011, 0, 3, 3), (0b1011, 3, -2, 1), (0b1011, 2, 0, 0xFFFFFFFF), (0b1011, 1, 0, 1)]
    nth += [(8, 0, 2, 0xFFFFFFFF)]
    for mask, base, offset, place in nth:
        assert results("fns.b32", np.uint32([mask]), np.uint32([base]), np.int32([offset]))[0] == place
    for which, octets in (("lo", (0, 1)), ("hi", (2, 3))):
        got = results(f"dp2a.{which}.s32.u32", a.view(np.int32), b, c.view(np.int32))
        for x, y, z, value in zip(a, b, c.view(np.int32).tolist(), got.tolist(), strict=True):
            total = z + sum(
                int(h) * int(y.tobytes()[n]) for h, n in zip(np.frombuffer(x.tobytes(), np.int16), octets, strict=True)
            )
            assert value == (total + 2**31) % 2**32 - 2**31
    octets = lambda value: np.ascontiguousarray(value[:, None]).view(np.uint8).astype(int)  # noqa: E731
    apart = (np.abs(octets(a) - octets(b)).sum(1) + c) % 2**32
    assert results("vabsdiff4.u32.u32.u32.add", a, b, c).tolist() == apart.tolist()
    assert np.array_equal(octets(results("vadd4.u32.u32.u32.sat", a, b, c)), np.minimum(octets(a) + octets(b), 255))


def test_whole_numbers_of_64_bits_as_floats():
    ends = [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, 2**54 + 2, 2**24 + 1, 65519, 65520, 65521, 2**62 + 1]
    whole = np.array([*ends, *(int(one) >> int(shift) for one, shift in zip(
        RNG.integers(-(2**63), 2**63 - 1, 200), RNG.integers(0, 60, 200), strict=True))], np.int64)  # fmt: skip
    for kind, dtype in (("f64", np.float64), ("f32", np.float32), ("f16", np.float16)):
        for way in ("rn", "rz", "rm", "rp"):
            for taken, values in (("s64", whole), ("u64", whole.view(np.uint64))):
                got = results(f"cvt.{way}.{kind}.{taken}", values)
                for value, one in zip(values.tolist(), got, strict=True):
                    largest = int(np.finfo(dtype).max)
                    if abs(value) > largest:
                        assert one == (largest if way in ("rz", "rm") else np.inf) * (1 if value > 0 else -1) or value < 0 or (
                            way == "rn" and value < 65520)  # fmt: skip
                        continue
                    if way == "rn":
                        around = [one, np.nextafter(one, dtype(np.inf)), np.nextafter(one, dtype(-np.inf))]
                        nearest = min(abs(int(n) - value) for n in around if np.isfinite(n))
                        assert abs(int(one) - value) == nearest, value
                    else:
                        side = {"rm": -1, "rp": 1, "rz": -1 if value > 0 else 1}[way]
                        beyond = np.nextafter(one, dtype(-side * np.inf))
                        assert (int(one) - value) * side >= 0, (value, kind, way)
                        assert not np.isfinite(beyond) or (int(beyond) - value) * side < 0 or one == value


@pytest.mark.parametrize("kind, dtype", [("e4m3x2", ml_dtypes.float8_e4m3fn), ("e5m2x2", ml_dtypes.float8_e5m2)])
def test_numbers_of_8_bits_as_ml_dtypes_has_them(kind, dtype):
    codes = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    got = formats.fp8_numbers(kind)
    assert np.array_equal(np.isnan(got), np.isnan(codes)) and np.array_equal(np.nan_to_num(got), np.nan_to_num(codes))
    halves = ALL.view(np.float16)
    # All float16: each border between two, and both sides of it.
    values = halves[np.isfinite(halves)].astype(np.float32)
    made = results(f"cvt.rn.satfinite.{kind}.f32", values, np.zeros_like(values)).view(np.uint8)
    most = float(ml_dtypes.finfo(dtype).max)
    expected = np.clip(values, -most, most).astype(dtype).view(np.uint8)
    assert np.array_equal(made[1::2], expected) and not made[::2].any()  # the first operand is the upper one
    back = results(f"cvt.rn.f16x2.{kind}", np.arange(1 << 16, dtype=np.uint16)).view(np.float16).reshape(-1, 2)
    assert np.array_equal(np.nan_to_num(back[:, 0].astype(float)), np.nan_to_num(np.tile(codes, 256)))


@pytest.mark.parametrize("function", [("tanh.approx", np.tanh), ("ex2.approx", np.exp2)])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_functions_of_all_numbers_of_16_bits(function, kind):
    name, exactly = function
    given = ALL.view(np.float16) if kind == "f16" else ALL
    values = given.astype(np.float64) if kind == "f16" else ALL.view(ml_dtypes.bfloat16).astype(np.float64)
    got = formats.exact(results(f"{name}.{kind}", given), kind)
    dtype = np.float16 if kind == "f16" else ml_dtypes.bfloat16
    exact = exactly(values).astype(np.float32).astype(np.float64)
    near = exact.astype(dtype)
    cut = np.where(np.abs(near.astype(np.float64)) > np.abs(exact), np.nextafter(near, dtype(0)), near)
    expected = np.where((kind == "f16") & (exact >= 65536), np.inf, cut.astype(np.float64))
    number = ~np.isnan(values)
    assert np.array_equal(got[number], expected[number])
    assert np.isnan(got[~number]).all()


def test_comparisons_of_halves_as_numbers():
    a, b = np.float16([1, 2, 0, np.nan]), np.float16([1, 1, -0.0, 1])
    assert results("set.eq.f16.f16", a, b).tolist() == [1, 0, 1, 0]
    of_floats = results("set.gtu.u32.f32", a.astype(np.float32), b.astype(np.float32))
    assert of_floats.tolist() == [0, 2**32 - 1, 0, 2**32 - 1]
    pairs, others = a.view(np.uint32), b.view(np.uint32)
    assert results("set.eq.f16x2.f16x2", pairs, others).view(np.float16).tolist() == [1, 0, 1, 0]
    assert results("set.ne.u32.f16x2", pairs, others).tolist() == [0xFFFF0000, 0]
    three = np.int32([1, 1, 3]), np.int32([2, 2, 2]), np.array([True, False, True])
    assert results("set.lt.and.s32.s32", *three).tolist() == [-1, 0, 0]
    instruction = Instruction(1, "", ("setp", "gt", "f16x2"), ("%p|%q", "%a", "%b"))
    low, high = arithmetic.operation(instruction)[0](pairs, others)
    assert low.tolist() == [False, False] and high.tolist() == [True, False]
    instruction = Instruction(1, "", ("setp", "lt", "and", "s32"), ("%p|%q", "%a", "%b", "%c"))
    p, q = arithmetic.operation(instruction)[0](*three)
    assert p.tolist() == [True, False, False] and q.tolist() == [False, False, True]  # !(a < b) and c


def test_fused_products_of_halves():
    a, b, c = (RNG.choice(ALL, 3000) for _ in range(3))
    a[0], b[0], c[0] = np.float16([1 + 2**-10, 1 + 2**-10, 2**-24]).view(np.uint16)
    half = [value.view(np.float16) for value in (a, b, c)]
    kept = np.logical_and.reduce([np.isfinite(value) for value in half])
    half = [value[kept] for value in half]
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(*half, strict=True)]
    got = results("fma.rn.f16", *half)
    for value, one in zip(exact, got, strict=True):
        if abs(value) >= 65520:
            assert np.isinf(one)
        else:
            near = (one, *(np.nextafter(one, np.float16(side)) for side in (-np.inf, np.inf)))
            around = [n for n in near if np.isfinite(n)]
            assert abs(Fraction(float(one)) - value) == min(abs(Fraction(float(n)) - value) for n in around)
    relu, sat = results("fma.rn.relu.f16", *half), results("fma.rn.sat.f16", *half)
    assert np.array_equal(relu, np.maximum(got, 0)) and np.array_equal(sat, np.clip(got, 0, 1))
    flushed = results("mul.ftz.f16", np.float16([2.0**-14, 1]), np.float16([0.5, 2.0**-14]))
    assert flushed.tolist() == [0, 2.0**-14]


KERNEL = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 o) {
.reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;
.shared .align 8 .b8 s[16];
ld.param.u64 %rd1,[o]; mov.u32 %r1,%tid.x; mul.wide.u32 %rd2,%r1,8; add.u64 %rd2,%rd1,%rd2;
BODY
ret; }
"""


def ran(body, array, threads=32):
    run = ptx_machine.run(KERNEL.replace("BODY", body), (1,), (threads,), [array])
    assert run, run
    return run.arrays[0]


def test_atomics_of_halves():
    for kind, dtype in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        start = np.array([1.5, 2, 0, 0], dtype)
        one = int(np.array([1, 1], dtype).view(np.uint32)[0])
        body = f"mov.b32 %r2,{one}; red.global.add.noftz.{kind}x2 [%rd1],%r2;"
        pairs = ran(body, start.view(np.uint32)).view(dtype)
        assert pairs.astype(float).tolist() == [33.5, 34, 0, 0]
        body = f"mov.b16 %h1,{one & 0xFFFF}; atom.global.add.noftz.{kind} %h2,[%rd1+2],%h1;"
        assert ran(body, start.view(np.uint16)).view(dtype).astype(float).tolist() == [1.5, 34, 0, 0]
    two = "mov.f32 %f1,1.0; mov.f32 %f2,2.0; red.global.add.v2.f32 [%rd1],{%f1,%f2};"
    assert ran(two, np.zeros(4, np.float32)).tolist() == [32, 64, 0, 0]


def test_a_barrier_in_memory():
    """32 threads arrive at a barrier of 32, twice; who waits sees what the others stored before."""
    wait = "W{0}: mbarrier.try_wait.parity.shared::cta.b64 %p1,[s],{0}; @!%p1 bra W{0};"
    body = (
        "setp.eq.u32 %p2,%r1,0; @%p2 mbarrier.init.shared::cta.b64 [s],32; bar.sync 0; cvt.u64.u32 %rd4,%r1; "
        "st.global.u64 [%rd2],%rd4; mbarrier.arrive.shared::cta.b64 %rd3,[s]; "
        + wait.format(0)
        + "xor.b32 %r2,%r1,31; "
        "mul.wide.u32 %rd5,%r2,8; add.u64 %rd5,%rd1,%rd5; ld.global.u64 %rd6,[%rd5]; mbarrier.arrive.shared::cta.b64 _,[s]; "
        + wait.format(1)
        + "mbarrier.test_wait.shared::cta.b64 %p3,[s],%rd3; @%p3 add.u64 %rd6,%rd6,100; st.global.u64 [%rd2],%rd6;"
    )
    assert ran(body, np.zeros(32, np.uint64)).tolist() == [*range(31, -1, -1)]  # two phases later: of the same parity


def test_matrices_of_float64():
    rng = np.random.default_rng(3)
    for rows, depth in ((8, 4), (16, 4), (16, 8), (16, 16)):
        a, b, c = rng.standard_normal((rows, depth)), rng.standard_normal((depth, 8)), rng.standard_normal((rows, 8))
        lane = np.arange(32)
        group, place = lane // 4, lane % 4  # the manual's pictures: groupID and threadID_in_group
        high = rows // 8
        taken = [a[group + 8 * (r % high), place + 4 * (r // high)] for r in range(rows * depth // 32)]
        taken += [b[place + 4 * r, group] for r in range(depth // 4)]
        taken += [c[group + 8 * (r // 2), 2 * place + r % 2] for r in range(2 * high)]
        got = ptx_machine.warpwide.multiply_doubles(rows, depth)(np.ones((1, 32), bool), *(one[None] for one in taken))
        for r, one in enumerate(got):
            assert np.allclose(one[0], (a @ b + c)[group + 8 * (r // 2), 2 * place + r % 2], rtol=1e-14, atol=1e-14)
