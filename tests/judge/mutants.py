"""Kernels of the ladder with one token changed: what a slip of the finger or of the mind leaves behind.

`python tests/judge/mutants.py CUDA OpenCL` judges all of them, says what each is told, and counts the verdicts: an
hour. `--draw 300 --seed 1` judges so many, two in five of them with another index word.
"""

import argparse
import io
import random
import re
import tokenize
from collections import Counter
from unittest import mock

from helpers import check, cuda_kernel, ladder, opencl_kernel
from helpers.judge import trials
from helpers.sandbox import Finding

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
SECONDS = 18  # of computing, within which a mutant ends or never does, on a busy machine, too

# What each token becomes. Names change places with those that are easily taken for them.
OTHERS = {
    **{name: [other for other in ("M", "N", "K") if other != name] for name in ("M", "N", "K")},
    **{name: [other for other in ("BM", "BN", "BK") if other != name] for name in ("BM", "BN", "BK")},
    **{"TM": ["TN"], "TN": ["TM"], "tx": ["ty"], "ty": ["tx"], "row": ["col"], "col": ["row"]},
    **{"row0": ["col0"], "col0": ["row0"], "THREADS_X": ["THREADS_Y"], "THREADS_Y": ["THREADS_X"]},
    **{"+": ["-"], "*": ["+"], "<": ["<="], "+=": ["="], ">=": [">"], "&&": ["||"], "||": ["&&"]},
    **{"and": ["or"], "or": ["and"], "0": ["1"], "1": ["0"], "0.0f": ["1.0f"]},
}
# Which work-item this is, and how many there are. OpenCL counts x and y as 0 and 1, which change places above.
ASKED = ("get_local_id", "get_group_id", "get_global_id", "get_local_size", "get_num_groups")
INDEX_WORDS = {
    **{"threadIdx": ["blockIdx"], "blockIdx": ["threadIdx"], "blockDim": ["gridDim"], "gridDim": ["blockDim"]},
    **{".x": [".y"], ".y": [".x"]},
    **{word: [other for other in ASKED if other != word] for word in ASKED},
}
BARRIERS = {"cuda.syncthreads()": "pass", "barrier(CLK_LOCAL_MEM_FENCE);": ";"}
C_TOKEN = re.compile(r"//[^\n]*|#[^\n]*|[A-Za-z_]\w*|\d[\w.]*|\+=|<=|>=|&&|\|\||\+\+|--|==|\S")

# The ladder has few index words, since `cuda.grid` and the tile's size stand for most. So some steps are spelled out:
# {dialect: {step: {what stands in its source: what takes its place}}}. The second one begins with the last block.
SPELLED_OUT = {
    "CUDA": {
        "naive": {
            "cuda.grid(2)": ", ".join(f"cuda.blockIdx.{n} * cuda.blockDim.{n} + cuda.threadIdx.{n}" for n in "xy")
        },
        "coalesced": {
            "cuda.grid(2)": ", ".join(
                f"(cuda.gridDim.{n} - 1 - cuda.blockIdx.{n}) * cuda.blockDim.{n} + cuda.threadIdx.{n}" for n in "xy"
            )
        },
        "tiled": {f"cuda.blockIdx.{n} * TILE": f"cuda.blockIdx.{n} * cuda.blockDim.{n}" for n in "xy"},
    },
    "OpenCL": {
        "naive": {
            f"= get_global_id({n})": f"= get_group_id({n}) * get_local_size({n}) + get_local_id({n})" for n in (0, 1)
        },
        "coalesced": {
            f"= get_global_id({n})": (
                f"= (get_num_groups({n}) - 1 - get_group_id({n})) * get_local_size({n}) + get_local_id({n})"
            )
            for n in (0, 1)
        },
        "tiled": {f"get_group_id({n}) * TILE": f"get_group_id({n}) * get_local_size({n})" for n in (0, 1)},
    },
}


def kernels(dialect):
    """{name: (step, source)}: the ladder's own, and those that spell their index words out."""
    sources = {step: BUILD[dialect](step).source for step in ladder.steps(dialect)}
    named = {step: (step, source) for step, source in sources.items()}
    for step, edits in SPELLED_OUT[dialect].items():
        source = sources[step]
        for old, new in edits.items():
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        named[f"{step}, spelled out"] = step, source
    return named


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
    """(name, step, source) of every mutant; the name says kernel, line, token and what it became."""
    for kernel, (step, source) in kernels(dialect).items():
        becomes = OTHERS | INDEX_WORDS if kernel == step else INDEX_WORDS  # the others are in the ladder's own kernel
        for at, token in tokens(dialect, source):
            for other in becomes.get(token, ()):
                line = source.count("\n", 0, at) + 1
                column = at - source.rfind("\n", 0, at)
                mutant = source[:at] + other + source[at + len(token) :]
                yield f"{kernel} {line}:{column} {token} -> {other}", step, mutant
        for barrier, nothing in BARRIERS.items() if kernel == step else ():
            for at in re.finditer(re.escape(barrier), source):
                line = source.count("\n", 0, at.start()) + 1
                yield f"{kernel} {line} no barrier", step, source[: at.start()] + nothing + source[at.end() :]


def has_index_word(name):
    """Whether that mutant has another index word."""
    token = name.split()[-3] if "->" in name else ""
    return token in INDEX_WORDS


def sample(dialects, count, seed):
    """(dialect, name, step, source) of so many mutants, two in five of them with another index word."""
    everything = [(dialect, *mutant) for dialect in dialects for mutant in mutants(dialect)]
    draw = random.Random(seed)
    indexed, others = ([m for m in everything if has_index_word(m[1]) == has] for has in (True, False))
    words = min(2 * count // 5, len(indexed))
    return draw.sample(indexed, words) + draw.sample(others, min(count - words, len(others)))


def verdict(dialect, step, source):
    """The first `Finding` of a check, of the kind "right" if there is none, "not built" if it does not compile."""
    with mock.patch.object(trials, "SECONDS", SECONDS):
        try:
            k = BUILD[dialect](source, like=step, **ladder.STEPS[step].small)
        except Exception as error:  # a learner sees it at once
            return Finding("not built", str(error).split("\n")[0])
        report = check(k)
    return report.findings[0] if report.findings else Finding("right", "")


def changed_line(dialect, name, source):
    """The one line in which a mutant differs from its kernel."""
    _, right = kernels(dialect)[re.match(r"\w+(, spelled out)?", name).group()]
    pairs = zip(right.splitlines(), source.splitlines(), strict=True)
    return next(mutant for line, mutant in pairs if line != mutant).strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dialects", nargs="*", default=[*BUILD], help="CUDA, OpenCL")
    parser.add_argument("--draw", type=int, default=10**6, help="how many; all of them if it is not said")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    counts = Counter()
    for dialect, name, step, source in sample(asked.dialects, asked.draw, asked.seed):
        found = verdict(dialect, step, source)
        counts[found.kind] += 1
        print(
            f"{dialect} {name} | {changed_line(dialect, name, source)} | {found.kind}: {found.message} {found.lines}",
            flush=True,
        )
    print(sum(counts.values()), dict(counts))
