"""Reading calls beside other ways of doing it: how often right, how fast. Part of `make bench`.

The others are what people use: `json.loads` on the whole answer, that with a greedy regex behind
it, and json_repair. All are given the same texts; times are measured side by side, in one run.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import json_repair

from toolcall_lab import read_tool_calls

CASES = Path(__file__).resolve().parent.parent / "tests" / "data" / "call_cases.jsonl"
COLUMNS = ("right", "missed", "wrong", "unwanted", "crashed")
Calls = list[dict[str, Any]]


def ours(text: str, tools: Any, finish_reason: str | None) -> Calls:
    found = read_tool_calls(text, tools, finish_reason=finish_reason).calls
    return [{"name": call.name, "arguments": call.arguments} for call in found]


def plain_json(text: str, tools: Any, finish_reason: str | None) -> Calls:
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        return []
    return [data["tool_call"]] if "tool_call" in data else []


def greedy_regex(text: str, tools: Any, finish_reason: str | None) -> Calls:
    if found := plain_json(text, tools, finish_reason):
        return found
    match = re.search(r'\{.*"tool_call".*\}', text, re.DOTALL)
    return plain_json(match.group(), tools, finish_reason) if match else []


def repaired(text: str, tools: Any, finish_reason: str | None) -> Calls:
    data = json_repair.loads(text)
    items = data if isinstance(data, list) else [data]
    calls = [item.get("tool_call", item) for item in items if isinstance(item, dict)]
    return [call for call in calls if isinstance(call, dict) and {"name", "arguments"} <= set(call)]


READERS: dict[str, Callable[[str, Any, str | None], Calls]] = {
    "read_tool_calls": ours,
    "json.loads": plain_json,
    "greedy regex": greedy_regex,
    "json_repair": repaired,
}


def text_of(case: dict[str, Any]) -> str:
    if case["raw_output"] is not None:
        return str(case["raw_output"])
    return str(eval(case["raw_output_expr"], {"__builtins__": {}}))


def verdict(reader: Callable[..., Calls], case: dict[str, Any]) -> str:
    wanted = case["expected"] if isinstance(case["expected"], list) else []
    allowed = [wanted]
    if "alt_expected" in case:
        allowed.append(case["alt_expected"] if isinstance(case["alt_expected"], list) else [])
    finish_reason = (case.get("setup") or {}).get("finish_reason")
    try:
        found = reader(text_of(case), case["tools"], finish_reason)
    except Exception:
        return "crashed"
    if found in allowed:
        return "right"
    if not found:
        return "missed"
    return "wrong" if wanted else "unwanted"


def accuracy() -> dict[str, dict[str, int]]:
    lines = CASES.read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["stage"] in ("parse", "validate")]
    cases = [case for case in cases if "arguments_expr" not in json.dumps(case["expected"])]
    table = {}
    for name, reader in READERS.items():
        counts = Counter(verdict(reader, case) for case in cases)
        table[name] = {column: counts[column] for column in COLUMNS}
    return table


CALL = '{"tool_call": {"name": "get_weather", "arguments": {"city": "%s"}}}'
TEXTS: dict[str, Callable[[int], str]] = {  # of about n characters
    "a call in prose": lambda n: f"Sure. {CALL % 'Paris'} {'word ' * (n // 5)}",
    "one long argument": lambda n: CALL % ("x" * n),
    "open braces": lambda n: "{" * n,
    "unclosed tags": lambda n: "<tool_call>" * (n // 11),
    "begun calls": lambda n: '{"tool_call": ' * (n // 14),
}


def seconds(reader: Callable[..., Calls], text: str) -> float | None:
    """The time of one reading, the best of three; None if it fails."""
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        try:
            reader(text, None, None)
        except (RecursionError, Exception):
            return None
        best = min(best, time.perf_counter() - started)
    return best


def speed(size: int = 20_000) -> dict[str, dict[str, Any]]:
    """For each text and reader: MB/s at `size`, and how much longer twice the text takes."""
    table: dict[str, dict[str, Any]] = {}
    for name, reader in READERS.items():
        for kind, make in TEXTS.items():
            once, twice = seconds(reader, make(size)), seconds(reader, make(2 * size))
            fits = once is not None and twice is not None
            table.setdefault(kind, {})[name] = (
                {"mb_per_s": round(size / 1e6 / once, 2), "twice": round(twice / once, 1)}
                if fits and once and twice
                else None
            )
    return table


def main() -> dict[str, Any]:
    """Prints both tables and returns them."""
    right = accuracy()
    print(f"{'reading':<18}" + "".join(f"{column:>10}" for column in COLUMNS))
    for name, counts in right.items():
        print(f"{name:<18}" + "".join(f"{counts[column]:>10}" for column in COLUMNS))
    fast = speed()
    print("\nMB/s at 20,000 characters, and how many times as long twice as many take")
    print(f"{'text':<20}" + "".join(f"{name:>20}" for name in READERS))
    for kind, row in fast.items():
        cells = [
            f"{cell['mb_per_s']:>12.2f} {cell['twice']:>5.1f} x" if cell else f"{'fails':>20}"
            for cell in row.values()
        ]
        print(f"{kind:<20}" + "".join(cells))
    return {"accuracy": right, "speed": fast}


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / Path(__file__).with_suffix(".json").name).write_text(json.dumps(main(), indent=1))
