"""Running a tool's function so that nothing it does ends the loop.

It gets a thread and a time limit, its prints are caught, async functions are awaited, and its
result becomes a text of bounded length.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import io
import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

MAX_PRINTED = 10_000  # characters kept of what a tool prints


def run_limited(
    function: Callable[..., Any], arguments: dict[str, Any], seconds: float | None
) -> tuple[Any, str]:
    """What the function returned and printed. Raises what it raised, or `TimeoutError`.

    With None for seconds it runs here, without a limit, and its prints are seen.

    A thread can't be ended from outside: a function that was given up on may still go on; what it
    returns and prints then is lost. An interrupt gets through at once.
    """
    if seconds is None:
        return _called(function, arguments), ""
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["value"] = _called(function, arguments)
        except BaseException as failure:
            outcome["failure"] = failure

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), daemon=True)
    printed = _catch_prints(thread)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no result after {seconds:g} s")
    _release(thread)
    if "failure" in outcome:
        raise outcome["failure"]
    return outcome["value"], printed.getvalue()


def as_text(value: Any) -> str:
    """What a tool returned, as the model reads it: text as it is, anything else as JSON.

    Raises `TypeError` for what is no value yet, a generator, and `ValueError` for what has no end.
    """
    if inspect.isawaitable(value) or inspect.isgenerator(value) or inspect.isasyncgen(value):
        raise TypeError(f"it returned a {type(value).__name__}, not a value")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return str.encode(text, "utf-8", "replace").decode()  # a lone surrogate is no text


def result_text(value: Any, printed: str) -> str:
    """The result's text; of a function that returns nothing, what it printed."""
    if value is not None:
        return as_text(value)
    return as_text(printed.rstrip()) or "(done, there is no result)"


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of a text, cut behind a line, and how much is missing.

    >>> print(shortened("one\\ntwo\\nthree", 9))
    one
    two
    [… 6 more characters were left out]
    """
    if len(text) <= limit:
        return text
    line = text.rfind("\n", limit // 2, limit)
    kept = text[: line if line > 0 else limit]
    return f"{kept}\n[… {len(text) - len(kept)} more characters were left out]"


def _called(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    value = function(**arguments)
    if not inspect.isawaitable(value):
        return value
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # there is none in this thread, as it should be
        return asyncio.run(_awaited(value))
    with ThreadPoolExecutor(1) as beside:  # a notebook's own loop runs here
        return beside.submit(asyncio.run, _awaited(value)).result()


async def _awaited(value: Any) -> Any:
    return await value


class _Output:
    """Stands in for `sys.stdout` while tools run: keeps what their threads print, and passes on
    what others do. All the rest is the real one's: a notebook tells it which cell is running."""

    def __init__(self, before: Any) -> None:
        self.before = before
        self.caught: dict[threading.Thread, io.StringIO] = {}

    def write(self, text: str) -> int:
        caught = self.caught.get(threading.current_thread())
        if caught is None:
            self.before.write(text)
        elif caught.tell() < MAX_PRINTED:
            caught.write(text[:MAX_PRINTED])
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.before, name)


_lock = threading.Lock()


def _catch_prints(thread: threading.Thread) -> io.StringIO:
    """Catches what this thread will print, until `_release`; for good if it's never released."""
    with _lock:
        output: Any = sys.stdout
        if not isinstance(output, _Output):
            output = sys.stdout = _Output(output)
        caught = output.caught[thread] = io.StringIO()
        return caught


def _release(thread: threading.Thread) -> None:
    with _lock:
        output: Any = sys.stdout
        if isinstance(output, _Output):
            output.caught.pop(thread, None)
            output.caught = {t: text for t, text in output.caught.items() if t.is_alive()}
            if not output.caught:
                sys.stdout = output.before
