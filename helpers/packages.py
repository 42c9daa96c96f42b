"""What pip has installed, by each package's own record: where its files are, and what mends it."""

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
    """The pip command that installs those packages, and all that they need, anew."""
    pins = [f"{package}=={version(package)}" if version(package) else package for package in packages]
    return f"pip install --force-reinstall {' '.join(pins)}"


def remedy_for(problem: str, *packages: str) -> tuple[str, dict]:
    """The pip command that adds those packages; where the first is there, the problem, and the one that mends them."""
    if version(packages[0]):
        return "{problem}. To mend it: {command}", {"problem": problem.rstrip("."), "command": repair(*packages)}
    return "{command}", {"command": f"pip install {' '.join(packages)}"}
