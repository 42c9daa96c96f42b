"""Judges a kernel by what it touches: right numbers are not enough, or are not looked at."""

from dataclasses import replace

import numpy as np

from ..instruments import trace
from ..instruments.loads import predicted_traffic
from ..launch import Kernel, KernelError
from ..sandbox import Finding
from .checking import check, wrong_at
from .report import Report


def judge_transposed(k: Kernel) -> Report:
    """Judge a kernel for C = A @ B.T, with B stored as N rows of K, by the addresses that each thread touches.

    It may not run: `check` knows A @ B only. Returns a `Report`, true when right.
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
    return RightAddresses(str(k), (), 1)


class RightAddresses(Report):
    """The verdict on a kernel whose addresses are right, and whose numbers nobody looked at."""

    def __repr__(self):
        return f"✓ {self.subject} reads and writes the right elements. (Its numbers were not looked at.)"


def judge_prefetching(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, then judge when it asks, stores and reads. Returns a `Report`.

    Three tiles of K: one barrier a tile, and a whole other tile is read between asking for a tile and storing it.
    """
    report = check(k)
    if not report:
        return report
    tile = k.parameters["TILE"]
    a = trace(k, tile, tile, 3 * tile).where(thread=0)
    stores = np.flatnonzero((a["memory"] == "shared") & a["writes"])[2::2]  # of the second tile and the third
    barriers = len(set(a["phase"].tolist())) - 1
    if barriers > 3:
        return MissesTheIdea(report.subject, (Finding("barriers", f"{barriers} for 3 tiles; one a tile is enough"),), 1)
    for name in "AB":
        for asked, stored in zip(np.flatnonzero(a["array"] == name)[1:], stores, strict=False):
            read = int((a[asked:stored]["memory"] == "shared").sum())
            if read < 2 * tile:
                text = f"{read} reads between asking for {name} and storing it; {2 * tile} are there to do"
                return MissesTheIdea(report.subject, (Finding("waits", text),), 1)
    return report


def judge_turned(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, then that its tile of A is turned round: A[row, k] in As[k, row]."""
    report = check(k)
    if not report:
        return report
    tile = k.parameters["TILE"]
    a = trace(k, tile, tile, tile)
    width = a.shapes["As"][1]
    stored = a.where(array="As", writes=True)
    for access in stored:
        asked = a.where(array="A", thread=access["thread"])
        place = divmod(int(access["index"]), width)
        turned = divmod(int(asked["index"][0]), tile)[::-1]
        if place != turned:
            text = f"A[{turned[1]}, {turned[0]}] is stored at As[{place[0]}, {place[1]}]"
            return MissesTheIdea(report.subject, (Finding("not turned", text),), 1)
    return report


def check_loads(k: Kernel, M: int = 16, N: int = 16, K: int = 16) -> Report:
    """Check a kernel, then count what it loads: no more than the rung that it is launched like. Returns a `Report`.

    It has to be right at the shape that is counted, too: one that leaves its products out there loads little.
    """
    report = check(k)
    if not report:
        return report
    if wrong := wrong_at(k, (M, N, K)):
        where = f"{M} x {N} x {K} (M x N x K), where its loads are counted"
        text = f"right elsewhere, and wrong at {where}: {wrong[0].message}"
        return replace(report, findings=(Finding("wrong at one size", text, wrong[0].lines),))
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
