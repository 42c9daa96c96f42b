"""Wrong WGSL kernels are refused by name, right ones in other styles pass, on whatever adapter there is."""

import re

import pytest
from few import few, one_of_each

from helpers import check, devices, ladder, measure, webgpu_kernel
from helpers.exercises import judge_naive, judge_transposed
from helpers.exercises.other_dialects import waits_around
from helpers.launch import KernelError, draw

pytestmark = pytest.mark.skipif(not devices.webgpu_adapters(), reason="no WebGPU adapter: wgpu and a Vulkan driver")

ANY = ""  # kind: what the kernel then computes, WGSL leaves open, so that another driver, or a busy one, gives another
# (what is wrong, step, the verdict's kind, old, new)
WRONG = [
    ("no guard at all", "naive", "out of bounds", "if (row < M && col < N) {", "{"),
    ("guard with or", "coalesced", "out of bounds", "row < M && col < N", "row < M || col < N"),
    ("guard off by one", "coalesced", "out of bounds", "col < N", "col <= N"),
    ("last column left out", "naive", "unwritten", "col < N)", "col + 1 < N)"),
    ("= for +=", "naive", "K is cut", "acc +=", "acc ="),
    ("k from 1", "coalesced", "K is cut", "k = 0u", "k = 1u"),
    ("K up to N", "naive", "K is cut", "k < K;", "k < N;"),
    ("A by M", "coalesced", "wrong index", "A[row * K + k]", "A[row * M + k]"),
    ("B turned", "naive", "wrong index", "B[k * N + col]", "B[col * K + k]"),
    ("C turned", "naive", "transposed", "C[row * N + col]", "C[col * M + row]"),
    ("swapped", "naive", "x and y swapped", "let row = id.x; let col = id.y;", "let row = id.y; let col = id.x;"),
    ("zeros", "naive", "zeros", "= acc;", "= 0.0 * acc;"),
    ("nothing stored", "coalesced", "nothing stored", "C[row * N + col] = acc;", "_ = acc;"),
    ("adds to C", "tiled", "adds to C", "C[row * N + col] = acc;", "C[row * N + col] += acc;"),
    ("never zero", "tiled", "wrong numbers", "var acc = 0.0;", "var acc = 1e-2;"),
    ("no first barrier", "tiled", ANY, "anyone reads them.\n        workgroupBarrier();", "anyone reads them."),
    ("no second barrier", "tiled", ANY, "anyone overwrites them.\n        workgroupBarrier();",
        "anyone overwrites them."),
    ("no load guard of A", "tiled", "out of bounds", "if (row < M && k0 + tx < K) {", "{"),
    ("a tile is left out", "register_1d", "K is cut", "k0 < K;", "k0 + BK <= K;"),
    ("no store guard", "tiled", "out of bounds", "if (row < M && col < N) { C", "if (row < M) { C"),
    ("row stride", "register_2d", "wrong row", "ty + i * INVOCATIONS_Y; let", "ty * TM + i; let"),
    ("a patch in the wrong order", "register_2d", "wrong row", "acc[i][j] += a_reg[i] * b_reg[j]",
        "acc[i][j] += a_reg[j % TM] * b_reg[j]"),
    ("a column is not multiplied", "register_2d", "part is zero", "j < TN; j++) { acc", "j < TN - 1; j++) { acc"),
    ("columns of fours", "vectorized", "wrong at other sizes", "(tx + j * INVOCATIONS_X) * 4;", "tx * TN + j * 4;"),
    ("not turned", "vectorized", "wrong index", "x = transpose(x);", ""),
    ("ragged rows in fours", "vectorized", "out of bounds", "if (columns % 4 == 0) { return A[at / 4]; }",
        "return A[at / 4];"),
    ("a tile stays", "prefetched", "wrong numbers", "k0 + BK, item", "k0, item"),
    ("one half for two", "prefetched", ANY, "now = BK - now;", ""),
    ("half precision", "coalesced", "wrong numbers", "acc += A[row * K + k] * B[k * N + col];",
        "acc += unpack2x16float(pack2x16float(vec2(A[row * K + k], 0.0))).x * B[k * N + col];"),
    ("right at 64 only", "tiled", "K is cut", "k0 < K; k0 += TILE", "k0 < min(K, 64u); k0 += TILE"),
    ("right up to 4000", "coalesced", "K is cut", "k < K;", "k < min(K, 4000);"),
    ("a tile too few", "tiled", "K is cut", "k0 < K; k0 += TILE", "k0 < (K + TILE - 2) / TILE * TILE; k0 += TILE"),
    ("a guard below zero", "tiled", "out of bounds", "k0 + tx < K) {", "K - k0 - tx > 0u) {"),
    ("tiles exchanged", "tiled", "wrong numbers", "As[ty][k] * Bs[k][tx]", "Bs[ty][k] * As[k][tx]"),
    ("half a tile", "tiled", "part is zero", "if (row < M && k0", "if (ty % 2 == 0 && row < M && k0"),
    ("a short tile", "tiled", ANY, "As: array<array<f32, TILE>, TILE>", "As: array<array<f32, TILE>, TILE - 1>"),
]  # fmt: skip
# On a GPU of its own speed a missing barrier may show as any wrong number, or not at all: `check` says that it does not
# look for races. In software it shows each time.
BARRIERS = ("no first barrier", "no second barrier")
NAIVE_BODY = re.compile(r"var acc = 0\.0;.*?\n        \}", re.DOTALL)


CASES = [pytest.param(*case, id=case[0]) for case in WRONG]


@pytest.mark.parametrize("what, step, kind, old, new", one_of_each(CASES, lambda what, step, kind, *_: [step, kind]))
def test_a_wrong_kernel_is_refused_by_name(what, step, kind, old, new):
    p = ladder.STEPS[step].small
    source = webgpu_kernel(step, **p).source
    assert old in source
    k = webgpu_kernel(source.replace(old, new), like=step, **p)
    if what in BARRIERS and k.device.kind == "GPU":
        pytest.skip("a race need not show on this GPU; a GPU in software: Mesa's llvmpipe")
    report = check(k)
    assert not report and report.findings[0].kind == (kind or report.findings[0].kind), report
    with pytest.raises(KernelError, match="has not passed a check"):
        k(*draw(4, 4, 4))


def naive_with(body):
    """The naive kernel whose sum is computed by that text."""
    source, changed = NAIVE_BODY.subn(body, webgpu_kernel("naive", BM=4, BN=4).source)
    assert changed == 1
    return source


def tiled_with(*edits):
    """The tiled kernel after those (pattern, new) edits, each of which finds its place."""
    source = webgpu_kernel("tiled", TILE=4).source
    for old, new in edits:
        source, changed = re.subn(old, new, source)
        assert changed, old
    return source


def right():
    """{style: (source, the step that it is like)}: ten ways to write a right kernel."""
    product = "A[row * K + k] * B[k * N + col]"
    return {
        "from the last k": (
            naive_with(f"var acc = 0.0; for (var k = K; k > 0u;) {{ k--; acc += {product}; }}"),
            "naive",
        ),
        "loop and break": (
            naive_with(f"var acc = 0.0; var k = 0u; loop {{ if (k >= K) {{ break; }} acc += {product}; k++; }}"),
            "naive",
        ),
        "while": (naive_with(f"var acc = 0.0; var k = 0u; while (k < K) {{ acc += {product}; k += 1u; }}"), "naive"),
        "two sums": (
            naive_with(
                f"var sums = vec2<f32>(); for (var k = 0u; k < K; k++) {{ sums[k % 2u] += {product}; }} "
                "let acc = sums.x + sums.y;"
            ),
            "naive",
        ),
        "Kahan's sum": (
            naive_with(
                f"var acc = 0.0; var lost = 0.0; for (var k = 0u; k < K; k++) {{ let y = {product} - lost; "
                "let t = acc + y; lost = (t - acc) - y; acc = t; }"
            ),
            "naive",
        ),
        "an early return": (
            webgpu_kernel("naive", BM=4, BN=4).source.replace(
                "if (row < M && col < N) {", "if (row >= M || col >= N) { return; }\n    {"
            ),
            "naive",
        ),
        "fma": (tiled_with((r"acc \+= (As\S+) \* (Bs\S+);", r"acc = fma(\1, \2, acc);")), "tiled"),
        "tiles in one row": (
            tiled_with(
                (r"array<array<f32, TILE>, TILE>", "array<f32, TILE * TILE>"),
                (r"(As|Bs)\[(\w+)\]\[(\w+)\]", r"\1[\2 * TILE + \3]"),
            ),
            "tiled",
        ),
        "A's tile turned": (
            tiled_with((r"As\[ty\]\[tx\]", "As[tx][ty]"), (r"As\[ty\]\[k\]", "As[k][ty]")),
            "tiled",
        ),
        "select": (
            tiled_with(
                (
                    r"As\[ty\]\[tx\] = 0\.0;\n.*\n",
                    "As[ty][tx] = select(0.0, A[row * K + k0 + tx], row < M && k0 + tx < K);\n",
                )
            ),
            "tiled",
        ),
        "fours": (
            naive_with(
                "var acc = 0.0; for (var k = 0u; k < K; k += 4) { var a: vec4<f32>; var b: vec4<f32>; "
                "for (var v = 0u; v < min(4, K - k); v++) { a[v] = A[row * K + k + v]; b[v] = B[(k + v) * N + col]; } "
                "acc += dot(a, b); }"
            ),
            "naive",
        ),
        "two tiles, one barrier": (
            tiled_with(
                (r"array<array<f32, TILE>, TILE>", "array<array<f32, TILE>, 2 * TILE>"),
                (r"var acc = 0\.0;", "var acc = 0.0; var now = 0u;"),
                (r"(As|Bs)\[(ty|k)\](\[tx\])", r"\1[now + \2]\3"),
                (r"As\[ty\]\[k\]", "As[now + ty][k]"),
                (r"overwrites them\.\n +workgroupBarrier\(\);", "overwrites them.\n        now = TILE - now;"),
            ),
            "tiled",
        ),
        "other names": (
            re.sub(r"\bAs\b", "left", re.sub(r"\bacc\b", "sum", tiled_with((r"fn tiled", "fn main")))),
            "tiled",
        ),
    }


STYLES = (
    "from the last k",
    "loop and break",
    "while",
    "two sums",
    "Kahan's sum",
    "an early return",
    "fma",
    "tiles in one row",
    "A's tile turned",
    "select",
    "fours",
    "two tiles, one barrier",
    "other names",
)


@pytest.mark.parametrize("style", few(STYLES, "an early return", "two tiles, one barrier"))
def test_a_right_kernel_in_another_style_passes_and_can_be_timed(style):
    source, step = right()[style]
    k = webgpu_kernel(source, like=step, **({"TILE": 4} if step == "tiled" else {"BM": 4, "BN": 4}))
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


@pytest.mark.parametrize("judge", [judge_naive, judge_transposed])
def test_an_exercise_that_follows_each_access_refuses_wgsl(judge):
    k = webgpu_kernel(webgpu_kernel("naive").source, like="naive")
    with pytest.raises(ValueError, match="nothing here interprets WGSL"):
        judge(k)


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
