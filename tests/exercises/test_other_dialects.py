"""Page 14's instruments: the course's kernels as an AMD GPU's code, and lines of them in a table."""

import gpu_page
import numpy as np
import pytest

from helpers import devices
from helpers.exercises.other_dialects import amd_report
from helpers.launch import KernelError
from old_roc import hsa, vocabulary

without_gpu = pytest.mark.skipif(not devices.compiling(), reason="CUDA runs on a GPU")


@without_gpu
def test_tiled_takes_its_tiles_from_lds_and_multiplies_and_adds_in_one_instruction():
    report = amd_report("tiled", "MI300X")
    assert (report.target, report.threads, report.lds_bytes, report.spills) == ("gfx942", 256, 2 * 16 * 16 * 4, (0, 0))
    assert report.mix["FMA"] == 16 and report.mix["LDS load, 2 x 4 bytes"] == 16
    assert report.assembly.count("ds_read2_b32") == 16 and report.mix["barrier"] == 2
    assert 0 < report.vector_registers <= 128 and report.waves == report.most_waves == 32
    assert "for gfx942 (MI300X); nobody has run it" in repr(report) and "% of them FMA" in repr(report)


@without_gpu
def test_wide_loads_are_wide_on_a_radeon_too_and_two_multiply_adds_go_together():
    report = amd_report("vectorized", "RX 7900 XTX")
    assert report.mix["LDS load, 16 bytes"] == 4 and report.assembly.count("ds_load_b128") >= 4
    pairs = report.mix["FMA, two in one instruction"]
    assert report.mix["FMA"] + 2 * pairs == 64 and pairs
    assert report.unit == "work-group processor"


@without_gpu
def test_a_kernel_of_ones_own_has_its_name_and_its_block():
    report = amd_report(hsa.naive(), "mi300x", block=(64, 1))
    assert (report.kernel, report.gpu, report.threads) == ("matmul", "MI300X", 64)
    assert ".max_flat_workgroup_size: 64" in report.assembly and report.mix["conversion"]


@without_gpu
def test_what_cannot_be_had_is_refused_in_words():
    with pytest.raises(KernelError, match=r"mma.sync.*only NVIDIA's GPUs have it"):
        amd_report("matrix_units")
    with pytest.raises(KernelError, match="not written in Python"):
        amd_report(np.zeros(3))
    with pytest.raises(ValueError, match=r"unknown AMD GPU 'MI30X'\. Do you mean MI300X"):
        amd_report("tiled", "MI30X")


def test_the_tables_lines_of_wgsl_are_lines_of_the_kernel_in_wgsl():
    assert {*vocabulary.WGSL} <= {line.strip() for line in gpu_page.source("tiled").splitlines()}
