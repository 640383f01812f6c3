"""What a call costs under a constraint, beside other ways: `make bench`.

Three tools, three questions; the prompt is read before the clock starts. Free text of the same
length, llama.cpp's own grammar of the toolbox, this package's constraint without and with forced
tokens, and the `guidance` package, alternating in one run; medians. Then what a larger toolbox
costs: to compile its constraint, and for each token. `python benchmarks/constraints.py [MODEL]`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evaluation import HERE, prompt_of, requests

from toolcall_lab import Tool, Toolbox, generation, grammar, load_model, read_tool_calls
from toolcall_lab.gbnf import llama_grammar
from toolcall_lab.models.local import LocalModel
from toolcall_lab.toolkit import default_toolbox

QUESTIONS = ("What is the weather in Tokyo?", "Is it sunny in Paris?", "Weather in Oslo, please.")
ROUNDS = 5
GUIDANCE = HERE.parent / ".venv-guidance" / ("Scripts" if os.name == "nt" else "bin") / "python"
Measured = dict[str, list[tuple[float, int, int]]]  # seconds, tokens, evaluations after the prompt


def schema_of(box: Toolbox) -> dict[str, Any]:
    """The calls of a toolbox as one JSON Schema, for the others."""
    calls = [
        grammar._object(name={"const": name}, arguments=tool.closed_parameters)
        for name, tool in box.items()
    ]
    return grammar._object(tool_call={"anyOf": calls})


def ask(box: Toolbox, question: str) -> Any:
    prompt = prompt_of(box)
    prompt.add("user", question)
    prompt.open("assistant")
    return prompt


def ours(llm: LocalModel, ids: list[int], box: Toolbox) -> tuple[float, int, int]:
    constraint = grammar.tool_call(box)
    started = time.perf_counter()
    made = grammar.generate(llm, ids, constraint, max_tokens=80)
    seconds = time.perf_counter() - started
    assert read_tool_calls(made.text, box).calls
    return seconds, len(made.tokens), made.evaluations


@contextmanager
def nothing_forced() -> Iterator[None]:
    """The same generation, but each token is chosen, also where one is possible only."""

    class Unhurried:
        def __init__(self, matcher: Any) -> None:
            self._matcher = matcher

        def __getattr__(self, name: str) -> Any:
            return getattr(self._matcher, name)

        def compute_ff_tokens(self) -> list[int]:
            return []

    made, mask = generation._matcher, generation._mask
    generation._matcher = lambda *given: Unhurried(made(*given))
    generation._mask = lambda matcher, n: mask(matcher._matcher, n)
    try:
        yield
    finally:
        generation._matcher, generation._mask = made, mask


def plainly(llm: LocalModel, ids: list[int], **options: Any) -> tuple[float, int, int]:
    """A completion as llama-cpp-python makes it; the prompt's last token is evaluated once more."""
    before, started = llm.evaluations, time.perf_counter()
    output = llm(ids, temperature=0.0, **options)
    seconds = time.perf_counter() - started
    return seconds, len(output["choices"][0]["tokens"]), llm.evaluations - before - 1


class Guidance:
    """The `guidance` package in its own environment: it wants another version of llguidance."""

    def __init__(self, llm: LocalModel) -> None:
        command = [str(GUIDANCE), str(HERE / "guidance_worker.py")]
        self.worker = subprocess.Popen(
            [*command, str(llm.model_path), str(llm.n_threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def __call__(self, prompt: str, schema: dict[str, Any]) -> tuple[float, int, int]:
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        print(json.dumps({"prompt": prompt, "schema": schema}), file=self.worker.stdin, flush=True)
        answer = json.loads(self.worker.stdout.readline())
        return answer["seconds"], 0, answer["evaluations"]

    def close(self) -> None:
        self.worker.communicate()


def side_by_side(llm: LocalModel) -> Measured:
    box = default_toolbox()
    guidance = Guidance(llm) if GUIDANCE.exists() and not llm.lora_path else None
    found: Measured = defaultdict(list)
    for turn in range(ROUNDS + 1):  # the first one warms up
        for question in QUESTIONS:
            prompt = ask(box, question)
            ids = prompt.tokens(llm)
            llm.next_logits(ids)
            made = ours(llm, ids, box)
            free = plainly(llm, ids, max_tokens=made[1], logit_bias={llm.token_eos(): -100.0})
            row = {"free text of the same length": free}
            theirs = llama_grammar(llm, schema_of(box))
            row["LlamaGrammar"] = plainly(llm, ids, max_tokens=80, grammar=theirs)
            with nothing_forced():
                row["ours, each token chosen"] = ours(llm, ids, box)
            row["ours, with forced tokens"] = made
            if guidance:
                row["guidance"] = guidance(prompt.text, schema_of(box))
            for name, values in row.items() if turn else ():
                found[name].append(values)
    if guidance:
        guidance.close()
    return found


def grown(llm: LocalModel, n: int) -> dict[str, float]:
    """What a toolbox of n tools costs: milliseconds."""
    plain = [tool for item in requests() for tool in item["tools"]]
    distinct = list({tool["name"]: tool for tool in plain}.values())
    tools = [distinct[i % len(distinct)] | {"name": f"tool_{i}"} for i in range(n)]
    box = Toolbox(Tool(**tool, function=print) for tool in tools)
    times: dict[str, list[float]] = defaultdict(list)
    ids = ask(default_toolbox(), QUESTIONS[0]).tokens(llm)  # 100 schemas wouldn't fit
    llm.next_logits(ids)
    theirs = llama_grammar(llm, schema_of(box))
    for _ in range(ROUNDS):
        started = time.perf_counter()
        constraint = grammar.tool_call(box)
        times["compile"].append(time.perf_counter() - started)
        started = time.perf_counter()
        matcher = generation._matcher(llm, constraint)
        matcher.compute_ff_tokens()
        times["start"].append(time.perf_counter() - started)
        made = grammar.generate(llm, ids, constraint, max_tokens=160)
        times["a token, ours"].append(made.seconds / len(made.tokens))
        times["of this masks"].append(_masking(llm, constraint, made.tokens))
        seconds, tokens, _ = plainly(llm, ids, max_tokens=len(made.tokens), grammar=theirs)
        times["a token, LlamaGrammar"].append(seconds / tokens)
    return {name: 1000 * statistics.median(values) for name, values in times.items()}


def _masking(llm: LocalModel, constraint: Any, tokens: list[int]) -> float:
    """Seconds a token that the masks alone take, along these tokens."""
    matcher, n_vocab, spent = generation._matcher(llm, constraint), llm.n_vocab(), 0.0
    for token in tokens:
        started = time.perf_counter()
        if not matcher.compute_ff_tokens():
            generation._mask(matcher, n_vocab)
        spent += time.perf_counter() - started
        matcher.consume_tokens([token])
    return spent / len(tokens)


def main() -> dict[str, Any]:
    """Prints the tables and returns what is in them."""
    llm = load_model(sys.argv[1]) if len(sys.argv) > 1 else load_model(adapter=None)
    found = side_by_side(llm)
    print(f"{llm.name}, {llm.n_threads} threads; medians of {ROUNDS * len(QUESTIONS)} calls")
    base = statistics.median(seconds for seconds, *_ in found["LlamaGrammar"])
    table = {}
    for name, values in found.items():
        seconds, tokens, evaluations = (statistics.median(v) for v in zip(*values, strict=True))
        table[name] = {"seconds": seconds, "tokens": tokens, "evaluations": evaluations}
        print(
            f"{name:<30}{seconds:6.2f} s {base / seconds:5.1f} x LlamaGrammar's speed, "
            f"{evaluations:3.0f} evaluations"
        )
    if "guidance" not in found:
        print("guidance: not measured; `make bench` installs it, for the embedded plain model")
    sizes = {n: grown(llm, n) for n in (1, 10, 100)}
    print(f"{'milliseconds':<30}" + "".join(f"{n:>10} tools" for n in sizes))
    for name in sizes[1]:
        print(f"{name:<30}" + "".join(f"{times[name]:16.2f}" for times in sizes.values()))
    return {"model": llm.name, "calls": table, "tools": sizes}


if __name__ == "__main__":
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / Path(__file__).with_suffix(".json").name).write_text(json.dumps(main(), indent=1))
