"""Judges the exercises whose answer is a function: of numbers, or a search. (Kernels are judged by `check`.)

Do look here once you have tried: each answer is a few lines at most.
"""

import itertools
import random
from collections.abc import Callable
from math import isqrt

import numpy as np

from ..ladder import SMALLEST_PACKED, TILES_A_CORE, ceil_div
from ..sandbox import Finding
from .report import Report


def tiles_down(M, N, K, cores):
    """Tiles of `packed`, 32 columns wide, that lie below each other: four for each core, if they are worth it."""
    wanted, worth = ceil_div(TILES_A_CORE * cores, ceil_div(N, 32)), M * min(N, 32) * K // SMALLEST_PACKED
    return max(ceil_div(M, 1026), min(wanted, worth))


# name of the exercise: (the right answer as a function, the cases it is asked on)
ANSWERS = {
    # 00: multiply-adds in a product of (M, K) and (K, N)
    "multiply_adds": (lambda M, N, K: M * N * K, [(1, 1, 1), (2, 3, 4), (1024, 1, 7)]),
    # 01: the n for which n x n matrices, each moved once in float32, have `ridge` flop per byte
    "size_at_the_ridge": (lambda ridge: 6 * ridge, [(1,), (8,), (12.5,), (40,)]),
    # 03: 32-byte sectors that 32 threads touch, when neighbours are `stride` float32 apart
    "sectors": (
        lambda stride: len({4 * stride * lane // 32 for lane in range(32)}),
        [(0,), (1,), (2,), (4,), (8,), (1024,)],
    ),
    # 06: the side of the largest square patch whose sums and two lists fit into so many registers
    "largest_side": (lambda registers: isqrt(registers + 1) - 1, [(3,), (24,), (79,), (80,), (128,), (255,)]),
    # 07: rounds that 32 threads need for words that are `stride` apart, in 32 banks
    "rounds_needed": (
        lambda stride: max([i * stride % 32 for i in range(32)].count(bank) for bank in range(32)),
        [(1,), (2,), (3,), (4,), (12,), (32,), (33,), (64,), (96,)],
    ),
    # 09: blocks that find registers on a multiprocessor of 65,536, dealt out by warp in pieces of 256
    "blocks_by_registers": (
        lambda registers, warps: 65536 // (ceil_div(32 * registers, 256) * 256 * warps),
        [(32, 8), (33, 8), (81, 8), (123, 8), (255, 4), (43, 12)],
    ),
    # 09: what a report tells: 1 registers ran out, 2 an index known only at run time, 3 whole-number work, 0 nothing
    "trap": (
        lambda stack, spilled, fma, whole: 1 if spilled else 2 if stack else 3 if 2 * whole > fma else 0,
        [
            (0, 0, 64, 8),
            (288, 0, 4, 58),
            (1168, 440, 256, 11),
            (0, 0, 64, 46),
            (64, 0, 64, 8),
            (0, 0, 256, 6),
            (0, 0, 64, 32),
        ],
    ),
    # 10: whether a block of `prefetched` runs where 1024 threads and 48 KiB of shared memory are allowed
    "fits": (
        lambda BM, BN, BK, TM, TN: BM // TM * (BN // TN) <= 1024 and 8 * BK * (BM + 4 + BN) <= 49152,
        [
            (128, 128, 16, 8, 8),
            (128, 128, 32, 8, 8),
            (256, 256, 8, 4, 4),
            (128, 124, 24, 8, 4),
            (128, 124, 16, 4, 4),
            (128, 128, 8, 4, 4),
            (128, 128, 24, 8, 8),
        ],
    ),
    # 11: independent sums that keep a core busy: cycles until an FMA's result is there, FMAs begun in a cycle
    "fewest_sums": (lambda cycles, starts: cycles * starts, [(4, 1), (4, 2), (4, 3), (5, 2), (3, 1), (1, 1)]),
    # 11: tiles below each other: four for every core, but of 2**19 products at least, and of 1026 rows at most
    "tiles_down": (
        tiles_down,
        [
            (64, 64, 64, 2),
            (256, 64, 128, 2),
            (512, 32, 4000, 2),
            (2048, 70, 1000, 2),
            (1026, 3000, 50, 2),
            (4000, 3000, 9, 2),
            (2000, 16, 160, 8),
        ],
    ),
    # 12: the least seconds for a product, by the roofline: flop/s, bytes/s, each matrix moved once
    "least_seconds": (
        lambda M, N, K, flops, bandwidth: max(2 * M * N * K / flops, 4 * (M * K + K * N + M * N) / bandwidth),
        [
            (1024, 1024, 1024, 5e11, 2e10),
            (4096, 1, 4096, 5e11, 2e10),
            (16, 64, 8, 1e9, 1e9),
            (512, 512, 16, 6e13, 4e12),
        ],
    ),
    # 14: the side of the largest block of C that fits into `limit` bytes, with its rows of A and columns of B
    "largest_block": (
        lambda M, N, K, limit: min(M, N, isqrt(int(limit) // 4 + K * K) - K),
        [
            (4096, 4096, 4096, 64e6),
            (700, 900, 800, 1e6),
            (100, 50, 9, 1e9),
            (50, 100, 9, 1e9),
            (100, 100, 4, 132),
            (100, 100, 4, 131),
            (100, 100, 1000, 4000),
        ],
    ),
}


def check_answer(name: str, answer: Callable) -> Report:
    """Judge a learner's function against the exercise's own cases. Returns a `Report`, true when right."""
    if name not in ANSWERS:
        raise ValueError(f"there is no exercise {name!r}; there are: {', '.join(ANSWERS)}.")
    right, cases = ANSWERS[name]
    name = getattr(answer, "__name__", name)
    for case in cases:
        asked = f"{name}({', '.join(f'{x:g}' for x in case)})"
        try:
            given = answer(*case)
        except Exception as error:  # a learner's function may fail in any way
            return Report(name, (Finding("error", f"{asked} raises {type(error).__name__}: {error}"),), len(cases))
        if given is None or given is ...:
            return Report(name, (Finding("not yet", "It returns nothing so far."),), len(cases))
        if isinstance(given, np.generic):  # a number of NumPy's
            given = given.item()
        if not isinstance(given, (int, float)):
            return Report(name, (Finding("error", f"{asked} gives {given!r}; it should give a number"),), len(cases))
        if not abs(given - right(*case)) <= 1e-9 * abs(right(*case)):
            given, wanted = (str(x) if isinstance(x, bool) else f"{x:g}" for x in (given, right(*case)))
            return Report(
                name, (Finding("wrong number", f"{asked} gives {given}, and should give {wanted}"),), len(cases)
            )
    return Answer(name, (), len(cases))


def judge_search(search: Callable) -> Report:
    """Judge a learner's search(points, rate, tries) on made-up landscapes. Returns a `Report`, true when right.

    It shall return the best of the points that it tried, try none twice and `tries` at most, and find the peak of each
    landscape in most of the runs. The peak is at another point each time, so nobody can know it. The first point, the
    defaults, is the top of a lower hill on one of them: a search that only climbs stays there, and one that only
    guesses finds no peak.
    """
    name, runs, state = getattr(search, "__name__", "search"), 0, random.getstate()
    points = [dict(zip(SIZES, at, strict=True)) for at in itertools.product(range(5), repeat=len(SIZES))]
    try:
        for landscape, found in ((one_hill, "climb"), (two_hills, "leave")):
            peaks = 0
            for seed in range(SEARCHES):
                peak = tuple(random.Random(f"{found} {seed}").choices(range(1, 5), k=len(SIZES)))
                random.seed(seed)
                runs, tried = runs + 1, []

                def rate(p, landscape=landscape, tried=tried, peak=peak):
                    tried.append(at := place(p))
                    return landscape(at, peak)

                try:
                    best = search([dict(p) for p in points], rate, TRIES)
                    best = best if best is None or best is ... else place(best)
                except Exception as error:  # a learner's function may fail in any way
                    return Report(name, (Finding("error", f"it raises {type(error).__name__}: {error}"),), runs)
                if wrong := wrong_search(best, tried, {at: landscape(at, peak) or 0 for at in tried}):
                    return Report(name, (wrong,), runs)
                peaks += best == peak
            if peaks < 0.6 * SEARCHES:
                return Report(name, (Finding("weak search", WEAK[found].format(peaks, SEARCHES)),), runs)
    finally:
        random.setstate(state)
    return Answer(name, (), runs)


SIZES = "abcd"  # the names of the four parameters
SEARCHES, TRIES = 15, 60  # runs on each landscape; points that a run may try, of 625
WEAK = {
    "climb": "it finds the peak of a smooth hill in {} of {} runs; does it look near the best so far?",
    "leave": "it starts on the lower of two hills, and finds the higher one in {} of {} runs; does it look "
    "elsewhere, too?",
}


def place(p):
    """The point as a tuple, which stays as it is when the search changes its dict. Raises ValueError for none."""
    if not isinstance(p, dict) or set(p) != set(SIZES) or not all(p[size] in range(5) for size in SIZES):
        raise ValueError(f"{p!r} is none of the points.")
    return tuple(p[size] for size in SIZES)


def one_hill(at, peak):
    """A made-up rate: 100 at the peak, lower with each step from it; None on a fifth of the points, not the first."""
    away = sum(abs(value - best) for value, best in zip(at, peak, strict=True))
    return None if any(at) and (sum(at) - sum(peak)) % 5 == 3 else 100 * 0.7**away


def two_hills(at, peak):
    """A made-up rate: 20 at the first point, whose neighbours are all lower, and a hill of 100 elsewhere."""
    return 20 if not any(at) else one_hill(at, peak) if sum(map(bool, at)) > 1 else 10


def wrong_search(best, tried, rates):
    """What is wrong with a search that tried these points, of those rates, and returned `best`: a Finding, or None."""
    if best is None or best is ...:
        return Finding("not yet", "It returns nothing so far.")
    if len(tried) > TRIES:
        return Finding("too many", f"it may try {TRIES} points, and tried {len(tried)}")
    if len(rates) < len(tried):
        return Finding("twice", "it tries a point a second time")
    if best not in rates or rates[best] != max(rates.values()):
        best = dict(zip(SIZES, best, strict=True))
        return Finding("not the best", f"it returns {best!r}, which is not the best point that it tried")
    return None


class Answer(Report):
    """The verdict on a number: right on every case."""

    def __repr__(self):
        return f"✓ {self.subject} is right."
