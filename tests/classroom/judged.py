"""What a page says of an answer: it stands in its exercise's cell, and the cell is run."""

import ast
import contextlib
import io
import linecache
import re
import symtable

import notebooks
from solved import stubs_and_solutions

from helpers.classroom import EXERCISES, NOT_YET, verdict_in
from helpers.launch import KernelError
from kernel_judge import Report

BOTH = stubs_and_solutions()
# What the teacher's pages tell of wrong answers: rows of the exercise, what is edited, into what, and the verdict.
ROW = re.compile(r"^\| (\d\d\.\d) \| `(.+)` \| `(.*)` \| ([^|]+) \| [^|]+[.?] \|$", re.MULTILINE)
PAGES = {path.name[:2]: notebooks.ROOT / "teaching" / f"{path.stem}.md" for path in notebooks.notebook_paths()}
TOLD = [row for page in PAGES.values() for row in ROW.findall(page.read_text(encoding="utf-8"))]
AFTER = "predict_beside", "print_requests"  # what cells show after a verdict, and compile for: the page's own tests
TEXTS = {"10.1": "mine"}  # where it is not the name of what says "your turn"


def verdict(label, answer):
    """(state, what its cell shows) for the solution with those edits, or for that text, in the exercise's own cell."""
    stub, solution = BOTH[label]
    if isinstance(answer, dict):
        for old, new in answer.items():
            assert old in solution, old
            solution = solution.replace(old, new)
        if not (own := parsed(solution)):
            return shown(label, solution)
        answer = "\n".join(ast.unparse(statement) for statement in own if binds(statement))
    stubs = ast.parse(stub).body
    if not names_of(answer) & names_of(stub):  # the text of a kernel's part, Python or not
        turn = [s for s in stubs if "your turn" in ast.get_source_segment(stub, s) and binds(s)]
        answer = f'{TEXTS.get(label) or binds(turn[0]).pop()} = """{answer}"""'
    mine, rest, pieces = names_of(answer), parsed(answer), []
    for n, statement in enumerate(stubs):
        if not binds(statement) & mine:
            pieces.append(statement)
            continue
        later = bound(stubs[n + 1 :])
        while rest and (binds(statement) & bound(rest) or not later & bound(rest)):
            pieces.append(rest.pop(0))
    return shown(label, "\n".join(map(ast.unparse, pieces)))


def parsed(text):
    """The statements of a text; none where it is no Python."""
    with contextlib.suppress(SyntaxError):
        return ast.parse(text).body
    return []


def names_of(text):
    """The names that the statements of a text give a value."""
    return bound(parsed(text))


def bound(statements):
    return set().union(*map(binds, statements))


def binds(statement):
    """The names that a statement outside functions gives a value."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {one.asname or one.name for one in statement.names}
    if isinstance(statement, ast.For):  # it counts
        return set()
    stored = [n for n in ast.walk(statement) if isinstance(getattr(n, "ctx", None), ast.Store)]
    return {n.id for one in stored for n in [getattr(one, "value", one)] if isinstance(n, ast.Name)}  # x[0] = 1 is x's


def above(label, source):
    """The statements of the page that the cell needs, of the cells down to its stub: of all of a page only those."""
    wanted, found = names_in(source) - bound(parsed(source)), []
    for cell in reversed(cells_down_to(label)):
        for statement in reversed(ast.parse(cell).body):
            if binds(statement) & wanted:
                found.insert(0, ast.unparse(statement))
                wanted |= names_in(found[0])
    return "\n".join(found)


def names_in(source):
    """The names that a text takes from the page: not those of a function's own."""
    tables, found = [symtable.symtable(source, "<cell>", "exec")], set()
    for table in tables:
        tables += table.get_children()
        own = table.get_type() == "module"
        found |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and (own or s.is_global())}
    return found


def cells_down_to(label):
    [path] = notebooks.notebook_paths([label[:2]])
    cells = [cell for cell in notebooks.read(path).cells if cell.cell_type == "code"]
    end = [cell.id for cell in cells].index(EXERCISES[label])
    return [cell.source for cell in cells[: end + 1] if not cell.source.startswith("%")]


def shown(label, source):
    """(state, text) of what a cell with that source shows."""
    said, outputs = io.StringIO(), []

    def display(value):
        print(repr(value))
        if isinstance(value, Report):
            outputs.append({"output_type": "display_data", "data": value._repr_mimebundle_()})

    namespace = {"__name__": "__main__", "display": display}
    try:
        run(above(label, source), namespace, f"<above {label}>")
        with contextlib.redirect_stdout(said):
            if (value := run(source, namespace, f"<answer to {label}>")) is not None:
                display(value)
    except Exception as error:
        kind = "does not compile" if isinstance(error, KernelError | SyntaxError) else type(error).__name__
        outputs.append({"output_type": "error", "ename": kind, "evalue": str(error)})
    state, first = verdict_in(outputs) or (NOT_YET, "")
    return state, f"{said.getvalue()}\n{first}"


def called(statement):
    """The name of the function that a line calls which does nothing else, or None."""
    match statement:
        case ast.Expr(ast.Call(ast.Name(name))):
            return name


def run(source, namespace, name):
    """Run a cell; `inspect` finds its text under that name. Returns the value of an expression that it ends with."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    *tree, last = [one for one in ast.parse(source).body if called(one) not in AFTER] or [ast.Pass()]
    if not isinstance(last, ast.Expr):
        exec(compile(ast.Module([*tree, last], []), name, "exec"), namespace)
        return None
    exec(compile(ast.Module(tree, []), name, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace)
