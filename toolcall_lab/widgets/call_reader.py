"""`CallReader`: a model's raw answer with what was read in it, forgiven, or refused, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..chatml import STOP
from ..errors import ToolcallLabError
from ..parsing import Reading, as_toolbox, read_tool_calls
from ..qwen3 import CALL_CLOSE, CALL_OPEN, THINK_CLOSE
from ..run import Placed, Run
from ..shapes import CALL_KEY
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

    The answer is a text, or a `Run`'s (of the `step`, from 1, or else of the last step with a call
    or a problem), whose tools are then known. In JupyterLab the text can be edited, and the reading
    follows.

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
        source: str | Run,
        tools: Toolbox | Sequence[Any] | None = None,
        *,
        step: int | None = None,
        finish_reason: str | None = None,
    ) -> None:
        if isinstance(source, Run):
            picked = source.step_at(step) if step else _last_reading(source)
            text, finish_reason = picked.step.completion, picked.step.finish_reason
            tools = picked.run.tools if tools is None else tools
        elif isinstance(source, str):
            text = source
        else:
            raise ToolcallLabError(f"CallReader reads a text or a Run, no {type(source).__name__}.")
        self.tools, self.finish_reason = as_toolbox(tools), finish_reason
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
        return "\n".join([*lines, *(f"~ {what}" for what in forgiven(self.text, self.reading))])

    def to_html(self) -> str:
        """The answer with its parts marked, and each argument beside its schema."""
        marked = "".join(
            f'<span style="border-bottom:3px solid {COLORS[part.kind]};" title="{part.kind}">'
            f"<b>{SIGNS[part.kind]}</b> {esc(visible(part.text, blanks=False))}</span> "
            for part in parts(self.text, self.reading)
        )
        pardons = "".join(f"<br>~ {esc(what)}" for what in forgiven(self.text, self.reading))
        tables = "".join(_arguments(call, self.tools) for call in self.reading.calls)
        return (
            f'{STYLE}<div class="tcl-view"><p><b>{esc(visible(summary(self.reading)))}</b>'
            f"{pardons}</p>"
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


def forgiven(text: str, reading: Reading) -> list[str]:
    """What the reader has put up with to read these calls, a sentence each."""
    if not reading.calls or reading.span is None:
        return []
    start, end = reading.span
    said = []
    if THINK_CLOSE in text[:start]:
        said.append("What was thought was left aside.")
    if text[:start].rstrip().endswith(FENCES):
        said.append("The code fence around the call was left aside.")
    if any(mark in text[end:] for mark in STOP):
        said.append(
            "From a ChatML marker on, where the model plays the other side, nothing is read."
        )
    call = text[start:end]
    if call.count(CALL_OPEN) > call.count(CALL_CLOSE):
        said.append(f"A closing {CALL_CLOSE} is missing.")
    objects = list(_objects(call))
    if any("\n" in written and not _is_json(written) for written, _ in objects):
        said.append("Line breaks inside a string, which JSON writes as \\n, were kept.")
    given = [_given(value) for _, value in objects]
    if any(isinstance(arguments, str) for arguments in given):
        said.append("Arguments that were a JSON string were decoded.")
    if None in given:
        said.append("Arguments were left out; none are required.")
    return said


FENCES = ("```", "```json", "```xml")


def _objects(text: str) -> Iterator[tuple[str, Any]]:
    """The JSON objects that stand one after the other in a text, as written and as read."""
    at = text.find("{")
    while at >= 0:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, at)
        yield text[at:end], value
        at = text.find("{", end)


def _given(value: dict[str, Any]) -> Any:
    """What stands under a call's `arguments`, however it's wrapped; None if nothing does."""
    while isinstance(inner := value.get(CALL_KEY, value.get("function")), dict):
        value = inner
    return value.get("arguments")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _last_reading(run: Run) -> Placed:
    """A run's last step that has a call in it, or a problem; else its last."""
    steps = [placed for placed in run.walk() if placed.step.calls or placed.step.problem]
    return steps[-1] if steps else run.step_at(None)


def _arguments(call: ToolCall, tools: Toolbox | None) -> str:
    schema = tools[call.name].parameters if tools is not None else {}
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    rows = "".join(
        f"<tr><td>{esc(name)}</td><td><code>{esc(visible(_json(call.arguments.get(name))))}</code></td>"
        f"<td><code>{esc(_json(properties.get(name, {})))}</code></td>"
        f"<td>{'required' if name in required else 'optional'}</td></tr>"
        for name in dict.fromkeys([*call.arguments, *properties])
    )
    head = "<tr><th>argument</th><th>value</th><th>its schema</th><th>must it be there?</th></tr>"
    return f"<p>{esc(call.name)}</p><table>{head}{rows}</table>"


def _json(value: Any) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False)
