"""What an SM keeps at once, by architecture, and how it is told."""

import pytest

from gpu_model import GPUS, occupancy
from gpu_model.gpus import STANDS_FOR, known_arch


def test_an_architecture_is_known_by_its_name_and_by_its_gpus():
    assert [known_arch(name) for name in ("sm_75", "T4", "RTX 4090", "H100")] == ["sm_75", "sm_75", "sm_89", "sm_90"]
    known = [gpu for gpu in GPUS.values() if gpu.arch not in STANDS_FOR]
    assert all(occupancy(gpu, 96, 40, 9000).needs == occupancy(gpu.arch, 96, 40, 9000).needs for gpu in known)
    for name in ("sm_70", "sm_120", "H1000", ""):
        with pytest.raises(ValueError, match="none of the arch") as refused:
            known_arch(name)
        assert str(refused.value) == (
            f"{name!r} is none of the architectures whose limits are known: sm_75 (T4), sm_80 (A100), "
            "sm_86 (RTX 3070, RTX 3090, A6000, A10, RTX 3060, RTX 3070 Ti Laptop, RTX 3070 Ti and A2000), "
            "sm_89 (L4, RTX 4080, RTX 4090, RTX 4060, RTX 4070, RTX 4070 Ti, RTX 4070 Ti SUPER, RTX 4070 Laptop, L20 "
            "and L40S), sm_90 (H100 and H200)."
        )


def test_what_is_kept_at_once_is_told_with_the_gpus_of_an_architecture():
    said = "H100 and H200: 2 blocks at a time, 6 of 64 warps (9%), limited by registers"
    assert repr(occupancy("sm_90", 96, 200, 0)) == said


# Made with NVIDIA's own cuda_occupancy.h: architecture, threads, registers, shared bytes -> blocks, limits
NVIDIA_SAYS = [
    ("sm_75", 64, 16, 0, 16, {"blocks", "warps"}),
    ("sm_75", 256, 128, 16384, 2, {"registers"}),
    ("sm_75", 160, 96, 8300, 4, {"registers"}),
    ("sm_75", 64, 85, 0, 10, {"registers"}),  # one more, if a warp's registers came from two quarters
    ("sm_80", 256, 32, 49152, 3, {"shared memory"}),
    ("sm_80", 1024, 65, 0, 0, {"registers"}),
    ("sm_89", 384, 40, 20000, 4, {"registers", "shared memory", "warps"}),
    ("sm_89", 32, 24, 1024, 24, {"blocks"}),
    ("sm_90", 64, 201, 40000, 4, {"registers"}),
    ("sm_90", 96, 200, 0, 2, {"registers"}),
    ("sm_90", 256, 28, 2048, 8, {"registers", "warps"}),
]


@pytest.mark.parametrize("arch, threads, registers, shared_bytes, blocks, limits", NVIDIA_SAYS)
def test_occupancy_is_what_nvidia_computes(arch, threads, registers, shared_bytes, blocks, limits):
    here = occupancy(arch, threads, registers, shared_bytes)
    assert (here.blocks, set(here.limits)) == (blocks, limits), here
