"""A program as it is: what becomes of what its kernels do wrong, and who switches the PTX machine on."""

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, int32

from cuda_without_gpu import KernelError, KernelWarning, enable, findings, launching, native_child, settings, to_spirv
from cuda_without_gpu.errors import NotNative

PROGRAM = """
import sys
import numpy as np
from numba import cuda

@cuda.jit
def beyond(x):
    x[cuda.grid(1)] = 1

x = np.zeros(4)
beyond[1, 5](x)
print(x.sum(), sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def nothing_found_yet(monkeypatch):
    monkeypatch.setattr(findings, "FOUND", {})
    for name, value in vars(settings.Settings(watch="all")).items():
        monkeypatch.setattr(settings.SETTINGS, name, value)


@cuda.jit
def same_value(x, value):
    i = cuda.grid(1)
    x[i] = 2 * x[i]
    x[0] = value


@cuda.jit
def doubled(x):
    x[cuda.grid(1)] *= 2


@cuda.jit
def never_ends(x):
    while x[0] == 0:
        cuda.atomic.add(x, 1, 1)


def test_what_is_found_is_warned_of_where_the_launch_stands_and_the_program_goes_on(monkeypatch):
    monkeypatch.setattr(settings.SETTINGS, "findings", "warn")
    x = np.ones(64)
    for _ in range(2):
        with pytest.warns(KernelWarning, match=r"^line \d+: race: thread \(1, 0\) .*\n    x\[0\] = value") as told:
            same_value[1, 64](x, 7.0)
        assert [one.filename for one in told] == [__file__] and x[0] == 7
    (found,) = findings.FOUND.values()
    assert str(found).startswith("same_value, ") and str(found).splitlines()[0].endswith("(2 launches)")


def test_what_is_found_may_be_left_but_a_launch_that_does_not_end_is_an_error(monkeypatch):
    monkeypatch.setattr(settings.SETTINGS, "findings", "off")
    monkeypatch.setattr(settings.SETTINGS, "seconds", 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same_value[1, 64](np.ones(64), 7.0)
    assert not findings.FOUND
    with pytest.raises(KernelError, match=r"out of time: it still ran after 0\.2 seconds"):
        never_ends[1, 1](np.zeros(2))


def test_a_long_launch_that_is_warned_of_goes_on_to_its_end(monkeypatch):
    monkeypatch.setattr(settings.SETTINGS, "findings", "warn")
    monkeypatch.setattr(settings.SETTINGS, "watch", "first")
    monkeypatch.setattr(launching, "WATCHED_SECONDS", 0.002)

    @cuda.jit
    def long(x, rounds):
        x[0] = cuda.threadIdx.x
        for _ in range(rounds):
            cuda.atomic.add(x, 1 + cuda.threadIdx.x, 1)

    x = np.zeros(65)
    with pytest.warns(KernelWarning, match="race"):
        long[1, 64](x, 3000)
    assert x[1:].tolist() == [3000] * 64


def test_an_index_beyond_its_axis_is_found_where_it_lies_in_the_array():
    @cuda.jit
    def add(A, table):
        i, j = cuda.grid(2)
        held = cuda.shared.array((4, 4), int32)
        held[i % 4, j % 4] = 1
        A[j, i] += table[-1]

    table = np.ones(3)
    with pytest.raises(KernelError, match=r"index: thread .* asks for element 4 of axis 1, which has 4 .*\n +A\[j, i"):
        add[(2, 1), (4, 3)](np.zeros((4, 4)), table)
    add[1, (4, 4)](np.zeros((4, 4)), table)

    @cuda.jit
    def set_one(A, column):
        A[1, column] = 1

    with pytest.raises(KernelError, match="asks for element -5 of axis 1, which has 4"):
        set_one[1, 1](np.zeros((4, 4)), -5)
    with pytest.raises(KernelError, match=r"out of bounds: thread"):  # which says more than its index
        add[(1, 2), (4, 4)](np.zeros((4, 4)), table)


def test_a_native_launch_may_happen_in_this_process(monkeypatch):
    if not native_there():
        pytest.skip("no OpenCL device here takes SPIR-V")
    monkeypatch.setattr(settings.SETTINGS, "watch", "first")
    monkeypatch.setattr(settings.SETTINGS, "native", "here")
    monkeypatch.setattr(launching, "WATCHED_SECONDS", 0)
    monkeypatch.setattr(launching, "launch_in_child", None)
    x, part = np.ones(64), cuda.to_device(np.ones(80))
    doubled[1, 64](x)
    doubled[1, 64](part[16:])
    assert x.tolist() == [2] * 64 and part.copy_to_host().tolist() == [1] * 16 + [2] * 64


def test_threads_and_a_forked_process_launch_one_after_the_other():
    """A launch brings back a whole copy of each array: two at once would take what the other one stored."""

    @cuda.jit
    def doubled_from(x, start):
        x[start + cuda.grid(1)] *= 2

    x = cuda.to_device(np.ones(64))
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def launch_often(start):
        for _ in range(100):
            doubled_from[1, 32](x, start)

    threads = [threading.Thread(target=launch_often, args=(start,)) for start in (0, 32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(usual)
    assert x.copy_to_host().tolist() == [2.0**100] * 64
    if hasattr(os, "fork"):
        if not (child := os.fork()):
            doubled_from[1, 32](x, 0)
            os._exit(int(x[0] != 2.0**101))
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    "given, said",
    [
        (dict(findings="wran"), "findings='wran': it is 'raise' or 'warn' or 'off'"),
        (dict(watch=1), "watch=1: it is 'first' or 'all'"),
        (dict(seconds=0), "seconds=0: it is a number of seconds above 0"),
    ],
)
def test_a_word_that_is_none_is_refused_before_anything_changes(given, said, monkeypatch):
    monkeypatch.setenv(settings.VARIABLE, "as it was")
    with pytest.raises(ValueError, match=said):
        enable(native="here", **given)
    assert settings.SETTINGS.native == "child"


def test_child_processes_get_the_same_settings(monkeypatch):
    monkeypatch.setenv(settings.VARIABLE, "as it was")
    settings.SETTINGS.set(findings="warn", seconds=300)
    found = subprocess.run(
        [sys.executable, "-c", (Path(settings.__file__).parent / "at_start.pth").read_text() + ASKED],
        capture_output=True,
        text=True,
    )
    assert found.stdout == "True all warn 300.0\n", found.stderr
    assert settings.settings_of("1") == {}
    for text, said in (("findngs=warn", "it is 1, or watch=… .*, and findngs is none"), ("seconds=x", "seconds=120")):
        with pytest.raises(ValueError, match=said):
            settings.settings_of(text)


ASKED = """
from numba import cuda
from cuda_without_gpu.settings import SETTINGS
print(cuda.is_available(), SETTINGS.watch, SETTINGS.findings, SETTINGS.seconds)
"""


@pytest.mark.parametrize("word, status", [("warn", 0), ("raise", 1)])
def test_a_program_runs_unchanged_and_what_was_found_stands_at_its_end(word, status, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "cuda_without_gpu", "--findings", word, "program.py", "--own", "option"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status
    assert done.stdout == ("4.0 ['--own', 'option']\n" if word == "warn" else "")
    said, _, summary = done.stderr.partition("\nFound in CUDA kernels:\n")
    assert said.count("out of bounds: thread (4, 0)") == 1 and "site-packages" not in said
    assert summary.splitlines()[0] == "beyond, program.py:6" and "    x[cuda.grid(1)] = 1" in summary


LONG = """
import numpy as np
from numba import cuda
from cuda_without_gpu import launching
launching.WATCHED_SECONDS = 0

@cuda.jit
def one(x):
    x[cuda.grid(1)] = 1

def test_it():
    one[1, 4](np.zeros(4))
"""


def native_there():
    try:
        to_spirv.refuse_old_llvm()
        return bool(native_child.context_and_queue())
    except NotNative:
        return False


def test_pytest_runs_kernels_and_lists_what_was_found_with_its_tests(tmp_path):
    (tmp_path / "test_kernel.py").write_text(
        PROGRAM.partition("x = np")[0]
        + "import pytest\n@pytest.mark.parametrize('n', [3, 4, 5])\ndef test_it(n):\n    beyond[1, 5](np.zeros(n))\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "cuda_without_gpu.pytest_plugin", "test_kernel.py"]
    done = subprocess.run([*command, "--cuda-without-gpu=raise"], cwd=tmp_path, capture_output=True, text=True)
    _, _, after = done.stdout.partition("found in CUDA kernels")
    assert "2 failed, 1 passed" in after, done.stdout
    assert "in test_kernel.py::test_it[3] and 1 more" in after and "natively" not in after
    assert "site-packages" not in done.stdout
    (tmp_path / "test_long.py").write_text(LONG)
    command[-1:] = ["--cuda-without-gpu=warn", "-W", "error::pytest.PytestWarning", "test_long.py"]
    environment = os.environ | {"CUDA_WITHOUT_GPU": "1"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert ("1 launches ran natively" in done.stdout) == native_there()
