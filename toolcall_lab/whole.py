"""An answer without the course's or Qwen's marks that is a call as a whole, or was meant to be one.

Some models leave the wrapping away, or write calls as they learned it elsewhere. Exactly one known
shape is a call; what only resembles one is a problem with a name, so that it's told to the model
and never taken for a final answer.
"""

from __future__ import annotations

import re

from .qwen3 import CALL_CLOSE
from .shapes import SHAPE, Problem, calls_in, check_call, decode_at
from .tools import Toolbox, ToolCall

CUT = "The call was cut at max_tokens; a cut call is never completed by guess."

_OTHER_QUOTES = re.compile(
    r"""[{,]\s*(?:['“”‘’«`]tool_calls?['“”‘’»`]|tool_call)\s*:|\\"tool_calls?\\"\s*:"""
)
_DIALECT = re.compile(
    r"^[ \t]*(\[TOOL_CALLS\]|<function[\s=_>]|<invoke\b|<\|python_tag\|>)", re.MULTILINE
)
_PYTHON = re.compile(r"\[?\s*(?:functions\.|tools\.)?([A-Za-z_][\w-]*)\s*\(")
_ENVELOPE = re.compile(r"""[\[;,\s]*\{\s*['"“](name|tool_calls|function_call)['"”]\s*:""")
_ARGUMENTS = re.compile(r"""['"“](arguments|parameters|tool_calls|function_call)['"”]\s*:""")


def whole_answer(
    text: str, toolbox: Toolbox | None, finish_reason: str | None
) -> list[ToolCall] | None:
    """The calls that the answer consists of; None if it's an answer for a person.

    Raises `Problem` if it's a call that can't be read or made.
    """
    body = _bare(text)
    if _OTHER_QUOTES.search(text):
        raise Problem("invalid_json", f"JSON needs straight double quotes around its keys. {SHAPE}")
    if _DIALECT.search(body) or _is_python_call(body, toolbox):
        raise Problem("bad_shape", f"This is another way of writing calls. {SHAPE}")
    start = body.lstrip("; \t\n")
    if start[:1] not in ("{", "["):
        return None
    try:
        value, end = decode_at(start, 0)
    except Problem:
        if _ENVELOPE.match(body) and (finish_reason == "length" or _ARGUMENTS.search(body)):
            if finish_reason == "length":
                raise Problem("truncated", CUT) from None
            raise
        return None
    beside = start != body or start[end:].strip()
    try:
        calls = calls_in(value, toolbox)
    except Problem:
        if not beside:
            raise
        calls = []
    if calls is None:
        return None
    if beside:
        raise Problem("ambiguous", f"The call stands bare beside other text. {SHAPE}")
    return [check_call(call, toolbox) for call in calls]


_FENCES = ("", "json", "xml", "tool_call", "python")


def check_leftover(text: str, finish_reason: str | None) -> None:
    """Raises `Problem` if what follows the calls of an answer is another one, bare or cut."""
    rest = text.strip()
    if not _ENVELOPE.match(rest):
        return
    if finish_reason == "length":
        raise Problem("truncated", CUT)
    if _ARGUMENTS.search(rest):
        raise Problem("ambiguous", f"A call stands bare beside others. {SHAPE}")


def _bare(text: str) -> str:
    """The text without blanks, a code fence and a lost closing tag around it."""
    body = text.strip("\ufeff\u200b \t\r\n")
    if body.startswith("```") and body.endswith("```") and "\n" in body:
        label, _, inner = body[3:-3].partition("\n")
        body = inner.strip() if label.strip() in _FENCES else body
    return body.removesuffix(CALL_CLOSE).rstrip()


def _is_python_call(body: str, toolbox: Toolbox | None) -> bool:
    found = _PYTHON.match(body)
    return bool(found and toolbox and found[1] in toolbox and body.rstrip(" ]").endswith(")"))
