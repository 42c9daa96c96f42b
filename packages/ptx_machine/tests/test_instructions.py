"""INSTRUCTIONS.md, the table of instructions: written by `python ptx_machine/tests/test_instructions.py`, held here."""

# ruff: noqa: E501
import itertools
import re
from pathlib import Path

import pytest

from ptx_machine import PTXError, arithmetic
from ptx_machine.program import REFUSED, decoded

TABLE = Path(__file__).parents[1] / "INSTRUCTIONS.md"
FRACTIONS, PYTHON, NUMPY, ML = "Python's fractions", "Python's whole numbers", "NumPy", "ml_dtypes"
MANUAL = "the manual's words"
LAST = "units in the last place off at most"
SAME = "the same bits"
UNTRIED = "not tried"
MEMORY = "Moves and memory"  # from here on, an H200 was not asked of each form
NO_NUMBER = SAME + ", but for those of what is no number"
ROWS = {  # group: rows (forms, operands of each, checked against, what an H200 gave if not the same bits); [a|b] is a choice, with an empty one where it may be left out
    "Whole numbers": [
        ("[add|sub].[u16|s16|u32|s32|u64|s64]", "d,a,b", PYTHON),
        ("[add|sub].sat.s32", "d,a,b", PYTHON),
        ("[add|min|max].[u16x2|s16x2]", "r,r,r", MANUAL),
        ("mul.[lo|hi].[u32|s32|u64|s64]", "d,a,b", PYTHON),
        ("[mul.wide].[u32|s32]", "q,r,r", PYTHON),
        ("mad.[lo|hi].[u32|s32|u64|s64]", "d,a,b,c", PYTHON),
        ("mad.wide.[u32|s32]", "q,r,r,q", PYTHON),
        ("mad.hi.sat.s32", "d,a,b,c", PYTHON),
        ("[add|sub].cc.[u32|s32|u64|s64]", "d,a,b", PYTHON),
        ("[addc|subc][|.cc].[u32|s32|u64|s64]", "d,a,b", PYTHON),
        ("[mad|madc].[lo|hi].cc.[u32|u64]", "d,a,b,c", PYTHON),
        ("mul24.[lo|hi].[u32|s32]", "d,a,b", PYTHON),
        ("mad24.[lo|hi].[u32|s32]", "d,a,b,c", PYTHON),
        ("[div|rem].[u32|s32|u64|s64]", "d,a,b", PYTHON),
        ("[min|max].[u32|s32|u64|s64]", "d,a,b", PYTHON),
        ("[min|max].relu.s32", "d,a,b", MANUAL),
        ("[abs|neg].[s32|s64]", "d,a", PYTHON),
        ("sad.[u32|s32]", "d,a,b,c", PYTHON),
        ("dp4a.[u32|s32].[u32|s32]", "r,r,r,r", PYTHON),
        ("dp2a.[lo|hi].[u32|s32].[u32|s32]", "r,r,r,r", PYTHON),
        ("[vadd|vsub|vavrg|vabsdiff|vmin|vmax][2|4].[u32|s32].[u32|s32].[u32|s32][|.add|.sat]", "r,r,r,r", NUMPY),
    ],
    "Bits": [
        ("[and|or|xor].[pred|b16|b32|b64]", "d,a,b", PYTHON),
        ("not.[pred|b16|b32|b64]", "d,a", PYTHON),
        ("cnot.[b16|b32|b64]", "d,a", MANUAL),
        ("shl.[b16|b32|b64]", "d,a,r", PYTHON),
        ("shr.[u16|s16|u32|s32|u64|s64]", "d,a,r", PYTHON),
        ("shf.[l|r].[wrap|clamp].b32", "r,r,r,r", PYTHON),
        ("bfe.[u32|s32|u64|s64]", "d,a,r,r", MANUAL),
        ("bfi.[b32|b64]", "d,a,b,r,r", MANUAL),
        ("bfind[|.shiftamt].[u32|s32|u64|s64]", "r,a", MANUAL),
        ("bmsk.[clamp|wrap].b32", "r,r,r", MANUAL),
        ("szext.[clamp|wrap].[u32|s32]", "d,a,r", PYTHON),
        ("[popc|clz].[b32|b64]", "r,a", PYTHON),
        ("brev.[b32|b64]", "d,a", PYTHON),
        ("fns.b32", "r,r,r,r", MANUAL),
        ("lop3.b32", "r,r,r,r,0x96", PYTHON + ", every fifth table"),
        ("prmt.b32[|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16]", "r,r,r,r", MANUAL),
    ],
    "float32 and float64": [
        ("[add|sub|mul][|.rn|.rz|.rm|.rp].[f32|f64]", "d,a,b", f"{FRACTIONS}; {NUMPY} to the nearest", NO_NUMBER),
        ("[add|sub|mul][|.ftz][|.sat].f32", "d,a,b", NUMPY),
        ("fma.[rn|rz|rm|rp].[f32|f64]", "d,a,b,c", FRACTIONS, NO_NUMBER),
        ("mad.[rn|rz].f32", "d,a,b,c", FRACTIONS),
        ("fma.rn[|.ftz][|.sat].f32", "d,a,b,c", NUMPY),
        ("div.[rn|rz|rm|rp].[f32|f64]", "d,a,b", FRACTIONS),
        ("[rcp|sqrt].[rn|rz|rm|rp].[f32|f64]", "d,a", FRACTIONS),
        ("div.[approx|full].f32", "d,a,b", NUMPY, 2),
        ("[rcp|sqrt|rsqrt].approx[|.ftz].f32", "d,a", NUMPY, 1),
        ("ex2.approx[|.ftz].f32", "d,a", NUMPY, 2),
        ("lg2.approx[|.ftz].f32", "d,a", NUMPY, 64),
        ("tanh.approx.f32", "d,a", NUMPY, 119),
        ("[sin|cos].approx[|.ftz].f32", "d,a", f"{NUMPY}, of the angle as a GPU cuts it", 2.0**-21),
        ("rcp.approx.ftz.f64", "d,a", f"{NUMPY}, cut to the upper word", NO_NUMBER),
        ("rsqrt.approx.ftz.f64", "d,a", f"{NUMPY}, cut to the upper word", 1 << 32),
        ("[min|max].[f32|f64]", "d,a,b", f"{MANUAL}: -0 is below +0"),
        ("[min|max].NaN.f32", "d,a,b", MANUAL),
        ("[min|max].xorsign.abs.f32", "d,a,b", MANUAL),
        ("[abs|neg].[f32|f64]", "d,a", NUMPY),
        ("copysign.[f32|f64]", "d,a,b", NUMPY),
        ("testp.[finite|infinite|number|notanumber|normal|subnormal].[f32|f64]", "p,a", NUMPY),
    ],
    "float16 and bfloat16": [
        ("[add|sub|mul|min|max].[f16|bf16|f16x2|bf16x2]", "d,a,b", f"{NUMPY}; {FRACTIONS}"),
        ("[add|sub|mul].rn[|.ftz][|.sat].[f16|f16x2]", "d,a,b", FRACTIONS),
        ("fma.rn[|.relu].[f16|bf16|f16x2|bf16x2]", "d,a,b,c", FRACTIONS),
        ("fma.rn.[ftz|sat].[f16|f16x2]", "d,a,b,c", FRACTIONS),
        ("[min|max].[NaN|xorsign.abs].[f16|bf16|f16x2|bf16x2]", "d,a,b", MANUAL),
        ("[abs|neg].[f16|bf16|f16x2|bf16x2]", "d,a", NUMPY),
        ("tanh.approx.[f16|bf16|f16x2|bf16x2]", "d,a", f"{NUMPY}, {ML}, all 65,536", 1),
        ("ex2.approx.[f16|f16x2|ftz.bf16|ftz.bf16x2]", "d,a", f"{NUMPY}, {ML}, all 65,536", 1),
    ],
    "Comparing and choosing": [
        ("setp.[eq|ne|lt|le|gt|ge].[u16|s16|u32|s32|u64|s64|f16|bf16|f32|f64]", "p,a,b", PYTHON),
        ("setp.[equ|neu|ltu|leu|gtu|geu|num|nan].[f16|f32|f64]", "p,a,b", MANUAL),
        ("setp.[lt|ge].[and|or|xor].[s32|f32]", "p|q,a,b,!p", MANUAL),
        ("setp.[eq|ltu].[f16x2|bf16x2]", "p|q,r,r", MANUAL),
        ("set.[eq|ltu].[u32|f32].f32", "r,f,f", MANUAL),
        ("set.[eq|ltu].f16.f16", "h,h,h", MANUAL),
        ("set.[eq|ltu].[f16x2|u32].f16x2", "r,r,r", MANUAL),
        ("selp.[b16|b32|b64|f32|f64]", "d,a,b,p", NUMPY),
        ("selp.[s32|u32]", "d,a,b,!p", "what an RTX 3090 gave, as published"),
        ("slct.[u32|f32|b64].s32", "D,A,B,r", NUMPY),
    ],
    "Conversions": [
        ("cvt.[u16|s16|u32|s32|u64|s64].[u32|s64]", "D,A", PYTHON),
        ("cvt.sat.[u16.u32|s16.u32|s32.u32|u16.s64|s16.s64|u32.s64|s32.s64|u64.s64]", "D,A", PYTHON),
        ("cvt.[rni|rzi|rmi|rpi].[u16|s32|u32|s64].[f16|f32|f64]", "D,A", f"{MANUAL}, what is no number included"),
        ("cvt.[rni|rzi|rmi|rpi].u64.[f16|f32|f64]", "D,A", f"{MANUAL}, what is no number included", UNTRIED),
        ("cvt.[rn|rz|rm|rp].[f16|f32|f64].[s32|u32|s64|u64]", "D,A", PYTHON),
        ("cvt[|.ftz][|.sat].f32.f32", "D,A", NUMPY),
        ("cvt.[rn|rz|rm|rp].[f16|bf16].f32", "D,A", f"{NUMPY}, {ML}, tables of all numbers"),
        ("cvt.[rn|rz|rm|rp].[f16|bf16].f64", "D,A", f"{NUMPY}, {ML}, tables of all numbers", NO_NUMBER),
        ("cvt.[rn|rz|rm|rp].f32.f64", "D,A", NUMPY),
        ("cvt.[f32|f64].[f16|bf16]", "D,A", f"{NUMPY}, {ML}, all 65,536"),
        ("cvt.[rn|rz][|.relu].[f16x2|bf16x2].f32", "r,f,f", f"{NUMPY}, {ML}"),
        ("cvt.[rna|rn|rz|rna.satfinite].tf32.f32", "r,f", "tables of all numbers"),
        ("cvt.[rn|rz].satfinite.tf32.f32", "r,f", "tables of all numbers", "cannot: it is of sm_100"),
        ("cvt.rn.satfinite[|.relu].[e4m3x2|e5m2x2].[f32]", "h,f,f", f"{ML}, all float16"),
        ("cvt.rn.satfinite.[e4m3x2|e5m2x2].f16x2", "h,r", f"{ML}, all float16"),
        ("cvt.rn[|.relu].f16x2.[e4m3x2|e5m2x2]", "r,h", f"{ML}, all 65,536"),
        ("cvt.pack.sat.[u16|s16].s32", "r,r,r", MANUAL),
        ("cvt.pack.sat.[u8|s8].s32.b32", "r,r,r,r", MANUAL),
    ],
    MEMORY: [
        ("mov.[pred|b16|u32|b64|f32|f64]", "d,a", PYTHON),
        ("cvta[|.to].[global|shared|local|const].u64", "q,q", MANUAL),
        ("isspacep.[global|shared|local]", "p,q", MANUAL),
        ("ld[|.volatile|.relaxed.gpu|.acquire.sys|.weak][|.global].[b8|u16|s32|b64|f32|f64]", "L,[q+8]", MANUAL),
        ("ld.[global.nc|const|local|shared::cta].[v2.f32|v2.u32]", "{L,L},[q]", MANUAL),
        ("st[|.volatile|.release.gpu][|.global].[b8|u16|s32|b64|f32]", "[q],L", MANUAL),
        ("[atom.global|atom.shared|atom.acq_rel.gpu].[add|min|max|exch].[u32|s32|u64]", "d,[q],b", PYTHON),
        ("atom.[and|or|xor|exch].[b32|b64]", "d,[q],b", PYTHON),
        ("atom.cas.[b16|b32|b64]", "d,[q],b,c", PYTHON),
        ("atom.[inc|dec].u32", "d,[q],b", MANUAL),
        ("red.global.add.[f32|f64|u32|s32|u64]", "[q],a", PYTHON),
        ("atom.global.add.noftz.[f16|bf16|f16x2|bf16x2]", "d,[q],b", f"{NUMPY}, {ML}"),
        ("red.global.add.v2.f32", "[q],{f,f}", NUMPY),
        ("cp.async.[ca|cg].shared.global", "[r],[q],16", MANUAL),
        ("cp.async.[commit_group|wait_all]", "", MANUAL),
        ("cp.async.wait_group", "1", MANUAL),
        ("[membar.gl|fence.acq_rel.gpu|fence.sc.sys|fence.proxy.async]", "", MANUAL),
    ],
    "Together": [
        ("[bar|barrier].sync", "r,64", MANUAL),
        ("bar.arrive", "1,64", MANUAL),
        ("bar.red.popc.u32", "r,0,p", MANUAL),
        ("bar.red.[and|or].pred", "p,0,q1", MANUAL),
        ("bar.warp.sync", "-1", MANUAL),
        ("shfl.sync.[idx|up|down|bfly].b32", "r|p,r,r,31,-1", MANUAL),
        ("vote.sync.[all|any|uni].pred", "p,q1,-1", MANUAL),
        ("vote.sync.ballot.b32", "r,p,-1", MANUAL),
        ("match.any.sync.[b32|b64]", "r,a,-1", MANUAL),
        ("match.all.sync.b32", "r|p,r,-1", MANUAL),
        ("redux.sync.[add|min|max].[u32|s32]", "r,r,-1", NUMPY),
        ("redux.sync.[and|or|xor].b32", "r,r,-1", NUMPY),
        ("activemask.b32", "r", MANUAL),
        ("elect.sync", "r|p,-1", MANUAL),
        ("ldmatrix.sync.aligned.m8n8.x1[|.trans].shared.b16", "{r},[r]", MANUAL),
        ("stmatrix.sync.aligned.m8n8.x1[|.trans].shared.b16", "[r],{r}", MANUAL),
        ("movmatrix.sync.aligned.m8n8.trans.b16", "r,r", MANUAL),
        ("mbarrier.init.shared.b64", "[r],32", MANUAL),
        ("mbarrier.arrive[|.expect_tx].shared.b64", "q,[r],1", MANUAL),
        ("mbarrier.[test_wait|try_wait].shared.b64", "p,[r],q", MANUAL),
        ("mbarrier.[test_wait|try_wait].parity.shared.b64", "p,[r],r", MANUAL),
        ("mma.sync.aligned.m16n8k16.row.col.f32.[f16|bf16].[same].f32", "{f,f,f,f},{r,r,r,r},{r,r},{f,f,f,f}", PYTHON, SAME),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "{f,f,f,f},{r,r,r,r},{r,r},{f,f,f,f}", PYTHON, SAME),
        ("mma.sync.aligned.m16n8k32.row.col.s32.[s8|u8].[s8|u8].s32", "{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r}", NUMPY, SAME),
        ("mma.sync.aligned.m16n8k32.row.col.f32.[e4m3|e5m2].[e4m3|e5m2].f32", "{f,f,f,f},{r,r,r,r},{r,r},{f,f,f,f}", f"{NUMPY}, {ML}; of two types, nothing"),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "{g,g},{g},{g},{g,g}", NUMPY),
        ("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", "{r,r,r,r,r,r,r,r},[q],r", NUMPY),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "{f,f,f,f,f,f,f,f},{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r},{f,f,f,f,f,f,f,f}", NUMPY),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.[f16|bf16].[same]", "{f,f,f,f},q,q,p,1,1,0,0", NUMPY),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32", "{f,f,f,f},{r,r,r,r},q,p,1,1", NUMPY),
        ("wgmma.commit_group.sync.aligned", "", MANUAL),
        ("wgmma.wait_group.sync.aligned", "0", MANUAL),
        ("wgmma.fence.sync.aligned", "", "nothing: it does nothing here"),
        ("[createpolicy.fractional.L2::evict_first.b64]", "q,1.0", "nothing: caches are not followed"),
        ("[mapa.shared::cluster.u32]", "r,r,0", "nothing: each block is a cluster of its own"),
        ("barrier.cluster.[arrive|wait].aligned", "", "nothing: each block is a cluster of its own"),
    ],
    "Where a thread goes on": [
        ("[ret|exit|trap]", "", MANUAL),
        ("bra[|.uni]", "END", MANUAL),
        ("[nanosleep.u32]", "32", "nothing: it does nothing here"),
    ],
}  # fmt: skip
BESIDE = """
An NVIDIA H200 (driver 580.159.04, CUDA 13.0) ran 975 of the forms down to "Conversions" on 2026-11-26, each with 4,096 operands of many
kinds. The last column says what it gave beside the machine of now. It also ran 602 launches of this package's tests. They gave the same
bits, but for approximations (7 launches) and for the order in which atomics append (3).

What it does otherwise than the manual says, and so the machine, too: `bfe` and `bfi` of 64 bits take all of a place and a length, not
the last 8 bits. A division by zero of whole numbers, and what it leaves over, have all bits 1. `mma` with sums of float32 cuts them (`cut_sum`
in `warpwide.py`); GPUs before Hopper cut them elsewhere. Approximations of 16 bits are cut to zero. `sin.approx` and `cos.approx` of large
angles are as wrong. What is no number has the bits 0x7fffffff after float32 arithmetic; the machine has other bits for it after plain `add`,
`sub` and `mul`, which would take longer, after float64's with two such operands, and after `cvt` from float64 to 16 bits."""
ALSO = """
Also known: `call` of functions, by address and recursively; `brx.idx`; `%clock`, `%clock64` and `%globaltimer`, which count
instructions; functions of libdevice by their names, but for Bessel's, `erfcx` and the inverses of erf; `vprintf`, whose text `Run.printed` holds, and `__assertfail`.
A wait at `mbarrier.init` is not asked for: that a barrier in memory is used before all threads know of it is not found."""
REFUSALS = {
    "tex.1d.v4.u32.s32 {%r1,%r2,%r3,%r4},[t,{%r1}];": "textures and surfaces",
    "suld.b.1d.b32.trap %r1,[t,{%r1}];": "textures and surfaces",
    "cp.async.bulk.commit_group;": "tensor memory accelerator",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f1,%f1,%f1},%q1,%q1,%r1,0,%p1,1,1,0,0;": "sparse matrices",
    "tcgen05.wait::ld.sync.aligned;": "tcgen05",
}


def forms(text):
    """All names that a row's pattern stands for."""
    parts = [part.split("|") for part in re.split(r"\[([^\]]*)\]", text)[1::2]]
    pieces = re.split(r"\[[^\]]*\]", text)
    for choice in itertools.product(*parts):
        name = "".join(itertools.chain.from_iterable(zip(pieces, (*choice, ""), strict=True)))
        yield name.replace(".same", f".{choice[0]}") if "same" in choice else name


REGISTERS = {"16": "%h1", "32": "%r1", "64": "%q1", "f32": "%f1", "f64": "%g1", "pred": "%p1"}
LETTERS = {"r": "%r1", "q": "%q1", "f": "%f1", "g": "%g1", "h": "%h1", "p": "%p1", "q1": "%p2", "p|q": "%p1|%p2",
           "r|p": "%r1|%p1", "!p": "!%p1"}  # fmt: skip


def register(kind):
    """A register that holds a number of that type."""
    if kind in REGISTERS:
        return REGISTERS[kind]
    return REGISTERS["32" if kind.endswith("x2") else str(max(16, int(re.search(r"\d+", kind)[0])))]


def statement(name, operands):
    """A statement of that name: d, a, b, c are of its last type, D and A of the last but one and the last."""
    kinds = [word for word in name.split(".") if re.fullmatch(r"(b?f|[bus])\d+(x2)?|pred", word)]
    last, before = (kinds[-1], kinds[-2] if len(kinds) > 1 else kinds[-1]) if kinds else ("b32", "b32")
    if name.startswith("slct"):
        last = before
    own = dict.fromkeys("dabc", last) | dict.fromkeys("ABL", last) | {"D": before}

    def put(found):
        text = found[0]
        return LETTERS[text] if text in LETTERS else register(own[text]) if text in own else text

    pattern = r"p\|q|r\|p|!p|q1|\b[a-zA-Z]\b"
    return f"{name} {re.sub(pattern, put, operands)};"


KERNEL = """.version 8.6
.target sm_90
.visible .entry k() {
.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %q<4>; .reg .f32 %f<4>; .reg .f64 %g<4>;
BODY
END: ret; }
"""


def tried(group):
    """Whether an H200 was asked for each form of a group."""
    return [*ROWS].index(group) < [*ROWS].index(MEMORY)


def told(gave=SAME):
    """What an H200 gave, as the table says it."""
    if isinstance(gave, int):
        return f"{gave} {LAST}" if gave < 1 << 32 else f"{gave >> 32} {LAST}, of the upper word"
    if isinstance(gave, float):
        return "2^-21 off at most"
    return gave


def table():
    """The text of INSTRUCTIONS.md."""
    lines = ["# Instructions that the PTX machine knows", "",
             "`[a|b]` is a choice; `[|a]` may be left out.", "", BESIDE.strip(), ""]  # fmt: skip
    for group, rows in ROWS.items():
        lines += [f"## {group}", "", "| instruction | checked against | an H200 gave |", "|---|---|---|"]
        for name, _, against, *gave in rows:
            lines.append(
                f"| `{name.replace('|', chr(92) + '|')}` | {against} | {told(*gave) if gave or tried(group) else ''} |"
            )
        lines.append("")
    lines += ["## The rest", ALSO.strip(), "", "## Refused by name", ""]
    lines += [f"- {what}: `{'`, `'.join(names)}`" for names, what in REFUSED.items()]
    return "\n".join(lines) + "\n"


def test_the_table_is_that_of_now():
    assert TABLE.read_text() == table(), "python ptx_machine/tests/test_instructions.py writes it anew"


@pytest.mark.parametrize("group", ROWS)
def test_each_form_of_the_table_is_known(group):
    for pattern, operands, *_ in ROWS[group]:
        body = "\n".join(statement(name, operands) for name in forms(pattern))
        decoded(KERNEL.replace("BODY", body))


def test_each_instruction_of_arithmetic_stands_in_the_table():
    listed = {name.split(".")[0] for rows in ROWS.values() for pattern, *_ in rows for name in forms(pattern)}
    known = {short.split(".")[0] for short in (*arithmetic.WHOLE, *arithmetic.FLOAT, *arithmetic.PREDICATE)}
    assert not known - listed, known - listed


@pytest.mark.parametrize("line", REFUSALS)
def test_what_is_refused_is_refused_by_name(line):
    with pytest.raises(PTXError, match=f"line 5 of the PTX asks for .*{REFUSALS[line]}"):
        decoded(KERNEL.replace("BODY", line))


if __name__ == "__main__":
    TABLE.write_text(table())
