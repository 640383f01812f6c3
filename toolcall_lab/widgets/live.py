"""A run that is shown while it goes on: what the model is writing, and the steps behind it.

It streams through a display handle, at most ten times a second and the last frame always. A frame
is small whatever the run's length, so that what is sent grows with the time and not with its
square.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ..errors import Stopped, ToolcallLabError
from ..run import Run, Step
from .html import CODE, STYLE, badge_text, bundle, esc, one_line, visible
from .timeline import what_happened

SECONDS = 0.1  # between two frames
TAIL, LINES = 400, 5  # characters of what is being written, steps before it


class Screen:
    """Where frames go: a place in the notebook's output, or nowhere. `sent` counts bytes."""

    def __init__(self) -> None:
        self.sent = self.frames = 0
        self._last = 0.0
        self._handle: Any = None

    def show(self, text: str, markup: str, *, now: bool = False) -> None:
        """Shows a frame, unless the one before is too fresh; `now` shows it anyway."""
        moment = time.monotonic()
        if not now and moment - self._last < SECONDS:
            return
        self._last = moment
        self.frames += 1
        self.sent += len(text.encode()) + len(markup.encode())
        frame = _Frame(text, markup)
        if self._handle is not None:
            self._handle.update(frame)
        elif in_notebook():
            from IPython.display import display

            self._handle = display(frame, display_id=True)


class _Frame:
    def __init__(self, text: str, markup: str) -> None:
        self.text, self.markup = text, markup

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle(self.text, self.markup)


def in_notebook() -> bool:
    """Whether there's a notebook's output to show something in."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


class LiveRun:
    """One run of an agent, shown as it goes; `run` is there once it has ended.

    `agent` is `run_agent`, or what is called as it is. `stop()` ends the run: after the token or
    the part of the prompt in hand, or the tool that runs.
    """

    def __init__(self, agent: Callable[..., Run], llm: Any, *task: Any, **settings: Any) -> None:
        self.agent, self.llm, self.task, self.settings = agent, llm, task, settings
        self.screen = Screen()
        self.run: Run | None = None
        self.failure: BaseException | None = None
        self.stopping = threading.Event()
        self.steps: list[Step] = []
        self._written: list[str] = []

    def go(self) -> Run:
        """Runs to the end, here. An interrupt of the kernel, or `stop()`, keeps what there is."""
        live = hasattr(self.llm, "stopping")
        if live:
            self.llm.stopping = self.stopping
        try:
            self._draw(now=True)
            hooks = {"on_token": self._hear, "on_step": self._keep}
            self.run = self.agent(self.llm, *self.task, **hooks, **self.settings)
        finally:
            if live:
                self.llm.stopping = None
        self._draw(now=True)
        return self.run

    def _hear(self, text: str) -> None:
        if self.stopping.is_set():
            raise Stopped
        self._written.append(text)
        self._draw()

    def _keep(self, step: Step) -> None:
        self.steps.append(step)
        self._written.clear()
        self._draw()

    def stop(self) -> None:
        """Ends the run as soon as possible; it's kept, as `interrupted`."""
        self.stopping.set()

    def _draw(self, *, now: bool = False) -> None:
        if now or time.monotonic() - self.screen._last >= SECONDS:
            self.screen.show(self.to_text(), self.to_html(), now=now)

    def to_text(self) -> str:
        """The last steps, and the end of what is being written."""
        lines = [self._state()]
        steps = self.steps if self.run is None else self.run.steps
        first = max(0, len(steps) - LINES)
        lines += [
            f"{number:>4}  {one_line(what_happened(step), 100)}"
            for number, step in enumerate(steps[first:], first + 1)
        ]
        if self._written and self.run is None:
            lines.append(f"  …   {visible(self._tail(), blanks=False)}")
        return "\n".join(lines)

    def to_html(self) -> str:
        """The same as HTML."""
        head, *lines = self.to_text().splitlines()
        body = esc("\n".join(lines))
        return (
            f'{STYLE}<div class="tcl-view"><p><b>{esc(head)}</b></p>'
            f'<pre style="white-space:pre-wrap;{CODE}">{body}</pre></div>'
        )

    def _tail(self) -> str:
        text = "".join(self._written[-TAIL:])
        return text if len(text) <= TAIL else f"…{text[-TAIL:]}"

    def _state(self) -> str:
        who = badge_text(getattr(self.llm, "name", "a model"), getattr(self.llm, "kind", "live"))
        if self.failure is not None:
            return f"{type(self.failure).__name__}: {self.failure}"
        if self.run is not None:
            return f"{self.run.ending}: {one_line(self.run.explanation, 200)} · {who}"
        doing = "the model writes" if self._written else "the model reads its prompt"
        return f"Step {len(self.steps) + 1}: {doing} … · {who}"


class Background(LiveRun):
    """A live run in a thread of its own, so that the cell returns and a Stop button works."""

    def __init__(self, agent: Callable[..., Run], llm: Any, *task: Any, **settings: Any) -> None:
        super().__init__(agent, llm, *task, **settings)
        self.on_end: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def begin(self) -> None:
        """Starts the thread."""
        self._draw(now=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self.go()
        except BaseException as failure:  # it's raised where somebody waits for the run
            self.failure = failure
            self._draw(now=True)
        self.on_end()

    @property
    def running(self) -> bool:
        """Whether it still goes on."""
        return self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> Run:
        """The run, once it has ended. Raises what ended it, or `ToolcallLabError` if it goes on."""
        self._thread.join(seconds)
        if self.running:
            raise ToolcallLabError(f"The run still goes on after {seconds:g} s; stop() ends it.")
        if self.failure is not None:
            raise self.failure
        assert self.run is not None
        return self.run
