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
LEAST = {"opencl_trace": {"numpy", "pyopencl"}}  # and what those bring


def blocks(package):
    """{language: the text of the README's first block in it}."""
    found = re.findall(r"```(\w+)\n(.*?)```", (ROOT / package / "README.md").read_text("utf-8"), re.DOTALL)
    return dict(reversed(found))


def example(package, python, folder, path=""):
    """What the README's first lines of Python print, and complain of, in that folder."""
    for name, language in FILES.get(package, {}).items():
        (folder / name).write_text(blocks(package)[language])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, "-c", f"import sys; sys.path.insert(0, {path!r})\n" * bool(path) + blocks(package)["python"]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    return done.stdout, done.stderr


@pytest.mark.parametrize("package", ALONE)
def test_the_ten_lines_of_a_readme_print_what_it_says(package, tmp_path):
    assert len(blocks(package)["python"].splitlines()) <= 10
    printed, complaints = example(package, sys.executable, tmp_path, str(ROOT))
    assert not complaints and printed == blocks(package)["text"]


@pytest.mark.bulk
@pytest.mark.parametrize("package", ALONE)
def test_a_package_installs_by_itself_into_a_bare_environment(package, tmp_path):
    uv = [sys.executable, "-m", "uv"]
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    project = tmp_path / "project"
    shutil.copytree(ROOT / package, project, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, tmp_path / "bare"], check=True, timeout=120)
    subprocess.run([*uv, "pip", "install", "-q", "--python", python, project], check=True, timeout=300)
    printed, complaints = example(package, python, tmp_path)
    assert not complaints and printed == blocks(package)["text"]
    listed = subprocess.run([*uv, "pip", "list", "-q", "--python", python], capture_output=True, text=True, timeout=60)
    brought = {line.split()[0] for line in listed.stdout.splitlines()[2:]} - {package.replace("_", "-")}
    assert brought == NEEDS[package] if package in NEEDS else brought >= LEAST[package]
