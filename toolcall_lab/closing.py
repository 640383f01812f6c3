"""How a JSON text under a constraint is ended before the budget is.

A model may fill any budget inside a text or a list. So it's known what the rest of a call takes at
least, and when that much is left, what is open is closed: a quote inside a text, a bracket or brace
outside. What still has to be there is written in its shortest form.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .models.local import LocalModel

SLACK = 8  # tokens: an escape that is open, a bracket or two, a number's digit
LONG = 60  # characters taken for a text that has to match something


@dataclass(frozen=True)
class Shortest:
    """A JSON object's shortest form: its properties, what stands right before it, what ends it.

    A property is a name, a value, and whether the value has parts of its own. `opening` is what
    stands before everything else; a text that is under way has `before` in it.
    """

    properties: tuple[tuple[str, str, bool], ...]
    before: str = ""
    after: str = ""
    opening: str = ""

    @property
    def text(self) -> str:
        """All of it."""
        inner = ", ".join(f"{json.dumps(key)}: {value}" for key, value, _ in self.properties)
        return f"{self.opening}{self.before}{{{inner}}}{self.after}"


def shortest(schema: dict[str, Any], **around: str) -> Shortest:
    """The shortest form of an object that a schema, `bounded` before, describes, with all its
    properties: what is optional may have been begun. `around` are the texts of `Shortest`."""
    return Shortest(tuple(_properties(schema)), **around)


class Closing:
    """Watches a generation, and closes it when what is left is what it takes."""

    def __init__(self, llm: LocalModel, forms: tuple[Shortest, ...]) -> None:
        self.llm, self.forms = llm, forms
        self.ids = {
            char: llm.tokenize(char.encode(), add_bos=False, special=False)[0] for char in '"]}'
        }

    @cached_property
    def needed(self) -> int:
        """How many tokens the longest of the shortest forms takes."""
        return max((self._count(form.text) for form in self.forms), default=0) + SLACK

    def is_due(self, text: str, left: int, complete: bool) -> bool:
        """Whether a text, with so many tokens left, has to be closed now; one that is `complete`,
        if there's no room for another call."""
        if left > self.needed or not self.forms or text[:1] not in ("{", "<"):
            return False
        return complete or left <= self._rest(text)

    def choose(self, text: str, mask: Any, eos: int) -> int | None:
        """The token that closes something here, None if none may follow."""
        inside = in_string(text)
        order = [self.ids['"']] if inside else [eos, self.ids["}"], self.ids["]"]]
        return next((token for token in order if mask[token]), None)

    def _rest(self, text: str) -> int:
        """How many tokens it takes from here to the end."""
        begun = [form for form in self.forms if form.before in text]
        if not begun:
            return self.needed
        form = max(begun, key=lambda form: text.rfind(form.before))
        written = text[text.rfind(form.before) + len(form.before) :]
        rest = form.after + "}"
        for number, (key, value, nested) in enumerate(form.properties):
            later = [k for k, _, _ in form.properties[number + 1 :]]
            done = any(f"{json.dumps(k)}: " in written for k in later)
            if not done and (nested or f"{json.dumps(key)}: " not in written):
                rest += f", {json.dumps(key)}: {value}"
            elif not done:
                rest += value
        return self._count(rest) + SLACK

    def _count(self, text: str) -> int:
        return len(self.llm.tokenize(text.encode(), add_bos=False, special=True))


def in_string(text: str) -> bool:
    """Whether a JSON text ends inside a string.

    >>> in_string('{"a": "b'), in_string('{"a": "b"'), in_string('{"a": "b' + '\\\\"')
    (True, False, True)
    """
    return len(re.findall(r'"', re.sub(r"\\.", "", text))) % 2 == 1


def _properties(schema: dict[str, Any]) -> list[tuple[str, str, bool]]:
    found = [
        (name, _value(part), _is_nested(part))
        for name, part in schema.get("properties", {}).items()
    ]
    for key in ("anyOf", "oneOf", "allOf"):
        branches = [_properties(part) for part in schema.get(key, ()) if isinstance(part, dict)]
        if key == "allOf":
            found += [entry for branch in branches for entry in branch]
        elif branches:
            found += max(branches, key=lambda branch: len(str(branch)))
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        found.append(("0" * 8, _value(extra), True))
    return found


def _is_nested(schema: Any) -> bool:
    text = json.dumps(schema)
    return any(f'"{kind}"' in text for kind in ("object", "array", "anyOf", "oneOf", "allOf"))


def _value(schema: Any) -> str:
    """The longest of a value's shortest forms."""
    if not isinstance(schema, dict):
        return "false"
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return max((json.dumps(value, ensure_ascii=False) for value in values), key=len)
    forms = [_value(part) for key in ("anyOf", "oneOf") for part in schema.get(key, ())]
    if "allOf" in schema:
        forms.append("".join(_value(part) for part in schema["allOf"]))
    types = schema.get("type", [])
    for kind in [types] if isinstance(types, str) else types:
        forms.append(_of_type(kind, schema))
    return max(forms, key=len, default="false")


def _of_type(kind: str, schema: dict[str, Any]) -> str:
    if kind == "string":
        least = LONG if {"pattern", "format"} & set(schema) else 0
        return f'"{"0" * max(least, schema.get("minLength", 0))}"'  # a token each
    if kind in ("integer", "number"):
        return "-1000000000000000"
    if kind == "array":
        items = [*schema.get("prefixItems", ())]
        items += [schema.get("items")] * max(1, schema.get("minItems", 0) - len(items))
        return f"[{', '.join(_value(item) for item in items)}]"
    if kind == "object":
        return shortest(schema).text
    return "false"
