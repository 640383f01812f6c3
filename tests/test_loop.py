"""The loop on real llama.cpp: each token is read once, interrupts keep the run, talks go on."""

import json
import queue
import time
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

from tests.test_agent import WEATHER, Saying
from tests.tiny import write_scripted_gguf
from toolcall_lab import (
    Prompt,
    Run,
    ScriptedModel,
    Tool,
    Toolbox,
    ToolcallLabError,
    iter_agent,
    load_model,
    read_tool_calls,
    run_agent,
    tool,
)
from toolcall_lab.models.states import warm

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "call_cases.jsonl").read_text().splitlines()
]
LOOP_CASES = [pytest.param(case, id=case["id"]) for case in CASES if case["stage"] == "loop"]


@tool
def tick() -> str:
    """Ticks."""
    return "tock " * 5


@pytest.fixture(scope="module")
def ticking(tmp_path_factory):
    """A GGUF that always calls `tick`, with blanks around the call."""
    path = tmp_path_factory.mktemp("scripted") / "ticking.gguf"
    write_scripted_gguf(path, ["  ", '{"tool_call": {"name": "tick", ', '"arguments": {}}}', "   "])
    model = load_model(path, n_ctx=4096)
    yield model
    model.close()


def native(name, arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@pytest.mark.parametrize("case", LOOP_CASES)
def test_loop_cases(case, tiny):
    setup = case["setup"]
    box = Toolbox([Tool(**schema, function=lambda **_: "done") for schema in case["tools"]])
    weather, clock = (native(*c) for c in (("get_weather", {"city": "Paris"}), ("get_time", {})))
    told = setup.get("history")
    if isinstance(told, list):
        before = [native(call["name"], call["arguments"]) for call in told]
    else:
        before = {"the ": [weather] * 2, "get_": [weather, clock] * 2, "a to": [weather]}.get(
            (told or "")[:4], []
        )
    steps = setup.get("steps_done", 0)
    before += [native("search", {"query": f"more {n}"}) for n in range(steps - 1)]
    texts = [*before, *[case["raw_output"]] * (3 if not case["raw_output"] else 1), "The end."]
    limit = setup.get("max_steps", 20)
    run = run_agent(Saying(tiny, *texts), box, "?", max_steps=limit)
    if isinstance(case["expected"], list):
        last = run.steps[len(before)]
        assert [{"name": c.name, "arguments": c.arguments} for c in last.calls] == case["expected"]
        assert len(last.results) == len(last.calls)
    else:
        assert run.ending == case["expected"], case["why"]
        assert run.explanation


def test_a_repeated_call_is_not_made(tiny, box):
    run = run_agent(Saying(tiny, *[WEATHER % "Tokyo"] * 3), box, "?")
    assert [len(step.results) for step in run.steps] == [1, 1, 0]
    assert "get_weather(city='Tokyo') was not made once more (max_repeats=3)." in run.explanation
    patient = run_agent(Saying(tiny, *[WEATHER % "Tokyo"] * 4, "Yes."), box, "?", max_repeats=5)
    assert patient.ending == "answered"
    with pytest.raises(ToolcallLabError, match="max_repeats=1"):
        run_agent(Saying(tiny), box, "?", max_repeats=1)


def test_from_the_second_step_on_only_what_was_appended_is_read(ticking):
    ticking.reset()
    before = ticking.tokens_evaluated
    run = run_agent(ticking, Toolbox([tick]), "?", max_steps=10, max_repeats=99, temperature=0.0)
    assert (len(run.steps), run.ending) == (10, "step_limit")
    assert run.steps[0].completion.startswith("  ")
    for one, other in zip(run.steps, run.steps[1:], strict=False):
        read = sum(map(len, one.prompt_tokens)) + len(one.completion_tokens)
        assert other.tokens_evaluated == sum(map(len, other.prompt_tokens)) - read
        assert other.tokens_reused == read
        assert other.prompt.text.startswith(one.prompt.text + one.completion)
    last = run.steps[-1]
    all_tokens = sum(map(len, last.prompt_tokens)) + len(last.completion_tokens)
    assert ticking.tokens_evaluated - before == all_tokens


def test_stripping_and_gluing_reads_calls_again(ticking):
    """What most tutorials do: the comparison for the test above."""
    ticking.reset()
    prompt = Prompt()
    prompt.add("user", "?")
    prompt.open("assistant")
    text, evaluated = prompt.text, []
    for _ in range(4):
        answer = ticking(text, max_tokens=20, temperature=0.0, stop=["<|im_end|>"])
        evaluated.append(answer["usage"]["evaluated_tokens"])
        call = answer["choices"][0]["text"].strip()
        assert read_tool_calls(call).calls
        text += call + "<|im_end|>\n<|im_start|>tool\ntock<|im_end|>\n<|im_start|>assistant\n"
    glued = ticking.tokenize(
        (call + "<|im_end|>\n<|im_start|>tool\ntock<|im_end|>\n<|im_start|>assistant\n").encode(),
        add_bos=False,
        special=True,
    )
    assert evaluated[2] >= len(glued) > 20  # the whole call, letter by letter


class Counting:
    """A tokenizer that counts the bytes it is given."""

    def __init__(self, llm):
        self.llm, self.bytes, self.ids = llm, 0, 0
        self.name, self.kind = llm.name, llm.kind

    def tokenize(self, text, **options):
        self.bytes += len(text)
        return self.llm.tokenize(text, **options)

    def detokenize(self, ids, **options):
        self.ids += len(ids)
        return self.llm.detokenize(ids, **options)

    def n_ctx(self):
        return self.llm.n_ctx()

    def __call__(self, prompt, **options):
        return self.llm(prompt, **options)


def test_a_step_costs_the_same_at_the_end_of_a_long_run(tiny_path):
    texts = ['{"tool_call": {"name": "tick", "arguments": {}}}'] * 200
    llm = Counting(ScriptedModel(texts, n_ctx=100_000, vocabulary=tiny_path))
    tokenised, shown = [], []
    for _ in iter_agent(llm, Toolbox([tick]), "?", max_steps=200, max_repeats=999):
        tokenised.append(llm.bytes)
        shown.append(llm.ids)
        llm.bytes = llm.ids = 0
    assert len(tokenised) == 200
    assert len(set(tokenised[2:])) == 1
    assert tokenised[-1] < 400
    assert len(set(shown[9:])) == 1


def test_the_text_comes_as_it_is_written(ticking, tiny, box):
    heard = []
    run = run_agent(ticking, Toolbox([tick]), "?", max_steps=1, on_token=heard.append)
    assert "".join(heard) == run.steps[0].completion
    assert len(heard) > 2
    heard.clear()
    run_agent(Saying(tiny, "Hello."), box, "?", on_token=heard.append)
    assert heard == ["Hello."]


def test_an_interrupt_keeps_the_half_written_text(ticking, tmp_path):
    def stop(text):
        if "name" in text:
            raise KeyboardInterrupt

    path = tmp_path / "run.jsonl"
    run = run_agent(ticking, Toolbox([tick]), "?", on_token=stop, path=path)
    assert run.ending == "interrupted"
    (step,) = run.steps
    assert (step.finish_reason, step.calls) == ("interrupted", ())
    assert step.completion.strip().startswith('{"tool_call": {"name": "tick"')
    assert Run.load(path).steps == run.steps
    again = run_agent(ticking, Toolbox([tick]), "?", max_steps=1)  # the model is as it was
    assert again.steps[0].calls


def test_a_system_prompt_that_was_read_once_is_not_read_again(llm, box, tmp_path, tiny_path):
    seen = []
    for _ in range(2):
        llm.reset()
        run = run_agent(llm, box, "Hello!", states=tmp_path, max_steps=1, max_tokens=1)
        total = sum(map(len, run.steps[0].prompt_tokens))
        seen.append(run.steps[0].tokens_evaluated)
        assert seen[-1] + run.steps[0].tokens_reused == total
    assert seen[0] == total
    assert seen[1] < 30
    (state,) = tmp_path.glob("*.state")
    state.write_bytes(state.read_bytes()[:-1000])  # damaged: it's read, and written anew
    llm.reset()
    run = run_agent(llm, box, "Hello!", states=tmp_path, max_steps=1, max_tokens=1)
    assert run.steps[0].tokens_evaluated == total
    llm.reset()
    (tmp_path / "file").write_text("not a folder")
    run = run_agent(llm, box, "Hello!", states=tmp_path / "file", max_steps=1, max_tokens=1)
    assert run.steps[0].tokens_evaluated == total


def test_what_comes_from_the_disk_is_what_was_read(llm, box, tmp_path):
    texts = []
    for _ in range(2):
        llm.reset()
        run = run_agent(llm, box, "Hello!", states=tmp_path, temperature=0.0, max_tokens=20)
        texts.append(run.steps[0].completion)
    assert texts[0] == texts[1]


def test_a_conversation_goes_on_after_a_run(tiny, box, tmp_path):
    llm = Saying(tiny, WEATHER % "Tokyo", "22 °C.", "You are welcome.", tokens=True)
    path = tmp_path / "run.jsonl"
    first = run_agent(llm, box, "Weather in Tokyo?", path=path)
    second = run_agent(llm, box, "Thanks!", after=Run.load(path))
    assert second.steps[0].prompt.text == (
        first.steps[-1].prompt.text
        + "22 °C.<|im_end|>\n<|im_start|>user\nThanks!<|im_end|>\n<|im_start|>assistant\n"
    )
    assert llm.prompts[2][: len(llm.prompts[1])] == llm.prompts[1]
    with pytest.raises(ToolcallLabError, match="style 'course'"):
        run_agent(llm, box, "?", after=first, style="qwen3")


def test_thoughts_stay_until_the_next_user_turn(tiny, box):
    thought = "<think>\nA city, so the weather.\n</think>\n\n"
    call = native("get_weather", {"city": "Tokyo"})
    llm = Saying(tiny, thought + call, thought + "22 °C.", "Good bye.")
    first = run_agent(llm, box, "Weather?", style="qwen3")
    assert thought in first.steps[1].prompt.text
    assert first.answer == "22 °C."
    second = run_agent(llm, box, "Thanks.", after=first, style="qwen3")
    assert "<think>" not in second.steps[0].prompt.text
    assert f"<|im_start|>assistant\n{call}<|im_end|>" in second.steps[0].prompt.text
    assert "<|im_start|>assistant\n22 °C.<|im_end|>" in second.steps[0].prompt.text


def test_thoughts_that_eat_the_budget_are_reported_as_that(tiny, box):
    llm = Saying(tiny, *["<think>\nLet me see, wait, no✂"] * 3)
    run = run_agent(llm, box, "?", style="qwen3")
    assert run.ending == "unreadable_calls"
    assert "Thinking has used up all of max_tokens" in run.explanation


CELL = """
from tests.test_loop import tick
from toolcall_lab import Toolbox, iter_agent, load_model, run_agent
llm = load_model("{path}")
import time
def slow(text):
    print(text, end="", flush=True)
    time.sleep(0.05)
"""


@pytest.mark.parametrize("where", ["model", "tool"])
def test_kernel_interrupt_keeps_the_run(where, tmp_path):
    path = tmp_path / "ticking.gguf"
    write_scripted_gguf(path, ['{"tool_call": {"name": "tick", ', '"arguments": {}}}'])
    manager, client = start_new_kernel(cwd=str(Path(__file__).parent.parent))
    try:
        say(client, CELL.format(path=path))
        box = "Toolbox([tick])"
        if where == "tool":
            say(
                client,
                "from toolcall_lab import tool\n@tool\ndef tick() -> str:\n    'Ticks.'\n"
                "    print('in the tool', flush=True)\n    time.sleep(60)\n    return ''\n"
                "tick = type(tick)(tick.name, '', tick.parameters, tick.function, limited=False)",
            )
        options = "max_steps=500, max_repeats=999, on_token=slow"
        request = client.execute(f"run = run_agent(llm, {box}, '?', {options})")
        wait_for(client, request, "in the tool" if where == "tool" else "arguments")
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=60)
        assert reply["content"]["status"] == "ok"
        said = say(client, "print(run.ending, len(run.steps), run.steps[0].completion[:12])")
        assert said.startswith("interrupted")
        assert '{"tool_call"' in said
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def say(client, code):
    """Runs a cell and gives what it printed."""
    request = client.execute(code)
    printed = ""
    while True:
        message = client.get_iopub_msg(timeout=120)
        if message["parent_header"].get("msg_id") != request:
            continue
        kind, content = message["msg_type"], message["content"]
        assert kind != "error", content["traceback"]
        if kind == "stream":
            printed += content["text"]
        if kind == "status" and content["execution_state"] == "idle":
            client.get_shell_msg(timeout=60)
            return printed


def wait_for(client, request, text):
    """Waits until this cell has printed this text."""
    printed, until = "", time.monotonic() + 120
    while text not in printed:
        assert time.monotonic() < until, printed
        try:
            message = client.get_iopub_msg(timeout=5)
        except queue.Empty:
            continue
        if message["parent_header"].get("msg_id") == request and message["msg_type"] == "stream":
            printed += message["content"]["text"]


def test_a_conversation_has_one_system_prompt_and_one_set_of_tools(tiny, box):
    run = run_agent(Saying(tiny, "Hello."), box, "Hi")
    for options in ({"system": "Be rude."}, {"toolbox": Toolbox([tick])}):
        with pytest.raises(ToolcallLabError, match="its own system prompt and tools"):
            run_agent(Saying(tiny, "x"), **{"toolbox": box, "query": "?", "after": run} | options)
    nothing = run_agent(Saying(tiny, KeyboardInterrupt()), box, "Hi")
    with pytest.raises(ToolcallLabError, match="has no steps"):
        run_agent(Saying(tiny, "x"), box, "?", after=nothing)


def test_a_stream_loses_no_letters(tmp_path):
    path = tmp_path / "letters.gguf"
    write_scripted_gguf(path, [" caf", "é o", "日本", " end"])
    model = load_model(path, n_ctx=2048)
    heard = []
    plain = run_agent(model, Toolbox(), "?", temperature=0.0)
    streamed = run_agent(model, Toolbox(), "?", temperature=0.0, on_token=heard.append)
    assert plain.answer == streamed.answer == "caf" + "é o日本 end"
    assert plain.steps[0].completion_tokens == streamed.steps[0].completion_tokens
    model.close()


def test_an_interrupted_completion_is_kept_without_a_callback(ticking, monkeypatch):
    evaluate = type(ticking).eval

    def interrupted(self, tokens):
        if len(tokens) == 1 and self.detokenize(tokens).startswith(b'"arguments"'):
            raise KeyboardInterrupt
        evaluate(self, tokens)

    monkeypatch.setattr(type(ticking), "eval", interrupted)
    run = run_agent(ticking, Toolbox([tick]), "?", temperature=0.0)
    assert run.ending == "interrupted"
    assert run.steps[0].completion.strip().startswith('{"tool_call": {"name": "tick"')


def test_a_state_belongs_to_its_settings(tiny_path, tmp_path):
    ids = list(range(65, 65 + 40))
    said = []
    for options in ({}, {"rope_freq_base": 500.0}, {}):
        model = load_model(tiny_path, n_ctx=512, **options)
        said.append(warm(model, ids, tmp_path))
        model.close()
    assert said == ["read", "read", "disk"]


def test_wrong_settings_are_explained(tiny, box):
    with pytest.raises(ToolcallLabError, match="max_problems=0"):
        run_agent(Saying(tiny), box, "?", max_problems=0)


def test_the_last_result_of_a_call_counts(tiny):
    @tool
    def count(n: int, times: list[int] = []) -> str:  # noqa: B006
        """Counts."""
        times.append(n)
        return f"time {len(times)} " + "x" * 400

    call = '{"tool_call": {"name": "count", "arguments": {"n": N}}}'
    texts = [call.replace("N", number) for number in "121"]
    run = run_agent(Saying(tiny, *texts), Toolbox([count]), "?", max_steps=3)
    _first, *lines = run.answer.splitlines()
    assert [line[:24] for line in lines] == ["- count(n=2): time 2 xxx", "- count(n=1): time 3 xxx"]
    assert all(line.endswith("…") for line in lines)
