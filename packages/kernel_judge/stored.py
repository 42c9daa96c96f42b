"""What does a notebook of somebody else's hold? Its cells, its verdicts and its outputs, read as data: nothing runs."""

import json
import re
from html import escape
from pathlib import Path

from .report import VERDICT

DONE, TRIED, NOT_YET = "done", "tried", "not yet"
LARGEST = 10_000_000  # bytes of a notebook: one with more holds a flood of output, and is not read
LONGEST = 1000  # signs of a line of others' text
FRAME = re.compile(r'<img src="(data:image/webp;base64,[\w+/=]+)" alt="([^"]*)"')  # of a film, one of its pictures


class Refused(ValueError):
    """A file of others that is not read; the message says why and what to do."""


def cells_of(path: str | Path) -> list[dict]:
    """The cells of a notebook. Raises `Refused` for a large one, and many kinds of errors for what is none."""
    size = Path(path).stat().st_size
    if size > LARGEST:
        raise Refused(f"a file of {size / 1e6:.0f} MB: clear its outputs and save it again")
    return json.loads(Path(path).read_bytes())["cells"]


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
    parts = []
    for output in outputs:
        text = output.get("evalue") or output.get("data", {}).get("text/plain") or output.get("text", "")
        parts.append("".join(text).rstrip("\n"))
    return "\n".join(parts)


def html_of(outputs: list[dict]) -> str:
    """A cell's outputs as HTML in which nothing runs: their text, their pictures, and the pictures of their films."""
    parts = []
    for output in outputs:
        data, text = output.get("data", {}), safe(text_of([output]))
        png = re.sub(r"[^\w+/=]", "", "".join(data.get("image/png", "")))
        if frames := FRAME.findall("".join(data.get("text/html", ""))):
            images = [f'<img srcset="{image} 2x" alt="{alt}">' for image, alt in frames]
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
