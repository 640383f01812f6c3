"""Arguments beyond JSON Schema: what passes it and can't be used, what can be converted exactly."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d{1,15})?")


def unfit(arguments: Any) -> list[str]:
    """What JSON Schema lets pass and no tool can use: an infinite number, half a character."""
    for part in _parts(arguments):
        if isinstance(part, float) and not math.isfinite(part):
            return ["a number is too large"]
        if isinstance(part, str) and any("\ud800" <= char <= "\udfff" for char in part):
            return ["a text holds half a surrogate pair"]
    return []


def coerced(schema: dict[str, Any], arguments: Any) -> tuple[Any, str]:
    """The arguments, converted to the types of their schema where exactly one reading exists, and
    what was converted, in words.

    >>> coerced({"properties": {"n": {"type": "integer"}}}, {"n": "5"})
    ({'n': 5}, "n: '5' was read as 5")
    >>> coerced({"properties": {"n": {"type": "integer"}}}, {"n": "five"})
    ({'n': 'five'}, '')
    """
    if not isinstance(arguments, dict):
        return arguments, ""
    new, notes = dict(arguments), []
    for name, value in arguments.items():
        kind = schema.get("properties", {}).get(name, {})
        wanted = kind.get("type") if isinstance(kind, dict) else None
        converted = _convert(value, wanted)
        if converted is not value:
            new[name] = converted
            notes.append(f"{name}: {value!r} was read as {converted!r}")
    return new, "; ".join(notes)


def _convert(value: Any, wanted: Any) -> Any:
    if isinstance(value, str) and wanted in ("integer", "number") and _NUMBER.fullmatch(value):
        number = json.loads(value)
        return number if wanted == "number" or isinstance(number, int) else value
    if isinstance(value, str) and wanted == "boolean" and value in ("true", "false"):
        return value == "true"
    if type(value) in (int, float) and wanted == "string" and abs(value) < 10**18:
        return json.dumps(value)
    return value


def _parts(value: Any) -> Iterator[Any]:
    """A JSON value and everything in it, keys included."""
    yield value
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    for part in inner if isinstance(value, dict | list) else ():
        yield from _parts(part)
