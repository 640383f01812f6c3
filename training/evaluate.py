"""How well a model calls tools: `python training/evaluate.py [--adapter FILE] [--constrained]`.

Runs the requests of `benchmarks/requests.jsonl` with the course's system prompt, greedily. Tools
and words there are not those of the training data. Prints a table, by kind and language.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolcall_lab import Prompt, Tool, Toolbox, grammar, load_model, read_tool_calls
from toolcall_lab.agent import system_prompt
from toolcall_lab.chatml import STOP

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
COLUMNS = ("valid", "tool", "arguments", "missed", "needless", "used")


def toolbox(names: Iterable[str]) -> Toolbox:
    """The benchmark's tools of these names; they do nothing, their results are in the requests."""
    schemas = json.loads((BENCHMARKS / "tools.json").read_text(encoding="utf-8"))["tools"]
    plain = {schema["function"]["name"]: schema["function"] for schema in schemas}
    return Toolbox(Tool(**plain[name], function=lambda **_: None) for name in names)


def same(given: Any, wanted: Any) -> bool:
    """Whether arguments mean the same: text but for case, blanks and end marks; numbers."""
    if isinstance(given, dict) and isinstance(wanted, dict):
        return set(given) == set(wanted) and all(same(given[key], wanted[key]) for key in wanted)
    if isinstance(given, str) and isinstance(wanted, str):
        return "".join(given.casefold().split()).strip(".!?") == "".join(
            wanted.casefold().split()
        ).strip(".!?")
    return bool(given == wanted)


def judge(llm: Any, request: dict[str, Any], constrained: bool) -> dict[str, bool]:
    """What came out right; a column that doesn't apply to the request is left out."""
    box = toolbox(request["tools"])
    prompt = Prompt()
    prompt.add("system", system_prompt(box))
    prompt.add("user", request["request"])
    marks: dict[str, list[bool]] = defaultdict(list)
    for number in range(len(request["calls"]) + 1):
        prompt.open("assistant")
        expected = request["calls"][number] if number < len(request["calls"]) else None
        if constrained and expected:
            made = grammar.generate(llm, prompt, grammar.tool_call(box), max_tokens=200)
            text, tokens, finish = made.text, made.tokens, made.finish_reason
        else:
            output = llm(prompt.tokens(llm), max_tokens=200, temperature=0.0, stop=STOP)
            choice = output["choices"][0]
            text, tokens, finish = choice["text"], choice["tokens"], choice["finish_reason"]
        prompt.append_completion(tokens, text)
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
        marks["arguments"].append(bool(call and same(call.arguments, expected["arguments"])))
        if not marks["tool"][-1]:
            break
        prompt.add("tool", request["results"][number])
    return {
        column: all(values) if column != "missed" else any(values)
        for column, values in marks.items()
    }


def _uses(answer: str, keywords: list[str]) -> bool:
    return bool(answer) and all(keyword in answer for keyword in keywords)


def table(rows: dict[tuple[str, str], list[dict[str, bool]]]) -> str:
    """Percentages, a line for each kind and language; a dash where nothing applies."""
    lines = [f"{'kind':<8}{'lang':<6}{'n':>4}" + "".join(f"{column:>11}" for column in COLUMNS)]
    for (kind, language), marks in sorted(rows.items()):
        cells = []
        for column in COLUMNS:
            values = [mark[column] for mark in marks if column in mark]
            cells.append(f"{sum(values) / len(values):>11.0%}" if values else f"{'-':>11}")
        lines.append(f"{kind:<8}{language:<6}{len(marks):>4}" + "".join(cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adapter", help="a GGUF that export.py wrote")
    parser.add_argument("--constrained", action="store_true", help="hold each call to its form")
    parser.add_argument("--every", type=int, default=1, help="take each n-th request only")
    options = parser.parse_args()
    llm = load_model("smollm2-135m", **({"lora_path": options.adapter} if options.adapter else {}))
    text = (BENCHMARKS / "requests.jsonl").read_text(encoding="utf-8")
    requests = [json.loads(line) for line in text.splitlines()][:: options.every]
    rows: dict[tuple[str, str], list[dict[str, bool]]] = defaultdict(list)
    started = time.perf_counter()
    for number, request in enumerate(requests, 1):
        rows[request["kind"], request["language"]].append(judge(llm, request, options.constrained))
        print(f"\r{number} of {len(requests)}", end="", file=sys.stderr, flush=True)
    print(f"\r{llm.name}, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    print(table(rows))


if __name__ == "__main__":
    main()
