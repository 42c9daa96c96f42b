"""A notebook opened alone on Colab installs the course, whole, and leaves Colab's own packages as they are."""

import shutil
import subprocess
import sys
import tomllib
import types
import zipfile

import notebooks
import pytest
from distribution import ALONE, ROOT, folder_of
from IPython.core.interactiveshell import InteractiveShell
from packaging.requirements import Requirement

# From https://github.com/googlecolab/backend-info of August 2026: pip-freeze.gpu.txt.
COLAB_SHIPS = {
    "numpy": "2.1.3",
    "numba": "0.61.2",
    "numba-cuda": "0.22.2",
    "matplotlib": "3.10.0",
    "pillow": "11.3.0",
    "ipython": "7.34.0",
    "pygments": "2.21.0",
    "psutil": "5.9.5",
    "cloudpickle": "3.1.2",
    "platformdirs": "4.11.3",
}
ADDRESS = "https://github.com/somebody/course"  # the course has none yet


def test_the_course_asks_for_no_newer_package_than_colab_ships():
    wanted = map(Requirement, tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    bounds = {one.name: one.specifier for one in wanted}
    assert all(bounds[name].contains(version) for name, version in COLAB_SHIPS.items())
    assert all(bound.operator == ">=" for specifier in bounds.values() for bound in specifier)


@pytest.mark.parametrize("on_colab", [False, True])
def test_the_setup_cell_calls_pip_on_colab_only(on_colab, monkeypatch):
    monkeypatch.setattr(notebooks, "repository", lambda: ADDRESS)
    shell, calls = InteractiveShell(), []
    shell.register_magic_function(calls.append, magic_name="pip")
    if on_colab:
        monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    shell.run_cell("\n".join(notebooks.setup_lines())).raise_error()
    assert calls == ([f'install -q "git+{ADDRESS}"'] if on_colab else [])


@pytest.mark.bulk
@pytest.mark.parametrize("package", ["", *ALONE])
def test_a_wheel_holds_all_that_a_package_reads(package, tmp_path):
    """The course's own has the packages, too."""
    source, passed_over = tmp_path / "source", shutil.ignore_patterns("__pycache__", "tests", "build", "*.egg-info")
    if package:
        shutil.copytree(folder_of(package), source, ignore=passed_over)
        files = {f"{package}/{path.relative_to(source).as_posix()}" for path in source.rglob("*.*")}
    else:
        for name in ("helpers", "packages"):
            shutil.copytree(ROOT / name, source / name, ignore=passed_over)
        files = {path.relative_to(source).as_posix().removeprefix("packages/") for path in source.rglob("*.*")}
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source)
    subprocess.run([sys.executable, "-m", "uv", "build", "-q", "--wheel", "-o", tmp_path, source], check=True)
    [wheel] = tmp_path.glob("*.whl")
    lacking = files - set(zipfile.ZipFile(wheel).namelist())
    assert len(files) > 5 and {name for name in lacking if not name.endswith((".md", "pyproject.toml"))} == set()
