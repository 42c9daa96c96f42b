"""Plant small faults in a room's code, one at a time, and list those that its tests do not see. Linux and macOS only.

    python tools/mutation.py clock                       a room: helpers/clock, by tests/clock
    python tools/mutation.py clock/timing.py             one file of it
    python tools/mutation.py gpu_model                   a package beside helpers, by the tests in its folder
    python tools/mutation.py clock/timing.py tests/clock/test_timing.py   by these tests only, which is quicker
    python tools/mutation.py --draw 50 --seed 1 clock    fifty of its faults, drawn at random: a room has thousands

mutmut plants them, in functions and methods that no decorator changes, and runs the tests that call the
function. It works in a copy of the checkout, build/mutants/, which is made anew. Its settings are in pyproject.toml.
"""

import argparse
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "mutants"
UNSEEN = ("survived", "no tests")  # what mutmut calls a fault that no test failed with, and one that no test came to
# All in one process, since it takes seconds to begin.
SHOW = """import sys
from mutmut.__main__ import cli
for name in sys.argv[1:]:
    cli(["show", name], standalone_mode=False)"""


def chosen(room: str) -> tuple[list[str], str]:
    """(the files that are changed; the tests of that room or package). ValueError: there is none of that name."""
    homes = {at.parent.name: (at.parent, ROOT / "tests" / at.parent.name) for at in ROOT.glob("helpers/*/__init__.py")}
    homes |= {at.parent.name: (at.parent, at) for at in ROOT.glob("packages/*/tests")}
    homes = {name: home for name, home in sorted(homes.items()) if home[1].exists()}
    name, _, file = room.rstrip("/").partition("/")
    code, tests = homes.get(name, (ROOT, ROOT))
    files = sorted(code.glob(file or "*.py")) if name in homes else []
    if not files:
        raise ValueError(f"there is no {room!r} with tests of its own; name one of {', '.join(homes)}, or a file of it")
    return [in_copy(one.relative_to(ROOT)) for one in files], in_copy(tests.relative_to(ROOT))


def in_copy(name: str | Path) -> str:
    """The place in the copy of a file of the checkout: mutmut knows packages in src/, as ours are in packages/."""
    return re.sub(r"^packages/", "src/", Path(name).as_posix())


def copy(change: list[str], tests: list[str]) -> None:
    """Make the copy of what git knows and of what it does not ignore, with settings for these files and tests."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (COPY / in_copy(name)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / in_copy(name))
    settings = f"only_mutate = {json.dumps(change)}\npytest_add_cli_args_test_selection = {json.dumps(tests)}\n"
    text = (COPY / "pyproject.toml").read_text("utf-8")
    (COPY / "pyproject.toml").write_text(text.replace("[tool.mutmut]\n", f"[tool.mutmut]\n{settings}"), "utf-8")


def python(*words: str) -> subprocess.CompletedProcess:
    """Run Python in the copy, so that it and all processes that the tests start import from there."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *words], cwd=COPY, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def verdicts(said: str) -> dict[str, str]:
    """{fault: what became of it}, from what `mutmut results --all true` prints."""
    lines = (line.strip().rpartition(": ") for line in said.splitlines())
    return {name: verdict for name, _, verdict in lines if "__mutmut_" in name}


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says. Returns the exit status: not 0 where the tests fail without any fault."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("room", help="a room, such as clock, a package beside helpers/, or a file in one")
    parser.add_argument("tests", nargs="*", help="the tests to run; those of the room by default")
    parser.add_argument("--draw", type=int, help="how many faults to try, drawn at random; all by default")
    parser.add_argument("--seed", type=int, default=0, help="which of them are drawn (0)")
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("mutmut") is None:
        parser.error("mutmut is not installed: python3 tools/install.py mutants")
    try:
        change, tests = chosen(options.room)
    except ValueError as error:
        parser.error(str(error))
    copy(change, [*map(in_copy, options.tests or [tests])])
    run, results = ("-m", "mutmut", "run", "--max-children", "1"), ("-m", "mutmut", "results", "--all", "true")
    drawn = []
    if options.draw is not None:
        python(*run, "none.of.them")  # it plants all faults and tries none
        planted = sorted(verdicts(python(*results).stdout))
        drawn = random.Random(options.seed).sample(planted, min(options.draw, len(planted)))
    ran = python(*run, *drawn)
    found = {name: said for name, said in verdicts(python(*results).stdout).items() if not drawn or name in drawn}
    if ran.returncode or not found:
        print(ran.stdout[-3000:])
        return 1
    print(python("-c", SHOW, *(name for name, verdict in found.items() if verdict in UNSEEN)).stdout)
    counts = ", ".join(f"{list(found.values()).count(verdict)} {verdict}" for verdict in dict.fromkeys(found.values()))
    print(f"{len(found)} faults tried in {options.room}: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
