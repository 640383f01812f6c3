"""What all views have in common: safe, without a kernel too, every control named, nothing left."""

import gc
import weakref

import ipywidgets
import pytest

from tests.test_agent import WEATHER, Saying
from tests.test_prompt_view import Tags
from toolcall_lab import Toolbox, grammar, run_agent, tool
from toolcall_lab.widgets import (
    AgentPlayer,
    CallReader,
    ContextGauge,
    PromptView,
    Timeline,
    TokenView,
)

VIEWS = [PromptView, ContextGauge, Timeline, TokenView, CallReader, AgentPlayer]
HOSTILE = (
    '</script><script>alert(1)</script><img src=x onerror="alert(1)"><a href="javascript:alert(1)">'
    "</pre></td></table><details ontoggle=alert(1) open><style>*{display:none}</style>"
    "\x1b[31mred\x1b]8;;http://x\x07 \u202eright to left\u2066 zero\u200bwidth\ufeff \ud800 \x00"
)
UNSEEN = "\x1b\x07\x00\u202e\u2066\u200b\ufeff\ud800"


@pytest.fixture(scope="module")
def hostile(tiny):
    """A run in which the user, the model, a tool's name, arguments and its result are hostile."""

    @tool
    def page(url: str) -> str:
        """Reads."""
        return HOSTILE

    call = '{"tool_call": {"name": "page", "arguments": {"url": "<script>\\u202e\\u001b"}}}'
    llm = Saying(tiny, call, f"{HOSTILE}\n{call}", WEATHER % HOSTILE, HOSTILE, tokens=True)
    llm.name = f"Evil {HOSTILE}"
    return run_agent(llm, Toolbox([page]), HOSTILE)


@pytest.fixture(scope="module")
def ordinary(tiny):
    """A run with token records."""
    from toolcall_lab.toolkit import default_toolbox

    box = default_toolbox()
    options = {"system": "Tools.", "max_tokens": 100, "max_steps": 2}
    return run_agent(tiny, box, "Weather?", constraint=grammar.tool_call(box), **options)


def html_of(widget):
    """All HTML that a widget shows."""
    if isinstance(widget, ipywidgets.HTML):
        return widget.value
    return "".join(map(html_of, getattr(widget, "children", ())))


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_that_somebody_wrote_is_markup_or_unseen(hostile, view):
    shown = view(hostile)
    box = shown.widget()
    for markup in (shown.to_html(), html_of(box) if box else ""):
        tags = Tags(markup).found
        assert not tags & {"script", "img", "a", "onerror", "ontoggle", "href", "src"}
        assert not set(markup) & set(UNSEEN)
        assert "display:none" not in markup.split("</style>", 1)[-1].replace("*{display:none}", "")
        markup.encode()
    assert not set(repr(shown)) & set(UNSEEN)
    repr(shown).encode()
    shown.close()


@pytest.mark.parametrize("view", VIEWS)
def test_close_gives_everything_back(ordinary, view):
    kept = ipywidgets.widgets.widget._instances
    before = len(kept)
    shown = view(ordinary)
    for _ in range(3):  # as often as it's displayed
        shown.widget()
    assert len(kept) > before
    shown.close()
    assert len(kept) == before
    gone = weakref.ref(shown)
    del shown
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("view", VIEWS)
def test_every_control_has_a_name_and_none_is_one_that_hides_it(ordinary, view):
    """No slider, Play, Accordion, Output, Image: they have no accessible name, or other faults."""
    allowed = {"HTML", "VBox", "HBox", "Button", "ToggleButtons", "Text", "Textarea", "Dropdown"}
    allowed |= {"BoundedIntText", "BoundedFloatText"}
    shown = view(ordinary)
    waiting = [shown.widget()]
    while waiting:
        widget = waiting.pop()
        waiting += getattr(widget, "children", ())
        assert type(widget).__name__ in allowed
        assert type(widget).__name__ in ("HTML", "VBox", "HBox") or widget.description
    shown.close()


@pytest.mark.parametrize("view", VIEWS)
def test_static_and_live_show_the_same(ordinary, view, monkeypatch):
    """What is in the output without a kernel is a text and HTML; no widget is made for it."""
    kept = ipywidgets.widgets.widget._instances
    before = len(kept)
    monkeypatch.setenv("TOOLCALL_LAB_STATIC", "1")
    shown = view(ordinary)._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert len(kept) == before
    assert shown["text/plain"] == repr(view(ordinary))
