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
from .chatml import Prompt
from .completion import Completion, Interrupted, OnToken, complete
from .context import POLICIES, PRUNE_TO, prune
from .errors import RoomError, ToolcallLabError
from .models import Model
from .parsing import Reading, read_tool_calls
from .prefix import shared_prefix
from .run import Pruning, Run, Step, piece_texts, tokens_of
from .shapes import CALL_KEY
from .tools import Toolbox, ToolCall, ToolResult

ASSISTANT = "You are a helpful assistant."
SYSTEM = f"""{ASSISTANT}

Available tools:
{{tools}}

To use a tool, reply with {{call}}.
When a tool has given its result, answer the user with this result, in a sentence."""

MAX_PERIOD = 5  # calls in a cycle that is noticed when it comes back
SUMMARY_TOKENS = 100  # of a summary that pruning asks for

Constraints = (
    grammar.Constraint
    | Sequence[grammar.Constraint | None]
    | Callable[[Run], grammar.Constraint | None]
    | None
)


def system_prompt(toolbox: Toolbox) -> str:
    """The course's system prompt: the tools' schemas and how to call one."""
    call = f'{{"{CALL_KEY}": {{"name": "<tool_name>", "arguments": {{...}}}}}}'
    tools = json.dumps(toolbox.schemas(), ensure_ascii=False)
    return SYSTEM.replace("{call}", call).replace("{tools}", tools)


@dataclass
class Budget:
    """How many steps and tokens, read and written, are left for several runs together."""

    steps: int
    tokens: int

    def spend(self, tokens: int) -> None:
        """Takes a step off, and its tokens."""
        self.steps -= 1
        self.tokens -= tokens

    @property
    def used_up(self) -> bool:
        """Whether nothing more may be begun."""
        return self.steps < 1 or self.tokens < 1


@dataclass(frozen=True)
class Settings:
    """How a loop runs.

    `system`: the system prompt (by default `system_prompt(toolbox)`); `constraint`: for every step,
    or a list with one for each step, None and the steps behind its end being free, or a function
    that is given the run so far and says it for the next step; `temperature` and `max_tokens` of
    each completion; `style`: the course's prompts or Qwen3's own (`"qwen3"`), and whether it shall
    be `thinking`; `policy`: how to `prune` when the prompt leaves no room for `max_tokens` (None:
    don't, the run ends); `states`: whether a live model's reading of the system prompt is kept on
    disk for the next kernel, or the folder for it.

    Where several agents work together, `agent` is this one's name, `budget` what they may spend
    together, and `inner` gives, after each step's calls, the runs that these have made.

    It ends after `max_steps` steps; at the `max_repeats`-th time of the same call, or of the same
    few calls over and over; after `max_problems` unreadable calls in a row; when the budget is used
    up (`step_limit`).
    """

    max_steps: int = 10
    max_repeats: int = 3
    max_problems: int = 3
    system: str | None = None
    constraint: Constraints = None
    temperature: float = 0.1
    max_tokens: int = 512
    style: str = "course"
    thinking: bool = True
    policy: str | None = None
    states: bool | str | os.PathLike[str] = False
    agent: str = ""
    budget: Budget | None = None
    inner: Callable[[], Sequence[Run]] | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ToolcallLabError(f"max_tokens={self.max_tokens}: a completion needs at least 1.")
        if self.max_problems < 1:
            raise ToolcallLabError(f"max_problems={self.max_problems}: the first one ends the run.")
        if self.max_repeats < 2:
            raise ToolcallLabError(f"max_repeats={self.max_repeats}: no call could be made twice.")
        if self.policy not in (None, *POLICIES):
            raise ToolcallLabError(f"A policy is {', '.join(POLICIES)}, not {self.policy!r}.")


def run_agent(
    llm: Model,
    toolbox: Toolbox,
    query: str,
    *,
    after: Run | None = None,
    path: str | os.PathLike[str] | None = None,
    on_step: Callable[[Step], None] | None = None,
    on_token: OnToken = None,
    **settings: Any,
) -> Run:
    """Runs the loop to its end.

    `after` is a run whose conversation goes on with this query. `on_step` is given each step as it
    ends, `on_token` the model's text as it comes, a file at `path` each step as a line. The other
    options are those of `Settings`. An interrupt ends the run as `interrupted`, with all that had
    happened.
    """
    checked = Settings(**settings)
    run = _start(llm, toolbox, query, path, checked, after)
    try:
        for step in _loop(run, llm, toolbox, checked, after, on_token):
            if on_step is not None:
                on_step(step)
    except KeyboardInterrupt:
        if run.ending is None:
            run.end("interrupted", run.found())
    return run


def iter_agent(
    llm: Model,
    toolbox: Toolbox,
    query: str,
    *,
    after: Run | None = None,
    path: str | os.PathLike[str] | None = None,
    on_token: OnToken = None,
    **settings: Any,
) -> Iterator[Step]:
    """Yields each step of the loop as it ends; takes `run_agent`'s options but `on_step`."""
    checked = Settings(**settings)
    run = _start(llm, toolbox, query, path, checked, after)
    return _loop(run, llm, toolbox, checked, after, on_token)


def _start(
    llm: Model,
    toolbox: Toolbox,
    query: str,
    path: str | os.PathLike[str] | None,
    settings: Settings,
    after: Run | None,
) -> Run:
    if after is not None:
        _check_goes_on(after, toolbox, settings)
    name, kind = getattr(llm, "name", type(llm).__name__), getattr(llm, "kind", "live")
    query = query.encode("utf-8", "replace").decode()  # a lone surrogate is no text
    file = Path(path) if path else None
    run = Run(query, name, kind, llm.n_ctx(), toolbox.schemas(), settings.style, path=file)
    run.agent = settings.agent
    run.begin()
    return run


def _check_goes_on(after: Run, toolbox: Toolbox, settings: Settings) -> None:
    """Raises `ToolcallLabError` if what was said before doesn't fit what is asked for now."""
    if not after.steps:
        raise ToolcallLabError("That run has no steps; go on after the run before it.")
    if after.style != settings.style:
        raise ToolcallLabError(f"That run's prompts are in the style {after.style!r}; keep to it.")
    if settings.system is not None or after.tools != toolbox.schemas():
        raise ToolcallLabError("A conversation goes on with its own system prompt and tools.")


def _loop(
    run: Run,
    llm: Model,
    toolbox: Toolbox,
    settings: Settings,
    after: Run | None,
    on_token: OnToken,
) -> Iterator[Step]:
    prompt = _first_prompt(llm, toolbox, run.query, settings, after)
    made: list[str] = []  # the calls so far, in one spelling
    problems = 0
    for number in range(settings.max_steps):
        if settings.budget is not None and settings.budget.used_up:
            return run.end("step_limit", run.found(), "The budget of all agents is used up.")
        prompt.open("assistant", thinking=settings.thinking)
        prompt, pruning = _fitted(prompt, llm, run.n_ctx, settings)
        ids = prompt.span_tokens(llm)
        total = sum(map(len, ids))
        if total >= run.n_ctx:
            detail = f"It has {total} tokens, n_ctx is {run.n_ctx}."
            return run.end("context_full", run.found(), detail)
        sent = Step(prompt.snapshot(), tuple(ids), "", None, None, pruning=pruning)
        try:
            read, seconds = _warmed(llm, prompt, settings) if number == 0 else (0, 0.0)
            completion = complete(
                llm,
                [token for span in ids for token in span],
                max_tokens=settings.max_tokens,
                temperature=settings.temperature,
                constraint=_constraint_at(settings.constraint, run),
                on_token=on_token,
            )
        except RoomError:
            if run.n_ctx - total >= settings.max_tokens:
                raise  # it's max_tokens that is too small
            detail = f"{run.n_ctx - total} tokens are left for a call."
            return run.end("context_full", run.found(), detail)
        except Interrupted as stop:
            if stop.completion.text:
                _keep(run, llm, _written(sent, stop.completion))
            raise
        if completion.evaluated is not None:
            completion = replace(
                completion,
                evaluated=completion.evaluated + read,
                seconds=completion.seconds + seconds,
                read_seconds=completion.read_seconds + seconds,
            )
        if settings.budget is not None:
            read_now = total if completion.evaluated is None else completion.evaluated
            settings.budget.spend(read_now + len(completion.tokens or ()))
        prompt.append_completion(completion.tokens, completion.text)
        reading = read_tool_calls(completion.text, toolbox, finish_reason=completion.finish_reason)
        step, repeated = _acted(
            run, llm, prompt, _written(sent, completion, reading), toolbox, made, settings
        )
        yield step
        if repeated:
            return run.end("repeated_call", run.found(), repeated)
        problems = problems + 1 if reading.problem else 0
        if not step.calls and not reading.problem:
            return _answer(run, reading.text, completion, total)
        if problems == settings.max_problems:
            return run.end("unreadable_calls", run.found(), f"The last problem: {reading.message}")
    run.end("step_limit", run.found(), f"It was {settings.max_steps}.")


def _first_prompt(
    llm: Model, toolbox: Toolbox, query: str, settings: Settings, after: Run | None
) -> Prompt:
    if after is not None:
        prompt = after.prompt().without_thoughts(llm)
    else:
        prompt = Prompt(style=settings.style)
        if settings.style == "qwen3":
            prompt.add(
                "system",
                ASSISTANT if settings.system is None else settings.system,
                tools=toolbox.schemas(),
            )
        else:
            system = system_prompt(toolbox) if settings.system is None else settings.system
            prompt.add("system", system)
    prompt.add("user", query)
    return prompt


def _warmed(llm: Any, prompt: Prompt, settings: Settings) -> tuple[int, float]:
    """Has the system turn in a live model's context; the tokens read for it, and the seconds."""
    if not settings.states or not getattr(llm, "streams", False):
        return 0, 0.0
    from .models.states import warm

    spans = zip(prompt.spans, prompt.span_tokens(llm), strict=True)
    ids = [token for span, tokens in spans if span.turn == 0 for token in tokens]
    before, started = llm.tokens_evaluated, time.perf_counter()
    warm(llm, ids, None if settings.states is True else settings.states)
    return llm.tokens_evaluated - before, time.perf_counter() - started


def _fitted(
    prompt: Prompt, llm: Model, n_ctx: int, settings: Settings
) -> tuple[Prompt, Pruning | None]:
    """The prompt, pruned if the policy says so and it leaves no room for an answer."""
    room = n_ctx - min(settings.max_tokens, n_ctx // 2)
    if settings.policy is None or prompt.count(llm) <= room:
        return prompt, None
    asked: list[int] = []

    def summarise(text: str) -> str:
        ask = Prompt(style=settings.style)
        ask.add("system", "Summarise what was found, in two or three sentences.")
        ask.add("user", text[: n_ctx - SUMMARY_TOKENS])  # a token has a character at least
        ask.open("assistant", thinking=settings.style != "qwen3")
        asked.extend(ask.tokens(llm))
        return complete(llm, asked, max_tokens=SUMMARY_TOKENS, temperature=0.0).text.strip()

    budget = int(PRUNE_TO * room)
    pruned, pruning = prune(prompt, budget, settings.policy, llm=llm, summarise=summarise)
    if asked:  # the summary's prompt has taken the context over
        again = pruning.tokens_after - shared_prefix(asked, pruned.tokens(llm))
        pruning = replace(pruning, read_again=again)
    return pruned, pruning if pruning.dropped else None


def _answer(run: Run, text: str, completion: Completion, prompt_tokens: int) -> None:
    written = len(completion.tokens or ())
    if completion.finish_reason != "length":
        run.end("answered", text)
    elif prompt_tokens + written >= run.n_ctx:
        run.end("context_full", text, f"It was cut: n_ctx is {run.n_ctx}.")
    else:
        run.end("answered", text, "The answer was cut at max_tokens.")


def _written(sent: Step, completion: Completion, reading: Reading | None = None) -> Step:
    """The step with what the model wrote in it, and what was read there."""
    tokens, evaluated = completion.tokens, completion.evaluated
    total = sum(map(len, sent.prompt_tokens))
    return replace(
        sent,
        completion=completion.text,
        completion_tokens=None if tokens is None else tuple(tokens),
        finish_reason=completion.finish_reason,
        problem=reading.problem if reading else None,
        message=reading.message if reading else "",
        calls=tuple(reading.calls) if reading else (),
        constraint=completion.constraint,
        tokens_evaluated=evaluated,
        tokens_reused=None if evaluated is None else total - evaluated,
        model_seconds=completion.seconds,
        read_seconds=completion.read_seconds,
        model=completion.model,
        kind=completion.kind,
        records=completion.records,
    )


def _acted(
    run: Run,
    llm: Model,
    prompt: Prompt,
    step: Step,
    toolbox: Toolbox,
    made: list[str],
    settings: Settings,
) -> tuple[Step, str]:
    """Runs the step's calls, appends what comes of it to the prompt and the step to the run.

    Also gives a sentence if a call was not made since it's a repetition. An interrupt while a tool
    runs goes on, but the step is kept: what was called, was called.
    """
    number = len(run.steps) + 1
    calls = tuple(replace(call, id=f"call_{number}_{i}") for i, call in enumerate(step.calls, 1))
    results: list[ToolResult] = []
    repeated = ""
    try:
        for call in calls:
            if repeats(made, key := spelled(call), settings.max_repeats):
                repeated = f"{call} was not made once more (max_repeats={settings.max_repeats})."
                break
            made.append(key)
            results.append(toolbox.execute(call))
            prompt.add("tool", results[-1].text)
    finally:
        inner = tuple(settings.inner()) if settings.inner is not None else ()
        step = replace(step, calls=calls, results=tuple(results), inner=inner)
        _keep(run, llm, step)
    if step.problem:
        prompt.add("tool", f"Error: {step.message}")
    return step, repeated


def spelled(call: ToolCall) -> str:
    """A call in one spelling, whatever the order of its arguments.

    >>> spelled(ToolCall("add", {"b": 2, "a": 1}))
    'add {"a": 1, "b": 2}'
    """
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True)}"


def repeats(made: Sequence[str], call: str, times: int) -> bool:
    """Whether this call after these begins a cycle of one to five calls for the `times`-th time.

    >>> repeats(["a", "a"], "a", 3), repeats(["a", "b", "a", "b"], "a", 3)
    (True, True)
    >>> repeats(["a"], "a", 3), repeats(["a", "b", "c", "b"], "a", 3)
    (False, False)
    """
    for period in range(1, MAX_PERIOD + 1):
        past = [*made[-period * (times - 1) :], call]
        if len(past) > period * (times - 1) and past[period:] == past[:-period]:
            return True
    return False


def _constraint_at(constraint: Constraints, run: Run) -> grammar.Constraint | None:
    if constraint is None or isinstance(constraint, grammar.Constraint):
        return constraint
    if callable(constraint):
        return constraint(run)
    return constraint[len(run.steps)] if len(run.steps) < len(constraint) else None


def _keep(run: Run, llm: Model, step: Step) -> None:
    """Adds a step to the run, with the texts of the tokens that it brought."""
    before = run.steps[-1].prompt if run.steps else Prompt()
    spans = [*step.prompt_tokens[step.prompt.shared(before) :], step.completion_tokens or ()]
    seen = tokens_of((token for ids in spans for token in ids), step.records)
    run.add(step, piece_texts(llm.detokenize, seen))
