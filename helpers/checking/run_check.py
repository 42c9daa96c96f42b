"""`check`: is a kernel, or a function of (A, B), right?"""

from collections.abc import Callable
from dataclasses import replace

from kernel_judge import Finding, Kind, Report, judge

from ..arguments import sizes, some
from ..child import made_from, packed
from ..launch import Contestant, Kernel
from ..launch.kernel import contestant
from .products import FunctionProduct

PLACEHOLDER = "your turn"
KEPT: dict[bytes, Report] = {}  # verdicts on kernels, by all that they are


def check(k: Contestant | Callable, shapes: list | None = None) -> Report:
    """Check a kernel, or any function of (A, B) that should return A @ B. Returns a `Report`, true when right.

    `shapes`: a list of (M, N, K); by default small ones made from the kernel's tile, and those that people use.
    """
    k = contestant(k)
    given = None if shapes is None else [sizes(shape) for shape in some("shapes", shapes)]
    if not isinstance(k, Kernel):
        return not_yet(k, judge(product_of(k), given))
    for shape in given or []:
        k.refuse_size(*shape)
    key = packed((k.dialect, made_from(k), k.step, k.parameters, k.inputs, k.device.name, k.own, given))
    if key not in KEPT:
        KEPT[key] = judge(product_of(k), given)
    report = KEPT[key]
    k.checked = not k.own or bool(report)  # a later check may find what an earlier one, of other shapes, did not
    return not_yet(k, report)


def product_of(k: Contestant) -> FunctionProduct:
    """What the judge judges."""
    if not isinstance(k, Kernel):
        return FunctionProduct(k)
    if k.dialect == "CUDA":
        from .cuda import CudaProduct  # who checks OpenCL may have no Numba

        return CudaProduct(k)
    from .opencl import OpenCLProduct

    return OpenCLProduct(k)


def not_yet(k: Contestant, report: Report) -> Report:
    """The report; "not yet" where nothing came of the placeholder of an exercise, which says "your turn"."""
    if report or not getattr(report.findings[0].kind, "nothing", False):
        return report
    stub = Finding(Kind.NOT_YET, f"not_yet_{report.findings[0].kind.name.lower()}")
    return replace(report, findings=(stub,)) if PLACEHOLDER in k.source else report
