"""The command `toolcall-lab`: `ask` runs the agent once and shows each step, `models` and `pull`
find models, `check` tries one, `doctor` checks the machine; `release` and `solutions` write the
lessons for students, and solved."""

from __future__ import annotations

import argparse
import io
import itertools
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import grammar
from .agent import run_agent
from .check import examine_model, lessons
from .doctor import Check, examine
from .errors import ToolcallLabError
from .models import SMOLLM2, embedded_path, hub, load_model
from .models.needs import memory_needed
from .run import Step
from .toolkit import default_toolbox
from .widgets.html import visible


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a Windows console may not know every character
            stream.reconfigure(errors="replace")
    try:
        return int(options.run(options))
    except (ToolcallLabError, OSError) as error:
        print(f"toolcall-lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("toolcall-lab: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="toolcall-lab", description="Tool calling, step by step.")
    names = "ask | models | pull | check | doctor | release | solutions"
    commands = parser.add_subparsers(required=True, metavar=names)
    ask = commands.add_parser("ask", help="ask a model that has tools, and see every step")
    ask.add_argument("question")
    ask.add_argument("--model", metavar="GGUF", help="a model file (default: the embedded model)")
    ask.add_argument(
        "--adapter",
        metavar="GGUF",
        default="embedded",
        help="another adapter, or `none`: the plain model (default: the embedded model's)",
    )
    ask.add_argument("--n-ctx", type=int, default=4096, help="the context window, in tokens")
    ask.add_argument("--n-gpu-layers", type=int, default=0, help="layers for the GPU, -1: all")
    ask.add_argument("--max-steps", type=int, default=5)
    ask.add_argument("--online", action="store_true", help="real weather, from Open-Meteo")
    ask.add_argument("--prompt", action="store_true", help="print the whole prompt at the end")
    ask.add_argument("--save", metavar="FILE", help="write the run as JSON Lines")
    ask.set_defaults(run=_ask)
    models = commands.add_parser("models", help="list the models that are here or can be pulled")
    models.set_defaults(run=_models)
    pull = commands.add_parser("pull", help="download a model from Hugging Face")
    pull.add_argument("name", help="a name that `models` lists, or owner/repo:file.gguf")
    pull.set_defaults(run=_pull)
    check = commands.add_parser("check", help="run the course's checks on a model of yours")
    check.add_argument("model", help="a GGUF file, or a name that `models` lists")
    check.add_argument("--n-ctx", type=int, default=4096, help="the context window, in tokens")
    check.add_argument(
        "--lessons",
        metavar="FOLDER",
        type=Path,
        help="also run each notebook there, e.g. notebooks/en",
    )
    check.set_defaults(run=_check)
    doctor = commands.add_parser("doctor", help="check this machine, and how to mend what fails")
    doctor.set_defaults(run=_doctor)
    for name, what in (
        ("release", "write the lessons for students: stubs, no outputs of exercises"),
        ("solutions", "write the lessons with every exercise solved"),
    ):
        edition = commands.add_parser(name, help=what)
        edition.add_argument("notebooks", type=Path, help="a folder, e.g. notebooks/en")
        edition.add_argument("out", type=Path, help="a new or empty folder")
        edition.set_defaults(run=_edition, solved=name == "solutions")
    return parser


def _edition(options: argparse.Namespace) -> int:
    from .exercises import NAMES
    from .exercises.editions import release, solve

    written = (solve if options.solved else release)(options.notebooks, options.out)
    text = "".join(path.read_text(encoding="utf-8") for path in written)
    count = sum(f"ex.check({name})" in text for name in NAMES)
    print(f"{len(written)} notebooks with {count} exercises in {written[0].parent}")
    return 0


def _ask(options: argparse.Namespace) -> int:
    if not options.question.strip():
        raise ToolcallLabError("The question is empty; put one in quotes behind `ask`.")
    toolbox = default_toolbox(online=options.online)
    llm = load_model(
        options.model,
        adapter=None if options.adapter == "none" else options.adapter,
        n_ctx=options.n_ctx,
        n_gpu_layers=options.n_gpu_layers,
    )
    print(f"{llm.name} ({llm.kind}), tools: {', '.join(toolbox)}")
    constraint = None
    if not llm.calls_tools:
        constraint = [grammar.tool_call(toolbox)]
        print(
            "This model doesn't call tools by itself: its first step is constrained to a call, "
            "so it chooses which tool, not whether. The steps behind it are free."
        )
    run = run_agent(
        llm,
        toolbox,
        options.question,
        constraint=constraint,
        max_steps=options.max_steps,
        temperature=0.0,
        states=True,
        path=options.save,
        on_step=_StepPrinter(),
    )
    said = "Answer" if run.ending == "answered" else "No answer"
    print(f"\n{said}: {visible(run.answer, blanks=False)}" if run.answer else "\nNo answer.")
    print(f"Ended:  {run.ending}. {run.explanation}")
    if options.prompt and run.steps:
        last = run.steps[-1]
        print(f"\nThe last prompt:\n{visible(last.prompt.text + last.completion)}")
    return 0 if run.ending == "answered" else 1


class _StepPrinter:
    """Prints each step as it ends."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self, step: Step) -> None:
        self.number += 1
        held = f", constrained to {step.constraint}" if step.constraint else ""
        total = sum(map(len, step.prompt_tokens))
        read = (
            "" if step.tokens_evaluated is None else f", {step.tokens_evaluated} of them read now"
        )
        print(f"\nStep {self.number}: prompt of {total} tokens{read}{held}")
        print(f"  model  {visible(step.completion)}")
        for call, result in zip(step.calls, step.results, strict=True):
            print(f"  call   {call}")
            print(f"  {'error ' if result.error else 'result'} {visible(result.text)}")
        if step.problem:
            print(f"  {step.problem}: {visible(step.message)}")


def _models(_: argparse.Namespace) -> int:
    import psutil

    free = psutil.virtual_memory().available / 1e9
    chosen = os.environ.get("TOOLCALL_LAB_MODEL", "") or SMOLLM2.key
    print(f"{free:.1f} GB of memory are free. * is what load_model() loads.")
    here = {SMOLLM2.key: embedded_path()}
    here |= {name: Path(entry["path"]) for name, entry in hub.remembered().items()}
    for name in dict.fromkeys([*here, *hub.PULLABLE, chosen]):
        path = here.get(name, Path(name).expanduser())
        mark = "*" if name == chosen else " "
        print(f"{mark} {name:<22} {_state(name, path, free)}")
    return 0


def _state(name: str, path: Path, free: float) -> str:
    """Whether a model is here, and what it needs."""
    if not path.is_file():
        known = name in hub.PULLABLE or ":" in name
        return f"not here: toolcall-lab pull {name}" if known else "there is no such file"
    try:
        need = memory_needed(path, 4096) / 1e9
    except ToolcallLabError as error:
        return f"here, but {error}"
    fits = "" if need < free else ", more than is free"
    return f"here, needs {need:.1f} GB with n_ctx=4096{fits}"


def _pull(options: argparse.Namespace) -> int:
    entry = hub.look_up(options.name)
    print(
        f"{entry.repo}, {entry.file}: {entry.size / 1e9:.2f} GB, licence "
        f"{entry.license or 'not stated'}, SHA-256 {entry.sha256 or 'not stated'}"
    )
    path = hub.pull(options.name, entry)
    print(f'It is here: {path}\nTry: toolcall-lab ask --model {options.name} "What time is it?"')
    return 0


def _check(options: argparse.Namespace) -> int:
    checks = examine_model(options.model, options.n_ctx)
    if options.lessons:
        checks = itertools.chain(checks, lessons(options.model, options.lessons))
    return _report(checks)


def _doctor(_: argparse.Namespace) -> int:
    return _report(examine())


def _report(checks: Iterable[Check]) -> int:
    states = []
    for check in checks:
        print(check, flush=True)
        states.append(check.state)
    return 1 if "fails" in states else 0


if __name__ == "__main__":
    sys.exit(main())
