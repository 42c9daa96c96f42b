"""The class's board, made from entries: a rank for each machine, prizes, and who is refused, and why."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import ladder
from ..launch import DIALECTS
from .entries import SIZES, code_of, lines_of, run_again, seal

NUMBER, TEXT = (int, float), str
FIELDS = {
    "name": TEXT, "machine": TEXT, "date": TEXT, "dialect": TEXT, "like": TEXT, "parameters": dict, "source": TEXT,
    "lines": int, "answer": list, "times": dict, "seal": TEXT,
}  # fmt: skip
LARGEST = 1_000_000  # bytes of an entry
MOST = 1.5  # times the measured peak: a machine that others use, too, is faster at one moment than at another


@dataclass(frozen=True)
class Board:
    """What a class has entered; a table when printed.

    machines  {machine: its entries, the best first}, by how many times as fast as NumPy they are, in turns
    refused   {file: why}
    """

    machines: dict[str, list[dict]]
    refused: dict[str, str]

    def prizes(self) -> dict[str, str]:
        """{prize: who has it}; a prize for speed is given on each machine."""
        given = {}
        for machine, entries in self.machines.items():
            timed = [entry for entry in entries if entry["times"]]
            for prize, size in (("fastest", "square"), ("best at thin matrices", "thin")):
                if timed:
                    given[f"{prize} on {machine}"] = max(timed, key=lambda e: e["times"][size]["of_numpy"])["name"]
        everyone = [entry for entries in self.machines.values() for entry in entries]
        counted = [entry for entry in everyone if entry.get("loads_per_flop")]
        if everyone:
            given["fewest lines"] = min(everyone, key=lambda entry: entry["lines"])["name"]
        if counted:
            given["fewest loads per flop"] = min(counted, key=lambda entry: entry["loads_per_flop"])["name"]
        return given

    def __repr__(self):
        if not self.machines and not self.refused:
            return "There is no entry in this folder. Page 15 writes one: enter(kernel, name)."
        lines = []
        for machine, entries in self.machines.items():
            wide = max(4, *(len(entry["name"]) for entry in entries))
            lines.append(f"{machine}\n  #  {'name':{wide}}  {'kernel':28}  of NumPy   thin  GFLOP/s  lines  loads/flop")
            for rank, e in enumerate(entries, 1):
                square, thin = (e["times"].get(size) for size in SIZES)
                speed = f"{square['of_numpy']:7.2f}x {thin['of_numpy']:5.2f}x {square['gflops']:8.0f}" if square else ""
                loads = f"{e['loads_per_flop']:10.3f}" if e.get("loads_per_flop") else ""
                kernel = f"{e['dialect']}, like {e['like']}"
                lines.append(f"{rank:3}  {e['name']:{wide}}  {kernel:28}  {speed:23}  {e['lines']:5}  {loads}".rstrip())
            lines.append("")
        lines += [f"{prize}: {name}" for prize, name in self.prizes().items()]
        lines += [f"refused: {file}: {why}" for file, why in self.refused.items()]
        return "\n".join(lines)


def board(folder: Path | str, again: bool = False, each: Callable[[str], None] = lambda name: None) -> Board:
    """The board of the entry-*.json files in a folder. Machines are never mixed in one rank.

    `again`: build each entry's source here and judge it again, some seconds each; without it only what a file says is
    looked at. `each`: is told which file is next. Raises FileNotFoundError where there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder; name one that holds the entry-*.json files of the class.")
    machines, refused, codes = {}, {}, {}
    for path in sorted(folder.rglob("entry-*.json")):
        name = str(path.relative_to(folder))
        each(name)
        entry, why = read_entry(path)
        if not why:
            code = code_of(entry["source"], entry["dialect"])
            why = f"copied: its source is that of {codes[code]}" if code in codes else ""
        if not why and again:
            why = run_again(entry)
        if why:
            refused[name] = why
        else:
            codes[code] = entry["name"]
            machines.setdefault(entry["machine"], []).append(entry)
    for entries in machines.values():
        entries.sort(key=speed, reverse=True)
    return Board(machines, refused)


def speed(entry):
    """How many times as fast as NumPy; 0 without times."""
    return entry["times"].get("square", {}).get("of_numpy", 0.0)


def read_entry(path: Path) -> tuple[dict, str]:
    """(the entry, "") or ({}, why it is refused)."""
    try:
        if path.stat().st_size > LARGEST:
            return {}, "too large: an entry is a few kB"
        entry = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}, "not readable: it is not JSON"
    why = shape_problem(entry) or edited(entry) or impossible(entry) or not_own(entry)
    return ({}, why) if why else (entry, "")


def shape_problem(entry):
    """Why it is no entry at all."""
    if not isinstance(entry, dict):
        return "no entry: it is no object with fields"
    for field, kind in FIELDS.items():
        if not isinstance(entry.get(field), kind):
            return f"no entry: its field {field!r} is missing or of the wrong kind"
    if entry["dialect"] not in DIALECTS or entry["like"] not in ladder.STEPS:
        return f"no entry: there is no {entry['like']} in {entry['dialect']}"
    for size in SIZES if entry["times"] else ():
        row = entry["times"].get(size)
        if not isinstance(row, dict) or not all(isinstance(row.get(x), NUMBER) for x in ("gflops", "of_numpy")):
            return f"no entry: its times have no {size!r}"
    if entry["times"] and not isinstance(entry["times"].get("peak_gflops"), NUMBER):
        return "no entry: its times have no 'peak_gflops'"
    return ""


def edited(entry):
    """Whether it is as `enter` wrote it."""
    return "" if entry["seal"] == seal(entry) else "edited: it is not as enter wrote it; enter again"


def impossible(entry):
    """Numbers that no machine gives."""
    times = entry["times"]
    rates = [times[size][what] for size in SIZES for what in ("gflops", "of_numpy")] if times else []
    if not all(math.isfinite(x) and x > 0 for x in rates):
        return "no number: a rate is not a positive number"
    if not all(isinstance(x, NUMBER) and math.isfinite(x) for x in entry["answer"]):
        return "no number: its answer is not made of numbers"
    if times and max(times[size]["gflops"] for size in SIZES) > MOST * times["peak_gflops"]:
        return "faster than its machine: more flop a second than the peak that was measured"
    if entry["machine"] == "simulator" and times:
        return "timed in a simulator: that is no time"
    return ""


def not_own(entry):
    """Whether it is the course's own kernel under another name, or says less than its source has."""
    code = code_of(entry["source"], entry["dialect"])
    for step in ladder.steps(entry["dialect"]):
        if code == code_of(DIALECTS[entry["dialect"]].source_of(step), entry["dialect"]):
            return f"not your own: it is the course's {step}"
    if entry["lines"] != lines_of(entry["source"], entry["dialect"]):
        return f"miscounted: its source has {lines_of(entry['source'], entry['dialect'])} lines"
    return ""
