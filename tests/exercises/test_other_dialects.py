"""The rungs on numba-cuda-mlir, beyond what page 14 shows."""

import importlib
import inspect
import re
from contextlib import nullcontext

import pytest
from few import SMALL

from helpers import cuda_kernel, devices, ladder, needs
from helpers.launch import draw
from kernel_judge import wrong_elements

without_gpu = pytest.mark.skipif(not devices.compiling(), reason="CUDA runs on a GPU")


@without_gpu
@pytest.mark.parametrize("step", ladder.steps("CUDA"))
def test_a_rung_of_plain_words_runs_on_the_successor_with_another_import(step, tmp_path, monkeypatch):
    successor = pytest.importorskip("numba_cuda_mlir.cuda", reason=needs.lack("successor"))
    k = cuda_kernel(step, **SMALL[step])
    words = "from numba_cuda_mlir import cuda\nfrom numba_cuda_mlir.cuda import float32, int32, uint32"
    (tmp_path / f"new_{step}.py").write_text(re.sub("from numba import .*", words, k.source))
    monkeypatch.syspath_prepend(tmp_path)
    build = getattr(importlib.import_module(f"new_{step}"), step)
    sizes = {name: k.parameters[name] for name in inspect.signature(build).parameters}
    A, B = draw(33, 9, 20)
    d_A, d_B, d_C = successor.to_device(A), successor.to_device(B), successor.device_array((33, 9), A.dtype)
    refused = pytest.raises(Exception, match="Untyped global name 'store4'")  # it is made of LLVM's instructions
    with refused if step in ("vectorized", "prefetched") else nullcontext():
        build(**sizes)[k.grid(33, 9), k.block](d_A, d_B, d_C)
        assert not wrong_elements(d_C.copy_to_host(), A, B).any()
