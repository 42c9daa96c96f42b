"""The class's board, made from entries: a rank for each machine, prizes, and who is refused, and why."""

import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .. import files, jail, ladder
from ..launch import DIALECTS
from ..launch.given import takes
from .entries import (
    COUNTED,
    SIZES,
    NotEntered,
    machine_here,
    not_ones_own,
    read_entry,
    run_again,
    seal,
    shown,
    timed_again,
)
from .tokens import idea, tokens_of

NUMBER, TEXT = (int, float), str
NUMBER_OR_NONE = (*NUMBER, type(None))
FIELDS = {
    "name": TEXT, "machine": TEXT, "date": TEXT, "dialect": TEXT, "like": TEXT, "parameters": dict, "source": TEXT,
    "tokens": int, "answer": list, "times": dict, "seal": TEXT, "loads_per_flop": NUMBER_OR_NONE,
}  # fmt: skip
MOST = 1.1  # times the measured peak, which NumPy and the rung raise if they exceed it
PRIZES = {"fastest": "square", "best at thin matrices": "thin"}


@dataclass(frozen=True)
class Board:
    """What a class has entered; a table when printed.

    machines  {machine: its entries, the best first}, by how many times as fast as NumPy they are, in turns
    refused   {file: why}
    notes     what was timed again, and what could not be
    """

    machines: dict[str, list[dict]]
    refused: dict[str, str]
    notes: list[str] = field(default_factory=list)

    def prizes(self) -> dict[str, str]:
        """{prize: who has it}; a prize for speed is given on each machine, and a count decides where two are equal."""
        given = {}
        for machine, entries in self.machines.items():
            for prize, size in PRIZES.items():
                if timed := [entry for entry in entries if entry["times"]]:
                    given[f"{prize} on {machine}"] = first(timed, lambda e, size=size: (-rate(e, size), e["tokens"]))
        everyone = [entry for entries in self.machines.values() for entry in entries]
        if everyone:
            given["fewest tokens"] = first(everyone, lambda entry: (entry["tokens"], loads(entry)))
        if counted := [entry for entry in everyone if loads(entry) < math.inf]:
            given["fewest loads per flop"] = first(counted, lambda entry: (loads(entry), entry["tokens"]))
        return given

    def __repr__(self):
        if not self.machines and not self.refused:
            return "There is no entry in this folder. Page 16 writes one: enter(kernel, name)."
        lines = []
        for machine, entries in self.machines.items():
            wide = max(4, *(width(entry["name"]) for entry in entries))
            head = f"  #  {'name':{wide}}  {'kernel':28}  of NumPy   thin  GFLOP/s  tokens  loads/flop"
            lines += [machine, head]
            for rank, e in enumerate(entries, 1):
                square, thin = (e["times"].get(size) for size in SIZES)
                speed = f"{square['of_numpy']:7.2f}x {thin['of_numpy']:5.2f}x {square['gflops']:8.0f}" if square else ""
                counted = f"{loads(e):10.3f}" if loads(e) < math.inf else ""
                name, kernel = e["name"] + " " * (wide - width(e["name"])), f"{e['dialect']}, like {e['like']}"
                lines.append(f"{rank:3}  {name}  {kernel:28}  {speed:23}  {e['tokens']:6}  {counted}".rstrip())
            lines.append("")
        lines += [f"{prize}: {name}" for prize, name in self.prizes().items()]
        lines += [*self.notes, *(f"refused: {file}: {why}" for file, why in self.refused.items())]
        return "\n".join(map(files.plain, lines))


@takes
def board(
    folder: Path | str, again: bool = False, each: Callable[[str], None] = lambda name: None, trust: bool = False
) -> Board:
    """The board of the entry-*.json files in a folder. Machines are never mixed in one rank.

    `again`: build each entry's source here, judge it and count its loads again, some seconds each; and time again those
    that lead on this machine. Without it only what a file says is looked at. `each`: is told what is next. Of two equal
    sources the earlier entry stays. `trust`: run their sources without the jail that keeps them from this machine's
    files and network. Raises FileNotFoundError where there is no such folder, NoJail where there is none, and no trust.
    """
    if again and not trust:
        jail.refuse_without()
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder; name one that holds the entry-*.json files of the class.")
    read = {str(path.relative_to(folder)): looked_at(path, folder) for path in sorted(folder.rglob("entry-*.json"))}
    refused = {file: entry for file, entry in read.items() if isinstance(entry, str)}
    ranked, ideas, notes = {}, {}, []
    for file in sorted(read.keys() - refused.keys(), key=lambda file: (read[file]["date"], file)):
        each(files.plain(file))
        entry = read[file]
        said = idea(entry["source"], entry["dialect"])
        if said in ideas:
            entry = f"copied: {ideas[said]} entered this source earlier"
        elif again:
            entry = with_found(entry, "loads_per_flop", run_again(entry, trust))
        if isinstance(entry, str):
            refused[file] = entry
        else:
            ideas[said], ranked[file] = entry["name"], entry
    if again:
        time_leaders(ranked, refused, notes, each, trust)
    machines = {}
    for entry in sorted(ranked.values(), key=lambda entry: (-rate(entry, "square"), entry["tokens"])):
        machines.setdefault(entry["machine"], []).append(entry)
    return Board(machines, dict(sorted(refused.items())), notes)


def time_leaders(ranked, refused, notes, each, trust):
    """Time again whoever leads on this machine, until those lead that were timed now. Changes what it is given."""
    here = machine_here()
    mine = {file for file, entry in ranked.items() if entry["machine"] == here and entry["times"]}
    untimed = set(mine)
    for size in PRIZES.values():
        while mine and (leader := max(mine, key=lambda file: rate(ranked[file], size))) in untimed:
            each(files.plain(f"{leader}, timed again"))
            entry = ranked[leader]
            ranked[leader] = now = with_found(entry, "times", timed_again(entry, trust))
            untimed.remove(leader)
            if isinstance(now, str):
                refused[leader] = ranked.pop(leader)
                mine.remove(leader)
                continue
            rates = (f"{rate(entry, s):.2f}x and {rate(now, s):.2f}x at the {s} shape" for s in PRIZES.values())
            notes.append(f"timed again, {entry['name']}: in the file and now, {', '.join(rates)}")
    for machine in sorted({entry["machine"] for entry in ranked.values() if entry["times"]} - {here}):
        notes.append(f"not timed again, since this is another machine: {machine}")


def first(entries, key):
    """The name of the entry with the least key; all names where several have it."""
    least = min(map(key, entries))
    return " and ".join(entry["name"] for entry in entries if key(entry) == least)


def rate(entry, size):
    """How many times as fast as NumPy; 0 without times."""
    return entry["times"].get(size, {}).get("of_numpy", 0.0)


def loads(entry):
    """Loads for each flop; infinite where nobody could count them."""
    counted = entry.get("loads_per_flop")
    return math.inf if counted is None else counted


def width(text):
    """How many columns a text takes in a terminal."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def looked_at(path: Path, folder: Path) -> dict | str:
    """The entry, or why it is refused."""
    try:
        entry = read_entry(path, folder)
    except files.Refused as error:
        return f"not readable: {error}"
    except (OSError, ValueError):
        return "not readable: it is not JSON"
    return problem(entry, (shape_problem, edited, impossible, not_own)) or entry


def with_found(entry, field, found):
    """The entry with what was found here in place of what its file says there, or why it is refused.

    A text says why. What a source made its process say is looked at like a file, but that it is not sealed.
    """
    now = entry | {field: found}
    return found if isinstance(found, str) else problem(now, (shape_problem, impossible)) or now


def problem(entry, looks):
    """What the first of those looks has to say against it; "" where none has."""
    try:
        return next(filter(None, (look(entry) for look in looks)), "")
    except OverflowError:
        return "no number: one of its numbers is beyond all bounds"
    except RecursionError:
        return "no entry: it is nested too deeply"


def shape_problem(entry):
    """Why it is no entry at all."""
    if not isinstance(entry, dict):
        return "no entry: it is no object with fields"
    for name, kind in FIELDS.items():
        if not isinstance(entry.get(name), kind):
            return f"no entry: its field {name!r} is missing or of the wrong kind"
    if entry["dialect"] not in DIALECTS or entry["like"] not in ladder.steps(entry["dialect"]):
        return f"no entry: there is no {entry['like']} in {entry['dialect']}"
    try:
        if entry["name"] != shown(entry["name"]):
            return "no entry: its name is not spelled as enter spells it"
    except NotEntered as error:
        return f"no entry: {error}"
    if not re.fullmatch(r"[\w-]{1,200}", entry["machine"], re.ASCII):
        return "no entry: its machine is not called as enter calls it"
    given, known = entry["parameters"], ladder.STEPS[entry["like"]].space
    if not given.keys() <= known.keys() or not all(isinstance(value, int) for value in given.values()):
        return f"no entry: its parameters are not those of {entry['like']}"
    times = entry["times"]
    for size in {*SIZES, *times} - {"peak_gflops"} if times else ():
        row = times.get(size)
        if not isinstance(row, dict) or not all(isinstance(row.get(x), NUMBER) for x in ("gflops", "of_numpy")):
            return f"no entry: its times have no {size!r}"
    if times and not isinstance(times.get("peak_gflops", ""), NUMBER_OR_NONE):
        return "no entry: its times have no 'peak_gflops'"
    return ""


def edited(entry):
    """Whether it is as `enter` wrote it."""
    return "" if entry["seal"] == seal(entry) else "edited: it is not as enter wrote it; enter again"


def impossible(entry):
    """Numbers that no machine gives."""
    times = entry["times"]
    rows = [row for size, row in times.items() if size != "peak_gflops"]
    if not all(math.isfinite(row[x]) and row[x] > 0 for row in rows for x in ("gflops", "of_numpy")):
        return "no number: a rate is not a positive number"
    if not all(isinstance(x, NUMBER) and math.isfinite(x) for x in entry["answer"]):
        return "no number: its answer is not made of numbers"
    if entry.get("loads_per_flop") is not None and not math.isfinite(entry["loads_per_flop"]):
        return "no number: its loads are not a number"
    M, N, K = COUNTED
    if not loads(entry) >= (M * K + K * N) / (2 * M * N * K):
        return "too few loads: each number of A and of B must be loaded once"
    peak = times.get("peak_gflops")
    if peak is not None and not all(row["gflops"] <= MOST * peak for row in rows):
        return "faster than its machine: more flop a second than the peak that was measured"
    if entry["machine"] == "simulator" and times:
        return "timed in a simulator: that is no time"
    return ""


def not_own(entry):
    """Whether it is the course's own kernel under another name, or says less than its source has."""
    if why := not_ones_own(entry["source"], entry["dialect"]):
        return why
    tokens = len(tokens_of(entry["source"], entry["dialect"]))
    return "" if entry["tokens"] == tokens else f"miscounted: its source has {tokens} tokens"
