"""Run the notebooks again, in order, and store them the one way that git and nbval can compare.

    python tests/notebooks.py              every notebook
    python tests/notebooks.py 03 04        those whose names begin so
    python tests/notebooks.py --check      run nothing; fail if a file is not in its normal form

Two people who run a notebook should get the same file: so no editor's metadata, no random cell ids, no
timings of the run, no path or name of the machine; badges made from the one repository setting; and the first use of
each term linked to the glossary.
"""

import argparse
import getpass
import json
import os
import platform
import re
import sys
import time
import tomllib
from pathlib import Path

import nbformat
from glossary import link_terms

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"


def notebook_paths(names=()):
    """The course's notebooks in order: all of them, or those whose names begin with one of `names`."""
    paths = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))
    stems = [Path(name).stem for name in names]
    return [path for path in paths if not stems or path.stem.startswith(tuple(stems))]


def repository():
    """The repository's address, from the one place that says it."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]["urls"]["Repository"].rstrip("/")


def badges(stem, url=None):
    """The line that opens the notebook on Binder and on Colab."""
    project = (url or repository()).removeprefix("https://github.com/")
    binder = f"https://mybinder.org/v2/gh/{project}/HEAD?urlpath=lab/tree/notebooks/{stem}.ipynb"
    colab = f"https://colab.research.google.com/github/{project}/blob/main/notebooks/{stem}.ipynb"
    return (
        f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({binder}) "
        f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})"
    )


def setup_lines(url=None):
    """The first lines of every notebook's first code cell: what makes it work alone on Colab."""
    return [
        "import sys",
        'if "google.colab" in sys.modules:  # only on Colab: add the course, keep Colab\'s own NumPy, Numba and CUDA',
        f'    %pip install -q "git+{url or repository()}"',
    ]


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
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in ("cellView", "jupyter", "tags") if cell.metadata.get(key)}
        )
        if "outputs" in cell:  # a progress bar is gone when its cell is done
            cell.outputs = [output for output in cell.outputs if not is_progress_bar(output)]
        for output in cell.get("outputs", []):
            output.pop("transient", None)
            if "image/png" in output.get("data", {}):  # a live widget has a random name; its picture is what is stored
                output.data.pop("application/vnd.jupyter.widget-view+json", None)
            if "metadata" in output:  # keep the width and height of images, nothing else
                output.metadata = {key: value for key, value in output.metadata.items() if "/" in key and value}
    title = next((cell for cell in notebook.cells if cell.cell_type == "markdown"), None)
    if title is not None:
        lines = [line for line in title.source.split("\n") if not line.startswith("[![")]
        rest = "\n".join(lines[1:]).strip("\n")
        title.source = "\n\n".join(filter(None, [lines[0], badges(stem), rest]))
    link_terms(notebook)
    first = next((cell for cell in notebook.cells if cell.cell_type == "code"), None)
    if first is not None:
        first.source = re.sub(r'"git\+https://[^"]*"', f'"git+{repository()}"', first.source)


def is_progress_bar(output):
    """Whether it shows a live widget and no picture of it."""
    data = output.get("data", {})
    return "application/vnd.jupyter.widget-view+json" in data and "image/png" not in data


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
    words = [
        r"/home/\w",
        r"/root/",
        r"/tmp/",
        r"/Users/\w",
        r"/var/folders/",
        r"site-packages",
        r"\b[A-Z]:\\{1,2}[A-Z]\w",
    ]
    words += [re.escape(str(place)) for place in (ROOT, Path.home()) if len(str(place)) > 1]
    names = {platform.node(), os.environ.get("USER") or getpass.getuser()}
    words += [rf"\b{re.escape(name)}\b" for name in names if len(name) > 3 and name not in ("localhost", "root")]
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


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of notebook names, such as 03")
    parser.add_argument("--check", action="store_true", help="run nothing; fail if a file would change")
    options = parser.parse_args(arguments)

    paths = notebook_paths(options.names)
    if not paths:
        sys.exit(f"no notebook in {FOLDER.name}/ is called {' or '.join(options.names) or 'NN_name.ipynb'}")
    failed = False
    for variable in (
        "OPENBLAS_CORETYPE",
        "OPENBLAS_L2_SIZE",
    ):  # stored times of NumPy are those of its library as it comes
        os.environ.pop(variable, None)
    for path in paths:
        started, notebook, wrong = time.perf_counter(), read(path), []
        if not options.check:
            try:
                execute(notebook)
            except Exception as error:  # a failed cell, a kernel that died, a cell that never ends
                wrong = [str(error)]
        normalise(notebook, path.stem)
        wrong = wrong or list(output_problems(notebook))
        changed = as_text(notebook) != path.read_text(encoding="utf-8")
        if changed and options.check:
            wrong.append("is not in its normal form; run: make notebooks")
        elif changed and not wrong:
            path.write_text(as_text(notebook), encoding="utf-8")
        verdict = "FAILED" if wrong else "written" if changed else "unchanged"
        print(f"{path.name:40} {time.perf_counter() - started:6.1f} s  {verdict}", flush=True)
        for problem in wrong:
            print(f"    {problem}", flush=True)
        failed = failed or bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
