"""What pip has installed, by each package's own record: where its files are, what is damaged, and what mends it."""

import csv
import importlib.metadata
import re
from pathlib import Path


def version(package: str) -> str | None:
    """The version of that package, as pip or conda has recorded it; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_files(package: str, pattern: str) -> list[Path]:
    """The files of an installed package whose whole name fits the pattern, as far as they are there."""
    listed = importlib.metadata.files(package) or [] if version(package) else []
    places = (Path(file.locate()).resolve() for file in listed if re.fullmatch(pattern, file.name))
    return [place for place in places if place.exists()]


def repair(*packages: str) -> str:
    """The pip command that mends packages that do not work: it installs anew what is damaged of all that they need."""
    broken = damaged(*packages)
    pins = [f"{package}=={version(package)}" if version(package) else package for package in broken or packages]
    return " ".join(["pip install --force-reinstall", *["--no-deps"] * bool(broken), *pins])


def remedy_for(problem: str, *packages: str) -> tuple[str, dict]:
    """The pip command that adds those packages; where the first is there, the problem, and the one that mends them."""
    if version(packages[0]):
        return "{problem}. To mend it: {command}", {"problem": problem.rstrip("."), "command": repair(*packages)}
    return "{command}", {"command": f"pip install {' '.join(packages)}"}


def damaged(*packages: str) -> list[str]:
    """Of those packages, and of all that they need, those that are missing, or lack a file, or have a damaged one."""
    return [package for package in needed_by(*packages) if not version(package) or lacks_a_file(package)]


def lacks_a_file(package: str) -> bool:
    """Whether a file of a package is missing, or is not as long as the package's record says."""
    found = importlib.metadata.distribution(package)
    for path, _, size in csv.reader((found.read_text("RECORD") or "").splitlines()):
        place = Path(found.locate_file(path))
        if size and (not place.is_file() or place.stat().st_size != int(size)):
            return True
    return False


def needed_by(*packages: str) -> list[str]:
    """Those packages, and all that they need on any machine, as their records say."""
    found = list(packages)
    for package in found:  # which grows meanwhile
        needs = importlib.metadata.requires(package) or [] if version(package) else []
        names = [re.match(r"[\w.-]+", need)[0] for need in needs if ";" not in need]
        found += [name for name in dict.fromkeys(names) if name not in found]
    return found
