"""Which statements of a notebook's cells are needed for some names: the answer, without the calls that check it."""

import ast
import builtins
import re
import symtable
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

MAGIC = re.compile(r"\A((?:[ \t]*(?:#.*)?\n)*)[ \t]*%%.*")  # of a whole cell, above or below the line with its number
RUN = {"time", "timeit", "prun"}  # magics of a line that run what follows them


@dataclass(frozen=True)
class Statement:
    """A statement that stands outside any function, as text.

    binds      the names that it gives a value; "*" for those of a module
    reads      the names that it, or a function in it, takes from outside
    changes    the names of what it changes in place: `names[0] = 1`, `names.append(1)`
    passes     the names of what it hands to a call whose value nobody keeps: `shuffle(names)` may change them
    """

    text: str
    binds: frozenset
    reads: frozenset
    changes: frozenset
    passes: frozenset


@dataclass(frozen=True)
class Cell:
    """The text of a code cell. `label`: the exercise whose answer it holds, None for the page's and a learner's own."""

    source: str
    label: str | None = None

    @cached_property
    def read(self) -> tuple[list[Statement], str]:
        """(what is in it, in order; why it is no Python, "" where it is)."""
        from IPython.core.inputtransformer2 import TransformerManager

        text = MAGIC.sub(r"\1", self.source.replace("\r\n", "\n").replace("\r", "\n"))
        try:  # IPython's own words become calls
            return statements_of(TransformerManager().transform_cell(text)), ""
        except SyntaxError as error:
            return [], f"line {error.lineno}: {error.msg}" + (f": {error.text.strip()[:80]}" if error.text else "")
        except Exception as error:  # zeros in the text, brackets a thousand deep, what IPython cannot take apart
            return [], str(error) or type(error).__name__

    @property
    def statements(self) -> list[Statement]:
        """The statements that stand outside any function; none where it is no Python."""
        return self.read[0]

    @property
    def broken(self) -> str:
        """Why it is no Python, "" where it is."""
        return self.read[1]

    @cached_property
    def binds(self) -> set[str]:
        """The names that it gives a value."""
        return {name for statement in self.statements for name in statement.binds}

    @cached_property
    def touches(self) -> set[str]:
        """The names that it gives a value, and those of what it changes in place."""
        return self.binds.union(*(statement.changes for statement in self.statements))


def needed(names: Iterable[str], cells: Iterable[Cell], before: Iterable[Cell] = (), given: Iterable[str] = ()):
    """The statements of those cells that the names need, in order, those of the cells `before` them first.

    A statement is needed that binds such a name, or changes what it stands for, wherever it stands: a function finds
    its helper below it, too. From `before` come only names that nothing else provides; `given`: those that the page
    provides. No cell of another exercise says what the names themselves are.
    """
    names = set(names)
    own = [statement for cell in cells for statement in cell.statements]
    provided = {name for statement in own for name in statement.binds}.union(given, dir(builtins)) - {"*"}
    found, of_name = [], defaultdict(list)
    for cell in before:
        others = provided | names if cell.label else provided
        found += [(s, (s.binds | s.changes) - others) for s in cell.statements]
    found += [(s, s.binds | s.changes | (s.passes - names)) for s in own]  # a call on the answer itself checks it
    for statement, touched in found:
        for name in touched:
            of_name[name].append(statement)
    kept, wanted = set(), [*names, "*"]
    while wanted:
        for statement in of_name.pop(wanted.pop(), ()):
            if id(statement) not in kept:
                kept.add(id(statement))
                wanted += statement.reads
    return [statement for statement, _ in found if id(statement) in kept]


def statements_of(text: str) -> list[Statement]:
    """The statements of a text of Python, in order. What IPython's words do is left out, but for what they time."""
    lines = [line.encode() for line in text.split("\n")]
    found = []
    for node in ast.parse(text).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        piece = lines[first - 1 : node.end_lineno]
        piece[-1] = piece[-1][: node.end_col_offset]
        if first == node.lineno:
            piece[0] = piece[0][node.col_offset :]
        said = b"\n".join(piece).decode()
        if "get_ipython()" in said:
            said = ast.unparse(Plain().visit(ast.Module([node], [])))
            node = ast.Module(ast.parse(said).body, [])
        binds, reads = names_of(said)
        if any(isinstance(part, ast.ImportFrom) and part.names[0].name == "*" for part in ast.walk(node)):
            binds.add("*")
        found.append(Statement(said, *map(frozenset, (binds, reads, *changed_by(node)))))
    return found


def names_of(text: str) -> tuple[set, set]:
    """(the names that the text binds outside functions, those that it reads from outside)."""
    table = symtable.symtable(text, "<cell>", "exec")
    symbols = table.get_symbols()
    binds = {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}
    reads = {s.get_name() for s in symbols if s.is_referenced()}
    inside = list(table.get_children())
    while inside:
        table = inside.pop()
        reads |= {s.get_name() for s in table.get_symbols() if s.is_global()}
        inside += table.get_children()
    return binds, reads


def changed_by(node: ast.AST) -> tuple[set, set]:
    """The names (changed in place, handed to a call on its own) in a statement, not in functions that it defines."""
    changes, passes, rest = set(), set(), [node]
    while rest:
        node = rest.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            changes.add(root(node))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if isinstance(call.func, ast.Attribute):
                changes.add(root(call.func))
            handed = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg)]
            passes |= {value.id for value in handed if isinstance(value, ast.Name)}
        rest += ast.iter_child_nodes(node)
    return changes - {None}, passes


def root(node):
    """The name that a chain of dots and brackets begins with; None if it begins with something else."""
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


class Plain(ast.NodeTransformer):
    """Writes calls of IPython's as what they run, for those that time something, or as nothing."""

    def visit_Expr(self, node):
        """A statement of its own: the statements that it runs."""
        if not asks_ipython(node.value):
            return self.generic_visit(node)
        return timed(node.value, "exec") or [ast.Pass()]

    def visit_Call(self, node):
        """Within a statement, as in `x = %time f()`: the value."""
        return (timed(node, "eval") or ast.Constant(None)) if asks_ipython(node) else self.generic_visit(node)


def asks_ipython(node):
    """Whether it calls a method of `get_ipython()`."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith("get_ipython().")


def timed(call, mode):
    """What a magic runs, as `ast` has it; None for one that runs nothing, or has options before it."""
    said = [word.value for word in call.args if isinstance(word, ast.Constant)]
    if len(said) == 2 and said[0] in RUN:
        with suppress(SyntaxError, ValueError):
            return ast.parse(said[1], mode=mode).body
    return None
