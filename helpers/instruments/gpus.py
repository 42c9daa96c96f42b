"""GPUs as the course asks for them: the one of this machine, one of a user's own."""

import re

from gpu_model import GPU, GPUS, occupancy
from gpu_model import gpu as gpu_like

from .. import devices

__all__ = ["GPU", "GPUS", "gpu_here", "gpu_like", "occupancy"]


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
