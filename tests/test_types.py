"""What helpers exports has types, by which an editor completes a name and mypy refuses a wrong call."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WRONG = """\
from helpers import chekc  # [attr-defined]
from helpers import check, cuda_kernel, measure, traffic
from helpers.pictures import ladder_chart
k = cuda_kernel("tiled", TILE=[16])  # [arg-type]
cuda_kernel("tiled")(7, 8)  # [arg-type]
check(k).seconds  # [attr-defined]
measure(k, size=512, rounds="9")  # [call-arg]
measure(k).nothing  # [attr-defined]
traffic(k, 16, 16, "16")  # [arg-type]
ladder_chart()  # [call-arg]
"""


def code_of(page):
    """The page's code, without what only IPython understands."""
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return "from IPython.display import display\n" + re.sub(r"^[%!].*$", "", code, flags=re.MULTILINE)


def test_each_page_calls_what_there_is_and_a_wrong_call_is_refused(tmp_path, tmp_path_factory):
    typed = tmp_path_factory.mktemp("typed")  # of the packages, that whose types pages meet
    (typed / "kernel_judge").symlink_to(ROOT / "packages" / "kernel_judge")
    for page in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        (tmp_path / f"page_{page.stem}.py").write_text(code_of(page), encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    faces = sorted(map(str, [ROOT / "helpers/__init__.py", *ROOT.glob("helpers/*/__init__.py")]))
    assert len(faces) > 4 and len(list(tmp_path.iterdir())) > 16
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", *faces, *tmp_path.iterdir()],
        cwd=ROOT,
        env=dict(os.environ, MYPYPATH=os.pathsep.join(map(str, (ROOT, typed)))),
        capture_output=True,
        text=True,
        timeout=600,
    )
    # What a dict with names of sizes may also hold, mypy cannot know.
    said = [line for line in done.stdout.splitlines() if '"**dict[' not in line and ": note:" not in line]
    wrong = {int(line.split(":")[1]): line[line.rindex("[") :] for line in said if "wrong.py:" in line}
    assert [line for line in said if "wrong.py:" not in line] == [] and not done.stderr
    marked = {number: line.split("# ")[1] for number, line in enumerate(WRONG.splitlines(), 1) if "# [" in line}
    assert wrong == marked
