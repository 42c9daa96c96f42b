"""Reads OpenCL source: which expressions touch global or local memory, how, and of which type.

The parser knows C. OpenCL's own words are other words of the same length to it, so that a place in what it read is the
same place in the source. Each expression has a type, from the declarations; what has none, or is not known here, is
refused by its line, never guessed.
"""

import operator
import re
from dataclasses import dataclass, field, replace

import tree_sitter
import tree_sitter_c

from ..launch import KernelError
from .opencl_macros import expand, without_attributes

LANGUAGE = tree_sitter.Language(tree_sitter_c.language())
SPACES = {"global": "__global", "local": "__local"}  # whose accesses are noted
WORDS = re.compile(rb"\b(?:__)?(kernel|global|local|constant|private|generic)\b")
VECTORS = r"(2|3|4|8|16)"
TYPES = re.compile(
    rf"((u?(char|short|int|long)|float|double|half){VECTORS}?|bool|void|size_t|(ptrdiff|u?intptr|event)_t)"
)
# Types of 4 bytes, and vectors of such.
WORD_TYPES = re.compile(rf"(?:u?int|float|unsigned|signed|(?:un)?signed int){VECTORS}?")
COMPONENTS = {letter: n for n, letter in enumerate("xyzw")}
COMPONENTS |= {f"{s}{digit}": int(digit, 16) for s in "sS" for digit in "0123456789abcdefABCDEF"}
ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
BARRIERS = ("barrier", "work_group_barrier")


@dataclass(frozen=True)
class Value:
    """A number or a vector.

    `name`: as it is declared, such as "float4"; "" for a result of which nothing else is known.
    """

    name: str = ""


@dataclass(frozen=True)
class Pointer:
    """`space`: "global", "local", "constant" or "private", where it points to."""

    to: object
    space: str


@dataclass(frozen=True)
class Array:
    """`length`: the node of its size, which only local arrays need; None for []."""

    of: object
    length: object = None


@dataclass(frozen=True)
class Function:
    """`parameters`: the node of what stands in the brackets, with them."""

    returns: object
    parameters: object


@dataclass(frozen=True)
class Term:
    """What an expression is.

    `space`: where it lies, if it can be assigned to, else None. `access`: what reading it touches.
    """

    ctype: object
    space: str | None = None
    access: object = None


@dataclass(frozen=True)
class Access:
    """An expression that touches memory, source[start:end].

    form     "element": it is what is touched; "pointer": it points there; "offset": it is `i, p` of vload4(i, p)
    space    "global" or "local"
    ctype    of what lies there, such as "volatile float4"
    first    which of its numbers is the first one that is touched
    width    how many numbers of 4 bytes that are
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

    @property
    def memory(self):
        """What the space is called in a trace: "global" or "shared"."""
        return {"global": "global", "local": "shared"}[self.space]


@dataclass
class Parsed:
    """What was found in a source. Places count bytes of `source`, which is the kernel's with its macros replaced.

    accesses    a list of `Access`
    barriers    (start, end) of each call
    calls       (start, end) of what stands in the brackets of each call to a function of its own
    parameters  (start, end) of what stands in the brackets of each function but the kernel
    kernel      the end of the kernel's parameters, and (start, end) of what stands in its body
    matrices    the names of the pointers that the kernel takes
    locals      (name, shape in numbers of 4 bytes, where its declaration ends) of each local array
    """

    source: bytes
    accesses: list = field(default_factory=list)
    barriers: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    parameters: list = field(default_factory=list)
    kernel: tuple = ()
    matrices: list = field(default_factory=list)
    locals: list = field(default_factory=list)


def parse(source, parameters):
    """Read a kernel's source text. `parameters`: its macros, a dict. Returns `Parsed`.

    Raises KernelError for what it refuses.
    """
    text = expand(source, parameters).encode()
    plain = WORDS.sub(lambda word: b"const".ljust(len(word[0])), without_attributes(text))
    root = tree_sitter.Parser(LANGUAGE).parse(plain).root_node
    if root.has_error:
        wrong = root
        while inner := next((child for child in wrong.children if child.has_error or child.is_missing), None):
            wrong = inner
        raise KernelError(f"line {wrong.start_point[0] + 1} cannot be read as C")
    reader = Reader(text)
    for node in root.named_children:
        reader.outside(node)
    return reader.found


def part(node, name):
    """The child that tree-sitter's grammar calls so, None where there is none."""
    return node.child_by_field_name(name)


def sign(node):
    """An expression's operator, such as "+="."""
    return part(node, "operator").type


class Reader:
    """Walks through the tree, and writes what it finds into `found`, a `Parsed`.

    `outside` takes each node at the top of the tree. From there the walk goes down through declarations and statements
    to expressions. READ, at the end, says which method reads which kind of expression; each returns a `Term`.

    An expression is not touched where it is met, but where it is used: `&A[i]` touches nothing, `A[i] = x` writes, and
    `A[i] += x` does both. So `expression` returns what a node stands for, and `touch` takes note of its use.
    """

    def __init__(self, text):
        self.text, self.found = text, Parsed(text)
        self.scopes, self.types, self.functions = [{}], {}, {}
        self.in_kernel = False

    def words(self, node):
        """The text of a node, with one blank for each run of white space."""
        return " ".join(self.text[node.start_byte : node.end_byte].decode().split())

    def refuse(self, node, why):
        """Raise the KernelError that names the node's line."""
        raise KernelError(f"line {node.start_point[0] + 1}: {why}")

    # Declarations: what is named, of which type, and where it lies.

    def outside(self, node):
        """Read what stands outside all functions."""
        if node.type == "function_definition":
            self.function_definition(node)
        elif node.type == "type_definition":
            base, base_space, _ = self.specifiers(node)
            for declarator in node.children_by_field_name("declarator"):
                name, ctype, space = self.declared(declarator, base, base_space)
                self.types[name] = (ctype, space)
        elif node.type == "declaration":
            self.declaration(node)
        elif node.type not in ("preproc_call", ";"):
            self.refuse(node, f"{self.words(node)[:40]!r} is not understood")

    def qualifiers(self, node):
        """The words, without __, such as "local", that stand beside a type or a *."""
        found = [
            re.match(rb"\w+", self.text[child.start_byte :])[0]
            for child in node.children
            if child.type == "type_qualifier"
        ]
        return [word.decode().removeprefix("__") for word in found]

    def specifiers(self, node):
        """The type that a declaration begins with, its space, and whether it belongs to a kernel."""
        given = part(node, "type")
        name = self.words(given) if given else ""
        if name in self.types:
            ctype, space = self.types[name]
        elif given and (given.type == "sized_type_specifier" or TYPES.fullmatch(name)):
            ctype, space = Value(name), "private"
        else:
            self.refuse(node, f"{name[:40]!r} is no type that is understood")
        words = self.qualifiers(node)
        if "generic" in words:
            self.refuse(node, "a generic pointer may point to any memory")
        if "volatile" in words and isinstance(ctype, Value):
            ctype = Value(f"volatile {ctype.name}")
        space = next((word for word in words if word in ("global", "local", "constant", "private")), space)
        return ctype, space, "kernel" in words

    def declared(self, declarator, ctype, space):
        """(name, type, space) of what a declarator declares, None for the name where it has none."""
        kind = declarator.type if declarator else None
        inner = part(declarator, "declarator") if declarator else None
        if kind is None or kind in ("identifier", "type_identifier", "primitive_type"):
            return (self.words(declarator) if declarator else None), ctype, space
        if kind == "init_declarator":
            return self.declared(inner, ctype, space)
        if kind in ("parenthesized_declarator", "abstract_parenthesized_declarator"):
            return self.declared(declarator.named_children[0], ctype, space)
        if kind in ("pointer_declarator", "abstract_pointer_declarator"):
            own = [word for word in self.qualifiers(declarator) if word in ("global", "local", "constant", "private")]
            return self.declared(inner, Pointer(ctype, space), own[0] if own else "private")
        if kind in ("array_declarator", "abstract_array_declarator"):
            return self.declared(inner, Array(ctype, part(declarator, "size")), space)
        if kind == "function_declarator":
            return self.declared(inner, Function(ctype, part(declarator, "parameters")), space)
        self.refuse(declarator, f"{self.words(declarator)[:40]!r} is not understood")

    def function_definition(self, node):
        """Read a function and its body."""
        base, space, is_kernel = self.specifiers(node)
        name, function, _ = self.declared(part(node, "declarator"), base, space)
        self.in_kernel = is_kernel
        scope = self.function(node, name, function, is_kernel)
        body = part(node, "body")
        if is_kernel:
            self.found.kernel = (function.parameters.end_byte - 1, body.start_byte + 1, body.end_byte - 1)
        self.scopes.append(scope)
        self.statement(body)
        self.scopes.pop()

    def function(self, node, name, function, is_kernel):
        """Take note of a function. Returns its parameters, {name: (type, space)}."""
        if self.functions.setdefault(name, function.returns) != function.returns:
            self.refuse(node, f"there are two functions {name}")
        scope = {}
        for parameter in function.parameters.named_children:
            if parameter.type != "parameter_declaration":
                self.refuse(parameter, f"the parameter {self.words(parameter)!r} is not understood")
            base, space, _ = self.specifiers(parameter)
            called, ctype, space = self.declared(part(parameter, "declarator"), base, space)
            if isinstance(ctype, Array):
                ctype, space = Pointer(ctype.of, space), "private"
            if called:
                scope[called] = (ctype, space)
            if is_kernel and isinstance(ctype, Pointer):
                if ctype.space != "global":
                    self.refuse(parameter, f"{called} lies in {ctype.space} memory, where accesses are not noted")
                self.found.matrices.append(called)
        if not is_kernel:
            start, end = function.parameters.start_byte + 1, function.parameters.end_byte - 1
            if self.words(function.parameters) == "(void)":  # the same as ()
                self.found.source = self.found.source[:start] + b" " * (end - start) + self.found.source[end:]
            self.found.parameters.append((start, end))
        return scope

    def declaration(self, node):
        """Read variables, which the innermost scope then has, and prototypes of functions."""
        base, base_space, is_kernel = self.specifiers(node)
        for declarator in node.children_by_field_name("declarator"):
            name, ctype, space = self.declared(declarator, base, base_space)
            if isinstance(ctype, Function):
                self.function(node, name, ctype, is_kernel)
                continue
            if space in SPACES and not (space == "local" and self.in_kernel):
                self.refuse(node, f"{name} is a variable in {space} memory outside the kernel")
            self.scopes[-1][name] = (ctype, space)
            if space == "local":
                self.found.locals.append((name, self.shape(node, ctype), node.end_byte))
            if declarator.type == "init_declarator":
                self.value(part(declarator, "value"))

    # Sizes, which only what lies in memory must have.

    def shape(self, node, ctype):
        """The shape of a local array, in numbers of 4 bytes."""
        lengths = []
        while isinstance(ctype, Array):
            lengths.append(self.whole(ctype.length))
            ctype = ctype.of
        width = self.width(node, ctype)
        return (*lengths[:-1], lengths[-1] * width) if lengths else (width,)

    def width(self, node, ctype):
        """How many numbers of 4 bytes a value of that type is."""
        name = ctype.name.removeprefix("volatile ") if isinstance(ctype, Value) else "a pointer"
        found = WORD_TYPES.fullmatch(name)
        if not found or found[1] == "3":
            what = name or self.words(node)
            noted = "only numbers of 4 bytes, and vectors of 2, 4, 8 or 16 of them, are noted there"
            self.refuse(node, f"{what!r} lies in memory, and {noted}")
        return int(found[1] or 1)

    def whole(self, node):
        """The value of a whole-number expression of C, such as 64 / 8."""
        text = self.words(node) if node else ""
        if node and node.type == "number_literal" and re.fullmatch(r"(0x[\da-f]+|0|[1-9]\d*)[ul]*", text.lower()):
            return int(text.lower().rstrip("ul"), 0)
        if node and node.type == "parenthesized_expression":
            return self.whole(node.named_children[0])
        if node and node.type == "binary_expression" and sign(node) in ARITHMETIC:
            return ARITHMETIC[sign(node)](*map(self.whole, node.named_children))
        raise KernelError(f"the size of a local array, {text!r}, is not known before the kernel runs")

    # Statements: only scopes matter, and what is evaluated.

    def statement(self, node):
        """Read a statement and all within it."""
        opens = node.type in ("compound_statement", "for_statement")
        if opens:
            self.scopes.append({})
        for child in node.named_children:
            if child.type.endswith("_statement") or child.type == "else_clause":
                self.statement(child)
            elif child.type == "declaration":
                self.declaration(child)
            elif child.type not in ("statement_identifier", "preproc_call"):
                self.value(child)
        if opens:
            self.scopes.pop()

    # Terms: what an expression stands for, and when that is touched.

    def expression(self, node):
        """The `Term` of a node, whose parts are read, and which itself is not read yet."""
        if node.type not in READ:
            self.refuse(node, f"{self.words(node)[:40]!r} is not understood")
        return READ[node.type](self, node)

    def value(self, node):
        """Read an expression. Returns its type; an array's is that of a pointer to its first element."""
        return self.touch(self.expression(node), node, reads=True)

    def touch(self, term, node, reads=False, writes=False):
        """Read or write what an expression stands for. Returns its type as a value."""
        if isinstance(term.ctype, Array):
            return Pointer(term.ctype.of, term.space)
        if term.space in SPACES:
            access = term.access
            if not access.width:
                access = replace(access, width=self.width(node, term.ctype))
            self.found.accesses.append(replace(access, reads=reads, writes=writes))
        return term.ctype

    def lying(self, node, ctype, space, form="element", place=None):
        """The `Term` of something in memory. `place`: the node that names it, if that is not the node itself."""
        if space not in SPACES or not isinstance(ctype, Value):
            if space in SPACES and isinstance(ctype, Pointer):
                self.refuse(node, f"{self.words(node)!r} is a pointer that lies in {space} memory")
            return Term(ctype, space)
        place, line = place or node, node.start_point[0] + 1
        # The width is 0 until `touch` or `field_expression` knows it.
        return Term(ctype, space, Access(place.start_byte, place.end_byte, form, space, ctype.name, 0, 0, line))

    # Types that expressions name.

    def type_name(self, node):
        """The type that a node names in brackets, such as (float4), or None."""
        if node.type != "parenthesized_expression" or node.named_children[0].type != "identifier":
            return None
        name = self.words(node.named_children[0])
        if any(name in scope for scope in self.scopes):
            return None
        return self.types[name][0] if name in self.types else Value(name) if TYPES.fullmatch(name) else None

    def described(self, descriptor):
        """The type that a cast names."""
        base, space, _ = self.specifiers(descriptor)
        return self.declared(part(descriptor, "declarator"), base, space)[1]

    # Names and constants.

    def identifier(self, node):
        """A variable, or else a constant of OpenCL's own."""
        name = self.words(node)
        for scope in reversed(self.scopes):
            if name in scope:
                return self.lying(node, *scope[name])
        if name in self.types or TYPES.fullmatch(name):
            self.refuse(node, f"{name} stands where a value is wanted")
        return Term(Value())  # a constant of OpenCL's own, such as CLK_LOCAL_MEM_FENCE

    def constant(self, node):
        """A number, a text, or a size: it touches nothing."""
        return Term(Value())

    def brackets(self, node):
        """What the brackets hold."""
        return self.expression(node.named_children[0])

    # Pointers, arrays and components of vectors.

    def pointed(self, node, argument, form="element", place=None):
        """What a pointer or an array points to."""
        term = self.expression(argument)
        ctype = self.touch(term, argument, reads=True)
        if not isinstance(ctype, Pointer):
            self.refuse(node, f"it is not known what {self.words(argument)!r} points to")
        return self.lying(node, ctype.to, ctype.space, form, place)

    def subscript(self, node):
        """p[i]; an i[p] is refused."""
        term, index = self.pointed(node, part(node, "argument")), part(node, "index")
        if not isinstance(self.value(index), Value):
            self.refuse(node, f"the index {self.words(index)!r} is not a number")
        return term

    def pointer(self, node):
        """*p or &x."""
        argument = part(node, "argument")
        if sign(node) == "*":
            return self.pointed(node, argument)
        term = self.expression(argument)
        return Term(Pointer(term.ctype, term.space or "private"))

    def field(self, node):
        """v.x or p->x; in memory, one component of a vector."""
        argument, name = part(node, "argument"), self.words(part(node, "field"))
        arrow = any(child.type == "->" for child in node.children)
        term = self.pointed(node, argument, "pointer", argument) if arrow else self.expression(argument)
        if term.space not in SPACES:
            return Term(Value(), term.space)
        if name not in COMPONENTS or term.access.width:
            self.refuse(node, f"{self.words(node)!r} is some numbers of a vector in memory. Copy the vector first")
        if not WORD_TYPES.fullmatch(term.ctype.name.removeprefix("volatile ")):
            self.width(node, term.ctype)  # which refuses it: its components are no numbers of 4 bytes
        return Term(Value(), term.space, replace(term.access, first=COMPONENTS[name], width=1))

    # Operators.

    def assignment(self, node):
        """x = y, or x += y and its kin, which read x too."""
        left, right = part(node, "left"), part(node, "right")
        also_reads = sign(node) != "="
        self.value(right)
        return Term(self.touch(self.expression(left), left, reads=also_reads, writes=True))

    def update(self, node):
        """x++, ++x, x-- or --x."""
        argument = part(node, "argument")
        return Term(self.touch(self.expression(argument), argument, reads=True, writes=True))

    def values(self, node):
        """-x, !x and their kin, or {x, y}."""
        for child in node.named_children:
            self.value(child)
        return Term(Value())

    def binary(self, node):
        """x + y and its kin, of which some are a cast in truth; a pointer may walk."""
        left, right = part(node, "left"), part(node, "right")
        which, cast_to = sign(node), self.type_name(left)
        # C's parser cannot know that (float4)-x and (float4)*p begin with a type.
        if cast_to is not None:
            if which == "*":
                self.touch(self.pointed(node, right, "pointer", right), right, reads=True)
            elif which in "+-":
                self.value(right)
            else:
                self.refuse(node, f"{self.words(node)!r} is not understood")
            return Term(cast_to)
        one, other = self.value(left), self.value(right)
        if which in "+-" and isinstance(one, Pointer) and isinstance(other, Value):
            return Term(one)
        if which == "+" and isinstance(other, Pointer):
            return Term(other)
        return Term(Value())

    def conditional(self, node):
        """x ? y : z."""
        if part(node, "consequence") is None:
            self.refuse(node, f"{self.words(node)!r} is not understood")
        self.value(part(node, "condition"))
        arms = [self.value(node.child_by_field_name(arm)) for arm in ("consequence", "alternative")]
        pointers = [arm for arm in arms if isinstance(arm, Pointer)]
        if len(set(pointers)) > 1:
            self.refuse(node, f"{self.words(node)!r} may point to things of two types")
        return Term(pointers[0] if pointers else arms[0])

    def comma(self, node):
        """x, y."""
        self.value(part(node, "left"))
        return Term(self.value(part(node, "right")))

    # Casts and lists of values.

    def cast(self, node):
        """(float)x, where C's parser knows the type."""
        self.value(part(node, "value"))
        return Term(self.described(part(node, "type")))

    def compound_literal(self, node):
        """(float[2]){x, y}."""
        self.value(part(node, "value"))
        return Term(self.described(part(node, "type")), "private")

    def initializer_pair(self, node):
        """[0] = x within {}."""
        self.value(part(node, "value"))
        return Term(Value())

    # Calls.

    def call(self, node):
        """f(x), or (float4)(x, y, z, w), which looks like a call to C's parser."""
        function, brackets = part(node, "function"), part(node, "arguments")
        arguments, literal = brackets.named_children, self.type_name(function)
        if literal is not None:  # (float4)(a, b, c, d)
            for argument in arguments:
                self.value(argument)
            return Term(literal)
        name = self.words(function)
        if function.type != "identifier" or name in self.types or TYPES.fullmatch(name):
            self.refuse(node, f"{self.words(node)[:40]!r} is not understood")
        if name == "vec_step":
            return Term(Value())  # evaluates nothing
        types = [self.value(argument) for argument in arguments]
        if name in self.functions:
            self.found.calls.append((brackets.start_byte + 1, brackets.end_byte - 1))
            return Term(self.functions[name])
        if name in BARRIERS:
            self.found.barriers.append((node.start_byte, node.end_byte))
        elif wide := re.fullmatch(rf"v(load|store){VECTORS}", name):
            self.wide_access(node, arguments[-2:], types[-1], wide[1] == "store", int(wide[2]))
        elif name != "prefetch":  # which touches nothing that counts
            for ctype in types:
                if isinstance(ctype, Pointer) and ctype.space in SPACES:
                    where = f"a pointer to {ctype.space} memory"
                    self.refuse(node, f"{name} takes {where}, and what it does there is not known")
        return Term(Value())

    def wide_access(self, node, arguments, ctype, writes, width):
        """Take note of vloadn(i, p), or of vstoren(x, i, p)."""
        if not isinstance(ctype, Pointer):
            self.refuse(node, f"it is not known what {self.words(arguments[1])!r} points to")
        if ctype.space in SPACES:
            if self.width(node, ctype.to) != 1:
                self.refuse(node, f"{self.words(arguments[1])!r} points to vectors already")
            start, end, line = arguments[0].start_byte, arguments[1].end_byte, node.start_point[0] + 1
            access = Access(start, end, "offset", ctype.space, ctype.to.name, 0, width, line, not writes, writes)
            self.found.accesses.append(access)


CONSTANTS = ("number_literal", "char_literal", "string_literal", "concatenated_string", "true", "false", "null")
READ = dict.fromkeys((*CONSTANTS, "sizeof_expression"), Reader.constant) | {  # sizeof evaluates nothing
    "identifier": Reader.identifier,
    "parenthesized_expression": Reader.brackets,
    "subscript_expression": Reader.subscript,
    "pointer_expression": Reader.pointer,
    "field_expression": Reader.field,
    "assignment_expression": Reader.assignment,
    "update_expression": Reader.update,
    "unary_expression": Reader.values,
    "binary_expression": Reader.binary,
    "conditional_expression": Reader.conditional,
    "comma_expression": Reader.comma,
    "cast_expression": Reader.cast,
    "compound_literal_expression": Reader.compound_literal,
    "initializer_list": Reader.values,
    "initializer_pair": Reader.initializer_pair,
    "call_expression": Reader.call,
}
