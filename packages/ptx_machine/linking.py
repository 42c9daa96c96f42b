"""Puts what a kernel calls in its place, so that a program is one list of instructions.

The code of a function stands in the place of each call, with registers and labels of its own. One that may call itself
stands once, behind the kernel: whoever calls it keeps its registers on a stack. A call by address asks for each
function that it may mean.
"""

import functools
import re
from collections import defaultdict
from dataclasses import replace

from .library import TEXT
from .mathematics import mathematics
from .reader import NAME, Array, Instruction, Program, PTXError, int_of, read_text, renamed

FUNCTIONS = 1 << 57  # addresses of functions
DEEPEST = 64  # calls of a function within calls of it
read_once = functools.lru_cache(maxsize=8)(read_text)  # for the next kernel of the same text
TRAPS = "__assertfail", "__assert_fail"
PLACE = re.compile(r"\[\s*(?P<name>[\w$%.@]+)\s*(?:\+\s*(?P<offset>\w+))?\s*\]")


def read_ptx(text: str, kernel: str | None = None) -> Program:
    """The kernel of that name in that PTX, or the only one, with what it calls put in place.

    Raises PTXError, with the line, for what it cannot read, and where it does not hold that kernel.
    """
    whole = read_once(text)
    kernels = whole.kernels
    if not kernels:
        raise PTXError("this PTX has 0 kernels: no function in it is an .entry.")
    if kernel is None and len(kernels) == 1:
        (kernel,) = kernels
    if kernel not in kernels:
        asked = "Name one: kernel=..." if kernel is None else f"{kernel!r} is not among them."
        raise PTXError(f"this PTX has {len(kernels)} kernels: {', '.join(kernels)}. {asked}")
    return Linking(whole).linked(kernels[kernel])


class Linking:
    """All functions of a text, and who calls whom."""

    def __init__(self, text):
        text.functions = known() | text.functions
        self.text, self.all = text, text.functions | text.kernels
        self.addresses = {name: FUNCTIONS + 16 * number for number, name in enumerate(self.asked_for())}
        self.units, self.behind, self.calls = {}, [], 0

    def asked_for(self):
        """The functions whose addresses somebody asks for, in order."""
        texts = {held[2] for array in (*self.text.outside.constant, *self.text.outside.variables)
                 for held in array.addresses}  # fmt: skip
        for function in self.all.values():
            for one in function.code:
                operands = (
                    [text for text in one.operands if text not in self.target(one)]
                    if one.name[0] == "call"
                    else one.operands
                )
                texts.update(*map(NAME.findall, operands))
        return [name for name in self.text.functions if name in texts]

    # ---------------------------------------------------------------- who calls whom

    def target(self, call):
        """What a call names: the function, or the register that holds its address."""
        return call.operands[1 if call.operands[0].startswith("(") else 0]

    def called(self, call, caller):
        """The functions that a call may mean, by name."""
        target = self.target(call)
        if target not in caller.registers:
            return [target]
        meant = caller.tables.get(call.operands[-1])
        takes = lambda name: [bits(kind) for kind in self.text.functions[name].takes.values()]  # noqa: E731
        if meant is None or set(meant) <= set(self.text.functions):
            return [name for name in self.addresses if meant is None or name in meant]
        return [name for name in self.addresses if takes(name) == [*map(bits, meant)]]

    def reached(self, function):
        """The names of all functions that this one calls, by others, too."""
        found, left = {}, [function]
        while left:
            caller = left.pop()
            for one in caller.code:
                for name in self.called(one, caller) if one.name[0] == "call" else ():
                    if name not in found:
                        found[name] = True
                        left += [self.text.functions[name]] if name in self.text.functions else []
        return found

    def linked(self, kernel):
        """The whole program of a kernel."""
        reached = [self.text.functions[name] for name in self.reached(kernel) if name in self.text.functions]
        for function in (kernel, *reached):
            if function.name in function.faults:
                raise function.faults[function.name]
        self.again = {function.name for function in reached if function.name in self.reached(function)}
        self.measure((kernel, *reached))
        outside = self.text.outside
        whole = self.expanded(kernel)
        for name in sorted(self.again):
            self.place_behind(whole, self.text.functions[name])
        if "cudaCGSynchronize" in self.reached(kernel):
            whole.variables += read_text(TEXT).outside.variables
        named = {name for one in whole.code for operand in one.operands for name in NAME.findall(operand)}
        held = {name for array in (*outside.constant, *outside.variables) for _, _, name, *_ in array.addresses}
        whole.shared[:0] = [array for array in outside.shared if array.name in named | held]
        whole.constant[:0], whole.variables[:0] = outside.constant, outside.variables
        whole.faults.update(outside.faults)
        whole.functions = self.addresses
        for name in whole.takes:  # a parameter whose address is asked for has one among the constants
            if any(
                name in NAME.findall(text)
                for one in whole.code
                if one.name[:2] != ("ld", "param")
                for text in one.operands
            ):
                whole.constant.append(Array(name, 16, bytes_of(whole.takes[name])))
        return whole

    # ---------------------------------------------------------------- what calls pass

    def measure(self, functions):
        """Find the unit, in bits, that each object is passed in: the smallest that either side asks for."""
        same, least = {}, defaultdict(lambda: 64)

        def root(one):
            while one in same:
                one = same[one]
            return one

        for function in functions:
            for one in function.code:
                if place := passes(one, function):
                    object_, _, size = (function.name, place[0]), *place[1:]
                    least[root(object_)] = min(least[root(object_)], size)
                elif one.name[0] == "call":
                    given_back, given = arguments(one)
                    for name in self.called(one, function):
                        if name in self.text.functions:
                            meant = self.text.functions[name]
                            for ours, theirs in zip(
                                (*given, *given_back), (*meant.takes, *meant.returns), strict=False
                            ):
                                a, b = root((function.name, ours)), root((name, theirs))
                                if a != b and ours in function.passed:
                                    same[a], least[b] = b, min(least[a], least[b])
        self.unit = lambda function, object_: least[root((function.name, object_))]

    def pieces(self, function, object_, offset, size):
        """The registers that hold so many bits of an object, from that byte on."""
        unit = self.unit(function, object_)
        names = [f"{object_}.{place}" for place in range(offset, offset + size // 8, unit // 8)]
        return names, f"b{max(16, unit)}"

    def moved(self, one, function, registers):
        """An instruction that passes something to or from a call, as moves between registers; else itself."""
        place = passes(one, function)
        if not place:
            return [one]
        object_, offset, size = place
        loads, kind, moves = one.name[0] == "ld", one.name[-1], []
        for number, ours in enumerate(one.operands[0 if loads else 1].strip("{}").replace(" ", "").split(",")):
            theirs, holds = self.pieces(function, object_, offset + number * size // 8, size)
            registers.update(dict.fromkeys(theirs, holds))
            passed = theirs[0] if len(theirs) == 1 else "{" + ", ".join(theirs) + "}"
            wide = int(re.search(r"\d+", registers.get(ours, kind))[0])
            name = ("mov", f"{'b' if kind[0] == 'f' and kind != 'f32' and kind != 'f64' else kind[0]}{size}")
            if size == 8 or wide != size:
                sign = "s" if kind[0] == "s" else "u"
                name = ("cvt", f"{sign}{max(wide if loads else size, 16)}", f"{sign if loads else 'u'}{size}")
            moves.append(replace(one, name=name, operands=(ours, passed) if loads else (passed, ours)))
        return moves

    # ---------------------------------------------------------------- the code

    def expanded(self, function):
        """The same function with the code of others in the place of its calls."""
        whole = replace(function, registers=dict(function.registers), code=[], labels={}, local=list(function.local),
                        shared=list(function.shared), tables=dict(function.tables), faults=dict(function.faults),
                        constant=list(function.constant), variables=list(function.variables))  # fmt: skip
        labels = defaultdict(list)
        for label, index in function.labels.items():
            labels[index].append(label)
        for index, one in enumerate([*function.code, None]):
            whole.labels.update(dict.fromkeys(labels[index], len(whole.code)))
            if one is None:
                return whole
            if one.name[0] == "call":
                self.call(whole, one, function)
            else:
                whole.code += self.moved(one, function, whole.registers)

    def call(self, whole, call, caller):
        """Append what a call does."""
        names = self.called(call, caller)
        if self.target(call) not in caller.registers:
            self.put_in_place(whole, call, caller, names[0])
            return
        self.calls += 1
        own, asks = f"call@{self.calls}", f"%asks@{self.calls}"
        whole.registers[asks] = "pred"
        add = lambda name, *operands, **more: whole.code.append(replace(call, name=name, operands=operands, **more))  # noqa: E731
        if call.guard:
            add(("bra",), f"end_of_{own}", negated=not call.negated)
        quiet = {"guard": "", "negated": False}
        for name in names:
            add(("setp", "eq", "u64"), asks, self.target(call), str(self.addresses[name]), **quiet)
            add(("bra",), f"{name}_of_{own}", guard=asks, negated=False)
        add(("trap",), **quiet)
        for name in names:
            whole.labels[f"{name}_of_{own}"] = len(whole.code)
            self.put_in_place(whole, replace(call, **quiet), caller, name)
            add(("bra",), f"end_of_{own}", **quiet)
        whole.labels[f"end_of_{own}"] = len(whole.code)

    def put_in_place(self, whole, call, caller, name):
        """Append the code of the function of that name, in the place of the call."""
        given_back, given = arguments(call)
        if name in TRAPS:
            whole.code.append(replace(call, name=("trap",), operands=()))
            return
        if name == "vprintf":
            passed = [f"{object_}.0" for object_ in (*given, *given_back)]
            whole.registers = dict(zip(passed, ("b64", "b64", "b32"), strict=False)) | whole.registers
            whole.code.append(replace(call, name=("call", "vprintf"), operands=tuple(passed)))
            return
        if name not in self.text.functions:
            if name not in mathematics():
                raise PTXError(f"line {call.line} of the PTX calls {name}, whose code is not in it.")
            self.mathematics(whole, call, caller, name, given, given_back)
            return
        function = self.text.functions[name]
        takes, returns = [*function.takes], [*function.returns]
        if len(given) != len(takes) or len(given_back) != len(returns):
            raise PTXError(
                f"line {call.line} of the PTX calls {name} with {len(given)} arguments; it takes {len(takes)}."
            )
        self.calls += 1
        own = f"{name}@{self.calls}"
        end, quiet = f"end_of_{own}", {"guard": "", "negated": False}
        add = lambda *words, operands, **more: whole.code.append(replace(call, name=words, operands=operands, **more))  # noqa: E731
        if call.guard:
            add("bra", operands=(end,), negated=not call.negated)
        call = replace(call, **quiet)
        if name in self.again:
            add("call", "push", operands=(name, f"back_of_{own}"))
            self.exchange(whole, call, caller, function, zip(given, takes, strict=True), f"@@{name}", True)
            add("bra", operands=(f"start_of_{name}",))
            whole.labels[f"back_of_{own}"] = len(whole.code)
            self.exchange(whole, call, caller, function, zip(given_back, returns, strict=True), f"@@{name}", False)
            whole.labels[end] = len(whole.code)
            return
        body, names = self.expanded(function), {}
        if function is known().get(name):  # which has no lines of its own
            body.code = [replace(one, line=call.line, source=call.source, text=call.text) for one in body.code]
        same = {theirs: ours for theirs, ours in zip((*takes, *returns), (*given, *given_back), strict=True)
                if ours in caller.passed}  # fmt: skip
        for register in (*body.registers, *body.labels, *(array.name for array in body.local), *body.tables):
            if "@@" in register:  # of a function that stands behind the kernel
                continue
            object_, dot, offset = register.rpartition(".")
            names[register] = f"{same[object_]}{dot}{offset}" if dot and object_ in same else f"{register}@{own}"
        by_value = [(ours, theirs) for ours, theirs in zip(given, takes, strict=True) if theirs not in same]
        self.exchange(whole, call, caller, function, by_value, f"@{own}", True)
        self.take_in(whole, body, names, own, end)
        by_value = [(ours, theirs) for ours, theirs in zip(given_back, returns, strict=True) if theirs not in same]
        self.exchange(whole, call, caller, function, by_value, f"@{own}", False)

    def take_in(self, whole, body, names, own, end):
        """Append the code of a function, under these names; its returns go to the label `end`."""
        whole.registers.update({names.get(name, name): kind for name, kind in body.registers.items()})
        whole.local += [replace(array, name=names[array.name]) for array in body.local]
        for place in ("shared", "constant", "variables"):
            have = {array.name for array in getattr(whole, place)}
            getattr(whole, place).extend(array for array in getattr(body, place) if array.name not in have)
        whole.faults.update(body.faults)
        start = len(whole.code) + 1
        first = body.code[0] if body.code else Instruction(0, "", (), ())
        jump = replace(first, name=("bra",), operands=(f"start_of_{own}",), guard="", negated=False)
        whole.code.append(jump)
        whole.labels[f"start_of_{own}"] = start
        whole.labels.update({names[label]: start + index for label, index in body.labels.items()})
        whole.tables.update({names[label]: [names.get(to, to) for to in table] for label, table in body.tables.items()})
        for one in body.code:
            one = replace(one, name=("bra",), operands=(end,)) if one.name[0] == "ret" else one
            whole.code.append(renamed(one, names))
        whole.labels[end] = len(whole.code)

    def exchange(self, whole, call, caller, function, pairs, own, going):
        """Move what a call takes, or with `going` false what it gives, between the two sides' registers."""
        for ours, theirs in pairs:
            kind = (function.takes | function.returns)[theirs]
            unit = self.unit(function, theirs)
            size, held = 8 * bytes_of(kind), f"b{max(16, unit)}"
            for place in range(0, size // 8, unit // 8):
                our, their = f"{ours}.{place}" if ours in caller.passed else ours, f"{theirs}.{place}{own}"
                if theirs in function.registers:  # declared as .reg
                    their, held = f"{theirs}{own}", function.registers[theirs]
                if our != ours:
                    whole.registers[our] = held
                whole.registers.setdefault(their, held)
                moved = (their, our) if going else (our, their)
                whole.code.append(replace(call, name=("mov", held), operands=moved))

    def place_behind(self, whole, function):
        """Append a function that calls itself: it is entered by a jump, and keeps its registers on a stack."""
        name = function.name
        body, end = self.expanded(function), f"end_of_{name}"
        belonging = (*body.registers, *body.labels, *body.tables, *(array.name for array in body.local))
        names = {one: f"{one}@@{name}" for one in belonging if "@@" not in one}
        whole.code.append(Instruction(0, "ret", ("ret",), ()))
        first = len(whole.code)
        self.take_in(whole, body, names, name, end)
        own = {names[register] for register in body.registers if register in names}
        given = {names.get(register, register) for register in own_of(body, function.returns)}
        depth = f"%depth@{name}"
        whole.registers[depth] = "b32"
        local = {names[array.name]: -(-array.bytes // 16) * 16 for array in body.local}
        for number, array in enumerate(whole.local):
            if array.name in local:
                whole.local[number] = replace(array, align=16, bytes=local[array.name] * (DEEPEST + 1))
        for index in range(first, len(whole.code)):
            one = whole.code[index]
            if one.name[0] == "mov" and one.operands[-1] in local:  # the part of this call
                wide = ("mad", "wide", "u32") if one.name[1][1:] == "64" else ("mad", "lo", "u32")
                array = one.operands[-1]
                whole.code[index] = replace(one, name=wide, operands=(one.operands[0], depth, str(local[array]), array))
        whole.code.append(Instruction(0, f"the end of {name}", ("call", "pop"), (name,)))
        whole.stacks[name] = (sorted(own - given), depth)

    def mathematics(self, whole, call, caller, name, given, given_back):
        """Append a function of NVIDIA's library that the text only declares."""
        takes, gives, _ = mathematics()[name]
        stored = takes.count("p64")  # the last ones of what it gives, where a pointer says
        back = gives[: len(gives) - stored] or ("p64",)  # of one that gives nothing back, Numba says that it does
        for object_, kind in zip((*given, *given_back), (*takes, *back), strict=False):
            whole.registers.setdefault(f"{object_}.0", f"b{kind[1:]}")
        taken = [f"{object_}.0" for object_ in given]
        results, stores = [f"{object_}.0" for object_ in given_back[: len(gives) - stored]], []
        for number, kind in enumerate(gives[len(gives) - stored :]):
            self.calls += 1
            register = f"%result@{self.calls}"
            whole.registers[register] = f"b{kind[1:]}"
            results.append(register)
            pointer = taken[len(takes) - stored + number]
            stores.append(replace(call, name=("st", f"b{kind[1:]}"), operands=(f"[{pointer}]", register)))
        values = [register for register, kind in zip(taken, takes, strict=True) if kind != "p64"]
        whole.code.append(replace(call, name=("call", "mathematics", name), operands=(*results, *values)))
        whole.code += stores


@functools.cache
def known():
    """The functions of `library`, by name."""
    return read_text(TEXT).functions


def arguments(call):
    """What a call gets back and what it gives: two lists of names."""
    lists = [re.findall(r"[^\s,()]+", text) for text in call.operands if text.startswith("(")]
    back = lists.pop(0) if call.operands[0].startswith("(") else []
    return back, lists[0] if lists else []


def passes(one, function):
    """(object, offset in bytes, bits of an element) of an instruction that passes something to or from a call."""
    if one.name[0] not in ("ld", "st") or not one.name[1].startswith("param"):
        return None
    place = PLACE.fullmatch(one.operands[one.name[0] == "ld"])
    if not place or place["name"] not in function.passed:
        return None
    return place["name"], int_of(place["offset"] or "0"), int(re.search(r"\d+", one.name[-1])[0])


def own_of(body, objects):
    """The registers that hold objects that a call passes."""
    return [register for register in body.registers if register.rpartition(".")[0] in objects or register in objects]


def bits(kind):
    """A type without what its bits mean: "b32" for "f32"."""
    return re.sub(r"^[usf](?=\d)", "b", kind)


def bytes_of(kind):
    """Bytes of a parameter of that type; of a structure, such as "b8[16]", all of it."""
    kind, _, many = kind.partition("[")
    return int(re.search(r"\d+", kind)[0]) // 8 * int(many.strip("]") or 1)
