import json
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcall_lab import Prompt, Toolbox, generation, grammar, load_model, read_tool_calls, tool
from toolcall_lab.agent import system_prompt
from toolcall_lab.closing import Closing
from toolcall_lab.errors import ConstraintError, ModelError, RoomError
from toolcall_lab.tools import Tool


@tool
def book(
    city: str,
    nights: int,
    room: Literal["single", 'the "big" one\\'],
    extras: list[str] | None = None,
) -> str:
    """Books a hotel room."""
    return city


@tool
def wait() -> str:
    """Waits for a minute."""
    return "done"


def chat(box, question):
    prompt = Prompt()
    prompt.add("system", system_prompt(box))
    prompt.add("user", question)
    prompt.open()
    return prompt


@pytest.fixture(scope="module")
def roomy(tiny_path):
    """The tiny model, with a token a byte, and room for long calls."""
    model = load_model(tiny_path, n_ctx=8192)
    yield model
    model.close()


@pytest.mark.parametrize("temperature", [0.0, 0.7, 2.0])
@pytest.mark.parametrize(
    "question", ["Two nights in Lyon, the big room.", "Hello!", "Réserve une chambre à Nîmes."]
)
def test_every_completion_is_a_call_that_the_toolbox_takes(llm, question, temperature):
    box = Toolbox([book, wait])
    made = grammar.generate(
        llm,
        chat(box, question),
        grammar.tool_call(box),
        max_tokens=800,
        temperature=temperature,
        seed=3,
    )
    assert made.finish_reason == "stop"
    reading = read_tool_calls(made.text, box)
    assert reading.problem is None
    assert len(reading.calls) == 1
    assert llm.detokenize(made.tokens).decode() == made.text
    assert made.text == json.dumps(json.loads(made.text), ensure_ascii=False)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"tool_call": {"name": "wait", "arguments": {}}}', True),
        ("Hello {you}!\n\nIt's noon.", True),
        ("Été", True),
        ("", False),
        ("  hello", False),
        ("{hello}", False),
        ('{"tool_call": {"name": "jump", "arguments": {}}}', False),
        ('I call {"tool_call": {"name": "wait", "arguments": {}}}', False),
        ('{"tool_call": {"name": "wait", "arguments": {}}} done', False),
        ("ok <tool_call>", False),
        ("well <think>", False),
        ("fine <|im_start|>tool", False),
    ],
)
def test_a_call_or_a_text_is_one_of_both(tiny, text, verdict, capfd):
    constraint = grammar.tool_call_or_text(Toolbox([book, wait]))
    matcher = generation._matcher(tiny, constraint)
    tokens = tiny.tokenize(text.encode(), add_bos=False)  # spelled out, without control tokens
    assert (matcher.consume_tokens(tokens) and matcher.is_accepting()) is verdict


@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_the_model_decides_between_a_call_and_a_text(llm, temperature):
    box = Toolbox([wait])
    made = grammar.generate(
        llm,
        chat(box, "Hello!"),
        grammar.tool_call_or_text(box),
        max_tokens=60,
        temperature=temperature,
    )
    reading = read_tool_calls(made.text, box, finish_reason=made.finish_reason)
    assert reading.problem is None
    assert reading.calls or reading.text


def test_a_text_that_was_cut_says_so(llm):
    box = Toolbox([wait])
    made = grammar.generate(
        llm, chat(box, "Tell me a long story."), grammar.tool_call_or_text(box), max_tokens=40
    )
    assert (len(made.tokens), made.finish_reason, made.closed) == (40, "length", False)


def test_forced_tokens_are_read_in_batches(llm, box):
    prompt = chat(box, "What is the weather in Tokyo?")
    llm.reset()
    before = (llm.tokens_evaluated, llm.evaluations)
    made = grammar.generate(llm, prompt, grammar.tool_call(box))
    assert read_tool_calls(made.text, box).calls[0].arguments == {"city": "Tokyo"}
    assert made.forced > len(made.tokens) / 2
    assert made.evaluations < len(made.tokens) / 2
    assert made.prompt_tokens == made.prompt_evaluated == prompt.count(llm)
    # Each token once, the last ones not at all: nothing is chosen behind them.
    assert llm.tokens_evaluated - before[0] <= made.prompt_tokens + len(made.tokens)
    assert llm.evaluations - before[1] == made.evaluations + 1


def test_a_prompt_that_was_read_before_is_not_read_again(llm, box):
    constraint = grammar.tool_call(box)
    grammar.generate(llm, chat(box, "What is the weather in Tokyo?"), constraint)
    again = grammar.generate(llm, chat(box, "What is the weather in Paris?"), constraint)
    assert again.prompt_evaluated < 15 < again.prompt_tokens


def test_what_does_not_fit_into_the_budget_is_refused(llm, box):
    with pytest.raises(RoomError, match=r"A call may take .* there is room for 5"):
        grammar.generate(llm, chat(box, "Hello"), grammar.tool_call(box), max_tokens=5)


def test_a_chatty_argument_is_closed_in_time(roomy):
    @tool
    def tell(story: str) -> str:
        """Tells a long story."""
        return story

    box = Toolbox([tell])
    closed = []
    for seed in range(5):
        constraint = grammar.tool_call(box)
        made = grammar.generate(roomy, "?", constraint, max_tokens=150, temperature=1.0, seed=seed)
        closed.append(made.closed)
        assert made.finish_reason == "stop"
        assert len(made.tokens) <= 150
        (call,) = read_tool_calls(made.text, box).calls
        assert len(call.arguments["story"]) > 20 or not made.closed
    assert any(closed)


def parameters(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    "schema",
    [
        parameters(x={"const": {"type": "string"}}),
        parameters(x={"enum": [{"type": "string"}, 'a"\\b']}),
        parameters(x={"type": "string", "minLength": 500}),
        parameters(x={"$ref": "#/$defs/Q"}) | {"$defs": {"Q": {"type": "string", "enum": ["q"]}}},
        parameters(type={"type": "string", "enum": ["t"]}),
        parameters(x={"type": "array", "items": {"type": "integer", "enum": [1, 2]}}),
        parameters(x={"$ref": "#/$defs/A", "minLength": 1})
        | {"$defs": {"A": {"type": "string", "minLength": 5}}},
        parameters(x={"$ref": "#/$defs/a%20b/anyOf/0"})
        | {"$defs": {"a b": {"anyOf": [{"type": "boolean"}]}}},
        {"type": "object", "anyOf": [parameters(a={"type": "boolean"}), parameters(b={})]},
        parameters(a={"type": "integer"}) | {"anyOf": [{"required": ["a"]}]},
        parameters(x={"type": ["number", "null"]}, y={}),
        parameters(x={"type": "object", "properties": {"n": {"type": "integer"}}}),
        parameters(x={"type": "array"}),
    ],
    ids=[
        "const",
        "enum",
        "minLength",
        "ref",
        "named type",
        "array",
        "beside a ref",
        "ref to a list",
        "anyOf",
        "anyOf beside",
        "untyped",
        "nested",
        "untyped items",
    ],
)
def test_schemas_of_every_sort(llm, roomy, schema):
    box = Toolbox([Tool("f", "Does it.", schema, print)])
    constraint = grammar.tool_call(box)
    made = grammar.generate(llm, chat(box, "Do it."), constraint, max_tokens=1500)
    assert made.finish_reason == "stop"
    assert read_tool_calls(made.text, box).problem is None
    for seed in range(3):  # the tiny model writes anything that it may
        made = grammar.generate(roomy, "?", constraint, max_tokens=1500, temperature=1, seed=seed)
        assert made.finish_reason == "stop"
        assert read_tool_calls(made.text, box).problem is None


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (parameters(x={"$ref": "#"}), "refers to itself"),
        (parameters(x={"$ref": "#/$defs/No"}), "leads nowhere"),
        (parameters(x={"$ref": "#anchor"}), "leads nowhere"),
        (parameters(x={"$ref": "https://example.org/x"}), "leads nowhere"),
        (parameters(x={"enum": [9007199254740993]}), "too large a number"),
    ],
)
def test_references_without_an_end_are_refused(schema, message):
    with pytest.raises(ConstraintError, match=message) as caught:
        grammar.tool_call(Toolbox([Tool("f", "d", schema, print)]))
    assert "\n" not in str(caught.value)


def test_wrong_uses_are_explained(llm, box):
    with pytest.raises(ConstraintError, match="without tools"):
        grammar.tool_call(Toolbox())
    pattern = {"type": "object", "properties": {"x": {"type": "string", "pattern": "(?=a)b"}}}
    with pytest.raises(ConstraintError, match="can't constrain"):
        grammar.tool_call(Toolbox([Tool("f", "d", pattern, print)]))
    with pytest.raises(ModelError, match="leave no room"):
        grammar.generate(llm, [5] * 4096, grammar.tool_call(box))
    with pytest.raises(ModelError, match="needs a live model"):
        grammar.generate(object(), "x", grammar.tool_call(box))


texts = st.text(max_size=8)
simple = st.one_of(
    st.just({"type": "string"}),
    st.builds(lambda n: {"type": "string", "minLength": n, "maxLength": n + 5}, st.integers(0, 9)),
    st.builds(
        lambda v: {"enum": v},
        st.lists(texts | st.integers(-(2**53), 2**53), min_size=1, max_size=3),
    ),
    st.just({"type": "string", "pattern": r"^[A-Z]\d{2,4}$"}),
    st.just({"type": "string", "format": "date"}),
    st.just({"type": ["integer", "null"], "minimum": 3, "maximum": 900}),
    st.sampled_from(
        [{"type": kind} for kind in ("integer", "number", "boolean", "null", "object")]
    ),
)


def objects(values):
    names = st.from_regex(r"[a-z_]{1,6}|é\\\"", fullmatch=True)
    return st.dictionaries(names, values, max_size=4).flatmap(
        lambda found: st.sets(st.sampled_from(sorted(found)) if found else st.nothing()).map(
            lambda required: {
                "type": "object",
                "properties": found,
                "required": sorted(required),
            }
        )
    )


values = st.recursive(
    simple,
    lambda inner: (
        objects(inner)
        | st.builds(
            lambda i, n: {"type": "array", "items": i, "minItems": n}, inner, st.integers(0, 2)
        )
        | st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner)
    ),
    max_leaves=5,
)
boxes = st.lists(objects(values), min_size=1, max_size=3).map(
    lambda schemas: Toolbox(Tool(f"tool_{n}", "d", s, print) for n, s in enumerate(schemas))
)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(boxes, st.integers(0, 99), st.integers(0, 150), st.sampled_from(["course", "qwen3"]))
@pytest.mark.parametrize("of", ["tool_call", "several_calls", "tool_call_or_text"])
def test_no_call_is_cut_or_refused(roomy, of, box, seed, more, style):
    """Random toolboxes, random texts, budgets from the least that is accepted."""
    constraint = getattr(grammar, of)(box, style=style)
    room = Closing(roomy, constraint.shortest).needed + more
    made = grammar.generate(roomy, "?", constraint, max_tokens=room, temperature=1.0, seed=seed)
    if of == "tool_call_or_text" and made.text[:1] not in ("{", "<"):
        return
    assert made.finish_reason == "stop", made.text
    reading = read_tool_calls(made.text, box, finish_reason=made.finish_reason)
    assert reading.problem is None, (made.text, reading.message)
    assert reading.calls


def test_without_a_constraint_it_writes_as_the_model_does(llm):
    ids = chat(Toolbox([wait]), "Count to five, with commas.").tokens(llm)
    heard = []
    made = grammar.generate(llm, ids, max_tokens=20, on_token=heard.append)
    assert made.text == llm(ids, max_tokens=20, temperature=0)["choices"][0]["text"]
    assert "".join(heard) == made.text
    assert made.forced == 0
    mark = made.text[3:5]
    cut = grammar.generate(llm, ids, max_tokens=20, stop=[mark])
    assert (cut.text, cut.finish_reason) == (made.text.split(mark)[0], "stop")
    assert len(cut.records) == len(cut.tokens) <= len(made.tokens)
