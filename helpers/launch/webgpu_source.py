"""What a WGSL source says of itself, before a driver builds it: its sizes, its memory, its statements."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .formulas import Unknown, number

BYTES = {"f32": 4, "i32": 4, "u32": 4, "bool": 4, "f16": 2, "f": 4, "i": 4, "u": 4, "h": 2}  # of a scalar


def without_comments(source: str) -> str:
    """WGSL with spaces for its comments, so that all else stands where it stood; /* */ may hold others of its kind."""
    code, depth, end = [], 0, 0
    for found in re.finditer(r"/\*|\*/|//[^\n]*", source):
        mark = found[0][:2]
        if found.start() < end or (mark == "*/" and not depth) or (mark == "//" and depth):
            continue
        if not depth:
            code.append(source[end : found.start()])
            end = found.start()
        depth += (mark == "/*") - (mark == "*/")
        if not depth:
            code.append(re.sub(r"[^\n]", " ", source[end : found.end()]))
            end = found.end()
    return "".join(code) + source[end:]


def line_of(pattern: str, code: str) -> int | None:
    """The 1-based line in which that pattern is first found; None where it is not."""
    found = re.search(pattern, code)
    return found and code.count("\n", 0, found.start()) + 1


def constants(code: str, parameters: dict) -> dict:
    """{name: whole number} of the parameters, and of the constants that code without comments declares."""
    values = dict(parameters)
    for name, text in 2 * re.findall(r"^(?:const|override)\s+(\w+)[^=;]*=\s*([^;]+);", code, re.MULTILINE):
        try:
            values[name] = number(text, values)
        except Unknown:
            values.pop(name, None)
    return values


def workgroup_size(code: str, values: dict) -> tuple[int, int, int] | None:
    """The invocations along x, y, z that code without comments asks for; None where the text does not tell."""
    found = re.search(r"@workgroup_size\s*\(((?:[^()]|\([^()]*\))*)\)", code)
    try:
        sides = [number(text, values) for text in found[1].split(",") if text.strip()] if found else []
    except Unknown:
        return None
    return (*sides, *(3 - len(sides)) * (1,)) if sides else None


def workgroup_bytes(code: str, values: dict) -> int:
    """Bytes of workgroup memory of the variables that code without comments declares and uses.

    As WebGPU counts them: each fills whole pieces of 16. One whose size the text does not tell counts as none.
    """
    total = 0
    for name, kind in re.findall(r"\bvar\s*<\s*workgroup\s*>\s*(\w+)\s*:\s*([^;=]+)", code):
        if len(re.findall(rf"\b{name}\b", code)) > 1:
            try:
                total += whole(layout(kind, code, values)[0], 16)
            except Unknown:
                continue
    return total


def whole(size: int, step: int) -> int:
    """The size, rounded up to a multiple of step."""
    return -(-size // step) * step


def layout(kind: str, code: str, values: dict) -> tuple[int, int]:
    """(bytes, alignment) of a type of WGSL. Raises Unknown for one that the text does not tell."""
    kind = "".join(kind.split())
    if kind in BYTES:
        return BYTES[kind], BYTES[kind]
    if found := re.fullmatch(r"array<(.+),([^,]+?),?>", kind):
        size, align = layout(found[1], code, values)
        return whole(size, align) * number(found[2], values), align
    if found := re.fullmatch(r"atomic<(\w+)>", kind):
        return layout(found[1], code, values)
    if found := re.fullmatch(r"(?:mat([234])x|vec)([234])(?:<(\w+)>|([fiuh]))", kind):
        columns, rows, scalar = int(found[1] or 1), int(found[2]), BYTES.get(found[3] or found[4])
        if scalar is None:
            raise Unknown
        align = scalar * (2 if rows == 2 else 4)
        return (columns * align if found[1] else rows * scalar), align
    if found := re.search(rf"\balias\s+{re.escape(kind)}\s*=\s*([^;]+);", code):
        return layout(found[1], code, values)
    if found := re.search(rf"\bstruct\s+{re.escape(kind)}\s*\{{([^}}]*)\}}", code):
        end, most = 0, 1
        for field in re.findall(r"\w+\s*:\s*((?:[^,<]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)+)", found[1]):
            size, align = layout(field, code, values)
            end, most = whole(end, align) + size, max(most, align)
        return whole(end, most), most
    raise Unknown


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement of WGSL: its text, its 1-based line, and the statements in its braces; None where it has none.

    Of a loop, a branch or a function the text is what stands before the braces.
    """

    text: str
    line: int
    inside: list | None = None

    def all(self) -> Iterator["Statement"]:
        """It, and each statement in it, in the order of the text."""
        yield self
        for one in self.inside or ():
            yield from one.all()


def statements(code: str) -> Statement:
    """Code without comments, of which the braces match, as one statement that holds all others."""
    start, depth, holders = 0, 0, [Statement("", 1, [])]
    for at, sign in enumerate(code):
        depth += (sign in "([") - (sign in ")]")
        if depth or sign not in "{};":
            continue
        text = code[start:at]
        line = 1 + code.count("\n", 0, at - len(text.lstrip()))
        start = at + 1
        if sign == "}":
            if len(holders) > 1:
                holders.pop()
            continue
        holders[-1].inside.append(Statement(text.strip(), line, [] if sign == "{" else None))
        if sign == "{":
            holders.append(holders[-1].inside[-1])
    return holders[0]
