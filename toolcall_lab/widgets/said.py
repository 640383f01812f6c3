"""`Said`: what a model wrote, under a badge that says who spoke."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .html import CODE, STYLE, badge_html, badge_text, bundle, esc, visible


@dataclass(frozen=True)
class Said:
    """Shows a completion: the dict that a model answers with, a `Generation`, or a `Step`.

    >>> from toolcall_lab import ScriptedModel
    >>> Said(ScriptedModel(["It is noon."])("What time is it?"))
    [A script, scripted: typed by hand, not a model's words]
    It is noon.
    """

    output: Any

    def to_text(self) -> str:
        """The view as plain text."""
        name, kind, text = self._parts()
        return f"[{badge_text(name, kind)}]\n{visible(text, blanks=False)}"

    def to_html(self) -> str:
        """The view as HTML that needs no kernel."""
        name, kind, text = self._parts()
        said = f'<pre style="white-space:pre-wrap;{CODE}">{esc(visible(text, blanks=False))}</pre>'
        return f'{STYLE}<div class="tcl-view">{badge_html(name, kind)}{said}</div>'

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle(self.to_text(), self.to_html())

    def _parts(self) -> tuple[str, str, str]:
        output = self.output
        if isinstance(output, Mapping):
            # llama-cpp-python's own "model" is a path of this machine.
            name, kind = (
                (output["model"], output["kind"]) if "kind" in output else ("llama.cpp", "live")
            )
            return name, kind, str(output["choices"][0]["text"])
        text = output.completion if hasattr(output, "completion") else output.text
        return output.model, output.kind, text
