"""Takes 100 items of the Berkeley Function Calling Leaderboard: `python benchmarks/bfcl.py WHEEL`.

WHEEL is that of the PyPI package `bfcl-eval` (`pip download --no-deps bfcl-eval`), which carries
the data under Apache-2.0; `bfcl.NOTICE` says what was changed. Only items are taken whose names
are Python's and whose first right answer meets their own schema.
"""

from __future__ import annotations

import json
import random
import sys
import zipfile
from typing import Any

from evaluation import HERE, OMITTED, right

from toolcall_lab import Tool

COUNTS = {"simple_python": 35, "multiple": 35, "irrelevance": 30}
TYPES = {"dict": "object", "float": "number", "tuple": "array"}
KEPT = ("type", "description", "properties", "required", "items", "enum")
MAX_PARAMETERS, MAX_TOOLS, MAX_CHARACTERS = 5, 3, 1600  # so that a prompt fits a small window


def main() -> None:
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        found = [item for name, n in COUNTS.items() for item in chosen(wheel, name, n)]
    lines = [json.dumps(item, ensure_ascii=False) for item in found]
    (HERE / "bfcl.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(found)} items")


def chosen(wheel: zipfile.ZipFile, name: str, n: int) -> list[dict[str, Any]]:
    file = f"bfcl_eval/data/BFCL_v4_{name}.json"
    answers = file.replace("data/", "data/possible_answer/")
    calls = {}
    if answers in wheel.namelist():
        calls = {line["id"]: line["ground_truth"] for line in _lines(wheel, answers)}
    items = [_item(line, calls.get(line["id"], [])) for line in _lines(wheel, file)]
    fit = [item for item in items if item and _is_sound(item)]
    return sorted(random.Random(7).sample(fit, n), key=lambda item: item["id"])


def _lines(wheel: zipfile.ZipFile, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in wheel.read(file).decode("utf-8").splitlines()]


def _item(line: dict[str, Any], calls: list[dict[str, Any]]) -> dict[str, Any] | None:
    """An item in our form; None if it's more than one question or too large."""
    turns = [turn for turns in line["question"] for turn in turns]
    tools = [
        {
            "name": function["name"],
            "description": function["description"],
            "parameters": _schema(function["parameters"]),
        }
        for function in line["function"]
    ]
    sizes = [len(tool["parameters"].get("properties", {})) for tool in tools]
    too_large = (
        len(tools) > MAX_TOOLS
        or max(sizes) > MAX_PARAMETERS
        or len(json.dumps(tools)) > MAX_CHARACTERS
    )
    if len(turns) != 1 or too_large or not all(tool["name"].isidentifier() for tool in tools):
        return None
    wanted = [{"name": n, "arguments": a} for call in calls for n, a in call.items()]
    kind = line["id"].rpartition("_")[0].removesuffix("_python")
    return {
        "id": line["id"],
        "kind": kind,
        "language": "en",
        "tools": tools,
        "request": turns[0]["content"],
        "calls": wanted,
    }


def _schema(part: dict[str, Any]) -> dict[str, Any]:
    """BFCL's schemas are nearly JSON Schema; what it calls a dict, a float or a tuple isn't."""
    made = {key: value for key, value in part.items() if key in KEPT}
    if "type" in made:
        made["type"] = TYPES.get(made["type"], made["type"])
        if made["type"] == "any":
            del made["type"]
    if "properties" in made:
        made["properties"] = {key: _schema(value) for key, value in made["properties"].items()}
    if "items" in made:
        made["items"] = _schema(made["items"])
    return made


def _is_sound(item: dict[str, Any]) -> bool:
    """Whether its first right answer is a call that its tools take, and right by our own rules."""
    tools = {tool["name"]: Tool(**tool, function=print) for tool in item["tools"]}
    for call in item["calls"]:
        first = {key: v[0] for key, v in call["arguments"].items() if v[0] != OMITTED}
        if tools[call["name"]].problem(first) or not right(first, call["arguments"]):
            return False
    return True


if __name__ == "__main__":
    main()
