"""Kernels of the ladder with one token changed: what a slip of the finger or of the mind leaves behind.

`python tests/judge/mutants.py CUDA` (or OpenCL) judges all of them and counts the verdicts; some minutes.
"""

import io
import re
import sys
import tokenize
from collections import Counter
from unittest import mock

from helpers import check, cuda_kernel, ladder, opencl_kernel
from helpers.judge import trials

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
SECONDS = 1  # of computing, within which a mutant ends or never does

# What each token becomes. Names change places with those that are easily taken for them.
OTHERS = {
    **{name: [other for other in ("M", "N", "K") if other != name] for name in ("M", "N", "K")},
    **{name: [other for other in ("BM", "BN", "BK") if other != name] for name in ("BM", "BN", "BK")},
    **{"TM": ["TN"], "TN": ["TM"], "tx": ["ty"], "ty": ["tx"], "row": ["col"], "col": ["row"]},
    **{"row0": ["col0"], "col0": ["row0"], "THREADS_X": ["THREADS_Y"], "THREADS_Y": ["THREADS_X"]},
    **{"+": ["-"], "*": ["+"], "<": ["<="], "+=": ["="], ">=": [">"], "&&": ["||"], "||": ["&&"]},
    **{"and": ["or"], "or": ["and"], "0": ["1"], "1": ["0"], "0.0f": ["1.0f"]},
}
BARRIERS = {"cuda.syncthreads()": "pass", "barrier(CLK_LOCAL_MEM_FENCE);": ";"}
C_TOKEN = re.compile(r"//[^\n]*|#[^\n]*|[A-Za-z_]\w*|\d[\w.]*|\+=|<=|>=|&&|\|\||\+\+|--|==|\S")


def tokens(dialect, source):
    """(where it begins, token) of what the kernel computes: no comment, no directive, no declaration of arguments."""
    if dialect == "CUDA":
        starts = [0, *(at.end() for at in re.finditer("\n", source))]
        inside = source.index("@cuda.jit\n    def kernel")
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            at = starts[token.start[0] - 1] + token.start[1]
            if at > inside and token.type in (tokenize.OP, tokenize.NAME, tokenize.NUMBER):
                yield at, token.string
    else:
        inside = source.index("{", source.index("__kernel"))
        yield from ((at.start(), at.group()) for at in C_TOKEN.finditer(source) if at.start() > inside)


def mutants(dialect, step):
    """(name, source) of every mutant of the step's kernel; the name says line, token and what it became."""
    source = BUILD[dialect](step).source
    for at, token in tokens(dialect, source):
        for other in OTHERS.get(token, ()):
            line = source.count("\n", 0, at) + 1
            column = at - source.rfind("\n", 0, at)
            yield f"{step} {line}:{column} {token} -> {other}", source[:at] + other + source[at + len(token) :]
    for barrier, nothing in BARRIERS.items():
        for at in re.finditer(re.escape(barrier), source):
            line = source.count("\n", 0, at.start()) + 1
            yield f"{step} {line} no barrier", source[: at.start()] + nothing + source[at.end() :]


def verdict(dialect, step, source):
    """The kind of the first finding of a check, "right" if there is none, "not built" if it does not compile."""
    with mock.patch.object(trials, "SECONDS", SECONDS):
        try:
            k = BUILD[dialect](source, like=step, **ladder.STEPS[step].defaults["simulator"])
        except Exception as error:  # a learner sees it at once
            return f"not built: {error}"
        report = check(k)
    return report.findings[0].kind if report.findings else "right"


if __name__ == "__main__":
    for dialect in sys.argv[1:]:
        counts = Counter()
        for step in ladder.steps(dialect):
            for name, source in mutants(dialect, step):
                kind = verdict(dialect, step, source)
                counts[kind.partition(":")[0]] += 1
                print(dialect, name, "|", kind.split("\n")[0], flush=True)
        print(dialect, sum(counts.values()), dict(counts))
