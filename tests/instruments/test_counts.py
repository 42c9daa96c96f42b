"""What the ladder's kernels ask of a GPU: the file that keeps it says what compiler and PTX machine say now."""

import itertools
from collections import Counter

import pytest
from few import few
from needed import needs_compiler

from gpu_model.counts import from_row, to_row
from gpu_model.gpus import ARCHS
from gpu_model.published import SIZES
from helpers import cuda_kernel, ladder
from helpers.instruments.prediction import TRIED, as_step, count, counts_of, kept
from helpers.launch import KernelError

KERNELS = [(step, "GPU") for step in ladder.steps("CUDA")] + [(step, "published") for step in SIZES]
KERNELS += [(step, "tried") for step in TRIED]
# Each of them for one architecture, the next one in turn: a rung that has changed, and a compiler, show at any.
INPUTS = [(name, of) for name, step in ladder.STEPS.items() for of in step.inputs]
IN_TURN = [(*kernel, arch) for kernel, arch in zip(KERNELS, itertools.cycle(ARCHS))]
IN_TURN += [(*one, "sm_80") for one in INPUTS]


def least_exact(name, of):
    """(kernel, architectures) of a step that rounds its input to that type."""
    step = ladder.STEPS[name]
    archs = [arch for arch in ARCHS if (int(arch[3:-1]), int(arch[-1])) >= step.capability]
    return rung(name, of), archs


def rung(step, sizes):
    """A step at those sizes, or one that rounds its input to that type."""
    given = {"GPU": ladder.STEPS[step].defaults["GPU"], "published": SIZES.get(step), "tried": TRIED.get(step)}
    return cuda_kernel(step, **given.get(sizes) or ladder.STEPS[step].defaults["GPU"] | {"INPUT": sizes})


@needs_compiler
@pytest.mark.parametrize("step, sizes, arch", few(IN_TURN, IN_TURN[2]))
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


@pytest.mark.parametrize("name, of", INPUTS)
def test_what_is_kept_of_less_exact_steps_is_what_the_formulas_say(name, of):
    k, archs = least_exact(name, of)
    for arch in archs:
        counts = counts_of(k, arch)
        rows, columns, depth = counts.side
        assert counts.tile.matrix == {of: rows * columns * depth} and counts.tile.fma == 0
        asked = sum(size * many / 4 for (memory, _, size), many in counts.tile.requests.items() if memory == "shared")
        assert asked == pytest.approx(sum(ladder.STEPS[name].shared_accesses(k.parameters, rows, columns, depth)))


@needs_compiler
def test_odd_kernels_are_counted_as_their_machine_code_runs():
    """A step of three with a loop for the rest: each product is one FMA; and warps that are not full."""
    source = cuda_kernel("coalesced").source
    one_loop = source[source.index("        while k") : source.index("        C[row, col] = acc")]
    body = "".join(f"            acc += A[row, k + {n}] * B[k + {n}, col]\n" for n in range(3))
    by_three = source.replace(one_loop, f"        while k + 3 <= A.shape[1]:\n{body}            k += 3\n{one_loop}")
    counts = counts_of(cuda_kernel(by_three, like="coalesced", BM=8, BN=32), "sm_80")
    assert counts.tile.fma == 64 and counts.tile.integers < counts.tile.instructions
    assert counts.tile.requests == {("global", 1.0, 128.0): 128.0}
    one_warp = count(cuda_kernel("tiled", TILE=5), "sm_80")
    assert one_warp.tile.fma == 5
    assert min(one_warp.tile.requests.values()) > 0 and min(one_warp.once.requests.values()) > 0


@needs_compiler
def test_a_kernel_that_does_less_than_half_of_the_product_is_refused():
    source = cuda_kernel("coalesced").source.replace("while k < A.shape[1]:", "while k < A.shape[1] * 3 // 8:")
    with pytest.raises(KernelError, match="no product that the model knows"):
        count(cuda_kernel(source, like="coalesced", BM=8, BN=32), "sm_80")
