"""Texts: calls, scopes and kernels are read as they stand, and what is not known is refused by its line."""

import numpy as np
import pytest

import ptx_machine
from ptx_machine import PTXError
from ptx_machine.linking import read_ptx
from ptx_machine.program import decoded

FUNCTIONS = """
.version 8.0
.target sm_80
.func (.param .b32 back) twice(.param .b32 given)
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [given+0];
    add.f32 %f2, %f1, %f1;
    st.param.f32 [back+0], %f2;
    ret;
}
.visible .func  (.param .b32 back) larger(
    .param .b32 one,
    .param .b32 other
)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .local .align 4 .b8 kept[8];
    .reg .b64 %rd<2>;
    ld.param.f32 %f1, [one];
    ld.param.f32 %f2, [other];
    mov.u64 %rd1, kept;
    st.local.f32 [%rd1+4], %f2;
    setp.gt.f32 %p1, %f1, %f2;
    @%p1 bra first;
    ld.local.f32 %f3, [%rd1+4];
    bra.uni done;
first:
    { .param .b32 in; .param .b32 out;
    st.param.f32 [in+0], %f1;
    call.uni (out), twice, (in);
    ld.param.f32 %f3, [out+0];
    }
done:
    st.param.f32 [back], %f3;
    ret;
}
.visible .entry calls(.param .u64 a, .param .u64 b, .param .u64 c)
{
    .reg .b32 %r<3>; .reg .f32 %f<5>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4;
    add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4; add.s64 %rd3, %rd3, %rd4;
    ld.global.f32 %f1, [%rd1]; ld.global.nc.f32 %f2, [%rd2];
    { .reg .b32 temp;
    .param .b32 p0; st.param.f32 [p0+0], %f1;
    .param .b32 p1; st.param.f32 [p1+0], %f2;
    .param .b32 retval0;
    call.uni (retval0), larger, (p0, p1);
    ld.param.f32 %f3, [retval0+0];
    }
    { .param .b32 p0; st.param.f32 [p0+0], %f3; .param .b32 back;
    call (back), twice, (p0); ld.param.f32 %f3, [back+0]; }
    st.global.f32 [%rd3], %f3;
    ret;
}
"""


def test_functions_are_called_within_functions():
    rng = np.random.default_rng(5)
    a, b = rng.random((2, 40), np.float32)
    run = ptx_machine.run(FUNCTIONS, (1,), (40,), [a, b, np.zeros_like(a)])
    assert run and np.array_equal(run.arrays[2], 2 * np.where(a > b, 2 * a, b))
    more = np.count_nonzero(a > b)
    assert run.executed["other float"] == 40 + 40 + more  # a comparison and a sum, and a second sum
    assert run.executed["local"] == 40 + (40 - more)


def test_calls_that_cannot_be_put_in_place_are_refused():
    lines = FUNCTIONS.splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "call.uni (retval0)" in text)
    with pytest.raises(PTXError, match=f"line {line} of the PTX calls missing, whose code is not in it"):
        read_ptx(FUNCTIONS.replace("(retval0), larger", "(retval0), missing"))
    with pytest.raises(PTXError, match="calls twice with 2 arguments; it takes 1"):
        read_ptx(FUNCTIONS.replace("(out), twice, (in)", "(out), twice, (in, in)"))


def test_a_kernel_is_chosen_by_its_name():
    both = FUNCTIONS + FUNCTIONS[FUNCTIONS.index(".visible .entry") :].replace("calls(", "other(")
    assert read_ptx(both, "other").name == "other" and list(read_ptx(both, "calls").takes) == ["a", "b", "c"]
    for text, name, words in (
        (both, None, "2 kernels: calls, other. Name one: kernel="),
        (both, "twice", "2 kernels: calls, other. 'twice' is not among them"),
        (FUNCTIONS[: FUNCTIONS.index(".visible .entry")], None, "0 kernels: no function in it is an .entry"),
    ):
        with pytest.raises(PTXError, match=words):
            read_ptx(text, name)


KERNEL = """.version 8.0
.visible .entry kernel(.param .u64 out)
.maxntid 32, 1, 1
{
    .pragma "nounroll";
    .reg .b16 %rs<3>; .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .f32 %f<5>; .reg .f64 %fd<3>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [out];
BODY
    ret;
}
"""


def test_lines_of_the_source_are_kept_for_the_kernels_own_file():
    text = KERNEL.replace(
        "BODY", ".loc 1 7 3\nst.global.u32 [%rd1+4], 5;\n.loc 2 9\nst.global.u32 [%rd1+8], 6; // why\n"
    )
    run = ptx_machine.run(text, (1,), (1,), [np.zeros(1, np.int32)])
    assert [(one.line, one.source, one.text) for one in run.findings] == [
        (9, 7, "st.global.u32 [%rd1+4], 5"),
        (11, 0, "st.global.u32 [%rd1+8], 6"),
    ]


@pytest.mark.parametrize(
    "places, line",
    [
        (".loc 1 7 3, function_name $name, inlined_at 1 30 5", 7),  # of the kernel's own file
        (".loc 2 9 3, function_name $name+4, inlined_at 1 30 5", 30),
        (".loc 2 9 3, function_name $name, inlined_at 1 30 5\n.loc 3 4 1, function_name $name, inlined_at 2 9 3", 30),
        (".loc 3 4 1, function_name $name, inlined_at 2 9 3", 0),
    ],
)
def test_what_is_inlined_from_another_file_has_the_line_that_calls_it(places, line):
    text = KERNEL.replace("BODY", f"{places}\nst.global.u32 [%rd1+4], 5;")
    run = ptx_machine.run(text, (1,), (1,), [np.zeros(1, np.int32)])
    assert [one.source for one in run.findings] == [line]


MOVES = {  # what a thread does, and what the bytes at its pointer are then
    "halves of a register": (
        "mov.u32 %r1, 0x89ABCDEF; mov.b32 {%rs1, %rs2}, %r1; mov.b32 %r2, {%rs2, %rs1}; st.global.u32 [%rd1], %r2;",
        "CDEF89AB",
    ),
    "numbers": (
        "mov.f32 %f1, 0f3F800000; mov.f64 %fd1, 0d4000000000000000; cvt.rn.f32.f64 %f2, %fd1; add.f32 %f1, %f1, %f2; "
        "st.global.f32 [%rd1], %f1; mov.b32 %r1, 0x10U; st.global.u32 [%rd1+4], %r1;",
        "0000001040400000",
    ),
    "a predicate as a number": (
        "mov.pred %p1, 1; setp.eq.u32 %p2, %r0, 3; not.pred %p2, %p2; and.pred %p1, %p1, %p2; selp.u32 %r1, 7, 8, %p1; "
        "st.global.u32 [%rd1], %r1;",
        "00000007",
    ),
    "small numbers grow with their sign": (
        "mov.u32 %r1, 0xFF; st.global.u8 [%rd1+8], %r1; ld.global.s8 %r2, [%rd1+8]; ld.global.u8 %r3, [%rd1+8]; "
        "ld.global.s8 %rd2, [%rd1+8]; shr.u64 %rd2, %rd2, 60; st.global.u64 [%rd1+8], %rd2; "
        "st.global.v2.u32 [%rd1], {%r2, %r3};",
        "000000000000000F" + "000000FF" + "FFFFFFFF",
    ),
}


@pytest.mark.parametrize("what", MOVES)
def test_what_moves_between_registers_and_memory(what):
    body, expected = MOVES[what]
    run = ptx_machine.run(KERNEL.replace("BODY", body), (1,), (1,), [np.zeros(4, np.uint32)])
    found = run.arrays[0].tobytes()[::-1].hex().upper()
    assert run and found == expected.rjust(32, "0"), (run, found)


@pytest.mark.parametrize(
    "body, words",
    [
        ("abs.rz.f32 %f1, %f1;", "line 8 .*abs.rz"),
        ("shfl.sync.idx.b64 %rd1, %rd2, 0, 31, -1;", "line 8 .*shfl"),
        ("bar.arrive 1;", "line 8 .*bar.arrive 1"),
        ("bra nowhere;", "line 8 .*bra nowhere"),
        ("ld.global.v4.f64 {%fd1, %fd1, %fd1, %fd1}, [%rd1];", "line 8 .*v4.f64"),
        ("ld.global.xx.f32 %f1, [%rd1];", "line 8 .*xx.f32"),
        ("st.const.f32 [%rd1], %f1;", "line 8 .*st.const"),
        ("ld.global.f16 %rs1, [%rd1];", "line 8 .*f16"),
        ("ld.param.u64 %rd1, [out+4];", "line 8 .*out.4"),
        ("ld.global.f32 %f1, [%rs1];", "line 8 .*%rs1"),
        ("ld.global.f32 %f1, [%rd1+%rd2];", "line 8 "),
        ("atom.global.mul.u32 %r1, [%rd1], %r2;", "line 8 .*mul"),
        ("add.u32 %r1, %r2, %rd1;", "line 8 .*add.u32"),
        ("add.u32 %r1, %r2, elsewhere;", "line 8 .*elsewhere"),
        ("add.u32 %r1, %r1, 0d4000000000000000;", "line 8 .*0d4"),
        ("mov.b32 %r1, {%rs1, %rs1, %rs1};", "line 8 .*mov.b32"),
        ("mov.b128 %r1, %r2;", "line 8 .*b128"),
        (".shared .align 4 .b8 open[]; mov.u32 %r1, open;", "line 8 .*open has no size"),
        ("%r1 = 4;", "line 8 of the PTX is not known here: %r1 = 4"),
        ("add.u32 %r1,\n\n%r2", "line 8 of the PTX does not end|line 8 "),
    ],
)
def test_what_is_not_known_is_refused_by_its_line(body, words):
    with pytest.raises(PTXError, match=words):
        decoded(KERNEL.replace("BODY", body))


def test_a_text_that_breaks_off_is_refused():
    with pytest.raises(PTXError, match=r"line 9 of the PTX does not end: st\.global\.f32"):
        read_ptx(KERNEL[: KERNEL.index("BODY")] + "add.f32 %f1, %f1, %f1;\nst.global.f32\n [%rd1]")


def test_arrays_lie_as_ptxas_lays_them():
    """One behind the other, each as aligned as it asks: so an array of 20 bytes shifts what asks for 4 behind it."""
    arrays = ((4, "a", 20), (4, "b", 8), (16, "c", 64))
    names = [f"    .shared .align {align} .b8 {name}[{size}];" for align, name, size in arrays]
    program = decoded(KERNEL.replace("BODY", "\n".join(names)))
    places = [(name, address % 16, size) for name, address, size in program.shared]
    assert places == [("a", 0, 20), ("b", 4, 8), ("c", 0, 64)]
    assert program.symbols["b"] - program.symbols["a"] > 1 << 19
