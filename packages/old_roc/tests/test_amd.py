"""A kernel as an AMD GPU's code: what a report says stands in the assembly. Nothing here can run it."""

import math
import re

import pytest
from numba import cuda, float32

from old_roc import amd, compile_for_amd, hsa

MATRICES = (float32[:, ::1],) * 3  # A, B, C


def compiled(kernel, *given):
    """The report of a kernel under @cuda.jit or @roc.jit, by what Numba says of it."""
    kernel = getattr(kernel, "kernel", kernel)
    kernel.compile(MATRICES)
    return compile_for_amd(kernel.inspect_llvm(MATRICES), *given)


def test_kernels_of_the_old_roc_page_compile_and_sum_in_float64():
    naive, blocked = compiled(hsa.naive()), compiled(hsa.blocked())
    for report in (naive, blocked):  # tmp = 0 and a float32 are a float64 in Numba
        assert report.mix["multiplication"] == report.mix["addition"] >= 1 and report.fma_share == 0
        assert "v_add_f64" in report.assembly
    assert (naive.lds_bytes, blocked.lds_bytes, blocked.mix["barrier"]) == (0, 2048, 2)
    lines = [line.split(";")[0].strip() for line in blocked.assembly.splitlines()]
    code = [line for line in lines if line and not line.startswith(".")]
    before = [code[at - 1] for at, line in enumerate(code) if line == "s_barrier"]
    assert "s_waitcnt lgkmcnt(0)" in before, "without the fences a wave may leave before its stores are done"


def test_a_learners_own_kernel_is_compiled_for_its_block():
    @cuda.jit
    def rooted(A, B, C):
        held = cuda.shared.array(0, float32)
        i = cuda.grid(1)
        held[cuda.threadIdx.x] = A[0, i]
        cuda.syncthreads()
        cuda.atomic.add(C, (0, 0), math.sqrt(abs(held[cuda.blockDim.x - 1])) / cuda.gridDim.x)

    report = compiled(rooted, "MI300X", (64, 1), "rooted")
    assert report.kernel == "rooted" and report.threads == 64 and ".max_flat_workgroup_size: 64" in report.assembly
    assert not report.mix and "none that multiplies" in repr(report)
    assert "global_atomic" in report.assembly or "flat_atomic" in report.assembly


def test_a_variable_that_is_indexed_as_it_runs_lies_in_private_memory():
    @cuda.jit
    def indexed(A, B, C):
        mine = cuda.local.array(64, float32)
        for i in range(64):
            mine[i] = A[0, i]
        C[0, 0] = mine[int(B[0, 0])]

    assert compiled(indexed).private_bytes >= 256


@pytest.mark.parametrize("threads, vectors, scalars, lds, waves", [
    (256, 94, 50, 6144, 20),  # 512 registers hold 5 waves with 96 each
    (256, 116, 48, 16640, 12),  # 65536 bytes hold 3 groups of 4 waves
    (64, 32, 102, 0, 28),  # 800 scalar registers hold 7 waves
    (64, 8, 8, 65537, 0),
])  # fmt: skip
def test_waves_that_fit(threads, vectors, scalars, lds, waves):
    assert amd.GPUS["MI300X"].waves_of(threads, vectors, scalars, lds) == waves


@pytest.mark.parametrize("line, kind", [
    ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]", "FMA, two in one instruction"),
    ("v_dual_fmac_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4", "FMA"),
    ("v_dual_mov_b32 v3, v4 :: v_dual_fmac_f32 v0, v1, v2", "FMA"),
    ("v_mad_u64_u32 v[0:1], s[0:1], v2, v3, 0", "other vector arithmetic"),
    ("ds_load_2addr_b32 v[0:1], v2 offset1:16", "LDS load, 2 x 4 bytes"),
    ("global_load_dwordx4 v[0:3], v[4:5], off", "global load, 16 bytes"),
])  # fmt: skip
def test_an_instruction_in_words(line, kind):
    assert amd.kind_of(line) == kind


@pytest.mark.parametrize("text, gpu, said", [
    ("declare void @llvm.nvvm.x(i32)\ndefine void @f() {\n  call void @llvm.nvvm.x(i32 1)\n  ret void\n}", "MI300X",
     "llvm.nvvm.x: only NVIDIA's GPUs have it"),
    ("@a = addrspace(3) global [16385 x float] undef", "MI300X", "65540 bytes of shared memory; .* at most 65536"),
    ("", "MI30X", r"unknown AMD GPU 'MI30X'\. The AMD GPUs are: MI300X, RX 7900 XTX"),
    ("no text of LLVM's", "MI300X", "does not compile this for gfx942"),
    ("@a = addrspace(3) global [16384 x float] undef", "MI300X", "no kernel is in this text"),
])  # fmt: skip
def test_what_cannot_be_had_is_refused_in_words(text, gpu, said):
    with pytest.raises(ValueError, match=said):
        compile_for_amd(text, gpu)


def test_the_inner_loop_is_the_innermost_that_multiplies():
    outer = ".LBB0_1:\n  v_mul_f32 v0, v1, v2\n{}  v_mul_f32 v0, v1, v2\n  s_cbranch_scc1 .LBB0_1\n"
    inner = ".LBB0_2:\n  v_fma_f32 v0, v1, v2, v0\n  s_cbranch_scc0 .LBB0_2\n"
    assert amd.inner_loop(outer.format(inner)) == {"FMA": 1, "scalar arithmetic and jumps": 1}
    assert amd.inner_loop(outer.format("")) == {"multiplication": 2, "scalar arithmetic and jumps": 1}


def test_the_grids_blocks_are_read_from_the_launchs_packet():
    asked = re.findall(r"packet, i64 (\d+)\n.*\n.* udiv i32 %items, (\d+)", amd.added((16, 8)))
    assert asked == [("12", "16"), ("16", "8"), ("20", "1")]


def test_the_code_does_not_depend_on_how_many_kernels_were_compiled_before():
    """LLVM lays arrays out by their names: 9 would lie behind 10."""
    numba = "@_cudapy_smem_{0} @_cudapy_smem_{1} @_cudapy_smem_{0}"
    texts = [amd.in_amds_words(numba.format(*numbers), (4, 4)) for numbers in ((1, 2), (9, 10))]
    assert texts == ["@_shared_000 @_shared_001 @_shared_000"] * 2
