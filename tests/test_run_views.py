"""`ContextGauge` and `Timeline`: their numbers are the run's, and nothing in them is markup."""

import re
from dataclasses import replace

import pytest

from tests.test_agent import WEATHER, Saying
from tests.test_context import CALL, read
from toolcall_lab import Prompt, Run, Toolbox, ToolcallLabError, run_agent, tool
from toolcall_lab.widgets import ContextGauge, PromptView, Timeline


@pytest.fixture
def run(tiny, box):
    llm = Saying(tiny, WEATHER % "Tokyo", WEATHER % "Atlantis", "", "22 °C.", tokens=True)
    return run_agent(llm, box, "Weather?")


@pytest.fixture
def pruned(tiny):
    llm = Saying(tiny, *[CALL % n for n in range(9)], n_ctx=2048, tokens=True)
    return run_agent(llm, Toolbox([read]), "?", policy="drop", max_tokens=100, max_steps=9)


def test_the_gauge_counts_each_author(run):
    text = ContextGauge(run).to_text().splitlines()
    assert len(text) == 1 + len(run.steps)
    for line, step in zip(text[1:], run.steps, strict=True):
        counts = [int(n) for n in re.findall(r"[■▲●◆·](\d+)", line)]
        total = sum(map(len, step.prompt_tokens))
        assert sum(counts) == total
        assert f"{total}, {run.n_ctx - total} free" in line
    assert ContextGauge(run).to_html().count("<tr>") == 1 + len(run.steps)


def test_the_gauge_of_a_prompt(tiny):
    prompt = Prompt()
    prompt.add("user", "Hi")
    assert "▲2" in repr(ContextGauge(prompt, tiny))
    with pytest.raises(ToolcallLabError, match="give the model"):
        ContextGauge(prompt)


def test_what_was_pruned_is_said(pruned):
    (step,) = [step for step in pruned.steps if step.pruning][:1]
    for view in (ContextGauge(pruned).to_text(), ContextGauge(pruned).to_html()):
        assert f"{step.pruning.tokens_before} " in view
        assert "dropped" in view
    assert "pruned (drop)" in Timeline(pruned).to_text()


def test_the_timeline_tells_what_happened(run):
    text = Timeline(run).to_text()
    assert "get_weather(city='Tokyo') -> Tokyo: 22" in text
    assert "-> error: " in text
    assert "empty_output: The answer is empty" in text
    assert text.splitlines()[-2].startswith("answered: ")
    assert text.endswith("Saying, scripted: typed by hand, not a model's words")
    assert " s" not in text.splitlines()[1][-8:]
    assert re.search(r"T \d+\.\d\d s$", Timeline(run).to_text(seconds=True).splitlines()[1])


def test_the_same_run_looks_the_same(run, tmp_path):
    run.save(tmp_path / "run.jsonl")
    loaded = Run.load(tmp_path / "run.jsonl")
    for view in (ContextGauge, Timeline):
        assert repr(view(loaded)) == repr(view(run))


def test_nothing_is_markup(tiny):
    @tool
    def page() -> str:
        """Reads."""
        return "<script>alert(1)</script>\u202e"

    llm = Saying(tiny, '{"tool_call": {"name": "page", "arguments": {}}}', "<b>bold</b>")
    run = run_agent(llm, Toolbox([page]), "<i>?</i>")
    for view in (Timeline(run), ContextGauge(run)):
        shown = view._repr_mimebundle_()
        assert set(shown) == {"text/plain", "text/html"}
        for markup in ("<script", "<b>bold", "<i>", "\u202e"):
            assert markup not in shown["text/html"]
    assert "\u202e" not in repr(Timeline(run))


def test_a_run_without_steps_is_explained(tiny, box):
    run = run_agent(Saying(tiny, KeyboardInterrupt()), box, "?")
    for view in (ContextGauge, Timeline):
        with pytest.raises(ToolcallLabError, match="no steps to show"):
            view(run)


def test_what_a_model_named_is_made_visible(tiny, box):
    call = '{"tool_call": {"name": "get_weather", "arguments": {"a\\u202e\\n": 1}}}'
    run = run_agent(Saying(tiny, *[call] * 3), box, "?")
    text = Timeline(run).to_text()
    assert "\u202e" not in text + Timeline(run).to_html()
    assert len(text.splitlines()) == 6


def test_each_speaker_is_named(run):
    steps = [replace(run.steps[0], model="Other", kind="live"), *run.steps[1:]]
    text = Timeline(replace(run, steps=steps)).to_text()
    assert "Other, live; Saying, scripted" in text


def test_qwens_prompts_are_shown_as_well(tiny, box):
    llm = Saying(tiny, '<tool_call>{"name": "get_time", "arguments": {}}</tool_call>', "Noon.")
    run = run_agent(llm, box, "?", style="qwen3")
    assert "&lt;tool_response&gt;</b>" in PromptView(run).to_html()
