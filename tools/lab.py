"""Open the course in JupyterLab, on copies of its pages that are yours: python tools/lab.py [PAGE] [options]

    python tools/lab.py                                       page 00 of my_pages/
    python tools/lab.py my_pages/zh_CN/00_start_here.ipynb    another page
    python tools/lab.py handout                               a folder

Git ignores my_pages/. A copy that you changed stays as it is; every other copy is renewed when the course has a new
edition of the page. To get the new edition of a page that you changed, delete or rename your copy, and give the same
command again. The options are JupyterLab's own, such as --no-browser or --port=8890.
"""

import hashlib
import json
import os
import sys
from pathlib import Path
from urllib.parse import quote

try:
    import nbformat
except ImportError:
    sys.exit(f"Not opened: {sys.executable} has no JupyterLab. make lab installs it; README.md says how without make.")

ROOT = Path(__file__).resolve().parent.parent
COURSE = ROOT / "notebooks"
OWN = ROOT / "my_pages"
RECORD = ".editions.json"  # in the learner's folder: {name of a copy: the edition that it was copied from}


def edition(text: bytes) -> str:
    """A number that tells two editions of a page apart: a hash of its cells' kinds, sources and outputs.

    An editor that saves a notebook may change all the rest, such as the version of Python, and how lines are kept.
    A file that is no notebook, such as the glossary, counts byte by byte.
    """
    try:
        cells = nbformat.v4.reads(text.decode()).cells
        text = json.dumps(
            [(cell.cell_type, cell.source, cell.get("outputs")) for cell in cells], sort_keys=True
        ).encode()
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    return hashlib.sha256(text).hexdigest()


def renew(course: Path, own: Path) -> list[str]:
    """Bring the copies in the folder `own` up to date with the pages of the folder `course`.

    A copy that is missing is made. A copy is renewed if its edition is the one that it was copied from: then its owner
    has changed nothing. A page that the course no longer has loses its copy on the same condition.
    Returns the names of the copies that stay although the course has another edition. OSError: `own` cannot be written.
    """
    own.mkdir(exist_ok=True)
    record = own / RECORD
    try:
        copied_from = json.loads(record.read_bytes())
    except (FileNotFoundError, ValueError):  # whoever deletes it loses nothing: then a copy counts as changed
        copied_from = {}
    pages = {
        path.relative_to(course).as_posix(): path.read_bytes()
        for path in sorted([*course.glob("*.md"), *course.rglob("[0-9]*.ipynb")])
        if ".ipynb_checkpoints" not in path.parts
    }
    stay = []
    for name in sorted({*pages, *copied_from}):
        copy, page = own / name, pages.get(name)
        here = edition(copy.read_bytes()) if copy.exists() else None
        newest = edition(page) if page is not None else None
        if here not in (newest, None, copied_from.get(name)):
            if newest != copied_from.get(name):
                stay.append(name)
        elif page is None:
            copy.unlink(missing_ok=True)
            copied_from.pop(name)
        else:
            if here != newest:
                write(copy, page)
            copied_from[name] = newest
    write(record, json.dumps(copied_from, indent=1).encode())
    return stay


def write(path: Path, text: bytes) -> None:
    """Write the file whole, or not at all. Raises OSError."""
    path.parent.mkdir(exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(text)
    os.replace(beside, path)


def open_in_jupyterlab(page: Path, options: list[str]) -> None:
    """Run JupyterLab, in this process, with a page or folder of the course open. `options`: JupyterLab's own."""
    # What stands first in JUPYTER_CONFIG_PATH counts most.
    folders = [str(ROOT / "tools" / "jupyter"), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(folders)
    # So the pages' Python finds the course also where its folder was moved after the install.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), str(ROOT / "packages"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    from jupyterlab.labapp import LabApp

    print(
        "JupyterLab opens in your browser, or else at the address below. To end it, press Ctrl-C here, twice.",
        flush=True,
    )
    LabApp.launch_instance(
        [
            f"--ServerApp.root_dir={ROOT}",
            f"--LabApp.default_url=/lab/tree/{quote(page.relative_to(ROOT).as_posix())}",
            "--log-level=ERROR",
            "--LabApp.log_level=ERROR",
            *options,
        ]
    )


def main(arguments: list[str]) -> None:
    """Open the page that the arguments name, after renewing the copies if it is one of them."""
    if {"-h", "--help"} & {*arguments}:
        return print(__doc__)
    named = bool(arguments) and not arguments[0].startswith("-")
    page = Path(os.path.abspath(arguments[0])) if named else OWN / "00_start_here.ipynb"
    if page.is_relative_to(OWN):
        try:
            stay = renew(COURSE, OWN)
        except OSError as error:
            sys.exit(
                f"Not opened: {error.filename or OWN} cannot be written ({error.strerror}). Your pages need room, "
                "in a folder where you may write: get the course into one of your own."
            )
        if stay:
            mine = f"my_{Path(stay[0]).name}"
            print(
                f"In {OWN.name}/ are pages of an older edition, which you changed: {', '.join(stay)}. They stay. "
                f"For the new page beside yours, give yours another name, such as {mine}, and the same command again."
            )
    if not page.exists() or not page.is_relative_to(ROOT):
        sys.exit(f"Not opened: there is no {page} in the course's folder, {ROOT}. Name one of its pages or folders.")
    open_in_jupyterlab(page, arguments[named:])


if __name__ == "__main__":
    main(sys.argv[1:])
