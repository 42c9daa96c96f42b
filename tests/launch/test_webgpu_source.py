"""What is read from the text of a WGSL kernel: its constants, its workgroup memory, its statements."""

import pytest

from helpers.launch import webgpu_source as text

CODE = """
const SIDE = 2 * TILE + 1u; // const SIDE = 9;
struct Pair { at: vec3<f32>, of: array<vec2<f32>, 3>, n: u32 }
alias Row = array<f32, SIDE>;
var<workgroup> a: array<Row, TILE>;
var<workgroup> never: array<f32, 9999>;
/* var<workgroup> old: array<f32, 99>; /* old[0] */ old[1] */
@compute @workgroup_size(TILE, (TILE + 4) / 4u) fn f() { a[0][0] = 1.0; }
"""


def test_comments_leave_their_place_and_may_hold_others():
    code = text.without_comments(CODE)
    assert len(code) == len(CODE) and code.count("\n") == CODE.count("\n")
    assert "old" not in code and "9;" not in code and code.rstrip().endswith("1.0; }")
    assert text.without_comments("a / b // c\nd").split() == ["a", "/", "b", "d"]


def test_sizes_come_from_the_source_s_constants_and_the_parameters():
    code = text.without_comments(CODE)
    values = text.constants(code, {"TILE": 4})
    assert values == {"TILE": 4, "SIDE": 9}
    assert text.workgroup_size(code, values) == (4, 2, 1)
    assert text.workgroup_size("@workgroup_size(other(3))", values) is text.workgroup_size("", values) is None
    assert text.workgroup_bytes(code, values) == 4 * 4 * 9  # and nothing for what is not used


@pytest.mark.parametrize(
    "kind, size",
    [
        ("f32", 4),
        ("vec3<f32>", 12),
        ("array<vec3f, 3>", 48),
        ("mat4x3<f32>", 64),
        ("mat2x2f", 16),
        ("array<atomic<u32>, 5>", 20),
        ("array<array<vec4<f32>, TILE / 2 + 1>, 2 * TILE>", 16 * 3 * 8),
        ("array<f16, 3>", 6),
        ("Pair", 48),
        ("array<Pair, 2u>", 96),
    ],
)
def test_a_type_has_the_bytes_that_wgsl_gives_it(kind, size):
    assert text.layout(kind, text.without_comments(CODE), {"TILE": 4})[0] == size


@pytest.mark.parametrize("kind", ["ptr<function, f32>", "array<f32>", "array<f32, n>", "nothing", "array<f32, 1 / 0>"])
def test_what_the_text_does_not_tell_counts_as_none(kind):
    with pytest.raises(text.Unknown):
        text.layout(kind, "", {})
    assert text.workgroup_bytes(f"var<workgroup> a: {kind}; fn f() {{ a[0] = 1; }}", {}) == 0
