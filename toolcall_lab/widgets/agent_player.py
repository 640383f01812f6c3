"""`AgentPlayer`: a run step by step: what was sent, written, read in it, and done.

`AgentPlayer(run)` plays one that has ended. `AgentPlayer.run(llm, toolbox, query)` and `.start(…)`
run the loop and show it as it goes, `run` in the cell, `start` in the background with a Stop
button.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ToolcallLabError
from ..run import Run, Step
from .call_reader import CallReader
from .context_gauge import ContextGauge
from .html import STYLE, View, close_tree, esc, one_line, static
from .live import Background, LiveRun
from .prompt_page import page_html, pages_of
from .timeline import Timeline, told
from .token_view import TokenView

SECONDS = 1.5  # for a step, while it plays


class AgentPlayer(View):
    """Shows a `Run` step by step: the prompt's growth, the answer as it was read, the result.

    In JupyterLab it has buttons: first, back, play, next, last, and to the next problem. Everywhere
    else it's a line a step, with the details below it. `step` (from 1) is the one that is shown. Of
    a run that was stopped before its first step there's only the ending.
    """

    def __init__(self, run: Run, *, step: int = 1) -> None:
        self.shown, self.step, self.steps = run, step, list(run.walk())
        if not 1 <= step <= max(1, len(self.steps)):
            raise ToolcallLabError(f"There is no step {step}; the run has {len(self.steps)}.")
        self._playing = threading.Event()

    @classmethod
    def run(
        cls, llm: Any, *task: Any, agent: Callable[..., Run] | None = None, **settings: Any
    ) -> AgentPlayer:
        """Runs the loop in this cell, as `run_agent(llm, toolbox, query, …)` does, and shows it.

        An interrupt of the kernel stops it and keeps what there is.
        """
        return cls(LiveRun(agent or _run_agent(), llm, *task, **settings).go())

    @classmethod
    def start(
        cls, llm: Any, *task: Any, agent: Callable[..., Run] | None = None, **settings: Any
    ) -> Background:
        """Runs the loop in the background: the cell returns, and a Stop button ends the run.

        Gives the run in progress: `.stop()`, `.running`, `.wait()`, which gives the `Run`. Without
        widgets there's nothing to press, so it's waited for.
        """
        live = Background(agent or _run_agent(), llm, *task, **settings)
        if static():
            live.begin()
            live.wait()
            return live
        import ipywidgets as w
        from IPython.display import display

        button = w.Button(description="Stop", icon="stop", tooltip="Ends the run and keeps it")
        button.on_click(lambda _: live.stop())
        live.on_end = lambda: close_tree(button)
        display(button)
        live.begin()
        return live

    @property
    def problems(self) -> list[int]:
        """The steps in which something went wrong: an unreadable call, or a tool's error."""
        return [number for number, at in enumerate(self.steps, 1) if _is_problem(at.step)]

    def to_text(self) -> str:
        """A line a step, and how it ended."""
        lines = [f"{one_line(self.shown.query, 90)} · {self._ending()}"]
        for number, placed in enumerate(self.steps, 1):
            mark = "!" if _is_problem(placed.step) else " "
            lines.append(f"{number:>3} {mark} {one_line(told(placed), 100)}")
        return "\n".join(lines)

    def to_html(self) -> str:
        """A row a step with its details to open; of a run with many, those of the first ones."""
        rows = "".join(
            f"<details{' open' if number == self.step else ''}><summary>{self._head(number)}"
            f"</summary>{self.details(number) if number <= MOST_DETAILS else ''}</details>"
            for number in range(1, len(self.steps) + 1)
        )
        head = f"<p><b>{esc(one_line(self.shown.query, 200))}</b><br>{esc(self._ending())}</p>"
        return f'{STYLE}<div class="tcl-view">{head}{rows}</div>'

    def details(self, number: int, *, tokens: bool = False) -> str:
        """A step from inside, as HTML: what its prompt has gained, how its answer was read, what
        the tools said; with `tokens` how each token came about, if that is known."""
        placed = self.steps[number - 1]
        step = placed.step
        until = replace(placed.run, steps=placed.run.steps[: placed.number])
        parts = [page_html(pages_of(self.shown, None)[number - 1], "text", only_new=True)]
        parts.append(CallReader(self.shown, step=number).to_html())
        parts += [
            f"<p>◆ {esc(call.name)}: {'error: ' if result.error else ''}"
            f"{esc(one_line(result.text, 600))}</p>"
            for call, result in zip(step.calls, step.results, strict=False)
        ]
        if tokens:
            parts.append(ContextGauge(until).to_html())
        if tokens and step.records:
            parts.append(TokenView(self.shown, step=number).to_html())
        return "".join(part.replace(STYLE, "") for part in parts)

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Writes the run: `….jsonl` can be loaded again, `….html` is a page that needs nothing."""
        file = Path(path)
        if file.suffix == ".jsonl":
            self.shown.save(file)
        elif file.suffix in (".html", ".htm"):
            timeline = Timeline(self.shown).to_html() if self.steps else ""
            page = f'<!doctype html><meta charset="utf-8"><title>A run</title>{timeline}'
            file.write_text(page + self.to_html(), encoding="utf-8", errors="replace")
        else:
            raise ToolcallLabError(f"{file.name}: a run is exported as .jsonl or as .html.")
        return file

    def controls(self) -> Any:
        """Its buttons and what they change; none for a run that ended before its first step."""
        return _controls(self) if self.steps else None

    def close(self) -> None:
        """Stops playing, and frees the controls."""
        self._playing.clear()
        super().close()

    def _ending(self) -> str:
        return f"{self.shown.ending or 'running'}: {one_line(self.shown.explanation, 300)}"

    def _head(self, number: int) -> str:
        placed = self.steps[number - 1]
        mark = "! " if _is_problem(placed.step) else ""
        return f"<b>{mark}Step {number}</b> · {esc(one_line(told(placed), 160))}"


MOST_DETAILS = 12  # steps whose insides are in the static form


def _is_problem(step: Step) -> bool:
    return bool(step.problem) or any(result.error for result in step.results)


def _run_agent() -> Callable[..., Run]:
    from ..agent import run_agent  # the loop sits above the views

    return run_agent


def _controls(player: AgentPlayer) -> Any:
    import ipywidgets as w

    head, body = w.HTML(), w.HTML()
    last = len(player.steps)

    def update() -> None:
        where = f"<p>{player._head(player.step)} · step {player.step} of {last}</p>"
        head.value = f'{STYLE}<div class="tcl-view">{where}</div>'
        body.value = f'<div class="tcl-view">{player.details(player.step, tokens=True)}</div>'
        first.disabled = back.disabled = player.step == 1
        forth.disabled = end.disabled = player.step == last
        problem.disabled = not player.problems
        play.description = "Pause" if player._playing.is_set() else "Play"

    def go(step: int) -> None:
        player.step = min(max(1, step), last)
        update()

    def to_problem(_: Any) -> None:
        later = [step for step in player.problems if step > player.step]
        go((later or player.problems)[0])

    def work() -> None:
        while player._playing.is_set() and player.step < last:
            if not pause.wait(SECONDS):
                go(player.step + 1)
        player._playing.clear()
        update()

    pause = threading.Event()

    def toggle(_: Any) -> None:
        if player._playing.is_set():
            player._playing.clear()
            pause.set()
            return
        pause.clear()
        player._playing.set()
        if player.step == last:
            player.step = 1
        update()
        threading.Thread(target=work, daemon=True).start()

    def button(name: str, tip: str, action: Callable[[Any], None]) -> Any:
        made = w.Button(description=name, tooltip=tip)
        made.layout.width = "auto"
        made.on_click(action)
        return made

    first = button("First", "To the first step", lambda _: go(1))
    back = button("Back", "One step back", lambda _: go(player.step - 1))
    play = button("Play", "Goes on by itself", toggle)
    forth = button("Next", "One step on", lambda _: go(player.step + 1))
    end = button("Last", "To the last step", lambda _: go(last))
    problem = button("Next problem", "To the next step in which something went wrong", to_problem)
    update()
    return w.VBox([head, w.HBox([first, back, play, forth, end, problem]), body])
