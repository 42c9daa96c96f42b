"""A learner's lines take the place of a kernel's part, and of nothing else."""

import re

import pytest

from helpers import cuda_kernel, ladder, with_part
from helpers.launch.dialects import DIALECTS

EVERY_STEP = [(dialect, step) for dialect in DIALECTS for step in ladder.steps(dialect)]


@pytest.mark.parametrize("dialect, step", EVERY_STEP)
def test_each_part_of_a_kernel_can_be_replaced(dialect, step):
    source = DIALECTS[dialect].source_of(step)
    last = int(max(re.findall(r"(?:#|//) (\d)\. ", source)))
    together = [(1, min(last, 4)), (2, 3)] if step in ladder.rungs() and step != "packed" else []
    for parts in [*range(1, last + 1), *together]:
        head, gap, tail = with_part(dialect, step, parts, "@gap@").partition("@gap@\n")
        assert gap and source.startswith(head.rstrip(" ")) and source.endswith(tail)
        own = source[len(head.rstrip(" ")) : len(source) - len(tail)]
        first = parts[0] if isinstance(parts, tuple) else parts
        assert f" {first}. " in own.split("\n")[0] and with_part(dialect, step, parts, own) == source


def test_lines_have_the_depth_of_their_part():
    source = with_part("CUDA", "tiled", (3, 4), "  pass\n  if x:\n    pass")
    before, *_ = cuda_kernel("tiled").source.partition("            # 3. ")
    assert source.startswith(f"{before}            pass\n            if x:\n              pass\n")


def test_a_part_ends_before_the_block_of_the_next_part():
    source = with_part("OpenCL", "packed", 2, "@gap@")
    assert "@gap@\n\n            for (int r = 0; r < rows; r += TM) {\n                // 3. " in source
    assert source.count("{") == source.count("}")


@pytest.mark.parametrize("parts", [7, (3, 7)])
def test_a_part_that_there_is_none_of_is_named(parts):
    with pytest.raises(ValueError, match=rf"CUDA has no part {re.escape(str(parts))}; its parts are 1, 2, 3, "):
        with_part("CUDA", "tiled", parts, "")
