"""`TokenView`: what was forced, chosen and wanted, as it was recorded; with and without records."""

import pytest

from tests.test_agent import WEATHER, Saying
from toolcall_lab import Run, ToolcallLabError, grammar, run_agent
from toolcall_lab.generation import Generation, TokenRecord
from toolcall_lab.widgets import TokenView
from toolcall_lab.widgets.token_view import detail, reweighed


@pytest.fixture
def made(tiny, box):
    return grammar.generate(tiny, "Weather? ", grammar.tool_call(box), max_tokens=200, seed=3)


def test_each_token_is_there_once(made, tiny):
    view = TokenView(made, tiny)
    lines = view.to_text().splitlines()
    chosen = [line for line in lines if line.startswith("chosen")]
    forced = [int(line.split()[1]) for line in lines if line.startswith("forced")]
    assert sum(forced) == made.forced
    assert len(chosen) + sum(forced) == len(made.tokens)
    assert f"{len(made.tokens)} tokens: {made.forced} forced, {len(chosen)} chosen" in lines[0]
    assert view.to_html().count("<tr><td>") == len(chosen)


def test_what_was_wanted_and_masked_is_named(tiny):
    record = TokenRecord(65, False, 0.2, 3, 0.3, ((66, 0.7, False), (65, 0.2, True)))
    forced = TokenRecord(123, True)
    made = Generation("{A", [123, 65], "stop", 1, 1, 5, 5, (forced, record), "Tiny", "live")
    text = TokenView(made, tiny).to_text()
    wanted, chosen = (tiny.detokenize([token], special=True).decode() for token in (66, 65))
    assert f"wanted {wanted!r} (70%), not allowed" in text
    assert f"chosen  20%  {chosen}" in text
    assert f"<s><code>{wanted}</code> 70%</s> not allowed" in TokenView(made, tiny).to_html()


def test_temperature_weighs_the_allowed_ones_anew():
    record = TokenRecord(1, False, 0.4, 2, 0.6, ((3, 0.4, False), (1, 0.4, True), (2, 0.2, True)))
    for temperature, share in ((0, 1.0), (1, 2 / 3), (2, 0.5857864)):
        found = {token: weight for token, _, weight in reweighed(record, temperature)}
        assert found[3] == 0
        assert found[1] == pytest.approx(share)
        assert sum(found.values()) == pytest.approx(1)
    nothing = TokenRecord(9, False, 0.0, 1, 0.0, ((3, 0.9, False),))
    assert reweighed(nothing, 1) == [(3, 0.9, 0.0)]


def test_a_run_keeps_its_records(llm, box, tmp_path):
    constraint = [grammar.tool_call(box), grammar.text()]
    run = run_agent(
        llm, box, "Weather in Paris?", constraint=constraint, max_tokens=60, max_steps=2
    )
    run.save(tmp_path / "run.jsonl")
    again = Run.load(tmp_path / "run.jsonl")
    assert again.steps[0].records == run.steps[0].records
    assert len(run.steps[0].records) == len(run.steps[0].completion_tokens)
    assert repr(TokenView(again, step=1)) == repr(TokenView(run, step=1))
    assert "Step 1 of 2: " in repr(TokenView(again, step=1))


def test_without_records_it_says_so(tiny, box):
    llm = Saying(tiny, WEATHER % "Tokyo", "22 °C.", tokens=True)
    view = TokenView(run_agent(llm, box, "Weather?"))
    assert "of which no probabilities were recorded" in repr(view)
    assert "<table>" not in view.to_html()
    assert "widget-view" not in str(view._repr_mimebundle_())


def test_what_cannot_be_shown_is_said(made, tiny, box):
    run = run_agent(Saying(tiny, "Hi.", tokens=True), box, "?")
    for call, said in (
        (lambda: TokenView(made), "give the model too"),
        (lambda: TokenView(run, step=7), "no step 7"),
        (lambda: TokenView(run_agent(Saying(tiny, "Hi."), box, "?")), "doesn't say which tokens"),
    ):
        with pytest.raises(ToolcallLabError, match=said):
            call()


def test_nothing_in_a_token_is_markup(tiny):
    hostile = '<script>"\x1b\u202e'
    record = TokenRecord(0, False, 0.5, 2, 1.0, ((0, 0.5, True), (1, 0.5, False)))
    view = TokenView(Generation("", [0], "stop", 1, 0, 1, 1, (record,), hostile, "live"), tiny)
    view.written.pieces.update({0: hostile, 1: hostile})
    for text in (view.to_html(), detail(view.written, 0, 1.0)):
        assert "<script" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_the_buttons_go_from_choice_to_choice(made, tiny):
    view = TokenView(made, tiny)
    box = view.widget()
    strip, (back, forth, heat), below = box.children[0], box.children[1].children, box.children[2]
    places = view.written.chosen
    assert back.disabled
    forth.click()
    assert view.at == places[1]
    assert f"Token {places[1] + 1}: " in below.value
    before = below.value
    heat.value = 0.2
    assert "temperature 0.2" in below.value != before
    assert "▸" in strip.value
    view.close()
