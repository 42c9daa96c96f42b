"""What a formula of whole numbers and names in a kernel's source comes to, be it OpenCL C's or Python's."""

import ast
import functools
import operator
import re

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


class Unknown(Exception):
    """What the text alone does not tell."""


@functools.cache
def parsed(text: str) -> ast.expr | None:
    """The text as an expression of Python, numbers without C's endings; None where it is none."""
    try:
        return ast.parse(re.sub(r"\b(0x[\da-fA-F]+|\d+)[uUlL]+\b", r"\1", text).strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def number(text: str, values: dict) -> int:
    """The whole number that a formula is, given those names. Raises Unknown where it has anything else in it."""

    def value_of(node):
        match node:
            case ast.Constant(value=int()):
                return node.value
            case ast.Name() if isinstance(values.get(node.id), int):
                return values[node.id]
            case ast.BinOp() if operation := OPERATORS.get(type(node.op)):
                return operation(value_of(node.left), value_of(node.right))
        raise Unknown

    try:
        return value_of(parsed(text))
    except (ValueError, ArithmeticError, MemoryError, RecursionError):
        raise Unknown from None
