"""llama.cpp's own grammars: what would end the process is refused; ours needs less work."""

import json
import subprocess
import sys

import pytest

from tests.test_grammar import chat
from toolcall_lab import grammar, read_tool_calls
from toolcall_lab.gbnf import ignored, llama_grammar

SCRIPT = """
import json, sys
from toolcall_lab import load_model
from toolcall_lab.errors import ConstraintError
from toolcall_lab.gbnf import llama_grammar
llm = load_model(sys.argv[1], n_ctx=512)
schema = {"type": "object", "properties": {"x": json.loads(sys.argv[2])}, "required": ["x"]}
try:
    llm("{", max_tokens=3, grammar=llama_grammar(llm, schema))
    print("generated")
except ConstraintError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"type": "string", "pattern": r"^\d+$"}, r"(unknown escape); look for \d, \w"),
        ({"enum": ['a"b']}, "quotes in an enum"),
        ({"type": "string", "maxLength": 5000}, "maxLength 5000 is too long"),
        ({"type": "string", "pattern": "a"}, "can't convert this schema"),
        ({"type": "string"}, "generated"),
    ],
)
def test_no_schema_ends_the_process(tiny_path, part, said):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tiny_path), json.dumps(part)],
        capture_output=True, text=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string", "pattern": r"^\d{3}$"},
        {"enum": ['a"b', "c\\d"]},
        {"type": "string", "maxLength": 5000},
    ],
)
def test_our_constraints_take_these(llm, part):
    schema = {"type": "object", "properties": {"x": part}, "required": ["x"]}
    made = grammar.generate(llm, "JSON:", grammar.json_schema(schema), max_tokens=200)
    assert made.finish_reason == "stop"
    assert set(json.loads(made.text)) == {"x"}


def test_what_a_grammar_leaves_out_is_named():
    schema = {"type": "object", "properties": {"n": {"minimum": 1}}, "anyOf": [{"not": {}}]}
    assert ignored(schema) == ["minimum", "not"]


def test_forced_tokens_save_half_of_the_evaluations(llm, box):
    """Counted on the same questions, with the same calls allowed."""
    calls = [
        {"type": "object", "properties": {"name": {"const": name}, "arguments": tool.parameters},
         "required": ["name", "arguments"]}
        for name, tool in box.items()
    ]  # fmt: skip
    schema = {
        "type": "object",
        "properties": {"tool_call": {"oneOf": calls}},
        "required": ["tool_call"],
    }
    theirs, ours = 0, 0
    for question in ("What is the weather in Tokyo?", "What time is it?", "What is 12 * 34?"):
        ids = chat(box, question).tokens(llm)
        before = llm.evaluations
        answer = llm(ids, grammar=llama_grammar(llm, schema), max_tokens=80, temperature=0)
        theirs += llm.evaluations - before - 1  # without the prompt's
        assert read_tool_calls(answer["choices"][0]["text"], box).calls
        ours += grammar.generate(llm, ids, grammar.tool_call(box), max_tokens=80).evaluations
    assert ours <= theirs / 2
