"""The loop: the model writes, we read; a call is run and its result appended; until it answers.

One growing prompt of token ids, so each token is read by the model once. Everything that happens is
in the `Run` that comes back, and the run says why it stopped.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import grammar
from .chatml import STOP, Prompt
from .models import Model
from .parsing import CALL_KEY, Reading, read_tool_calls
from .run import Run, Step, piece_texts
from .tools import Toolbox, ToolResult

SYSTEM = """You are a helpful assistant.

Available tools:
{tools}

To use a tool, reply with {call}.
When a tool has given its result, answer the user with this result, in a sentence."""

MAX_PROBLEMS = 3  # unreadable calls in a row, each told to the model, before the loop gives up

Constraints = grammar.Constraint | Sequence[grammar.Constraint | None] | None


def system_prompt(toolbox: Toolbox) -> str:
    """The course's system prompt: the tools' schemas and how to call one."""
    call = f'{{"{CALL_KEY}": {{"name": "<tool_name>", "arguments": {{...}}}}}}'
    tools = json.dumps(toolbox.schemas(), ensure_ascii=False)
    return SYSTEM.replace("{call}", call).replace("{tools}", tools)


def run_agent(
    llm: Model,
    toolbox: Toolbox,
    query: str,
    *,
    on_step: Callable[[Step], None] | None = None,
    **options: Any,
) -> Run:
    """Runs the loop to its end; takes `iter_agent`'s options. `on_step` is given each step.

    An interrupt ends the run as `interrupted`, with its steps so far.
    """
    run = _start(llm, toolbox, query, options.pop("path", None))
    for step in _loop(run, llm, toolbox, **options):
        if on_step is not None:
            on_step(step)
    return run


def iter_agent(llm: Model, toolbox: Toolbox, query: str, **options: Any) -> Iterator[Step]:
    """Yields each step of the loop as it ends.

    Options: `max_steps` (default 10); `system`, the system prompt (by default
    `system_prompt(toolbox)`); `constraint`, for every step, or a list with one for each step, None
    and the steps behind its end being free; `temperature` and `max_tokens` of each completion;
    `path`, a file that gets each step as it ends.
    """
    run = _start(llm, toolbox, query, options.pop("path", None))
    return _loop(run, llm, toolbox, **options)


def _start(llm: Model, toolbox: Toolbox, query: str, path: str | os.PathLike[str] | None) -> Run:
    name, kind = getattr(llm, "name", type(llm).__name__), getattr(llm, "kind", "live")
    run = Run(query, name, kind, llm.n_ctx(), toolbox.schemas(), path=Path(path) if path else None)
    run.begin()
    return run


def _loop(
    run: Run,
    llm: Model,
    toolbox: Toolbox,
    *,
    max_steps: int = 10,
    system: str | None = None,
    constraint: Constraints = None,
    temperature: float = 0.1,
    max_tokens: int = 512,
) -> Iterator[Step]:
    prompt = Prompt()
    prompt.add("system", system if system is not None else system_prompt(toolbox))
    prompt.add("user", run.query)
    problems = 0
    try:
        for number in range(max_steps):
            prompt.open("assistant")
            ids = prompt.span_tokens(llm)
            if sum(map(len, ids)) >= run.n_ctx:
                return run.end("context_full")
            completion = _complete(
                llm, prompt, ids, _constraint_at(constraint, number), temperature, max_tokens
            )
            step, reading = _take_step(prompt, ids, completion, toolbox, number)
            run.add(step, _pieces(llm, ids, completion))
            yield step
            problems = problems + 1 if reading.problem else 0
            if not step.calls and not reading.problem:
                return run.end("answered", reading.text)
            if problems == MAX_PROBLEMS:
                return run.end("unreadable_calls")
        run.end("step_limit")
    except KeyboardInterrupt:
        run.end("interrupted")


@dataclass(frozen=True)
class _Completion:
    """What any kind of model gives back, in one form."""

    text: str
    tokens: list[int] | None
    finish_reason: str | None
    evaluated: int | None
    seconds: float
    constraint: str | None


def _complete(
    llm: Any,
    prompt: Prompt,
    ids: list[list[int]],
    constraint: grammar.Constraint | None,
    temperature: float,
    max_tokens: int,
) -> _Completion:
    flat = [token for span in ids for token in span]
    started = time.perf_counter()
    if constraint is not None:
        made = grammar.generate(
            llm, flat, constraint, max_tokens=max_tokens, temperature=temperature
        )
        text, tokens, finish = made.text, made.tokens, made.finish_reason
        evaluated: int | None = made.prompt_evaluated
    else:
        answer = llm(flat, max_tokens=max_tokens, temperature=temperature, stop=STOP)
        choice = answer["choices"][0]
        text, tokens, finish = choice["text"], choice.get("tokens"), choice["finish_reason"]
        evaluated = answer.get("usage", {}).get("evaluated_tokens")
    seconds = time.perf_counter() - started
    name = constraint.name if constraint else None
    return _Completion(text, tokens, finish, evaluated, seconds, name)


def _take_step(
    prompt: Prompt, ids: list[list[int]], completion: _Completion, toolbox: Toolbox, number: int
) -> tuple[Step, Reading]:
    """Reads the completion, runs its calls, and appends both to the prompt."""
    sent = prompt.snapshot()
    prompt.append_completion(completion.tokens, completion.text)
    reading = read_tool_calls(completion.text, toolbox, finish_reason=completion.finish_reason)
    calls = tuple(
        replace(call, id=f"call_{number + 1}_{i + 1}") for i, call in enumerate(reading.calls)
    )
    results: list[ToolResult] = []
    for call in calls:
        results.append(toolbox.execute(call))
        prompt.add("tool", results[-1].text)
    if reading.problem:
        prompt.add("tool", f"Error: {reading.message}")
    total = sum(map(len, ids))
    evaluated = completion.evaluated
    step = Step(
        prompt=sent,
        prompt_tokens=tuple(tuple(span) for span in ids),
        completion=completion.text,
        completion_tokens=None if completion.tokens is None else tuple(completion.tokens),
        finish_reason=completion.finish_reason,
        calls=calls,
        results=tuple(results),
        problem=reading.problem,
        message=reading.message,
        constraint=completion.constraint,
        tokens_evaluated=evaluated,
        tokens_reused=None if evaluated is None else total - evaluated,
        model_seconds=completion.seconds,
    )
    return step, reading


def _constraint_at(constraint: Constraints, number: int) -> grammar.Constraint | None:
    if constraint is None or isinstance(constraint, grammar.Constraint):
        return constraint
    return constraint[number] if number < len(constraint) else None


def _pieces(llm: Model, ids: list[list[int]], completion: _Completion) -> dict[int, str]:
    spans = [*ids, completion.tokens or []]
    return piece_texts(llm.detokenize, (token for span in spans for token in span))
