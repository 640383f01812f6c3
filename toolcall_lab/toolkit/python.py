"""`execute_python(code)`: Python that a model wrote, in the sandbox; state isn't kept."""

from typing import Annotated

from ..tools import Tool, tool
from .sandbox import MEMORY, run_sandboxed

Code = Annotated[str, "Python; its last expression is the result"]


def python(seconds: float = 2.0, memory: int = MEMORY) -> Tool:
    """The tool `execute_python`, with limits in seconds and bytes.

    >>> python()("print('hello'); 6 * 7")
    'hello\\n42'
    """

    @tool
    def execute_python(code: Code) -> str:
        """Runs Python code, without files and network."""
        value, printed = run_sandboxed(code, seconds, memory)
        shown = "" if value is None else repr(value)
        return (printed + shown).rstrip() or "(done, nothing was printed)"

    return execute_python
