"""From a toolbox to a constraint, and generation under it.

For each token the constraint says which ones of the vocabulary may follow (a *token mask*, computed
by llguidance); the model chooses among those. Where one continuation is possible only, its tokens
are *forced*: nothing is chosen, and they are read in one go with the next evaluation.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .bounded import bounded
from .chatml import Prompt
from .errors import ConstraintError, ModelError
from .parsing import CALL_KEY, OPEN_TAG, THINK_OPEN
from .tools import Toolbox

if TYPE_CHECKING:
    from .models.local import LocalModel


@dataclass(frozen=True)
class Constraint:
    """What a completion must look like: `name` for people, `grammar` for llguidance."""

    name: str
    grammar: str


@dataclass(frozen=True)
class Generation:
    """A constrained completion.

    `tokens` are the ids as generated, `finish_reason` is `"stop"` (complete) or `"length"` (cut).
    `evaluations` counts the model's evaluations after the prompt's, `forced` the tokens that were
    not chosen; `prompt_evaluated` of the `prompt_tokens` had to be read.
    """

    text: str
    tokens: list[int]
    finish_reason: str
    evaluations: int
    forced: int
    prompt_tokens: int
    prompt_evaluated: int


def tool_call(toolbox: Toolbox) -> Constraint:
    """One call in the course's form, of a tool in the box, with arguments that meet its schema.

    It forces a call: whether one is needed isn't asked. An object whose keys are free may still
    come out with the same key twice, and reading then refuses it. Raises `ConstraintError` if the
    toolbox is empty or a schema can't be compiled.
    """
    return Constraint(f"a call of {' or '.join(toolbox)}", _compile("call", _call_schema(toolbox)))


def tool_call_or_text(toolbox: Toolbox) -> Constraint:
    """One call as `tool_call` allows it, or a text in which there is nothing of a call.

    The model decides, with its first token: a call begins with a brace, and a text doesn't. So what
    comes is always an answer or a valid call. Raises `ConstraintError` like `tool_call`.
    """
    marks = "|".join(re.escape(mark) for mark in (f'"{CALL_KEY}"', OPEN_TAG, THINK_OPEN, "<|im_"))
    text = rf"/[^{{\s](?s:.*)/ & ~/(?s:.*)({marks})(?s:.*)/".replace("</", r"<\/")
    name = f"a call of {' or '.join(toolbox)}, or a text"
    return Constraint(name, _compile(f"call | TEXT\nTEXT: {text}", _call_schema(toolbox)))


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
    llm: LocalModel,
    prompt: Prompt | str | Sequence[int],
    constraint: Constraint,
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
    seed: int = 0,
) -> Generation:
    """Generates under a constraint, on a model from `load_model`.

    Temperature 0 takes the likeliest allowed token; above, tokens are drawn by their probability
    among the allowed ones. Raises `ModelError` if the prompt leaves no room for an answer.
    """
    import numpy as np

    if not hasattr(llm, "next_logits"):
        raise ModelError("Generation under a constraint needs a live model, from load_model().")
    ids = _prompt_ids(llm, prompt)
    room = min(max_tokens, llm.n_ctx() - len(ids))
    if room <= 0:
        raise ModelError(
            f"The prompt's {len(ids)} tokens and max_tokens={max_tokens} leave no room for an "
            f"answer in n_ctx={llm.n_ctx()}."
        )
    matcher = _matcher(llm, constraint)
    random = np.random.default_rng(seed)
    before, started = llm.tokens_evaluated, None
    out: list[int] = []
    forced = prompt_evaluated = 0
    with llm.claimed():
        while len(out) < room and not matcher.is_stopped():
            ahead = matcher.compute_ff_tokens()[: room - len(out)]
            forced += len(ahead)
            if not ahead:
                logits = llm.next_logits(ids + out)
                if started is None:  # it read the prompt, with what was forced behind it
                    started = llm.evaluations
                    prompt_evaluated = max(0, llm.tokens_evaluated - before - len(out))
                allowed = np.where(_mask(matcher, len(logits)), logits, -np.inf)
                ahead = [_choose(allowed, temperature, random)]
                if ahead == [llm.token_eos()]:
                    break
            if not matcher.consume_tokens(ahead):
                reason = _first_line(matcher.get_error())
                raise ConstraintError(f"The constraint failed: {reason}")
            out += ahead
    return Generation(
        text=llm.detokenize(out).decode("utf-8", "replace"),
        tokens=out,
        finish_reason="stop" if matcher.is_accepting() else "length",
        evaluations=0 if started is None else llm.evaluations - started,
        forced=forced,
        prompt_tokens=len(ids),
        prompt_evaluated=prompt_evaluated,
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
    grammar = LLMatcher.grammar_from_lark(f"start: {start}\ncall: %json {call}\n")
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
