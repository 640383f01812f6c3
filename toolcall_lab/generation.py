"""Generation under a constraint, token by token.

For each token the constraint says which ones of the vocabulary may follow (a *token mask*, computed
by llguidance); the model chooses among those. Where one continuation is possible only, its tokens
are *forced*: nothing is chosen, and they are read in one go with the next evaluation. Near the end
of the budget, what is open is closed (`closing.py`).
"""

from __future__ import annotations

import codecs
import hashlib
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .chatml import Prompt
from .closing import Closing, Shortest
from .errors import ConstraintError, ModelError, RoomError
from .qwen3 import CALL_OPEN

if TYPE_CHECKING:
    from .models.local import LocalModel


@dataclass(frozen=True)
class Constraint:
    """What a completion must look like: `name` for people, `grammar` for llguidance.

    `shortest`: the shortest forms of the calls it allows, so that they can be closed in time.
    `tagged`: the grammar for vocabularies in which Qwen's tags are tokens of their own.
    """

    name: str
    grammar: str
    shortest: tuple[Shortest, ...] = ()
    tagged: str = ""


@dataclass(frozen=True)
class TokenRecord:
    """How one token came about.

    A `forced` token was the only continuation; nothing was chosen, and the rest is empty. Otherwise
    `probability` is what the model gave it, `allowed` how many tokens the constraint allowed, and
    `mass` the probability of these together; `top` holds the likeliest tokens of all and of the
    allowed ones, as `(id, probability, whether it was allowed)`.
    """

    token: int
    forced: bool
    probability: float | None = None
    allowed: int | None = None
    mass: float | None = None
    top: tuple[tuple[int, float, bool], ...] = ()

    @classmethod
    def of(cls, *values: Any) -> TokenRecord:
        """The record of these values as JSON has kept them."""
        token, forced, probability, allowed, mass, top = values
        alternatives = tuple((i, p, ok) for i, p, ok in top)
        return cls(token, forced, probability, allowed, mass, alternatives)


@dataclass(frozen=True)
class Generation:
    """A completion, token by token.

    `tokens` are the ids as generated, `records` says how each came about, `finish_reason` is
    `"stop"` (complete) or `"length"` (cut). `evaluations` counts the model's evaluations after the
    prompt's, `forced` the tokens that were not chosen; `prompt_evaluated` of the `prompt_tokens`
    had to be read, which took `prompt_seconds` of all `seconds`. `closed`: the budget was near and
    what was open was closed, so that a text in it may be cut. `model` and `kind` say who spoke.
    """

    text: str
    tokens: list[int]
    finish_reason: str
    evaluations: int
    forced: int
    prompt_tokens: int
    prompt_evaluated: int
    records: tuple[TokenRecord, ...] = ()
    model: str = ""
    kind: str = ""
    seconds: float = 0.0
    prompt_seconds: float = 0.0
    closed: bool = False


def generate(
    llm: Any,
    prompt: Prompt | str | Sequence[int],
    constraint: Constraint | None = None,
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
    seed: int = 0,
    stop: Sequence[str] = (),
    on_token: Callable[[str], None] | None = None,
) -> Generation:
    """Generates, under a constraint or freely, on a model from `load_model` or a recording of one.

    A text ends where the model ends its turn, at the end of its constraint, or before one of the
    `stop` strings; a call always ends within `max_tokens`. `on_token` is given the text as it
    comes. Temperature 0 takes the likeliest allowed token; above, tokens are drawn by their
    probability among the allowed ones. Raises `ModelError` if the prompt leaves no room for an
    answer, `RoomError` if the shortest call may not fit into it.
    """
    if not hasattr(llm, "next_logits") and not hasattr(llm, "replay"):
        raise ModelError("Generation under a constraint needs a live model, from load_model().")
    ids = _prompt_ids(llm, prompt)
    room = min(max_tokens, llm.n_ctx() - len(ids))
    if room <= 0:
        raise ModelError(
            f"The prompt's {len(ids)} tokens and max_tokens={max_tokens} leave no room for an "
            f"answer in n_ctx={llm.n_ctx()}."
        )
    settings: dict[str, Any] = {
        "max_tokens": max_tokens,
        "temperature": float(temperature),
        "seed": seed,
    }
    if stop:
        settings["stop"] = sorted(stop)
    if hasattr(llm, "replay"):
        grammar = constraint.grammar if constraint else ""
        held = {"constraint": hashlib.sha256(grammar.encode()).hexdigest()}
        answer = llm.replay(
            ids,
            settings | held,
            lambda live: _to_answer(
                _generate(live, ids, constraint, room, temperature, seed, stop)
            ),
        )
        made = _from_answer(answer)
        if on_token is not None:
            on_token(made.text)
        return made
    return _generate(llm, ids, constraint, room, temperature, seed, stop, on_token)


def _generate(
    llm: LocalModel,
    ids: list[int],
    constraint: Constraint | None,
    room: int,
    temperature: float,
    seed: int,
    stop: Sequence[str] = (),
    on_token: Callable[[str], None] | None = None,
) -> Generation:
    import numpy as np

    matcher = _matcher(llm, constraint) if constraint else None
    closing = Closing(llm, constraint.shortest if constraint else ())
    if closing.forms and room < closing.needed:
        raise RoomError(
            f"A call may take {closing.needed} tokens here, and there is room for {room}; "
            "give more max_tokens, or a larger n_ctx."
        )
    random, hears = np.random.default_rng(seed), _Hearing(llm, stop, on_token)
    began, before = time.perf_counter(), llm.tokens_evaluated
    started: int | None = None
    prompt_seconds, prompt_evaluated = 0.0, 0
    records: list[TokenRecord] = []
    out: list[int] = []
    ended = closed = False
    with llm.claimed():
        while len(out) < room and not (matcher and matcher.is_stopped()):
            ahead = matcher.compute_ff_tokens()[: room - len(out)] if matcher else []
            new = [TokenRecord(token, forced=True) for token in ahead]
            if not ahead:
                logits = llm.next_logits(ids + out)
                if started is None:  # it read the prompt, with what was forced behind it
                    started = llm.evaluations
                    prompt_seconds = time.perf_counter() - began
                    prompt_evaluated = max(0, llm.tokens_evaluated - before - len(out))
                mask = _mask(matcher, len(logits)) if matcher else np.ones(len(logits), dtype=bool)
                token = None
                if matcher and closing.is_due(hears.text, room - len(out), matcher.is_accepting()):
                    token = closing.choose(hears.text, mask, llm.token_eos())
                    closed = closed or token is not None
                if token is None:
                    token = _choose(np.where(mask, logits, -np.inf), temperature, random)
                if ended := llm.ends(token):
                    break
                ahead, new = [token], [_record(token, logits, mask)]
            if matcher and not matcher.consume_tokens(ahead):
                reason = first_line(matcher.get_error())
                raise ConstraintError(f"The constraint failed: {reason}")
            out += ahead
            records += new
            if hears.hear(ahead):
                ended = True
                break
    kept = hears.kept(out)
    return Generation(
        text=hears.text,
        tokens=out[:kept],
        finish_reason="stop" if ended or (matcher and matcher.is_stopped()) else "length",
        evaluations=0 if started is None else llm.evaluations - started,
        forced=sum(record.forced for record in records[:kept]),
        prompt_tokens=len(ids),
        prompt_evaluated=prompt_evaluated,
        records=tuple(records[:kept]),
        model=llm.name,
        kind=llm.kind,
        seconds=time.perf_counter() - began,
        prompt_seconds=prompt_seconds,
        closed=closed,
    )


class _Hearing:
    """The text of a generation as it comes, up to the first stop string."""

    def __init__(self, llm: LocalModel, stop: Sequence[str], on_token: Any) -> None:
        self.llm, self.stop, self.on_token = llm, [text for text in stop if text], on_token
        self.letters = codecs.getincrementaldecoder("utf-8")("ignore")  # one may need many tokens
        self.text, self.told = "", 0

    def hear(self, tokens: list[int]) -> bool:
        """Adds what these tokens say; whether a stop string has come."""
        self.text += self.letters.decode(self.llm.detokenize(tokens))
        found = [at for mark in self.stop if (at := self.text.find(mark)) >= 0]
        if found:
            self.text = self.text[: min(found)]
        if self.on_token is not None and len(self.text) > self.told:
            self.on_token(self.text[self.told :])
            self.told = len(self.text)
        return bool(found)

    def kept(self, tokens: list[int]) -> int:
        """How many of the tokens the text has."""
        if not self.stop:
            self.text += self.letters.decode(b"", final=True)
            return len(tokens)
        size = len(self.text.encode())
        number = 0
        while number < len(tokens) and size > 0:
            size -= len(self.llm.detokenize([tokens[number]]))
            number += 1
        return number


TOP, TOP_ALLOWED = 5, 3  # likeliest tokens in a record, of all and of the allowed ones


def _record(token: int, logits: Any, mask: Any) -> TokenRecord:
    import numpy as np

    weights = np.exp(logits - logits.max())
    shares = weights / weights.sum()
    best = {*_likeliest(shares, TOP), *_likeliest(np.where(mask, shares, 0), TOP_ALLOWED)}
    top = tuple(
        (int(i), round(float(shares[i]), 6), bool(mask[i]))
        for i in sorted(best, key=lambda i: -shares[i])
    )
    probability, mass = (round(float(value), 6) for value in (shares[token], shares[mask].sum()))
    return TokenRecord(token, False, probability, int(mask.sum()), mass, top)


def _likeliest(shares: Any, n: int) -> list[int]:
    """The places of the n highest shares that aren't zero."""
    import numpy as np

    best = np.argpartition(-shares, n)[:n]
    return [int(i) for i in best if shares[i] > 0]


def _to_answer(made: Generation) -> dict[str, Any]:
    """As a completion dict, which is what recordings keep."""
    choice = {"text": made.text, "tokens": made.tokens, "finish_reason": made.finish_reason}
    usage = {
        "prompt_tokens": made.prompt_tokens,
        "evaluated_tokens": made.prompt_evaluated,
        "prompt_seconds": made.prompt_seconds,
    }
    kept = {
        "evaluations": made.evaluations,
        "records": [astuple(r) for r in made.records],
        "closed": made.closed,
    }
    return {
        "model": made.model,
        "kind": made.kind,
        "choices": [choice],
        "usage": usage,
        "seconds": made.seconds,
        "generation": kept,
    }


def _from_answer(answer: dict[str, Any]) -> Generation:
    choice, usage, kept = answer["choices"][0], answer["usage"], answer["generation"]
    records = tuple(TokenRecord.of(*record) for record in kept["records"])
    return Generation(
        text=choice["text"],
        tokens=choice["tokens"],
        finish_reason=choice["finish_reason"],
        evaluations=kept["evaluations"],
        forced=sum(record.forced for record in records),
        prompt_tokens=usage["prompt_tokens"],
        prompt_evaluated=usage["evaluated_tokens"],
        records=records,
        model=answer["model"],
        kind=answer["kind"],
        seconds=answer["seconds"],
        prompt_seconds=usage.get("prompt_seconds", 0.0),
        closed=kept.get("closed", False),
    )


def _prompt_ids(llm: LocalModel, prompt: Prompt | str | Sequence[int]) -> list[int]:
    if isinstance(prompt, Prompt):
        return prompt.tokens(llm)
    if isinstance(prompt, str):
        return llm.tokenize(prompt.encode(), add_bos=True, special=True)  # type: ignore[no-any-return]
    return list(prompt)


def first_line(reason: str) -> str:
    """The reason itself."""
    return reason.strip().splitlines()[0]  # llguidance adds a dump of its state


_tokenizers: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _matcher(llm: LocalModel, constraint: Constraint) -> Any:
    """A fresh matcher; the model's vocabulary, which takes a moment to read, is kept."""
    from llguidance import LLMatcher
    from llguidance.llamacpp import lltokenizer_from_vocab

    if llm not in _tokenizers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a function that it calls
            _tokenizers[llm] = lltokenizer_from_vocab(llm._model.vocab)
    tagged = len(llm.tokenize(CALL_OPEN.encode(), add_bos=False, special=True)) == 1
    grammar = constraint.tagged if tagged and constraint.tagged else constraint.grammar
    matcher = LLMatcher(_tokenizers[llm], grammar)
    if matcher.is_error():
        raise ConstraintError(f"The constraint failed: {first_line(matcher.get_error())}")
    return matcher


def _mask(matcher: Any, n_vocab: int) -> Any:
    """Which tokens may follow: booleans, shape `(n_vocab,)`."""
    import numpy as np
    from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

    bits = allocate_token_bitmask(1, n_vocab)
    fill_next_token_bitmask(matcher, bits)
    return np.unpackbits(bits.view(np.uint8), bitorder="little")[:n_vocab].astype(bool)


def _choose(logits: Any, temperature: float, random: Any) -> int:
    import numpy as np

    if temperature <= 0:
        return int(np.argmax(logits))
    weights = np.exp((logits - logits.max()) / temperature)
    return int(random.choice(len(weights), p=weights / weights.sum()))
