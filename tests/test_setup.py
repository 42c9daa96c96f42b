"""What people install, pip, conda or Binder, is what was tested: the files that say so must agree."""

import ast
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import notebooks
import pytest
import readme_picture
import yaml
from distribution import PACKAGES, sources
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cuda_without_gpu import stand_in
from helpers.ladder import STEPS

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


def conda():
    return yaml.safe_load((ROOT / "environment.yml").read_text())


def pip_section():
    return next(part["pip"] for part in conda()["dependencies"] if isinstance(part, dict))


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


@pytest.mark.parametrize("extra, name", [("cuda12", "cu12"), ("cuda13", "cu13")])
def test_gpu_extras_name_extras_that_numba_cuda_has(extra, name):
    package, *tools = map(Requirement, EXTRAS[extra])
    assert [tool.name.removesuffix("-cu12") for tool in tools] == ["nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm"]
    assert package.extras == {name} and all(str(tool.marker) == 'sys_platform != "darwin"' for tool in tools)
    if sys.platform != "darwin":
        assert name in importlib.metadata.metadata("numba-cuda").get_all("Provides-Extra")


def test_conda_installs_the_tested_course_with_a_python_that_it_allows():
    assert pip_section() == ["-c tools/locks/constraints.txt", "-e .[lab,cuda13]"] and "pip" in conda()["dependencies"]
    (python,) = [part for part in conda()["dependencies"] if str(part).startswith("python=")]
    assert Requirement(f"course{PROJECT['requires-python']}").specifier.contains(python.removeprefix("python="))


@pytest.mark.skipif(
    importlib.util.find_spec("repo2docker") is None,
    reason="jupyter-repo2docker is not installed; add it: pip install jupyter-repo2docker",
)
def test_binder_understands_the_environment():
    """repo2docker writes a Dockerfile that has the whole course in place before conda and pip read it."""
    run = subprocess.run(
        [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    version = next(part for part in conda()["dependencies"] if str(part).startswith("python")).removeprefix("python=")
    assert f"Building conda environment for python={version}" in said
    assert "./postBuild" in said and os.access(ROOT / "postBuild", os.X_OK)  # MPI and Dask, for page 15
    copied = re.search(r"COPY --chown=\d+:\d+ src/ \$\{REPO_DIR\}/", said)
    assert copied and copied.start() < said.index('--file "environment.yml"')


@pytest.mark.parametrize("readme", notebooks.READMES)
@pytest.mark.parametrize("alive", [False, True])
def test_a_readme_leads_to_binder_colab_and_the_web_once_it_is_published(readme, alive, monkeypatch):
    owner, name = "somebody", "course"
    monkeypatch.setattr(notebooks, "repository", lambda: f"https://github.com/{owner}/{name}" if alive else "")
    door = notebooks.door(readme)
    folder = "zh_CN/" if "zh" in readme else ""
    for address in (
        f"https://{owner}.github.io/{name}/{folder})",
        f"https://mybinder.org/v2/gh/{owner}/{name}/HEAD?urlpath=lab/tree/notebooks/{folder}00_start_here.ipynb)",
        f"https://colab.research.google.com/github/{owner}/{name}/blob/main/notebooks/{folder}00_start_here.ipynb)",
    ):
        assert (address in door) == alive
    assert ("(docs/RELEASING.md)" in door) != alive


@pytest.mark.parametrize("readme", notebooks.READMES)
def test_before_it_is_published_no_link_to_the_course_looks_alive(readme):
    text = (ROOT / readme).read_text(encoding="utf-8")
    assert text.split("\n")[2] == notebooks.door(readme)
    assert notebooks.repository() or not re.search(r"\]\([^)]*(?:matmul-ladder|mybinder|colab)|github.com/matmul", text)


@pytest.mark.parametrize("readme, folder", [("README.md", ""), ("README.zh-CN.md", "zh_CN/")])
def test_a_readmes_table_has_every_page_by_its_title(readme, folder):
    row = re.compile(r"^\| \[(.+?)\]\(notebooks/(?:zh_CN/)?(\w+)\.ipynb\) \|", re.MULTILINE)
    pages = sorted((ROOT / "notebooks" / folder).glob("[0-9]*.ipynb"))
    wanted = [(notebooks.read(path).cells[0].source.split("\n")[0].removeprefix("# "), path.stem) for path in pages]
    assert len(wanted) > 16 and row.findall((ROOT / readme).read_text(encoding="utf-8")) == wanted


@pytest.mark.parametrize("readme", notebooks.READMES)
def test_a_readmes_picture_says_what_was_recorded(readme):
    text = (ROOT / readme).read_text(encoding="utf-8")
    [words] = re.findall(r"^!\[(.*)\]\(tools/web/ladder_and_page\.png\)$", text, re.M)
    rates = [(name, int(rate.replace(",", ""))) for name, rate in re.findall(r"(\w+) (\d[\d,]*)(?=[, ])", words)]
    assert rates == list(readme_picture.recorded().items())
    *ours, last = [name for name, _ in rates]
    assert ours == [name for name in STEPS if name in ours] and last == "cuBLAS"  # a new rung need not be recorded
    assert f"{readme_picture.recorded('OpenCL')['prefetched']:,}" in text
    assert readme_picture.PICTURE.stat().st_size < 200_000


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
