"""A kernel of one's own enters the contest: checked hard, timed in turns, and written down as an entry."""

import hashlib
import json
import math
import re
import subprocess
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .. import devices, files, jail, ladder
from ..clock import contest, machine_limits
from ..clock.contests import numpy_matmul
from ..clock.fresh import Fresh
from ..clock.results import results_file, versions
from ..instruments import traffic
from ..judge import Report, check
from ..judge.reference import wrong_elements
from ..judge.shapes import shapes_for
from ..launch import DIALECTS, HostKernel, Kernel, KernelError, draw
from ..launch.given import takes
from ..sandbox import Errand, Finding, apart, folder_of_a_stranger, limit_this_process
from ..sandbox.progress import ProgressBar
from .tokens import idea, smuggled, tokens_of

SIZES = {"square": (1024, 1024, 1024), "thin": (2048, 16, 2048)}  # what is timed: M, N, K
COUNTED = (128, 128, 2)  # for loads: rows and columns that tell tiles apart, and so little K that a simulator is quick
ROUNDS = 3
ANSWER = (13, 11, 17)  # the shape of the product that an entry claims
SEED = 15
MORE_SHAPES = 6  # beside those that suit the tiles, drawn anew for each entry
SECONDS = 300  # of computing, to judge one entry again
TIMING_SECONDS = 1200  # to time one again
LONGEST = 60  # characters of a name
LARGEST = 100_000  # bytes of an entry
JIT = "from numba import cuda, float32, uint32\n\n\n"  # what a `@cuda.jit` function found on its page


class NotEntered(ValueError):
    """A kernel that may not enter; the message says why and what to do."""


@takes
def enter(k: Kernel, name: str, folder: str | Path = ".") -> Path:
    """Check a kernel of your own, time it, and write it down as entry-NAME.json in the folder. Returns the file's path.

    `name`: yours, as the board shall show it; your next entry takes the place of this one. Nothing is written where the
    kernel is not right, and `NotEntered` says why. A kernel that runs in a simulator enters without times.
    """
    if not isinstance(k, Kernel):
        raise TypeError(f"{k!r:.40} is no built kernel; build it first, with cuda_kernel(...) or opencl_kernel(...).")
    if not k.own:
        raise NotEntered(f"{k} is the course's own. Enter one that you wrote: give its source, and like={k.step!r}.")
    if k.inputs != "float32":
        raise NotEntered(f"{k} rounds A and B to {k.inputs}. The board compares products in float32.")
    name = shown(name)
    path = file_for(name, folder)
    files.try_writing(path)
    source = k.source if "import" in k.source or k.dialect != "CUDA" else JIT + k.source
    if why := not_ones_own(source, k.dialect):
        raise NotEntered(f"It does not enter: {why}.")
    again = DIALECTS[k.dialect].build(source, like=k.step, **k.parameters)
    if (report := wrong_with(again)) is not None:
        raise NotEntered(f"It does not enter yet.\n{report!r}")
    try:
        times = {} if again.simulated else times_of(again, SIZES, ROUNDS)
    except KernelError as error:
        raise NotEntered(f"It does not enter yet.\n{error}") from None
    entry = {
        "name": name,
        "machine": "simulator" if again.simulated else machine_here(),
        "date": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
        "versions": versions(),
        "dialect": k.dialect,
        "like": k.step,
        "parameters": k.parameters,
        "source": source,
        "tokens": len(tokens_of(source, k.dialect)),
        "loads_per_flop": loads_per_flop(again),
        "answer": answer_of(again),
        "times": times,
    }
    files.replace_text(path, json.dumps(entry | {"seal": seal(entry)}, indent=1) + "\n", follow=False)
    return path


def shown(name: str) -> str:
    """A name as the board shows it, in one spelling. Raises NotEntered for one that it cannot show."""
    if not isinstance(name, str):
        raise TypeError(f"name={name!r:.40} is no text; give your name in quotes.")
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not any(map(str.isalnum, name)) or not name.isprintable():
        raise NotEntered(f"name={name!r:.40} has no letter or number to call a file by.")
    if len(name) > LONGEST:
        raise NotEntered(f"name={name!r:.40}... has {len(name)} characters; give {LONGEST} at most.")
    return name


def file_for(name: str, folder: str | Path) -> Path:
    """The entry's file of that name: another name has another file, and a file that says another name is left alone."""
    slug = re.sub(r"\W+", "-", name).strip("-").lower()
    plain = Path(folder) / f"entry-{slug}.json"
    if slug == name.lower() and len(slug.encode()) < 200 and name_in(plain) in (None, name):
        return plain
    return plain.with_name(f"entry-{slug[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.json")


def name_in(path: Path) -> str | None:
    """Whose entry that file is; None where there is none, "" where nobody can tell."""
    try:
        return str(read_entry(path)["name"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError):
        return ""


def read_entry(path: Path, below: Path | None = None) -> object:
    """What is in a file that may be an entry. Raises what `files.read_json` raises."""
    return files.read_json(path, LARGEST, "an entry is a few kB", below)


def not_ones_own(source: str, dialect: str) -> str:
    """Why a source is not all of a kernel that somebody wrote; "" if it is."""
    try:
        mine = idea(source, dialect)
    except ValueError as error:
        return f"not readable: {error}"
    if what := smuggled(source, dialect):
        return f"not the kernel alone: {what}"
    for step in (name for name, step in ladder.STEPS.items() if dialect in step.dialects):
        if mine == idea(DIALECTS[dialect].source_of(step), dialect):
            return f"not your own: it is the course's {step}, but for comments, stray semicolons and names"
    return ""


def wrong_with(k: Kernel) -> Report | None:
    """What speaks against a kernel: None, or a `Report`. Every shape that suits its tiles, and some drawn anew.

    And then a C that is full of something else, launched twice: a kernel that leaves what it finds there is no kernel.
    """
    drawn = np.random.default_rng().integers(1, 40, (MORE_SHAPES, 3)).tolist()
    report = check(k, [*shapes_for(k), *drawn])
    if not report:
        return report
    A, B = draw(*ANSWER)
    for fill in (0.0, 7.0):
        work = k.upload(A, B, fill)
        work.launch()
        work.launch()
        if wrong_elements(work.download(), A, B).any():
            message = "it keeps what it finds in C, so only its first launch computes"
            return Report(str(k), (Finding("cached", message),), report.shapes, k.source)
    return None


def machine_here() -> str:
    """What this machine is called."""
    return results_file(".").stem


def times_of(k: Kernel, shapes: dict, rounds: int) -> dict:
    """{"square", "thin": {"shape", "gflops", "of_numpy", "of_rung"}, "peak_gflops"}, each measured in turns.

    Every launch has a product of its own. The peak is the greatest that this machine has shown meanwhile: by its probe
    before and after each size, by NumPy, or by the rung. Raises KernelError for a kernel that is wrong there.
    """
    rung = DIALECTS[k.dialect].build(k.step, **k.parameters)
    found, peaks, start = {}, [probed(k)], time.monotonic()
    with ProgressBar(f"{k} is timed") as bar:
        for what, shape in shapes.items():

            def tick(what=what):
                bar.update(time.monotonic() - start, f"({what})")

            turns = contest([Fresh(one, tick) for one in (HostKernel(numpy_matmul), rung, k)], shape, rounds)
            ratios = [[numpy.seconds / mine.seconds, step.seconds / mine.seconds] for numpy, step, mine in turns]
            of_numpy, of_rung = np.median(ratios, axis=0)
            rate = float(np.median([mine.gflops for *_, mine in turns]))
            found[what] = {"shape": shape, "gflops": rate, "of_numpy": float(of_numpy), "of_rung": float(of_rung)}
            peaks += [probed(k), *(timing.gflops for turn in turns for timing in turn[:2])]
    if None in peaks:
        return found | {"peak_gflops": None}
    for _ in range(rounds):  # a busy moment of the probe is not the kernel's fault
        if max(peaks) < max(row["gflops"] for row in found.values()):
            peaks.append(probed(k))
    return found | {"peak_gflops": max(peaks)}


def probed(k: Kernel) -> float | None:
    """GFLOP/s that the device of the kernel does at most, just now; None where only another can be asked."""
    same = devices.opencl_device().kind == k.device.kind
    return machine_limits().flops_per_s / 1e9 if same else None


def loads_per_flop(k: Kernel) -> float | None:
    """Numbers loaded from global memory for each flop; None where nothing here can count them.

    Counted at a size that is the same for all, and at one drawn beside it, where a kernel that is made for the first
    has its usual loads. There half as many again are put down to what is left over of tiles.
    """
    M, N, K = COUNTED
    beside = *np.random.default_rng().integers((3 * M // 4, 3 * N // 4), (M, N)).tolist(), K
    try:
        known, drawn = (traffic(k, *shape).global_loads / (2 * math.prod(shape)) for shape in (COUNTED, beside))
    except (KernelError, ValueError):
        return None
    return max(known, drawn * 2 / 3)


def operands() -> tuple[np.ndarray, np.ndarray]:
    """The same A and B everywhere, for the answer that an entry claims."""
    rng, (M, N, K) = np.random.default_rng(SEED), ANSWER
    return tuple(2 * rng.random(shape, dtype=np.float32) - 1 for shape in ((M, K), (K, N)))


def answer_of(k: Kernel) -> list[float]:
    """The first row of the kernel's product of `operands()`."""
    return [float(x) for x in k(*operands())[0]]


def seal(entry: dict) -> str:
    """A digest of what the entry says, so that a slip of an editor is seen. It is no signature."""
    said = {key: value for key, value in entry.items() if key != "seal"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def run_again(entry: dict, trust: bool = False) -> str | float | None:
    """Build an entry's source and judge it again, in a child process: why it is refused, or its loads for each flop.

    They are None where nothing can count them. `trust`: without the jail.
    """
    about = {key: entry[key] for key in ("dialect", "like", "parameters", "source", "answer")}
    outcome = apart(judge_again, f"the entry of {entry['name']}", SECONDS, trust, **about)
    if outcome.findings:
        return outcome.findings[0].in_a_line
    return outcome.value


def judge_again(
    errand: Errand, dialect: str, like: str, parameters: dict, source: str, answer: list
) -> str | float | None:
    """In the child: what `run_again` returns."""
    build: Callable = DIALECTS[dialect].build
    try:
        k = build(source, like=like, **parameters)
    except (KernelError, ValueError, TypeError) as error:
        return f"not built: {error}"
    if (report := wrong_with(k)) is not None:
        return report.findings[0].in_a_line
    A, B = operands()
    claimed = np.broadcast_to(np.asarray(answer, np.float32), (1, ANSWER[1]))
    if wrong_elements(claimed, A[:1], B).any() or not np.allclose(claimed, answer_of(k), rtol=1e-3, atol=1e-4):
        return "another answer: its source does not give the answer that it claims"
    return loads_per_flop(k)


def timed_again(entry: dict, trust: bool = False) -> object:
    """An entry's kernel, which has been judged again, timed here in a process of its own: its times, or why not.

    Whatever else its source has made that process say comes back, too. The child that judges would not do: CUDA is
    simulated there, and NumPy has one thread. `trust`: without the jail.
    """
    with folder_of_a_stranger() as folder:
        about = folder / "entry.json"
        about.write_text(json.dumps([entry, SIZES, ROUNDS]), encoding="utf-8")
        try:
            status, said = jail.run(
                __name__, time_in_child.__name__, folder, devices.python_path(), TIMING_SECONDS, trust
            )
        except subprocess.TimeoutExpired:
            return f"not timed: it was still running after {TIMING_SECONDS} s"
        if status:
            last = (said.splitlines() or ["it said nothing"])[-1]
            return f"not timed: its process ended with status {status}: {last}"
        try:
            return files.read_json(about, LARGEST, "times are a few lines")
        except (OSError, ValueError):
            return "not timed: its process left something else than times"


def time_in_child(folder: str) -> None:
    """In that process: a file in the folder says what to time, and then how long it took."""
    limit_this_process()
    about = Path(folder, "entry.json")
    entry, shapes, rounds = json.loads(about.read_text(encoding="utf-8"))
    k = DIALECTS[entry["dialect"]].build(entry["source"], like=entry["like"], **entry["parameters"])
    k.checked = True  # by `judge_again`
    try:
        found = times_of(k, {what: tuple(shape) for what, shape in shapes.items()}, rounds)
    except KernelError as error:
        found = " ".join(f"wrong where it is timed: {error}".split())
    about.write_text(json.dumps(found), encoding="utf-8")
