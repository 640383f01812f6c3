"""The other process: builds a test's arguments, calls the learner's function, says what it did.

Standard library only, and run as a script: it starts in a blink, and there are neither the tests'
expectations nor the grader here. It reads one JSON document from its standard input and writes a
line of JSON for each call. An endless loop ends the process after a time limit, whatever the
function catches; where it was goes to standard error.
"""

from __future__ import annotations

import base64
import builtins
import faulthandler
import io
import json
import os
import pickle
import reprlib
import sys
import traceback
from collections.abc import Callable
from json import dumps  # bound here: the function may do what it likes with the module's
from types import CodeType, FunctionType
from typing import Any

MAX_DEPTH, MAX_NODES, MAX_CHARACTERS = 40, 50_000, 200_000  # of a value that comes back
MAX_PRINTED, MAX_REPR, MAX_NOTES = 10_000, 500, 200
MAX_MEMORY = 2 << 30  # bytes
LOADING = 20.0  # seconds until a function is there


class InputRefused(RuntimeError):
    """The function asked for input."""


class _TooLarge(Exception):
    """The value has more parts, or more text, than come back."""


def encode(value: Any) -> Any:
    """A value as JSON can carry it; what it can't is named and described: `{"$": "other", …}`.

    >>> encode([1, {"a": None}])
    [1, {'a': None}]
    >>> encode((1, 2))
    {'$': 'other', 'type': 'tuple', 'repr': '(1, 2)'}
    """
    try:
        return _encoded(value, MAX_DEPTH, [MAX_NODES, MAX_CHARACTERS])
    except _TooLarge:
        return {"$": "other", "type": type(value).__name__, "repr": f"{_described(value)} …"}


def _encoded(value: Any, depth: int, left: list[int]) -> Any:
    kind = type(value)
    left[0] -= 1
    left[1] -= len(value) if kind is str else 0
    if min(left) < 0:
        raise _TooLarge
    if kind in (bool, float, str, type(None)) or (kind is int and abs(value) < 10**300):
        return value
    if depth and kind is list:
        return [_encoded(item, depth - 1, left) for item in value]
    if depth and kind is dict and all(type(key) is str for key in value) and "$" not in value:
        left[1] -= sum(map(len, value))
        return {key: _encoded(item, depth - 1, left) for key, item in value.items()}
    shown = _described(value)
    left[1] -= len(shown)
    return {"$": "other", "type": kind.__name__, "repr": shown}


def _described(value: Any) -> str:
    """The beginning of a value's repr, and of a large one only its kind and size."""
    try:
        if isinstance(value, (str, bytes)):
            return repr(value[:MAX_REPR])
        if isinstance(value, (list, dict, tuple, set, frozenset)):
            return _short.repr(value)[:MAX_REPR]
        return repr(value)[:MAX_REPR]
    except Exception as error:
        return f"<its repr raised {type(error).__name__}>"


_short = reprlib.Repr()  # of containers, which may be large, or the same one many times
_short.maxlevel, _short.maxstring, _short.maxother = 4, 60, 60
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = _short.maxfrozenset = 8


def build(value: Any, log: list[Any]) -> Any:
    """A test's argument from its JSON form; sources become functions and objects."""
    if isinstance(value, list):
        return [build(item, log) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("$") != "code":
        return {key: build(item, log) for key, item in value.items()}

    def note(*noted: Any) -> None:
        if len(log) < MAX_NOTES:
            log.append([encode(item) for item in noted])

    names: dict[str, Any] = {"log": note}
    exec(compile(value["source"], "<test>", "exec"), names)
    return names[value["name"]]


class _Bounded(io.StringIO):
    """Keeps the beginning of what is printed, also if somebody closes it."""

    @property
    def buffer(self) -> io.BytesIO:
        return io.BytesIO()  # bytes aren't kept

    def close(self) -> None:
        pass

    def write(self, text: str) -> int:
        if self.tell() < MAX_PRINTED:
            super().write(text[:MAX_PRINTED])
        return len(text)


def call(function: Callable[..., Any], arguments: dict[str, Any], file: str) -> dict[str, Any]:
    """What a call does, as JSON has it."""
    log: list[Any] = []
    given = {name: build(value, log) for name, value in arguments.items()}
    before = {name: dumps(encode(value)) for name, value in given.items()}
    sys.stdout = sys.stderr = printed = _Bounded()
    value = failure = None
    try:
        value = encode(function(*given.values()))
    except BaseException as error:
        failure = _failure(error, file)
    changed = [name for name, value in given.items() if dumps(encode(value)) != before[name]]
    return {
        "value": value,
        "failure": failure,
        "printed": printed.getvalue(),
        "log": log,
        "changed": changed,
    }


def _failure(error: BaseException, file: str) -> dict[str, Any]:
    """What was raised, as JSON; `ended` is set if it's not the function's own exception."""
    lines = [n for frame, n in traceback.walk_tb(error.__traceback__) if _is_of(frame, file)]
    try:
        message = str(error)[:MAX_REPR]
    except Exception as worse:
        message = f"<its text raised {type(worse).__name__}>"
    ended = {SystemExit: "exit", InputRefused: "input"}.get(type(error), "")
    kinds = [kind.__name__ for kind in type(error).__mro__]
    line = lines[-1] if lines else None
    return {"kind": kinds[0], "kinds": kinds, "message": message, "line": line, "ended": ended}


def _is_of(frame: Any, file: str) -> bool:
    return bool(frame.f_code.co_filename == file)


def _refuse(*_: Any, **__: Any) -> str:
    raise InputRefused("there is nobody to ask here")


def load(job: dict[str, Any]) -> Callable[..., Any]:
    """The function of a job: pickled by value, or as source text."""
    if "pickle" in job:
        function: Any = pickle.loads(base64.b64decode(job["pickle"]))
        inner = undecorated(function)
        inner.__code__ = _labelled(inner.__code__, job["file"])
        return function  # type: ignore[no-any-return]
    names: dict[str, Any] = {}
    exec(compile(job["source"], job["file"], "exec"), names)
    return names[job["name"]]  # type: ignore[no-any-return]


def undecorated(function: Any) -> Any:
    """The function inside of its decorators."""
    seen = [function]
    while type(inner := getattr(seen[-1], "__wrapped__", None)) is FunctionType:
        if inner in seen:  # somebody has made a ring of it
            break
        seen.append(inner)
    return seen[-1]


def _labelled(code: CodeType, file: str) -> CodeType:
    """The code with its file's name again: cloudpickle takes it away."""
    inner = tuple(_labelled(c, file) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=file, co_consts=inner)


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    sys.path[:] = asked["path"]
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    trace = os.fdopen(os.dup(2), "w")
    for stream in (0, 1, 2):  # what is the function's own goes nowhere
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    builtins.input = _refuse
    sys.breakpointhook = _refuse
    _limit_memory()
    functions: dict[int, Callable[..., Any]] = {}
    for number, arguments in asked["calls"]:
        job = asked["functions"][number]
        try:
            if number not in functions:  # which may import much, on a busy machine
                faulthandler.dump_traceback_later(LOADING, exit=True, file=trace)
                functions[number] = load(job)
            faulthandler.dump_traceback_later(asked["seconds"], exit=True, file=trace)
            done = call(functions[number], arguments, job["file"])
        except BaseException as error:  # it couldn't even be loaded
            done = {"failure": _failure(error, job["file"])}
        faulthandler.cancel_dump_traceback_later()
        out.write(dumps(done) + "\n")
        out.flush()
    os._exit(0)  # whatever threads or exit handlers there are now


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    except (ImportError, ValueError, OSError):
        pass  # not on this system; then only time is limited


if __name__ == "__main__":
    main()
