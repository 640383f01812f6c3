"""The exercises' official solutions, one file an exercise."""

from .executer_tool_call import executer_tool_call

__all__ = ["executer_tool_call"]
