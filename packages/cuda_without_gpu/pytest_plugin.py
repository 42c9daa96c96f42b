"""`pytest --cuda-without-gpu=raise`: CUDA kernels run with no GPU; what they do wrong stands at the report's end."""

import pytest

from . import device, enable
from .errors import KernelError
from .findings import FOUND, way_to_launch
from .settings import WORDS

# Of a test's report, since it comes back from the processes of pytest-xdist.
PROPERTY, NATIVE = "cuda finding", "cuda launches that nobody watched"


def pytest_addoption(parser):
    """Add the option."""
    parser.getgroup("cuda_without_gpu").addoption(
        "--cuda-without-gpu",
        choices=WORDS["findings"],
        help="run Numba's CUDA kernels with no GPU; raise what they do wrong, warn of it, or leave it",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Enable it before any conftest.py, or test, imports names from numba.cuda."""
    if findings := early_config.known_args_namespace.cuda_without_gpu:
        enable(findings=findings)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Note in a test's report what its launches do wrong, and show the way to a launch, not that through Numba."""
    before, native = {key: found.launches for key, found in FOUND.items()}, device.launches_native
    try:
        return (yield)
    except KernelError as error:
        raise error.with_traceback(way_to_launch(error)) from None
    finally:
        if device.launches_native > native:
            item.user_properties.append((NATIVE, device.launches_native - native))
        for key, found in FOUND.items():
            if found.launches > before.get(key, 0):
                item.user_properties.append((PROPERTY, f"{found.kernel}\n  {found.message}"))


def pytest_terminal_summary(terminalreporter):
    """List each finding once, with the tests that had it."""
    tests, native = {}, 0
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if getattr(report, "when", "") == "call":
            for name, text in report.user_properties:
                if name == PROPERTY:
                    tests.setdefault(text, {})[report.nodeid] = True
                native += text if name == NATIVE else 0
    if tests or native:
        terminalreporter.section("found in CUDA kernels")
    if native:
        words = f'{native:,} launches ran natively, where nobody watches; with CUDA_WITHOUT_GPU="watch=all" none does'
        terminalreporter.write_line(words)
    for text, where in tests.items():
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        terminalreporter.write_line(f"{text}\n  in {next(iter(where))}{more}")
