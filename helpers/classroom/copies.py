"""Finds the answers in a copy of a page, whatever an editor did to the file."""

import json
from pathlib import Path

from .homework import EXERCISES

MARK = "# Exercise "  # begins the line with an exercise's number that the hand-out puts above each stub
LARGEST = 20_000_000  # bytes of a notebook: one with more holds a flood of output, and is not read


class Unreadable(ValueError):
    """A file that is no notebook; the message says why."""


def cells_of(path: Path) -> list[dict]:
    """The cells of a notebook, dicts with "id", "kind" and "source" as text. Raises Unreadable."""
    try:
        if path.stat().st_size > LARGEST:
            raise Unreadable(f"a file of {path.stat().st_size / 1e6:.0f} MB: clear its outputs and save it again")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return [
            {
                "id": str(cell.get("id") or cell.get("metadata", {}).get("id", "")),
                "kind": cell["cell_type"],
                "source": "".join(cell["source"]),
            }
            for cell in cells
        ]
    except Unreadable:
        raise
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise Unreadable("it is not JSON: perhaps it was cut off; ask for it again") from None
    except (KeyError, TypeError, AttributeError):
        raise Unreadable("it is no notebook; ask for it again") from None


def exercise_of(cell: dict) -> str | None:
    """The number of the exercise whose stub this cell is; None for any other cell."""
    first = cell["source"].lstrip().split("\n")[0].strip()
    label = first.removeprefix(MARK).strip() if first.startswith(MARK) else None
    if label in EXERCISES:
        return label
    return next((number for number, exercise in EXERCISES.items() if exercise.cell == cell["id"]), None)


def answers(path: Path) -> dict[str, str]:
    """{number of the exercise: text of its cell and of the code cells that follow up to the next prose}.

    Raises Unreadable.
    """
    found, label = {}, None
    for cell in cells_of(path):
        if cell["kind"] != "code":
            label = None
            continue
        label = exercise_of(cell) or label
        if label and not cell["source"].startswith("# @title"):
            found[label] = "\n".join(filter(None, [found.get(label), cell["source"]]))
    return found
