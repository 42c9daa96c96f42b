"""What the ladder's kernels ask of a GPU: the file that keeps it says what compiler and PTX machine say now."""

import itertools
from collections import Counter

import pytest
from few import few
from needed import needs_compiler

from gpu_model.counts import from_row, to_row
from gpu_model.gpus import ARCHS
from gpu_model.published import SIZES
from helpers import cuda_kernel, ladder, needs
from helpers.instruments.prediction import TRIED, as_step, count, counts_of, kept
from helpers.launch import KernelError

KERNELS = [(step, "GPU") for step in ladder.steps("CUDA")] + [(step, "published") for step in SIZES]
KERNELS += [(step, "tried") for step in TRIED]
# Each of them for one architecture, the next one in turn: a rung that has changed, and a compiler, show at any.
IN_TURN = [(*kernel, arch) for kernel, arch in zip(KERNELS, itertools.cycle(ARCHS))]
INPUTS = [(name, of) for name, step in ladder.STEPS.items() for of in step.inputs]


def least_exact(name, of):
    """(kernel, architectures) of a step that rounds its input to that type."""
    step = ladder.STEPS[name]
    archs = [arch for arch in ARCHS if (int(arch[3:-1]), int(arch[-1])) >= step.capability]
    return cuda_kernel(name, **step.defaults["GPU"] | {"INPUT": of}), archs


def rung(step, sizes):
    given = {"GPU": ladder.STEPS[step].defaults["GPU"], "published": SIZES.get(step), "tried": TRIED.get(step)}
    return cuda_kernel(step, **given[sizes])


@needs_compiler
@pytest.mark.parametrize("step, sizes, arch", few(IN_TURN, *IN_TURN[2:4]))
def test_what_is_kept_is_what_is_counted_now(step, sizes, arch):
    k = rung(step, sizes)
    counted = count(k, arch)
    assert counts_of(k, arch) == counted
    assert from_row(to_row(counted)) == counted


def test_nothing_is_kept_that_is_no_rung_and_every_rung_is():
    titles = {as_step(rung(step, sizes)) for step, sizes in KERNELS}
    keys = {(one, arch) for one in titles for arch in ARCHS}
    for k, archs in (least_exact(*one) for one in INPUTS):
        keys |= {(as_step(k), arch) for arch in archs}
    assert set(kept()) == keys


def test_the_counts_are_those_of_the_formulas():
    for step, sizes in KERNELS:
        k, counts = rung(step, sizes), counts_of(rung(step, sizes), "sm_80")
        rows, columns, depth = counts.side
        assert counts.tile.fma * 32 == rows * columns * depth
        asked = Counter()
        for (memory, _, size), many in counts.tile.requests.items():
            asked[memory] += size * many / 4
        reads, staged = ladder.STEPS[step].shared_accesses(k.parameters, rows, columns, depth)
        assert asked["shared"] == pytest.approx(reads + staged)
        assert asked["global"] == ladder.STEPS[step].global_loads(k.parameters, rows, columns, depth)
        stored = sum(size * many / 4 for (memory, _, size), many in counts.once.requests.items())
        assert stored == pytest.approx(rows * columns, rel=0.5 if step == "prefetched" else 0)
        assert (min(counts.trips) > 0.5) == (step == "prefetched")  # only it computes between asking and needing


@needs_compiler
@pytest.mark.parametrize("name, of", few(INPUTS, INPUTS[0]))
def test_what_is_kept_of_less_exact_steps_is_what_is_counted_now_and_what_the_formulas_say(name, of):
    k, archs = least_exact(name, of)
    for arch in archs:
        counts = counts_of(k, arch)
        rows, columns, depth = counts.side
        assert counts.tile.matrix == {of: rows * columns * depth} and counts.tile.fma == 0
        asked = sum(size * many / 4 for (memory, _, size), many in counts.tile.requests.items() if memory == "shared")
        assert asked == pytest.approx(sum(ladder.STEPS[name].shared_accesses(k.parameters, rows, columns, depth)))
    assert count(k, archs[0]) == counts_of(k, archs[0])


@needs_compiler
def test_a_kernel_of_ones_own_is_counted_now_and_needs_the_compiler(monkeypatch):
    source = cuda_kernel("coalesced").source.replace("acc += A[row, k] * B[k, col]", "acc += B[k, col] * A[row, k]")
    own = cuda_kernel(source, like="coalesced", BM=8, BN=32)
    counted = counts_of(own, "sm_80")
    assert counted.tile.requests == counts_of(cuda_kernel("coalesced", BM=8, BN=32), "sm_80").tile.requests
    monkeypatch.setattr("helpers.devices.has_compiler", lambda: False)
    with pytest.raises(needs.Missing, match="NVIDIA's compiler"):
        counts_of(own, "sm_80")


@needs_compiler
def test_a_kernel_that_does_less_than_half_of_the_product_is_refused():
    source = cuda_kernel("coalesced").source.replace("while k < A.shape[1]:", "while k < A.shape[1] * 3 // 8:")
    with pytest.raises(KernelError, match="no product that the model knows"):
        count(cuda_kernel(source, like="coalesced", BM=8, BN=32), "sm_80")


@needs_compiler
def test_odd_kernels_are_counted_as_their_machine_code_runs():
    """Two loops over k, one after the other, and a step of three with a loop for the rest: each product is one FMA."""
    source = cuda_kernel("coalesced").source
    one_loop = source[source.index("        while k") : source.index("        C[row, col] = acc")]
    two = source.replace(one_loop, one_loop.replace("A.shape[1]:", "A.shape[1] // 2:") + one_loop)
    body = "".join(f"            acc += A[row, k + {n}] * B[k + {n}, col]\n" for n in range(3))
    by_three = source.replace(one_loop, f"        while k + 3 <= A.shape[1]:\n{body}            k += 3\n{one_loop}")
    for text in (two, by_three):
        assert text != source
        counts = count(cuda_kernel(text, like="coalesced", BM=8, BN=32), "sm_80")
        assert counts.tile.fma == 64
        assert counts.tile.whole < counts.tile.instructions
        assert counts.tile.requests == {("global", 1.0, 128.0): 128.0}


@needs_compiler
def test_warps_that_are_not_full_count_as_whole_ones():
    counts = count(cuda_kernel("tiled", TILE=5), "sm_80")
    assert counts.tile.fma == 5  # one warp
    assert min(counts.tile.requests.values()) > 0 and min(counts.once.requests.values()) > 0
