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
    for name in ("make_data", "values"):
        sys.modules.pop(name, None)


def benchmark_tools():
    schemas = json.loads((ROOT / "benchmarks" / "tools.json").read_text(encoding="utf-8"))["tools"]
    return {schema["function"]["name"]: schema["function"] for schema in schemas}


def test_every_call_in_the_data_is_one_that_its_tools_take(make_data):
    rng = random.Random(1)
    kinds = set()
    for _ in range(200):
        pack = make_data.pack(rng, 6)
        start = pack["system"].index("[")
        schemas, _end = json.JSONDecoder().raw_decode(pack["system"], start)
        for exchange in pack["exchanges"]:
            kinds.add(exchange["kind"])
            assert exchange["turns"][0][0] == "user"
            for _role, text in exchange["turns"]:
                assert not make_data.SLOT.search(text), text
            for role, text in exchange["turns"]:
                if role == "assistant" and '"tool_call"' in text:
                    reading = read_tool_calls(text, schemas)
                    assert reading.problem is None, (text, reading.message)
            assert exchange["turns"][-1][0] == "assistant"
    assert kinds == set(make_data.KINDS)


def test_the_data_is_the_same_for_a_seed(make_data):
    assert make_data.pack(random.Random(5), 4) == make_data.pack(random.Random(5), 4)


def test_every_ability_can_be_asked_for_called_and_answered(make_data):
    abilities = make_data.ABILITIES
    assert len(abilities) >= 140
    names = [name for ability in abilities for name in ability.names]
    assert len(set(names)) == len(names) >= 500
    slots = make_data.SLOT.findall
    for ability in abilities:
        arguments, required = set(ability.arguments), set(ability.required)
        found = {frozenset(set(slots(form)) - arguments) for (form,) in ability.texts["result"]}
        assert len(found) == 1, f"the results of {ability.names[0]} find out different things"
        for language in ("en", "fr"):
            for sentence, *meant in ability.texts[language]:
                given = set(slots(sentence)) | {value.partition("=")[0].strip() for value in meant}
                assert required <= given <= arguments, sentence
            for (answer,) in ability.texts["answer_" + language]:
                assert set(slots(answer)) <= required | set(*found), answer
            for slot, order in ability.texts.get("then_" + language, []):
                assert required - {slot} <= set(slots(order)) <= arguments, order


def test_the_evaluation_set_is_sound_and_apart_from_the_training_data(make_data):
    plain = benchmark_tools()
    trained = {name for ability in make_data.ABILITIES for name in ability.names}
    assert not trained & set(plain)
    said = {
        line[0]
        for ability in make_data.ABILITIES
        for key, lines in ability.texts.items()
        if key.endswith(("en", "fr"))
        for line in lines
    } | {line[0] for lines in make_data.TALK.values() for line in lines}
    requests = [json.loads(line) for line in REQUESTS]
    assert len({request["id"] for request in requests}) == len(requests)
    for request in requests:
        assert request["request"] not in said
        box = Toolbox(Tool(**plain[name], function=print) for name in request["tools"])
        assert len(request["calls"]) == len(request["results"])
        for call in request["calls"]:
            arguments = {
                key: value[0] if isinstance(value, list) else value
                for key, value in call["arguments"].items()
            }
            assert box[call["name"]].problem(arguments) is None, request
        if request["kind"] == "chain":
            assert len(request["calls"]) > 1
