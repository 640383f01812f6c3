"""One prompt as text or HTML: its spans, who wrote them, their tokens, and which are new.

What is new was not in the prompt of the step before; what was reused, the model had still in its
context. A long stretch is folded, never left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from ..chatml import AUTHORS, IM_END, Prompt, Span
from ..errors import ToolcallLabError
from ..run import Run, piece_texts
from .html import CODE, LOOKS, STYLE, badge_text, chip, esc, found_in, marked, one_line, visible

if TYPE_CHECKING:
    from ..models import Model

MODES = ("text", "tokens", "raw")
MAX_TOKENS_SHOWN = 400  # a browser takes about 0.1 ms for each box
FOLDED, HEAD = 1800, 900  # characters of a span from which it's folded, and what is left in sight


@dataclass(frozen=True)
class Page:
    """One prompt as shown: its spans with their token ids.

    The spans from number `new` on are new in it; its first `reused` tokens were in the model's
    context already (None: not known, or the prompt was never sent).
    """

    title: str
    spans: tuple[Span, ...]
    ids: tuple[tuple[int, ...], ...]
    pieces: dict[int, str]
    n_ctx: int
    new: int
    speaker: str
    reused: int | None = None
    who: str = ""

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

    def reused_in(self, numbers: Sequence[int]) -> int:
        """How many tokens of these spans, which follow each other, were reused."""
        ends = [0, *accumulate(map(len, self.ids))]
        return max(0, min(self.reused or 0, ends[numbers[-1] + 1]) - ends[numbers[0]])

    def hits(self, find: str) -> int:
        """How often a text stands in it, in whatever case."""
        return sum(len(found_in(visible(span.text), find)) for span in self.spans)


def page_text(page: Page, show: str, *, find: str = "") -> str:
    """One line a span; or the raw prompt.

    A line begins with `+` if its span is new, and with `=` if all of its tokens were reused.
    """
    if show == "raw":
        return _raw(page)
    lines = [_summary(page, find)]
    for number, (span, ids) in enumerate(zip(page.spans, page.ids, strict=True)):
        new = "+" if number >= page.new else " "
        kept = page.reused_in([number]) == len(ids)
        had = "" if page.reused is None else "=" if kept else " "
        text = " ".join(f"[{one_line(page.pieces[i], 40)}]" for i in ids[:MAX_TOKENS_SHOWN])
        body = text + _more(ids) if show == "tokens" else one_line(span.text, 72)
        sign = LOOKS[span.author].sign
        lines.append(f"{new}{had}{sign} {span.author:<9} {len(ids):>4}  {body}")
    return "\n".join(lines)


def page_html(page: Page, show: str, *, find: str = "", only_new: bool = False) -> str:
    """A table: author, tokens, text; a row a turn, special tokens as chips.

    With `only_new`, the turns that have nothing new in them are counted, not shown.
    """
    head = f"{STYLE}{gauge(page)}<p><b>{esc(_summary(page, find))}</b></p>"
    if show == "raw":
        body = f'<pre style="white-space:pre-wrap;{CODE}">{marked(_raw(page), find)}</pre>'
    else:
        left, narrow = 'style="text-align:left;"', 'style="text-align:left;width:9em;"'
        turns = sorted({span.turn for span in page.spans})
        new = {span.turn for span in page.spans[page.new :]}
        shown = [turn for turn in turns if turn in new or not only_new]
        rows = [_row(page, show, turn, find) for turn in shown]
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


def _row(page: Page, show: str, turn: int, find: str) -> str:
    here = [i for i, span in enumerate(page.spans) if span.turn == turn]
    content = sum(len(page.ids[i]) for i in here if page.spans[i].author != "structure")
    markers = sum(len(page.ids[i]) for i in here) - content
    waits = not content and not page.spans[here[-1]].text.startswith(IM_END)
    author = "structure" if waits else AUTHORS[page.spans[here[0]].role]
    look = LOOKS[author]
    waiting = "<br>(open: the model goes on from here)" if waits else ""
    new = "<br><b>+ new</b>" if here[-1] >= page.new else ""
    cells = _tokens_html if show == "tokens" else _span_html
    body = "".join(cells(page, i, find) for i in here)
    had = "" if page.reused is None else f"<br>{page.reused_in(here)} reused"
    edge = f"border-left:5px solid {look.color};"
    colors = f"background:{look.tint};color:#111111;text-align:left;vertical-align:top;"
    colors += "border-bottom:3px solid #ffffff;padding:3px 8px;"
    kind = f'class="tcl-{author}"'
    return (
        f'<tr><td {kind} style="{edge}{colors}">{look.sign} '
        f"{esc(page.spans[here[0]].role)}{waiting}{new}</td>"
        f'<td {kind} style="{colors}white-space:nowrap;">{content} + '
        f"{markers}&nbsp;markers{had}</td>"
        f'<td {kind} style="{colors}{CODE}white-space:pre-wrap;">{body}</td></tr>'
    )


def _span_html(page: Page, number: int, find: str) -> str:
    """A span's text; of structure, the special tokens as chips. A long one has a part to open."""
    span = page.spans[number]
    if span.author == "structure":
        parts = re.split(r"(<[^>]+>)", span.text)
        return "".join(
            chip(p, found=bool(found_in(p, find)))
            if p.startswith("<")
            else marked(visible(p), find)
            for p in parts
            if p
        )
    if len(span.text) <= FOLDED:
        return marked(visible(span.text), find)
    head, rest = span.text[:HEAD], span.text[HEAD:]
    opened = " open" if found_in(visible(span.text), find) else ""
    return (
        f"{marked(visible(head), find)}<details{opened}><summary>… and {len(rest)} more characters "
        f"of the {len(page.ids[number])} tokens</summary>{marked(visible(rest), find)}</details>"
    )


def _tokens_html(page: Page, number: int, find: str) -> str:
    """A span's tokens, each in a box that ends where the token ends."""
    ids = page.ids[number]
    pieces = [visible(page.pieces[token]) for token in ids[:MAX_TOKENS_SHOWN]]
    hits = found_in("".join(pieces), find)
    box = "border:1px solid #767676;border-radius:2px;margin:1px;display:inline-block;"
    special = page.spans[number].author == "structure"
    boxes, end = [], 0
    for token, piece in zip(ids, pieces, strict=False):
        start, end = end, end + len(piece)
        found = any(a < end and start < b for a, b in hits)
        style = f'title="token {token}" style="{box}white-space:pre;"'
        text = esc(one_line(page.pieces[token], 100))
        plain = f"<span {style}>{f'<mark>{text}</mark>' if found else text}</span>"
        boxes.append(chip(piece, found=found) if special and piece.startswith("<|") else plain)
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


def _summary(page: Page, find: str) -> str:
    share = 100 * page.total / page.n_ctx
    free = page.n_ctx - page.total
    count = f"{page.total} of {page.n_ctx} tokens ({share:.1f} %), {free} free"
    if page.reused is not None:
        count += f"; {page.reused} reused, {page.total - page.reused} read"
    found = f" · {visible(find)!r} found: {page.hits(find)}" if find else ""
    return f"{page.title}{count} · {page.speaker}{found}"


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
    """One page a step; what is new in it is what this agent's prompt before didn't have."""
    steps = list(run.walk())
    if not steps:
        raise ToolcallLabError(f"This run has no steps to show. {run.explanation}")
    pages, before = [], dict[str, Prompt]()
    for number, placed in enumerate(steps, 1):
        step, of = placed.step, placed.run
        title = f"Step {number} of {len(steps)}{', ' * bool(of.agent)}{visible(of.agent)}: "
        speaker = badge_text(step.model or of.model, step.kind or of.kind)
        new = step.prompt.shared(before.get(of.agent, Prompt()))
        ids, reused = step.prompt_tokens, step.tokens_reused
        spans = step.prompt.spans
        page = Page(title, spans, ids, of.pieces, of.n_ctx, new, speaker, reused, placed.who)
        pages.append(page)
        before[of.agent] = step.prompt
    return pages
