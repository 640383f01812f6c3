"""Lesson 11's assistant over 200 turns: `python benchmarks/reliability.py --capstone`.

One conversation on the embedded model, with documents (the course's pages), notes, weather, a clock
and a calculator; each call is held to the tools' schemas, and the prompt is pruned. Counted: the
calls made, those that were valid, the answers, and whether an answer for which documents were found
names its sources.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

from evaluation import HERE
from tqdm import tqdm

from toolcall_lab import load_model
from toolcall_lab.assistant import Assistant, sources
from toolcall_lab.memory import Documents, Notes
from toolcall_lab.toolkit import default_toolbox
from toolcall_lab.toolkit.web import pages

TURNS = 200
CITIES = ("Paris", "Tokyo", "Oslo", "Madrid", "Lima", "Nairobi")
TOPICS = (
    "tides", "honey bees", "how bread rises", "night trains", "watering basil", "prime numbers",
    "the new library", "graphics card prices", "la photosynthèse", "volcanoes",
)  # fmt: skip
LIKES = ("green tea", "short answers", "trains", "rainy days", "lentil soup")
KINDS = (
    lambda rng: f"What is the weather in {rng.choice(CITIES)}?",
    lambda rng: f"Search the documents for {rng.choice(TOPICS)}.",
    lambda rng: f"What do the documents say about {rng.choice(TOPICS)}?",
    lambda rng: f"What is {rng.randint(12, 99)} * {rng.randint(12, 99)}?",
    lambda rng: f"Remember that I like {rng.choice(LIKES)}.",
    lambda rng: "What do you remember about what I like?",
    lambda rng: "What time is it?",
    lambda rng: "Thank you!",
    lambda rng: f"Quel temps fait-il à {rng.choice(CITIES)} ?",
)


def main() -> dict[str, Any]:
    """Goes through the conversation, prints and returns the counts."""
    rng = random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        documents, notes = Documents(Path(folder) / "d.db"), Notes(Path(folder) / "n.db")
        documents.add_many((page.url, page.text, page.date) for page in pages().values())
        assistant = Assistant(
            load_model(), default_toolbox().values(), documents=documents, notes=notes,
            temperature=0.0, max_tokens=150,
        )  # fmt: skip
        counts = dict.fromkeys(
            ("turns", "calls", "valid calls", "answers", "with sources", "sources named",
             "prunings", "errors of tools"), 0,
        )  # fmt: skip
        for _ in tqdm(range(TURNS)):
            question = rng.choice(KINDS)(rng)
            before = assistant.run
            said = assistant.answer(question)
            run = assistant.run
            assert run is not None
            assert run is not before, "a turn without a step"
            counts["turns"] += 1
            counts["answers"] += run.ending == "answered"
            for step in run.steps:
                counts["calls"] += bool(step.calls or step.problem)
                counts["valid calls"] += bool(step.calls)
                counts["prunings"] += step.pruning is not None
                counts["errors of tools"] += any(result.error for result in step.results)
            if found := sources(run):
                counts["with sources"] += 1
                counts["sources named"] += all(name in said for name in found)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "capstone.json").write_text(json.dumps(counts, indent=1))
    for name, count in counts.items():
        print(f"{name:<18}{count:>5}")
    write(counts)
    return counts


def write(counts: dict[str, int]) -> None:
    """Writes `docs/capstone.md`, which lesson 11 shows."""
    rows = "\n".join(f"| {name} | {count} |" for name, count in counts.items())
    text = f"{(HERE / 'capstone_page.md').read_text(encoding='utf-8')}\n{rows}\n"
    (HERE.parent / "docs" / "capstone.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
