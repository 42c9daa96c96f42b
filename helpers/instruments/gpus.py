"""GPUs that the course predicts for. Nothing here was measured by us; each number has its source.

What a multiprocessor holds: CUDA C++ Programming Guide, "Compute Capabilities", and NVIDIA's cuda_occupancy.h.
Multiprocessors, lanes, clocks and memory: NVIDIA's data sheets and the white papers of Volta, Turing, A100, GA102, Ada
and Hopper, whose drawings show 4 or 8 load/store units in each quarter of a multiprocessor.
`latency`, `l1_bytes` and `l2_bytes`: Luo and others, arXiv 2402.13499 (RTX 4090, A100, and H800, whose chip is the
H100's); Jia and others, arXiv 1804.06826 (V100) and 1903.07486 (T4); github.com/markdewing/AI_kernels (V100's latency).
The RTX 3070 and 3090, the A6000 and the A10 have no figures there: they are given the A100's latency, and 128 bytes.
`round_cycles`: the T4's shared memory gave 57.6 bytes a cycle, half of a round (arXiv 1903.07486).
`sustained`: cuBLAS at 4096, as published beside ladders, those of `published.py` and others.
`matrix`: the dense tensor rates of the same data sheets and white papers, with float32 sums, over the clock and the
multiprocessors: 125 TFLOPS (V100), 65 (T4), 312 and 156 in TF32 (A100), 71 and 35.6 (RTX 3090), 154.8 and 77.4 (A6000),
125 and 62.5 (A10), 121 and 60 (L4), 165.2 and 82.6 (RTX 4090). GeForce cards do half with float32 sums. A warp's own
products reach 62.9 % of the H100's peak of 989 at 1.83 GHz on average: Luo and others, arXiv 2402.13499 and 2501.12084.
"""

import contextlib
import math
import re
from dataclasses import dataclass, field, replace

from ptx_machine import WARP

from .. import devices
from ..ladder import ceil_div
from ..launch.given import takes
from ..names import named

KB, MB = 1024, 1024**2


@dataclass(frozen=True)
class GPU:
    """What one streaming multiprocessor (SM) holds and does in a cycle, and what the whole GPU does.

    arch             such as "sm_80"
    sms, clock       how many SMs it has, and their cycles a second: the data sheet's boost clock
    fma_lanes        float32 multiply-adds that an SM does in a cycle
    load_lanes       threads that an SM serves in a cycle, with a load or a store of 4 bytes
    l1_bytes         bytes a cycle that an SM's first cache gives
    l2_bytes         bytes a cycle that the second cache gives, as the share of one SM; None where we found no figure
    l2_size          bytes that it holds
    bytes_per_s      of memory
    latency          cycles until a number comes from memory
    sustained        share of the peak that NVIDIA's own library reached in a product of 4096, the one number here that
                     a product was measured for; None where we found no figure
    warps, blocks    that an SM keeps at once
    shared_bytes     shared memory of an SM, dealt out to blocks in pieces of `shared_piece` bytes
    reserved_bytes   shared memory that the system takes for each block
    round_cycles     cycles for a round of the banks, or for a line of the first cache
    registers        32-bit registers of an SM, dealt out to warps in pieces of 256
    matrix           {type of A and B: multiply-adds with float32 sums that its matrix units do in a cycle}

    One of your own, made from a kindred one: `dataclasses.replace(GPUS["RTX 4090"], name="RTX 4060", sms=24, ...)`.
    """

    name: str
    arch: str
    sms: int
    clock: float
    fma_lanes: int
    load_lanes: int
    l1_bytes: float
    l2_bytes: float | None
    l2_size: int
    bytes_per_s: float
    latency: int
    sustained: float | None
    warps: int
    blocks: int
    shared_bytes: int
    shared_piece: int = 128
    reserved_bytes: int = 1024
    round_cycles: int = 1
    registers: int = 65536
    matrix: dict = field(default_factory=dict, hash=False)

    @property
    def flops_per_s(self) -> float:
        """The peak in float32, a multiply-add counted as two."""
        return 2 * self.sms * self.fma_lanes * self.clock


# `matrix` of each: of TF32 half as many as of 16 bits.
AMPERE, GEFORCE, WORKSTATION = ({"float16": many, "bfloat16": many, "tf32": many / 2} for many in (1024, 256, 512))
HOPPER = {of: 0.629 * 2 * many for of, many in AMPERE.items()}  # what a warp's own products reach of it
MATRIX = {"V100": {"float16": 512}, "T4": {"float16": 512}, "A100": AMPERE, "H100": HOPPER, "H200": HOPPER}
MATRIX |= {name: GEFORCE for name in ("RTX 3070", "RTX 3090", "RTX 4080", "RTX 4090")}
MATRIX |= {name: WORKSTATION for name in ("A6000", "A10", "L4")}
GPUS = {
    gpu.name: replace(gpu, matrix=MATRIX[gpu.name])
    for gpu in [
        GPU("T4", "sm_75", 40, 1.59e9, 64, 16, 58.8, 19.9, 4 * MB, 320e9, 434, 0.52, 32, 16, 64 * KB, 256, 0, 2),
        GPU("V100", "sm_70", 80, 1.53e9, 64, 32, 108.3, 17.6, 6 * MB, 900e9, 460, 0.91, 64, 32, 96 * KB, 256, 0),
        GPU("A100", "sm_80", 108, 1.41e9, 64, 32, 106.8, 18.6, 40 * MB, 2039e9, 466, 0.97, 64, 32, 164 * KB),
        GPU("RTX 3070", "sm_86", 46, 1.725e9, 128, 16, 128, None, 4 * MB, 448e9, 466, 0.64, 48, 16, 100 * KB),
        GPU("RTX 3090", "sm_86", 82, 1.695e9, 128, 16, 128, None, 6 * MB, 936e9, 466, 0.69, 48, 16, 100 * KB),
        GPU("A6000", "sm_86", 84, 1.8e9, 128, 16, 128, None, 6 * MB, 768e9, 466, 0.60, 48, 16, 100 * KB),
        GPU("A10", "sm_86", 72, 1.695e9, 128, 16, 128, None, 6 * MB, 600e9, 466, 0.42, 48, 16, 100 * KB),
        GPU("L4", "sm_89", 58, 2.04e9, 128, 16, 121.2, None, 48 * MB, 300e9, 541, None, 48, 24, 100 * KB),
        GPU("RTX 4080", "sm_89", 76, 2.505e9, 128, 16, 121.2, None, 64 * MB, 717e9, 541, 0.70, 48, 24, 100 * KB),
        GPU("RTX 4090", "sm_89", 128, 2.52e9, 128, 16, 121.2, 13.3, 72 * MB, 1008e9, 541, 0.60, 48, 24, 100 * KB),
        GPU("H100", "sm_90", 132, 1.98e9, 128, 32, 124.1, 29.9, 50 * MB, 3350e9, 479, 0.77, 64, 32, 228 * KB),
        GPU("H200", "sm_90", 132, 1.98e9, 128, 32, 124.1, 29.9, 50 * MB, 4800e9, 479, None, 64, 32, 228 * KB),
    ]
}


def in_words(names: list[str]) -> str:
    """["A", "B", "C"] as "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


ARCHS = {  # those that NVIDIA's compiler still writes code for, and their GPUs
    arch: in_words([gpu.name for gpu in GPUS.values() if gpu.arch == arch])
    for arch in dict.fromkeys(gpu.arch for gpu in GPUS.values())
    if arch != "sm_70"
}


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


# What people, and nvidia-smi, write beside a GPU's name. Not 40gb, of an A100 whose memory is slower, and not pcie.
BESIDE = ("nvidia", "geforce", "quadro", "tesla", "rtx", r"sxm\d?", r"hbm\d?e?", r"(?:8|16|24|32|48|80|141)gb")


def gpu_called(name: str) -> GPU:
    """The GPU of that name, however it is written: "A6000", "rtx a6000", "NVIDIA A100-SXM4-80GB".

    Raises ValueError for an unknown one.
    """
    return GPUS[named(name, GPUS, "GPU", BESIDE)]


def gpu_here() -> GPU | None:
    """The GPU of this machine, as the table has it; None where there is none, or one that it does not know.

    Its name alone would not do: an RTX 4090 of a laptop has fewer multiprocessors.
    """
    device = devices.cuda_device()
    same = [gpu for gpu in GPUS.values() if re.search(rf"\b{gpu.name}\b", device.name) and gpu.sms == device.units]
    return same[0] if same and device.kind == "GPU" else None


def known_arch(name: str) -> str:
    """The architecture, such as "sm_90", of that name or of the GPU of that name. Raises ValueError for others."""
    with contextlib.suppress(ValueError):
        name = gpu_called(name).arch
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
    return occupancy_of(gpu, ARCHS[gpu.arch], threads, registers, shared_bytes)


def occupancy_of(gpu: GPU, name: str, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The `Occupancy` of a kernel on that GPU; `name`: what it is called there."""

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
    return Occupancy(name, blocks, blocks * warps, gpu.warps, limits, needs)
