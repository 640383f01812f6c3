"""From a decoded JSON value to tool calls: which shapes are calls, and which only look like it.

A call is a name and its arguments. Four wrappings are known: the course's `{"tool_call": …}`, the
bare `{"name": …, "arguments": {…}}` that stands between Qwen's tags, OpenAI's `{"type":
"function", "function": …}`, and its list `{"tool_calls": […]}`. Other keys are never guessed at.
"""

from __future__ import annotations

import json
from typing import Any

from .coercion import unfit
from .tools import Toolbox, ToolCall

CALL_KEY = "tool_call"
MAX_DEPTH = 64
SHAPE = (
    'A call is {"tool_call": {"name": "…", "arguments": {…}}}: a name and arguments, nothing else.'
)

NAME_KEYS = ("name", "action", "tool", "tool_name", "function", "function_name")


class Problem(Exception):
    """Why a text holds no call that could be made; `kind` is a `Reading`'s `problem`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def to_call(value: Any) -> ToolCall:
    """The call in a value that must be one. Raises `Problem`."""
    call = _unwrapped(value)
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise Problem("bad_shape", SHAPE)
    if "parameters" in call and call["parameters"] != call.get("arguments", _ABSENT):
        kind = "ambiguous" if "arguments" in call else "bad_shape"
        raise Problem(
            kind, f'The call has "parameters"; its arguments go into "arguments". {SHAPE}'
        )
    if not set(call) <= {"name", "arguments", "parameters", "id"}:
        raise Problem("bad_shape", SHAPE)
    ids = [part["id"] for part in (call, value) if isinstance(part.get("id"), str)]
    return ToolCall(call["name"], _arguments(call.get("arguments")), ids[0] if ids else None)


def calls_in(value: Any, toolbox: Toolbox | None) -> list[ToolCall] | None:
    """The calls that a whole answer consists of; None if it's ordinary data. Raises `Problem`."""
    items = value if isinstance(value, list) else [value]
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        if set(value) <= {"tool_calls", "content", "role"}:
            return [to_call(item) for item in value["tool_calls"]] or None
        raise Problem("bad_shape", SHAPE)
    if items and all(_is_envelope(item) for item in items):
        return [to_call(item) for item in items]
    if any(_is_envelope(item) or _resembles(item, toolbox) for item in items):
        raise Problem("bad_shape", f"This looks like a call, in another form. {SHAPE}")
    return None


def check_call(call: ToolCall, toolbox: Toolbox | None) -> ToolCall:
    """The call, if its tool is known and takes these arguments. Raises `Problem`."""
    if toolbox is None:
        found = unfit(call.arguments)
        problem = f"Invalid arguments for {call.name}: {found[0]}." if found else None
    else:
        problem = toolbox.problem(call)
    if problem:
        known = toolbox is None or call.name in toolbox
        raise Problem("invalid_arguments" if known else "unknown_tool", problem)
    return call


def depth(value: Any) -> int:
    """How many objects and lists stand inside one another; a loop, since recursion is limited."""
    found, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        found += 1
        level = [
            part for item in level for part in (item.values() if isinstance(item, dict) else item)
        ]
    return found


_ABSENT = object()


def _unwrapped(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {CALL_KEY}:
        value = value[CALL_KEY]
    openai = {"type", "function", "id", "index"}
    if isinstance(value, dict) and isinstance(value.get("function"), dict) and set(value) <= openai:
        return value["function"]
    return value


def _arguments(given: Any) -> dict[str, Any]:
    """The arguments as an object. OpenAI's are a JSON string, some models encode them twice."""
    if isinstance(given, str):
        given = decode(given) if given.strip() else {}
    if isinstance(given, str) and given.lstrip().startswith("{"):
        given = decode(given)
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise Problem("bad_shape", f"The call's arguments are no object. {SHAPE}")
    return given


def _is_envelope(value: Any) -> bool:
    """Whether a whole answer is exactly a name with an object of arguments, in any wrapping."""
    call = _unwrapped(value)
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return False
    arguments = call.get("arguments", _ABSENT)
    if isinstance(arguments, str):
        return call is not value or arguments.lstrip().startswith("{")
    exact = set(call) <= {"name", "arguments", "id"}
    return exact and (isinstance(arguments, dict) or (call is not value and arguments is None))


def _resembles(value: Any, toolbox: Toolbox | None) -> bool:
    """Whether a value that is no call names a tool, or is one in another convention."""
    if not isinstance(value, dict) or CALL_KEY in value:
        return False  # "tool_call": null or false says that there's no call
    if {"action", "action_input"} <= set(value) or {"name", "parameters"} == set(value):
        return True
    if any(isinstance(value.get(key), dict) for key in ("tool_calls", "function_call")):
        return True
    if any(_is_envelope(part) for part in value.values()):
        return True
    named = value | _unwrapped(value)
    names = [named[key] for key in NAME_KEYS if isinstance(named.get(key), str)]
    names += list(value) if len(value) == 1 else []
    return toolbox is not None and any(name in toolbox for name in names)


def decode(text: str) -> Any:
    """The JSON value that a text is. Raises `Problem`."""
    value, end = decode_at(text, len(text) - len(text.lstrip()))
    if text[end:].strip():
        raise Problem("invalid_json", "The call is not valid JSON: something follows it.")
    return value


def decode_at(text: str, position: int) -> tuple[Any, int]:
    """The JSON value at a position and where it ends. Strict but for raw newlines inside strings.

    Raises `Problem`.
    """
    try:
        value, end = _DECODER.raw_decode(text, position)
    except RecursionError:
        value, end = None, -1
    except ValueError as error:
        reason = getattr(error, "msg", None) or str(error)
        raise Problem("invalid_json", f"The call is not valid JSON: {reason}.") from None
    if end < 0 or depth(value) > MAX_DEPTH:
        raise Problem("too_deep", f"The call is nested deeper than {MAX_DEPTH} levels.")
    return value, end


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is written twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=_no_duplicates, parse_constant=_no_constant
)
