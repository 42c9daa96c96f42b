"""The compiler's report: what it says of a kernel, and what it says when a kernel or the compiler will not do."""

import re

import pytest
from needed import needs_compiler

from helpers import compiler_report, cuda_kernel, devices, ladder, needs, opencl_kernel
from helpers.instruments import predict, prediction, run_ptx
from helpers.launch import KernelError
from kernel_judge.child import Outcome


@needs_compiler
def test_no_number_spills_and_the_inner_loop_loads_what_the_formula_says():
    report, rung = compiler_report("vectorized", "A100"), ladder.STEPS["vectorized"]
    p = rung.defaults["GPU"]
    assert report.arch == "sm_80" and not report.loop.stages and report.loop.fma_share > 0.88
    assert 64 < report.registers <= 128 and (report.stack_bytes, report.spill_bytes) == (0, (0, 0))
    assert report.shared_bytes == 4 * rung.value("staged", p) and report.loop.chains == p["TM"] * p["TN"]
    rows, columns, depth = rung.tile(p)
    per_product = rung.shared_accesses(p, rows, columns, depth)[0] / (rows * columns * depth)
    loads = {kind: count for kind, count in report.loop.mix.items() if " load, " in kind}
    assert list(loads) == ["shared load, 16 bytes"]
    assert 4 * loads["shared load, 16 bytes"] / report.loop.mix["FMA"] == per_product


@needs_compiler
def test_an_index_known_only_at_run_time_moves_the_patch_to_the_stack_and_staging_is_told():
    old = "for j in range(TN):\n                        acc"
    source = cuda_kernel("register_2d").source
    assert old in source
    guarded = source.replace(old, old.replace("TN", "min(TN, N - col0)"))
    size = ladder.STEPS["register_2d"].defaults["GPU"]
    report = compiler_report(cuda_kernel(guarded, like="register_2d", **size))
    assert report.stack_bytes >= 4 * size["TM"] * size["TN"]
    assert any(kind.startswith("stack load") for kind in report.loop.mix)
    staged = compiler_report("tiled", "sm_90")
    assert staged.loop.stages and "staging of the tiles included" in repr(staged) and staged.loop.chains == 1


@needs_compiler
def test_a_kernel_that_does_not_compile_is_told_so():
    source = cuda_kernel("naive").source
    with pytest.raises(KernelError, match="does not compile"):
        compiler_report(cuda_kernel(source.replace("float32(0)", "nothing"), like="naive"))
    wide = cuda_kernel("tiled").source.replace("array((TILE, TILE)", "array((128, 128)")
    with pytest.raises(KernelError, match="too much shared data"):
        compiler_report(cuda_kernel(wide, like="tiled", TILE=16))


def test_equal_kernels_are_compiled_once_and_others_anew(monkeypatch):
    asked = []
    monkeypatch.setattr(devices, "has_compiler", lambda: True)
    monkeypatch.setattr(prediction, "in_child", lambda *job, **how: asked.append(job) or Outcome(f"text {len(asked)}"))
    monkeypatch.setattr(prediction, "made", {})
    k = cuda_kernel("naive", BM=4, BN=4)
    other = cuda_kernel(k.source.replace("acc += ", "acc += 2 * "), like="naive", BM=4, BN=4)
    all_of_them = [k, cuda_kernel("naive", BM=4, BN=4), other, *(cuda_kernel("tiled", TILE=tile) for tile in (4, 8))]
    all_of_them += [cuda_kernel("matrix_units")]  # whose units the oldest of these has
    texts = [prediction.ptx_of(one, "sm_80") for one in all_of_them] + [prediction.ptx_of(k, "sm_90")]
    assert texts == ["text 1", "text 1", "text 2", "text 3", "text 4", "text 5", "text 6"]


def test_what_cannot_be_reported_is_refused():
    with pytest.raises(ValueError, match=r"sm_75 \(T4\), sm_80 \(A100\)"):
        compiler_report("naive", "sm_12")
    with pytest.raises(ValueError, match="unknown step 'tile'"):
        compiler_report("tile")
    for call in (compiler_report, lambda k: run_ptx(k, 4, 4, 4)):
        with pytest.raises(ValueError, match="compiled inside its OpenCL driver"):
            call(opencl_kernel("naive"))
    with pytest.raises(ValueError, match="no architecture"):
        run_ptx("tiled", 4, 4, 4, "A100")
    with pytest.raises(KernelError, match="needs the matrix units of sm_80 or later, not sm_75"):
        compiler_report("matrix_units", "T4")


def test_a_missing_compiler_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setattr(devices, "has_compiler", lambda: False)
    own = cuda_kernel(cuda_kernel("tiled").source, like="tiled", TILE=16)
    for call in (compiler_report, lambda k: run_ptx(k, 8, 8, 8), lambda k: predict(k, "A6000", 512, 512, 512)):
        with pytest.raises(needs.Missing, match=re.escape(needs.remedy("cuda13"))):
            call(own)
    assert predict("tiled", "A6000", 512, 512, 512).gflops > 0  # the course has counted it
