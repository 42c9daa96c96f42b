"""Kernel Tuner as a search: it builds, checks and times OpenCL kernels, and `search.order` says what comes next."""

from collections.abc import Callable

import numpy as np
import pyopencl as cl

from ..judge.reference import wrong_for
from ..launch import KernelError, dialect, draw
from ..launch.operands import CANARY, GUARD
from .search import LAUNCHES, Tried, go_through


def spanned(points) -> dict:
    """What Kernel Tuner takes for a space, {name: values}: all values of these points. `Strategy` says which it tries.

    Kernel Tuner takes the block from two parameters more. They follow from the others, so that 1 stands for each here.
    """
    space = {name: sorted({p[name] for p in points}) for name in points[0]}
    return space | {"block_size_x": [1], "block_size_y": [1]}


def search_with_kernel_tuner(task, until: float, each: Callable) -> tuple[list[Tried], bool]:
    """Build, check and time points until the time is over. Returns what was tried, and whether it was interrupted.

    Raises KernelError where Kernel Tuner is not installed.
    """
    try:
        from kernel_tuner import tune_kernel
    except ImportError:
        raise KernelError(
            "Tuning OpenCL kernels needs Kernel Tuner, which is not installed: pip install kernel_tuner "
            "(in a notebook: %pip install kernel_tuner)."
        ) from None
    M, N, K = task.size
    A, B = draw(M, N, K)
    platform = task.device.handle.platform
    strategy = Strategy(task, until, each)
    tune_kernel(
        task.rung.name,
        dialect("OpenCL").source_of(task.rung.name),
        lambda p: task.rung.grid(p, M, N),
        [np.int32(M), np.int32(N), np.int32(K), *with_guards(A, B)],
        spanned([task.default, *task.legal]),
        grid_div_x=[],  # the problem is counted in blocks already
        grid_div_y=[],
        defines={name: name for name in task.default},
        lang="OpenCL",
        platform=cl.get_platforms().index(platform),
        device=platform.get_devices().index(task.device.handle),
        answer=[None] * 5 + [np.empty(0)],
        observers=[observer(A, B)],
        strategy=strategy,
        iterations=LAUNCHES,
        quiet=True,
        objective="GFLOP/s",
        objective_higher_is_better=True,
        metrics={"GFLOP/s": lambda result: 2e-6 * M * N * K / float(np.median(result["times"]))},
    )
    return strategy.outcome


def with_guards(A, B):
    """A, B and a C full of NaN, flat, each with its guard behind it."""
    C = np.full((A.shape[0], B.shape[1]), np.nan, np.float32)
    matrices = ((A, np.nan), (B, np.nan), (C, CANARY))
    return [np.concatenate([X.ravel(), np.full(GUARD, behind, np.float32)]) for X, behind in matrices]


class Strategy:
    """Which point Kernel Tuner tries next, as it asks for it: an object with `tune`."""

    def __init__(self, task, until, each):
        self.task, self.until, self.each = task, until, each
        self.outcome = None

    def tune(self, space, runner, options):
        """Go through the points. Returns Kernel Tuner's results."""
        results, failed = [], keep_failures(runner.dev.dev)

        def attempt(p):
            failed.clear()
            results.extend(runner.run([(*p.values(), *self.task.rung.block(p))], options))
            if failed:
                raise failed[0]
            return (None, "wrong numbers") if "__error__" in results[-1] else (results[-1]["GFLOP/s"], "")

        self.outcome = go_through(self.task.legal, self.task.default, attempt, self.until, self.each)
        return results


def keep_failures(backend) -> list:
    """Let Kernel Tuner's backend skip a point that does not build or run, and keep why. Returns where: a list.

    Otherwise Kernel Tuner prints, leaves a file in the folder of this process, and ends the search.
    """
    failed, compiled, run = [], backend.compile, backend.run_kernel

    def compile_or_none(instance):
        try:
            return compiled(instance)
        except Exception as error:  # a driver's compiler fails in many ways
            failed.append(error)

    def run_or_skip(*arguments, **named):
        try:
            return run(*arguments, **named)
        except Exception as error:
            failed.append(error)
            raise RuntimeError(f"OUT_OF_RESOURCES: {error}") from error  # the word by which Kernel Tuner skips a point

    backend.compile, backend.run_kernel = compile_or_none, run_or_skip
    return failed


def observer(A, B):
    """What Kernel Tuner asks about each point's answer: whether C is A @ B, and the guard behind it untouched."""
    from kernel_tuner.observers.observer import OutputObserver
    from kernel_tuner.util import RuntimeFailedConfig

    wrong = wrong_for(A, B)  # once: BLAS's threads would disturb each timing
    shape = (A.shape[0], B.shape[1])

    class Answer(OutputObserver):
        right = True

        def process_output(self, answer, output):
            C, guard = np.split(output[5], [shape[0] * shape[1]])
            self.right = not wrong(C.reshape(shape)).any() and bool((guard == CANARY).all())

        def after_start(self):
            # In wait() this thread computes, too; Kernel Tuner would poll, and halve a CPU's speed.
            self.dev.event.wait()

        def get_results(self):
            return {} if self.right else {"__error__": RuntimeFailedConfig()}

    return Answer()
