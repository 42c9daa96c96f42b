"""What the ladder's kernels ask of a GPU: the file that keeps it says what compiler and PTX machine say now."""

from collections import Counter

import pytest
from few import few

import ptx_machine
from helpers import cuda_kernel, devices, ladder
from helpers.instruments.counts import Work, count, counts_of, fetches_ahead, from_row, joined, kept, mixed, to_row
from helpers.instruments.gpus import ARCHS
from helpers.instruments.published import SIZES
from helpers.launch import KernelError

needs_compiler = pytest.mark.skipif(
    not devices.nvidia_tool("ptxas"), reason="NVIDIA's compiler is not installed: pip install -e '.[cuda13]'"
)
KERNELS = [(step, sizes) for step in ladder.steps("CUDA") for sizes in ("GPU", "published")]


def rung(step, sizes):
    return cuda_kernel(step, **(ladder.STEPS[step].defaults["GPU"] if sizes == "GPU" else SIZES[step]))


@needs_compiler
@pytest.mark.parametrize("arch", few(ARCHS, "sm_86"))
@pytest.mark.parametrize(
    "step, sizes", few(KERNELS, ("tiled", "published"), ("register_1d", "published"), ("prefetched", "GPU"))
)
def test_what_is_kept_is_what_is_counted_now(step, sizes, arch):
    k = rung(step, sizes)
    counted = count(k, arch)
    assert counts_of(k, arch) == counted
    assert from_row(to_row(counted)) == counted


def test_nothing_is_kept_that_is_no_rung_and_every_rung_is():
    titles = {f"{step} with {ladder.spell(rung(step, sizes).parameters)}" for step, sizes in KERNELS}
    assert set(kept()) == {(title, arch) for title in titles for arch in ARCHS}


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
        assert counts.waits == (step not in ("naive", "coalesced", "prefetched"))


def one(line, memory, act, text="ld", many=4, pieces=4, lines=0, paired=0, size=128):
    return ptx_machine.Requests(line, text, memory, act, many, many * size, pieces, many, lines, paired)


def test_loads_that_ptxas_joined_are_a_quarter_as_many_those_that_pairs_share_first():
    requests = [one(5, "shared", "load"), one(6, "shared", "load", paired=4), one(2, "shared", "store")]
    loop = range(4, 8)
    # Of eight loads in the loop, ptxas made one of four: of those that all threads do together, in half of the rounds.
    assert joined(requests, loop, {"shared load, 16 bytes": 1}, 1) == [
        (("shared", 1.0, 128.0), 4),
        (("shared", 2.0, 512.0), 1),
        (("shared", 1.0, 128.0), 4),
    ]
    assert joined(requests, loop, {"shared load, 16 bytes": 1}, 2)[1:3] == [
        (("shared", 2.0, 512.0), 1),
        (("shared", 4.0, 512.0), 1),
    ]
    assert sum(many for _, many in joined(requests, loop, {}, 1)) == 12


def test_loads_that_are_wide_in_the_ptx_are_no_joined_ones():
    wide = one(5, "shared", "load", "ld.shared.v4.f32", pieces=16, size=512)
    assert joined([wide, one(6, "shared", "load")], range(9), {"shared load, 16 bytes": 4}, 1) == [
        (("shared", 4.0, 512.0), 4),
        (("shared", 1.0, 128.0), 4),
    ]
    assert joined([one(3, "global", "load", lines=64)], range(9), {}, 1) == [(("global", 16.0, 128.0), 4)]


def test_a_count_is_so_much_once_and_so_much_a_tile():
    short, long = Work(10, 3, 40, {("shared", 1.0, 128.0): 6}), Work(18, 5, 70, {("shared", 1.0, 128.0): 10})
    assert mixed(long, short, 1 / 2, -1 / 2) == Work(4, 1, 15, {("shared", 1.0, 128.0): 2})
    assert mixed(short, long, 2, -1) == Work(2, 1, 10, {("shared", 1.0, 128.0): 2})


class Once:
    def __init__(self, *requests):
        self.requests = requests


def test_who_asks_for_a_tile_before_it_multiplies_the_last_does_not_wait():
    def runs(load, store):
        return [Once(one(load, "global", "load", many=n), one(store, "shared", "store", many=n)) for n in (1, 2)]

    assert fetches_ahead(runs(9, 5)) is True
    assert fetches_ahead(runs(4, 5)) is False
    assert fetches_ahead([Once(), Once()]) is False


@needs_compiler
def test_a_kernel_of_ones_own_is_counted_now_and_needs_the_compiler(monkeypatch):
    source = cuda_kernel("coalesced").source.replace("acc += A[row, k] * B[k, col]", "acc += B[k, col] * A[row, k]")
    own = cuda_kernel(source, like="coalesced", BM=8, BN=32)
    counted = counts_of(own, "sm_80")
    assert counted.tile.requests == counts_of(cuda_kernel("coalesced", BM=8, BN=32), "sm_80").tile.requests
    monkeypatch.setattr(devices, "nvidia_tool", lambda _: None)
    with pytest.raises(KernelError, match="NVIDIA's compiler"):
        counts_of(own, "sm_80")
