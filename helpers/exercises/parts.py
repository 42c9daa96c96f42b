"""Many pages: a learner's lines in a kernel of the ladder, since an exercise asks for one of its numbered parts."""

import re
from textwrap import dedent, indent

from .. import ladder
from ..launch import dialect

PART = re.compile(r".*(?:#|//) (\d)\. ")  # as in "# 3. Everyone is done reading"; code may stand before it


def with_part(name: str, step: str, parts: int | tuple[int, int], text: str) -> str:
    """The source of a step in that dialect, with a learner's text in place of one of its numbered parts.

    `parts`: the number in the comment that begins the part, or (first, last). The last one ends where the next part
    begins, or the block of lines around that part or around this one. Raises ValueError for a part that the kernel
    has not.
    """
    lines = dialect(name).source_of(ladder.step(step).name).splitlines(keepends=True)
    first, last = parts if isinstance(parts, tuple) else (parts, parts)
    begins = {part_of(line): at for at, line in enumerate(lines) if part_of(line)}
    if not {first, last} <= begins.keys():
        raise ValueError(f"{step} in {name} has no part {parts}; its parts are {', '.join(map(str, begins))}.")
    depth = margin(lines[begins[first]])
    end = begins[last] + 1
    while lines[end].isspace() or (margin(lines[end]) >= depth and part_of(lines[end]) != last + 1):
        end += 1
    if margin(lines[begins[last]]) == depth < margin(lines[end]):  # the next part is in a block that begins before it
        while margin(lines[end]) > depth or lines[end].isspace():
            end -= 1
    while lines[end - 1].isspace():
        end -= 1
    mine = indent(dedent(text).strip("\n"), depth * " ").rstrip()
    return "".join(lines[: begins[first]]) + mine + "\n" + "".join(lines[end:])


def margin(line: str) -> int:
    """The number of spaces that a line begins with."""
    return len(line) - len(line.lstrip(" "))


def part_of(line: str) -> int | None:
    """The number of the part that the line begins; None if it begins none."""
    found = PART.match(line)
    return int(found[1]) if found else None
