"""`ContextGauge`: how the context window fills up, by author, and what pruning took out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..chatml import Prompt
from ..run import Run
from .html import LOOKS, STYLE, View, esc, visible
from .prompt_view import Page, gauge, pages_of

if TYPE_CHECKING:
    from ..models import Model

WIDTH = 40  # characters of a bar in the text form


class ContextGauge(View):
    """Shows the tokens of each author against `n_ctx`, one row a step of a `Run`.

    Of a `Prompt`, with the model that counts its tokens, it shows the one row.
    """

    def __init__(self, source: Run | Prompt, llm: Model | None = None) -> None:
        self.pages = pages_of(source, llm)
        steps = source.steps if isinstance(source, Run) else []
        self.prunings = [step.pruning for step in steps] or [None]

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
        return "\n".join(lines)

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
        return (
            f'{STYLE}<div class="tcl-view"><p><b>Tokens by author, of n_ctx='
            f"{self.pages[0].n_ctx}</b> · {esc(self.pages[-1].speaker)}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


def _bar(page: Page) -> str:
    signs = "".join(
        LOOKS[author].sign * round(WIDTH * count / page.n_ctx)
        for author, count in page.by_author.items()
    )
    return signs[:WIDTH].ljust(WIDTH)
