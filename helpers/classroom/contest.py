"""A contest for a class: who makes a rung of the ladder faster, and the board that ranks the entries.

`enter` checks, counts and times a kernel on its author's machine, and writes a file. `board` reads such files: it runs
nothing of them, and believes what they say.
"""

import json
import math
import re
import time
import unicodedata
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from .. import files
from ..arguments import told
from ..clock import compare
from ..clock.contests import ROUNDS, verdict_on
from ..clock.results import called_after
from ..instruments import traffic
from ..judge import Report, check
from ..judge.reference import launched, wrong_for
from ..launch import DIALECTS, Kernel, KernelError, draw
from ..sandbox import Finding
from ..terminal import columns, padded

SHAPE = (1024, 1024, 1024)  # of the product that is timed: M, N, K
SMALL = (13, 11, 17)  # in its place on the PTX machine
COUNTED = (128, 128, 2)  # for loads: rows and columns that tell tiles apart, and so little K that Oclgrind is quick
LONGEST = 40  # characters of a name
LARGEST = 100_000  # bytes of an entry
COUNTS = ("global_loads", "shared_loads")
OVER_NUMBERS = {  # what is wrong, by whether each wrong element still is what C held
    True: ("cached", "it keeps what it finds in C, so only its first launch computes"),
    False: ("wrong numbers", "right where C held NaN before, and wrong where C held numbers"),
}


class NotEntered(ValueError):
    """A kernel that may not enter; the message says why and what to do."""


@dataclass(frozen=True)
class Entry:
    """What `enter` writes of a kernel.

    name, machine    texts: whose it is, and what it was timed on: a model of GPU, or of CPU with its cores
    date             text: when, in UTC
    dialect, like    texts: the rung that it came from, with which it is compared
    source           text: the kernel's
    parameters       {name: whole number}: its sizes
    counts           {"global_loads", "shared_loads": numbers loaded for a product of `COUNTED`}; {} if not countable
    rung_counts      the same of the rung
    ratios           for each round how many times as fast as the rung it is at `SHAPE`; [] without a GPU
    """

    name: str
    machine: str
    date: str
    dialect: str
    like: str
    source: str
    parameters: dict
    counts: dict
    rung_counts: dict
    ratios: list

    @property
    def ratio(self) -> float:
        """How many times as fast as its rung it is: the median of the rounds."""
        return float(np.median(self.ratios))


def enter(k: Kernel, name: str, folder: str | Path = ".") -> Path:
    """Check a kernel of your own, count and time it, and write it down as entry-NAME.json. Returns the file's path.

    `name`: yours, as the board shall show it; your next entry takes the place of this one. `folder`: where the file is
    written. The kernel is timed in nine rounds, in turns with the rung that it is launched like, as the course builds
    that for this device. Raises `NotEntered` for a kernel that is not right, and then writes nothing. A kernel that
    runs on the PTX machine enters without times.
    """
    if not isinstance(k, Kernel):
        raise TypeError(f"{k!r:.40} is no built kernel; build it first, with cuda_kernel(...) or opencl_kernel(...).")
    dialect = DIALECTS[k.dialect]
    if not k.own or k.source == dialect.source_of(k.step):
        raise NotEntered(f"{k} is the course's own. Enter one that you wrote: give its source, and like={k.step!r}.")
    if k.inputs != "float32":
        raise NotEntered(f"{k} rounds A and B to {k.inputs}. The board compares products in float32.")
    name = shown(name)
    path = file_for(name, folder)
    files.try_writing(path)
    if not (report := whether_right(k)):
        raise NotEntered(f"It does not enter yet.\n{report}")
    rung = dialect.build(k.step)
    try:
        ratios = [] if k.untimed else list(compare(k, rung, SHAPE).ratios)
    except KernelError as error:
        raise NotEntered(f"It does not enter yet.\n{error}") from None
    entry = Entry(
        name=name,
        machine="no GPU" if k.untimed else called_after(k.device),
        date=time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
        dialect=k.dialect,
        like=k.step,
        source=k.source,
        parameters=k.parameters,
        counts=counts_of(k),
        rung_counts=counts_of(rung),
        ratios=ratios,
    )
    files.replace_text(path, json.dumps(asdict(entry), indent=1) + "\n", follow=False)
    return path


def shown(name: str) -> str:
    """A name as the board shows it, in one spelling. Raises NotEntered for one that it cannot show."""
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not any(map(str.isalnum, name)) or not name.isprintable():
        raise NotEntered(f"name={told(name)} has no letter or number to call a file by, or a sign that cannot be seen.")
    if len(name) > LONGEST:
        raise NotEntered(f"name={told(name)} has {len(name)} characters; give {LONGEST} at most.")
    return name


def file_for(name: str, folder: str | Path) -> Path:
    """The entry's file of that name. Raises NotEntered where that file is another's."""
    slug = re.sub(r"\W+", "-", name).strip("-").lower()
    path = Path(folder) / f"entry-{slug}.json"
    if path.exists() and getattr(entry_in(path, path.parent), "name", None) != name:
        raise NotEntered(f"{path} is there, and is not an entry of {name}. Give another name or another folder.")
    return path


def whether_right(k: Kernel) -> Report:
    """The verdict on a kernel: that of `check`; and it is right where it is timed, too, whatever it finds in C."""
    report = check(k)
    if not report:
        return report
    shape = SMALL if k.untimed else SHAPE
    A, B = draw(*shape)
    wrong, where = wrong_for(A, B), " x ".join(map(str, shape))
    if wrong(launched(k, A, B)).any():
        found = "wrong at one size", f"right elsewhere, and wrong at {where} (M x N x K), where it is timed"
    elif (bad := wrong(C := launched(k, A, B, 7.0))).any():
        found = OVER_NUMBERS[bool((C[bad] == 7.0).all())]
    else:
        return report
    return Report(str(k), (Finding(*found),), report.shapes, k.source)


def counts_of(k: Kernel) -> dict[str, int]:
    """How many numbers a product of `COUNTED` loads; {} where nothing here can count them."""
    try:
        found = traffic(k, *COUNTED)
    except (KernelError, ValueError):
        return {}
    return {name: int(getattr(found, name)) for name in COUNTS}


@dataclass(frozen=True)
class Board:
    """What a class has entered; a table when printed.

    entries   a list of `Entry`
    refused   {file: why it is not on the board}
    """

    entries: list[Entry]
    refused: dict[str, str]

    def __repr__(self):
        if not self.entries and not self.refused:
            return "There is no entry in this folder. Page 16 writes one: enter(kernel, name)."
        tables, lines = defaultdict(list), []
        for entry in self.entries:
            tables[entry.machine, f"{entry.like} ({entry.dialect})"].append(entry)
        for (machine, rung), entries in sorted(tables.items()):
            M, N, K = SHAPE
            lines += [f"{machine}, beside {rung}, {M} x {N} x {K}", *rows_of(entries), ""]
        lines += [f"refused: {file}: {why}" for file, why in self.refused.items()]
        return "\n".join(map(files.plain, lines)).rstrip()


def rows_of(entries: list[Entry]) -> list[str]:
    """The lines of one table, of entries that came from one rung on one model of machine; the best is first."""
    table = [["place", "name", "times its rung", "range of 9 rounds", "", "global loads", "shared loads"]]
    for entry in sorted(entries, key=lambda entry: -entry.ratio if entry.ratios else math.inf):
        said = ["", "", ""]
        if entry.ratios:
            span = f"{min(entry.ratios):.2f} to {max(entry.ratios):.2f}"
            said = [f"{entry.ratio:.2f}", span, verdict_on(entry.ratios)]
        counted = [f"{told_of(entry.counts, name)} (rung {told_of(entry.rung_counts, name)})" for name in COUNTS]
        table.append([place(entry, entries), entry.name, *said, *counted])
    widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(padded, row, widths)).rstrip() for row in table]


def told_of(counts: dict, name: str) -> str:
    """A count as the board shows it."""
    return f"{counts[name]:,}" if counts else "not counted"


def place(entry: Entry, entries: list[Entry]) -> str:
    """An entry's place among those entries: one number, or the first and the last that it may be, and "undecided".

    An entry is ahead of another where each of its rounds is better than each of the other's.
    """
    if not entry.ratios:
        return "not timed"
    timed = [other for other in entries if other.ratios]
    first = 1 + sum(min(other.ratios) > max(entry.ratios) for other in timed)
    last = len(timed) - sum(max(other.ratios) < min(entry.ratios) for other in timed)
    return f"{first}" if first == last else f"{first} to {last}, undecided"


def board(folder: str | Path) -> Board:
    """The board of the entry-*.json files in a folder and those below; nothing in them runs.

    Only entries that came from the same rung, on machines of the same model, are ranked together. Raises
    FileNotFoundError where there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder; name one that holds the entry-*.json files of the class.")
    read = {str(path.relative_to(folder)): entry_in(path, folder) for path in sorted(folder.rglob("entry-*.json"))}
    entries = [entry for entry in read.values() if isinstance(entry, Entry)]
    return Board(entries, {file: why for file, why in read.items() if isinstance(why, str)})


def entry_in(path: Path, below: Path) -> Entry | str:
    """The entry in a file that somebody else wrote, or why it is none. `below`: as `files.read_others` has it."""
    try:
        entry = Entry(**files.read_json(path, LARGEST, "an entry is a few kB", below))
        return entry if as_written(entry) else "no entry: it is not as enter writes it"
    except files.Refused as error:
        return f"not readable: {error}"
    except OSError as error:
        return f"not readable: {error.strerror}"
    except (TypeError, LookupError, AttributeError, NotEntered):
        return "no entry: it is not as enter writes it"
    except ValueError:
        return "not readable: it is not JSON"


def as_written(entry: Entry) -> bool:
    """Whether each field that the board shows is as `enter` writes it. May raise TypeError, LookupError, NotEntered."""
    texts = [entry.name, entry.machine, entry.dialect, entry.like, entry.source]
    numbers = [counted[name] for counted in (entry.counts, entry.rung_counts) if counted for name in COUNTS]
    return (
        all(isinstance(text, str) for text in texts)
        and entry.name == shown(entry.name)
        and all(isinstance(number, int) and 0 <= number < 2**63 for number in numbers)
        and len(entry.ratios) in (0, ROUNDS)
        and all(isinstance(ratio, float) and 0 < ratio < math.inf for ratio in entry.ratios)
    )
