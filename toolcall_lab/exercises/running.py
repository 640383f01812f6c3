"""Runs a learner's function on test arguments, in another process, and brings back what it did.

There it can loop, exit, print or fill memory as it likes: the process ends, the notebook goes on.
The function is copied by value with the globals that it uses (`cloudpickle`), so it may stand in a
cell, a file or a test. What comes back is JSON and nothing else.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from ..errors import ToolcallLabError
from .task import Code, Failure, Outcome
from .worker import MAX_REPR

SECONDS = 2.0  # for one call
STARTS = 2  # processes: one that was ended leaves the calls behind it to the next
NOT_RUN = Failure("not run")


class NotCopied(ToolcallLabError):
    """The function uses something that can't be copied into another process."""


@dataclass(frozen=True, eq=False)
class Other:
    """A value that isn't plain data: its class and its `repr`. It equals nothing."""

    type: str
    shown: str

    def __repr__(self) -> str:
        return self.shown


Function = Callable[..., Any] | tuple[str, str]  # or source text, and the name in it


def run(
    functions: Sequence[Function],
    calls: Sequence[tuple[int, dict[str, Any]]],
    *,
    seconds: float = SECONDS,
) -> list[Outcome]:
    """The outcomes of calls, each a function's number and its arguments, in order.

    A call that takes longer than `seconds` is ended. Raises `NotCopied`.
    """
    jobs = [_job(function) for function in functions]
    outcomes: list[Outcome] = []
    for _ in range(STARTS):
        if len(outcomes) == len(calls):
            break
        left = [[number, _plain(arguments)] for number, arguments in calls[len(outcomes) :]]
        done, trace, code = _worker(jobs, left, seconds)
        outcomes += [_outcome(line) for line in done]
        if len(outcomes) < len(calls):
            file = jobs[calls[len(outcomes)][0]]["file"]
            outcomes.append(Outcome(failure=_ended(trace, code, file)))
    missing = len(calls) - len(outcomes)
    return outcomes + [Outcome(failure=NOT_RUN)] * missing


def _worker(
    jobs: list[dict[str, Any]], calls: list[Any], seconds: float
) -> tuple[list[dict[str, Any]], str, int]:
    """What one process has done of the calls, in order, and how it ended."""
    asked = {"path": sys.path, "functions": jobs, "calls": calls, "seconds": seconds}
    command = [sys.executable, "-I", "-X", "utf8", str(Path(__file__).with_name("worker.py"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            out, trace = process.communicate(
                json.dumps(asked).encode(), timeout=(seconds + 1) * len(calls) + 20
            )
        except subprocess.TimeoutExpired as late:
            process.kill()
            out, trace = late.stdout or b"", late.stderr or b""
        except BaseException:  # an interrupt of the notebook
            process.kill()
            raise
    lines = [line for line in out.decode("ascii", "replace").split("\n")[:-1] if line]
    return (
        [json.loads(line) for line in lines],
        trace.decode("utf-8", "replace"),
        process.returncode,
    )


def _job(function: Function) -> dict[str, Any]:
    if isinstance(function, tuple):
        source, name = function
        return {"source": source, "name": name, "file": "<answer>"}
    with _by_value(function):
        try:
            pickled = cloudpickle.dumps(function)
        except Exception as error:  # whatever a __reduce__ raises
            raise NotCopied(str(error)) from None
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    return {"pickle": base64.b64encode(pickled).decode("ascii"), "file": file}


@contextlib.contextmanager
def _by_value(function: Callable[..., Any]) -> Iterator[None]:
    """A module's function is copied like one of a cell: what the module is now, counts."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    own = (__package__ or "").partition(".")[0]
    if module is None or module.__name__ == "__main__" or module.__name__.startswith(own):
        yield
        return
    try:
        cloudpickle.register_pickle_by_value(module)
    except ValueError:  # it can't be imported by its name, so it goes by value anyway
        yield
        return
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _plain(value: Any) -> Any:
    if isinstance(value, Code):
        return {"$": "code", "source": value.source, "name": value.name}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _read(value: Any) -> Any:
    """A value from its JSON form."""
    if isinstance(value, list):
        return [_read(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("$") == "other":
        return Other(str(value["type"]), str(value["repr"]))
    return {key: _read(item) for key, item in value.items()}


def _outcome(done: dict[str, Any]) -> Outcome:
    failure = done["failure"]
    if failure is not None:
        failure = Failure(str(failure["kind"]), str(failure["message"]), failure["line"])
    return Outcome(
        _read(done.get("value")),
        failure,
        done.get("printed", ""),
        _read(done.get("log", [])),
        tuple(done.get("changed", ())),
    )


def _ended(trace: str, code: int, file: str) -> Failure:
    """Why a process ended in the middle of a call; `trace` is what faulthandler wrote."""
    if "Timeout" not in trace:
        return Failure("died", str(code))
    # The first frame is the innermost; the learner's innermost is where it hung.
    frames = re.findall(r'File "(.*)", line (\d+) in', trace)
    lines = [int(line) for name, line in frames if name == file[:MAX_REPR]]
    return Failure("timeout", line=lines[0] if lines else None)
