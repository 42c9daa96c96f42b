"""The table of GPUs: how they are called, what the data sheets say of them, and what an SM keeps at once."""

import re

import pytest

from gpu_model import GPUS, gpu, occupancy
from gpu_model.gpus import STANDS_FOR, known_arch, read_gpus


@pytest.mark.parametrize(
    "written, name",
    [
        ("4090", "RTX 4090"),
        ("h-100", "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),  # nvidia-smi's names
        ("NVIDIA GeForce RTX 3070 Ti Laptop GPU", "RTX 3070 Ti Laptop"),
    ],
)
def test_a_gpu_is_called_as_people_write_it(written, name):
    assert gpu(written) is GPUS[name]


@pytest.mark.parametrize(
    "other, near",
    [
        ("RTX 4090 Laptop GPU", None),
        ("NVIDIA GeForce RTX 3060 Ti", "RTX 3060"),
        ("A100-SXM4-40GB", "A100"),  # its memory is slower
        ("NVIDIA H100 PCIe", "H100"),
        ("", None),
        (None, None),
    ],
)
def test_another_gpu_is_not_taken_for_one_of_the_table(other, near):
    mean = f"Do you mean {near}?" if near else "The GPUs are"
    with pytest.raises(ValueError, match=rf"unknown GPU .*\. {re.escape(mean)}"):
        gpu(other)


def test_a_gpu_of_ones_own_has_what_is_given_and_else_the_numbers_of_its_kin():
    mine = gpu("4090", sms=24, clock=2.46e9, bytes_per_s=272e9)
    assert mine.name == "RTX 4090 with 24 multiprocessors, 2.46e+09 cycles a second, 2.72e+11 bytes a second"
    assert (mine.sms, mine.clock, mine.bytes_per_s) == (24, 2.46e9, 272e9)
    assert mine.fma_lanes == GPUS["RTX 4090"].fma_lanes
    for figures, said in (
        ({"cores": 3072}, "'cores' is no figure that can be given; those are sms, clock"),
        ({"sms": 0}, "sms is 0; it must be above 0"),
        ({"clock": float("nan")}, "clock is nan"),
        ({"clock": "fast"}, "clock is 'fast'"),
    ):
        with pytest.raises(ValueError, match=said):
            gpu("RTX 4090", **figures)


@pytest.mark.parametrize(
    "asked, said",
    [
        (("H100", 96, 200, 0), "H100: 2 blocks at a time, 6 of 64 warps (9%), limited by registers"),
        (("t4", 64, 16, 0), "T4: 16 blocks at a time, 32 of 32 warps (100%), limited by warps and blocks"),
        (("A100", 1024, 64, 0), "A100: 1 block at a time, 32 of 64 warps (50%), limited by registers"),
        ((GPUS["T4"], 32, 16, 64 * 1024 + 1), "T4: 0 blocks at a time, 0 of 32 warps (0%), limited by shared memory"),
        (("sm_90", 96, 200, 0), "H100 and H200: 2 blocks at a time, 6 of 64 warps (9%), limited by registers"),
    ],
)
def test_blocks_warps_and_what_limits_them_are_told(asked, said):
    assert repr(occupancy(*asked)) == said


# Made with NVIDIA's own cuda_occupancy.h: architecture, threads, registers, shared bytes -> blocks, limits
NVIDIA_SAYS = [
    ("sm_75", 256, 128, 16384, 2, {"registers"}),
    ("sm_75", 160, 96, 8300, 4, {"registers"}),
    ("sm_75", 64, 85, 0, 10, {"registers"}),  # one more, if a warp's registers came from two quarters
    ("sm_80", 256, 32, 49152, 3, {"shared memory"}),
    ("sm_80", 1024, 65, 0, 0, {"registers"}),
    ("sm_89", 384, 40, 20000, 4, {"registers", "shared memory", "warps"}),
    ("sm_89", 32, 24, 1024, 24, {"blocks"}),
    ("sm_90", 256, 28, 2048, 8, {"registers", "warps"}),
]


@pytest.mark.parametrize("arch, threads, registers, shared_bytes, blocks, limits", NVIDIA_SAYS)
def test_occupancy_is_what_nvidia_computes(arch, threads, registers, shared_bytes, blocks, limits):
    here = occupancy(arch, threads, registers, shared_bytes)
    assert (here.blocks, set(here.limits)) == (blocks, limits), here


def test_an_architecture_is_known_by_its_name_and_by_its_gpus():
    assert [known_arch(name) for name in ("sm_75", "T4", "RTX 4090", "H100")] == ["sm_75", "sm_75", "sm_89", "sm_90"]
    known = [gpu for gpu in GPUS.values() if gpu.arch not in STANDS_FOR]
    assert all(occupancy(gpu, 96, 40, 9000).needs == occupancy(gpu.arch, 96, 40, 9000).needs for gpu in known)
    for name in ("sm_70", "sm_120", ""):
        with pytest.raises(ValueError, match=rf"^'{name}' is none of .*: sm_75 \(T4\), .*sm_90 \(H100 and H200\)"):
            known_arch(name)


def test_rates_of_matrix_units_are_those_of_the_data_sheets():
    said = {"T4": 65, "V100": 125, "A100": 312, "RTX 3070": 40.6, "RTX 3090": 71, "A6000": 154.8, "A10": 125}
    said |= {"L4": 121, "RTX 4080": 97.5, "RTX 4090": 165.2, "L20": 119.5}
    said |= dict.fromkeys(("H100", "H200"), 0.629 * 989 * 1.98 / 1.83)  # at 1.83 GHz, of products of single warps
    rates = {name: 2 * gpu.matrix["float16"] * gpu.sms * gpu.clock / 1e12 for name, gpu in GPUS.items() if gpu.matrix}
    assert {name: rates[name] for name in said} == pytest.approx(said, rel=0.01)


def test_peaks_are_those_of_the_data_sheets():
    said = {"T4": 8.1, "V100": 15.7, "A100": 19.5, "RTX 3090": 35.6, "A6000": 38.7, "A10": 31.2, "L4": 30.3}
    said |= {"RTX 3070": 20.3, "RTX 4080": 48.7, "RTX 4090": 82.6, "H100": 67, "H200": 67}
    said |= {"RTX 3060": 12.7, "RTX 3070 Ti Laptop": 16.6, "A2000": 8.0, "Jetson AGX Orin": 5.3, "RTX 4060": 15.1}
    said |= {"RTX 4070": 29.1, "RTX 4070 Ti": 40.1, "L40S": 91.6, "RTX 5090": 104.8, "RTX 5080": 56.3}
    said |= {"RTX 5050": 13.2, "B200": 75}
    said |= {"RTX 3070 Ti": 21.75, "RTX 4070 Laptop": 15.62, "RTX 4070 Ti SUPER": 44.1, "L20": 59.35}
    assert said.keys() == GPUS.keys(), said.keys() ^ GPUS.keys()
    assert {name: gpu.flops_per_s / 1e12 for name, gpu in GPUS.items()} == pytest.approx(said, rel=0.01)


def test_a_card_that_is_like_another_has_its_words():
    small, large = GPUS["RTX 4060"], GPUS["RTX 4090"]
    assert (small.fma_lanes, small.latency, small.matrix) == (large.fma_lanes, large.latency, large.matrix)
    assert small.l2_size < large.l2_size
    assert GPUS["RTX 5080"].latency == GPUS["RTX 5090"].latency == 936  # which is like a third
    with pytest.raises(KeyError, match="RTX 4095"):
        read_gpus({"mine": {"like": "RTX 4095"}})
