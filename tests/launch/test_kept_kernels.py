"""What Numba has compiled of a text is there for the next process, and only for the same text."""

import sys

import numpy as np
import pytest

from cuda_without_gpu.to_ptx import compiled_for, shared_arrays, text_of
from helpers.launch.kept_kernels import keep_compiled

TEXT = """
from numba import cuda, float32
from beside import TIMES

def build(SIDE):
    @cuda.jit
    def turned(x):
        tile, i = cuda.shared.array(SIDE, float32), cuda.threadIdx.x
        tile[i] = x[i]
        cuda.syncthreads()
        x[i] = TIMES * tile[SIDE - 1 - i]
    return turned
"""


@pytest.fixture
def made(monkeypatch, tmp_path):
    """A function of (text, side, a module's text): the kernel as a new process makes it, and whether it was kept."""
    monkeypatch.setenv("CUDA_WITHOUT_GPU_CACHE", str(tmp_path / "kept"))
    monkeypatch.syspath_prepend(tmp_path)

    def make(text=TEXT, side=4, times=3):
        (tmp_path / "beside.py").write_text(f"TIMES = {times}\n{'#' * times}\n")
        sys.modules.pop("beside", None)
        namespace = {}
        exec(text, namespace)
        function = namespace["build"](side)
        keep_compiled(function, text, ["beside"], side)
        return compiled_for(function, np.zeros(4, np.float32)), sum(function._cache_hits.values())

    yield make
    sys.modules.pop("beside", None)


def test_a_kernel_that_was_kept_is_the_one_that_was_compiled(made):
    (compiled, first), (kept, again) = made(), made()
    assert (first, again) == (0, 1) and kept is not compiled and text_of(kept) == text_of(compiled)
    assert [name for name, *_ in shared_arrays(kept).values()] == ["tile"] and kept.py_func.__name__ == "turned"
    assert shared_arrays(kept) == shared_arrays(compiled)


@pytest.mark.parametrize("other", [dict(side=8), dict(times=5), dict(text=TEXT.replace("TIMES *", "TIMES +"))])
def test_another_text_number_or_module_is_compiled_anew(made, other):
    assert [made()[1], made(**other)[1], made()[1]] == [0, 0, 1]


def test_a_text_that_imports_what_is_not_looked_at_is_not_kept(made):
    text = TEXT.replace("from numba", "import os\nfrom numba", 1)
    assert [made(text)[1], made(text)[1]] == [0, 0]
