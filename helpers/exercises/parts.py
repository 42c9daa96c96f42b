"""Many pages: a learner's lines in a kernel of the ladder, since an exercise asks for one of its numbered parts."""

import re
from textwrap import dedent, indent

from .. import ladder
from ..judge.other_sizes import without_comments
from ..launch import KernelError, dialect

PART = re.compile(r"^(?P<space> *)(?:(?:#|//) (?P<alone>\d)\. |\S.*(?:#|//) (?P<beside>\d)\. )")


class CommaIndex(KernelError):
    """C source with an index such as A[row, k], which C takes for A[k]."""


def with_part(name: str, step: str, parts: int | tuple[int, int], text: str) -> str:
    """The source of a step in that dialect, with a learner's text in place of one of its numbered parts.

    `parts`: the number in the comment that begins the part, or (first, last). The last one ends where the next part
    begins, or the block of lines around that part or around this one. Raises ValueError for a part that the kernel
    has not, and CommaIndex for Python's index of two numbers in C.
    """
    if name == "OpenCL":
        refuse_commas(text)
    lines = dialect(name).source_of(ladder.step(step).name).splitlines(keepends=True)
    first, last = parts if isinstance(parts, tuple) else (parts, parts)
    begins = {part_of(line): at for at, line in enumerate(lines) if part_of(line)}
    if not first <= last or not {first, last} <= begins.keys():
        raise ValueError(f"{step} in {name} has no part {parts}; its parts are {', '.join(map(str, begins))}.")
    depth = margin(lines[begins[first]])
    if any(margin(line) < depth and not line.isspace() for line in lines[begins[first] : begins[last] + 1]):
        raise ValueError(f"parts {first} to {last} of {step} do not stand in one block of lines; take fewer.")
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


def refuse_commas(text: str) -> None:
    """Raise CommaIndex for OpenCL C in which an index has a comma, with the line of the text and what C has for it."""
    code = without_comments(text)
    for at in (found.start() for found in re.finditer(r"\[", code)):
        name = re.search(r"[A-Za-z_]\w*\s*(\[[^\[\]]*\]\s*)*$", code[max(0, at - 200) : at])
        depth, end, commas = 1, at + 1, []
        while depth and end < len(code):
            depth += (code[end] in "([{") - (code[end] in ")]}")
            commas += [end] * (depth == 1 and code[end] == ",")
            end += 1
        if commas and name:
            index, array = name[0] + code[at:end], name[0].rstrip()
            first, last = code[at + 1 : commas[-1]].strip(), code[commas[-1] + 1 : end - 1].strip()
            if array in "ABC":
                first = f"({first})" if re.search(r"[-+]", first) else first
                meant = f"{array}[{first} * L + {last}], where L is the length of a row"
            else:
                meant = f"{array}[{first}][{last}]"
            number = text[:at].lstrip("\n").count("\n") + 1
            raise CommaIndex(
                f"line {number} of your text has {index}. C has no such index: it takes what stands behind the comma "
                f"alone, {array}[{last}]. Write {meant}."
            )


def margin(line):
    """The number of spaces that a line begins with."""
    return len(line) - len(line.lstrip(" "))


def part_of(line):
    """The number of the part that the line begins; None if it begins none."""
    found = PART.match(line)
    return int(found["alone"] or found["beside"]) if found else None
