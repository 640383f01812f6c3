import asyncio
import enum
import json
import sys
import threading
import time
import typing
from datetime import datetime
from typing import Annotated, Any, Literal, Optional

import nbformat
import pytest
from nbclient import NotebookClient

from toolcall_lab import Tool, Toolbox, ToolCall, read_tool_calls, tool
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
    if how == "infinite":
        return {"mean": float("nan"), "when": datetime(2024, 1, 2), "ids": {1}, "raw": b"\xff"}
    if how == "nothing":
        return None
    if how == "prints":
        print("working …")
        return None
    if how == "prints and returns":
        print("working …")
        return 5
    if how == "prints a lot":
        for _ in range(10_000):
            print("spam" * 100)
        return None
    if how == "hangs":
        time.sleep(3600)
    if how == "large":
        return "\n".join(f"line {number}" for number in range(100_000))
    if how == "one long line":
        return "x" * 10**6
    if how == "surrogate":
        return "caf\udce9"
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


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("nothing", "(done, there is no result)"),
        ("prints", "working …"),
        ("prints and returns", "5"),
        ("surrogate", "caf?"),
        (
            "infinite",
            '{"mean": NaN, "when": "2024-01-02 00:00:00", "ids": "{1}", "raw": "b\'\\\\xff\'"}',
        ),
    ],
)
def test_odd_results_are_readable_texts(how, text, capsys):
    result = Toolbox([misbehave]).execute(ToolCall("misbehave", {"how": how}))
    assert (result.text, result.error) == (text, False)
    assert capsys.readouterr().out == ""


def test_long_results_are_cut_on_a_line_and_say_so():
    box = Toolbox([misbehave], max_chars=1000)
    result = box.execute(ToolCall("misbehave", {"how": "large"}))
    *lines, notice = result.text.splitlines()
    assert len(result.text) < 1100
    assert lines == [f"line {number}" for number in range(len(lines))]
    whole = len(misbehave("large"))
    assert notice == f"[… {whole - len(chr(10).join(lines))} more characters were left out]"
    result = box.execute(ToolCall("misbehave", {"how": "one long line"}))
    assert result.text.startswith("x" * 1000 + "\n[… 999000 more characters")
    assert len(box.execute(ToolCall("misbehave", {"how": "prints a lot"})).text) < 1100


def test_a_tool_that_hangs_is_given_up_on():
    box = Toolbox([misbehave], timeout=0.2)
    result = box.execute(ToolCall("misbehave", {"how": "hangs"}))
    assert (result.text, result.error) == (
        "misbehave failed: TimeoutError: no result after 0.2 s",
        True,
    )
    assert 0.2 <= result.seconds < 3


def test_async_tools_are_awaited():
    @tool
    async def later(x: int) -> int:
        "Comes later."
        await asyncio.sleep(0)
        return x + 1

    async def in_a_running_loop():
        return Toolbox([later]).execute(ToolCall("later", {"x": 1})).text

    assert Toolbox([later]).execute(ToolCall("later", {"x": 1})).text == "2"
    assert asyncio.run(in_a_running_loop()) == "2"


def test_only_the_tools_own_prints_are_caught(capsys):
    @tool
    def talk() -> None:
        "Prints, while another thread prints."
        other = threading.Thread(target=print, args=("from outside",))
        other.start()
        other.join()
        print("from the tool")

    assert Toolbox([talk]).execute(ToolCall("talk")).text == "from the tool"
    assert capsys.readouterr().out == "from outside\n"


@tool
def typed(n: int = 0, x: float = 0.0, on: bool = False, text: str = "") -> str:
    "Takes all sorts."
    return f"{n!r} {x!r} {on!r} {text!r}"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"n": "5"}, "5 0.0 False ''\n(n: '5' was read as 5)"),
        ({"x": "-2.5"}, "0 -2.5 False ''\n(x: '-2.5' was read as -2.5)"),
        ({"on": "true"}, "0 0.0 True ''\n(on: 'true' was read as True)"),
        ({"text": 42}, "0 0.0 False '42'\n(text: 42 was read as '42')"),
        ({"n": 5, "text": "5"}, "5 0.0 False '5'"),
        ({"n": "5.0"}, "Invalid arguments for typed: n: '5.0' is not of type 'integer'."),
        ({"n": "05"}, "Invalid arguments for typed: n: '05' is not of type 'integer'."),
        ({"on": "yes"}, "Invalid arguments for typed: on: 'yes' is not of type 'boolean'."),
        ({"n": True}, "Invalid arguments for typed: n: True is not of type 'integer'."),
    ],
)
def test_coercion_is_exact_said_and_off_by_default(arguments, text):
    call = ToolCall("typed", arguments)
    lenient, strict = Toolbox([typed], coerce=True), Toolbox([typed])
    assert lenient.execute(call).text == text
    assert call.arguments == arguments
    if "was read as" in text:
        assert strict.execute(call).error
        written = json.dumps({"tool_call": {"name": "typed", "arguments": arguments}})
        assert read_tool_calls(written, lenient).calls == [call]
        assert read_tool_calls(written, strict).problem == "invalid_arguments"


def test_a_result_can_be_written_as_a_message():
    result = Toolbox([typed]).execute(ToolCall("typed", {"n": 1}, "call_7"))
    assert result.message() == {
        "role": "tool",
        "tool_call_id": "call_7",
        "name": "typed",
        "content": "1 0.0 False ''",
    }


def test_prints_of_tools_that_overlap_are_told_apart(capsys):
    started = threading.Event()

    @tool
    def slow(name: str) -> None:
        "Prints, waits, prints."
        print(name, "begins")
        started.set()
        time.sleep(0.2)
        print(name, "ends")

    box, results = Toolbox([slow]), []
    run = lambda name: results.append(box.execute(ToolCall("slow", {"name": name})).text)  # noqa: E731
    other = threading.Thread(target=run, args=("a",))
    before = sys.stdout
    other.start()
    started.wait()
    run("b")
    other.join()
    assert sorted(results) == ["a begins\na ends", "b begins\nb ends"]
    assert sys.stdout is before


def test_what_a_tool_prints_after_its_time_is_lost(capsys):
    @tool
    def late() -> None:
        "Prints too late."
        time.sleep(0.3)
        print("too late")

    assert "TimeoutError" in Toolbox([late], timeout=0.1).execute(ToolCall("late")).text
    time.sleep(0.5)
    assert capsys.readouterr().out == ""


def test_huge_numbers_are_refused_not_raised():
    result = Toolbox([typed], coerce=True).execute(ToolCall("typed", {"text": 10**5000}))
    assert result.error
    result = Toolbox([typed], coerce=True).execute(ToolCall("typed", {"text": float("inf")}))
    assert result.error
    assert "too large" in result.text


def test_a_tool_that_hangs_does_not_take_the_notebooks_prints_along():
    cells = [
        "import time\nfrom toolcall_lab import Toolbox, ToolCall, tool\n"
        "@tool\ndef hang() -> None:\n    'Hangs.'\n    time.sleep(60)\n"
        "print(Toolbox([hang], timeout=0.1).execute(ToolCall('hang')).text)",
        "print('after')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=60).execute()
    texts = ["".join(out["text"] for out in cell["outputs"]) for cell in notebook["cells"]]
    assert texts == ["hang failed: TimeoutError: no result after 0.1 s\n", "after\n"]
