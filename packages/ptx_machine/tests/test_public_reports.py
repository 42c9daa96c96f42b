"""What people reported of other programs that run PTX without NVIDIA's hardware: here each gives the right value."""

import numpy as np
import pytest

import ptx_machine

KERNEL = """.version 8.5
.target sm_86
.address_size 64
{before}
.visible .entry k(.param .u64 .ptr .align 1 o)
{{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %g<9>;
ld.param.u64 %rd1, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd1, %rd1, %rd2;
mov.u32 %r2, 0; mov.u64 %rd3, 0;
{body}
cvt.u64.u32 %rd2, %r2; or.b64 %rd3, %rd3, %rd2; st.global.u64 [%rd1], %rd3;
ret;
}}
"""
LEAVES = """.func f(.param .b32 a)
{ .reg .pred %p1; .reg .b32 %r1; ld.param.b32 %r1, [a]; setp.gt.u32 %p1, %r1, 1; @%p1 exit; ret; }"""
REPORTS = {  # where, with a title: (what stands before the kernel, what four threads do, what each stores: %r2 or %rd3)
    "gpgpu-sim/gpgpu-sim_distribution 343: selp with a negated predicate": ("",
        "mov.f32 %f1, 0f7FC00000; setp.lt.f32 %p1, %f1, 0f3F800000; selp.s32 %r2, 0x80000000, 1, !%p1;",
        [0x80000000] * 4),
    "gpgpu-sim/gpgpu-sim_distribution 343: bfe from behind the last bit": ("",
        "mov.u32 %r3, 0x12345678; add.u32 %r4, %r1, 32; bfe.u32 %r2, %r3, %r4, 8;", [0] * 4),
    "gpgpu-sim/gpgpu-sim_distribution 343: add with directed rounding": ("",
        "mov.f32 %f1, 1.0; mov.f32 %f2, 0f33000000; add.rp.f32 %f3, %f1, %f2; mov.b32 %r2, %f3;", [0x3F800001] * 4),
    "gpgpu-sim/gpgpu-sim_distribution 343: a whole number rounded to zero": ("",
        "mov.u32 %r3, 16777219; cvt.rz.f32.s32 %f1, %r3; cvt.rzi.u32.f32 %r2, %f1;", [16777218] * 4),
    "gpgpu-sim/gpgpu-sim_distribution 343: add.u64 of high bits": ("",
        "mov.u64 %rd3, 0xFFFFFFFF00000000; cvt.u64.u32 %rd4, %r1; add.u64 %rd3, %rd3, %rd3; add.u64 %rd3, %rd3, %rd4;",
        [0xFFFFFFFE00000000 + thread for thread in range(4)]),
    "gpgpu-sim/gpgpu-sim_distribution 103: the carry of madc in a scope": (
        "",
        "mov.u32 %r3, -1; mov.u32 %r2, 5;\n{\nmad.lo.cc.u32 %r4, %r3, %r3, %r2;\nmadc.hi.u32 %r2, %r3, %r3, 0;\n}",
        [0xFFFFFFFE] * 4,  # 0xFFFFFFFF * 0xFFFFFFFF + 5 is 0xFFFFFFFE 00000006
    ),
    "gpgpu-sim/gpgpu-sim_distribution 164: the carry of mad.hi is that of the product": ("",
        "mov.u32 %r3, 0x10000; mov.u32 %r4, 0xFFFFFFFF; mad.hi.u32 %r2, %r3, %r3, %r4;", [0] * 4),
    "gpgpu-sim/gpgpu-sim_distribution 230: a number that one thread has is given to all": ("",
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra L; mov.u32 %r3, 1234; L: shfl.sync.idx.b32 %r2, %r3, 0, 31, -1;",
        [1234] * 4),
    "gtcasl/gpuocelot 36: a barrier in a loop of a butterfly": (
        ".shared .b32 s[4];",
        "mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r4, %r3, %r4; st.shared.u32 [%r4], %r1; bar.sync 0;"
        "mov.u32 %r5, 2; L: xor.b32 %r6, %r1, %r5; shl.b32 %r6, %r6, 2; add.u32 %r6, %r3, %r6;"
        "ld.shared.u32 %r2, [%r4]; ld.shared.u32 %r7, [%r6]; bar.sync 0;"
        "add.u32 %r2, %r2, %r7; st.shared.u32 [%r4], %r2; bar.sync 0;"
        "shr.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra L;",
        [6] * 4,
    ),
    "gtcasl/gpuocelot 62: div.rp.f64": ("", "mov.f64 %g1, 1.0; div.rp.f64 %g2, %g1, 3.0; mov.b64 %rd3, %g2;",
        [0x3FD5555555555556] * 4),
    "vosen/ZLUDA 195: ldu": ("", "st.global.u32 [%rd1+4], 7; ldu.global.u32 %r2, [%rd1+4]; st.global.u32 [%rd1+4], 0;",
        [7] * 4),
    "vosen/ZLUDA 647: exit ends a thread, in a function, too": (LEAVES,
        "{ .param .b32 q; st.param.b32 [q], %r1; call f, (q); } mov.u32 %r2, 9;", [9, 9, 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("report", REPORTS)
def test_what_was_reported_elsewhere_is_right_here(report):
    before, body, expected = REPORTS[report]
    run = ptx_machine.run(KERNEL.format(before=before, body=body), (1,), (4,), [np.zeros(4, np.uint64)])
    assert run and run.arrays[0].tolist() == expected, run
