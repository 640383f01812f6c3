"""Tools: a typed, documented function becomes a name, a description and a JSON Schema.

A `Toolbox` describes its tools to a model and executes calls. A call that fails is a result with a
short text for the model, never an exception. Reading calls out of text is `parsing.py`'s work, how
a function is run `execution.py`'s.
"""

from __future__ import annotations

import copy
import difflib
import inspect
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, overload

from .coercion import coerced, unfit
from .errors import ToolError
from .execution import as_text, result_text, run_limited, shortened
from .schema import parameters_schema, to_python

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
MAX_ERRORS = 3  # of one call; a model does not need more to do better


@dataclass(frozen=True)
class ToolCall:
    """A wish of the model: call `name` with `arguments`. `id` ties the result to it."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str | None = None

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.arguments.items())})"


@dataclass(frozen=True)
class ToolResult:
    """What goes back to the model: `text`, and whether it reports an `error`. `seconds` it took."""

    id: str | None
    name: str
    text: str
    error: bool = False
    seconds: float = 0.0

    def message(self) -> dict[str, Any]:
        """The result as a message of OpenAI's API."""
        return {"role": "tool", "tool_call_id": self.id, "name": self.name, "content": self.text}


@dataclass(frozen=True)
class Tool:
    """Name, description and JSON Schema of the parameters, for the model; the function, for us.

    A tool that isn't `limited` has no time limit and runs in the caller's thread: it asks a person.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    limited: bool = True

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ToolError(
                f"{self.name!r} can't name a tool: use a letter, then letters, digits, _ or -, "
                "at most 64 of them."
            )
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError

        try:
            Draft202012Validator.check_schema(self.parameters)
        except SchemaError as error:
            raise ToolError(
                f"{self.name}: its parameters are no JSON Schema: {error.message}"
            ) from None
        if not isinstance(self.parameters, dict) or self.parameters.get("type") != "object":
            raise ToolError(f'{self.name}: its parameters must be of {{"type": "object"}}.')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def schema(self) -> dict[str, Any]:
        """The tool as OpenAI's API and most chat templates write it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}

    @cached_property
    def closed_parameters(self) -> dict[str, Any]:
        """`parameters`, closed: arguments that aren't declared are refused unless it says so."""
        composed = {"$ref", "anyOf", "oneOf", "allOf", "if"} & set(self.parameters)
        key = "unevaluatedProperties" if composed else "additionalProperties"
        return {key: False} | self.parameters

    def problem(self, arguments: Any) -> str | None:
        """What is wrong with these arguments, in one sentence for the model; None if nothing."""
        from jsonschema import Draft202012Validator

        try:
            errors = Draft202012Validator(self.closed_parameters).iter_errors(arguments)
            found = unfit(arguments) or [_explain(error) for error in islice(errors, MAX_ERRORS)]
        except Exception as error:  # a broken $ref, a number too large, nesting too deep
            found = [f"they can't be checked ({type(error).__name__})"]
        return f"Invalid arguments for {self.name}: {'; '.join(found)}." if found else None


class Toolbox(Mapping[str, Tool]):
    """The tools a model may call, by name.

    A tool has `timeout` seconds, its result at most `max_chars` characters. With `coerce`,
    arguments are converted where that is exact ("5" for a number), and the result says so; else
    they are refused.

    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Adds two numbers."
    ...     return a + b
    >>> box = Toolbox([add])
    >>> box.execute(ToolCall("add", {"a": 2, "b": 3})).text
    '5'
    >>> box.execute(ToolCall("add", {"a": 2, "b": "three"})).text
    "Invalid arguments for add: b: 'three' is not of type 'integer'."
    >>> box.execute(ToolCall("ad", {})).text
    "There is no tool named 'ad'. Did you mean 'add'? The tools are: add."
    """

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        *,
        timeout: float = 10.0,
        max_chars: int = 6000,
        coerce: bool = False,
    ) -> None:
        self.timeout, self.max_chars, self.coerce = timeout, max_chars, coerce
        self._tools: dict[str, Tool] = {}
        for item in tools:
            if not isinstance(item, Tool):
                raise ToolError(f"{item!r} is not a Tool; put @tool above the function.")
            if item.name in self._tools:
                raise ToolError(f"Two tools are named {item.name!r}; rename one.")
            self._tools[item.name] = item

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"<Toolbox: {', '.join(self) or 'empty'}>"

    def schemas(self) -> list[dict[str, Any]]:
        """The tools in OpenAI's form, in the order in which they were given."""
        return [item.schema() for item in self.values()]

    def unknown(self, name: str) -> str:
        """The sentence for a name that isn't here, with the nearest one that is."""
        near = difflib.get_close_matches(name, self, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        names = ", ".join(self) or "none"
        return f"There is no tool named {name!r}.{hint} The tools are: {names}."

    def problem(self, call: ToolCall) -> str | None:
        """Why a call can't be made, in one sentence for the model; None if it can."""
        if call.name not in self:
            return self.unknown(call.name)
        return self[call.name].problem(self._converted(call)[0])

    def execute(self, call: ToolCall) -> ToolResult:
        """Runs the call. Whatever goes wrong, short of an interrupt, is told in the result."""
        started = time.perf_counter()
        text, error = self._attempt(call)
        text = shortened(text, self.max_chars)
        return ToolResult(call.id, call.name, text, error, time.perf_counter() - started)

    def _attempt(self, call: ToolCall) -> tuple[str, bool]:
        if problem := self.problem(call):
            return problem, True
        function = self[call.name].function
        try:
            arguments, notes = self._converted(call)
            # A copy: a tool that changes its arguments must not change what the model wrote.
            own = to_python(function, copy.deepcopy(arguments))
            limit = self.timeout if self[call.name].limited else None
            text = result_text(*run_limited(function, own, limit))
            return f"{text}\n({notes})" if notes else text, False
        except KeyboardInterrupt:
            raise
        except BaseException as failure:
            return f"{call.name} failed: {type(failure).__name__}: {_reason(failure)}", True

    def _converted(self, call: ToolCall) -> tuple[Any, str]:
        """The arguments to call with, and what was converted."""
        if not self.coerce or unfit(call.arguments):
            return call.arguments, ""
        return coerced(self[call.name].parameters, call.arguments)


def _explain(error: Any) -> str:
    """A jsonschema error, with the place it is about."""
    where = ".".join(map(str, error.absolute_path))
    message = error.message if len(error.message) <= 200 else f"{error.message[:200]}…"
    return f"{where}: {message}" if where else message


def _reason(failure: BaseException) -> str:
    try:
        return as_text(str(failure)) or "no reason given"
    except Exception:
        return "its reason can't be read"


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, limited: bool = True
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    limited: bool = True,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a `Tool` of a typed function with a docstring; its first paragraph is the description.

    Types: str, int, float, bool, list, dict, Literal, Optional, Enum, and lists, dicts and
    optionals of these; `Annotated[str, "the city"]` describes a parameter. Anything else is a
    `ToolError` here, not a surprise when the model calls.

    >>> from typing import Annotated, Literal
    >>> @tool
    ... def get_weather(city: Annotated[str, "The city"], unit: Literal["C", "F"] = "C") -> str:
    ...     "Gets the current weather for a city."
    ...     return f"{city}: 22 °{unit}"
    >>> get_weather.parameters["properties"]["unit"]
    {'type': 'string', 'enum': ['C', 'F'], 'default': 'C'}
    >>> get_weather.parameters["required"]
    ['city']
    """
    if function is None:
        return lambda function: _make_tool(function, name, description, limited)
    return _make_tool(function, name, description, limited)


def _make_tool(
    function: Callable[..., Any], name: str | None, description: str | None, limited: bool
) -> Tool:
    label = str(name or getattr(function, "__name__", "?"))
    yields = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if not callable(function) or any(does_yield(function) for does_yield in yields):
        raise ToolError(f"{label}: a tool is a function that returns its result (no yield).")
    description = description or (inspect.getdoc(function) or "").split("\n\n")[0]
    if not description.strip():
        raise ToolError(f"{label} needs a docstring: it is what the model reads of it.")
    try:
        parameters = parameters_schema(function, label)
    except ToolError:
        raise
    except Exception as error:  # typing and inspect raise all sorts for odd annotations
        raise ToolError(f"{label}: its parameters can't be read ({error}).") from None
    return Tool(label, " ".join(description.split()), parameters, function, limited)
