"""What does somebody else's notebook hold? Its answers, verdicts and outputs, read as data: nothing in it runs."""

import json
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

from .report import VERDICT

DONE, TRIED, NOT_YET = "done", "tried", "not yet"
LARGEST = 10_000_000  # bytes of a notebook: one with more holds a flood of output, and is not read
LONGEST = 1000  # signs of a line of others' text
FRAME = re.compile(r'<img src="(data:image/webp;base64,[\w+/=]+)" alt="([^"]*)"')  # of a film, one of its pictures


class Refused(ValueError):
    """A file of others that is not read; the message says why and what to do."""


def own_cells(path: str | Path, exercises: dict[str, str], mark: str) -> Iterator[tuple[str | None, str, list]]:
    """(name of the exercise or None, source, outputs) of a notebook's cells of code, but for folded solutions.

    An exercise's cells are the one with its stub and the code cells that follow, up to the next prose. A stub is known
    by a line of the `mark` and the name, which outlives editors, or by its cell's id. `exercises`: {id: name}.
    Raises `Refused` for a large file, and many kinds of errors for what is no notebook.
    """
    size, name = Path(path).stat().st_size, None
    if size > LARGEST:
        raise Refused(f"a file of {size / 1e6:.0f} MB: clear its outputs and save it again")
    for cell in json.loads(Path(path).read_bytes())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or source.lstrip().startswith("# @title"):
            name = None
            continue
        marked = re.search(rf"^ *{mark}(\S+)", source, re.MULTILINE)
        own_id = cell.get("id") or cell.get("metadata", {}).get("id")  # Colab keeps it there
        name = marked[1] if marked and marked[1] in exercises.values() else exercises.get(str(own_id), name)
        yield name, source, [output for output in cell.get("outputs", []) if isinstance(output, dict)]


def verdict_in(outputs: list[dict]) -> tuple[str, str] | None:
    """(state, what is said) in a cell's outputs, or None; an error, or one of several that is not met, decides."""
    judged = []
    for output in outputs:
        if output["output_type"] == "error":
            return TRIED, " ".join(f"{output['ename']}: {output['evalue']}".split())
        if VERDICT in output.get("data", {}):
            judged.append(output["data"][VERDICT])
    wrong = [one for one in judged if not one["right"]]
    if not wrong:
        return (DONE, "") if judged else None
    first = next((one for one in wrong if one["tried"]), wrong[0])
    return TRIED if first["tried"] else NOT_YET, str(first["said"])


def text_of(outputs: list[dict]) -> str:
    """The text of a cell's outputs; of a picture what it says for those who cannot see it."""
    return "\n".join(shown_text(output).rstrip("\n") for output in outputs)


def shown_text(output: dict) -> str:
    """The text of an output of any kind."""
    if output.get("output_type") == "error":
        return f"{output.get('ename')}: {output.get('evalue')}"
    return data_in(output, "text/plain") or joined(output.get("text", ""))


def data_in(output: dict, kind: str) -> str:
    """What an output holds of that type; "" where it holds none."""
    data = output.get("data")
    return joined(data.get(kind, "")) if isinstance(data, dict) else ""


def joined(text: object) -> str:
    """A text that a file keeps as one or as a list of lines."""
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def html_of(outputs: list[dict]) -> str:
    """A cell's outputs as HTML in which nothing runs: their text, their pictures, and the pictures of their films.

    Pictures are twice as fine as they are shown.
    """
    parts = []
    for output in outputs:
        text = safe(shown_text(output))
        png = re.sub(r"[^\w+/=]", "", data_in(output, "image/png"))
        if frames := FRAME.findall(data_in(output, "text/html")):
            images = [f'<img srcset="{image} 2x" alt="{safe(unescape(alt))}">' for image, alt in frames]
            parts.append(f'<div class="film" tabindex="0">{"".join(images)}</div>')
        elif png:
            parts.append(f'<img srcset="data:image/png;base64,{png} 2x" alt="{text}">')
        else:
            parts.append(f"<pre>{text}</pre>")
    return "\n".join(parts)


def safe(text: str) -> str:
    """Others' text as HTML."""
    return escape("\n".join(map(plain, text.expandtabs(4).splitlines())))


def plain(text: str) -> str:
    """Others' text fit for a line of a screen: nothing in it steers a terminal, or is seen where it does not stand."""
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in cut)
