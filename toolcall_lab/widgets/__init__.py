"""What you look at: each view takes data and gives text, HTML, and controls in JupyterLab."""

from .call_reader import CallReader
from .prompt_view import PromptView
from .said import Said

__all__ = ["CallReader", "PromptView", "Said"]
