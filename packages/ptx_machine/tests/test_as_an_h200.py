"""What an NVIDIA H200 gave: driver 580.159.04, CUDA 13.0, on 2026-11-26. Operands and results are bits, in hexadecimal.

Each row is of a rule that the manual leaves open, or has otherwise. All were found with others: `test_on_a_gpu.py`.
"""

import numpy as np
import pytest

from ptx_machine import arithmetic
from ptx_machine.reader import Instruction
from ptx_machine.warpwide import cut_sum, numbers

GAVE = """
div.approx.f32 d2118a98 7f7fffff -> 80000000
rcp.approx.ftz.f32 fee791e4 -> 80000000
rcp.approx.ftz.f32 7fffff -> 7f800000
sqrt.approx.ftz.f32 1 -> 0
sqrt.approx.ftz.f32 80000001 -> 80000000
rsqrt.approx.ftz.f32 800fc1df -> ff800000
rsqrt.approx.ftz.f32 1 -> 7f800000
lg2.approx.ftz.f32 80000001 -> ff800000
rcp.approx.ftz.f64 c04054000aaa57ed -> bf9f5b6000000000
rcp.approx.ftz.f64 4092ab2dc80cb4cd -> 3f4b6cf700000000
rcp.approx.ftz.f64 aac691021f74ce4c -> d516b04500000000
rsqrt.approx.ftz.f64 4e0939116d186368 -> 38e2059200000000
rsqrt.approx.ftz.f64 415f4b51cac0922a -> 3f36e19300000000
ex2.approx.f16 39fa -> 3eb6
ex2.approx.f16 cc4a -> 72
tanh.approx.f16 b61e -> b5d5
ex2.approx.ftz.bf16 4023 -> 40ba
tanh.approx.bf16 3f61 -> 3f34
tanh.approx.bf16x2 fbe33e98 -> bf803e93
sin.approx.f32 d7b509bf -> 80000000
sin.approx.f32 c3aac83f -> bf4388e3
cos.approx.f32 c9bc943f -> 3f45e402
cos.approx.f32 75c15f14 -> 3f800000
sin.approx.ftz.f32 4811d758 -> 3f00e7e2
"""
LAST_BITS = {"sin": 18, "cos": 18}  # approximations: how many units in the last place they may be off
PRODUCTS = [  # one number of `mma.sync`, several in a row where it is deep: type, row of A, column of B, C, result
    (
        "tf32",
        "bf72251d 3e562901 3fbe6b20 bfbae511 bfd3991b bfd39af3 3ffd188d be80cf96",
        "bf1cbda5 3ee48ab8 3f6bd5fa bf4b1ae0 bf44e360 bec195f1 3f3faab5 bf17ff03",
        "3fd54000",
        "41063a66",
    ),
    (
        "tf32",
        "bf72251d 3e562901 3fbe6b20 bfbae511 bfd3991b bfd39af3 3ffd188d be80cf96",
        "3f2cffd5 3d73ad64 bf43df4a bde2ce8b 3f983cb9 bf9806e5 be32e007 3f03c79c",
        "3f4da000",
        "bfa331b8",
    ),
    (
        "tf32",
        "3eeb7538 bf8bf6ec 3c837114 bdadd5c7 3f4ab640 3f801501 bf60795d 3f683ccd",
        "3f28bc5b bd665a5c 3e3dee4b bd8e628c 3fc4eeb3 be8cc4c8 3ee4e4b1 3fa0b241",
        "bf1a0000",
        "3fbae489",
    ),
    (
        "f16",
        "3509 b5db b73a 38ec bb7e 390e 39df 33c8 3ac9 36a0 ba3b 3beb bbf1 b433 343e b4e6 3995 3ace b004 34cd "
        "3882 b5b8 b8bb bac2 3768 3a24 b6fb 3b2c bbb3 34d7 ba9d b8f7 b912 b515 b5a0 3a30 3022 b775 b72a ac74 "
        "3afb b9e4 39fa b5ac 3b63 35fa 3363 3bd2",
        "ac8d b975 bade b93c 2873 3bd5 31dd b734 3bb1 bb0a ae50 31f7 b972 38fd b123 34d5 36d4 b7ed b95f 2e6e "
        "37d6 ba5d 39b4 baee b04a b447 b546 38bb 3993 3435 b7ee bbd8 b9d7 b424 b3ff bb09 b5e6 3b33 3b38 b895 "
        "bb5d 3302 b8df b234 310c 396e b7fb bac2",
        "0",
        "3f56433e",
    ),
    (
        "f16",
        "3509 b5db b73a 38ec bb7e 390e 39df 33c8 3ac9 36a0 ba3b 3beb bbf1 b433 343e b4e6 3995 3ace b004 34cd "
        "3882 b5b8 b8bb bac2 3768 3a24 b6fb 3b2c bbb3 34d7 ba9d b8f7 b912 b515 b5a0 3a30 3022 b775 b72a ac74 "
        "3afb b9e4 39fa b5ac 3b63 35fa 3363 3bd2",
        "3b36 36ff 37b6 36e2 bb97 29d8 b88f 3585 3bfd b917 b3ed 39e8 393f 3b7c b440 3a85 3aea b30d 3925 3922 "
        "3393 35af 3bf6 bb4a b796 b468 37e3 a560 b71e 3935 35d9 38d0 ad7d 3939 387a 3ad9 3a67 3634 3bb3 b52f "
        "b82b b8a7 36c6 3189 b829 b196 b259 b6cc",
        "0",
        "3dbe592c",
    ),
]


def bits(words, dtype):
    """Numbers of a type, by the bits that a text has."""
    whole = np.array([int(word, 16) for word in words.split()], np.uint64)
    return whole.astype(f"u{np.dtype(dtype).itemsize}").view(dtype)


@pytest.mark.parametrize("row", GAVE.strip().splitlines())
def test_an_instruction_gives_what_the_h200_gave(row):
    given, result = row.split(" -> ")
    name, *operands = given.split()
    instruction = Instruction(1, name, tuple(name.split(".")), ("%d", *["%a"] * len(operands)))
    function, of, to = arithmetic.operation(instruction)
    with np.errstate(all="ignore"):
        got = function(*(bits(one, arithmetic.TYPES[kind]) for one, kind in zip(operands, of, strict=True)))
    expected = bits(result, arithmetic.TYPES[to]) if to != "pred" else np.array([result == "1"])
    got = np.ascontiguousarray(got).view(f"u{got.itemsize}").astype(object)
    assert abs(got - expected.view(f"u{expected.itemsize}").astype(object)) <= LAST_BITS.get(name[:3], 0)


@pytest.mark.parametrize("kind, a, b, c, result", PRODUCTS)
def test_a_matrix_product_is_cut_as_the_h200_cuts_it(kind, a, b, c, result):
    words, depth = f"u{2 if kind == 'f16' else 4}", 16 if kind == "f16" else 8
    a, b = (numbers(bits(side, words).view(np.uint32), kind).reshape(-1, 1, depth) for side in (a, b))
    for scale in (1, 2.0**-110) if kind == "tf32" else (1,):  # where numbers are cut grows with them
        total = bits(c, np.float32).reshape(1, 1, 1) * scale
        for row, column in zip(a * scale, b, strict=True):
            total = cut_sum(row[None], column.T[None], total.astype(np.float64), kind)
        assert (total / scale).astype(np.float32).view(np.uint32) == int(result, 16)
