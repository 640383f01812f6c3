"""toolcall_lab: from text in, text out to an agent, with every token in sight.

What a notebook imports. Nothing heavy is loaded before it is used.
"""

from . import grammar
from .agent import iter_agent, run_agent
from .chatml import Prompt
from .errors import ToolcallLabError
from .models import RecordedModel, ScriptedModel, load_model, record, recording
from .parsing import Reading, read_tool_calls
from .run import Run, Step
from .tools import Tool, Toolbox, ToolCall, ToolResult, tool

__version__ = "0.1.0"

__all__ = [
    "Prompt",
    "Reading",
    "RecordedModel",
    "Run",
    "ScriptedModel",
    "Step",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Toolbox",
    "ToolcallLabError",
    "grammar",
    "iter_agent",
    "load_model",
    "read_tool_calls",
    "record",
    "recording",
    "run_agent",
    "tool",
]
