"""Each package beside helpers does what its README shows, by itself: in this checkout, and installed alone."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from packages import ALONE, ROOT

# What an example reads: {name: the language of its block in the README}.
FILES = {"ptx_machine": {"twice.ptx": "ptx"}, "opencl_trace": {"transpose.cl": "opencl"}}
# All that pip brings beside the package itself, where its README says so.
NEEDS = {"gpu_model": set(), "ptx_machine": {"numpy"}}
NEEDS["cuda_without_gpu"] = {"llvmlite", "numba", "numpy", "psutil", "ptx-machine"}
BESIDE = {"cuda_without_gpu": ["ptx_machine"]}  # what must be installed with it, as long as PyPI does not have it
LEAST = {"opencl_trace": {"numpy", "pyopencl"}}  # and what those bring


def blocks(package):
    """{language: the text of the README's first block in it}."""
    found = re.findall(r"```(\w+)\n(.*?)```", (ROOT / package / "README.md").read_text("utf-8"), re.DOTALL)
    return dict(reversed(found))


def example(package, python, folder, path=""):
    """What the README's first lines of Python print, and complain of, in that folder."""
    for name, language in FILES.get(package, {}).items():
        (folder / name).write_text(blocks(package)[language])
    (folder / "example.py").write_text(blocks(package)["python"])  # a file: a kernel's lines are read from it
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYTHONPATH": path} if path else {}
    done = subprocess.run(
        [python, "example.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("package", ALONE)
def test_the_ten_lines_of_a_readme_print_what_it_says(package, tmp_path):
    assert sum(map(bool, blocks(package)["python"].splitlines())) <= 10  # beside empty ones
    printed, complaints = example(package, sys.executable, tmp_path, str(ROOT))
    assert not complaints and printed == blocks(package)["text"]


@pytest.mark.bulk
@pytest.mark.parametrize("package", ALONE)
def test_a_package_installs_by_itself_into_a_bare_environment(package, tmp_path):
    uv = [sys.executable, "-m", "uv"]
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    projects = [tmp_path / "projects" / name for name in (package, *BESIDE.get(package, []))]
    for project in projects:
        left_out = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
        shutil.copytree(ROOT / project.name, project, ignore=left_out)
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, tmp_path / "bare"], check=True, timeout=120)
    subprocess.run([*uv, "pip", "install", "-q", "--python", python, *projects], check=True, timeout=300)
    printed, complaints = example(package, python, tmp_path)
    assert not complaints and printed == blocks(package)["text"]
    listed = subprocess.run([*uv, "pip", "list", "-q", "--python", python], capture_output=True, text=True, timeout=60)
    brought = {line.split()[0] for line in listed.stdout.splitlines()[2:]} - {package.replace("_", "-")}
    assert brought == NEEDS[package] if package in NEEDS else brought >= LEAST[package]
