"""Each form of INSTRUCTIONS.md, down to conversions, with 4,096 operands of many kinds, beside what a GPU gives.

Where there is an NVIDIA GPU, it is asked, which takes a minute; a form that its driver refuses is skipped. Everywhere
what comes out has the checksums that INSTRUCTIONS.md holds: of the bits that an H200 gave, too. What is no number may
have other bits.
"""

import ctypes
import re
import zlib

import numpy as np
import pytest
from test_instructions import ROWS, forms, register

import ptx_machine
from ptx_machine.arithmetic import TYPES
from ptx_machine.formats import SMALL, exact

MANY = 4096
EDGES = {  # zero, subnormal numbers, one, the ends of the range, infinity, NaN, limits of integers
    16: [0, 0x8000, 1, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x3F80, 0x7F80, 0xFFFF, 0x7FFF],
    32: [0, 1 << 31, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
         0x7F800001, 0x4B000000, 0x4F000000, 0x42FE0000, 0xC2FE0000, (1 << 32) - 1, (1 << 31) - 1],
    64: [0, 1 << 63, 1, 0x10000000000000, 0x3FF << 52, 0xBFF << 52, 0x7FEFFFFFFFFFFFFF, 0x7FF << 52, 0xFFF << 52,
         0x7FF8 << 48, (0x7FF << 52) + 1, 0x41E << 52, 0x47EFFFFFE0000000, (1 << 64) - 1, (1 << 63) - 1],
}  # fmt: skip
FILES = {"h": (16, "b16"), "r": (32, "b32"), "q": (64, "b64"), "f": (32, "f32"), "g": (64, "f64"), "p": (32, "pred")}
LETTERS = {"r": "b32", "q": "b64", "f": "f32", "g": "f64", "h": "b16", "p": "pred"}
KERNEL = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(PARAMETERS) {
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<60>; .reg .b64 %q<30>; .reg .f32 %f<9>; .reg .f64 %g<9>;
mov.u32 %r50, %tid.x; mov.u32 %r51, %ctaid.x; mad.lo.u32 %r50, %r51, 256, %r50;
BODY
ret; }
"""


def operands_of(rng, bits, kind):
    """Numbers of so many bits: edges, any bits, small integers, and floats of everyday size."""
    word = np.dtype(f"u{bits // 8}")
    floats = rng.standard_normal(MANY) * 10.0 ** rng.integers(-3, 6, MANY)
    with np.errstate(over="ignore"):
        floats = floats.astype(f"f{bits // 8}").view(word)
    everyday = floats if kind[0] == "f" else rng.integers(-9, 70, MANY).astype(word)
    any_bits = rng.integers(0, 1 << bits, MANY, dtype=np.uint64, endpoint=bits < 64).astype(word)
    choices = [rng.choice(np.array(EDGES[bits], word), MANY), any_bits, any_bits, everyday]
    return np.choose(rng.integers(0, 4, MANY), choices)


def kernel(name, operands):
    """(PTX, arrays, types of the results) of a kernel in which each thread does one instruction."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    kinds = [word for word in name.split(".") if re.fullmatch(r"(b?f|[bus])\d+(x2)?|pred", word)] or ["b32"]
    last, before = kinds[-1], kinds[-2] if len(kinds) > 1 else kinds[-1]
    last = before if name.startswith("slct") else last
    own = LETTERS | dict.fromkeys("dabcAB", last) | {"D": before, "q1": "pred"}
    texts, load, store, given, results = [], [], [], [], []
    for place, operand in enumerate(operands.split(",")):
        parts = [own.get(part.lstrip("!")) for part in operand.replace("p|q", "p|p").split("|")]
        if None in parts:  # a number
            texts.append(operand)
            continue
        registers = []
        for kind in parts:
            file = register(kind)[1]
            bits, move = FILES[file]
            registers.append(f"%{file}{len(given) + len(results) + 1}")
            where, width = (f"o{len(results)}" if place == 0 else f"a{len(given)}"), bits // 8
            at = f"ld.param.u64 %q20, [{where}]; mad.wide.u32 %q20, %r50, {width}, %q20;"
            pred = move == "pred"
            if place == 0:
                put = f"selp.u32 %r51, 1, 0, {registers[-1]}; st.global.b32 [%q20], %r51;"
                store.append(f"{at} {put if pred else f'st.global.{move} [%q20], {registers[-1]};'}")
                results.append((np.zeros(MANY, f"u{width}"), kind))
            else:
                put = f"ld.global.b32 %r51, [%q20]; setp.ne.u32 {registers[-1]}, %r51, 0;"
                load.append(f"{at} {put if pred else f'ld.global.{move} {registers[-1]}, [%q20];'}")
                given.append(rng.integers(0, 2, MANY).astype("u4") if pred else operands_of(rng, bits, kind))
        texts.append("!" * operand.startswith("!") + "|".join(registers))
    carry = ""
    if name.startswith(("addc", "subc", "madc")) or ".cc" in name:  # with a carry from before, and the one behind
        carry = "add.cc.u32 %r54, %r50, 0xfffff800;"
        if ".cc" in name:
            put = "addc.u32 %r54, 0, 0; ld.param.u64 %q20, [o1]; mad.wide.u32 %q20, %r50, 4, %q20;"
            store.insert(0, f"{put} st.global.b32 [%q20], %r54;")
            results.append((np.zeros(MANY, "u4"), "b32"))
    body = "\n".join([*load, carry, f"{name} {', '.join(texts)};", *store])
    names = [f"a{n}" for n in range(len(given))] + [f"o{n}" for n in range(len(results))]
    text = KERNEL.replace("PARAMETERS", ", ".join(f".param .u64 {one}" for one in names)).replace("BODY", body)
    return text, [*given, *(array for array, _ in results)], [kind for _, kind in results]


@pytest.fixture(scope="module")
def driver():
    """NVIDIA's driver, with a context; a test is skipped where it or a GPU is missing."""
    cuda = pytest.importorskip(
        "cuda.bindings.driver", reason="cuda-bindings is not installed: pip install cuda-bindings"
    )
    try:
        found = cuda.cuInit(0)[0], cuda.cuDeviceGetCount()
    except RuntimeError as error:
        pytest.skip(f"there is no NVIDIA driver: {error}")
    if found[0] or found[1][0] or not found[1][1]:
        pytest.skip("there is no NVIDIA GPU")
    context = asked(cuda.cuDevicePrimaryCtxRetain(asked(cuda.cuDeviceGet(0))))
    asked(cuda.cuCtxSetCurrent(context))
    return cuda


def asked(result):
    """What a function of the driver gives; it must succeed."""
    assert not result[0], result[0]
    return result[1] if len(result) > 1 else None


def on_the_gpu(cuda, text, arrays):
    """The arrays after the kernel has run; None where the driver refuses its text."""
    error, module = cuda.cuModuleLoadData(text.encode() + b"\0")
    if error:
        return None
    function = asked(cuda.cuModuleGetFunction(module, b"k"))
    places = [asked(cuda.cuMemAlloc(array.nbytes)) for array in arrays]
    for place, array in zip(places, arrays, strict=True):
        asked(cuda.cuMemcpyHtoD(place, array.ctypes.data, array.nbytes))
    given = tuple(map(int, places)), (ctypes.c_uint64,) * len(places)
    asked(cuda.cuLaunchKernel(function, MANY // 256, 1, 1, 256, 1, 1, 0, 0, given, 0))
    asked(cuda.cuCtxSynchronize())
    after = [np.empty_like(array) for array in arrays]
    for place, array in zip(places, after, strict=True):
        asked(cuda.cuMemcpyDtoH(array.ctypes.data, place, array.nbytes))
        asked(cuda.cuMemFree(place))
    asked(cuda.cuModuleUnload(module))
    return after


def off(ours, theirs, kind, most):
    """Where two results of a type are further apart than `most`: units in the last place, or, a float, by value."""
    if kind in SMALL:  # the numbers of a pair, side by side
        ours, theirs, kind = ours.view(np.uint16), theirs.view(np.uint16), kind.removesuffix("x2")
    floats = kind in SMALL or kind[0] == "f"
    values = [exact(bits.view(TYPES[kind]), kind) if floats else bits for bits in (ours, theirs)]
    nothing = np.isnan(values[0]) & np.isnan(values[1]) if floats else np.zeros(ours.size, bool)
    if isinstance(most, float):
        apart = np.abs(np.subtract(*values)) > most
    else:
        apart = np.where(ours > theirs, ours - theirs, theirs - ours) > most
    return np.flatnonzero((ours != theirs) & apart & ~nothing)


def distance(gave):
    """How far off what an H200 gave may be: units in the last place, or, a float, by value."""
    if gave.startswith("2^-21 off"):
        return 2.0**-21
    found = re.match(r"(\d+) units in the last place off at most(, of the upper word)?$", gave)
    return int(found[1]) << 32 * bool(found[2]) if found else 0


TRIED = [*ROWS][: [*ROWS].index("Conversions") + 1]  # groups
CASES = [
    (name, operands, distance(gave))
    for group in TRIED
    for pattern, operands, gave, _ in ROWS[group]
    for name in forms(pattern)
]


def test_every_form_gives_on_a_gpu_what_it_gives_here(driver):
    wrong, refused = [], []
    for name, operands, most in CASES:
        text, arrays, kinds = kernel(name, operands)
        theirs = on_the_gpu(driver, text, arrays)
        if theirs is None:
            refused.append(name)
            continue
        run = ptx_machine.run(text, (MANY // 256,), (256,), arrays)
        for kind, ours, gpus in zip(kinds, run.arrays[-len(kinds) :], theirs[-len(kinds) :], strict=True):
            for place in off(ours, gpus, kind, most)[:1]:
                given = [hex(array[place]) for array in arrays[: -len(kinds)]]
                wrong.append(f"{name} {given}: {hex(ours[place])} here, {hex(gpus[place])} on the GPU")
    if len(refused) > len(CASES) / 2:
        pytest.skip("the driver refuses these kernels: they ask for a GPU of sm_90, such as an H100, or newer")
    assert not wrong, "\n".join(wrong)


def checksum(pattern, operands):
    """CRC-32 of what all forms of a row give here, with the same bits for all that is no number."""
    found = 0
    for name in forms(pattern):
        text, arrays, kinds = kernel(name, operands)
        run = ptx_machine.run(text, (MANY // 256,), (256,), arrays, requests=False)
        assert run, run
        for kind, bits in zip(kinds, run.arrays[-len(kinds) :], strict=True):
            if kind in SMALL:
                bits, kind = bits.view(np.uint16), kind.removesuffix("x2")
            if kind in SMALL or kind[0] == "f":
                with np.errstate(invalid="ignore"):
                    bits = np.where(np.isnan(exact(bits.view(TYPES[kind]), kind)), ~bits.dtype.type(0), bits)
            found = zlib.crc32(bits, found)
    return f"{found:08x}"


@pytest.mark.parametrize("group", TRIED)
def test_every_form_gives_the_bits_that_it_gave_beside_an_h200(group):
    rows = {pattern: (operands, held) for pattern, operands, gave, held in ROWS[group] if not distance(gave)}
    assert {pattern: checksum(pattern, operands) for pattern, (operands, _) in rows.items()} == {
        pattern: held for pattern, (_, held) in rows.items()
    }
