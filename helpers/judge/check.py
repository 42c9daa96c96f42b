"""Is it right? `reference` says what right means, `examine` runs and compares, `trial` watches a learner's kernel."""

from collections.abc import Callable

from .. import ladder
from ..launch import Contestant, Kernel, sizes
from ..launch.host import contestant
from ..sandbox import Finding
from .compiled import get_ready, trial_compiled
from .examine import examine, long_shape, shapes_for
from .other_sizes import at_sizes, other_sizes, sizes_mixed_up
from .report import Report
from .trial import trial


def check(k: Contestant | Callable, shapes: list | None = None) -> Report:
    """Check a kernel, or any function of (A, B) that should return A @ B. Returns a `Report`, true when right.

    `shapes`: a list of (M, N, K); by default six that suit the kernel's tiles, most of them ragged. A learner's kernel
    is tried in a child process first: in a simulator, and, where NVIDIA's compiler is there, compiled. Once it is
    right, it is tried at other sizes as well, if it takes any.
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
        findings = tried_with_long_rows(k)
    if k.own and not findings:
        findings = tried_at_other_sizes(k)
    if k.own:
        k.checked = not findings  # a later check may find what an earlier one, of other shapes, did not
    return Report(str(k), tuple(findings), len(shapes), k.source, not_looked_for)


def tried_with_long_rows(k: Contestant) -> list[Finding]:
    """What is wrong where K is far larger than M and N, with a kernel that is right elsewhere."""
    findings = trial(k, [long_shape(k)], look_again=False)[0] if k.own else examine(k, [long_shape(k)])
    return [finding for finding in findings if finding.kind != "shared memory" or k.simulated]


def tried_at_other_sizes(k: Kernel) -> list[Finding]:
    """What is wrong with a kernel that is right at its own sizes at others; empty where it is right there, too.

    A source that does not compile there refuses those sizes, which is no mistake.
    """
    for other in other_sizes(k):
        rows, columns, depth = ladder.STEPS[k.step].tile(other)
        shapes = [(rows, columns, depth), (rows + 1, columns + 1, depth + 1)]
        findings, *_ = trial(at_sizes(k, other), shapes, look_again=False)
        for finding in findings:
            if finding.kind != "does not compile" and (k.simulated or finding.kind != "shared memory"):
                return [sizes_mixed_up(k.parameters, other, finding)]
    return []
