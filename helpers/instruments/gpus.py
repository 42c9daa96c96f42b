"""GPUs that the course predicts for, by their vendor's tables. Nothing here was measured.

What a streaming multiprocessor holds: CUDA C++ Programming Guide, "Compute Capabilities", and NVIDIA's
cuda_occupancy.h. Peak arithmetic (float32, without tensor cores) and bandwidth: the data sheets of the T4, the A100
(80 GB, SXM), the GeForce RTX 4090, the H100 (SXM) and the H200.
"""

import math
from dataclasses import dataclass

from ptx_machine import WARP

from ..ladder import ceil_div
from ..launch.given import takes


@dataclass(frozen=True)
class GPU:
    """What one streaming multiprocessor (SM) holds, and what the whole GPU does at most.

    warps, blocks    that an SM keeps at once
    registers        32-bit registers of an SM, dealt out to warps in pieces of 256
    shared_bytes     shared memory of an SM, dealt out to blocks in pieces of `shared_piece` bytes
    reserved_bytes   shared memory that the system takes for each block
    flops_per_s, bytes_per_s   the data sheet's peak
    """

    name: str
    arch: str
    warps: int
    blocks: int
    shared_bytes: int
    shared_piece: int
    reserved_bytes: int
    flops_per_s: float
    bytes_per_s: float
    registers: int = 65536


GPUS = {
    gpu.name: gpu
    for gpu in [
        GPU("T4", "sm_75", 32, 16, 64 * 1024, 256, 0, 8.1e12, 320e9),
        GPU("A100", "sm_80", 64, 32, 164 * 1024, 128, 1024, 19.5e12, 2039e9),
        GPU("RTX 4090", "sm_89", 48, 24, 100 * 1024, 128, 1024, 82.6e12, 1008e9),
        GPU("H100", "sm_90", 64, 32, 228 * 1024, 128, 1024, 67e12, 3350e9),
        GPU("H200", "sm_90", 64, 32, 228 * 1024, 128, 1024, 67e12, 4800e9),
    ]
}
ARCHS = {gpu.arch: " and ".join(g.name for g in GPUS.values() if g.arch == gpu.arch) for gpu in GPUS.values()}


@dataclass(frozen=True)
class Occupancy:
    """How many blocks and warps of a kernel an SM keeps at once, the most warps it could keep, and what limits them.

    needs   {what: (how much a block takes of it, how much an SM has)}; `limits` names those of which no more is left
    """

    gpus: str
    blocks: int
    warps: int
    most_warps: int
    limits: tuple
    needs: dict

    @property
    def share(self) -> float:
        """Warps kept at once, as a share of the most that an SM could keep."""
        return self.warps / self.most_warps

    def __repr__(self):
        blocks = f"{self.blocks} block{'s' * (self.blocks != 1)} at a time"
        return (
            f"{self.gpus}: {blocks}, {self.warps} of {self.most_warps} warps ({self.share:.0%}), "
            f"limited by {' and '.join(self.limits)}"
        )


def known_arch(name: str) -> str:
    """The architecture, such as "sm_90", of that name or of the GPU of that name. Raises ValueError for others."""
    if name in GPUS:
        return GPUS[name].arch
    if name not in ARCHS:
        raise ValueError(
            f"{name!r} is none of the architectures whose limits the course knows: "
            f"{', '.join(f'{arch} ({gpus})' for arch, gpus in ARCHS.items())}."
        )
    return name


@takes
def occupancy(arch: str, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The `Occupancy` of a kernel with that many threads a block, registers a thread and shared bytes a block.

    Raises ValueError for an architecture that is not in `ARCHS`.
    """
    gpu = next(g for g in GPUS.values() if g.arch == known_arch(arch))

    def pieces(amount, piece):
        return ceil_div(amount, piece) * piece

    warps, registers_a_warp = ceil_div(threads, WARP), pieces(registers * WARP, 256)
    needs = {
        "registers": (registers_a_warp * warps, gpu.registers),
        "shared memory": (pieces(shared_bytes + gpu.reserved_bytes, gpu.shared_piece), gpu.shared_bytes),
        "warps": (warps, gpu.warps),
        "blocks": (1, gpu.blocks),
    }
    allowed = {what: has // takes if takes else math.inf for what, (takes, has) in needs.items()}
    # Each quarter of an SM has its own warps and a quarter of the registers.
    allowed["registers"] = gpu.registers // 4 // registers_a_warp * 4 // warps
    blocks = min(allowed.values())
    limits = tuple(what for what, n in allowed.items() if n == blocks)
    return Occupancy(ARCHS[gpu.arch], blocks, blocks * warps, gpu.warps, limits, needs)
