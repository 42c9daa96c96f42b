"""Exercises whose answer is a function of numbers: the cases in their cells let no slip pass, and any right style."""

import ast
import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from classroom.solved import in_pages

from helpers import ask, cuda_kernel
from helpers.exercises.answers import WITHIN
from helpers.instruments import GPUS, gpu_like, predict
from helpers.ladder import ceil_div

# ------------------------------------------------------------------------------------------------- cases of the pages


def asked(cell):
    """(name of the function, cases) of the cell's call of `ask`, whose table may stand above it; None without one."""
    body = ast.parse(cell).body
    tables = {ast.unparse(one.targets): one.value for one in body if isinstance(one, ast.Assign)}
    match body[-1]:
        case ast.Expr(ast.Call(ast.Name("ask"), [ast.Name(function), cases])):
            return function, ast.unparse(tables.get(ast.unparse(cases), cases))
    return None


QUESTIONS = {asked(stub)[0]: (asked(stub), asked(solution)) for stub, solution in in_pages().values() if asked(stub)}
CASES = {name: eval(cases) for name, ((_, cases), _) in QUESTIONS.items()}

# ------------------------------------------------------------------------------------------------------------ answers


def tiled_on(gpu, size=2048, step="tiled", **parameters):
    return predict(cuda_kernel(step, **parameters or {"TILE": 32}), gpu, size, size, size)


def side_by_counting(registers):
    side = 1
    while side * side + 2 * side <= registers:
        side += 1
    return side - 1


def waiting_in_steps(work, latency, blocks, early):
    wait = latency - work if early else latency
    if wait <= 0:
        return 0
    return math.prod([wait / (work + wait)] * blocks)


def summa_of(**changed):
    """`summa_seconds` with one piece changed."""

    def answer(n, side, panels, flops, latency, bandwidth):
        piece = dict(flop=2 * n**3, ranks=side**2, hops=2 * math.log2(side), bytes=8 * n * n * (side - 1) / side**2)
        piece |= {name: change(n, side, panels) for name, change in changed.items()}
        return piece["flop"] / piece["ranks"] / flops + panels * piece["hops"] * latency + piece["bytes"] / bandwidth

    return answer


def digits_by_halving(share):
    u, digits = 1.0, 0
    while (1 + u) ** 2 - 1 > share:
        u, digits = u / 2, digits + 1
    return digits


RIGHT = {
    "idle_threads": [lambda elements, threads: -elements % threads],
    "numbers_read": [lambda M, N, K: sum(2 for _ in itertools.product(range(M), range(N), range(K)))],
    "least_bytes": [lambda M, N, K: np.float64(M * (K + N) + K * N) * 4],
    "shortest_seconds": [lambda flop, moved, flop_rate, byte_rate: sorted([moved / byte_rate, flop / flop_rate])[1]],
    "sectors_touched": [
        lambda stride: len({byte // 32 for i in range(32) for byte in range(4 * i * stride, 4 * i * stride + 4)})
    ],
    "summa_seconds": [summa_of(bytes=lambda n, side, panels: 2 * 4 * (n / side) * (n - n / side))],
    "may_lead": [lambda *ends: 3 - sum(any(low > high for low in ends[::2]) for high in ends[1::2])],
    "fewest_digits": [digits_by_halving],
    "shared_words": [lambda WM, WN, held: Fraction(WM + WN, WM * WN * held)],
    "wide_requests": [lambda M, N, K, BM, BN, size: (M // BM) * (N // BN) * (K * BM + K * BN) * size / 16 / 32],
    "reads_for_a_product": [lambda TM: 1 + Fraction(1, TM)],
    "reads_of_a_patch": [lambda TM, TN: 1 / TM + 1 / TN],
    "largest_side": [side_by_counting],
    "blocks_by_registers": [lambda registers, warps: 256 // (ceil_div(registers, 8) * warps)],
    "busiest": [lambda f, r, i, fl, ll: np.max([np.float64(32 * f) / fl, 32 * r / ll, i / 4])],
    "lines_a_round": [lambda BN: len({t // BN for t in range(32)}) + len({t % BN // 32 for t in range(32)})],
    "blocks_at_a_time": [lambda TILE, threads, blocks: max(n for n in range(blocks + 1) if n * TILE * TILE <= threads)],
    "idle": [lambda work, wait, blocks: math.prod([wait / (work + wait)] * blocks)],
    "on_my_card": [lambda sms, clock: 2 * 2048**3 / 1e9 / tiled_on(gpu_like("RTX 4090", sms=sms, clock=clock)).seconds],
    "fits": [lambda BM, BN, BK, TM, TN: int(BM // TM * (BN // TN) <= 1024 and BK * (2 * BM + 8 + 2 * BN) * 4 <= 49152)],
    "fewest_sums": [lambda cycles, starts: len([None for _ in range(cycles) for _ in range(starts)])],
    "waiting": [waiting_in_steps],
    "lucky": [lambda kernels, rounds: Fraction(kernels, 1 << rounds)],
    "instructions": [lambda columns, lanes: columns - (lanes - 1) * (columns // lanes)],
    "ahead": [lambda mine, theirs: len(theirs) > 8 and min(np.array(theirs) / np.array(mine)) > 1.05],
    "greatest_share": [
        lambda M, N, K, flops, bandwidth: min(1, M * N * K / (2 * (M * K + K * N + M * N)) * bandwidth / flops)
    ],
    "least_seconds": [
        lambda M, N, K, flops, bandwidth: np.maximum(
            2 * (M * N * K) / flops, sum((M * K, K * N, M * N)) / (bandwidth / 4)
        )
    ],
}


def blocks(registers, warps, piece=256, all=65536, most=10**9):
    """`blocks_by_registers` with one number changed."""
    return min(most, all // (ceil_div(32 * registers, piece) * piece * warps))


def fit(threads=1024, shared=49152, extra=4):
    """`fits` with one number changed."""
    return lambda BM, BN, BK, TM, TN: threads >= BM // TM * (BN // TN) and shared >= 8 * BK * (BM + extra + BN)


def wait_for(left, both=lambda share, blocks: share**blocks):
    """`waiting` with one piece changed."""

    def answer(work, latency, blocks, early):
        wait = left(work, latency, early)
        return both(wait / (work + wait), blocks)

    return answer


def wait_left(work, latency, early):
    return max(0, latency - work) if early else latency


def leads(says, rounds=9):
    """`ahead` by another rule for the ratios of enough rounds."""
    return lambda mine, theirs: (
        len(mine) >= rounds and bool(says([b / a for a, b in zip(mine, theirs, strict=True)], mine, theirs))
    )


def seconds(flop=lambda M, N, K: 2 * M * N * K, numbers=lambda M, N, K: M * K + K * N + M * N, each=4, both=max):
    """`least_seconds` with one piece changed."""
    return lambda M, N, K, flops, bandwidth: both(flop(M, N, K) / flops, each * numbers(M, N, K) / bandwidth)


WRONG = {
    "idle_threads": [
        lambda elements, threads: elements % threads,
        lambda elements, threads: threads - elements % threads,
        lambda elements, threads: max(threads - elements, -elements % 256),
    ],
    "numbers_read": [
        lambda M, N, K: 2 * M**3,
        lambda M, N, K: 2 * M * N * min(K, 8),
        lambda M, N, K: M * N * K + K * N,
    ],
    "least_bytes": [
        lambda M, N, K: 4 * (M * K + K * N),
        lambda M, N, K: M * K + K * N + M * N,
        lambda M, N, K: 8 * M * N * K,
    ],
    "shortest_seconds": [
        lambda flop, moved, flop_rate, byte_rate: flop / flop_rate + moved / byte_rate,
        lambda flop, moved, flop_rate, byte_rate: min(flop / flop_rate, moved / byte_rate),
        lambda flop, moved, flop_rate, byte_rate: max(flop_rate / flop, byte_rate / moved),
    ],
    "sectors_touched": [
        lambda stride: {0: 1, 1: 4, 2: 8, 4: 16}.get(stride, 32),
        lambda stride: len({stride * i // 32 for i in range(32)}),
        lambda stride: min(32, 2 ** math.ceil(math.log2(4 * stride))) if stride else 1,
    ],
    "summa_seconds": [
        summa_of(hops=lambda n, side, panels: 2 * side),
        summa_of(hops=lambda n, side, panels: 2 * math.log2(side) / panels),
        summa_of(bytes=lambda n, side, panels: 8 * n * n / side**2),
    ],
    "may_lead": [
        lambda *ends: sum(low >= max(ends[::2]) for low in ends[::2]),
        lambda *ends: 1 + (ends[3] >= ends[0]) + (ends[3] >= ends[0] and ends[5] >= ends[2]),
        lambda *ends: sum(low <= max(ends[1::2]) for low in ends[::2]),
    ],
    "fewest_digits": [
        lambda share: math.ceil(1 - math.log2(share)),  # without the square of u
        lambda share: min(digits_by_halving(share), 24),
        lambda share: max(digits_by_halving(share), 8),
    ],
    "shared_words": [
        lambda WM, WN, held: 8 * (WM + WN) / (WM * WN * held),
        lambda WM, WN, held: 2 / (WM * held),
        lambda WM, WN, held: round((WM + WN) / (WM * WN * held), 3),
    ],
    "wide_requests": [
        lambda M, N, K, BM, BN, size: (M * K * (M // BM) + K * N * (N // BN)) * size / 512,
        lambda M, N, K, BM, BN, size: (M * K * (N // BN) + K * N * (M // BM)) / 128,
        lambda M, N, K, BM, BN, size: (M * K * (N // BN) + K * N * (M // BM) + M * N) * size / 512,
    ],
    "reads_for_a_product": [lambda TM: 2, lambda TM: TM + 1, lambda TM: 2 / TM],
    "reads_of_a_patch": [lambda TM, TN: (TM + TN) / 64, lambda TM, TN: 2 / max(TM, TN), lambda TM, TN: 1 + 1 / TM / TN],
    "largest_side": [
        lambda registers: math.isqrt(registers + 1),
        lambda registers: math.sqrt(registers + 1) - 1,
        lambda registers: max(s for s in (1, 2, 4, 8, 16) if s * s + 2 * s <= registers),
    ],
    "lines_a_round": [lambda BN: 32 / BN + 1, lambda BN: 256 // BN + 1, lambda BN: max(1, 32 // BN)],
    "blocks_at_a_time": [
        lambda TILE, threads, blocks: threads // TILE**2,  # as if there were room for any number of blocks
        lambda TILE, threads, blocks: min(blocks, threads // TILE),
        lambda TILE, threads, blocks: min(blocks, threads / TILE**2),
    ],
    "blocks_by_registers": [
        lambda registers, warps: blocks(registers, warps, most=64 // warps),
        lambda registers, warps: blocks(registers, warps, all=65535),
        lambda registers, warps: max(1, blocks(registers, warps)),
    ],
    "busiest": [
        lambda f, r, i, fl, ll: max(f / fl, r / ll, i / 4),
        lambda f, r, i, fl, ll: max(32 * f / 128, 32 * r / ll, i / 4),
        lambda f, r, i, fl, ll: math.ceil(max(32 * f / fl, 32 * r / ll, i / 4)),
    ],
    "idle": [
        lambda work, wait, blocks: (wait / work) ** blocks,
        lambda work, wait, blocks: wait / (blocks * work + wait),
        lambda work, wait, blocks: round((wait / (work + wait)) ** blocks, 3),
    ],
    "on_my_card": [
        lambda sms, clock: tiled_on(gpu_like("RTX 4090", sms=sms)).gflops,
        lambda sms, clock: tiled_on(GPUS["RTX 4090"]).gflops * sms / 128 * clock / 2.52e9,
        lambda sms, clock: gpu_like("RTX 4090", sms=sms, clock=clock).flops_per_s / 1e9,
    ],
    "fits": [
        lambda BM, BN, BK, TM, TN: TM * TN <= 64 and fit()(BM, BN, BK, TM, TN),  # a rule that nobody gave
        fit(shared=49151),
        fit(threads=1023),
    ],
    "fewest_sums": [
        lambda cycles, starts: cycles * starts - 1,
        lambda cycles, starts: math.lcm(cycles, starts),
        lambda cycles, starts: (cycles - 1) * starts + 1,
    ],
    "waiting": [
        wait_for(lambda work, latency, early: max(0, latency - work)),
        wait_for(lambda work, latency, early: abs(latency - work) if early else latency),
        wait_for(wait_left, both=lambda share, blocks: share ** (blocks - 1)),
    ],
    "lucky": [
        lambda kernels, rounds: kernels / 2 ** (rounds - 1),
        lambda kernels, rounds: min(1, kernels / 2**rounds),
        lambda kernels, rounds: 1 - (1 - 1 / 2**rounds) ** kernels,
    ],
    "instructions": [
        lambda columns, lanes: columns // lanes * lanes + columns % lanes,
        lambda columns, lanes: columns if columns < lanes else ceil_div(columns, lanes),
        lambda columns, lanes: columns // 16 + columns % 16,
    ],
    "ahead": [
        leads(lambda ratios, *_: min(ratios) > 1),
        leads(lambda _, mine, theirs: min(theirs) > 1.05 * max(mine)),
        leads(lambda _, mine, theirs: all(b > 1.05 * a for a, b in zip(sorted(mine), sorted(theirs), strict=True))),
    ],
    "greatest_share": [
        lambda M, N, K, flops, bandwidth: M * N * K / (2 * (M * K + K * N + M * N)) * bandwidth / flops,
        lambda M, N, K, flops, bandwidth: min(1, max(M, N, K) / 6 * bandwidth / flops),
        lambda M, N, K, flops, bandwidth: min(1, 2 * (M * K + K * N + M * N) / (M * N * K) * flops / bandwidth),
    ],
    "least_seconds": [
        seconds(each=8),
        seconds(flop=lambda M, N, K: 2 * M * N * (K - 1)),
        seconds(numbers=lambda M, N, K: M * K + K * N + N * N),
    ],
}


def of_each(answers):
    return [pytest.param(name, answer, id=f"{name}-{i}") for name in answers for i, answer in enumerate(answers[name])]


def test_each_question_of_a_page_has_wrong_answers_and_right_ones():
    """Those that the teacher's pages tell of, which test_teaching tries, come to them."""
    assert set(RIGHT) == set(WRONG) == set(CASES)
    assert {*map(len, RIGHT.values())} == {1} and {*map(len, WRONG.values())} == {3}


@pytest.mark.parametrize("name, answer", of_each(RIGHT))
def test_a_right_answer_in_another_style_is_right(name, answer):
    assert ask(answer, CASES[name])


@pytest.mark.parametrize("name, answer", of_each(WRONG))
def test_a_slip_is_a_wrong_number_in_one_of_the_cases(name, answer):
    assert [finding.kind for finding in ask(answer, CASES[name]).findings] == ["wrong number"]


@pytest.mark.parametrize("name", CASES)
def test_a_question_has_a_few_cases_and_its_solution_the_same(name):
    in_stub, in_solution = QUESTIONS[name]
    assert in_solution in (in_stub, (name, f"{name}_cases")) and 3 <= len(CASES[name]) <= 8
    assert len({*CASES[name].values()}) > 1, "a constant would pass"


# -------------------------------------------------------------------------------------------------------- the verdict


def product(a, b):
    return a * b


def test_the_first_case_that_is_not_right_is_told_with_its_arguments():
    assert repr(ask(product, {(2, 3): 6, (4, 5): 20})) == "✓ product is right."
    said = repr(ask(product, {(2, 3): 6, (2, 4): 9, (7, 7): 0}))
    assert said == "✗ product is wrong.\n  wrong number: product(2, 4) gives 8, and should give 9."


def test_one_argument_needs_no_brackets_and_a_number_may_be_off_by_a_millionth():
    assert ask(lambda x: 6 * x, {12.5: 75, (0.5,): 3})
    for off, passes in ((0.9, True), (1.1, False)):
        report = ask(lambda x, off=off: 0.25 * (1 + off * WITHIN), {1: 0.25})
        assert bool(report) == passes
    assert "gives 0.250000275, and should give 0.25." in repr(report)


def with_pass(x):
    pass


def with_dots(x):
    """What it is for."""
    ...


@pytest.mark.parametrize("stub", [with_pass, with_dots])
def test_a_stub_that_nobody_has_filled_is_not_yet(stub):
    assert repr(ask(stub, {1: 6})) == f"… {stub.__name__}: not yet. It returns nothing so far."


def fails_later(x):
    y = x + 1
    return 1 / (y - 3)


def test_what_the_function_raises_is_told_with_its_own_line():
    said = repr(ask(fails_later, {1: -1, 2: 5}))
    assert "error: fails_later(2) raises ZeroDivisionError: division by zero." in said
    assert re.search(r"\n +\d+ \| return 1 / \(y - 3\)$", said), said
    assert "raises SystemExit: 3" in repr(ask(lambda x: exit(3), {1: 6}))
    assert "takes 1 positional argument but 2 were given" in repr(ask(fails_later, {(1, 2): 6}))


@pytest.mark.parametrize(
    "given, said",
    [
        (math.nan, "gives nan,"),
        (math.inf, "gives inf,"),
        (np.float64(2), "gives 2,"),
        (True, "gives True,"),
        ("1", "gives '1',"),
        ([1] * 99, "gives [1, 1, 1, 1, 1, 1, ...],"),
        (1j, "gives 1j,"),
        (np.ones(2), "gives array([1., 1.]),"),
        (..., "gives Ellipsis,"),
    ],
)
def test_what_is_no_number_or_a_strange_one_is_told_as_it_is(given, said):
    assert said in repr(ask(lambda x: given, {1: 6}))
