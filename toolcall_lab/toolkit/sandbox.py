"""Where code that a model wrote runs: in pydantic-monty's worker process, an interpreter for Python
without files, network or modules of this machine, with limits on time and memory.
"""

from __future__ import annotations

import io
import re
from typing import Any

MEMORY = 64 * 2**20  # bytes
MAX_PRINTED = 10_000  # characters


def run_sandboxed(code: str, seconds: float, memory: int = MEMORY) -> tuple[Any, str]:
    """The value of the code's last expression, and what it printed.

    Raises `ValueError` with the error and its line.
    """
    import pydantic_monty

    printed = io.StringIO()

    def keep(_stream: str, text: str) -> None:
        printed.write(text[: max(0, MAX_PRINTED - printed.tell())])

    limits = {"max_feed_duration_secs": seconds, "max_memory": memory}
    try:
        with pydantic_monty.Monty() as pool, pool.checkout(limits=limits) as session:
            value = session.feed_run(code, print_callback=keep)
    except pydantic_monty.MontyError as error:
        raise ValueError(_explained(error)) from None
    return value, printed.getvalue()


def _explained(error: Any) -> str:
    """The error's last line, and where in the code it is."""
    shown = error.display() if hasattr(error, "display") else str(error) or type(error).__name__
    lines = re.findall(r"line (\d+)", shown)
    where = f" (line {lines[-1]})" if lines else ""
    return f"{shown.strip().splitlines()[-1]}{where}"
