"""What Numba's compiler refuses, for a kernel's author: its own sentence, or what it means, where that is sure."""

import linecache
import re
from collections.abc import Callable
from typing import NamedTuple

from cuda_without_gpu import KernelError

from .numba_internals import places_of

# An index of one number, a sum or a product.
FLAT = r"\b(?P<array>[ABC])\[(?:[^\[\],:]|\[\d\])*[*+](?:[^\[\],:]|\[\d\])*\]"


class Remedy(NamedTuple):
    """What a complaint means.

    says     is found in the complaint, as `spelled` has it; groups of it, and of `line`, stand in `words`
    words    what it means, and what helps
    example  what Numba refuses so: lines of a kernel, or all of its source
    line     is found in the line of the source that the complaint is about; where Numba names none, in any of them
    """

    says: str
    words: str
    example: str
    line: str = ""


REMEDIES = (
    Remedy(
        r"No conversion from .+ to none",
        "a kernel returns nothing. Store the number in an array, and leave out what stands behind `return`",
        "return A[0, 0]",
        r"^\s*return\s+\S",
    ),
    Remedy(
        r"exception_match|set_try_status",
        "a kernel catches no exceptions. Guard the access with `if`",
        "try:\n    C[0, 0] = 1\nexcept Exception:\n    pass",
    ),
    Remedy(
        r"the kernel's signature says",
        "the kernel's signature does not fit: A, B and C are arrays of float32 with two dimensions, C-contiguous. "
        'Leave the signature out, or write "void(float32[:, :], float32[:, :], float32[:, :])"',
        '@cuda.jit("void(float64[:, :], float64[:, :], float64[:, :])")\ndef kernel(A, B, C):\n    C[0, 0] = A[0, 0]',
        r"\bcuda\.jit\(",
    ),
    Remedy(
        r"Signature mismatch: 3 argument types given",
        "a kernel takes three arguments, A, B and C, in this order. M and N are C.shape, K is A.shape[1]",
        "@cuda.jit\ndef kernel(A, C):\n    C[0, 0] = A[0, 0]",
        r"^\s*def ",
    ),
    Remedy(
        r"array\(\w+, 1d, \w\)",
        "{array} has two dimensions: write {array}[row, column], with a comma",
        "C[0, 0] = A[2 * A.shape[1] + 1]",
        FLAT,
    ),
    Remedy(
        r"'CPUDispatcher' object is not subscriptable",
        "this is a function for the CPU. Write @cuda.jit above the kernel, not @njit or @jit",
        "@numba.njit\ndef kernel(A, B, C):\n    C[0, 0] = A[0, 0]",
        r"^\s*@(?!cuda)(\w+\.)?n?jit",
    ),
    Remedy(
        r"Untyped global name '(?P<name>\w+)'.*<class 'function'>",
        "{name} is a plain function of Python: write @cuda.jit(device=True) above it",
        "def one():\n    return 1\n\n@cuda.jit\ndef kernel(A, B, C):\n    C[0, 0] = one()",
    ),
    Remedy(
        r"insert_unresolved_ref",
        "a function calls itself by way of another, or with other types, which Numba compiles for no GPU: write a loop",
        "@cuda.jit(device=True)\ndef total(a, n):\n    return a if n < 1 else total(a + 0.5, n - 1)\n\n"
        "@cuda.jit\ndef kernel(A, B, C):\n    C[0, 0] = total(1, A.shape[1])",
    ),
    Remedy(
        r"function (?:shared|local)\.array found for signature:\s+>>> array\((?P<given>.+)\)\n",
        "an array takes a shape of numbers that are known when the kernel is compiled, and a type of Numba's, as in "
        "cuda.shared.array((TILE, TILE), float32). Here it gets {given}. A sum or a product needs a name outside the "
        "kernel",
        "s = cuda.shared.array((cuda.blockDim.x, 4), float32)",
    ),
    Remedy(
        r"NRT required",
        "a kernel cannot make lists while it runs: use cuda.local.array or cuda.shared.array",
        "t = [A[0, 0]]\nt[0] += 1",
        r"= *\[|\(\[",
    ),
    Remedy(
        r"_ol_array_allocate",
        "a kernel makes no arrays while it runs, as a sum of whole arrays does: write what happens to one element",
        "C = A[0] + B[0]",
        r"[-+*/]",
    ),
    Remedy(
        r">>> dot\(array|scipy 0\.16",
        "a kernel has no products of whole rows: sum element by element",
        "C[0, 0] = A[0] @ B[:, 0]",
        r"@|\bdot\(",
    ),
    Remedy(
        r"liveness info missing for vars: \{'(?P<name>\w+)",  # of a loop within a loop; of others it says nothing
        "a loop never ends, as where nothing in it changes {name}",
        "for k in range(3):\n    i = 0\n    while i < 4:\n        C[0, 0] += A[0, i]",
        r"\bwhile\b.*\b{name}\b",
    ),
)

# What Numba calls things, and what stands for it.
NAMES = (
    (r"type\(CUDADispatcher\(<function (\w+) at 0x\w+>\)\)", r"\1"),
    (r"(?:Function\()?<(?:built-in )?(?:function|intrinsic) ([\w.]+)(?: at 0x\w+)?>\)?", r"function \1"),
    (r"\bfunction function ", "function "),
    (r"Function\(<class '([\w.]+)'>\)", r"Python's \1"),
    (r"Module\(<module '([\w.]+)'.*?>\)", r"module \1"),
    (r"\bclass\((\w+)\)", r"\1"),
    (r"Literal\[\w+\]\(([^()]*)\)", r"\1"),
    (r"Array\((\w+), (\d), '(\w)'[^)]*\)", r"array(\1, \2d, \3)"),
    (r"UniTuple\((\w+) x (\d)\)", lambda at: f"({', '.join([at[1]] * int(at[2]))})"),
    (r"\bTuple\(", "("),
    (r"\('(.*)', '(.*)'\)", r"\1\2"),
    (r" for file '<kernel.*?>'|, operation: .*|\.? Raised from .*", ""),
    (r"(?: for)? '?\$[\w.]+'?", ""),
    (r"_Kernel\.__init__\(\)", "@cuda.jit"),
)
OPERATORS = dict(add="+", sub="-", mul="*", truediv="/", iadd="+=", isub="-=", imul="*=", itruediv="/=")


def told(error: Exception, source: str, line_of: Callable[[str, int], int]) -> tuple[tuple[str, dict], int]:
    """(what an error of Numba's says to the kernel's author, the line of the source that it is about, 0 for none).

    What it says is (sentence, values), see `language.spelled`.

    source    the kernel's, whose lines are numbered from 1
    line_of   a function of a file and a line in it: that line of `source`, another number for one that is not there
    """
    if isinstance(error, KernelError):
        return ("{text}", {"text": str(error)}), 0
    said, lines, places = spelled(str(error)), source.splitlines(), places_of(error)
    numbers = [number if 0 < number <= len(lines) else 0 for number in (line_of(*place) for place in places)]
    about = linecache.getline(*places[0]) if places else ""
    line = next(filter(None, numbers), 0)
    for remedy in REMEDIES:
        if found := re.search(remedy.says, said):
            groups = found.groupdict()
            pattern, looked_at = remedy.line.replace("{name}", groups.get("name", "")), enumerate(lines, 1)
            if places or not pattern:
                looked_at = [(line, about)]
            for number, text in looked_at:
                if at := re.search(pattern, text.partition("#")[0]):
                    return (remedy.words, groups | at.groupdict()), number
    if not places:
        return ("{text}", {"text": f"{type(error).__name__}: {said}"}), 0
    values = {"text": sentence(said), "code": about.strip()}
    return ("Numba says: {text}" if numbers[0] else "Numba says: {text}, in `{code}`", values), line


def spelled(said: str) -> str:
    """A complaint without what only Numba knows: addresses, its own names for numbers on their way."""
    for pattern, plain in NAMES:
        said = re.sub(pattern, plain, said)
    return said


def sentence(said: str) -> str:
    """The most telling line of a long complaint."""
    exact = re.search(r"^\s*Numba\w*Error: (?!Failed in)(.+)$", said, re.MULTILINE)
    lacking = re.search(r"^\s*>>> (\w+)\((.*)\)$", said, re.MULTILINE)
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("Failed in")]
    own = (
        exact[1].partition(": ")[0] if exact else f"it knows no {operation(*lacking.groups())}" if lacking else lines[0]
    )
    known = re.search(r"Known signatures:\s+\* (.*)", said)
    return own.removeprefix("NameError: ").rstrip(".:") + (f". It takes {known[1]}" if known else "")


def operation(name: str, takes: str) -> str:
    """An operation of Numba's as Python writes it: "float32 += int64" for `iadd`."""
    operands = re.split(r", (?![^()]*\))", takes)
    if name in ("getitem", "setitem") and len(operands) > 1:
        return f"{operands[0]}[{operands[1].strip('()')}]" + "".join(f" = {value}" for value in operands[2:])
    return f" {OPERATORS[name]} ".join(operands) if name in OPERATORS else f"{name}({takes})"
