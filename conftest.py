"""Imported first, so that helpers settles the CUDA target and the OpenCL drivers before anything else loads them.

The tests of the clock have the real one. The other tests, and the pages, have a brief one, since nothing compares their
times.
"""

import gc
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

os.environ.pop("LC_ALL", None)
os.environ["LC_MESSAGES"] = "C"  # doctor speaks English here, whatever its user does

import warm  # which loads helpers

from helpers import devices, needs
from helpers.checking import run_check
from helpers.clock import timing

if sys.platform == "linux" and devices.compiling():  # what has met a GPU cannot be forked
    warm.set_up()

CLOCK = Path(__file__).parent / "tests" / "clock"

BRIEF = dict.fromkeys(("IDLE_SECONDS", "LONG_ENOUGH", "WARM_SECONDS"), 0.01) | {"REPEATS": 1}
BRIEF_IN_A_PAGE = f"""
def make_brief():
    import sys
    if "helpers.clock.timing" in sys.modules:
        vars(sys.modules["helpers.clock.timing"]).update({BRIEF})
make_brief()
"""


@pytest.fixture(autouse=True)
def brief_clock(request, monkeypatch):
    """What is no test of the clock measures for a moment only."""
    if CLOCK not in request.path.parents:
        for name, seconds in BRIEF.items():
            monkeypatch.setattr(timing, name, seconds)


@pytest.fixture(autouse=True)
def no_kept_verdicts(monkeypatch):
    """A test that changes what there is here hears of no verdict from before."""
    monkeypatch.setattr(run_check, "KEPT", {})


@pytest.fixture
def no_spirv(monkeypatch):
    """CUDA kernels meet what they do where no OpenCL device takes SPIR-V: the PTX machine."""
    monkeypatch.setattr(devices, "cuda_device", lambda: devices.PTX_MACHINE)


@pytest.hookimpl(trylast=True)  # once the page's process has begun
def pytest_runtest_setup(item):
    """A page measures for a moment only, too, from the cell on that follows the one which loads the clock."""
    if hasattr(item, "cell"):  # nbval's
        item.parent.kernel.kc.execute(BRIEF_IN_A_PAGE, silent=True)


def pytest_terminal_summary(terminalreporter, config):
    """Tell each kind of what was skipped in one line, with what adds it, and keep what `.ci/run` catches up on."""
    skipped = terminalreporter.stats.get("skipped", [])
    kinds = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, many in kinds.most_common():
        terminalreporter.write_line(f"skipped {many}: {reason}")
    tests = {report.nodeid.partition(".ipynb::")[0] + ".ipynb" * (".ipynb::" in report.nodeid) for report in skipped}
    config.cache.set("course/skipped", sorted(tests))


def pytest_collection_finish():
    """What is there now stays to the end, so that no collection of garbage goes through it again."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    """The tests of the web come first: as the last file they would leave one worker alone for two minutes."""
    items.sort(key=lambda item: item.path.name != "test_web.py")
    mark_what_needs_the_compiler(items)
    mark_what_needs_other_languages(items)


def mark_what_needs_the_compiler(items):
    """Where NVIDIA's compiler is missing, pages that need it are skipped.

    On the others, a cell that predicts a kernel which the course has not counted says what adds the compiler.
    """
    if devices.has_compiler():
        return
    skip_pages(items, "compiler")
    for item in items:
        if re.search(r"predict_beside\(|counts_of\(", getattr(getattr(item, "cell", None), "source", "")):  # nbval's
            item.options["check"] = False


def skip_pages(items, what):
    """Skip the pages, and the judges of their exercises, for which something is missing."""
    for page in needs.NEEDS[what].pages:
        for item in items:
            if (hasattr(item, "cell") and item.path.name.startswith(page)) or re.search(rf"[\[-]{page}\.\d", item.name):
                item.add_marker(pytest.mark.skip(reason=needs.lack(what)))


def mark_what_needs_other_languages(items):
    """Page 18 needs Triton and cuTile, as does what judges its exercises; a cell of page 14 numba-cuda's successor."""
    for what in ("blocks", "cutile"):
        if needs.lack(what):
            skip_pages(items, what)
    if lack := needs.lack("successor"):
        for item in (item for item in items if "numba_cuda_mlir" in getattr(getattr(item, "cell", None), "source", "")):
            item.add_marker(pytest.mark.skip(reason=lack))
