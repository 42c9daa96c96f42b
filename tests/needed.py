"""What a machine may lack: tests that need it are skipped there, and say what adds it."""

import importlib.util

import pytest

from helpers import devices

needs_compiler = pytest.mark.skipif(
    not devices.has_compiler() or not importlib.util.find_spec("numba_cuda"),
    reason="NVIDIA's compiler is not installed: python3 tools/install.py cuda13",
)
