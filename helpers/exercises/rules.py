"""Many pages: the two rules of exercises on kernels. The kernel is right, and it does no more than an answer needs."""

from collections.abc import Callable
from dataclasses import replace

from kernel_judge import Finding, Report

from ..checking import check
from ..launch import Kernel, KernelError


class MissesTheIdea(Report):
    """The verdict on a kernel that is right and still misses the idea."""

    def head(self) -> tuple[str, str, dict]:
        """As `Report.head`."""
        return "✗ ", "{subject} computes the right C, but misses the idea.", {"subject": self.subject}


def judged(k: Kernel, *looks: Callable) -> Report:
    """Check a kernel; where it is right, the verdict is what the first look finds that finds anything.

    `looks`: functions of the kernel. Each counts something, and returns a list of findings: what an answer needs not.
    A KernelError that one raises, where nothing can follow the kernel, is a note of the verdict.
    """
    report = check(k)
    if not report:
        return report
    try:
        for look in looks:
            if findings := look(k):
                return MissesTheIdea(report.subject, tuple(findings), report.source)
    except KernelError as error:
        note = Finding("", "not looked for here: whether it keeps to the idea: {text}", values={"text": str(error)})
        return replace(report, notes=(*report.notes, note))
    return report
