"""Page 15: a step of SUMMA, judged on made-up ranks, which take their steps one after the other in this process."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from kernel_judge import Finding, Report, wrong_elements
from summa.algorithm import edges, panels

from ..launch import draw
from .answers import Answer, raised, source_around

RUNS = (((2, 2), (4, 6, 8)), ((2, 3), (7, 11, 13)), ((3, 2), (12, 5, 9)))  # grids of ranks, and M, N, K
WIDTH, PASSES = 3, 20  # columns of A in a panel, at most; times that a step may have to wait for other ranks
AT_PANEL = "on {p} x {q} ranks, with M, N, K = {M}, {N}, {K}, at the panel from k = {first} to {last}: {found}"
AS_MANY = "C of rank {place} is wrong, though as many bytes came as in SUMMA"
WAITS = "rank {place} waits along its {group} for the panel of number {root}, which sends nothing"


class Later(BaseException):
    """The owner, as `WAITS` names it, has not sent its panel yet: this rank's step begins anew, once others went on."""


class Group:
    """A row or a column of ranks, as the one with that number in it sees it; they share what was `sent`."""

    def __init__(self, name: str, number: int, sent: dict):
        self.name, self.number, self.sent, self.came = name, number, sent, []

    def bcast(self, panel: np.ndarray | None, root: int = 0) -> np.ndarray:
        """The panel of the rank with that number in the group, for each of its ranks; what others pass is not used."""
        key = len(self.came), root
        if root == self.number:
            if not isinstance(panel, np.ndarray):
                raise TypeError(f"root is {root}, so this rank of the {self.name} is the owner, and passes no array")
            self.sent[key] = panel.copy()
        if key not in self.sent:
            raise Later({"root": root, "group": (self.name, {})})
        self.came.append(self.sent[key].copy())
        return self.came[-1]


@dataclass
class Rank:
    """A rank: row i and column j of the grid, its blocks, where K is cut among its row and its column, these groups."""

    i: int
    j: int
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    of_A: list
    of_B: list
    row: Group | None = None
    column: Group | None = None


def judge_panel_step(step: Callable) -> Report:
    """Judge a learner's step(me, k0, k1, left, top) of SUMMA, on grids of 2 x 2, 2 x 3 and 3 x 2 ranks. A `Report`.

    After each panel each rank has to have got as many bytes as its two panels have, and C has to be right so far.
    `me` is a `Rank`, k0 and k1 are the panel's ends, `left` is the column of ranks with A's, `top` the row with B's.
    """
    wrong = None if step.__code__.co_names else Finding("not yet", "It does nothing so far.")  # a stub names nothing
    for grid, size in RUNS:
        wrong = wrong or wrong_product(step, grid, size)
    return Answer(step.__name__, (wrong,) if wrong else (), source_around(step))


def wrong_product(step: Callable, grid: tuple, size: tuple) -> Finding | None:
    """What is wrong with a product of that size in such steps on that grid; None if it is right."""
    (p, q), (M, N, K), (A, B) = grid, size, draw(*size)
    strips_A, strips_B = np.array_split(A, p), np.array_split(B, q, axis=1)
    of_A, of_B = edges(K, q), edges(K, p)
    ranks = {}
    for i, j in product(range(p), range(q)):
        a, b = strips_A[i][:, of_A[j] : of_A[j + 1]], strips_B[j][of_B[i] : of_B[i + 1]]
        ranks[i, j] = Rank(i, j, a, b, np.zeros((len(a), b.shape[1]), np.float32), of_A, of_B)
    for k0, k1, left, top in panels(K, p, q, WIDTH):
        wrong = one_step(step, ranks, (k0, k1, left, top))
        for (i, j), rank in ranks.items():
            wrong = wrong or wrong_block(rank, strips_A[i][:, :k1], strips_B[j][:k1], k0)
        if wrong:
            values = dict(p=p, q=q, M=M, N=N, K=K, first=k0, last=k1 - 1)
            return replace(wrong, key=AT_PANEL, values=values | {"found": wrong})
    return None


def one_step(step: Callable, ranks: dict, panel: tuple) -> Finding | None:
    """Let all ranks take the step, those that wait for a panel again; what is wrong if one cannot, or None."""
    sent, waiting, late = defaultdict(dict), {**ranks}, None
    for _ in range(PASSES):
        for place, rank in list(waiting.items()):
            row, column = Group("row", rank.j, sent["row", rank.i]), Group("column", rank.i, sent["column", rank.j])
            me = replace(rank, A=rank.A.copy(), B=rank.B.copy(), C=rank.C.copy(), row=row, column=column)
            try:
                step(me, *panel)
            except Later as later:
                late = Finding("error", WAITS, values=later.args[0] | {"place": place})
            except (Exception, SystemExit) as error:  # a learner's function may fail in any way
                return raised(error, ("rank {place}", {"place": place}))
            else:
                rank.C, rank.row, rank.column = me.C, row, column
                del waiting[place]
    return late if waiting else None


def wrong_block(rank: Rank, A: np.ndarray, B: np.ndarray, k0: int) -> Finding | None:
    """What is wrong with what came for a rank, or with its C, which should be A @ B by now; None if nothing is."""
    for group, due in ((rank.row, A[:, k0:]), (rank.column, B[k0:])):
        got = sum(panel.nbytes for panel in group.came)
        if got != due.nbytes:
            values = {"place": (rank.i, rank.j), "got": got, "due": due.nbytes, "group": (group.name, {})}
            return Finding("bytes", "rank {place} got {got} bytes along its {group}, not {due}", values=values)
    if getattr(rank.C, "shape", None) != (len(A), B.shape[1]) or wrong_elements(rank.C, A, B).any():
        return Finding("wrong numbers", AS_MANY, values={"place": (rank.i, rank.j)})
    return None
