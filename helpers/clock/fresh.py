"""A contestant that gets a new product for each timed launch, so that whatever it remembers is of no use to it.

A clock launches a kernel again and again. One that looks whether C is right already, or keeps something from the last
launch, would be timed for work that it does not do.
"""

from collections.abc import Callable

import numpy as np

from ..judge.reference import error_bound, launched
from ..launch import Contestant, KernelError, draw
from ..launch.contestant import Work

LOOKED_AT = 16  # rows and columns of each launch's C that are compared; all of the last
SPOILT = 1 / 64  # of the numbers of a right C, before a launch that must mend them
LIKELY = 4.0  # times the square root of K roundings: more than drawn operands lead to


class Fresh(Contestant):
    """A contestant as it is, but that every launch has its own A and B, and a C full of NaN.

    A learner's kernel has its products compared, at places drawn anew for each launch, and all of the last one; what is
    wrong is a KernelError of `download`. `each` is called after each launch.
    """

    def __init__(self, k: Contestant, each: Callable[[], None] = lambda: None):
        self.k, self.each = k, each
        self.dialect, self.name, self.step, self.device, self.own = k.dialect, k.name, k.step, k.device, k.own
        self.parameters, self.source, self.build_seconds = k.parameters, k.source, k.build_seconds
        self.inputs = k.inputs

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what the contestant has to say against that size."""
        self.k.refuse(M, N, K)

    def fitted(self, M: int, N: int, K: int) -> "Fresh":
        """The same with sizes chosen for that shape."""
        return Fresh(self.k.fitted(M, N, K), self.each)

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float | None = np.nan) -> "FreshWork":
        """Only the shape of A and B is used."""
        return FreshWork(self, (A.shape[0], B.shape[1], A.shape[1]))

    def __str__(self):
        return str(self.k)


class FreshWork(Work):
    """A product of one shape, drawn anew for each launch."""

    def __init__(self, fresh, shape):
        self.k, self.each, self.shape, self.seen, self.last = fresh.k, fresh.each, shape, [], None

    def timed(self, launches):
        """Multiply once, however many launches are asked for. Returns seconds, by the clock that suits the place."""
        self.last = None  # its memory is free before more is asked for
        A, B = draw(*self.shape)
        work = self.k.upload(A, B)
        seconds, self.launching = work.timed(1), work.launching
        if self.k.own:
            rng, C = np.random.default_rng(), work.download()
            rows, columns = (rng.integers(0, n, LOOKED_AT) for n in C.shape)
            self.seen.append((C[np.ix_(rows, columns)], A[rows], B[:, columns]))
            if not work.left_alone(A, B):
                self.refuse("writes to A or B, or behind them; it may write to C only")
        self.last = A, B, work
        self.each()
        return seconds

    def download(self):
        """C of the last launch. Raises KernelError for a learner's kernel that computes another product, or not always.

        It is compared only here: a library's product between two launches would leave threads that disturb the next.
        """
        A, B, work = self.last
        C = work.download()
        if self.k.own:
            if any(unlikely(*one).any() for one in [*self.seen, (C, A, B)]):
                self.refuse("gives wrong numbers")
            spoilt, rng = C.copy(), np.random.default_rng()
            spoilt[rng.random(C.shape) < SPOILT] = 2.0
            spoilt[tuple(rng.integers(C.shape))] = 2.0
            if unlikely(launched(self.k, A, B, spoilt), A, B).any():
                self.refuse("looks at some numbers of C, and leaves the others as they are where those are right")
        return C

    def refuse(self, what):
        """Raise a KernelError that says what it does at the shape that is timed."""
        where = "{} x {} x {}".format(*self.shape)
        raise KernelError(f"{self.k} {what}: seen where it is timed, at {where} (M x N x K).")


def unlikely(C: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Where C is no float32 product of A and B that were drawn; bool (M, N). NaN is.

    Roundings of drawn numbers cancel: with their count K replaced by a few times its root, the bound holds in practice
    (Higham and Mary, SIAM J. Sci. Comput. 41, 2019), and sees numbers that were cut to half of their digits.
    """
    exact, K = A.astype(np.float64) @ B.astype(np.float64), A.shape[1]
    return ~(np.abs(C - exact) <= min(1.0, LIKELY / np.sqrt(K)) * error_bound(A, B))
