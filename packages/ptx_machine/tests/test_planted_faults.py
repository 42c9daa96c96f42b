"""Twenty-four right kernels: no finding. Without one of their barriers, waits, fences or initial stores: a finding.

planted/kernels.cu has their source. What is taken out, is taken out of their PTX, one line at a time.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import ptx_machine

HEAD, *PARTS = re.split(
    r"(?=\.visible \.entry)", (Path(__file__).parent / "planted" / "kernels.ptx").read_text(encoding="utf-8")
)
KERNELS = {re.search(r"\.entry (\w+)", part)[1]: part for part in PARTS}
ORDERING = re.compile(r"(?:@!?%p\d+ )?(?:bar|barrier|membar|fence|cp\.async\.wait|ld\.acquire|st\.release)\b")
# What is not needed: (kernel, which of its lines that are taken out, from 0)
NEEDLESS = {("mean_and_spread", 3): "between it and the next barrier each thread touches its own element only"}


def ran(text, name):
    a = np.random.default_rng(3).permutation(1024).astype(np.float32) / 1024
    a.flags.writeable = False
    args = [a, np.zeros(1024, np.float32), np.zeros(64, np.int32)]
    return ptx_machine.run(HEAD + text, (3,), (64,), args, name, shared=256 * (name == "reversed"), seconds=60)


def faults(text):
    """The same text without each line that orders threads, and without the first store to shared memory."""
    lines, stored = text.split("\n"), False
    for number, line in enumerate(lines):
        first = "st.shared" in line and not stored
        stored |= first
        if first or ORDERING.match(line.strip()):
            relaxed = re.sub("acquire|release", "relaxed", line)
            yield line.strip(), "\n".join([*lines[:number], relaxed if relaxed != line else "", *lines[number + 1 :]])


@pytest.mark.parametrize("name", KERNELS)
def test_a_right_kernel_is_clean_and_what_is_taken_out_is_missed(name):
    right = ran(KERNELS[name], name)
    assert right, right
    for number, (line, text) in enumerate(faults(KERNELS[name])):
        run = ran(text, name)
        if (name, number) in NEEDLESS:
            assert run and all(map(np.array_equal, run.arrays, right.arrays)), (number, line)
        else:
            assert {one.kind for one in run.findings} & {"race", "uninitialised"}, (number, line)
