"""The step `matrix_units`: right at any shape, compiled, on the PTX machine; what it takes; where it is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from few import SMALL
from needed import needs_compiler

from gpu_model.machine_code import assembled
from helpers import check, compiler_report, cuda_kernel, devices, ladder, measure
from helpers.instruments import run_ptx
from helpers.instruments.prediction import ptx_of, run_text
from helpers.launch import KernelError, draw
from helpers.launch.on_cuda import device_for
from helpers.many import streamed
from kernel_judge import wrong_elements

STEP = ladder.STEPS["matrix_units"]
TYPES = STEP.inputs
ARCHS = ("sm_80", "sm_90", "sm_120")
FIRST = [(1, 1, 1), (128, 128, 32), (129, 127, 31), (127, 129, 33), (1, 300, 17), (300, 1, 65)]


@needs_compiler
@pytest.mark.parametrize("kind, arch", zip(TYPES, ARCHS, strict=True))
def test_it_is_right_at_ragged_shapes(kind, arch):
    k = cuda_kernel("matrix_units", **SMALL["matrix_units"] | dict(INPUT=kind))
    text = ptx_of(k, arch)
    most = [2 * side + 3 for side in STEP.tile(SMALL["matrix_units"])]  # up to two tiles and a part along each side
    for M, N, K in [*FIRST, *np.random.default_rng().integers(1, most, (6, 3)).tolist()]:
        A, B = draw(M, N, K)
        run = run_text(text, k.block, k.grid(M, N), A, B)
        assert run, (M, N, K, run)  # no finding: no race, nothing out of bounds, each element stored once
        assert not wrong_elements(run.C, A, B, kind).any(), (M, N, K)


@needs_compiler
@pytest.mark.parametrize("kind, arch", zip(TYPES, ARCHS, strict=True))
def test_nothing_is_spilled_and_two_blocks_fit(kind, arch):
    k = cuda_kernel("matrix_units", **STEP.defaults["GPU"] | dict(INPUT=kind))
    text = ptx_of(k, arch)
    said, listing = assembled(str(k), text, arch)
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
    registers = int(said.split("Used ")[1].split()[0])
    assert registers <= 128  # so that a multiprocessor of 65,536 keeps two blocks of 256 threads
    assert f"{4 * STEP.value('staged', k.parameters)} bytes smem" in said and "HMMA" in listing


@needs_compiler
@pytest.mark.parametrize("kind, depth", [("tf32", 8), ("float16", 16), ("bfloat16", 16)])
def test_its_products_are_the_hardwares_and_few(kind, depth):
    k = cuda_kernel("matrix_units", **STEP.defaults["GPU"] | dict(INPUT=kind))
    M, N, K = 256, 128, 64
    run = run_ptx(k, M, N, K)
    assert run and run.executed["FMA"] == 0
    assert run.executed["matrix"] == 32 * M * N * K // (16 * 8 * depth)
    loads, stores = STEP.shared_accesses(k.parameters, M, N, K)
    assert (run.shared_loads, run.shared_stores) == (loads, stores)
    assert (run.global_loads, run.global_stores) == (STEP.global_loads(k.parameters, M, N, K), M * N)
    for one in run.requests:
        if (one.memory, one.act) == ("shared", "load"):
            assert one.pieces == one.instructions, f"bank conflicts in {one.text}"


@needs_compiler
def test_other_sizes_are_right_and_illegal_ones_refused():
    for p in (dict(BM=16, BN=8, WM=16, WN=8), dict(BM=64, BN=32, BK=48, WM=32, WN=16)):
        k = cuda_kernel("matrix_units", INPUT="bfloat16", **p)
        A, B = draw(67, 9, 53)
        assert not wrong_elements(k(A, B), A, B, "bfloat16").any(), p
    for p, words in (
        (dict(WM=8), "needs WM % 16 == 0"),
        (dict(WN=4), "needs WN % 8 == 0"),
        (dict(BK=8), "needs BK % 16 == 0"),
        (dict(WM=64, BM=32), "needs BM % WM == 0"),
        (dict(BM=16, BN=96, BK=16, WM=16, WN=8, INPUT="bfloat16"), "needs BM . BK // "),
    ):
        with pytest.raises(ValueError, match=words):
            cuda_kernel("matrix_units", **p)


@needs_compiler
@pytest.mark.skipif(not devices.compiling(), reason="a GPU runs it here")
def test_without_a_gpu_it_runs_compiled_and_says_so():
    k = cuda_kernel("matrix_units")
    assert k.device is devices.PTX_MACHINE and k.untimed and k.inputs == "tf32"
    assert str(k) == "matrix_units (CUDA, tf32)"
    with pytest.raises(ValueError, match=r"^not timed, on the PTX machine: matrix_units \(CUDA, tf32\)\."):
        measure(k, 64)
    assert streamed(k, 10**7).inputs == "tf32"
    assert check(streamed(k, 2 * 10**6), [(70, 40, 33)])
    A, B = draw(33, 20, 40)
    work = k.upload(A, B)
    work.launch()
    assert not wrong_elements(work.download(), A, B, "tf32").any()


@needs_compiler
@pytest.mark.skipif(not devices.compiling(), reason="a GPU runs it here")
def test_what_no_gpu_would_do_is_no_product(no_spirv):
    source = cuda_kernel("naive").source
    planted = source.replace("C[row, col] =", "C[row + 8000000, col] =")
    assert planted != source
    k = cuda_kernel(planted, like="naive")
    k.checked = True
    with pytest.raises(KernelError, match=r"out of bounds: .*outside every array"):
        k(*draw(32, 32, 16))


def test_a_gpu_without_such_units_is_refused_by_name(monkeypatch):
    t4 = replace(devices.PTX_MACHINE, name="Tesla T4", kind="GPU", handle=SimpleNamespace(compute_capability=(7, 5)))
    monkeypatch.setattr(devices, "cuda_device", lambda: t4)
    with pytest.raises(ValueError, match=r"matrix_units needs .* capability \(8, 0\) or more; Tesla T4 has less"):
        device_for(STEP, None)
    a100 = replace(t4, name="A100", handle=SimpleNamespace(compute_capability=(8, 0)))
    monkeypatch.setattr(devices, "cuda_device", lambda: a100)
    assert device_for(STEP, None) is a100
    monkeypatch.setattr(devices, "cuda_device", lambda: t4)
    assert device_for(ladder.STEPS["tiled"], None) is t4


@needs_compiler
def test_an_architecture_without_such_units_is_refused_by_name():
    for ask in (
        lambda: run_ptx("matrix_units", 16, 16, 16, arch="sm_75"),
        lambda: compiler_report("matrix_units", "T4"),
    ):
        with pytest.raises(KernelError, match=r"matrix_units .* sm_80 or later, not sm_75"):
            ask()
