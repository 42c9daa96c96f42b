"""What a busy machine takes does not count: a child is out of time by its own computing, or once it does none."""

import os
import pickle
import subprocess
import sys

import pytest

from helpers import cuda_kernel
from helpers.launch import KernelError
from helpers.sandbox import child as children
from helpers.sandbox._limits import used_by
from helpers.sandbox.child import in_child, wait_patiently


class Clock:
    """A machine of one's own: each look at the child takes a second, of which the child computes a share."""

    pid = None

    def __init__(self, monkeypatch, share, ends_after=None):
        self.now, self.share, self.ends_after = 0.0, share, ends_after
        monkeypatch.setattr(children.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(children, "used_by", lambda pid: self.now * share)

    def wait(self, timeout):
        self.now += 1
        if self.ends_after is None or self.now * (self.share or 1) < self.ends_after:
            raise subprocess.TimeoutExpired("a kernel", timeout)


@pytest.mark.parametrize(
    "share, ends_after, ended, by",
    [
        (1.0, 30, True, 30),
        (0.1, 30, True, 300),  # a busy machine: ten times as long, and no hang
        (1.0, None, False, 60),
        (0.1, None, False, 600),
        (0.0, None, False, 60),  # it waits for ever
    ],
)
def test_a_child_is_out_of_time_by_its_own_computing(monkeypatch, share, ends_after, ended, by):
    clock = Clock(monkeypatch, share, ends_after)
    assert (wait_patiently("a kernel", clock, 60) is None) == ended and clock.now == pytest.approx(by, abs=1)


@pytest.mark.parametrize("ends_after, ended, by", [(50, True, 50), (None, False, 60)])
def test_a_child_with_few_seconds_may_wait_its_turn_on_a_busy_machine(monkeypatch, ends_after, ended, by):
    clock = Clock(monkeypatch, share=0.0, ends_after=ends_after)
    assert (wait_patiently("a kernel", clock, 2) is None) == ended and clock.now == pytest.approx(by, abs=1)


def test_a_child_that_hardly_computes_is_not_waited_for_for_ever(monkeypatch):
    clock = Clock(monkeypatch, share=0.01)
    assert wait_patiently("a kernel", clock, 60).kind == "hang" and clock.now == 60 * children.LONGER


def test_for_a_driver_on_many_cores_the_walls_clock_counts(monkeypatch):
    clock = Clock(monkeypatch, share=8.0)
    assert wait_patiently("a kernel", clock, 60).kind == "hang" and clock.now == 60


COMPUTES = """
import time
while time.process_time() < 0.3:
    pass
print(flush=True)
time.sleep(1000)
"""


def test_the_computing_of_a_process_and_of_what_it_has_started_counts():
    before = used_by(os.getpid())
    with subprocess.Popen([sys.executable, "-c", COMPUTES], stdout=subprocess.PIPE) as started:
        started.stdout.readline()
        alone, both = used_by(started.pid), used_by(os.getpid())
        started.kill()
    assert alone >= 0.25 and both >= before + alone
    assert used_by(2**22 + 1) == 0.0


UNREADABLE = [b"", pickle.dumps((True, list("many"), []))[:20], b"no", pickle.dumps(1)]


@pytest.mark.parametrize("answer", UNREADABLE)
def test_an_answer_that_cannot_be_read_is_a_crash(answer, tmp_path):
    (tmp_path / "answer").write_bytes(answer)
    done, value, findings = children.read_answer(tmp_path / "answer")
    assert done and value is None and [f.kind for f in findings] == ["crash"]
    assert "cannot be read" in findings[0].message


def counts(job, end):
    """A task: two numbers, one by one, and then what ends it."""
    yield from (1, 2)
    if end == "crash":
        os._exit(3)
    while end == "hang":
        pass
    if end == "build":
        raise KernelError("it does not compile")


@pytest.mark.parametrize(
    "end, kinds", [("well", []), ("crash", ["crash"]), ("hang", ["hang"]), ("build", ["does not compile"])]
)
def test_what_a_task_has_yielded_is_there_however_it_ends(end, kinds):
    outcome = in_child(cuda_kernel("naive"), counts, 1 if end == "hang" else 60, None, end=end)
    assert outcome.value == [1, 2] and [finding.kind for finding in outcome.findings] == kinds
