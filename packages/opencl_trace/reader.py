"""Reads OpenCL source: which expressions touch global or local memory, how, and of which type.

The parser knows C. OpenCL's own words are other words of the same length to it, so that a place in what it read is the
same place in the source. Each expression has a type, from the declarations; what has none, or is not known here, is
refused by its line, never guessed.
"""

import re
from collections import ChainMap
from dataclasses import dataclass, replace

import tree_sitter
import tree_sitter_c
from pcpp.evaluator import Evaluator

from .macros import TraceError, expand, without_attributes

LANGUAGE = tree_sitter.Language(tree_sitter_c.language())
SPACES = {"global": "__global", "local": "__local"}  # whose accesses are noted
WORDS = re.compile(rb"\b(?:__)?(kernel|global|local|constant|private|generic)\b")
VECTORS = r"(2|3|4|8|16)"
TYPES = re.compile(
    rf"((u?(char|short|int|long)|float|double|half){VECTORS}?|bool|void|size_t|(ptrdiff|u?intptr|event)_t)"
)
# Types of 4 bytes, and vectors of such.
WORD_TYPES = re.compile(rf"(?:volatile )?(?:u?int|float|unsigned|signed|(?:un)?signed int){VECTORS}?")
COMPONENTS = {letter: n for n, letter in enumerate("xyzw")}
COMPONENTS |= {f"{s}{digit}": int(digit, 16) for s in "sS" for digit in "0123456789abcdefABCDEF"}
BARRIERS = ("barrier", "work_group_barrier")


@dataclass(frozen=True)
class Access:
    """An expression that touches memory, source[start:end].

    form     "element": it is what is touched; "pointer": it points there; "offset": it is `i, p` of vload4(i, p)
    space    "global" or "local"
    ctype    of what lies there, such as "volatile float4"
    first    which of its numbers is the first one that is touched
    width    how many numbers of 4 bytes that are
    line     of the source, from 1
    reads, writes   whether it does so; `x += 1` does both
    """

    start: int
    end: int
    form: str
    space: str
    ctype: str
    first: int
    width: int
    line: int
    reads: bool = False
    writes: bool = False


@dataclass(frozen=True)
class Thing:
    """What a name or an expression stands for: its type, and where it lies.

    kind    "value", a number or a vector; "pointer"; "array"; "function"; "type", of a typedef's name
    name    of a value's type, such as "float4"; "" for a result of which nothing else is known
    of      what a pointer points to, an array holds, a function returns, a typedef stands for
    space   "global", "local", "constant" or "private"
    size    the node of an array's length, None for []; of a function's parameters, with their brackets
    access  what reading it touches
    """

    kind: str = "value"
    name: str = ""
    of: "Thing | None" = None
    space: str = "private"
    size: tree_sitter.Node | None = None
    access: Access | None = None

    def decayed(self):
        """Itself, or the pointer to its first element that an array is as a value."""
        return Thing("pointer", of=replace(self.of, space=self.space)) if self.kind == "array" else self


NUMBER = Thing()


def read(source, macros=None, kernel=None):
    """Read the source of a kernel. Returns a `Reader`, which has read it. The arguments are those of `annotate`.

    Raises TraceError for what is not understood, with its line.
    """
    text = expand(source, macros or {}).encode()
    plain = WORDS.sub(lambda word: b"const".ljust(len(word[0])), without_attributes(text))
    root = tree_sitter.Parser(LANGUAGE).parse(plain).root_node
    if root.has_error:
        wrong = root
        while inner := next((child for child in wrong.children if child.has_error or child.is_missing), None):
            wrong = inner
        raise TraceError(f"line {wrong.start_point[0] + 1} cannot be read as C")
    reader = Reader(text)
    reader.choose(root, kernel)
    reader.statement(root)
    return reader


def part(node, name):
    """The child that tree-sitter's grammar calls so, None where there is none."""
    return node.child_by_field_name(name)


def sign(node):
    """An expression's operator, such as "+="."""
    return part(node, "operator").type


class Reader:
    """Walks through the tree, down to expressions, and keeps what it finds. Places count bytes of `text`.

    text      the kernel's source with its macros replaced
    accesses  a list of `Access`
    edits     what else is to be written, see `around`
    kernel    the end of the kernel's parameters, and (start, end) of what stands in its body
    pointers  {name: space} of the pointers that the kernel takes
    locals    (name, shape in numbers of 4 bytes, where its declaration ends) of each local array

    A method called read_KIND reads an expression of that kind of tree-sitter's, and returns the `Thing` it stands for.
    An expression is not touched where it is met, but where it is used: `&A[i]` touches nothing, `A[i] = x` writes, and
    `A[i] += x` does both. So `expression` returns what a node stands for, and `touch` takes note of its use.
    """

    def __init__(self, text):
        self.text, self.accesses, self.edits = text, [], []
        self.kernel, self.pointers, self.locals = (), {}, []
        self.names = ChainMap()  # {name: Thing}, the innermost scope first
        self.in_kernel, self.others = False, []

    def choose(self, root, name):
        """Leave out all kernels but the one of that name, or the only one; the lines stay where they are."""
        kernels = [one for one in root.named_children if one.type == "function_definition"]
        kernels = [one for one in kernels if "kernel" in self.qualifiers(one)]
        names = [self.words(part(part(one, "declarator"), "declarator")) for one in kernels]
        if (name is None and len(names) != 1) or (name is not None and name not in names):
            found = ", ".join(names) or "none"
            raise TraceError(f"name one kernel of the source, by kernel=...; its kernels: {found}")
        self.others = [one for one, called in zip(kernels, names, strict=True) if name not in (None, called)]
        for one in self.others:
            start, end = one.start_byte, one.end_byte
            self.text = self.text[:start] + re.sub(rb"[^\n]", b" ", self.text[start:end]) + self.text[end:]

    def words(self, node):
        """The text of a node, with one blank for each run of white space."""
        return " ".join(self.text[node.start_byte : node.end_byte].decode().split())

    def refuse(self, node, why="{} is not understood"):
        """Raise the TraceError that names the node's line; {} is the node's text."""
        raise TraceError(f"line {node.start_point[0] + 1}: {why.replace('{}', repr(self.words(node)[:40]))}")

    def around(self, start, end, before, after=""):
        """Write text before and after a piece of the source.

        An edit is (place, 0 for an end or 1 for a beginning, -the other end, text). In that order the pieces nest: of
        two that begin together, the longer one comes first.
        """
        self.edits += [(start, 1, -end, before), (end, 0, -start, after)]

    def put_first(self, brackets, words):
        """Write more arguments, or parameters, before those that stand in the brackets."""
        start, end = brackets.start_byte + 1, brackets.end_byte - 1
        self.around(start, end, words + ", " * bool(self.text[start:end].strip()))

    # Declarations: what is named, of which type, and where it lies.

    def type_definition(self, node):
        """Read a typedef."""
        for _, name, thing in self.declared(node):
            self.names[name] = Thing("type", of=thing)

    def named_type(self, name):
        """The type of that name; None where it is none."""
        if name in self.names:
            return self.names[name].of if self.names[name].kind == "type" else None
        return Thing(name=name) if TYPES.fullmatch(name) else None

    def qualifiers(self, node):
        """The words, without __, such as "local", that stand beside a type or a *."""
        kept = [child for child in node.children if child.type == "type_qualifier"]
        found = [re.match(rb"\w+", self.text[child.start_byte :])[0] for child in kept]
        return [word.decode().removeprefix("__") for word in found]

    def space(self, node, otherwise):
        """The space that stands beside a type or a *."""
        return next((w for w in self.qualifiers(node) if w in ("global", "local", "constant", "private")), otherwise)

    def declared(self, node):
        """(declarator, name, `Thing`) of all that a declaration, a parameter or a cast declares; None for no name."""
        given, words = part(node, "type"), self.qualifiers(node)
        name = self.words(given) if given else ""
        sized = given and given.type == "sized_type_specifier"
        base = Thing(name=name) if sized else self.named_type(name)
        if not base:
            self.refuse(node, f"{name[:40]!r} is no type that is understood")
        if "generic" in words:
            self.refuse(node, "a generic pointer may point to any memory")
        if "volatile" in words and base.kind == "value":
            base = replace(base, name=f"volatile {base.name}")
        base = replace(base, space=self.space(node, base.space))
        return [(one, *self.applied(one, base)) for one in node.children_by_field_name("declarator") or [None]]

    def applied(self, declarator, base):
        """(name, `Thing`) of what a declarator makes of that type."""
        if declarator is None:
            return None, base
        inner = part(declarator, "declarator")
        match declarator.type.removeprefix("abstract_"):
            case "identifier" | "type_identifier" | "primitive_type":
                return self.words(declarator), base
            case "init_declarator":
                return self.applied(inner, base)
            case "parenthesized_declarator":
                return self.applied(declarator.named_children[0], base)
            case "pointer_declarator":
                return self.applied(inner, Thing("pointer", of=base, space=self.space(declarator, "private")))
            case "array_declarator":
                return self.applied(inner, Thing("array", of=base, space=base.space, size=part(declarator, "size")))
            case "function_declarator":
                return self.applied(inner, Thing("function", of=base, size=part(declarator, "parameters")))
        self.refuse(declarator)

    def function_definition(self, node):
        """Read a function and its body."""
        if node in self.others:
            return
        [(_, name, function)] = self.declared(node)
        self.in_kernel, body = "kernel" in self.qualifiers(node), part(node, "body")
        scope = self.function(node, name, function)
        if self.in_kernel:
            self.pointers = {called: thing.of.space for called, thing in scope.items() if thing.kind == "pointer"}
            self.kernel = (function.size.end_byte - 1, body.start_byte + 1, body.end_byte - 1)
        self.names = self.names.new_child(scope)
        self.statement(body)
        self.names = self.names.parents

    def function(self, node, name, function):
        """Take note of a function. Returns its parameters, {name: Thing}."""
        if self.names.setdefault(name, function).of != function.of:
            self.refuse(node, f"there are two functions {name}")
        is_kernel, scope = "kernel" in self.qualifiers(node), {}
        for parameter in function.size.named_children:
            if parameter.type != "parameter_declaration":
                self.refuse(parameter, "the parameter {} is not understood")
            [(_, called, thing)] = self.declared(parameter)
            thing = thing.decayed()
            if called:
                scope[called] = thing
            if is_kernel and thing.kind == "pointer" and thing.of.space not in SPACES:
                self.refuse(parameter, f"{called} lies in {thing.of.space} memory, where accesses are not noted")
        if not is_kernel:
            if self.words(function.size) == "(void)":  # the same as ()
                start, end = function.size.start_byte, function.size.end_byte
                self.text = self.text[:start] + self.text[start:end].replace(b"void", b" " * 4) + self.text[end:]
            self.put_first(function.size, "struct own_ *own_")
        return scope

    def declaration(self, node):
        """Read variables, which the innermost scope then has, and prototypes of functions."""
        for declarator, name, thing in self.declared(node):
            if thing.kind == "function":
                self.function(node, name, thing)
                continue
            if thing.space in SPACES and not (thing.space == "local" and self.in_kernel):
                self.refuse(node, f"{name} is a variable in {thing.space} memory outside the kernel")
            self.names[name] = thing
            if thing.space == "local":
                self.locals.append((name, self.shape(node, thing), node.end_byte))
            if declarator.type == "init_declarator":
                self.value(part(declarator, "value"))

    # Sizes, which only what lies in memory must have.

    def shape(self, node, thing):
        """The shape of a local array, in numbers of 4 bytes."""
        lengths = []
        while thing.kind == "array":
            lengths.append(self.whole(thing.size))
            thing = thing.of
        width = self.width(node, thing)
        return (*lengths[:-1], lengths[-1] * width) if lengths else (width,)

    def width(self, node, thing):
        """How many numbers of 4 bytes a value of that type is."""
        name = thing.name if thing.kind == "value" else "a pointer"
        found = WORD_TYPES.fullmatch(name)
        if not found or found[1] == "3":
            what = name.removeprefix("volatile ") or self.words(node)
            noted = "only numbers of 4 bytes, and vectors of 2, 4, 8 or 16 of them, are noted there"
            self.refuse(node, f"{what!r} lies in memory, and {noted}")
        return int(found[1] or 1)

    def whole(self, node):
        """The value of an integer expression of C, such as 64 / 8."""
        text = self.words(node) if node else ""
        try:
            return Evaluator()(text).value()
        except (SyntaxError, ArithmeticError):
            raise TraceError(f"the size of a local array, {text!r}, is not known before the kernel runs") from None

    # Statements: only scopes matter, and what is evaluated.

    def statement(self, node):
        """Read a statement, or the whole source, and all within it."""
        opens = node.type in ("compound_statement", "for_statement")
        if opens:
            self.names = self.names.new_child()
        for child in node.named_children:
            if child.type.endswith("_statement") or child.type == "else_clause":
                self.statement(child)
            elif child.type in ("declaration", "type_definition", "function_definition"):
                getattr(self, child.type)(child)
            elif child.type not in ("statement_identifier", "preproc_call"):
                self.value(child)
        if opens:
            self.names = self.names.parents

    # What an expression stands for, and when that is touched.

    def expression(self, node):
        """The `Thing` that a node stands for. Its parts are read, itself is not read yet."""
        return getattr(self, f"read_{node.type}", self.refuse)(node)

    def value(self, node):
        """Read an expression. Returns its value."""
        return self.touch(self.expression(node), node, reads=True)

    def touch(self, thing, node, reads=False, writes=False):
        """Read or write what an expression stands for. Returns its value."""
        if access := thing.access:
            access = replace(access, width=access.width or self.width(node, thing), reads=reads, writes=writes)
            self.accesses.append(access)
        return replace(thing.decayed(), access=None)

    def lying(self, node, thing, form="element", place=None):
        """The same with its access, where it lies in memory. `place`: the node that names it, if another one does."""
        if thing.space not in SPACES or thing.kind not in ("value", "pointer"):
            return thing
        if thing.kind == "pointer":
            self.refuse(node, f"{{}} is a pointer that lies in {thing.space} memory")
        place, line = place or node, node.start_point[0] + 1
        # The width is 0 until `touch` or `read_field_expression` knows it.
        access = Access(place.start_byte, place.end_byte, form, thing.space, thing.name, 0, 0, line)
        return replace(thing, access=access)

    def type_in_brackets(self, node):
        """The type that a node names in brackets, such as (float4), or None."""
        if node.type != "parenthesized_expression" or node.named_children[0].type != "identifier":
            return None
        return self.named_type(self.words(node.named_children[0]))

    # Names and constants.

    def read_identifier(self, node):
        """A variable, or else a constant of OpenCL's own, such as CLK_LOCAL_MEM_FENCE."""
        name = self.words(node)
        if self.named_type(name):
            self.refuse(node, f"{name} stands where a value is wanted")
        return self.lying(node, self.names.get(name, NUMBER))

    def read_number_literal(self, node):
        """A constant, a size or the like: it touches nothing."""
        return NUMBER

    read_char_literal = read_string_literal = read_concatenated_string = read_number_literal
    read_true = read_false = read_null = read_number_literal
    read_sizeof_expression = read_subscript_designator = read_field_designator = read_number_literal

    def read_parenthesized_expression(self, node):
        """What the brackets hold."""
        return self.expression(node.named_children[0])

    # Pointers, arrays and components of vectors.

    def pointed(self, node, argument, form="element", place=None):
        """What a pointer or an array points to."""
        thing = self.value(argument)
        if thing.kind != "pointer":
            self.refuse(node, f"it is not known what {self.words(argument)!r} points to")
        return self.lying(node, thing.of, form, place)

    def read_subscript_expression(self, node):
        """p[i]; an i[p] is refused."""
        thing, index = self.pointed(node, part(node, "argument")), part(node, "index")
        if self.value(index).kind != "value":
            self.refuse(index, "the index {} is not a number")
        return thing

    def read_pointer_expression(self, node):
        """*p or &x."""
        argument = part(node, "argument")
        if sign(node) == "*":
            return self.pointed(node, argument)
        return Thing("pointer", of=replace(self.expression(argument), access=None))

    def read_field_expression(self, node):
        """v.x or p->x; in memory, one component of a vector."""
        argument, name = part(node, "argument"), self.words(part(node, "field"))
        arrow = any(child.type == "->" for child in node.children)
        thing = self.pointed(node, argument, "pointer", argument) if arrow else self.expression(argument)
        if not thing.access:
            return NUMBER
        if name not in COMPONENTS or thing.access.width:
            self.refuse(node, "{} is some numbers of a vector in memory. Copy the vector first")
        if not WORD_TYPES.fullmatch(thing.name):
            self.width(node, thing)  # which refuses it: its components are no numbers of 4 bytes
        return replace(NUMBER, space=thing.space, access=replace(thing.access, first=COMPONENTS[name], width=1))

    # Operators.

    def read_assignment_expression(self, node):
        """x = y, or x += y, x++ and their kin, which read x too."""
        target, right = part(node, "left") or part(node, "argument"), part(node, "right")
        if right:
            self.value(right)
        return self.touch(self.expression(target), target, reads=sign(node) != "=", writes=True)

    read_update_expression = read_assignment_expression

    def read_unary_expression(self, node):
        """-x, !x and their kin, or {x, y}, or [0] = x within it."""
        for child in node.named_children:
            self.value(child)
        return NUMBER

    read_initializer_list = read_initializer_pair = read_unary_expression

    def read_binary_expression(self, node):
        """x + y and its kin, of which some are a cast in truth; a pointer may walk."""
        left, right = part(node, "left"), part(node, "right")
        which, cast_to = sign(node), self.type_in_brackets(left)
        # C's parser cannot know that (float4)-x and (float4)*p begin with a type.
        if cast_to:
            if which == "*":
                self.touch(self.pointed(node, right, "pointer", right), right, reads=True)
            elif which in "+-":
                self.value(right)
            else:
                self.refuse(node)
            return cast_to
        one, other = self.value(left), self.value(right)
        if which in "+-" and one.kind == "pointer" and other.kind == "value":
            return one
        return other if which == "+" and other.kind == "pointer" else NUMBER

    def read_conditional_expression(self, node):
        """x ? y : z."""
        if part(node, "consequence") is None:
            self.refuse(node)
        self.value(part(node, "condition"))
        arms = [self.value(part(node, arm)) for arm in ("consequence", "alternative")]
        pointers = [arm for arm in arms if arm.kind == "pointer"]
        if len({pointer.of for pointer in pointers}) > 1:
            self.refuse(node, "{} may point to things of two types")
        return pointers[0] if pointers else arms[0]

    def read_comma_expression(self, node):
        """x, y."""
        self.value(part(node, "left"))
        return self.value(part(node, "right"))

    def read_cast_expression(self, node):
        """(float)x, where C's parser knows the type, or (float[2]){x, y}."""
        self.value(part(node, "value"))
        [(_, _, thing)] = self.declared(part(node, "type"))
        return thing

    read_compound_literal_expression = read_cast_expression

    # Calls.

    def read_call_expression(self, node):
        """f(x), or (float4)(x, y, z, w), which looks like a call to C's parser."""
        function, brackets = part(node, "function"), part(node, "arguments")
        literal, name = self.type_in_brackets(function), self.words(function)
        if not literal and (function.type != "identifier" or self.named_type(name)):
            self.refuse(node)
        if name == "vec_step":
            return NUMBER  # evaluates nothing
        arguments = brackets.named_children
        values = [self.value(argument) for argument in arguments]
        if literal:
            return literal
        if name in self.names:
            self.put_first(brackets, "own_")
            return self.names[name].of
        if name in BARRIERS:
            self.around(node.start_byte, node.end_byte, "(", ", ++own_->phase)")
        elif wide := re.fullmatch(rf"v(load|store){VECTORS}", name):
            self.wide_access(node, arguments[-2:], values[-1], wide[1] == "store", int(wide[2]))
        elif name != "prefetch":  # which touches nothing that counts
            for value in values:
                if value.kind == "pointer" and value.of.space in SPACES:
                    where = f"a pointer to {value.of.space} memory"
                    self.refuse(node, f"{name} takes {where}, and what it does there is not known")
        return NUMBER

    def wide_access(self, node, arguments, pointer, writes, width):
        """Take note of vloadn(i, p), or of vstoren(x, i, p)."""
        if pointer.kind != "pointer":
            self.refuse(node, f"it is not known what {self.words(arguments[1])!r} points to")
        there = pointer.of
        if there.space in SPACES:
            if self.width(node, there) != 1:
                self.refuse(node, f"{self.words(arguments[1])!r} points to vectors already")
            start, end, line = arguments[0].start_byte, arguments[1].end_byte, node.start_point[0] + 1
            access = Access(start, end, "offset", there.space, there.name, 0, width, line, not writes, writes)
            self.accesses.append(access)
