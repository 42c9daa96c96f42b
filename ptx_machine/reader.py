"""Reads PTX, the text that NVIDIA's compilers write ahead of machine code.

A function that a kernel calls is put in the place of each call, with registers and labels of its own. So the program
that `read_ptx` returns has one list of instructions and no calls.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace

IGNORED = (".version", ".target", ".address_size", ".file")  # lines that end without a semicolon
SECTION = re.compile(r"^\s*\.section\b[^{]*\{[^}]*\}", re.MULTILINE)  # for debuggers
FUNCTION = re.compile(
    r"(?:\.\w+ )*?\.(entry|func)\s*(?:\((?P<returns>[^)]*)\)\s*)?"
    r"(?P<name>[\w$]+)\s*\((?P<takes>[^)]*)\)"
)
ARRAY = re.compile(
    r"(?P<before>(?:\.\w+ )*?)\.(?P<space>shared|local|global|const) \.align (?P<align>\d+) "
    r"\.[busf](?P<bits>8|16|32|64) (?P<name>[\w$]+)(?:\[(?P<many>\d*)\])?(?: = (?P<holds>.+))?$"
)
OPERAND = re.compile(r"(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,])+")
REGISTERS = re.compile(r"\.reg \.(?P<type>\w+)\s+(?P<names>[%\w$<>, ]+)$")
INSTRUCTION = re.compile(r"(?:@(?P<negated>!?)(?P<guard>[%\w$]+)\s+)?(?P<name>[a-z][\w.:]*)\s*(?P<operands>.*)$")
PLACE = re.compile(r"\.loc (?P<file>\d+) (?P<line>\d+)")
LEADING = re.compile(r"\s*(\{|[\w$]+:(?!:))")  # what may stand before a statement: a scope that opens, a label
PLACES = {"shared": "shared", "local": "local", "const": "constant", "global": "variables"}  # in a `Program`
DEPTH = 20  # calls within calls
BUILT_IN = {"vprintf": "nop", "__assertfail": "trap"}  # what a call of these does here: no text is printed


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

    holds  its first bytes, of an array of global or constant memory
    """

    name: str
    align: int
    bytes: int
    holds: bytes = b""


@dataclass
class Program:
    """A kernel, or a function that kernels call.

    takes, returns   {parameter: type}, in order, such as {"param_0": "u64"}
    kernel           whether the host launches it
    registers        {name: type without the dot}, such as {"%r1": "b32"}
    tables           {label: labels that a branch by number may go to}
    code             list of `Instruction`
    labels           {label: index in code}
    shared, local, constant, variables  lists of `Array`; the last are those of global memory
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


def read_ptx(text: str, kernel: str | None = None) -> Program:
    """The kernel of that name in that PTX, or the only one, with what it calls put in place.

    Raises PTXError, with the line, for what it cannot read, and where it does not hold that kernel.
    """
    kernels, functions, arrays, current, depth, source = {}, {}, defaultdict(list), None, 0, 0
    for line, statement in statements(text):
        if place := PLACE.match(statement):
            source = int(place["line"]) if place["file"] == "1" else 0  # the first file is the kernel's own
        elif statement == "}":
            depth -= 1
            current = current if depth else None
        elif statement.endswith("{"):
            depth += 1
            if depth == 1:
                head = FUNCTION.match(statement)  # None for other sections
                if head:
                    takes, returns = (parameters(head[what] or "") for what in ("takes", "returns"))
                    current = Program(head["name"], takes, returns, head[1] == "entry")
                    (kernels if current.kernel else functions)[current.name] = current
        elif current:
            add(current, statement, line, source)
        elif array := ARRAY.match(statement):
            arrays[PLACES[array["space"]]].append(declared(array, line))
    if not kernels:
        raise PTXError("this PTX has 0 kernels: no function in it is an .entry.")
    if kernel is None and len(kernels) == 1:
        (kernel,) = kernels
    if kernel not in kernels:
        asked = "Name one: kernel=..." if kernel is None else f"{kernel!r} is not among them."
        raise PTXError(f"this PTX has {len(kernels)} kernels: {', '.join(kernels)}. {asked}")
    for place, some in arrays.items():
        getattr(kernels[kernel], place)[:0] = some
    return without_calls(kernels[kernel], functions)


def statements(text):
    """(line, statement) one by one: instructions and declarations without their semicolon, labels with their colon,
    braces.
    """
    held, began = "", 0
    text = SECTION.sub(lambda section: "\n" * section[0].count("\n"), text)
    for number, line in enumerate(text.replace("\0", "").splitlines(), 1):
        line = line.partition("//")[0].strip()
        if not line or (not held and line.split()[0] in IGNORED):
            continue
        began = began if held else number
        *ended, held = " ".join(f"{held} {line}".split()).split(";")
        for statement in ended:
            while leading := LEADING.match(statement):
                yield began, leading[1]
                statement = statement[leading.end() :]
            yield began, statement.strip()
            began = number
        held = held.strip()
        if held.startswith(".loc ") or held.endswith((":", "{", "}")):  # these end with their line
            yield began, held
            held = ""
    if held:
        raise PTXError(f"line {began} of the PTX does not end: {held[:80]}")


def parameters(text):
    """{name: type} of the parameters in brackets; the type of a structure is its bytes, such as "b8[16]"."""
    found = {}
    for declared in filter(None, map(str.strip, text.split(","))):
        kind = re.search(r"\.([busf]\d+|pred)\b", declared)
        name, bracket, size = declared.split()[-1].partition("[")
        found[name] = (kind[1] if kind else "") + bracket + size
    return found


def declared(array, line):
    """The `Array` of a declaration. Raises PTXError for one that holds what is not known here, such as addresses."""
    size, many, holds = int(array["bits"]) // 8, array["many"], array["holds"] or ""
    if many == "" and ".extern" not in array["before"]:
        raise PTXError(f"line {line} of the PTX: {array['name']} has no size.")
    values = holds.strip("{} ")
    try:  # a float stands there by its bits, such as 0f3F800000
        numbers = [re.sub(r"^\s*0[fd]", "0x", value) for value in values.split(",")] if values else []
        first = [int(value, 0) % (1 << 8 * size) for value in numbers]
    except ValueError:
        known = f"what {array['name']} holds is not known here: {values[:80]}"
        raise PTXError(f"line {line} of the PTX: {known}") from None
    many = 1 if many is None else int(many or 0)
    return Array(array["name"], int(array["align"]), many * size, b"".join(v.to_bytes(size, "little") for v in first))


def add(program, statement, line, source):
    """Take one statement of a function's body into the program."""
    if statement.endswith(":"):
        program.labels[statement[:-1]] = len(program.code)
    elif statement.startswith(".branchtargets"):  # of the label before it
        table = next(reversed(program.labels))
        program.tables[table] = statement.removeprefix(".branchtargets").replace(",", " ").split()
    elif registers := REGISTERS.match(statement):
        for name in map(str.strip, registers["names"].split(",")):
            name, several, many = name.partition("<")
            names = [f"{name}{n}" for n in range(int(many.strip(">")))] if several else [name]
            program.registers.update(dict.fromkeys(names, registers["type"]))
    elif array := ARRAY.match(statement):
        getattr(program, PLACES[array["space"]]).append(declared(array, line))
    elif statement.startswith((".param", ".pragma")):
        pass  # places for what a call takes and returns are made where they are used
    elif instruction := INSTRUCTION.match(statement):
        operands = tuple(part.strip() for part in OPERAND.findall(instruction["operands"]) if part.strip())
        name, guard, negated = tuple(instruction["name"].split(".")), instruction["guard"] or "", instruction["negated"]
        program.code.append(Instruction(line, statement, name, operands, guard, bool(negated), source))
    else:
        raise PTXError(f"line {line} of the PTX is not known here: {statement[:120]}")


# ------------------------------------------------------------------------------------------ calls


def without_calls(program, functions, depth=0):
    """The same program with the code of each function in the place of its call."""
    if depth > DEPTH:
        raise PTXError(f"{program.name} calls itself, or more than {DEPTH} functions deep; neither is known here.")
    whole = replace(program, registers=dict(program.registers), code=[], labels={}, local=list(program.local),
                    tables=dict(program.tables))  # fmt: skip
    labels = defaultdict(list)
    for label, index in program.labels.items():
        labels[index].append(label)
    for index, instruction in enumerate([*program.code, None]):
        whole.labels.update(dict.fromkeys(labels[index], len(whole.code)))
        if instruction is None:
            break
        if instruction.name[0] == "call":
            put_in_place(whole, instruction, functions, depth)
        else:
            whole.code.append(passing(instruction, program, whole.registers))
    return whole


def put_in_place(whole, call, functions, depth):
    """Append the code of the function called, with names of its own, and jumps behind it in place of returns."""
    operands = [re.findall(r"[\w$%]+", operand) for operand in call.operands]  # such as "(param0, param1)"
    given_back = operands.pop(0) if call.operands[0].startswith("(") else []
    (name,), given = operands[0], operands[1] if len(operands) > 1 else []
    if name in BUILT_IN:
        whole.code.append(replace(call, name=(BUILT_IN[name],), operands=()))
        return
    if name not in functions:
        raise PTXError(f"line {call.line} of the PTX calls {name}, whose code is not in it.")
    function = without_calls(functions[name], functions, depth + 1)
    own, start, end = f"{name}@{len(whole.code)}", len(whole.code) + 1, f"end_of_{name}@{len(whole.code)}"
    same = dict(zip((*function.takes, *function.returns), (*given, *given_back), strict=True))

    def renamed(text):
        text = re.sub(r"(?<![\w$%@])[%$]?[A-Za-z_$][\w$@]*", lambda found: names.get(found[0], found[0]), text)
        return re.sub(r"passed:([\w$]+)", lambda found: f"passed:{same.get(found[1], found[1])}", text)

    belonging = (*function.registers, *function.labels, *(array.name for array in function.local))
    names = {n: f"{n}@{own}" for n in belonging if not n.startswith("passed:")}
    whole.registers.update({renamed(n): kind for n, kind in function.registers.items()})
    whole.local += [replace(array, name=names[array.name]) for array in function.local]
    whole.code.append(replace(call, name=("bra",), operands=(f"start_of_{own}",)))
    whole.labels[f"start_of_{own}"] = start
    whole.labels.update({names[label]: start + index for label, index in function.labels.items()})
    whole.tables.update({names[label]: [names[to] for to in table] for label, table in function.tables.items()})
    for i in function.code:
        name, operands = (("bra",), (end,)) if i.name[0] == "ret" else (i.name, tuple(map(renamed, i.operands)))
        whole.code.append(replace(i, guard=names.get(i.guard, i.guard), name=name, operands=operands))
    whole.labels[end] = len(whole.code)


def passing(instruction, program, registers):
    """The instruction; if it passes something to or from a call, as a move between registers."""
    name, operands = instruction.name, instruction.operands
    if name[:2] not in (("ld", "param"), ("st", "param")):
        return instruction
    place = re.fullmatch(r"\[\s*([\w$]+)(?:\s*\+\s*(\d+))?\s*\]", operands[1 if name[0] == "ld" else 0])
    if not place or (program.kernel and place[1] in program.takes):
        return instruction  # the kernel's own parameters, which the launch gives
    bits = name[-1][1:]
    passed = f"passed:{place[1]}+{place[2] or 0}:{bits}"
    registers[passed] = name[-1]
    moved = (operands[0], passed) if name[0] == "ld" else (passed, operands[1])
    return replace(instruction, name=("mov", name[-1]), operands=moved)
