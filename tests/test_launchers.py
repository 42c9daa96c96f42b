"""A notebook opened alone on Colab installs the course, and leaves Colab's own packages as they are.

The first test has no Colab, so it makes the next best thing: a fresh environment with the packages that
Colab ships, at Colab's versions, and one notebook alone in a folder. The address that the notebook installs
from is led to a local git repository with this checkout's files.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import nbformat
import notebooks
import pytest
from nbclient import NotebookClient

# From https://github.com/googlecolab/backend-info of August 2026: pip-freeze.txt, for a runtime with no GPU, which has
# no numba-cuda. Python is 3.13 there; these run together on 3.11, too.
COLAB_SHIPS = {
    "numpy": "2.1.3",
    "numba": "0.61.2",
    "matplotlib": "3.10.0",
    "pillow": "11.3.0",
    "ipython": "7.34.0",
    "ipykernel": "6.17.1",
    "pygments": "2.21.0",
    "psutil": "5.9.5",
    "cloudpickle": "3.1.2",
    "platformdirs": "4.11.3",
}

ADDRESS = "https://github.com/somebody/course"  # the course has none yet


def python(venv):
    return str(venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def versions(venv):
    """{name: version} of all that is installed there."""
    listed = subprocess.run([python(venv), "-m", "pip", "list", "--format=json"], check=True, capture_output=True)
    return {package["name"]: package["version"] for package in json.loads(listed.stdout)}


def git_repository(folder):
    """A git repository of the files that the course is installed from, committed or not yet."""
    folder.mkdir()
    for path in notebooks.ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, folder)
    for name in ("helpers", "packages"):
        shutil.copytree(notebooks.ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "the course"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def colab_like(tmp_path, monkeypatch):
    """A fresh environment, a kernel named colab in it, and that kernel's surroundings; returns the folder."""
    venv = tmp_path / "colab"
    monkeypatch.setenv("UV_SYSTEM_CERTS", "true")  # as tools/install.py has it
    monkeypatch.setenv("PIP_NO_COMPILE", "1")  # most of what is installed is never imported
    pinned = [f"{name}=={version}" for name, version in COLAB_SHIPS.items()]
    uv = [sys.executable, "-m", "uv"]  # quick; the notebook itself installs with pip, as on Colab
    subprocess.run([*uv, "venv", "-q", "--seed", "--python", sys.executable, str(venv)], check=True)
    subprocess.run([*uv, "pip", "install", "-q", "--python", python(venv), *pinned], check=True)

    kernel = tmp_path / "jupyter" / "kernels" / "colab"
    kernel.mkdir(parents=True)
    argv = [python(venv), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Colab", "language": "python"}))
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "colab.py").write_text("import sys, types\nsys.modules['google.colab'] = types.ModuleType('colab')\n")

    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    course = git_repository(tmp_path / "course").as_uri()
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{course}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", ADDRESS)
    monkeypatch.setattr(notebooks, "repository", lambda: ADDRESS)
    # What this process has chosen for its own kernels is not Colab's.
    for name in (
        "NUMBA_ENABLE_CUDASIM",
        "OCL_ICD_VENDORS",
        "OCL_ICD_FILENAMES",
        "HELPERS_OPENCL_DEVICE",
        "PYTHONPATH",
        "MPLBACKEND",
    ):
        monkeypatch.delenv(name, raising=False)
    return venv


@pytest.mark.bulk
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed; the notebook installs through it")
def test_a_notebook_alone_on_colab(tmp_path, monkeypatch):
    path = [p for p in notebooks.notebook_paths() if p.name[:2] <= "02"][-1]  # the first with kernels, when written
    venv = colab_like(tmp_path, monkeypatch)
    before = versions(venv)
    assert "matmul-ladder" not in before

    alone = tmp_path / "alone"
    alone.mkdir()
    notebook = nbformat.read(shutil.copy(path, alone), as_version=4)
    notebooks.normalise(notebook, path.stem)  # as it is stored once the course has an address
    # A launch in each dialect is enough.
    del notebook.cells[1 + next(n for n, cell in enumerate(notebook.cells) if "kernel[(" in cell.source) :]
    notebook.cells.append(nbformat.v4.new_code_cell("import helpers; helpers.__file__"))
    NotebookClient(
        notebook, timeout=300, kernel_name="colab", resources={"metadata": {"path": str(alone)}}
    ).execute()  # raises at the first cell that fails

    installed = Path(ast.literal_eval(notebook.cells[-1].outputs[-1].data["text/plain"]))
    assert installed.resolve().is_relative_to(venv.resolve())
    assert (installed.parent / "opencl" / "tiled.cl").exists(), "the wheel lacks the OpenCL kernels"
    after = versions(venv)
    assert "matmul-ladder" in after
    changed = {name: (version, after.get(name)) for name, version in before.items() if after.get(name) != version}
    assert not changed, "the course upgraded what Colab ships"


@pytest.mark.parametrize("on_colab", [False, True])
def test_the_setup_cell_calls_pip_on_colab_only(on_colab, monkeypatch):
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.setattr(notebooks, "repository", lambda: ADDRESS)
    shell, calls = InteractiveShell(), []
    shell.register_magic_function(calls.append, magic_name="pip")
    if on_colab:
        monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    shell.run_cell("\n".join(notebooks.setup_lines())).raise_error()
    assert calls == ([f'install -q "git+{ADDRESS}"'] if on_colab else [])
