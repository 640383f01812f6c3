"""The training data and the evaluation set; the training itself needs torch, see `training/`."""

import json
import random
import sys
from pathlib import Path

import pytest

from toolcall_lab import Tool, Toolbox, read_tool_calls

ROOT = Path(__file__).parent.parent
REQUESTS = (ROOT / "benchmarks" / "requests.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def make_data(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "training"))
    import make_data

    yield make_data
    for name in ("make_data", "tools", "values"):
        sys.modules.pop(name, None)


def benchmark_tools():
    schemas = json.loads((ROOT / "benchmarks" / "tools.json").read_text(encoding="utf-8"))["tools"]
    return {schema["function"]["name"]: schema["function"] for schema in schemas}


def test_every_call_in_the_data_is_one_that_its_tools_take(make_data):
    rng = random.Random(1)
    kinds = set()
    for _ in range(60):
        pack = make_data.pack(rng, 6)
        start = pack["system"].index("[")
        schemas, _end = json.JSONDecoder().raw_decode(pack["system"], start)
        for exchange in pack["exchanges"]:
            kinds.add(exchange["kind"])
            assert exchange["turns"][0][0] == "user"
            for role, text in exchange["turns"]:
                if role == "assistant" and '"tool_call"' in text:
                    reading = read_tool_calls(text, schemas)
                    assert reading.problem is None, (text, reading.message)
            assert '"tool_call"' not in exchange["turns"][-1][1]
    assert kinds == {"call", "talk", "two", "unable", "error", "missing"}


def test_the_data_is_the_same_for_a_seed(make_data):
    assert make_data.pack(random.Random(5), 4) == make_data.pack(random.Random(5), 4)


def test_the_evaluation_set_is_sound_and_apart_from_the_training_data(make_data):
    plain = benchmark_tools()
    trained = {name for family in make_data.FAMILIES for name in family.names.split()}
    assert not trained & set(plain)
    said = {sentence for family in make_data.FAMILIES for sentence in family.en + family.fr}
    requests = [json.loads(line) for line in REQUESTS]
    assert len({request["id"] for request in requests}) == len(requests)
    for request in requests:
        assert request["request"] not in said
        box = Toolbox(Tool(**plain[name], function=print) for name in request["tools"])
        assert len(request["calls"]) == len(request["results"])
        for call in request["calls"]:
            assert box[call["name"]].problem(call["arguments"]) is None, request
        if request["kind"] == "chain":
            assert len(request["calls"]) > 1
