"""What takes long to make, such as SPIR-V and a device's code, is kept on disk for the next process."""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import re
from collections.abc import Callable
from pathlib import Path

import platformdirs


def folder() -> Path:
    """Where it is kept; CUDA_WITHOUT_GPU_CACHE names another folder."""
    chosen = os.environ.get("CUDA_WITHOUT_GPU_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("cuda_without_gpu", appauthor=False)


def kept(key: str, make: Callable[[], bytes]) -> bytes:
    """What is kept under that key, or what `make` returns, which is kept from then on."""
    with contextlib.suppress(OSError):
        return read(key)
    made = make()
    keep(key, made)
    return made


def read(key: str) -> bytes:
    """What is kept under that key. Raises OSError where nothing is."""
    file = folder() / key
    found = file.read_bytes()
    file.touch()
    return found


def keep(key: str, made: bytes) -> None:
    """Keep it under that key, if the folder can be written, and of all that is there what was used last."""
    file = folder() / key
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        begun = file.with_name(f"{key}.{os.getpid()}")
        begun.write_bytes(made)
        begun.replace(file)
        for unused in sorted(file.parent.glob("?" * 64 + "*"), key=lambda one: one.stat().st_mtime)[:-2000]:
            unused.unlink()


def key_of(*parts: object) -> str:
    """A name for a file, from all that decides what is in it."""
    return hashlib.sha256(repr((versions(), *parts)).encode()).hexdigest()


@functools.cache
def versions() -> tuple[str, ...]:
    """What makes SPIR-V: llvmlite, and the code of this package."""
    sources = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.[pl][yl]")))
    return importlib.metadata.version("llvmlite"), hashlib.sha256(sources).hexdigest()


def without_counters(texts: tuple[str, ...], entry: str) -> tuple[str, ...]:
    """LLVM's texts and the kernel's name, without Numba's counts of functions, and lines of the source."""
    numbers = {}
    count = re.compile(r"(?<=B)\d+v\d+(?=B)")
    lines = re.compile(r"^[!;].*\n|, !dbg !\d+", re.MULTILINE)

    def renumbered(text):
        return count.sub(lambda at: f"v{numbers.setdefault(at[0], len(numbers))}", text)

    return tuple(lines.sub("", renumbered(text)) for text in (entry, *texts))
