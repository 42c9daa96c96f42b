"""Exercises whose answer is a function of numbers: slips are caught every time, other styles are right."""

import dataclasses
import itertools
import math
import random
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from helpers import cuda_kernel
from helpers.clock.contests import verdict_on
from helpers.exercises import check_answer
from helpers.exercises.questions import ANSWERS
from helpers.instruments import GPUS, gpu_like, predict
from helpers.ladder import ceil_div

TIMES = 8  # verdicts on each wrong answer, and on each right one


def tiled_on(gpu, size=2048, step="tiled", **parameters):
    return predict(cuda_kernel(step, **parameters or {"TILE": 32}), gpu, size, size, size)


def on_a_card(gpu, **product):
    return tiled_on(gpu, **product).gflops


def count_in_loops(M, N, K):
    return sum(1 for _ in itertools.product(range(M), range(N), range(K)))


def sectors_by_bytes(stride):
    return len({byte // 32 for i in range(32) for byte in range(4 * i * stride, 4 * i * stride + 4)})


def sectors_in_turn(stride):
    found, last = 0, None
    for i in range(32):
        found, last = found + (4 * i * stride // 32 != last), 4 * i * stride // 32
    return found


def side_by_counting(registers):
    side = 1
    while side * side + 2 * side <= registers:
        side += 1
    return side - 1


def blocks_by_counting(registers, warps):
    blocks, warp = 0, 256 * math.ceil(registers / 8)
    while (blocks + 1) * warps * warp <= 65536:
        blocks += 1
    return blocks


def fits_in_steps(BM, BN, BK, TM, TN):
    if (BM // TM) * (BN // TN) > 1024:
        return False
    floats = 2 * BK * (BM + 4) + 2 * BK * BN
    return floats * 4 <= 48 * 1024


def waiting_in_steps(work, latency, blocks, early):
    wait = latency - work if early else latency
    if wait <= 0:
        return 0
    return math.prod([wait / (work + wait)] * blocks)


def instructions_in_turn(columns, lanes):
    count = 0
    while columns >= lanes:
        columns, count = columns - lanes, count + 1
    return count + columns


def ahead_in_turn(mine, theirs):
    rounds = 0
    while rounds < len(mine) and theirs[rounds] > 1.05 * mine[rounds]:
        rounds += 1
    return rounds == len(mine) and rounds >= 9


def seconds_with_if(M, N, K, flops, bandwidth):
    intensity = M * N * K / (2 * (M * K + K * N + M * N))
    return 2 * M * N * K / flops if intensity > flops / bandwidth else (M * K + K * N + M * N) * 4 / bandwidth


def summa_in_steps(n, side, panels, flops, latency, bandwidth):
    mine = n // side
    rows_of_A = 4 * mine * (n - mine)
    hops = 2 * math.log(side, 2)
    return 2 * mine * mine * n / flops + panels * round(hops) * latency + (rows_of_A + rows_of_A) / bandwidth


def summa_of(**changed):
    """`summa_seconds` with one piece changed."""

    def answer(n, side, panels, flops, latency, bandwidth):
        piece = dict(flop=2 * n**3, ranks=side**2, hops=2 * math.log2(side), bytes=8 * n * n * (side - 1) / side**2)
        piece |= {name: change(n, side, panels) for name, change in changed.items()}
        return piece["flop"] / piece["ranks"] / flops + panels * piece["hops"] * latency + piece["bytes"] / bandwidth

    return answer


def leads_by_pairs(*ends):
    entries = list(itertools.batched(ends, 2)) if hasattr(itertools, "batched") else [ends[:2], ends[2:4], ends[4:]]
    return len([1 for _, high in entries if not any(low > high for low, _ in entries)])


def leads_by_places(a_low, a_high, b_low, b_high, c_low, c_high):
    may = (a_high >= b_low and a_high >= c_low) + (b_high >= a_low and b_high >= c_low)
    return may + (c_high >= a_low and c_high >= b_low)


def digits_by_halving(share):
    u, digits = 1.0, 0
    while (1 + u) ** 2 - 1 > share:
        u, digits = u / 2, digits + 1
    return digits


RIGHT = {
    "multiply_adds": [
        count_in_loops,
        lambda M, N, K: int(np.prod([M, N, K])),
        lambda M, N, K: float(K * (M * N)),
    ],
    "size_at_the_ridge": [
        lambda ridge: 6 * Fraction(ridge),
        lambda ridge: 6 * Decimal(ridge),
        lambda ridge: np.float64(ridge) / (2 / 12),
    ],
    "sectors": [sectors_by_bytes, sectors_in_turn, lambda stride: min(32, max(1, 4 * stride))],
    "summa_seconds": [
        summa_in_steps,
        summa_of(),
        summa_of(bytes=lambda n, side, panels: 2 * 4 * (n / side) * (n - n / side)),
    ],
    "may_lead": [leads_by_pairs, leads_by_places, lambda *e: sum(high >= max(e[0], e[2], e[4]) for high in e[1::2])],
    "fewest_digits": [
        digits_by_halving,
        lambda share: max(1, math.ceil(-math.log2(math.sqrt(1 + share) - 1) - 1e-9)),
        lambda share: min(p for p in range(1, 54) if 2 * 2**-p + 2 ** (-2 * p) <= share),
    ],
    "shared_words": [
        lambda WM, WN, held: (1 / WM + 1 / WN) / held,
        lambda WM, WN, held: 8 * (WM + WN) / (WM * WN * 8 * held),
        lambda WM, WN, held: Fraction(WM + WN, WM * WN * held),
    ],
    "wide_requests": [
        lambda M, N, K, BM, BN, size: size * K * (M * N // BN + N * M // BM) / 512,
        lambda M, N, K, BM, BN, size: (M // BM) * (N // BN) * (K * BM + K * BN) * size / 16 / 32,
        lambda M, N, K, BM, BN, size: M * N * K * size * (1 / BM + 1 / BN) / 512,
    ],
    "largest_side": [
        side_by_counting,
        lambda registers: int(math.sqrt(registers + 1)) - 1,
        lambda registers: max(s for s in range(registers) if s * s + 2 * s <= registers),
    ],
    "blocks_by_registers": [
        blocks_by_counting,
        lambda registers, warps: 65536 // ((32 * registers + 255) // 256 * 256) // warps,
        lambda registers, warps: math.floor(65536 / (math.ceil(registers / 8) * 256 * warps)),
    ],
    "busiest": [
        lambda f, r, i, fl, ll: max(32 * f / fl, 32 * r / ll, i / 4),
        lambda f, r, i, fl, ll: sorted([f / (fl / 32), r / (ll / 32), 0.25 * i])[-1],
        lambda f, r, i, fl, ll: np.max([np.float64(32 * f) / fl, 32 * r / ll, i / 4]),
    ],
    "idle": [
        lambda work, wait, blocks: (wait / (work + wait)) ** blocks,
        lambda work, wait, blocks: math.prod([wait / (work + wait)] * blocks),
        lambda work, wait, blocks: (1 - work / (work + wait)) ** blocks,
    ],
    "on_my_card": [
        lambda sms, clock: on_a_card(gpu_like("RTX 4090", sms=sms, clock=clock)),
        lambda sms, clock: on_a_card(dataclasses.replace(GPUS["RTX 4090"], sms=sms, clock=clock)),
        lambda sms, clock: 2 * 2048**3 / 1e9 / tiled_on(gpu_like("4090", clock=clock, sms=sms)).seconds,
    ],
    "fits": [
        fits_in_steps,
        lambda BM, BN, BK, TM, TN: int(
            (BM // TM) * (BN // TN) <= 1024 and BK * (2 * BM + 8 + 2 * BN) * np.float32(0).nbytes <= 49152
        ),
        lambda BM, BN, BK, TM, TN: not ((BM // TM) * (BN // TN) > 1024 or BK * (BM + BN + 4) > 6144),
    ],
    "fewest_sums": [
        lambda cycles, starts: sum(starts for _ in range(cycles)),
        lambda cycles, starts: starts * cycles / 1,
        lambda cycles, starts: len([None for _ in range(cycles) for _ in range(starts)]),
    ],
    "waiting": [
        waiting_in_steps,
        lambda work, latency, blocks, early: (1 - work / max(work, latency + work * (not early))) ** blocks,
        lambda work, latency, blocks, early: math.pow(
            max(latency - early * work, 0) / (work + max(latency - early * work, 0)), blocks
        ),
    ],
    "lucky": [
        lambda kernels, rounds: kernels * 0.5**rounds,
        lambda kernels, rounds: Fraction(kernels, 1 << rounds),
        lambda kernels, rounds: math.prod([kernels] + [1 / 2] * rounds),
    ],
    "instructions": [
        instructions_in_turn,
        lambda columns, lanes: sum(divmod(columns, lanes)),
        lambda columns, lanes: columns - (lanes - 1) * (columns // lanes),
    ],
    "ahead": [
        ahead_in_turn,
        lambda mine, theirs: len(theirs) > 8 and min(np.array(theirs) / np.array(mine)) > 1.05,
        lambda mine, theirs: int(
            len([a for a, b in zip(mine, theirs, strict=True) if b > 1.05 * a]) == max(len(mine), 9)
        ),
    ],
    "greatest_share": [
        lambda M, N, K, flops, bandwidth: 2 * M * N * K / flops / seconds_with_if(M, N, K, flops, bandwidth),
        lambda M, N, K, flops, bandwidth: min(1, M * N * K / (2 * (M * K + K * N + M * N)) * bandwidth / flops),
        lambda M, N, K, flops, bandwidth: (
            2 * M * N * K / np.maximum(2 * M * N * K, 4 * (M * K + K * N + M * N) * (flops / bandwidth))
        ),
    ],
    "least_seconds": [
        seconds_with_if,
        lambda M, N, K, flops, bandwidth: sorted([2 * M * N * K / flops, 4 * (M * K + K * N + M * N) / bandwidth])[1],
        lambda M, N, K, flops, bandwidth: np.maximum(
            2 * (M * N * K) / flops, sum((M * K, K * N, M * N)) / (bandwidth / 4)
        ),
    ],
}


def blocks(registers, warps, piece=256, all=65536, most=10**9):
    return min(most, all // (ceil_div(32 * registers, piece) * piece * warps))


def fit(threads, shared):
    return lambda BM, BN, BK, TM, TN: threads(BM, BN, TM, TN) and shared(BM, BN, BK)


def threads(BM, BN, TM, TN):
    return BM // TM * (BN // TN) <= 1024


def shared(BM, BN, BK, extra=4, limit=49152, each=8):
    return each * BK * (BM + extra + BN) <= limit


def wait_for(left, share=lambda work, wait: wait / (work + wait), both=lambda share, blocks: share**blocks):
    """`waiting` with one piece changed."""
    return lambda work, latency, blocks, early: both(share(work, left(work, latency, early)), blocks)


def left(work, latency, early):
    return max(0, latency - work) if early else latency


def leads(says, rounds=9):
    """`ahead` by another rule for the ratios of enough rounds."""
    return lambda mine, theirs: (
        len(mine) >= rounds and bool(says([b / a for a, b in zip(mine, theirs, strict=True)], mine, theirs))
    )


def every_round(ratios, *_):
    return min(ratios) > 1.05


def seconds(flop=lambda M, N, K: 2 * M * N * K, numbers=lambda M, N, K: M * K + K * N + M * N, each=4, both=max):
    """`least_seconds` with one piece changed."""
    return lambda M, N, K, flops, bandwidth: both(flop(M, N, K) / flops, each * numbers(M, N, K) / bandwidth)


WRONG = {
    "multiply_adds": [
        lambda M, N, K: M * N,
        lambda M, N, K: 2 * M * N * K,
        lambda M, N, K: M * N * (K - 1),
        lambda M, N, K: M * K * K * N,
        lambda M, N, K: M**3,
        lambda M, N, K: M * K + K * N,
        lambda M, N, K: M * N * K + M * N,
        lambda M, N, K: M * N * min(K, 7),
        lambda M, N, K: M * N * max(M, N, K),
        lambda M, N, K: None,
    ],
    "size_at_the_ridge": [
        lambda ridge: int(6 * ridge),
        lambda ridge: 6 * int(ridge),
        lambda ridge: 3 * ridge,
        lambda ridge: ridge / 6,
        lambda ridge: math.sqrt(6 * ridge),
        lambda ridge: 6 * round(Decimal(ridge), 1),
        lambda ridge: Decimal("NaN"),
        lambda ridge: 6.000001 * ridge,
        lambda ridge: 5.999999 * ridge,
        lambda ridge: min(6 * ridge, 1024),
    ],
    "sectors": [
        lambda stride: 32 if stride > 4 else max(1, 4 * stride),
        lambda stride: {0: 1, 1: 4, 2: 8, 4: 16}.get(stride, 32),
        lambda stride: max(1, 4 * stride),
        lambda stride: len({stride * i // 32 for i in range(32)}),
        lambda stride: len({4 * stride * i // 32 for i in range(31)}),
        lambda stride: len({4 * stride * i // 32 for i in range(33)}),
        lambda stride: 4 * stride * 31 // 32 + 1,
        lambda stride: min(32, 2 ** math.ceil(math.log2(4 * stride))) if stride else 1,
        lambda stride: min(32, math.ceil(31 * 4 * stride / 32)),
        lambda stride: len({4 * i * stride % 32 for i in range(32)}),
    ],
    "summa_seconds": [
        summa_of(flop=lambda n, side, panels: n**3),
        summa_of(ranks=lambda n, side, panels: side),
        summa_of(hops=lambda n, side, panels: math.log2(side)),
        summa_of(hops=lambda n, side, panels: 2 * side),
        summa_of(hops=lambda n, side, panels: 2 * math.log2(side) / panels),
        summa_of(hops=lambda n, side, panels: 2 * math.log(side)),
        summa_of(bytes=lambda n, side, panels: 4 * n * n * (side - 1) / side**2),
        summa_of(bytes=lambda n, side, panels: 8 * n * n / side**2),
        summa_of(bytes=lambda n, side, panels: 8 * n * n * (side - 1) / side),
        lambda n, side, panels, flops, latency, bandwidth: 2 * n**3 / side**2 / flops,
    ],
    "may_lead": [
        lambda *ends: 1,
        lambda *ends: sum(high >= ends[0] for high in ends[1::2]),
        lambda *ends: sum(high >= 1 for high in ends[1::2]),
        lambda *ends: sum(low >= max(ends[::2]) for low in ends[::2]),
        lambda *ends: sum(high >= max(ends[1::2]) for high in ends[1::2]),
        lambda *ends: sum(high >= min(ends[::2]) for high in ends[1::2]),
        lambda *ends: 1 + (ends[3] >= ends[0]) + (ends[3] >= ends[0] and ends[5] >= ends[2]),
        lambda *ends: 1 + (ends[3] >= ends[0]),
        lambda *ends: sum(low <= max(ends[1::2]) for low in ends[::2]),
        lambda *ends: max(ends[::2]),
    ],
    "fewest_digits": [
        lambda share: math.ceil(-math.log2(share)),
        lambda share: math.ceil(1 - math.log2(share)),
        lambda share: math.floor(1 - math.log2(share)),
        lambda share: 1 - math.log2(share),
        lambda share: digits_by_halving(share) + 1,
        lambda share: digits_by_halving(share) - 1,
        lambda share: min(digits_by_halving(share), 24),
        lambda share: max(digits_by_halving(share), 8),
        lambda share: math.ceil(-math.log2(share / 4)),
        lambda share: digits_by_halving(share / 2),
    ],
    "shared_words": [
        lambda WM, WN, held: (WM + WN) / (WM * WN),
        lambda WM, WN, held: (WM + WN) * held / (WM * WN),
        lambda WM, WN, held: 8 * (WM + WN) / (WM * WN * held),
        lambda WM, WN, held: (WM + WN) / (WM * WN * held * 8),
        lambda WM, WN, held: 2 / (WM * held),
        lambda WM, WN, held: 2 / (WN * held),
        lambda WM, WN, held: 1 / (WM * WN * held),
        lambda WM, WN, held: 2 * (WM + WN) / (WM * WN * held),
        lambda WM, WN, held: 2 / (math.sqrt(WM * WN) * held),
        lambda WM, WN, held: round((WM + WN) / (WM * WN * held), 3),
    ],
    "wide_requests": [
        lambda M, N, K, BM, BN, size: (M * K + K * N) * size / 512,
        lambda M, N, K, BM, BN, size: (M * K * (M // BM) + K * N * (N // BN)) * size / 512,
        lambda M, N, K, BM, BN, size: (M * K * (N // BN) + K * N * (M // BM)) * size / 16,
        lambda M, N, K, BM, BN, size: (M * K * (N // BN) + K * N * (M // BM)) * size / 128,
        lambda M, N, K, BM, BN, size: (M * K * (N // BN) + K * N * (M // BM)) / 128,
        lambda M, N, K, BM, BN, size: (M * K * (N // BN) + K * N * (M // BM)) * size,
        lambda M, N, K, BM, BN, size: M * K * (N // BN) * size / 512,
        lambda M, N, K, BM, BN, size: K * N * (M // BM) * size / 512,
        lambda M, N, K, BM, BN, size: (BM * K + K * BN) * size / 512,
        lambda M, N, K, BM, BN, size: (M * K * (N // BN) + K * N * (M // BM) + M * N) * size / 512,
    ],
    "largest_side": [
        lambda registers: math.isqrt(registers),
        lambda registers: math.isqrt(registers) - 1,
        lambda registers: math.isqrt(registers + 1),
        lambda registers: math.sqrt(registers + 1) - 1,
        lambda registers: math.ceil(math.sqrt(registers + 1)) - 1,
        lambda registers: max(s for s in range(registers) if s * s + s <= registers),
        lambda registers: max(s for s in range(registers) if s * s + 2 * s < registers),
        lambda registers: max(s for s in range(registers) if s * s + 2 * s + 1 <= registers),
        lambda registers: max(s for s in (1, 2, 4, 8, 16) if s * s + 2 * s <= registers),
        lambda registers: min(10, math.isqrt(registers + 1) - 1),
    ],
    "blocks_by_registers": [
        lambda registers, warps: blocks(registers, warps, most=64 // warps),
        lambda registers, warps: blocks(registers, warps, piece=1),
        lambda registers, warps: blocks(registers, warps, all=65535),
        lambda registers, warps: blocks(registers, 32 * warps),
        lambda registers, warps: blocks(registers, 1),
        lambda registers, warps: 65536 // max(1, 32 * registers // 256 * 256 * warps),
        lambda registers, warps: 65536 // (ceil_div(32 * registers * warps, 256) * 256),
        lambda registers, warps: ceil_div(65536, ceil_div(32 * registers, 256) * 256 * warps),
        lambda registers, warps: 65536 // ((32 * registers // 256 + 1) * 256 * warps),
        lambda registers, warps: max(1, blocks(registers, warps)),
    ],
    "busiest": [
        lambda f, r, i, fl, ll: 32 * f / fl + 32 * r / ll + i / 4,
        lambda f, r, i, fl, ll: min(32 * f / fl, 32 * r / ll, i / 4),
        lambda f, r, i, fl, ll: max(f / fl, r / ll, i / 4),
        lambda f, r, i, fl, ll: max(32 * f / fl, r * 2, i / 4),
        lambda f, r, i, fl, ll: max(32 * f / 128, 32 * r / ll, i / 4),
        lambda f, r, i, fl, ll: max(32 * f // fl, 32 * r // ll, i // 4),
        lambda f, r, i, fl, ll: math.ceil(max(32 * f / fl, 32 * r / ll, i / 4)),
        lambda f, r, i, fl, ll: max(32 * f / fl, 32 * r / ll),
        lambda f, r, i, fl, ll: max(32 * f / fl, i / 4),
        lambda f, r, i, fl, ll: max(32 * r / ll, i / 4),
    ],
    "idle": [
        lambda work, wait, blocks: wait / (work + wait),
        lambda work, wait, blocks: wait / (work + wait) / blocks,
        lambda work, wait, blocks: (wait / work) ** blocks,
        lambda work, wait, blocks: (work / (work + wait)) ** blocks,
        lambda work, wait, blocks: 1 - (work / (work + wait)) ** blocks,
        lambda work, wait, blocks: 1 - (wait / (work + wait)) ** blocks,
        lambda work, wait, blocks: wait / (work + wait) ** blocks,
        lambda work, wait, blocks: (wait / (work + wait)) ** (blocks - 1),
        lambda work, wait, blocks: wait / (blocks * work + wait),
        lambda work, wait, blocks: round((wait / (work + wait)) ** blocks, 3),
    ],
    "on_my_card": [
        lambda sms, clock: on_a_card(GPUS["RTX 4090"]),
        lambda sms, clock: on_a_card(gpu_like("RTX 4090", sms=sms)),
        lambda sms, clock: on_a_card(gpu_like("RTX 4090", clock=clock)),
        lambda sms, clock: on_a_card(gpu_like("RTX 4080", sms=sms, clock=clock)),
        lambda sms, clock: on_a_card(gpu_like("RTX 4090", sms=sms, clock=clock), size=4096),
        lambda sms, clock: on_a_card(gpu_like("RTX 4090", sms=clock, clock=sms)),
        lambda sms, clock: tiled_on(gpu_like("RTX 4090", sms=sms, clock=clock)).seconds,
        lambda sms, clock: tiled_on(gpu_like("RTX 4090", sms=sms, clock=clock)),
        lambda sms, clock: on_a_card(GPUS["RTX 4090"]) * sms / 128 * clock / 2.52e9,
        lambda sms, clock: gpu_like("RTX 4090", sms=sms, clock=clock).flops_per_s / 1e9,
    ],
    "fits": [
        lambda BM, BN, BK, TM, TN: TM * TN <= 64 and fits_in_steps(BM, BN, BK, TM, TN),  # a rule that nobody gave
        fit(threads, lambda BM, BN, BK: shared(BM, BN, BK, limit=49151)),
        fit(threads, lambda BM, BN, BK: 8 * (BK * (BM + BN) + 4) <= 49152),
        fit(threads, lambda BM, BN, BK: True),
        fit(lambda BM, BN, TM, TN: True, shared),
        fit(lambda BM, BN, TM, TN: BM // TM * (BN // TN) < 1024, shared),
        fit(lambda BM, BN, TM, TN: BM // TM <= 32 and BN // TN <= 32, shared),
        lambda BM, BN, BK, TM, TN: threads(BM, BN, TM, TN) or shared(BM, BN, BK),
    ],
    "fewest_sums": [
        lambda cycles, starts: cycles,
        lambda cycles, starts: max(cycles, starts),
        lambda cycles, starts: cycles * starts - 1,
        lambda cycles, starts: cycles * starts + 1,
        lambda cycles, starts: cycles**starts,
        lambda cycles, starts: cycles << (starts - 1),
        lambda cycles, starts: math.ceil(cycles / starts),
        lambda cycles, starts: math.lcm(cycles, starts),
        lambda cycles, starts: min(cycles * starts, 12),
        lambda cycles, starts: (cycles - 1) * starts + 1,
    ],
    "waiting": [
        wait_for(lambda work, latency, early: latency),
        wait_for(lambda work, latency, early: max(0, latency - work)),
        wait_for(lambda work, latency, early: 0 if early else latency),
        wait_for(lambda work, latency, early: abs(latency - work) if early else latency),
        wait_for(lambda work, latency, early: max(0, latency - work) if early else latency + work),
        wait_for(left, share=lambda work, wait: wait / work),
        wait_for(left, share=lambda work, wait: work / (work + wait)),
        wait_for(left, both=lambda share, blocks: share / blocks),
        wait_for(left, both=lambda share, blocks: share),
        wait_for(left, both=lambda share, blocks: share ** (blocks - 1)),
    ],
    "lucky": [
        lambda kernels, rounds: kernels // 2**rounds,
        lambda kernels, rounds: kernels / 2 / rounds,
        lambda kernels, rounds: kernels / rounds**2,
        lambda kernels, rounds: kernels / 2 ** (rounds - 1),
        lambda kernels, rounds: 1 / 2**rounds,
        lambda kernels, rounds: kernels * (1 - 1 / 2**rounds),
        lambda kernels, rounds: min(1, kernels / 2**rounds),
        lambda kernels, rounds: round(kernels / 2**rounds),
        lambda kernels, rounds: 1 - (1 - 1 / 2**rounds) ** kernels,
        lambda kernels, rounds: kernels * 2**rounds,
    ],
    "instructions": [
        lambda columns, lanes: columns // lanes,
        lambda columns, lanes: ceil_div(columns, lanes),
        lambda columns, lanes: columns / lanes,
        lambda columns, lanes: columns % lanes,
        lambda columns, lanes: max(1, columns // lanes),
        lambda columns, lanes: columns // lanes + bool(columns % lanes),
        lambda columns, lanes: columns // lanes * lanes + columns % lanes,
        lambda columns, lanes: columns if columns < lanes else ceil_div(columns, lanes),
        lambda columns, lanes: columns,
        lambda columns, lanes: columns // 16 + columns % 16,
    ],
    "ahead": [
        leads(every_round, rounds=1),
        leads(every_round, rounds=10),
        leads(lambda ratios, *_: min(ratios) > 1),
        leads(lambda ratios, *_: np.median(ratios) > 1.05),
        leads(lambda ratios, *_: np.mean(ratios) > 1.05),
        leads(lambda ratios, *_: max(ratios) < 1 / 1.05),
        leads(lambda ratios, *_: sum(ratio > 1.05 for ratio in ratios) >= 8),
        leads(lambda _, mine, theirs: min(theirs) > 1.05 * min(mine)),
        leads(lambda _, mine, theirs: np.median(theirs) > 1.05 * np.median(mine)),
        leads(lambda _, mine, theirs: all(b > 1.05 * a for a, b in zip(sorted(mine), sorted(theirs), strict=True))),
    ],
    "greatest_share": [
        lambda M, N, K, flops, bandwidth: 1,
        lambda M, N, K, flops, bandwidth: M * N * K / (2 * (M * K + K * N + M * N)) * bandwidth / flops,
        lambda M, N, K, flops, bandwidth: min(1, M * N * K / (M * K + K * N + M * N) * bandwidth / flops),
        lambda M, N, K, flops, bandwidth: min(1, M * N * K / (4 * (M * K + K * N + M * N)) * bandwidth / flops),
        lambda M, N, K, flops, bandwidth: min(1, 2 * M * N * K / (M * K + K * N + M * N) * bandwidth / flops),
        lambda M, N, K, flops, bandwidth: min(1, M * N * K / (2 * (M * K + K * N)) * bandwidth / flops),
        lambda M, N, K, flops, bandwidth: min(1, max(M, N, K) / 6 * bandwidth / flops),
        lambda M, N, K, flops, bandwidth: min(1, 2 * (M * K + K * N + M * N) / (M * N * K) * flops / bandwidth),
        lambda M, N, K, flops, bandwidth: max(1, 2 * (M * K + K * N + M * N) / (M * N * K) * flops / bandwidth),
        lambda M, N, K, flops, bandwidth: (
            2 * M * N * K / flops / (2 * M * N * K / flops + 4 * (M * K + K * N + M * N) / bandwidth)
        ),
    ],
    "least_seconds": [
        seconds(both=min),
        seconds(both=lambda a, b: a + b),
        seconds(both=lambda a, b: b),
        seconds(each=8),
        seconds(each=1),
        seconds(flop=lambda M, N, K: M * N * K),
        seconds(flop=lambda M, N, K: 2 * M * N * (K - 1)),
        seconds(numbers=lambda M, N, K: M * K + K * N),
        seconds(numbers=lambda M, N, K: M * K + K * N + N * N),
        lambda M, N, K, flops, bandwidth: 1000 * seconds()(M, N, K, flops, bandwidth),
    ],
}


def of_each(answers):
    return [pytest.param(name, answer, id=f"{name}-{i}") for name in answers for i, answer in enumerate(answers[name])]


def test_each_exercise_has_five_wrong_answers_and_three_right_ones():
    for answers, what in ((RIGHT, "right"), (WRONG, "wrong")):
        assert set(answers) == set(ANSWERS), f"{what} answers are missing, or too many: {set(answers) ^ set(ANSWERS)}"
    assert min(map(len, WRONG.values())) >= 5 and min(map(len, RIGHT.values())) >= 3


@pytest.mark.parametrize("name, answer", of_each(WRONG))
def test_a_wrong_answer_is_caught_every_time(name, answer):
    assert not any(check_answer(name, answer) for _ in range(TIMES))


@pytest.mark.parametrize("name, answer", of_each(RIGHT))
def test_a_right_answer_in_another_style_is_right_every_time(name, answer):
    for report in (check_answer(name, answer) for _ in range(TIMES)):
        assert report, report


@pytest.mark.parametrize("name", ANSWERS)
def test_a_table_of_the_cases_is_caught_every_time(name):
    question = ANSWERS[name]
    table = {case: question.right(*case) for case in question.cases}
    for other in {0, 1, *table.values()} - ({32} if name == "sectors" else set()):  # 32 is right from a stride of 8 on
        assert not any(check_answer(name, lambda *case, other=other: table.get(case, other)) for _ in range(TIMES))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_verdict_names_a_call_what_came_and_what_is_right(name):
    question = ANSWERS[name]
    table = {case: question.right(*case) for case in question.cases}

    def mine(*case):
        return table.get(case, 987)

    [finding] = check_answer(name, mine).findings
    case, right = re.fullmatch(r"mine\((.*)\) gives 987, and should give ([^:]*).*", finding.message).groups()
    assert question.right(*eval(f"({case},)")) == pytest.approx(eval(right))


@pytest.mark.parametrize("name, said", [(name, said) for name, question in ANSWERS.items() for said in question.slips])
def test_a_likely_slip_is_named_and_only_where_its_own_number_came(name, said):
    report = " ".join(repr(check_answer(name, ANSWERS[name].slips[said])).split())
    assert report.endswith(f". That is {said}.")
    other = repr(check_answer(name, lambda *case: 1.001 * ANSWERS[name].slips[said](*case)))
    assert "wrong number" in other and "That is" not in other


@pytest.mark.parametrize("name", ANSWERS)
def test_of_wrong_draws_the_one_with_the_smallest_numbers_is_told(name):
    question, asked = ANSWERS[name], []
    assert check_answer(name, lambda *case: asked.append(case) or question.right(*case))
    cases, drawn = asked[: len(question.cases)], asked[len(question.cases) :]
    assert cases == question.cases and drawn == sorted(drawn, key=np.sum)
    assert len(set(drawn)) > 20  # some exercises have few sensible cases


@pytest.mark.parametrize(
    "name, steps",
    [
        ("blocks_by_registers", "gives 0, and should give 8: a warp takes 1,024 registers, and a block has 8 warps."),
        ("busiest", "gives 0, and should give 2816: multiply-adds take 256 cycles, requests 2816, starts 832."),
        ("idle", "gives 0, and should give 0.5: one block waits 100 of its 200 cycles."),
        ("waiting", "gives 0, and should give 0.5: one block waits 100 of its 200 cycles."),
        ("fits", "gives 0, and should give True: that block has 256 threads and 33,280 bytes."),
    ],
)
def test_a_wrong_number_is_told_with_the_steps_to_the_right_one(name, steps):
    assert steps in " ".join(repr(check_answer(name, lambda *case: 0)).split())


def test_blocks_that_nearly_fill_shared_memory_lie_on_both_sides_of_the_limit():
    question, dice = ANSWERS["fits"], random.Random()
    drawn = [question.draw(dice) for _ in range(2000)]
    near = [case for case in drawn if case[3:] == (8, 1) and abs(6144 // case[2] - case[0] - 4 - case[1]) <= 5]
    assert len(near) > 100 and {question.right(*case) for case in near} == {True, False}


def test_ahead_is_what_a_comparison_calls_so():
    question, dice = ANSWERS["ahead"], random.Random()
    drawn = question.cases + [question.draw(dice) for _ in range(500)]
    said = [verdict_on([b / a for a, b in zip(*case, strict=True)]) == "ahead" for case in drawn]
    assert said == [question.right(*case) for case in drawn] and 100 < sum(said) < 400


@pytest.mark.parametrize("name", ANSWERS)
def test_each_exercise_knows_right_wrong_and_not_yet(name):
    right, cases = ANSWERS[name][:2]
    assert check_answer(name, right)
    assert not check_answer(name, lambda *case: right(*case) + 1)
    assert check_answer(name, lambda *case: np.asarray(right(*case))[()])  # a scalar of NumPy's is a number, too
    assert check_answer(name, lambda *case: np.array(right(*case)))
    raising = check_answer(name, lambda *case: 1 / 0)
    assert not raising and "ZeroDivisionError" in repr(raising)
    assert len(set(np.round([float(right(*case)) for case in cases], 12))) > 1  # a constant cannot pass


def with_pass(*case):
    pass


def with_docstring(*case):
    """What it is for."""


def forgets_return(*case):
    case[0] * 6


def forgets_after_print(*case):
    print(case)


@pytest.mark.parametrize("stub", [with_pass, with_docstring])
def test_only_the_placeholder_is_not_yet(stub):
    assert "not yet. It returns nothing so far." in repr(check_answer("size_at_the_ridge", stub))


@pytest.mark.parametrize("answer", [forgets_return, forgets_after_print, lambda *case: [].append(case)])
def test_an_answer_that_forgets_to_return_is_wrong(answer):
    report = repr(check_answer("size_at_the_ridge", answer))
    assert "returns nothing; it should give 6" in report and "not yet" not in report


@pytest.mark.parametrize(
    "given, said",
    [
        pytest.param(10**400, "gives a number of 1329 bits, and should give 1", id="large"),
        pytest.param(-(10**5000), "gives a number of 16610 bits, and should give 1", id="huge"),
        (math.nan, "gives nan, and should give 1"),
        (math.inf, "gives inf, and should give 1"),
        (1000001 / 10**6, "gives 1.000001, and should give 1"),
        ("1", "gives '1'; it should give a number"),
        ([1], "gives [1]; it should give a number"),
        ([1] * 99, "gives a list; it should give a number"),
        (1j, "gives 1j; it should give a number"),
        (np.ones(2), "it should give a number"),
        (..., "gives Ellipsis; it should give a number"),
    ],
)
def test_what_is_no_number_and_what_is_too_large_a_one_is_told(given, said):
    assert said in repr(check_answer("multiply_adds", lambda M, N, K: given))


def test_what_an_answer_prints_is_shown_for_the_cases_only(capsys):
    assert check_answer("multiply_adds", lambda M, N, K: print("looking") or M * N * K)
    assert capsys.readouterr().out.count("looking") == len(ANSWERS["multiply_adds"].cases)


def test_an_answer_that_ends_python_is_a_finding():
    assert "raises SystemExit: 3" in repr(check_answer("multiply_adds", lambda M, N, K: exit(3)))


def test_an_unknown_exercise_lists_the_exercises():
    with pytest.raises(ValueError, match="there are: multiply_adds"):
        check_answer("sector", len)
