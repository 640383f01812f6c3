"""A tool's JSON Schema, made ready for a constraint: references resolved, everything with an end.

The schema in the prompt and the one that arguments are checked against stay as they are.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from .errors import ConstraintError

# Without a bound, a chatty model fills any budget inside a text, a list of texts even more so.
MAX_STRING = 400  # characters
MAX_ITEMS = 32
MAX_NUMBER = 10**15
EXACT = 2**53
BRANCHES = ("anyOf", "oneOf", "allOf")
# Keywords that describe and don't constrain, or that a resolved schema doesn't need any more.
NOTES = ("title", "description", "default", "examples", "$defs", "unevaluatedProperties")


def bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, to stand inside another one.

    Raises `ConstraintError` if a reference leads nowhere or back to itself.

    >>> bounded({"type": "array", "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"const": 1}}})
    {'maxItems': 32, 'items': {'const': 1}, 'type': 'array'}
    """
    prepared: dict[str, Any] = _prepared(schema, schema)
    return prepared


def _prepared(schema: Any, root: dict[str, Any], seen: tuple[str, ...] = ()) -> Any:
    """The schema, to stand inside another one: references resolved, everything with an end."""
    if not isinstance(schema, dict):
        return schema  # true or false
    if reference := schema.get("$ref"):
        if reference in seen:
            raise ConstraintError(f"{reference!r} refers to itself; a constraint needs an end.")
        target = _prepared(_resolve(root, reference), root, (*seen, reference))
        beside = {key: value for key, value in schema.items() if key not in ("$ref", *NOTES)}
        return {"allOf": [target, beside]} if beside else target
    prepared: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            prepared[key] = {name: _prepared(part, root, seen) for name, part in value.items()}
        elif key in (*BRANCHES, "prefixItems"):
            prepared[key] = [_prepared(part, root, seen) for part in value]
        elif key in ("items", "additionalProperties"):
            prepared[key] = _prepared(value, root, seen)
        elif key not in NOTES:
            prepared[key] = value
    return _bounded(prepared)


def _resolve(root: dict[str, Any], reference: str) -> dict[str, Any]:
    """What a reference within the schema points to (JSON Pointer, RFC 6901)."""
    found: Any = root if reference == "#" or reference.startswith("#/") else None
    for part in reference.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        else:
            found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        raise ConstraintError(f"The reference {reference!r} leads nowhere in its schema.")
    return found


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with an end to each text, number and list, so that a call has one."""
    if not schema:  # any value: here a text, a number or a truth value
        return {"anyOf": [_bounded({"type": kind}) for kind in ("string", "number", "boolean")]}
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if {"enum", "const"} & set(schema):
        for value in [*schema.get("enum", ()), schema.get("const")]:
            if isinstance(value, int) and abs(value) > EXACT:  # llguidance has them as floats
                raise ConstraintError(
                    f"{value} is too large a number for a constraint; use a text."
                )
        return schema
    if branches := [part for key in BRANCHES for part in schema.get(key, ())]:
        objects = [part for part in branches if isinstance(part, dict)]
        named = {name for part in objects for name in part.get("properties", ())}
        closed = "properties" in schema and named <= set(schema["properties"])
        return ({"additionalProperties": False} if closed else {}) | schema
    ends: dict[str, Any] = {}
    if "string" in types and not {"pattern", "format"} & set(schema):
        ends["maxLength"] = max(MAX_STRING, schema.get("minLength", 0))
    if {"integer", "number"} & set(types):
        ends |= {"minimum": -MAX_NUMBER, "maximum": MAX_NUMBER}
    if "array" in types:
        ends |= {"maxItems": max(MAX_ITEMS, schema.get("minItems", 0)), "items": _bounded({})}
    if "object" in types:
        if schema.get("properties"):  # further ones are never needed, and could come twice
            return ends | schema | {"additionalProperties": False}
        free = schema.get("additionalProperties", True)
        value = _bounded({}) if free is True else free
        ends |= {"additionalProperties": value, "maxProperties": 1}
        return schema | ends
    return ends | schema
