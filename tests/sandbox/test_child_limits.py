"""An allocation of 50 GB in a kernel's trial costs a verdict; nothing that a child starts is left."""

import os
import sys
import time

import psutil
import pytest

from helpers import cuda_kernel, opencl_kernel
from helpers.sandbox import in_child, process

posix = pytest.mark.skipif(sys.platform != "linux", reason="the limits and the process groups of Linux")


def takes_all_memory(job):
    """A task that wants more memory than a child may have."""
    return len(bytearray(50 * 2**30))


@posix
def test_what_takes_all_memory_costs_its_child():
    [finding] = in_child(cuda_kernel("naive"), takes_all_memory).findings
    assert finding.kind == "crash" and "MemoryError" in finding.message


def leave_an_orphan(job):
    """A task that ends at once, and leaves a process behind that would run for ever."""
    pid = os.fork()
    if pid == 0:
        while True:
            time.sleep(1)
    return pid


def limits_here(job):
    import resource

    return [resource.getrlimit(getattr(resource, f"RLIMIT_{what}"))[0] for what in ("DATA", "FSIZE", "CORE", "NPROC")]


@posix
@pytest.mark.parametrize("forks", [True, False] if process.FORKS else [False], ids=lambda f: "forked" if f else "new")
def test_what_a_child_leaves_behind_is_ended(monkeypatch, forks):
    monkeypatch.setattr(process, "FORKS", forks)
    pid = in_child(opencl_kernel("naive"), leave_an_orphan, 30).value
    for _ in range(100):  # init reaps it
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.1)
    raise AssertionError(f"process {pid} still runs")


@posix
def test_a_child_has_limits_and_this_process_has_none_of_them():
    data, file, core, tasks = in_child(opencl_kernel("naive"), limits_here, 30).value
    assert 0 < data <= 12 * 2**30 and file == 2**30 and core == 0 and 0 < tasks <= 4096
    import resource

    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != file
