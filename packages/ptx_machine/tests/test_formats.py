"""Conversions between numbers of fewer bits: against NumPy, against ml_dtypes, and against tables of all numbers."""

import numpy as np
import pytest

import ptx_machine
from ptx_machine import formats

ALL = np.arange(1 << 16, dtype=np.uint16)
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry converted(.param .u64 input, .param .u64 output)
{{
	.reg .b16 %rs<3>;
	.reg .b32 %r<9>;
	.reg .f32 %f<3>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [input];
	ld.param.u64 %rd2, [output];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.s32 %r1, %r1, %r2, %r3;
	mul.wide.u32 %rd3, %r1, {size};
	add.s64 %rd1, %rd1, %rd3;
	mul.wide.u32 %rd4, %r1, {given};
	add.s64 %rd2, %rd2, %rd4;
	{load} {taken}, [%rd1];
	{name} {operands};
	{store} [%rd2], {result};
	ret;
}}
"""
REGISTERS = {2: ("b16", "%rs1", "%rs2"), 4: ("b32", "%r4", "%r5")}


@pytest.fixture(autouse=True)
def _quiet():
    """What is no number goes through many of these."""
    with np.errstate(all="ignore"):
        yield


def converted(name, values, given):
    """What the instruction of that name makes of each value, an array of type `given`."""
    values, given = np.ascontiguousarray(values), np.dtype(given)
    (of, taken, _), (to, _, result) = REGISTERS[values.itemsize], REGISTERS[given.itemsize]
    text = KERNEL.format(size=values.itemsize, given=given.itemsize, load=f"ld.global.{of}", taken=taken, name=name,
                         operands=f"{result}, {taken}", store=f"st.global.{to}", result=result)  # fmt: skip
    assert values.size % 256 == 0
    run = ptx_machine.run(text, (values.size // 256,), (256,), [values, np.zeros(values.size, given)])
    assert run
    return run.arrays[1]


def same(got, expected):
    """Bit by bit, but for what is no number."""
    got, expected = np.asarray(got), np.asarray(expected)
    bits = f"u{got.itemsize}"
    return np.array_equal(
        np.where(np.isnan(got), 0, got).view(bits), np.where(np.isnan(expected), 0, expected).view(bits)
    )


def table(kind):
    """All finite numbers of that type as float64, rising, 0 once; each is a neighbour of the next."""
    if kind == "tf32":
        bits = np.arange(1 << 19, dtype=np.uint32) << np.uint32(13)
        values = bits.view(np.float32).astype(np.float64)
    elif kind == "bf16":
        values = (ALL.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    else:
        values = ALL.view(np.float16).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


def by_table(values, kind, way):
    """Each of the values, within the table's range, rounded: found among all numbers of that type."""
    numbers = table(kind)
    above = np.searchsorted(numbers, values)  # the first that is not smaller
    above = np.where(numbers[np.minimum(above, numbers.size - 1)] < values, above + 1, above)
    high = numbers[above]
    low = np.where(high == values, high, numbers[above - 1])
    if way in ("rm", "rp", "rz"):
        down = {"rm": True, "rp": False, "rz": values > 0}[way]
        return np.where(down, low, high)
    to_low, to_high = values - low, high - values
    even = low / np.where(high == low, 1, high - low) % 2 == 0  # of the two, one is an even number of such steps
    low_wins = np.abs(low) > np.abs(high) if way == "rna" else even
    return np.where((to_low < to_high) | ((to_low == to_high) & low_wins), low, high)


def hard(kind):
    """float32 to round: numbers of that type, the middles between neighbours, and what lies close to either."""
    numbers = table(kind)
    rng = np.random.default_rng(5)
    numbers = numbers[np.abs(numbers) < np.finfo(np.float32).max / 4]
    at = np.sort(rng.choice(numbers.size - 1, 5_000, replace=False))
    middles = ((numbers[at] + numbers[at + 1]) / 2).astype(np.float32)
    exact = numbers[at].astype(np.float32)
    tries = [middles, exact]
    tries += [np.nextafter(some, np.float32(to)) for some in (middles, exact) for to in (-np.inf, np.inf)]
    values = np.concatenate(tries)
    limits = numbers[1], numbers[-2]
    values = values[(values > limits[0]) & (values < limits[1])]
    return values[: values.size // 256 * 256]


def test_every_float16_and_bfloat16_as_float32():
    assert same(converted("cvt.f32.f16", ALL, np.float32), ALL.view(np.float16).astype(np.float32))
    expected = (ALL.astype(np.uint32) << np.uint32(16)).view(np.float32)
    assert same(formats.exact(ALL, "bf16").astype(np.float32), expected)
    assert same(converted("cvt.f32.bf16", ALL, np.float32), expected)


@pytest.mark.parametrize("way", ["rz", "rm", "rp"])  # the nearest: see below
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_float32_to_16_bits_another_way_than_to_the_nearest(kind, way):
    values = hard(kind)
    got = formats.exact(converted(f"cvt.{way}.{kind}.f32", values, np.float16 if kind == "f16" else np.uint16), kind)
    assert np.array_equal(got, by_table(values.astype(np.float64), kind, way))


@pytest.mark.parametrize("way", ["rna", "rn", "rz"])
def test_float32_to_tf32(way):
    values = hard("tf32")
    got = converted(f"cvt.{way}.tf32.f32", values, np.float32)
    assert np.array_equal(got.astype(np.float64), by_table(values.astype(np.float64), "tf32", way))


def test_float32_to_float16_as_numpy_does():
    bits = np.random.default_rng(6).integers(0, 1 << 32, 1 << 15, dtype=np.uint64).astype(np.uint32)
    values = np.concatenate([bits.view(np.float32), hard("f16")])
    assert same(converted("cvt.rn.f16.f32", values, np.float16), values.astype(np.float16))


def test_float32_to_bfloat16_as_ml_dtypes_does():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.random.default_rng(7).integers(0, 1 << 32, 1 << 15, dtype=np.uint64).astype(np.uint32)
    values = np.concatenate([bits.view(np.float32), hard("bf16")])
    got = converted("cvt.rn.bf16.f32", values, np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    assert same(got, values.astype(ml_dtypes.bfloat16).astype(np.float32))


def test_what_is_no_number_and_what_is_too_large():
    values = np.array([np.nan, np.inf, -np.inf, 3e38, -70000, 65520, 65519, 1e-9] * 32, np.float32)
    got = converted("cvt.rn.f16.f32", values, np.uint16)[:8]
    assert got.tolist() == [0x7FFF, 0x7C00, 0xFC00, 0x7C00, 0xFC00, 0x7C00, 0x7BFF, 0]
    assert converted("cvt.rz.f16.f32", values, np.uint16)[3:5].tolist() == [0x7BFF, 0xFBFF]
    assert converted("cvt.rn.bf16.f32", values, np.uint16)[:4].tolist() == [0x7FFF, 0x7F80, 0xFF80, 0x7F62]
    assert converted("cvt.rna.tf32.f32", values, np.uint32)[0] == 0x7FC00000


@pytest.mark.parametrize("way, rounded", [("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)])
def test_every_float16_to_whole_numbers_and_back(way, rounded):
    halves = ALL.view(np.float16).astype(np.float64)
    expected = np.clip(np.nan_to_num(rounded(halves), nan=0, posinf=1e9, neginf=-1e9), -(2**31), 2**31 - 1)
    limits = np.where(halves == np.inf, 2**31 - 1, np.where(halves == -np.inf, -(2**31), expected))
    assert np.array_equal(converted(f"cvt.{way}.s32.f16", ALL, np.int32), limits)
    whole = ALL.view(np.int16)
    assert same(converted("cvt.rn.f16.s16", whole, np.float16), whole.astype(np.float16))


def test_a_pair_in_a_register():
    values = hard("f16")[: 1 << 14]
    got = formats.rounded(np.stack([values[::2], values[1::2]], axis=-1), "f16x2").view(np.float16)
    assert same(got, values.astype(np.float16))
    text = KERNEL.format(size=4, given=4, load="ld.global.f32", taken="%f1", name="cvt.rn.f16x2.f32",
                         operands="%r5, %f1, 0f40000000", store="st.global.b32", result="%r5")  # fmt: skip
    run = ptx_machine.run(text, (4,), (256,), [values[:1024], np.zeros(1024, np.uint32)])
    halves = run.arrays[1].view(np.float16).reshape(-1, 2)  # the first operand becomes the upper half
    assert run and same(halves[:, 1], values[:1024].astype(np.float16)) and (halves[:, 0] == 2).all()


def smaller(a, b):
    """-0 is smaller than +0."""
    return np.where(np.isnan(b) | (a < b) | ((a == b) & np.signbit(a)), a, b)


def larger(a, b):
    return -smaller(-a, -b)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "min", "max"])
def test_arithmetic_of_float16_and_bfloat16_is_rounded_once(name):
    rng = np.random.default_rng(8)
    pool = np.concatenate([rng.choice(ALL, 300), np.uint16([0, 1, 0x3C00, 0x7BFF, 0x8000, 0x7C00, 0x03FF])])
    a, b = (side.ravel() for side in np.meshgrid(pool, pool))
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": smaller, "max": larger}[name]
    operation = ptx_machine.arithmetic.operation
    for kind in ("f16", "bf16"):
        instruction = ptx_machine.reader.Instruction(1, "", (name, kind), ("%d", "%a", "%b"))
        given = (a.view(np.float16), b.view(np.float16)) if kind == "f16" else (a, b)
        got = formats.exact(operation(instruction)[0](*given), kind)
        exactly = function(formats.exact(given[0], kind), formats.exact(given[1], kind))  # float64 holds most of these
        if kind == "f16":
            assert same(got, exactly.astype(np.float16).astype(np.float64))
        else:
            inside = np.abs(exactly) < 3e38
            assert np.array_equal(got[inside], by_table(exactly[inside], kind, "rn"))
