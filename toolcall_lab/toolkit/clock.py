"""`get_time()`: the time on this machine, or a fixed one, so that a lesson says the same twice."""

from datetime import datetime

from ..tools import Tool, tool


def clock(now: datetime | None = None) -> Tool:
    """The tool `get_time`; with `now` it always tells that time.

    >>> clock(datetime(2026, 3, 14, 14, 32, 15))()
    '14:32:15'
    """

    @tool
    def get_time() -> str:
        """Gives the current time."""
        return (now or datetime.now()).strftime("%H:%M:%S")

    return get_time
