"""The step `matrix_units`: right at any shape, compiled, on the PTX machine; what it takes; where it is refused."""

import pickle
from dataclasses import replace
from types import SimpleNamespace

import pytest
from few import SMALL
from needed import needs_compiler

from helpers import check, compiler_report, cuda_kernel, devices, ladder, measure
from helpers.child import packed
from helpers.instruments.prediction import ptx_of, run_text
from helpers.launch import KernelError, draw
from helpers.launch.on_cuda import device_for
from helpers.many import streamed
from kernel_judge import wrong_elements

STEP = ladder.STEPS["matrix_units"]
SHAPES = [(1, 1, 1), (65, 31, 33), (127, 67, 63), (1, 70, 97), (128, 64, 64)]  # up to two tiles and a part of one


@needs_compiler
@pytest.mark.parametrize(
    "kind, arch, depth", [("tf32", "sm_80", 8), ("float16", "sm_90", 16), ("bfloat16", "sm_120", 16)]
)
def test_it_is_right_at_ragged_shapes_and_its_products_are_the_hardwares_and_few(kind, arch, depth):
    k = cuda_kernel("matrix_units", **SMALL["matrix_units"] | dict(INPUT=kind))
    text = ptx_of(k, arch)
    for M, N, K in SHAPES:
        A, B = draw(M, N, K)
        run = run_text(text, k.block, k.grid(M, N), A, B)
        assert run, (M, N, K, run)  # no finding: no race, nothing out of bounds, each element stored once
        assert not wrong_elements(run.C, A, B, kind).any(), (M, N, K)
    assert (run.executed["FMA"], run.executed["matrix"]) == (0, 32 * M * N * K // (16 * 8 * depth))  # in whole tiles
    assert (run.shared_loads, run.shared_stores) == STEP.shared_accesses(k.parameters, M, N, K)
    assert (run.global_loads, run.global_stores) == (STEP.global_loads(k.parameters, M, N, K), M * N)
    for one in run.requests:
        if (one.memory, one.act) == ("shared", "load"):
            assert one.pieces == one.instructions, f"bank conflicts in {one.text}"


@needs_compiler
def test_sizes_that_do_not_go_together_are_refused():
    for p, words in (
        (dict(WM=8), "needs WM % 16 == 0"),
        (dict(WN=4), "needs WN % 8 == 0"),
        (dict(BK=8), "needs BK % 16 == 0"),
        (dict(WM=64, BM=32), "needs BM % WM == 0"),
        (dict(BM=16, BN=96, BK=16, WM=16, WN=8, INPUT="bfloat16"), r"needs BM % .* // BK\) == 0"),
        (dict(BM=64, BN=256, WM=64, WN=64), r"needs .* % BN == 0"),
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
    k, (A, B) = streamed(k, 2 * 10**6), draw(70, 40, 33)
    assert k.inputs == "tf32" and not wrong_elements(k(A, B), A, B, "tf32").any()


def test_a_learners_kernel_may_be_held_to_float32s_bound():
    """Here, and in a child, that gets it as text."""
    verdicts = []
    for inputs in ("tf32", "float32"):
        k = cuda_kernel(cuda_kernel("matrix_units").source, like="matrix_units", BM=32, BN=32, BK=16, WM=32, WN=16)
        k.inputs = inputs
        verdicts.append((bool(check(k, [(20, 40, 50)])), pickle.loads(packed(k)).inputs))
    assert verdicts == [(True, "tf32"), (False, "float32")]


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
    with pytest.raises(KernelError, match=r"matrix_units .* sm_80 or later, not sm_75"):
        compiler_report("matrix_units", "T4")
