"""`PromptView`: the exact prompt, span by span: who wrote it, how many tokens, what came last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..chatml import Prompt
from ..errors import ToolcallLabError
from ..run import Run
from .html import View, number_field
from .prompt_page import MODES, page_html, page_text, pages_of

if TYPE_CHECKING:
    from ..models import Model


class PromptView(View):
    """Shows a `Prompt` as `llm` reads it, or the prompts of a `Run`, one page a step.

    `show` is `"text"`, `"tokens"` or `"raw"`; `step` (from 1) picks a run's page, by default the
    last; `find` marks a text wherever it stands. Long turns are folded. In JupyterLab it has
    controls for these; everywhere else the same view is text and HTML.
    """

    def __init__(
        self,
        source: Prompt | Run,
        llm: Model | None = None,
        *,
        show: str = "text",
        step: int | None = None,
        find: str = "",
    ) -> None:
        if show not in MODES:
            raise ToolcallLabError(f"PromptView can show {', '.join(MODES)}, not {show!r}.")
        self.pages = pages_of(source, llm)
        if step is not None and not 1 <= step <= len(self.pages):
            raise ToolcallLabError(f"There is no step {step}; the run has {len(self.pages)}.")
        self.show, self.find = show, find
        self.step = step or len(self.pages)

    def to_text(self) -> str:
        """The view as plain text."""
        return page_text(self.pages[self.step - 1], self.show, find=self.find)

    def to_html(self) -> str:
        """The view as HTML that needs no kernel."""
        return page_html(self.pages[self.step - 1], self.show, find=self.find)

    def controls(self) -> Any:
        """Its buttons and what they change."""
        return _controls(self)


def _controls(view: PromptView) -> Any:
    import ipywidgets as w

    last = len(view.pages)
    shown = w.HTML(view.to_html())
    show = w.ToggleButtons(options=MODES, value=view.show, description="Show")
    find = w.Text(value=view.find, description="Find", placeholder="a text, then Enter")
    find.continuous_update = False
    back = w.Button(description="Back", tooltip="Previous step")
    forth = w.Button(description="Next", tooltip="Next step")
    step = number_field("Step", view.step, 1, last)

    def update(_: Any = None) -> None:
        view.show, view.find, view.step = show.value, find.value, step.value
        shown.value = view.to_html()
        back.disabled, forth.disabled = view.step == 1, view.step == last

    def move(by: int) -> None:
        step.value += by  # it stays between 1 and the last

    for control in (show, find, step):
        control.observe(update, "value")
    back.on_click(lambda _: move(-1))
    forth.on_click(lambda _: move(1))
    update()
    steps = [w.HBox([back, forth, step])] if last > 1 else []
    return w.VBox([w.HBox([show, find]), *steps, shown])
