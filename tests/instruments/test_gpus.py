"""What an SM keeps at once, and how it is told. That the blocks are NVIDIA's own: test_compiler.py."""

import re

import pytest

from helpers.instruments.gpus import GPUS, gpu_called, gpu_like, known_arch, occupancy


@pytest.mark.parametrize(
    "written, name",
    [
        ("RTX A6000", "A6000"),
        ("a6000", "A6000"),
        ("rtx 4090", "RTX 4090"),
        ("RTX4090", "RTX 4090"),
        ("4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("Tesla T4", "T4"),
        ("h-100", "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),  # nvidia-smi's names
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
    ],
)
def test_a_gpu_is_called_as_people_write_it(written, name):
    assert gpu_called(written) is GPUS[name]


@pytest.mark.parametrize(
    "other, near",
    [
        ("RTX 4090 Laptop GPU", None),
        ("NVIDIA GeForce RTX 3070 Ti", "RTX 3070"),
        ("A100-SXM4-40GB", "A100"),  # its memory is slower
        ("NVIDIA H100 PCIe", "H100"),
        ("A10G", "A10"),
        ("RTX", None),
        ("", None),
        ("GTX 1080", None),
        ("RTX 6000 Ada", "A6000"),
        (None, None),
    ],
)
def test_another_gpu_is_not_taken_for_one_of_the_table(other, near):
    mean = f"Do you mean {near}?" if near else "The GPUs are"
    with pytest.raises(ValueError, match=rf"unknown GPU .*\. {re.escape(mean)}"):
        gpu_called(other)


def test_an_architecture_is_known_by_its_name_and_by_its_gpus():
    assert [known_arch(name) for name in ("sm_75", "T4", "RTX 4090", "H100")] == ["sm_75", "sm_75", "sm_89", "sm_90"]
    known = [gpu for gpu in GPUS.values() if gpu.arch != "sm_70"]
    assert all(occupancy(gpu.name, 96, 40, 9000) == occupancy(gpu.arch, 96, 40, 9000) for gpu in known)
    for name in ("sm_70", "H1000", ""):
        with pytest.raises(ValueError, match="none of the arch") as refused:
            known_arch(name)
        assert str(refused.value) == (
            f"{name!r} is none of the architectures whose limits the course knows: sm_75 (T4), sm_80 (A100), "
            "sm_86 (RTX 3070, RTX 3090, A6000 and A10), sm_89 (L4, RTX 4080 and RTX 4090), sm_90 (H100 and H200)."
        )


@pytest.mark.parametrize(
    "asked, said",
    [
        (("sm_90", 96, 200, 0), "H100 and H200: 2 blocks at a time, 6 of 64 warps (9%), limited by registers"),
        (("sm_75", 64, 16, 0), "T4: 16 blocks at a time, 32 of 32 warps (100%), limited by warps and blocks"),
        (("sm_75", 65, 16, 0), "T4: 10 blocks at a time, 30 of 32 warps (94%), limited by warps"),
        (("sm_80", 1024, 64, 0), "A100: 1 block at a time, 32 of 64 warps (50%), limited by registers"),
        (("sm_75", 32, 16, 64 * 1024), "T4: 1 block at a time, 1 of 32 warps (3%), limited by shared memory"),
        (("sm_75", 32, 16, 64 * 1024 + 1), "T4: 0 blocks at a time, 0 of 32 warps (0%), limited by shared memory"),
    ],
)
def test_blocks_warps_and_what_limits_them_are_told(asked, said):
    assert repr(occupancy(*asked)) == said


def test_a_gpu_of_ones_own_keeps_no_number_that_was_measured_of_another_card():
    mine = gpu_like("4090", sms=24, clock=2.46e9, bytes_per_s=272e9)
    assert mine.name == "RTX 4090 with 24 multiprocessors, 2.46e+09 cycles a second, 2.72e+11 bytes a second"
    assert (mine.sms, mine.clock, mine.bytes_per_s, mine.sustained) == (24, 2.46e9, 272e9, None)
    assert mine.fma_lanes == GPUS["RTX 4090"].fma_lanes
    for figures, said in (({"cores": 3072}, "'cores' is no figure"), ({"sms": 0}, "sms is 0; it must be above 0")):
        with pytest.raises(ValueError, match=said):
            gpu_like("RTX 4090", **figures)
