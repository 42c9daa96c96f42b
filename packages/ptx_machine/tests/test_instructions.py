"""INSTRUCTIONS.md: each form that it lists is known, and it lists all of the arithmetic."""

# ruff: noqa: E501

import itertools
import re
from pathlib import Path

import pytest

from ptx_machine import PTXError, arithmetic
from ptx_machine.program import REFUSED, decoded

TABLE = Path(__file__).parents[1] / "INSTRUCTIONS.md"
REFUSALS = {
    "tex.1d.v4.u32.s32 {%r1,%r2,%r3,%r4},[t,{%r1}];": "textures and surfaces",
    "cp.async.bulk.commit_group;": "tensor memory accelerator",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f1,%f1,%f1},%q1,%q1,%r1,0,%p1,1,1,0,0;": "sparse matrices",
    "tcgen05.wait::ld.sync.aligned;": "tcgen05",
}


def table():
    """{group: rows (pattern of names, operands, the other cells)} of INSTRUCTIONS.md."""
    groups = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            rows = groups[line[3:]] = []
        elif line.startswith("| `"):
            cells = [cell.strip(" `").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            pattern, _, operands = cells[0].partition(" ")
            rows.append((pattern, operands, *cells[1:]))
    return {group: rows for group, rows in groups.items() if rows}


ROWS = table()


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


@pytest.mark.parametrize("group", ROWS)
def test_each_form_of_the_table_is_known(group):
    for pattern, operands, *_ in ROWS[group]:
        body = "\n".join(statement(name, operands) for name in forms(pattern))
        decoded(KERNEL.replace("BODY", body))


def test_each_instruction_of_arithmetic_and_each_that_is_refused_stands_in_the_table():
    listed = {name.split(".")[0] for rows in ROWS.values() for pattern, *_ in rows for name in forms(pattern)}
    known = {short.split(".")[0] for short in (*arithmetic.WHOLE, *arithmetic.FLOAT, *arithmetic.PREDICATE)}
    assert not known - listed, known - listed
    text = TABLE.read_text(encoding="utf-8")
    for names, what in REFUSED.items():
        assert f"- {what}: `{'`, `'.join(names)}`" in text


@pytest.mark.parametrize("line", REFUSALS)
def test_what_is_refused_is_refused_by_name(line):
    with pytest.raises(PTXError, match=f"line 5 of the PTX asks for .*{REFUSALS[line]}"):
        decoded(KERNEL.replace("BODY", line))
