"""What happened: `Step`, one pass of the loop, and `Run`, the steps of one task and its ending.

Plain data that everyone may read. Saved as JSON Lines: a header, one line a step written as the
step ends, a last line with the ending. A prompt grows by appending, so a line holds only what its
step added. A call may have an agent do something: its run is inside the step, so runs are trees.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

from .chatml import Prompt, Span
from .errors import ToolcallLabError
from .generation import TokenRecord
from .jsonl import json_line
from .tools import ToolCall, ToolResult

HEADER = ("query", "model", "kind", "n_ctx", "tools", "style", "agent")
ENDINGS = {
    "answered": "The model answered without asking for a tool.",
    "step_limit": "The step limit was reached before the model answered.",
    "repeated_call": "The model makes the same calls over and over.",
    "context_full": "The prompt has filled the context window; no room is left for an answer.",
    "unreadable_calls": "The model's calls could not be read or made, too many times in a row.",
    "interrupted": "The run was interrupted; the steps so far are kept.",
}


MAX_FOUND, MAX_LINE = 5, 300  # results in an answer put together, characters of each


@dataclass(frozen=True)
class Pruning:
    """What was taken out of a prompt: `dropped`, a line each; tokens before and after.

    `read_again` tokens stand behind the first change: the model has to read them once more.
    """

    policy: str
    dropped: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    read_again: int

    def __str__(self) -> str:
        more = f", and {len(self.dropped) - 1} more" if len(self.dropped) > 1 else ""
        done = self.dropped[0] if self.dropped else "nothing dropped"
        return (
            f"{self.policy}: {self.tokens_before} -> {self.tokens_after} tokens, "
            f"{self.read_again} to be read again; {done}{more}"
        )


@dataclass(frozen=True)
class Step:
    """One pass: the prompt as sent, what the model wrote, the calls in it and their results.

    `prompt_tokens` has the ids of each span of `prompt`. `problem` is a `Reading`'s, `message` its
    sentence. `constraint` names what the completion was held to, None if it was free.
    `tokens_evaluated` prompt tokens were read, `tokens_reused` were still in the model's context
    (None: the model doesn't say). Times are in seconds; `read_seconds` of `model_seconds` went into
    reading the prompt. `model` and `kind` say who wrote this completion, which may be another model
    than the run's: a recording's fallback. `pruning` is what was dropped before this step,
    `records` tell how each token of the completion came about, if it was held to a constraint, and
    `inner` are the runs of other agents that this step's calls have made.
    """

    prompt: Prompt
    prompt_tokens: tuple[tuple[int, ...], ...]
    completion: str
    completion_tokens: tuple[int, ...] | None
    finish_reason: str | None
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    problem: str | None = None
    message: str = ""
    constraint: str | None = None
    tokens_evaluated: int | None = None
    tokens_reused: int | None = None
    model_seconds: float = 0.0
    read_seconds: float = 0.0
    model: str = ""
    kind: str = ""
    pruning: Pruning | None = None
    records: tuple[TokenRecord, ...] = ()
    inner: tuple[Run, ...] = ()

    @property
    def call(self) -> ToolCall | None:
        """The first call, if there is one."""
        return self.calls[0] if self.calls else None

    @property
    def result(self) -> ToolResult | None:
        """The first call's result."""
        return self.results[0] if self.results else None

    @property
    def tool_seconds(self) -> float:
        """How long the tools ran."""
        return sum(result.seconds for result in self.results)

    def write_to(self, prompt: Prompt) -> None:
        """Appends what this step has brought: what the model wrote, and what it was told."""
        if self.completion:
            prompt.append_completion(self.completion_tokens, self.completion)
        for result in self.results:
            prompt.add("tool", result.text)
        if self.problem:
            prompt.add("tool", f"Error: {self.message}")


@dataclass
class Run:
    """The steps of one task. `ending` is a key of `ENDINGS`, None while the run goes on.

    `answer` is the model's if the ending is `answered`, or if the context was full in the middle of
    it; else it's put together from the results, if there are any, and no model has written it.
    `model` and `kind` say who spoke, `detail` adds to why it stopped, `pieces` gives the text of
    each token id that occurs. With a `path`, each step is on disk as soon as it has ended. `agent`
    is the name of who worked, where there are several.
    """

    query: str
    model: str
    kind: str
    n_ctx: int
    tools: list[dict[str, Any]]
    style: str = "course"
    steps: list[Step] = field(default_factory=list)
    ending: str | None = None
    answer: str | None = None
    detail: str = ""
    pieces: dict[int, str] = field(default_factory=dict)
    path: Path | None = None
    agent: str = ""

    @property
    def explanation(self) -> str:
        """Why the run stopped, in a sentence or two."""
        why = ENDINGS[self.ending] if self.ending else "The run has not ended."
        return f"{why} {self.detail}".strip()

    def begin(self) -> None:
        """Starts the file, if the run has a path."""
        if self.path is not None:
            self.path.write_bytes(json_line(self._header()))

    def add(self, step: Step, pieces: dict[int, str]) -> None:
        """Keeps a step that has ended, and `pieces` of the tokens it brought."""
        new = {token: piece for token, piece in pieces.items() if token not in self.pieces}
        before = self.steps[-1].prompt if self.steps else Prompt()
        self.pieces |= new
        self.steps.append(step)
        self._append(_step_to_json(step, before, new))

    def end(self, ending: str, answer: str | None = None, detail: str = "") -> None:
        """Notes how the run ended; `detail` is a further sentence, with the numbers."""
        self.ending, self.answer, self.detail = ending, answer, detail
        self._append(self._last())

    def found(self) -> str | None:
        """An answer put together from what the tools have said last; None if they haven't."""
        pairs = [
            (call, result)
            for step in self.steps
            for call, result in zip(step.calls, step.results, strict=False)
            if not result.error
        ]
        last = {str(call): result.text for call, result in pairs}  # of the same call, the last
        order = list(dict.fromkeys(str(call) for call, _ in reversed(pairs)))[:MAX_FOUND]
        lines = [f"- {_line(call)}: {_line(last[call])}" for call in reversed(order)]
        return (
            "\n".join(["The model gave no answer. What the tools said:", *lines]) if lines else None
        )

    def step_at(self, number: int | None) -> Placed:
        """A step of the tree by its number in `walk` (from 1); None: the last one.

        Raises `ToolcallLabError` if there's none.
        """
        steps = list(self.walk())
        if not steps:
            raise ToolcallLabError(f"This run has no steps to show. {self.explanation}")
        if number is not None and not 1 <= number <= len(steps):
            raise ToolcallLabError(f"There is no step {number}; the run has {len(steps)}.")
        return steps[(number or 0) - 1]

    def walk(self, depth: int = 0) -> Iterator[Placed]:
        """All steps of the tree, in the order in which they began."""
        for number, step in enumerate(self.steps, 1):
            yield Placed(self, step, number, depth)
            for run in step.inner:
                yield from run.walk(depth + 1)

    def prompt(self) -> Prompt:
        """The prompt with all that has happened: where another turn would go on."""
        if not self.steps:
            return Prompt(style=self.style)
        prompt = self.steps[-1].prompt.snapshot()
        self.steps[-1].write_to(prompt)
        return prompt

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the whole run to a file."""
        Path(path).write_bytes(b"".join(map(json_line, self.lines())))

    def lines(self) -> list[dict[str, Any]]:
        """The run as the values of its file's lines."""
        lines, before = [self._header()], Prompt()
        for step in self.steps:
            lines.append(_step_to_json(step, before, self.pieces if not before.spans else {}))
            before = step.prompt
        return lines + ([self._last()] if self.ending else [])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Run:
        """Reads a saved run. A file without its last line is a run that was `interrupted`.

        Raises `ToolcallLabError` if the file isn't a run, naming the line.
        """
        lines = Path(path).read_bytes().removesuffix(b"\n").split(b"\n")
        run: Run | None = None
        for number, line in enumerate(lines, 1):
            try:
                run = _read_line(cls, run, json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                if run is not None and number == len(lines):
                    break  # the machine stopped in the middle of writing it
                raise ToolcallLabError(
                    f"{path}, line {number}: not a saved run ({error})."
                ) from None
        assert run is not None  # a file has a first line, and that one was read
        run.ending = run.ending or "interrupted"
        return run

    def __repr__(self) -> str:
        return f"<Run: {self.query!r}, {len(self.steps)} steps, {self.ending or 'running'}>"

    def _header(self) -> dict[str, Any]:
        return {"run": 1} | {key: getattr(self, key) for key in HEADER}

    def _last(self) -> dict[str, Any]:
        return {"ending": self.ending, "answer": self.answer, "detail": self.detail}

    def _append(self, value: dict[str, Any]) -> None:
        if self.path is not None:
            with self.path.open("ab") as file:
                file.write(json_line(value))


@dataclass(frozen=True)
class Placed:
    """A step of a tree: the `run` it's in, its `number` there (from 1), and how deep that is."""

    run: Run
    step: Step
    number: int
    depth: int

    @property
    def who(self) -> str:
        """The agent's name, set in by its depth; empty where there's one agent only."""
        return "· " * self.depth + self.run.agent if self.run.agent else ""


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…"


def _step_to_json(step: Step, before: Prompt, pieces: dict[int, str]) -> dict[str, Any]:
    """The step as a line: of its prompt, how many spans it `kept` and which it `added`."""
    value = {key: getattr(step, key) for key in step.__dataclass_fields__}
    kept = step.prompt.shared(before)
    added = zip(step.prompt.spans[kept:], step.prompt_tokens[kept:], strict=True)
    value["prompt"] = {
        "kept": kept,
        "added": [asdict(span) | {"ids": ids} for span, ids in added],
    }
    del value["prompt_tokens"]
    value["calls"] = [asdict(call) for call in step.calls]
    value["results"] = [asdict(result) for result in step.results]
    value["pruning"] = asdict(step.pruning) if step.pruning else None
    value["records"] = [astuple(record) for record in step.records]
    value["inner"] = [run.lines() for run in step.inner]
    return {"step": value, "pieces": pieces}


def _read_line(cls: type[Run], run: Run | None, value: dict[str, Any]) -> Run:
    if run is None:
        if value.pop("run") != 1:
            raise ValueError("another version wrote it")
        return cls(**{key: value[key] for key in HEADER if key in value})
    if "step" in value:
        run.pieces |= {int(token): piece for token, piece in value["pieces"].items()}
        before = run.steps[-1] if run.steps else None
        run.steps.append(_step_from_json(value["step"], before, run.style))
    else:
        ENDINGS[value["ending"]]  # a KeyError if it's none
        run.ending, run.answer, run.detail = value["ending"], value["answer"], value["detail"]
    return run


def _read_lines(lines: list[dict[str, Any]]) -> Run:
    """A run inside a step; one without its last line was interrupted."""
    run: Run | None = None
    for line in lines:
        run = _read_line(Run, run, line)
    if run is None:
        raise ValueError("a run inside it is empty")
    run.ending = run.ending or "interrupted"
    return run


def _step_from_json(value: dict[str, Any], before: Step | None, style: str) -> Step:
    prompt = value.pop("prompt")
    kept = prompt["kept"]
    spans = list(before.prompt.spans[:kept]) if before else []
    ids = list(before.prompt_tokens[:kept]) if before else []
    for span in prompt["added"]:
        ids.append(tuple(span.pop("ids")))
        spans.append(Span(**span | {"tokens": _ids(span["tokens"])}))
    value["completion_tokens"] = _ids(value["completion_tokens"])
    value["calls"] = tuple(ToolCall(**call) for call in value["calls"])
    value["results"] = tuple(ToolResult(**result) for result in value["results"])
    if value.get("pruning"):
        value["pruning"] = Pruning(
            **value["pruning"] | {"dropped": tuple(value["pruning"]["dropped"])}
        )
    value["records"] = tuple(TokenRecord.of(*record) for record in value.get("records", ()))
    value["inner"] = tuple(_read_lines(lines) for lines in value.get("inner", ()))
    return Step(prompt=Prompt(spans, style=style), prompt_tokens=tuple(ids), **value)


def _ids(value: list[int] | None) -> tuple[int, ...] | None:
    return None if value is None else tuple(value)


def tokens_of(tokens: Iterable[int], records: Iterable[TokenRecord]) -> set[int]:
    """These tokens and those that the records name."""
    return {*tokens, *(token for record in records for token, _, _ in record.top)}


def piece_texts(detokenize: Any, ids: Iterable[int]) -> dict[int, str]:
    """What each token id shows: its text, control tokens included, odd bytes as `\\xNN`."""
    return {i: detokenize([i], special=True).decode("utf-8", "backslashreplace") for i in set(ids)}
