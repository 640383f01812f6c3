"""Ready tools: offline and repeatable by default, online when asked."""

from datetime import datetime

from ..tools import Toolbox
from .calculator import calculator
from .clock import clock
from .weather import weather

__all__ = ["calculator", "clock", "default_toolbox", "weather"]


def default_toolbox(*, online: bool = False, now: datetime | None = None) -> Toolbox:
    """Weather, clock and calculator.

    >>> default_toolbox()
    <Toolbox: get_weather, get_time, calculate>
    """
    return Toolbox([weather(online=online), clock(now), calculator()])
