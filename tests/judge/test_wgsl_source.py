"""What the text of a WGSL kernel shows: barriers that only some invocations reach, loops without an end."""

from types import SimpleNamespace

import pytest

from helpers import ladder
from helpers.judge.trials import Trial
from helpers.judge.wgsl_source import explained, seen_in_source
from helpers.launch import DIALECTS
from helpers.sandbox import Finding

WGSL = DIALECTS["WebGPU"]
TILED = WGSL.source_of("tiled")
WAIT = "        workgroupBarrier();\n"


def kinds(source):
    return [finding.kind for finding in seen_in_source(SimpleNamespace(source=source))]


def tiled(old, new):
    assert old in TILED
    return TILED.replace(old, new)


def with_ids_in_a_struct(condition):
    """gpuweb's samples take the builtins as members of one struct."""
    ids = "@builtin(local_invocation_id) id: vec3<u32>"
    source = tiled(ids, "it: In").replace("= id.", "= it.id.").replace("@compute", f"struct In {{ {ids}, }}\n@compute")
    return source.replace(WAIT, f"        if ({condition}) {{ workgroupBarrier(); }}\n")


RIGHT = {
    "a uniform branch": tiled(WAIT, "if (M > 3 || group.x < 2) { workgroupBarrier(); } else { workgroupBarrier(); }\n"),
    "a branch of the ids beside it": tiled(WAIT, "if (tx < 2) { acc += 0.0; }\n" + WAIT),
    "another variable of that name": tiled("var acc", "for (var k0 = tx; k0 < 9; k0 += 2) { }\n    var acc"),
    "a member of that name": tiled("let tx = id.x;", "let tx = id.x; let z = id.z;").replace(
        "< K; k0", "< sizes.z; k0"
    ),
    "a return behind it": tiled("    // 5.", "    if (row >= M) { return; }\n    // 5."),
    "a uniform return": tiled("var acc", "if (M == 0) { return; }\n    var acc"),
    "a break of a loop before it": tiled("var acc", "loop { if (tx < 2) { break; } break; }\n    var acc"),
    "both kinds of barrier": tiled("workgroupBarrier();", "storageBarrier();\n        workgroupBarrier();"),
    "ids in a struct": with_ids_in_a_struct("M > 3"),
    "the same value for all": tiled(
        WAIT, "let n = workgroupUniformLoad(&As[0][0]); if (n > 1.0) { workgroupBarrier(); }"
    ),
    "in a comment": tiled("var acc", "/* if (tx < 2) { workgroupBarrier(); } for (;;) { } */ var acc"),
}


@pytest.mark.parametrize("source", RIGHT.values(), ids=RIGHT)
def test_a_barrier_that_all_reach_stands(source):
    assert kinds(source) == []


@pytest.mark.parametrize("step", ladder.steps("WebGPU"))
def test_the_course_s_own_have_nothing(step):
    assert kinds(WGSL.source_of(step)) == []


APART = {  # gfx-rs/wgpu#4006 and #4566, naga#2424: such barriers compile
    "under an if of the rows": tiled(WAIT, "        if (row < M) { workgroupBarrier(); }\n"),
    "under its else": tiled(WAIT, "        if (tx < 2) { } else { workgroupBarrier(); }\n"),
    "under a second if": tiled(WAIT, "        if (tx < 2) { if (M > 1) { workgroupBarrier(); } }\n"),
    "behind a return": tiled("var acc", "if (row >= M || col >= N) { return; }\n    var acc"),
    "behind a continue": tiled("        // 1.", "        if (row >= M) { continue; }\n        // 1."),
    "before a break": tiled("acc +=", "acc +=").replace(
        "overwrites them.\n" + WAIT, "them.\n" + WAIT + "        if (tx > 2) { break; }\n"
    ),
    "in a loop of as many rounds as the id": tiled("k0 < K;", "k0 < K + tx;"),
    "in a loop that begins at the id": tiled("k0 = 0u;", "k0 = ty;"),
    "by a variable": tiled("var acc", "var n = 0u; if (tx == 1) { n = 1u; }\n    var acc").replace(
        WAIT, "        if (n == 0) { workgroupBarrier(); }\n"
    ),
    "in a function": tiled(WAIT, "        if (tx < 2) { wait(); }\n") + "\nfn wait() { workgroupBarrier(); }\n",
    "ids in a struct": with_ids_in_a_struct("it.id.x < 2"),
}


@pytest.mark.parametrize("source", APART.values(), ids=APART)
def test_a_barrier_that_only_some_may_reach_is_refused_with_its_line(source):
    (finding,) = seen_in_source(SimpleNamespace(source=source))
    assert finding.kind == "divergent barrier" and finding.lines
    assert all("workgroupBarrier" in (line := source.splitlines()[n - 1]) or "wait()" in line for n in finding.lines)


def test_a_barrier_of_storage_alone_keeps_no_tile():
    assert kinds(TILED.replace("workgroupBarrier", "storageBarrier")) == ["race"]


LOOP = "for (var k = 0u; k < TILE; k++) {"


@pytest.mark.parametrize(
    "loop",
    [
        "for (var k = 0u; k < TILE;) {",
        "for (var k = 0u; k < TILE; ) {",
        "for (var k = 0u; k < TILE; acc += 0.0) {",
        "var k = 0u; while (k < TILE) {",
        "var k = 0u; while k < TILE {",
        "var k = 0u; loop { if (k >= TILE) { } k++;",
        "for (var k = 0u; ; k++) {",
    ],
)
def test_a_loop_that_nothing_ends_is_told(loop):
    (finding,) = seen_in_source(SimpleNamespace(source=tiled(LOOP, loop)))
    assert finding.kind == "hang" and "never ends" in finding.message
    assert LOOP.split("(")[0] in TILED.splitlines()[finding.lines[0] - 1]


@pytest.mark.parametrize(
    "loop",
    [
        "for (var k = 0u; k < TILE;) { k++;",
        "for (var k = TILE; k > 0u;) { k -= 1u;",
        "var k = 0u; while (k < TILE) { k = k + 1u;",
        "var k = 0u; while (k < TILE) { { k++; }",
        "var k = 0u; while (k < TILE) { step(&k);",
        "var k = 0u; loop { if (k >= TILE) { break; } k++;",
        "var k = 0u; loop { k++; continuing { break if k >= TILE; }",
        "var k = 0u; while (more(k)) {",
    ],
)
def test_a_loop_that_something_may_end_stands(loop):
    assert kinds(tiled(LOOP, loop)) == []


def told(source, kind, step="tiled"):
    """What is told of a kernel that is wrong in that way."""
    k = SimpleNamespace(source=source, step=step, block=(4, 4), parameters={"TILE": 4, "BM": 4, "BN": 4})
    return explained(k, Trial([Finding(kind, "so")], (), [(1, 1, 1)])).findings[0].message


def test_wrong_numbers_with_a_barrier_too_few_send_one_to_the_barriers():
    """Which of them a race shows as is chance; a run cannot tell."""
    one = TILED.replace(WAIT, "", 1)
    assert told(one, "wrong numbers") == "so; tiled has 2 barriers a tile and this has 1: look at those first"
    assert told(TILED, "wrong numbers") == told(one, "out of bounds") == "so"
    assert told(WGSL.source_of("coalesced"), "wrong numbers", "coalesced") == "so"
    assert explained(None, Trial([], (), [])).findings == []
