"""A launch that is timed computes: kernels that remember, look, or leave out, at the size that is timed only."""

import numpy as np
import pytest

from helpers import cuda_kernel, measure, opencl_kernel
from helpers.clock import timing
from helpers.clock.fresh import Fresh, unlikely
from helpers.judge import error_bound
from helpers.launch import HostKernel, KernelError, draw

SHAPE = (160, 48, 96)
COALESCED = opencl_kernel("coalesced").source
ACC, STORE, TERM = "float acc = 0.0f;", "C[row * N + col] = acc;", "acc += A[row * K + k] * B[k * N + col];"
BEHIND = "__global float *mine = (__global float *)A + M * K + row * N + col;"
SPOILS = "writes to A or B, or behind them; it may write to C only"
# What a kernel does at that size only, and what is said: (what is replaced, by what, in the words of the refusal).
CHEATS = {
    "looks at a number of C and leaves its neighbours": (
        ACC,
        """if (C[row * N + col] == C[row * N + col]) {
            float first = 0.0f;
            for (int k = 0; k < K; k++) first += A[row * K + k] * B[k * N + col / 8 * 8];
            if (fabs(C[row * N + col / 8 * 8] - first) < 1e-4f) return;
        } float acc = 0.0f;""",
        "looks at some numbers of C, and leaves the others as they are where those are right",
    ),
    "keeps its result behind A": (
        STORE,
        f"{{ {BEHIND} if (*mine == *mine) acc = *mine; else *mine = acc; }} {STORE}",
        SPOILS,
    ),
    "counts its launches in A": (STORE, f"((__global float *)A)[row * K] = 1.0f; {STORE}", SPOILS),
    "sums half of K": ("k < K; k++", "k < K / 2; k++", "gives wrong numbers"),
    "takes half of the digits": (
        TERM,
        "acc += as_float(as_uint(A[row * K + k]) & 0xffffe000) * as_float(as_uint(B[k * N + col]) & 0xffffe000);",
        "gives wrong numbers",
    ),
    "computes one row of eight": (ACC, f"if (row % 8) return; {ACC}", "gives wrong numbers"),
    "computes two launches of three": (ACC, f"if (fabs(A[0]) < 0.33f) return; {ACC}", "gives wrong numbers"),
}


def own(source=COALESCED):
    """As `check` lets it pass, which tries other sizes."""
    k = opencl_kernel(source + "\n", like="coalesced", BM=4, BN=8)
    k.checked = True
    return k


@pytest.fixture
def brief(monkeypatch):
    for name in ("IDLE_SECONDS", "LONG_ENOUGH"):
        monkeypatch.setattr(timing, name, 0.0)


@pytest.mark.parametrize("name", CHEATS)
def test_a_kernel_that_does_not_compute_at_each_timed_launch_has_no_time(brief, monkeypatch, name):
    monkeypatch.setattr(timing, "REPEATS", 30)  # so that each of them meets the numbers that it waits for
    old, new, said = CHEATS[name]
    assert old in COALESCED
    said = rf"launched like coalesced\) {said}: seen where it is timed, at 160 x 48 x 96 \(M x N x K\)\.$"
    with pytest.raises(KernelError, match=said):
        measure(Fresh(own(COALESCED.replace(old, new))), SHAPE)


def test_a_right_kernel_is_timed_as_itself(brief):
    launches, k = [], own()
    found = measure(Fresh(k, lambda: launches.append(1)), SHAPE)
    assert len(launches) == 2 + timing.REPEATS  # two to get ready
    assert found.seconds > 0 and found.gflops > 0
    assert (found.step, found.dialect, found.parameters) == (k.step, k.dialect, k.parameters)
    assert str(Fresh(k)) == str(k) and Fresh(k).fitted(*SHAPE).k is k
    with pytest.raises(KernelError, match="has not passed a check"):
        measure(Fresh(opencl_kernel(COALESCED + "\n", like="coalesced", BM=4, BN=8)), SHAPE)


def test_each_launch_has_operands_of_its_own_and_a_batch_is_one_launch(brief):
    met = []
    work = Fresh(HostKernel(lambda A, B: met.append((A[0, 0], B[0, 0])) or A @ B)).upload(*draw(*SHAPE))
    assert work.timed(1000) > 0 and work.launch() > 0
    assert work.download().shape == SHAPE[:2] and len(set(met)) == 2 == len({B for _, B in met})


def test_only_what_a_learner_wrote_is_compared(brief):
    assert measure(Fresh(HostKernel(lambda A, B: np.zeros((len(A), B.shape[1]), np.float32))), SHAPE).seconds > 0


def test_drawn_numbers_lie_far_within_the_likely_bound_and_cut_ones_outside():
    A, B = draw(64, 64, 512)
    cut = [(X.view(np.uint32) & 0xFFFFE000).view(np.float32) for X in (A, B)]
    assert not unlikely(A @ B, A, B).any() and unlikely(cut[0] @ cut[1], A, B).any()
    A, B = draw(8, 8, 2)
    assert not unlikely(A @ B, A, B).any() and unlikely(np.full((8, 8), np.nan, np.float32), A, B).all()


def test_a_product_of_few_terms_has_the_textbook_bound_and_one_of_zeros_none():
    A, B = np.ones((1, 2), np.float32), np.ones((2, 1), np.float32)
    bound = error_bound(A, B)
    assert not unlikely(A @ B + 0.9 * bound, A, B).any() and unlikely(A @ B + 1.1 * bound, A, B).all()
    assert not unlikely(0 * (A @ B), 0 * A, B).any()


class Learners(HostKernel):
    """Right, and notes what it finds in C."""

    own = True

    def __init__(self):
        super().__init__(np.matmul)
        self.found = []

    def upload(self, A, B, fill=np.nan):
        self.found.append(fill)
        work = super().upload(A, B)
        work.left_alone = lambda A, B: True
        return work


def test_the_last_launch_finds_a_c_that_is_right_but_for_some_numbers(brief):
    for shape, few in (((2, 2, 3), 4), ((64, 64, 8), 64 * 64 // 16)):
        for _ in range(20):
            work = Fresh(k := Learners()).upload(*draw(*shape))
            work.timed(1)
            C = work.download()
            wrong = k.found[-1][k.found[-1] != C]
            assert np.isnan(k.found[0]) and 0 < len(wrong) <= few and np.isfinite(wrong).all()


@pytest.mark.parametrize("build", [opencl_kernel, cuda_kernel])
def test_whoever_writes_to_an_operand_or_behind_it_is_seen(build):
    A, B = draw(5, 6, 7)
    work = build("naive").upload(A, B)
    work.launch()
    assert work.left_alone(A, B)
    for X in (A, B):
        was, X[-1, -1] = X[-1, -1], 3.0
        assert not work.left_alone(A, B)
        X[-1, -1] = was
