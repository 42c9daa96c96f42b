"""Tokens: what is counted, which sources are the same, and what an entry may not hold."""

import re

import pytest

from helpers import ladder
from helpers.classroom.tokens import idea, smuggled, tokens_of
from helpers.launch import DIALECTS

C = DIALECTS["OpenCL"].source_of("coalesced")
CUDA = DIALECTS["CUDA"].source_of("coalesced")


def test_comments_joined_lines_and_stray_semicolons_count_nothing():
    for plain, same in (
        ("a = b + 1;", "a = b /* \n */ + 1;; // c \\\n still a comment"),
        ("if (a) { b(); }", "if (a)\n{ ;b();;;\n}"),
        ('#define F(x) g(x)\nchar *s = "a // b";', '#define F(x) \\\n  g(x)\nchar *s = "a // b";'),
    ):
        assert tokens_of(plain, "OpenCL") == tokens_of(same, "OpenCL")
    python = "def f(x):\n    a = x\n    return a\n"
    for same in (
        "def f(x):\n    a = x; return a\n",
        'def f(x):\n\n    "What?"\n    a = x  # b\n    return (\n        a\n    )\n',
    ):
        assert "(" in same and tokens_of(same.replace("(\n        a\n    )", "a"), "CUDA") == tokens_of(python, "CUDA")


def test_a_string_by_itself_counts_nothing_and_one_that_is_used_counts():
    assert tokens_of('"""Mine."""\nx = 1\n', "CUDA") == tokens_of("x = 1\n", "CUDA")
    assert tokens_of("x = 'a'\n", "CUDA") == ["x", "=", "'a'", ";"]
    assert idea("x = 'a'\n", "CUDA") != idea("x = 'b'\n", "CUDA")


def test_a_macro_has_the_tokens_of_its_text():
    assert tokens_of("#define ALL x += y[1] * 2.5e-3f;", "OpenCL") == [
        *("#", "define", "ALL", "x", "+=", "y", "[", "1", "]", "*", "2.5e-3f", ";"),
    ]


@pytest.mark.parametrize("source, old, new", [
    (C, "acc", "sum"),
    (C, "coalesced", "mine"),
    (C, "float acc = 0.0f;", "float acc = 0.0f;;"),
    (C, "row", "行"),
    (CUDA, "acc", "sum"),
    (CUDA, "kernel", "mine"),
    (CUDA, "# 1.", "# 2."),
])  # fmt: skip
def test_a_copy_with_other_names_comments_or_semicolons_is_a_copy(source, old, new):
    dialect = "OpenCL" if source is C else "CUDA"
    assert old in source and idea(source.replace(old, new), dialect) == idea(source, dialect)


@pytest.mark.parametrize("source, old, new", [
    (C, "acc += ", "acc = acc + "),
    (C, "get_global_id(0)", "get_global_id(1)"),
    (C, "get_global_id", "get_local_id"),
    (C, "int k", "uint k"),
    (CUDA, "float32(0)", "float64(0)"),
    (CUDA, "A.shape[1]", "B.shape[0]"),
])  # fmt: skip
def test_a_change_of_the_kernel_makes_another_one(source, old, new):
    dialect = "OpenCL" if source is C else "CUDA"
    assert old in source and idea(source.replace(old, new), dialect) != idea(source, dialect)


def test_no_two_rungs_are_the_same_and_none_smuggles():
    for dialect in DIALECTS.values():
        steps = ladder.steps(dialect.name)
        assert len({idea(dialect.source_of(step), dialect.name) for step in steps}) == len(steps)
        assert [smuggled(dialect.source_of(step), dialect.name) for step in steps] == [""] * len(steps)


SMUGGLED_C = {
    '#include "kernel.h"\n': "includes another file",
    "  #  include <kernel.h>\n": "includes another file",
    "#incl\\\nude <kernel.h>\n": "includes another file",
    '%:include "kernel.h"\n': "includes another file",
    '??=include "kernel.h"\n': "spells # in another way",
    '__asm__("nop");': "a string",
    "#define S(x) #x\n#define J(a, b) a##b\nvoid f() { J(as, m)(S(nop)); }\n": "a string",
    "void f() { asm(1); }": "assembler",
}
SMUGGLED_PYTHON = {
    "from kernels import mine\n": "imports kernels",
    "from helpers.cuda.prefetched import prefetched as mine\n": "imports helpers.cuda.prefetched",
    "from . import mine\n": "imports a file beside it",
    'exec("...")\n': "line 1 runs outside",
    "while True:\n    pass\n": "line 1 runs outside",
    "x = print()\n": "line 1 calls something",
    "@cuda.jit\ndef k(A, B, C):\n    exec('...')\n": "uses exec",
    "@cuda.jit\ndef k(A, B, C):\n    import os\n": "imports inside",
    "@cuda.jit\ndef k(A, B, C):\n    A.__class__ = B\n": "uses __class__",
    "@other\ndef k(A, B, C):\n    pass\n": "only decorator",
    "@cuda.jit(link=['mine.cu'])\ndef k(A, B, C):\n    pass\n": "which links and calls nothing",
    "@cuda.jit(print())\ndef k(A, B, C):\n    pass\n": "only decorator",
}


@pytest.mark.parametrize("source", [*SMUGGLED_C, *SMUGGLED_PYTHON])
def test_what_is_not_the_kernels_own_text_is_named(source):
    dialect, table = ("OpenCL", SMUGGLED_C) if source in SMUGGLED_C else ("CUDA", SMUGGLED_PYTHON)
    said = smuggled(source, dialect)
    assert table[source] in said and re.fullmatch(r"(it|line \d+:?) \S.*[a-z#]", said)


def test_what_a_kernel_needs_is_no_smuggling():
    for source in (
        "@cuda.jit(device=True, inline=True)\ndef f(x):\n    return x\n",
        '"""Mine."""\nT = 16\nN = T * 2\n',
    ):
        assert smuggled(f"from numba import cuda, float32\nimport math\n{source}", "CUDA") == ""
    assert smuggled('#define E(a, b) a##b\n#pragma unroll 4\n_Pragma( "unroll" ) // "asm"\n', "OpenCL") == ""


def test_a_source_that_is_no_python_is_a_plain_error():
    for source in ("def f(:\n", "  x = 1\n y = 2\n", "x = '", "\0", "(" * 1000, "-" * 9000 + "1"):
        with pytest.raises(ValueError, match="its source is no Python"):
            tokens_of(source, "CUDA")


@pytest.mark.parametrize("text", ["/* ", '\\"', "\\'", "\n", "\f", "# ", "\\ ", '_Pragma("'])
def test_a_long_source_is_read_in_one_go(text):
    """Where each sign is looked at again for each before it, this takes hours."""
    source = f"x{text[-1]}{text * 500_000}"
    smuggled(source, "OpenCL")
    assert len(tokens_of(source, "OpenCL")) <= 2 * len(source)


def test_a_line_that_ends_as_on_an_old_mac_is_a_line():
    assert "includes another file" in smuggled("int x;\r#include <stdio.h>\r", "OpenCL")
