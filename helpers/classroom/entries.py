"""A kernel of one's own enters the contest: checked hard, timed in turns, and written down as an entry."""

import hashlib
import io
import json
import re
import tokenize
from collections.abc import Callable
from pathlib import Path
from time import strftime

import numpy as np

from .. import files
from ..clock import contest, machine_limits
from ..clock.contests import numpy_matmul
from ..clock.results import results_file, versions
from ..instruments import traffic
from ..judge import Report, check
from ..judge.examine import shapes_for
from ..judge.reference import wrong_elements
from ..launch import DIALECTS, HostKernel, Kernel, KernelError, draw
from ..sandbox import Errand, Finding, apart

SIZES = {"square": (1024, 1024, 1024), "thin": (2048, 16, 2048)}  # what is timed: M, N, K
COUNTED = 32  # loads are counted at so many rows, columns and products
ROUNDS = 3
ANSWER = (13, 11, 17)  # the shape of the product that an entry claims
SEED = 15
MORE_SHAPES = 6  # beside those that suit the tiles, drawn anew for each entry
SECONDS = 300  # of computing, to run one entry again
JIT = "from numba import cuda, float32, uint32\n\n\n"  # what a `@cuda.jit` function found on its page


class NotEntered(ValueError):
    """A kernel that may not enter; the message says why and what to do."""


def enter(k: Kernel, name: str, folder: str | Path = ".") -> Path:
    """Check a kernel of your own, time it, and write it down as entry-NAME.json in the folder. Returns the file's path.

    `name`: yours, as the board shall show it. Nothing is written where the kernel is not right, and `NotEntered` says
    why. A kernel that runs in a simulator enters without times.
    """
    if not isinstance(k, Kernel):
        raise TypeError(f"{k!r:.40} is no built kernel; build it first, with cuda_kernel(...) or opencl_kernel(...).")
    if not k.own:
        raise NotEntered(f"{k} is the course's own. Enter one that you wrote: give its source, and like={k.step!r}.")
    slug = re.sub("[^A-Za-z0-9]+", "-", name).strip("-").lower()
    if not slug:
        raise NotEntered(f"name={name!r} has no letter or number to call a file by.")
    path = Path(folder) / f"entry-{slug}.json"
    files.try_writing(path)
    source = k.source if "import" in k.source or k.dialect == "OpenCL" else JIT + k.source
    again = DIALECTS[k.dialect].build(source, like=k.step, **k.parameters)
    if (report := wrong_with(again)) is not None:
        raise NotEntered(f"It does not enter yet.\n{report!r}")
    entry = {
        "name": name,
        "machine": machine_of(again),
        "date": strftime("%Y-%m-%d"),
        "versions": versions(),
        "dialect": k.dialect,
        "like": k.step,
        "parameters": k.parameters,
        "source": source,
        "lines": lines_of(source, k.dialect),
        "loads_per_flop": loads_per_flop(again),
        "answer": answer_of(again),
        "times": {} if again.simulated else times_of(again),
    }
    files.replace_text(path, json.dumps(entry | {"seal": seal(entry)}, indent=1) + "\n")
    return path


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


def machine_of(k: Kernel) -> str:
    """What the machine is called whose times these are; "simulator" where there are none."""
    return "simulator" if k.simulated else results_file(".").stem


def times_of(k: Kernel) -> dict:
    """{"square", "thin": {"shape", "gflops", "of_numpy", "of_rung"}, "peak_gflops"}, each measured in turns."""
    rung = DIALECTS[k.dialect].build(k.step, **k.parameters)
    found, peaks = {}, [machine_limits().flops_per_s]
    for what, shape in SIZES.items():
        rounds = contest([HostKernel(numpy_matmul), rung, k], shape, ROUNDS)
        ratios = np.array([[numpy.seconds / mine.seconds, step.seconds / mine.seconds] for numpy, step, mine in rounds])
        of_numpy, of_rung = np.median(ratios, axis=0)
        rate = np.median([mine.gflops for *_, mine in rounds])
        found[what] = {"shape": shape, "gflops": rate, "of_numpy": float(of_numpy), "of_rung": float(of_rung)}
    peaks.append(machine_limits().flops_per_s)  # on a machine that others use, the better of two
    return found | {"peak_gflops": max(peaks) / 1e9}


def loads_per_flop(k: Kernel) -> float | None:
    """Numbers loaded from global memory for each flop; None where nothing here can count them."""
    try:
        return traffic(k, COUNTED, COUNTED, COUNTED).global_loads / (2 * COUNTED**3)
    except (KernelError, ValueError):
        return None


def operands() -> tuple[np.ndarray, np.ndarray]:
    """The same A and B everywhere, for the answer that an entry claims."""
    rng, (M, N, K) = np.random.default_rng(SEED), ANSWER
    return tuple(2 * rng.random(shape, dtype=np.float32) - 1 for shape in ((M, K), (K, N)))


def answer_of(k: Kernel) -> list[float]:
    """The first row of the kernel's product of `operands()`."""
    return [float(x) for x in k(*operands())[0]]


def lines_of(source: str, dialect: str) -> int:
    """How many lines the source has, without blank ones and comments."""
    return len(code_of(source, dialect).splitlines())


def code_of(source: str, dialect: str) -> str:
    """The source without comments, blank lines and margins."""
    if dialect == "CUDA":
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type != tokenize.COMMENT]
        source = tokenize.untokenize(tokens)
    else:
        source = re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL)
    return "\n".join(" ".join(line.split()) for line in source.splitlines() if line.strip())


def seal(entry: dict) -> str:
    """A digest of what the entry says, so that a slip of an editor is seen. It is no signature."""
    said = {key: value for key, value in entry.items() if key != "seal"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def run_again(entry: dict) -> str:
    """Build an entry's source and judge it again, in a child process. Returns why it is refused, "" if it is right."""
    about = {key: entry[key] for key in ("dialect", "like", "parameters", "source", "answer")}
    outcome = apart(judge_again, f"the entry of {entry['name']}", SECONDS, **about)
    return outcome.value if isinstance(outcome.value, str) else spelled(outcome.findings[0])


def judge_again(errand: Errand, dialect: str, like: str, parameters: dict, source: str, answer: list) -> str:
    """In the child: why that entry is refused, "" if it is right."""
    build: Callable = DIALECTS[dialect].build
    try:
        k = build(source, like=like, **parameters)
    except (KernelError, ValueError, TypeError) as error:
        return f"not built: {error}"
    if (report := wrong_with(k)) is not None:
        return spelled(report.findings[0])
    A, B = operands()
    claimed = np.broadcast_to(np.asarray(answer, np.float32), (1, ANSWER[1]))
    if wrong_elements(claimed, A[:1], B).any() or not np.allclose(claimed, answer_of(k), rtol=1e-3, atol=1e-4):
        return "another answer: its source does not give the answer that it claims"
    return ""


def spelled(finding: Finding) -> str:
    """A finding in a line."""
    return " ".join(f"{finding.kind}: {finding.message}".split())
