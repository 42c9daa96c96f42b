"""What people install, pip, conda or Binder, is what was tested: the files that say so must agree."""

import ast
import importlib.metadata
import json
import re
import sys
import tomllib
from pathlib import Path

import notebooks
import pytest
from distribution import PACKAGES, sources
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cuda_without_gpu import stand_in

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def pins(name="constraints.txt"):
    """{name: pinned requirement} from a file of constraints, for the Python that runs this; each names one version."""
    lines = (ROOT / "tools" / "locks" / name).read_text().splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    here = [one for one in requirements if one.marker is None or one.marker.evaluate()]
    found = {canonicalize_name(requirement.name): requirement for requirement in here}
    assert len(found) == len(here), "a package is pinned twice"
    return found


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_each_dependency_has_a_pin_that_satisfies_it(extra):
    pinned = pins("constraints-cuda12.txt" if extra == "cuda12" else "constraints.txt")
    for wanted in map(Requirement, [*PROJECT["dependencies"], *EXTRAS[extra]]):
        if wanted.marker is None or wanted.marker.evaluate():
            (pin,) = pinned[canonicalize_name(wanted.name)].specifier
            assert wanted.specifier.contains(pin.version), str(wanted)


# What helpers imports and does not ask for: what comes with numba or numba-cuda, and libraries that page 13 asks for.
COMES_WITH_ANOTHER = {"llvmlite", "cuda", "torch", "cupy"}
BLOCKS = {"triton": "triton", "warp": "warp-lang"}  # may not be installed, and then nobody knows whose they are


def test_each_package_that_the_course_imports_is_declared():
    imported = set()
    for path in [file for package in PACKAGES for file in sources(package)]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.partition(".")[0])
    imported -= {*sys.stdlib_module_names, *COMES_WITH_ANOTHER, *PACKAGES}
    names = importlib.metadata.packages_distributions()
    needed = {canonicalize_name(BLOCKS.get(package) or names[package][0]) for package in imported}
    declared = {
        canonicalize_name(Requirement(line).name)
        for line in [*PROJECT["dependencies"], *EXTRAS["lab"], *EXTRAS["many"], *EXTRAS["blocks"]]
    }
    assert {"pillow", "numpy"} <= needed and needed <= declared, needed - declared
    assert len(PROJECT["dependencies"]) <= 17, "an install takes long enough"


@pytest.mark.parametrize("package", ["numba", "numba-cuda"])
def test_cuda_without_gpu_names_the_versions_that_are_tested(package):
    (wanted,) = (one for one in map(Requirement, PROJECT["dependencies"]) if one.name == package)
    (pin,) = pins()[package].specifier
    tested = f"{package}{wanted.specifier},<={pin.version}"
    assert (
        f'"{tested}"' in stand_in.TESTED and f"`{tested}`" in (ROOT / "packages/cuda_without_gpu/README.md").read_text()
    )


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-cuda12.txt"])
def test_each_pin_names_one_version(name):
    """With an upper bound in its place a resolver would have to search."""
    assert {specifier.operator for pin in pins(name).values() for specifier in pin.specifier} == {"=="}


def test_cuda_12_differs_in_nvidias_packages_only():
    one, other = pins(), pins("constraints-cuda12.txt")
    differ = {name for name in {*one, *other} if str(one.get(name)) != str(other.get(name))}
    assert differ and all(name.startswith(("cuda-", "nvidia-")) for name in differ)


@pytest.mark.parametrize("line", PROJECT["dependencies"])
def test_dependencies_have_lower_bounds_only(line):
    """Colab keeps its own packages only if the course asks for no newer and forbids none."""
    assert [specifier.operator for specifier in Requirement(line).specifier] == [">="]


@pytest.mark.parametrize("readme, folder", [("README.md", ""), ("README.zh-CN.md", "zh_CN/")])
def test_a_readmes_table_has_every_page_by_its_title(readme, folder):
    row = re.compile(r"^\| \[(.+?)\]\(notebooks/(?:zh_CN/)?(\w+)\.ipynb\) \|", re.MULTILINE)
    pages = sorted((ROOT / "notebooks" / folder).glob("[0-9]*.ipynb"))
    wanted = [(notebooks.read(path).cells[0].source.split("\n")[0].removeprefix("# "), path.stem) for path in pages]
    assert len(wanted) > 16 and row.findall((ROOT / readme).read_text(encoding="utf-8")) == wanted


def test_readme_says_the_minutes_that_each_page_says():
    row = re.compile(r"^\| \[.+?\]\(notebooks/(\w+)\.ipynb\) \| .* \| (\d+) \|$", re.MULTILINE)
    listed = dict(row.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        head = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        said = re.search(r"\*\*You need\*\*.*?\b(\d+) minutes", head, re.DOTALL)
        assert said, f"{path.name} does not say how many minutes it takes"
        assert listed.get(path.stem) == said[1], f"README.md does not say the {said[1]} minutes that {path.name} says"
    [hours] = re.findall(r"([\d.]+) hours in all", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert float(hours) == round(sum(map(int, listed.values())) / 30) / 2
