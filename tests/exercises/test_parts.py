"""A learner's lines take the place of a kernel's part."""

import pytest

from helpers import cuda_kernel, with_part


def test_lines_take_the_place_of_a_part_and_of_nothing_else():
    source = cuda_kernel("tiled").source
    assert with_part("CUDA", "tiled", 3, "pass\nelse_").count("\n            pass\n            else_\n") == 1
    before, *_ = source.partition("            # 3. ")
    mine = with_part("CUDA", "tiled", (3, 4), "MINE")
    assert mine.startswith(f"{before}            MINE\n") and source.endswith(mine.partition("MINE\n")[2])
    with pytest.raises(ValueError, match=r"tiled in CUDA has no part 9; its parts are 1, 2, 3, 4"):
        with_part("CUDA", "tiled", 9, "pass")
