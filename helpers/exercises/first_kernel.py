"""Page 00: a reader's first kernel, out = x + y, is watched, and the threads that leave its arrays are drawn."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

import ptx_machine
from cuda_without_gpu import device, to_ptx

from .. import devices, language
from ..judge.report import wrapped
from ..launch import cuda_kernel, refusals
from ..pictures.drawing import A_COLOUR, B_COLOUR, C_COLOUR, INK, WRONG, Picture, look
from ..sandbox import Job, in_child, source_line

SIZE, BLOCK = 1_000_003, 256  # elements, and threads of a block
BLOCKS = -(-SIZE // BLOCK)
EXAMPLE = (np.zeros(1, np.float32),) * 3
OUTSIDE = re.compile(r"thread \((\d+).*?\) of block \((\d+).*? (load|store)s .*?((?:behind the end of|before) \w+|$)")
WHOLE = "setitem(array(float32, 1d, C), int64, array"  # Numba has no such store
DOES = {"load": "read", "store": "write"}
HEADS = {True: "✓ {} is right: {}", False: "✗ {} is wrong.\n  {}", None: "… {}: not yet. {}"}


@dataclass(frozen=True)
class Verdict:
    """What `check_add` says: true when right. A page draws the threads that leave the arrays, too.

    right           None where the kernel does nothing yet; `said`: a sentence
    line, text      of the source, which the sentence is about; 0 and "" for none
    block, outside  of an access outside the arrays: the block's number, and of each of its threads whether it makes one
    """

    right: bool | None
    said: str
    line: int = 0
    block: int = 0
    outside: tuple = ()
    name: str = "add"
    text: str = ""

    def __bool__(self):
        return bool(self.right)

    def __repr__(self):
        said = language.said(HEADS[self.right].format(self.name, self.said)).splitlines()
        said += [f"  {self.line:6d} | {self.text}"] if self.line else []
        return "\n".join(map(wrapped, said))

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.picture()._repr_mimebundle_() if self.outside else {"text/plain": repr(self)}

    @look
    def picture(self) -> Picture:
        """The block's threads in a row, red where they leave the arrays, above the elements that are there."""
        there, lost = int(np.clip(SIZE - self.block * BLOCK, 0, BLOCK)), sum(self.outside)
        figure = Figure(figsize=(8.6, 2.5))
        figure.text(0.02, 0.88, f"block {self.block:,}: {lost} of {BLOCK} threads ask for elements that are not there")
        ax = figure.add_axes((0.1, 0.03, 0.89, 0.78))
        rows = {"threads": [WRONG if one else INK for one in self.outside]}
        rows |= {"x": [A_COLOUR] * there, "y": [B_COLOUR] * there, "out": [C_COLOUR] * there}
        for row, (name, colours) in enumerate(rows.items()):
            ax.broken_barh([(n, 1) for n in range(len(colours))], (row, 0.7), facecolors=colours, edgecolor="w", lw=0.3)
            ax.text(-2, row + 0.4, name, ha="right", va="center")
            if len(colours) < BLOCK:
                ax.text(there + 2, row + 0.4, f"ends with {name}[{SIZE - 1:,}]", va="center")
        ax.set(xlim=(0, BLOCK), ylim=(4, 0))
        ax.axis("off")
        return Picture(figure, repr(self))


def check_add(add: Callable) -> Verdict:
    """Judge a kernel of (x, y, out), float32, that makes out = x + y. Returns a `Verdict`, true when right.

    3,907 blocks of 256 threads run it, watched, on 1,000,003 elements; beside a GPU in a child process.
    """
    k = cuda_kernel(add, like="naive")  # for its source, and its way into a child; its launch is this page's own
    if devices.compiling():
        seen = watched(k.function)
    else:
        outcome = in_child(k, watched_there)
        seen = outcome.value or Verdict(False, f"{outcome.findings[0].kind}: {outcome.findings[0].message}.")
    line = seen.line and source_line(k, seen.line)
    return replace(seen, name=k.function.__name__, line=line, text=k.source.splitlines()[line - 1].strip())


def watched_there(job: Job) -> Verdict:
    """In the child: `watched`."""
    return watched(job.build().function)


def watched(function: Callable) -> Verdict:
    """Run the kernel on the PTX machine, and compare each element."""
    try:
        ptx = to_ptx.text_of(to_ptx.compiled_for(function, *EXAMPLE), each=True)
    except Exception as error:  # Numba raises many kinds, each of which is about the kernel
        said = refusals.meant(str(error))[0]
        whole = "out[i] is one number, and here a whole array is stored in it. Take element i of x and of y"
        return Verdict(False, f"does not compile: {whole if WHOLE in said else said}.")
    x, y = np.random.default_rng(0).random((2, SIZE), dtype=np.float32)
    run = launched(ptx, x, y)
    for finding in sorted(run.findings, key=lambda one: one.kind != "out of bounds"):
        if place := OUTSIDE.match(finding.message):
            return who_leaves(finding.source, place, launched(ptx, x, y, trace=True, blocks=[int(place[2])]))
        return Verdict(False, f"{finding.kind}: {finding.message.partition(' at line')[0]}.", finding.source)
    stores, out = run.stores[2], run.arrays[2]
    if not stores.any() and run.executed["global load"]:
        return Verdict(False, "nothing arrives: it reads numbers, and stores none of them in out.")
    if not stores.any():
        return Verdict(None, "out[0] is never written.")
    wrong = np.flatnonzero(out != x + y)
    if not len(wrong):
        return Verdict(True, f"{SIZE:,} elements, by {BLOCKS:,} blocks of {BLOCK} threads.")
    at = wrong[0]
    if not stores[at]:
        return Verdict(False, f"unwritten: out[{at:,}] is never written.")
    if np.isnan(out[at]):
        return Verdict(False, f"adds to out: what stood in out[{at:,}] before is in it, and nobody has set that.")
    return Verdict(False, f"wrong number: out[{at:,}] is {out[at]:.4f}, and x[{at:,}] + y[{at:,}] is {x[at] + y[at]:.4f}.")


def launched(ptx: str, x: np.ndarray, y: np.ndarray, **how: object) -> ptx_machine.Run:
    """One run of all blocks, or of those in `how`, with an `out` full of NaN."""
    args = []
    for array in (x, y, np.full(SIZE, np.nan, np.float32)):  # so Numba passes an array
        args += [0, 0, SIZE, array.itemsize, array, SIZE, array.itemsize]
    return device.run(ptx, (BLOCKS,), (BLOCK,), args, names={4: "x", 11: "y", 18: "out"}, requests=False, **how)


def who_leaves(line: int, place: re.Match, run: ptx_machine.Run) -> Verdict:
    """The verdict on an access outside the arrays, and which threads of its block make one, from a traced run."""
    access, outside = next(one for one in run.trace if "" in one.arrays), np.zeros(BLOCK, bool)
    outside[access.threads[access.array == access.arrays.index("")]] = True
    where = place[4].replace("behind", "past") or "outside every array"
    who = f"{outside.sum()} threads of block {int(place[2]):,} {DOES[place[3]]} {where}, the first of them thread {place[1]}"
    return Verdict(False, f"out of bounds: {who}.", line, int(place[2]), tuple(outside.tolist()))
