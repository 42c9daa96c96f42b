"""Kernels of one's own where CUDA is compiled with no GPU: what passes, what Numba refuses, what the PTX machine finds.

Which way CUDA goes is settled once in a process, so each group is checked in one of its own.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_here import NAIVE, TILES

from helpers import ladder

CASES = Path(__file__).with_name("compiled_here.py")


@functools.cache
def said(group: str) -> dict:
    """{label: [right, kind, message, lines]} of the kernels of that group."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    environment |= {"HELPERS_CUDA": "compiled"}
    done = subprocess.run([sys.executable, CASES, group], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_right_kernels_pass_in_each_style():
    wrong = {label: what for label, what in said("right").items() if not what[0]}
    assert not wrong and len(said("right")) == len(NAIVE["right"])


@pytest.mark.bulk
def test_the_rungs_pass_at_the_sizes_of_a_gpu():
    assert all(what[0] for what in said("rungs").values()), said("rungs")
    assert len(said("rungs")) == sum(not ladder.STEPS[step].capability for step in ladder.steps("CUDA"))


REFUSED = {
    "return acc": ("a kernel returns nothing", "return acc"),
    "try": ("catches no exceptions", "try:"),
    "try, by name": ("catches no exceptions", "try:"),
    "float64": ("float32 with two dimensions", '@cuda.jit("void(float64'),
    "Fortran": ("C-contiguous", '@cuda.jit("void(float32[::1'),
    "a shape known at run time": (
        "must be known when the kernel is compiled",
        "s = cuda.shared.array((n, n), float32)",
    ),
    "Python's int": ("a type of Numba's", "s = cuda.shared.array((4, 4), int)"),
    "a flat index": ("A has two dimensions: write A[row, column]", "acc += A[row * A.shape[1] + k] * B[k, col]"),
    "np.zeros": ("cannot make lists or arrays", "s = np.zeros(4)"),
    "two arguments": ("three arguments, A, B and C", "def product(A, C):"),
}


@pytest.mark.parametrize("label", REFUSED)
def test_what_numba_refuses_is_told_with_its_line_and_a_remedy(label):
    right, kind, message, lines = said("refused")[label]
    words, line = REFUSED[label]
    assert not right and kind == "does not compile"
    assert words in message
    assert len(lines) == 1 and lines[0].startswith(line)


FOUND = {
    "an int counter never set": ("uninitialised", "at = cuda.local.array(1, int32)"),
    "set in one branch": ("uninitialised", "if row: acc = float32(0)"),
    "no guard": ("out of bounds", "acc += A[row, k] * B[k, col]"),
    "writes to A": ("writes to an input", "A[row, 0] = acc"),
    "every thread stores all": ("blocks overlap", None),
    "an endless loop": ("hang", "while k < A.shape[1]:"),
    "blocks one too close": ("blocks overlap", None),
    "first barrier": ("race", "acc += As[ty, k] * Bs[k, tx]"),
    "second barrier": ("race", "acc += As[ty, k] * Bs[k, tx]"),
    "a tile never staged": ("uninitialised", "acc += As[ty, k] * Bs[k, tx]"),
    "early return": ("divergent barrier", "cuda.syncthreads()"),
}


@pytest.mark.parametrize("label", FOUND)
def test_what_the_machine_sees_has_the_name_and_the_line_of_the_source(label):
    right, kind, message, lines = said("found")[label]
    assert not right and kind == FOUND[label][0], message
    assert FOUND[label][1] in (lines or [None])
    assert "smem" not in message and "PTX" not in message


def test_each_kernel_has_its_expectation():
    assert set(REFUSED) == set(NAIVE["refused"])
    assert set(FOUND) == {*NAIVE["found"], *TILES["found"]}
