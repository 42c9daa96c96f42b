"""Page 00: a reader's first kernel, out = x + y, is watched, and the threads that leave its arrays are drawn."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import ptx_machine
from cuda_without_gpu import device, to_ptx

from .. import language
from ..judge.report import wrapped
from ..launch import cuda_kernel, refusals
from ..pictures import picture_outside
from ..sandbox import Job, in_child, source_line

SIZE, BLOCK = 1_000_003, 256  # elements, and threads of a block
BLOCKS = -(-SIZE // BLOCK)
EXAMPLE, NAMES = (np.zeros(1, np.float32),) * 3, {4: "x", 11: "y", 18: "out"}  # Numba passes 7 numbers for an array
OUTSIDE = re.compile(r"thread \((\d+).*?\) of block \((\d+).*? (load|store)s .*?((?:behind the end of|before) \w+|$)")
WHOLE = "setitem(array(float32, 1d, C), int64, array"  # Numba has no such store
LONG = "too long: a thread still runs after thousands of steps. Each thread has one element, and one addition to do."
STEPS = 2_000  # of blocks side by side
DOES = {"load": "reads", "store": "writes"}
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
        if not self.outside:
            return {"text/plain": repr(self)}
        return picture_outside(self.block, self.outside, SIZE, repr(self))._repr_mimebundle_()


def check_add(add: Callable) -> Verdict:
    """Judge a kernel of (x, y, out), float32, that makes out = x + y. Returns a `Verdict`, true when right.

    3,907 blocks of 256 threads run it, watched, on 1,000,003 elements, in a child process.
    """
    k = cuda_kernel(add, like="naive")  # for its source, and its way into a child; its launch is this page's own
    outcome = in_child(k, watched)
    seen = outcome.value or Verdict(False, f"{outcome.findings[0].kind}: {outcome.findings[0].message}.")
    line = seen.line and source_line(k, seen.line)
    return replace(seen, name=k.function.__name__, line=line, text=k.source.splitlines()[line - 1].strip())


def watched(job: Job) -> Verdict:
    """In the child: run the kernel on the PTX machine, and compare each element."""
    try:
        ptx = to_ptx.text_of(to_ptx.compiled_for(job.build().function, *EXAMPLE), each=True)
    except Exception as error:  # Numba raises many kinds, each of which is about the kernel
        said = refusals.meant(str(error))[0]
        whole = "out[i] is one number, and here a whole array is stored in it. Take element i of x and of y"
        return Verdict(False, f"does not compile: {whole if WHOLE in said else said}.")
    x, y = (np.random.default_rng(seed).random(SIZE, dtype=np.float32) for seed in (0, 1))
    run = launched(ptx, x, y)
    for finding in sorted(run.findings, key=lambda one: one.kind != "out of bounds"):
        if place := OUTSIDE.match(finding.message):
            return who_leaves(finding.source, place, launched(ptx, x, y, trace=True, blocks=[int(place[2])]))
        said = f"{finding.kind}: {finding.message.partition(' at line')[0]}."
        return Verdict(False, LONG if finding.kind == "hang" else said, finding.source)
    stores, out = run.stores[2], run.arrays[2]
    if not stores.any() and run.executed["global load"]:
        return Verdict(False, "nothing arrives: it reads numbers, and stores none of them in out.")
    if not stores.any():
        return Verdict(None, "out[0] is never written.")
    right = x + y
    wrong = np.flatnonzero(out != right)
    if not len(wrong):
        return Verdict(True, f"{SIZE:,} elements, by {BLOCKS:,} blocks of {BLOCK} threads.")
    at = wrong[0]
    if not stores[at]:
        return Verdict(False, f"unwritten: out[{at:,}] is never written.")
    if np.isnan(out[at]):
        return Verdict(False, f"adds to out: what stood in out[{at:,}] before is in it, and nobody has set that.")
    return Verdict(False, f"wrong number: out[{at:,}] is {out[at]:.4f}; the sum of x and y there is {right[at]:.4f}.")


def launched(ptx: str, x: np.ndarray, y: np.ndarray, **how: object) -> ptx_machine.Run:
    """One run of all blocks, or of those in `how`, with an `out` full of NaN."""
    args = []
    for array in (x, y, np.full(SIZE, np.nan, np.float32)):
        args += [0, 0, SIZE, array.itemsize, array, SIZE, array.itemsize]
    return device.run(ptx, (BLOCKS,), (BLOCK,), args, names=NAMES, requests=False, limit=STEPS, **how)


def who_leaves(line: int, place: re.Match, run: ptx_machine.Run) -> Verdict:
    """The verdict on an access outside the arrays, and which threads of its block make one, from a traced run."""
    access, outside = next(one for one in run.trace if "" in one.arrays), np.zeros(BLOCK, bool)
    outside[access.threads[access.array == access.arrays.index("")]] = True
    where = place[4].replace("behind", "past") or "outside every array"
    who = f"{outside.sum()} of the {BLOCK} threads of block {int(place[2]):,}, from thread {place[1]} on"
    said = f"out of bounds: {DOES[place[3]]} {where} by {who}."
    return Verdict(False, said, line, int(place[2]), tuple(outside.tolist()))
