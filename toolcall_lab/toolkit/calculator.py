"""`calculate(expression)`: arithmetic in a sandbox, never in Python's own `eval`.

What a model writes is somebody else's code. It runs in pydantic-monty's worker process: no files,
no network, a second of time and 64 MB of memory at most.
"""

import ast
from typing import Annotated

from ..tools import Tool, tool

SECONDS, MEMORY = 1.0, 64 * 2**20
_SIGNS = str.maketrans(
    {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "\u00a0": " ", "\u202f": " "}
)
_PRELUDE = "from math import pi, e, sqrt, floor, ceil, log, log10, exp, sin, cos, tan, factorial\n"

Expression = Annotated[str, "For example 12 * (3 + 4)"]


def calculator() -> Tool:
    """The tool `calculate`.

    >>> calculator()("48317 * 9276")
    '48317 * 9276 = 448188492'
    """

    @tool
    def calculate(expression: Expression) -> str:
        """Computes an arithmetic expression."""
        return f"{expression} = {evaluate(expression)}"

    return calculate


def evaluate(expression: str) -> str:
    """The value of an arithmetic expression in Python's notation, as a text.

    Raises `ValueError` with a sentence for the model if it isn't one or takes too much.
    """
    import pydantic_monty

    source = expression.translate(_SIGNS).strip()
    _check(source)
    limits = {"max_feed_duration_secs": SECONDS, "max_memory": MEMORY}
    try:
        with pydantic_monty.Monty() as pool, pool.checkout(limits=limits) as session:
            value = session.feed_run(_PRELUDE + source)
    except pydantic_monty.MontyError as error:
        raise ValueError(str(error).splitlines()[-1]) from None
    if not isinstance(value, int | float):
        raise ValueError(f"the result is not a number but {type(value).__name__}")
    return str(value) if isinstance(value, int) else f"{value:.12g}"


def _check(source: str) -> None:
    try:
        tree = ast.parse(source, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(
            "that is not an arithmetic expression; write one like 12 * (3 + 4)"
        ) from None
    if any(isinstance(node, ast.BitXor) for node in ast.walk(tree)):
        raise ValueError("^ is no power in Python; write ** for powers")
