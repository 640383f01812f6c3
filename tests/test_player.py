"""`AgentPlayer`, and runs that are shown and stopped while they go on."""

import threading
import time

import pytest

from tests.test_agent import WEATHER, Saying
from toolcall_lab import Prompt, Run, ToolcallLabError, run_agent
from toolcall_lab.errors import Stopped
from toolcall_lab.widgets import AgentPlayer, ContextGauge, PromptView, Timeline, live
from toolcall_lab.widgets.live import Background, LiveRun

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"


@pytest.fixture
def run(tiny, box):
    llm = Saying(tiny, WEATHER % "Tokyo", WEATHER % "Atlantis", "", "22 °C.", tokens=True)
    return run_agent(llm, box, "Weather?")


def test_a_line_a_step_and_the_ending(run):
    player = AgentPlayer(run)
    lines = player.to_text().splitlines()
    assert lines[0].startswith("Weather? · answered: ")
    assert len(lines) == 1 + len(run.steps)
    assert "get_weather(city='Tokyo') -> " in lines[1]
    assert [n for n, line in enumerate(lines) if line[4:5] == "!"] == player.problems == [2, 3]


def test_each_step_can_be_opened_without_a_kernel(run):
    markup = AgentPlayer(run).to_html()
    assert markup.count("<details") == len(run.steps)
    assert markup.count("<details open") == 1
    assert markup.count("1 call: get_weather(") == 2


def test_nothing_in_a_player_is_markup(tiny, box):
    llm = Saying(tiny, HOSTILE, tokens=True)
    player = AgentPlayer(run_agent(llm, box, HOSTILE))
    for shown in (player.to_html(), player.to_text(), player.widget().children[2].value):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert "<script" not in player.to_html()


def test_what_cannot_be_played_is_said(run):
    with pytest.raises(ToolcallLabError, match="no step 9; the run has 4"):
        AgentPlayer(run, step=9)
    with pytest.raises(ToolcallLabError, match=r"\.jsonl or as \.html"):
        AgentPlayer(run).export("run.txt")


def test_a_run_stopped_before_its_first_step_is_kept(tiny, box, tmp_path):
    player = AgentPlayer.run(Saying(tiny, KeyboardInterrupt()), box, "Weather?")
    assert (
        repr(player)
        == "Weather? · interrupted: The run was interrupted; the steps so far are kept."
    )
    assert player.widget() is None
    assert "interrupted" in player.export(tmp_path / "run.html").read_text(encoding="utf-8")


def test_a_run_is_exported(run, tmp_path):
    player = AgentPlayer(run)
    assert Run.load(player.export(tmp_path / "run.jsonl")).answer == run.answer
    page = player.export(tmp_path / "run.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "src=" not in page
    assert "Step 4" in page


def test_the_buttons_go_through_the_run(run, monkeypatch):
    player = AgentPlayer(run)
    head, controls, _ = player.widget().children
    first, _back, play, forth, end, problem = controls.children
    assert first.disabled
    forth.click()
    assert "step 2 of 4" in head.value
    problem.click()
    assert player.step == 3
    problem.click()
    assert player.step == 2  # round again
    end.click()
    assert forth.disabled
    assert player.step == 4
    monkeypatch.setattr("toolcall_lab.widgets.agent_player.SECONDS", 0.01)
    play.click()  # from the beginning
    for _ in range(500):
        if player.step == 4 and play.description == "Play":
            break
        time.sleep(0.01)
    assert player.step == 4
    player.close()


def test_frames_are_few_and_what_is_sent_grows_with_the_time(monkeypatch):
    sent = {}
    for count in (1000, 2000):
        clock = iter(n / 60 for n in range(10**6))  # a token each time that somebody looks
        monkeypatch.setattr(live.time, "monotonic", lambda clock=clock: next(clock))
        shown = LiveRun(lambda *_, **__: None, None)
        for n in range(count):
            shown._hear(f"word{n} ")
        sent[count] = shown.screen.sent
        assert shown.screen.frames <= count / 60 * 10 * 2 + 1
    assert 1.5 < sent[2000] / sent[1000] < 2.5


def test_a_run_in_the_cell_is_a_player(tiny, box):
    player = AgentPlayer.run(Saying(tiny, "22 °C.", tokens=True), box, "Weather?")
    assert player.shown.answer == "22 °C."


def test_a_background_run_is_stopped_in_the_middle_of_writing(llm, box):
    running = Background(run_agent, llm, box, "Tell me a very long story.", max_tokens=400)
    running.begin()
    while not running._written and running.running:
        time.sleep(0.01)
    seen = llm.tokens_evaluated
    running.stop()
    run = running.wait(60)
    assert run.ending == "interrupted"
    assert llm.tokens_evaluated - seen < 50
    assert run.steps[-1].completion
    assert llm.stopping is None
    assert "interrupted" in running.to_text()


def test_a_background_run_is_stopped_while_it_reads(llm, box):
    llm.reset()
    seen = llm.tokens_evaluated
    running = Background(run_agent, llm, box, "long " * 800)
    running.begin()
    while llm.tokens_evaluated == seen and running.running:
        time.sleep(0.005)
    running.stop()
    assert running.wait(60).ending == "interrupted"
    assert llm.tokens_evaluated - seen < 500


def test_a_prompt_is_read_the_same_in_parts(llm):
    prompt = Prompt()
    prompt.add("user", "one two three " * 60)
    ids = prompt.tokens(llm)
    llm.reset()
    whole = llm.next_logits(ids)
    llm.reset()
    llm.stopping = threading.Event()
    try:
        before = llm.tokens_evaluated
        parts = llm.next_logits(ids)
        assert llm.tokens_evaluated - before == len(ids)
        llm.stopping.set()
        with pytest.raises(Stopped):
            llm.next_logits([*ids, 5, 6])
    finally:
        llm.stopping = None
    assert whole.argmax() == parts.argmax()
    assert abs(whole - parts).max() < 0.5


def test_what_fails_in_the_background_is_raised_where_it_is_waited_for(tiny, box):
    running = Background(run_agent, Saying(tiny, "Hi."), box, "?", max_tokens=0)
    running.begin()
    with pytest.raises(ToolcallLabError, match="max_tokens=0"):
        running.wait(10)


def test_without_widgets_start_waits(tiny, box, monkeypatch):
    monkeypatch.setenv("TOOLCALL_LAB_STATIC", "1")
    running = AgentPlayer.start(Saying(tiny, "22 °C.", tokens=True), box, "Weather?")
    assert not running.running
    assert running.wait().answer == "22 °C."


def test_a_long_run_is_shown_in_little(tiny, box):
    """200 steps: less than 2 MB of HTML in each view."""
    llm = Saying(tiny, *[WEATHER % f"City {n}" for n in range(199)], "Done.", tokens=True)
    llm.n_ctx = lambda: 10**6
    run = run_agent(llm, box, "Go", max_steps=200)
    assert len(run.steps) == 200
    for view in (AgentPlayer(run), PromptView(run), Timeline(run), ContextGauge(run)):
        assert len(view.to_html()) < 2_000_000
    assert len(AgentPlayer(run).details(150, tokens=True)) < 200_000
