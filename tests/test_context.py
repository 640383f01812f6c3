"""Pruning: pairs are never torn, what must stay stays, the budget is met, costs are told."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_agent import WEATHER, Saying
from tests.tiny import write_tiny_gguf
from toolcall_lab import Prompt, Run, Toolbox, ToolcallLabError, load_model, run_agent, tool
from toolcall_lab.context import parts, prune
from toolcall_lab.prefix import shared_prefix
from toolcall_lab.toolkit import weather

CALL = '{"tool_call": {"name": "read", "arguments": {"page": %d}}}'


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "tiny.gguf"
    write_tiny_gguf(path)
    model = load_model(path, n_ctx=512)
    yield model
    model.close()


def prompt_of(results, *, style="course", earlier=0, opened=True):
    """A prompt with a pair for each list of results; numbers are lengths of results."""
    prompt = Prompt(style=style)
    prompt.add("system", "Use the tools.")
    for number in range(earlier):
        prompt.add("user", f"earlier question {number}")
        prompt.add("assistant", f"earlier answer {number}")
    prompt.add("user", "the task")
    for number, lengths in enumerate(results):
        prompt.open("assistant")
        prompt.append_completion(None, CALL % number)
        for length in lengths:
            prompt.add("tool", f"result of {number}: " + "x " * length)
    if opened:
        prompt.open("assistant")
    return prompt


pairs = st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=3), max_size=6)
styles = st.sampled_from(["course", "qwen3"])
policies = st.sampled_from(["drop", "shorten", "summarise"])


@settings(max_examples=60)
@given(pairs, styles, policies, st.integers(1, 3000), st.integers(0, 2), st.booleans())
def test_pruning(small, results, style, policy, budget, earlier, opened):
    prompt = prompt_of(results, style=style, earlier=earlier, opened=opened)
    before, fixed_before = prompt.snapshot(), parts(prompt, small)
    after, pruning = prune(prompt, budget, policy, llm=small, summarise=lambda text: "In short: x.")
    assert prompt == before
    text = after.text
    assert text.count("Use the tools.") == text.count("the task") == 1
    assert after.count(small) == pruning.tokens_after <= pruning.tokens_before
    for number, lengths in enumerate(results):
        there = CALL % number in text
        assert text.count(f"result of {number}:") == (len(lengths) if there else 0)
    for number in range(earlier):
        assert text.count(f"earlier question {number}") == text.count(f"earlier answer {number}")
    if results:
        assert CALL % (len(results) - 1) in text
        assert "x " * results[-1][-1] in text  # the last result is whole
    kept = [n for n in range(len(results)) if CALL % n in text]
    assert kept == sorted(kept)
    if kept:
        assert kept == list(range(kept[0], len(results)))  # the oldest went first
    fixed, left = parts(after, small)
    assert len(fixed) == len(fixed_before[0])
    if pruning.tokens_after > budget:  # nothing is left that may go
        assert len(left) == bool(results)
    if pruning.tokens_before <= budget:
        assert after == prompt
        assert (pruning.dropped, pruning.read_again) == ((), 0)
    same = shared_prefix(prompt.tokens(small), after.tokens(small))
    assert pruning.read_again == pruning.tokens_after - same
    assert [span.turn for span in after.spans] == sorted(span.turn for span in after.spans)


def test_shortening_comes_before_dropping(small):
    prompt = prompt_of([[300], [300], [300]])
    after, pruning = prune(prompt, 1900, "shorten", llm=small)
    assert [line.split(" ")[0] for line in pruning.dropped] == ["shortened"]
    assert "characters were left out" in after.text
    after, pruning = prune(prompt, 1200, "shorten", llm=small)
    assert [line.split(" ")[0] for line in pruning.dropped] == ["shortened", "shortened", "dropped"]


def test_a_summary_stands_in_the_place_of_what_went(small):
    asked = []

    def summarise(text):
        asked.append(text)
        return "Page 0 says x."

    prompt = prompt_of([[300], [300], [10]], earlier=1)
    after, pruning = prune(prompt, 600, "summarise", llm=small, summarise=summarise)
    assert len(pruning.dropped) == 3
    assert "earlier question 0" in asked[0]
    assert "result of 1" in asked[0]
    assert "\n[What was left out here, in short]\nPage 0 says x.<|im_end|>" in after.text
    again, _ = prune(after, 1, "summarise", llm=small, summarise=summarise)
    assert "Page 0" not in again.text


@pytest.mark.parametrize(
    ("options", "words"),
    [({"policy": "forget"}, "drop, shorten"), ({"policy": "summarise"}, "function")],
)
def test_wrong_options_are_explained(small, options, words):
    with pytest.raises(ToolcallLabError, match=words):
        prune(prompt_of([]), 10, llm=small, **options)
    with pytest.raises(ToolcallLabError, match="policy is"):
        run_agent(Saying(small), Toolbox(), "?", policy="forget")


@tool
def read(page: int) -> str:
    """Reads a page."""
    return f"page {page}: " + "word " * 60


@pytest.mark.parametrize("policy", ["drop", "shorten", "summarise"])
def test_a_long_run_goes_on_with_a_policy(small, policy, tmp_path):
    llm = Saying(small, *[CALL % n for n in range(40)], n_ctx=2048, tokens=True)
    path = tmp_path / "run.jsonl"
    run = run_agent(
        llm, Toolbox([read]), "Read all.", policy=policy, max_tokens=100, max_steps=12, path=path
    )
    assert run.ending == "step_limit"
    pruned = [step.pruning for step in run.steps if step.pruning]
    assert pruned
    assert all(sum(map(len, step.prompt_tokens)) <= 2048 - 100 for step in run.steps)
    for pruning in pruned:
        assert pruning.tokens_after <= 0.7 * (2048 - 100)
        assert str(pruning).startswith(policy)
    loaded = Run.load(path)
    loaded.path = run.path
    assert loaded == run


def test_without_a_policy_or_with_nothing_to_drop_the_run_ends(small):
    texts = [CALL % number for number in range(12)]
    run = run_agent(Saying(small, *texts, n_ctx=2048), Toolbox([read]), "Read all.", max_steps=12)
    assert run.ending == "context_full"
    assert "read(page=0): page 0: word" in run.answer

    llm = Saying(small, "x", n_ctx=256)
    run = run_agent(llm, Toolbox([weather()]), "?", policy="drop", max_tokens=10)
    assert (run.ending, run.steps, llm.prompts) == ("context_full", [], [])


def test_live_pruning_costs_what_it_says(llm, box):
    """On the real model: the tokens that are read after pruning are those that were announced."""
    run = run_agent(
        Saying(llm, *[WEATHER % city for city in ("Oslo", "Lima", "Rome")]), box, "?", max_steps=3
    )
    prompt = run.prompt()
    prompt.open("assistant")
    llm(prompt.tokens(llm), max_tokens=1, temperature=0)
    after, pruning = prune(prompt, prompt.count(llm) - 20, llm=llm)
    assert len(pruning.dropped) == 1
    answer = llm(after.tokens(llm), max_tokens=1, temperature=0)
    assert answer["usage"]["evaluated_tokens"] == pruning.read_again
