"""From a function's annotations to the JSON Schema of its parameters, and back to Python's types.

Knows nothing of tools or models. JSON Schema: https://json-schema.org, draft 2020-12.
"""

from __future__ import annotations

import enum
import inspect
import json
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from .errors import ToolError

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def parameters_schema(function: Callable[..., Any], label: str) -> dict[str, Any]:
    """The schema of a function's parameters; `label` names it in a `ToolError`.

    >>> def book(city: str, nights: int = 1): ...
    >>> parameters_schema(book, "book")["properties"]
    {'city': {'type': 'string'}, 'nights': {'type': 'integer', 'default': 1}}
    """
    properties, required = {}, []
    for parameter, annotation in _annotations(function, label).items():
        schema = _schema(annotation, f"{label}, parameter {parameter!r}")
        default = inspect.signature(function).parameters[parameter].default
        if default is inspect.Parameter.empty:
            required.append(parameter)
        else:
            schema["default"] = _json_default(default, f"{label}, parameter {parameter!r}")
        properties[parameter] = schema
    return {"type": "object", "properties": properties, "required": required}


def to_python(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """JSON values as the function's annotations have them: Enum members, whole numbers as int."""
    try:
        hints = typing.get_type_hints(function)
    except Exception:
        return arguments  # a tool written by hand, around a function without type hints
    return {name: _member(hints.get(name), value) for name, value in arguments.items()}


def _annotations(function: Callable[..., Any], label: str) -> dict[str, Any]:
    """Each parameter's annotation, in order."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, SyntaxError) as error:
        raise ToolError(f"{label}: an annotation can't be resolved ({error}).") from None
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolError(f"{label}: {parameter} can't be filled by name; use plain parameters.")
        if name not in hints:
            raise ToolError(f"{label}: parameter {name!r} has no type; write {name}: str, say.")
        found[name] = hints[name]
    return found


def _schema(annotation: Any, where: str) -> dict[str, Any]:
    """The JSON Schema of an annotation (https://json-schema.org, draft 2020-12)."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        schema = _schema(args[0], where)
        return schema | {"description": next((a for a in args[1:] if isinstance(a, str)), "")}
    if isinstance(annotation, type) and annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    if annotation is list or origin is list:
        return {"type": "array"} | ({"items": _schema(args[0], where)} if args else {})
    if dict in (annotation, origin) and args[:1] in ((), (str,)):
        values = {} if not args or args[1] is Any else _schema(args[1], where)
        return {"type": "object"} | ({"additionalProperties": values} if values else {})
    if origin is Literal:
        return _enum(list(args), where)
    if inspect.isclass(annotation) and issubclass(annotation, enum.Enum):
        return _enum([member.value for member in annotation], where)
    if origin in (Union, types.UnionType) and len(args) == 2 and type(None) in args:
        return _optional(_schema(next(a for a in args if a is not type(None)), where))
    raise ToolError(
        f"{where}: {annotation!r} has no JSON Schema here; use str, int, float, bool, list, dict, "
        "Literal, Optional or Enum."
    )


def _enum(values: list[Any], where: str) -> dict[str, Any]:
    kinds = {_SCALARS.get(type(value)) for value in values}
    if None in kinds or not values or any(value != value for value in values):
        raise ToolError(f"{where}: the choices {values!r} must be text, numbers or booleans.")
    return ({"type": kinds.pop()} if len(kinds) == 1 else {}) | {"enum": values}


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    if "type" not in schema:
        return schema if "enum" in schema else {"anyOf": [schema, {"type": "null"}]}
    return schema | {"type": [schema["type"], "null"]}


def _json_default(default: Any, where: str) -> Any:
    value = default.value if isinstance(default, enum.Enum) else default
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        raise ToolError(f"{where}: the default {default!r} can't be written as JSON.") from None


def _member(annotation: Any, value: Any) -> Any:
    origin, args = get_origin(annotation), get_args(annotation)
    if inspect.isclass(annotation) and issubclass(annotation, enum.Enum):
        return annotation(value)
    if annotation is int and isinstance(value, float):
        return int(value)  # JSON Schema counts 6.0 as an integer
    if origin is Literal:  # 1.0 is JSON's 1, and True isn't
        same = (a for a in args if a == value and isinstance(a, bool) == isinstance(value, bool))
        return next(same, value)
    if origin in (Union, types.UnionType) and value is not None:
        return _member(next(a for a in args if a is not type(None)), value)
    if origin is list and args:
        return [_member(args[0], item) for item in value]
    if origin is dict and args:
        return {key: _member(args[1], item) for key, item in value.items()}
    return value
