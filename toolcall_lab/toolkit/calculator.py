"""`calculate(expression)`: arithmetic in a sandbox, never in Python's own `eval`.

What a model writes is somebody else's code: see `sandbox.py`.
"""

import ast
import math
from typing import Annotated

from ..tools import Tool, tool
from .sandbox import run_sandboxed

SECONDS = 1.0
MAX_BITS = 13_000  # about 3,900 digits
_SIGNS = str.maketrans(
    {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "\u00a0": " ", "\u202f": " "}
)
_FUNCTIONS = {"sqrt", "floor", "ceil", "log", "log10", "exp", "sin", "cos", "tan", "factorial"}
_BUILT_IN = {"abs", "round", "min", "max"}
_CONSTANTS = {"pi", "e"}
_PRELUDE = f"from math import {', '.join(sorted(_FUNCTIONS | _CONSTANTS))}\n"
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.operator, ast.UAdd, ast.USub, ast.Load)
_HINT = "write an arithmetic expression such as 12 * (3 + 4)"

Expression = Annotated[str, "For example 12 * (3 + 4)"]


def calculator() -> Tool:
    """The tool `calculate`.

    >>> calculator()("48317 × 9276")
    '48317 * 9276 = 448188492'
    """

    @tool
    def calculate(expression: Expression) -> str:
        """Computes an arithmetic expression."""
        source = _arithmetic(expression)
        return f"{source} = {_evaluate(source)}"

    return calculate


def _arithmetic(expression: str) -> str:
    """The expression in Python's notation; raises `ValueError` if it's anything but arithmetic."""
    try:
        tree = ast.parse(expression.translate(_SIGNS).strip(), mode="eval").body
        for node in ast.walk(tree):
            _check(node)
        return ast.unparse(tree)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"that can't be read; {_HINT}") from None


def _check(node: ast.AST) -> None:
    if isinstance(node, ast.BitXor):
        raise ValueError("^ is no power in Python; write ** for powers")
    if isinstance(node, ast.Name):
        fits = node.id in _FUNCTIONS | _BUILT_IN | _CONSTANTS
    elif isinstance(node, ast.Call):
        fits = isinstance(node.func, ast.Name) and not node.keywords
    elif isinstance(node, ast.Constant):
        fits = type(node.value) in (int, float)
    else:
        fits = isinstance(node, _OPERATIONS)
    if not fits:
        raise ValueError(f"{type(node).__name__} is no arithmetic; {_HINT}")


def _evaluate(source: str) -> str:
    """The value, exact for whole numbers, with 15 digits for others."""
    value, _printed = run_sandboxed(_PRELUDE + source, SECONDS)
    if type(value) not in (int, float) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"the result is no number but {value!r:.40}")
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ValueError("the result has too many digits to write out")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return str(value) if isinstance(value, int) else f"{value:.15g}"
