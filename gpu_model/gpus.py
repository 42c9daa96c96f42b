"""GPUs that the course predicts for, listed in gpus.toml with the source of each number, and what they keep at once."""

import contextlib
import math
import re
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources

from helpers import devices
from helpers.ladder import ceil_div
from helpers.launch.given import takes
from helpers.names import named
from ptx_machine import WARP


@dataclass(frozen=True)
class GPU:
    """What one streaming multiprocessor (SM) holds and does in a cycle, and what the whole GPU does.

    arch             such as "sm_80"
    sms, clock       how many SMs it has, and their cycles a second: the data sheet's boost clock
    fma_lanes        float32 multiply-adds that an SM does in a cycle
    load_lanes       threads that an SM serves in a cycle, with a load or a store of 4 bytes
    l1_bytes         bytes a cycle that an SM's first cache gives
    l2_bytes         bytes a cycle that the second cache gives, as the share of one SM
    l2_size          bytes that it holds
    bytes_per_s      of memory
    latency          cycles until a number comes from memory; l2_latency: from the second cache
    sustained        share of the peak that NVIDIA's own library reached in a product of 4096, which the model does not
                     use; None where we found no figure
    warps, blocks    that an SM keeps at once
    shared_bytes     shared memory of an SM, dealt out to blocks in pieces of `shared_piece` bytes
    reserved_bytes   shared memory that the system takes for each block
    round_cycles     cycles for a round of the banks, or for a line of the first cache
    registers        32-bit registers of an SM, dealt out to warps in pieces of 256
    matrix           {type of A and B: multiply-adds with float32 sums that its matrix units do in a cycle}

    One of your own is made from a kindred one: `gpu_like("RTX 4090", sms=24, clock=2.46e9)`.
    """

    name: str
    arch: str
    sms: int
    clock: float
    fma_lanes: int
    load_lanes: int
    l1_bytes: float
    l2_bytes: float
    l2_size: int
    bytes_per_s: float
    latency: int
    l2_latency: int
    warps: int
    blocks: int
    shared_bytes: int
    sustained: float | None = None
    shared_piece: int = 128
    reserved_bytes: int = 1024
    round_cycles: int = 1
    registers: int = 65536
    matrix: dict = field(default_factory=dict, hash=False)

    @property
    def flops_per_s(self) -> float:
        """The peak in float32, a multiply-add counted as two."""
        return 2 * self.sms * self.fma_lanes * self.clock


def read_toml(name: str) -> dict:
    """What the TOML file of that name beside this one holds."""
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


GPUS = {name: GPU(name=name, **figures) for name, figures in read_toml("gpus.toml").items()}


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


CHOSEN = {  # figures of `gpu_like`, and how they are spelled
    "sms": "{:,} multiprocessors",
    "clock": "{:.3g} cycles a second",
    "bytes_per_s": "{:.3g} bytes a second",
    "l2_size": "{:,} bytes of second cache",
}
# What people, and nvidia-smi, write beside a GPU's name. Not 40gb, of an A100 whose memory is slower, and not pcie.
BESIDE = ("nvidia", "geforce", "quadro", "tesla", "rtx", r"sxm\d?", r"hbm\d?e?", r"(?:8|16|24|32|48|80|141)gb")


def gpu_called(name: str) -> GPU:
    """The GPU of that name, however it is written: "A6000", "rtx a6000", "NVIDIA A100-SXM4-80GB".

    Raises ValueError for an unknown one.
    """
    return GPUS[named(name, GPUS, "GPU", BESIDE)]


@takes
def gpu_like(name: str, **figures: float) -> GPU:
    """A GPU of one's own: that one with other figures, such as `sms=70, clock=2.45e9, bytes_per_s=504e9`.

    Its name says what it was made from, and what was measured of that GPU as a whole is not kept. Raises ValueError for
    an unknown name, or figure, and for one that is not above 0.
    """
    kindred = gpu_called(name)
    for figure, value in figures.items():
        if figure not in CHOSEN:
            raise ValueError(f"{figure!r} is no figure that can be given; those are {in_words([*CHOSEN])}.")
        if not value > 0:
            raise ValueError(f"{figure} is {value}; it must be above 0.")
    said = ", ".join(CHOSEN[figure].format(value) for figure, value in figures.items())
    return replace(kindred, **{"name": f"{kindred.name} with {said}", "sustained": None} | figures)


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
