"""From a toolbox to a constraint, and generation under it.

For each token the constraint says which ones of the vocabulary may follow (a *token mask*, computed
by llguidance); the model chooses among those. Where one continuation is possible only, its tokens
are *forced*: nothing is chosen, and they are read in one go with the next evaluation.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .bounded import bounded
from .chatml import Prompt
from .errors import ConstraintError, ModelError
from .qwen3 import THINK_OPEN
from .shapes import CALL_KEY
from .tools import Toolbox

if TYPE_CHECKING:
    from .models.local import LocalModel


@dataclass(frozen=True)
class Constraint:
    """What a completion must look like: `name` for people, `grammar` for llguidance."""

    name: str
    grammar: str


@dataclass(frozen=True)
class TokenRecord:
    """How one token came about.

    A `forced` token was the only continuation; nothing was chosen, and the rest is empty. Otherwise
    `probability` is what the model gave it, `allowed` how many tokens the constraint allowed, and
    `mass` the probability of these together; `top` holds the likeliest tokens of all, as
    `(id, probability, whether it was allowed)`.
    """

    token: int
    forced: bool
    probability: float | None = None
    allowed: int | None = None
    mass: float | None = None
    top: tuple[tuple[int, float, bool], ...] = ()


@dataclass(frozen=True)
class Generation:
    """A constrained completion.

    `tokens` are the ids as generated, `records` says how each came about, `finish_reason` is
    `"stop"` (complete) or `"length"` (cut). `evaluations` counts the model's evaluations after the
    prompt's, `forced` the tokens that were not chosen; `prompt_evaluated` of the `prompt_tokens`
    had to be read, which took `prompt_seconds`. `model` and `kind` say who spoke.
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
    prompt_seconds: float = 0.0


def tool_call(toolbox: Toolbox) -> Constraint:
    """One call in the course's form, of a tool in the box, with arguments that meet its schema.

    It forces a call: whether one is needed isn't asked. An object whose keys are free may still
    come out with the same key twice, and reading then refuses it. Raises `ConstraintError` if the
    toolbox is empty or a schema can't be compiled.
    """
    return Constraint(f"a call of {' or '.join(toolbox)}", _compile("call", _call_schema(toolbox)))


def tool_call_or_text(toolbox: Toolbox) -> Constraint:
    """One call as `tool_call` allows it, or a text in which there is nothing of a call.

    The model decides, with its first token: a call begins with a brace, and a text doesn't. A text
    can't hold the marks of a call or of thinking, nor begin as other ways of writing calls do.
    Raises `ConstraintError` like `tool_call`.
    """
    name = f"a call of {' or '.join(toolbox)}, or a text"
    return Constraint(name, _compile(f"call | TEXT\nTEXT: {_text()}", _call_schema(toolbox)))


def text() -> Constraint:
    """A text in which there is nothing of a call: the model has to answer."""
    return Constraint("a text", _compile(f"TEXT\nTEXT: {_text()}", {}))


def _text() -> str:
    marks = "|".join(re.escape(mark) for mark in (CALL_KEY, THINK_OPEN, "<|im_", "[TOOL_CALLS"))
    return rf"/[^{{\[;`<\s](?s:.*)/ & ~/(?s:.*)({marks})(?s:.*)/".replace("</", r"<\/")


def _call_schema(toolbox: Toolbox) -> dict[str, Any]:
    if not toolbox:
        raise ConstraintError("A toolbox without tools allows no call; put a tool into it.")
    calls = [
        {
            "type": "object",
            "properties": {
                "name": {"const": tool.name},
                "arguments": bounded(tool.closed_parameters),
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in toolbox.values()
    ]
    return {
        "type": "object",
        "properties": {CALL_KEY: {"anyOf": calls}},
        "required": [CALL_KEY],
        "additionalProperties": False,
    }


def generate(
    llm: Any,
    prompt: Prompt | str | Sequence[int],
    constraint: Constraint,
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
    seed: int = 0,
    on_token: Callable[[str], None] | None = None,
) -> Generation:
    """Generates under a constraint, on a model from `load_model`, or on a recording of one.

    `on_token` is given the text as it comes. Temperature 0 takes the likeliest allowed token;
    above, tokens are drawn by their probability among the allowed ones. Raises `ModelError` if the
    prompt leaves no room for an answer.
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
    settings = {"max_tokens": max_tokens, "temperature": float(temperature), "seed": seed}
    if hasattr(llm, "replay"):
        held = {"constraint": hashlib.sha256(constraint.grammar.encode()).hexdigest()}
        answer = llm.replay(
            ids,
            settings | held,
            lambda live: _to_answer(_generate(live, ids, constraint, room, temperature, seed)),
        )
        made = _from_answer(answer)
        if on_token is not None:
            on_token(made.text)
        return made
    return _generate(llm, ids, constraint, room, temperature, seed, on_token)


def _generate(
    llm: LocalModel,
    ids: list[int],
    constraint: Constraint,
    room: int,
    temperature: float,
    seed: int,
    on_token: Callable[[str], None] | None = None,
) -> Generation:
    import numpy as np

    began, prompt_seconds = time.perf_counter(), 0.0
    letters = codecs.getincrementaldecoder("utf-8")("replace")  # a letter may need several tokens
    matcher = _matcher(llm, constraint)
    random = np.random.default_rng(seed)
    before, started = llm.tokens_evaluated, None
    records: list[TokenRecord] = []
    out: list[int] = []
    prompt_evaluated, ended = 0, False
    with llm.claimed():
        while len(out) < room and not matcher.is_stopped():
            ahead = matcher.compute_ff_tokens()[: room - len(out)]
            new = [TokenRecord(token, forced=True) for token in ahead]
            if not ahead:
                logits = llm.next_logits(ids + out)
                if started is None:  # it read the prompt, with what was forced behind it
                    started = llm.evaluations
                    prompt_seconds = time.perf_counter() - began
                    prompt_evaluated = max(0, llm.tokens_evaluated - before - len(out))
                mask = _mask(matcher, len(logits))
                ahead = [_choose(np.where(mask, logits, -np.inf), temperature, random)]
                if ended := ahead == [llm.token_eos()]:
                    break
                new = [_record(ahead[0], logits, mask)]
            if not matcher.consume_tokens(ahead):
                reason = _first_line(matcher.get_error())
                raise ConstraintError(f"The constraint failed: {reason}")
            out += ahead
            records += new
            if on_token is not None:
                on_token(letters.decode(llm.detokenize(ahead)))
    return Generation(
        text=llm.detokenize(out).decode("utf-8", "replace"),
        tokens=out,
        finish_reason="stop" if ended or matcher.is_stopped() else "length",
        evaluations=0 if started is None else llm.evaluations - started,
        forced=sum(record.forced for record in records),
        prompt_tokens=len(ids),
        prompt_evaluated=prompt_evaluated,
        records=tuple(records),
        model=llm.name,
        kind=llm.kind,
        prompt_seconds=prompt_seconds,
    )


TOP = 5  # likeliest tokens in a record


def _record(token: int, logits: Any, mask: Any) -> TokenRecord:
    import numpy as np

    weights = np.exp(logits - logits.max())
    shares = weights / weights.sum()
    best = np.argpartition(-shares, TOP)[:TOP]
    best = best[np.argsort(-shares[best])]
    top = tuple((int(i), round(float(shares[i]), 6), bool(mask[i])) for i in best)
    probability, mass = (round(float(value), 6) for value in (shares[token], shares[mask].sum()))
    return TokenRecord(token, False, probability, int(mask.sum()), mass, top)


def _to_answer(made: Generation) -> dict[str, Any]:
    """As a completion dict, which is what recordings keep."""
    choice = {"text": made.text, "tokens": made.tokens, "finish_reason": made.finish_reason}
    usage = {"prompt_tokens": made.prompt_tokens, "evaluated_tokens": made.prompt_evaluated}
    kept = {"evaluations": made.evaluations, "records": [astuple(r) for r in made.records]}
    return {
        "model": made.model,
        "kind": made.kind,
        "choices": [choice],
        "usage": usage,
        "generation": kept,
    }


def _from_answer(answer: dict[str, Any]) -> Generation:
    choice, usage, kept = answer["choices"][0], answer["usage"], answer["generation"]
    records = tuple(
        TokenRecord(token, forced, share, allowed, mass, tuple((i, p, ok) for i, p, ok in top))
        for token, forced, share, allowed, mass, top in kept["records"]
    )
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
    )


def _prompt_ids(llm: LocalModel, prompt: Prompt | str | Sequence[int]) -> list[int]:
    if isinstance(prompt, Prompt):
        return prompt.tokens(llm)
    if isinstance(prompt, str):
        return llm.tokenize(prompt.encode(), add_bos=True, special=True)  # type: ignore[no-any-return]
    return list(prompt)


def _compile(start: str, schema: dict[str, Any]) -> str:
    """A grammar in llguidance's dialect of Lark, in which `call` is what the schema describes."""
    from llguidance import LLMatcher

    # One blank behind : and , as json.dumps writes it and as the model has seen it in its prompt.
    spacing = {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}
    call = json.dumps(schema | {"x-guidance": spacing})
    rule = f"call: %json {call}\n" if schema else ""
    grammar = LLMatcher.grammar_from_lark(f"start: {start}\n{rule}")
    failed, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    if failed:
        reason = _first_line(messages[0])
        raise ConstraintError(f"This schema can't constrain a completion: {reason}")
    return str(grammar)


def _first_line(reason: str) -> str:
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
    matcher = LLMatcher(_tokenizers[llm], constraint.grammar)
    if matcher.is_error():
        raise ConstraintError(f"The constraint failed: {_first_line(matcher.get_error())}")
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
