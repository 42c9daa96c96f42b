"""What the README shows runs and prints what stands there; and the package stands by itself."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_ten_lines_of_the_readme(tmp_path):
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL))
    assert len(blocks["python"].splitlines()) == 10
    (tmp_path / "add.ptx").write_text(blocks["ptx"])
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT.parent)!r})\n{blocks['python']}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert not done.stderr and done.stdout == blocks["text"]


def test_the_readmes_cuda_source():
    pytest.importorskip("cuda.bindings.nvrtc")
    (block,) = re.findall(r"```py\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    exec(block, {})


def test_it_imports_numpy_and_nothing_of_the_course():
    """Nor Numba: of the packages that pip installs, NumPy only."""
    command = (
        f"import sys, numpy; before = set(sys.modules); sys.path.insert(0, {str(ROOT.parent)!r}); import ptx_machine\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new - set(sys.stdlib_module_names) - {'numpy'}))"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["ptx_machine"], done.stderr
