"""What you look at: each view takes data and gives text, HTML, and controls in JupyterLab."""

from .agent_player import AgentPlayer
from .call_reader import CallReader
from .context_gauge import ContextGauge
from .drawing import Drawing, new_figure
from .prompt_view import PromptView
from .said import Said
from .timeline import Timeline
from .token_view import TokenView

__all__ = [
    "AgentPlayer",
    "CallReader",
    "ContextGauge",
    "Drawing",
    "PromptView",
    "Said",
    "Timeline",
    "TokenView",
    "new_figure",
]
