"""The panel of an exercise in a notebook: its statement, its state, and three buttons.

Check takes the function of the exercise's name from the notebook. After each cell the panel looks
whether that function has changed since. All controls can be reached with the Tab key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets
from IPython import get_ipython

from ..widgets.html import close_tree
from .messages import say
from .showing import SIGNS, check_html, statement_html, words_html

if TYPE_CHECKING:
    from .attempt import Exercise


class Panel:
    """Controls around an exercise; `widget` is what is shown."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self.shell: Any = get_ipython()
        self.statement, self.below = ipywidgets.HTML(), ipywidgets.HTML()
        self.drawn: Any = None  # what it was drawn from
        buttons = []
        for message, icon, action in (
            ("check", "check", self.check),
            ("hint", "lightbulb-o", self.hint),
            ("solution", "book", self.solution),
        ):
            button = ipywidgets.Button(description=self._say(message), icon=icon)
            button.layout.width = "auto"
            button.on_click(action)
            buttons.append(button)
        row = ipywidgets.HBox(buttons)
        self.widget = ipywidgets.VBox([self.statement, row, self.below])
        self.refresh()
        self.shell.events.register("post_run_cell", self.refresh)

    def check(self, *_: Any) -> None:
        """Checks the notebook's function of this name."""
        name = self.exercise.name
        if name not in self.shell.user_ns:
            self.below.value = words_html(self._say("nothing there", name=name))
            return
        self.exercise.check(self.shell.user_ns[name])  # it calls `refresh`

    def hint(self, *_: Any) -> None:
        """Shows the next hint above what is there."""
        self.below.value = words_html(self.exercise.hint()) + self._verdict()

    def solution(self, *_: Any) -> None:
        """Shows the official solution, or when it comes."""
        self.below.value = words_html(self.exercise.solution()) + self._verdict()

    def refresh(self, *_: Any) -> None:
        """Shows the state anew: after a check, and after a cell that changed the function."""
        exercise, summary = self.exercise, self.exercise.summary()
        function = self.shell.user_ns.get(exercise.name)
        if function is not None and exercise.is_stale(function):
            summary = f"{SIGNS['stale']} {self._say('stale')} · {summary}"
        markup = statement_html(exercise.task, summary, exercise.language)
        if (markup, exercise.result) != self.drawn:
            self.drawn = (markup, exercise.result)
            self.statement.value, self.below.value = markup, self._verdict()

    def _verdict(self) -> str:
        result = self.exercise.result
        if result is None:
            return ""
        return check_html(result.task, result.grade, result.language, result.note)

    def close(self) -> None:
        """Gives back what the panel holds."""
        self.shell.events.unregister("post_run_cell", self.refresh)
        close_tree(self.widget)

    def _say(self, message: str, **values: object) -> str:
        return say(self.exercise.language, message, **values)
