"""A kernel's source as tokens: what a prize counts, what tells two sources apart, and what an entry may not hold."""

import ast
import io
import keyword
import re
import tokenize
from itertools import pairwise

from .. import ladder

# C's preprocessing tokens (C11, 6.4). A parser would give the body of a macro as one token, and a kernel fits in it.
# A text or a comment that nothing ends goes as far as it can: to look for an end anew at each sign would take hours.
C_TOKEN = re.compile(
    r""" "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? | [^\W\d]\w* | \.?\d(?:[eEpP][+-]|[\w.])*
    | <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | && | \|\| | \#\# | [<>=!+\-*/%&|^]= | \S """,
    re.VERBOSE,
)
STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
C_WORDS = """auto break case char const constant continue default define do double elif else endif enum extern float for
    global goto half if ifdef ifndef inline int kernel local long pragma private register restrict return short signed
    size_t sizeof static struct switch typedef union unsigned undef void volatile while uchar uint ulong ushort"""
WGSL_WORDS = """alias array binding bool break builtin case compute const continue continuing default diagnostic else
    enable f16 f32 false fn for function group i32 if let loop override private read read_write requires return storage
    struct switch true u32 uniform var vec2 vec3 vec4 while workgroup workgroup_size"""
WORDS = {  # these mean the same everywhere
    "CUDA": {*keyword.kwlist, "cuda", "math"},
    "OpenCL": {*C_WORDS.split()},
    "WebGPU": {*WGSL_WORDS.split()},
}
NO_TYPE = {*keyword.kwlist, "case", "do"} - {"def"}  # what stands before a call, and not before a function's name
GIVEN = {name for step in ladder.STEPS.values() for name in step.space}  # parameters mean what they are called
FIXED = re.compile(r"CLK_\w+|(float|double|half|u?(int|char|short|long))\d+")
MODULES = {"numba", "numpy", "math"}
PIECES = {("helpers.launch", "load4"), ("helpers.launch", "store4"), ("helpers.cuda.vectorized", "four")}
RUNS = {"eval", "exec", "compile", "open", "getattr", "setattr", "globals", "locals", "vars", "breakpoint", "input"}


def tokens_of(source: str, dialect: str) -> list[str]:
    """The source's tokens, without comments, docstrings, and semicolons that end nothing.

    In Python the end of a line is a semicolon, and an indented block is in braces, so that both dialects count alike.
    Raises ValueError for a source that is no Python.
    """
    found = []
    for token in python_tokens(source) if dialect == "CUDA" else C_TOKEN.findall(plain_c(source)):
        starts = not found or found[-1] in (";", "{", "}")
        if token == ";" and dialect == "CUDA" and found and found[-1][0] in "\"'" and (found[-2:-1] or ";")[0] in ";{}":
            found.pop()  # a string by itself says something to a reader only
        elif token != ";" or not starts:
            found.append(token)
    return found


def python_tokens(source):
    """Python's tokens in C's manner."""
    said = {tokenize.NEWLINE: ";", tokenize.INDENT: "{", tokenize.DEDENT: "}"}
    try:
        ast.parse(source)
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError) as error:
        # The parser runs out of memory of its own, and says nothing, where signs are a thousand deep.
        raise ValueError(f"its source is no Python: {str(error) or 'nested too deeply'}") from None
    left_out = (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER)
    return [said.get(t.type, t.string) for t in tokens if t.type not in left_out]


def plain_c(source):
    """C without comments, and each line as one: a backslash at the end of a line joins it to the next."""
    joined = re.sub(r"\\[ \t]*\n", "", re.sub(r"\r\n?", "\n", source))
    return STRING_OR_COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else " ", joined)


def idea(source: str, dialect: str) -> tuple[str, ...]:
    """The tokens, with numbers in place of the names that the source chose itself: a renamed copy is a copy."""
    tokens = tokens_of(source, dialect)
    defined = {
        name
        for before, (name, after) in zip(tokens, pairwise(tokens[1:]), strict=False)
        if after == "(" and before.isidentifier() and before not in NO_TYPE and name not in WORDS[dialect]
    }
    numbers, said = {}, []
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        chosen = token.isidentifier() and not FIXED.fullmatch(token) and (after != "(" or token in defined)
        if chosen and before != "." and token not in WORDS[dialect] | GIVEN:
            token = f"name {numbers.setdefault(token, len(numbers))}"
        said.append(token)
    return tuple(said)


def smuggled(source: str, dialect: str) -> str:
    """What the source holds that an entry may not: something that is not the kernel's own text. "" if nothing."""
    return smuggled_python(source) if dialect == "CUDA" else smuggled_c(plain_c(source))


def smuggled_c(text):
    """An OpenCL source must be all there is, and all of it OpenCL C."""
    if re.search(r"^[^\S\n]*(#|%:)[^\S\n]*(include|import|embed)", text, re.MULTILINE):
        return "it includes another file; write all of the kernel in its source"
    if re.search(r"%:|\?\?[=/]", text):
        return "it spells # in another way; write #"
    made = any(re.search(r"(?<!#)#(?!#)", line.lstrip()[1:]) for line in text.splitlines())
    if made or '"' in re.sub(r'_Pragma\s*\(\s*"[^"]*"', "", text):
        return "it has a string, of which a kernel needs none; take it out"
    if re.search(r"\b(asm|__asm|__asm__)\b", text):
        return "it has assembler; write OpenCL C only"
    return ""


def smuggled_python(source):
    """A CUDA source must be imports, numbers and functions: nothing that runs where it is only built."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            taken = {(name, one.name) for name in names for one in node.names}
            for name in names:
                if name.split(".")[0] not in MODULES and not taken <= PIECES:
                    return f"it imports {name or 'a file beside it'}; write all of the kernel in its source"
        elif isinstance(node, ast.Assign):
            if any(isinstance(part, ast.Call) for part in ast.walk(node)):
                return f"line {node.lineno} calls something outside of the kernel; write the number"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a string by itself
        elif not isinstance(node, ast.FunctionDef):
            return f"line {node.lineno} runs outside of the kernel; put it into the kernel, or leave it out"
    for node in ast.walk(tree):
        name = getattr(node, "id", None) or getattr(node, "attr", None) or ""
        if name in RUNS or name.startswith("__"):
            return f"line {node.lineno} uses {name}, of which a kernel needs none; take it out"
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in tree.body:
            return f"line {node.lineno} imports inside a function; import at the top"
        for decorator in getattr(node, "decorator_list", ()):
            inside = [part for part in ast.walk(decorator) if part is not decorator]
            foreign = any(isinstance(p, ast.Call) or getattr(p, "arg", None) == "link" for p in inside)
            if foreign or not re.match(r"(numba\.)?(cuda\.)?jit\b", ast.unparse(decorator)):
                return f"line {decorator.lineno}: a kernel's only decorator is cuda.jit, which links and calls nothing"
    return ""
