"""The evaluation sets and `benchmarks/reliability.py`: what counts as right, and how it goes on."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    names = ("evaluation", "reliability", "reliability_report")
    import evaluation
    import reliability
    import reliability_report

    yield evaluation, reliability, reliability_report
    for name in names:
        sys.modules.pop(name, None)


def test_an_argument_is_right_if_it_means_what_is_wanted(benchmarks):
    right = benchmarks[0].right
    wanted = {"city": ["Paris", "Paris, France"], "days": [3, ""], "tags": [["a", "b"]]}
    assert right({"city": "  paris.", "days": 3, "tags": ["A", "b"]}, wanted)
    assert right({"city": "PARIS, FRANCE", "tags": ["a", "b"]}, wanted)
    for wrong in (
        {"city": "Lyon", "tags": ["a", "b"]},
        {"city": "Paris"},
        {"city": "Paris", "days": 4, "tags": ["a", "b"]},
        {"city": "Paris", "tags": ["b", "a"]},
        {"city": "Paris", "tags": ["a", "b", "c"]},
        {"city": "Paris", "tags": ["a", "b"], "more": 1},
    ):
        assert not right(wrong, wanted)
    assert right({"n": 1.0}, {"n": 1})
    assert not right({"n": True}, {"n": 1})
    assert right({"text": "la tour"}, {"text": "tour"})


def test_the_bfcl_items_are_sound_and_said_to_be_theirs(benchmarks):
    evaluation = benchmarks[0]
    items = evaluation.requests("bfcl")
    assert Counter(item["kind"] for item in items) == {
        "simple": 35, "multiple": 35, "irrelevance": 30,
    }  # fmt: skip
    for item in items:
        box = evaluation.toolbox(item)
        assert bool(item["calls"]) == (item["kind"] != "irrelevance")
        for call in item["calls"]:
            first = {key: v[0] for key, v in call["arguments"].items() if v[0] != ""}
            assert box[call["name"]].problem(first) is None
            assert evaluation.right(first, call["arguments"])
    notice = (ROOT / "benchmarks" / "bfcl.NOTICE").read_text(encoding="utf-8")
    assert "Apache License" in notice
    assert "Changes:" in notice


def test_a_run_goes_on_where_it_was_stopped(benchmarks, trained, tmp_path, monkeypatch):
    evaluation, reliability, _ = benchmarks
    monkeypatch.setattr(reliability, "RESULTS", tmp_path)
    items = [evaluation.requests()[0], evaluation.requests("bfcl")[-1]]
    rungs = [("call of the toolbox", False), ("call or text", True)]
    reliability.measure(trained, items[:1], rungs)
    (file,) = tmp_path.iterdir()
    with file.open("a") as lines:
        lines.write('{"id": "cut in the mid')
    seen = trained.evaluations
    reliability.measure(trained, items[:1], rungs)
    assert trained.evaluations == seen  # nothing was done twice
    reliability.measure(trained, items, rungs)
    found = reliability.read(file)
    assert [(line["id"], line["rung"]) for line in found] == [
        (item["id"], rung) for item in items for rung, _ in rungs
    ]
    assert found[0]["valid"]
    assert found[2]["needless"]  # it could do nothing else
    assert "valid" not in found[2]


def test_an_answer_is_judged_step_by_step(benchmarks):
    evaluation, reliability, _ = benchmarks
    item = evaluation.requests()[0]
    box = evaluation.toolbox(item)
    good = json.dumps({"tool_call": item["calls"][0]})

    def marks(text):
        found = reliability.judge(item, box, text, "stop")
        return [key for key, mark in found.items() if mark]

    assert marks("I don't know.") == ["missed"]
    assert marks('{"tool_call": {"name": "no", "arguments": {}}}') == ["json"]
    assert marks('{"tool_call": {"name": "meteo_now", "arguments": {}}}') == ["json", "known"]
    assert marks(good.replace("Tokyo", "Lima")) == ["json", "known", "valid", "tool"]
    assert marks(f"Sure: {good}") == ["json", "known", "valid", "tool", "arguments"]
    assert marks(good[:-4]) == []


def test_the_report_counts_what_applies(benchmarks):
    report = benchmarks[2]
    common = {"model": "M", "rung": "free text", "examples": False, "tokens": 3, "seconds": 1.0}
    marks = ("json", "known", "valid", "tool", "arguments", "missed")
    lines = [
        common | {"evaluations": 3, "kind": "new", "language": "en", "id": str(n)} | extra
        for n, extra in enumerate(
            [dict.fromkeys(marks, True), dict.fromkeys(marks, False), {"needless": True}]
        )
    ]
    found = report.shares(lines)
    assert (found["valid"], found["needless"], found["requests"]) == (0.5, 1.0, 3)
    table = report._markdown([lines], lambda line: True)
    assert "| M | free text | 50% | 50% | 50% | 50% | 50% | 50% | 100% | 3 | 1.00 |" in table


def test_readme_and_page_hold_what_was_measured(benchmarks):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "benchmarks" / "reliability.json").read_text(encoding="utf-8"))
    models = {row["model"] for row in results}
    assert len(models) == 3
    table = readme.partition("<!-- reliability -->\n")[2].partition("<!-- /reliability")[0]
    assert all(model in table for model in models)
    assert table.splitlines()[2] in page
