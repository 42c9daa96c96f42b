"""What Numba refuses: each remedy by its example, as Numba takes it today; its own sentence where none is sure."""

import re

import pytest

from cuda_without_gpu import to_ptx
from helpers import cuda_kernel
from helpers.language import ENGLISH, spelled
from helpers.launch import KernelError, refusals
from helpers.launch.on_ptx import EXAMPLE

HEAD = "import math\nimport numba\nimport numpy as np\nfrom numba import cuda, float32\n\nSIDE = 4\n\n"
DEVICE = "@cuda.jit(device=True)\n"


def whole(text):
    """The source of a kernel, of which only the lines of its body may be given."""
    body = "".join(f"    {line}\n" for line in text.split("\n"))
    return HEAD + (text if "def kernel" in text else f"@cuda.jit\ndef kernel(A, B, C):\n{body}")


def told(k):
    """What `refusals.told` makes of what Numba says of a kernel."""
    file = k.function.py_func.__code__.co_filename
    try:
        to_ptx.compiled_for(k.function, *EXAMPLE)
    except Exception as error:
        (key, values), line = refusals.told(error, k.source, lambda name, line: line if name == file else 0)
        return spelled(ENGLISH, key, values), line
    pytest.fail("it compiles")


def complaint(source):
    """(what a learner is told, the line that it is about)."""
    try:
        said, line = told(cuda_kernel(source, like="naive", BM=4, BN=4))
    except KernelError as error:  # as it was built
        line, said, text = re.fullmatch(r"line (\d+): (.*)\n    (.*)", str(error)).groups()
        return said, text
    return said, source.splitlines()[line - 1].strip() if line else ""


@pytest.mark.parametrize("remedy", refusals.REMEDIES, ids=lambda remedy: remedy.words[:30])
def test_each_remedy_is_what_its_example_is_told(remedy):
    said, line = complaint(whole(remedy.example))
    pattern = ".+".join(map(re.escape, re.split(r"\{\w+\}", remedy.words)))
    assert re.fullmatch(pattern.removesuffix(".+") + ".*", said) and "{" not in said
    assert line and (re.search(remedy.line.replace("{name}", r"\w+"), line) or not line.startswith("@"))


DOT = DEVICE + "def dot(x, y):\n    return x[0] * {}\n\n@cuda.jit\ndef kernel(A, B, C):\n    C[0, 0] = dot({}, B[0])"
# What is not sure is Numba's own sentence: the source, the sentence, the line.
OWN = {
    "no second axis": (
        "b = B[:, 0]\nC[0, 0] = b[0, 1]",
        "cannot index array(float32, 1d, A) with 2 indices",
        "C[0, 0] =",
    ),
    "one number of a shape": ("M, K = A.shape[0]", "failed to unpack int64", "M, K ="),
    "one number of a place": ("tx, ty = cuda.threadIdx.x", "failed to unpack int32", "tx, ty ="),
    "an index with a fraction": ("C[0, A.shape[0] / 2] = 1", "Unsupported array index type float64", "C[0, A.shape"),
    "nothing yet": ("acc += A[0, 0]\nC[0, 0] = acc", "Variable 'acc' is not defined", "acc +="),
    "an array made": ("t = np.zeros(4)", "it knows no zeros(4)", "t ="),
    "a copy": ("a = A.ravel()\nC[0, 0] = a[0]", "Only accept returning of array passed into", "a ="),
    "an import": ("import math as m\nC[0, 0] = math.sqrt(A[0, 0])", "IMPORT_NAME", "import math"),
    "a text": ("print(f'{A.shape[0]}')", "it knows no str(int64)", "print("),
    "a cache": (
        "@cuda.jit(cache=True)\ndef kernel(A, B, C):\n    pass",
        "no locator available",
        "@cuda.jit(cache=True)",
    ),
    "a name in a condition": (
        "if (n := C.shape[0] - 2) < 1:\n    C[0, 0] = n",
        "Type of variable cannot be",
        "if (n :=",
    ),
    "two for three": ("M, N, K = A.shape", "wrong tuple length: expected 3, got 2", "M, N, K ="),
    "a row": ("C[0, 0] = A[0] * B[0]", "knows no array(float32, 2d, C)[0, 0] = array(float32, 1d, C)", "C[0, 0] ="),
    "a row added": (
        "acc = float32(0)\nacc += A[0]\nC[0, 0] = acc",
        "it knows no float32 += array(float32, 1d, C)",
        "acc +=",
    ),
    "no such function": ("C[0, 0] = math.sum(A[0])", "module 'math' has no attribute 'sum'", "C[0, 0] ="),
    "no zeros there": ("s = cuda.shared.zeros(4, float32)", "type object 'shared' has no attribute 'zeros'", "s ="),
    "no type": ("s = cuda.shared.array((4, 4))", "Here it gets (4, 4).", "s ="),
    "a product": ("s = cuda.shared.array(SIDE * SIDE, float32)", "Here it gets int64, float32.", "s ="),
    "Python's type": ("s = cuda.shared.array((4, 4), float)", "Here it gets (4, 4), Python's float.", "s ="),
    "text": ("s = 'abc'.split('b')", "it knows no unicode_split(unicode_type, b)", "s ="),
    "a slip in a function": (DOT.format("y[i]", "A[0]"), "name 'i' is not defined", "return x[0] * y[i]"),
    "a number in a function": (DOT.format("y[0]", "1.5"), "float64[0]", "return x[0] * y[0]"),
    "a signature": (
        DOT.format("y[0]", "A[:, 0]").replace("device=True", '"float32(float32[::1], float32[::1])", device=True'),
        "Invalid use of dot with parameters (array(float32, 1d, A), array(float32, 1d, C)). It takes (array(",
        "C[0, 0] = dot(",
    ),
    "a shared array of a function": (
        DEVICE
        + "def tile():\n    return cuda.shared.array(4, float32)\n\n@cuda.jit\ndef kernel(A, B, C):\n    t = tile()",
        "Only accept returning of array passed into the function",
        "t = tile()",
    ),
    "an option": (
        "@cuda.jit(nonsense=True)\ndef kernel(A, B, C):\n    pass",
        "unexpected keyword argument 'nonsense'",
        "",
    ),
}


@pytest.mark.parametrize("source, sentence, at", OWN.values(), ids=OWN)
def test_what_is_not_sure_is_numbas_own_sentence_at_its_line(source, sentence, at):
    said, line = complaint(whole(source))
    assert sentence in said and line.startswith(at), (said, line)
    assert not re.search(r"\$|0x|<|CPUDispatcher|CUDADispatcher|Literal|UniTuple", said), said


def test_what_numba_has_in_cuda_cpp_is_named():
    pytest.importorskip("numba.cuda.bf16")  # newer ones of numba-cuda
    body = whole("C[0, 0] = bfloat16(1) * bfloat16(2)")
    said, _ = complaint("from numba.cuda.bf16 import bfloat16\n" + body)
    assert "Numba has bfloat16 in CUDA C++, which NVIDIA's tools link" in said


def test_a_slip_in_a_function_of_another_cell_is_quoted(tmp_path):
    k = cuda_kernel(whole("C[0, 0] = helped(A)"), like="naive", BM=4, BN=4)
    (tmp_path / "cell.py").write_text("from numba import cuda\n" + DEVICE + "def helped(x):\n    return x.sise\n")
    space = {"__name__": "cell"}
    exec(compile((tmp_path / "cell.py").read_text(), str(tmp_path / "cell.py"), "exec"), space)
    k.function.py_func.__globals__["helped"] = space["helped"]
    said, line = told(k)
    assert said.endswith("Unknown attribute 'sise' of type array(float32, 2d, C), in `return x.sise`")
    assert k.source.splitlines()[line - 1].strip() == "C[0, 0] = helped(A)"
