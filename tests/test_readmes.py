"""Each package beside helpers does what its README shows, by itself."""

import os
import re
import subprocess
import sys

import pytest
from distribution import ALONE, folder_of
from markdown_it import MarkdownIt

from helpers import devices


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


def run(package, folder, *command):
    """Run Python beside the README's files, with the OpenCL driver that the course uses."""
    for name, _, text, _ in blocks(package):
        if name:
            (folder / name).write_text(text)
    environment = os.environ | {"PYTHONPATH": str(folder_of(package).parent)}
    environment["PYOPENCL_CTX"] = devices.opencl_device().handle.platform.name
    environment["PYTHONWARNINGS"] = "ignore:Non-empty compiler output"  # Intel's runtime reports success at length
    command = [sys.executable, *command]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("package", ALONE)
def test_the_lines_of_a_readme_print_what_it_says(package, tmp_path):
    """Its blocks of Python that are no files."""
    if package == "blocks_without_gpu":
        pytest.importorskip("triton", reason="Triton is not installed: python3 tools/install.py blocks")
        pytest.importorskip("cuda.tile", reason="cuTile is not installed: python3 tools/install.py cutile")
    programs = [(text, said) for name, language, text, said in blocks(package) if not name and language[:2] == "py"]
    assert programs
    for text, said in programs:
        (tmp_path / "example.py").write_text(text)  # a file: a kernel's lines are read from it
        done = run(package, tmp_path, "example.py")
        assert not done.stderr and done.stdout == said


TESTS = [(package, name, said) for package in ALONE for name, _, _, said in blocks(package) if name.startswith("test_")]


@pytest.mark.parametrize("package, name, said", TESTS, ids=[name for _, name, _ in TESTS])
def test_the_tests_of_a_readme_pass_or_fail_as_it_says(package, name, said, tmp_path):
    if name == "test_saxpy.py":
        pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed: python3 tools/install.py cuda13")
    alone = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    plug_in = ("-p", "cuda_without_gpu.pytest_plugin", "--cuda-without-gpu=raise") * (package == "cuda_without_gpu")
    done = run(package, tmp_path, *alone, *plug_in, name)
    shown = re.sub(r"^E +(?:\w+\.)*", "", done.stdout, flags=re.MULTILINE)
    assert done.returncode == bool(said) and all(line.strip() in shown for line in said.splitlines()), done.stdout
