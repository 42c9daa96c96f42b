"""What a CUDA kernel of the course asks of a multiprocessor: the ladder's counts are kept, others are counted.

`tools/counts.py` makes `counts.json`; another kernel's counts need NVIDIA's compiler.
"""

import re
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from gpu_model.counting import SHORT, count_text
from gpu_model.counts import Counts, read_counts
from gpu_model.machine_code import CountError

from .. import ladder
from ..launch import Kernel, KernelError
from .compiler import ptx_of
from .ptx_run import run_text

KEPT = Path(__file__).with_name("counts.json")
TRIED = {"tiled": {"TILE": 8}}  # parameters that a page tries: page 04


def counts_of(k: Kernel, arch: str) -> Counts:
    """The `Counts` of a CUDA kernel for that architecture: kept ones of the ladder, or counted now.

    Raises KernelError for what does not compile and for what is no product, `needs.Missing` where it has to be counted
    and NVIDIA's compiler is missing.
    """
    if (title(k), arch) in kept() and not k.own:
        return kept()[title(k), arch]
    return count(k, arch)


def title(k):
    """A kernel's name and parameters."""
    return f"{k.step} with {ladder.spell(k.parameters)}"


@cache
def kept():
    """The counts of `counts.json`: {(title, arch): Counts}."""
    return read_counts(KEPT) if KEPT.exists() else {}


def count(k, arch):
    """The same, counted now."""
    ptx, side = ptx_of(k, arch), ladder.step(k.step).tile(k.parameters)
    # Numba writes the same for several architectures, but for the line that names one.
    anywhere = re.sub(r"\.target .*", ".target sm_75", ptx)
    try:
        return count_text(title(k), ptx, arch, k.block, side, lambda K: run_block(anywhere, k.block, *side[:2], K))
    except CountError as error:
        raise KernelError(str(error)) from None


@lru_cache(maxsize=4)
def run_block(ptx, block, rows, columns, K):
    """One block of a kernel, inside matrices large enough that no row of them shares a line with another."""
    A, B = np.ones((rows, K), np.float32), np.ones((K, max(columns, SHORT)), np.float32)
    return run_text(ptx, block, (1, 1), A, B)
