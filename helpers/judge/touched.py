"""Judges a kernel by what it touches: right numbers are not enough, or are not looked at."""

from dataclasses import replace

import numpy as np

from ..instruments import trace
from ..instruments.loads import predicted_traffic
from ..launch import Kernel, KernelError, draw
from ..sandbox import SECONDS, Finding, Job, in_child, oclgrind_findings
from .checking import check_also_at
from .examine import shapes_for
from .reference import run, wrong_elements
from .report import Report
from .trials import small_enough


def judge_transposed(k: Kernel) -> Report:
    """Judge a kernel for C = A @ B.T, with B stored as N rows of K: the addresses that each thread touches, then C.

    `check` knows A @ B only. Returns a `Report`, true when right.
    """
    M, N, K = 5, 7, 3
    try:
        touched = trace(k, M, N, K).accesses
    except (KernelError, ValueError) as error:
        return Report(str(k), (Finding("error", str(error)),), 1)
    owned, read = {}, {}
    for a in touched:
        thread = (*a["block"].tolist(), a["thread"].item())
        if a["writes"]:
            owned.setdefault(a["index"].item(), thread)
        else:
            read.setdefault((thread, str(a["array"])), []).append(a["index"].item())
    if not owned:
        return Report(str(k), (Finding("not yet", "No element of C is ever written."),), 1)
    for row in range(M):
        for col in range(N):
            if row * N + col not in owned:
                return Report(str(k), (Finding("wrong index", f"nobody stores C[{row}, {col}]."),), 1)
            for name, first in (("A", row * K), ("B", col * K)):
                wanted = list(range(first, first + K))
                given = sorted(read.get((owned[row * N + col], name), []))
                if given != wanted:
                    text = f"for C[{row}, {col}] it reads {name} at the positions {given}; it should read {wanted}."
                    return Report(str(k), (Finding("wrong index", text),), 1)
    shapes = [(M, N, K), *small_enough(k, shapes_for(k))[0]]
    outcome = in_child(k, multiply_transposed, SECONDS, {}, shapes=shapes)
    findings = oclgrind_findings(outcome.log, k.source) or outcome.findings or outcome.value
    return Report(str(k), tuple(findings), len(shapes), k.source)


def multiply_transposed(job: Job, shapes: list) -> list[Finding]:
    """In the child: run a kernel for C = A @ B.T on each shape, and compare. Returns findings, empty when right."""
    k = job.build()
    for M, N, K in shapes:
        A, B = draw(M, N, K)
        if wrong_elements(run(k, A, B), A, B.reshape(N, K).T).any():
            text = f"the addresses are right, and numbers of C are not, for example at {M} x {N} x {K} (M x N x K)"
            return [Finding("wrong numbers", text)]
    return []


def judge_prefetching(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, then judge when it asks, stores and reads. Returns a `Report`.

    Three tiles of K: one barrier a tile, and a whole other tile is read between asking for a tile and storing it.
    """
    tile = k.parameters["TILE"]
    shape = tile, tile, 3 * tile
    report = check_also_at(k, shape, "its order is looked at")
    if not report:
        return report
    whole = trace(k, *shape)
    for thread in range(tile * tile):
        if finding := waits(whole.where(thread=thread), tile):
            return MissesTheIdea(report.subject, (finding,), 1)
    return report


def waits(a: np.ndarray, tile: int) -> Finding | None:
    """What a thread with these accesses, of three tiles of K, does not do early; None if it does it all."""
    stores = np.flatnonzero((a["memory"] == "shared") & a["writes"])[2::2]  # of the second tile and the third
    if len(stores) < 2:
        return Finding("waits", "a thread stores fewer than two numbers a tile, so it asks for none early")
    barriers = len(set(a["phase"].tolist())) - 1
    if barriers > 3:
        return Finding("barriers", f"{barriers} for 3 tiles; one a tile is enough")
    for name in "AB":
        for asked, stored in zip(np.flatnonzero(a["array"] == name)[1:], stores, strict=False):
            read = int((a[asked:stored]["memory"] == "shared").sum())
            if read < 2 * tile:
                text = f"{read} reads between asking for {name} and storing it; {2 * tile} are there to do"
                return Finding("waits", text)
    return None


def judge_turned(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, then that its tile of A is turned round: A[row, k] in As[k, row]."""
    tile = k.parameters["TILE"]
    report = check_loads(k, tile, tile, tile)
    if not report:
        return report
    a = trace(k, tile, tile, tile)
    stored, asked = a.where(array="As", writes=True), {}
    for access in a.where(array="A"):
        asked.setdefault(access["thread"].item(), []).append(divmod(access["index"].item(), tile))
    text = "" if len(stored) else "nothing is stored in As"
    for access in stored:
        place = divmod(access["index"].item(), a.shapes["As"][1])
        mine = asked.get(access["thread"].item(), [])
        if place[::-1] not in mine:
            what = f"A[{mine[0][0]}, {mine[0][1]}]" if mine else "what its thread has not read from A"
            text = f"{what} is stored at As[{place[0]}, {place[1]}]"
            break
    return MissesTheIdea(report.subject, (Finding("not turned", text),), 1) if text else report


def check_loads(k: Kernel, M: int = 16, N: int = 16, K: int = 16) -> Report:
    """Check a kernel, then count what it loads: no more than the rung that it is launched like. Returns a `Report`.

    It has to be right at the shape that is counted, too: one that leaves its products out there loads little.
    """
    report = check_also_at(k, (M, N, K), "its loads are counted")
    if not report:
        return report
    try:
        accesses = trace(k, M, N, K).accesses  # as the source has them; a compiler may take some away
    except (KernelError, ValueError) as error:
        return replace(report, not_looked_for=(*report.not_looked_for, f"how much it loads: {error}"))
    loads, most = accesses[~accesses["writes"]], predicted_traffic(k, M, N, K)
    from_global = int(np.isin(loads["array"], ["A", "B", "C"]).sum())
    counted = {"global": (from_global, most.global_loads), "shared": (len(loads) - from_global, most.shared_loads)}
    findings = [
        Finding("too many loads", f"{mine:,} from {memory} memory at {M} x {N} x {K}, where {needed:,} do")
        for memory, (mine, needed) in counted.items()
        if mine > needed
    ]
    return MissesTheIdea(report.subject, tuple(findings), report.shapes) if findings else report


class MissesTheIdea(Report):
    """The verdict on a kernel that is right and still misses the idea."""

    def __repr__(self):
        return f"✗ {self.subject} computes the right C, but misses the idea." + "".join(
            f"\n  {finding.kind}: {finding.message}." for finding in self.findings
        )
