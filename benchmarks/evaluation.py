"""The evaluation sets, and when a call is right: for `reliability.py` and `training/evaluate.py`.

Two sets: the course's own requests, and a choice from BFCL (`bfcl.py`), brought into one form: the
tools in the prompt, the request, the calls that are wanted.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from toolcall_lab import Prompt, Tool, Toolbox
from toolcall_lab.agent import system_prompt

HERE = Path(__file__).resolve().parent
OMITTED = ""  # among the values that are right: the argument may be left out (as BFCL writes it)
ARTICLE = re.compile(r"^(?:the|an?|le|la|les|une?) |^l'")


def requests(name: str = "requests") -> list[dict[str, Any]]:
    """The items of a set: `requests`, the course's own, or `bfcl`."""
    lines = (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    schemas = json.loads((HERE / "tools.json").read_text(encoding="utf-8"))["tools"]
    named = {schema["function"]["name"]: schema["function"] for schema in schemas}
    for item in items:
        item["tools"] = [named[tool] if isinstance(tool, str) else tool for tool in item["tools"]]
    return items


def toolbox(item: dict[str, Any]) -> Toolbox:
    """The tools of an item; they do nothing: what one returns is in the set."""
    return Toolbox(Tool(**schema, function=lambda **_: None) for schema in item["tools"])


def prompt_of(box: Toolbox) -> Prompt:
    """The beginning of each prompt: the course's system turn with these tools."""
    prompt = Prompt()
    prompt.add("system", system_prompt(box))
    return prompt


def right(given: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether the arguments of a call are the wanted ones; a list holds values that all are.

    >>> right({"city": "paris"}, {"city": ["Paris", "Paris, France"], "days": [3, ""]})
    True
    """
    choices = {key: value if isinstance(value, list) else [value] for key, value in wanted.items()}
    return set(given) <= set(wanted) and all(
        any(_same(given[key], value) for value in values) if key in given else OMITTED in values
        for key, values in choices.items()
    )


def _same(given: Any, wanted: Any) -> bool:
    """Texts may differ in case, blanks, end marks and an article in front."""
    if isinstance(given, dict) and isinstance(wanted, dict):
        return right(given, wanted)
    if isinstance(given, list) and isinstance(wanted, list):
        pairs = zip(given, wanted, strict=False)
        return len(given) == len(wanted) and all(_same(one, other) for one, other in pairs)
    if isinstance(given, str) and isinstance(wanted, str):
        given, wanted = (
            "".join(ARTICLE.sub("", text.casefold().strip()).split()).strip(".!?")
            for text in (given, wanted)
        )
    return isinstance(given, bool) == isinstance(wanted, bool) and bool(given == wanted)
