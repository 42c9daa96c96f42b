"""Is it right? `reference` says what right means, `examine` runs and compares, `trial` watches a learner's kernel."""

from collections.abc import Callable

from ..launch import Contestant, sizes
from ..launch.host import contestant
from .compiled import get_ready, trial_compiled
from .examine import examine, shapes_for
from .report import Report
from .trial import trial


def check(k: Contestant | Callable, shapes: list | None = None) -> Report:
    """Check a kernel, or any function of (A, B) that should return A @ B. Returns a `Report`, true when right.

    `shapes`: a list of (M, N, K); by default six that suit the kernel's tiles, most of them ragged. A learner's kernel
    is tried in a child process first: in a simulator, and, where NVIDIA's compiler is there, compiled.
    """
    k = contestant(k)
    shapes = [sizes(shape) for shape in shapes or shapes_for(k)]
    findings, not_looked_for = [], ()
    simulated_already = k.own and k.simulated
    if k.own:
        get_ready(k)
        findings, not_looked_for, tried = trial(k, shapes)
        if simulated_already:
            shapes = tried
        else:  # a limit of the simulator, where it is not the device
            findings = [finding for finding in findings if finding.kind != "shared memory"]
    if k.own and not findings:
        findings, unseen = trial_compiled(k, tried)
        not_looked_for += unseen
    if not findings and not simulated_already:
        findings = examine(k, shapes)
    if not findings:
        k.checked = True
    return Report(str(k), tuple(findings), len(shapes), k.source, not_looked_for)
