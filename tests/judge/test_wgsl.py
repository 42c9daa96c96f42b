"""Wrong WGSL kernels are refused by name, right ones in other styles pass, on whatever adapter there is."""

import re

import pytest

from helpers import check, devices, ladder, measure, webgpu_kernel
from helpers.exercises.other_dialects import waits_around
from helpers.launch import KernelError, draw

pytestmark = pytest.mark.skipif(not devices.webgpu_adapters(), reason="no WebGPU adapter: wgpu and a Vulkan driver")

ANY = ""  # kind: what the kernel then computes, WGSL leaves open, so that another driver, or a busy one, gives another
# On a GPU of its own speed a missing barrier may show as any wrong number, or not at all: `check` says that it does not
# look for races. In software it shows each time.
BARRIER = "no first barrier"
# (what is wrong, step, the verdict's kind, old, new)
# What the numbers show is told by name in test_diagnosis.py; here each step has one, and what only a device does.
WRONG = [
    ("no guard at all", "naive", "out of bounds", "if (row < M && col < N) {", "{"),
    ("A by M", "coalesced", "wrong index", "A[row * K + k]", "A[row * M + k]"),
    ("adds to C", "tiled", "adds to C", "C[row * N + col] = acc;", "C[row * N + col] += acc;"),
    (BARRIER, "tiled", ANY, "anyone reads them.\n        workgroupBarrier();", "anyone reads them."),
    ("a tile is left out", "register_1d", "K is cut", "k0 < K;", "k0 + BK <= K;"),
    ("a column is not multiplied", "register_2d", "part is zero", "j < TN; j++) { acc", "j < TN - 1; j++) { acc"),
    ("columns of fours", "vectorized", "wrong at other sizes", "(tx + j * INVOCATIONS_X) * 4;", "tx * TN + j * 4;"),
    ("a tile stays", "prefetched", "wrong numbers", "k0 + BK, item", "k0, item"),
]


@pytest.mark.parametrize("what, step, kind, old, new", WRONG, ids=[what for what, *_ in WRONG])
def test_a_wrong_kernel_is_refused_by_name(what, step, kind, old, new):
    p = ladder.STEPS[step].small
    source = webgpu_kernel(step, **p).source
    assert old in source
    k = webgpu_kernel(source.replace(old, new), like=step, **p)
    if what == BARRIER and k.device.kind == "GPU":
        pytest.skip("a race need not show on this GPU; a GPU in software: Mesa's llvmpipe")
    report = check(k)
    assert not report and report.findings[0].kind == (kind or report.findings[0].kind), report
    with pytest.raises(KernelError, match="has not passed a check"):
        k(*draw(4, 4, 4))


def tiled_with(*edits):
    """The tiled kernel after those (pattern, new) edits, each of which finds its place."""
    source = webgpu_kernel("tiled", TILE=4).source
    for old, new in edits:
        source, changed = re.subn(old, new, source)
        assert changed, old
    return source


RETURNS = ("if (row < M && col < N) {", "if (row >= M || col >= N) { return; }\n    {")
TWO_TILES = (
    (r"array<array<f32, TILE>, TILE>", "array<array<f32, TILE>, 2 * TILE>"),
    (r"var acc = 0\.0;", "var acc = 0.0; var now = 0u;"),
    (r"(As|Bs)\[(ty|k)\](\[tx\])", r"\1[now + \2]\3"),
    (r"As\[ty\]\[k\]", "As[now + ty][k]"),
    (r"overwrites them\.\n +workgroupBarrier\(\);", "overwrites them.\n        now = TILE - now;"),
)


def test_a_right_kernel_in_another_style_passes_and_can_be_timed():
    source = webgpu_kernel("naive", BM=4, BN=4).source
    assert RETURNS[0] in source
    for k in (
        webgpu_kernel(source.replace(*RETURNS), like="naive", BM=4, BN=4),
        webgpu_kernel(tiled_with(*TWO_TILES), like="tiled", TILE=4),
    ):
        report = check(k)
        assert report and "races" in report.not_looked_for[0]
        assert measure(k, 64, seconds=0.05).gflops > 0


def test_what_is_not_looked_for_is_said():
    report = check(webgpu_kernel(tiled_with(), like="tiled", TILE=4), [(5, 6, 7)])
    assert report and "not looked for here: barriers that only some reach" in repr(report)
    assert "stored twice" in repr(report) and "outside a workgroup array" in repr(report)


def test_what_the_source_shows_is_told_before_anything_runs():
    """WGSL forbids such a barrier, and a browser refuses it; wgpu compiles it, and a device may hang."""
    source = tiled_with((r"(overwrites them\.\n +)workgroupBarrier\(\);", r"\1if (row < M) { workgroupBarrier(); }"))
    report = check(webgpu_kernel(source, like="tiled", TILE=4))
    assert [finding.kind for finding in report.findings] == ["divergent barrier"]
    assert "if (row < M) { workgroupBarrier(); }" in repr(report)


def test_a_workgroup_of_another_size_is_named_where_that_is_the_mistake():
    """google/WebFundamentals#9386: what the shader says and what is dispatched do not fit."""
    source = webgpu_kernel("coalesced", BM=4, BN=8).source.replace("size(BN, BM)", "size(BM, BN)")
    report = check(webgpu_kernel(source, like="coalesced", BM=4, BN=8), [(5, 17, 3)])
    assert report.findings[0].kind == "workgroup size"
    assert "have (4, 8, 1) invocations" in repr(report) and "made for (8, 4, 1)" in repr(report)
    wrong_at_any = source.replace("acc +=", "acc =")
    assert (
        check(webgpu_kernel(wrong_at_any, like="coalesced", BM=4, BN=8), [(5, 17, 3)]).findings[0].kind
        != "workgroup size"
    )


def test_what_no_kernel_may_read_is_poison():
    """WebGPU clamps a read beyond its buffer; the guard lies inside the buffer, so that such a read shows."""
    source = webgpu_kernel("naive", BM=4, BN=4).source.replace("A[row * K + k]", "A[(row + M) * K + k]")
    assert not check(webgpu_kernel(source, like="naive", BM=4, BN=4))


WAIT, STAGE, READ = "workgroupBarrier(); ", "As[ty][tx] = a; ", "acc += As[ty][k]; "


@pytest.mark.parametrize(
    "code, right",
    [
        (STAGE + WAIT + READ + WAIT, True),
        (WAIT + STAGE + WAIT + READ, True),
        (STAGE + WAIT + WAIT + READ, False),
        (STAGE + READ + WAIT + WAIT, False),
        (STAGE + WAIT + READ, False),
        (STAGE + READ, False),
    ],
)
def test_the_waits_stand_around_the_reading(code, right):
    """A GPU may hide a race, so the places of the waits are judged by the text."""
    assert waits_around(code) == right
