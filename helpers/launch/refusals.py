"""What Numba's compiler refuses, in words for a kernel's author: what it means, and what helps."""

import re

SHAPE_OF_ARRAYS = (
    "the shape of a shared or a local array must be known when the kernel is compiled: write numbers, names of numbers "
    "outside the kernel such as TILE, or the builder's parameters. A sum or a product needs such a name, too"
)
TYPE_OF_ARRAYS = "the elements of a shared or a local array have a type of Numba's, such as float32, and not Python's"
SIGNATURE = (
    "the kernel's signature does not fit: A, B and C are arrays of float32 with two dimensions, C-contiguous. Leave "
    'the signature out, or write "void(float32[:, :], float32[:, :], float32[:, :])"'
)
NO_MEMORY = (
    "a kernel cannot make lists or arrays while it runs, and has no products of whole rows: use cuda.local.array or "
    "cuda.shared.array, and sum element by element"
)
NO_HALF = "float16 needs NVIDIA's compiler: Numba brings its code as CUDA C++. Use float32"
DECORATOR, ARRAYS = r"^\s*@cuda\.jit|\bcuda\.jit\(", r"(shared|local)\.array\("
INDEX = r"^[^@]*\[[^\]]*,"
# (what Numba says, what that means for the author, what is in the line where Numba names none)
REMEDIES = (
    (
        r"No conversion from .+ to none|must have void return type|with an explicit return value",
        "a kernel returns nothing. Store the number in C, and leave out what stands behind `return`",
        r"^\s*return\s+\S",
    ),
    (
        r"exception_match|set_try_status|\btry\b",
        "a kernel catches no exceptions. Guard the access with `if`",
        r"^\s*try\s*:",
    ),
    (r"cannot index array\(\w+, 1d, A\)", SIGNATURE, DECORATOR),
    (r"cannot index array\(\w+, (\d)d, \w\) with (\d)", "an array of {0} dimensions takes {0} indices, not {1}", INDEX),
    (
        r"Unsupported array index type (float\d+)",
        "an index is a whole number, and here it is {0}: divide with //, or write int(...)",
        INDEX,
    ),
    (r"failed to unpack u?int", "cuda.grid(1) is one number; write cuda.grid(2) for two", r"cuda\.grid\(1\)"),
    (
        r"CPUDispatcher",
        "this is a function for the CPU. Write @cuda.jit above the kernel, not @njit or @jit",
        r"^\s*@(?!cuda)(\w+\.)?n?jit",
    ),
    (
        r"Untyped global name '(\w+)'.*<class 'function'>",
        "{0} is a plain function of Python: write @cuda.jit(device=True) above it",
        r"(?<!def )\b{0}\(",
    ),
    (
        r"insert_unresolved_ref|runaway recursion",
        "a function that calls itself does not compile: write a loop",
        r"device=True",
    ),
    (r"Unknown attribute '(\w+)' of type Module", "there is no {0} in a kernel: write it out, in loops", r"\.{0}\b"),
    (r"cannot cache function", "what is given as text has no file to keep it beside: leave out cache=True", r"cache"),
    (r"signature says|No matching definition|Signature mismatch: [012] ", SIGNATURE, DECORATOR),
    (
        r"Signature mismatch",
        "a kernel takes three arguments, A, B and C, in this order. M and N are C.shape, K is A.shape[1]",
        r"^\s*def ",
    ),
    (r"array\(UniTuple\(Literal\S+ x \d\), Function|array\(Literal\S+, Function", TYPE_OF_ARRAYS, ARRAYS),
    (r"Function\(<function (shared|local)\.array", SHAPE_OF_ARRAYS, ARRAYS),
    (r"IMPORT_NAME|IMPORT_FROM", "write `import` outside the kernel", r"^\s+(import|from)\b"),
    (r"unnamed-cu", NO_HALF, r"16"),
    (
        r"Function\(<class 'str'>\)",
        "a kernel makes no text: print numbers and plain words with commas between, as in print('row', row)",
        r"\bf['\"]|\.format\(",
    ),
    (
        r"NRT required|list\(|_ol_array_allocate|np_empty|np_dot|\bdot\(array|scipy 0\.16",
        NO_MEMORY,
        r"= *\[|\bnp\.\w+\(| @ |\.sum\(",
    ),
    (
        r"Only accept returning of array",
        "`ravel` and `flatten` may copy, which a kernel cannot: A.reshape(A.size) is a view",
        r"\.(ravel|flatten)\(",
    ),
    (
        r"liveness info missing for vars: \{'(\w+)'\}",  # of a loop within a loop; of others it says nothing
        "a loop never ends, as where nothing in it changes {0}",
        r"\bwhile\b.*\b{0}\b",
    ),
    (
        r"Type of variable '\$",
        "Numba cannot tell the type of this. Set a name in a line of its own, not by := inside a condition",
        r":=",
    ),
    (r"ariable '(\w+)' (?:is not defined|referenced before)", "{0} is used before it has a value", r"\b{0}\b"),
    (r"name '(\w+)' is not defined", "there is no {0} here", r"\b{0}\b"),
)


def is_known(said: str) -> bool:
    """Whether `meant` has words of its own for that complaint."""
    return any(re.search(pattern, said) for pattern, *_ in REMEDIES)


def meant(said: str) -> tuple[str, str | None]:
    """(what a complaint of Numba's means, what the line that it is about has in it, a pattern, None for any)."""
    for pattern, words, where in REMEDIES:
        if found := re.search(pattern, said):
            return words.format(*found.groups()), where.format(*map(re.escape, filter(None, found.groups())))
    return f"Numba says: {first_words(said)}", None


def first_words(said: str) -> str:
    """The most telling line of a long complaint of Numba's."""
    exact = re.search(r"^\s*Numba\w*Error: (.+)$", said, re.MULTILINE)
    lacking = re.search(r"^\s*>>> (.+)$", said, re.MULTILINE)
    lines = [line for line in said.strip().splitlines() if not line.startswith("Failed in cuda mode")]
    told = exact[1] if exact else f"it knows no {lacking[1]}" if lacking else (lines or [said])[0]
    return told.strip().rstrip(".:")
