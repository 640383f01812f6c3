"""An assistant with all of it: documents, notes that last, calls that are always valid, pruning.

One conversation, as long as you like: each question goes on from the run before, and what no longer
fits into the window is dropped by pairs. An answer comes with the sources that were looked at for
it, taken from the results of the searches and not from what the model says of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from . import grammar
from .agent import run_agent
from .errors import ToolcallLabError
from .memory import SEARCH, Documents, Notes
from .models import Model
from .run import Run
from .tools import Tool, Toolbox

SOURCE = re.compile(r"^\[(.+?), characters \d+-\d+, \d{4}-\d\d-\d\d\] ", re.MULTILINE)
CLAIM = re.compile(r"^\s*Sources:", re.MULTILINE)


class Assistant:
    """Answers questions with `tools`, and those of `documents` and `notes`.

    `last` is the run of the last question (None before the first one).

    The model decides between a call and an answer, and a call is held to the tools' schemas: it's
    always one that can be made. `settings` are further ones of `run_agent`.
    """

    def __init__(
        self,
        llm: Model,
        tools: Iterable[Tool] = (),
        *,
        documents: Documents | None = None,
        notes: Notes | None = None,
        **settings: Any,
    ) -> None:
        if "path" in settings:
            raise ToolcallLabError("An assistant has a run a question; save each with run.save.")
        own = [tool for kept in (notes, documents) if kept is not None for tool in kept.tools()]
        self.llm, self.toolbox = llm, Toolbox([*tools, *own])
        style = settings.get("style", "course")
        held = grammar.tool_call_or_text(self.toolbox, style=style) if self.toolbox else None
        self.settings = {"constraint": held, "policy": "drop", "max_tokens": 200} | settings
        self.last: Run | None = None
        self._talk: Run | None = None  # the last one that has a step: where the conversation is

    def ask(self, question: str) -> Run:
        """The run for a question; the conversation goes on with it."""
        settings = dict(self.settings)
        if self._talk is not None:
            settings.pop("system", None)  # the conversation has it already
        self.last = run_agent(self.llm, self.toolbox, question, after=self._talk, **settings)
        self._talk = self.last if self.last.steps else self._talk
        return self.last

    def answer(self, question: str) -> str:
        """The answer to a question, with its sources below."""
        run = self.ask(question)
        said = CLAIM.sub("(The model's own) sources:", run.answer or run.explanation)
        found = sources(run)
        return f"{said}\n\nSources: {', '.join(found)}" if found else said


def sources(run: Run) -> list[str]:
    """The documents whose passages were found in this run, each once."""
    found = [
        name
        for placed in run.walk()
        for call, result in zip(placed.step.calls, placed.step.results, strict=False)
        if call.name == SEARCH and not result.error
        for name in SOURCE.findall(result.text)
    ]
    return list(dict.fromkeys(found))
