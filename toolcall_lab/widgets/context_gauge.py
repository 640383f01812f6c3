"""`ContextGauge`: how the context window fills up, by author, what pruning took out or would."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..chatml import Prompt
from ..errors import ToolcallLabError
from ..run import Run
from .html import LOOKS, STYLE, View, esc, number_field, visible
from .prompt_page import Page, gauge, pages_of
from .what_if import WHAT_IF, would_have_been

if TYPE_CHECKING:
    from ..models import Model

WIDTH = 40  # characters of a bar in the text form


class ContextGauge(View):
    """Shows the tokens of each author against `n_ctx`, one row a step of a `Run`.

    Of a `Prompt`, with the model that counts its tokens, it shows the one row. Another `n_ctx` than
    the model's, `room` tokens to keep for each answer, and of a run another `policy` of pruning (or
    `"none"`) tell what would have been, had the model written the same: in JupyterLab there's a
    field for each.
    """

    def __init__(
        self,
        source: Run | Prompt,
        llm: Model | None = None,
        *,
        n_ctx: int | None = None,
        room: int = 0,
        policy: str | None = None,
    ) -> None:
        if (n_ctx is not None and n_ctx < 1) or room < 0:
            raise ToolcallLabError(f"n_ctx={n_ctx}, room={room}: a window has at least a token.")
        self.source = source
        if policy is not None and not (self._one_agent and policy in WHAT_IF):
            raise ToolcallLabError(
                f"What one agent's run would have been can be told of {', '.join(WHAT_IF)}, not "
                f"{policy!r}."
            )
        self.recorded = pages_of(source, llm)
        self.actual = self.recorded[0].n_ctx
        self.ask(n_ctx or self.actual, room, policy)

    def ask(self, n_ctx: int, room: int = 0, policy: str | None = None) -> None:
        """Asks what would have been with another window, room and policy."""
        self.room, self.policy = room, policy
        if policy is not None and isinstance(self.source, Run):
            self.pages, self.prunings = would_have_been(self.source, n_ctx, room, policy)
            return
        self.pages = [replace(page, n_ctx=n_ctx) for page in self.recorded]
        steps = self.source.walk() if isinstance(self.source, Run) else ()
        self.prunings = [placed.step.pruning for placed in steps] or [None]

    @property
    def _one_agent(self) -> bool:
        """Whether it's a run without others in it."""
        return isinstance(self.source, Run) and not any(s.inner for s in self.source.steps)

    @property
    def full_at(self) -> int | None:
        """The first step (from 1) whose prompt doesn't leave this room; None if all do."""
        sizes = [page.total + max(self.room, 1) for page in self.pages]
        n_ctx = self.pages[0].n_ctx
        return next((n for n, size in enumerate(sizes, 1) if size > n_ctx), None)

    def verdict(self) -> str:
        """Whether all prompts fit, in a sentence; empty if nothing else was asked than what was."""
        n_ctx = self.pages[0].n_ctx
        if n_ctx == self.actual and not self.room and self.policy is None:
            return ""
        what = f"n_ctx={n_ctx} instead of {self.actual}, {self.room} tokens kept for an answer"
        what += "" if self.policy is None else f", the same answers, policy {self.policy}"
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
            who = f"  {visible(page.who)}" * bool(page.who)
            lines.append(f"{number:>3} [{_bar(page)}] {page.total:>5}, {free} free  {counts}{who}")
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
            who = f" {esc(visible(page.who))}" * bool(page.who)
            rows += f"<tr><td>{number}{who}</td><td {wide}>{gauge(page)}{note}</td>{cells}</tr>"
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
    n_ctx = number_field("n_ctx", view.pages[0].n_ctx, 1, 10 * view.actual, 256)
    room = number_field("Room for an answer", view.room, 0, view.actual, 64)
    policies = [("as it was", ""), *((name, name) for name in WHAT_IF)]
    policy = w.Dropdown(options=policies, value=view.policy or "", description="Pruning")
    controls = [n_ctx, room] + [policy] * view._one_agent

    def update(_: Any) -> None:
        view.ask(n_ctx.value, room.value, policy.value or None)
        shown.value = view.to_html()

    for control in controls:
        control.observe(update, "value")
    return w.VBox([w.HBox(controls), shown])


def _bar(page: Page) -> str:
    signs = "".join(
        LOOKS[author].sign * round(WIDTH * count / page.n_ctx)
        for author, count in page.by_author.items()
    )
    return signs[:WIDTH].ljust(WIDTH)
