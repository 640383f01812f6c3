"""The official solutions keep their contracts."""

import json

import pytest

from toolcall_lab.exercises import executer_tool_call


def call(name, arguments, id="call_1"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_tool_call_is_run():
    answer = executer_tool_call(
        call("search", json.dumps({"query": "Python"})),
        {"search": lambda query: f"Results for {query}"},
    )
    assert answer == {"tool_call_id": "call_1", "name": "search", "result": "Results for Python"}


def test_the_result_is_a_text():
    arguments = json.dumps({"a": 3, "b": 7})
    answer = executer_tool_call(call("add", arguments), {"add": lambda a, b: a + b})
    assert answer["result"] == "10"


def test_an_unknown_tool_is_an_error_and_no_result():
    answer = executer_tool_call(call("no_such_tool", "{}", "call_3"), {"search": lambda q: "ok"})
    assert answer["tool_call_id"] == "call_3"
    assert answer["name"] == "no_such_tool"
    assert "no_such_tool" in answer["error"]
    assert "result" not in answer


def test_the_name_is_looked_at_before_the_arguments():
    assert "error" in executer_tool_call(call("no_such_tool", "{broken"), {})


def test_the_id_comes_back():
    arguments = json.dumps({"msg": "test"})
    answer = executer_tool_call(call("echo", arguments, "call_xyz_789"), {"echo": lambda msg: msg})
    assert answer["tool_call_id"] == "call_xyz_789"


@pytest.mark.parametrize("arguments", ["{broken", '{"n": 1}', "[1]"])
def test_the_rest_raises_as_lesson_5_shows(arguments):
    with pytest.raises((ValueError, TypeError)):
        executer_tool_call(call("echo", arguments), {"echo": lambda msg: msg})
