"""What must work with the oldest versions that pyproject.toml allows: `make lowest` runs this there.

With the versions of today each rule has its test elsewhere.
"""

import pytest

from helpers import check, cuda_kernel, devices, opencl_kernel
from helpers.instruments import predict
from helpers.needs import diagnosis, missing

pytestmark = pytest.mark.bulk


def test_the_machine_is_ready():
    assert missing(diagnosis()) == []


@pytest.mark.parametrize("build", [cuda_kernel, opencl_kernel])
def test_a_learners_kernel_is_checked_with_all_that_there_is_to_look_for(build):
    report = check(build(build("register_2d").source, like="register_2d", BM=8, BN=8, BK=4, TM=2, TN=2))
    assert report, report
    if devices.oclgrind_library():
        assert report.notes == ()


def test_a_race_is_seen_in_both_dialects():
    for build, barrier in ((cuda_kernel, "cuda.syncthreads()"), (opencl_kernel, "barrier(CLK_LOCAL_MEM_FENCE);")):
        source = build("tiled").source
        assert barrier in source
        report = check(build(source.replace(barrier, ""), like="tiled", TILE=4))
        assert not report
        if build is cuda_kernel or devices.oclgrind_library():
            assert "race" in repr(report), report


def test_a_learners_kernel_is_predicted_as_on_page_04():
    mine = cuda_kernel(cuda_kernel("tiled").source, like="tiled", TILE=16)
    p = predict(mine, "A6000", 4096, 4096, 4096)
    assert round(p.gflops) == 2917
