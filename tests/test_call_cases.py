"""Cases from public bug reports of parsers and agents, each under its id (`data/README.md`)."""

import json
import time
from datetime import datetime
from pathlib import Path

import pytest

from toolcall_lab import Prompt, Tool, Toolbox, ToolCall, read_tool_calls
from toolcall_lab.execution import as_text

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "call_cases.jsonl").read_text().splitlines()
]


def cases(*stages):
    return [pytest.param(case, id=case["id"]) for case in CASES if case["stage"] in stages]


def calculated(expression):
    """A large text, written as literals with * and +."""
    return eval(expression, {"__builtins__": {}})


@pytest.mark.parametrize("case", cases("parse", "validate"))
def test_reading(case):
    text = case["raw_output"]
    if text is None:
        text = calculated(case["raw_output_expr"])
    finish_reason = (case.get("setup") or {}).get("finish_reason")
    reading = read_tool_calls(text, case["tools"], finish_reason=finish_reason)
    found = [{"name": call.name, "arguments": call.arguments} for call in reading.calls]
    wanted = [case["expected"]] + ([case["alt_expected"]] if "alt_expected" in case else [])
    for call in case["expected"] if isinstance(case["expected"], list) else []:
        if "arguments_expr" in call:
            call["arguments"] = calculated(call.pop("arguments_expr"))
    assert (reading.problem or found or None) in wanted, case["why"]
    assert bool(reading.message) == bool(reading.problem)


def sleep_tool_of(case):
    """The tool of an execution case: `sleep_tool`, which does what the case says."""
    circle = []
    circle.append(circle)
    behaviours = {
        "pc-193": lambda: (_ for _ in ()).throw(ValueError("no such city")),
        "pc-195": lambda: time.sleep(3600),
        "pc-197": lambda: datetime(2024, 1, 2),
        "pc-198": lambda: {"ids": {1, 2}, "raw": b"\xff"},
        "pc-200": lambda: circle,
        "pc-201": lambda: {"mean": float("nan")},
        "pc-202": lambda: "caf\udce9",
        "pc-205": lambda query, tags: tags.append("b"),
    }
    name = json.loads(case["raw_output"].split("\n")[1])["name"]
    schema = next(tool for tool in case["tools"] if tool["name"] == name)
    return Tool(name, schema["description"], schema["parameters"], behaviours[case["id"]])


@pytest.mark.parametrize("case", cases("execute"))
def test_executing(case):
    limit = (case["setup"] or {}).get("timeout_s", 10)
    box = Toolbox([sleep_tool_of(case)], timeout=limit)
    (call,) = read_tool_calls(case["raw_output"], box).calls
    result = box.execute(call)
    kind = "tool_ok" if not result.error else "tool_error"
    if "TimeoutError" in result.text:
        kind = "tool_timeout"
    wanted = [case["expected"], case.get("alt_expected")]
    if isinstance(case["expected"], list):  # what was called stays as it was written
        assert [{"name": call.name, "arguments": call.arguments}] == case["expected"]
    else:
        assert kind in wanted, result.text
    assert len(result.text) < 500
    result.text.encode()


@pytest.mark.parametrize("case", cases("feed_back"))
def test_feeding_back(case, tiny):
    setup = case["setup"]
    if "user" in setup or "tool_result" in setup:
        role = "user" if "user" in setup else "tool"
        text = as_text(setup.get("user", setup.get("tool_result")))
        assert "\\u" not in text  # accents stay readable
        for style in ("course", "qwen3"):
            prompt = Prompt(style=style)
            prompt.add(role, text)
            bare = Prompt(style=style)
            bare.add(role, "x")
            assert special(prompt, tiny) == special(bare, tiny)
            assert tiny.detokenize(prompt.tokens(tiny), special=True).decode() == prompt.text
    elif "tool_result_expr" in setup:
        long = calculated(setup["tool_result_expr"])
        box = Toolbox([Tool("f", "d", {"type": "object"}, lambda: long)])
        result = box.execute(ToolCall("f"))
        assert len(result.text) < setup["n_ctx"] * 4
        assert "more characters were left out" in result.text
    else:  # OpenAI's history has arguments as a string; what goes into a prompt is an object
        function = setup["assistant_tool_call"]["function"]
        (call,) = read_tool_calls(json.dumps(setup["assistant_tool_call"])).calls
        assert call.arguments == json.loads(function["arguments"])


def special(prompt, llm):
    """The tokens of a prompt that are markers or tags."""
    ids = prompt.tokens(llm)
    return [i for i in ids if len(llm.detokenize([i], special=True)) > 1]
