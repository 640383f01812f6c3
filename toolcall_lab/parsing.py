"""From text to tool calls, or the reason why there is none.

Two written forms: the course's `{"tool_call": {"name": …, "arguments": {…}}}` and Qwen's native
`<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Nothing is guessed: a call that is cut,
broken, unknown or wrong is a problem with a sentence, and then no call is returned at all.
Texts are searched for their markers, in a time that grows with their length.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .chatml import STOP
from .errors import ToolError
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
        position = _after_thinking(text, finish_reason)
        for at, kind, body in _places(text, position):
            if at < position:
                continue  # inside the call or the thinking before
            if kind == "marker":
                end = at  # from here on the model plays the other side
                break
            before = text[position:at]
            position = at
            if kind == "think":
                position = _after_block(text, at)
                prose.append(before)
                continue
            if kind == "stray" or _is_nested(before, bool(spans)):
                prose.append(before)
                raise _Problem("bad_shape", f"The call stands inside other JSON. {SHAPE}")
            prose.append(_before_fence(before))
            value, after = _read_json(text, body, finish_reason)
            calls.append(_check(_to_call(value, kind), toolbox))
            position = after if kind == "key" else _after_tag(text, after)
            spans.append((at, position))
            if prose[-1] != before:
                position = _after_fence(text, position)
        rest = text[position:end]
        if finish_reason == "length" and (cut := _call_begins(rest)) >= 0:
            prose.append(rest[:cut])
            position += cut
            raise _Problem("truncated", CUT)
        if not calls and not "".join([*prose, rest]).strip():
            raise _Problem("empty_output", "The answer is empty; write a tool call or an answer.")
    except _Problem as problem:
        said = "".join(prose).strip()
        return Reading((), problem.kind, str(problem), said, (position, len(text)))
    span = (spans[0][0], spans[-1][1]) if spans else None
    return Reading(tuple(calls), text="".join([*prose, rest]).strip(), span=span)


def _places(text: str, position: int) -> list[tuple[int, str, int]]:
    """What may matter, in order: (where, kind, where its JSON begins).

    Kinds: `tag`, an opening tag with an object or a list behind it; `key`, an object that begins
    with the call's key; `stray`, that key further back in an object; `think`, a block of thinking
    with one of these in it; `marker`, ChatML's.
    """
    calls = []
    for at in _find_all(text, OPEN_TAG, position):
        body = _skip_blanks(text, at + len(OPEN_TAG))
        if text[body : body + 1] in ("{", "[", ""):
            calls.append((at, "tag", body))
    brace = text.find("{", position)
    for at in _find_all(text, f'"{CALL_KEY}"', position):
        colon = _skip_blanks(text, at + len(CALL_KEY) + 2)
        value = _skip_blanks(text, colon + 1)
        if text[colon : colon + 1] != ":" or text.startswith(("null", "false"), value):
            continue  # no call, or it says that there is none
        before = _back_over_blanks(text, at)
        if text[before : before + 1] == "{":
            calls.append((before, "key", before))
        elif text[before : before + 1] == "," and 0 <= brace < before:
            calls.append((before, "stray", before))
    calls.sort()
    markers = [(at, "marker", at) for marker in STOP for at in _find_all(text, marker, position)]
    return sorted([*calls, *markers, *_thoughts(text, position, [at for at, _, _ in calls])])


def _thoughts(text: str, position: int, calls: list[int]) -> Iterator[tuple[int, str, int]]:
    """The `<think>` blocks behind the answer's beginning that hold a call: it's not to be read."""
    for at in _find_all(text, THINK_OPEN, position):
        close = text.find(THINK_CLOSE, at)
        inside = bisect(calls, at)
        if inside < len(calls) and calls[inside] < (close if close >= 0 else len(text)):
            yield at, "think", at
        if close < 0:
            return


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


_IN_JSON = re.compile(r'(\[|"\s*:|["\d}\]]\s*,|\b(true|false|null)\s*,|")$')


def _is_nested(before: str, behind_a_call: bool) -> bool:
    """Whether what stands before a call shows that it's a part of other JSON, or of a string."""
    tail = before.rstrip()[-200:]
    return bool(_IN_JSON.search(tail)) and not (behind_a_call and tail == ",")


def _call_begins(text: str) -> int:
    """Where a cut text begins a call, or -1."""
    brace, tag = text.rfind("{"), text.rfind("<")
    if brace >= 0:
        written = "".join(text[brace:].split())
        opening = f'{{"{CALL_KEY}":'
        if opening.startswith(written) and (len(written) > 1 or text.strip() == "{"):
            return brace
    if tag >= 0:
        written = text[tag:].rstrip()
        if OPEN_TAG.startswith(written) and (len(written) > 1 or text.strip() == "<"):
            return tag
    return -1


def _before_fence(prose: str) -> str:
    """The prose in front of a call, without the code fence that opens around it."""
    head, fence, label = prose.rpartition("```")
    return head if fence and label.strip() in ("", "json", "xml") else prose


def _after_fence(text: str, position: int) -> int:
    """Behind the fence that closes around a call."""
    at = _skip_blanks(text, position)
    return at + 3 if text.startswith("```", at) else position


def _after_thinking(text: str, finish_reason: str | None) -> int:
    """Where the answer begins: behind the thinking, which is never read for calls."""
    position = _skip_blanks(text, 0)
    while text.startswith(THINK_OPEN, position):
        close = text.find(THINK_CLOSE, position)
        marker = min((i for m in STOP if (i := text.find(m, position)) >= 0), default=len(text))
        if close < 0 or marker < close:
            kind = "truncated" if finish_reason == "length" else "bad_shape"
            raise _Problem(kind, "The thinking never ended, so there is no call and no answer.")
        position = _skip_blanks(text, close + len(THINK_CLOSE))
    return position


def _after_block(text: str, at: int) -> int:
    close = text.find(THINK_CLOSE, at)
    if close < 0:
        raise _Problem("bad_shape", "A call stands in thinking that never ended.")
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
    """Behind a call's `</tool_call>`. A missing one is forgiven, text in front of it is not."""
    at = _skip_blanks(text, end)
    if text.startswith(CLOSE_TAG, at):
        return at + len(CLOSE_TAG)
    close, following = text.find(CLOSE_TAG, end), text.find(OPEN_TAG, end)
    if close >= 0 and not 0 <= following < close:
        raise _Problem("invalid_json", f"There is text between the call's JSON and {CLOSE_TAG}.")
    return end


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
    plain = item.get("function", item) if isinstance(item, Mapping) else None
    if not isinstance(plain, Mapping) or not isinstance(plain.get("name"), str):
        raise ToolError(f"{item!r:.200} describes no tool: it needs a name and parameters.")
    parameters = {"type": "object"} | (plain.get("parameters") or {})
    return Tool(plain["name"], plain.get("description", ""), parameters, lambda **_: None)
