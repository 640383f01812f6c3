r"""ChatML by hand: turns become spans, spans become the exact text and the exact tokens.

A prompt is append-only, and each span is tokenised once. What our code writes (*structure*) is
tokenised with special tokens on; what anybody else writes (*content*) with special tokens off, so
a text that contains `<|im_end|>` stays a text; the model's own tokens are kept as they were
generated. It knows no model: a tokenizer is handed in when tokens are asked for.

>>> prompt = Prompt()
>>> prompt.add("user", "Hello!")
>>> prompt.open("assistant")
>>> prompt.text
'<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n'
"""

from __future__ import annotations

import re
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import qwen3
from .errors import ModelError, ToolcallLabError
from .prefix import shared_prefix

if TYPE_CHECKING:
    from .models import Tokenizer

IM_START = "<|im_start|>"
IM_END = "<|im_end|>"
STOP = [IM_END, IM_START]

STYLES = ("course", "qwen3")
THOUGHTS = re.compile(rf"(?:\s*{qwen3.THINK_OPEN}.*?{qwen3.THINK_CLOSE}\s*)+", re.DOTALL)
AUTHORS = {"system": "system", "user": "user", "assistant": "model", "tool": "tool"}


@dataclass(frozen=True)
class Span:
    """A stretch of the prompt with one author: `structure`, `system`, `user`, `model` or `tool`.

    `turn` counts from 0; `tokens` are the ids as the model generated them, else None.
    """

    author: str
    role: str
    turn: int
    text: str
    tokens: tuple[int, ...] | None = None


class Prompt:
    """A ChatML prompt that only grows.

    In the style `qwen3` tools are described and results are given back as Qwen3's own template has
    it (see `qwen3.py`); everything else is the same.
    """

    def __init__(self, spans: Iterable[Span] = (), *, style: str = "course") -> None:
        if style not in STYLES:
            raise ToolcallLabError(f"A prompt's style is {' or '.join(STYLES)}, not {style!r}.")
        self.style = style
        self._kept = _Kept(list(spans))
        self._size = len(self._kept.spans)
        last = self._kept.spans[-1] if self._size else None
        closed = last is None or (last.author == "structure" and last.text.startswith(IM_END))
        self._open_role: str | None = None if closed or last is None else last.role

    @property
    def spans(self) -> tuple[Span, ...]:
        """All spans in order; joined, their texts are `text`."""
        return tuple(self._kept.spans[: self._size])

    @property
    def text(self) -> str:
        """The prompt as the plain string that a completion call takes."""
        return "".join(span.text for span in self.spans)

    def add(self, role: str, text: str, *, tools: Sequence[dict[str, Any]] = ()) -> None:
        """Writes a whole turn; `role` is system, user, assistant or tool.

        `tools`, schemas in OpenAI's form, go into a system turn of the style `qwen3`.
        """
        if not isinstance(text, str):
            raise ToolcallLabError(f"A turn needs a text, not {type(text).__name__}.")
        if tools and not (role == "system" and self.style == "qwen3"):
            raise ToolcallLabError("Only a system turn in the style qwen3 takes tools.")
        if self.style == "qwen3" and role == "tool":
            self._add_response(text)
            return
        self.open(role)
        for author, part in qwen3.tool_block(text, tools) if tools else [(AUTHORS[role], text)]:
            self._write(author, part)
        self._close()

    def open(self, role: str = "assistant", *, thinking: bool = True) -> None:
        """Writes a turn's header and leaves the turn open, for the model to go on from there.

        Without `thinking`, Qwen3's empty thoughts are written behind it, so that it has none.
        """
        if role not in AUTHORS:
            raise ToolcallLabError(f"ChatML has no role {role!r} here; use {', '.join(AUTHORS)}.")
        self._close()
        self._open_role = role
        self._write("structure", f"{IM_START}{role}\n{'' if thinking else qwen3.NO_THOUGHTS}")

    def append_completion(self, tokens: Sequence[int] | None, text: str) -> None:
        """Continues the open turn with what the model wrote, ids as generated (None: unknown).

        The turn stays open until the next `add` or `open`, so an answer that was cut can go on.
        """
        if self._open_role is None:
            raise ToolcallLabError('No turn is open: call open("assistant") before the completion.')
        ids = None if tokens is None else tuple(int(token) for token in tokens)
        self._write(AUTHORS[self._open_role], text, ids)

    def tokens(self, llm: Tokenizer) -> list[int]:
        """The token ids to send to the model."""
        return [token for ids in self.span_tokens(llm) for token in ids]

    def count(self, llm: Tokenizer) -> int:
        """How many tokens the prompt has."""
        return len(self.tokens(llm))

    def span_tokens(self, llm: Tokenizer) -> list[tuple[int, ...]]:
        """The token ids of each span; concatenated, they are `tokens`.

        A span is tokenised once for a model, however often the prompt is asked.
        Raises `ModelError` if `<|im_start|>` isn't one token of this model: its markers would be
        ordinary text that anybody can write.
        """
        return self._kept.tokens(llm)[: self._size]

    def snapshot(self) -> Prompt:
        """This prompt as it is now; writing to either one leaves the other as it is."""
        copy = Prompt(style=self.style)
        copy._kept, copy._size, copy._open_role = self._kept, self._size, self._open_role
        return copy

    def without_thoughts(self, llm: Tokenizer) -> Prompt:
        """The prompt as Qwen3's template writes it once another user turn follows: without the
        thoughts of its answers. The rest keeps its tokens."""
        spans: list[Span] = []
        for span in self.spans:
            found = THOUGHTS.match(span.text) if span.author == "model" else None
            if found:
                tokens = _behind(llm, span.tokens, found.group())
                span = replace(span, text=span.text[found.end() :], tokens=tokens)
            elif span.role == "assistant" and span.author == "structure":
                span = replace(span, text=span.text.removesuffix(qwen3.NO_THOUGHTS))
            spans += [span] if span.text else []
        return Prompt(spans, style=self.style)

    def shared(self, other: Prompt) -> int:
        """How many spans at the beginning are the same in both."""
        if self._kept is other._kept:
            return min(self._size, other._size)
        return shared_prefix(self.spans, other.spans)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prompt) and self._size == other._size == self.shared(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        turns = self._kept.spans[self._size - 1].turn + 1 if self._size else 0
        return f"<Prompt: {turns} turns, {len(self.text)} characters>"

    def _add_response(self, text: str) -> None:
        """A tool's result in Qwen3's form: in a user turn that results in a row share."""
        if self._open_role == "tool":
            self._write("structure", f"\n{qwen3.RESPONSE_OPEN}")
        else:
            self._close()
            self._open_role = "tool"
            self._write("structure", f"{IM_START}user\n{qwen3.RESPONSE_OPEN}")
        # The newlines are the template's; they are tokenised together with what is between them.
        self._write("tool", f"\n{text}\n")
        self._write("structure", qwen3.RESPONSE_CLOSE)

    def _close(self) -> None:
        if self._open_role is not None:
            self._write("structure", f"{IM_END}\n")
            self._open_role = None

    def _write(self, author: str, text: str, tokens: tuple[int, ...] | None = None) -> None:
        text = text.encode("utf-8", "replace").decode()  # a lone surrogate is no text
        starts = text.startswith(IM_START) and author == "structure"
        turn = (self._kept.spans[self._size - 1].turn if self._size else -1) + starts
        if self._size < len(self._kept.spans):  # a snapshot of it has gone another way
            self._kept = self._kept.beginning(self._size)
        if text:
            self._kept.spans.append(Span(author, self._open_role or "", turn, text, tokens))
            self._size += 1


class _Kept:
    """Spans that only grow, shared by a prompt and its snapshots, and their ids for one model."""

    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans
        self._ids: list[tuple[int, ...]] = []
        self._whose: Any = None  # a weak reference: a prompt keeps no model alive

    def beginning(self, size: int) -> _Kept:
        """A copy of the first spans, which can grow in another way."""
        copy = _Kept(self.spans[:size])
        copy._ids, copy._whose = self._ids[:size], self._whose
        return copy

    def tokens(self, llm: Tokenizer) -> list[tuple[int, ...]]:
        """The ids of all spans; only those that are new are tokenised."""
        if self._whose is None or self._whose() is not llm:
            if len(llm.tokenize(IM_START.encode(), add_bos=False, special=True)) != 1:
                raise ModelError(
                    f"This model doesn't speak ChatML: {IM_START} is not one of its tokens."
                )
            self._ids, self._whose = [], weakref.ref(llm)
        for number in range(len(self._ids), len(self.spans)):
            self._ids.append(tuple(_tokenize(llm, self.spans[number], first=number == 0)))
        return self._ids

    def __reduce__(self) -> Any:
        return _Kept, (self.spans,)


def _tokenize(llm: Tokenizer, span: Span, first: bool) -> list[int]:
    if span.author == "structure":
        # With add_bos, llama.cpp adds a BOS token to the first span if the model wants one.
        return llm.tokenize(span.text.encode(), add_bos=first, special=True)
    if span.tokens and _are_text(llm, list(span.tokens), span.text):
        return list(span.tokens)
    return content_tokens(llm, span.text)


def _are_text(llm: Tokenizer, tokens: list[int], text: str) -> bool:
    """Whether these ids are this model's and hold no control token, which would fake a turn."""
    try:
        shown = [llm.detokenize(tokens, special=special) for special in (False, True)]
    except ModelError:  # an id that this vocabulary doesn't have
        return False
    return shown == [text.encode()] * 2  # a control token is invisible in the first


def _behind(
    llm: Tokenizer, tokens: tuple[int, ...] | None, beginning: str
) -> tuple[int, ...] | None:
    """The tokens behind a beginning of their text; None if none ends where it does."""
    left = beginning.encode()
    for number, token in enumerate(tokens or ()):
        if not left:
            return (tokens or ())[number:]
        try:
            piece = llm.detokenize([token], special=True)
        except ModelError:  # another model's token
            return None
        if not left.startswith(piece):
            break
        left = left[len(piece) :]
    return None


MAX_PIECE = 8000  # characters
_MARKER = re.compile(rb"[<\[].*[A-Za-z_].*[>\]]", re.DOTALL)


def content_tokens(llm: Tokenizer, text: str) -> list[int]:
    """The tokens of a text in which nothing is a marker.

    `special=False` keeps control tokens (`<|im_end|>`) out, but a vocabulary's user-defined tokens
    (Qwen's `<tool_call>`, `<think>`) are matched all the same: where one token is a whole tag, the
    text is cut behind the tag's bracket and both parts are tokenised apart.
    """
    pieces, tokens = deque(_pieces(text)), []
    while pieces:
        piece = pieces.popleft()
        found = llm.tokenize(piece, add_bos=False, special=False) if piece else []
        parts = _cut_at_markers(llm, piece, found)
        if len(parts) > 1:
            pieces.extendleft(reversed(parts))
        else:
            tokens += found
    return tokens


def _pieces(text: str) -> Iterator[bytes]:
    """The text in pieces of bounded size, cut in front of a blank, where tokens end anyway.

    For some vocabularies llama.cpp splits words with std::regex, which recurses along the text:
    a word of 30,000 characters ends the process.
    """
    start = 0
    while len(text) - start > MAX_PIECE:
        blank = text.rfind(" ", start + 1, start + MAX_PIECE)
        fits = blank > 0 and not text[blank - 1].isspace()
        cut = blank if fits else start + MAX_PIECE
        yield text[start:cut].encode()
        start = cut
    yield text[start:].encode()


def _cut_at_markers(llm: Tokenizer, text: bytes, tokens: list[int]) -> list[bytes]:
    """The text in parts: cut behind the first byte of each token that is a whole tag."""
    parts, start, at = [], 0, 0
    for token in tokens:
        shown = llm.detokenize([token], special=True)
        at = max(at, text.find(shown, at))
        if _MARKER.fullmatch(shown):
            parts.append(text[start : at + 1])
            start = at + 1
        at += len(shown)
    return [*parts, text[start:]]
