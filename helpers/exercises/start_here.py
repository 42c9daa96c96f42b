"""Page 00: a reader's first kernel, out = a + b, is watched."""

from collections.abc import Callable
from functools import partial

import numpy as np

import ptx_machine
from cuda_without_gpu import device, to_ptx
from kernel_judge import Finding, Kind, Report, Seen
from kernel_judge.answers import Answer
from kernel_judge.touched import FLOAT, Launched, outside_on_ptx

from ..checking import cuda
from ..child import in_child, source_line
from ..launch import Kernel
from ..launch.on_cuda import cuda_kernel

SIZE, BLOCK = 1_000_003, 256  # elements, and threads of a block
BLOCKS = -(-SIZE // BLOCK)
EXAMPLE, NAMES = (np.zeros(1, np.float32),) * 3, {4: "a", 11: "b", 18: "out"}  # Numba passes 7 numbers for an array
LAUNCHED = Launched({name: (name, (SIZE,), FLOAT) for name in NAMES.values()}, (BLOCK, 1), (BLOCKS, 1))
STEPS = 2_000  # of blocks side by side
WHOLE = "out[i] is one number, and here a whole array is stored in it. Take element i of a and of b"
NEVER = "out[{at}] is never written"
OTHER = "out[{at}] is {given}, and the sum of a and b there is {right}; before the kernel ran it was nan"


def check_add(add: Callable) -> Report:
    """Judge a kernel of (a, b, out), float32, that makes out = a + b. Returns a `Report`, true when right.

    3,907 blocks of 256 threads run it, watched, on 1,000,003 elements, in a child process.
    """
    k = cuda_kernel(add, like="naive")  # for its source, and its way into a child; its launch is this page's own
    found = cuda.CudaProduct(k).came_of(in_child(k, partial(watched, k))).findings
    return Answer(k.function.__name__, tuple(found), k.source)


def watched(k: Kernel) -> Seen:
    """In the child: what running the kernel on the PTX machine shows, and what is wrong with its sums."""
    try:
        ptx = to_ptx.text_of(to_ptx.compiled_for(k.function, *EXAMPLE), each=True)
    except Exception as error:  # Numba raises many kinds, each of which is about the kernel
        whole = "setitem(array(float32, 1d, C), int64, array" in str(error)  # Numba has no such store
        return Seen([Finding(Kind.NOT_COMPILED, WHOLE) if whole else cuda.OnMachine(k).refused(error)])
    a, b = (np.random.default_rng(seed).random(SIZE, dtype=np.float32) for seed in (0, 1))
    args = []
    for array in (a, b, np.full(SIZE, np.nan, np.float32)):
        args += [0, 0, SIZE, array.itemsize, array, SIZE, array.itemsize]
    run = device.run(ptx, (BLOCKS,), (BLOCK,), args, names=NAMES, requests=False, limit=STEPS)
    seen = sorted(run.findings, key=lambda one: one.kind != Kind.OUT_OF_BOUNDS)
    return Seen([located(k, one) for one in seen[:1]] or wrong_sums(run, a + b))


def located(k: Kernel, found: ptx_machine.Finding) -> Finding:
    """What the PTX machine found, at its line of the source; of an access outside an array with its threads."""
    lines = (source_line(k, found.source),) if found.source else ()
    if found.kind == Kind.OUT_OF_BOUNDS:
        return outside_on_ptx(found, LAUNCHED, lines)
    return Finding(Kind(found.kind), found.sentence or found.message.partition(" at line")[0], lines, found.values)


def wrong_sums(run: ptx_machine.Run, right: np.ndarray) -> list[Finding]:
    """The first element of `out` that is not right, and how it came to that."""
    stores, out = run.stores[2], run.arrays[2]
    if not stores.any() and not run.executed["global load"]:
        return [Finding(Kind.NOT_YET, "out[0] is never written.")]
    for at in np.flatnonzero(out != right)[:1]:
        values = {"at": f"{at:,}", "given": f"{out[at]:.4f}", "right": f"{right[at]:.4f}"}
        kind, text = ("wrong number", OTHER) if stores[at] else (Kind.UNWRITTEN, NEVER)
        return [Finding(kind, text, (), values)]
    return []
