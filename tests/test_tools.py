import asyncio
import enum
import typing
from typing import Annotated, Any, Literal, Optional

import pytest

from toolcall_lab import Tool, Toolbox, ToolCall, tool
from toolcall_lab.errors import ToolError


class Unit(enum.Enum):
    CELSIUS = "C"
    KELVIN = "K"


@tool
def search(
    query: Annotated[str, "What to look for"],
    limit: int = 3,
    tags: list[str] = [],  # noqa: B006
    extra: dict[str, int] | None = None,
    near: Optional[float] = None,  # noqa: UP045
    sort: Literal["date", "rank"] | None = None,
    unit: Unit = Unit.CELSIUS,
    *,
    exact: bool = False,
) -> str:
    """Searches the archive.

    This paragraph is for people.
    """
    return f"{query} {limit!r} {tags} {extra} {near} {sort} {unit} {exact}"


def test_the_schema_of_every_supported_type():
    assert search.schema() == {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Searches the archive.",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What to look for"},
                    "limit": {"type": "integer", "default": 3},
                    "tags": {"type": "array", "items": {"type": "string"}, "default": []},
                    "extra": {
                        "type": ["object", "null"],
                        "additionalProperties": {"type": "integer"},
                        "default": None,
                    },
                    "near": {"type": ["number", "null"], "default": None},
                    "sort": {
                        "type": ["string", "null"],
                        "enum": ["date", "rank", None],
                        "default": None,
                    },
                    "unit": {"type": "string", "enum": ["C", "K"], "default": "C"},
                    "exact": {"type": "boolean", "default": False},
                },
                "required": ["query"],
            },
        },
    }


def test_the_function_gets_its_own_types_and_the_call_stays_as_written():
    arguments = {"query": "q", "unit": "K", "limit": 5.0, "tags": ["a"], "near": None}
    result = Toolbox([search]).execute(ToolCall("search", arguments, "call_1"))
    assert result.text == "q 5 ['a'] None None None Unit.KELVIN False"
    assert (result.id, result.name, result.error) == ("call_1", "search", False)
    assert arguments["unit"] == "K"


def bad_object(x: object):
    "Has a type without a schema."


def no_type(x):
    "Has no type."


def no_docstring(x: int):
    pass


def many(*numbers: int):
    "Takes many."


def union(x: int | str):
    "Takes two types."


def number_keys(x: dict[int, str]):
    "Has keys that are no text."


def bad_choice(x: Literal[b"a"]):
    "Chooses among bytes."


def bad_default(x: float = float("nan")):
    "Has a default that is no JSON."


async def later(x: int):
    "Comes later."


def unresolved(x: "Nowhere"):  # type: ignore[name-defined]  # noqa: F821
    "Names an unknown type."


class Nan(enum.Enum):
    NAN = float("nan")


def nan_choice(x: Nan):
    "Has a choice that is no JSON."


def bare(x: typing.Dict) -> str:  # noqa: UP006
    "Takes any object."
    return "ok"


def yields(x: int):
    "Yields."
    yield x


def list_annotation(x: [int]):
    "Has a list for a type."


def broken_annotation(x: "list[int"):  # noqa: F722
    "Has a type that isn't Python."


def test_a_bare_dict_of_typing_is_an_object():
    assert tool(bare).parameters["properties"]["x"] == {"type": "object"}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (nan_choice, "must be text, numbers or booleans"),
        (yields, "no yield"),
        (list_annotation, "parameter 'x'.*no JSON Schema here"),
        (broken_annotation, "can't be resolved"),
        (max, "max"),
        (bad_object, "bad_object, parameter 'x'.*use str, int"),
        (no_type, "'x' has no type"),
        (no_docstring, "needs a docstring"),
        (many, "can't be filled by name"),
        (union, "has no JSON Schema here"),
        (number_keys, "has no JSON Schema here"),
        (bad_choice, "must be text, numbers or booleans"),
        (bad_default, "can't be written as JSON"),
        (later, "not async"),
        (unresolved, "can't be resolved"),
    ],
)
def test_what_has_no_schema_is_refused_at_definition(function, message):
    with pytest.raises(ToolError, match=message):
        tool(function)


def test_name_and_description_can_be_given():
    named = tool(name="look_up", description="Looks up.")(lambda: "x")
    assert (named.name, named.description, named()) == ("look_up", "Looks up.", "x")
    with pytest.raises(ToolError, match="can't name a tool"):
        tool(name="look up", description="Looks up.")(lambda: "x")


@pytest.mark.parametrize("parameters", [{"type": "objekt"}, {"type": "string"}, {}, True])
def test_parameters_written_by_hand_are_checked(parameters):
    with pytest.raises(ToolError, match="parameters"):
        Tool("f", "d", parameters, print)


def test_a_toolbox_is_a_mapping_of_tools():
    box = Toolbox([search])
    assert list(box) == ["search"]
    assert box["search"] is search
    assert box.schemas() == [search.schema()]
    with pytest.raises(ToolError, match="Two tools are named 'search'"):
        Toolbox([search, search])
    with pytest.raises(ToolError, match="put @tool above"):
        Toolbox([print])  # type: ignore[list-item]


def test_a_composed_schema_is_closed_as_a_whole():
    either = [{"properties": {name: {"type": "integer"}}, "required": [name]} for name in "ab"]
    box = Toolbox([Tool("f", "d", {"type": "object", "anyOf": either}, lambda **given: given)])
    assert box.execute(ToolCall("f", {"a": 1})).text == '{"a": 1}'
    assert box.execute(ToolCall("f", {"c": 1})).error
    assert box.execute(ToolCall("f", {"a": 1, "c": 1})).error


def test_a_schema_typed_by_hand_is_closed():
    plain = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    box = Toolbox([Tool("get_weather", "Weather.", plain, lambda city: city)])
    assert not box.execute(ToolCall("get_weather", {"city": "Paris"})).error
    result = box.execute(ToolCall("get_weather", {"city": "Paris", "unit": "C"}))
    assert result.error
    assert "'unit' was unexpected" in result.text


class Unreadable(Exception):
    def __str__(self):
        return self.args[5]


@tool
def misbehave(how: str) -> Any:
    "Does something bad."
    if how == "unreadable":
        raise Unreadable
    if how == "cancelled":
        raise asyncio.CancelledError
    if how == "generator":
        return (x for x in "ab")
    if how == "exit":
        raise SystemExit(3)
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "circle":
        circle: list[Any] = []
        circle.append(circle)
        return circle
    if how == "data":
        return {"é": [1, None]}
    raise ValueError(how)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (ToolCall("mis_behave", {}), "no tool named 'mis_behave'. Did you mean 'misbehave'"),
        (ToolCall("misbehave", {}), "'how' is a required property"),
        (ToolCall("misbehave", {"how": 1}), "misbehave: how: 1 is not of type 'string'"),
        (ToolCall("misbehave", {"how": "x", "self": 1}), "'self' was unexpected"),
        (ToolCall("misbehave", {"how": "boom"}), "misbehave failed: ValueError: boom"),
        (ToolCall("misbehave", {"how": "exit"}), "misbehave failed: SystemExit: 3"),
        (ToolCall("misbehave", {"how": "circle"}), "Circular reference"),
        (ToolCall("misbehave", {"how": "unreadable"}), "its reason can't be read"),
        (ToolCall("misbehave", {"how": "cancelled"}), "failed: CancelledError"),
        (ToolCall("misbehave", {"how": "generator"}), "it returned a generator"),
    ],
)
def test_a_failed_call_is_a_result_for_the_model(call, text):
    result = Toolbox([misbehave]).execute(call)
    assert result.error
    assert text in result.text
    assert result.seconds >= 0


def test_an_interrupt_gets_through():
    with pytest.raises(KeyboardInterrupt):
        Toolbox([misbehave]).execute(ToolCall("misbehave", {"how": "interrupt"}))


def test_what_is_no_text_becomes_json():
    assert (
        Toolbox([misbehave]).execute(ToolCall("misbehave", {"how": "data"})).text
        == '{"é": [1, null]}'
    )


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number", "multipleOf": 0.01}, float("inf")),
        ({"type": "number", "multipleOf": 0.01}, 10**400),
        ({"$ref": "#/$defs/Nowhere"}, 1),
        ({"type": "string"}, 10**5000),
    ],
    ids=["infinite", "400 digits", "no definition", "5000 digits"],
)
def test_arguments_that_can_not_be_checked_are_an_error_result(schema, value):
    parameters = {"type": "object", "properties": {"x": schema}}
    box = Toolbox([Tool("f", "d", parameters, lambda x: x)])
    result = box.execute(ToolCall("f", {"x": value}))
    assert result.error
    assert "Invalid arguments for f" in result.text
