"""Finds the answers in a copy of a page, whatever an editor did to the file."""

import re
from collections.abc import Iterable
from pathlib import Path

from .. import files
from .cells import Cell
from .homework import EXERCISES

MARK = "# Exercise "  # begins the line with an exercise's number that the hand-out puts above each stub
LARGEST = 20_000_000  # bytes of a notebook: one with more holds a flood of output, and is not read
MOST = 3_000_000  # characters that IPython looks at, again for each of its own words: half a minute
MAY_BE_WORDS = re.compile(r"^.*[%!?].*$|^[ \t]*[,;/]", re.MULTILINE)  # lines in which IPython may find one


def cells_of(path: Path, below: Path | None = None) -> list[dict]:
    """The cells of a notebook, dicts with "id", "kind" and "source" as text. Raises `files.Refused`.

    `below`: the folder that it must lie in, as `files.read_others` has it.
    """
    try:
        found = files.read_json(path, LARGEST, "clear its outputs and save it again", below)
        cells = [
            {
                "id": str(cell.get("id") or cell.get("metadata", {}).get("id", "")),
                "kind": cell["cell_type"],
                "source": "".join(cell["source"]),
            }
            for cell in found["cells"]
        ]
    except files.Refused:
        raise
    except OSError as error:
        raise files.Refused(f"it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise files.Refused(
            "it is no text in UTF-8, UTF-16 or UTF-32: perhaps it was cut off; ask for it again"
        ) from None
    except ValueError:
        why = "it is not JSON: perhaps it was cut off" if path.stat().st_size else "it is empty"
        raise files.Refused(f"{why}; ask for it again") from None
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise files.Refused("it is no notebook; ask for it again") from None
    sources = [cell["source"] for cell in cells if cell["kind"] == "code"]
    if sum((100 + len(source)) * (1 + len(MAY_BE_WORDS.findall(source))) for source in sources) > MOST:
        raise files.Refused("its cells hold more text than a page: ask for the answers alone")
    return cells


def exercise_of(cell: dict) -> str | None:
    """The number of the exercise whose stub this cell is; None for any other cell."""
    marked = (line.strip().removeprefix(MARK).strip() for line in cell["source"].splitlines() if MARK in line)
    by_id = (number for number, exercise in EXERCISES.items() if exercise.cell == cell["id"])
    return next((number for number in (*marked, *by_id) if number in EXERCISES), None)


def answers(path: Path, below: Path | None = None) -> dict[str, tuple[list[Cell], list[Cell]]]:
    """{number of the exercise: (the cells of its answer, the code cells above them)}. Raises what `cells_of` raises.

    An answer's cells are the stub, the code cells that follow it up to the next prose, and those up to the next stub
    that give its names a value. Where the stub is gone, it is any cell of nobody's that does.
    """
    label, follows, cells = None, False, []
    for cell in cells_of(path, below):
        if cell["kind"] != "code":
            follows = False
        elif not cell["source"].lstrip().startswith("# @title"):
            if own := exercise_of(cell):
                label, follows = own, True
            cells.append(Cell(cell["source"], label if follows or says(Cell(cell["source"]), label) else None))
    for lost in lost_in(path, {cell.label for cell in cells}):
        cells = [cell if cell.label or not says(cell, lost) else Cell(cell.source, lost) for cell in cells]
    found = {}
    for label in {cell.label: None for cell in cells if cell.label}:
        last = max(at for at, cell in enumerate(cells) if cell.label == label)
        found[label] = tuple([c for c in cells[: last + 1] if (c.label == label) is own] for own in (True, False))
    return found


def says(cell, label):
    """Whether a cell says what the names are that the exercise asks for, or tries to, and is no Python."""
    names = set(EXERCISES[label].names) if label else set()
    return bool(cell.touches & names or (cell.broken and names & set(re.findall(r"\w+", cell.source))))


def pages_of(path: Path, labels: Iterable[str | None]) -> set[str]:
    """The numbers of the pages that a file is a copy of, by its name and its exercises."""
    known = {exercise.page for exercise in EXERCISES.values()}
    return known & {path.name[:2], *(EXERCISES[label].page for label in labels if label)}


def lost_in(path, labels):
    """The exercises of the file's pages that are none of `labels`, and whose names nobody could take for another's."""
    there = [exercise for exercise in EXERCISES.values() if exercise.page in pages_of(path, labels)]
    names = [name for exercise in there for name in exercise.names]
    return [e.label for e in there if e.label not in labels and all(names.count(name) == 1 for name in e.names)]
