"""`ContextGauge` and `Timeline`: their numbers are the run's, and nothing in them is markup."""

import re
from dataclasses import replace

import pytest

from tests.test_agent import WEATHER, Saying
from tests.test_context import CALL, read
from toolcall_lab import Prompt, Run, Toolbox, ToolcallLabError, run_agent, tool
from toolcall_lab.widgets import CallReader, ContextGauge, PromptView, Timeline


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


def test_two_runs_and_the_step_where_they_part(tiny, box, run):
    other = run_agent(Saying(tiny, WEATHER % "Tokyo", "22 °C.", tokens=True), box, "Weather?")
    both = Timeline(run, other)
    assert both.parting == 2
    text = both.to_text()
    assert "They part in step 2.\nFirst: get_weather(city='Atlantis')" in text
    assert "Second: 22 °C." in text
    assert both.to_html().count("<table>") == 2
    same = Timeline(run, run)
    assert same.parting is None
    assert "Both runs did the same" in repr(same)
    shorter = replace(run, steps=run.steps[:1])
    assert "Second: it had ended" in repr(Timeline(run, shorter))


def test_another_window_is_tried(run):
    sizes = [sum(map(len, step.prompt_tokens)) for step in run.steps]
    assert ContextGauge(run).verdict() == ""
    smaller = ContextGauge(run, n_ctx=sizes[1] + 10, room=10)
    assert smaller.full_at == 3
    assert f"full at step 3 of {len(sizes)}" in smaller.to_text()
    assert "full at step 3" in smaller.to_html()
    assert "everything fits" in repr(ContextGauge(run, n_ctx=10**6))
    with pytest.raises(ToolcallLabError, match="n_ctx=0"):
        ContextGauge(run, n_ctx=0)
    gauge = ContextGauge(run)
    fields, shown = gauge.widget().children
    fields.children[0].value = 256
    assert "n_ctx=256 instead of" in shown.value
    gauge.close()


def test_another_policy_is_tried(run, pruned):
    """What was pruned is there again without a policy; with the run's own it's as it was."""
    whole = ContextGauge(pruned, policy="none")
    assert not any(whole.prunings)
    assert [page.total for page in whole.pages] == sorted(page.total for page in whole.pages)
    assert whole.pages[-1].total > whole.recorded[-1].total
    same = ContextGauge(pruned, policy="drop", room=100)
    assert [page.total for page in same.pages] == [page.total for page in same.recorded]
    assert same.prunings == [step.pruning for step in pruned.steps]
    assert "the same answers, policy drop: everything fits" in same.verdict()
    as_it_was = ContextGauge(run, policy="none")
    assert [page.ids for page in as_it_was.pages] == [page.ids for page in as_it_was.recorded]
    gauge = ContextGauge(run)
    fields, shown = gauge.widget().children
    fields.children[2].value = "drop"
    fields.children[0].value = sum(map(len, run.steps[2].prompt_tokens))
    assert "pruned: drop: " in shown.value
    assert fields.children[2].label == "drop"
    fields.children[2].label = "as it was"
    assert "pruned: drop: " not in shown.value
    gauge.close()


def test_shortening_is_counted_without_the_model(tiny):
    """What the gauge tells of `shorten` is what the loop then really does."""

    @tool
    def page(page: int) -> str:
        """Reads."""
        return f"page {page}: " + "word " * 90

    def go(policy):
        calls = [(CALL % n).replace('"read"', '"page"') for n in range(9)]
        llm = Saying(tiny, *calls, n_ctx=2048, tokens=True)
        return run_agent(llm, Toolbox([page]), "?", policy=policy, max_tokens=100, max_steps=9)

    told = ContextGauge(go("drop"), policy="shorten", room=100)
    done = go("shorten")
    assert "shortened the results" in told.to_text()
    assert len(done.steps) == len(told.pages) == 9
    for page, step in zip(told.pages, done.steps, strict=True):
        assert [span.text for span in page.spans] == [span.text for span in step.prompt.spans]
        assert page.total == sum(map(len, step.prompt_tokens))


def test_texts_of_a_model_without_ids_are_counted_too(tiny):
    run = run_agent(Saying(tiny, CALL % 1, CALL % 2, "ok"), Toolbox([read]), "?")
    told = ContextGauge(run, policy="none")
    assert [page.total for page in told.pages] == [page.total for page in told.recorded]


def test_what_cannot_be_told_without_the_model_is_said(run, tiny):
    prompt = Prompt()
    prompt.add("user", "Hi")
    for wrong in ((run, None, "summarise"), (prompt, tiny, "drop")):
        with pytest.raises(ToolcallLabError, match="can be told of none, drop, shorten"):
            ContextGauge(*wrong[:2], policy=wrong[2])


def test_an_answer_is_edited_and_read_anew(box):
    view = CallReader("It's 22 °C.", box)
    text, shown = view.widget().children
    assert "no call: an answer" in shown.value
    text.value = WEATHER % "Oslo"
    assert "1 call: get_weather(city=&#x27;Oslo&#x27;)" in shown.value
    text.value = "<script>"
    assert "<script>" not in shown.value
    view.close()


FORGIVEN = {
    '```json\n{"tool_call": {"name": "get_time"}}\n```': ["code fence", "left out"],
    '<think>hm</think><tool_call>{"name": "get_time", "arguments": {}}': ["thought", "closing"],
    '{"tool_call": {"name": "get_weather", "arguments": {"city": "New\nYork"}}}': ["Line breaks"],
    '{"tool_call": {"name": "get_time", "arguments": "{}"}}<|im_end|>': ["marker", "JSON string"],
    WEATHER % "Oslo": [],
    '{"tool_call": {"name": "nobody", "arguments": "{}"}}': [],  # refused, not forgiven
}


@pytest.mark.parametrize("text", FORGIVEN)
def test_what_was_forgiven_is_said(box, text):
    view = CallReader(text, box)
    said = [line for line in repr(view).splitlines() if line.startswith("~")]
    assert len(said) == len(FORGIVEN[text])
    for line, words in zip(said, FORGIVEN[text], strict=True):
        assert words in line
    assert view.to_html().count("<br>~ ") == len(said)


def test_the_call_of_a_run_is_read_with_its_tools(run):
    assert "empty_output" in repr(CallReader(run))  # the last step that isn't only an answer
    first = CallReader(run, step=1)
    assert "1 call: get_weather(city='Tokyo')" in repr(first)
    assert "required" in first.to_html()
    with pytest.raises(ToolcallLabError, match="no step 9"):
        CallReader(run, step=9)
    with pytest.raises(ToolcallLabError, match="a text or a Run, no dict"):
        CallReader({})


def test_a_steps_figures_are_picked(run):
    view = Timeline(run)
    _, picked, below = view.widget().children
    assert picked.value == len(run.steps)
    picked.value = 1
    total = sum(map(len, run.steps[0].prompt_tokens))
    assert f"{total} tokens, 0 of them reused" in below.value or "? of them reused" in below.value
    assert "no speed measured" in below.value
    assert "get_weather(city=&#x27;Tokyo&#x27;) -&gt; a result of " in below.value
    picked.value = 2
    assert "an error of " in below.value
    view.close()
