"""Runs a learner's function on test arguments, in another process, and brings back what it did.

There it can loop, exit, print or fill memory as it likes: the process ends, the notebook goes on.
The function is copied by value with the globals that it uses (`cloudpickle`), so it may stand in a
cell, a file or a test. What comes back is JSON and nothing else.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from ..errors import ToolcallLabError
from .task import Code, Failure, Outcome
from .worker import LOADING, MAX_REPR, undecorated

SECONDS = 2.0  # for one call
STARTS = 2  # processes: one that was ended leaves the calls behind it to the next
SLACK = 3.0  # seconds more, until a process that says nothing is ended from outside
MAX_LINE = 4_000_000  # bytes of an outcome; longer ones are none
MAX_COPY = 50_000_000  # bytes of a function with all that it uses
INSIDE = "TOOLCALL_LAB_CHECKING"  # set where a learner's function runs
NOT_RUN = Failure(ended="not run")


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
    if os.environ.get(INSIDE):
        raise NotCopied("a check inside of a check")
    jobs = [_job(function) for function in functions]
    outcomes: list[Outcome] = []
    for _ in range(STARTS):
        if len(outcomes) == len(calls):
            break
        left = [[number, _plain(arguments)] for number, arguments in calls[len(outcomes) :]]
        done, trace, why = _worker(jobs, left, seconds)
        outcomes += [_outcome(line) for line in done]
        if len(outcomes) < len(calls):
            file = jobs[calls[len(outcomes)][0]]["file"]
            outcomes.append(Outcome(failure=_ended(trace, why, file)))
    missing = len(calls) - len(outcomes)
    return outcomes + [Outcome(failure=NOT_RUN)] * missing


def _worker(
    jobs: list[dict[str, Any]], calls: list[Any], seconds: float
) -> tuple[list[dict[str, Any]], str, str]:
    """What one process has done of the calls, in order, its last words, and how it ended."""
    paths = [os.fspath(path) for path in sys.path if isinstance(path, (str, os.PathLike))]
    asked = {"path": paths, "functions": jobs, "calls": calls, "seconds": seconds}
    command = [sys.executable, "-I", "-X", "utf8", str(Path(__file__).with_name("worker.py"))]
    with tempfile.TemporaryFile() as trace:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=trace,
            env=os.environ | {INSIDE: "1"}, start_new_session=True,
        )  # fmt: skip
        try:
            done, late = _outcomes(process, json.dumps(asked).encode(), len(calls), seconds)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0 if late else SLACK)
        finally:
            _end(process)
        trace.seek(0)
        why = "timeout" if late else str(process.returncode)
        return done, trace.read(MAX_LINE).decode("utf-8", "replace"), why


def _outcomes(
    process: subprocess.Popen[bytes], asked: bytes, count: int, seconds: float
) -> tuple[list[dict[str, Any]], bool]:
    """The outcomes as they come, up to what isn't one; whether the next one came too late.

    What the function has started may hold the pipe open, or write into it.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    pipe, lines = process.stdout, queue.Queue[bytes]()

    def read() -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := pipe.readline(MAX_LINE):
                lines.put(line)
        lines.put(b"")

    threading.Thread(target=read, daemon=True).start()
    with contextlib.suppress(OSError):  # it may have ended already
        process.stdin.write(asked)
        process.stdin.close()
    found: list[dict[str, Any]] = []
    while len(found) < count:
        try:
            done = json.loads(lines.get(timeout=seconds + LOADING + SLACK))
        except queue.Empty:
            return found, True
        except (ValueError, RecursionError):
            break
        if not (isinstance(done, dict) and isinstance(done.get("failure", 0), (dict, type(None)))):
            break
        found.append(done)
    return found, False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and all that it has started."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()


def _job(function: Function) -> dict[str, Any]:
    if isinstance(function, tuple):
        source, name = function
        return {"source": source, "name": name, "file": "<answer>"}
    with _by_value(function):
        try:
            pickled = cloudpickle.dumps(function)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever the __reduce__ of something that it uses raises
            raise NotCopied(_reason(error)) from None
    if len(pickled) > MAX_COPY:
        raise NotCopied(f"it is larger than {MAX_COPY // 10**6} MB")
    file = undecorated(function).__code__.co_filename
    return {"pickle": base64.b64encode(pickled).decode("ascii"), "file": file}


def _reason(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return type(error).__name__


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
        line = failure.get("line")
        failure = Failure(
            str(failure.get("kind")),
            str(failure.get("message")),
            line if type(line) is int else None,
            tuple(map(str, failure.get("kinds", ()))),
            str(failure.get("ended", "")),
        )
    return Outcome(
        _read(done.get("value")),
        failure,
        str(done.get("printed", "")),
        _read(done.get("log", [])),
        tuple(map(str, done.get("changed", ()))),
    )


def _ended(trace: str, why: str, file: str) -> Failure:
    """Why a process ended in the middle of a call; `trace` is what faulthandler wrote."""
    if "Timeout" not in trace:
        return Failure(ended="timeout" if why == "timeout" else "died", message=why)
    # The first frame is the innermost; the learner's innermost is where it hung.
    frames = re.findall(r'File "(.*)", line (\d+) in', trace)
    written = file.encode("ascii", "backslashreplace").decode()[:MAX_REPR]
    lines = [int(line) for name, line in frames if name == written]
    return Failure(ended="timeout", line=lines[0] if lines else None)
