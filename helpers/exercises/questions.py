"""Many pages: the exercises whose answer is a function of numbers.

Do look here once you have tried: each answer is a few lines at most.
"""

import contextlib
import dis
import io
import numbers
import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from math import isqrt
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..instruments import gpu_like, predict
from ..judge.report import Report
from ..ladder import ceil_div
from ..launch import cuda_kernel
from ..sandbox import Finding

LONG = 100  # letters: what is longer is named by its kind
DRAWS = 200  # cases made anew for each verdict, so that no table of cases can be learnt


class Question(NamedTuple):
    """What an exercise asks of a function.

    right  the right answer, as a function
    cases  those that every answer is asked first: small ones, and those where likely slips differ
    draw   (random.Random) -> one more case. Sensible ones, small enough for an answer that counts in loops
    slips  what to say to one who gives, in a case, just what this function gives there; only where other slips do
           not give the same number
    why    the steps of a case in words, for whoever sees that a number is wrong and not which of them is
    """

    right: Callable
    cases: list[tuple]
    draw: Callable[[random.Random], tuple]
    slips: dict[str, Callable] = MappingProxyType({})
    why: Callable | None = None


def size(dice, most):
    """A whole number from 1 to `most`, as often between 1 and 10 as between 10 and 100."""
    return round(most ** dice.random())


def on_my_card(sms, clock):
    """GFLOP/s that the model predicts for `tiled` on a card like an RTX 4090."""
    mine = gpu_like("RTX 4090", sms=sms, clock=clock)
    return predict(cuda_kernel("tiled", TILE=32), mine, 2048, 2048, 2048).gflops


def draw_block(dice):
    """A block for `fits`: about 1024 threads, or about 48 KiB of shared memory, or anything."""
    TM, TN = dice.randint(1, 8), dice.randint(1, 8)
    which = dice.randrange(3)
    if which == 0:  # any
        return TM * size(dice, 64), TN * size(dice, 64), size(dice, 64), TM, TN
    if which == 1:  # at most 36 KiB, and so many threads
        down = dice.choice([16, 32, 64, dice.randint(16, 64)])
        down, across = dice.sample([down, 1024 // down + dice.randint(0, 1)], 2)
        return TM * down, TN * across, dice.randint(1, 4), TM, TN
    BK = dice.choice([32, 40, 48, 64])  # at most 1024 threads, and so many floats
    BM = 8 * dice.randint(1, 5)
    return BM, 6144 // BK - BM - 4 + dice.randint(-5, 5), BK, 8, 1


def of_a_warp(registers):
    """The registers of a multiprocessor that a warp takes, by those of a thread."""
    return ceil_div(32 * registers, 256) * 256


def busy(fma, requests, instructions, fma_lanes, load_lanes):
    """The cycles of each unit for what a block's warps ask of it: multiply-adds, loads and stores, issue."""
    return fma * 32 / fma_lanes, requests * 32 / load_lanes, instructions / 4


def waits_for(work, latency, blocks, early):
    """The cycles that one block waits for a tile."""
    return max(0, latency - work) if early else latency


def waiting(work, latency, blocks, early):
    """The share of time in which all blocks of a multiprocessor wait for a tile."""
    wait = waits_for(work, latency, blocks, early)
    return (wait / (work + wait)) ** blocks


def one_waits(work, wait):
    """What one block does, in words."""
    return f"one block waits {in_digits(wait)} of its {in_digits(work + wait)} cycles"


def room(BM, BN, BK, TM, TN):
    """The threads of a block of `prefetched`, and its bytes of shared memory."""
    return BM // TM * (BN // TN), 8 * BK * (BM + 4 + BN)


def draw_rounds(dice):
    """For `ahead`: seconds of two kernels, round by round. Rounds differ more than kernels, as on a busy machine."""
    rounds = dice.choice([5, 8, 9, 9, 9, 9, 12, 20])
    ratios = [dice.uniform(1.06, 1.5) for _ in range(rounds)]
    for n in dice.sample(range(rounds), dice.choice([0, 0, 0, 1, 1, 2, rounds])):
        ratios[n] = dice.choice([dice.uniform(1.01, 1.04), dice.uniform(0.7, 1)])
    theirs = tuple(float(f"{dice.uniform(1, 4):.3g}") for _ in ratios)
    return tuple(float(f"{b / ratio:.4g}") for b, ratio in zip(theirs, ratios, strict=True)), theirs


def draw_product(dice):
    """A product for `least_seconds`, and a machine that may be faster at either."""
    shape = [size(dice, 8000) for _ in range(3)]
    flops = 10 ** dice.uniform(9, 14)
    return *shape, float(f"{flops:.3g}"), float(f"{flops / 10 ** dice.uniform(-1, 2.5):.3g}")


def draw_board(dice):
    """Three entries for `may_lead`, the best median first; some meet others, and not all of them do."""
    medians = sorted((dice.uniform(0.5, 1.5) for _ in range(3)), reverse=True)
    spreads = [(dice.uniform(0, 0.3), dice.uniform(0, 0.3)) for _ in medians]
    return tuple(
        round(end, 2)
        for middle, (below, above) in zip(medians, spreads, strict=True)
        for end in (middle - below, middle + above)
    )


def draw_tiled_product(dice):
    """A product for `wide_requests`: whole tiles, whose sides are powers of two, of 16 to 256 numbers."""
    BM, BN = 2 ** dice.randint(4, 8), 2 ** dice.randint(4, 8)
    return BM * size(dice, 12), BN * size(dice, 12), 64 * size(dice, 12), BM, BN, dice.choice([2, 4])


def summa(n, side, panels, flops, latency, bandwidth, ranks=2, hops=2, size=4, own=1, kinds=2):
    """Seconds of SUMMA on side x side ranks. The last five numbers are the right ones, which slips change."""
    received = kinds * size * n / side * (n - own * n / side)
    messages = panels * hops * (side - 1).bit_length()
    return 2 * n**3 / side**ranks / flops + messages * latency + received / bandwidth


def two_limits(M, N, K, flops, bandwidth, size=4, flop=2):
    """The seconds of a product's arithmetic, and those of its bytes. The last two are the right ones."""
    return flop * M * N * K / flops, size * (M * K + K * N + M * N) / bandwidth


def requests(M, N, K, BM, BN, size, asks=512):
    """Loads of warps, `asks` bytes each, of programs that load whole tiles."""
    return (M * K * (N // BN) + K * N * (M // BM)) * size / asks


# name of the exercise: what it asks
ANSWERS = {
    # 00: multiply-adds in a product of (M, K) and (K, N)
    "multiply_adds": Question(
        lambda M, N, K: M * N * K,
        [(1, 1, 1), (2, 3, 4), (1024, 1, 7)],
        lambda dice: (size(dice, 40), size(dice, 40), size(dice, 40)),
    ),
    # 01: the n for which n x n matrices, each moved once in float32, have `ridge` flop per byte
    "size_at_the_ridge": Question(
        lambda ridge: 6 * ridge,
        [(1,), (8,), (12.5,), (0.3,)],
        lambda dice: (dice.choice([round(10 ** dice.uniform(-1, 2.7), 2), size(dice, 500)]),),
    ),
    # 03: 32-byte sectors that 32 threads touch, when neighbours are `stride` float32 apart
    "sectors": Question(
        lambda stride: len({4 * stride * lane // 32 for lane in range(32)}),
        [(0,), (1,), (2,), (3,), (8,)],
        lambda dice: (dice.choice([dice.randint(0, 40), size(dice, 5000)]),),
    ),
    # 06: the side of the largest square patch whose sums and two lists fit into so many registers
    "largest_side": Question(
        lambda registers: isqrt(registers + 1) - 1,
        [(3,), (24,), (79,), (80,)],
        lambda dice: (dice.choice([dice.randint(3, 400), dice.randint(2, 20) ** 2 + dice.randint(-1, 1)]),),
    ),
    # 07: blocks that find registers on a multiprocessor of 65,536, dealt out by warp in pieces of 256
    "blocks_by_registers": Question(
        lambda registers, warps: 65536 // (of_a_warp(registers) * warps),
        [(32, 8), (33, 8), (5, 4), (43, 12)],
        lambda dice: (dice.randint(1, 255), 4 * size(dice, 8)),
        why=lambda registers, warps: f"a warp takes {of_a_warp(registers):,} registers, and a block has {warps} warps",
    ),
    # 08: cycles of the busiest unit of a multiprocessor, for what a block's warps ask of it
    "busiest": Question(
        lambda *case: max(busy(*case)),
        [(1024, 1408, 3328, 128, 16), (64, 4, 90, 64, 32), (1, 1, 100, 128, 16)],
        lambda dice: (
            *(size(dice, 3000) for _ in range(3)),
            dice.choice([64, 128]),
            dice.choice([16, 32]),
        ),
        why=lambda *case: "multiply-adds take {} cycles, requests {}, starts {}".format(*map(in_digits, busy(*case))),
    ),
    # 08: the share of time in which all blocks of a multiprocessor wait
    "idle": Question(
        lambda work, wait, blocks: (wait / (work + wait)) ** blocks,
        [(100, 100, 1), (2816, 466, 1), (300, 100, 2)],
        lambda dice: (size(dice, 3000), size(dice, 3000), dice.randint(1, 8)),
        why=lambda work, wait, blocks: one_waits(work, wait),
    ),
    # 08: GFLOP/s of a card that is like another
    "on_my_card": Question(
        on_my_card,
        [(24, 2.46e9), (128, 2.52e9), (70, 1e9)],
        lambda dice: (size(dice, 200), round(dice.uniform(1e9, 3e9))),
    ),
    # 11: whether a block of `prefetched` runs where 1024 threads and 48 KiB of shared memory are allowed
    "fits": Question(
        lambda *block: room(*block)[0] <= 1024 and room(*block)[1] <= 49152,
        [
            (128, 128, 16, 8, 8),
            (128, 128, 32, 8, 8),
            (256, 256, 8, 4, 4),
            (128, 124, 24, 8, 4),
            (28, 28, 104, 4, 4),
            (16, 16, 128, 4, 4),
            (64, 64, 8, 16, 16),
        ],
        draw_block,
        why=lambda *block: "that block has {:,} threads and {:,} bytes".format(*room(*block)),
    ),
    # 10: the share of its time in which a multiprocessor waits for tiles that may have been asked for early
    "waiting": Question(
        waiting,
        [(100, 100, 1, False), (300, 100, 2, False), (300, 400, 1, True), (300, 400, 2, True), (400, 300, 2, True)],
        lambda dice: (size(dice, 3000), size(dice, 3000), dice.randint(1, 6), dice.random() < 0.5),
        why=lambda work, *case: one_waits(work, waits_for(work, *case)),
    ),
    # 11: of so many kernels that are as fast as the defaults, those that lead in each round by luck, on average
    "lucky": Question(
        lambda kernels, rounds: kernels / 2**rounds,
        [(100, 1), (100, 2), (512, 9), (1, 3)],
        lambda dice: (size(dice, 5000), dice.randint(1, 12)),
    ),
    # 12: instructions for one step of a row of work-items: whole vectors, then one work-item after the other
    "instructions": Question(
        lambda columns, lanes: columns // lanes + columns % lanes,
        [(16, 16), (8, 16), (24, 16), (64, 16), (17, 8), (1, 4)],
        lambda dice: (size(dice, 300), dice.choice([4, 8, 16])),
    ),
    # 12: independent sums that keep a core busy: cycles until an FMA's result is there, FMAs begun in a cycle
    "fewest_sums": Question(
        lambda cycles, starts: cycles * starts,
        [(4, 1), (4, 2), (5, 2)],
        lambda dice: (size(dice, 20), size(dice, 8)),
    ),
    # 13: whether one kernel leads another in each of nine rounds at least, by more than a twentieth
    "ahead": Question(
        lambda mine, theirs: len(mine) >= 9 and all(b / a > 1.05 for a, b in zip(mine, theirs, strict=True)),
        [
            (9 * (1.0,), 9 * (1.2,)),
            (9 * (1.0,), 9 * (1.03,)),
            (9 * (1.2,), 9 * (1.0,)),
            (3 * (1.0,), 3 * (1.2,)),
            (4 * (1.0,) + 5 * (3.0,), 4 * (1.2,) + 5 * (3.6,)),  # the machine was slow for five rounds
            (8 * (1.0,) + (1.3,), 9 * (1.2,)),
            (3 * (1.0, 2.0, 3.0), 3 * (2.0, 3.0, 1.0)),  # the same times, in another order
        ],
        draw_rounds,
    ),
    # 13: the greatest share of the peak that a product can reach, where memory may be the limit
    "greatest_share": Question(
        lambda M, N, K, flops, bandwidth: min(1, 2 * M * N * K / flops / (4 * (M * K + K * N + M * N) / bandwidth)),
        [(1024, 1024, 1024, 5e11, 2e10), (4096, 1, 4096, 5e11, 2e10), (16, 64, 8, 1e9, 1e9)],
        draw_product,
    ),
    # 13: the least seconds for a product, by the roofline: flop/s, bytes/s, each matrix moved once
    "least_seconds": Question(
        lambda *case: max(two_limits(*case)),
        [(1024, 1024, 1024, 5e11, 2e10), (4096, 1, 4096, 5e11, 2e10), (16, 64, 8, 1e9, 1e9)],
        draw_product,
        {
            "both times added, though both go on at once": lambda *case: sum(two_limits(*case)),
            "the shorter of the two times": lambda *case: min(two_limits(*case)),
            "multiply-adds counted, and not flop": lambda *case: max(two_limits(*case, flop=1)),
            "numbers counted, and not bytes": lambda *case: max(two_limits(*case, size=1)),
        },
    ),
    # 15: seconds of SUMMA by the model: n x n matrices, float32, on side x side ranks
    "summa_seconds": Question(
        summa,
        [(16384, 32, 32, 79e9, 1e-6, 50e9), (4096, 1, 8, 1e11, 1e-5, 1e10), (96, 2, 3, 1e9, 1e-3, 1e6)],
        lambda dice: (
            *(64 * size(dice, 500), 2 ** dice.randint(0, 6), size(dice, 300)),
            *(float(f"{10 ** dice.uniform(*powers):.3g}") for powers in ((8, 13), (-7, -3), (8, 11))),
        ),
        {
            "numbers counted, and not bytes": lambda *case: summa(*case, size=1),
            "all flop divided by side, though there are more ranks than that": lambda *case: summa(*case, ranks=1),
            "one broadcast a step, though a panel of A and a panel of B are sent": lambda *case: summa(*case, hops=1),
            "what a rank has of its own counted as received": lambda *case: summa(*case, own=0),
            "the bytes of one matrix, though those of A and of B come": lambda *case: summa(*case, kinds=1),
        },
    ),
    # 16: how many of three entries may be the fastest, by the lowest and the highest of each one's nine rounds
    "may_lead": Question(
        lambda *ends: sum(high >= max(ends[::2]) for high in ends[1::2]),
        [
            (1.1, 1.2, 1.0, 1.05, 0.8, 0.9),
            (0.9, 1.3, 1.1, 1.2, 0.7, 1.15),
            (0.9, 1.5, 1.1, 1.2, 0.7, 1.0),  # the best median has not the largest lowest round
            (1.04, 1.2, 1.0, 1.1, 0.9, 1.02),
            (0.9, 1.3, 1.1, 1.2, 0.7, 1.0),
            (0.6, 0.8, 0.5, 0.9, 0.7, 0.75),
        ],
        draw_board,
    ),
    # 17: the fewest binary digits of two factors whose product is off by that share at most
    "fewest_digits": Question(
        lambda share: next(p for p in range(1, 60) if 2 * 2.0**-p + 4.0**-p <= share),
        [(1e-3,), (0.255,), (1e-6,), (0.0079,)],  # twice u alone would do for the second
        lambda dice: (float(f"{10 ** dice.uniform(-8, -0.4):.3g}"),),
    ),
    # 17: words from shared memory for each multiply-add of a warp whose patch is WM x WN, with `held` numbers a word
    "shared_words": Question(
        lambda WM, WN, held: (WM + WN) / (WM * WN * held),
        [(64, 32, 1), (64, 32, 2), (16, 8, 1), (64, 64, 2)],
        lambda dice: (16 * dice.randint(1, 12), 8 * dice.randint(1, 24), dice.choice([1, 2])),
        {
            "one number a word, though a word holds `held`": lambda WM, WN, held: (WM + WN) / (WM * WN),
            "8 words, though each sum takes 8 products or more in a step": (
                lambda WM, WN, held: 8 * (WM + WN) / (WM * WN * held)
            ),
        },
    ),
    # 18: 16-byte loads of warps from global memory, in a product of whole tiles, with so many bytes a number
    "wide_requests": Question(
        requests,
        [(128, 128, 128, 128, 128, 4), (128, 128, 128, 128, 128, 2), (256, 64, 64, 128, 32, 4)],
        draw_tiled_product,
        {
            "the loads of threads, though 32 threads load with one request": lambda *case: requests(*case, asks=16),
            "each matrix loaded once": lambda M, N, K, BM, BN, size: (M * K + K * N) * size / 512,
            "the bytes": lambda *case: requests(*case, asks=1),
        },
    ),
}


def check_answer(name: str, answer: Callable) -> Report:
    """Judge a learner's function: ask it the exercise's cases, then random ones. Returns a `Report`, true when right.

    It stops at the first wrong one. Of the random ones those with small numbers come first, and nothing that the
    function prints is shown: a line for each of them would bury the verdict.
    """
    if name not in ANSWERS:
        raise ValueError(f"there is no exercise {name!r}; there are: {', '.join(ANSWERS)}.")
    question, dice = ANSWERS[name], random.Random()
    drawn = sorted((question.draw(dice) for _ in range(DRAWS)), key=np.sum)
    name, asked = getattr(answer, "__name__", name), len(question.cases) + DRAWS
    wrong = first_wrong(name, answer, question, question.cases)
    if not wrong:
        with contextlib.redirect_stdout(io.StringIO()):
            wrong = first_wrong(name, answer, question, drawn)
    return Report(name, (wrong,), asked) if wrong else Answer(name, (), asked)


def first_wrong(name, answer, question, cases):
    """The first thing wrong with the function called `name` in those cases: a Finding, or None."""
    for case in cases:
        asked = f"{name}({', '.join(map(in_digits, case))})"
        if wrong := wrong_number(asked, answer, case, question.right(*case), question.slips):
            if question.why and wrong.kind == "wrong number":
                return replace(wrong, message=f"{wrong.message}: {question.why(*case)}")
            return wrong
    return None


def wrong_number(asked, answer, case, right, slips=MappingProxyType({})):
    """What is wrong with what `answer` gives for a case, in words `asked`: a Finding, or None if it gives `right`."""
    try:
        given = answer(*case)
    except (Exception, SystemExit) as error:  # a learner's function may fail in any way
        return Finding("error", f"{asked} raises {type(error).__name__}: {error}")
    if given is None:
        said = Finding("error", f"{asked} returns nothing; it should give {in_digits(right)}")
        return NOT_YET if is_stub(answer) else said
    if isinstance(given, np.generic | np.ndarray) and given.ndim == 0:  # a number of NumPy's
        given = given.item()
    if isinstance(given, Decimal):
        given = float(given)
    if not isinstance(given, numbers.Real):
        said = repr(given) if len(repr(given)) < LONG else f"a {type(given).__name__}"
        return Finding("error", f"{asked} gives {said}; it should give a number")
    if same_number(given, right):
        return None
    slip = next((f". That is {said}" for said, slips_so in slips.items() if same_number(given, slips_so(*case))), "")
    return Finding("wrong number", f"{asked} gives {in_digits(given)}, and should give {in_digits(right)}{slip}")


def same_number(given, right):
    """Whether two numbers are the same but for rounding; the right one is not negative."""
    return right * (1 - 1e-9) <= given <= right * (1 + 1e-9)


def in_digits(number):
    """A number as text, in 12 digits; several in brackets."""
    if isinstance(number, tuple):
        return f"({', '.join(map(in_digits, number))})"
    if isinstance(number, bool):
        return str(number)
    try:
        return f"{float(number):.12g}"
    except OverflowError:
        return f"a number of {int(number).bit_length()} bits"


NOT_YET = Finding("not yet", "It returns nothing so far.")


# The byte code of what only returns a constant.
OF_A_STUB = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}


def is_stub(function):
    """Whether a function that returned None is one that the pages begin with, of `pass` or a docstring only.

    One that computes, and forgets to return, has more byte code.
    """
    code = getattr(function, "__code__", None)
    return code is not None and {step.opname for step in dis.get_instructions(code)} <= OF_A_STUB


class Answer(Report):
    """The verdict on a function: right on every case."""

    def __repr__(self):
        return f"✓ {self.subject} is right."

    _repr_pretty_ = Report._repr_pretty_  # else IPython takes __repr__, since it stands here
