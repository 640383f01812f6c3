"""`Timeline`: one row a step: what was read and written, which tools ran, and how long it took."""

from __future__ import annotations

from typing import Any

from ..errors import ToolcallLabError
from ..prefix import shared_prefix
from ..run import Placed, Run, Step
from .html import STYLE, View, badge_text, esc, one_line

PHASES = {  # of a step: letter, colour, what it is
    "read": ("R", "#0072B2", "the model reads the prompt"),
    "write": ("W", "#009E73", "the model writes"),
    "tool": ("T", "#CC79A7", "tools run"),
}


class Timeline(View):
    """Shows a `Run` step by step, with its ending.

    The text form leaves the seconds out, so that it's the same each time; `to_text(seconds=True)`
    and the HTML have them. Of a recording they are those of the day on which it was made. With a
    second run, `beside`, it shows both and the first step in which they part. In JupyterLab a step
    can be picked, with the keyboard too, and its figures are shown below.
    """

    def __init__(self, run: Run, beside: Run | None = None) -> None:
        if not run.steps:
            raise ToolcallLabError(f"This run has no steps to show. {run.explanation}")
        self.run, self.steps = run, list(run.walk())
        self.beside = None if beside is None else Timeline(beside)

    @property
    def parting(self) -> int | None:
        """The first step (from 1) in which two runs don't do the same; None if there's none."""
        if self.beside is None:
            return None
        mine, other = self.steps, self.beside.steps
        did = [[(at.who, what_happened(at.step)) for at in steps] for steps in (mine, other)]
        alike = shared_prefix(*did)
        return alike + 1 if alike < max(len(mine), len(other)) else None

    def _parted(self) -> str:
        """In which step two runs part, and what each did there."""
        if self.parting is None or self.beside is None:
            return "Both runs did the same in each step."
        said = [f"They part in step {self.parting}."]
        for name, steps in (("First", self.steps), ("Second", self.beside.steps)):
            parted = steps[self.parting - 1 :]
            what = one_line(what_happened(parted[0].step), 100) if parted else "it had ended"
            said.append(f"{name}: {what}")
        return "\n".join(said)

    def to_text(self, *, seconds: bool = False) -> str:
        """A line a step."""
        if self.beside is not None:
            both = (self._table(seconds), self.beside._table(seconds), self._parted())
            return "\n\n".join(both)
        return self._table(seconds)

    def to_html(self) -> str:
        """A table with a bar of seconds, a row a step."""
        if self.beside is None:
            return self._html()
        lines = esc(self._parted()).replace("\n", "<br>")
        parted = f'<p class="tcl-view"><b>{lines}</b></p>'
        return self._html() + self.beside._html() + parted

    def controls(self) -> Any:
        """A list of the steps, and the figures of the one that is picked."""
        return _controls(self)

    def details(self, number: int) -> str:
        """The figures of a step (from 1), as HTML."""
        step = self.steps[number - 1].step
        rows = "".join(
            f'<tr><th style="text-align:left;">{name}</th>'
            f'<td style="text-align:left;">{esc(one_line(value, 300))}</td></tr>'
            for name, value in _figures(step)
        )
        return f"<table>{rows}</table>"

    def _table(self, seconds: bool) -> str:
        lines = [f"{'step':>4} {'read':>6} {'reused':>6} {'written':>7}  what happened"]
        for number, placed in enumerate(self.steps, 1):
            step = placed.step
            read, reused, written = _counts(step)
            what = one_line(told(placed), 100)
            line = f"{number:>4} {read:>6} {reused:>6} {written:>7}  {what}"
            if seconds:
                spent = zip(PHASES.values(), _seconds(step), strict=True)
                line += "  " + " ".join(f"{letter} {time:.2f} s" for (letter, _, _), time in spent)
            lines.append(line)
        return "\n".join([*lines, self._ending(), self._speakers()])

    def _html(self) -> str:
        longest = max(sum(_seconds(placed.step)) for placed in self.steps) or 1.0
        rows = "".join(
            _row(number, placed.step, longest, told(placed))
            for number, placed in enumerate(self.steps, 1)
        )
        legend = ", ".join(f"{letter}: {meaning}" for letter, _, meaning in PHASES.values())
        heads = ("step", "time", "read", "reused", "written", "tokens/s", "what happened")
        head = "".join(f"<th>{name}</th>" for name in heads)
        return (
            f'{STYLE}<div class="tcl-view"><p><b>{esc(self._ending())}</b> · '
            f"{esc(self._speakers())}<br>"
            f"{legend}; tokens read, reused from before, and written.</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def _ending(self) -> str:
        return f"{self.run.ending or 'running'}: {one_line(self.run.explanation, 500)}"

    def _speakers(self) -> str:
        """Who spoke: more than one, if a recording had to ask a live model."""
        run = self.run
        steps = [placed.step for placed in self.steps]
        said = [badge_text(s.model or run.model, s.kind or run.kind) for s in steps]
        return "; ".join(dict.fromkeys(said))


def told(placed: Placed) -> str:
    """A step of a tree in a line, with who worked, where there are several."""
    who = f"{placed.who}: " if placed.who else ""
    return who + what_happened(placed.step, interrupted=placed.run.ending == "interrupted")


def what_happened(step: Step, *, interrupted: bool = False) -> str:
    """A step in a line: its calls with their results, its problem, or its text."""
    parts = [f"pruned ({step.pruning.policy}); "] if step.pruning else []
    if step.problem:
        return "".join([*parts, f"{step.problem}: {step.message}"])
    if not step.calls:
        return "".join([*parts, step.completion])
    lost = "(interrupted)" if interrupted else "(not made)"
    for number, call in enumerate(step.calls):
        result = step.results[number] if number < len(step.results) else None
        said = f"{'error: ' if result.error else ''}{result.text}" if result else lost
        parts.append(f"{call} -> {one_line(said, 60)}; ")
    return "".join(parts).removesuffix("; ")


def _row(number: int, step: Step, longest: float, what: str) -> str:
    spent = _seconds(step)
    parts = "".join(
        f'<span style="display:inline-block;height:16px;line-height:16px;overflow:hidden;'
        f"min-width:2px;width:{100 * time / longest:.1f}%;background:{color};color:#ffffff;"
        f'font-size:75%;" title="{meaning}: {time:.2f} s">{letter}</span>'
        for (letter, color, meaning), time in zip(PHASES.values(), spent, strict=True)
        if time > 0
    )
    written = len(step.completion_tokens or ())
    speed = f"{written / spent[1]:.0f}" if written and spent[1] else "–"
    read, reused, count = _counts(step)
    cells = "".join(f"<td>{cell}</td>" for cell in (read, reused, count, speed))
    wide = 'style="text-align:left;min-width:14em;white-space:nowrap;"'
    return (
        f"<tr><td>{number}</td><td {wide}>{parts}<br>{sum(spent):.2f} s</td>{cells}"
        f'<td style="text-align:left;">{esc(one_line(what, 160))}</td></tr>'
    )


def _figures(step: Step) -> list[tuple[str, str]]:
    """What there is to know of a step, by name; what nobody has measured is said, not made up."""
    read, write, tools = _seconds(step)
    evaluated, reused, written = _counts(step)
    speeds = [
        f"{int(count) / time:.0f} tokens/s" if count != "?" and time else "no speed measured"
        for count, time in ((evaluated, read), (written, write))
    ]
    figures = [
        ("prompt", f"{sum(map(len, step.prompt_tokens))} tokens, {reused} of them reused"),
        ("reading", f"{evaluated} tokens in {read:.2f} s, {speeds[0]}"),
        ("writing", f"{written} tokens in {write:.2f} s, {speeds[1]}"),
        ("finished by", step.finish_reason or "not said"),
        ("held to", step.constraint or "nothing: free text"),
    ]
    for call, result in zip(step.calls, step.results, strict=False):
        said = "an error" if result.error else "a result"
        size = f"{said} of {len(result.text)} characters in {result.seconds:.2f} s"
        figures.append((esc(call.name), f"{call} -> {size}"))
    return figures + [("tools", f"{tools:.2f} s in all")] * bool(step.calls)


def _controls(view: Timeline) -> Any:
    import ipywidgets as w

    table, below = w.HTML(view.to_html()), w.HTML()
    steps = [(f"step {n}", n) for n in range(1, len(view.steps) + 1)]
    picked = w.Dropdown(options=steps, value=len(steps), description="Figures of")

    def update(_: Any = None) -> None:
        below.value = f'<div class="tcl-view">{view.details(picked.value)}</div>'

    picked.observe(update, "value")
    update()
    return w.VBox([table, picked, below])


def _seconds(step: Step) -> tuple[float, float, float]:
    """How long it took to read, to write, and to run the tools."""
    read = min(step.read_seconds, step.model_seconds)
    return read, step.model_seconds - read, step.tool_seconds


def _counts(step: Step) -> tuple[str, str, str]:
    counts = (step.tokens_evaluated, step.tokens_reused)
    written = "?" if step.completion_tokens is None else str(len(step.completion_tokens))
    return (*("?" if count is None else str(count) for count in counts), written)  # type: ignore[return-value]
