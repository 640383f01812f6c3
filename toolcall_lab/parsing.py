"""From text to tool calls, or the reason why there is none.

Three written forms: the course's `{"tool_call": {"name": …, "arguments": {…}}}`, Qwen's native
`<tool_call>{"name": …, "arguments": {…}}</tool_call>`, both with prose around, and OpenAI's dicts,
or a bare `{"name": …, "arguments": {…}}`, if they are the whole answer. Nothing is guessed: a call
that is cut, broken, unknown or wrong is a problem with a sentence, and then no call is returned at
all. Texts are searched for their markers, in a time that grows with their length.

The policy, where parsers differ: the JSON must be JSON (no single quotes, comments or commas too
many; only raw newlines in texts are forgiven), keys and names must be the right ones, values are
not converted. Arguments may be a JSON string, or left out where none is required.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .chatml import STOP
from .errors import ToolError
from .qwen3 import CALL_CLOSE, CALL_OPEN, THINK_CLOSE, THINK_OPEN
from .shapes import CALL_KEY, SHAPE, Problem, check_call, decode_at, to_call
from .tools import Tool, Toolbox, ToolCall
from .whole import CUT, check_leftover, whole_answer

MAX_CALLS = 32
EATEN = (
    "Thinking has used up all of max_tokens, before a call or an answer; think less, or allow more."
)
MAX_SIZE = 4_000_000  # characters


@dataclass(frozen=True)
class Reading:
    """What a completion says.

    `calls` is empty whenever there is a `problem` (`truncated`, `invalid_json`, `bad_shape`,
    `ambiguous`, `unknown_tool`, `invalid_arguments`, `empty_output`, `too_deep`, `too_large`,
    `too_many_calls`); `message` explains it, for the learner and for the model. `text` is the prose
    outside the calls, without thinking; `span` is where the calls, or the problem, stand: (start,
    end) in characters.
    """

    calls: list[ToolCall] = field(default_factory=list)
    problem: str | None = None
    message: str = ""
    text: str = ""
    span: tuple[int, int] | None = None


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
    [ToolCall(name='get_time', arguments={}, id=None)]
    >>> read_tool_calls('{"tool_call": {"name": "get_ti', finish_reason="length").problem
    'truncated'
    >>> read_tool_calls("It is noon.").text
    'It is noon.'
    """
    toolbox = as_toolbox(tools)
    calls: list[ToolCall] = []
    prose: list[str] = []
    spans: list[tuple[int, int]] = []
    position, end = 0, len(text)
    try:
        if len(text) > MAX_SIZE:
            raise Problem("too_large", f"The answer has more than {MAX_SIZE} characters.")
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
            if kind == "odd" and finish_reason == "length" and CALL_CLOSE not in text[at:]:
                raise Problem("truncated", CUT)
            if kind == "odd":
                raise Problem("bad_shape", f"Between the tags is no JSON object. {SHAPE}")
            if kind == "stray" or _is_nested(before, bool(spans)):
                prose.append(before)
                raise Problem("bad_shape", f"The call stands inside other JSON. {SHAPE}")
            prose.append(_before_fence(before))
            value, after = _read_json(text, body, finish_reason)
            calls = _few([*calls, *(check_call(call, toolbox) for call in _calls_of(value, kind))])
            position = after if kind == "key" else _after_tag(text, after)
            spans.append((at, position))
            if prose[-1] != before:
                position = _after_fence(text, position)
        rest = text[position:end]
        if finish_reason == "length" and (cut := _call_begins(rest)) >= 0:
            prose.append(rest[:cut])
            position += cut
            raise Problem("truncated", CUT)
        if not calls and not "".join([*prose, rest]).strip():
            raise Problem("empty_output", "The answer is empty; write a tool call or an answer.")
        if calls:
            check_leftover(rest, finish_reason)
        elif whole := whole_answer("".join([*prose, rest]), toolbox, finish_reason):
            return Reading(_few(whole), span=(position, end))
    except Problem as problem:
        said = "".join(prose).strip()
        return Reading([], problem.kind, str(problem), said, (position, len(text)))
    span = (spans[0][0], spans[-1][1]) if spans else None
    return Reading(calls, text="".join([*prose, rest]).strip(), span=span)


def _few(calls: list[ToolCall]) -> list[ToolCall]:
    if len(calls) > MAX_CALLS:
        raise Problem("too_many_calls", f"More than {MAX_CALLS} calls in one answer.")
    return calls


def _places(text: str, position: int) -> list[tuple[int, str, int]]:
    """What may matter, in order: (where, kind, where its JSON begins).

    Kinds: `tag`, an opening tag with an object or a list behind it; `odd`, tags around something
    else that was meant as a call; `key`, an object that begins with the call's key; `stray`, that
    key further back in an object; `think`, a block of thinking with one of these in it; `marker`,
    ChatML's.
    """
    calls = []
    closes = list(_find_all(text, CALL_CLOSE, position))
    start = _skip_blanks(text, position)
    for at in _find_all(text, CALL_OPEN, position):
        body = _skip_blanks(text, at + len(CALL_OPEN))
        following = bisect(closes, body - 1)
        if text[body : body + 1] in ("{", "[", ""):
            calls.append((at, "tag", body))
        elif (at == start and not text.startswith(CALL_OPEN, body)) or (
            following < len(closes) and _MEANT.match(text, body, min(closes[following], body + 200))
        ):
            calls.append((at, "odd", body))
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
        elif text[value : value + 1] == "{" and _begins_line(text, at):
            calls.append((at, "stray", at))
    calls.sort()
    markers = [(at, "marker", at) for marker in STOP for at in _find_all(text, marker, position)]
    return sorted([*calls, *markers, *_thoughts(text, position, [at for at, _, _ in calls])])


_MEANT = re.compile(r"<|[^{}\n]*\{|[\w.-]+\s*(\(|$)")


def _calls_of(value: Any, kind: str) -> list[ToolCall]:
    """The calls in what stands behind a tag or under the call's key."""
    if kind == "key" and set(value) != {CALL_KEY}:
        raise Problem("bad_shape", SHAPE)
    several = kind == "tag" and isinstance(value, list) and value
    return [to_call(item) for item in (value if several else [value])]


def _thoughts(text: str, position: int, calls: list[int]) -> Iterator[tuple[int, str, int]]:
    """The `<think>` blocks behind the answer's beginning that hold a call: it's not to be read."""
    closes = list(_find_all(text, THINK_CLOSE, position))
    for at in _find_all(text, THINK_OPEN, position):
        following = bisect(closes, at)
        close = closes[following] if following < len(closes) else len(text)
        inside = bisect(calls, at)
        if inside < len(calls) and calls[inside] < close:
            yield at, "think", at
        if following == len(closes):
            return


def _find_all(text: str, wanted: str, position: int) -> Iterator[int]:
    while (position := text.find(wanted, position)) >= 0:
        yield position
        position += len(wanted)


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _begins_line(text: str, at: int) -> bool:
    while at > 0 and text[at - 1] in " \t":
        at -= 1
    return at == 0 or text[at - 1] == "\n"


def _back_over_blanks(text: str, at: int) -> int:
    at -= 1
    while at > 0 and text[at].isspace():
        at -= 1
    return at


_IN_JSON = re.compile(r"([\[{]|['\"]\s*:|['\"\d}\]]\s*,|\b(true|false|null)\s*,|['\"])$")


def _is_nested(before: str, behind_a_call: bool) -> bool:
    """Whether what stands before a call shows that it's a part of other JSON, or of a string."""
    opened = sum(map(before.count, "{[")) - sum(map(before.count, "}]"))
    tail = before.rstrip()[-200:]
    if opened <= 0:
        return tail.endswith(('"', "'")) and not behind_a_call
    return before.lstrip()[:1] in "{[" or bool(_IN_JSON.search(tail))


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
        if CALL_OPEN.startswith(written) and (len(written) > 1 or text.strip() == "<"):
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


_LONE_CLOSE = re.compile(rf"^[ \t]*{THINK_CLOSE}", re.MULTILINE)


def _after_thinking(text: str, finish_reason: str | None) -> int:
    """Where the answer begins: behind the thinking, which is never read for calls.

    If the prompt has opened it already, only its end is in the text, on a line of its own.
    """
    position = _skip_blanks(text, 0)
    marker = min((i for m in STOP if (i := text.find(m)) >= 0), default=len(text))
    while text.startswith(THINK_OPEN, position):
        close = _matching_close(text, position)
        if close < 0 or marker < close:
            if finish_reason == "length":
                raise Problem("truncated", EATEN)
            raise Problem("bad_shape", "The thinking never ended: there is no call, no answer.")
        position = _skip_blanks(text, close + len(THINK_CLOSE))
    opened = text.find(THINK_OPEN, position)
    until = min(marker, opened if opened >= 0 else marker)
    for lone in _LONE_CLOSE.finditer(text, position, until):
        position = lone.end()
    return position


def _matching_close(text: str, position: int) -> int:
    """Where the thinking that opens at a position ends, or -1; it may hold further thinking."""
    depth, at = 0, position
    while True:
        close, opened = text.find(THINK_CLOSE, at), text.find(THINK_OPEN, at)
        if close < 0:
            return -1
        if 0 <= opened < close:
            depth, at = depth + 1, opened + len(THINK_OPEN)
        elif depth <= 1:
            return close
        else:
            depth, at = depth - 1, close + len(THINK_CLOSE)


def _after_block(text: str, at: int) -> int:
    close = text.find(THINK_CLOSE, at)
    if close < 0:
        raise Problem("bad_shape", "A call stands in thinking that never ended.")
    return close + len(THINK_CLOSE)


def _read_json(text: str, body: int, finish_reason: str | None) -> tuple[Any, int]:
    """The object at `body` and where it ends."""
    try:
        return decode_at(text, body)
    except Problem as problem:
        if finish_reason == "length" and problem.kind == "invalid_json":
            raise Problem("truncated", CUT) from None
        raise


def _after_tag(text: str, end: int) -> int:
    """Behind a call's `</tool_call>`. A missing one is forgiven, text in front of it is not."""
    at = _skip_blanks(text, end)
    if text.startswith(CALL_CLOSE, at):
        return at + len(CALL_CLOSE)
    close, following = text.find(CALL_CLOSE, end), text.find(CALL_OPEN, end)
    if close >= 0 and not 0 <= following < close:
        raise Problem("invalid_json", f"There is text between the call's JSON and {CALL_CLOSE}.")
    return end


def as_toolbox(tools: Toolbox | Sequence[Any] | None) -> Toolbox | None:
    """Tools as `read_tool_calls` takes them, as a toolbox."""
    if tools is None or isinstance(tools, Toolbox):
        return tools
    return Toolbox(_from_schema(item) for item in tools)


def _from_schema(item: Any) -> Tool:
    if isinstance(item, Tool):
        return item
    plain = item.get("function", item) if isinstance(item, Mapping) else None
    if not isinstance(plain, Mapping) or not isinstance(plain.get("name"), str):
        raise ToolError(f"{item!r:.200} describes no tool: it needs a name and parameters.")
    if not isinstance(plain.get("parameters") or {}, Mapping):
        raise ToolError(f"{plain['name']}: its parameters must be a JSON Schema, an object.")
    parameters = {"type": "object"} | (plain.get("parameters") or {})
    return Tool(plain["name"], plain.get("description", ""), parameters, lambda **_: None)
