"""What would have been: a run's prompts in another window, under another policy of pruning.

No model is asked: what it wrote and what the tools said are taken as they were. Texts that the run
has seen have the tokens that they had; a result that is cut for the first time is counted with the
tokens that are known, which may be a few off.
"""

from __future__ import annotations

from dataclasses import replace

from ..chatml import Prompt
from ..context import PRUNE_TO, prune
from ..qwen3 import NO_THOUGHTS
from ..run import Pruning, Run
from .prompt_page import Page, pages_of

UNKNOWN = -1  # the token of a byte of which no token is known
WHAT_IF = ("none", "drop", "shorten")  # a summary can't be made up: it needs the model


def would_have_been(
    run: Run, n_ctx: int, room: int, policy: str
) -> tuple[list[Page], list[Pruning | None]]:
    """A page for each step, and what would have been pruned before it."""
    known = SeenTokens(run)
    prompt = run.steps[0].prompt.snapshot()
    pages: list[Page] = []
    prunings: list[Pruning | None] = []
    before = Prompt()
    for step, page in zip(run.steps, pages_of(run, None), strict=True):
        if pages:
            prompt.open("assistant", thinking=not step.prompt.text.endswith(NO_THOUGHTS))
        limit, pruning = n_ctx - max(room, 1), None
        if policy != "none" and prompt.count(known) > limit:
            prompt, pruning = prune(prompt, int(PRUNE_TO * limit), policy, llm=known)
        ids, new = tuple(prompt.span_tokens(known)), prompt.shared(before)
        shown = replace(page, spans=prompt.spans, ids=ids, new=new, n_ctx=n_ctx, reused=None)
        pages.append(shown)
        prunings.append(pruning if pruning and pruning.dropped else None)
        before = prompt.snapshot()
        step.write_to(prompt)
    return pages, prunings


class SeenTokens:
    """A tokenizer made of what a run has seen: its texts with their tokens, and its tokens."""

    def __init__(self, run: Run) -> None:
        self.pieces = run.pieces
        self.ids = {piece: token for token, piece in run.pieces.items()}
        self.longest = max(map(len, self.ids), default=1)
        self.texts: dict[tuple[bool, str], tuple[int, ...]] = {}  # with special tokens or without
        for step in run.steps:
            spans = step.prompt.spans
            for span, ids in zip(spans, step.prompt_tokens, strict=True):
                self.texts.setdefault((span.author == "structure", span.text), ids)
            if step.completion_tokens is not None:
                self.texts.setdefault((False, step.completion), step.completion_tokens)

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> list[int]:
        """The tokens that a text had; of a new one, the longest known ones from left to right."""
        left = text.decode("utf-8", "replace")
        if (special, left) in self.texts:
            return list(self.texts[special, left])
        found: list[int] = []
        while left:
            sizes = range(min(self.longest, len(left)), 0, -1)
            size = next((size for size in sizes if left[:size] in self.ids), 1)
            unknown = [UNKNOWN] * len(left[:size].encode())  # rather a few too many
            found += [self.ids[left[:size]]] if left[:size] in self.ids else unknown
            left = left[size:]
        return found

    def detokenize(
        self, tokens: list[int], prev_tokens: list[int] | None = None, special: bool = False
    ) -> bytes:
        """The text of tokens, as the run shows them."""
        return "".join(self.pieces.get(token, "?") for token in tokens).encode()
