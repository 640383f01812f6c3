"""The context window fills up: what to take out of a prompt, and what that costs.

The system turn and the task stay. All else is in *pairs*: a call with its results, or whatever the
model wrote with what it was told; of an earlier conversation, a question with all that belongs to
it. A pair goes as a whole or stays as a whole: a result without its call is a conversation that
never was. The last pair stays.

What is taken out has to be paid for: the model's context is right up to the first change only, and
all that follows is read again. So it's better to drop much, and seldom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from .chatml import IM_END, Prompt, Span
from .errors import ToolcallLabError
from .execution import shortened
from .parsing import read_tool_calls
from .prefix import shared_prefix
from .run import Pruning

if TYPE_CHECKING:
    from .models import Tokenizer

POLICIES = ("drop", "shorten", "summarise")
PRUNE_TO = 0.7  # of the room: pruning makes the model read again, so it's done seldom and much
SHORT = 160  # characters that `shorten` leaves of a result

Summarise = Callable[[str], str]


@dataclass(frozen=True)
class Turn:
    """A turn of a prompt, with the number of its tokens."""

    spans: tuple[Span, ...]
    tokens: int

    @property
    def role(self) -> str:
        """Whose turn it is."""
        return self.spans[0].role

    @property
    def waits(self) -> bool:
        """Whether it is only opened, for the model to write."""
        structure = all(span.author == "structure" for span in self.spans)
        return structure and not self.spans[-1].text.startswith(IM_END)


Pair = list[Turn]


def prune(
    prompt: Prompt,
    budget: int,
    policy: str = "drop",
    *,
    llm: Tokenizer,
    summarise: Summarise | None = None,
) -> tuple[Prompt, Pruning]:
    """A prompt of at most `budget` tokens, and what was done; `prompt` itself stays as it is.

    `drop` takes out pairs, the oldest first. `shorten` first cuts results to their beginning, and
    drops if that isn't enough. `summarise` drops, and puts a summary in the place: the function
    `summarise` is given the dropped text and returns one. The budget is missed (compare
    `Pruning.tokens_after`) only if nothing is left that may go.
    """
    if policy not in POLICIES:
        raise ToolcallLabError(f"A policy is {', '.join(POLICIES)}, not {policy!r}.")
    if policy == "summarise" and summarise is None:
        raise ToolcallLabError("To summarise, give a function that makes a summary of a text.")
    fixed, pairs = parts(prompt, llm)
    last = pairs.pop() if pairs and pairs[-1][0].role != "user" else []
    total = excess = sum(turn.tokens for turn in [*fixed, *last, *(t for p in pairs for t in p)])
    excess -= budget
    done: list[str] = []
    if policy == "shorten":
        for number, pair in enumerate(pairs):
            shorter = [_short(turn, llm) for turn in pair] if excess > 0 else pair
            if saved := _size(pair) - _size(shorter):
                pairs[number], excess = shorter, excess - saved
                done.append(f"shortened the results of {_named(pair)}")
    gone: Pair = []
    while pairs and excess > 0:
        pair = pairs.pop(0)
        gone, excess = gone + pair, excess - _size(pair)
        done.append(f"dropped {_named(pair)}")
    if gone and summarise is not None and policy == "summarise":
        fixed += _summary(gone, summarise, prompt.style, llm, room=-excess)
    turns = [*fixed, *(turn for pair in pairs for turn in pair), *last]
    after = _joined(turns, prompt.style)
    old, new = prompt.tokens(llm), after.tokens(llm)
    pruning = Pruning(policy, tuple(done), total, len(new), len(new) - shared_prefix(old, new))
    return after, pruning


def parts(prompt: Prompt, llm: Tokenizer) -> tuple[list[Turn], list[Pair]]:
    """The turns that always stay (system, task, an open last one), and the pairs, in order.

    Of several user turns the last is the task; the others begin an earlier conversation's pairs.
    """
    spans = zip(prompt.spans, prompt.span_tokens(llm), strict=True)
    turns = []
    for _, of_turn in groupby(spans, key=lambda pair: pair[0].turn):
        found, ids = zip(*of_turn, strict=True)
        turns.append(Turn(found, sum(map(len, ids))))
    task = max((n for n, turn in enumerate(turns) if turn.role == "user"), default=-1)
    fixed: list[Turn] = []
    pairs: list[Pair] = []
    begins = True
    for number, turn in enumerate(turns):
        ends = number == len(turns) - 1 and turn.waits
        if turn.role == "system" or number == task or ends:
            fixed.append(turn)
            begins = True
        elif begins or turn.role == ("assistant" if number > task else "user"):
            pairs.append([turn])
            begins = False
        else:
            pairs[-1].append(turn)
    return fixed, pairs


def _joined(turns: list[Turn], style: str) -> Prompt:
    """The prompt of these turns, in the order in which they stood; they are counted anew."""
    ordered = sorted(turns, key=lambda turn: turn.spans[0].turn)
    return Prompt(
        (replace(span, turn=n) for n, turn in enumerate(ordered) for span in turn.spans),
        style=style,
    )


def _short(turn: Turn, llm: Tokenizer) -> Turn:
    """The turn with its results cut to their beginning; a call stays as it was written."""
    spans = []
    for span in turn.spans:
        if span.author == "tool" and len(span.text) > 2 * SHORT:
            said = span.text.strip("\n")  # Qwen3's template has newlines around it
            span = replace(span, text=span.text.replace(said, shortened(said, SHORT)), tokens=None)
        spans.append(span)
    return Turn(tuple(spans), Prompt(spans).count(llm))


def _summary(gone: Pair, summarise: Summarise, style: str, llm: Tokenizer, room: int) -> list[Turn]:
    """A tool's turn with a summary of what is gone, in its place, if there's room for it (in
    tokens)."""
    if room < SHORT:
        return []
    said = [span for turn in gone for span in turn.spans if span.author != "structure"]
    text = summarise("\n".join(f"{span.role}: {span.text}" for span in said))
    note = Prompt(style=style)
    note.add("tool", f"[What was left out here, in short]\n{text}")
    note.open("assistant")  # which closes the turn before it
    place = gone[0].spans[0].turn
    spans = tuple(replace(span, turn=place) for span in note.spans if span.role == "tool")
    turn = Turn(spans, Prompt(spans).count(llm))
    return [turn] if turn.tokens <= room else []


def _size(pair: Pair) -> int:
    return sum(turn.tokens for turn in pair)


def _named(pair: Pair) -> str:
    """The pair in a few words: its first call, or what was said first in it."""
    said = [s.text for turn in pair for s in turn.spans if s.author in ("model", "user")]
    first = "".join(said[:1])
    calls = read_tool_calls(first).calls
    line = " ".join((str(calls[0]) if calls else first).split()) or "a result"
    return line if len(line) <= 80 else f"{line[:79]}…"
