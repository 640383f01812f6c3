"""From text to tool calls, or the reason why there is none.

Two written forms: the course's `{"tool_call": {"name": …, "arguments": {…}}}` and Qwen's native
`<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Nothing is guessed: a call that is cut,
broken, unknown or wrong is a problem with a sentence, and then no call is returned at all.
Texts are searched for their markers; no regular expression ever walks over them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .chatml import STOP
from .tools import Tool, Toolbox, ToolCall

CALL_KEY = "tool_call"
OPEN_TAG, CLOSE_TAG = "<tool_call>", "</tool_call>"
THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
MAX_DEPTH = 64

SHAPE = (
    'A call is {"tool_call": {"name": "…", "arguments": {…}}}: a name and arguments, nothing else.'
)
CUT = "The call was cut at max_tokens; a cut call is never completed by guess."


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
    position, end = 0, len(text)
    try:
        for at, kind, body in _places(text):
            if at < position:
                continue  # inside the call or the thinking before
            if kind == "marker":
                end = at  # from here on the model plays the other side
                break
            prose.append(_before_fence(text[position:at]))
            position = at
            if kind == "think":
                position = _after_thinking(text, at, finish_reason)
            elif kind == "stray" or _is_nested(text, at):
                raise _Problem("bad_shape", f"The call stands inside other JSON. {SHAPE}")
            else:
                value, after = _read_json(text, body, finish_reason)
                if kind == "key" and value[CALL_KEY] is None:
                    continue  # it says that there is no call, so it's an answer
                calls.append(_check(_to_call(value, kind), toolbox))
                position = after if kind == "key" else _after_tag(text, after)
                spans.append((at, position))
        rest = text[position:end]
        if finish_reason == "length" and not calls and _begins_a_call(rest):
            position = max(position, end - len(rest.lstrip()))
            raise _Problem("truncated", CUT)
        if not calls and not "".join([*prose, rest]).strip():
            raise _Problem("empty_output", "The answer is empty; write a tool call or an answer.")
    except _Problem as problem:
        said = "".join(prose).strip()
        return Reading((), problem.kind, str(problem), said, (position, len(text)))
    prose.append(rest.lstrip().removeprefix("```") if calls else rest)
    span = (spans[0][0], spans[-1][1]) if spans else None
    return Reading(tuple(calls), text="".join(prose).strip(), span=span)


def _places(text: str) -> list[tuple[int, str, int]]:
    """What may matter, in order: (where, kind, where its JSON begins).

    Kinds: `tag`, an opening tag with an object or a list behind it; `key`, an object that begins
    with the call's key; `stray`, that key further back in an object; `think`; `marker`, ChatML's.
    """
    places = [(at, "marker", at) for marker in STOP for at in _find_all(text, marker)]
    places += [(at, "think", at) for at in _find_all(text, THINK_OPEN)]
    for at in _find_all(text, OPEN_TAG):
        body = _skip_blanks(text, at + len(OPEN_TAG))
        if text[body : body + 1] in ("{", "[", ""):
            places.append((at, "tag", body))
    quoted = f'"{CALL_KEY}"'
    for at in _find_all(text, quoted):
        before = _back_over_blanks(text, at)
        after = _skip_blanks(text, at + len(quoted))
        if text[before : before + 1] == "{":
            places.append((before, "key", before))
        elif text[before : before + 1] == "," and text[after : after + 1] == ":":
            places.append((before, "stray", before))
    return sorted(places)


def _find_all(text: str, wanted: str) -> Iterator[int]:
    position = 0
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


def _is_nested(text: str, at: int) -> bool:
    """Whether the object at this place is an element of a list or the value of a key."""
    before = _back_over_blanks(text, at)
    if text[before : before + 1] == "[":
        return True
    return text[before : before + 1] == ":" and text[_back_over_blanks(text, before)] == '"'


def _begins_a_call(text: str) -> bool:
    """Whether a cut text ends in the beginning of a call."""
    openings = (f'{{"{CALL_KEY}"', OPEN_TAG)
    tail = text.rstrip()
    return any(
        tail.endswith(opening[:length]) and (length > 1 or len(tail.strip()) == 1)
        for opening in openings
        for length in range(1, len(opening) + 1)
    )


def _before_fence(prose: str) -> str:
    """The prose in front of a call, without the code fence that opens around it."""
    head, fence, label = prose.rpartition("```")
    return head if fence and label.strip() in ("", "json", "xml") else prose


def _after_thinking(text: str, at: int, finish_reason: str | None) -> int:
    """Behind a closed `<think>` block; thinking is never read for calls."""
    close = text.find(THINK_CLOSE, at)
    if close < 0:
        kind = "truncated" if finish_reason == "length" else "bad_shape"
        raise _Problem(kind, "The thinking never ended, so there is neither a call nor an answer.")
    return close + len(THINK_CLOSE)


def _read_json(text: str, body: int, finish_reason: str | None) -> tuple[Any, int]:
    """The object at `body` and where it ends. Strict but for raw newlines inside strings."""
    try:
        value, end = _DECODER.raw_decode(text, body)
    except RecursionError:
        value, end = None, -1
    except ValueError as error:
        if finish_reason == "length":
            raise _Problem("truncated", CUT) from None
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


def _to_call(value: Any, kind: str) -> ToolCall:
    """The call in a decoded object: exactly a name and its arguments, nothing beside them."""
    wrapped = isinstance(value, dict) and set(value) == {CALL_KEY}
    call = value[CALL_KEY] if wrapped else value if kind == "tag" else None
    if not isinstance(call, dict) or not {"name"} <= set(call) <= {"name", "arguments", "id"}:
        raise _Problem("bad_shape", SHAPE)
    name, arguments = call["name"], call.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise _Problem("bad_shape", SHAPE)
    return ToolCall(name, arguments)


def _check(call: ToolCall, toolbox: Toolbox | None) -> ToolCall:
    if toolbox is not None and call.name not in toolbox:
        raise _Problem("unknown_tool", toolbox.unknown(call.name))
    problem = _unfit(call) or (toolbox[call.name].problem(call.arguments) if toolbox else None)
    if problem:
        raise _Problem("invalid_arguments", problem)
    return call


def _unfit(call: ToolCall) -> str | None:
    """What JSON Schema lets pass and no tool can use: an infinite number, half a character."""
    for part in _parts(call.arguments):
        if isinstance(part, float) and not math.isfinite(part):
            return f"Invalid arguments for {call.name}: a number is too large."
        if isinstance(part, str) and any("\ud800" <= char <= "\udfff" for char in part):
            return f"Invalid arguments for {call.name}: a text holds half a surrogate pair."
    return None


def _parts(value: Any) -> Iterator[Any]:
    """A JSON value and everything in it, keys included."""
    yield value
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    for part in inner if isinstance(value, dict | list) else ():
        yield from _parts(part)


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
