"""Several devices of one machine share the rows of C by their rates."""

import types

import numpy as np
import pytest

from helpers import check, cuda_kernel, devices, opencl_kernel
from helpers.judge import wrong_elements
from helpers.launch import draw
from helpers.many import sharing, together
from helpers.many.sharing import Together, shares


def cores():
    cpu = devices.opencl_device(kinds=("CPU", "CPU (PoCL)"))
    if cpu.handle.max_compute_units < 2:
        pytest.skip("one core: nothing to share")
    return devices.parts(cpu)


@pytest.mark.parametrize("rows, rates", [(10, [1, 1]), (7, [1, 2, 4]), (1, [1, 1]), (100, [1e-3, 5, 3])])
def test_shares_are_in_proportion_and_none_is_left_out(rows, rates):
    parts = shares(rows, rates)
    assert np.concatenate([np.arange(rows)[part] for part in parts]).tolist() == list(range(rows))
    for part, rate in zip(parts, rates, strict=True):
        assert abs(part.stop - part.start - rows * rate / sum(rates)) <= 1


def test_a_share_ends_at_the_nearest_row():
    assert shares(10, [2, 1]) == [slice(0, 7), slice(7, 10)] and shares(10, [1, 2]) == [slice(0, 3), slice(3, 10)]


def test_the_time_of_all_is_the_walls_for_each_launch(monkeypatch):
    work = Together([opencl_kernel("tiled", core) for core in cores()[:2]], [1, 1]).upload(*draw(4, 4, 4))
    seen, clock = [], iter([10.0, 16.0])
    work.works = 2 * [types.SimpleNamespace(timed=seen.append)]
    monkeypatch.setattr(sharing, "time", types.SimpleNamespace(perf_counter=lambda: next(clock)))
    assert work.timed(3) == 2.0 and seen == [3, 3]


def test_parts_of_a_device_compute_together():
    kernels = [opencl_kernel("tiled", core) for core in cores()]
    both = together(kernels, size=64)
    assert check(both)
    assert len(both.rates) == len(kernels) and min(both.rates) > 0


def test_each_device_has_the_rows_that_its_rate_gives_it():
    kernels = [opencl_kernel("tiled", core) for core in cores()[:2]]
    A, B = draw(90, 20, 30)
    both = Together(kernels, [1, 2])
    work = both.upload(A, B)
    assert [one.sizes for one in work.works] == [(30, 20, 30), (60, 20, 30)]
    assert [one.on.device for one in work.works] == [k.device for k in kernels]
    assert not wrong_elements(both(A, B), A, B).any()


def test_each_device_is_made_ready_for_its_rows_and_c_is_full_of_what_is_asked_for(monkeypatch):
    kernels, asked = [opencl_kernel("tiled", cores()[0]), opencl_kernel("naive", cores()[1])], []
    monkeypatch.setattr(type(kernels[0]), "ready", lambda self, *size: asked.append((self, size)))
    both = Together(kernels, [1, 2])
    assert both.name == "tiled on 2 devices" and both.ready(90, 20, 30) is both
    assert asked == [(kernels[0], (30, 20, 30)), (kernels[1], (60, 20, 30))]
    Together(kernels, [1, 0]).ready(90, 20, 30)
    assert asked[2:] == [(kernels[0], (90, 20, 30))]
    assert (both.upload(*draw(6, 5, 4), fill=7.0).download() == 7).all()


def test_a_device_without_rows_is_left_out():
    kernels = [opencl_kernel("tiled", core) for core in cores()[:2]]
    A, B = draw(1, 20, 30)
    assert not wrong_elements(Together(kernels, [1, 3])(A, B), A, B).any()


def test_what_cannot_share_is_refused():
    one = cores()[0]
    with pytest.raises(ValueError, match=r"^kernels=\[\] does not do; give at least one"):
        together([])
    with pytest.raises(ValueError, match=r"2 kernels are on .*part 1 of"):
        together([opencl_kernel("tiled", one), opencl_kernel("naive", one)])
    if devices.compiling():
        with pytest.raises(ValueError, match="runs on the PTX machine, which has no rate"):
            together([cuda_kernel("tiled")])


def test_parts_that_cannot_be_are_refused():
    cpu = devices.opencl_device(kinds=("CPU", "CPU (PoCL)"))
    with pytest.raises(devices.DeviceError, match="cannot be parted into pieces of 1000 of its"):
        devices.parts(cpu, 1000)
