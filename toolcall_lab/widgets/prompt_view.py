"""`PromptView`: the exact prompt, span by span: who wrote it, how many tokens, what came last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..chatml import AUTHORS, IM_END, Prompt, Span
from ..errors import ToolcallLabError
from ..run import Run, piece_texts
from .html import CODE, LOOKS, STYLE, View, badge_text, chip, esc, one_line, visible

if TYPE_CHECKING:
    from ..models import Model

MODES = ("text", "tokens", "raw")
MAX_TOKENS_SHOWN = 400  # a browser takes about 0.1 ms for each box


@dataclass(frozen=True)
class Page:
    """One prompt as shown: its spans with their token ids, and how many of them are not `new`."""

    title: str
    spans: tuple[Span, ...]
    ids: tuple[tuple[int, ...], ...]
    pieces: dict[int, str]
    n_ctx: int
    new: int
    speaker: str

    @property
    def total(self) -> int:
        """The prompt's tokens."""
        return sum(map(len, self.ids))

    @property
    def by_author(self) -> dict[str, int]:
        """The tokens of each author, in the order of `LOOKS`."""
        counts = dict.fromkeys(LOOKS, 0)
        for span, ids in zip(self.spans, self.ids, strict=True):
            counts[span.author] += len(ids)
        return counts


class PromptView(View):
    """Shows a `Prompt` as `llm` reads it, or the prompts of a `Run`, one page a step.

    `show` is `"text"`, `"tokens"` or `"raw"`; `step` (from 1) picks a run's page, by default the
    last. In JupyterLab it has buttons for both; everywhere else the same view is text and HTML.
    """

    def __init__(
        self,
        source: Prompt | Run,
        llm: Model | None = None,
        *,
        show: str = "text",
        step: int | None = None,
    ) -> None:
        if show not in MODES:
            raise ToolcallLabError(f"PromptView can show {', '.join(MODES)}, not {show!r}.")
        self.pages = pages_of(source, llm)
        if step is not None and not 1 <= step <= len(self.pages):
            raise ToolcallLabError(f"There is no step {step}; the run has {len(self.pages)}.")
        self.show = show
        self.step = step or len(self.pages)

    def to_text(self) -> str:
        """The view as plain text."""
        return page_text(self.pages[self.step - 1], self.show)

    def to_html(self) -> str:
        """The view as HTML that needs no kernel."""
        return page_html(self.pages[self.step - 1], self.show)

    def controls(self) -> Any:
        """Its buttons and what they change."""
        return _controls(self)


def page_text(page: Page, show: str) -> str:
    """One line a span; or the raw prompt.

    The lines of what came last begin with `+`.
    """
    if show == "raw":
        return _raw(page)
    lines = [_summary(page)]
    for number, (span, ids) in enumerate(zip(page.spans, page.ids, strict=True)):
        new = "+" if number >= page.new else " "
        text = " ".join(f"[{one_line(page.pieces[i], 40)}]" for i in ids[:MAX_TOKENS_SHOWN])
        body = text + _more(ids) if show == "tokens" else one_line(span.text, 72)
        lines.append(f"{new}{LOOKS[span.author].sign} {span.author:<9} {len(ids):>4}  {body}")
    return "\n".join(lines)


def page_html(page: Page, show: str, *, only_new: bool = False) -> str:
    """A table: author, tokens, text; a row a turn, special tokens as chips.

    With `only_new`, the turns that have nothing new in them are counted, not shown.
    """
    head = f"{STYLE}{gauge(page)}<p><b>{esc(_summary(page))}</b></p>"
    if show == "raw":
        body = f'<pre style="white-space:pre-wrap;{CODE}">{esc(_raw(page))}</pre>'
    else:
        left, narrow = 'style="text-align:left;"', 'style="text-align:left;width:9em;"'
        turns = sorted({span.turn for span in page.spans})
        new = {span.turn for span in page.spans[page.new :]}
        shown = [turn for turn in turns if turn in new or not only_new]
        rows = [_row(page, show, turn) for turn in shown]
        if len(shown) < len(turns):
            before = f"and the {len(turns) - len(shown)} turns before, which it had already"
            rows.insert(0, f'<tr><td colspan="3" {left}>{before}</td></tr>')
        body = (
            '<table style="border-collapse:collapse;width:100%;">'
            f"<thead><tr><th {narrow}>turn</th><th {narrow}>tokens</th><th {left}>"
            f"{'tokens, as the model reads them' if show == 'tokens' else 'text'}</th></tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table>"
        )
    return f'<div class="tcl-view">{head}{body}</div>'


def _raw(page: Page) -> str:
    return visible("".join(span.text for span in page.spans), blanks=False)


def _row(page: Page, show: str, turn: int) -> str:
    here = [i for i, span in enumerate(page.spans) if span.turn == turn]
    content = sum(len(page.ids[i]) for i in here if page.spans[i].author != "structure")
    markers = sum(len(page.ids[i]) for i in here) - content
    waits = not content and not page.spans[here[-1]].text.startswith(IM_END)
    author = "structure" if waits else AUTHORS[page.spans[here[0]].role]
    look = LOOKS[author]
    waiting = "<br>(open: the model goes on from here)" if waits else ""
    new = "<br><b>+ new</b>" if here[-1] >= page.new else ""
    cells = _tokens_html if show == "tokens" else _span_html
    body = "".join(cells(page, i) for i in here)
    edge = f"border-left:5px solid {look.color};"
    colors = f"background:{look.tint};color:#111111;text-align:left;vertical-align:top;"
    colors += "border-bottom:3px solid #ffffff;padding:3px 8px;"
    kind = f'class="tcl-{author}"'
    return (
        f'<tr><td {kind} style="{edge}{colors}">{look.sign} '
        f"{esc(page.spans[here[0]].role)}{waiting}{new}</td>"
        f'<td {kind} style="{colors}white-space:nowrap;">{content} + {markers}&nbsp;markers</td>'
        f'<td {kind} style="{colors}{CODE}white-space:pre-wrap;">{body}</td></tr>'
    )


def _span_html(page: Page, number: int) -> str:
    """A span's text; of structure, the special tokens as chips."""
    span = page.spans[number]
    if span.author != "structure":
        return esc(visible(span.text))
    parts = re.split(r"(<[^>]+>)", span.text)
    return "".join(chip(p) if p.startswith("<") else esc(visible(p)) for p in parts if p)


def _tokens_html(page: Page, number: int) -> str:
    """A span's tokens, each in a box that ends where the token ends."""
    ids = page.ids[number]
    box = "border:1px solid #767676;border-radius:2px;margin:1px;display:inline-block;"
    special = page.spans[number].author == "structure"
    boxes = []
    for token in ids[:MAX_TOKENS_SHOWN]:
        piece = page.pieces[token]
        style = f'title="token {token}" style="{box}white-space:pre;"'
        plain = f"<span {style}>{esc(one_line(piece, 100))}</span>"
        boxes.append(chip(piece) if special and piece.startswith("<|") else plain)
    return " ".join(boxes) + esc(_more(ids)) + " "


def gauge(page: Page) -> str:
    """A bar as wide as the context window, filled by author; the numbers stand beside it."""
    parts = []
    for author, count in page.by_author.items():
        if count:
            style = (
                f"display:inline-block;height:14px;min-width:2px;background:{LOOKS[author].color};"
            )
            width = f"width:{100 * count / page.n_ctx:.2f}%;"
            parts.append(f'<span style="{style}{width}" title="{author}: {count}"></span>')
    frame = "border:1px solid #767676;height:14px;line-height:0;font-size:0;white-space:nowrap;"
    return f'<div style="{frame}overflow:hidden;">{"".join(parts)}</div>'


def _summary(page: Page) -> str:
    share = 100 * page.total / page.n_ctx
    free = page.n_ctx - page.total
    count = f"{page.total} of {page.n_ctx} tokens ({share:.1f} %), {free} free"
    return f"{page.title}{count} · {page.speaker}"


def _more(ids: Sequence[int]) -> str:
    hidden = len(ids) - MAX_TOKENS_SHOWN
    return f" … and {hidden} more tokens" if hidden > 0 else ""


def pages_of(source: Prompt | Run, llm: Model | None) -> list[Page]:
    """A run's prompts, one page a step, or the one page of a prompt."""
    return _run_pages(source) if isinstance(source, Run) else [_page(source, llm)]


def _page(prompt: Prompt, llm: Model | None) -> Page:
    if llm is None:
        raise ToolcallLabError("To show a Prompt, give the model too: it counts the tokens.")
    ids = tuple(tuple(span) for span in prompt.span_tokens(llm))
    pieces = piece_texts(llm.detokenize, (token for span in ids for token in span))
    speaker = badge_text(getattr(llm, "name", type(llm).__name__), getattr(llm, "kind", "live"))
    return Page("", prompt.spans, ids, pieces, llm.n_ctx(), _last_turn(prompt.spans), speaker)


def _last_turn(spans: Sequence[Span]) -> int:
    """Where the last turn that says something begins."""
    said = [span.turn for span in spans if span.author != "structure"]
    last = said[-1] if said else 0
    return next((i for i, span in enumerate(spans) if span.turn == last), 0)


def _run_pages(run: Run) -> list[Page]:
    """One page a step; what is new in it is what the prompt of the step before didn't have."""
    if not run.steps:
        raise ToolcallLabError(f"This run has no steps to show. {run.explanation}")
    pages, kept = [], 0
    for number, step in enumerate(run.steps, 1):
        title = f"Step {number} of {len(run.steps)}: "
        spans = step.prompt.spans
        speaker = badge_text(step.model or run.model, step.kind or run.kind)
        pages.append(Page(title, spans, step.prompt_tokens, run.pieces, run.n_ctx, kept, speaker))
        kept = len(spans)
    return pages


def _controls(view: PromptView) -> Any:
    import ipywidgets as w

    shown = w.HTML(view.to_html())
    show = w.ToggleButtons(options=MODES, value=view.show, description="Show")
    back = w.Button(description="Back", tooltip="Previous step")
    forth = w.Button(description="Next", tooltip="Next step")

    def update(_: Any = None) -> None:
        view.show = show.value
        shown.value = view.to_html()
        back.disabled = view.step == 1
        forth.disabled = view.step == len(view.pages)

    def move(by: int) -> None:
        view.step = min(max(1, view.step + by), len(view.pages))
        update()

    show.observe(update, "value")
    back.on_click(lambda _: move(-1))
    forth.on_click(lambda _: move(1))
    update()
    steps = [back, forth] if len(view.pages) > 1 else []
    return w.VBox([w.HBox([show, *steps]), shown])
