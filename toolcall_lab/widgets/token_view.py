"""`TokenView`: each token that a model wrote: how likely it was, what else it would have liked.

Under a constraint also whether it was forced, how many tokens were allowed, and how much of what
the model wanted wasn't (`mass` is the probability of all allowed tokens together).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ToolcallLabError
from ..generation import Generation, TokenRecord
from ..run import Run, piece_texts, tokens_of
from .html import CODE, STYLE, View, badge_text, esc, number_field, one_line

if TYPE_CHECKING:
    from ..models.local import LocalModel

MAX_TOKENS_SHOWN = 400  # a browser takes about 0.1 ms for each box
INK = "#0072B2"


@dataclass(frozen=True)
class Written:
    """What a model wrote, token by token; without `records` nothing is known but the tokens."""

    tokens: tuple[int, ...]
    records: tuple[TokenRecord, ...]
    pieces: dict[int, str]
    speaker: str
    title: str = ""

    @property
    def chosen(self) -> list[int]:
        """The places of the tokens that the model chose."""
        return [n for n, record in enumerate(self.records) if not record.forced]

    def piece(self, token: int) -> str:
        """A token as it is shown: never empty, never more than a line."""
        return one_line(self.pieces[token], 60) or "∅"


class TokenView(View):
    """Shows a `Generation` (with the model that made it), or a step of a `Run`, else its last.

    In JupyterLab the chosen tokens can be gone through, with their alternatives, and a temperature
    re-weighs these; everywhere else the same view is text and HTML.
    """

    def __init__(
        self,
        source: Generation | Run,
        llm: LocalModel | None = None,
        *,
        step: int | None = None,
    ) -> None:
        self.written = _of_run(source, step) if isinstance(source, Run) else _of(source, llm)
        self.at = self.written.chosen[0] if self.written.chosen else 0
        self.temperature = 1.0

    def to_text(self) -> str:
        """A line for each chosen token, and for each stretch of forced ones."""
        lines = [summary(self.written)]
        if not self.written.records:
            pieces = [f"[{self.written.piece(token)}]" for token in self.written.tokens]
            return "\n".join([*lines, " ".join(pieces[:MAX_TOKENS_SHOWN]) + _more(pieces)])
        for places in _stretches(self.written.records):
            first = self.written.records[places[0]]
            text = "".join(self.written.pieces[self.written.tokens[n]] for n in places)
            if first.forced:
                lines.append(f"forced  {len(places):>3}  {one_line(text, 72)}")
                continue
            lines.append(f"chosen {first.probability:>4.0%}  {one_line(text, 30):<30} {_at(first)}")
            lines[-1] += _wish(self.written, first)
        return "\n".join(lines[: MAX_TOKENS_SHOWN + 1]) + _more(lines[1:])

    def to_html(self) -> str:
        """The tokens in boxes, and a table of those that were chosen."""
        return f'{STYLE}<div class="tcl-view">{head(self.written)}{table(self.written)}</div>'

    def controls(self) -> Any:
        """Its buttons and what they change, if there is a choice to look at."""
        return _controls(self) if self.written.chosen else None


def reweighed(record: TokenRecord, temperature: float) -> list[tuple[int, float, float]]:
    """The recorded alternatives as `(id, probability, at this temperature and under the mask)`.

    The last figure is the share among the allowed ones of these few: what lies beyond them isn't
    recorded. Temperature 0 takes the likeliest.

    >>> top = ((5, 0.6, False), (7, 0.3, True), (8, 0.1, True))
    >>> record = TokenRecord(7, False, 0.3, 2, 0.4, top)
    >>> [(token, round(share, 2)) for token, _, share in reweighed(record, 1)]
    [(5, 0.0), (7, 0.75), (8, 0.25)]
    >>> [(token, round(share, 2)) for token, _, share in reweighed(record, 0.5)]
    [(5, 0.0), (7, 0.9), (8, 0.1)]
    """
    allowed = [p for _, p, ok in record.top if ok]
    best = max(allowed, default=0.0)

    def weight(p: float, ok: bool) -> float:
        if not ok or not best:
            return 0.0
        return float(p == best) if temperature <= 0 else float((p / best) ** (1 / temperature))

    total = sum(weight(p, ok) for _, p, ok in record.top) or 1.0
    return [(token, p, weight(p, ok) / total) for token, p, ok in record.top]


def summary(written: Written) -> str:
    """How many tokens there are, who wrote them, and how many of them were the model's choice."""
    count, chosen = len(written.tokens), len(written.chosen)
    if not written.records:
        what = f"{count} tokens, of which no probabilities were recorded"
    elif chosen < count:
        what = f"{count} tokens: {count - chosen} forced, {chosen} chosen"
    else:
        what = f"{count} tokens, all chosen"
    return f"{written.title}{what} · {written.speaker}"


def head(written: Written, at: int | None = None) -> str:
    """The tokens, each in a box: dashed if it was forced, underlined by how likely it was."""
    boxes = "".join(
        _box(written, n, n == at) for n in range(min(len(written.tokens), MAX_TOKENS_SHOWN))
    )
    legend = "dashed: forced; bar: how likely the chosen one was" if written.records else ""
    return (
        f"<p><b>{esc(summary(written))}</b><br>{legend}</p>"
        f'<div style="{CODE}line-height:2.2;">{boxes}{esc(_more(written.tokens))}</div>'
    )


def _box(written: Written, n: int, picked: bool) -> str:
    record = written.records[n] if written.records else None
    edge = "2px solid #D55E00" if picked else "1px solid #767676"
    bar, title = "", f"token {written.tokens[n]}"
    if record is not None and record.forced:
        edge, title = "1px dashed #767676", f"{title}, forced"
    elif record is not None:
        share = 100 * (record.probability or 0)
        title = f"{title}, {share:.1f} %, {record.allowed} allowed"
        bar = f'<span style="display:block;height:3px;width:{share:.0f}%;background:{INK};"></span>'
    style = f"display:inline-block;border:{edge};border-radius:2px;margin:1px;padding:0 2px;"
    style += "line-height:1.4;white-space:pre;vertical-align:top;"
    mark = "▸" if picked else ""
    text = mark + esc(written.piece(written.tokens[n]))
    return f'<span style="{style}" title="{title}">{text}{bar}</span>'


def table(written: Written) -> str:
    """A row for each chosen token: its probability, what was allowed, what was wanted."""
    if not written.chosen:
        return ""
    rows = ""
    for n in written.chosen[:MAX_TOKENS_SHOWN]:
        record = written.records[n]
        top = ", ".join(_alternative(written, *entry) for entry in record.top)
        rows += (
            f"<tr><td>{n + 1}</td><td><code>{esc(written.piece(record.token))}</code></td>"
            f"<td>{record.probability:.1%}</td><td>{record.allowed}</td><td>{record.mass:.1%}</td>"
            f'<td style="text-align:left;">{top}</td></tr>'
        )
    names = ("place", "chosen", "probability", "allowed", "of all wishes", "what it wanted most")
    heads = "".join(f"<th>{name}</th>" for name in names)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _alternative(written: Written, token: int, probability: float, allowed: bool) -> str:
    text = f"<code>{esc(written.piece(token))}</code> {probability:.0%}"
    return text if allowed else f"<s>{text}</s> not allowed"


def detail(written: Written, at: int, temperature: float) -> str:
    """The alternatives at one place as bars: the model's, and what temperature and mask leave."""
    record = written.records[at]
    rows = ""
    for (token, probability, share), (_, _, allowed) in zip(
        reweighed(record, temperature), record.top, strict=True
    ):
        name = esc(written.piece(token)) + (" ◂ chosen" if token == record.token else "")
        bars = "".join(
            f'<td style="text-align:left;min-width:11em;">{_bar(value)} {value:.1%}</td>'
            for value in ((probability, share) if allowed else (probability,))
        )
        masked = "" if allowed else '<td style="text-align:left;">not allowed</td>'
        rows += f'<tr><td style="text-align:left;"><code>{name}</code></td>{bars}{masked}</tr>'
    return (
        f"<p>Token {at + 1}: {esc(_at(record))}.</p><table><thead><tr><th>token</th>"
        f"<th>the model</th><th>allowed ones of these, temperature {temperature:.1f}</th></tr>"
        f"</thead><tbody>{rows}</tbody></table>"
    )


def _bar(share: float) -> str:
    style = f"display:inline-block;height:10px;min-width:1px;background:{INK};"
    return f'<span style="{style}width:{6 * share:.2f}em;"></span>'


def _at(record: TokenRecord) -> str:
    return f"{record.allowed} allowed, together {record.mass:.1%} of what the model wanted"


def _wish(written: Written, record: TokenRecord) -> str:
    """What it would have liked better, and couldn't say."""
    masked = [(token, p) for token, p, allowed in record.top if not allowed]
    if not masked or masked[0][1] <= (record.probability or 0):
        return ""
    return f"; wanted {written.piece(masked[0][0])!r} ({masked[0][1]:.0%}), not allowed"


def _stretches(records: Sequence[TokenRecord]) -> Iterator[list[int]]:
    """Places that go together: a chosen token by itself, forced ones in a row."""
    places: list[int] = []
    for n, record in enumerate(records):
        if places and not (record.forced and records[places[-1]].forced):
            yield places
            places = []
        places.append(n)
    if places:
        yield places


def _more(shown: Sequence[Any]) -> str:
    hidden = len(shown) - MAX_TOKENS_SHOWN
    return f" … and {hidden} more" if hidden > 0 else ""


def _of(made: Generation, llm: LocalModel | None) -> Written:
    if llm is None:
        raise ToolcallLabError("To show a Generation, give the model too: it knows its tokens.")
    pieces = piece_texts(llm.detokenize, tokens_of(made.tokens, made.records))
    return Written(tuple(made.tokens), made.records, pieces, badge_text(made.model, made.kind))


def _of_run(run: Run, number: int | None) -> Written:
    placed, total = run.step_at(number), len(list(run.walk()))
    step, of = placed.step, placed.run
    number = number or total
    if step.completion_tokens is None:
        raise ToolcallLabError(f"The model of step {number} doesn't say which tokens it wrote.")
    speaker = badge_text(step.model or of.model, step.kind or of.kind)
    title = f"Step {number} of {total}: "
    return Written(step.completion_tokens, step.records, of.pieces, speaker, title)


def _controls(view: TokenView) -> Any:
    import ipywidgets as w

    strip, below = w.HTML(), w.HTML()
    back = w.Button(description="Back", tooltip="Previous token that was chosen")
    forth = w.Button(description="Next", tooltip="Next token that was chosen")
    heat = number_field("Temperature", view.temperature, 0.0, 2.0, 0.1)
    places = view.written.chosen

    def update(_: Any = None) -> None:
        view.temperature = heat.value
        strip.value = f'{STYLE}<div class="tcl-view">{head(view.written, view.at)}</div>'
        shown = detail(view.written, view.at, view.temperature)
        below.value = f'<div class="tcl-view">{shown}</div>'
        back.disabled, forth.disabled = view.at == places[0], view.at == places[-1]

    def move(by: int) -> None:
        view.at = places[min(max(0, places.index(view.at) + by), len(places) - 1)]
        update()

    back.on_click(lambda _: move(-1))
    forth.on_click(lambda _: move(1))
    heat.observe(update, "value")
    update()
    return w.VBox([strip, w.HBox([back, forth, heat]), below])
