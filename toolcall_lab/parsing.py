"""From text to tool calls, or the reason why there is none.

Two written forms: the course's `{"tool_call": {"name": …, "arguments": {…}}}` and Qwen's native
`<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Nothing is guessed: a call that is cut,
broken, unknown or wrong is a problem with a sentence, and then no call is returned at all.
Texts are searched for their markers; no regular expression ever walks over them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .chatml import STOP
from .tools import Tool, Toolbox, ToolCall

CALL_KEY = "tool_call"
OPEN_TAG, CLOSE_TAG = "<tool_call>", "</tool_call>"
THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
MAX_DEPTH = 64


@dataclass(frozen=True)
class Reading:
    """What a completion says.

    `calls` is empty whenever there is a `problem` (`truncated`, `invalid_json`, `bad_shape`,
    `unknown_tool`, `invalid_arguments`, `empty_output`, `too_deep`); `message` explains it, for the
    learner and for the model. `text` is the prose outside the calls, without thinking; `span` is
    where the calls, or the problem, stand: (start, end) in characters.
    """

    calls: tuple[ToolCall, ...] = ()
    problem: str | None = None
    message: str = ""
    text: str = ""
    span: tuple[int, int] | None = None


class _Problem(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def read_tool_calls(
    text: str,
    tools: Toolbox | Sequence[Any] | None = None,
    *,
    finish_reason: str | None = None,
) -> Reading:
    """Reads the calls in a completion.

    `tools` is a `Toolbox`, or a list of schemas in OpenAI's or plain form; None: names and
    arguments aren't checked. `finish_reason` is the completion's: `"length"` means it was cut.

    >>> read_tool_calls('Sure! {"tool_call": {"name": "get_time", "arguments": {}}}').calls
    (ToolCall(name='get_time', arguments={}, id=None),)
    >>> read_tool_calls('{"tool_call": {"name": "get_ti', finish_reason="length").problem
    'truncated'
    >>> read_tool_calls("It is noon.").text
    'It is noon.'
    """
    toolbox = _toolbox(tools)
    calls: list[ToolCall] = []
    prose: list[str] = []
    spans: list[tuple[int, int]] = []
    position = begin = 0
    try:
        position = begin = _after_thinking(text, finish_reason)
        if not text[position:].strip():
            raise _Problem("empty_output", "The answer is empty; write a tool call or an answer.")
        stop = _first_marker(text, position)
        for begin, body in _starts(text, position):
            if begin < position:
                continue  # inside the call before
            if begin > stop:
                break
            value, end = _read_json(text, body, finish_reason)
            calls.append(_check(_to_call(value), toolbox))
            prose.append(_before_fence(text[position:begin]))
            position = end if begin == body else _after_tag(text, end)
            spans.append((begin, position))
            stop = stop if stop >= position else _first_marker(text, position)
    except _Problem as problem:
        before = "".join([*prose, _before_fence(text[position:begin])])
        return Reading((), problem.kind, str(problem), before.strip(), (begin, len(text)))
    after = text[position:stop]
    prose.append(after.lstrip().removeprefix("```") if calls else after)
    span = (spans[0][0], spans[-1][1]) if spans else None
    return Reading(tuple(calls), text="".join(prose).strip(), span=span)


def _before_fence(prose: str) -> str:
    """The prose in front of a call, without the code fence that opens around it."""
    head, fence, label = prose.rpartition("```")
    return head if fence and label.strip() in ("", "json", "xml") else prose


def _first_marker(text: str, position: int) -> int:
    """Where the first ChatML marker stands, or the end; behind it the model plays the user."""
    return min((i for m in STOP if (i := text.find(m, position)) >= 0), default=len(text))


def _after_thinking(text: str, finish_reason: str | None) -> int:
    """Where the text goes on behind a closed `<think>` block; thinking is never read for calls."""
    if not text.lstrip().startswith(THINK_OPEN):
        return 0
    close = text.find(THINK_CLOSE)
    if close < 0:
        kind = "truncated" if finish_reason == "length" else "bad_shape"
        raise _Problem(kind, "The thinking never ended, so there is neither a call nor an answer.")
    return close + len(THINK_CLOSE)


def _starts(text: str, position: int) -> list[tuple[int, int]]:
    """Each place where a call begins, in order: (start of the call, start of its JSON object)."""
    tags = [
        (at, _skip_blanks(text, at + len(OPEN_TAG))) for at in _find_all(text, OPEN_TAG, position)
    ]
    tagged = [(at, body) for at, body in tags if text[body : body + 1] in ("{", "")]
    keys = (_back_over_blanks(text, at) for at in _find_all(text, f'"{CALL_KEY}"', position))
    return sorted([*tagged, *((at, at) for at in keys if text[at : at + 1] == "{")])


def _find_all(text: str, wanted: str, position: int) -> Iterator[int]:
    while (position := text.find(wanted, position)) >= 0:
        yield position
        position += len(wanted)


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _back_over_blanks(text: str, at: int) -> int:
    at -= 1
    while at > 0 and text[at].isspace():
        at -= 1
    return at


def _read_json(text: str, body: int, finish_reason: str | None) -> tuple[Any, int]:
    """The object at `body` and where it ends. Strict but for raw newlines inside strings."""
    try:
        value, end = _DECODER.raw_decode(text, body)
    except RecursionError:
        value, end = None, -1
    except ValueError as error:
        if finish_reason == "length":
            raise _Problem(
                "truncated",
                "The call was cut at max_tokens; a cut call is never completed by guess.",
            ) from None
        reason = getattr(error, "msg", None) or str(error)
        raise _Problem("invalid_json", f"The call is not valid JSON: {reason}.") from None
    if end < 0 or _depth(value) > MAX_DEPTH:
        raise _Problem("too_deep", f"The call is nested deeper than {MAX_DEPTH} levels.")
    return value, end


def _depth(value: Any) -> int:
    """How many objects and lists stand inside one another; a loop, since recursion is limited."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [
            part for item in level for part in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


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


def _after_tag(text: str, end: int) -> int:
    """Behind the `</tool_call>` that follows the JSON; a missing one is forgiven, text is not."""
    close = text.find(CLOSE_TAG, end)
    if close < 0:
        return end
    if text[end:close].strip():
        raise _Problem("invalid_json", f"There is text between the call's JSON and {CLOSE_TAG}.")
    return close + len(CLOSE_TAG)


def _to_call(value: Any) -> ToolCall:
    """The call in a decoded object, whichever of the two forms it has."""
    if isinstance(value, dict) and isinstance(value.get(CALL_KEY), dict):
        value = value[CALL_KEY]
    name = value.get("name") if isinstance(value, dict) else None
    arguments = value.get("arguments", {}) if isinstance(value, dict) else None
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise _Problem(
            "bad_shape",
            'A call needs a "name" (text) and "arguments" (an object): '
            '{"tool_call": {"name": "…", "arguments": {…}}}.',
        )
    return ToolCall(name, arguments)


def _check(call: ToolCall, toolbox: Toolbox | None) -> ToolCall:
    if toolbox is None:
        return call
    if call.name not in toolbox:
        raise _Problem("unknown_tool", toolbox.unknown(call.name))
    if problem := toolbox[call.name].problem(call.arguments):
        raise _Problem("invalid_arguments", problem)
    return call


def _toolbox(tools: Toolbox | Sequence[Any] | None) -> Toolbox | None:
    if tools is None or isinstance(tools, Toolbox):
        return tools
    return Toolbox(_from_schema(item) for item in tools)


def _from_schema(item: Any) -> Tool:
    if isinstance(item, Tool):
        return item
    plain = item.get("function", item) if isinstance(item, Mapping) else {}
    parameters = plain.get("parameters") or {"type": "object", "properties": {}}
    return Tool(plain.get("name", ""), plain.get("description", ""), parameters, lambda **_: None)
