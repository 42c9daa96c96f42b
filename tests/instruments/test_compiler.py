"""The compiler's report: what it says of the ladder, and what it says when a kernel or the compiler will not do."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from needed import needs_compiler
from numba import cuda, float32

from gpu_model.gpus import ARCHS
from helpers import compiler_report, cuda_kernel, devices, ladder, needs, opencl_kernel
from helpers.instruments import predict, prediction, run_ptx
from helpers.launch import KernelError
from kernel_judge.child import Outcome


def loaded(report):
    """float32 that the inner loop loads from shared or global memory."""
    return sum(n * int(kind.split()[-2]) // 4 for kind, n in report.loop.mix.items() if " load, " in kind)


@needs_compiler
@pytest.mark.parametrize(
    "step, arch", [*((step, "sm_90") for step in ladder.steps("CUDA")), *(("tiled", arch) for arch in ARCHS)]
)
def test_no_step_spills_and_the_inner_loop_loads_what_the_formula_says(step, arch):
    report, rung = compiler_report(step, arch), ladder.STEPS[step]
    p = rung.defaults["GPU"]
    assert 16 <= report.registers <= 128 and (report.stack_bytes, report.spill_bytes) == (0, (0, 0))
    assert report.shared_bytes == 4 * rung.value("staged", p)
    rows, columns, depth = rung.tile(p)
    products = rows * columns * depth
    # The first two rungs read both factors from global memory.
    per_product = rung.shared_accesses(p, rows, columns, depth)[0] / products or 2
    # In tiled and register_1d the loop is the whole round: what a thread stores there, it has loaded.
    per_product += report.loop.mix.get("shared store, 4 bytes", 0) / report.loop.mix["FMA"]
    assert loaded(report) / report.loop.mix["FMA"] == per_product
    assert not any("stack" in kind for kind in report.loop.mix)
    if step in ("vectorized", "prefetched"):
        assert report.loop.fma_share > 0.88 and "shared load, 16 bytes" in report.loop.mix


@needs_compiler
def test_an_index_known_only_at_run_time_moves_the_patch_to_the_stack():
    source = cuda_kernel("register_2d").source
    guarded = source.replace(
        "for j in range(TN):\n                        acc",
        "for j in range(min(TN, N - col0)):\n                        acc",
    )
    assert guarded != source
    size = ladder.STEPS["register_2d"].defaults["GPU"]
    right, wrong = (compiler_report(cuda_kernel(s, like="register_2d", **size)) for s in (source, guarded))
    assert right.stack_bytes == 0 and wrong.stack_bytes >= 4 * size["TM"] * size["TN"]
    assert any(kind.startswith("stack load") for kind in wrong.loop.mix)


@needs_compiler
def test_a_gpus_name_stands_for_its_architecture_and_staging_is_told():
    report = compiler_report("tiled", "A100")
    assert report.arch == "sm_80" and report.loop.stages and "staging of the tiles included" in repr(report)
    assert not compiler_report("register_2d", "sm_80").loop.stages


@needs_compiler
def test_a_patch_too_large_spills():
    report = compiler_report(cuda_kernel("register_2d", BM=128, BN=128, BK=8, TM=16, TN=16))
    assert report.registers == 255 and min(report.spill_bytes) > 0 and "spills: " in repr(report)


@cuda.jit(device=True)
def product(a, b):
    return a * b


@cuda.jit
def calling(A, B, C):
    row, col = cuda.grid(2)
    acc = float32(0)
    for k in range(A.shape[1]):
        acc += product(A[row, k], B[k, col])
    C[row, col] = acc


@needs_compiler
def test_functions_that_a_kernel_calls_are_compiled_along():
    report = compiler_report(cuda_kernel(calling, like="naive"), "T4")
    assert report.registers > 8 and report.loop.mix["FMA"] >= 1


@needs_compiler
def test_a_kernel_that_does_not_compile_is_told_so():
    source = cuda_kernel("naive").source
    with pytest.raises(KernelError, match="does not compile"):
        compiler_report(cuda_kernel(source.replace("float32(0)", "nothing"), like="naive"))
    wide = cuda_kernel("tiled").source.replace("array((TILE, TILE)", "array((128, 128)")
    with pytest.raises(KernelError, match="too much shared data"):
        compiler_report(cuda_kernel(wide, like="tiled", TILE=16))


@needs_compiler
def test_equal_kernels_are_compiled_once_and_others_anew(monkeypatch):
    k = cuda_kernel("naive", BM=4, BN=4)
    text, asked = prediction.ptx_of(k, "sm_80"), []
    monkeypatch.setattr(prediction, "in_child", lambda *job, **how: asked.append(job) or Outcome("another"))
    monkeypatch.setattr(prediction, "made", dict(prediction.made))
    assert prediction.ptx_of(cuda_kernel("naive", BM=4, BN=4), "sm_80") == text and not asked
    other = cuda_kernel(k.source.replace("acc += ", "acc += 2 * "), like="naive", BM=4, BN=4)
    tiled = [cuda_kernel("tiled", TILE=tile) for tile in (4, 8)]
    assert {prediction.ptx_of(one, "sm_80") for one in (*tiled, other)} == {"another"}
    assert prediction.ptx_of(k, "sm_90") == "another"
    assert len(asked) == 4


def test_what_cannot_be_reported_is_refused():
    with pytest.raises(ValueError, match=r"sm_75 \(T4\), sm_80 \(A100\)"):
        compiler_report("naive", "sm_12")
    with pytest.raises(ValueError, match="unknown step 'tile'"):
        compiler_report("tile")
    with pytest.raises(ValueError, match="compiled inside its OpenCL driver"):
        compiler_report(opencl_kernel("naive"))


def test_a_missing_compiler_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setattr(devices, "has_compiler", lambda: False)
    own = cuda_kernel(cuda_kernel("tiled").source, like="tiled", TILE=16)
    for call in (compiler_report, lambda k: run_ptx(k, 8, 8, 8), lambda k: predict(k, "A6000", 512, 512, 512)):
        with pytest.raises(needs.Missing, match=re.escape(needs.remedy("cuda13"))):
            call(own)
    assert predict("tiled", "A6000", 512, 512, 512).gflops > 0  # the course has counted it


@pytest.mark.parametrize("here", [True, False])
def test_where_the_compiler_is_missing_pages_are_skipped_or_say_what_adds_it(here, monkeypatch, pytestconfig):
    """A page that asks for reports is skipped whole; elsewhere a cell of counts is run, and not compared."""
    conftest = pytestconfig.pluginmanager.get_plugin(str(pytestconfig.rootpath / "conftest.py"))
    monkeypatch.setattr(devices, "has_compiler", lambda: here)

    def page(name, *sources):
        cells = [SimpleNamespace(source=source) for source in sources]
        marks = []
        known = dict(path=Path(name), name="Cell 1", marks=marks, add_marker=marks.append)
        return [SimpleNamespace(cell=cell, options={}, **known) for cell in cells]

    reports = page("07_compiler_report.ipynb", "1 + 1", "compiler_report(k)", "run_ptx(k)")
    counts = page("05_work_per_thread.ipynb", "2 + 2", "predict_beside(k)")
    conftest.mark_what_needs_the_compiler([*reports, *counts, SimpleNamespace(name="a test")])
    skipped = [mark.mark.kwargs["reason"] for mark in reports[0].marks]
    assert skipped == ([] if here else [needs.lack("compiler")] * 3) and counts[0].marks == []
    assert [item.options for item in counts] == [{}, {} if here else {"check": False}]
