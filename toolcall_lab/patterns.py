"""Kinds of agents. All of them are the loop of `agent.py`; they differ in what the model is asked.

`react` writes its thoughts down. `plan_and_execute` makes one call whose arguments are a plan, and
that call runs the plan. `orchestrate` has one tool, which gives a task to a specialist: a loop with
its own tools, prompt and context. A run inside a call is kept in its step, so each of them gives
one `Run`, a tree, and a budget is shared by all that work in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from . import grammar
from .agent import ASSISTANT, Budget, Constraints, Settings, run_agent, system_prompt
from .errors import ToolcallLabError
from .execution import shortened
from .models import Model
from .models.states import Readings
from .qwen3 import CALL_OPEN
from .run import Run, Step
from .shapes import CALL_KEY
from .tools import Tool, Toolbox

THINK = """
Before each tool call, write a line that begins with "Thought:": what you know, what you need next.
Then the call. When you know enough, write a last "Thought:" line, and the answer below it."""
THOUGHT_MARK = "Thought:"
BEHIND = re.compile(rf'\n|\{{\s*"{CALL_KEY}"|{CALL_OPEN}')  # what ends a thought

PLANNER = f"""{ASSISTANT} You plan before you act: a few short steps, in one call of execute_plan.
Each step uses one of these tools, or "none" if it only needs thinking or writing:
{{tools}}"""

NOW_ANSWER = "All steps are done. Write the answer now, in your own words."

CHIEF = """You are a helpful chief of specialists. Give each of them one task at a time, with all
that it needs to know. When you have what you need, answer the user."""


def system_for(intro: str, toolbox: Toolbox, style: str) -> str:
    """The system prompt that begins with `intro`; Qwen3's style writes the tools into it itself."""
    return intro if style == "qwen3" else system_prompt(toolbox).replace(ASSISTANT, intro, 1)


def react(
    llm: Model, toolbox: Toolbox, query: str, *, thoughts: bool = True, **settings: Any
) -> Run:
    """Reason, act, observe (Yao et al. 2022, arXiv:2210.03629): `run_agent` with its thoughts in
    sight, or without them. The other options are `run_agent`'s.

    `transcript` shows what was thought, done and observed.
    """
    if thoughts and settings.get("after") is None:  # a conversation has it in its system prompt
        system = system_for(ASSISTANT, toolbox, settings.get("style", "course"))
        settings = {"system": system + THINK} | settings
    run = run_agent(llm, toolbox, query, **settings)
    said, answer = _split(run.answer or "")
    if run.ending == "answered" and said and answer:  # a thought alone stays the answer
        run.end("answered", answer, run.detail)
    return run


def call_first(toolbox: Toolbox, style: str = "course") -> Callable[[Run], grammar.Constraint]:
    """A constraint for `run_agent`: a call in the first step, then a call or a text."""
    call = grammar.tool_call(toolbox, style=style)
    either = grammar.tool_call_or_text(toolbox, style=style)
    return lambda run: either if run.steps else call


def thought(step: Step) -> str:
    """What the model wrote down before it called or answered; empty if it didn't."""
    return _split(step.completion)[0]


def _split(text: str) -> tuple[str, str]:
    """A text's thought, if it begins with one, and what comes behind it.

    >>> _split('Thought: {1, 2} is a set.\\nThe answer.')
    ('{1, 2} is a set.', 'The answer.')
    """
    text = text.strip()
    if not text.startswith(THOUGHT_MARK):
        return "", text
    text = text.removeprefix(THOUGHT_MARK)
    found = BEHIND.search(text)
    end = found.start() if found else len(text)
    return text[:end].strip(), text[end:].strip()


def transcript(run: Run) -> str:
    """A run as thoughts, actions and observations, a line each."""
    lines = []
    for step in run.steps:
        lines += [("Thought", thought(step))] if thought(step) else []
        for call, result in zip(step.calls, step.results, strict=False):
            lines += [("Action", str(call)), ("Observation", result.text)]
        lines += [("Problem", step.message)] if step.problem else []
    lines += [("Answer", run.answer)] if run.answer else []
    return "\n".join(f"{what}: {' '.join(text.split())}" for what, text in lines)


def plan_and_execute(
    llm: Model,
    toolbox: Toolbox,
    query: str,
    *,
    most: int = 6,
    max_replans: int = 1,
    budget: Budget | None = None,
    style: str = "course",
    **settings: Any,
) -> Run:
    """Plans first: one call of `execute_plan`, whose arguments are up to `most` steps, each with
    its tool, its task, and the numbers of the steps whose results it needs.

    They're executed in order, each by a run of its own, one step long: a call of its tool, whose
    result is the step's, or a text. If one fails, the rest may be planned anew `max_replans` times;
    what is done stays. The other options are `run_agent`'s, for planner and executor.
    """
    if not toolbox:
        raise ToolcallLabError("A plan needs tools to be executed with; the toolbox is empty.")
    crew = _Crew(llm, budget or Budget(40, 60_000), {"style": style} | settings)
    work = _Work(crew, toolbox)
    plan = Tool(
        "execute_plan",
        "Executes the steps of a plan, in order, and gives their results.",
        plan_schema(toolbox, most),
        work.execute,
        limited=False,
    )
    planner = Toolbox([plan], max_chars=2 * toolbox.max_chars)
    call, text = grammar.tool_call(planner, style=style), grammar.text()

    def held(run: Run) -> grammar.Constraint:
        """A plan first, and another after one that failed, as long as that's allowed."""
        failed = sum(any(result.error for result in step.results) for step in run.steps)
        return call if failed == len(run.steps) <= max_replans else text

    tools = "\n".join(f"- {tool.name}: {tool.description}" for tool in toolbox.values())
    system = system_for(PLANNER.format(tools=tools), planner, style)
    steps = max_replans + 2
    return crew.lead("planner", planner, query, system=system, constraint=held, max_steps=steps)


def plan_schema(toolbox: Toolbox, most: int) -> dict[str, Any]:
    """The JSON Schema of a plan: `{"steps": [{"tool", "task", "needs"}, …]}`."""
    number = {"type": "integer", "minimum": 1, "maximum": 2 * most}  # a second plan counts on
    step = {
        "tool": {"enum": [*toolbox, "none"]},
        "task": {"type": "string", "minLength": 3, "maxLength": 160},
        "needs": {"type": "array", "items": number, "maxItems": 4},
    }
    item: dict[str, Any] = {"type": "object", "properties": step, "required": list(step)}
    item["additionalProperties"] = False
    steps = {"type": "array", "items": item, "minItems": 1, "maxItems": most}
    return {"type": "object", "properties": {"steps": steps}, "required": ["steps"]}


class PlanFailed(Exception):
    """A step of a plan has failed; the planner is told which, and what is done."""


@dataclass
class _Work:
    """The executor of plans: what is done so far, by the steps' numbers."""

    crew: _Crew
    toolbox: Toolbox
    done: dict[int, tuple[str, str]] = field(default_factory=dict)

    def execute(self, steps: list[dict[str, Any]]) -> str:
        """Runs the steps; numbers go on where the plan before has stopped."""
        first = len(self.done) + 1
        for number, step in enumerate(steps, first):
            what = f"{step['tool']}: {step['task']}"
            try:
                self.done[number] = (what, self._run(step))
            except PlanFailed as failure:
                raise PlanFailed(
                    f"Step {number} ({what}) failed: {failure} {self._report()} Plan the rest "
                    f"anew, in another way; its first step is number {number}."
                ) from None
        return f"{self._report()}\n\n{NOW_ANSWER}"

    def _run(self, step: dict[str, Any]) -> str:
        needed = [f"{n}. {self.done[n][1]}" for n in step["needs"] if n in self.done]
        known = "\n\nResults of the steps before:\n" + "\n".join(needed) if needed else ""
        task = f"{step['task']}{known}"
        if step["tool"] == "none":
            held = grammar.text()
        else:
            only = Toolbox([self.toolbox[step["tool"]]])
            held = grammar.tool_call(only, style=self.crew.settings["style"])
        run = self.crew.work("executor", self.toolbox, task, constraint=held, max_steps=1)
        results = [result for made in run.steps for result in made.results]
        wrong = [result.text for result in results if result.error]
        if results and not wrong:
            return "\n".join(result.text for result in results) or "(nothing)"
        if wrong or run.ending != "answered" or not run.answer:
            raise PlanFailed(wrong[0] if wrong else run.explanation)
        return run.answer

    def _report(self) -> str:
        """All that is done, within what a tool's result may have; each step has its share."""
        share = self.toolbox.max_chars // max(1, len(self.done))
        lines = [
            f"{n}. {shortened(f'{what} -> {result}', share)}"
            for n, (what, result) in self.done.items()
        ]
        return "\n".join(["Done:", *lines]) if lines else "Nothing is done yet."


@dataclass(frozen=True)
class Specialist:
    """An agent for one kind of task: what the chief is told of it, its tools, its prompt.

    `system` is put in front of the tools' description; `settings` are further ones of `run_agent`.
    """

    name: str
    description: str
    toolbox: Toolbox
    system: str = ASSISTANT
    settings: dict[str, Any] = field(default_factory=dict)


def orchestrate(
    llm: Model,
    specialists: Sequence[Specialist],
    query: str,
    *,
    budget: Budget | None = None,
    max_steps: int = 8,
    constraint: Constraints = None,
    style: str = "course",
    **settings: Any,
) -> Run:
    """A chief who delegates to specialists, one task at a time, and answers from their answers.

    Each has its own context, which is kept: going back and forth reads nothing again. `budget` is
    for all of them together; a specialist can't delegate; the same task isn't given a third time.
    A specialist without an answer is an error that the chief is told of. All begin with a call, of
    `delegate` or of a tool, and then call or answer. The other options are `run_agent`'s, for all;
    `max_steps` and `constraint`, if another is given, are the chief's.
    """
    known = {specialist.name: specialist for specialist in specialists}
    if not specialists or len(known) < len(specialists):
        raise ToolcallLabError("An orchestrator needs specialists, each with a name of its own.")
    crew = _Crew(llm, budget or Budget(40, 60_000), {"style": style} | settings)
    for one in specialists:
        crew.check(one.settings)

    def delegate(agent: str, task: str) -> str:
        one = known[agent]
        system = system_for(one.system, one.toolbox, style) if one.toolbox else one.system
        held = call_first(one.toolbox, style) if one.toolbox else grammar.text()
        own = {"system": system, "constraint": held} | one.settings
        run = crew.work(agent, one.toolbox, task, **own)
        if run.ending != "answered" or not run.answer:
            found = f" {run.answer}" if run.answer else ""
            raise NoAnswer(f"{agent} gave no answer. {run.explanation}{found}")
        return run.answer

    who = {"type": "string", "enum": list(known)}
    task = {"type": "string", "minLength": 3, "maxLength": 400}
    schema = {"type": "object", "properties": {"agent": who, "task": task}}
    schema["required"] = ["agent", "task"]
    about = "Gives a task to a specialist: " + "; ".join(
        f"{one.name} {one.description}" for one in specialists
    )
    chief = Toolbox([Tool("delegate", f"{about}.", schema, delegate, limited=False)])
    system, held = system_for(CHIEF, chief, style), constraint or call_first(chief, style)
    return crew.lead("chief", chief, query, system=system, constraint=held, max_steps=max_steps)


class NoAnswer(Exception):
    """A specialist has given no answer."""


def specialists(folder: str | os.PathLike[str], *, online: bool = False) -> list[Specialist]:
    """Research, code and writing, with the toolkit's tools; files are in `folder` only."""
    from .toolkit import files, output, python, web

    search_web, read_page = web(online=online)
    read_file, write_file, _ = files(folder)
    scrape_page = replace(read_page, name="scrape_page")
    save_file = replace(write_file, name="save_file")
    tools = {
        "research": ("finds facts on the web", [search_web, scrape_page]),
        "code": ("computes with Python", [python(), read_file]),
        "writing": ("lays texts out and saves them", [output(), save_file]),
    }
    return [Specialist(name, about, Toolbox(own)) for name, (about, own) in tools.items()]


@dataclass
class _Crew:
    """Several agents on one model: their budget, what they have read, the runs inside a call."""

    llm: Model
    budget: Budget
    settings: dict[str, Any]
    made: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.readings = Readings(self.llm)
        self.path = self.settings.pop("path", None)
        self.check(self.settings)

    @staticmethod
    def check(settings: dict[str, Any]) -> None:
        """Raises `ToolcallLabError` for a setting that agents who work together don't have."""
        known = {field.name for field in fields(Settings)} | {"on_step", "on_token"}
        if unknown := sorted(set(settings) - known):
            raise ToolcallLabError(f"Agents who work together have no setting {unknown[0]!r}.")

    def lead(self, agent: str, toolbox: Toolbox, query: str, **own: Any) -> Run:
        """The run of who is asked; the others' are in its steps."""
        with self.readings.of(agent):
            options = self.settings | own | {"budget": self.budget, "agent": agent}
            return run_agent(self.llm, toolbox, query, inner=self._taken, path=self.path, **options)

    def work(self, agent: str, toolbox: Toolbox, task: str, **own: Any) -> Run:
        """The run of who is given a task. An interrupt of it is an interrupt of all."""
        with self.readings.of(agent):
            options = self.settings | own | {"budget": self.budget, "agent": agent}
            run = run_agent(self.llm, toolbox, task, **options)
        self.made.append(run)
        if run.ending == "interrupted":
            raise KeyboardInterrupt
        return run

    def _taken(self) -> list[Run]:
        made, self.made = self.made, []
        return made
