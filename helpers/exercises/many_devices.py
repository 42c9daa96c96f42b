"""Page 15: a step of SUMMA, judged on made-up ranks, which take their steps one after the other in this process."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np

from kernel_judge import Finding, Report, wrong_elements
from kernel_judge.answers import Answer, raised, source_around
from summa.algorithm import edges, panels

from ..launch import draw

RUNS = (((2, 2), (4, 6, 8)), ((2, 3), (7, 11, 13)), ((3, 2), (12, 5, 9)))  # grids of ranks, and M, N, K
AT_PANEL = "on {p} x {q} ranks, with M, N, K = {M}, {N}, {K}, at the panel k0, k1 = {k0}, {k1}: {found}"
BYTES = "rank {place} got {got} bytes along its {group}, not {due}: bcast gave shapes {came}, the panel has {shape}"
AS_MANY = "C of rank {place} is wrong, though as many bytes came as in SUMMA"
ALONE = "C of rank {place} holds the product of these two panels alone; what it held before is gone"


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
            raise RuntimeError(f"it waits along its {self.name} for the panel of number {root}, which sends nothing")
        self.came.append(self.sent[key].copy())
        return self.came[-1]


def judge_panel_step(step: Callable) -> Report:
    """Judge a learner's step(me, k0, k1, left, top) of SUMMA, on grids of 2 x 2, 2 x 3 and 3 x 2 ranks. A `Report`.

    After each panel each rank has to have got as many bytes as its two panels have, and C has to be right so far.
    `me` is the rank, as the page has it, whose me.row and me.column are each a `Group`.
    """
    wrong = None if step.__code__.co_names else Finding("not yet", "It does nothing so far.")  # a stub names nothing
    for grid, size in RUNS:
        wrong = wrong or wrong_product(step, grid, size)
    return Answer(step.__name__, (wrong,) if wrong else (), source_around(step))


def wrong_product(step: Callable, grid: tuple, size: tuple) -> Finding | None:
    """What is wrong with a product of that size in such steps on that grid; None if it is right."""
    (p, q), (M, N, K), (A, B) = grid, size, draw(*size)
    strips_A, strips_B = np.array_split(A, p), np.array_split(B, q, axis=1)
    of_A, of_B, ranks = edges(K, q), edges(K, p), {}
    for i, j in product(range(p), range(q)):
        a, b = strips_A[i][:, of_A[j] : of_A[j + 1]], strips_B[j][of_B[i] : of_B[i + 1]]
        blocks = dict(A=a.copy(), B=b.copy(), C=np.zeros((len(a), b.shape[1]), np.float32))
        ranks[i, j] = SimpleNamespace(i=i, j=j, of_A=of_A, of_B=of_B, **blocks)
    for k0, k1, left, top in panels(K, p, q, 3):
        wrong, sent = None, defaultdict(dict)
        # The owners of both panels first, then of one: whoever asks for a panel finds it sent.
        for i, j in sorted(ranks, key=lambda place: (place[0] != top) + (place[1] != left)):
            me = ranks[i, j]
            me.row, me.column = Group("row", j, sent["row", i]), Group("column", i, sent["column", j])
            try:
                step(me, k0, k1, left, top)
            except (Exception, SystemExit) as error:  # a learner's function may fail in any way
                waits = isinstance(error, UnboundLocalError) and not (me.row.came and me.column.came)
                wrong = wrong or (None if waits else raised(error, ("rank {place}", {"place": (i, j)})))
            wrong = wrong or wrong_block(me, strips_A[i][:, :k1], strips_B[j][:k1], k0)
        if wrong:
            values = dict(p=p, q=q, M=M, N=N, K=K, k0=k0, k1=k1)
            return replace(wrong, key=AT_PANEL, values=values | {"found": wrong})
    return None


def wrong_block(rank: SimpleNamespace, A: np.ndarray, B: np.ndarray, k0: int) -> Finding | None:
    """What is wrong with what came for a rank, or with its C, which should be A @ B by now; None if nothing is."""
    for group, due in ((rank.row, A[:, k0:]), (rank.column, B[k0:])):
        got = sum(panel.nbytes for panel in group.came)
        if got != due.nbytes:
            values = dict(place=(rank.i, rank.j), got=got, due=due.nbytes, group=(group.name, {}), shape=due.shape)
            return Finding("bytes", BYTES, values=values | {"came": [panel.shape for panel in group.came]})
    shaped = getattr(rank.C, "shape", None) == (len(A), B.shape[1])
    if shaped and not wrong_elements(rank.C, A, B).any():
        return None
    alone = shaped and not wrong_elements(rank.C, A[:, k0:], B[k0:]).any()
    return Finding("wrong numbers", ALONE if alone else AS_MANY, values={"place": (rank.i, rank.j)})
