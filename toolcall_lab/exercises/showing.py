"""An exercise as text and as HTML: pure functions from what is known to what is seen."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..widgets.html import CODE, STYLE, esc, visible
from .grading import Grade, TestResult
from .messages import say
from .task import Task

if TYPE_CHECKING:
    from .records import State

SIGNS = {"not attempted": "○", "failing": "✗", "passed": "✓", "stale": "↻"}
WIDTH = 100


def score(grade: Grade, language: str) -> str:
    """The verdict in a line: the state, the tests that are shown, the hidden ones."""
    shown = [test for test in grade.tests if not test.hidden]
    hidden = [test for test in grade.tests if test.hidden]
    parts = [f"{SIGNS[grade.status]} {say(language, grade.status)}"]
    if grade.tests:
        parts.append(f"{say(language, 'tests')} {_passed(shown)}")
        parts.append(f"+ {_passed(hidden)} {say(language, 'hidden')}")
    return " · ".join(parts)


def _passed(tests: Sequence[TestResult]) -> str:
    return f"{sum(test.passed for test in tests)}/{len(tests)}"


def check_text(task: Task, grade: Grade, language: str, note: str = "") -> str:
    """A check's verdict: a line a test, and what there is to know of those that failed."""
    lines = [score(grade, language)]
    if grade.message:
        lines.append(visible(grade.message, blanks=False))
    for sign, name, test in _lines(grade, language):
        lines.append(f"{sign} {name}")
        for head, text in _details(test, language) if test else ():
            lines += _indented(head, visible(text, blanks=False))
    lines += [text for text in _after(task, grade, language) if text]
    return "\n".join([*lines, visible(note)] if note else lines)


def _lines(grade: Grade, language: str) -> Iterator[tuple[str, str, TestResult | None]]:
    """Sign and name of each test, and the test itself if there's more to say of it."""
    families: dict[str, list[TestResult]] = {}
    for test in grade.tests:
        if test.hidden:
            families.setdefault(test.name, []).append(test)
        else:
            yield "✓" if test.passed else "✗", test.name, None if test.passed else test
    for name, tests in families.items():
        sign = "✓" if all(test.passed for test in tests) else "✗"
        count = f" ({_passed(tests)})" if len(tests) > 1 else ""
        yield sign, say(language, "hidden one", name=name) + count, None


def _details(test: TestResult, language: str) -> list[tuple[str, str]]:
    if not test.ran:
        return [(say(language, "got"), test.got)]
    call = "\n".join([*test.sources, test.call])
    rows = {
        "call": call,
        "noted": test.noted,
        "got": test.got,
        "expected": test.expected,
        "why": test.why,
    }
    return [(say(language, head), text) for head, text in rows.items() if text]


def _indented(head: str, text: str) -> list[str]:
    """Lines with a head before the first; long ones are wrapped as far in as they began."""
    lines = []
    for line in text.splitlines() or [""]:
        margin = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=margin) or [""]
    return [f"    {head if not n else '':<12} {line}" for n, line in enumerate(lines)]


def _after(task: Task, grade: Grade, language: str) -> list[str]:
    if grade.passed:
        return ["", say(language, "well done"), task.explanation(language)]
    return ["", say(language, "knows this")] if grade.mistake else []


def check_html(task: Task, grade: Grade, language: str, note: str = "") -> str:
    """The same as HTML."""
    items = ""
    for sign, name, test in _lines(grade, language):
        rows = "".join(_row(head, text) for head, text in _details(test, language)) if test else ""
        table = f'<table style="margin:2px 0 6px 1.5em;">{rows}</table>' if rows else ""
        items += f'<div style="margin:2px 0;"><b>{sign}</b> {inline(name)}{table}</div>'
    message = f"<p>{inline(grade.message)}</p>" if grade.message else ""
    after = "".join(f"<p>{inline(text)}</p>" for text in _after(task, grade, language) if text)
    last = f"<p>{esc(visible(note))}</p>" if note else ""
    head = f"<p><b>{esc(score(grade, language))}</b></p>"
    return f'{STYLE}<div class="tcl-view">{head}{message}{items}{after}{last}</div>'


def _row(head: str, text: str) -> str:
    style = f"text-align:left;white-space:pre-wrap;overflow-wrap:anywhere;{CODE}"
    shown = esc(visible(text, blanks=False))
    return (
        f'<tr><th style="text-align:left;vertical-align:top;">{esc(head)}</th>'
        f'<td style="{style}">{shown}</td></tr>'
    )


def statement_html(task: Task, summary: str, language: str) -> str:
    """An exercise's title, state and statement."""
    title = say(language, "title", lesson=task.lesson, title=task.title(language))
    return (
        f'{STYLE}<div class="tcl-view"><p><b>{inline(title)}</b><br>'
        f"{esc(summary)}</p>{paragraphs(task.statement(language))}"
        f"<p>{inline(say(language, 'your code', name=task.name))}</p></div>"
    )


def words_html(markdown: str) -> str:
    """A hint or a solution, as the panel shows it: paragraphs, and code between fences."""
    parts = re.split(r"```(?:python)?\n(.*?)```", markdown, flags=re.DOTALL)
    shown = [
        f'<pre style="{CODE}">{esc(visible(part, blanks=False))}</pre>'
        if number % 2
        else paragraphs(part)
        for number, part in enumerate(parts)
    ]
    return f'{STYLE}<div class="tcl-view">{"".join(shown)}</div>'


def paragraphs(text: str) -> str:
    """Paragraphs and lines as they are."""
    parts = [inline(part).replace("\n", "<br>") for part in text.strip().split("\n\n") if part]
    return "".join(f"<p>{part}</p>" for part in parts)


def inline(text: str) -> str:
    """A sentence with `code`, **strong** and *stressed* words as HTML; all else is escaped.

    >>> inline("a `<b>` and *that*")
    'a <code>&lt;b&gt;</code> and <em>that</em>'
    """
    parts = [esc(visible(part, blanks=False)) for part in re.split(r"`([^`]+)`", text)]
    return "".join(
        f"<code>{part}</code>" if number % 2 else _stressed(part)
        for number, part in enumerate(parts)
    )


def _stressed(text: str) -> str:
    strong = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)
    return re.sub(r"\*([^*\s][^*]*)\*", r"<em>\1</em>", strong)


def overview_text(tasks: Sequence[Task], state: State, language: str) -> str:
    """A line an exercise: how far it is."""
    rows = list(_overview(tasks, state, language))
    wide = max(len(row[1]) for row in rows)
    lines = [f"{sign} {lesson:>2} {name:<{wide}}  {what}" for sign, name, lesson, what in rows]
    return "\n".join([say(language, "progress"), *lines])


def overview_html(tasks: Sequence[Task], state: State, language: str) -> str:
    """The same as a table."""
    rows = "".join(
        f"<tr><td>{sign}</td><td>{lesson}</td><td><code>{esc(name)}</code></td>"
        f'<td style="text-align:left;">{esc(what)}</td></tr>'
        for sign, name, lesson, what in _overview(tasks, state, language)
    )
    head = f"<p><b>{esc(say(language, 'progress'))}</b></p>"
    return f'{STYLE}<div class="tcl-view">{head}<table>{rows}</table></div>'


def _overview(
    tasks: Sequence[Task], state: State, language: str
) -> Iterator[tuple[str, str, int, str]]:
    for task in tasks:
        record = state.of(task.name)
        status = "passed" if record.passed else "failing" if record.tries else "not attempted"
        parts = [say(language, status)]
        if record.best[1]:
            parts.append(f"{say(language, 'best')} {record.best[0]}/{record.best[1]}")
        if record.tries:
            parts.append(f"{say(language, 'tries')} {record.tries}")
        yield SIGNS[status], task.name, task.lesson, " · ".join(parts)
