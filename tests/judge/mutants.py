"""Kernels of the ladder with one token changed: what a slip of the finger or of the mind leaves behind."""

import io
import random
import re
import tokenize

from few import SMALL

from helpers import check, cuda_kernel, ladder, opencl_kernel
from kernel_judge import Finding

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
ASKED = ("get_local_id", "get_group_id", "get_global_id", "get_local_size", "get_num_groups")
# What each token becomes. Names change places with those that are easily taken for them.
BECOMES = {
    **{name: [other for other in ("M", "N", "K") if other != name] for name in ("M", "N", "K")},
    **{name: [other for other in ("BM", "BN", "BK") if other != name] for name in ("BM", "BN", "BK")},
    **{"TM": ["TN"], "TN": ["TM"], "tx": ["ty"], "ty": ["tx"], "row": ["col"], "col": ["row"]},
    **{"row0": ["col0"], "col0": ["row0"], "THREADS_X": ["THREADS_Y"], "THREADS_Y": ["THREADS_X"]},
    **{"+": ["-"], "*": ["+"], "<": ["<="], "+=": ["="], ">=": [">"], "&&": ["||"], "||": ["&&"]},
    **{"and": ["or"], "or": ["and"], "0": ["1"], "1": ["0"], "0.0f": ["1.0f"]},
    # Which thread this is, and how many there are. OpenCL counts x and y as 0 and 1.
    **{"threadIdx": ["blockIdx"], "blockIdx": ["threadIdx"], "blockDim": ["gridDim"], "gridDim": ["blockDim"]},
    **{".x": [".y"], ".y": [".x"]},
    **{word: [other for other in ASKED if other != word] for word in ASKED},
}
BARRIERS = {"cuda.syncthreads()": "pass", "barrier(CLK_LOCAL_MEM_FENCE);": ";"}
C_TOKEN = re.compile(r"//[^\n]*|#[^\n]*|[A-Za-z_]\w*|\d[\w.]*|\+=|<=|>=|&&|\|\||\+\+|--|==|\S")


def kernels(dialect):
    """{step: source} of the ladder."""
    return {step: BUILD[dialect](step).source for step in ladder.steps(dialect)}


def tokens(dialect, source):
    """(where it begins, token) of what the kernel computes: no comment, no directive, no declaration of arguments."""
    if dialect == "CUDA":
        starts = [0, *(at.end() for at in re.finditer("\n", source))]
        inside = source.index("@cuda.jit\n    def kernel")
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            at = starts[token.start[0] - 1] + token.start[1]
            if at > inside and token.type in (tokenize.OP, tokenize.NAME, tokenize.NUMBER):
                dot = int(token.string in ("x", "y") and source[at - 1] == ".")
                yield at - dot, source[at - dot : at + len(token.string)]
    else:
        inside = source.index("{", source.index("__kernel"))
        yield from ((at.start(), at.group()) for at in C_TOKEN.finditer(source) if at.start() > inside)


def mutants(dialect):
    """(name, step, source) of every mutant; the name says step, line, token and what it became."""
    for step, source in kernels(dialect).items():
        for at, token in tokens(dialect, source):
            for other in BECOMES.get(token, ()):
                line = source.count("\n", 0, at) + 1
                column = at - source.rfind("\n", 0, at)
                mutant = source[:at] + other + source[at + len(token) :]
                yield f"{step} {line}:{column} {token} -> {other}", step, mutant
        for barrier, nothing in BARRIERS.items():
            for at in re.finditer(re.escape(barrier), source):
                line = source.count("\n", 0, at.start()) + 1
                yield f"{step} {line} no barrier", step, source[: at.start()] + nothing + source[at.end() :]


def sample(dialect, count, seed):
    """(name, step, source) of so many mutants."""
    return random.Random(seed).sample([*mutants(dialect)], count)


def verdict(dialect, step, source):
    """The first `Finding` of a check, of the kind "right" if there is none, "not built" if it does not compile."""
    try:
        k = BUILD[dialect](source, like=step, **SMALL[step])
    except Exception as error:  # a learner sees it at once
        return Finding("not built", str(error).split("\n")[0])
    report = check(k)
    return report.findings[0] if report.findings else Finding("right", "")


def changed_line(dialect, step, source):
    """The one line in which a mutant differs from its kernel."""
    pairs = zip(kernels(dialect)[step].splitlines(), source.splitlines(), strict=True)
    return next(mutant for line, mutant in pairs if line != mutant).strip()
