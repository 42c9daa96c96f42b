"""Exercises whose answer is a function of numbers: the cases in their cells let no slip pass, and `ask` says which."""

import ast
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from classroom.solved import in_pages

from helpers import ask
from kernel_judge.answers import WITHIN, judge_wishes

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


# One slip that is hard to see for each question; the likeliest ones are in teaching/, which tests/classroom tries.
SLIPS = {
    "idle_threads": lambda elements, threads: max(threads - elements, -elements % 256),
    "numbers_read": lambda M, N, K: 2 * M * N * min(K, 8),
    "least_bytes": lambda M, N, K: 8 * M * N * K,
    "shortest_seconds": lambda flop, moved, flop_rate, byte_rate: moved / byte_rate,
    "sectors_touched": lambda stride: {0: 1, 1: 4, 2: 8, 4: 16}.get(stride, 32),
    "busiest_tiles": lambda blocks, tiles, sms, slices: -(-blocks * slices * tiles // (sms * slices)),
    "wide_requests": lambda M, N, K, BM, BN, size: (M * K * (N // BN) + K * N * (M // BM)) / 128,
    "lane_cycles": lambda TM, TN, width: 4 * TM / width,
    "store_wavefronts": lambda TILE, PAD: max(1, TILE // math.gcd(32, TILE + PAD) // 2),
    "reads_for_a_product": lambda TM: 2 / TM,
    "reads_of_a_patch": lambda TM, TN: 2 / max(TM, TN),
    "largest_side": lambda registers: max(s for s in (1, 2, 4, 8, 16) if s * s + 2 * s <= registers),
    "lines_a_round": lambda BN: 32 / BN + 1,
    "blocks_at_a_time": lambda TILE, threads, blocks: min(blocks, threads / TILE**2),
    "needed_warps": lambda latency, rate, sums: max(4, math.ceil(4 * latency * rate / sums)),
    "busiest": lambda f, w, i, lanes: math.ceil(max(32 * f / lanes, w, i / 4)),
    "idle": lambda work, wait, blocks: round((wait / (work + wait)) ** blocks, 3),
    "chance": lambda share, tries: min(1, share * tries) if tries < 3 else 1 - (1 - share) ** tries,
    "of_peak": lambda TM, TN: min(1, TM * TN / 8, TM * TN / (TM + 1)),  # one vector of B a step
    "waiting": lambda work, latency, blocks, early: (latency / (work + latency)) ** blocks,
    "lucky": lambda kernels, rounds: 1 - (1 - 1 / 2**rounds) ** kernels,
    "instructions": lambda columns, lanes: columns // 16 + columns % 16,
    "ahead": lambda mine, theirs: len(mine) >= 9 and all(b - a > 0.05 for a, b in zip(mine, theirs, strict=True)),
    "useful": lambda M, N, BM, BN: min(1, M / BM) * min(1, N / BN),
    "to_tf32": lambda x: math.ldexp(math.floor(math.frexp(x)[0] * 2**11), math.frexp(x)[1] - 11),
    "least_seconds": lambda M, N, K, flops, bandwidth: max(2 * M * N * K / flops, 4 * (M * K + 2 * K * N) / bandwidth),
}


@pytest.mark.parametrize("name", CASES)
def test_a_slip_is_a_wrong_number_in_one_of_the_cases_and_the_solution_has_the_same(name):
    assert [finding.kind for finding in ask(SLIPS[name], CASES[name]).findings] == ["wrong number"]
    in_stub, in_solution = QUESTIONS[name]
    assert in_solution in (in_stub, (name, f"{name}_cases"))


# ------------------------------------------------------------------------------------------------------- the verdicts


def test_a_wish_is_met_or_not_or_nobody_has_answered_yet():
    report = judge_wishes({"fast": True, "small": False, "right": None})
    assert [(one.kind, one.message) for one in report.findings] == [("not met", "small"), ("not yet", "right")]
    assert repr(report) == "✓ fast\n✗ small\n… right" and judge_wishes({"fast": True})


def product(a, b):
    return a * b


def test_the_first_case_that_is_not_right_is_told_with_its_arguments():
    assert repr(ask(product, {(2, 3): 6, (4, 5): 20})) == "✓ product is right."
    said = repr(ask(product, {(2, 3): 6, (2, 4): 9, (7, 7): 0}))
    assert said == "✗ product is wrong.\n  wrong number: product(2, 4) gives 8, and should give 9."


def test_one_argument_needs_no_brackets_and_a_number_may_be_off_by_a_millionth():
    assert ask(lambda x: Fraction(6 * x), {12.5: 75, (0.5,): np.float64(3)})
    for off, passes in ((0.9, True), (1.1, False)):
        report = ask(lambda x, off=off: 0.25 * (1 + off * WITHIN), {1: 0.25})
        assert bool(report) == passes
    assert "gives 0.250000275, and should give 0.25." in repr(report)


def with_dots(x):
    """What it is for."""
    ...


def test_a_stub_that_nobody_has_filled_is_not_yet():
    assert repr(ask(with_dots, {1: 6})) == "… with_dots: not yet. It returns nothing so far."


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
    [(math.nan, "nan"), (True, "True"), ("1", "'1'"), ([1] * 99, "[1, 1, 1, 1, 1, 1, ...]"), (1j, "1j")],
)
def test_what_is_no_number_or_a_strange_one_is_told_as_it_is(given, said):
    assert f"gives {said}," in repr(ask(lambda x: given, {1: 6}))
