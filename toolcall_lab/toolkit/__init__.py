"""Ready tools: offline and repeatable by default, online when asked."""

from datetime import datetime

from ..tools import Toolbox
from .calculator import calculator
from .clock import clock
from .files import files
from .mail import inbox, mail
from .output import output
from .python import python
from .shell import shell
from .weather import weather
from .web import web

__all__ = [
    "calculator", "clock", "default_toolbox", "files", "inbox", "mail", "output", "python", "shell",
    "weather", "web",
]  # fmt: skip


def default_toolbox(*, online: bool = False, now: datetime | None = None) -> Toolbox:
    """Weather, clock and calculator.

    >>> default_toolbox()
    <Toolbox: get_weather, get_time, calculate>
    """
    return Toolbox([weather(online=online), clock(now), calculator()])
