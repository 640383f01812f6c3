"""How well a model calls tools: `python training/evaluate.py [--adapter FILE] [--constrained]`.

Runs the requests of `benchmarks/requests.jsonl` with the course's system prompt, greedily. Tools
and words there are not those of the training data. Prints a table, by kind and language. With
`--general` it asks the questions of `benchmarks/general.jsonl` instead, without any tools.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from toolcall_lab import Prompt, grammar, load_model, read_tool_calls
from toolcall_lab.chatml import STOP

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))
from evaluation import prompt_of, requests, right, toolbox  # noqa: E402

MAX_TOKENS = 200
FAULTS = ("missed", "needless")  # columns where a mark is a fault
COLUMNS = ("valid", "tool", "arguments", "missed", "needless", "used")


def judge(
    llm: Any, request: dict[str, Any], constrained: bool
) -> tuple[dict[str, bool], list[str]]:
    """What came out right, and what the model wrote; a column that doesn't apply is left out."""
    box = toolbox(request)
    prompt = prompt_of(box)
    prompt.add("user", request["request"])
    marks: dict[str, list[bool]] = defaultdict(list)
    said: list[str] = []
    for number in range(len(request["calls"]) + 1):
        prompt.open("assistant")
        expected = request["calls"][number] if number < len(request["calls"]) else None
        if constrained:
            constraint = grammar.tool_call_or_text(box)
            made = grammar.generate(llm, prompt, constraint, max_tokens=MAX_TOKENS)
            text, tokens, finish = made.text, made.tokens, made.finish_reason
        else:
            output = llm(prompt.tokens(llm), max_tokens=MAX_TOKENS, temperature=0.0, stop=STOP)
            choice = output["choices"][0]
            text, tokens, finish = choice["text"], choice["tokens"], choice["finish_reason"]
        prompt.append_completion(tokens, text)
        said.append(text)
        reading = read_tool_calls(text, box, finish_reason=finish)
        tried = bool(reading.calls or reading.problem)
        if expected is None:
            marks["needless" if not request["calls"] else "used"].append(
                tried if not request["calls"] else _uses(reading.text, request["keywords"])
            )
            break
        marks["missed"].append(not tried)
        marks["valid"].append(bool(reading.calls))
        call = reading.calls[0] if reading.calls else None
        marks["tool"].append(bool(call and call.name == expected["name"]))
        marks["arguments"].append(bool(call and right(call.arguments, expected["arguments"])))
        if not marks["tool"][-1]:
            break
        prompt.add("tool", request["results"][number])
    return {
        column: any(values) if column in FAULTS else all(values) for column, values in marks.items()
    }, said


def _uses(answer: str, keywords: list[str]) -> bool:
    return bool(answer) and all(keyword in answer for keyword in keywords)


def table(rows: dict[tuple[str, str], list[dict[str, bool]]]) -> str:
    """Percentages, a line for each kind and language; a dash where nothing applies."""
    lines = [f"{'kind':<8}{'lang':<6}{'n':>4}" + "".join(f"{column:>11}" for column in COLUMNS)]
    for (kind, language), marks in sorted(
        rows.items(), key=lambda row: (row[0][0] == "all", row[0])
    ):
        cells = []
        for column in COLUMNS:
            values = [mark[column] for mark in marks if column in mark]
            cells.append(f"{sum(values) / len(values):>11.0%}" if values else f"{'-':>11}")
        lines.append(f"{kind:<8}{language:<6}{len(marks):>4}" + "".join(cells))
    return "\n".join(lines)


def general(llm: Any) -> str:
    """Answers to general questions: how long, how repetitive, how often with a word they need."""
    lines = (BENCHMARKS / "general.jsonl").read_text(encoding="utf-8").splitlines()
    lengths, repeated, found = [], [], []
    for line in lines:
        entry = json.loads(line)
        prompt = Prompt()
        prompt.add("system", "You are a helpful assistant.")
        prompt.add("user", entry["question"])
        prompt.open("assistant")
        output = llm(prompt.tokens(llm), max_tokens=MAX_TOKENS, temperature=0.0, stop=STOP)
        tokens, text = output["choices"][0]["tokens"], output["choices"][0]["text"]
        runs = list(zip(*(tokens[i:] for i in range(4)), strict=False))
        lengths.append(len(tokens))
        repeated.append(1 - len(set(runs)) / len(runs) if runs else 0.0)
        found.append(any(keyword in text for keyword in entry["keywords"]))
    return (
        f"{len(lines)} general questions: {sum(lengths) / len(lines):.0f} tokens an answer, "
        f"{sum(repeated) / len(lines):.1%} of the runs of four tokens repeated, "
        f"{sum(found) / len(lines):.0%} with the word that must be there"
    )


def load(options: argparse.Namespace) -> Any:
    if options.model:
        return load_model(options.model)
    adapter = {"none": None, "": "embedded"}.get(options.adapter, options.adapter)
    return load_model("smollm2-135m", adapter=adapter)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--adapter", default="", help="what export.py wrote; `none`: the plain model"
    )
    parser.add_argument("--model", help="another model, as a GGUF file")
    parser.add_argument("--constrained", action="store_true", help="allow a valid call or a text")
    parser.add_argument("--every", type=int, default=1, help="take each n-th request only")
    parser.add_argument("--general", action="store_true", help="general questions, without tools")
    parser.add_argument("--show", action="store_true", help="print the requests that went wrong")
    options = parser.parse_args()
    llm = load(options)
    if options.general:
        print(f"{llm.name}\n{general(llm)}")
        return
    items = requests()[:: options.every]
    rows: dict[tuple[str, str], list[dict[str, bool]]] = defaultdict(list)
    started = time.perf_counter()
    for number, request in enumerate(items, 1):
        marks, said = judge(llm, request, options.constrained)
        for kind in (request["kind"], "all"):
            rows[kind, request["language"]].append(marks)
        print(f"\r{number} of {len(items)}", end="", file=sys.stderr, flush=True)
        wrong = [column for column, mark in marks.items() if mark == (column in FAULTS)]
        if options.show and wrong:
            print(f"\n{request['request']} [{', '.join(wrong)}]", *said, sep="\n    ")
    print(f"\r{llm.name}, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    print(table(rows))


if __name__ == "__main__":
    main()
