"""Each package beside helpers does what its README shows, by itself: in this checkout, and installed alone."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from distribution import ALONE, folder_of
from markdown_it import MarkdownIt

from helpers import devices

# All that pip brings beside the package itself, where its README says so; LEAST: and what those bring.
NEEDS = {"gpu_model": set(), "ptx_machine": {"numpy"}, "summa": {"mpi4py", "mpich", "numpy", "psutil"}}
NEEDS["cuda_without_gpu"] = {"llvmlite", "numba", "numpy", "platformdirs", "psutil", "ptx-machine"}
NEEDS["old_roc"] = NEEDS["cuda_without_gpu"] | {"cuda-without-gpu"}
LEAST = {"opencl_trace": {"numpy", "pyopencl"}, "kernel_judge": {"numpy", "pyopencl"}}
LEAST |= {"blocks_without_gpu": {"numpy", "triton", "gpu-model", "ptx-machine"}}


def blocks(package):
    """[file, language, text, said] of each block of its .md files: "This is `NAME`" before it, or ""; its output."""
    texts = [file.read_text("utf-8") for file in sorted(folder_of(package).glob("*.md"))]
    tokens = MarkdownIt().parse("\n\n".join(texts))
    found = []
    for before, block in zip(tokens[1:], tokens[3:], strict=False):
        if block.type == "fence" and block.info == "text":
            found[-1][-1] = block.content
        elif block.type == "fence":
            name = re.search(r"This is `(.+?)`", before.content)
            found.append([name[1] if name else "", block.info, block.content, ""])
    return found


def run(package, python, folder, *command, path=""):
    """Run Python beside the README's files, with the OpenCL driver that the course uses."""
    for name, _, text, _ in blocks(package):
        if name:
            (folder / name).write_text(text)
    environment = os.environ | {"PYTHONPATH": path, "PYOPENCL_CTX": devices.opencl_device().handle.platform.name}
    environment["PYTHONWARNINGS"] = "ignore:Non-empty compiler output"  # Intel's runtime reports success at length
    return subprocess.run([python, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def programs_print_what_is_said(package, python, folder, path=""):
    """Run the README's blocks of Python that are no files."""
    programs = [(text, said) for name, language, text, said in blocks(package) if not name and language[:2] == "py"]
    assert programs
    for text, said in programs:
        assert sum(map(bool, text.splitlines())) <= 10  # beside empty ones
        (folder / "example.py").write_text(text)  # a file: a kernel's lines are read from it
        done = run(package, python, folder, "example.py", path=path)
        assert not done.stderr and done.stdout == said


@pytest.mark.parametrize("package", ALONE)
def test_the_lines_of_a_readme_print_what_it_says(package, tmp_path):
    if package == "blocks_without_gpu":
        pytest.importorskip("triton", reason="Triton is not installed: python3 tools/install.py blocks")
    programs_print_what_is_said(package, sys.executable, tmp_path, str(folder_of(package).parent))


TESTS = [(package, name, said) for package in ALONE for name, _, _, said in blocks(package) if name.startswith("test_")]


@pytest.mark.parametrize("package, name, said", TESTS, ids=[name for _, name, _ in TESTS])
def test_the_tests_of_a_readme_pass_or_fail_as_it_says(package, name, said, tmp_path):
    if name == "test_saxpy.py":
        pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed: python3 tools/install.py cuda13")
    alone = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", name)
    done = run(package, sys.executable, tmp_path, *alone, path=str(folder_of(package).parent))
    shown = re.sub(r"^E +(?:\w+\.)*", "", done.stdout, flags=re.MULTILINE)
    assert done.returncode == bool(said) and all(line.strip() in shown for line in said.splitlines()), done.stdout


@pytest.mark.bulk
@pytest.mark.parametrize("package", ALONE)
def test_a_package_installs_by_itself_into_a_bare_environment(package, tmp_path):
    uv = [sys.executable, "-m", "uv"]
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    shutil.copytree(
        folder_of(package).parent, tmp_path / "packages", ignore=shutil.ignore_patterns("build", "*.egg-info")
    )
    readme = (folder_of(package) / "README.md").read_text("utf-8")
    command = re.search(r"`pip install ((?:\./packages/[\w[\]]+ ?)+)`", readme)[1].split()
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, tmp_path / "bare"], check=True, timeout=120)
    subprocess.run([*uv, "pip", "install", "-q", "--python", python, *command], cwd=tmp_path, check=True, timeout=300)
    programs_print_what_is_said(package, python, tmp_path)
    listed = subprocess.run([*uv, "pip", "list", "-q", "--python", python], capture_output=True, text=True, timeout=60)
    brought = {line.split()[0] for line in listed.stdout.splitlines()[2:]} - {package.replace("_", "-")}
    assert brought == NEEDS[package] if package in NEEDS else brought >= LEAST[package]
