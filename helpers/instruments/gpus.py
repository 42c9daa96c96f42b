"""GPUs as the course asks for them: the one of this machine, one of a user's own, those of an architecture."""

import contextlib
import re
from dataclasses import replace

import gpu_model
from gpu_model import GPU, GPUS, Occupancy
from gpu_model.published import STANDS_FOR

from .. import devices


def in_words(names: list[str]) -> str:
    """["A", "B", "C"] as "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


ARCHS = {  # those whose code is counted, and their GPUs
    arch: in_words([gpu.name for gpu in GPUS.values() if gpu.arch == arch])
    for arch in dict.fromkeys(gpu.arch for gpu in GPUS.values())
    if arch not in STANDS_FOR
}


def gpu_like(name: str, **figures: float) -> GPU:
    """A GPU of one's own: that one with other figures, such as `sms=70, clock=2.45e9, bytes_per_s=504e9`.

    Its name says what it was made from. Raises ValueError for an unknown name, or figure, and for one not above 0.
    """
    return gpu_model.gpu(name, **figures)


def gpu_here() -> GPU | None:
    """The GPU of this machine, as the table has it; None where there is none, or one that it does not know.

    Its name alone would not do: an RTX 4090 of a laptop has fewer multiprocessors, an RTX 4060 of one another clock.
    """
    device = devices.cuda_device()
    same = [
        gpu
        for gpu in GPUS.values()
        if re.search(rf"\b{gpu.name}\b", device.name)
        and gpu.sms == device.units
        and ("Laptop" in gpu.name) == ("Laptop" in device.name)
    ]
    # The name of an RTX 3070 is in that of an RTX 3070 Ti, too.
    return max(same, key=lambda gpu: len(gpu.name), default=None) if device.kind == "GPU" else None


def known_arch(name: str) -> str:
    """The architecture, such as "sm_90", of that name or of the GPU of that name. Raises ValueError for others."""
    with contextlib.suppress(ValueError):
        name = gpu_model.gpu(name).arch
    if name not in ARCHS:
        raise ValueError(
            f"{name!r} is none of the architectures whose limits the course knows: "
            f"{', '.join(f'{arch} ({gpus})' for arch, gpus in ARCHS.items())}."
        )
    return name


def occupancy(arch: str, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The `Occupancy` of a kernel with that many threads a block, registers a thread and shared bytes a block.

    Raises ValueError for an architecture that is not in `ARCHS`.
    """
    gpu = next(gpu for gpu in GPUS.values() if gpu.arch == known_arch(arch))
    return replace(gpu_model.occupancy(gpu, threads, registers, shared_bytes), gpus=ARCHS[gpu.arch])
