"""What an SM keeps at once, and how it is told. That the blocks are NVIDIA's own: test_compiler.py."""

import pytest

from gpu_model.published import STANDS_FOR
from helpers.instruments.gpus import GPUS, known_arch, occupancy


def test_an_architecture_is_known_by_its_name_and_by_its_gpus():
    assert [known_arch(name) for name in ("sm_75", "T4", "RTX 4090", "H100")] == ["sm_75", "sm_75", "sm_89", "sm_90"]
    known = [gpu for gpu in GPUS.values() if gpu.arch not in STANDS_FOR]
    assert all(occupancy(gpu.name, 96, 40, 9000) == occupancy(gpu.arch, 96, 40, 9000) for gpu in known)
    for name in ("sm_70", "sm_120", "H1000", ""):
        with pytest.raises(ValueError, match="none of the arch") as refused:
            known_arch(name)
        assert str(refused.value) == (
            f"{name!r} is none of the architectures whose limits the course knows: sm_75 (T4), sm_80 (A100), "
            "sm_86 (RTX 3070, RTX 3090, A6000, A10, RTX 3060, RTX 3070 Ti Laptop, RTX 3070 Ti and A2000), "
            "sm_89 (L4, RTX 4080, RTX 4090, RTX 4060, RTX 4070, RTX 4070 Ti, RTX 4070 Ti SUPER, RTX 4070 Laptop, L20 "
            "and L40S), sm_90 (H100 and H200)."
        )


def test_what_is_kept_at_once_is_told_with_the_gpus_of_an_architecture():
    said = "H100 and H200: 2 blocks at a time, 6 of 64 warps (9%), limited by registers"
    assert repr(occupancy("sm_90", 96, 200, 0)) == repr(occupancy("H200", 96, 200, 0)) == said
