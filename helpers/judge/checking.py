"""Is it right? `reference` says what right means, `examine` runs and compares, `trials` watch a learner's kernel."""

import itertools
import time
from collections.abc import Callable
from dataclasses import replace

from .. import devices, ladder
from ..devices import oclgrind_library
from ..errors import OutOfTime
from ..launch import Contestant, Kernel
from ..launch.host import contestant
from ..launch.kernel import refuse_shapes
from ..sandbox import SECONDS, Finding, ProgressBar, calls_opencl, in_child, oclgrind_findings
from .argument_order import may_be_the_order, opencl_order
from .diagnosis import unanswered
from .examine import examine_stages
from .in_time import limited, still_ran
from .on_ptx import so_far, try_on_ptx
from .other_sizes import at_sizes, may_be_outgrown, other_sizes, takes_all_sizes, wrong_at_other_sizes
from .private_memory import much_kept, too_much_kept
from .report import Report
from .shapes import host_shapes, large_shapes, largest, long_shapes, shapes_for
from .trials import QUICK, Trial, examine_there, products_of, small_enough, trial


def check(k: Contestant | Callable, shapes: list | None = None) -> Report:
    """Check a kernel, or any function of (A, B) that should return A @ B. Returns a `Report`, true when right.

    `shapes`: a list of (M, N, K); by default those that `judge.shapes` makes from the kernel's tile and block. A
    learner's kernel is tried first where it can do no harm: on the PTX machine, or in a child process under Oclgrind,
    at other sizes as well, if it takes any.
    """
    k = contestant(k)
    given = [] if shapes is None else refuse_shapes(k, shapes)
    if not k.own and not (k.untimed and isinstance(k, Kernel)):
        large = host_shapes() if k.device is None else [] if k.untimed else large_shapes(k)
        stages = [given] if given else [shapes_for(k), long_shapes(k), large]
        there = calls_opencl(k)
        findings, not_looked_for, tried, *_ = in_a_child(k, stages) if there else try_here(k, stages)
    else:
        findings, not_looked_for, tried, *_ = try_out(k, given)
        k.checked = not k.own or not findings  # a later check may find what an earlier one, of other shapes, did not
    findings = unanswered(k, findings)
    remarks = much_kept(k) if k.own and not findings else ()
    bound = "the rounding bound" + f" of {k.inputs} inputs" * (k.inputs != "float32")
    return Report(str(k), tuple(findings), len(tried), k.source, not_looked_for, largest(tried), bound, remarks)


def try_here(k: Contestant, stages: list) -> Trial:
    """Run k, which may run in this process, on each shape. On the PTX machine its launches end when time is over."""
    begun = []
    try:
        with limited():
            return Trial(in_stages(k, stages, begun.append), (), [*itertools.chain(*stages)])
    except OutOfTime as late:
        *right, shape = begun
        code = str(late).partition("\n")[2].strip()
        return so_far(OutOfTime(still_ran(shape, f", at `{code}`" * bool(code))), right, stages[0])


def in_a_child(k: Contestant, stages: list) -> Trial:
    """Run a function of the host, which a driver may take down, on each shape."""
    return Trial(on_device(k, stages), (), [*itertools.chain(*stages)])


def try_out(k: Kernel, given: list) -> Trial:
    """Try a kernel first where it can do no harm, and then, if it did well there, on its device.

    `given`: shapes that the caller wants; empty for those that suit the kernel.
    """
    if k.dialect == "OpenCL" and (found := too_much_kept(k)):
        return Trial(found, (), given or shapes_for(k))
    outcome = try_on_ptx(k, given) if k.dialect == "CUDA" else in_children(k, given or shapes_for(k))
    if k.dialect == "OpenCL" and may_be_the_order(outcome.findings):
        outcome = outcome._replace(findings=opencl_order(k) or outcome.findings)
    if outcome.findings or k.untimed:
        return outcome
    stages = [given] if given else [shapes_for(k), long_shapes(k), large_shapes(k)]
    tried = [*itertools.chain(*stages)]
    findings = blamed(k, on_device(k, stages), tried)
    return Trial(findings or told_elsewhere(k, outcome), outcome.not_looked_for, tried)


def on_device(k: Contestant, stages: list) -> list[Finding]:
    """Run the kernel on its own device on each shape: in a child, where it may crash at large sizes."""
    if k.dialect == "CUDA" and not devices.compiling():
        return in_stages(k, stages)
    outcome = in_child(k, examine_there, SECONDS * 2 / 3, stages=stages)  # a right one may be slow at 1024
    return outcome.findings or outcome.value


def in_stages(k: Contestant, stages: list, begin: Callable = lambda shape: None) -> list[Finding]:
    """What `examine_stages` finds, with a bar of progress. `begin` is called with every shape before k runs on it."""
    with ProgressBar(str(k)) as bar:

        def each(shape):
            begin(shape)
            bar.update(time.monotonic() - bar.start, f"| {' x '.join(map(str, shape))}")

        return examine_stages(k, stages, each)


def blamed(k: Kernel, findings: list, shapes: list) -> list[Finding]:
    """The findings of an OpenCL kernel on its device; where it is right under Oclgrind at those shapes, nobody's."""
    if not findings or k.dialect != "OpenCL" or not oclgrind_library():
        return findings
    some, _ = small_enough(k, shapes, QUICK)
    if not on_device(k, [some]):
        return findings
    there = in_child(k, examine_there, SECONDS, {}, stages=[some])
    if there.value != [] or there.log:  # what Oclgrind reports may leave the numbers right
        return oclgrind_findings(there.log, k.source) or findings
    text = (
        f"right under Oclgrind, and wrong on {k.device.name}: {findings[0].message}. Either its driver makes a "
        "mistake, or the kernel does what the language leaves open; HELPERS_OPENCL_DEVICE takes another device"
    )
    return [replace(findings[0], kind="on this device only", message=text)]


def in_children(k: Kernel, shapes: list) -> Trial:
    """Try an OpenCL kernel in children, under Oclgrind: on those shapes, long ones, and at other sizes, if any.

    Oclgrind takes minutes for large tiles, so one that takes all its sizes as parameters is tried with small ones
    first. If it is right there, one shape is enough at its own sizes, and none where its source has no number that
    could be too small for these.
    """
    tiles = [(other, ladder.STEPS[k.step].tile(other)) for other in other_sizes(k)]
    few = [(other, [tile, tuple(side + 1 for side in tile)]) for other, tile in tiles]  # it did well at its own
    slow = sum(products_of(k, shapes).values()) > QUICK
    if slow and takes_all_sizes(k):
        there = at_sizes(k, few[0][0])
        own = [(k.parameters, small_enough(k, shapes)[0][:1])] if may_be_outgrown(k) else []
        small = trial(there, [*shapes_for(there), *long_shapes(there)], *few[1:], *own, stores=True)
        found = [(there.parameters, small.findings)] * bool(small.findings) + [*small.elsewhere]
        if not found:
            return small
        parameters, (first, *rest) = found[0]
        if parameters == k.parameters:
            return small._replace(findings=[first, *rest], elsewhere=())
        if first.kind == "hang":  # at its own sizes it would take as long again
            text = f"with {ladder.spell(parameters)}, {first.message}"
            return small._replace(findings=[replace(first, message=text)], elsewhere=())
    return trial(k, shapes, (k.parameters, long_shapes(k)), *few, stores=True)


def told_elsewhere(k: Kernel, outcome: Trial) -> list[Finding]:
    """What to say of a kernel that is right, but for what was found elsewhere; a source may refuse other sizes."""
    for parameters, findings in outcome.elsewhere:
        if findings and parameters == k.parameters:
            return findings
        if findings and findings[0].kind != "does not compile":
            return [wrong_at_other_sizes(k.parameters, parameters, findings[0])]
    return []
