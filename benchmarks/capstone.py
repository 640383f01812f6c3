"""Lesson 11's assistant over 200 turns: `python benchmarks/reliability.py --capstone`.

One conversation on the embedded model, with documents (the course's pages), notes, weather, a clock
and a calculator; each call is held to the tools' schemas, and the prompt is pruned. Counted: the
calls made, those that were valid, the answers, and whether an answer for which documents were found
names its sources. Once with a window that holds a long conversation, and once with one that holds
little more than the question in hand. What has been measured is kept in `results/`.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from evaluation import HERE
from tqdm import tqdm

from toolcall_lab import load_model
from toolcall_lab.assistant import Assistant, sources
from toolcall_lab.memory import Documents, Notes
from toolcall_lab.toolkit import default_toolbox
from toolcall_lab.toolkit.web import pages

TURNS = 200
WINDOWS = (4096, 1024)  # tokens
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


def main() -> None:
    """Measures what isn't there yet, and writes `docs/capstone.md`, which lesson 11 shows."""
    (HERE / "results").mkdir(exist_ok=True)
    found = {}
    for n_ctx in WINDOWS:
        file = HERE / "results" / f"capstone-{n_ctx}.json"
        if not file.exists():
            file.write_text(json.dumps(talk(n_ctx), indent=1))
        found[f"n_ctx={n_ctx}"] = json.loads(file.read_text())
    lines = [f"| | {' | '.join(found)} |", "|---|" + "---:|" * len(found)]
    for name in next(iter(found.values())):
        lines.append(f"| {name} | {' | '.join(str(of[name]) for of in found.values())} |")
    table = "\n".join(lines)
    text = (HERE / "capstone_page.md").read_text(encoding="utf-8").replace("$table", table)
    (HERE.parent / "docs" / "capstone.md").write_text(text, encoding="utf-8")
    print(table)


def talk(n_ctx: int) -> dict[str, int]:
    """Goes through the conversation; gives the counts."""
    rng = random.Random(11)
    names = (
        "turns",
        "calls",
        "valid calls",
        "errors of tools",
        "answers",
        "answers after a search",
    )
    counts = dict.fromkeys((*names, "of these with all sources", "prunings"), 0)
    with tempfile.TemporaryDirectory() as folder:
        documents, notes = Documents(Path(folder) / "d.db"), Notes(Path(folder) / "n.db")
        documents.add_many((page.url, page.text, page.date) for page in pages().values())
        llm, tools = load_model(n_ctx=n_ctx), default_toolbox().values()
        assistant = Assistant(
            llm, tools, documents=documents, notes=notes, temperature=0.0, max_tokens=150
        )
        for _ in tqdm(range(TURNS)):
            question = rng.choice(KINDS)(rng)
            said = assistant.answer(question)
            run = assistant.last
            counts["turns"] += 1
            counts["answers"] += run.ending == "answered"
            for step in run.steps:
                counts["calls"] += bool(step.calls or step.problem)
                counts["valid calls"] += bool(step.calls)
                counts["prunings"] += step.pruning is not None
                counts["errors of tools"] += any(result.error for result in step.results)
            if found := sources(run):
                counts["answers after a search"] += 1
                counts["of these with all sources"] += all(name in said for name in found)
    return counts


if __name__ == "__main__":
    main()
