"""A right answer is right in any ordinary style: `progress` finds it wherever a learner has put what it needs."""

import json
from dataclasses import replace

import pytest
from solved import stubs_and_solutions

from helpers.classroom import EXERCISES, homework, progress
from helpers.classroom.homework import answer_of
from helpers.sandbox import Outcome

BOTH = stubs_and_solutions()
PROSE = None  # a cell of prose
# Each style: (exercise, the page's cells down to the answer). HERE is the line that marks the exercise's own cell.
HERE = "# Exercise\n"
CHECK = '\ncheck_answer("multiply_adds", multiply_adds)\n'
SECTORS = "return len({4 * i * stride // 32 for i in range(32)})"
LINES = """const size_t row = get_global_id(0);
const size_t col = get_global_id(1);
if (row < M && col < N) {
    float acc = 0.0f;
    for (int k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
}"""

STYLES = {
    "a lambda": ("00.1", HERE + "multiply_adds = lambda M, N, K: M * N * K" + CHECK),
    "import *": ("00.1", HERE + "from math import *\ndef multiply_adds(*sides):\n    return prod(sides)" + CHECK),
    "import * in the first cell": (
        "00.1",
        "from math import *\nfrom helpers.judge import check_answer",
        HERE + "def multiply_adds(*sides):\n    return prod(sides)" + CHECK,
    ),
    "a helper in a cell above": (
        "00.1",
        "def volume(sides):\n    M, N, K = sides\n    return M * N * K",
        PROSE,
        HERE + "def multiply_adds(M, N, K):\n    return volume((M, N, K))" + CHECK,
    ),
    "a helper of a helper, in two cells above": (
        "00.1",
        "from functools import reduce\nimport operator as op",
        "times = lambda values: reduce(op.mul, values)",
        HERE + "def multiply_adds(*sides):\n    return times(sides)" + CHECK,
    ),
    "a helper below its use": (
        "00.1",
        HERE + "def multiply_adds(*s):\n    return product(s)\ndef product(s):\n    return s[0] * s[1] * s[2]" + CHECK,
    ),
    "a condition": ("00.1", HERE + "if True:\n    def multiply_adds(M, N, K):\n        return M * N * K" + CHECK),
    "try and except": (
        "00.1",
        HERE + "try:\n    from math import prod\nexcept ImportError:\n    prod = None\n"
        "def multiply_adds(*s):\n    return prod(s)" + CHECK,
    ),
    "%%timeit": ("00.1", "%%timeit -n 1\n" + HERE + "def multiply_adds(M, N, K):\n    return M * N * K" + CHECK),
    "%%time below the mark": ("00.1", HERE + "%%time\ndef multiply_adds(M, N, K):\n    return M * N * K" + CHECK),
    "magics and a shell": (
        "00.1",
        "%matplotlib inline\n!echo hello\n%load_ext autoreload\n%time ONE = 1",
        HERE + "%time zero = 0\nls = !ls\ndef multiply_adds(M, N, K):\n    return M * N * K * ONE + zero\n"
        "%timeit multiply_adds(1, 2, 3)\nmultiply_adds?" + CHECK,
    ),
    "a table that is filled": (
        "00.1",
        HERE + 'cache = {}\ncache["unit"] = 1\ncache["list"] = []\ncache["list"].append(0)\n'
        'def multiply_adds(M, N, K):\n    return M * N * K * cache["unit"] + cache["list"][0]' + CHECK,
    ),
    "a table that is filled below": (
        "00.1",
        HERE + 'cache = {}\ndef multiply_adds(*s):\n    return s[0] * s[1] * s[2] * cache["unit"]\n'
        "cache.update(unit=1)" + CHECK,
    ),
    "a decorator": (
        "00.1",
        "from functools import lru_cache",
        HERE + "@lru_cache(maxsize=None)\ndef multiply_adds(M: int, N: int, K: int = 1) -> int:\n"
        '    """Each element takes K."""\n    return M * N * K' + CHECK,
    ),
    "a class": (
        "00.1",
        HERE + "class Product:\n    unit = 1\n    def __call__(self, M, N, K):\n        return M * N * K * self.unit\n"
        "multiply_adds = Product()" + CHECK,
    ),
    "a call that changes its argument": (
        "00.1",
        HERE + "def fill(units):\n    units.append(1)\nunits = []\nfill(units)\n"
        "def multiply_adds(M, N, K):\n    return M * N * K * units[0]" + CHECK,
    ),
    "two cells, the second after the hints": (
        "00.1",
        HERE + BOTH["00.1"][0],
        PROSE,
        "def multiply_adds(M, N, K):\n    return M * N * K" + CHECK,
    ),
    "a stub that was kept below": (
        "00.1",
        HERE + "def multiply_adds(M, N, K):\n    return M * N * K" + CHECK,
        HERE + BOTH["00.1"][0],
    ),
    "a cell that is no Python beside it": (
        "00.1",
        HERE + "def multiply_adds(M, N, K):\n    return M * N * K" + CHECK,
        "M times N times K, as in the picture",
    ),
    "a cell of one's own in the stub's place": (
        "00.1",
        PROSE,
        "def multiply_adds(M, N, K):\n    return M * N * K" + CHECK,
    ),
    "the last lines fail": (
        "00.1",
        HERE + "def multiply_adds(M, N, K):\n    return M * N * K" + CHECK + "import sys\nsys.exit()\nundefined",
    ),
    "text that is executed": ("00.1", HERE + 'exec("def multiply_adds(*s): return s[0] * s[1] * s[2]")' + CHECK),
    "a name made from text": (
        "00.1",
        "def product(M, N, K):\n    return M * N * K",
        HERE + 'globals()["multiply_adds"] = product' + CHECK,
    ),
    "a constant in a cell above": (
        "01.1",
        "BYTES = 4\nALL = 3",
        HERE + "def size_at_the_ridge(ridge):\n    return ALL * BYTES * ridge / 2",
    ),
    "another name for it": ("03.1", HERE + f"def touched(stride):\n    {SECTORS}\nsectors_touched = touched"),
    "a module imported inside": (
        "06.1",
        HERE + "def largest_side(registers):\n    from math import isqrt as root\n    return root(registers + 1) - 1",
    ),
    "a partial": ("12.1", HERE + "from functools import partial\nimport operator\nfewest_sums = partial(operator.mul)"),
    "match": (
        "07.2",
        HERE + "def trap(stack, spilled, fma, whole):\n    match bool(spilled), bool(stack), 2 * whole > fma:\n"
        "        case True, _, _:\n            return 1\n        case _, True, _:\n            return 2\n"
        "        case _, _, True:\n            return 3\n        case _:\n            return 0",
    ),
    "a bool of NumPy's": (
        "11.1",
        HERE + "most = np.array([1024, 49152])\ndef fits(BM, BN, BK, TM, TN):\n"
        "    return np.all(np.array([BM // TM * (BN // TN), 8 * BK * (BM + BN + 4)]) <= most)",
    ),
    "nested functions": (
        "13.1",
        HERE + "def least_seconds(M, N, K, flops, bandwidth):\n    times = []\n    def add(amount, rate):\n"
        "        times.append(amount / rate)\n    add(2 * M * N * K, flops)\n"
        "    add(4 * (M * K + K * N + M * N), bandwidth)\n    return max(times)",
    ),
    "an import in a cell of its own": (
        "15.1",
        PROSE,
        "from numpy import matmul",
        PROSE,
        HERE + "def panel_step(me, k0, k1, left, top):\n    a, b = k0 - me.of_A[left], k0 - me.of_B[top]\n"
        "    A = me.row.bcast(me.A[:, a : a + k1 - k0], left)\n"
        "    me.C += matmul(A, me.column.bcast(me.B[b : b + k1 - k0], top))",
    ),
    "lines.append": (
        "02.2",
        HERE + 'lines = []\nfor line in LINES.split("\\n"):\n    lines.append(line)\nmine = "\\n".join(lines)',
        "",
    ),
    "pieces put together": (
        "02.2",
        HERE + 'mine = ""\nhead, *rest = LINES.splitlines()\nmine += head\n'
        'for line in rest:\n    mine += "\\n" + line\n'
        'print(opencl_kernel(with_part("OpenCL", "naive", (1, 3), mine), like="naive"))',
    ),
    "dedented": (
        "02.2",
        "from textwrap import dedent, indent",
        HERE + 'mine = dedent(indent(LINES, "    "))\ncheck(opencl_kernel(with_part("OpenCL", "naive", (1, 3), mine)))',
    ),
    "formatted": (
        "02.2",
        HERE + 'A_HERE = "A[row * K + k]"\nmine = f"{LINES.replace(A_HERE, chr(0))}".replace(chr(0), A_HERE)',
    ),
    "two thousand pieces added up": ("02.2", HERE + 'mine = ""' + ' + ""' * 2000 + " + LINES"),
    "an assignment in a call": ("02.2", HERE + "print(mine := LINES)"),
    "a file": (
        "02.2",
        "from pathlib import Path",
        HERE + 'Path("mine.cl").write_text(LINES)\nmine = Path("mine.cl").read_text()',
    ),
    "a file in a with": (
        "02.2",
        HERE + 'with open("mine.cl", "w") as file:\n    file.write(LINES)\n'
        'with open("mine.cl") as file:\n    mine = file.read()',
    ),
    "a dict that is filled": ("05.1", HERE + 'choice = {}\nchoice["BM"] = 128\nchoice.update(BN=64, TM=32)'),
    "filled below the hints": (
        "05.1",
        HERE + "choice = dict(BM=64, BN=64, TM=16)",
        PROSE,
        'choice["BM"], choice["TM"] = 128, 32',
    ),
    "two on a line": ("07.3", HERE + "TM = 4; TM = TM * 2; TN = 4"),
    "unpacked": ("07.3", HERE + "patch = 8, 4\n(TM, TN) = patch"),
    "a name for each cell": ("09.2", HERE + "PAD = 2", 'mine = "turned"'),
}


def wanted(label):
    """What the pages' solution binds the exercise's names to."""
    namespace = {"mine": LINES} if label == "02.2" else {"PAD": 2, "mine": "turned"}
    if label in ("05.1", "07.3"):
        exec(answer_of(BOTH[label][1], EXERCISES[label].names), namespace)
    return [namespace[name] for name in EXERCISES[label].names]


def written(path, label, cells):
    """A page with those cells, and with stubs of its other exercises, as a file."""
    text = {PROSE: ("markdown", "prose")}
    cells = [text.get(cell) or ("code", cell.replace(HERE, f"# Exercise {label}\n")) for cell in cells]
    if label == "02.2":
        cells.insert(0, ("code", f'LINES = """{LINES}"""'))
    cells += [("markdown", "more")]
    cells += [
        ("code", f"# Exercise {e.label}\n{BOTH[e.label][0]}")
        for e in EXERCISES.values()
        if e.page == label[:2] != e.label and e.label != label
    ]
    page = {"cells": [{"cell_type": kind, "source": source, "metadata": {}} for kind, source in cells]}
    path.write_text(json.dumps(page), encoding="utf-8")


@pytest.fixture
def in_this_process(monkeypatch):
    """Answers are run here, and kernels are right where the page's solution says the same: the style is on trial."""
    monkeypatch.setattr(
        homework, "apart", lambda task, what, seconds, trust, **given: Outcome(task(None, **given), [], "", False)
    )
    for label in ("02.2", "05.1", "09.2", "07.3"):
        right = wanted(label)

        def judge(*given, right=right, label=label):
            return homework.wishes(label, {f"{given} is {right}": list(given) == right})

        monkeypatch.setitem(EXERCISES, label, replace(EXERCISES[label], judge=judge))


@pytest.mark.parametrize("style", STYLES)
def test_a_right_answer_in_any_style_is_done(tmp_path, monkeypatch, in_this_process, style):
    monkeypatch.chdir(tmp_path)
    label, *cells = STYLES[style]
    written(tmp_path / f"{label[:2]}_page.ipynb", label, cells)
    rows = {row.exercise: row for row in progress(tmp_path).rows}
    assert rows.pop(label).state == "done"
    assert {row.state for row in rows.values()} <= {"not yet"}
    assert len(list(tmp_path.iterdir())) == 1, "an answer has written a file beside the page"
