"""What the README shows of a test that fails, with no GPU, is what pytest says. Its ten lines: tests/test_alone.py."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_readmes_race_fails_its_test(tmp_path):
    blocks = re.findall(r"```(?:py|text)\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    _, settings, test, expected = blocks
    (tmp_path / "conftest.py").write_text(settings)
    (tmp_path / "test_fold.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    said = re.sub(r"^E +(?:\w+\.)*", "", done.stdout, flags=re.MULTILINE)
    for line in expected.splitlines():
        assert line.strip() in said, done.stdout + done.stderr
