"""`CallReader`: a model's raw answer with what was read in it, or refused, and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..parsing import Reading, read_tool_calls
from ..tools import Toolbox, ToolCall
from .html import CODE, STYLE, View, esc, one_line, visible


@dataclass(frozen=True)
class Part:
    """A stretch of the answer: `prose`, a `call`, or a `refused` one."""

    kind: str
    text: str


SIGNS = {"prose": "·", "call": "✓", "refused": "✗"}
COLORS = {"prose": "#767676", "call": "#009E73", "refused": "#D55E00"}


class CallReader(View):
    """Reads an answer as `read_tool_calls` does and draws the reading on it.

    In JupyterLab the text can be edited, and the reading follows.

    >>> CallReader('Sure: {"tool_call": {"name": "get_time", "arguments": {}}}')
    1 call: get_time()
    · prose     Sure:
    ✓ call      {"tool_call": {"name": "get_time", "arguments": {}}}
    >>> CallReader('{"tool_call": {"name": get_time}}')
    no call, invalid_json: The call is not valid JSON: Expecting value.
    ✗ refused   {"tool_call": {"name": get_time}}
    """

    def __init__(
        self,
        text: str,
        tools: Toolbox | Sequence[Any] | None = None,
        *,
        finish_reason: str | None = None,
    ) -> None:
        self.tools, self.finish_reason = tools, finish_reason
        self.read(text)

    def read(self, text: str) -> None:
        """Reads another text in its place."""
        self.text = text
        self.reading = read_tool_calls(text, self.tools, finish_reason=self.finish_reason)

    def controls(self) -> Any:
        """The text to edit, and the view below."""
        return _controls(self)

    def to_text(self) -> str:
        """The reading and its parts, a line each."""
        lines = [summary(self.reading)]
        for part in parts(self.text, self.reading):
            lines.append(f"{SIGNS[part.kind]} {part.kind:<9} {one_line(part.text.rstrip(), 90)}")
        return "\n".join(lines)

    def to_html(self) -> str:
        """The answer with its parts marked, and each argument beside its schema."""
        marked = "".join(
            f'<span style="border-bottom:3px solid {COLORS[part.kind]};" title="{part.kind}">'
            f"<b>{SIGNS[part.kind]}</b> {esc(visible(part.text, blanks=False))}</span> "
            for part in parts(self.text, self.reading)
        )
        tables = "".join(_arguments(call, self.tools) for call in self.reading.calls)
        return (
            f'{STYLE}<div class="tcl-view"><p><b>{esc(visible(summary(self.reading)))}</b></p>'
            f'<pre style="white-space:pre-wrap;{CODE}">{marked}</pre>{tables}</div>'
        )


def _controls(view: CallReader) -> Any:
    import ipywidgets as w

    text, shown = w.Textarea(value=view.text, description="Answer", rows=4), w.HTML(view.to_html())
    text.layout.width = "100%"

    def update(_: Any) -> None:
        view.read(text.value)
        shown.value = view.to_html()

    text.observe(update, "value")
    return w.VBox([text, shown])


def summary(reading: Reading) -> str:
    """What was read, in a line."""
    if reading.problem:
        return f"no call, {reading.problem}: {visible(reading.message)}"
    if not reading.calls:
        return "no call: an answer"
    calls = ", ".join(visible(str(call)) for call in reading.calls)
    return f"{len(reading.calls)} call{'s' if len(reading.calls) > 1 else ''}: {calls}"


def parts(text: str, reading: Reading) -> list[Part]:
    """The answer in its parts, in order; empty ones are left out."""
    if reading.span is None:
        return [Part("prose", text)] if text else []
    start, end = reading.span
    middle = Part("refused" if reading.problem else "call", text[start:end])
    around = [Part("prose", text[:start]), middle, Part("prose", text[end:])]
    return [part for part in around if part.text.strip()]


def _arguments(call: ToolCall, tools: Any) -> str:
    schema = tools[call.name].parameters if isinstance(tools, Toolbox) else {}
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    rows = "".join(
        f"<tr><td>{esc(name)}</td><td><code>{esc(visible(_json(call.arguments.get(name))))}</code></td>"
        f"<td><code>{esc(_json(properties.get(name, {})))}</code></td>"
        f"<td>{'required' if name in required else 'optional'}</td></tr>"
        for name in dict.fromkeys([*call.arguments, *properties])
    )
    head = "<tr><th>argument</th><th>value</th><th>its schema</th><th></th></tr>"
    return f"<p>{esc(call.name)}</p><table>{head}{rows}</table>"


def _json(value: Any) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False)
