"""What you look at: each view takes data and gives text, HTML, and controls in JupyterLab."""

from .prompt_view import PromptView

__all__ = ["PromptView"]
