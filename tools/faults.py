"""Plant one-token faults in the course's code, one at a time, and tell which test catches each. Linux and macOS only.

    python tools/faults.py reach            run all tests and pages once: which of them come to which line, how dear
    python tools/faults.py draw             draw faults on lines that they come to, in build/faults/drawn.json
    python tools/faults.py try 1 2 3        plant these of them, or all, in a copy of what is committed: rows of a table

A fault meets only tests that come to its line, the cheapest first, for five minutes of computing at most. Faults are in
functions: constants of a module, kernels, and what stands in an f-string are left as they are.
"""

import ast
import atexit
import contextlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from multiprocessing import connection
from pathlib import Path

ROOT = Path(os.environ.get("FAULTS_ROOT", Path(__file__).resolve().parent.parent))
DATA = Path(os.environ.get("FAULTS_DATA", ROOT / "build" / "faults"))
SEED = 66
GROUPS = {("helpers",): 40, ("packages/kernel_judge",): 20, ("packages/ptx_machine", "packages/cuda_without_gpu"): 20}
NUMBERS = 0.4  # of the numbers that could be another; else they would be a third of the faults
SECONDS = float(os.environ.get("FAULTS_SECONDS", 300))  # of computing, for one fault
SWAPS = ["< <=", "> >=", "== !=", "is is_not", "in not_in", "+ -", "* //", "<< >>", "& |", "and or", "+= -="]
SWAPS = {a: b.replace("_", " ") for one in SWAPS for a, b in (one.split(), one.split()[::-1])}
SWAPS |= {"not in": "in", "is not": "is", "%": "//", "/": "*", "**": "*", "*=": "+=", "//=": "*=", "^": "|"}
CALLS = [
    "any all",
    "min max",
    "startswith endswith",
    "lstrip rstrip",
    "partition rpartition",
    "floor ceil",
    "argmin argmax",
]
CALLS = {a: b for one in CALLS for a, b in (one.split(), one.split()[::-1])}
OPERATORS = r"not\s+in|is\s+not|<<=?|>>=?|[<>=!]=|//=?|\*\*|[-+*]=|[-+*/%<>&|^]|\b(?:is|in|and|or)\b"
COVER, FAILED, NOW = None, [], {}


def faults_of(text: str):
    """All faults of a module's text: (line, lines that a test may come to, begin, end, token)."""
    rows = text.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, rows))]

    def place(line, column):
        return starts[line - 1] + len(rows[line - 1].encode()[:column].decode())

    def visit(node, reach):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"):
            return  # places in the first are wrong before Python 3.12; in the other every fault is an error
        if isinstance(node, ast.stmt) and reach:
            reach = [node.lineno]
        if isinstance(node, ast.FunctionDef):
            reach = list(range(node.body[0].lineno, node.end_lineno + 1))  # of its defaults
        if reach and hasattr(node, "lineno"):
            begin, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
            own = [node.lineno] if node.lineno >= reach[0] else []  # a default stands above
            yield from ((node.lineno, [*own, *reach], *one) for one in of_node(node, begin, end))
        for name, field in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                for child in field if isinstance(field, list) else [field]:
                    if isinstance(child, ast.AST):
                        yield from visit(child, reach)

    def of_node(node, begin, end):
        parts = {ast.Compare: lambda: (node.left, *node.comparators), ast.BoolOp: lambda: node.values}
        parts |= {ast.BinOp: lambda: (node.left, node.right), ast.AugAssign: lambda: (node.target, node.value)}
        if type(node) in parts:
            for left, right in zip(parts[type(node)](), parts[type(node)]()[1:], strict=False):
                after, before = place(left.end_lineno, left.end_col_offset), place(right.lineno, right.col_offset)
                found = re.search(OPERATORS, text[after:before])
                if found and found[0] in SWAPS:
                    yield after + found.start(), after + found.end(), SWAPS[found[0]]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield begin, begin + 4, ""
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            yield begin, end, str(not node.value)
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield begin, end, str(node.value + 1)
        elif isinstance(node, ast.Name | ast.Attribute) and text[begin:end].split(".")[-1] in CALLS:
            name = text[begin:end].split(".")[-1]
            yield end - len(name), end, CALLS[name]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.slice) in ("0", "-1"):
            slice_at = place(node.slice.lineno, node.slice.col_offset)
            yield slice_at, end - 1, "-1" if ast.unparse(node.slice) == "0" else "0"
        elif isinstance(node, ast.Break | ast.Continue):
            yield begin, end, "continue" if isinstance(node, ast.Break) else "break"

    yield from visit(ast.parse(text), None)


def with_fault(text: str, fault: dict) -> str:
    """A module's text with a fault in it."""
    return text[: fault["begin"]] + fault["token"] + text[fault["end"] :]


def reached() -> tuple[dict, dict]:
    """({file: {line: its tests}}, {test: seconds of computing}), of tests that pass. A page is one test."""
    lines, seconds, failed = defaultdict(lambda: defaultdict(set)), defaultdict(float), set()
    for file in DATA.glob("reach/*.jsonl"):
        for said in map(json.loads, file.read_text().splitlines()):
            test = page_of(said["test"])
            seconds[test] += said.get("seconds", 0)
            failed |= {test} if said.get("failed") else set()
            for name, numbers in said["lines"].items():
                for number in numbers:
                    lines[name][number].add(test)
    for numbers in lines.values():
        for number, tests in numbers.items():
            numbers[number] = {test for test in tests - failed if "::" in test or test.endswith(".ipynb")}
    return lines, seconds


def draw() -> list[dict]:
    """Faults on lines that tests come to: as many of each group as `GROUPS` says, the same ones for the same seed."""
    lines, seconds = reached()
    drawn = []
    for folders, many in GROUPS.items():
        files = sorted(
            file for folder in folders for file in (ROOT / folder).rglob("*.py") if "tests" not in file.parts
        )
        found, chance = defaultdict(list), random.Random(SEED)
        for file in files:
            name, text = str(file.relative_to(ROOT)), file.read_text()
            for line, at, begin, end, token in faults_of(text):
                tests = next((lines[name][one] for one in at if lines[name].get(one)), set())
                if tests and (not text[begin:end].isdigit() or chance.random() < NUMBERS):
                    ordered = sorted(tests, key=lambda test: (seconds[test], test))
                    found[name, line].append(
                        dict(file=name, line=line, begin=begin, end=end, token=token, tests=ordered)
                    )
        places, taken = sorted(found), []
        chance.shuffle(places)
        for place in places[: 2 * many]:
            fault, text = chance.choice(found[place]), (ROOT / place[0]).read_text()
            if len(taken) < many and ast.dump(ast.parse(with_fault(text, fault))) != ast.dump(ast.parse(text)):
                taken.append(fault)  # a word of a comment is no fault
        drawn += taken
    return drawn


# --- in the processes of the tests: pytest's -p faults, and sitecustomize in all of them -----------------------------


def watch() -> None:
    """Note from here on which lines this process comes to. What will be killed writes before it answers."""
    global COVER
    import coverage

    places = [f"{ROOT}/helpers/*", f"{ROOT}/packages/*"]
    COVER = coverage.Coverage(data_file=None, config_file=False, messages=False, include=places)
    COVER.start()
    atexit.register(dump)
    os.register_at_fork(after_in_child=lambda: COVER.get_data().erase())
    send = connection.Connection.send

    def send_after(self, what):
        if not isinstance(what, tuple) or what[:1] != ("begun",):
            dump()
        send(self, what)

    connection.Connection.send = send_after


def dump(test: str | None = None, **more) -> None:
    """Write which lines this process has come to since the last time, as lines of that test."""
    data = COVER.get_data()
    lines = {os.path.relpath(name, ROOT): sorted(data.lines(name)) for name in data.measured_files()}
    data.erase()
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0] if test is None else test
    if lines or more:
        with (DATA / "reach" / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps({"test": test, "lines": lines, **more}) + "\n")


def computed() -> float:
    """Seconds that this process and its children have computed, and those of theirs that ended."""
    import psutil

    spent = 0.0
    for one in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            spent += sum(one.cpu_times()[:4])
    return spent


def pytest_collection_modifyitems(items):
    """Of a plan, its tests in its order; what has no plan runs all."""
    if "FAULTS_PLAN" in os.environ:
        plan = {test: place for place, test in enumerate(json.loads(Path(os.environ["FAULTS_PLAN"]).read_text()))}
        places = [plan.get(page_of(item.nodeid)) for item in items]
        chosen = sorted((place, i) for i, place in enumerate(places) if place is not None)
        items[:] = [items[i] for _, i in chosen]


def pytest_runtest_call(item):
    """A page writes its lines after each cell."""
    if COVER and hasattr(item, "cell"):
        code = "import faults; get_ipython().events.register('post_run_cell', lambda said: faults.dump())"
        once = f"'faults' in globals() or exec({code!r})"
        item.parent.kernel.kc.execute(once, silent=True)


def pytest_runtest_logreport(report):
    """Which tests fail, and which have run."""
    if report.failed:
        FAILED.append(report.nodeid)


def pytest_runtest_protocol(item):
    """Note what each test costs, and end where the time is over."""
    NOW.update(test=item.nodeid, begun=computed())
    if COVER:
        dump("")
    if "FAULTS_PLAN" in os.environ:
        with Path(os.environ["FAULTS_PLAN"] + ".ran").open("a") as file:
            file.write(f"{NOW['begun']:.1f} {item.nodeid}\n")
        if NOW["begun"] > SECONDS:
            item.session.shouldstop = "no time is left"


def pytest_runtest_logfinish(nodeid):
    """Write the lines of a test."""
    if COVER:
        dump(nodeid, seconds=computed() - NOW["begun"], failed=nodeid in FAILED)


def page_of(test: str) -> str:
    """A test's name; of a page's cell the page's."""
    return re.sub(r"(\.ipynb)::.*", r"\1", test)


# --- the three commands ----------------------------------------------------------------------------------------------


def tests_command(*words: str) -> list[str]:
    """How tests are run: in one process."""
    return [
        "nice",
        "-n",
        "15",
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "faults",
        "-n",
        "0",
        "-o",
        f"cache_dir={DATA}/cache",
        *words,
    ]


def environment(root: Path, **more: str) -> dict[str, str]:
    """Under which Python imports from a checkout."""
    paths = [*filter(None, [more.pop("first", "")]), root, root / "packages", root / "tools"]
    kept = {"CUDA_WITHOUT_GPU_CACHE": str(DATA / "kept"), "FAULTS_DATA": str(DATA), "FAULTS_ROOT": str(root)}
    return os.environ | kept | {"PYTHONPATH": os.pathsep.join(map(str, paths))} | more


def reach(*words: str) -> None:
    """Run all tests and pages, or these, and note their lines."""
    (DATA / "reach").mkdir(parents=True, exist_ok=True)
    (DATA / "site").mkdir(exist_ok=True)
    (DATA / "site" / "sitecustomize.py").write_text("import faults\n\nfaults.watch()\n")
    subprocess.run(tests_command("--durations", "0", *words), cwd=ROOT, env=environment(ROOT, first=str(DATA / "site")))


def plant(number: int, fault: dict, copy: Path) -> str:
    """Try one fault in a copy of the checkout. Returns a row of the table."""
    file, text = copy / fault["file"], (ROOT / fault["file"]).read_text()
    plan = DATA / f"plan-{number}.json"
    ran = Path(f"{plan}.ran")
    had = tests_of(ran)[:-1]  # from a try before, whose time was over in the last one
    left = [test for test in fault["tests"] if test not in had]
    plan.write_text(json.dumps(left))
    ran.unlink(missing_ok=True)
    before, after = line_of(text, fault), line_of(with_fault(text, fault), fault)
    file.write_text(with_fault(text, fault))
    files = sorted({test.partition("::")[0] for test in left})
    with (DATA / f"said-{number}.txt").open("w") as said:
        process = subprocess.Popen(
            tests_command("-x", *files),
            cwd=copy,
            env=environment(copy, FAULTS_PLAN=str(plan)),
            stdout=said,
            stderr=said,
        )
        spent = watched(process)
    file.write_text(text)
    said = Path(said.name).read_text()
    tests = tests_of(ran)
    spent = max(
        [spent, *(float(line.partition(" ")[0]) for line in ran.read_text().splitlines()[-1:])] if tests else [spent]
    )
    failed = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, re.MULTILINE)
    ended = "no time is left" in said
    passed = [*dict.fromkeys([*had, *(tests[:-1] if ended else tests)])]
    ran.write_text("".join(f"0 {test}\n" for test in [*passed, *tests[-1:]]))
    verdict = f"*lived* ({len(passed)} of {len(fault['tests'])} tests had run)"
    if process.returncode < 0 and spent < SECONDS + 30:
        verdict = f"ended by a signal in `{(tests or ['the start'])[-1]}`"
    elif process.returncode < 0:
        verdict = f"hangs, or has no time left, in `{(tests or ['the start'])[-1]}`"
    elif failed or process.returncode not in (0, 2, 5):
        verdict = f"`{(failed or tests or ['the start'])[-1]}`"
    return f"| {number} | {fault['file']}:{fault['line']} | `{before}` -> `{after}` | {verdict} | {spent:.0f} |"


def watched(process) -> float:
    """Wait for a process, and end it and its children where it computes for too long. Returns the seconds computed."""
    import psutil

    spent, begun = 0.0, time.monotonic()
    while process.poll() is None:
        time.sleep(0.5)
        with contextlib.suppress(psutil.Error):
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            spent = sum(sum(one.cpu_times()[:4]) for one in family)
            if spent > SECONDS + 30 or time.monotonic() - begun > 4 * SECONDS:
                for one in family:
                    with contextlib.suppress(psutil.Error):
                        one.kill()
    return spent


def tests_of(ran: Path) -> list[str]:
    """The tests that have run, and the one at which it ended."""
    return (
        [*dict.fromkeys(page_of(line.partition(" ")[2]) for line in ran.read_text().splitlines())]
        if ran.exists()
        else []
    )


def line_of(text: str, fault: dict) -> str:
    """The line with the fault."""
    return text.splitlines()[fault["line"] - 1].strip().replace("|", "\\|")


def main() -> None:
    """Do what the command line says."""
    command, *words = sys.argv[1:]
    if command == "reach":
        reach(*words)
    elif command == "draw":
        (DATA / "drawn.json").write_text(json.dumps(draw(), indent=1))
    else:
        drawn = json.loads((DATA / "drawn.json").read_text())
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            copy = Path(folder) / "course"
            subprocess.run(["git", "clone", "-q", "--shared", ROOT, copy], check=True)
            for number in map(int, words or range(1, len(drawn) + 1)):
                row = plant(number, drawn[number - 1], copy)
                print(row, flush=True)
                with (DATA / "rows.md").open("a") as rows:
                    rows.write(row + "\n")


if __name__ == "__main__":
    main()
