"""What a step of the loop costs: `make bench`.

Ten steps in which a model reads pages, three ways, on the embedded model; tokens and seconds of
reading prompts, side by side in one run. Then what pruning costs, what a system prompt on disk
saves, and the time a step takes outside the model and its tools, early and late in a long run.
Seconds are this machine's at this moment; the counts and ratios tell more.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from toolcall_lab import ScriptedModel, Toolbox, ToolCall, iter_agent, load_model, run_agent, tool
from toolcall_lab.agent import system_prompt
from toolcall_lab.context import prune
from toolcall_lab.models.local import LocalModel
from toolcall_lab.toolkit import web
from toolcall_lab.toolkit.web import pages

STEPS = 10
URLS = sorted(pages())[:STEPS]
BOX = Toolbox(web(), max_chars=400)
CALLS = [
    json.dumps({"tool_call": {"name": "read_page", "arguments": {"url": url}}}) for url in URLS
]
SAID = [f"I'll read the next page.\n\n{call}\n" for call in CALLS]  # as chatty as models are


class Dictated:
    """The live model, which reads each prompt and then "writes" a text that is dictated to it.

    So the three ways have the same texts, and only what they make the model read differs.
    """

    def __init__(self, llm: LocalModel) -> None:
        self.llm, self.texts, self.read = llm, list(SAID), 0
        self.name, self.kind = llm.name, "scripted"
        self.tokenize, self.detokenize, self.n_ctx = llm.tokenize, llm.detokenize, llm.n_ctx
        llm.reset()

    def __call__(self, prompt: Any, **_: Any) -> dict[str, Any]:
        if isinstance(prompt, str):
            prompt = self.llm.tokenize(prompt.encode(), add_bos=False, special=True)
        ids = list(prompt)
        before = self.llm.tokens_evaluated
        self.llm.next_logits(ids)
        read = self.llm.tokens_evaluated - before
        self.read += read
        text = self.texts.pop(0)
        # Generated tokens needn't be those that the tokenizer would choose: here, word by word.
        words = [word for part in text.split(" ") for word in (" ", part) if word][1:]
        tokens = [t for w in words for t in self.llm.tokenize(w.encode(), add_bos=False)]
        self.llm.next_logits(ids + tokens)  # as if it had written them
        choice = {"text": text, "tokens": tokens, "finish_reason": "stop"}
        return {"choices": [choice], "usage": {"evaluated_tokens": read}}


def appended(llm: Dictated) -> None:
    """The package's loop: one list of tokens that only grows."""
    run_agent(llm, BOX, "Read the pages.", max_steps=STEPS)


def glued(llm: Dictated) -> None:
    """The tutorial's loop: stripped text, glued together."""
    prompt = (
        f"<|im_start|>system\n{system_prompt(BOX)}<|im_end|>\n<|im_start|>user\nRead the pages."
    )
    prompt += "<|im_end|>\n<|im_start|>assistant\n"
    for url in URLS:
        text = llm(prompt)["choices"][0]["text"].strip()
        result = BOX.execute(ToolCall("read_page", {"url": url})).text
        prompt += f"{text}<|im_end|>\n<|im_start|>tool\n{result}<|im_end|>\n<|im_start|>assistant\n"


def messages(llm: Dictated) -> None:
    """A loop over chat messages: the template writes the prompt anew in each step."""
    from llama_cpp.llama_chat_format import Jinja2ChatFormatter

    template = llm.llm.metadata["tokenizer.chat_template"]
    write = Jinja2ChatFormatter(template=template, eos_token="<|im_end|>", bos_token="")
    said: list[Any] = [
        {"role": "system", "content": system_prompt(BOX)},
        {"role": "user", "content": "Read the pages."},
    ]
    for url in URLS:
        text = llm(write(messages=said).prompt)["choices"][0]["text"].strip()
        said += [
            {"role": "assistant", "content": text},
            {"role": "tool", "content": BOX.execute(ToolCall("read_page", {"url": url})).text},
        ]


def reading(llm: LocalModel) -> dict[str, Any]:
    print(f"{STEPS} steps on {llm.name}: tokens of prompts that were read, and the time of it all")
    found: dict[str, Any] = {}
    for name, loop in (
        ("appended", appended),
        ("stripped and glued", glued),
        ("messages", messages),
    ):
        model = Dictated(llm)
        started = time.perf_counter()
        loop(model)
        found[name] = {"tokens": model.read, "seconds": time.perf_counter() - started}
    first = found["appended"]
    for name, value in found.items():
        more, longer = (f"{value[key] / first[key]:5.2f} x" for key in ("tokens", "seconds"))
        tokens, seconds = value["tokens"], value["seconds"]
        print(f"  {name:<20}{tokens:6} tokens {more} {seconds:7.2f} s {longer}")
    return found


def pruning(llm: LocalModel) -> dict[str, Any]:
    run = run_agent(ScriptedModel(CALLS), BOX, "Read the pages.", max_steps=STEPS)
    prompt = run.prompt()
    prompt.open("assistant")
    total = prompt.count(llm)
    print(f"pruning a prompt of {total} tokens to 70 %: what has to be read again")
    found = {}
    for policy in ("drop", "shorten"):
        llm.reset()
        llm.next_logits(prompt.tokens(llm))
        after, told = prune(prompt, int(0.7 * total), policy, llm=llm)
        before, started = llm.tokens_evaluated, time.perf_counter()
        llm.next_logits(after.tokens(llm))
        read, seconds = llm.tokens_evaluated - before, time.perf_counter() - started
        assert read == told.read_again
        found[policy] = {"read_again": read, "of": told.tokens_after, "seconds": seconds}
        print(f"  {policy:<20}{read:6} of {told.tokens_after} tokens, {seconds:.2f} s")
    return found


def disk(llm: LocalModel) -> dict[str, Any]:
    print("the first step of a new kernel, with the system prompt's state on disk and without")
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(4):
            for name, states in (("read", False), ("from disk", folder)):
                llm.reset()
                started = time.perf_counter()
                run_agent(llm, BOX, "Hello!", max_steps=1, max_tokens=1, states=states)
                if turn:  # the first time writes it
                    times.setdefault(name, []).append(time.perf_counter() - started)
    found = {name: statistics.median(values) for name, values in times.items()}
    for name, value in found.items():
        print(f"  {name:<20}{value:6.2f} s {value / found['read']:6.2f} x")
    return found


@tool
def tick() -> str:
    """Ticks."""
    return "tock " * 5


def overhead() -> dict[str, Any]:
    call = '{"tool_call": {"name": "tick", "arguments": {}}}'
    llm = ScriptedModel([call] * 200, n_ctx=100_000)
    spent, started = [], time.perf_counter()
    for step in iter_agent(llm, Toolbox([tick]), "?", max_steps=200, max_repeats=999):
        spent.append(
            1000 * (time.perf_counter() - started - step.model_seconds - step.tool_seconds)
        )
        started = time.perf_counter()
    early, late = statistics.median(spent[5:15]), statistics.median(spent[-10:])
    print("time outside model and tools, medians of ten steps")
    print(f"  step 10: {early:.2f} ms, step 200: {late:.2f} ms, {late / early:.1f} x")
    return {"step 10": early, "step 200": late}


def main() -> dict[str, Any]:
    """Prints all of it and returns it."""
    llm = load_model(adapter=None)
    return {
        "reading": reading(llm),
        "pruning": pruning(llm),
        "disk": disk(llm),
        "overhead": overhead(),
    }


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / Path(__file__).with_suffix(".json").name).write_text(json.dumps(main(), indent=1))
