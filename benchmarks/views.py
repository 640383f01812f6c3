"""What it costs to look at a long run: `make bench`.

A run of 200 steps and 100,000 tokens, of a scripted model. For each view the seconds until its HTML
and its text are there, and their bytes; and the bytes that a live view sends for 1,000 tokens and
for 2,000.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolcall_lab import Run, ScriptedModel, Toolbox, run_agent, tool
from toolcall_lab.widgets import AgentPlayer, ContextGauge, PromptView, Timeline, live

STEPS, WORDS = 200, 480


@tool
def read(page: int) -> str:
    """Reads a page."""
    return "word " * WORDS


def long_run() -> Run:
    """A page in each step but the last."""
    calls = [
        json.dumps({"tool_call": {"name": "read", "arguments": {"page": page}}})
        for page in range(STEPS - 1)
    ]
    llm = ScriptedModel([*calls, "That's all."], n_ctx=200_000)
    return run_agent(llm, Toolbox([read], max_chars=4000), "Read it all.", max_steps=STEPS)


def sent_for(tokens: int) -> int:
    """Bytes that a live view sends while so many tokens come, sixty a second."""
    now = iter(n / 60 for n in range(10**6))
    clock, live.time.monotonic = live.time.monotonic, lambda: next(now)
    try:
        shown = live.LiveRun(lambda *_, **__: None, None)
        for n in range(tokens):
            shown._hear(f"word{n} ")
    finally:
        live.time.monotonic = clock
    return shown.screen.sent


def main() -> dict[str, Any]:
    """Prints the table and returns what is in it."""
    run = long_run()
    tokens = sum(map(len, run.steps[-1].prompt_tokens))
    views: dict[str, Callable[[Run], Any]] = {
        "PromptView": PromptView,
        "ContextGauge": ContextGauge,
        "Timeline": Timeline,
        "AgentPlayer": AgentPlayer,
    }
    print(f"a run of {len(run.steps)} steps, its last prompt has {tokens} tokens")
    found = {}
    for name, view in views.items():
        started = time.perf_counter()
        shown = view(run)
        sizes = [len(shown.to_html().encode()), len(shown.to_text().encode())]
        seconds = time.perf_counter() - started
        found[name] = {"seconds": seconds, "html": sizes[0], "text": sizes[1]}
        print(f"{name:<14}{seconds:6.2f} s {sizes[0]:>9} bytes of HTML {sizes[1]:>8} of text")
    sent = {count: sent_for(count) for count in (1000, 2000)}
    print(f"live: {sent[1000]} bytes for 1,000 tokens, {sent[2000] / sent[1000]:.2f} x for twice")
    return {"tokens": tokens, "views": found, "sent": sent}


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / Path(__file__).with_suffix(".json").name).write_text(json.dumps(main(), indent=1))
