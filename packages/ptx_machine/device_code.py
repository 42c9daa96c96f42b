"""Finds what of a CUDA C++ file is for the GPU, so that a compiler that takes no host code takes the file.

A file is read as C++'s declarations are laid out: up to a semicolon, or a body in braces. What is inside a namespace or
a type is read likewise. Nothing is moved: what is left out becomes spaces, so that each line keeps its number.
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""(?P<space>\s+|//(?:\\\n|[^\n])*|/\*.*?\*/)"""
    r"""|(?P<directive>(?<![^\n])[ \t]*\#(?:\\\r?\n|/\*.*?\*/|(?!//)[^\n])*)"""
    r"""|(?P<string>(?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<word>[A-Za-z_]\w*|\.?\d(?:[\w.']|[eEpP][+-])*)|(?P<mark_of_its_own>.)""",
    re.DOTALL | re.VERBOSE,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}
ON_THE_GPU = {"__global__", "__device__", "__constant__", "__managed__", "__shared__"}
TYPES = {"struct", "class", "union", "enum"}
WITH_BRACKETS = {"__align__", "alignas", "__attribute__", "__launch_bounds__", "decltype", "noexcept", "explicit",
                 "__declspec", "__cluster_dims__", "__block_size__", "__maxnreg__", "requires", "operator"}  # fmt: skip
NO_FUNCTION = {"using", "typedef", "static_assert", "friend", "namespace", "asm"}
BEHIND_BRACKETS = {"{", ";", ":", "-", ",", "=", "[", "(", "&", ".", "const", "noexcept", "override", "final", "try"}
DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(.*)", re.DOTALL)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)


@dataclass
class Part:
    """A declaration of a file.

    start, end  where it stands in the text, in characters
    words       of its head, which is all before its body
    function    its name, where it is a function's, or ""
    takes       names of a function's parameters; "" for one that has none
    inside      parts of a namespace or a type
    is_type     whether it is a type's
    """

    start: int
    end: int
    words: set
    function: str = ""
    takes: tuple = ()
    inside: list = field(default_factory=list)
    is_type: bool = False


class Source:
    """A file of CUDA C++.

    text      as it stands there
    parts     list of `Part`
    gpu_words  words that put a function on the GPU: CUDA's, and macros that hold one of those
    """

    def __init__(self, text, gpu_words=frozenset()):
        self.text = text
        found = list(TOKEN.finditer(text))
        self.directives = [one.span() for one in found if one["directive"] is not None]
        self.gpu_words = ON_THE_GPU | gpu_words
        macros = [DEFINE.match(text[slice(*span)]) for span in self.directives]
        for _ in range(3):  # a macro may be made of another
            self.gpu_words |= {m[1] for m in macros if m and self.gpu_words & set(re.findall(r"\w+", m[2]))}
        self.tokens = [one for one in found if one["space"] is None and one["directive"] is None]
        self.marks = [one[0] for one in self.tokens]
        self.parts = self.read(0, len(self.tokens))

    def closing(self, at):
        """Where the bracket that opens there is closed; the last token if nowhere."""
        depth, opening, closing = 0, self.marks[at], CLOSING[self.marks[at]]
        for number in range(at, len(self.marks)):
            depth += (self.marks[number] == opening) - (self.marks[number] == closing)
            if not depth:
                return number
        return len(self.marks) - 1

    def behind_template(self, at, end):
        """Where a declaration goes on behind `template <...>`."""
        while self.marks[at] == "template" and self.marks[at + 1 : at + 2] == ["<"]:
            depth = 0
            for number in range(at + 1, end):
                depth += (self.marks[number] == "<") - (self.marks[number] == ">")
                if not depth:
                    break
            at = number + 1
        return min(at, end - 1)

    def read(self, at, end):
        """The parts of these tokens."""
        parts = []
        while at < end:
            if self.marks[at] in ("public", "private", "protected") and self.marks[at + 1] == ":":
                at += 2
                continue
            part, at = self.read_part(at, end)
            parts.append(part)
        return parts

    def read_part(self, start, end):
        """(the part that begins at a token, the token behind it)."""
        first = self.behind_template(start, end)
        head, brackets, body, given, at = [], [], None, False, first
        is_type = self.marks[first] in TYPES or (self.marks[first] == "typedef" and self.marks[first + 1] in TYPES)
        is_scope = self.marks[first] == "namespace" or self.marks[first : first + 3] == ["extern", '"C"', "{"]
        is_scope |= self.marks[first : first + 2] == ["inline", "namespace"]
        while at < end and self.marks[at] != ";":
            mark = self.marks[at]
            given |= mark == "="
            if mark == "{":
                close, body = self.closing(at), body or at
                if not (is_type or given) and (is_scope or self.marks[close + 1 : close + 2] not in (["{"], [","])):
                    at = close
                    break
                at = close
            elif mark in CLOSING:
                if mark == "(" and not given and body is None and head and self.named(head[-1]):
                    brackets.append(at)
                at = self.closing(at)
                if at - 1 > start and self.macro_alone(start, at, end):
                    break
            elif body is None:
                head.append(at)
            at += 1
        at = min(at, end - 1)
        words = {self.marks[n] for n in range(first, at + 1 if body is None else body)}
        part = Part(self.tokens[start].start(), self.tokens[at].end(), words, is_type=is_type and body is not None)
        if body is not None and (is_scope or is_type) and self.marks[first] != "enum":
            part.inside = self.read(body + 1, self.closing(body))
        elif brackets and self.marks[first] not in NO_FUNCTION:
            part.function, part.takes = self.function(brackets[0])
        return part, at + 1

    def named(self, at):
        """Whether brackets behind that word can be a function's."""
        return bool(re.match(r"[A-Za-z_>]", self.marks[at])) and self.marks[at] not in WITH_BRACKETS

    def macro_alone(self, start, close, end):
        """Whether a macro's use, such as `KERNEL(float)` on a line of its own, ends there."""
        name = self.marks[start]
        if (
            self.marks[start + 1] != "("
            or name.startswith("__")
            or self.closing(start + 1) != close
            or close + 1 >= end
        ):
            return False
        between = self.text[self.tokens[close].end() : self.tokens[close + 1].start()]
        return "\n" in between and self.marks[close + 1] not in BEHIND_BRACKETS

    def function(self, opens):
        """(name, names of the parameters) of a function whose parameters begin at that bracket."""
        at = opens - 1
        if self.marks[at] == ">":  # f<float>(...)
            depth = 1
            while depth and at:
                at -= 1
                depth += (self.marks[at] == ">") - (self.marks[at] == "<")
            at -= 1
        takes, depth, at_name, closes = [[]], 0, self.marks[at], self.closing(opens)
        number = opens + 1
        while number < closes:
            mark = self.marks[number]
            depth += (mark == "<") - (mark == ">")
            if mark == "," and not depth:
                takes.append([])
            elif mark in CLOSING and self.marks[number + 1] not in ("*", "&"):
                number = self.closing(number)
            else:
                takes[-1].append(mark)
            number += 1
        return at_name, tuple(map(parameter, filter(None, takes)))

    def on_the_gpu(self, part):
        """Whether a part is for the GPU, or holds what is."""
        return bool(part.words & self.gpu_words) or any(map(self.on_the_gpu, part.inside))

    def to_leave_out(self, line, column):
        """The part to leave out where a compiler finds that place wrong: a function, a type; None for the GPU's."""
        starts = [0, *(one.end() for one in re.finditer("\n", self.text))]
        at, path, parts = starts[line - 1] + column, [], self.parts
        while here := [one for one in parts if one.start <= at < one.end]:
            path.append(here[0])
            parts = here[0].inside
        if not path or self.on_the_gpu(path[-1]):
            return None
        types = [] if path[-1].function else [one for one in path if one.is_type]
        left_out = types[0] if types else path[-1]
        return None if self.on_the_gpu(left_out) else left_out

    def functions(self, parts=None):
        """All functions, but for those of types."""
        for part in self.parts if parts is None else parts:
            if part.function:
                yield part
            elif not part.is_type:
                yield from self.functions(part.inside)

    def host_functions(self):
        """Functions that only the host can call: they have no word of CUDA's, and no `constexpr`."""
        return [one for one in self.functions() if not one.words & (self.gpu_words | {"constexpr", "consteval"})]

    def without(self, gone):
        """The text with spaces in place of these parts; directives of the preprocessor stay."""
        text = list(self.text)
        kept = {n for start, end in self.directives for n in range(start, end)}
        for part in gone:
            for n in range(part.start, part.end):
                if text[n] not in "\r\n" and n not in kept:
                    text[n] = " "
        return "".join(text)


def parameter(marks):
    """The name of a parameter, from what stands between two commas."""
    words = marks[: marks.index("=")] if "=" in marks else marks
    words = [one for one in words if re.match(r"[A-Za-z_]", one)]
    return words[-1] if len(words) > 1 else ""
