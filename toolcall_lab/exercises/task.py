"""What an exercise is made of: texts in both languages, tests, hints, known mistakes, a solution.

Plain data only. The tests' arguments go to another process, in which the learner's function runs
(`running.py`); what is expected stays here, and what came back is judged here (`grading.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

LANGUAGES = ("en", "fr")


@dataclass(frozen=True)
class Text:
    """A text in both languages of the course: `text("fr")`."""

    en: str
    fr: str

    def __call__(self, language: str) -> str:
        return str(getattr(self, language))


@dataclass(frozen=True)
class Code:
    """A function or an object among a test's arguments, as source text.

    It's made anew for each test, where the learner's function runs; the last name that the source
    binds is the value. `log(name, *values)` in it notes what happens, for `Outcome.log`.

    >>> Code("def add(a, b):\\n    return a + b")
    add
    """

    source: str
    words: str = ""  # shown to the learner in place of a long source

    @property
    def name(self) -> str:
        """The last name that the source binds at its top level."""
        last = ast.parse(self.source).body[-1]
        if isinstance(last, (ast.FunctionDef, ast.ClassDef)):
            return last.name
        assert isinstance(last, ast.Assign)
        return ast.unparse(last.targets[0])

    def __repr__(self) -> str:
        return self.name

    def shown(self) -> str:
        """What the learner sees of it: its words, or the source without its notes."""
        if self.words:
            return self.words
        lines = self.source.strip().splitlines()
        return "\n".join(line for line in lines if not line.lstrip().startswith("log("))


@dataclass(frozen=True)
class Failure:
    """What ended a call: the class of the exception (`kind`, and with its bases `kinds`), or else,
    in `ended`, one of `timeout`, `exit`, `input`, `died`, `not run`.

    `line` is the number of the learner's line in its cell or file, None if it can't be said.
    """

    kind: str = ""
    message: str = ""
    line: int | None = None
    kinds: tuple[str, ...] = ()
    ended: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a call did: `value` or `failure`, what it `printed`, the notes of the test's own
    functions (`log`: a list of `[name, *values]`), which parameters' values it `changed`."""

    value: Any = None
    failure: Failure | None = None
    printed: str = ""
    log: list[list[Any]] = field(default_factory=list)
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expect:
    """What is expected of an outcome that isn't one value: in words, and as a check.

    The check is asked only about a call that returned and left its arguments as they were.
    """

    text: Text
    check: Callable[[Outcome], bool]


@dataclass(frozen=True)
class Raises:
    """That the call raises this class of exception, by name: `Raises("ValueError")`."""

    kind: str


@dataclass(frozen=True)
class Case:
    """A test: a call of the learner's function.

    `name` says in plain words what is tried; of a hidden test only this and the verdict are shown.
    `arguments` go by name, in the order of the signature: plain data (as JSON has it), and `Code`.
    `expected` is a value, an `Expect` or a `Raises`; `why` tells what it matters for the model.
    """

    name: Text
    arguments: dict[str, Any]
    expected: Any
    why: Text
    hidden: bool = False


@dataclass(frozen=True)
class Wrong:
    """A known mistake: a whole function that makes it, and the hint for who made it."""

    name: str
    source: str
    hint: Text


@dataclass(frozen=True)
class Task:
    """An exercise. `stub` is what the learner begins with, `solution` the official function."""

    name: str
    lesson: int
    title: Text
    statement: Text
    stub: str
    cases: tuple[Case, ...]
    hints: tuple[Text, Text, Text]
    wrong: tuple[Wrong, ...]
    solution: Callable[..., Any]
    explanation: Text
