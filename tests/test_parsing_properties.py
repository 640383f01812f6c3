"""What must hold for every call and every text, tried on many."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcall_lab import ToolCall, read_tool_calls
from toolcall_lab.parsing import Reading

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
arguments = st.dictionaries(st.text(), values, max_size=4)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,20}", fullmatch=True)
prose = st.text(
    st.characters(exclude_characters="{}[]<>`\ufeff\u200b;", exclude_categories=["Cs"])
).filter(lambda text: "tool_call" not in text)
FRAGMENTS = (
    '{"tool_call": ', '{"name": "f", "arguments": ', "{}", "}", "{", "[", "]", '"', "\\", ",", ":",
    "null", "<tool_call>", "</tool_call>", "<think>", "</think>", "```json\n", "```", "<|im_end|>",
    "<|im_start|>", "'tool_call':", "\ud800", "\u2028", "1e999", "NaN", " ", "\n", "f(", ")", "; ",
    "[TOOL_CALLS]",
)  # fmt: skip
soup = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=30).map("".join)
PROBLEMS = {
    None, "truncated", "invalid_json", "bad_shape", "ambiguous", "unknown_tool",
    "invalid_arguments", "empty_output", "too_deep", "too_large", "too_many_calls",
}  # fmt: skip


def course(name, values):
    return json.dumps({"tool_call": {"name": name, "arguments": values}}, ensure_ascii=False)


def native(name, values):
    call = json.dumps({"name": name, "arguments": values}, ensure_ascii=False)
    return f"<tool_call>\n{call}\n</tool_call>"


def openai(name, values):
    function = {"name": name, "arguments": json.dumps(values)}
    return json.dumps({"id": "call_1", "type": "function", "function": function})


@given(names, arguments, st.sampled_from([course, native]), prose, prose)
def test_a_written_call_reads_back_identical_with_any_prose_around(
    name, values, form, before, after
):
    reading = read_tool_calls(f"{before}\n{form(name, values)}\n{after}")
    assert (reading.problem, reading.calls) == (None, [ToolCall(name, values)])
    assert reading.text == f"{before}\n\n{after}".strip()


@given(names, arguments, st.sampled_from([course, native, openai]))
def test_a_call_that_is_the_whole_answer_reads_back_identical(name, values, form):
    id = "call_1" if form is openai else None
    assert read_tool_calls(form(name, values)).calls == [ToolCall(name, values, id)]


@given(
    st.lists(st.tuples(names, arguments, st.sampled_from([course, native])), min_size=1, max_size=5)
)
def test_several_calls_read_back_in_order(calls):
    text = "\n".join(form(name, values) for name, values, form in calls)
    assert read_tool_calls(text).calls == [ToolCall(name, values) for name, values, _ in calls]


@given(names, arguments, st.sampled_from([course, native, openai]), st.data())
def test_a_cut_call_is_never_a_call(name, values, form, data):
    text = form(name, values)
    end = len(text.removesuffix("\n</tool_call>")) - 1  # without its last brace
    cut = text[: data.draw(st.integers(1, end))]
    reading = read_tool_calls(cut, finish_reason="length")
    assert reading.calls == []


def sound(text, finish_reason):
    reading = read_tool_calls(text, finish_reason=finish_reason)
    assert isinstance(reading, Reading)
    assert reading.problem in PROBLEMS
    assert bool(reading.message) == bool(reading.problem)
    assert not (reading.calls and reading.problem)
    if reading.span:
        start, end = reading.span
        assert 0 <= start <= end <= len(text)


@given(soup | st.text(), st.sampled_from([None, "stop", "length"]))
def test_any_text_is_a_reading(text, finish_reason):
    sound(text, finish_reason)


@pytest.mark.slow
@settings(max_examples=40_000, derandomize=False, suppress_health_check=list(HealthCheck))
@given(soup, st.sampled_from([None, "stop", "length"]))
def test_fuzzing_finds_nothing(text, finish_reason):
    sound(text, finish_reason)
