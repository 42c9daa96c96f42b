"""Run the notebooks again, in order, and store them the one way that git and nbval can compare.

    python tools/notebooks.py                   run every notebook and store its outputs
    python tools/notebooks.py 03 04             those whose names begin so
    python tools/notebooks.py --keep-times 03   run it, but keep the times and devices that are stored
    python tools/notebooks.py --format 03       run nothing: bring the file to its normal form after a change of prose
    python tools/notebooks.py --check           run nothing, change nothing; fail if a file is not in its normal form

Two people who run a notebook should get the same file: so no editor's metadata, no random cell ids, no
timings of the run, no path or name of the machine; badges made from the one setting, once the course is published;
solutions folded; and the first use of each term linked to the glossary.
"""

import argparse
import copy
import getpass
import json
import os
import platform
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import nbformat
from glossary import GLOSSARY, ROW, in_order, link_terms

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
MACHINES = "nbval-ignore-output"  # the tag of cells whose output depends on the machine
SOLUTION = "# @title A solution"  # how the cell of a solution begins
FOLDED = {  # VS Code and GitHub fold no cell, whatever its metadata say
    "cellView": "form",  # on Colab
    "jupyter": {"source_hidden": True},  # in JupyterLab and Notebook 7
}
ON_COLAB = {"accelerator": "GPU", "colab": {"gpuType": "T4"}}  # which machine it opens a page on; all others ignore it


def notebook_paths(names=()):
    """The course's notebooks in order: all, or those whose names begin with one of `names`; exits if none does."""
    paths = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))
    stems = tuple(Path(name).stem for name in names)
    chosen = [path for path in paths if not stems or path.stem.startswith(stems)]
    if not chosen:
        sys.exit(f"no notebook in {FOLDER.name}/ is called {' or '.join(names) or 'NN_name.ipynb'}")
    return chosen


def repository():
    """The address of the course's repository: `Repository` in pyproject.toml; "" as long as it has none."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"].get("urls", {}).get("Repository", "").rstrip("/")


def web_edition(language="en"):
    """The web edition's address: the repository's pages on GitHub."""
    owner, name = repository().removeprefix("https://github.com/").split("/")
    return f"https://{owner}.github.io/{name}/" + ("zh_CN/" if language == "zh_CN" else "")


def minutes(notebook):
    """How long the page takes, as its head says; None where it does not say."""
    head = notebook.cells[0].source if notebook.cells else ""
    said = re.search(r"\*\*You need\*\*.*?\b(\d+) minutes", head, re.DOTALL)
    return int(said[1]) if said else None


def launchers(stem):
    """Where the notebook opens on Binder and on Colab: two addresses."""
    project = repository().removeprefix("https://github.com/")
    binder = f"https://mybinder.org/v2/gh/{project}/HEAD?urlpath=lab/tree/notebooks/{stem}.ipynb"
    return binder, f"https://colab.research.google.com/github/{project}/blob/main/notebooks/{stem}.ipynb"


def badges(stem):
    """The line that opens the notebook on Binder and on Colab."""
    binder, colab = launchers(stem)
    return (
        f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({binder}) "
        f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})"
    )


def without_badges(source):
    """The title cell's text without the line of badges: the heading, an empty line, the rest if there is any."""
    heading, *lines = [line for line in source.split("\n") if not line.startswith("[![")]
    return "\n\n".join(filter(None, [heading, "\n".join(lines).strip("\n")]))


def with_badges(source, stem):
    """The title cell's text with the line of badges that belongs there, if any does."""
    heading, *rest = without_badges(source).split("\n\n", 1)
    return "\n\n".join([heading, *[badges(stem)] * bool(repository()), *rest])


READMES = {  # {file: (what its third line says of the other language, of the web edition, before it is published)}
    "README.md": (
        "[简体中文](README.zh-CN.md)",
        "[Read it without installing anything]({web})",
        "Not published yet: [RELEASING.md](docs/RELEASING.md) says what gives it an address.",
    ),
    "README.zh-CN.md": (
        "[English](README.md)",
        "[不安装就能读]({web})",
        "尚未发布：怎样得到网址，见 [RELEASING.md](docs/RELEASING.md)。",
    ),
}


def door(readme):
    """The third line of that README: the other language, and, once it is published, where else the course opens."""
    other, web, not_yet = READMES[readme]
    chinese = "zh" in readme
    stem = "zh_CN/00_start_here" if chinese else "00_start_here"
    if not repository():
        return f"{other} · {not_yet}"
    return f"{other} · {web.format(web=web_edition('zh_CN' if chinese else 'en'))} · {badges(stem)}"


def readmes_lead_somewhere(only_check):
    """Put the third line of each README in its place; or say whether it is there."""
    fine = True
    for readme in READMES:
        lines = (ROOT / readme).read_text(encoding="utf-8").split("\n")
        if lines[2] == door(readme):
            continue
        if only_check:
            print(f"{readme} does not follow the setting; run: python tools/notebooks.py --format")
            fine = False
        else:
            lines[2] = door(readme)
            (ROOT / readme).write_text("\n".join(lines), encoding="utf-8")
            print(f"{readme} follows the setting again")
    return fine


def setup_lines():
    """The first lines of every notebook's first code cell: what makes it work alone on Colab.

    Without an address there are none: whoever registered a made-up one could run code on readers' machines.
    """
    if not repository():
        return []
    return [
        "import sys",
        "",
        'if "google.colab" in sys.modules:  # only on Colab: add the course, keep Colab\'s own NumPy, Numba and CUDA',
        f'    %pip install -q "git+{repository()}"',
    ]


# What a traceback shows beside the import that fails, where a page was opened by another Jupyter or another kernel.
WHICH_PYTHON = "# \"No module named 'helpers'\"? Choose the course's own Python, .venv, as this page's kernel.\n"
COLAB = re.compile(r'import sys\n\nif "google\.colab" in sys\.modules:.*\n    %pip install .*\n')


def read(path):
    """The notebook, each cell with an id. A new cell's id is NN-cII: the same for whoever runs this."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    used = {cell.get("id") for cell in notebook["cells"]}
    for number, cell in enumerate(notebook["cells"]):
        if "id" not in cell:
            while (new := f"{path.stem[:2]}-c{number:02}") in used:
                number += 1
            used.add(new)
            cell["id"] = new
    notebook.update(nbformat=4, nbformat_minor=5)
    return nbformat.reads(json.dumps(notebook), as_version=4)


def normalise(notebook, stem):
    """Bring the notebook into its normal form, in place; running it twice changes nothing."""
    notebook.metadata = nbformat.from_dict(
        {
            **ON_COLAB,
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in ("cellView", "jupyter", "tags") if cell.metadata.get(key)}
        )
        if cell.cell_type == "code":
            normalise_outputs(cell)
            if cell.source.startswith(SOLUTION):
                cell.metadata.update(nbformat.from_dict(FOLDED))
    renumber(notebook)
    title = next((cell for cell in notebook.cells if cell.cell_type == "markdown"), None)
    if title is not None:
        title.source = with_badges(title.source, stem)
    link_terms(notebook, stem=stem)
    first = next((cell for cell in notebook.cells if cell.cell_type == "code"), None)
    if first is not None:
        own = COLAB.sub("", first.source).replace(WHICH_PYTHON, "")
        own = re.sub("^(?=from helpers)", WHICH_PYTHON, own, count=1, flags=re.MULTILINE)
        first.source = "\n".join([*setup_lines(), own])


def normalise_outputs(cell):
    """Drop from the cell's outputs what a widget or a run leaves there, and join what a progress bar had parted."""
    cell.outputs = [output for output in cell.outputs if not is_progress_bar(output)]
    for output in cell.outputs:
        output.pop("transient", None)
        if "image/png" in output.get("data", {}):  # a live widget has a random name; its picture is what is stored
            output.data.pop(WIDGET, None)
        if "metadata" in output:  # keep the width and height of images, nothing else
            output.metadata = {key: value for key, value in output.metadata.items() if "/" in key and value}
    for i in range(len(cell.outputs) - 1, 0, -1):
        one, other = cell.outputs[i - 1 : i + 1]
        if one.output_type == other.output_type == "stream" and one.name == other.name:
            one.text += other.text
            del cell.outputs[i]


def renumber(notebook):
    """Count the cells from 1, if all of them ran: in which order an author ran them again is nobody's business.

    That the outputs are those of a run in order is what nbval proves.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if all(cell.execution_count for cell in cells):
        for number, cell in enumerate(cells, 1):
            cell.execution_count = number
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = number


def is_progress_bar(output):
    """Whether it shows a live widget and no picture of it, or nothing at all: what a bar leaves when it is done."""
    data = output.get("data")
    return data is not None and not set(data) - {WIDGET, "text/plain"} and (WIDGET in data or not data)


def as_text(notebook):
    """The file's text: one space of indent, no escapes, the keys in order."""
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def execute(notebook):
    """Run every cell in a fresh kernel; raises nbclient's CellExecutionError at the first that fails."""
    from nbclient import NotebookClient

    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()


def output_texts(cell):
    """Everything a reader could read in the cell's outputs; not the pixels."""
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            yield output.text
        for kind, value in output.get("data", {}).items():
            if not kind.startswith("image/") or kind == "image/svg+xml":
                yield value if isinstance(value, str) else json.dumps(value)


def machine_words():
    """A regular expression for what only this machine, or only some machine, would say."""
    words = [r"/home/\w", r"/Users/\w", r"/(?:root|tmp|var/folders)/", r"site-packages", r"\b[A-Z]:\\{1,2}[A-Z]\w"]
    words += [re.escape(str(place)) for place in (ROOT, Path.home()) if len(str(place)) > 1]
    words.append(rf"\b{re.escape(getpass.getuser())}@")
    if re.search(r"[\d.-]", platform.node()):  # another may be called by a word of a page, and so may a user
        words.append(rf"\b{re.escape(platform.node())}\b")
    return re.compile("|".join(words))


def output_problems(notebook):
    """What must not be stored: errors, anything on stderr, and the paths and names of a machine."""
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                yield f"cell {number} failed: {output.ename}: {output.evalue}"
            if output.get("name") == "stderr":
                yield f"cell {number} wrote to stderr: {output.text.strip()[:200]}"
        for text in output_texts(cell):
            if found := machine_words().search(text):
                yield f"cell {number} stores what only one machine says: {text[found.start() :][:60]!r}"


def keep_times(notebook, stored):
    """Give the cells that ask the machine the outputs back that were stored of them, if any were; in place."""
    before = {cell.id: cell for cell in stored.cells}
    for cell in notebook.cells:
        stored_outputs = before[cell.id].get("outputs") if cell.id in before else None
        if stored_outputs and MACHINES in cell.metadata.get("tags", []):
            cell.outputs = stored_outputs


def format_code(path):
    """Lay the notebook's code out as ruff does; raises OSError where ruff is not installed."""
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(path)], check=True)


def renew(path, options):
    """Do with one notebook what the options say. Returns what became of it, and what is wrong with it, a list."""
    stored, wrong = read(path), []
    notebook = copy.deepcopy(stored)
    if options.run:
        try:
            execute(notebook)
        except Exception as error:  # a failed cell, a kernel that died, a cell that never ends
            return "FAILED", [str(error)]
        if options.keep_times:
            keep_times(notebook, stored)
    normalise(notebook, path.stem)
    wrong = list(output_problems(notebook))
    changed = as_text(notebook) != path.read_text(encoding="utf-8")
    if changed and options.check:
        wrong.append(f"is not in its normal form; run: python tools/notebooks.py --format {path.stem[:2]}")
    if changed and not wrong:
        path.write_text(as_text(notebook), encoding="utf-8")
    return "FAILED" if wrong else "written" if changed else "unchanged", wrong


def main(arguments=None):
    """Renew the notebooks that the command line names. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of notebook names, such as 03")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--check", action="store_true", help="run nothing; fail if a file would change")
    way.add_argument("--format", action="store_true", help="run nothing; bring files into their normal form")
    way.add_argument("--keep-times", action="store_true", help="run, and keep the stored times of timed cells")
    options = parser.parse_args(arguments)
    options.run = not (options.check or options.format)

    paths = notebook_paths(options.names)
    for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # NumPy is timed as its library comes
        os.environ.pop(variable, None)
    failed = False
    for path in paths:
        started = time.perf_counter()
        if options.format:
            format_code(path)
        verdict, wrong = renew(path, options)
        print(f"{path.name:40} {time.perf_counter() - started:6.1f} s  {verdict}", flush=True)
        for problem in wrong:
            print(f"    {problem}", flush=True)
        failed = failed or bool(wrong)
    in_order = glossary_is_in_order(options.check)
    return int(failed or not in_order or not readmes_lead_somewhere(options.check))


def glossary_is_in_order(only_check):
    """Put the glossary's rows in the order in which the pages use the terms; or say whether they are."""
    glossary = FOLDER / GLOSSARY.name
    text = glossary.read_text(encoding="utf-8")
    ordered = in_order(text, [read(path) for path in notebook_paths()])
    if ordered != text and only_check:
        print(f"{glossary.name} is not in the order of the pages; run: python tools/notebooks.py --format")
        return False
    if ordered != text:
        glossary.write_text(ordered, encoding="utf-8")
        moved = next((now, old) for now, old in zip(ROW.findall(ordered), ROW.findall(text), strict=True) if now != old)
        print("{} is in the order of the pages again: {} now stands before {}".format(glossary.name, *moved))
    return True


if __name__ == "__main__":
    sys.exit(main())
