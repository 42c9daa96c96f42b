"""How long did it take? Hard to fool.

Warm up, repeat, take the median, show the spread. GPU time comes from the device's own events, CPU time from
the wall, as NumPy's does. Building and transfers are told apart. Before each measurement the process idles:
the threads of OpenBLAS and of OpenCL's CPU runtimes spin for a while after a call, and timed back to back
they slow each other down several times over.
"""

import time
from dataclasses import asdict, dataclass

import numpy as np

from . import cuda, devices, ladder, opencl
from .check import HostKernel, draw
from .kernel import Kernel, sizes

IDLE_SECONDS = 0.3
LONG_ENOUGH = 0.5  # seconds of repeats that make a median steady
REPEATS = (3, 50)  # at least, at most


@dataclass(frozen=True)
class Timing:
    """A measured product of M x K times K x N.

    seconds          median of the repeats; None in the simulator, where a rate would be a lie
    spread           the middle half of the repeats, as a share of the median
    build_seconds    compiling, once a kernel
    transfer_seconds A and B to the device and C back, once a call of k(A, B)
    """

    dialect: str
    step: str
    M: int
    N: int
    K: int
    seconds: float | None
    spread: float | None
    device: str
    parameters: dict
    build_seconds: float | None = None
    transfer_seconds: float | None = None

    @property
    def simulated(self):
        return self.seconds is None

    @property
    def gflops(self):
        """2 M N K / seconds / 1e9; None in the simulator."""
        return None if self.simulated else 2 * self.M * self.N * self.K / self.seconds / 1e9

    @property
    def label(self):
        return self.step if self.dialect == "Python" else f"{self.step} ({self.dialect})"

    def row(self):
        """The timing as a flat dict, for JSON."""
        return {**asdict(self), "gflops": self.gflops}

    def __repr__(self):
        what = f"{self.label}, {self.M} x {self.N} x {self.K}"
        if self.simulated:
            return f"{what}: simulated, so no time and no rate"
        return f"{what}: {spell_seconds(self.seconds)} (± {100 * self.spread / 2:.0f} %), {self.gflops:.3g} GFLOP/s"


def spell_seconds(seconds):
    """0.00123 -> '1.23 ms'."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            return f"{seconds / scale:.3g} {unit}"


def measure(k, size=1024):
    """Time a kernel, or any function of (A, B). `size`: an int, or (M, N, K). Returns a `Timing`.

    Only kernels that may run here are timed: a learner's kernel must have passed `check`.
    """
    k = k if isinstance(k, Kernel) else HostKernel(k)
    M, N, K = sizes(size)
    about = dict(dialect=k.dialect, step=k.step or str(k), M=M, N=N, K=K, parameters=k.parameters,
                 device=k.device.name if k.device else "host")
    if k.device and k.device.kind == "simulator":
        k.refuse(1, 1, 1)
        return Timing(seconds=None, spread=None, **about)
    if k.device:
        k.refuse(M, N, K)
    A, B = draw(M, N, K)
    time.sleep(IDLE_SECONDS)
    start = time.perf_counter()
    work = k.upload(A, B)
    transfer = time.perf_counter() - start
    work.launch()  # warm up: caches, clocks, and whatever the first call still sets up
    times = []
    while len(times) < REPEATS[0] or (sum(times) < LONG_ENOUGH and len(times) < REPEATS[1]):
        times.append(work.launch())
    start = time.perf_counter()
    work.download()
    transfer += time.perf_counter() - start
    low, median, high = np.percentile(times, (25, 50, 75))
    return Timing(seconds=float(median), spread=float((high - low) / median), build_seconds=k.build_seconds,
                  transfer_seconds=transfer if k.device else 0.0, **about)


@dataclass(frozen=True)
class Comparison:
    """How much faster the first is than the second: a ratio of times for each round, both in the same round's weather."""

    first: Timing
    second: Timing
    ratios: tuple

    @property
    def ratio(self):
        """The median; above 1 the first is faster."""
        return float(np.median(self.ratios))

    def __repr__(self):
        t, other = self.first, self.second
        names = (t.label, other.label) if t.label != other.label else ("the first", "the second")
        return (f"{t.M:5} x {t.N} x {t.K}: {names[0]} {t.gflops:.3g} GFLOP/s, {names[1]} {other.gflops:.3g}: "
                f"{self.ratio:.2f} times ({min(self.ratios):.2f} to {max(self.ratios):.2f})")


def contest(kernels, size=1024, rounds=5, each=lambda k: None):
    """Time kernels, or functions of (A, B), in turns: all of them in each round, in the other direction every second time.

    Returns a list of rounds, each a list with a `Timing` a kernel, in the order given. `each` is called with every kernel
    before it is timed.
    """
    if rounds < 1:
        raise ValueError(f"rounds={rounds}: there is nothing to time; give 1 or more.")
    results = []
    for turn in range(rounds):
        timed = {}
        for i in range(len(kernels)) if turn % 2 else reversed(range(len(kernels))):
            each(kernels[i])
            timed[i] = measure(kernels[i], size)
        results.append([timed[i] for i in range(len(kernels))])
    return results


def compare(first, second, size=1024, rounds=5):
    """Time two kernels, or functions of (A, B), in turns. Returns a `Comparison`; its timings are those of the median round.

    Raises ValueError when one of them runs in a simulator, where there is no time.
    """
    if any(getattr(k, "device", None) and k.device.kind == "simulator" for k in (first, second)):
        raise ValueError("a kernel in the simulator has no speed to compare; compare OpenCL kernels.")
    pairs = sorted(contest((first, second), size, rounds), key=lambda pair: pair[1].seconds / pair[0].seconds)
    return Comparison(*pairs[len(pairs) // 2], tuple(b.seconds / a.seconds for a, b in pairs))


def numpy_matmul(A, B):
    """The number to beat."""
    return A @ B


def measure_ladder(upto=None, size=None, dialects=("CUDA", "OpenCL"), steps=None, parameters=None, each=lambda k: None):
    """Time NumPy, then each rung in every dialect. Returns a list of `Timing`.

    `upto`: the last step to measure, or give `steps`, a list; by default all that are for the devices here. `size`: an int or (M, N, K); by
    default 512, or 2048 when a GPU is at work. `parameters`: "tuned" for those that `tune` found. `each` is called with every kernel before it is timed.
    """
    kernels = ladder_kernels(upto, size, dialects, steps, parameters)
    size = usual_size(kernels) if size is None else size
    timings = []
    for k in kernels:
        each(k)
        timings.append(measure(k, size))
    return timings


def ladder_kernels(upto=None, size=None, dialects=("CUDA", "OpenCL"), steps=None, parameters=None):
    """NumPy, then each rung in every dialect, as `measure_ladder` takes them; built, and none of them too large for its device."""
    if unknown := set(dialects) - {"CUDA", "OpenCL"}:
        raise ValueError(f"there is no dialect {sorted(unknown)[0]!r}; dialects is a list of CUDA and OpenCL.")
    if isinstance(steps, str):
        raise ValueError(f"steps={steps!r} is one name; give a list: [{steps!r}].")
    names = list(ladder.STEPS)
    chosen = [ladder.step(name) for name in steps or names[: names.index(upto or names[-1]) + 1]]
    kernels = [HostKernel(numpy_matmul)]
    for dialect, build, device in (("CUDA", cuda.kernel, devices.cuda_device), ("OpenCL", opencl.kernel, devices.opencl_device)):
        if dialect in dialects:
            kernels += [build(step.name, parameters=parameters) for step in chosen
                        if dialect in step.dialects and (steps or device().kind in step.defaults)]
    for k in kernels[1:]:
        if k.device.kind != "simulator":
            k.refuse(*sizes(usual_size(kernels) if size is None else size))  # all of them, before any takes its time
    return kernels


def usual_size(kernels):
    """512, or 2048 when a GPU is at work."""
    return 2048 if any(k.device and k.device.kind == "GPU" for k in kernels) else 512


@dataclass(frozen=True)
class Limits:
    """What a device can do at most, measured: float32 arithmetic and memory traffic."""

    device: str
    flops_per_s: float
    bytes_per_s: float

    @property
    def ridge(self):
        """The arithmetic intensity, flop per byte, from which on arithmetic is what limits."""
        return self.flops_per_s / self.bytes_per_s

    def __repr__(self):
        return (f"{self.device}: {self.flops_per_s / 1e9:.0f} GFLOP/s at most, {self.bytes_per_s / 1e9:.0f} GB/s, "
                f"so arithmetic is the limit from {self.ridge:.0f} flop per byte on")


def machine_limits():
    """Measure the peak arithmetic and the memory bandwidth of the OpenCL device. Returns `Limits`."""
    from pathlib import Path

    import pyopencl as cl

    device = devices.opencl_device()
    context, queue = opencl.context_and_queue(device)
    program = cl.Program(context, (Path(__file__).parent / "machine.cl").read_text()).build()
    units = device.handle.max_compute_units
    # A GPU wants many threads; a CPU one work-item a group, so that each vector is one register.
    groups, threads = (units * 32, 256) if device.kind == "GPU" else (units * 8, 1)

    def fastest(launch):
        time.sleep(IDLE_SECONDS)
        seconds = []
        for _ in range(7):
            start = time.perf_counter()
            event = launch()
            event.wait()
            on_gpu = device.kind == "GPU"
            seconds.append((event.profile.end - event.profile.start) * 1e-9 if on_gpu else time.perf_counter() - start)
        return min(seconds[1:])

    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * groups * threads)
    peak = cl.Kernel(program, "peak")
    rounds = 2000 if device.kind == "GPU" else 200_000
    peak.set_args(out, np.int32(rounds), np.float32(0.999))
    flops = 2 * 16 * 12 * rounds * groups * threads / fastest(
        lambda: cl.enqueue_nd_range_kernel(queue, peak, (groups * threads,), (threads,))
    )

    vectors = 1 << 22  # of 64 bytes: 256 MiB, more than any cache
    source, target = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 64 * vectors) for _ in range(2))
    copy = cl.Kernel(program, "copy")
    copy.set_args(source, target)
    bytes_per_s = 2 * 64 * vectors / fastest(lambda: cl.enqueue_nd_range_kernel(queue, copy, (4 * vectors,), (256,)))
    return Limits(device.name, flops, bytes_per_s)
