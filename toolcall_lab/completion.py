"""One completion, from any kind of model, free or under a constraint, in one form."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import grammar
from .chatml import STOP

OnToken = Callable[[str], None] | None


@dataclass(frozen=True)
class Completion:
    """What a model wrote: `text`, its `tokens` (None: it doesn't say), why it stopped.

    `evaluated`: how many tokens of the prompt it had to read (None: it doesn't say). `seconds` is
    the time of all, `read_seconds` that of the prompt alone. `model` and `kind` say who spoke.
    `records` tell how each token came about, if it was written under a constraint.
    """

    text: str
    tokens: list[int] | None
    finish_reason: str | None
    evaluated: int | None = None
    seconds: float = 0.0
    read_seconds: float = 0.0
    constraint: str | None = None
    model: str = ""
    kind: str = ""
    records: tuple[grammar.TokenRecord, ...] = ()


class Interrupted(KeyboardInterrupt):
    """An interrupt while the model wrote; `completion` is what it had written."""

    def __init__(self, completion: Completion) -> None:
        super().__init__()
        self.completion = completion


def complete(
    llm: Any,
    ids: list[int],
    *,
    max_tokens: int,
    temperature: float,
    constraint: grammar.Constraint | None = None,
    on_token: OnToken = None,
) -> Completion:
    """Has the model go on from these ids; `on_token` is given its text, piece by piece.

    A script says what it says: it isn't held to a constraint. Raises `Interrupted` at an interrupt.
    """
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        if on_token is not None and text:
            on_token(text)

    limits: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature}
    started = time.perf_counter()
    try:
        if constraint is not None and getattr(llm, "kind", "live") != "scripted":
            return _constrained(llm, ids, constraint, limits, hear)
        answer = _answer(llm, ids, limits, hear, stream=on_token is not None)
    except KeyboardInterrupt:
        text = "".join(heard) or (llm.written() if hasattr(llm, "written") else "")
        cut = Completion(text, None, "interrupted", seconds=_since(started))
        raise Interrupted(cut) from None
    choice, usage = answer["choices"][0], answer.get("usage", {})
    who = (answer["model"], answer["kind"]) if "kind" in answer else ("", "")
    return Completion(
        choice["text"],
        choice.get("tokens"),
        choice["finish_reason"],
        usage.get("evaluated_tokens"),
        answer.get("seconds") or _since(started),
        usage.get("prompt_seconds", 0.0),
        None,
        *who,
    )


def _answer(
    llm: Any, ids: list[int], limits: dict[str, Any], hear: Any, *, stream: bool
) -> dict[str, Any]:
    """The completion dict; with `stream`, of a model that can, put together from its chunks."""
    if not stream or not getattr(llm, "streams", False):
        answer: dict[str, Any] = llm(ids, stop=STOP, **limits)
        hear(answer["choices"][0]["text"])
        return answer
    last: dict[str, Any] = {}
    for last in llm(ids, stop=STOP, stream=True, **limits):
        hear(last["choices"][0]["text"])
    last["choices"][0]["text"] = last["choices"][0]["whole"]
    return last


def _constrained(
    llm: Any, ids: list[int], constraint: Any, limits: dict[str, Any], hear: Any
) -> Completion:
    made = grammar.generate(llm, ids, constraint, on_token=hear, **limits)
    return Completion(
        made.text,
        made.tokens,
        made.finish_reason,
        made.prompt_evaluated,
        made.seconds,
        made.prompt_seconds,
        constraint.name,
        made.model,
        made.kind,
        made.records,
    )


def _since(started: float) -> float:
    return time.perf_counter() - started
