"""Who touched which element: what the PTX machine and Oclgrind saw, in words, and as what a notebook draws."""

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .findings import Drawn, Finding

DOES = {"load": "reads", "atomic": "changes", "meet": "touches"}  # else it writes
RACES = {("reads", "writes"): "reads", ("writes", "reads"): "overwrites"}  # what (later, earlier) do
FLOAT = 4  # bytes


class Launched(NamedTuple):
    """A launch: {name: (the source's, shape or None, bytes of an element)}; (x, y) of a block and of the grid."""

    arrays: dict
    block: tuple
    grid: tuple
    item: str = "thread"  # or "item", of OpenCL's


class Touch(NamedTuple):
    """What one thread does: its place (x, y) in its block, its block's in the grid, and a verb's key, as "reads"."""

    thread: tuple
    block: tuple
    does: str


def race_on_ptx(found, launched: Launched, lines: tuple) -> Finding:
    """A race that `ptx_machine.Run` has found, at those lines, the earlier first."""
    later, earlier = (touch(access, launched) for access in found.accesses)
    array, shape, size = launched.arrays[found.accesses[0].arrays[0]]
    doing = RACES.get((later.does, earlier.does), "writes" if later.does == "writes" else "touches")
    across = later.block != earlier.block
    between = "unordered" if across else "no_barrier"
    if len({*lines}) == 1 and earlier.does == "writes":  # the kernel may well take a wrong element; it lacks no barrier
        between = "across" if across else "on_one_line"
    alone = later[:2] == earlier[:2]  # of several threads only this one is known
    other = "another_thread" if alone else "and_others" if found.several else "one_thread"
    drawn = race(launched, array, shape, int(found.accesses[0].offsets[0]) // size, later, earlier, other)
    values = {"doing": Finding("", f"race_{doing}", values={"array": array}), "between": Finding("", f"race_{between}")}
    values |= dict(zip(("later", "earlier"), drawn.captions, strict=True))
    return at_lines(found, Finding("", "race", values=values), lines, drawn)


def outside_on_ptx(found, launched: Launched, lines: tuple) -> Finding:
    """An access out of bounds, at those lines."""
    (access,) = found.accesses
    array, shape, size = launched.arrays[access.arrays[0]]
    numbers = (access.offsets[:, None] // size + np.arange(max(1, access.bytes // size))).ravel().tolist()
    drawn = outside(launched, array, shape, numbers, touch(access, launched))
    return at_lines(found, *drawn.captions, lines, drawn)


def unset_on_ptx(found, launched: Launched, lines: tuple) -> Finding:
    """A read of shared memory that no thread has written, at those lines."""
    (access,) = found.accesses
    array, shape, size = launched.arrays[access.arrays[0]]
    one = touch(access, launched)
    values = {"who": in_words(one, "one_thread"), "does": Finding("", one.does)}
    values["element"] = element(array, shape, int(access.offsets[0]) // size)
    return at_lines(found, Finding("", "unset_element", values=values), lines)


def under_oclgrind(finding: Finding, launched: Launched) -> Finding:
    """A finding of Oclgrind's with what is drawn, where its report and the source say which element it is about."""
    array, byte, *touches = finding.values.get("touched") or ("", 0)
    if array not in launched.arrays:
        return finding
    name, shape, size = launched.arrays[array]
    first, *others = (Touch(*one) for one in touches)
    if others:
        return replace(finding, drawn=race(launched, name, shape, byte // size, first, *others))
    return replace(finding, drawn=outside(launched, name, shape, [byte // size], first))


def race(launched, array, shape, number, later, earlier, other="one_item") -> Drawn:
    """What two threads do to an element."""
    who, did = in_words(later, f"one_{launched.item}"), Finding("", f"did_{earlier.does}")
    values = {"who": who, "does": Finding("", later.does), "element": element(array, shape, number)}
    before = Finding("", "earlier", values={"who": in_words(earlier, other), "did": did})
    return Drawn((Finding("", "later", values=values), before), array, shape, (number,))


def outside(launched, array, shape, numbers, first) -> Drawn:
    """What lies outside of an array, by the numbers that its elements would have, and who reaches it first."""
    where = Finding("", "outside" if not array else "before" if numbers[0] < 0 else "behind", values={"array": array})
    does = Finding("", "loads" if first.does == "reads" else "stores")
    values = {"who": in_words(first, f"one_{launched.item}"), "does": does, "where": where}
    red = tuple(n for n in dict.fromkeys(numbers) if not 0 <= n < np.prod(shape or 0))
    return Drawn((Finding("", "reaches", values=values),), array, shape, red)


def element(array, shape, number):
    """The name of an element by its number, as "As[0, 1]"."""
    return f"{array}[{', '.join(map(str, np.unravel_index(number, shape) if shape else [number]))}]"


def touch(access, launched: Launched) -> Touch:
    """What the first thread of an access does."""
    where = place(access.threads[0], launched.block), place(access.blocks[0], launched.grid)
    return Touch(*where, DOES.get(access.act, "writes"))


def place(number: int, sides: tuple) -> tuple:
    """The place (x, y) of that number, where x runs fastest."""
    return int(number) % sides[0], int(number) // sides[0]


def in_words(one: Touch, key: str) -> Finding:
    """What names a thread and its block, or the block alone."""
    return Finding("", key, values={"x": ", ".join(map(str, one.thread)), "b": ", ".join(map(str, one.block))})


def at_lines(found, once: Finding, lines: tuple, drawn: Drawn | None = None) -> Finding:
    """That sentence with how many times it happened, and what is drawn of it where the array's shape is known."""
    many = Finding("", "many", values={"text": once, "n": found.times}) if found.times > 1 else once
    return replace(many, kind=found.kind, lines=lines, drawn=drawn if drawn and drawn.shape else None)


def local_arrays(source: str, parameters: dict) -> dict:
    """{name: (name, shape, bytes)} of a source's local arrays of floats whose sides are numbers or parameters."""
    found = {}
    for name, text in re.findall(r"__local\s+float\s+(\w+)((?:\[\w+\])+)\s*;", source):
        sides = [str(parameters.get(side, side)) for side in re.findall(r"\w+", text)]
        if all(map(str.isdigit, sides)):
            found[name] = name, tuple(map(int, sides)), FLOAT
    return found
