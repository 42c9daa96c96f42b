"""Who touched which element: what the PTX machine and Oclgrind saw, as values of a sentence and of a picture.

Places of threads in a block, and of blocks in a grid, are (x, y): `sides` and `grid` say how many there are. `drawn` is
the key of what is said below a picture.
"""

import re
from dataclasses import replace

import numpy as np

import ptx_machine
from ptx_machine.results import Access

from ..judge import Finding

NOW = {"load": "reads", "atomic": "changes", "meet": "touches"}  # else it writes
BEFORE = {"load": "read", "atomic": "changed", "meet": "touched"}  # else it wrote
THREAD = {"item": Finding("", "thread"), "group": Finding("", "block")}
WORK_ITEM = {"item": Finding("", "work_item"), "group": Finding("", "work_group")}
FLOAT = 4  # bytes


def race_on_ptx(found: ptx_machine.Finding, arrays: dict, sides: tuple, grid: tuple, lines: tuple) -> Finding:
    """A race, at those lines, the earlier first. `arrays`: {the machine's name: (own, shape, bytes of an element)}."""
    later, earlier = found.accesses
    name, shape, size = arrays.get(later.arrays[0], (later.arrays[0], None, FLOAT))
    mine, others = who(later, sides, grid), who(earlier, sides, grid)
    now, did = NOW.get(later.act, "writes"), BEFORE.get(earlier.act, "wrote")
    doing = {("reads", "wrote"): "reads", ("writes", "read"): "overwrites"}
    doing = doing.get((now, did), "writes" if now == "writes" else "touches")
    across = mine["block"] != others["block"]
    between = "_unordered" if across else "_no_barrier"
    if lines[:1] == lines[-1:] and did == "wrote":  # the kernel may well take a wrong element; no barrier is missing
        between = "_across" if across else ""
    values = (
        element_of(name, shape, int(later.offsets[0]) // size) | mine | dict(does=Finding("", now), at=(0, *lines)[-1])
    )
    values |= {f"other_{one}": others[one] for one in others}
    values |= dict(
        other_does=Finding("", NOW.get(earlier.act, "writes")), other_at=(*lines, 0)[0], sides=sides, grid=grid
    )
    other = "one_thread" if not found.several else "another_thread" if mine == others else "and_others"
    seen = {"who": in_words(mine), "element": values["spelled"], "other": in_words(others, other)}
    values |= THREAD | {"text": many(found, f"{now}_{did}", seen)}
    return Finding(found.kind, f"race_{doing}{between}", lines, values)


def outside_on_ptx(found: ptx_machine.Finding, arrays: dict, sides: tuple, grid: tuple, lines: tuple) -> Finding:
    """An access out of bounds, at those lines."""
    (access,) = found.accesses
    name, shape, size = arrays.get(access.arrays[0], (access.arrays[0], None, FLOAT))
    if name.startswith("__local_depot"):
        name = Finding("", "own_arrays")
    mine, does = who(access, sides, grid), "stores" if access.act in ("store", "copy") else "loads"
    numbers = access.offsets[:, None] // size + np.arange(max(1, access.bytes // size))
    values = outside_of(name, shape, numbers.ravel().tolist()) | mine
    values |= in_red(access.threads[access.blocks == access.blocks[0]], sides)
    text = many(found, f"{does}_{values['past'].key}", {"who": in_words(mine), "array": name})
    return replace(text, kind=found.kind, lines=lines, values=text.values | values)


def at_barrier(access: Access, block: int, sides: tuple, grid: tuple) -> dict:
    """Which threads of a block, by its number, came to a barrier, as values."""
    absent = np.setdiff1d(np.arange(np.prod(sides)), access.threads[access.blocks == block])
    return in_red(absent, sides) | dict(block=place(block, grid), drawn="drawn_barrier")


def who(access: Access, sides: tuple, grid: tuple) -> dict:
    """The places of an access's first thread and of its block, as values."""
    return dict(thread=place(access.threads[0], sides), block=place(access.blocks[0], grid))


def place(number: int, sides: tuple) -> tuple:
    """The place of that number, where x runs fastest."""
    return int(number) % sides[0], int(number) // sides[0]


def in_red(threads: np.ndarray, sides: tuple) -> dict:
    """Threads of a block, by their numbers, that a picture has in red, as values."""
    places, all_ = tuple(place(one, sides) for one in threads), int(np.prod(sides))
    return THREAD | dict(places=places, sides=sides, red=len(places), green=all_ - len(places), all=all_)


def in_words(places: dict, key: str = "one_thread") -> Finding:
    """A thread of a block."""
    x, b = (", ".join(map(str, places[one])) for one in ("thread", "block"))
    return Finding("", key, values={"x": x, "b": b})


def many(found: ptx_machine.Finding, key: str, values: dict) -> Finding:
    """That sentence, with how many times it happened."""
    once = Finding("", key, values=values)
    return Finding("", "many", values={"text": once, "n": found.times}) if found.times > 1 else once


def element_of(name: str, shape: tuple | None, number: int) -> dict:
    """An element of an array, by its number, as values."""
    known = shape and number < np.prod(shape)
    element = np.unravel_index(number, shape) if known else (number,)
    values = dict(array=name, array_shape=shape, number=number, spelled=f"{name}[{', '.join(map(str, element))}]")
    return values | {"drawn": "drawn_later"} if known else values


def outside_of(name: str, shape: tuple | None, numbers: list) -> dict:
    """What lies outside of an array, by the numbers that its elements would have, as values."""
    key = "outside" if not name else "before" if numbers[0] < 0 else "behind"
    values = dict(array=name, array_shape=shape, past=Finding("", key, values={"array": name}))
    if not shape:
        return values
    size = int(np.prod(shape))
    return values | dict(numbers=tuple({n: 0 for n in numbers if not 0 <= n < size}), drawn="drawn_outsiders")


def under_oclgrind(finding: Finding, arrays: dict, sides: tuple, grid: tuple) -> Finding:
    """A finding of Oclgrind's with the element of the array, where its report and the source say which one that is."""
    values, shape = finding.values, arrays.get(finding.values.get("array"))
    if not shape:
        return finding
    name, numbers = values["array"], [offset // FLOAT for offset in values["offsets"]]
    if "other_thread" not in values:
        more = outside_of(name, shape, numbers) | {"drawn": "drawn_outside"}
    else:
        more = element_of(name, shape, numbers[0])
    return replace(finding, values=values | more | WORK_ITEM | dict(sides=sides, grid=grid))


def local_arrays(source: str, parameters: dict) -> dict:
    """{name: shape} of a source's local arrays of floats whose sides are numbers or parameters."""
    found = {}
    for name, text in re.findall(r"__local\s+float\s+(\w+)((?:\[\w+\])+)\s*;", source):
        sides = [str(parameters.get(side, side)) for side in re.findall(r"\w+", text)]
        if all(map(str.isdigit, sides)):
            found[name] = tuple(map(int, sides))
    return found
