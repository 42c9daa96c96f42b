"""The model of a GPU: our kernels beside published ladders, what it says of them, and what it refuses."""

import dataclasses
import itertools

import notebooks
import numpy as np
import pytest
from glossary import without_links
from needed import needs_compiler

from gpu_model import UNITS
from gpu_model.published import MEASURED
from helpers import cuda_kernel, devices, opencl_kernel
from helpers.instruments import (
    GPUS,
    against_published,
    gpu_here,
    predict,
    predict_beside,
    predicted_ladder,
    print_requests,
)
from helpers.launch import KernelError


def off(rows):
    """How far the predicted rates are from the measured ones, as a share of these."""
    return np.array([abs(row.prediction.gflops / row.published - 1) for row in rows])


def out_of_order(rows):
    """(pairs of rungs of a ladder that are predicted in the other order, all pairs)."""
    pairs = [pair for ladder in MEASURED for pair in itertools.combinations([r for r in rows if r.ladder is ladder], 2)]
    wrong = [(a.published - b.published) * (a.prediction.gflops - b.prediction.gflops) < 0 for a, b in pairs]
    return sum(wrong), len(pairs)


def test_rungs_are_predicted_in_the_order_in_which_they_were_measured_and_as_near_as_they_were():
    """Who changes the model on purpose puts its new numbers here."""
    published = against_published()
    counted = [row for row in published.rows if row.ladder.counted]  # their kernel's own code
    assert len(counted) == 45 and out_of_order(counted) == (0, 129)
    # `LOSSES` was chosen by the ladders known before; the H200's and others came after it.
    unseen = off([row for row in counted if not row.ladder.fitted])
    assert (len(unseen), np.median(unseen), unseen.max()) == pytest.approx((17, 0.0757, 0.1813), abs=1e-4)
    far = {(row.ladder.gpu, row.step) for row in published.rows if abs(row.ratio - 1) > 1 / 3}
    assert far == {("T4", "coalesced")}
    assert published.error == pytest.approx(0.0743, abs=1e-4)
    assert "2.06         2.06     644  loads and stores" in repr(against_published("T4"))
    with pytest.raises(ValueError, match="no published ladder of 'L4'"):
        against_published("L4")


def test_no_prediction_beats_the_data_sheet_or_the_bytes_that_must_move():
    for gpu, size in itertools.product(GPUS.values(), (33, 4096)):
        for p in predicted_ladder(gpu, size):
            assert 0 < p.gflops * 1e9 <= gpu.flops_per_s and p.seconds * gpu.bytes_per_s >= 12 * size**2
            assert p.bytes[0] <= p.bytes[1] <= p.bytes[2] and p.limit in p.units
            assert sum(p.requests.values()) == pytest.approx(p.units["loads and stores"])


def test_what_cannot_be_predicted_is_refused_by_name():
    for k, gpu, N, error, said in (
        ("tiled", "L5", 8, ValueError, "unknown GPU 'L5'"),
        (opencl_kernel("tiled"), "T4", 8, ValueError, "OpenCL"),
        ("tiled", "T4", 0, ValueError, "N=0 does not do"),
        ("matrix_units", "T4", 8, KernelError, r"matrix_units.* needs the matrix units of sm_80"),
    ):
        with pytest.raises(error, match=said):
            predict(k, gpu, 8, N, 8)


def test_a_prediction_reads_as_a_sentence_and_a_line_a_unit():
    said = repr(predict("tiled", "A6000", 4096, 4096, 4096)).splitlines()
    assert said[0].endswith("predicted 2,917 GFLOP/s, 47.1 ms; its limit: loads and stores")
    assert said[1] == (
        "  65,536 blocks, 131 waves; A6000: 6 blocks at a time, 48 of 48 warps (100%), limited by registers and warps"
    )
    assert len(said) == 2 + len(UNITS) - 1  # nothing for matrix units
    assert "(100% lanes)" in said[2]


def test_requests_to_shared_memory_are_told_for_a_multiply_add(capsys):
    print_requests(cuda_kernel("register_1d", BM=64, BN=32, BK=16, TM=8))
    # One number of B for 8 products, 16 x 96 staged for 16 x 2048; four rounds of A's joined by the compiler.
    one = 1 / 8 + 16 * 96 / (16 * 2048)
    said = f"register_1d  {one:.3f} requests for one number, 0.250 for four; 2.08 instructions\n"
    assert capsys.readouterr().out == said


def test_a_prediction_stands_beside_the_rungs(capsys):
    mine = cuda_kernel("tiled", TILE=8)
    predict_beside(mine, "tiled", "T4", 512)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("this kernel") and f"{predict(mine, 'T4', 512, 512, 512).gflops:,.0f} GFLOP/s" in first
    assert second.startswith("tiled ") and f"{predict('tiled', 'T4', 512, 512, 512).gflops:,.0f} GFLOP/s" in second


@pytest.mark.parametrize(
    "name, units, known",
    [
        ("NVIDIA RTX A6000", 84, "A6000"),
        ("NVIDIA H100 PCIe", 114, None),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", 24, None),
        ("the simulator", 1, None),
    ],
)
def test_this_machine_s_gpu_is_known_by_its_name_and_its_multiprocessors(monkeypatch, name, units, known):
    device = dataclasses.replace(devices.cuda_device(), name=name, units=units, kind="GPU")
    monkeypatch.setattr(devices, "cuda_device", lambda: device)
    assert getattr(gpu_here(), "name", None) == known


SAID = [  # the page, the step and its sizes, the GPU, and the words
    ("05", "register_1d", dict(BM=16, BN=16, BK=16, TM=8), "A6000", "model predicts {}."),
    ("06", "register_2d", dict(BM=64, BN=64, BK=16, TM=8, TN=8), "A6000", "predicts {}."),
    ("07", "register_2d", dict(BM=112, BN=112, BK=8, TM=14, TN=14), "H100", "predicts {} GFLOP/s in place of the"),
]


@needs_compiler
@pytest.mark.bulk
@pytest.mark.parametrize("page, step, sizes, gpu, words", SAID)
def test_a_number_in_prose_is_the_models(page, step, sizes, gpu, words):
    """Where one is not, no number of the model's that a page has in its prose is: each is to be predicted again."""
    [path] = notebooks.notebook_paths([page])
    prose = " ".join(without_links(c.source) for c in notebooks.read(path).cells if c.cell_type == "markdown")
    p = predict(cuda_kernel(step, **sizes), gpu, 4096, 4096, 4096)
    assert words.format(f"{p.gflops:,.0f}") in " ".join(prose.split()), p
