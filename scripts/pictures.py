"""Takes the pictures of README and docs: lesson 2, and each view, light and dark, in JupyterLab.

Headless Chromium, a real kernel, the embedded model. `python scripts/pictures.py`, or `make
pictures`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from lab import browser_page, chromium, jupyterlab, opened, run_all
from run_notebooks import METADATA

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LESSON = "notebooks/en/02_a_chat_is_one_string.ipynb"
VIEWS = {  # what draws each view, after START
    "prompt_view": "PromptView(run)",
    "context_gauge": "ContextGauge(run)",
    "timeline": "Timeline(run)",
    "token_view": "TokenView(run, step=1)",
    "call_reader": "CallReader(run)",
    "agent_player": "AgentPlayer(run, step=2)",
    "exercise": 'exercise("executer_tool_call")',
}
START = """
from toolcall_lab import grammar, load_model, run_agent
from toolcall_lab.exercises import exercise
from toolcall_lab.toolkit import default_toolbox
from toolcall_lab.widgets import *

llm, box = load_model(), default_toolbox()
constraint = [grammar.tool_call(box)]
run = run_agent(llm, box, "What is the weather in Tokyo?", constraint=constraint, temperature=0)
"""


def main() -> None:
    if chromium() is None:
        sys.exit("Chromium is missing: apt install chromium, then run this again.")
    DOCS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder, home = Path(place, "course"), Path(place, "home")
        home.mkdir()
        shutil.copytree(ROOT / "notebooks", folder / "notebooks")
        cells = [nbformat.v4.new_code_cell(source) for source in (START.strip(), *VIEWS.values())]  # type: ignore[no-untyped-call]
        views = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)  # type: ignore[no-untyped-call]
        nbformat.write(views, folder / "views.ipynb")  # type: ignore[no-untyped-call]
        with jupyterlab(folder, home) as address:
            lesson(address)
            for dark in (False, True):
                each_view(address, dark)


def lesson(address: str) -> None:
    """Lesson 2, as it is on the screen."""
    with browser_page(1200, 900) as page, opened(page, address, LESSON):
        run_all(page)
        view = page.locator(".tcl-view", has_text="And of Spain?").last
        view.scroll_into_view_if_needed()
        page.wait_for_timeout(1000)
        page.screenshot(path=DOCS / "lesson_2.png")


def each_view(address: str, dark: bool) -> None:
    """A picture of each view's output."""
    with (
        browser_page(1100, 1400, dark=dark) as page,
        opened(page, address, "views.ipynb", dark=dark),
    ):
        run_all(page)
        for number, name in enumerate(VIEWS, 1):
            output = page.locator(".jp-Cell").nth(number).locator(".jp-OutputArea-output").last
            output.scroll_into_view_if_needed()
            file = DOCS / "views" / f"{name}_{'dark' if dark else 'light'}.png"
            file.parent.mkdir(exist_ok=True)
            output.screenshot(path=file)
            print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
