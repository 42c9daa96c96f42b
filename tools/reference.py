"""The web book's reference: what the pages import from `helpers`, from its docstrings, and its commands.

An entry has the page that uses the name first, and the line that does. What those functions return has one, too, with
all that one may ask of it.
"""

import ast
import contextlib
import functools
import importlib
import inspect
import io
import re
import typing
from dataclasses import dataclass
from unittest import mock

from notebooks import SOLUTION, notebook_paths, read

import helpers.__main__ as commands

DATA = {  # what has no docstring of its own
    "COUNTERS": "What a GPU's own counters said of the course's kernels: {kernel: {counter: number}}.",
    "GPUS": "The GPUs that the model knows: {name: `GPU`}. Their sources stand in `packages/gpu_model/gpus.toml`.",
}
PLAIN = (type, type(None), bool, int, float, str, tuple)  # defaults that are shown
COLUMNS = re.compile(r"^\w[\w, ]*?  +\S.*(?:\n.*)*", re.M)  # a paragraph that names an argument, then says what it is
COLUMN = re.compile(r"^(\w[\w, ]*?)  +(\S.*(?:\n +.*)*)", re.M)  # one of its names, or several that share words
OURS = ("blocks_without_gpu", "gpu_model", "helpers", "kernel_judge", "old_roc", "opencl_trace", "ptx_machine", "summa")
WORDS = {
    "en": dict(
        title="Reference",
        about="What the pages import, by the question that it answers, and the commands. "
        "The words are those of `help(name)` in Python.",
        first="First used on",
        returned="Returned by",
        commands="Commands",
        typed="Type a command in the course's folder, with the Python of its `.venv`.",
    ),
    "zh_CN": dict(
        title="参考",
        about="各页导入的名字，按它们回答的问题排列；最后是命令。说明就是 Python 里 `help(名字)` 给出的英文文档。",
        first="第一次用到的页：",
        returned="返回它的函数：",
        commands="命令",
        typed="在课程的文件夹里输入命令，用 `.venv` 里的 Python。",
    ),
}


@dataclass(frozen=True)
class Entry:
    """A name that pages import: `path` as they do, as in helpers.pictures.film; the first page; its line, or "".

    Or a class whose objects such functions return: `by` has their paths.
    """

    path: str
    page: str
    example: str
    by: tuple[str, ...] = ()

    @property
    def name(self):
        """Its last part, as code uses it."""
        return self.path.rpartition(".")[2]

    @functools.cached_property
    def value(self):
        """What it is."""
        return loaded(self.path)

    @property
    def room(self):
        """The module whose docstring's first line asks the question that it answers."""
        home = self.value if inspect.ismodule(self.value) else inspect.getmodule(self.value)
        name = home.__name__ if home and home.__name__.startswith("helpers") else self.path.rpartition(".")[0]
        return ".".join(name.split(".")[:2])


def loaded(path):
    """What stands under that dotted name: an attribute of a module, or a module."""
    module, _, name = path.rpartition(".")
    with contextlib.suppress(AttributeError):
        return getattr(importlib.import_module(module), name)
    return importlib.import_module(path)


def trees(notebook):
    """(the source, its tree) of each code cell but solutions; magics are left out."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and not cell.source.startswith(SOLUTION):
            source = re.sub(r"^[%!].*", "", cell.source, flags=re.M)
            yield source, ast.parse(source)


def imported(notebook):
    """{name: its path} of what the notebook imports from `helpers` and packages, in order."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for _, tree in trees(notebook)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS
        for alias in node.names
    }


def example(notebook, name):
    """The first short statement of the notebook's cells that uses the name; "" where there is none."""
    for source, tree in trees(notebook):
        for node in tree.body:
            used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            if name in used and not isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = ast.get_source_segment(source, node)
                if text.count("\n") < 4:
                    return text
    return ""


def hints(value):
    """{name: annotation} of a function or a class; {} for data, and for what names a class that is not there."""
    with contextlib.suppress(NameError, TypeError):
        return typing.get_type_hints(value)
    return {}


def returned(function):
    """The course's classes whose objects the function returns, by its annotations: alone, in a list, or one of two."""
    return [] if inspect.isclass(function) else list(classes(hints(function).get("return")))


def classes(annotation):
    """The course's classes that an annotation names."""
    if inspect.isclass(annotation) and annotation.__module__.split(".")[0] in OURS:
        yield annotation
    for part in typing.get_args(annotation):
        yield from classes(part)


def linked(text, value):
    """Annotations of a function or a class, with whole paths for the course's classes: Sphinx makes a link of each."""
    for one in {one for hint in hints(value).values() for one in classes(hint)}:
        text = re.sub(rf"(?<![\w.]){one.__name__}\b", shortest(one), text)
    return text


def shortest(value):
    """The shortest path under which a class can be imported, as in helpers.clock.Timing."""
    parts = value.__module__.split(".")
    modules = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    home = next(one for one in modules if getattr(importlib.import_module(one), value.__name__, None) is value)
    return f"{home}.{value.__name__}"


@functools.cache
def results():
    """{path: `Entry`} of the classes whose objects the functions of `entries` return."""
    found = {}
    for entry in entries().values():
        for one in returned(entry.value):
            path = shortest(one)
            before = found.get(path, Entry(path, entry.page, ""))
            found[path] = Entry(path, min(before.page, entry.page), "", (*before.by, entry.path))
    return found


@functools.cache
def entries():
    """{name: `Entry`} of all that pages import from `helpers`. A name that two rooms export has the shorter path."""
    found = {}
    for path in notebook_paths():
        notebook = read(path)
        for name, place in imported(notebook).items():
            before = found.get(name)
            if not before or len(place) < len(before.path):
                page = before.page if before else path.stem
                found[name] = Entry(place, page, before.example if before else "")
            if not found[name].example:
                found[name] = Entry(found[name].path, found[name].page, example(notebook, name))
    return found


def links(path):
    """{name: its place on the reference page} of what the notebook at that path imports, as the English pages do."""
    mine = [entries()[name] for name in imported(read(path)) if name in entries()]
    return {entry.name: "module-" * inspect.ismodule(entry.value) + entry.path for entry in mine}


def signature(value):
    """How it is called, with the last parts of its types' names: (k: Kernel, M: int) -> Table; "" for data."""
    if not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return ""
    asked = inspect.signature(value)
    plain = [  # a folder or a function has no name that one could type
        one.replace(default=...) if not isinstance(one.default, PLAIN) else one for one in asked.parameters.values()
    ]
    return readable(str(asked.replace(parameters=plain)))


def readable(text):
    """Annotations as one would write them, with the last parts of the types' names."""
    text = text.replace("Ellipsis", "...")
    text = re.sub(r"Annotated\[([^,\]]+), [^\]]*\]", r"\1", text)  # bounds, which `takes` reads
    text = re.sub(r"Optional\[([^\]]*)\]", r"\1 | None", text)
    text = re.sub(r"(-> |: )'([^']*)'", r"\1\2", text)  # a type that is named before it is there
    return re.sub(r"(?<![\w'\"])(?:[A-Za-z_]\w*\.)+(?=\w)", "", text).replace("'", '"')


def words(entry):
    """Its docstring as Markdown. Raises ValueError where it has none."""
    said = DATA.get(entry.name) if kind(entry.value) == "data" else inspect.getdoc(entry.value)
    if not said:
        raise ValueError(f"{entry.path} has no docstring: write one, or a line of DATA in tools/reference.py")
    return "\n\n".join(f"```text\n{part}\n```" if COLUMNS.fullmatch(part) else part for part in said.split("\n\n"))


def kind(value):
    """Sphinx's word for what it is."""
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return "exception" if issubclass(value, Exception) else "class"
    return "function" if callable(value) else "data"


def columns(paragraph):
    """{name: what it is} of a paragraph that names one thing after another."""
    return {name: " ".join(said.split()) for names, said in COLUMN.findall(paragraph) for name in names.split(", ")}


def members(value):
    """{name: (Sphinx's word for it, its type or how it is called, what it is)} of all one may ask an object of a class.

    Fields come first, with the words of the docstrings of the class and of those it extends; then properties and
    methods, with the first paragraphs of theirs.
    """
    found, ours = {}, [one for one in reversed(value.__mro__) if one.__module__.split(".")[0] in OURS]
    parts = "\n\n".join(inspect.getdoc(one) for one in ours).split("\n\n")
    said = {name: about for part in parts if COLUMNS.fullmatch(part) for name, about in columns(part).items()}
    for field in getattr(value, "__dataclass_fields__", {}).values():
        typed = linked(readable(inspect.formatannotation(field.type)), value)
        found[field.name] = "attribute", typed, said.get(field.name, "")
    for name, member in (pair for one in ours for pair in vars(one).items()):
        about = said.get(name) or (inspect.getdoc(member) or "").split("\n\n")[0]
        if isinstance(member, property | functools.cached_property):
            found[name] = "property", "", about
        elif inspect.isfunction(member) and about:
            found[name] = "method", linked(re.sub(r"^\(self(?:, )?", "(", signature(member)), member), about
    found |= {name: ("attribute", "", about) for name, about in said.items() if name not in found}
    return {name: about for name, about in found.items() if not name.startswith("_")}


def result(entry):
    """The words of a class whose objects functions return, as lines: its own, then those of all that one may ask it."""
    parts = [part for part in inspect.getdoc(entry.value).split("\n\n") if not COLUMNS.fullmatch(part)]
    lines = ["\n\n".join(parts), ""]
    for name, (what, called, about) in members(entry.value).items():
        typed = [f":type: {called}"] * bool(called and what == "attribute")
        lines += [f"```{{py:{what}}} {name}{called * (what == 'method')}", *typed, "", about, "```", ""]
    return lines


def described(entry, language, titles):
    """The entry in MyST's Markdown. `titles`: {stem of a page: its title}."""
    lines = result(entry) if entry.by else [words(entry), ""]
    if entry.example:
        lines += ["```python", entry.example, "```", ""]
    if entry.by:
        links = ", ".join(f"[{path.rpartition('.')[2]}](#{path})" for path in entry.by)
        lines += [f"{WORDS[language]['returned']} {links}", ""]
    lines += [f"{WORDS[language]['first']} [{titles[entry.page]}]({entry.page}.ipynb)"]
    module, _, name = entry.path.rpartition(".")
    if kind(entry.value) == "module":
        head = [f"````{{py:module}} {entry.path}", "````", "", f"**{entry.path}**", ""]  # Sphinx shows no name of one
        return "\n".join([*head, *lines, ""])
    called = "" if entry.by else linked(signature(entry.value), entry.value)  # nobody makes a result by hand
    head = [f"````{{py:{kind(entry.value)}}} {name}{called}", f":module: {module}", ""]
    return "\n".join([*head, *lines, "````", ""])


def help_of(name):
    """What python -m helpers NAME --help prints, 100 columns wide."""
    said = io.StringIO()
    with (
        mock.patch.dict("os.environ", COLUMNS="100"),
        contextlib.redirect_stdout(said),
        contextlib.suppress(SystemExit),
    ):
        commands.main([name, "--help"])
    return said.getvalue().rstrip()


def question(room):
    """The first line of the room's docstring."""
    return inspect.getdoc(importlib.import_module(room)).splitlines()[0].rstrip(".")


def page(language, titles):
    """The reference as Sphinx is given it."""
    say = WORDS[language]
    rooms = {}
    for entry in sorted([*entries().values(), *results().values()], key=lambda one: one.name.lower()):
        rooms.setdefault(entry.room, []).append(entry)
    parts = [f"# {say['title']}", say["about"]]
    for room in sorted(rooms, key=lambda room: (not room.startswith("helpers"), room)):
        parts += [f"## {room}", question(room) + "." * (not question(room).endswith("?"))]
        parts += [described(entry, language, titles) for entry in rooms[room]]
    parts += [f"## {say['commands']}", say["typed"]]
    for name in commands.COMMANDS:
        parts += [f"### {name}", f"```text\n{help_of(name)}\n```"]
    return "\n\n".join(parts) + "\n"
