"""What travels to a child: also a kernel from a process with a GPU, which the PTX machine then runs."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from helpers import devices, opencl_kernel
from helpers.launch import opencl
from helpers.sandbox import in_child

PACKS = """
import sys
from pathlib import Path

from helpers.judge.trials import examine_there
from helpers.cuda.intrinsics import load4, store4
from helpers.sandbox.job import Job, packed
from numba import cuda

assert not __import__("helpers").devices.compiling()

@cuda.jit(device=True)
def four(X, row, col):
    return load4(X, row, col)

def copied(A, B, C):
    row, col = cuda.grid(2)
    if row < A.shape[0] and 4 * col < A.shape[1]:
        store4(C, row, 4 * col, four(A, row, 4 * col))

job = Job(examine_there, "CUDA", copied, "naive", {"BM": 2, "BN": 2}, None, {"stages": [[(4, 4, 4)]]})
Path(sys.argv[1]).write_bytes(packed(job))
"""


@pytest.mark.skipif(
    not devices.compiling(), reason="this process has a GPU, and the child's part is played by this one"
)
def test_a_kernel_with_wide_loads_travels_from_a_process_with_a_gpu(tmp_path):
    environment = os.environ | {devices.CUDA_OF_CHILD: "compiler", "PYTHONPATH": devices.python_path()}
    command = [sys.executable, "-c", PACKS, str(tmp_path / "job")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    job = pickle.loads((tmp_path / "job").read_bytes())
    A = np.arange(16, dtype=np.float32).reshape(4, 4)
    work = job.build().upload(A, A)
    work.launch()
    np.testing.assert_array_equal(work.download(), A)


def proofs_taken(job, under):
    """A task: how often a device is proved while the kernel is built, under those variables."""
    taken = []
    devices.prove_opencl = taken.append
    os.environ.update(under)
    job.build()
    return len(taken)


@pytest.mark.parametrize("under, proofs", [({}, 0), ({devices.PROVED_ABOVE: "another device"}, 1)], ids=str)
def test_a_child_does_not_prove_again_the_device_that_its_parent_has_proved(under, proofs):
    outcome = in_child(opencl_kernel("naive"), proofs_taken, 60, None, under=under)
    assert (outcome.value, outcome.findings) == (proofs, [])


def sources_compiled(job):
    """A task: how many programs are made from source while the kernel is built."""
    real, made = opencl.cl.Program, []
    opencl.cl.Program = lambda *what: made.append(len(what)) or real(*what)
    k = job.build()
    return made.count(2), k.parameters


def test_a_child_does_not_compile_again_what_its_parent_has_built():
    k = opencl_kernel("naive")
    if not k.binary():
        pytest.skip("this driver keeps what it has built itself")
    assert in_child(k, sources_compiled, 60, None).value == (0, k.parameters)
    k.parameters = {"BM": 2, "BN": 2}  # as `at_sizes` has it
    assert in_child(k, sources_compiled, 60, None).value == (1, k.parameters)
