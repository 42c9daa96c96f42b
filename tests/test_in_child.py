"""A learner's kernel is tried in a child process, which is built there; a script needs no guard for it."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from helpers import devices, opencl_kernel
from helpers.child import child_environment, in_child, packed
from helpers.cuda import intrinsics
from helpers.launch import KernelError, on_opencl


def own_path():
    """An environment in which another process finds this package."""
    return dict(os.environ, PYTHONPATH=devices.python_path())


SCRIPT = """
import os
import pyopencl as cl
print("the script begins", flush=True)
from helpers import check, cuda_kernel, opencl_kernel
from kernel_judge import child
from numba import cuda

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
for child.FORKS in (True, False):  # as on Linux, and elsewhere
    print(check(ends).findings[0].kind)
"""


def test_a_script_without_a_guard_runs_once_beside_files_called_like_modules(tmp_path):
    """As in https://github.com/nipype/pydra/issues/876, and many questions about `if __name__ == "__main__"`."""
    beside = tmp_path / "my files, 我的"
    beside.mkdir()
    for module in ("numpy", "random", "selectors", "socket"):
        (beside / f"{module}.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-P", str(tmp_path / "script.py")]
    done = subprocess.run(command, env=own_path(), cwd=beside, capture_output=True, text=True, timeout=300)
    assert done.stdout == "the script begins\n()\n()\ncrash\ncrash\n", done.stderr


def proofs_taken():
    """How often a device is proved while a kernel is built."""
    taken = []
    devices.prove_opencl = taken.append
    opencl_kernel("naive").compile()
    return len(taken)


def test_a_child_does_not_prove_again_the_device_that_its_parent_has_proved():
    assert in_child(opencl_kernel("naive"), proofs_taken).value == 0


def test_the_users_settings_of_oclgrind_reach_no_child(monkeypatch):
    monkeypatch.setenv("OCLGRIND_UNINITIALIZED", "1")
    assert "OCLGRIND_UNINITIALIZED" not in child_environment()


def test_a_learners_kernel_is_not_built_where_it_was_not_checked(monkeypatch):
    monkeypatch.setattr(on_opencl.cl, "Program", lambda *how: pytest.fail("built in this process"))
    k, one = opencl_kernel(on_opencl.OPENCL.source_of("naive"), like="naive"), np.ones((1, 1), np.float32)
    with pytest.raises(KernelError, match="has not passed a check"):
        k(one, one)


@pytest.mark.parametrize("offered", [intrinsics.load4, intrinsics.word_tf32])
def test_what_helpers_offer_to_kernels_travels_by_its_name(offered):
    """What it generates is another thing where there is a GPU."""
    job = packed(offered)
    assert pickle.loads(job) is offered and len(job) < 100
