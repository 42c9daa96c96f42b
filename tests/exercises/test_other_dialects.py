"""The course's kernels as an AMD GPU's code, beyond what page 14 shows."""

import numpy as np
import pytest

from helpers import devices
from helpers.exercises.other_dialects import amd_report
from helpers.launch import KernelError

without_gpu = pytest.mark.skipif(not devices.compiling(), reason="CUDA runs on a GPU")


@without_gpu
def test_wide_loads_are_wide_on_a_radeon_too_and_two_multiply_adds_go_together():
    report = amd_report("vectorized", "rx 7900 xtx")
    assert report.mix["LDS load, 16 bytes"] == 4 and report.assembly.count("ds_load_b128") >= 4
    pairs = report.mix["FMA, two in one instruction"]
    assert report.mix["FMA"] + 2 * pairs == 64 and pairs
    assert (report.gpu, report.threads, report.unit) == ("RX 7900 XTX", 256, "work-group processor")


@without_gpu
def test_what_cannot_be_had_is_refused_in_words():
    with pytest.raises(KernelError, match=r"cp.async.*only NVIDIA's GPUs have it"):
        amd_report("matrix_units")
    with pytest.raises(KernelError, match="not written in Python"):
        amd_report(np.zeros(3))
    with pytest.raises(ValueError, match=r"unknown AMD GPU 'MI30X'\. Do you mean MI300X"):
        amd_report("tiled", "MI30X")
