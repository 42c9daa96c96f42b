"""Page 15: a step of SUMMA, judged on made-up ranks: threads of this process, which wait for each other as MPI's do."""

import contextlib
import io
import random
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np

from ..judge.reference import wrong_elements
from ..judge.report import Report
from ..launch import draw
from ..sandbox import Finding
from .questions import Answer, is_stub

GRIDS = ((2, 2), (2, 3), (3, 2))
WIDTH = 3  # columns of A and rows of B in a panel, at most
PATIENCE = 10  # seconds for a step, after which its ranks are given up


def judge_panel_step(step: Callable) -> Report:
    """Judge a learner's step(me, k0, k1, left, top) of SUMMA, on grids of 2 x 2, 2 x 3 and 3 x 2 ranks. A `Report`.

    After each panel C has to be right so far, and each rank has to have received and sent what SUMMA asks of it.
    `me` is a `Rank`, k0 and k1 are the panel's ends, `left` is the column of ranks that owns A's, `top` the row that
    owns B's. What the function prints is not shown: each rank would print it.
    """
    name, dice = getattr(step, "__name__", "panel_step"), random.Random()
    if is_stub(step):
        return Report(name, (Finding("not yet", "It does nothing so far."),), 0)
    sizes = (4, 6, 8), *(tuple(dice.randint(5, 13) for _ in "MNK") for _ in GRIDS[1:])
    for grid, size in zip(GRIDS, sizes, strict=True):
        with contextlib.redirect_stdout(io.StringIO()):
            wrong = wrong_product(step, grid, size)
        if wrong:
            return Report(name, (wrong,), len(GRIDS))
    return Answer(name, (), len(GRIDS))


@dataclass
class Rank:
    """What a rank has of its own: its place, its blocks, where K is cut, and the groups that it can talk to.

    i, j         its row and column in the grid
    A, B, C      its blocks, float32
    of_A, of_B   where K is cut among the ranks of a row, for A, and of a column, for B
    row, column  its groups: `row.bcast(panel, root)` gives each rank of my row the panel of that one, as in mpi4py
    """

    i: int
    j: int
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    of_A: tuple
    of_B: tuple
    row: "Group" = None
    column: "Group" = None


class Stuck(Exception):
    """This rank cannot go on: what it waits for never comes. The message is for the verdict."""


class Differ(Exception):
    """Two ranks of a group name different owners of a panel. The message is for the verdict."""


@dataclass
class Message:
    """One broadcast of a group: who sends, what, and how many have asked for it and wait."""

    root: int
    panel: np.ndarray | None = None
    waiting: int = 0


@dataclass
class World:
    """All ranks of a step: how many still run, how many wait, whether all wait for another, and the bytes of each."""

    running: int
    waiting: int = 0
    stuck: bool = False
    change: threading.Condition = field(default_factory=threading.Condition)
    received: dict = field(default_factory=lambda: defaultdict(int))
    sent: dict = field(default_factory=lambda: defaultdict(int))

    def look(self):
        """Let all go that wait, where each rank that still runs waits for another."""
        if self.waiting == self.running > 0:
            self.stuck = True
            self.change.notify_all()


class Group:
    """A row or a column of ranks, as one of them sees it: its number there is `rank`, and `size` are in it."""

    def __init__(self, world, what, places, rank, messages):
        self._world, self._what, self._places, self._messages = world, what, places, messages
        self.rank, self.size, self.called = rank, len(places), 0

    def bcast(self, panel, root=0):
        """The panel of the rank with that number in the group, for each of its ranks; what others pass is not used."""
        if not isinstance(root, int | np.integer) or not 0 <= root < self.size:
            raise ValueError(f"root is {root!r}; the ranks of a {self._what} are 0 to {self.size - 1}")
        if root == self.rank and not isinstance(panel, np.ndarray):
            said = f"root is {root}, so this rank of the {self._what} is the owner"
            raise TypeError(f"{said}, and it passes {type(panel).__name__}, not an array")
        world, number, self.called = self._world, self.called, self.called + 1
        with world.change:
            message = self._messages.setdefault(number, Message(root))
            if message.root != root:
                first, second = sorted((message.root, root))
                raise Differ(f"{first} and {second}, for the same panel along a {self._what}")
            if root == self.rank:
                message.panel = np.array(panel)
                world.sent[self._places[root]] += panel.nbytes * (self.size - 1)
                world.waiting -= message.waiting
                message.waiting = 0
                world.change.notify_all()
                return message.panel.copy()
            if message.panel is None:
                message.waiting += 1
                world.waiting += 1
                world.look()
                world.change.wait_for(lambda: message.panel is not None or world.stuck, PATIENCE)
            if message.panel is None:
                raise Stuck(f"waits along its {self._what} for rank {self._places[root]}, which sends nothing")
            world.received[self._places[self.rank]] += message.panel.nbytes
            return message.panel.copy()


def edges(n, parts):
    """Where so many blocks of n elements begin, as even as can be, and where the last one ends."""
    return tuple(n * part // parts for part in range(parts + 1))


def wrong_product(step, grid, size):
    """What is wrong with a product of that size in such steps on that grid: a Finding, or None."""
    (p, q), (M, N, K) = grid, size
    A, B = draw(*size)
    rows, columns, of_A, of_B = edges(M, p), edges(N, q), edges(K, q), edges(K, p)
    ranks = {
        (i, j): Rank(
            *(i, j),
            A[rows[i] : rows[i + 1], of_A[j] : of_A[j + 1]].copy(),
            B[of_B[i] : of_B[i + 1], columns[j] : columns[j + 1]].copy(),
            np.zeros((rows[i + 1] - rows[i], columns[j + 1] - columns[j]), np.float32),
            *(of_A, of_B),
        )
        for i, j in product(range(p), range(q))
    }
    for k0, k1 in pairwise(sorted({*of_A, *of_B, *range(0, K, WIDTH)})):
        left, top = owner(of_A, k0), owner(of_B, k0)
        world, failed, panels = one_step(step, ranks, grid, (k0, k1, left, top))
        here = f"on {p} x {q} ranks, with M, N, K = {M}, {N}, {K}, at the panel from k = {k0} to {k1 - 1}"
        due = {("row", i): A[rows[i] : rows[i + 1], k0:k1] for i in range(p)}
        due |= {("column", j): B[k0:k1, columns[j] : columns[j + 1]] for j in range(q)}
        if failed:
            kind, said, place = failed
            return Finding(kind, f"{here}: {said}" + (f". {came(due, panels, *place)}" if place else ""))
        for (i, j), rank in ranks.items():
            mine, cols = slice(rows[i], rows[i + 1]), slice(columns[j], columns[j + 1])
            if found := wrong_block(rank.C, A[mine, :k1], B[:k1, cols]):
                said = f"C of rank {i, j} {found}. {came(due, panels, i, j)}"
                return Finding("wrong numbers", f"{here}: {said}")
            deep = 4 * (k1 - k0)
            ask = deep * (rows[i + 1] - rows[i]), deep * (columns[j + 1] - columns[j])
            asked = sum(panel for panel, own in zip(ask, (j == left, i == top), strict=True) if not own)
            sends = ask[0] * (q - 1) * (j == left) + ask[1] * (p - 1) * (i == top)
            for what, counted, right in (("received", world.received, asked), ("sent", world.sent, sends)):
                if counted[i, j] != right:
                    said = f"rank {i, j} {what} {counted[i, j]} bytes, and in SUMMA it is {right}"
                    return Finding("bytes", f"{here}: {said}")
    return None


def owner(cuts, k):
    """The number of the block that has that row or column."""
    return max(number for number, begin in enumerate(cuts[:-1]) if begin <= k)


def came(due, messages, i, j):
    """Which of the two panels of rank (i, j) did not come as it should: a sentence."""
    for matrix, group in (("A", ("row", i)), ("B", ("column", j))):
        panel, sent, where = due[group], messages[group], "{} {}".format(*group)
        got = sent[0].panel if sent else None
        if got is None:
            return f"Nothing came along {where} of the ranks, where {matrix}'s panel is due"
        if got.shape != panel.shape:
            return f"Along {where} of the ranks came an array of {got.shape}; {matrix}'s panel is {panel.shape}"
        if not np.array_equal(got, panel):
            return f"What came along {where} of the ranks has the shape of {matrix}'s panel, and other numbers"
    return "Both panels came as they should. Look at the line that adds their product to me.C"


def wrong_block(C, A, B):
    """What is wrong with a block of C that should be A @ B by now; "" where nothing is."""
    if not isinstance(C, np.ndarray) or C.shape != (len(A), B.shape[1]):
        return f"is {getattr(C, 'shape', C)!r}, and should be {len(A), B.shape[1]}"
    if C.dtype != np.float32:
        return f"is {C.dtype}, and should be float32"
    wrong = wrong_elements(C, A, B)
    return f"has {wrong.sum()} wrong elements of {C.size}" if wrong.any() else ""


def one_step(step, ranks, grid, panel):
    """Let all ranks take the step, each in a thread.

    Returns the world, with its bytes; (kind, message, rank whose panels do not fit or None) of a failure, or None; and
    {("row", 0): its messages}.
    The groups are made anew, so that a broadcast too many says so in its own step.
    """
    p, q = grid
    world, failures, messages = World(p * q), [], defaultdict(dict)
    for (i, j), rank in ranks.items():
        rank.row = Group(world, "row", [(i, other) for other in range(q)], j, messages["row", i])
        rank.column = Group(world, "column", [(other, j) for other in range(p)], i, messages["column", j])

    def run(place):
        try:
            step(ranks[place], *panel)
        except Differ as error:
            failures.append((0, place, "error", f"two ranks name different roots: {error}", None))
        except Stuck as error:
            failures.append((2, place, "error", f"rank {place} {error}", None))
        except (Exception, SystemExit) as error:  # a learner's function may fail in any way
            said = f"rank {place} raises {type(error).__name__}: {error}"
            if isinstance(error, UnboundLocalError) and not (ranks[place].row.called and ranks[place].column.called):
                said += ". It has not called bcast along its row and along its column; each rank has to"
            # NumPy's word for arrays that do not fit each other: which of them is it?
            failures.append((1, place, "error", said, place if "matmul" in said else None))
        with world.change:
            world.running -= 1
            world.look()

    threads = [threading.Thread(target=run, args=(place,), daemon=True) for place in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    if any(thread.is_alive() for thread in threads):
        return world, ("error", f"a rank has not ended after {PATIENCE} seconds", None), messages
    return world, min(failures)[2:] if failures else None, messages
