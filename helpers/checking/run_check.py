"""`check`: is a kernel, or a function of (A, B), right?"""

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from kernel_judge import Finding, Kind, Report, judge, wrong_elements

from ..launch import Contestant, Kernel
from ..launch.kernel import contestant, refuse_shapes
from ..sandbox import prepare
from ..sandbox.job import packed, portable
from .functions import FunctionProduct
from .kernels import KernelProduct

PLACEHOLDER = "your turn"
KEPT: dict[bytes, Report] = {}  # verdicts on kernels, by all that they are


def check(k: Contestant | Callable, shapes: list | None = None) -> Report:
    """Check a kernel, or any function of (A, B) that should return A @ B. Returns a `Report`, true when right.

    `shapes`: a list of (M, N, K); by default small ones made from the kernel's tile, and those that people use. A
    learner's kernel is watched first, on the PTX machine or under Oclgrind, and then multiplied in a child process.
    """
    k = contestant(k)
    given = None if shapes is None else refuse_shapes(k, shapes)
    if not isinstance(k, Kernel):
        return not_yet(k, judge(product_of(k), given))
    report = verdict_on(k, given)
    k.checked = not k.own or bool(report)  # a later check may find what an earlier one, of other shapes, did not
    return not_yet(k, report)


def verdict_on(k: Kernel, shapes: list | None) -> Report:
    """The verdict on a kernel, which is kept: of the same kernel it is the same."""
    key = packed((portable(k), k.step, k.parameters, k.device.name, k.own, shapes))
    if key not in KEPT:
        if k.own:
            prepare(product_of.__module__)
        KEPT[key] = judge(product_of(k), shapes)
    return KEPT[key]


def product_of(k: Contestant) -> KernelProduct | FunctionProduct:
    """What the judge judges."""
    if not isinstance(k, Kernel):
        return FunctionProduct(k)
    if k.dialect == "CUDA":
        from .cuda import CudaProduct  # who checks OpenCL may have no Numba

        return CudaProduct(k)
    from .opencl import OpenCLProduct

    return OpenCLProduct(k)


def not_yet(k: Contestant, report: Report) -> Report:
    """The report; "not yet" where nothing came of the placeholder of an exercise, which says "your turn".

    It is asked in the process that has the source: a child has none of a function from a notebook.
    """
    if report or not getattr(report.findings[0].kind, "nothing", False):
        return report
    source = k.source
    with suppress(OSError, TypeError, AttributeError):  # of a function of the host
        source += inspect.getsource(k.function)
    stub = Finding(Kind.NOT_YET, f"not_yet_{report.findings[0].kind.name.lower()}")
    return replace(report, findings=(stub,)) if PLACEHOLDER in source else report


def launched(k: Contestant, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> np.ndarray:
    """C (M, N) of one launch, which found C full of `fill`."""
    work = k.upload(A, B, fill)
    work.launch()
    return work.download()


def right_within_bound(k: Contestant, A: np.ndarray, B: np.ndarray) -> bool:
    """Whether one launch gives A @ B within the bound of its inputs, each element."""
    k = contestant(k)
    return not wrong_elements(launched(k, A, B), A, B, k.inputs).any()
