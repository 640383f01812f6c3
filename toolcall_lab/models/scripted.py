"""A scripted model says what a teacher or a test has typed, to show a failure on purpose.

Its words are never a model's own, and every output says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import ModelError
from .replayed import ReplayedModel
from .vocabulary import EMBEDDED

Line = str | Callable[[str], str]


class ScriptedModel(ReplayedModel):
    """Says the given texts, one a call. A function is called with the prompt's text instead.

    `stop` and `max_tokens` cut a text as they would cut a model's. When the texts have run out,
    the next call raises `ModelError`. `vocabulary` is the GGUF whose tokenizer is used.

    >>> llm = ScriptedModel(["It is noon.", lambda prompt: prompt.upper()])
    >>> llm("What time is it?")["choices"][0]["text"]
    'It is noon.'
    >>> llm("Really?")["choices"][0]["text"]
    'REALLY?'
    """

    kind = "scripted"

    def __init__(
        self,
        texts: Iterable[Line],
        *,
        name: str = "A script",
        n_ctx: int = 4096,
        vocabulary: str | os.PathLike[str] = EMBEDDED,
    ) -> None:
        super().__init__(name, n_ctx, vocabulary)
        self.texts = [texts] if isinstance(texts, str) else list(texts)
        self.prompts: list[list[int]] = []  # token ids, one list a call

    def __call__(
        self,
        prompt: str | Sequence[int],
        *,
        max_tokens: int | None = None,
        stop: str | Sequence[str] | None = None,
        **_sampling: Any,
    ) -> dict[str, Any]:
        """The next text as a completion dict; sampling options change nothing."""
        ids = self._ids(prompt)
        text = self._next(ids).encode("utf-8", "replace").decode()
        self.prompts.append(ids)
        for mark in [stop] if isinstance(stop, str) else stop or ():
            text = text.split(mark, 1)[0]
        tokens = self.tokenize(text.encode(), add_bos=False)
        room = self._n_ctx - len(ids)
        limit = min(room, max_tokens) if max_tokens and max_tokens > 0 else room
        if len(tokens) <= limit:
            return self._answer(ids, text, tokens, "stop")
        kept = tokens[:limit]
        return self._answer(ids, self.detokenize(kept).decode("utf-8", "ignore"), kept, "length")

    def _next(self, ids: list[int]) -> str:
        number = len(self.prompts)
        if number >= len(self.texts):
            raise ModelError(
                f"The script has {len(self.texts)} texts, and this is call {number + 1}; "
                "add a text to the ScriptedModel, or end the loop earlier (max_steps)."
            )
        text = self.texts[number]
        if callable(text):
            text = text(self.detokenize(ids, special=True).decode("utf-8", "replace"))
        if not isinstance(text, str):
            raise ModelError(f"Text {number + 1} of the script is no text: {text!r}.")
        return text
