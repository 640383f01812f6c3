"""The views in a real JupyterLab: used, stopped, looked at by axe, on three versions of ipykernel.

Why three: whether a click reaches Python while a cell runs has changed with each of them.
"""

import shutil

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe

from scripts.kernels import PLACE, VERSIONS, name_of
from scripts.lab import add_cell, browser_page, chromium, jupyterlab, opened, run_all
from scripts.pictures import START, VIEWS
from scripts.run_notebooks import METADATA
from tests.test_browser import ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        chromium() is None, reason="Chromium is missing: apt install chromium, then run this again"
    ),
]
LONG = 'story = "Tell me all about it: " + "a lighthouse by the sea, " * 250'
WATCH = f"{LONG}\nlive = AgentPlayer.start(llm, box, story, max_tokens=1500)"


def write(folder, sources, metadata=METADATA):
    """A notebook with these cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    folder.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), folder / "nb.ipynb")


def serious(page):
    """What axe finds in the outputs that is hard or impossible to use for somebody."""
    found = Axe().run(page, context={"include": [[".jp-OutputArea"]]}).response["violations"]
    return [
        (fault["id"], fault["nodes"][0]["html"])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]


def test_lesson_7_is_run_played_stopped_and_looked_into(tmp_path):
    for part in ("notebooks", "recordings"):
        shutil.copytree(ROOT / part, tmp_path / "course" / part)
    lesson = "notebooks/en/07_the_agent_loop.ipynb"
    with (
        jupyterlab(tmp_path / "course", tmp_path) as url,
        browser_page() as page,
        opened(page, url, lesson),
    ):
        assert not [out for cell in run_all(page) for out in cell["outputs"] if "ename" in out]
        shown = page.locator(".jp-OutputArea", has=page.get_by_role("button", name="Next problem"))
        player = shown.first
        player.get_by_role("button", name="Play").click()
        player.locator("p", has_text="· step 3 of 5").wait_for()
        player.get_by_role("button", name="Pause").click()
        player.get_by_role("button", name="Play").wait_for()
        player.get_by_role("button", name="Back").click()
        player.locator("p", has_text="· step 2 of 5").wait_for()
        for source in (  # each view, of the lesson's own run
            "PromptView(news, find='qwen')",
            "ContextGauge(news, policy='shorten', room=350)",
            "Timeline(news)",
            "from toolcall_lab.widgets import CallReader, TokenView\nTokenView(news, step=5)",
            "CallReader(news)",
            "AgentPlayer(news, step=3)",
        ):
            shown = add_cell(page, source)
            shown.locator(".tcl-view").first.wait_for()
            picture = shown.screenshot(path=tmp_path / "view.png")
            assert len(picture) > 5_000
        stop_in_the_middle(page)
        assert serious(page) == []
        assert page.errors == []


def stop_in_the_middle(page):
    """The cell returns while the model reads; Stop ends the run within two seconds."""
    shown = add_cell(page, WATCH)
    shown.get_by_text("Step 1: the model").wait_for()
    before = add_cell(page, "print(llm.tokens_evaluated, live.running)").inner_text().split()
    assert before[-1] == "True"
    page.get_by_role("button", name="Stop").click()
    shown.get_by_text("interrupted: The run was interrupted").wait_for(timeout=2000)
    assert page.get_by_role("button", name="Stop").count() == 0


def test_each_view_can_be_used_in_both_themes_and_widths(tmp_path):
    write(tmp_path / "course", [START.strip(), *VIEWS.values()])
    with (
        jupyterlab(tmp_path / "course", tmp_path) as url,
        browser_page() as page,
        opened(page, url, "nb.ipynb"),
    ):
        run_all(page)
        assert page.locator(".jp-OutputArea .tcl-view").count() >= len(VIEWS)
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            page.evaluate(
                "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})",
                theme,
            )
            for width in (1280, 800):
                page.set_viewport_size({"width": width, "height": 1000})
                page.wait_for_timeout(500)
                assert serious(page) == []
        assert page.errors == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_is_stopped_and_played_on_each_ipykernel(tmp_path, version):
    """`start` by its button, `run` by the kernel's interrupt; the buttons of the player work."""
    sources = [
        "import ipykernel\n"
        "from toolcall_lab import ScriptedModel, load_model, run_agent\n"
        "from toolcall_lab.toolkit import default_toolbox\n"
        "from toolcall_lab.widgets import AgentPlayer\n"
        "llm, box = load_model(adapter=None), default_toolbox()\n"
        "print(ipykernel.__version__)",
        'call = \'{"tool_call": {"name": "get_weather", "arguments": {"city": "%s"}}}\'\n'
        'script = ScriptedModel([call % "Oslo", call % "Atlantis", "It is cold."])\n'
        'AgentPlayer(run_agent(script, box, "Weather?"))',
    ]
    kernel = METADATA["kernelspec"] | {"name": name_of(version), "display_name": version}
    write(tmp_path / "course", sources, METADATA | {"kernelspec": kernel})
    with (
        jupyterlab(tmp_path / "course", tmp_path, PLACE / "share") as url,
        browser_page() as page,
        opened(page, url, "nb.ipynb"),
    ):
        first, _ = run_all(page)
        assert first["outputs"][0]["text"].strip() == version
        player = page.locator(".jp-OutputArea").last
        player.get_by_role("button", name="Next problem").click()
        player.locator("p", has_text="· step 2 of 3").wait_for()
        player.get_by_role("button", name="Back").click()
        player.locator("p", has_text="· step 1 of 3").wait_for()
        stop_in_the_middle(page)
        page.evaluate(
            "() => { setTimeout(() => window.jupyterapp.commands.execute("
            "'notebook:interrupt-kernel'), 3000) }"
        )
        blocking = add_cell(page, "player = AgentPlayer.run(llm, box, story, max_tokens=1500)")
        blocking.get_by_text("interrupted: The run was interrupted").wait_for()
        kept = add_cell(page, "print(player.shown.ending, player.shown.query == story)")
        assert "interrupted True" in kept.inner_text()
        assert page.errors == []
