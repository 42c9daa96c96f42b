# ruff: noqa: E501 (a form stands on a line)
"""Forms that the manual allows, as compilers and people write them: each runs, and gives what the manual says."""

import numpy as np
import pytest

import ptx_machine
from ptx_machine import PTXError

KERNEL = """.version 8.0
.target sm_80
.address_size 64
{before}
.visible .entry k(.param .u64 o)
{{
.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
ld.param.u64 %rd1,[o]; mov.u32 %r1,%tid.x; mul.wide.u32 %rd2,%r1,4; add.u64 %rd1,%rd1,%rd2;
{body}
st.global.u32 [%rd1],%r2;
ret;
}}
"""
FORMS = {  # what four threads do, and what they store
    ".shared without .align": (
        ".shared .b32 s[4]; @%p0 st.shared.u32 [s],7; mov.u32 %r2,s; and.b32 %r2,%r2,3;",
        [0] * 4,
    ),
    "two dimensions": (
        ".shared .align 4 .b32 s[4][2]; mul.lo.u32 %r3,%r1,8; mov.u32 %r4,s; add.u32 %r3,%r3,%r4; "
        "st.shared.u32 [%r3],%r1; ld.shared.u32 %r2,[%r3];",
        [0, 1, 2, 3],
    ),
    "a negative offset": ("add.u64 %rd3,%rd1,4; st.global.u32 [%rd3-4],9; ld.global.u32 %r2,[%rd3+-4];", [9] * 4),
    "1.5": ("mov.f32 %f1,1.5; mov.b32 %r2,%f1;", [0x3FC00000] * 4),
    "-2.5e1": ("mov.f32 %f1,-2.5e1; mov.b32 %r2,%f1;", [0xC1C80000] * 4),
    "0d of a float32": ("add.f32 %f1,0f3F800000,0d4000000000000000; mov.b32 %r2,%f1;", [0x40400000] * 4),
    "0X": ("mov.u32 %r2,0X1FU;", [31] * 4),
    "017": ("mov.u32 %r2,017;", [15] * 4),
    "0b101": ("mov.u32 %r2,0b101;", [5] * 4),
    "WARP_SZ": ("mov.u32 %r2,WARP_SZ;", [32] * 4),
    "a vector register": (".reg .v4 .u32 q; mov.v4.u32 q,%tid; mov.u32 %r2,q.x;", [0, 1, 2, 3]),
    "a load of a vector register": (
        ".reg .v2 .u32 q; .shared .align 8 .b32 s[8]; mul.lo.u32 %r3,%r1,8; mov.u32 %r4,s; add.u32 %r3,%r3,%r4; "
        "mov.v2.u32 q,{%r1,7}; st.shared.v2.u32 [%r3],q; ld.shared.v2.u32 {%r5,%r2},[%r3];",
        [7] * 4,
    ),
    "_": ("mov.u32 %r3,5; mov.b64 %rd3,{%r1,%r3}; mov.b64 {_,%r2},%rd3;", [5] * 4),
    "a guard with blanks": ("mov.u32 %r2,1; setp.lt.u32 %p1,%r1,2; @ ! %p1 mov.u32 %r2,9;", [1, 1, 9, 9]),
    "tabs and blanks": ("mov.u32\\t%r2 ,\\t4 ;", [4] * 4),
    "/* */": ("mov.u32 /* one, or ; two */ %r2, /* more\\n lines */ 4; // ; {", [4] * 4),
    "} and more": ("{ mov.u32 %r2,3; } add.u32 %r2,%r2,1;", [4] * 4),
    ".reg.b32": ("{.reg.b32 x; mov.b32 x,5; mov.b32 %r2,x;}", [5] * 4),
    "one label in two scopes": (
        "mov.u32 %r2,0; mov.u32 %r3,0;{ .reg .pred q;\\nL: add.u32 %r2,%r2,1; setp.lt.u32 q,%r2,3; @q bra L; }"
        "{ .reg .pred q;\\nL: add.u32 %r3,%r3,2; setp.lt.u32 q,%r3,7; @q bra L; } mad.lo.u32 %r2,%r2,100,%r3;",
        [308] * 4,
    ),
    "one register in two scopes, of two types": (
        "{ .reg .b32 q; mov.b32 q,7; mov.b32 %r2,q; } { .reg .b64 q; mov.b64 q,9; }",
        [7] * 4,
    ),
    "a register of an inner scope": (".reg .b32 q; mov.b32 q,7;{ .reg .b32 q; mov.b32 q,9; } mov.b32 %r2,q;", [7] * 4),
    "shfl without sync": ("shfl.idx.b32 %r2,%r1,2,0x1f;", [2] * 4),
    "vote without sync": ("setp.gt.u32 %p1,%r1,1; vote.ballot.b32 %r2,%p1;", [12] * 4),
    ".shared::cta": (
        ".shared .align 4 .b32 s[4]; mul.lo.u32 %r3,%r1,4; mov.u32 %r4,s; add.u32 %r3,%r3,%r4; "
        "st.shared::cta.u32 [%r3],6; ld.shared::cta.u32 %r2,[%r3];",
        [6] * 4,
    ),
    "the address of a parameter": (
        "mov.b64 %rd4,o; ld.param.u64 %rd5,[%rd4]; cvta.param.u64 %rd6,%rd4; ld.u64 %rd7,[%rd6]; add.u64 %rd5,%rd5,%rd2; "
        "setp.eq.u64 %p1,%rd5,%rd1; selp.b32 %r2,1,0,%p1; add.u64 %rd7,%rd7,%rd2; setp.eq.u64 %p1,%rd7,%rd1; @!%p1 mov.u32 %r2,5;",
        [1] * 4,
    ),
    "special registers": (
        "mov.u32 %r2,%nwarpid; min.u32 %r2,%r2,1; mov.u32 %r3,%smid; add.u32 %r2,%r2,%r3; mov.u32 %r3,%dynamic_smem_size; "
        "add.u32 %r2,%r2,%r3; add.u32 %r2,%r2,%tid.w;",
        [1] * 4,
    ),
    "a clock": (
        "mov.u64 %rd3,%clock64; mov.u64 %rd4,%clock64; setp.lt.u64 %p1,%rd3,%rd4; mov.u32 %r3,%clock; "
        "mov.u64 %rd5,%globaltimer; selp.b32 %r2,1,0,%p1;",
        [1] * 4,
    ),
    "isspacep": (
        ".shared .b32 s[4]; mov.u64 %rd3,s; cvta.shared.u64 %rd3,%rd3; isspacep.shared %p1,%rd3; isspacep.global %p2,%rd1; "
        "selp.b32 %r2,1,0,%p1; @%p2 add.u32 %r2,%r2,2; isspacep.local %p3,%rd1; @%p3 mov.u32 %r2,9;",
        [3] * 4,
    ),
    "atomics of two halves and of one": (
        ".shared .b32 s[1]; @!%p0 st.shared.u32 [s],0; bar.sync 0; mov.u32 %r3,0x3C003C00; mov.u16 %h1,0x4000; "
        "red.shared.add.noftz.f16x2 [s],%r3; atom.shared.add.noftz.f16 %h2,[s+2],%h1; bar.sync 0; ld.shared.u32 %r2,[s];",
        [0x4A004400] * 4,  # 12 and 4
    ),
    "atomics of two bfloat16": (
        ".shared .b32 s[1]; @!%p0 st.shared.u32 [s],0; bar.sync 0; mov.u32 %r3,0x3F804000; "
        "red.shared.add.noftz.bf16x2 [s],%r3; bar.sync 0; ld.shared.u32 %r2,[s];",
        [0x40804100] * 4,  # 4 and 8
    ),
    "an atomic of two floats": (
        "ld.param.u64 %rd3,[o]; mov.f32 %f1,1.0; mov.f32 %f2,2.0; red.global.add.v2.f32 [%rd3],{%f1,%f2}; bar.sync 0; "
        "ld.global.u32 %r2,[%rd3+4]; bar.sync 0;",
        [0x41000000] * 4,
    ),
    "a barrier in memory": (  # in its third phase it waits for none of the first, whose parity is the same
        ".shared .b64 s[1]; setp.eq.u32 %p1,%r1,0; @%p1 mbarrier.init.shared::cta.b64 [s],4; bar.sync 0; "
        "st.global.u32 [%rd1],%r1; mbarrier.arrive.shared::cta.b64 %rd3,[s];\\nW: mbarrier.try_wait.parity.shared::cta.b64 %p1,[s],0; "
        "@!%p1 bra W; ld.param.u64 %rd4,[o]; ld.global.u32 %r2,[%rd4+8]; mbarrier.arrive.shared::cta.b64 _,[s];\\n"
        "V: mbarrier.try_wait.parity.shared::cta.b64 %p1,[s],1; @!%p1 bra V; "
        "mbarrier.test_wait.shared::cta.b64 %p2,[s],%rd3; @%p2 add.u32 %r2,%r2,100;",
        [2] * 4,
    ),
    "a barrier in memory that half of them leave": (
        ".shared .b64 s[1]; setp.eq.u32 %p1,%r1,0; @%p1 mbarrier.init.shared.b64 [s],4; bar.sync 0; setp.lt.u32 %p2,%r1,2; "
        "mov.u32 %r2,5; @!%p2 mbarrier.arrive_drop.shared.b64 _,[s]; @!%p2 bra END; mbarrier.arrive.shared.b64 _,[s]; "
        "mbarrier.arrive.shared.b64 _,[s];\\nW: mbarrier.try_wait.parity.shared.b64 %p1,[s],1; @!%p1 bra W; mov.u32 %r2,6;\\nEND:",
        [6, 6, 5, 5],
    ),
    "ldu": ("st.global.u32 [%rd1],7; ldu.global.u32 %r2,[%rd1];", [7] * 4),
    "a carry that goes into a scope": (
        "mov.u32 %r3,-1; mov.u32 %r2,5;\\n{\\nmad.lo.cc.u32 %r4,%r3,%r3,%r2;\\nmadc.hi.u32 %r2,%r3,%r3,0;\\n}",
        [0xFFFFFFFE] * 4,  # 0xFFFFFFFF * 0xFFFFFFFF + 5 is 0xFFFFFFFE 00000006
    ),
}
BEFORE = {  # what stands before the kernel, what its threads do, and what they store
    "floats of .const": (
        ".const .align 4 .f32 c[2] = {1.0, 2.0};",
        "ld.const.f32 %f1,[c+4]; mov.b32 %r2,%f1;",
        [0x40000000] * 4,
    ),
    "no size": (".global .align 4 .u32 g[] = {5, 6};", "mov.u64 %rd3,g-4; ld.global.u32 %r2,[%rd3+8];", [6] * 4),
    "rows": (
        ".global .u32 g[2][3] = {{1}, {2, 3}};",
        "ld.global.u32 %r2,[g+16]; ld.global.u32 %r3,[g+20]; "
        "ld.global.u32 %r4,[g+12]; add.u32 %r2,%r2,%r3; mad.lo.u32 %r2,%r2,10,%r4;",
        [32] * 4,
    ),
    "a table of addresses": (
        ".global .align 1 .b8 str[4]={97,98,99};\n.global .align 8 .u64 names[2]={generic(str), generic(str)+1};",
        "ld.global.u64 %rd3,[names+8]; ld.u8 %r2,[%rd3+1]; ld.global.u64 %rd4,[names]; ld.global.u8 %r3,[%rd4]; "
        "mad.lo.u32 %r2,%r2,1000,%r3;",
        [99097] * 4,
    ),
    "declared before it is there": (
        ".extern .global .b32 g[2];\n.global .u64 where[1]={generic(g)};\n.global .b32 g[2]={1, 42};\n.extern .global .b32 g[2];",
        "ld.global.u64 %rd3,[where]; ld.global.u32 %r2,[%rd3+4];",
        [42] * 4,
    ),
    "parts of an address": (
        ".global .b32 g[2]={1, 42};\n.global .b8 where[8]={0xFF(g),0xFF00(g),0xFF0000(g),0xFF000000(g),0xFF00000000(g),"
        "0xFF0000000000(g),0xFF000000000000(g),0xFF00000000000000(g)};",
        "ld.global.u64 %rd3,[where]; ld.global.u32 %r2,[%rd3+4];",
        [42] * 4,
    ),
    "what is not known, elsewhere": (
        ".global .b32 odd[1]={nowhere};\n.entry j() { .reg .b32 %r<2>; frobnicate!! ; ret; }\n.func f() { tex.1d.v4.u32.s32 {a,b,c,d},[t,{x}]; ret; }",
        "mov.u32 %r2,3;",
        [3] * 4,
    ),
    "a function by its registers": (
        ".func (.reg .u32 back) twice (.reg .u32 given) { add.u32 back,given,given; ret; }",
        "call (%r2), twice, (%r1);",
        [0, 2, 4, 6],
    ),
    "parts of a structure": (
        ".func (.param .align 8 .b8 back[8]) swapped (.param .align 8 .b8 given[8]) { .reg .b32 %a<3>; .reg .b16 %b<3>; "
        "ld.param.v2.b32 {%a1,%a2},[given]; ld.param.b8 %b1,[given+4]; cvt.u32.u16 %a2,%b1; st.param.v2.b32 [back],{%a2,%a1}; ret; }",
        "mov.u32 %r3,0x107; mov.b64 %rd3,{%r1,%r3}; { .param .align 8 .b8 p[8]; .param .align 8 .b8 q[8]; st.param.b64 [p],%rd3; "
        "call (q), swapped, (p); ld.param.b64 %rd4,[q]; } mov.b64 {%r2,%r4},%rd4; mad.lo.u32 %r2,%r2,10,%r4;",
        [70, 71, 72, 73],
    ),
    "a function that calls itself": (  # Fibonacci's numbers, with an array of its own
        ".func (.param .b32 back) fib (.param .b32 n) { .reg .b32 %r<6>; .reg .pred %p; .local .b32 kept[1]; .reg .b64 %k; "
        "ld.param.b32 %r1,[n]; mov.u64 %k,kept; setp.lt.u32 %p,%r1,2; @%p bra SMALL; sub.u32 %r2,%r1,1; "
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a],%r2; call (b), fib, (a); ld.param.b32 %r3,[b]; } "
        "st.local.u32 [%k],%r3; sub.u32 %r2,%r1,2; "
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a],%r2; call (b), fib, (a); ld.param.b32 %r3,[b]; } "
        "ld.local.u32 %r4,[%k]; add.u32 %r1,%r4,%r3; SMALL: st.param.b32 [back],%r1; ret; }",
        "add.u32 %r3,%r1,7; { .param .b32 a; .param .b32 b; st.param.b32 [a],%r3; call (b), fib, (a); ld.param.b32 %r2,[b]; }",
        [13, 21, 34, 55],
    ),
    "a function that calls itself, and stores nothing": (  # which is no loop in which nothing changes
        ".func (.param .b32 back) fib (.param .b32 n) { .reg .b32 %r<6>; .reg .pred %p; "
        "ld.param.b32 %r1,[n]; setp.lt.u32 %p,%r1,2; @%p bra SMALL; sub.u32 %r2,%r1,1; "
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a],%r2; call (b), fib, (a); ld.param.b32 %r4,[b]; } "
        "sub.u32 %r2,%r1,2; "
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a],%r2; call (b), fib, (a); ld.param.b32 %r3,[b]; } "
        "add.u32 %r1,%r4,%r3; SMALL: st.param.b32 [back],%r1; ret; }",
        "add.u32 %r3,%r1,9; { .param .b32 a; .param .b32 b; st.param.b32 [a],%r3; call (b), fib, (a); ld.param.b32 %r2,[b]; }",
        [34, 55, 89, 144],
    ),
    "a signed byte that is passed": (
        ".func (.param .b32 back) wide (.param .b8 given) { .reg .b16 %h; .reg .b32 %r; ld.param.s8 %h,[given]; "
        "cvt.s32.s16 %r,%h; st.param.b32 [back],%r; ret; }",
        "sub.u32 %r3,%r1,2; cvt.u16.u32 %h1,%r3; { .param .b8 p; .param .b32 q; st.param.b8 [p],%h1; "
        "call (q), wide, (p); ld.param.b32 %r2,[q]; }",
        [2**32 - 2, 2**32 - 1, 0, 1],
    ),
    "exit in a function ends the thread": (
        ".func leaves (.param .b32 a) { .reg .pred %p1; .reg .b32 %r1; ld.param.b32 %r1,[a]; setp.gt.u32 %p1,%r1,1; @%p1 exit; ret; }",
        "{ .param .b32 q; st.param.b32 [q],%r1; call leaves, (q); } mov.u32 %r2,9;",
        [9, 9, 0, 0],
    ),
    "functions by their addresses": (
        ".func (.param .b32 b) one (.param .b32 a) { .reg .b32 %r; ld.param.b32 %r,[a]; add.u32 %r,%r,1; st.param.b32 [b],%r; ret; }\n"
        ".func (.param .b32 b) ten (.param .b32 a) { .reg .b32 %r; ld.param.b32 %r,[a]; mul.lo.u32 %r,%r,10; st.param.b32 [b],%r; ret; }\n"
        ".global .align 8 .u64 both[2] = {one, ten};",
        "and.b32 %r3,%r1,1; mul.wide.u32 %rd3,%r3,8; mov.u64 %rd4,both; add.u64 %rd4,%rd4,%rd3; ld.global.u64 %rd5,[%rd4]; "
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a],%r1; P: .callprototype (.param .b32 _) _ (.param .b32 _); "
        "call (b), %rd5, (a), P; ld.param.b32 %r2,[b]; }",
        [1, 10, 3, 30],
    ),
    "a shuffle by LLVM's old name": (
        ".extern .func (.param .align 4 .b8 r[8]) llvm.nvvm.shfl.sync.i32 (.param .b32 a, .param .b32 b, .param .b32 c, .param .b32 d, .param .b32 e);",
        "{ .param .b32 a; .param .b32 b; .param .b32 c; .param .b32 d; .param .b32 e; .param .align 4 .b8 r[8]; cvt.u64.u32 %rd3,%r1; "
        "st.param.b32 [a],-1; st.param.b32 [b],1; st.param.b32 [c],%rd3; st.param.b32 [d],1; st.param.b32 [e],0; "
        "call.uni (r), llvm.nvvm.shfl.sync.i32, (a, b, c, d, e); ld.param.b32 %r2,[r]; ld.param.b32 %r3,[r+4]; } mad.lo.u32 %r2,%r3,10,%r2;",
        [0, 10, 11, 12],
    ),
    "Numba's atomics of floats": (
        ".extern .func (.param .b32 r) ___numba_atomic_float_max (.param .b64 a, .param .b32 b);\n.shared .f32 s[1];",
        "setp.eq.u32 %p1,%r1,0; @%p1 st.shared.f32 [s],1.0; bar.sync 0; mov.u64 %rd3,s; cvta.shared.u64 %rd3,%rd3; cvt.rn.f32.u32 %f1,%r1; "
        "{ .param .b64 a; .param .b32 b; .param .b32 r; st.param.b64 [a],%rd3; st.param.f32 [b],%f1; "
        "call (r), ___numba_atomic_float_max, (a, b); ld.param.f32 %f2,[r]; } bar.sync 0; ld.shared.u32 %r2,[s];",
        [0x40400000] * 4,
    ),
    "its second result behind a pointer": (
        ".extern .func (.param .b32 r) __nv_frexpf (.param .b32 a, .param .b64 p);",
        ".local .b32 e[1]; mov.u64 %rd3,e; cvta.local.u64 %rd3,%rd3; { .param .b32 a; .param .b64 p; .param .b32 r; "
        "st.param.f32 [a],10.0; st.param.b64 [p],%rd3; call.uni (r), __nv_frexpf, (a, p); ld.param.f32 %f2,[r]; } "
        "ld.local.u32 %r2,[e]; mul.f32 %f2,%f2,8.0; cvt.rni.u32.f32 %r3,%f2; mad.lo.u32 %r2,%r2,10,%r3;",
        [45] * 4,  # 10 is 0.625 * 2**4
    ),
}


def stored(before, body, target="sm_80"):
    """What four threads store."""
    text = KERNEL.replace("sm_80", target).format(before=before, body=body.replace("\\t", "\t").replace("\\n", "\n"))
    run = ptx_machine.run(text, (1,), (4,), [np.zeros(4, np.uint32)], kernel="k")
    assert run, run
    return run.arrays[0].tolist()


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_the_manual_runs(form):
    body, expected = FORMS[form]
    assert stored("", body, "sm_62" if "without sync" in form else "sm_80") == expected


def test_a_warp_of_threads_that_go_their_own_ways_says_who_takes_part():
    """From sm_70 on: PTX ISA, `shfl`."""
    with pytest.raises(PTXError, match=r"not known here: shfl\.idx"):
        stored("", FORMS["shfl without sync"][0])


@pytest.mark.parametrize("form", BEFORE)
def test_what_stands_before_the_kernel(form):
    before, body, expected = BEFORE[form]
    assert stored(before, body) == expected


def test_a_fault_of_what_the_kernel_uses_is_its_own():
    with pytest.raises(PTXError, match="odd holds what is not known here: 1 2"):
        stored(".global .b32 odd[1]={1 2};", "ld.global.u32 %r2,[odd];")
    with pytest.raises(PTXError, match="line 4 of the PTX has an instruction that is not known here: frobnicate!!"):
        stored(".func f() { frobnicate!! ; ret; }", "call f;")
    with pytest.raises(PTXError, match="holds the address of nowhere, which this PTX has not"):
        stored(".global .u64 odd[1]={nowhere};", "ld.global.u32 %r2,[odd];")


DOWN = (  # how many times it has called itself, until n is 0
    ".func (.param .b32 back) down (.param .b32 n) { .reg .b32 %r<3>; .reg .pred %p; ld.param.b32 %r1,[n]; mov.u32 %r2,0; "
    "setp.eq.u32 %p,%r1,0; @%p bra END; sub.u32 %r1,%r1,1; { .param .b32 a; .param .b32 b; st.param.b32 [a],%r1; "
    "call (b), down, (a); ld.param.b32 %r2,[b]; } add.u32 %r2,%r2,1; END: st.param.b32 [back],%r2; ret; }"
)


def test_a_function_calls_itself_64_deep_and_no_deeper():
    call = "{ .param .b32 a; .param .b32 b; st.param.b32 [a],63; call (b), down, (a); ld.param.b32 %r2,[b]; }"
    assert stored(DOWN, call) == [63] * 4
    with pytest.raises(PTXError, match="calls itself more than 64 times"):
        stored(DOWN, call.replace("63", "64"))
