"""Who touched which element: what the PTX machine and Oclgrind saw, as values of a sentence and of a picture.

Places of threads in a block, and of blocks in a grid, are (x, y). `arrays`: of arrays (rows, columns), by name.
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
    thread, block = who(later, sides, grid)
    other_thread, other_block = who(earlier, sides, grid)
    now, did = NOW.get(later.act, "writes"), BEFORE.get(earlier.act, "wrote")
    doing = {("reads", "wrote"): "reads", ("writes", "read"): "overwrites"}
    does = doing.get((now, did), "writes" if now == "writes" else "touches")
    between = "_unordered" if block != other_block else "_no_barrier"
    if lines[:1] == lines[-1:] and did == "wrote":  # the kernel may well take a wrong element; no barrier is missing
        between = "_across" if block != other_block else ""
    values = THREAD | dict(sides=sides, grid=grid, thread=thread, block=block, at=(0, *lines)[-1])
    values |= dict(other_thread=other_thread, other_block=other_block, other_at=(*lines, 0)[0])
    values |= dict(now=Finding("", now), before=Finding("", NOW.get(earlier.act, "writes")))
    values |= element_of(name, shape, int(later.offsets[0]) // size)
    itself = found.several and (thread, block) == (other_thread, other_block)
    other = "another_thread" if itself else "and_others" if found.several else "one_thread"
    seen = dict(
        who=thread_of(thread, block), other=thread_of(other_thread, other_block, other), element=values["spelled"]
    )
    return Finding(found.kind, f"race_{does}{between}", lines, values | {"text": many(found, f"{now}_{did}", seen)})


def outside_on_ptx(found: ptx_machine.Finding, arrays: dict, sides: tuple, grid: tuple, lines: tuple) -> Finding:
    """An access out of bounds, at those lines."""
    (access,) = found.accesses
    name, shape, size = arrays.get(access.arrays[0], (access.arrays[0], None, FLOAT))
    if name.startswith("__local_depot"):
        name = Finding("", "own_arrays")
    thread, block = who(access, sides, grid)
    places = tuple(place(one, sides) for one in access.threads[access.blocks == access.blocks[0]])
    touched = access.offsets[:, None] // size + np.arange(max(1, access.bytes // size))
    values = THREAD | dict(sides=sides, thread=thread, block=block, places=places)
    values |= outside_of(name, shape, touched.ravel().tolist())
    does = "stores" if access.act in ("store", "copy") else "loads"
    seen = {"who": thread_of(thread, block), "array": name}
    text = many(found, f"{does}_{values['past'].key}", seen)
    return replace(text, kind=found.kind, lines=lines, values=text.values | values)


def at_barrier(access: Access, block: int, sides: tuple, grid: tuple) -> dict:
    """Which threads of a block, by its number, came to a barrier, as values."""
    came = tuple(place(one, sides) for one in access.threads[access.blocks == block])
    return THREAD | dict(sides=sides, block=place(block, grid), came_to_barrier=came)


def who(access: Access, sides: tuple, grid: tuple) -> tuple:
    """The places of an access's first thread and of its block."""
    return place(access.threads[0], sides), place(access.blocks[0], grid)


def place(number: int, sides: tuple) -> tuple:
    """The place of that number, where x runs fastest."""
    return int(number) % sides[0], int(number) // sides[0]


def thread_of(thread: tuple, block: tuple, key: str = "one_thread") -> Finding:
    """A thread of a block in words."""
    x, b = (", ".join(map(str, one)) for one in (thread, block))
    return Finding("", key, values={"x": x, "b": b})


def many(found: ptx_machine.Finding, key: str, values: dict) -> Finding:
    """That sentence, with how many times it happened."""
    once = Finding("", key, values=values)
    return Finding("", "many", values={"text": once, "n": found.times}) if found.times > 1 else once


def element_of(name: str, shape: tuple | None, number: int) -> dict:
    """An element of an array, by its number, as values."""
    element = tuple(map(int, np.unravel_index(number, shape))) if shape else (number,)
    return dict(array=name, shape=shape, element=element, spelled=f"{name}[{', '.join(map(str, element))}]")


def outside_of(name: str, shape: tuple | None, numbers: list) -> dict:
    """What lies outside of an array, by the numbers that its elements would have, as values."""
    key = "outside" if not name else "before" if numbers[0] < 0 else "behind"
    size = np.prod(shape or (0,))
    beyond = tuple(dict.fromkeys(number for number in numbers if not 0 <= number < size))
    return dict(array=name, shape=shape, past=Finding("", key, values={"array": name}), beyond=beyond)


def under_oclgrind(finding: Finding, arrays: dict, sides: tuple, grid: tuple) -> Finding:
    """A finding of Oclgrind's with the element of the array, where its report and the source say which one that is."""
    values, shape = finding.values, arrays.get(finding.values.get("array"))
    if not shape:
        return finding
    numbers, name = [offset // FLOAT for offset in values["offsets"]], values["array"]
    if "other_thread" not in values:
        more = outside_of(name, shape, numbers)
    elif numbers[0] < np.prod(shape):
        more = element_of(name, shape, numbers[0])
    else:
        return finding
    return replace(finding, values=values | more | WORK_ITEM | dict(sides=sides, grid=grid, offsets={}))


def local_arrays(source: str, parameters: dict) -> dict:
    """{name: shape} of a source's local arrays of floats whose sides are numbers or parameters."""
    found = {}
    for name, text in re.findall(r"__local\s+float\s+(\w+)((?:\[\w+\])+)\s*;", source):
        sides = [str(parameters.get(side, side)) for side in re.findall(r"\w+", text)]
        if all(map(str.isdigit, sides)):
            found[name] = tuple(map(int, sides))
    return found
