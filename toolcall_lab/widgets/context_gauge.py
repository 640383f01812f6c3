"""`ContextGauge`: how the context window fills up, by author, and what pruning took out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..chatml import Prompt
from ..errors import ToolcallLabError
from ..run import Run
from .html import LOOKS, STYLE, View, esc, visible
from .prompt_view import Page, gauge, pages_of

if TYPE_CHECKING:
    from ..models import Model

WIDTH = 40  # characters of a bar in the text form


class ContextGauge(View):
    """Shows the tokens of each author against `n_ctx`, one row a step of a `Run`.

    Of a `Prompt`, with the model that counts its tokens, it shows the one row. Another `n_ctx` than
    the model's, and `room` tokens to keep for each answer, tell what would have been: in JupyterLab
    there's a slider for each.
    """

    def __init__(
        self,
        source: Run | Prompt,
        llm: Model | None = None,
        *,
        n_ctx: int | None = None,
        room: int = 0,
    ) -> None:
        if (n_ctx is not None and n_ctx < 1) or room < 0:
            raise ToolcallLabError(f"n_ctx={n_ctx}, room={room}: a window has at least a token.")
        pages = pages_of(source, llm)
        self.actual, self.room = pages[0].n_ctx, room
        self.pages = [replace(page, n_ctx=n_ctx or page.n_ctx) for page in pages]
        steps = source.steps if isinstance(source, Run) else []
        self.prunings = [step.pruning for step in steps] or [None]

    @property
    def full_at(self) -> int | None:
        """The first step (from 1) whose prompt doesn't leave this room; None if all do."""
        sizes = [page.total + max(self.room, 1) for page in self.pages]
        n_ctx = self.pages[0].n_ctx
        return next((n for n, size in enumerate(sizes, 1) if size > n_ctx), None)

    def verdict(self) -> str:
        """Whether all prompts fit, in a sentence; empty if nothing else was asked than what was."""
        n_ctx = self.pages[0].n_ctx
        if n_ctx == self.actual and not self.room:
            return ""
        what = f"n_ctx={n_ctx} instead of {self.actual}, {self.room} tokens kept for an answer"
        if self.full_at is None:
            return f"{what}: everything fits."
        return f"{what}: full at step {self.full_at} of {len(self.pages)}."

    def controls(self) -> Any:
        """Sliders for the window and the room."""
        return _controls(self)

    def to_text(self) -> str:
        """A bar a step, made of the authors' signs."""
        named = ", ".join(f"{look.sign} {author}" for author, look in LOOKS.items())
        lines = [f"tokens in n_ctx={self.pages[0].n_ctx}: {named} · {self.pages[-1].speaker}"]
        for number, (page, pruning) in enumerate(zip(self.pages, self.prunings, strict=True), 1):
            counts = " ".join(f"{LOOKS[a].sign}{n}" for a, n in page.by_author.items() if n)
            free = page.n_ctx - page.total
            lines.append(f"{number:>3} [{_bar(page)}] {page.total:>5}, {free} free  {counts}")
            if pruning:
                lines.append(f"    ^ {visible(str(pruning))}")
        return "\n".join([*lines, self.verdict()] if self.verdict() else lines)

    def to_html(self) -> str:
        """A table with a bar and the numbers, a row a step."""
        heads = ["step", "context window", "tokens", "free"]
        heads += [f"{look.sign} {author}" for author, look in LOOKS.items()]
        rows = ""
        for number, (page, pruning) in enumerate(zip(self.pages, self.prunings, strict=True), 1):
            numbers = [page.total, page.n_ctx - page.total, *page.by_author.values()]
            cells = "".join(f"<td>{count}</td>" for count in numbers)
            note = f"<br>pruned: {esc(visible(str(pruning)))}" if pruning else ""
            wide = 'style="text-align:left;min-width:16em;"'
            rows += f"<tr><td>{number}</td><td {wide}>{gauge(page)}{note}</td>{cells}</tr>"
        head = "".join(f"<th>{esc(name)}</th>" for name in heads)
        verdict = f"<p>{esc(self.verdict())}</p>" if self.verdict() else ""
        return (
            f'{STYLE}<div class="tcl-view"><p><b>Tokens by author, of n_ctx='
            f"{self.pages[0].n_ctx}</b> · {esc(self.pages[-1].speaker)}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"{verdict}</div>"
        )


def _controls(view: ContextGauge) -> Any:
    import ipywidgets as w

    shown = w.HTML(view.to_html())
    most = max(2 * view.actual, 512)
    n_ctx = w.IntSlider(view.pages[0].n_ctx, 256, most, 256, description="n_ctx")
    room = w.IntSlider(view.room, 0, 1024, 64, description="for answer")

    def update(_: Any) -> None:
        view.pages = [replace(page, n_ctx=n_ctx.value) for page in view.pages]
        view.room = room.value
        shown.value = view.to_html()

    n_ctx.observe(update, "value")
    room.observe(update, "value")
    return w.VBox([w.HBox([n_ctx, room]), shown])


def _bar(page: Page) -> str:
    signs = "".join(
        LOOKS[author].sign * round(WIDTH * count / page.n_ctx)
        for author, count in page.by_author.items()
    )
    return signs[:WIDTH].ljust(WIDTH)
