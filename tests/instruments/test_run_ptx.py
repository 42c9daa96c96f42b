"""Compiled code on the PTX machine: the ladder's is right and moves what it should; what was broken is found out."""

import re

import pytest
from needed import needs_compiler

from helpers import cuda_kernel, ladder
from helpers.instruments import CompiledRun, run_ptx
from helpers.instruments.prediction import ptx_of, run_text
from helpers.launch import KernelError, draw
from kernel_judge import wrong_elements
from kernel_judge.shapes import watched

TILED = cuda_kernel("tiled", TILE=16)


@pytest.fixture(scope="module")
def text():
    return ptx_of(TILED, "sm_80")


def launched(text, shape, k=TILED, **more):
    """The run of that text, launched as that kernel is."""
    M, N, _ = shape
    return run_text(text, k.block, k.grid(M, N), *draw(*shape), "tiled", **more)


def assert_right(run, k, shape):
    """Every element within the bound, no finding, and as much traffic as the ladder's formula says."""
    step = ladder.STEPS[k.step]
    assert run and not wrong_elements(run.C, *run.arrays[:2]).any(), (shape, run)
    assert run.global_loads == step.global_loads(k.parameters, *shape), shape
    assert run.global_stores == shape[0] * shape[1], shape
    assert (run.shared_loads, run.shared_stores) == step.shared_accesses(k.parameters, *shape), shape


@needs_compiler
def test_a_compiled_step_is_right_and_moves_what_the_formula_says(text):
    for shape in watched((16, 16, 16)):
        assert_right(launched(text, shape), TILED, shape)


@needs_compiler
@pytest.mark.bulk
@pytest.mark.parametrize("step", ladder.steps("CUDA"))
def test_each_compiled_step_is(step):
    for p in (ladder.STEPS[step].defaults["GPU"], ladder.STEPS[step].unlike[0]):
        k = cuda_kernel(step, **p)
        for shape in watched(ladder.STEPS[step].tile(p))[:5]:
            assert_right(run_ptx(k, *shape), k, shape)


@needs_compiler
def test_a_run_says_what_was_run(text):
    run = run_ptx(TILED, 20, 24, 9)
    assert "tiled (CUDA) with TILE=16 for sm_80" in repr(run) and "no finding" in repr(run) and run.ptx == text
    assert (run.M, run.N, run.K) == (*run.C.shape, 9) == (20, 24, 9)


def test_a_run_divides_its_instructions_by_the_multiply_adds():
    run = CompiledRun((), (), {"FMA": 64, "branch": 32}, {}, (), (), "a kernel", 2, 4, 8, "")
    assert run.instructions_per_multiply_add == 1.5 and "1.50 a multiply-add" in repr(run)


STORED = r"\tst\.global\.f32 \t\[(%rd\d+)\], (%f\d+);"
BROKEN = {  # what else is found: the tests of the PTX machine
    # what was done: (pattern, what stands in its place, kinds that are found)
    "no barrier before multiplying": (r"\tbar\.sync \t0;\n(?=\tld\.shared)", "", {"race"}),
    "every store one element further": (STORED, r"\tst.global.f32 [\1+4], \2;", {"out of bounds", "unwritten"}),
    "every store twice": (STORED, r"\g<0>\n\g<0>", {"stored twice"}),
    "a loop that never ends": (r"(add\.s64 \t(%rd\d+), \2, )16;", r"\g<1>0;", {"hang", "out of bounds"}),
}


@needs_compiler
@pytest.mark.parametrize("pattern, instead, kinds", BROKEN.values(), ids=BROKEN)
def test_broken_code_is_found(text, pattern, instead, kinds):
    text, times = re.subn(pattern, instead, text)
    assert times == 1
    run = launched(text, (20, 20, 40), limit=20_000 if "hang" in kinds else None)
    assert {finding.kind for finding in run.findings} == kinds
    for finding in run.findings:  # each names its line
        at = " ".join(text.splitlines()[finding.line - 1].split()).removesuffix(";") if finding.line else ""
        assert finding.text == at and (at or finding.kind in ("unwritten", "stored twice"))
    assert not run and all(kind in repr(run) for kind in kinds)


@needs_compiler
def test_an_instruction_that_is_not_known_is_refused_by_name_and_line(text):
    unknown = text.replace("fma.rn.f32", "fma.rna.f32")
    line = next(number for number, code in enumerate(unknown.splitlines(), 1) if "fma.rna" in code)
    with pytest.raises(KernelError, match=rf"line {line} .*fma\.rna\.f32"):
        launched(unknown, (4, 4, 4))
