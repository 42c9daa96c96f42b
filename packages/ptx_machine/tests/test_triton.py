"""Products that Triton compiled for sm_80 and sm_90: right and clean; without a wait or a barrier, not.

`from_triton/product.py` says what they were made from.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import ptx_machine

NAMES = ("f16_copied", "f16_sm90")
SHAPES = [(96, 32, 160), (48, 112, 64)]  # multiples of 16, as was promised to the compiler; a tile has 64 x 64 x 32


def text_of(name):
    return (Path(__file__).parent / "from_triton" / f"{name}.ptx").read_text(encoding="utf-8")


def product(text, shape):
    """(run, the largest error as a part of the bound) of a product of float16 with sums in float32."""
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = given = [rng.uniform(-1, 1, size).astype(np.float16) for size in ((m, k), (k, n))]
    for side in given:
        side.flags.writeable = False
    tile, shared = map(int, re.match(r"// .* (\d+) x \d+ x \d+ a tile, .* (\d+) bytes of shared memory", text).groups())
    args = [*given, np.full((m, n), np.nan, np.float32), m, n, k, 0, 0]  # Triton adds two pointers, not used here
    run = ptx_machine.run(text, (-(-m // tile), -(-n // tile)), (128,), args, shared=shared)
    a, b = a.astype(np.float64), b.astype(np.float64)
    error = np.abs(run.arrays[2] - a @ b) / ((k + 1) * 2.0**-24 * (np.abs(a) @ np.abs(b)))  # a sum's, in any order
    return run, np.inf if np.isnan(error).any() else error.max()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_tritons_products_are_right_and_clean(name, shape):
    run, error = product(text_of(name), shape)
    assert run, run
    assert error <= 1 and run.executed["matrix"] > 0 and (run.stores[2] == 1).all()


def waits(lines):
    """Lines, counted from 0, of waits for copies: each list of them in a row, with a group closed since the last."""
    found, closed = [], False
    for number, line in enumerate(lines):
        closed |= "cp.async.commit_group" in line
        if "cp.async.wait_group" in line:
            if found and found[-1][-1] == number - 1:
                found[-1].append(number)
            elif closed:
                found.append([number])
            closed = False
    return found


def needed_barriers(lines):
    """All but those behind a second wait for the same groups: the barrier behind the first one will do."""
    needed = [n for some in waits(lines) for n in some]
    barriers = [n for n, line in enumerate(lines) if line.startswith("bar.sync")]
    return [[n] for n in barriers if "cp.async.wait" not in lines[n - 1] or n - 1 in needed]


@pytest.mark.parametrize("places", [waits, needed_barriers])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_taken_out_is_missed(name, places):
    lines = [line.strip() for line in text_of(name).splitlines()]
    taken = places(lines)
    assert taken
    for numbers in taken:
        run, error = product("\n".join("" if n in numbers else line for n, line in enumerate(lines)), SHAPES[0])
        assert not run or error > 1, numbers
