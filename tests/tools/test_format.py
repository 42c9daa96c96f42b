"""Every notebook keeps the course's form. No kernel runs here; nbval runs them.

Each rule is a function that yields what is wrong with a notebook. Every rule is shown, further down, to
find the fault it is for, in a small notebook with that one fault planted.
"""

import ast
import copy
import re

import glossary
import nbformat
import notebooks
import pytest
import sizes

# ------------------------------------------------------------------------ what may change with the course

# A stored output that came from one of these is a time, a rate or a device: another machine says otherwise.
# The cell then needs the tag nbval-ignore-output, and only then.
MACHINE_NAMES = {
    "measure", "board", "measure_ladder", "compare", "tune", "survey", "scoreboard", "recorded",
    "scoreboard_chart", "growth_chart", "landscape", "launch", "numpy_blas", "ladder_chart",
    "roofline", "machine_limits", "dashboard_link", "this_machine", "doctor", "devices", "cuda_device",
    "opencl_device", "perf_counter", "time", "timeit", "seconds", "gflops", "spread", "device", "parameters",
}  # fmt: skip
# Outputs of these are the same everywhere, and compared: they have no place in a cell that is not.
COMPARED_NAMES = {"check", "show"}
# What the model says is the same on all machines, and so are these of it.
PREDICTED, OF_A_PREDICTION = {"predict", "predicted_ladder", "against_published"}, {"gflops", "seconds", "ladder_chart"}

# A figure with a unit of the clock, for prose beside a cell that asks it; and a speed in words, for prose anywhere.
FIGURE = re.compile(r"\d[\d.,]* ?(?:[GT]FLOP/s|GB/s|ms\b|µs\b|times\b|%)")
SPEED = re.compile(
    r"\b(?:half|twice|thrice|[\w.]+ times) (?:as|so) (?:fast|slow|quick)\b"
    r"|\b(?:times|much|far|little|clearly) (?:faster|slower|quicker)\b|\b(?:faster|slower|quicker) than\b"
    r"|\b(?:is|are|was|were|well|far) (?:ahead|behind)\b|\bbeaten\b",
    re.IGNORECASE,
)
# (page, figure): what is no measurement of that machine, and why.
FIGURES_THAT_STAY = {("04", "much faster")}  # shared memory, as NVIDIA's guide says

TAGS = {"nbval-ignore-output", "solution"}  # the second: a paragraph that tells of a solution
MAX_CODE_CELLS = 22
MAX_CODE_LINES = 15
MAX_BYTES = 620_000

# ---------------------------------------------------------------------------------------------- the rules


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook):
    """The words of the page; not those of the glossary, which its links have as titles."""
    sources = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return glossary.without_links(sources)


def first_line(cell):
    return repr(cell.source.split("\n")[0][:60])


def names_used(source):
    """The names and attributes that the code uses; importing or assigning one is not using it."""
    plain = re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE)
    magics = set(re.findall(r"^\s*%+(\w+)", source, flags=re.MULTILINE))
    nodes = [node for node in ast.walk(ast.parse(plain)) if isinstance(getattr(node, "ctx", None), ast.Load)]
    return (
        magics
        | {node.id for node in nodes if isinstance(node, ast.Name)}
        | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    )


def executed_in_order(notebook, stem):
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"cells ran in the order {counts}; run: python tools/notebooks.py {stem[:2]}"


def clean_outputs(notebook, stem):
    yield from notebooks.output_problems(notebook)


def no_machine_in_sources(notebook, stem):
    for cell in notebook.cells:
        if found := notebooks.machine_words().search(cell.source):
            yield f"names a machine's own path or name: {cell.source[found.start() :][:60]!r}"


def no_trailing_semicolon(notebook, stem):
    for cell in code_cells(notebook):
        if cell.source.rstrip().endswith(";"):
            yield f"a cell ends in ';', which hides from the reader what nbval compares: {first_line(cell)}"


def short_cells(notebook, stem):
    cells = code_cells(notebook)
    if len(cells) > MAX_CODE_CELLS:
        yield f"{len(cells)} code cells, more than {MAX_CODE_CELLS}"
    for cell in cells:
        lines = len(cell.source.strip().split("\n"))
        if lines > MAX_CODE_LINES:
            yield f"a code cell of {lines} lines, more than {MAX_CODE_LINES}: {first_line(cell)}"


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def plain_cells(notebook, stem):
    """A cell is read as one would write it: a statement a line, and in a comprehension one loop."""
    for cell in code_cells(notebook):
        for node in ast.walk(ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", cell.source, flags=re.MULTILINE))):
            lines = [one.lineno for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)]
            if len(set(lines)) < len(lines) or (isinstance(node, ast.stmt) and node.lineno in lines):
                yield f"two statements stand in one line: {first_line(cell)}"
            if isinstance(node, COMPREHENSIONS):
                within = sum(isinstance(one, COMPREHENSIONS) for one in ast.walk(node))
                if within > 1 or len(node.generators) > 1:
                    yield f"a comprehension has two loops, {ast.unparse(node)[:40]!r}: {first_line(cell)}"


def known_tags(notebook, stem):
    for cell in notebook.cells:
        if unknown := set(cell.metadata.get("tags", [])) - TAGS:
            yield f"unknown tag {sorted(unknown)}: {first_line(cell)}"


def tagged_where_due(notebook, stem):
    for cell in code_cells(notebook):
        used = names_used(cell.source)
        if used & PREDICTED and "measure" not in used:
            used -= OF_A_PREDICTION
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            kernel_shown = re.search(r"^k\w*$", cell.source.split("\n")[-1])  # a kernel names its device
            if not used & MACHINE_NAMES and not kernel_shown:
                yield f"nbval-ignore-output on a cell that asks the machine nothing: {first_line(cell)}"
            if used & COMPARED_NAMES:
                yield f"nbval-ignore-output hides {sorted(used & COMPARED_NAMES)}: split the cell {first_line(cell)}"
        elif cell.outputs and used & MACHINE_NAMES:
            yield f"{sorted(used & MACHINE_NAMES)} in a cell without nbval-ignore-output: {first_line(cell)}"


def headings(notebook, stem):
    lines = notebook.cells[0].source.split("\n") if notebook.cells else [""]
    if not re.fullmatch(rf"# {stem[:2]} · \S.*", lines[0]):
        yield f"the first line is {lines[0]!r}, not '# {stem[:2]} · Title'"
    text = prose(notebook)
    for wanted in ("**You will learn**", "**You need**"):
        if notebook.cells and wanted not in notebook.cells[0].source:
            yield f"{wanted} is not in the first cell"
    for wanted in ("## Your turn", "## What you now know"):
        if not re.search(rf"^{wanted}\b", text, flags=re.MULTILINE):
            yield f"there is no heading {wanted!r}"
    if text.find("## What you now know") < text.find("## Your turn"):
        yield "'## Your turn' comes after '## What you now know'"
    last = [path.stem for path in notebooks.notebook_paths()][-1:]
    if "**Next:**" not in text and [stem] != last:
        yield "there is no **Next:**"


def small_enough(notebook, stem):
    size = vars(sizes.size_of(notebook, stem[:2]))
    for name, most in sizes.MOST.items():
        if size[name] > most:
            yield f"{size[name]} {name}, more than {most}; python tools/sizes.py {stem[:2]} counts them"


def small_file(notebook, stem):
    size = len(notebooks.as_text(notebook).encode())
    if size > MAX_BYTES:
        yield f"{size} bytes, more than {MAX_BYTES}"


def standard_setup(notebook, stem):
    lines = code_cells(notebook)[0].source.split("\n") if code_cells(notebook) else []
    first = len(notebooks.setup_lines())
    if lines[:first] != notebooks.setup_lines():
        yield f"the first code cell does not begin as every notebook's does: {lines[:first]}"
    if not any(line.startswith("from helpers import ") for line in lines[first:]):
        yield "the first code cell does not import helpers"
    for line in "\n".join(cell.source for cell in code_cells(notebook)).split("\n"):
        if line.startswith("from helpers import "):
            break
        if re.match(r"(from|import) (numba|pyopencl)\b", line):
            yield f"{line!r} comes before helpers, which must choose the devices first"


def badges_of_this_repository(notebook, stem):
    title = notebook.cells[0].source if notebook.cells else ""
    if title != notebooks.with_badges(title, stem):
        yield f"the badges do not match the repository setting; run: python tools/notebooks.py --format {stem[:2]}"


def images_have_alt_text(notebook, stem):
    for cell in code_cells(notebook):
        for output in cell.outputs:
            data = output.get("data", {})
            words = data.get("text/plain", "")
            if any(kind.startswith("image/") for kind in data) and (not words or words.startswith("<")):
                yield f"an image whose text is {words!r}, not what it shows: {first_line(cell)}"


def no_measured_figures(notebook, stem):
    """What a clock says differs by machine, so the cell that measured it says it, and the prose beside it does not."""
    timed = ["nbval-ignore-output" in cell.metadata.get("tags", []) for cell in notebook.cells]
    for at, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            continue
        beside = any(timed[max(0, at - 1) : at + 2])
        text = glossary.without_links(cell.source)
        for found in [*SPEED.findall(text), *(FIGURE.findall(text) if beside else [])]:
            if (stem[:2], found) not in FIGURES_THAT_STAY:
                yield f"a measured figure in prose: {found!r}; let the cell that measured it say it"


RULES = [
    no_measured_figures,
    executed_in_order,
    clean_outputs,
    no_machine_in_sources,
    no_trailing_semicolon,
    short_cells,
    plain_cells,
    known_tags,
    tagged_where_due,
    headings,
    small_enough,
    small_file,
    standard_setup,
    badges_of_this_repository,
    images_have_alt_text,
]


# ------------------------------------------------------------------------------------------ the notebooks


def test_there_are_notebooks():
    numbers = [path.name[:2] for path in notebooks.notebook_paths()]
    assert numbers == [f"{number:02}" for number in range(len(numbers))] != [], (
        "the numbers of notebooks/ have a gap, or one is used twice"
    )


@pytest.mark.parametrize("path", notebooks.notebook_paths(), ids=lambda path: path.stem)
def test_notebook(path):
    problems = [problem for rule in RULES for problem in rule(notebooks.read(path), path.stem)]
    assert not problems, "\n".join([path.name, *problems])


@pytest.mark.parametrize("path", sorted(notebooks.FOLDER.glob("zh_CN/*.ipynb")), ids=lambda path: path.stem)
def test_a_translation_has_no_measured_figures_either(path):
    assert not list(no_measured_figures(notebooks.read(path), path.stem))


def test_notebooks_are_in_normal_form(capsys):
    failed = notebooks.main(["--check"])
    assert not failed, capsys.readouterr().out  # it names the command that mends it


# ------------------------------------------------------------------------------------- each rule can fail

STEM = "04_tiling"


def good_notebook():
    """A notebook that breaks no rule."""
    v4 = nbformat.v4
    image = {"image/png": "aGVsbG8=", "text/plain": "C in tiles of 16 by 16"}
    cells = [
        v4.new_markdown_cell(
            f"# 04 · Stage a tile\n\n{notebooks.badges(STEM)}\n\nGoal.\n\n**You will learn** why.\n\n**You need** 03."
        ),
        v4.new_code_cell(
            "\n".join([*notebooks.setup_lines(), "from helpers import check, measure"]), execution_count=1
        ),
        v4.new_code_cell("from numba import cuda\nt = measure(k, 512)", execution_count=2),
        v4.new_code_cell(
            "t.gflops",
            execution_count=3,
            metadata={"tags": ["nbval-ignore-output"]},
            outputs=[v4.new_output("execute_result", {"text/plain": "12"}, execution_count=3)],
        ),
        v4.new_code_cell("check(k)", execution_count=4, outputs=[v4.new_output("stream", text="right\n")]),
        v4.new_code_cell("tiles()", execution_count=5, outputs=[v4.new_output("display_data", image)]),
        v4.new_markdown_cell("## Your turn\n\n## What you now know\n\nThree things.\n\n**Next:** 05."),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"04-c{number:02}"
    return v4.new_notebook(cells=cells)


def plant(change):
    notebook = good_notebook()
    change(notebook.cells)
    return notebook


def replace(number, old, new):
    def change(cells):
        assert old in cells[number].source
        cells[number].source = cells[number].source.replace(old, new)

    return change


SAID_OF_SPEED = ("It is half as fast.", "It is clearly faster.")


def beside_a_timed_cell(said):
    def change(cells):
        cells.insert(4, nbformat.v4.new_markdown_cell(f"Here it reaches {said}."))

    return change


def give(number, **output):
    def change(cells):
        cells[number].outputs = [nbformat.v4.new_output(**output)]

    return change


def setting(number, name, value):
    def change(cells):
        cells[number][name] = value

    return change


PLANTED = [
    (executed_in_order, setting(2, "execution_count", None)),
    (clean_outputs, give(4, output_type="error", ename="ValueError", evalue="no", traceback=[])),
    (clean_outputs, give(4, output_type="stream", name="stderr", text="UserWarning")),
    (clean_outputs, give(4, output_type="stream", text="File /home/ada/a.py")),
    (clean_outputs, give(4, output_type="stream", text=f"{notebooks.getpass.getuser()}@here:~$")),
    (no_machine_in_sources, replace(4, "check(k)", "open('/home/ada/a.txt')")),
    *((no_measured_figures, replace(6, "Three things.", said)) for said in SAID_OF_SPEED),
    *((no_measured_figures, beside_a_timed_cell(said)) for said in ("310 GFLOP/s", "12 %")),
    (no_trailing_semicolon, replace(4, "check(k)", "check(k);\n")),
    (short_cells, setting(2, "source", "\n".join("k" * (MAX_CODE_LINES + 1)))),
    (short_cells, lambda cells: cells.extend([cells[2]] * 20)),
    *(
        (plain_cells, replace(4, "check(k)", code))
        for code in (
            "check(k); show(k)",
            "for one in k: check(one)",
            "[x for row in k for x in row]",
        )
    ),
    (known_tags, setting(2, "metadata", {"tags": ["skip"]})),
    (tagged_where_due, setting(3, "metadata", {})),
    (tagged_where_due, replace(3, "t.gflops", "1 + 1")),
    (tagged_where_due, replace(3, "t.gflops", "check(k)\nt.gflops")),
    (tagged_where_due, replace(4, "check(k)", "%time check(k)")),
    (tagged_where_due, replace(4, "check(k)", "print(measure(k).gflops, predict(k).gflops)")),
    (tagged_where_due, replace(3, "t.gflops", "predict(k).gflops")),
    (headings, replace(0, "# 04 · ", "# Notebook 4: ")),
    (headings, replace(0, "**You need**", "You need")),
    (headings, replace(0, "**You will learn**", "")),
    (headings, replace(6, "## Your turn", "Your turn")),
    (headings, replace(6, "## What you now know", "")),
    (headings, replace(6, "**Next:**", "Next:")),
    (small_enough, replace(6, "Three things.", "Three (one, two, three) things. " * 9)),
    (small_enough, replace(6, "Three things.", "See pages 01, 02, 03, 06 and 07.")),
    (small_file, give(4, output_type="stream", text="x" * MAX_BYTES)),
    (standard_setup, replace(1, "google.colab", "colab")),
    (standard_setup, replace(1, "from helpers", "from numpy")),
    (standard_setup, replace(1, "from helpers", "from numba import cuda\nfrom helpers")),
    (badges_of_this_repository, replace(0, "mybinder.org/v2/gh/", "mybinder.org/v2/gh/somebody/")),
    (
        images_have_alt_text,
        give(5, output_type="display_data", data={"image/png": "aGk=", "text/plain": "<Figure size 640x480>"}),
    ),
    (images_have_alt_text, give(5, output_type="display_data", data={"image/png": "aGk="})),
]


@pytest.fixture
def published(monkeypatch):
    monkeypatch.setattr(notebooks, "repository", lambda: "https://github.com/somebody/course")


def test_without_an_address_no_badge_leads_nowhere_and_no_page_installs_from_anywhere(monkeypatch):
    monkeypatch.setattr(notebooks, "repository", lambda: "https://github.com/somebody/course")
    with_them = good_notebook()
    monkeypatch.setattr(notebooks, "repository", lambda: "")
    assert len(list(badges_of_this_repository(with_them, STEM))) == 1
    notebooks.normalise(with_them, STEM)
    assert "[![" not in with_them.cells[0].source and list(badges_of_this_repository(with_them, STEM)) == []
    assert with_them.cells[1].source == f"{notebooks.WHICH_PYTHON}from helpers import check, measure"


@pytest.mark.usefixtures("published")
def test_a_good_notebook_breaks_no_rule():
    assert [problem for rule in RULES for problem in rule(good_notebook(), STEM)] == []


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("rule, change", PLANTED, ids=lambda part: getattr(part, "__name__", ""))
def test_the_rule_finds_the_planted_fault(rule, change):
    assert list(rule(plant(change), STEM))


@pytest.mark.usefixtures("published")
def test_normalising_puts_badges_and_setup_right_and_is_stable():
    notebook = good_notebook()
    notebook.metadata.kernelspec = {"name": "my-env", "display_name": "mine"}
    notebook.cells[0].source = notebook.cells[0].source.replace(notebooks.badges(STEM), "[![old](x)](y)")
    notebook.cells[1].source = notebook.cells[1].source.replace("somebody/", "another/")
    notebook.cells[2].metadata = nbformat.from_dict({"execution": {"iopub.execute_input": "2026"}})
    notebook.cells[3].source = "# @title A solution\nt.gflops"
    notebooks.normalise(notebook, STEM)
    once = copy.deepcopy(notebook)
    notebooks.normalise(notebook, STEM)
    assert notebook == once
    hint, line = notebook.cells[1].source.split("\n")[-2:]
    assert f"{hint}\n" == notebooks.WHICH_PYTHON and len(hint) < 110 and line.startswith("from helpers import")
    folded = notebook.cells[3].metadata
    assert folded.cellView == "form" and folded.jupyter.source_hidden  # on Colab; in JupyterLab and Notebook 7
    assert (notebook.metadata.accelerator, notebook.metadata.colab) == ("GPU", {"gpuType": "T4"})
    wanted = good_notebook()
    wanted.cells[3].source = notebook.cells[3].source
    notebooks.normalise(wanted, STEM)
    assert once == wanted


def test_a_new_cell_gets_a_stable_id(tmp_path):
    notebook = good_notebook()
    del notebook.cells[2]["id"], notebook.cells[5]["id"]
    notebook.cells[3].id = "04-c02"
    path = tmp_path / f"{STEM}.ipynb"
    path.write_text(nbformat.v4.nbjson.JSONWriter().writes(notebook))
    ids = [cell.id for cell in notebooks.read(path).cells]
    assert ids == ["04-c00", "04-c01", "04-c03", "04-c02", "04-c04", "04-c05", "04-c06"]
