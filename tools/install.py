"""Install the course into .venv, at the versions that were tested: python3 tools/install.py [lab test many …]

It needs nothing but Python. The words behind it are extras of pyproject.toml; without any, `lab`. With `lab` comes
NVIDIA's compiler, as this machine's driver wants it, unless --small is given. pip brings uv, and uv brings the rest.
It says what is still to come, and on failure, in one line, the cause and the remedy. An old Python has to read this
file as far as its refusal, so it is written without newer words.
"""

import argparse
import ctypes
import difflib
import importlib.util
import os
import platform
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "tools" / "locks"
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
GIGABYTES = 2.4  # the extra `lab` and the compiler on Linux x86-64, unpacked; elsewhere it is less
SPEAKS_EVERY = 5  # seconds
# What each extra brings, and the megabytes that it downloads on Linux x86-64.
EXTRAS = {
    "lab": ("JupyterLab, and all that the pages need but what follows", 470),
    "cuda13": ("NVIDIA's compiler, for pages 04 to 07, 09, 10, 14, 17, 18, and what Numba needs of an NVIDIA GPU", 231),
    "cuda12": ("the same, for a driver older than CUDA 13", 231),
    "many": ("MPI and Dask, for page 15", 18),
    "blocks": ("Triton, for page 18; Linux x86-64", 286),
    "cutile": ("cuTile, for page 18; Linux x86-64; beside NVIDIA's compiler, 42 MB of it", 215),
    "successor": ("numba-cuda-mlir, numba-cuda's successor, for page 14 and the tests of cuda_without_gpu", 266),
    "web": ("Sphinx, for the web book", 60),
    "room": ("JupyterHub, one server for a class", 20),
    "test": ("what the tests need", 60),
}
MEGABYTES = {"KiB": 2**10 / 1e6, "MiB": 2**20 / 1e6, "GiB": 2**30 / 1e6}


class Failed(Exception):
    """The install cannot go on. Its text is one line: the cause and the remedy."""


def promised():
    """The oldest Python that the course promises to work with, and the first that it does not: (3, 11, 2), (3, 15)."""
    setting = re.search(r'requires-python = ">=([\d.]+),<([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    oldest, beyond = (tuple(map(int, version.split("."))) for version in setting.groups())
    return oldest, beyond


def is_promised(version) -> bool:
    """Whether the course promises to work with this version of Python, such as (3, 12, 1)."""
    oldest, beyond = promised()
    return oldest <= tuple(version) < beyond


def refuse_what_cannot_work() -> None:
    """Raise Failed before anything is written, if this Python, this machine or this disk cannot hold the course.

    A .venv that works needs nothing of the Python that calls this.
    """
    has_to_be_made = bool(fault_of_venv())
    if has_to_be_made and not is_promised(sys.version_info[:3]):
        oldest, beyond = promised()
        names = [".".join(map(str, version)) for version in (oldest, (beyond[0], beyond[1] - 1))]
        raise Failed(
            f"the course needs Python {names[0]} to {names[1]}, and {sys.executable} is {platform.python_version()}. "
            f"Name another: make lab PYTHON=python3.12 (on Windows: py -3.12 tools\\install.py)"
        )
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        raise Failed(
            "Numba is no longer built for Intel's Macs. VS Code and any Jupyter show the pages in notebooks/ as they "
            "are stored; a virtual machine with Linux runs them"
        )
    if has_to_be_made and importlib.util.find_spec("ensurepip") is None:
        raise Failed(
            "this Python cannot make virtual environments. On Debian and Ubuntu: sudo apt install python3-venv"
        )
    if not os.access(ROOT, os.W_OK):
        raise Failed(f"{ROOT} cannot be written by you. Copy the course's folder to a place of your own, and go there")
    free = shutil.disk_usage(ROOT).free / 1e9
    if not VENV.exists() and free < GIGABYTES:
        raise Failed(
            f"no space: the course takes {GIGABYTES} GB in {VENV}, and {free:.1f} GB are free. Make room there"
        )


def make_venv() -> bool:
    """Make .venv with this Python and bring uv into it. Returns whether it replaced a .venv that was there.

    One that works is kept, whichever Python made it: more than this call names may be installed there.
    """
    fault = fault_of_venv()
    replaces = bool(fault) and VENV.exists()
    if replaces:
        print(f"{VENV} {fault}: it is made anew.", flush=True)
        shutil.rmtree(VENV)
    if fault:
        print(f"Making {VENV} with Python {platform.python_version()}.", flush=True)
        run([sys.executable, "-m", "venv", str(VENV)], "making the environment")
    uv = next(line for line in (LOCKS / "constraints.txt").read_text("utf-8").splitlines() if line.startswith("uv=="))
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "-q", uv]
    run(pip, "getting the installer, uv (18 MB)")
    return replaces


def fault_of_venv():
    """Why the course cannot be installed into .venv as it is; None if it can."""
    asked = "import sys; print(*sys.version_info[:3]); sys.stdout.flush(); import pip"
    try:
        python = subprocess.Popen([str(PYTHON), "-c", asked], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return "has no Python that starts"
    version = tuple(map(int, python.communicate()[0].split()))
    if not version:
        return "has no Python that starts"
    if not is_promised(version):
        return f"has Python {'.'.join(map(str, version))}, which the course does not work with"
    return "is incomplete, as after an interrupt" if python.returncode else None


def compiler_for_this_machine():
    """The extra that brings NVIDIA's compiler as the driver wants it, in a list; none on macOS, as it has none."""
    if sys.platform == "darwin":
        return []
    version = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        driver.cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):  # there is no driver, and any compiler will do
        pass
    return ["cuda12"] if 0 < version.value < 13000 else ["cuda13"]


def install(extras) -> None:
    """Install the course and these extras, at the pinned versions."""
    pins = "constraints-cuda12.txt" if "cuda12" in extras else "constraints.txt"
    print(
        f"Installing the course into .venv, at the versions of tools/locks/{pins}:",
        *map(row, extras),
        sep="\n",
        flush=True,
    )
    command = [str(PYTHON), "-m", "uv", "pip", "install", "--python", str(PYTHON), "--compile-bytecode"]
    run([*command, "-c", str(LOCKS / pins), "-e", f"{ROOT}[{','.join(extras)}]"], "installing", settings_of_uv())
    # IPython runs what lies there as a notebook's Python begins.
    startup = VENV / "etc" / "ipython" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "tools" / "begun_anew.py", startup)


def row(extra):
    """A line of what an extra brings, and downloads."""
    what, size = EXTRAS[extra]
    return f"  {extra:8} {size:4} MB  {what}"


def settings_of_uv():
    """What uv is told by environment variables: the system's certificates, and the place where pip is told to look.

    Many readers have a mirror near them in pip's settings, which uv does not read.
    """
    python = str(PYTHON) if PYTHON.exists() else sys.executable
    listing = subprocess.run([python, "-m", "pip", "config", "list"], stdout=subprocess.PIPE).stdout
    given = dict(re.findall(r"^[\w:]*[.]([\w-]+)='(.*)'$", listing.decode(errors="replace"), re.MULTILINE))
    found = {"UV_SYSTEM_CERTS": "true", "UV_DEFAULT_INDEX": given.get("index-url", "https://pypi.org/simple/")}
    return {name: os.environ.get(name, value) for name, value in found.items()}


def run(command, doing, settings=None) -> None:
    """Run one command and say every few seconds that it lives; raise Failed, with its own words above, if it fails."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, errors="replace",
        env={**os.environ, **(settings or {})},
    )  # fmt: skip
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line.rstrip())
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    said, downloads, spoke = [], Downloads(), time.monotonic()
    try:
        while True:
            try:
                line = lines.get(timeout=SPEAKS_EVERY)
                if line is None:
                    break
                said.append(line)
                downloads.note(line)
            except queue.Empty:
                pass
            if time.monotonic() - spoke >= SPEAKS_EVERY:
                print(f"  {downloads.left() or f'still {doing}'}", flush=True)
                spoke = time.monotonic()
    except KeyboardInterrupt:
        process.terminate()
        raise Failed("stopped. The same command goes on where it stopped") from None
    if process.wait():
        errors = [number for number, line in enumerate(said) if line.lower().startswith("error:")]
        print(*(f"  | {line}" for line in said[errors[0] if errors else -3 :]), sep="\n", flush=True)
        raise Failed(f"while {doing}: {cause(said)}")


class Downloads:
    """What uv has said of its downloads: "Downloading scipy (33.7MiB)", and later "Downloaded scipy"."""

    def __init__(self):
        self.all, self.waiting = {}, {}

    def note(self, line: str) -> None:
        """Take in one line of uv's."""
        begun = re.match(r"\s*Downloading (\S+) \(([\d.]+)([KMG]iB)\)", line)
        if begun:
            self.all[begun[1]] = self.waiting[begun[1]] = float(begun[2]) * MEGABYTES[begun[3]]
        ended = re.match(r"\s*Downloaded (\S+)", line)
        if ended:
            self.waiting.pop(ended[1], None)

    def left(self) -> str:
        """What is left, such as "271 of 530 MB still to come: intel-opencl-rt (225 MB), …"; empty if nothing is."""
        if not self.waiting:
            return ""
        largest = sorted(self.waiting, key=self.waiting.get, reverse=True)
        some = ", ".join(f"{name} ({self.waiting[name]:.0f} MB)" for name in largest[:3]) + ", …" * (len(largest) > 3)
        return f"{sum(self.waiting.values()):.0f} of {sum(self.all.values()):.0f} MB still to come: {some}"


def cause(said) -> str:
    """What is the matter, found by trying, and what helps; `said` is what the command printed."""
    if any("No space left" in line or "os error 28" in line for line in said):
        free = shutil.disk_usage(ROOT).free / 1e9
        return f"no space: {free:.1f} GB are left for {VENV}; the lines above name the file. Make room, and try again"
    where = settings_of_uv()["UV_DEFAULT_INDEX"]
    try:
        urllib.request.urlopen(where, timeout=10).close()
    except urllib.error.HTTPError:
        pass  # it answered
    except OSError as error:
        reason = getattr(error, "reason", error)
        return f"no network: {where} cannot be reached ({reason}). When it can, give the same command again"
    return "the lines above say why. If they do not help: make clean, and the same command again"


def refuse_unknown(words) -> None:
    """Raise Failed for a word that is no extra, with the nearest one and the list of those there are."""
    for word in words:
        if word not in EXTRAS:
            near = difflib.get_close_matches(word, EXTRAS, n=1)
            mean = f" Did you mean {near[0]}?" if near else ""
            raise Failed(f"there is no {word!r}.{mean} There are: {', '.join(EXTRAS)}; --help says what each brings")


def main() -> int:
    """Install what the command line names. Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="\n".join(["what there is, and what it downloads:", *map(row, EXTRAS)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("extras", nargs="*", default=["lab"], help="what to install (without any: lab)")
    parser.add_argument("--small", action="store_true", help="leave out NVIDIA's compiler, which comes with lab")
    options = parser.parse_args()
    extras = options.extras
    try:
        refuse_unknown(extras)
        refuse_what_cannot_work()
        if make_venv() and "lab" not in extras:
            extras = ["lab", *extras]  # what was in it before is not known; the extras are used beside `lab`
        if "lab" in extras and not options.small and not {"cuda12", "cuda13"} & {*extras}:
            extras = [*extras, *compiler_for_this_machine()]
        install(extras)
    except Failed as failed:
        print(f"Not installed: {failed}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Not installed: stopped. The same command goes on where it stopped.", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"Not installed: {error}. Mend that, and give the same command again.", file=sys.stderr)
        return 1
    print("Installed.", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
