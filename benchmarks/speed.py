"""How long a call takes on the embedded model: `make bench`.

Everything is measured side by side in one run, several times, alternating; medians are printed.
Seconds are this machine's at this moment; the ratios tell more.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from toolcall_lab import Prompt, grammar, load_model, read_tool_calls
from toolcall_lab.agent import system_prompt
from toolcall_lab.chatml import STOP
from toolcall_lab.models.local import LocalModel
from toolcall_lab.toolkit import default_toolbox

ROUNDS = 5
CITIES = ("Oslo", "Lima", "Madrid", "Dublin", "Nantes")


def prompt_for(city: str) -> Prompt:
    prompt = Prompt()
    prompt.add("system", system_prompt(default_toolbox()))
    prompt.add("user", f"What is the weather in {city}?")
    prompt.open("assistant")
    return prompt


def free(llm: LocalModel, city: str) -> str:
    output = llm(prompt_for(city).tokens(llm), max_tokens=60, temperature=0, stop=STOP)
    return str(output["choices"][0]["text"])


def held(llm: LocalModel, city: str) -> str:
    constraint = grammar.tool_call_or_text(default_toolbox())
    return grammar.generate(llm, prompt_for(city), constraint, max_tokens=60).text


def seconds(ask: Callable[[LocalModel, str], str], llm: LocalModel, city: str) -> float:
    """The time of one call; the answer must be one."""
    started = time.perf_counter()
    text = ask(llm, city)
    took = time.perf_counter() - started
    assert read_tool_calls(text, default_toolbox()).calls, f"no call: {text!r}"
    return took


def main() -> dict[str, float]:
    """Prints the medians and returns them, in seconds."""
    llm = load_model()
    held(llm, CITIES[0])  # the vocabulary is read once
    total = len(prompt_for(CITIES[0]).tokens(llm))
    times: dict[str, list[float]] = {}
    for city in CITIES[:ROUNDS]:
        llm.reset()
        times.setdefault("cold: the whole prompt is read", []).append(seconds(free, llm, city))
        times.setdefault("warm: the system prompt was read before", []).append(
            seconds(free, llm, f"{city} today")
        )
        times.setdefault("warm, a valid call or a text", []).append(seconds(held, llm, city))
    print(f"{llm.name}, {llm.n_threads} threads; a prompt of {total} tokens, medians of {ROUNDS}")
    first = statistics.median(next(iter(times.values())))
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:<42}{median:6.2f} s {median / first:6.2f} x")
    return {name: statistics.median(values) for name, values in times.items()}


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / Path(__file__).with_suffix(".json").name).write_text(json.dumps(main(), indent=1))
