"""What people install, pip, conda or Binder, is what was tested: the files that say so must agree."""

import ast
import importlib.metadata
import itertools
import re
import sys
import tomllib
from pathlib import Path

import notebooks
import pytest
from distribution import PACKAGES, folder_of, sources
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cuda_without_gpu import replacing

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
            assert pin.operator == "==" and wanted.specifier.contains(pin.version), str(wanted)


# What comes with numba or numba-cuda, and libraries that a package looks for and can do without.
COMES_WITH_ANOTHER = {"llvmlite", "cuda", "torch", "cupy"}
# They may not be installed, and then nobody knows whose they are.
BLOCKS = {"triton": "triton", "numba_cuda_mlir": "numba-cuda-mlir"}


def declared(package):
    """What a package asks for, with extras, and what the course's packages among it ask for."""
    file = (ROOT if package == "helpers" else folder_of(package)) / "pyproject.toml"
    project = tomllib.loads(file.read_text())["project"]
    extras = {name: lines for name, lines in project.get("optional-dependencies", {}).items() if name != "test"}
    lines = itertools.chain(project.get("dependencies", []), *extras.values())
    names = {canonicalize_name(Requirement(line).name) for line in lines}
    return names.union(*(declared(one) for one in PACKAGES if canonicalize_name(one) in names))


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_that_is_imported_is_declared(package):
    imported = set()
    for path in (path for path in sources(package) if path.name != "setup.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.partition(".")[0])
    imported -= {*sys.stdlib_module_names, *COMES_WITH_ANOTHER, package}
    imported -= {*PACKAGES} if package == "helpers" else set()
    names = importlib.metadata.packages_distributions() | {one: [one] for one in PACKAGES}
    needed = {canonicalize_name(BLOCKS.get(one) or names[one][0]) for one in imported}
    assert needed <= declared(package)


@pytest.mark.parametrize("package", ["numba", "numba-cuda", "numba-cuda-mlir"])
def test_cuda_without_gpu_names_the_versions_that_are_tested(package):
    known = map(Requirement, [*PROJECT["dependencies"], *EXTRAS["successor"]])
    (wanted,) = (one for one in known if one.name == package)
    (pin,) = pins()[package].specifier
    tested = f"{package}{wanted.specifier},<={pin.version}"
    assert (
        f'"{tested}"' in replacing.TESTED
        and f"`{tested}`" in (ROOT / "packages/cuda_without_gpu/README.md").read_text()
    )


@pytest.mark.parametrize("readme, folder", [("README.md", ""), ("README.zh-CN.md", "zh_CN/")])
def test_a_readmes_table_has_every_page_by_its_title_and_its_minutes(readme, folder):
    text = (ROOT / readme).read_text(encoding="utf-8")
    pages = sorted((ROOT / "notebooks" / folder).glob("[0-9]*.ipynb"))
    heads = [notebooks.read(path).cells[0].source for path in pages]
    titles = [head.split("\n")[0].removeprefix("# ") for head in heads]
    minutes = [str(notebooks.minutes(notebooks.read(ROOT / "notebooks" / path.name))) for path in pages]
    row = re.compile(r"^\| \[(.+?)\]\(notebooks/(?:zh_CN/)?(\w+)\.ipynb\) \| .* \| (\d+) \|$", re.MULTILINE)
    assert row.findall(text) == list(zip(titles, [path.stem for path in pages], minutes, strict=True))
    assert float(re.search(r"([\d.]+) (?:hours in all|小时)", text)[1]) == round(sum(map(int, minutes)) / 30) / 2
