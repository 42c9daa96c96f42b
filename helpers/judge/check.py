"""Is it right? Hard to fool.

Reference in float64. Each element must lie within the textbook bound

    |C - exact| <= gamma_K (|A| |B|),   gamma_K = K u / (1 - K u),   u = 2**-24

(Higham, Accuracy and Stability of Numerical Algorithms, section 3.5), whatever the order of summation.
Inputs are fresh random draws, C is full of NaN before the run, shapes are ragged, with several K-tiles and a
grid no larger than C needs. A learner's kernel is tried in a child process first (`trial`).
"""

import time
import traceback
from dataclasses import dataclass

import numpy as np

from . import kernel, ladder
from .instruments.watch import NegativeIndex
from .kernel import Kernel, KernelError, sizes
from .trial import UNSET, Finding, trial

UNIT_ROUNDOFF = 2.0**-24


@dataclass(frozen=True)
class Report:
    """The verdict of `check`: true when right. Prints what is wrong, and where in the source."""

    subject: str
    findings: tuple
    shapes: int
    source: str = ""
    not_looked_for: tuple = ()

    def __bool__(self):
        return not self.findings

    def __repr__(self):
        if self:
            text = f"✓ {self.subject} is right: {self.shapes} shapes, every element within the rounding bound."
            return text + "".join(f"\n  (not looked for here: {what})" for what in self.not_looked_for)
        if self.findings[0].kind == "not yet":
            return f"… {self.subject}: not yet. {self.findings[0].message}"
        text = f"✗ {self.subject} is wrong."
        source = self.source.splitlines()
        for finding in self.findings[:3]:
            text += f"\n  {finding.kind}: {finding.message}"
            text += "" if finding.message.endswith(("?", ".")) else "."
            for line in finding.lines:
                if 0 < line <= len(source):
                    text += f"\n  {line:6d} | {source[line - 1].strip()}"
        return text


def error_bound(A, B):
    """The largest |C - exact| that float32 arithmetic may leave, element by element; float64 (M, N)."""
    K = A.shape[1]
    gamma = K * UNIT_ROUNDOFF / (1 - K * UNIT_ROUNDOFF)
    return gamma * (np.abs(A, dtype=np.float64) @ np.abs(B, dtype=np.float64))


def wrong_elements(C, A, B):
    """Where C, float32 (M, N), is not A @ B within `error_bound`; bool (M, N). NaN is wrong."""
    return judge(A, B)(C)


def judge(A, B):
    """A function C -> `wrong_elements`, for many answers to one question: the exact product is computed once."""
    exact, bound = A.astype(np.float64) @ B.astype(np.float64), error_bound(A, B)
    return lambda C: ~(np.abs(C - exact) <= bound)


def check(k, shapes=None):
    """Check a kernel, or any function of (A, B) that should return A @ B. Returns a `Report`, true when right.

    `shapes`: a list of (M, N, K); by default six that suit the kernel's tiles, most of them ragged.
    """
    k = k if isinstance(k, Kernel) else HostKernel(k)
    shapes = [sizes(shape) for shape in shapes or shapes_for(k)]
    findings, not_looked_for = [], ()
    simulated_already = k.own and k.device.kind == "simulator"
    if k.own:
        findings, not_looked_for, tried = trial(k, shapes)
        if simulated_already:
            shapes = tried
        else:  # a limit of the simulator, where it is not the device
            findings = [finding for finding in findings if finding.kind != "shared memory"]
    if not findings and not simulated_already:
        findings = examine(k, shapes)
    if not findings:
        k.checked = True
    return Report(str(k), tuple(findings), len(shapes), k.source, not_looked_for)


def shapes_for(k):
    """Six shapes (M, N, K) that no wrong guard, grid or tile count survives; the kernel's own tile is their yardstick."""
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters) if k.step else (4, 4, 4)
    square = max(rows, columns) + 1
    return [
        (1, 1, 1),
        (rows, columns, 2 * depth),  # whole tiles
        (square, square, depth + 1),  # a transposed answer fits here
        (rows + 1, 2 * columns + 1, 3 * depth - 1),  # wide
        (2 * rows + 1, max(1, columns - 1), 2 * depth + 1),  # tall: more K-tiles than blocks across
        (max(1, rows - 1), columns + 1, max(1, depth - 1)),  # K shorter than a tile
    ]


def draw(M, N, K):
    """Fresh float32 operands, uniform in [-1, 1): never constant, never symmetric."""
    rng = np.random.default_rng()
    return tuple(2 * rng.random(shape, dtype=np.float32) - 1 for shape in ((M, K), (K, N)))


def examine(k, shapes):
    """Run k on each shape and compare. Returns findings, the clearest first, empty when right."""
    runs = []
    for M, N, K in shapes:
        A, B = draw(M, N, K)
        try:
            C = run(k, A, B, np.nan)
        except NotYet as error:
            return [Finding("not yet", str(error))]
        except Exception as error:  # whatever a learner's kernel raises is a finding, not our failure
            return [failure(k, error)]
        runs.append((A, B, C, wrong_elements(C, A, B)))
    return diagnose(k, runs) if any(bad.any() for *_, bad in runs) else []


def run(k, A, B, fill):
    work = k.upload(A, B, fill)
    work.launch()
    return work.download()


def failure(k, error):
    """An exception from a kernel as a `Finding`, with the kernel's line where the simulator gives one."""
    code = getattr(getattr(k.function, "py_func", None), "__code__", None)
    numbers = [number for frame, number in traceback.walk_tb(error.__traceback__) if code and frame.f_code is code]
    lines = (source_line(k, numbers[-1]),) if numbers else ()
    if isinstance(error, NegativeIndex):
        return Finding("negative index", "Numba takes it from the other end of the array, as NumPy does; that is seldom meant", lines)
    if isinstance(error, IndexError):
        return Finding("out of bounds", "a thread uses an index outside its array", lines)
    if isinstance(error, KernelError) and "past the end" in str(error):
        return Finding("out of bounds", str(error), lines)
    first = str(error).split("\n")[0]
    return Finding("error", f"{type(error).__name__}: {first.split(': ', 1)[-1] if 'tid=' in first else first}", lines)


def source_line(k, number):
    """A line of the running function as a line of k.source, which may begin at the function itself."""
    if k.dialect == "OpenCL":
        return number
    code = k.function.py_func.__code__
    whole_text = code.co_filename.startswith("<kernel") or not k.own
    return number if whole_text else number - code.co_firstlineno + 1


def diagnose(k, runs):
    """Name what the wrong elements have in common, over all runs (A, B, C, wrong)."""
    bad_runs = [r for r in runs if r[3].any()]
    shape = spell_shape(*bad_runs[-1][:2])
    if all(np.isnan(C).all() for _, _, C, _ in runs):
        again = [(A, B, run(k, A, B, 0)) for A, B, *_ in runs]
        if not any(wrong_elements(C, A, B).any() for A, B, C in again):
            return [Finding("adds to C", "it adds to what C held before it ran; start from zero and store the sum")]
        if not any(C.any() for *_, C in again):
            return [Finding("not yet", "No element of C is ever written.")]
    if not any(C.any() for _, _, C, _ in runs):
        return [Finding("not yet", "Every element of C is zero: nothing is summed.")]
    if any(np.isnan(C).any() for _, _, C, _ in bad_runs):
        return [unwritten(k, bad_runs, runs)]

    square = [r for r in bad_runs if r[0].shape[0] == r[1].shape[1] > 1]
    if square and all(not wrong_elements(C.T, A, B).any() for A, B, C, _ in square):
        return [Finding("transposed", "C holds the transpose of A @ B: row and column are swapped in the store")]
    cut = summed_part(k, bad_runs)
    if cut:
        return [Finding("K is cut", cut)]
    index = wrong_index(k, bad_runs)
    if index:
        return [index]
    edge = only_at_the_edge(k, bad_runs)
    if edge:
        return [Finding("edge", f"wrong only in {edge}, for example at {shape}; look at the guards and the grid")]
    return [Finding("wrong numbers", f"no simple pattern, for example at {shape}: a wrong index, or a race")]


def spell_shape(A, B):
    return f"{A.shape[0]} x {B.shape[1]} x {A.shape[1]} (M x N x K)"


def unwritten(k, bad_runs, runs):
    """NaN in C: never stored there, or read from behind the end of A or B?"""
    holes = [(A, B, C, np.isnan(C)) for A, B, C, _ in bad_runs if np.isnan(C).any()]
    A, B, C, _ = holes[-1]
    shape = spell_shape(A, B)
    if np.isnan(run(k, A, B, 0)).any():
        if kernel.GUARD == 0:  # watched in the simulator, where NaN stands for what was never set
            return Finding("uninitialised", UNSET)
        return Finding("out of bounds", f"it reads past the end of A or B, for example at {shape}: a load guard is missing")
    if any((bad & ~np.isnan(C)).any() for *_, C, bad in bad_runs):
        return Finding("wrong index", f"part of C is never stored and the rest is wrong, for example at {shape}: "
                                      f"have row and col, or x and y, changed places?")
    if not any(bad.any() for A, B, _, bad in runs if A.shape[0] == B.shape[1]):
        return Finding("x and y swapped", f"right when C is square, but part of it is never stored at {shape}: "
                                          f"rows and columns have changed places")
    place = only_at_the_edge(k, holes) or "part of C"
    return Finding("unwritten", f"{place} never stored, for example at {shape}; look at the store's guard and the grid")


def summed_part(k, bad_runs):
    """If each wrong C is a sum over part of K: a sentence that says which part; else None."""
    depth = ladder.STEPS[k.step].tile(k.parameters)[2] if k.step else 1
    sentences = []
    for A, B, C, _ in bad_runs:
        K = A.shape[1]
        parts = [(slice(0, stop), f"only the first {stop} of {K} products are summed") for stop in range(1, K)]
        parts += [(slice(0, 0), "nothing is left of the sum, as if = stood for +=")]
        last = (K - 1) // depth * depth
        parts += [(slice(last, K), f"of {K} products only the last {K - last} went into the sum, as if = stood for +=")] * (last > 0)
        parts += [(slice(depth, K), "the first K-tile is missing"), (slice(1, K), "the first product is missing"),
                  (slice(K - 1, K), f"only the last of {K} products is there, as if = stood for +=")]
        match = [
            text for part, text in parts
            if not wrong_elements(C, A[:, part], B[part]).any()
        ]
        if not match:
            return None
        sentences.append(match[0])
    return f"{sentences[-1]}; look at the loops over k and where they end"


def wrong_index(k, bad_runs):
    """If a mistaken index explains every wrong element: a `Finding` that says which; else None."""
    shape = spell_shape(*bad_runs[-1][:2])
    for what, advice in (("row", "which row of A it reads, and which row of C it stores"),
                         ("column", "which column of B it reads, and which column of C it stores"),
                         ("place", "where it stores, and which row and column it sums")):
        taken = [taken_from(what, *r) for r in bad_runs]
        if all(taken):
            to, source = taken[-1]
            return Finding(f"wrong {what}", f"each wrong element of C holds what belongs to another {what}: at {shape}, "
                                            f"C[{to[0]}, {to[1]}] holds the sum for C[{source[0]}, {source[1]}]; look at {advice}")
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters) if k.step else (1, 1, 1)
    mistakes = [
        ("A is read one column too far to the left or right of B's row", lambda A, B: (A[:, 1:], B[:-1])),
        ("B is read one row too far above or below A's column", lambda A, B: (A[:, :-1], B[1:])),
        ("the tile of A is transposed: compare how it is stored and how it is read", lambda A, B: (turned(A, rows, depth), B)),
        ("the tile of B is transposed: compare how it is stored and how it is read", lambda A, B: (A, turned(B, depth, columns))),
        ("the tile of A is the first one in every round: its index does not move on", lambda A, B: (first_tiles(A.T, depth).T, B)),
        ("the tile of B is the first one in every round: its index does not move on", lambda A, B: (A, first_tiles(B, depth))),
    ]
    for text, mistake in mistakes:
        if all(not wrong_elements(C, *mistake(A, B)).any() for A, B, C, _ in bad_runs):
            return Finding("wrong index", f"{text}; for example at {shape}")
    return None


def taken_from(what, A, B, C, bad):
    """((row, column), (row, column)): a wrong element, and whose value it holds, if that explains all; else None.

    `what`: they differ in "row", in "column", or in "place", either. Zeros come from beyond the edge.
    """
    right, bound = A.astype(np.float64) @ B.astype(np.float64), error_bound(A, B)
    example = None
    for r, c in zip(*np.nonzero(bad)):
        places = {"row": np.s_[:, c : c + 1], "column": np.s_[r : r + 1, :], "place": np.s_[:, :]}[what]
        at = np.argwhere(np.abs(C[r, c] - right[places]) <= bound[places])
        if len(at):
            example = example or ((int(r), int(c)), {"row": (int(at[0][0]), int(c)), "column": (int(r), int(at[0][1])),
                                                     "place": tuple(map(int, at[0]))}[what])
        elif C[r, c] != 0:
            return None
    return example


def first_tiles(X, depth):
    """X with its first `depth` rows again and again in place of all others."""
    return np.resize(X[:depth], X.shape)


def turned(X, rows, columns):
    """X with each of its tiles of rows x columns transposed, zeros beyond the edge; X itself if they are not square."""
    if rows != columns:
        return X
    m, n = (ladder.ceil_div(length, rows) * rows for length in X.shape)
    padded = np.zeros((m, n), X.dtype)
    padded[: X.shape[0], : X.shape[1]] = X
    tiles = padded.reshape(m // rows, rows, n // rows, rows)
    return tiles.transpose(0, 3, 2, 1).reshape(m, n)[: X.shape[0], : X.shape[1]]


def only_at_the_edge(k, bad_runs):
    """'the last rows' or 'the last columns', if all that is wrong lies in the last tile's share; else None."""
    rows, columns, _ = ladder.STEPS[k.step].tile(k.parameters) if k.step else (1, 1, 1)
    last_rows = last_columns = True
    for *_, bad in bad_runs:
        M, N = bad.shape
        r, c = np.nonzero(bad)
        last_rows &= bool((r >= M - (M % rows or 1)).all())
        last_columns &= bool((c >= N - (N % columns or 1)).all())
    return "the last rows" if last_rows else "the last columns" if last_columns else None


class NotYet(Exception):
    """A stub that its learner has not filled in."""


class HostKernel(Kernel):
    """A plain Python function of (A, B), such as np.matmul, checked and timed like a kernel."""

    dialect = "Python"

    def __init__(self, function):
        if hasattr(function, "py_func") or isinstance(function, str):
            raise TypeError("this is a kernel's code, not a built kernel. Build it first, and say how it is launched: "
                            "cuda_kernel(..., like=...) or opencl_kernel(..., like=...).")
        if not callable(function):
            raise TypeError(f"{function!r} is neither a kernel nor a function of (A, B).")
        self.function = function
        self.step, self.parameters, self.source, self.own, self.checked = None, {}, "", False, True
        self.device, self.build_seconds = None, 0.0

    def upload(self, A, B, fill=np.nan):
        return HostWork(self.function, A, B)

    def __str__(self):
        return getattr(self.function, "__name__", "your function")


class HostWork:
    def __init__(self, function, A, B):
        self.function, self.A, self.B, self.C = function, A.copy(), B.copy(), None  # it may write to them

    def launch(self):
        """Call the function once. Returns the wall's seconds."""
        start = time.perf_counter()
        self.C = self.function(self.A, self.B)
        return time.perf_counter() - start

    def download(self):
        if self.C is None:
            raise NotYet("It returns None.")
        shape = (self.A.shape[0], self.B.shape[1])
        if np.shape(self.C) != shape:
            raise ValueError(f"it returns shape {np.shape(self.C)} where C is {shape}.")
        return np.asarray(self.C)


def watched_findings(k, watch):
    """What the `Watch` saw, as findings about lines of k.source."""
    findings = []
    for line in sorted(watch.aliased):
        findings.append(Finding("shared memory", "two shared arrays are made on one line, and Numba's simulator gives both "
                                                 "the same memory; make each on a line of its own", (source_line(k, line),)))
    for name, first, second, what in sorted(watch.races):
        lines = tuple(dict.fromkeys([source_line(k, first), source_line(k, second)]))
        findings.append(Finding("race", f"{what} {name} with no barrier between", lines))
    for line in sorted(watch.divergent):
        findings.append(Finding("divergent barrier", "only some threads of a block reach this barrier",
                                (source_line(k, line),)))
    return findings
