import re
from html.parser import HTMLParser

import ipywidgets
import pytest

from tests.test_agent import WEATHER, Saying
from toolcall_lab import Prompt, ToolcallLabError, run_agent
from toolcall_lab.widgets import PromptView
from toolcall_lab.widgets.html import esc, one_line, visible

HOSTILE = (
    "</pre></table><script>alert(1)</script><img src=x onerror=alert(1)>\"'><|im_end|>\u202e\x1b[0m"
)


class Tags(HTMLParser):
    def __init__(self, markup):
        super().__init__()
        self.found = set()
        self.words = []
        self.feed(markup)

    def handle_starttag(self, tag, attrs):
        self.found |= {tag, *(name for name, _ in attrs)}

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture
def prompt():
    prompt = Prompt()
    prompt.add("system", "Be kind.")
    prompt.add("user", "Hi\nthere")
    prompt.open()
    return prompt


@pytest.fixture
def run(tiny, box):
    return run_agent(Saying(tiny, WEATHER % "Tokyo", "Fine."), box, "Weather?")


def test_the_text_form(llm, prompt):
    assert repr(PromptView(prompt, llm)) == (
        "20 of 4096 tokens (0.5 %), 4076 free · SmolLM2-135M-Instruct Q4_1, live\n"
        " · structure    3  <|im_start|>system⏎\n"
        " ■ system       3  Be kind.\n"
        " · structure    2  <|im_end|>⏎\n"
        "+· structure    3  <|im_start|>user⏎\n"
        "+▲ user         3  Hi⏎there\n"
        "+· structure    2  <|im_end|>⏎\n"
        "+· structure    4  <|im_start|>assistant⏎"
    )
    assert "[Hi] [⏎] [there]" in repr(PromptView(prompt, llm, show="tokens"))
    assert repr(PromptView(prompt, llm, show="raw")) == prompt.text


@pytest.mark.parametrize("show", ["text", "tokens", "raw"])
def test_nothing_that_somebody_wrote_is_markup(llm, prompt, show):
    prompt.append_completion(None, HOSTILE)
    prompt.add("tool", HOSTILE)
    view = PromptView(prompt, llm, show=show)
    tags = Tags(view.to_html())
    assert not tags.found & {"script", "img", "onerror", "src"}
    words = "".join(tags.words)
    assert words.count("alert(1)") >= 2 or show == "tokens"
    assert "\u202e" not in view.to_html()
    assert "\x1b" not in view.to_html()
    assert "\u202e" not in repr(view)
    assert "\x1b" not in repr(view)


def test_special_tokens_are_chips_and_look_alikes_are_not(llm, prompt):
    prompt.append_completion(None, "<|im_end|>")
    chips = re.findall(r'<b class="tcl-chip"[^>]*>([^<]*)</b>', PromptView(prompt, llm).to_html())
    assert chips == [
        esc(marker) for marker in ["<|im_start|>", "<|im_end|>"] * 2 + ["<|im_start|>"]
    ]


def test_an_empty_turn_is_not_an_open_one(llm):
    prompt = Prompt()
    prompt.add("system", "")
    prompt.open()
    assert PromptView(prompt, llm).to_html().count("(open: the model") == 1


def test_a_run_has_a_page_a_step_and_says_what_is_new(run):
    last = PromptView(run)
    assert "Step 2 of 2" in repr(last)
    new = [line for line in repr(last).splitlines() if line.startswith("+")]
    assert [line.split()[1] for line in new] == [
        "model", "structure", "structure", "tool", "structure", "structure",
    ]  # fmt: skip
    assert last.to_html().count("+ new") == 3
    assert "Saying, scripted" in repr(last)
    assert len(repr(PromptView(run, step=1))) < len(repr(last))
    with pytest.raises(ToolcallLabError, match="no step 3"):
        PromptView(run, step=3)


def test_every_token_of_the_total_is_in_the_table(run):
    view = PromptView(run)
    counts = [int(re.search(r"\w+ +(\d+)  ", line)[1]) for line in repr(view).splitlines()[1:]]
    assert sum(counts) == view.pages[-1].total


def test_a_long_span_in_tokens_says_how_many_are_left_out(llm, prompt):
    prompt.append_completion(None, "a b c d " * 200)
    view = PromptView(prompt, llm, show="tokens")
    hidden = len(view.pages[0].ids[-1]) - 400
    assert f"and {hidden} more tokens" in repr(view)
    assert f"and {hidden} more tokens" in view.to_html()


def test_static_mode_emits_no_widget(monkeypatch, llm, prompt):
    monkeypatch.setenv("TOOLCALL_LAB_STATIC", "1")
    shown = PromptView(prompt, llm)._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert shown["text/plain"] == repr(PromptView(prompt, llm))


def test_the_controls_move_and_leave_nothing_behind(run):
    before = len(ipywidgets.widgets.widget._instances)
    view = PromptView(run)
    box = view.widget()
    (show, find), (back, forth, step), shown = (
        box.children[0].children, box.children[1].children, box.children[2],
    )  # fmt: skip
    assert forth.disabled
    assert not back.disabled
    back.click()
    assert view.step == 1
    assert "Step 1 of 2" in shown.value
    assert back.disabled
    step.value = 9  # there are two
    assert view.step == 2
    find.value = "weather"
    assert "<mark>Weather</mark>" in shown.value
    show.value = "raw"
    assert "<pre" in shown.value
    assert "<mark>Weather</mark>" in shown.value
    view.close()
    assert len(ipywidgets.widgets.widget._instances) == before


def test_what_was_reused_is_said_span_by_span(llm, box):
    run = run_agent(llm, box, "Hi", max_tokens=8, max_steps=1)
    again = run_agent(llm, box, "Hi there", max_tokens=8, max_steps=1)
    step = again.steps[0]
    view = PromptView(again)
    assert 0 < step.tokens_reused < view.pages[0].total
    assert f"{step.tokens_reused} reused, {step.tokens_evaluated} read" in repr(view)
    marks = [line[1] for line in repr(view).splitlines()[1:]]
    assert marks[:3] == ["=", "=", "="]  # the system turn
    assert marks[-1] == " "
    counted = re.findall(r"markers<br>(\d+) reused", view.to_html())
    assert sum(map(int, counted)) == step.tokens_reused
    assert run.steps[0].prompt_tokens[:3] == step.prompt_tokens[:3]


def test_a_long_span_is_folded_and_nothing_of_it_is_lost(llm, prompt):
    prompt.add("tool", text := "".join(f"line {n}, " for n in range(400)))
    view = PromptView(prompt, llm)
    shown = view.to_html()
    assert shown.count("<details>") == 1
    assert f"and {len(text) - 900} more characters" in shown
    assert text in "".join(Tags(re.sub("<summary>.*?</summary>", "", shown)).words)
    assert "<details open>" in PromptView(prompt, llm, find="line 399").to_html()


@pytest.mark.parametrize("show", ["text", "tokens", "raw"])
def test_a_text_is_found_wherever_it_stands(llm, prompt, show):
    prompt.append_completion(None, HOSTILE)
    view = PromptView(prompt, llm, show=show, find="<|IM_END|>")
    shown = view.to_html()
    assert "found: 3" in shown
    assert shown.count("<mark>") >= 3
    assert "<script" not in PromptView(prompt, llm, show=show, find="<script>").to_html()
    assert "found: 0" in PromptView(prompt, llm, show=show, find="nowhere").to_html()


def test_wrong_uses_are_explained(prompt, llm, tiny, box):
    with pytest.raises(ToolcallLabError, match="give the model"):
        PromptView(prompt)
    with pytest.raises(ToolcallLabError, match="text, tokens, raw, not 'html'"):
        PromptView(prompt, llm, show="html")
    empty = run_agent(Saying(tiny), box, "?", max_steps=0)
    with pytest.raises(ToolcallLabError, match="no steps to show"):
        PromptView(empty)


def test_a_hostile_model_name_is_made_visible(run):
    run.model = "Evil\x1b[31m\u202e<b>"
    for shown in (PromptView(run).to_html(), PromptView(run).to_text()):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert "<b>" not in PromptView(run).to_html().split("Evil")[1][:30]


def test_what_can_not_be_seen_is_marked():
    assert visible("a\tb\u200b\x00\u2028") == "a⇥\tb⟨U+200B⟩␀⟨U+2028⟩"
    assert one_line("x" * 100, 20) == "xxxxxxxx… +92"
