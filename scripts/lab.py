"""A real JupyterLab and a real Chromium, for the browser tests and the README's picture.

Chromium is the system's (`apt install chromium`), driven by Playwright; nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, sync_playwright

SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # draw cells that aren't in sight too
}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Without the last flags, a Chromium in a closed network keeps asking for things it can't reach.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def chromium() -> str | None:
    """The path of this machine's Chromium, if it has one."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


@contextmanager
def jupyterlab(folder: Path, home: Path, kernels: Path | None = None) -> Iterator[str]:
    """Serves `folder`; gives the address, token included. Settings and history stay in `home`.

    `kernels` is a folder as in `JUPYTER_PATH`, with more kernels.
    """
    for name, values in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    places = {
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "IPYTHONDIR": home / "ipython",
        "TOOLCALL_LAB_HOME": home / "progress",
    }
    environment = os.environ | {name: str(place) for name, place in places.items()}
    environment |= {"JUPYTER_PATH": str(kernels)} if kernels else {}
    environment.pop("TOOLCALL_LAB_STATIC", None)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0"]
    options = ["--expose-app-in-browser", "--LabApp.extension_manager=readonly"]
    with (home / "lab.log").open("w") as log:
        server = subprocess.Popen(
            [*command, *options], cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        yield _address(home / "runtime", server)
    finally:
        server.terminate()
        server.wait(30)


def _address(runtime: Path, server: subprocess.Popen[bytes]) -> str:
    """Waits until the server answers."""
    for _ in range(600):
        for file in runtime.glob("jpserver-*.json"):
            with suppress(ValueError, OSError):  # half written, or not listening yet
                info = json.loads(file.read_text())
                urllib.request.urlopen(f"{info['url']}api?token={info['token']}").close()
                return f"{info['url']}lab?token={info['token']}"
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start; see {runtime.parent / 'lab.log'}.")


@contextmanager
def browser_page(width: int = 1300, height: int = 1000, *, dark: bool = False) -> Iterator[Page]:
    """A page that collects what goes wrong in it: `page.errors`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            device_scale_factor=1.5,
        )
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(f"exception: {error}"))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.errors = errors  # type: ignore[attr-defined]
        try:
            yield page
        finally:
            browser.close()


@contextmanager
def opened(page: Page, address: str, notebook: str, *, dark: bool = False) -> Iterator[None]:
    """Opens a notebook with a new kernel, which ends with it."""
    base, token = address.split("lab?token=")
    page.goto(f"{base}doc/tree/{notebook}?reset&token={token}")
    page.wait_for_function(
        "window.jupyterapp && window.jupyterapp.shell.currentWidget?.sessionContext"
    )
    theme = "JupyterLab Dark" if dark else "JupyterLab Light"
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
    )
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.ready")
    try:
        yield
    finally:
        page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def run_all(page: Page, seconds: float = 240) -> list[dict[str, Any]]:
    """Runs every cell; gives the code cells as saved in the notebook, once all have run."""
    page.evaluate(_RUN_ALL)
    page.wait_for_function(_ALL_RAN, timeout=seconds * 1000)
    time.sleep(2)  # the last widget is drawn after the kernel is idle
    cells: list[dict[str, Any]] = page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.model.toJSON().cells"
    )
    return [cell for cell in cells if cell["cell_type"] == "code"]


def add_cell(page: Page, source: str) -> Locator:
    """Adds a code cell at the end and runs it; gives its output area, once it has run."""
    page.evaluate(_ADD_CELL, source)
    page.wait_for_function(_ALL_RAN, timeout=60_000)
    cells = page.locator(".jp-Cell")
    return cells.nth(cells.count() - 1).locator(".jp-OutputArea").first


# Not awaited: the command's promise lasts until the last cell has ended.
_RUN_ALL = """async () => {
  const {commands} = window.jupyterapp;
  await commands.execute('notebook:clear-all-cell-outputs');
  void commands.execute('notebook:run-all-cells');
}"""

_ADD_CELL = """async source => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = notebook.widgets.length - 1;
  const {commands} = window.jupyterapp;
  await commands.execute('notebook:insert-cell-below');
  notebook.activeCell.model.sharedModel.setSource(source);
  void commands.execute('notebook:run-cell');
}"""

_ALL_RAN = """() => {
  const panel = window.jupyterapp.shell.currentWidget;
  const cells = panel.model.toJSON().cells.filter(cell => cell.cell_type === 'code');
  const failed = cells.some(cell => cell.outputs.some(output => output.output_type === 'error'));
  const idle = panel.sessionContext.session.kernel.status === 'idle';
  return idle && (failed || cells.every(cell => cell.execution_count !== null));
}"""
