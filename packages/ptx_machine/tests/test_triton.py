"""Products that Triton compiled for sm_80 and sm_90, at ragged shapes: right and clean; with a fault planted, found.

`from_triton/product.py` says what they were made from.
"""

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import ptx_machine

FOLDER = Path(__file__).parent / "from_triton"
SHAPES = [tuple(map(int, row)) for row in np.random.default_rng(33).integers(1, 141, (6, 3))]
PROMISED = ("f16_copied", "f16_sm90", "tf32_sm90")
PLAIN = ("f32", "tf32", "bf16")
LARGER = [(m // 4 + 32, n // 4 + 32, k // 3 + 97) for m, n, k in SHAPES]  # no part of a whole tile lies outside


def fit(name, shape):
    """The shape; where the compiler was promised multiples of 16, and has tiles of 64, such a shape that is larger."""
    return tuple(side // 16 * 16 + 32 for side in shape) if name in PROMISED else shape


def text_of(name):
    return (FOLDER / f"{name}.ptx").read_text()


def inputs(name, shape, seed=0):
    """(A, B as float64, both as the kernel takes them)."""
    m, n, k = shape
    rng = np.random.default_rng(seed)
    sides = [rng.uniform(-1, 1, size).astype(np.float32) for size in ((m, k), (k, n))]
    if name.startswith("bf16"):
        given = [(side.view(np.uint32) >> np.uint32(16)).astype(np.uint16) for side in sides]
        sides = [(side.astype(np.uint32) << np.uint32(16)).view(np.float32) for side in given]
    elif name.startswith("f16"):
        given = sides = [side.astype(np.float16) for side in sides]
    else:
        given = sides
    for side in given:
        side.flags.writeable = False
    return *(side.astype(np.float64) for side in sides), given


def product(name, text, shape):
    """(run, the largest error as a part of the type's bound) of a kernel of that name."""
    m, n, k = shape
    a, b, given = inputs(name, shape)
    head = re.match(r"// .* (\d+) x \d+ x \d+ a tile, .* (\d+) bytes of shared memory", text)
    tile, shared = map(int, head.groups())
    args = [*given, np.full((m, n), np.nan, np.float32), m, n, k, 0, 0]  # Triton adds two pointers, not used here
    run = ptx_machine.run(text, (-(-m // tile), -(-n // tile)), (128,), args, shared=shared)
    size = np.abs(a) @ np.abs(b)
    bound = (k + 1) * 2.0**-24 * size  # of a sum in float32, in any order
    if name.startswith("tf32"):
        bound = bound + 2 * 2.0**-10 * size  # each factor loses less than one part in 2**10
    error = np.abs(run.arrays[2] - a @ b) / bound
    return run, np.inf if np.isnan(error).any() else error.max()


@pytest.mark.parametrize("name", [*PLAIN, *PROMISED])
def test_tritons_products_are_right_and_clean(name):
    for shape in (fit(name, shape) for shape in SHAPES[:3]):
        run, error = product(name, text_of(name), shape)
        assert run, (shape, run)
        assert error <= 1, (shape, error)
        multiplies = run.executed["FMA" if name == "f32" else "matrix"]
        assert multiplies > 0 and (run.stores[2] == 1).all()


# ------------------------------------------------------------------------------- planted faults


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


def without_a_wait(lines, rng):
    for number in waits(lines)[rng.integers(len(waits(lines)))]:
        lines[number] = ""


def with_a_wrong_fragment(lines, rng):
    number = rng.choice([n for n, line in enumerate(lines) if line.startswith("mma.sync")])
    parts = lines[number].split("}")  # results, A, B, C
    wrong = rng.choice([1, 2])
    registers = re.findall(r"%r\d+", parts[wrong])
    parts[wrong] = parts[wrong].replace(registers[0], registers[1], 1)
    lines[number] = "}".join(parts)


def with_an_offset(lines, rng):
    number = rng.choice([n for n, line in enumerate(lines) if re.match(r"ldmatrix|ld\.shared|cp\.async\.c[ag]", line)])
    line = lines[number]
    step = 16 if line.startswith(("ldmatrix", "cp.async.cg")) or ".v4" in line else 8 if ".v2" in line else 4
    place = re.search(r"\[\s*(%r\d+)\s*(?:\+\s*(\d+))?\s*\]", line)
    lines[number] = line[: place.start()] + f"[{place[1]}+{int(place[2] or 0) + step}]" + line[place.end() :]


def with_a_wrong_group(lines, rng):
    """One more group may be on its way; not behind the loop, where the last of them brings what nobody reads."""
    inside = waits(lines)[:-1] if len(waits(lines)) > 1 else waits(lines)
    for number in inside[rng.integers(len(inside))]:
        lines[number] = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), lines[number])


def with_swapped_rows(lines, rng):
    """Two loads of matrices take each other's rows."""
    rows = {n: re.search(r"\[.*\]", line)[0] for n, line in enumerate(lines) if line.startswith("ldmatrix")}
    one = rng.choice(list(rows))
    other = rng.choice([n for n in rows if lines[n].split()[0] == lines[one].split()[0] and rows[n] != rows[one]])
    lines[one], lines[other] = (lines[n].replace(rows[n], rows[m]) for n, m in ((one, other), (other, one)))


def without_a_barrier(lines, rng):
    """Any but one behind a second wait for the same groups: the barrier behind the first one will do."""
    needed = [n for some in waits(lines) for n in some]
    barriers = [n for n, line in enumerate(lines) if line.startswith("bar.sync")]
    behind = {n: "cp.async.wait" not in lines[n - 1] or n - 1 in needed for n in barriers}
    lines[rng.choice([n for n in barriers if behind[n]])] = ""


def with_a_wrong_descriptor(lines, rng):
    """A product of a warp group takes a descriptor for another."""
    number = rng.choice([n for n, line in enumerate(lines) if line.startswith("wgmma.mma_async")])
    a, b = re.findall(r"%rd\d+", lines[number])
    lines[number] = lines[number].replace(*rng.permutation([a, b]))


PLANTED = (without_a_wait, with_a_wrong_fragment, with_an_offset, with_a_wrong_group, with_swapped_rows)
GROUPS = (without_a_wait, with_a_wrong_descriptor, with_an_offset, with_a_wrong_group)
# One program has all kinds of instructions that the older ones have, and one those of warp groups.
FAULTS = [("f16_copied", fault) for fault in (*PLANTED, without_a_barrier)]
FAULTS += [("f16_sm90", fault) for fault in (*GROUPS, without_a_barrier)]


@pytest.mark.parametrize("name, fault", FAULTS)
def test_a_planted_fault_is_found_at_each_place(name, fault):
    places = defaultdict(list)  # {a text with the fault in one place: shapes}
    for number, shape in enumerate(fit(name, shape) for shape in LARGER):
        lines = [line.strip() for line in text_of(name).splitlines()]
        fault(lines, np.random.default_rng(number))
        places["\n".join(lines)].append(shape)
    missed = []
    for text, shape in ((text, shape) for text, shapes in places.items() for shape in shapes[:2]):
        run, error = product(name, text, shape)
        if run and error <= 1:
            missed.append(shape)
    assert not missed, f"not found at {missed}"
