"""Kinds of agents on 12 tasks: `python benchmarks/patterns.py [model.gguf …]`, `make patterns`.

Each model does each task in each way, with the same six tools, a budget of 16 steps and 16,000
tokens, temperature 0. A task is solved if what it asks for is in the answer, or in the file. What
has been measured is kept in `results/` and not done again. Writes `docs/patterns.md`.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluation import HERE

from toolcall_lab import Run, Toolbox, load_model, run_agent
from toolcall_lab.agent import Budget
from toolcall_lab.patterns import orchestrate, plan_and_execute, react, specialists

RESULTS = HERE / "results"
FILES = {"notes.txt": "We have 17 apples and 5 pears.\n", "numbers.txt": "12\n7\n30\n"}
TASKS = {  # the task: what the answer has to hold, or a file and what has to be in it
    "What is 1234 * 5678?": ["7006652"],
    "What is the sum of all whole numbers from 1 to 250?": ["31375"],
    "How many prime numbers are below 100?": ["25"],
    "In which year was the chip designer Corvana founded?": ["2023"],
    "On which date does the seed market of Quai Neuf take place?": ["21 March"],
    "What was the average price of a new graphics card with 24 gigabytes in the third quarter of "
    "2026, in dollars?": ["1430"],
    "Read notes.txt. How many apples are there?": ["17"],
    "Read numbers.txt and add the numbers up.": ["49"],
    "Save the text 'buy milk' in todo.txt.": ["todo.txt", "buy milk"],
    "Compute 17 * 23 and save the result in product.txt.": ["product.txt", "391"],
    "Find out in which year Corvana was founded, and save the year in year.txt.": [
        "year.txt", "2023",
    ],
    "Save a numbered list of the colours red, green and blue in colours.txt.": [
        "colours.txt", "1. red", "2. green", "3. blue",
    ],
}  # fmt: skip
LIMITS: dict[str, Any] = {"temperature": 0.0, "max_tokens": 250, "max_steps": 10}


def ways(llm: Any, folder: Path) -> dict[str, Callable[[str], Run]]:
    """Each kind of agent, ready to be given a task."""
    crew = specialists(folder)
    box = Toolbox(tool for one in crew for tool in one.toolbox.values())

    def limits() -> dict[str, Any]:
        return LIMITS | {"budget": Budget(16, 16_000)}

    def planned(task: str) -> Run:
        return plan_and_execute(
            llm, box, task, **{k: v for k, v in limits().items() if k != "max_steps"}
        )

    return {
        "the loop": lambda task: run_agent(llm, box, task, **limits()),
        "ReAct, with thoughts": lambda task: react(llm, box, task, **limits()),
        "plan and execute": planned,
        "orchestrator": lambda task: orchestrate(llm, crew, task, **limits()),
    }


def solved(run: Run, folder: Path, wanted: list[str]) -> bool:
    """Whether everything that a task asks for is there."""
    if wanted[0].endswith(".txt"):
        file, *wanted = wanted
        text = (folder / file).read_text(errors="replace") if (folder / file).exists() else ""
    else:
        text = run.answer or ""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return all(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", plain) for part in wanted)


def measure(llm: Any, way: str, task: str) -> dict[str, Any]:
    """One task, done in one way, from an empty context and with the same files."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in FILES.items():
            (folder / name).write_text(text)
        llm.reset()
        started, read = time.perf_counter(), llm.tokens_evaluated
        run = ways(llm, folder)[way](task)
        steps = [placed.step for placed in run.walk()]
        return {
            "model": llm.name,
            "way": way,
            "task": task,
            "solved": solved(run, folder, TASKS[task]),
            "steps": len(steps),
            "tokens": llm.tokens_evaluated - read,
            "seconds": time.perf_counter() - started,
            "ending": run.ending,
            "answer": run.answer,
        }


def table(lines: list[dict[str, Any]]) -> str:
    """Solved tasks, and medians of steps, tokens evaluated and seconds, in Markdown."""
    out = [
        "| model | kind of agent | solved | steps | tokens | seconds |",
        "|---|---|" + "---:|" * 4,
    ]
    keys = dict.fromkeys((line["model"], line["way"]) for line in lines)
    for model, way in keys:
        of = [line for line in lines if (line["model"], line["way"]) == (model, way)]
        cells = [f"{sum(line['solved'] for line in of)} of {len(of)}"]
        cells += [f"{statistics.median(line[k] for line in of):.0f}" for k in ("steps", "tokens")]
        cells.append(f"{statistics.median(line['seconds'] for line in of):.1f}")
        out.append(f"| {model} | {way} | {' | '.join(cells)} |")
    return "\n".join(out) + "\n"


def by_task(lines: list[dict[str, Any]]) -> str:
    """Which task was solved in which way."""
    keys = list(dict.fromkeys((line["model"], line["way"]) for line in lines))
    heads = [f"{model}: {way}" for model, way in keys]
    out = [f"| task | {' | '.join(heads)} |", "|---|" + "---|" * len(keys)]
    done = {(line["model"], line["way"], line["task"]): line["solved"] for line in lines}
    for task in TASKS:
        marks = ["✓" if done.get((*key, task)) else "–" for key in keys]
        out.append(f"| {task} | {' | '.join(marks)} |")
    return "\n".join(out) + "\n"


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / "patterns.jsonl"
    lines = [json.loads(line) for line in file.open()] if file.exists() else []
    done = {(line["model"], line["way"], line["task"]) for line in lines}
    for path in sys.argv[1:] or [""]:  # "" is the embedded model
        llm = load_model(path)
        for way in ways(llm, HERE):
            for task in TASKS:
                if (llm.name, way, task) in done:
                    continue
                lines.append(measure(llm, way, task))
                with file.open("a") as kept:
                    kept.write(json.dumps(lines[-1], ensure_ascii=False) + "\n")
                mark = "✓" if lines[-1]["solved"] else "–"
                print(f"{llm.name} {way}: {mark} {task}", flush=True)
        llm.close()
    page = (HERE / "patterns_page.md").read_text(encoding="utf-8")
    page = page.replace("$table", table(lines)).replace("$tasks", by_task(lines))
    (HERE.parent / "docs" / "patterns.md").write_text(page, encoding="utf-8")
    print(table(lines))


if __name__ == "__main__":
    main()
