"""Exercises that grade themselves: `exercise("executer_tool_call")`.

Each has a file of its own here, with its tests, hints and official solution. The solution is also
found under the exercise's name: `exercises.executer_tool_call` is a plain function.
"""

from __future__ import annotations

import difflib
import sys
from typing import Any

from ..errors import ToolcallLabError
from .agent_loop import agent_loop
from .build_prompt import build_prompt
from .capstone import capstone
from .definir_outil import definir_outil
from .executer_tool_call import executer_tool_call
from .next_token_loop import next_token_loop
from .parse_tool_call import parse_tool_call
from .plan_and_execute import plan_and_execute
from .prune_history import prune_history
from .recherche_web import recherche_web
from .task import Task
from .tool_call_schema import tool_call_schema

__all__ = [
    "NAMES", "agent_loop", "build_prompt", "capstone", "definir_outil", "executer_tool_call",
    "exercise", "next_token_loop", "parse_tool_call", "plan_and_execute", "progress",
    "prune_history", "recherche_web", "task_of", "tool_call_schema",
]  # fmt: skip

NAMES = (  # in the order of the lessons
    "next_token_loop",
    "build_prompt",
    "definir_outil",
    "parse_tool_call",
    "executer_tool_call",
    "recherche_web",
    "agent_loop",
    "prune_history",
    "tool_call_schema",
    "plan_and_execute",
    "capstone",
)


def exercise(name: str, language: str | None = None) -> Any:
    """The exercise of this name, ready to be shown, checked, hinted at and solved.

    `language` is "en" or "fr"; else what `TOOLCALL_LAB_LANGUAGE` says, or English. Raises
    `ToolcallLabError` for an unknown name.
    """
    from .attempt import Exercise

    return Exercise(task_of(name), language)


def progress(language: str | None = None) -> Any:
    """How far you are in all exercises: shown in a notebook, printed elsewhere."""
    from .attempt import Overview

    return Overview(language)


def task_of(name: str) -> Task:
    """What an exercise is made of. Raises `ToolcallLabError` for an unknown name."""
    if name not in NAMES:
        near = difflib.get_close_matches(str(name), NAMES, n=1)
        guess = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(NAMES)}."
        raise ToolcallLabError(f"There is no exercise {name!r}. {guess}")
    task: Task = sys.modules[f"{__name__}.{name}"].TASK  # the name itself is the function
    return task
