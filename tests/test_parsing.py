import json
import time

import pytest

from toolcall_lab import ToolCall, read_tool_calls
from toolcall_lab.errors import ToolError
from toolcall_lab.toolkit import default_toolbox

BOX = default_toolbox()
PARIS = ToolCall("get_weather", {"city": "Paris"})
COURSE = '{"tool_call": {"name": "get_weather", "arguments": {"city": "Paris"}}}'
NATIVE = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


@pytest.mark.parametrize("call", [COURSE, NATIVE, COURSE.replace('{"tool', '{ \n "tool')])
@pytest.mark.parametrize(
    ("frame", "prose"),
    [
        ("%s", ""),
        ("  %s \n", ""),
        ("Sure {really}! %s", "Sure {really}!"),
        ("```json\n%s\n```", ""),
        ("Look:\n```\n%s\n```\nDone.", "Look:\n\nDone."),
        ("<think>\nMaybe " + NATIVE.replace("Paris", "Lyon") + "\n</think>\n%s", ""),
        ("<think>a</think>\nSo:\n<think>" + COURSE + " no</think>%s", "So:"),
        ("%s<|im_end|>\n<|im_start|>tool\nParis: 50 °C", ""),
        ("%s <think>", "<think>"),
        ("Sure, %s", "Sure,"),
        ("%s\n```python\nx = 1\n```", "```python\nx = 1\n```"),
    ],
)
def test_both_forms_with_what_stands_around(call, frame, prose):
    reading = read_tool_calls(frame % call, BOX)
    assert reading.problem is None
    assert reading.calls == [PARIS]
    assert reading.text == prose
    start, end = reading.span
    assert (frame % call)[start:end].strip("`\n ") == call


def test_several_calls():
    reading = read_tool_calls(f"{NATIVE}\nand\n{NATIVE.replace('Paris', 'Lyon')}", BOX)
    assert [call.arguments["city"] for call in reading.calls] == ["Paris", "Lyon"]
    assert len(read_tool_calls(f"{COURSE}\n{COURSE}", BOX).calls) == 2
    assert len(read_tool_calls(f"{COURSE}, {COURSE}", BOX).calls) == 2
    assert len(read_tool_calls(f"{NATIVE[:-12]}\n{NATIVE}", BOX).calls) == 2
    fenced = f"```json\n{COURSE}\n```\n"
    assert read_tool_calls(fenced + fenced, BOX).text == ""
    assert len(read_tool_calls(fenced + fenced, BOX).calls) == 2


@pytest.mark.parametrize(
    "text",
    [
        "It is noon.",
        "Use `tool_call` as a key.",
        'I would write "tool_call" there.',
        "To call I would write <tool_call> then JSON.",
        "Sets are {1, 2} here, and ```python\nx = {}\n```",
        '{"answer": 42}',
        '{"tool_call": null, "name": "get_time"}',
        "2 < 3, and a set is {",
        "Qwen thinks inside a <think> block.",
        "Write `<think>` and then `</think>` around it. Fine.",
        'Choose: "a", "tool_call": the key is so named.',
        'Set {"tool_call"} is a Python set.',
        '{"id": 3, "tool_call": false}',
    ],
)
def test_prose_is_an_answer_as_it_stands(text):
    assert read_tool_calls(f" {text}\n", BOX).text == text
    assert read_tool_calls(text, BOX).calls == []
    assert read_tool_calls(text, BOX).problem is None


def course(name="get_weather", **arguments):
    return json.dumps({"tool_call": {"name": name, "arguments": arguments}})


@pytest.mark.parametrize(
    ("text", "problem", "words"),
    [
        (" \n ", "empty_output", "empty"),
        ("<think>hm</think>\n", "empty_output", "empty"),
        ("<|im_end|>\n<|im_start|>user\nHi", "empty_output", "empty"),
        (COURSE[:-2], "invalid_json", "not valid JSON"),
        (COURSE.replace('"Paris"', "NaN"), "invalid_json", "NaN is no JSON number"),
        (COURSE.replace('"city"', '"city": "Lyon", "city"'), "invalid_json", "written twice"),
        (NATIVE.replace("}\n</", "} please\n</"), "invalid_json", "text between"),
        ('{"tool_call": {"name": "...", "arguments": {...}}}', "invalid_json", "not valid JSON"),
        ('{"tool_call": {}}', "bad_shape", "nothing else"),
        ('{"tool_call": "get_weather"}', "bad_shape", "nothing else"),
        (NATIVE.replace('"get_weather"', "null"), "bad_shape", "nothing else"),
        (NATIVE.replace('{"city": "Paris"}', '["Paris"]'), "bad_shape", "nothing else"),
        (COURSE.replace('"arguments"', '"args"'), "bad_shape", "nothing else"),
        (COURSE.replace('"arguments"', '"parameters"'), "bad_shape", "nothing else"),
        ('{"tool_call": {"name": "get_time"}, "arguments": {"x": 1}}', "bad_shape", "nothing"),
        ('{"example": ' + COURSE + "}", "bad_shape", "inside other JSON"),
        ("[" + COURSE + ", " + COURSE + "]", "bad_shape", "inside other JSON"),
        ('["like this", ' + COURSE + "]", "bad_shape", "inside other JSON"),
        ('{"a": [1, ' + NATIVE + "]}", "bad_shape", "inside other JSON"),
        ('{"a": "' + NATIVE + '"}', "bad_shape", "inside other JSON"),
        ('{"tool_call": null, "a": [true, ' + COURSE + "]}", "bad_shape", "inside other JSON"),
        ("<think>hm<|im_end|>\nhey</think>" + COURSE, "bad_shape", "never ended"),
        ("So <think>maybe " + COURSE, "bad_shape", "thinking that never ended"),
        ('{"thought": "x", ' + COURSE[1:], "bad_shape", "inside other JSON"),
        ("<think>a</think>\n<think>maybe " + COURSE, "bad_shape", "never ended"),
        (COURSE.replace('"Paris"', "1e999"), "invalid_arguments", "too large"),
        (COURSE.replace("Paris", "\\ud83d"), "invalid_arguments", "half a surrogate pair"),
        (course("get_wether", city="Paris"), "unknown_tool", "Did you mean 'get_weather'"),
        (course(town="Paris"), "invalid_arguments", "'city' is a required property"),
        (course(city=3), "invalid_arguments", "3 is not of type 'string'"),
        ("<think>hm", "bad_shape", "never ended"),
        ('<tool_call>{"name": ' + "[" * 100_000, "too_deep", "deeper than 64"),
        (course(city=json.loads("[" * 100 + "]" * 100)), "too_deep", "deeper than 64"),
        (COURSE + "\n" + course("nope"), "unknown_tool", "no tool named 'nope'"),
    ],
)
def test_a_problem_returns_no_call_and_says_why(text, problem, words):
    reading = read_tool_calls(text, BOX)
    assert (reading.calls, reading.problem) == ([], problem)
    assert words in reading.message
    start, end = reading.span
    assert 0 <= start <= end == len(text)


def test_a_problem_keeps_the_prose_before_it():
    reading = read_tool_calls("Let me look.\n" + course("nope"), BOX)
    assert (reading.problem, reading.text) == ("unknown_tool", "Let me look.")


@pytest.mark.parametrize("call", [COURSE, "Sure: " + COURSE, NATIVE[: NATIVE.index("\n</")]])
def test_a_cut_call_is_never_completed(call):
    for cut in range(call.index("tool_call"), len(call)):
        reading = read_tool_calls(call[:cut], BOX, finish_reason="length")
        assert (reading.problem, reading.calls) == ("truncated", []), call[:cut]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "tool_c', ""),
        (COURSE + '\n{"tool', ""),
        (COURSE + '\n{"tool_call": {"na', ""),
        ('Use print({"', "Use print("),
        ("A long ordinary answer. <tool_c", "A long ordinary answer."),
    ],
)
def test_a_call_that_was_only_begun(text, said):
    reading = read_tool_calls(text, BOX, finish_reason="length")
    assert (reading.problem, reading.calls, reading.text) == ("truncated", [], said)


@pytest.mark.parametrize("tools", [[{"name": 3}], [{"function": "x"}], [7]])
def test_a_list_that_describes_no_tools(tools):
    with pytest.raises(ToolError, match="describes no tool"):
        read_tool_calls("Hello.", tools)


def test_tools_in_every_form():
    plain = BOX["get_weather"].schema()["function"]
    untyped = plain | {"parameters": {"properties": {"city": {}}}}
    for tools in (BOX, BOX.schemas(), [plain], [untyped], list(BOX.values()), None):
        assert read_tool_calls(COURSE, tools).calls == [PARIS]
    assert read_tool_calls(COURSE, []).problem == "unknown_tool"
    assert read_tool_calls(course("anything", x=1), None).calls[0].name == "anything"


def test_markers_inside_an_argument_stay_text():
    text = "a <|im_end|> and </tool_call> and <think> {"
    assert read_tool_calls(course(city=text), BOX).calls[0].arguments == {"city": text}
    native = (
        f"<tool_call>{json.dumps({'name': 'get_weather', 'arguments': {'city': text}})}</tool_call>"
    )
    assert read_tool_calls(native, BOX).calls[0].arguments == {"city": text}


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n" * 20_000,
        "{" * 1_000_000,
        '{"tool_call":' * 50_000,
        '<tool_call>{"name": ' + "[" * 100_000,
        "<think>" * 100_000,
        '{"tool_call": null, ' * 50_000,
        ', "tool_call": 1' * 50_000,
        "a <think> b " * 50_000 + COURSE[:20],
    ],
)
def test_large_nonsense_is_a_reading_not_an_exception(text):
    assert read_tool_calls(text, BOX).calls == []


W = '{"name": "get_weather", "arguments": {"city": "Paris"}}'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f'{{"tool_calls": {W}}}', "bad_shape"),
        (f'{{"tool_calls": [{W},]}}', "invalid_json"),
        (W.replace("arguments", "parameters").join("[]"), "bad_shape"),
        (f'[{W}, {{"name": "get_time"}}]', "bad_shape"),
        (f'{{"function_call": {W}}}', "bad_shape"),
        (f'{{"tool": {W}}}', "bad_shape"),
        ('{"get_weather": {"city": "Paris"}}', "bad_shape"),
        ('{"name": "get_wether", "parameters": {"city": "Paris"}}', "bad_shape"),
        ('[get_weather(city="Paris")]', "bad_shape"),
        ('```python\nget_weather(city="Paris")\n```', "bad_shape"),
        (f'"tool_call": {W}}}', "bad_shape"),
        (f'{{"thought": "x"\n"tool_call": {W}}}', "bad_shape"),
        (COURSE.replace('"', '\\"'), "invalid_json"),
        ('<tool_call>get_weather(city="Paris")', "bad_shape"),
        ("<tool_call></tool_call>", "bad_shape"),
        ("<tool_call>get_weather city=Paris</tool_call>", "bad_shape"),
        ("<tool_call>\nname: get_weather\narguments: Paris\n</tool_call>", "bad_shape"),
        (f"{COURSE}\n{W}", "ambiguous"),
        (f"<tool_call>{W}\n{W}", "ambiguous"),
        ('{"tool_calls": [' + ", ".join([W] * 40) + "]}", "too_many_calls"),
        (f"{{'a': {COURSE}}}", "bad_shape"),
        (f"['x', {COURSE}]", "bad_shape"),
        (f'{{"plan": "a\n{COURSE}\nb"}}', "bad_shape"),
        (f"{{ {COURSE} }}", "bad_shape"),
        (f"<think>a<think>b</think>{COURSE}", "bad_shape"),
    ],
)
def test_what_only_resembles_a_call_has_a_name(text, kind):
    reading = read_tool_calls(text, BOX)
    assert (reading.calls, reading.problem) == ([], kind)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>get_wea",
        f'{COURSE}\n{{"name": "get_time", "arg',
        '{"tool_calls": [{"name": "get_weather", "argum',
    ],
)
def test_a_second_call_that_was_cut_takes_the_first_along(text):
    reading = read_tool_calls(text, BOX, finish_reason="length")
    assert (reading.calls, reading.problem) == ([], "truncated")


@pytest.mark.parametrize("prose", ["In 2024, ", "Since that's true, ", "It's done (I'm sure). "])
def test_prose_that_ends_like_json_is_prose(prose):
    assert read_tool_calls(prose + COURSE, BOX).calls == [PARIS]


def test_thinking_that_the_prompt_has_opened_holds_no_call():
    thought = COURSE.replace("get_weather", "delete_file")
    text = f"Maybe {thought}, but that would be wrong.\n</think>\n\n"
    assert read_tool_calls(f"{text}I won't.", BOX).calls == []
    assert read_tool_calls(f"{text}I won't.", BOX).text == "I won't."
    assert read_tool_calls(text + COURSE, BOX).calls == [PARIS]
    nested = f"<think>a<think>b</think>{thought}</think>noon"
    assert (read_tool_calls(nested, BOX).calls, read_tool_calls(nested, BOX).text) == ([], "noon")


@pytest.mark.parametrize(
    "text",
    [
        "<think></think>" * 20_000 + "hi",
        "<tool_call>a" * 20_000 + "</tool_call>",
        "a" + '<think>{"tool_call": 1}' * 20_000 + "</think>",
        "</think>\n" * 50_000,
        "\n \n" * 100_000 + "x",
    ],
)
def test_reading_time_does_not_explode(text):
    started = time.process_time()
    read_tool_calls(text, BOX)
    assert time.process_time() - started < 3  # it's some 0.1 s; quadratic, it would be minutes


def test_a_calls_id_comes_along():
    call = {"id": "call_7", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
    (read,) = read_tool_calls(json.dumps(call)).calls
    assert read.id == "call_7"


def test_a_known_tool_in_openais_wrapping_without_arguments_is_no_answer(box):
    reading = read_tool_calls('{"id": "call_7", "function": {"name": "get_time"}}', box)
    assert reading.calls == []
    assert reading.problem == "bad_shape"
