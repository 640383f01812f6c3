"""From a function to a verdict: a line a test, with the call, what came back, what was expected.

`grade` runs all tests of a task on a function; nothing of it needs a notebook, a panel or progress.
"""

from __future__ import annotations

import dis
import functools
import inspect
import linecache
import types
from dataclasses import dataclass
from typing import Any

from .messages import say
from .running import NOT_RUN, SECONDS, NotCopied, Other, run
from .task import Case, Code, Expect, Failure, Outcome, Raises, Task, Wrong
from .worker import undecorated

MOST_NOTES = 12  # shown of a test


@dataclass(frozen=True)
class TestResult:
    """A test's verdict. Of a hidden one there's only `name` and `passed`.

    `sources` are the functions and objects among the call's arguments, `noted` is what they noted;
    `ran` is False if the call was never made, since others had to be stopped.
    """

    __test__ = False  # pytest would collect it

    name: str
    passed: bool
    hidden: bool = False
    call: str = ""
    sources: tuple[str, ...] = ()
    noted: str = ""
    got: str = ""
    expected: str = ""
    why: str = ""
    ran: bool = True


@dataclass(frozen=True)
class Grade:
    """What came of all tests: `status` is "not attempted", "failing" or "passed".

    `message` says what is wrong with the function as a whole, if something is; `mistake` is the
    known mistake that behaves like it.
    """

    status: str
    tests: tuple[TestResult, ...] = ()
    message: str = ""
    mistake: Wrong | None = None

    @property
    def passed(self) -> bool:
        """Whether every test passed, hidden ones too."""
        return self.status == "passed"


def grade(task: Task, function: Any, language: str = "en") -> Grade:
    """Runs the task's tests on a function. Nothing that it does is raised here."""
    if message := unfit(task, function, language):
        return Grade("failing", message=message)
    if untouched(function):
        return Grade("not attempted", message=say(language, "still a stub", name=task.name))
    try:
        calls = [(0, case.arguments) for case in task.cases]
        outcomes = run([function], calls, seconds=SECONDS)
    except NotCopied as error:
        return Grade("failing", message=say(language, "not copied", reason=error))
    tests = tuple(
        _result(task, case, outcome, function, language)
        for case, outcome in zip(task.cases, outcomes, strict=True)
    )
    if all(test.passed for test in tests):
        return Grade("passed", tests)
    return Grade("failing", tests, mistake=recognised(task, outcomes))


def unfit(task: Task, function: Any, language: str) -> str:
    """Why this can't be the task's function at all; empty if it can."""
    if type(function) is not types.FunctionType:
        found = "a value"
        if function is None:
            found = "none"
        elif isinstance(type(function), type) and issubclass(type(function), type):
            found = "a class"
        what = say(language, found, type=type(function).__name__)
        return say(language, "no function", found=what, name=task.name)
    inner = undecorated(function)
    if inspect.iscoroutinefunction(inner):
        return say(language, "asynchronous")
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        return say(language, "a generator")
    wanted, given = list(inspect.signature(task.solution).parameters), _parameters(function)
    more = given[len(wanted) :]
    fits = (
        [p.name for p in given[: len(wanted)]] == wanted
        and all(p.kind in _BY_PLACE for p in given)
        and all(p.default is not p.empty for p in more)
    )
    if not fits:
        taken = str(inspect.Signature(given))[1:-1]
        return say(language, "parameters", found=taken, wanted=", ".join(wanted))
    return ""


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _parameters(function: Any) -> list[inspect.Parameter]:
    """What a function takes, without annotations; of a decorated one, what is inside."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):  # somebody has changed what it says of itself
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        return [inspect.Parameter(name, _BY_PLACE[1]) for name in names]
    return [p.replace(annotation=p.empty) for p in parameters]


def untouched(function: types.FunctionType) -> bool:
    """Whether there's no code in it yet: `...`, `pass`, `raise NotImplementedError(…)`."""
    code = function.__code__
    steps = [
        step.opname
        for step in dis.get_instructions(code)
        if step.opname not in ("NOP", "RESUME", "CACHE")
    ]
    empty = steps in (["LOAD_CONST", "RETURN_VALUE"], ["RETURN_CONST"]) and _returns_none(code)
    refuses = code.co_names == ("NotImplementedError",) and steps[-1] == "RAISE_VARARGS"
    return empty or (refuses and not any(step.startswith("LOAD_FAST") for step in steps))


def _returns_none(code: types.CodeType) -> bool:
    given = [step.argval for step in dis.get_instructions(code) if "CONST" in step.opname]
    return given == [None]


def succeeded(case: Case, outcome: Outcome) -> bool:
    """Whether an outcome is what a case expects."""
    if isinstance(case.expected, Raises):
        return outcome.failure is not None and case.expected.kind in outcome.failure.kinds
    if outcome.failure is not None or outcome.changed:
        return False
    if isinstance(case.expected, Expect):
        return case.expected.check(outcome)
    return same(outcome.value, case.expected)


def same(value: Any, expected: Any) -> bool:
    """Whether two plain values are equal, and of equal types all the way down.

    >>> same([1, {"a": 0}], [1, {"a": 0}]), same(1, True), same(1, 1.0)
    (True, False, False)
    """
    if type(value) is not type(expected):
        return False
    if isinstance(value, list):
        pairs = zip(value, expected, strict=False)
        return len(value) == len(expected) and all(same(one, other) for one, other in pairs)
    if isinstance(value, dict):
        return value.keys() == expected.keys() and all(same(value[k], expected[k]) for k in value)
    return bool(value == expected)


def recognised(task: Task, outcomes: list[Outcome]) -> Wrong | None:
    """The known mistake that does what this function does where it fails, and passes elsewhere.

    Of several, the one that explains most; None, if each would fail where this function passes.
    """
    best, most = None, 0
    for wrong, theirs in zip(task.wrong, known_outcomes(task), strict=True):
        points = 0
        for case, mine, other in zip(task.cases, outcomes, theirs, strict=True):
            if not succeeded(case, mine):
                points += _likeness(case, mine, other)
            elif not succeeded(case, other):
                break
        else:
            if points > most:
                best, most = wrong, points
    return best


def _likeness(case: Case, mine: Outcome, other: Outcome) -> int:
    """How alike two outcomes are, of which the first is a failed one: 0 to 2."""
    kinds = [
        outcome.failure and (outcome.failure.ended or outcome.failure.kind)
        for outcome in (mine, other)
    ]
    if kinds[0] != kinds[1] or mine.changed != other.changed:
        return 0
    if same(mine.value, other.value) and same(mine.log, other.log):
        return 2
    # Where many values would be right, many are wrong in the same way.
    return int(isinstance(case.expected, Expect) and not succeeded(case, other))


@functools.cache
def _known_outcomes(name: str) -> tuple[list[Outcome], ...]:
    from . import task_of

    task = task_of(name)
    sources = [(wrong.source, name) for wrong in task.wrong]
    calls = [(n, case.arguments) for n in range(len(sources)) for case in task.cases]
    done, width = run(sources, calls), len(task.cases)
    return tuple(done[n * width : (n + 1) * width] for n in range(len(sources)))


def known_outcomes(task: Task) -> tuple[list[Outcome], ...]:
    """What the known mistakes do in each test; run once in a process."""
    return _known_outcomes(task.name)


def _result(task: Task, case: Case, outcome: Outcome, function: Any, language: str) -> TestResult:
    passed = succeeded(case, outcome)
    if case.hidden:
        return TestResult(case.name(language), passed, hidden=True)
    return TestResult(
        case.name(language),
        passed,
        call=f"{task.name}({', '.join(map(shown, case.arguments.values()))})",
        sources=tuple(code.shown() for code in _codes(case.arguments)),
        noted="\n".join(map(_note, outcome.log[:MOST_NOTES])),
        got=_got(outcome, language) + _line(outcome.failure, function, language),
        expected=_expected(case.expected, language),
        why=case.why(language),
        ran=outcome.failure != NOT_RUN,
    )


def _note(note: list[Any]) -> str:
    name, *values = note
    return f"{name}({', '.join(shown(value, 200) for value in values)})"


def shown(value: Any, most: int = 400) -> str:
    """A value as Python writes it, cut if it's long."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 20]}… +{len(text) - most + 20}"


def _codes(value: Any) -> list[Code]:
    if isinstance(value, Code):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return list(dict.fromkeys(code for part in parts for code in _codes(part)))


def _got(outcome: Outcome, language: str) -> str:
    """What the call did, in words."""
    if (failure := outcome.failure) is not None:
        own = failure.kind if failure.kind in ("RecursionError", "MemoryError") else "raised"
        values = {"kind": failure.kind, "message": failure.message, "seconds": f"{SECONDS:g}"}
        return say(language, failure.ended or own, **values).rstrip(": ")
    if outcome.changed:
        return say(language, "changed", names="`, `".join(outcome.changed))
    if outcome.value is None and outcome.printed:
        return say(language, "printed instead", printed=shown(outcome.printed.rstrip(), 100))
    if outcome.value is None:
        return say(language, "returned nothing")
    if isinstance(outcome.value, Other):
        return say(language, "returned other", value=outcome.value, type=outcome.value.type)
    return say(language, "returned", value=shown(outcome.value))


def _line(failure: Failure | None, function: Any, language: str) -> str:
    """The learner's line in which it ended, with its number."""
    if failure is None or failure.line is None:
        return ""
    linecache.checkcache(function.__code__.co_filename)
    text = linecache.getline(function.__code__.co_filename, failure.line).strip()
    said = say(language, "in line", line=failure.line, text=text)
    return said if text else said.rstrip(" :")


def _expected(expected: Any, language: str) -> str:
    if isinstance(expected, Expect):
        return expected.text(language)
    if isinstance(expected, Raises):
        return say(language, "raises", kind=expected.kind)
    return shown(expected)
