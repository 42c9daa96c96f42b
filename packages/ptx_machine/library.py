"""Functions that compilers call and whose code no text has, in PTX: by their names.

LLVM leaves calls of its own old name for a shuffle, which Numba writes; Numba of its atomics of floats, and of what
brings a whole grid together. libdevice's functions are in `mathematics`.
"""

SHUFFLE = """
.func (.param .align 4 .b8 back[8]) llvm.nvvm.shfl.sync.i32 (
    .param .b32 mask, .param .b32 mode, .param .b32 value, .param .b32 lane, .param .b32 bounds)
{
    .reg .b32 %r<8>; .reg .pred %p<5>;
    ld.param.b32 %r1, [mask]; ld.param.b32 %r2, [mode]; ld.param.b32 %r3, [value];
    ld.param.b32 %r4, [lane]; ld.param.b32 %r5, [bounds];
    setp.eq.u32 %p1, %r2, 1; @%p1 bra UP;
    setp.eq.u32 %p1, %r2, 2; @%p1 bra DOWN;
    setp.eq.u32 %p1, %r2, 3; @%p1 bra BUTTERFLY;
    shfl.sync.idx.b32 %r6|%p2, %r3, %r4, %r5, %r1; bra END;
UP: shfl.sync.up.b32 %r6|%p2, %r3, %r4, %r5, %r1; bra END;
DOWN: shfl.sync.down.b32 %r6|%p2, %r3, %r4, %r5, %r1; bra END;
BUTTERFLY: shfl.sync.bfly.b32 %r6|%p2, %r3, %r4, %r5, %r1;
END: selp.b32 %r7, 1, 0, %p2;
    st.param.b32 [back], %r6; st.param.b32 [back+4], %r7;
    ret;
}
"""

# The smaller or larger of floats, by compare and swap. Numba: what is no number stays where it stands in
# memory, but for "nan", which replaces it; as a value it changes nothing.
EXTREME = """
.func (.param .b{bits} back) ___numba_atomic_{name} (.param .b64 where, .param .b{bits} value)
{{
    .reg .b64 %rd<2>; .reg .f{bits} %f<4>; .reg .b{bits} %v<5>; .reg .pred %p<4>;
    ld.param.b64 %rd1, [where]; ld.param.f{bits} %f1, [value];
    ld.relaxed.gpu.b{bits} %v1, [%rd1];
AGAIN: mov.b{bits} %f2, %v1;
    {first}
    {which}.f{bits} %f3, %f2, %f1;
    mov.b{bits} %v2, %f3;
    setp.eq.b{bits} %p1, %v1, %v2; @%p1 bra END;
    atom.relaxed.gpu.cas.b{bits} %v3, [%rd1], %v1, %v2;
    setp.eq.b{bits} %p2, %v3, %v1; mov.b{bits} %v1, %v3; @!%p2 bra AGAIN;
END: st.param.b{bits} [back], %v1;
    ret;
}}
"""

SUM = """
.func (.param .b{bits} back) ___numba_atomic_{name} (.param .b64 where, .param .b{bits} value)
{{
    .reg .b64 %rd<2>; .reg .f{bits} %f<4>;
    ld.param.b64 %rd1, [where]; ld.param.f{bits} %f1, [value];
    {negates}.f{bits} %f2, %f1;
    atom.relaxed.gpu.add.f{bits} %f3, [%rd1], %f2;
    st.param.f{bits} [back], %f3;
    ret;
}}
"""

GRID = """
.global .align 4 .u32 blocks_that_came[1];
.func (.param .b64 back) cudaCGGetIntrinsicHandle (.param .b32 scope)
{
    st.param.b64 [back], 1;
    ret;
}
.func (.param .b32 back) cudaCGSynchronize (.param .b64 handle, .param .b32 flags)
{
    .reg .b32 %r<9>; .reg .pred %p<3>;
    barrier.sync 0;
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
    or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
    mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mul.lo.u32 %r4, %r4, %r5;
    mov.u32 %r5, %nctaid.z; mul.lo.u32 %r4, %r4, %r5;
    atom.acq_rel.gpu.global.add.u32 %r6, [blocks_that_came], 1;
    div.u32 %r7, %r6, %r4; add.u32 %r7, %r7, 1; mul.lo.u32 %r7, %r7, %r4;
AGAIN: ld.acquire.gpu.global.u32 %r8, [blocks_that_came];
    setp.lt.u32 %p2, %r8, %r7; @%p2 bra AGAIN;
END: barrier.sync 0;
    st.param.b32 [back], 0;
    ret;
}
"""

KINDS = (("float", 32), ("double", 64))
TEXT = SHUFFLE + GRID + SUM.format(bits=64, name="double_add", negates="mov")
for kind, bits in KINDS:
    TEXT += SUM.format(bits=bits, name=f"{kind}_sub", negates="neg")
    for which in ("min", "max"):
        stays = f"setp.nan.f{bits} %p3, %f2, %f2; @%p3 bra END;"
        TEXT += EXTREME.format(bits=bits, name=f"{kind}_{which}", which=which, first=stays)
        TEXT += EXTREME.format(bits=bits, name=f"{kind}_nan{which}", which=which, first="")
