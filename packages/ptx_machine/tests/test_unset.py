"""Numbers that nobody has set: found where they are used, and only there."""

import re

import numpy as np
import pytest

import ptx_machine

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o)
{{
.local .align 8 .b8 mine[32];
.reg .pred %p<9>; .reg .b16 %rs<3>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
mov.u64 %rd3, mine; mov.u32 %r2, 5; mov.u32 %r3, 7; setp.lt.u32 %p1, %r1, 16;
{body}
ret;
}}
"""


def ran(body, threads=32):
    return ptx_machine.run(KERNEL.format(body=body), (1,), (threads,), [np.zeros(32, np.uint32)])


@pytest.mark.parametrize(
    "body",
    [
        "st.local.u32 [%rd3+4], %r2; ld.local.u32 %r4, [%rd3+4]; st.global.u32 [%rd1], %r4;",
        "ld.local.u32 %r4, [%rd3]; st.global.u32 [%rd1], %r2;",  # not used
        "ld.local.u32 %r4, [%rd3]; add.u32 %r4, %r4, 1; mov.u32 %r4, 3; st.global.u32 [%rd1], %r4;",
        "st.local.u32 [%rd3], %r2; ld.local.v2.u32 {%r4, %r5}, [%rd3]; st.global.u32 [%rd1], %r4;",
        "ld.local.u32 %r4, [%rd3]; selp.u32 %r5, %r2, %r3, %p1; @%p1 mov.u32 %r4, 1; selp.u32 %r4, %r4, %r5, %p1;"
        "st.global.u32 [%rd1], %r4;",
        "ld.local.u64 %rd4, [%rd3]; st.local.u64 [%rd3+8], %rd4; st.global.u32 [%rd1], %r2;",  # a copy of both
        "st.local.u8 [%rd3], %r2; ld.local.u8 %rs1, [%rd3]; cvt.u32.u16 %r4, %rs1; st.global.u32 [%rd1], %r4;",
        # A sum over 16 threads: those of the upper half get numbers of nobody, and nobody takes theirs.
        "@!%p1 bra E; shfl.sync.down.b32 %r4, %r2, 8, 31, 0xFFFF; add.u32 %r2, %r2, %r4; setp.eq.u32 %p2, %r1, 0;"
        "@%p2 st.global.u32 [%rd1], %r2; E:",
    ],
)
def test_what_is_set_or_not_used_is_no_finding(body):
    run = ran(body)
    assert run, run


@pytest.mark.parametrize(
    "body, words",
    [
        ("ld.local.u32 %r4, [%rd3+8]; st.global.u32 [%rd1], %r4;", "byte 8 of its local memory, which it has not"),
        ("ld.local.u32 %r4, [%rd3]; setp.eq.u32 %p2, %r4, 0; @%p2 bra E; E:", "uses it at line 10"),
        ("ld.local.u32 %r4, [%rd3]; cvt.u64.u32 %rd5, %r4; add.u64 %rd5, %rd5, %rd1; and.b64 %rd5, %rd5, 0;"
         "add.u64 %rd5, %rd5, %rd1; ld.global.u32 %r5, [%rd5];", "uses it"),
        ("@%p1 st.local.u32 [%rd3], %r2; ld.local.u32 %r4, [%rd3]; st.global.u32 [%rd1], %r4;", r"thread \(16, 0\)"),
        ("ld.local.u64 %rd4, [%rd3]; st.local.u64 [%rd3+8], %rd4; ld.local.u32 %r4, [%rd3+12];"
         "st.global.u32 [%rd1], %r4;",
         "loads byte 12"),
        ("shfl.sync.bfly.b32 %r4, %r2, 16, 31, 0xFFFFFFFF; add.u32 %r4, %r4, %r2; st.global.u32 [%rd1], %r4;",
         "asks for the number of thread 16 of its warp"),
    ],
)  # fmt: skip
def test_what_is_used_is_found_where_it_came_from(body, words):
    run = ran(body, 16 if "shfl" in body else 32)
    (finding,) = run.findings
    assert finding.kind == "uninitialised" and finding.other >= finding.line
    assert re.search(words, finding.message), finding.message
