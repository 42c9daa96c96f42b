"""Which sizes does a kernel's source leave open? At others, two sizes that were mixed up show."""

import ast
import re


def left_to_builder(source: str, is_python: bool) -> set[str]:
    """The names that a source leaves to who builds it: arguments of a function in Python; words of C, macros maybe."""
    if not is_python:
        code = without_comments(source)
        return set(re.findall(r"\w+", code)) - set(re.findall(r"(?:#\s*define|\bconst)\s+(\w+)", code))
    builders = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    arguments = {a.arg for node in builders for a in (*node.args.args, *node.args.kwonlyargs)}
    return arguments & {n.id for node in builders for n in ast.walk(node) if isinstance(n, ast.Name)}


def asked_of_launch(source: str, is_python: bool) -> tuple[bool, bool]:
    """Whether a kernel asks the launch for its block along x, and along y.

    One that stages tiles does not: it has a size of its own, to which its block must keep.
    """
    code = source if is_python else without_comments(source)
    if re.search(r"__local\b|shared\.array", code):
        return False, False
    asks = r"blockDim\.{}|cuda\.grid\b|get_(local_size|global_id)\({}\)"
    return bool(re.search(asks.format("x", 0), code)), bool(re.search(asks.format("y", 1), code))


def without_comments(source: str) -> str:
    """A source without comments as C has them."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)
