"""What goes wrong in a child costs the child: it is named, and nothing of it is left."""

import ctypes
import gc
import linecache
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import forkserver

import numpy as np
import psutil
import pytest
from numba import cuda

from helpers import devices, opencl_kernel
from helpers.launch import KernelError, on_opencl
from helpers.sandbox import child, in_child, inside, limit_computing, process
from helpers.sandbox.job import packed

linux = pytest.mark.skipif(sys.platform != "linux", reason="forked children, and the limits and groups of Linux")


def takes_all_memory(job):
    return len(bytearray(50 * 2**30))


def looks_for_ever(job, at=None):
    if at:
        limit_computing(1, job.folder, at)
    while True:
        pass


def does_not_compile(job):
    raise KernelError("mine does not compile.\nline 2: no such name\n    x\nline 3: no such type\n    y")


def raises(job):
    raise LookupError("nothing to be found")


def writes_rubbish(job):
    (job.folder / "answer").open("ab").write(b"\x80\x04")
    os._exit(0)


ENDS = [  # what ends a child, the kind and the words of what is told
    (lambda job: None, "", ""),
    (lambda job: os._exit(3), "crash", "exit status 3): it said nothing"),
    (lambda job: sys.exit(0), "crash", "exit status 0): it said nothing"),
    (lambda job: ctypes.string_at(8), "crash", child.FAR.format(status=-signal.SIGSEGV)),
    (lambda job: os.abort(), "crash", f"exit status {-signal.SIGABRT})"),
    (raises, "crash", "LookupError: nothing to be found"),
    (takes_all_memory, "crash", "MemoryError"),
    (lambda job: lambda: 0, "crash", "pickle"),
    (writes_rubbish, "crash", "exit status 0)"),
    (looks_for_ever, "hang", "it still ran after 2 s of computing"),
    (lambda job: looks_for_ever(job, "at 1 x 2"), "hang", "it still ran after 1 s of computing"),
    (does_not_compile, "does not compile", "no such name"),
]


def two_and_then(job, end):
    """A task: two numbers, one by one, something printed, and then what ends it."""
    os.write(1, b"printed below Python\n")
    yield from (1, 2)
    if last := ENDS[end][0](job):
        yield last


@linux
@pytest.mark.parametrize("end", range(len(ENDS)))
def test_however_a_child_ends_it_is_told_and_what_it_had_said_is_there(end):
    _, kind, words = ENDS[end]
    outcome = in_child(
        opencl_kernel("naive"), two_and_then, 2 if words.startswith("it still ran after 2 s") else 60, end=end
    )
    assert outcome.value == [1, 2]
    told = [(finding.kind, finding.message) for finding in outcome.findings]
    assert not kind or (told[0][0] == kind and words in told[0][1]), told
    assert kind or (told == [] and outcome.printed == "printed below Python\n")


def test_each_line_that_does_not_compile_is_a_finding():
    assert [finding.lines for finding in in_child(opencl_kernel("naive"), does_not_compile).findings] == [(2,), (3,)]


@pytest.mark.parametrize(
    "kind, line, told, lines",
    [
        ("hang", "#pragma unroll 4096", "it still ran after 20 s of computing. Unroll less", (2,)),
        ("hang", "", "Look for a loop of very many rounds", ()),
        ("crash", "async_work_group_copy(a, A, M, 0);", "this notebook goes on. All work-items", (2,)),
        ("crash", "", "Take parts of the kernel out", ()),
    ],
)
def test_a_compiler_that_dies_or_never_ends_is_told_with_what_it_may_be(tmp_path, kind, line, told, lines):
    k = opencl_kernel(f"__kernel void mine() {{\n{line}\n}}", like="naive")
    (tmp_path / "doing").write_text(f"20\n{child.BUILDING}")
    status = -child.OUT_OF_TIME if kind == "hang" else -signal.SIGSEGV
    [finding] = child.outcome_of(k, tmp_path, status, 60, False).findings
    assert (finding.kind, finding.lines) == (kind, lines) and told in finding.message
    assert finding.message.startswith(f"the compiler of {k.device.name} ")


LIMITED = ("DATA", "FSIZE", "CPU")


def surroundings(job):
    import resource

    leaves = os.fork()
    while not leaves:  # it would run for ever
        time.sleep(1)
    return {
        "environment": dict(os.environ),
        "directory": os.getcwd(),
        "input": sys.stdin.read() if sys.stdin else "",
        "session": os.getsid(0),
        "garbage": gc.get_freeze_count(),
        "limits": [resource.getrlimit(getattr(resource, f"RLIMIT_{one}"))[0] for one in LIMITED],
        "leaves": leaves,
    }


@linux
def test_a_child_has_the_surroundings_that_it_is_given_and_leaves_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setenv("A_VARIABLE_OF_THIS_TEST", "42")
    monkeypatch.setenv("OCLGRIND_UNINITIALIZED", "1")  # a user's own
    monkeypatch.chdir(tmp_path)
    there = in_child(opencl_kernel("naive"), surroundings, seconds=7).value
    assert there["environment"]["A_VARIABLE_OF_THIS_TEST"] == "42" and there["directory"] == str(tmp_path)
    assert not [name for name in there["environment"] if name.startswith("OCLGRIND_")]
    assert there["input"] == "" and there["garbage"] > 10_000
    assert there["session"] != os.getsid(0), "an interrupt that is meant for the notebook would end it"
    assert 0 < there["limits"][0] <= 12 * 2**30 and there["limits"][1] == 2**30
    assert there["limits"][2] == (7 + inside.BEYOND) * os.cpu_count(), "an orphan that hangs in a driver ends"
    is_gone(there["leaves"])
    assert forkserver._forkserver._forkserver_pid is None, "a learner's own programs have a server of their own"


def is_gone(pid):
    """Wait until that process has ended; a zombie has, too."""
    for _ in range(600):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.1)
    raise AssertionError(f"process {pid} still runs")


WAITS = """
import sys
sys.path[:0] = [{here!r}]
from test_child import in_child, looks_for_ever, opencl_kernel
try:
    in_child(opencl_kernel("naive"), looks_for_ever)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@linux
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_no_child_outlives_the_process_that_waits_for_it(by):
    code = WAITS.format(here=os.path.dirname(__file__))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=own_path(), text=True) as asker:
        while not grandchildren(asker.pid):  # the server's child
            pass
        family = [one.pid for one in psutil.Process(asker.pid).children(recursive=True)]
        asker.send_signal(by)
        assert by == signal.SIGKILL or asker.stdout.readline() == "interrupted\n"
    for pid in family:
        is_gone(pid)


def grandchildren(pid):
    """Processes that its children have started."""
    found = []
    for one in psutil.Process(pid).children():
        with suppress(psutil.NoSuchProcess):  # some live for a moment only
            found += one.children()
    return found


def own_path():
    """An environment in which another process finds this package."""
    return dict(os.environ, PYTHONPATH=devices.python_path())


SCRIPT = """
import os, sys
import numpy as np
import pyopencl as cl
print("the script begins", flush=True)
from helpers import check, cuda_kernel, opencl_kernel
from helpers.sandbox import in_child, process
from helpers.checking.functions import call_there
from numba import cuda
if sys.argv[1] == "new":
    process.FORKS, process.CONTEXT = False, process.multiprocessing.get_context("spawn")

@cuda.jit
def mine(A, B, C):
    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = 0
        for k in range(A.shape[1]):
            C[row, col] += A[row, k] * B[k, col]

for k in (cuda_kernel(mine, like="naive", BM=4, BN=4), opencl_kernel("naive")):
    outcome = in_child(k, call_there, stages=[[(3, 4, 5)]])
    print(outcome.value.findings, outcome.findings)

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
    assert done.stdout == "the script begins\n[] []\n[] []\ncrash\n", done.stderr


class Clock:
    """A machine of one's own: each look at the child takes a second, of which the child computes a share."""

    sentinel = pid = None

    def __init__(self, monkeypatch, share, ends_after):
        self.now, self.share, self.ends_after = 0.0, share, ends_after
        monkeypatch.setattr(process.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(process.connection, "wait", self.wait)
        monkeypatch.setattr(process.psutil, "Process", lambda pid: self)

    def wait(self, sentinels, seconds):
        self.now += 1
        return sentinels if self.now * (self.share or 1) >= self.ends_after else []

    def cpu_times(self):
        return self.now * self.share, 0.0, 0.0, 0.0


NEVER = float("inf")


@pytest.mark.parametrize(
    "share, ends_after, seconds, in_time, by",
    [
        (0.1, 30, 60, True, 300),  # a busy machine: ten times as long, and no hang
        (0.1, NEVER, 60, False, 600),
        (0.0, NEVER, 2, False, 60),  # it waits for ever; on a busy machine, it may wait for its turn
        (0.0, 50, 2, True, 50),
        (8.0, NEVER, 60, False, 60),  # for a driver on many cores the wall's clock counts
    ],
)
def test_a_child_is_out_of_time_by_its_own_computing(monkeypatch, share, ends_after, seconds, in_time, by):
    clock = Clock(monkeypatch, share, ends_after)
    assert process.wait_patiently(clock, seconds, "a kernel") == in_time and clock.now == pytest.approx(by, abs=1)


def proofs_taken(job):
    """A task: how often a device is proved while the kernel is built."""
    taken = []
    devices.prove_opencl = taken.append
    job.build()
    return len(taken)


def test_a_child_does_not_prove_again_the_device_that_its_parent_has_proved():
    assert in_child(opencl_kernel("naive"), proofs_taken).value == 0


def test_a_learners_kernel_is_not_built_where_it_was_not_checked(monkeypatch):
    monkeypatch.setattr(on_opencl, "program", lambda *how: pytest.fail("built in this process"))
    k, one = opencl_kernel(on_opencl.OPENCL.source_of("naive"), like="naive"), np.ones((1, 1), np.float32)
    with pytest.raises(KernelError, match="has not passed a check"):
        k(one, one)


def test_a_jitted_function_takes_the_lines_of_its_cell_along(monkeypatch):
    cell, lines, names = "<a cell>", ["@cuda.jit\n", "def mine(A):\n", "    A[0] = 1\n"], {"cuda": cuda}
    monkeypatch.setitem(linecache.cache, cell, (1, None, lines, cell))
    exec(compile("".join(lines), cell, "exec"), names)
    sent = packed(names["mine"])
    del linecache.cache[cell]
    child.pickle.loads(sent)
    assert linecache.getlines(cell) == lines


WIDE = """
import pathlib, sys
from helpers.checking.functions import call_there
from helpers.cuda.intrinsics import load4, store4
from helpers.sandbox.job import Job, packed
from numba import cuda

@cuda.jit(device=True)
def four(X, row, col):
    return load4(X, row, col)

def copied(A, B, C):
    row, col = cuda.grid(2)
    if row < A.shape[0] and 4 * col < A.shape[1]:
        store4(C, row, 4 * col, four(A, row, 4 * col))

job = Job(call_there, "CUDA", copied, "naive", {"BM": 2, "BN": 2}, None, {})
pathlib.Path(sys.argv[1]).write_bytes(packed(job))
"""


@pytest.mark.skipif(not devices.compiling(), reason="this process has a GPU, and plays the child's part")
def test_a_kernel_with_wide_loads_travels_from_a_process_with_a_gpu(tmp_path):
    command = [sys.executable, "-c", WIDE, str(tmp_path / "job")]
    subprocess.run(command, env=own_path() | {devices.CUDA_OF_CHILD: "compiler"}, check=True, timeout=300)
    job = child.pickle.loads((tmp_path / "job").read_bytes())
    A = np.arange(16, dtype=np.float32).reshape(4, 4)
    work = job.build().upload(A, A)
    work.launch()
    assert (work.download() == A).all()
