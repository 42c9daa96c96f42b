"""Runs PTX, the code that NVIDIA's compilers write for a GPU, with no GPU: right answers, exact counts, findings.

`run` is what one calls; README.md shows how. The package needs NumPy and nothing else; `from_cuda`, which compiles CUDA
C++ for it, needs NVIDIA's compiler.
"""

from .cuda_source import from_cuda
from .launch import run
from .reader import PTXError
from .results import KINDS, LOADS_AND_STORES, Finding, Requests, Run
from .warps import BANKS, LINE, NOBODY, SECTOR, WARP, sectors, wavefronts

__all__ = [
    "BANKS",
    "KINDS",
    "LINE",
    "LOADS_AND_STORES",
    "NOBODY",
    "SECTOR",
    "WARP",
    "Finding",
    "PTXError",
    "Requests",
    "Run",
    "from_cuda",
    "run",
    "sectors",
    "wavefronts",
]
