"""What scripted and recorded models have in common: they answer like a live one, without a network.

Prompts are tokenised exactly, limits hold, and tokens that were in the prompt before count as
reused, as they would be in a live model's context.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from ..errors import ModelError
from ..prefix import shared_prefix
from .vocabulary import EMBEDDED, Vocabulary


class ReplayedModel:
    """A model that doesn't run: `kind` says how its words came about, `name` from whom."""

    kind = ""
    calls_tools = True

    def __init__(
        self, name: str, n_ctx: int, vocabulary: str | os.PathLike[str] = EMBEDDED
    ) -> None:
        self.name = name
        self._n_ctx = n_ctx
        self._vocabulary = Vocabulary(vocabulary)
        self._seen: list[int] = []

    def n_ctx(self) -> int:
        """The context window, in tokens."""
        return self._n_ctx

    def n_vocab(self) -> int:
        """The number of tokens in the vocabulary."""
        return self._vocabulary.size

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> list[int]:
        """As `llama_cpp.Llama.tokenize`."""
        return self._vocabulary.tokenize(text, add_bos, special)

    def detokenize(
        self, tokens: list[int], prev_tokens: list[int] | None = None, special: bool = False
    ) -> bytes:
        """The exact bytes of `tokens`."""
        return self._vocabulary.detokenize(tokens, prev_tokens, special)

    def __repr__(self) -> str:
        return f"<{self.name}, {self.kind}, n_ctx={self._n_ctx}>"

    def save_context(self) -> list[int]:
        """What counts as read."""
        return list(self._seen)

    def load_context(self, saved: list[int]) -> None:
        """Counts as read what `save_context` gave."""
        self._seen = list(saved)

    def _ids(self, prompt: str | Sequence[int]) -> list[int]:
        """The prompt's token ids. Raises `ModelError` if the context window is too small."""
        if isinstance(prompt, str):
            ids = self.tokenize(prompt.encode("utf-8", "replace"), special=True)
        else:
            ids = [int(token) for token in prompt]
        if len(ids) > self._n_ctx:
            raise ModelError(
                f"The prompt's {len(ids)} tokens exceed the context window of {self._n_ctx}. "
                "Shorten it, or give a larger n_ctx."
            )
        return ids

    def _answer(
        self, ids: list[int], text: str, tokens: list[int], finish_reason: str
    ) -> dict[str, Any]:
        """A completion dict like llama-cpp-python's."""
        shared = min(shared_prefix(ids, self._seen), len(ids) - 1)
        self._seen = ids + tokens[:-1]  # the last generated token is never read
        return {
            "object": "text_completion",
            "created": int(time.time()),
            "model": self.name,
            "kind": self.kind,
            "choices": [
                {
                    "text": text,
                    "index": 0,
                    "logprobs": None,
                    "finish_reason": finish_reason,
                    "tokens": tokens,
                }
            ],
            "usage": {
                "prompt_tokens": len(ids),
                "completion_tokens": len(tokens),
                "total_tokens": len(ids) + len(tokens),
                "evaluated_tokens": len(ids) - shared,
            },
        }
