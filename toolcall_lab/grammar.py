"""From a toolbox to a constraint: what a completion must look like.

A constraint is a grammar in llguidance's dialect of Lark, with a JSON Schema inside. Schemas are
made ready first (`bounded.py`); what can't be kept is refused in a sentence, before anything runs.
`generate` is in `generation.py`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .bounded import bounded
from .closing import shortest
from .errors import ConstraintError
from .generation import Constraint, Generation, TokenRecord, first_line, generate
from .qwen3 import CALL_CLOSE, CALL_OPEN, THINK_OPEN
from .shapes import CALL_KEY
from .tools import Toolbox

__all__ = [
    "Constraint", "Generation", "TokenRecord", "generate", "json_schema", "several_calls", "text",
    "tool_call", "tool_call_or_text",
]  # fmt: skip

STYLES = ("course", "qwen3")
MAX_CALLS = 4  # of `several_calls`


def tool_call(toolbox: Toolbox, *, style: str = "course") -> Constraint:
    """One call of a tool in the box, with arguments that meet its schema.

    It forces a call: whether one is needed isn't asked. `style` is the written form, the course's
    or Qwen's (`"qwen3"`). Texts and lists are bounded, and what is open near the end of the budget
    is closed: a call always ends. An object whose keys are free gets one at most. Raises
    `ConstraintError` if the toolbox is empty or a schema can't be compiled.
    """
    name = f"a call of {' or '.join(toolbox)}"
    return _of_calls(name, "one", toolbox, style)


def tool_call_or_text(toolbox: Toolbox, *, style: str = "course") -> Constraint:
    """One call as `tool_call` allows it, or a text in which there is nothing of a call.

    The model decides, with its first token: a call begins with a brace or a tag, and a text
    doesn't. A text can't hold the marks of a call or of thinking, nor begin as other ways of
    writing calls do. Raises `ConstraintError` like `tool_call`.
    """
    name = f"a call of {' or '.join(toolbox)}, or a text"
    return _of_calls(name, "one | TEXT", toolbox, style)


def several_calls(toolbox: Toolbox, *, style: str = "course", most: int = MAX_CALLS) -> Constraint:
    """One to `most` calls, a line each. Raises `ConstraintError` like `tool_call`."""
    if not 1 <= most <= 32:
        raise ConstraintError(f"most={most}: an answer has 1 to 32 calls.")
    name = f"up to {most} calls of {' or '.join(toolbox)}"
    start = f'one ("\\n" one){{0,{most - 1}}}'
    return _of_calls(name, start, toolbox, style)


def json_schema(schema: dict[str, Any]) -> Constraint:
    """A JSON object that a schema describes. Raises `ConstraintError` if it can't be compiled."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ConstraintError('The schema of a completion must be of {"type": "object"}.')
    ready = bounded(schema)
    return Constraint("JSON of a schema", _compile("json", ready), (shortest(ready),))


def text() -> Constraint:
    """A text in which there is nothing of a call: the model has to answer."""
    return Constraint("a text", _compile("TEXT"))


def _of_calls(name: str, start: str, toolbox: Toolbox, style: str) -> Constraint:
    if not toolbox:
        raise ConstraintError("A toolbox without tools allows no call; put a tool into it.")
    if style not in STYLES:
        raise ConstraintError(f"A call's style is {' or '.join(STYLES)}, not {style!r}.")
    tools = [(tool.name, bounded(tool.closed_parameters)) for tool in toolbox.values()]
    call = {"anyOf": [_object(name={"const": n}, arguments=a) for n, a in tools]}
    if style == "course":
        call, opening, after = _object(**{CALL_KEY: call}), f'{{"{CALL_KEY}": ', "}}"
    else:
        opening, after = f"{CALL_OPEN}\n", f"}}\n{CALL_CLOSE}"
    forms = tuple(
        shortest(
            a, before=f'{{"name": {json.dumps(n)}, "arguments": ', after=after, opening=opening
        )
        for n, a in tools
    )
    tagged = _compile(start, call, style, tagged=True) if style == "qwen3" else ""
    return Constraint(name, _compile(start, call, style), forms, tagged)


def _object(**properties: Any) -> dict[str, Any]:
    """The schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text() -> str:
    marks = "|".join(re.escape(mark) for mark in (CALL_KEY, THINK_OPEN, "<|im_", "[TOOL_CALLS"))
    return rf"/[^{{\[;`<\s](?s:.*)/ & ~/(?s:.*)({marks})(?s:.*)/".replace("</", r"<\/")


def _compile(
    start: str, schema: dict[str, Any] | None = None, style: str = "course", *, tagged: bool = False
) -> str:
    """A grammar in llguidance's dialect of Lark; `json` is what the schema describes, `one` a call
    of it in a style, `TEXT` a text without calls. `tagged`: tags are tokens, not texts."""
    from llguidance import LLMatcher

    rules = [f"start: {start}"]
    if "TEXT" in start:
        rules.append(f"TEXT: {_text()}")
    if schema is not None:
        # One blank behind : and , as json.dumps writes it and as the model has seen it.
        spacing = {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}
        rules.append(f"json: %json {json.dumps(schema | {'x-guidance': spacing})}")
    if "one" in start:
        opening, closing = (tag if tagged else f'"{tag}"' for tag in (CALL_OPEN, CALL_CLOSE))
        qwen = f'one: {opening} "\\n" json "\\n" {closing}'
        rules.append(qwen if style == "qwen3" else "one: json")
    grammar = LLMatcher.grammar_from_lark("\n".join(rules) + "\n")
    failed, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    if failed:
        reason = first_line(messages[0])
        raise ConstraintError(f"This schema can't constrain a completion: {reason}")
    return str(grammar)
