"""How reliable a model's calls are, rung by rung: `python benchmarks/reliability.py MODEL…`.

MODEL is `plain` or `trained` (the embedded model without and with its adapter), a name or a path of
a GGUF. Each request of the two evaluation sets is answered once, greedily, on four rungs (free
text; the JSON of a call; a call of the toolbox; such a call or a text), with and without two worked
examples in the prompt. Answers are written to `results/` as they come: after a stop it goes on
where it was. `--report` writes what was found to `docs/`, and to the README; `--capstone` measures
lesson 11's assistant (`capstone.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluation import HERE, prompt_of, requests, right, toolbox
from tqdm import tqdm

from toolcall_lab import Prompt, Tool, Toolbox, grammar, load_model, read_tool_calls
from toolcall_lab.chatml import STOP
from toolcall_lab.gbnf import llama_grammar
from toolcall_lab.models.catalog import sha256_of

RESULTS = HERE / "results"
MAX_TOKENS = {"simple": 128, "multiple": 128, "irrelevance": 128}  # BFCL's calls are longer
COURSE_TOKENS = 96
OBJECT = {"type": "object"}
NOTE = {  # what "guaranteed JSON" is made of, mostly: any name, any arguments
    "type": "object",
    "properties": {
        "tool_call": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": OBJECT},
            "required": ["name", "arguments"],
        }
    },
    "required": ["tool_call"],
}

Answer = tuple[str, int, int | None, str]  # text, tokens, evaluations, why it ended


def free(llm: Any, ids: list[int], box: Toolbox, most: int, note: Any = None) -> Answer:
    before = getattr(llm, "evaluations", 0)
    output = llm(ids, max_tokens=most, temperature=0.0, stop=STOP, grammar=note)
    choice = output["choices"][0]
    evaluations = llm.evaluations - before
    return choice["text"], len(choice["tokens"]), evaluations, choice["finish_reason"]


def json_of_a_call(llm: Any, ids: list[int], box: Toolbox, most: int) -> Answer:
    return free(llm, ids, box, most, llama_grammar(llm, NOTE))


def call(llm: Any, ids: list[int], box: Toolbox, most: int) -> Answer:
    return _held(llm, ids, grammar.tool_call(box), most)


def call_or_text(llm: Any, ids: list[int], box: Toolbox, most: int) -> Answer:
    return _held(llm, ids, grammar.tool_call_or_text(box), most)


def _held(llm: Any, ids: list[int], constraint: grammar.Constraint, most: int) -> Answer:
    made = grammar.generate(llm, ids, constraint, max_tokens=most)
    return made.text, len(made.tokens), made.evaluations, made.finish_reason


RUNGS: dict[str, Callable[[Any, list[int], Toolbox, int], Answer]] = {
    "free text": free,
    "JSON of a call": json_of_a_call,
    "call of the toolbox": call,
    "call or text": call_or_text,
}

ALARM = Tool(
    "set_alarm",
    "Sets an alarm.",
    {"type": "object", "properties": {"time": {"type": "string"}}, "required": ["time"]},
    lambda **_: None,
)
WORKED = (  # a request that needs a call, and one that doesn't
    ("user", "Wake me up at seven."),
    ("assistant", '{"tool_call": {"name": "set_alarm", "arguments": {"time": "07:00"}}}'),
    ("tool", "alarm set, 07:00"),
    ("assistant", "The alarm is set for seven o'clock."),
    ("user", "You're a great help!"),
    ("assistant", "Thank you, I'm glad to hear it."),
)


def ask(item: dict[str, Any], examples: bool) -> tuple[Prompt, Toolbox]:
    """The prompt and its toolbox; the examples have a tool of their own, the last one."""
    box = toolbox(item)
    if examples:
        box = Toolbox([*box.values(), ALARM])
    prompt = prompt_of(box)
    for role, text in WORKED if examples else ():
        prompt.add(role, text)
    prompt.add("user", item["request"])
    prompt.open("assistant")
    return prompt, box


def judge(item: dict[str, Any], box: Toolbox, text: str, finish_reason: str) -> dict[str, bool]:
    """What holds of a first answer; of a request that needs no call only whether there is one."""
    reading = read_tool_calls(text, box, finish_reason=finish_reason)
    tried = bool(reading.calls or reading.problem)
    if not item["calls"]:
        return {"needless": tried}
    wanted, made = item["calls"][0], reading.calls[0] if reading.calls else None
    return {
        "json": made is not None or _is_object(text),
        "known": made is not None or reading.problem == "invalid_arguments",
        "valid": made is not None,
        "tool": made is not None and made.name == wanted["name"],
        "arguments": made is not None
        and made.name == wanted["name"]
        and right(made.arguments, wanted["arguments"]),
        "missed": not tried,
    }


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def measure(llm: Any, items: list[dict[str, Any]], rungs: list[tuple[str, bool]]) -> None:
    """Answers what isn't answered yet; a line each in the model's file in `results/`."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"reliability-{_key(llm)}.jsonl"
    done = {tuple(line[key] for key in ("id", "rung", "examples")) for line in read(file)}
    todo = [
        (item, examples, [r for r, e in rungs if e == examples and (item["id"], r, e) not in done])
        for item in items
        for examples in sorted({e for _, e in rungs})
    ]
    bar = tqdm(total=sum(len(names) for *_, names in todo), desc=llm.name, smoothing=0.05)
    with bar, file.open("a", encoding="utf-8") as lines:
        for item, examples, names in todo:
            if not names:
                continue
            prompt, box = ask(item, examples)
            ids = prompt.tokens(llm)
            most = MAX_TOKENS.get(item["kind"], COURSE_TOKENS)
            llm.next_logits(ids)  # read before the clock starts: all rungs have the same prompt
            for name in names:
                started = time.perf_counter()
                text, tokens, evaluations, finish_reason = RUNGS[name](llm, ids, box, most)
                line = {
                    "model": llm.name,
                    "id": item["id"],
                    "kind": item["kind"],
                    "language": item["language"],
                    "rung": name,
                    "examples": examples,
                    "seconds": round(time.perf_counter() - started, 3),
                    "tokens": tokens,
                    "evaluations": evaluations,
                    "finish_reason": finish_reason,
                    "text": text,
                    **judge(item, box, text, finish_reason),
                }
                lines.write(json.dumps(line, ensure_ascii=False) + "\n")
                lines.flush()
                bar.update()


def read(file: Path) -> list[dict[str, Any]]:
    """The lines of a results file; a last one that was cut by a stop is left out."""
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8")
    whole, _, cut = text.rpartition("\n")
    if cut:
        file.write_text(whole + "\n" if whole else "", encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def _key(llm: Any) -> str:
    """The model's name and, so that another adapter begins anew, what its files hold."""
    files = [sha256_of(Path(path)) for path in (llm.model_path, llm.lora_path) if path]
    name = "".join(letter if letter.isalnum() else "-" for letter in llm.name)
    return f"{name}-{hashlib.sha256(repr(files).encode()).hexdigest()[:12]}"


def load(model: str, threads: int | None) -> Any:
    options = {"n_threads": threads} if threads else {}
    if model in ("plain", "trained"):
        adapter = None if model == "plain" else "embedded"
        return load_model("smollm2-135m", adapter=adapter, **options)
    return load_model(model, n_ctx=2048, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="*", help="plain, trained, a name or a path")
    parser.add_argument("--sets", nargs="*", default=["requests", "bfcl"])
    parser.add_argument("--every", type=int, default=1, help="take each n-th item only")
    parser.add_argument("--rungs", nargs="*", default=list(RUNGS), choices=list(RUNGS))
    parser.add_argument("--no-examples", action="store_true", help="leave the examples out")
    parser.add_argument("--threads", type=int)
    parser.add_argument(
        "--capstone", action="store_true", help="200 turns of lesson 11's assistant"
    )
    parser.add_argument("--report", action="store_true", help="write tables and chart")
    options = parser.parse_args()
    items = [item for name in options.sets for item in requests(name)][:: options.every]
    shown = (False,) if options.no_examples else (False, True)
    rungs = [(name, examples) for name in options.rungs for examples in shown]
    for model in options.model:
        measure(load(model, options.threads), items, rungs)
    if options.capstone:
        import capstone

        capstone.main()
    if options.report:
        from reliability_report import report

        report(read(file) for file in sorted(RESULTS.glob("reliability-*.jsonl")))


if __name__ == "__main__":
    main()
