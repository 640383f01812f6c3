"""`Exercise`: what a learner has in hand: `ex.check(f)`, `ex.hint()`, `ex.solution()`, the panel.

Works in plain Python as well: everything has a text form. In a notebook with a kernel, showing it
gives a panel with buttons (`panel.py`), which do what these methods do.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import types
from typing import Any

from ..widgets.html import bundle, static
from . import NAMES, task_of
from .grading import Grade, TestResult, grade
from .messages import default_language, say
from .records import Record, State, folder
from .showing import SIGNS, check_html, check_text, overview_html, overview_text, statement_html
from .task import Task

TRIES = 3  # with different code, after which the solution is shown


class Words(str):
    """A text that a notebook shows as Markdown, and `print` and `repr` as it is."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return str(self)


class CheckResult:
    """A check's verdict, shown in full: `.passed`, `.status`, `.tests`, `.message`, `.grade`."""

    def __init__(self, task: Task, grade: Grade, language: str, note: str = "") -> None:
        self.task, self.grade, self.language, self.note = task, grade, language, note

    @property
    def passed(self) -> bool:
        """Whether every test passed, hidden ones too."""
        return self.grade.passed

    @property
    def status(self) -> str:
        """ "not attempted", "failing" or "passed"."""
        return self.grade.status

    @property
    def tests(self) -> tuple[TestResult, ...]:
        """A result a test, in order; empty if none could run."""
        return self.grade.tests

    @property
    def message(self) -> str:
        """What is wrong with the function as a whole, if something is."""
        return self.grade.message

    def __repr__(self) -> str:
        return check_text(self.task, self.grade, self.language, self.note)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle(repr(self), check_html(self.task, self.grade, self.language, self.note))


class Exercise:
    """One exercise. Progress is kept in a file on this machine (`toolcall_lab.exercises.progress`).

    `result` is the last check's, None before it.
    """

    def __init__(self, task: Task, language: str | None = None) -> None:
        self.task, self.language = task, default_language(language)
        self.name = task.name
        self.result: CheckResult | None = None
        self._checked = ""  # the code that `result` is about
        self._hinted = 0  # hints given since the last check
        self._panel: Any = None

    def check(self, function: Any) -> CheckResult:
        """Runs all tests on your function, and keeps what came of it."""
        made = grade(self.task, function, self.language)
        note = ""
        if made.tests:
            note = self._keep(made, fingerprint(function))
        self.result = CheckResult(self.task, made, self.language, note)
        self._checked, self._hinted = fingerprint(function), 0
        if self._panel is not None:
            self._panel.refresh()
        return self.result

    def hint(self, n: int | None = None) -> Words:
        """The next hint, the one for what you did first if that is a known mistake; or hint `n`."""
        of = len(self.task.hints)
        if n is not None:
            if type(n) is not int or not 1 <= n <= of:
                return Words(self._say("no such hint", n=n, of=of))
            return self._hint(n)
        self._hinted += 1
        mistake = self.result.grade.mistake if self.result else None
        if mistake is not None and self._hinted == 1:
            return Words(self._say("hint for this", hint=mistake.hint(self.language)))
        n = self._hinted - (mistake is not None)
        return self._hint(n) if n <= of else Words(self._say("no more hints", of=of))

    def solution(self) -> Words:
        """The official solution, once you have solved it, or tried three times."""
        record = self.record()
        if not (record.passed or record.tries >= TRIES):
            return Words(self._say("solution later", tries=record.tries))
        note = self._update(lambda kept: kept.looked())
        source = source_of(self.task.solution)
        head, after = self._say("solution"), self.task.explanation(self.language)
        return Words(f"**{head}**\n\n```python\n{source}\n```\n\n{after}{_behind(note)}")

    def record(self) -> Record:
        """What is kept of this exercise: tries, the best score, whether it was passed."""
        return State.load(folder()).of(self.name)

    def is_stale(self, function: Any) -> bool:
        """Whether the function isn't the one that was checked last."""
        return self.result is not None and fingerprint(function) != self._checked

    @property
    def status(self) -> str:
        """Of the last check; before it, "passed" if it was once, else "not attempted"."""
        if self.result is not None:
            return self.result.status
        return "passed" if self.record().passed else "not attempted"

    def _hint(self, n: int) -> Words:
        note = self._update(lambda kept: kept.hinted(n))
        hint = self.task.hints[n - 1](self.language)
        return Words(self._say("hint of", n=n, of=len(self.task.hints), hint=hint) + _behind(note))

    def _keep(self, made: Grade, code: str) -> str:
        score = (sum(test.passed for test in made.tests), len(self.task.cases))
        return self._update(lambda kept: kept.tried(code, score, made.passed))

    def _update(self, change: Any) -> str:
        """Changes what is kept of this exercise; a sentence if the file was broken or can't be."""
        return State.update(folder(), self.name, change, self.language)

    def _say(self, message: str, **values: object) -> str:
        return say(self.language, message, **values)

    def __repr__(self) -> str:
        title = self.task.title(self.language)
        lines = [self._say("title", lesson=self.task.lesson, title=title), self.summary()]
        lines += ["", self.task.statement(self.language)]
        lines += ["", self._say("your code", name=self.name)]
        return "\n".join(lines)

    def summary(self) -> str:
        """The state in a line: of this exercise, and of the course."""
        state = State.load(folder())
        solved = sum(state.of(name).passed for name in NAMES)
        shown = sum(not case.hidden for case in self.task.cases)
        hidden = len(self.task.cases) - shown
        tests, record = self.result.tests if self.result else (), state.of(self.name)
        passed = sum(test.passed for test in tests if not test.hidden)
        parts = [
            f"{SIGNS[self.status]} {self._say(self.status)}",
            f"{self._say('tests')} {passed}/{shown} + {hidden} {self._say('hidden')}",
            f"{self._say('tries')} {record.tries}",
            f"{self._say('course')} {solved}/{len(NAMES)} {self._say('solved')}",
        ]
        if not tests and record.best[1]:
            parts[1] = f"{self._say('best')} {record.best[0]}/{record.best[1]}"
        return " · ".join(parts)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        widget = None
        if not static():
            from .panel import Panel

            if self._panel is not None:
                self._panel.close()
            self._panel = Panel(self)
            widget = self._panel.widget
        markup = statement_html(self.task, self.summary(), self.language)
        return bundle(repr(self), markup, widget)


class Overview:
    """How far you are: a line an exercise."""

    def __init__(self, language: str | None = None) -> None:
        self.language = default_language(language)
        self.state = State.load(folder())
        self.tasks = [task_of(name) for name in NAMES]

    def __repr__(self) -> str:
        return overview_text(self.tasks, self.state, self.language)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle(repr(self), overview_html(self.tasks, self.state, self.language))


def _behind(note: str) -> str:
    return f"\n\n{note}" if note else ""


def source_of(function: Any) -> str:
    """A function's source with what it needs of its module: imports, constants, helpers."""
    text = inspect.getsource(inspect.getmodule(function))  # type: ignore[arg-type]
    statements, lines = ast.parse(text).body, text.splitlines()
    bound = {name: one for one in statements for name in _bound(one)}
    wanted, needed = [function.__name__], set[ast.stmt]()
    while wanted:
        statement = bound.get(wanted.pop())
        if statement is not None and statement not in needed:
            needed.add(statement)
            wanted += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    parts = [
        ("" if isinstance(one, (ast.Import, ast.ImportFrom)) else "\n\n")
        + "\n".join(lines[one.lineno - 1 : one.end_lineno])
        for one in statements
        if one in needed
    ]
    return "\n".join(parts).strip()


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module binds."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name for alias in statement.names]
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return [statement.name] if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else []


def fingerprint(function: Any) -> str:
    """What tells two versions of a function apart: the code of it and of what it uses, without
    lines' numbers. The same code has the same fingerprint in each session."""
    if type(function) is not types.FunctionType:
        return ""
    return hashlib.sha256(repr(_marks(function, [])).encode()).hexdigest()[:16]


def _marks(value: Any, seen: list[Any]) -> Any:
    if type(value) is frozenset:
        return sorted(map(repr, value))
    if type(value) in (tuple, list):
        return [_marks(item, seen) for item in value]
    if type(value) is types.CodeType:
        return [value.co_code.hex(), _marks(value.co_consts, seen), value.co_names]
    if type(value) is not types.FunctionType:
        plain = type(value) in (str, int, float, bool, type(None))
        return repr(value) if plain else type(value).__name__
    if any(value is one for one in seen):
        return value.__name__
    seen.append(value)
    cells = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
    used = [value.__globals__.get(name) for name in _names(value.__code__)]
    parts = [value.__code__, value.__defaults__, list((value.__kwdefaults__ or {}).items())]
    return [_marks(part, seen) for part in [*parts, *cells, *used]]


def _names(code: types.CodeType) -> list[str]:
    """The global names that a code and the functions in it use."""
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return [*code.co_names, *(name for one in inner for name in _names(one))]


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # it's filled later
        return False
