"""Reads PTX, the text that compilers and people write for NVIDIA's GPUs.

Each function becomes a list of instructions. What a kernel calls is put in its place by `linking`.
"""

import bisect
import math
import re
import struct
from dataclasses import dataclass, field, replace

NOTES = re.compile(r'/\*.*?\*/|//[^\n]*|(?P<held>"[^"\n]*")', re.DOTALL)  # comments; a string may hold what looks so
SECTION = re.compile(r"^\s*\.section\b[^{]*\{[^}]*\}", re.MULTILINE)  # for debuggers
STATEMENT = re.compile(
    r"(?P<line>(?:\.(?:version|target|address_size|file|loc)\b|@@)[^\n]*)"  # these end with their line
    r"|(?P<head>(?:\.\w+\s+)*?\.(?:entry|func)\b[^;{]*[;{])"
    r"|(?P<label>[\w$%]+\s*:(?!:))"
    r"|(?P<brace>[{}])"
    r"|(?P<other>[^;{}]*(?:\{(?:[^{};]|\{[^{};]*\})*\}[^;{}]*)*;)"  # with braces around operands or values
)
FUNCTION = re.compile(
    r"(?P<before>(?:\.\w+ )*?)\.(?P<what>entry|func)\s*(?:\((?P<returns>[^)]*)\)\s*)?(?P<name>[\w$%.]+)\s*"
    r"(?:\((?P<takes>[^)]*)\))?(?P<limits>[^;{]*)(?P<end>[;{])"
)
LIMIT = re.compile(r"\.(maxntid|reqntid|minnctapersm|maxnreg)\s+([\d, ]+)")
ARRAY = re.compile(
    r"(?P<before>(?:\.(?:visible|extern|weak|common) )*)\.(?P<space>shared|local|global|const)(?:\[\d+\])?\s*"
    r"(?:\.attribute\s*\([^)]*\)\s*)?(?:\.align (?P<align>\d+)\s*)?(?:\.v(?P<vector>[248])\s*)?"
    r"\.(?P<type>(?:b|u|s|f)(?:8|16|32|64|128)|bf16)\s+(?P<name>[\w$%]+)\s*(?P<sides>(?:\[[^]]*\]\s*)*)"
    r"(?:=\s*(?P<holds>.+))?$"
)
OPERAND = re.compile(r"(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,])+")
REGISTERS = re.compile(r"\.reg\s*(?:\.v(?P<vector>[24])\s*)?\.(?P<type>\w+)\s+(?P<names>[%\w$<>, ]+)$")
PARAMETER = re.compile(r"\.param\b.*?(?P<name>[\w$%]+)\s*(?:\[\d*\])?$")
INSTRUCTION = re.compile(r"(?:@\s*(?P<negated>!?)\s*(?P<guard>[%\w$]+)\s+)?(?P<name>[a-z][\w.:]*)\s*(?P<operands>.*)$")
PLACE = re.compile(r"\.loc (\d+) (\d+)(?: (\d+))?(?:.*\binlined_at (\d+) (\d+) (\d+))?")  # twice file, line and column
NAME = re.compile(r"(?<![\w$%@.])[%$A-Za-z_][\w$%@.]*")  # of a register, label, array or parameter, in an operand
PLACES = {"shared": "shared", "local": "local", "const": "constant", "global": "variables"}  # in a `Program`


class PTXError(ValueError):
    """PTX that cannot be run: what its text holds is not known here; the message says where."""


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    line      1-based line of the PTX text
    source    1-based line of the kernel's source that it comes from; 0 where the PTX does not say
    text      as it stands there, for messages
    name      its name, taken apart at the dots: ("add", "s64")
    operands  as texts: "%rd1", "[%rd3+16]", "{%f1, %f2}", "0f3F800000", a label
    guard     the predicate it asks first, or ""; with `negated`, it runs where that is false
    """

    line: int
    text: str
    name: tuple
    operands: tuple
    guard: str = ""
    negated: bool = False
    source: int = 0


@dataclass(frozen=True)
class Array:
    """An array that the program declares. One of shared memory of 0 bytes is as large as the launch says.

    holds      its first bytes, of an array of global or constant memory
    addresses  tuples (place, bytes, name, more, shift): from that place on stand the address of another array, or of a
               function, plus `more`, without its last `shift` bits
    """

    name: str
    align: int
    bytes: int
    holds: bytes = b""
    addresses: tuple = ()


@dataclass
class Program:
    """A kernel, or a function that kernels call.

    takes, returns   {parameter: type}, in order, such as {"param_0": "u64"}
    kernel           whether the host launches it
    registers        {name: type without the dot}, such as {"%r1": "b32"}
    tables           {label: labels that a branch by number, or functions that a call, may go to}
    code             list of `Instruction`
    labels           {label: index in code}
    shared, local, constant, variables  lists of `Array`; the last are those of global memory
    passed           {object that a call takes or gives: type}
    functions        {function whose address the program asks for: that address}
    stacks           {function that calls itself: (its registers, the one that counts how deep it is)}
    target           the GPU that the text names, such as "sm_80"
    limits           {directive: numbers}, such as {"maxntid": (128, 1, 1)}
    faults           {name of what could not be read: `PTXError`}; its own name for a statement of the function
    """

    name: str
    takes: dict
    returns: dict
    kernel: bool
    registers: dict = field(default_factory=dict)
    code: list = field(default_factory=list)
    labels: dict = field(default_factory=dict)
    tables: dict = field(default_factory=dict)
    shared: list = field(default_factory=list)
    local: list = field(default_factory=list)
    constant: list = field(default_factory=list)
    variables: list = field(default_factory=list)
    passed: dict = field(default_factory=dict)
    functions: dict = field(default_factory=dict)
    stacks: dict = field(default_factory=dict)
    target: str = ""
    limits: dict = field(default_factory=dict)
    faults: dict = field(default_factory=dict)


@dataclass
class Text:
    """A text of PTX, read: kernels and functions by name, and what is declared outside of them as a `Program`."""

    kernels: dict
    functions: dict
    outside: Program


def read_text(text: str) -> Text:
    """All of a text. What is not known in it is kept as a fault of the function or array that it belongs to."""
    kernels, functions, outside, reading, source, target = {}, {}, Program("", {}, {}, False), None, 0, ""
    lines = {}  # {place of any file: line of the first file, which is the kernel's own, or 0}
    for line, kind, statement in statements(text):
        if place := PLACE.match(statement):
            here, caller = place.group(1, 2, 3), place.group(4, 5, 6)
            own = here if here[0] == "1" else caller
            source = lines[here] = int(own[1]) if own[0] == "1" else lines.get(caller, 0)
        elif kind == "line":
            target = statement.replace(",", " ").split()[1] if statement.startswith(".target") else target
        elif kind == "head":
            head = FUNCTION.match(statement)
            takes, returns = (parameters(head[what] or "") for what in ("takes", "returns"))
            limits = {what: tuple(map(int, many.replace(",", " ").split())) for what, many in LIMIT.findall(statement)}
            made = Program(head["name"], takes, returns, head["what"] == "entry", target=target, limits=limits)
            if head["end"] == "{":
                (kernels if made.kernel else functions)[made.name] = made
                reading = Reading(made, ".reg" in statement)
        elif reading and statement in "{}":
            if not reading.scope(statement == "{"):
                reading = None
        elif reading and kind == "label":
            reading.label(statement)
        else:
            try:
                reading.add(statement, line, source) if reading else declare(outside, statement, line)
            except PTXError as fault:
                named, into = ARRAY.match(statement), reading.program if reading else outside
                into.faults.setdefault(named["name"] if named else into.name, fault)
    return Text(kernels, functions, outside)


def statements(text):
    """(line, kind, a group of STATEMENT, statement without its semicolon or colon) one by one."""
    blank = lambda found: found["held"] or re.sub(r"[^\n]", " ", found[0])  # noqa: E731
    text = NOTES.sub(blank, text.replace("\0", ""))
    text = re.sub(r'"[^"\n]*"', '""', text)
    text = SECTION.sub(lambda section: "\n" * section[0].count("\n"), text)
    ends = [place for place, letter in enumerate(text) if letter == "\n"]
    at, end = 0, len(text.rstrip())
    while at < end:
        if text[at].isspace() or text[at] == ";":
            at += 1
            continue
        found, line = STATEMENT.match(text, at), bisect.bisect_left(ends, at) + 1
        if not found:
            raise PTXError(f"line {line} of the PTX does not end: {' '.join(text[at : at + 80].split())}")
        statement, kind = " ".join(found[0].split()), found.lastgroup
        yield line, kind, statement if kind in ("head", "brace", "line") else statement[:-1].strip()
        at = found.end()


def parameters(text):
    """{name: type} of the parameters in brackets; the type of a structure is its bytes, such as "b8[16]"."""
    found = {}
    for declared in filter(None, map(str.strip, text.split(","))):
        kind = re.search(r"\.([busf]\d+|pred)\b", declared)
        name, bracket, size = re.sub(r"\s*(\[|\])", r"\1", declared).split()[-1].partition("[")
        many = f"[{int_of(size[:-1])}]" if size[:-1] else bracket + size
        found[f"{name}@{len(found)}" if name == "_" else name] = (kind[1] if kind else "") + many
    return found


def declare(program, statement, line):
    """Take the declaration of an array, once for `.extern` and its own, into the program; leave anything else out."""
    if array := ARRAY.match(statement):
        made, arrays = declared(array, line), getattr(program, PLACES[array["space"]])
        same = [one for one in arrays if one.name == made.name]
        if same and "extern" not in array["before"]:
            arrays.remove(same[0])
        if not same or "extern" not in array["before"]:
            arrays.append(made)


# ------------------------------------------------------------------------------------------ numbers

PACKED = {2: "<e", 4: "<f", 8: "<d"}  # a float of so many bytes, for `struct`
FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")


def literal(text):
    """A number of the PTX: int; bytes for the bits of a float; float. Raises LookupError for anything else."""
    if found := re.fullmatch(r"(-?)0([fFdD])([0-9A-Fa-f]+)", text):
        whole = struct.pack("<I" if found[2] in "fF" else "<Q", int(found[3], 16))
        return whole[:-1] + bytes([whole[-1] ^ 128]) if found[1] else whole
    if FLOAT.fullmatch(text):
        return float(text)
    return int_of(text)


def int_of(text):
    """An integer: decimal, octal behind a 0, hexadecimal or binary. Raises LookupError for anything else."""
    digits = text.strip().removesuffix("U")
    sign, digits = (-1, digits[1:]) if digits[:1] == "-" else (1, digits)
    try:
        return sign * int(digits, 8 if re.fullmatch(r"0[0-7]+", digits) else 0)
    except ValueError:
        raise LookupError(text) from None


def declared(array, line):
    """The `Array` of a declaration. Raises PTXError for one without a size, or that holds what is not known here."""
    what = f"line {line} of the PTX: {array['name']}"
    size = int(re.search(r"\d+", array["type"])[0]) // 8
    try:
        sides = [int_of(side) if side.strip() else None for side in re.findall(r"\[([^]]*)\]", array["sides"])]
        values = [] if None in sides[1:] else listed(array["holds"] or "", sides)
    except LookupError:
        raise PTXError(f"{what} has a size that is not known here: {array['sides']}") from None
    if None in sides[1:] or (None in sides and not values and "extern" not in array["before"]):
        raise PTXError(f"{what} has no size.")
    sides = [side if side is not None else len(values) // max(1, math.prod(sides[1:])) for side in sides]
    many = math.prod(sides) * int(array["vector"] or 1)
    holds, addresses = b"", []
    for place, value in enumerate(values):
        try:
            holds += held(value, array["type"], size)
        except (LookupError, ValueError, OverflowError):
            found = re.fullmatch(
                r"(?:0[xX](?P<mask>F+0*)\s*\(\s*)?(?:generic\s*\(\s*)?(?P<name>[\w$%]+)[\s)]*(?:(?P<more>[+-].+?))?[\s)]*",
                value,
            )
            if not found or found["name"][0].isdigit():
                raise PTXError(f"{what} holds what is not known here: {value[:80]}") from None
            shift = 4 * (found["mask"] or "").count("0")
            addresses.append((place * size, size, found["name"], int_of(found["more"] or "0"), shift))
            holds += bytes(size)
    align = int(array["align"] or size * int(array["vector"] or 1))
    return Array(array["name"], align, many * size, holds, tuple(addresses))


def listed(text, sides):
    """The values of an initialiser, flat: an inner list that is short is filled with zeros."""
    text = text.strip()
    if not text.startswith("{"):
        return [text] if text else []
    values = []
    for part in re.findall(r"\{[^{}]*\}|(?:\([^()]*(?:\([^()]*\))?[^()]*\)|[^,{}(])+", text[1:-1]):
        inner = listed(part, sides[1:])
        if part.strip().startswith("{"):
            inner += ["0"] * (math.prod(sides[1:]) - len(inner))
        values += inner
    return values


def held(text, kind, size):
    """The bytes of a number of that type."""
    value = literal(text.strip())
    if isinstance(value, bytes):
        return value if len(value) == size else struct.pack(PACKED[size], *struct.unpack(PACKED[len(value)], value))
    if kind[0] == "f" and isinstance(value, (int, float)):
        return struct.pack(PACKED[size], value)
    return (value % (1 << 8 * size)).to_bytes(size, "little")


# ------------------------------------------------------------------------------------------ functions

LOOKED = "%looked"  # the state of a barrier in memory, between the two parts of a wait for it
SIDES = "xyzw"  # of a vector register, such as "q.x"


class Reading:
    """A function being read: a name declared in two scopes gets a number; scopes side by side share a register."""

    def __init__(self, program, by_register):
        self.program, self.known, self.vectors, self.changed = program, {}, {}, False
        self.open, self.around = [{}], []  # the scopes that are open, and those around each instruction
        for name, kind in (program.takes | program.returns).items():
            self.name(name, kind)
            if not program.kernel:
                (program.registers if by_register else program.passed)[name] = kind

    def scope(self, opens):
        """A brace: a scope begins, or ends. Returns whether the function goes on."""
        if opens:
            self.open.append({})
        else:
            self.open.pop()
            if not self.open:
                self.close()
        return bool(self.open)

    def name(self, name, kind):
        """The name in the whole function of what this scope calls so; kind "" for a label."""
        unique = name
        if name in self.known and (not kind or self.known[name] != kind or any(name in one for one in self.open)):
            unique, self.changed = f"{name}@{len(self.known)}", True
        self.known[unique] = kind
        self.open[-1][name] = unique
        return unique

    def add(self, statement, line, source):
        """Take one statement of the function's body, or a label, into its program."""
        program = self.program
        if statement.startswith((".branchtargets", ".calltargets")):  # of the label before it
            program.tables[next(reversed(program.labels))] = statement.replace(",", " ").split()[1:]
        elif statement.startswith(".callprototype"):
            head = FUNCTION.match(f".func {statement.removeprefix('.callprototype')};")
            program.tables[next(reversed(program.labels))] = [*parameters(head["takes"] or "").values()]
        elif registers := REGISTERS.match(statement):
            for name in map(str.strip, registers["names"].split(",")):
                name, several, many = name.partition("<")
                for one in [f"{name}{n}" for n in range(int(many.strip("> ")))] if several else [name]:
                    self.register(one, registers["type"], int(registers["vector"] or 0))
        elif array := ARRAY.match(statement):
            made = declared(array, line)
            made = replace(made, name=self.name(made.name, f"array of {line}"))
            getattr(program, PLACES[array["space"]]).append(made)
        elif statement.startswith(".param"):
            found = PARAMETER.match(statement)
            kind = next(iter(parameters(statement).values()))
            program.passed[self.name(found["name"], kind)] = kind
        elif statement.startswith((".pragma", ".noreturn", ".alias")):
            pass
        elif instruction := INSTRUCTION.match(statement):
            operands = [part.strip() for part in OPERAND.findall(instruction["operands"]) if part.strip()]
            name, guard = tuple(instruction["name"].split(".")), instruction["guard"] or ""
            if name[0] == "mbarrier":
                program.registers[LOOKED] = "b64"
            made = Instruction(line, statement, name, (), guard, bool(instruction["negated"]), source)
            for part, some in parts(name, [self.vectors.get(self.visible(one), one) for one in operands]):
                program.code.append(replace(made, name=part, operands=tuple(some)))
                self.around.append(tuple(self.open))
        else:
            raise PTXError(f"line {line} of the PTX is not known here: {statement[:120]}")

    def label(self, name):
        """A label stands before the next instruction."""
        self.program.labels[self.name(name, "")] = len(self.program.code)

    def visible(self, name):
        """What a name stands for in the scopes that are open."""
        return next((scope[name] for scope in reversed(self.open) if name in scope), name)

    def register(self, name, kind, many):
        """Declare a register, or a vector of so many."""
        unique = self.name(name, kind)
        for side in SIDES[:many]:
            self.program.registers[self.name(f"{name}.{side}", kind)] = kind
        if many:
            self.vectors[unique] = "{" + ", ".join(f"{name}.{side}" for side in SIDES[:many]) + "}"
        else:
            self.program.registers[unique] = kind

    def close(self):
        """The function ends: give each instruction the names that hold in the whole function."""
        if not self.changed:
            return
        program, made = self.program, {}
        for index, (instruction, scopes) in enumerate(zip(program.code, self.around, strict=True)):
            key = tuple(map(id, scopes))
            if key not in made:
                names = {name: unique for scope in scopes for name, unique in scope.items()}
                made[key] = {name: unique for name, unique in names.items() if name != unique}
            if made[key]:
                program.code[index] = renamed(instruction, made[key])


def parts(name, operands):
    """An instruction as (name, operands); a `mov` of vectors, an atomic of them, a wait are several."""
    if name[:4] == ("cp", "async", "mbarrier", "arrive"):  # copies come at once here
        waits = [(("cp", "async", "wait_all"), [])]
        return waits + [(("mbarrier", "arrive", "shared", "b64"), ["_", *operands])] * ("noinc" in name)
    if name[:2] in (("mbarrier", "test_wait"), ("mbarrier", "try_wait")):
        looks = (("mbarrier", "look", *(word for word in name[2:] if word != "parity")), [LOOKED, operands[1]])
        parity = ("parity",) * ("parity" in name)
        return [looks, (("mbarrier", "passed", *parity, "b64"), [operands[0], LOOKED, operands[2]])]
    split = lambda text: re.split(r"\s*,\s*", text.strip("{} "))  # noqa: E731
    many = next((word for word in name if word in ("v2", "v4", "v8")), "")
    if name[0] in ("atom", "red") and many:
        short, where = tuple(word for word in name if word != many), int(name[0] == "atom")
        size = int(re.search(r"\d+", name[-1])[0]) // 8 * (2 if name[-1].endswith("x2") else 1)
        found = []
        for number in range(int(many[1])):
            some = [split(one)[number] if one[0] == "{" else one for one in operands]
            some[where] = f"{some[where][:-1]}+{number * size}]" if number else some[where]
            found.append((short, some))
        return found
    if name[0] != "mov" or name[1] not in ("v2", "v4"):
        return [(name, operands)]
    vectors = [
        [f"{one}.{side}" for side in "xyz"] + ["0"] if one.startswith("%") else re.split(r"\s*,\s*", one.strip("{} "))
        for one in operands
    ]
    return [(("mov", name[-1]), pair) for pair in zip(*(vector[: int(name[1][1])] for vector in vectors), strict=True)]


def renamed(instruction, names):
    """The instruction with other names in its operands, and of its guard."""
    operands = tuple(NAME.sub(lambda found: names.get(found[0], found[0]), one) for one in instruction.operands)
    return replace(instruction, guard=names.get(instruction.guard, instruction.guard), operands=operands)
