"""What Numba refuses: its own sentence at its line, with a hint where one is sure, as Numba takes it today."""

import re

import pytest

from cuda_without_gpu import to_ptx
from helpers import check, cuda_kernel
from helpers.language import ENGLISH, spelled
from helpers.launch.cuda_source import EXAMPLE, numba_says

HEAD = "import math\nimport numba\nimport numpy as np\nfrom numba import cuda, float32\n\nSIDE = 4\n\n"
FUNCTION = "def dot(x, y):\n    return x[0] * {}\n\n@cuda.jit\ndef kernel(A, B, C):\n    C[0, 0] = dot(A[0], B[0])"
# (a kernel's body, or its source; what is said; how the line begins)
REFUSED = [
    ("return A[0, 0]", "a kernel returns nothing", ""),
    ("C[0, 0] = A[2 * A.shape[1] + 1]", "array(float32, 1d, C)", "C[0, 0] ="),
    ("C[0, 0] = A[0] * B[:, 0]", "write A[row, column]", "C[0, 0] ="),
    (FUNCTION.format("y[0]"), "has @cuda.jit(device=True) above it", "C[0, 0] = dot("),
    ("@cuda.jit(device=True)\n" + FUNCTION.format("y[i]"), "name 'i' is not defined", ""),
    ("s = cuda.shared.array(SIDE * SIDE, float32)", "numbers or names of constants", "s ="),
    ("t = [A[0, 0]]\nt[0] += 1", "makes no lists and no arrays", ""),
    ("acc += A[0, 0]\nC[0, 0] = acc", "Variable 'acc' is not defined", "acc +="),
    ("C[0, 0] = math.sum(A[0, 0])", "module 'math' has no attribute 'sum'", "C[0, 0] ="),
    ("@cuda.jit\ndef kernel(A, C):\n    C[0, 0] = A[0, 0]", "3 argument types given, but function takes 2", ""),
]


@pytest.mark.parametrize("text, says, begins", REFUSED, ids=[says for _, says, _ in REFUSED])
def test_what_numba_refuses_is_its_own_sentence_at_its_line(text, says, begins):
    body = "".join(f"    {line}\n" for line in text.split("\n"))
    source = HEAD + (text if "def kernel" in text else f"@cuda.jit\ndef kernel(A, B, C):\n{body}")
    k = cuda_kernel(source, like="naive", BM=4, BN=4)
    file = k.function.py_func.__code__.co_filename
    with pytest.raises(Exception, match=r".") as refused:
        to_ptx.compiled_for(k.function, *EXAMPLE)
    (key, values), line = numba_says(refused.value, source, lambda name, line: line if name == file else 0)
    said = spelled(ENGLISH, key, values)
    assert says in said and not re.search(r"0x|Failed in", said), said
    assert not begins or source.splitlines()[line - 1].strip().startswith(begins), (line, said)


def test_a_line_of_another_file_is_passed_over():
    error = TypeError('no\nFile "numba/core.py", line 3:\nFile "<mine>", line 2:\n')
    assert numba_says(error, "a\nb\nc", lambda name, line: line if name == "<mine>" else 0)[1] == 2


def test_a_kernel_of_a_file_is_told_by_its_line_there(tmp_path):
    file = tmp_path / "cell.py"
    file.write_text("from numba import cuda\n\n\n@cuda.jit\ndef mine(A, B, C):\n    C[0, 0] = A.sise\n")
    space = {"__name__": "cell"}
    exec(compile(file.read_text(), str(file), "exec"), space)
    [finding] = check(cuda_kernel(space["mine"], like="naive")).findings
    assert "Unknown attribute 'sise'" in finding.message and finding.lines == (3,)  # of what `inspect` finds
