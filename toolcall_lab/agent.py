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
from .errors import ToolcallLabError
from .models import Model
from .parsing import Reading, read_tool_calls
from .run import Run, Step, piece_texts
from .shapes import CALL_KEY
from .tools import Toolbox, ToolCall, ToolResult

ASSISTANT = "You are a helpful assistant."
SYSTEM = f"""{ASSISTANT}

Available tools:
{{tools}}

To use a tool, reply with {{call}}.
When a tool has given its result, answer the user with this result, in a sentence."""

MAX_PROBLEMS = 3  # unreadable calls in a row, each told to the model, before the loop gives up

Constraints = grammar.Constraint | Sequence[grammar.Constraint | None] | None


def system_prompt(toolbox: Toolbox) -> str:
    """The course's system prompt: the tools' schemas and how to call one."""
    call = f'{{"{CALL_KEY}": {{"name": "<tool_name>", "arguments": {{...}}}}}}'
    tools = json.dumps(toolbox.schemas(), ensure_ascii=False)
    return SYSTEM.replace("{call}", call).replace("{tools}", tools)


@dataclass(frozen=True)
class Settings:
    """How a loop runs: at most `max_steps` steps; `system`, the system prompt (by default
    `system_prompt(toolbox)`); `constraint`, for every step, or a list with one for each step, None
    and the steps behind its end being free; `temperature` and `max_tokens` of each completion;
    `style`, the course's prompts or Qwen3's own (`"qwen3"`), and whether it shall be `thinking`.
    """

    max_steps: int = 10
    system: str | None = None
    constraint: Constraints = None
    temperature: float = 0.1
    max_tokens: int = 512
    style: str = "course"
    thinking: bool = True

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ToolcallLabError(f"max_tokens={self.max_tokens}: a completion needs at least 1.")


def run_agent(
    llm: Model,
    toolbox: Toolbox,
    query: str,
    *,
    path: str | os.PathLike[str] | None = None,
    on_step: Callable[[Step], None] | None = None,
    **settings: Any,
) -> Run:
    """Runs the loop to its end. `on_step` is given each step, a file at `path` gets it as a line.

    The other options are those of `Settings`. An interrupt ends the run as `interrupted`, with its
    steps so far.
    """
    checked = Settings(**settings)
    run = _start(llm, toolbox, query, path)
    try:
        for step in _loop(run, llm, toolbox, checked):
            if on_step is not None:
                on_step(step)
    except KeyboardInterrupt:
        if run.ending is None:
            run.end("interrupted")
    return run


def iter_agent(
    llm: Model,
    toolbox: Toolbox,
    query: str,
    *,
    path: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Iterator[Step]:
    """Yields each step of the loop as it ends; takes `run_agent`'s options but `on_step`."""
    checked = Settings(**settings)
    return _loop(_start(llm, toolbox, query, path), llm, toolbox, checked)


def _start(llm: Model, toolbox: Toolbox, query: str, path: str | os.PathLike[str] | None) -> Run:
    name, kind = getattr(llm, "name", type(llm).__name__), getattr(llm, "kind", "live")
    query = query.encode("utf-8", "replace").decode()  # a lone surrogate is no text
    run = Run(query, name, kind, llm.n_ctx(), toolbox.schemas(), path=Path(path) if path else None)
    run.begin()
    return run


def _loop(run: Run, llm: Model, toolbox: Toolbox, settings: Settings) -> Iterator[Step]:
    prompt = _first_prompt(toolbox, run.query, settings)
    problems = 0
    for number in range(settings.max_steps):
        prompt.open("assistant", thinking=settings.thinking)
        ids = prompt.span_tokens(llm)
        total = sum(map(len, ids))
        if total >= run.n_ctx:
            return run.end("context_full", None, f"It has {total} tokens, n_ctx is {run.n_ctx}.")
        completion = _complete(llm, ids, settings, number)
        step, reading = _take_step(run, llm, prompt, ids, completion, toolbox)
        yield step
        problems = problems + 1 if reading.problem else 0
        if not step.calls and not reading.problem:
            return _answer(run, reading.text, completion, total)
        if problems == MAX_PROBLEMS:
            return run.end("unreadable_calls", None, f"The last problem: {reading.message}")
    run.end("step_limit", None, f"It was {settings.max_steps}.")


def _first_prompt(toolbox: Toolbox, query: str, settings: Settings) -> Prompt:
    prompt = Prompt(style=settings.style)
    if settings.style == "qwen3":
        prompt.add("system", settings.system or ASSISTANT, tools=toolbox.schemas())
    else:
        prompt.add("system", system_prompt(toolbox) if settings.system is None else settings.system)
    prompt.add("user", query)
    return prompt


def _answer(run: Run, text: str, completion: _Completion, prompt_tokens: int) -> None:
    written = len(completion.tokens or ())
    if completion.finish_reason != "length":
        run.end("answered", text)
    elif prompt_tokens + written >= run.n_ctx:
        run.end("context_full", text, f"It was cut: n_ctx is {run.n_ctx}.")
    else:
        run.end("answered", text, "The answer was cut at max_tokens.")


@dataclass(frozen=True)
class _Completion:
    """What any kind of model gives back, in one form."""

    text: str
    tokens: list[int] | None
    finish_reason: str | None
    evaluated: int | None
    seconds: float
    constraint: str | None
    model: str
    kind: str


def _complete(llm: Any, ids: list[list[int]], settings: Settings, number: int) -> _Completion:
    flat = [token for span in ids for token in span]
    constraint = _constraint_at(settings.constraint, number)
    limits: dict[str, Any] = {
        "max_tokens": settings.max_tokens,
        "temperature": settings.temperature,
    }
    started = time.perf_counter()
    if constraint is not None:
        made = grammar.generate(llm, flat, constraint, **limits)
        text, tokens, finish = made.text, made.tokens, made.finish_reason
        evaluated: int | None = made.prompt_evaluated
        speaker = made.model, made.kind
    else:
        answer = llm(flat, stop=STOP, **limits)
        choice = answer["choices"][0]
        text, tokens, finish = choice["text"], choice.get("tokens"), choice["finish_reason"]
        evaluated = answer.get("usage", {}).get("evaluated_tokens")
        speaker = (answer["model"], answer["kind"]) if "kind" in answer else ("", "")
    seconds = time.perf_counter() - started
    name = constraint.name if constraint else None
    return _Completion(text, tokens, finish, evaluated, seconds, name, *speaker)


def _take_step(
    run: Run,
    llm: Model,
    prompt: Prompt,
    ids: list[list[int]],
    completion: _Completion,
    toolbox: Toolbox,
) -> tuple[Step, Reading]:
    """Reads the completion, runs its calls, appends both to the prompt and the step to the run.

    An interrupt while a tool runs goes on, but the step is kept: what was called, was called.
    """
    sent = prompt.snapshot()
    prompt.append_completion(completion.tokens, completion.text)
    reading = read_tool_calls(completion.text, toolbox, finish_reason=completion.finish_reason)
    number = len(run.steps) + 1
    calls = [replace(call, id=f"call_{number}_{i}") for i, call in enumerate(reading.calls, 1)]
    results: list[ToolResult] = []
    try:
        for call in calls:
            results.append(toolbox.execute(call))
            prompt.add("tool", results[-1].text)
    finally:
        step = _step(sent, ids, completion, reading, tuple(calls), tuple(results))
        run.add(step, _pieces(llm, ids, completion))
    if reading.problem:
        prompt.add("tool", f"Error: {reading.message}")
    return step, reading


def _step(
    sent: Prompt,
    ids: list[list[int]],
    completion: _Completion,
    reading: Reading,
    calls: tuple[ToolCall, ...],
    results: tuple[ToolResult, ...],
) -> Step:
    evaluated = completion.evaluated
    return Step(
        prompt=sent,
        prompt_tokens=tuple(tuple(span) for span in ids),
        completion=completion.text,
        completion_tokens=None if completion.tokens is None else tuple(completion.tokens),
        finish_reason=completion.finish_reason,
        calls=calls,
        results=results,
        problem=reading.problem,
        message=reading.message,
        constraint=completion.constraint,
        tokens_evaluated=evaluated,
        tokens_reused=None if evaluated is None else sum(map(len, ids)) - evaluated,
        model_seconds=completion.seconds,
        model=completion.model,
        kind=completion.kind,
    )


def _constraint_at(constraint: Constraints, number: int) -> grammar.Constraint | None:
    if constraint is None or isinstance(constraint, grammar.Constraint):
        return constraint
    return constraint[number] if number < len(constraint) else None


def _pieces(llm: Model, ids: list[list[int]], completion: _Completion) -> dict[int, str]:
    spans = [*ids, completion.tokens or []]
    return piece_texts(llm.detokenize, (token for span in spans for token in span))
