"""A learner's kernel is tried in a child process, which is built there; a script needs no guard for it."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from helpers import cuda_kernel, devices, opencl_kernel
from helpers.child import in_child
from helpers.launch import KernelError, on_opencl


def own_path():
    """An environment in which another process finds this package."""
    return dict(os.environ, PYTHONPATH=devices.python_path())


SCRIPT = """
import os, sys
import numpy as np
import pyopencl as cl
print("the script begins", flush=True)
from helpers import check, cuda_kernel, opencl_kernel
from kernel_judge import child
from numba import cuda
if sys.argv[1] == "new":
    child.FORKS = False

@cuda.jit
def mine(A, B, C):
    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = 0
        for k in range(A.shape[1]):
            C[row, col] += A[row, k] * B[k, col]

for k in (cuda_kernel(mine, like="naive", BM=4, BN=4), opencl_kernel(opencl_kernel("naive").source, like="naive")):
    print(check(k, [(3, 4, 5)]).findings)

def ends(A, B):
    cl.get_platforms()
    os.abort()
print(check(ends).findings[0].kind)
"""


@pytest.mark.parametrize(
    "way, program",
    [("forked", []), ("forked", ["-m", "IPython"]), pytest.param("new", [], marks=pytest.mark.bulk)],
    ids=["forked", "IPython", "new"],
)
def test_a_script_without_a_guard_runs_once_beside_files_called_like_modules(way, program, tmp_path):
    """As in https://github.com/nipype/pydra/issues/876, and many questions about `if __name__ == "__main__"`."""
    beside = tmp_path / "my files, 我的"
    beside.mkdir()
    for module in ("numpy", "random", "selectors", "socket"):
        (beside / f"{module}.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-P", *program, str(tmp_path / "script.py"), way]
    done = subprocess.run(command, env=own_path(), cwd=beside, capture_output=True, text=True, timeout=300)
    assert done.stdout == "the script begins\n()\n()\ncrash\n", done.stderr


def proofs_taken():
    """How often a device is proved while a kernel is built."""
    taken = []
    devices.prove_opencl = taken.append
    opencl_kernel("naive").compile()
    return len(taken)


def test_a_child_does_not_prove_again_the_device_that_its_parent_has_proved():
    assert in_child(opencl_kernel("naive"), proofs_taken).value == 0


def test_a_learners_kernel_is_not_built_where_it_was_not_checked(monkeypatch):
    monkeypatch.setattr(on_opencl.cl, "Program", lambda *how: pytest.fail("built in this process"))
    k, one = opencl_kernel(on_opencl.OPENCL.source_of("naive"), like="naive"), np.ones((1, 1), np.float32)
    with pytest.raises(KernelError, match="has not passed a check"):
        k(one, one)


WIDE = """
import pathlib, sys
from helpers.child import packed
from helpers.cuda.intrinsics import load4, store4
from numba import cuda

@cuda.jit(device=True)
def four(X, row, col):
    return load4(X, row, col)

def copied(A, B, C):
    row, col = cuda.grid(2)
    if row < A.shape[0] and 4 * col < A.shape[1]:
        store4(C, row, 4 * col, four(A, row, 4 * col))

pathlib.Path(sys.argv[1]).write_bytes(packed(cuda.jit(copied)))
"""


@pytest.mark.skipif(not devices.compiling(), reason="this process has a GPU, and plays the child's part")
def test_a_kernel_with_wide_loads_travels_from_a_process_with_a_gpu(tmp_path):
    command = [sys.executable, "-c", WIDE, str(tmp_path / "job")]
    subprocess.run(command, env=own_path() | {devices.CUDA_OF_CHILD: "compiler"}, check=True, timeout=300)
    function = pickle.loads((tmp_path / "job").read_bytes())
    A = np.arange(16, dtype=np.float32).reshape(4, 4)
    work = cuda_kernel(function, like="naive", BM=2, BN=2).upload(A, A)
    work.launch()
    assert (work.download() == A).all()
