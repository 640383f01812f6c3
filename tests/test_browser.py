"""Lessons in a real JupyterLab, in a real browser, with a real kernel and the embedded model."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest

from scripts.lab import browser_page, chromium, jupyterlab, opened, run_all
from scripts.run_notebooks import METADATA
from toolcall_lab.exercises import task_of
from toolcall_lab.exercises.attempt import source_of

ROOT = Path(__file__).parent.parent
LESSONS = sorted(path.name for path in (ROOT / "notebooks" / "en").glob("*.ipynb"))

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        chromium() is None, reason="Chromium is missing: apt install chromium, then run this again"
    ),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    for part in ("notebooks", "recordings", "training", "docs"):
        shutil.copytree(ROOT / part, folder / part)
    with jupyterlab(folder, tmp_path_factory.mktemp("home")) as url:
        yield url


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs_from_top_to_bottom(address, lesson):
    with browser_page() as page, opened(page, address, f"notebooks/en/{lesson}"):
        cells = run_all(page)
        outputs = [output for cell in cells for output in cell["outputs"]]
        assert outputs
        assert not [output for output in outputs if output["output_type"] == "error"]
        assert page.errors == []


def test_the_prompt_view_shows_its_numbers_and_obeys_its_buttons(address):
    lesson = "notebooks/en/02_a_chat_is_one_string.ipynb"
    with browser_page() as page, opened(page, address, lesson):
        run_all(page)
        view = page.locator(".jp-OutputArea-output", has=page.locator(".tcl-view")).first
        view.scroll_into_view_if_needed()
        assert "27 of 4096 tokens (0.7 %), 4069 free" in view.inner_text()
        assert "SmolLM2-135M-Instruct Q4_1, live" in view.inner_text()
        assert view.locator(".tcl-chip").all_inner_texts() == [
            "<|im_start|>", "<|im_end|>", "<|im_start|>", "<|im_end|>", "<|im_start|>",
        ]  # fmt: skip
        view.get_by_role("button", name="tokens").click()
        view.get_by_title("token 4649").wait_for()  # " France"
        view.get_by_role("button", name="raw").click()
        view.locator("pre", has_text="<|im_start|>system").wait_for()
        assert page.errors == []


def test_a_runs_pages_are_turned(address):
    lesson = "notebooks/en/03_describing_tools.ipynb"
    with browser_page() as page, opened(page, address, lesson):
        run_all(page)
        outputs = page.locator(".jp-OutputArea-output")
        shown = outputs.filter(has_text=re.compile(r"Step (\d) of \1")).last
        steps = int(re.search(r"Step \d of (\d)", shown.inner_text())[1])
        for step in range(steps, 1, -1):
            view = outputs.filter(has_text=f"Step {step} of {steps}").last
            view.get_by_role("button", name="Back").click()
            outputs.filter(has_text=f"Step {step - 1} of {steps}").last.wait_for()
        first = outputs.filter(has_text=f"Step 1 of {steps}").last
        assert first.get_by_role("button", name="Back").is_disabled()
        first.get_by_role("button", name="Next").click()
        outputs.filter(has_text=f"Step 2 of {steps}").last.wait_for()
        assert page.errors == []


def test_an_exercise_is_solved_with_the_keyboard_alone(tmp_path):
    """A wrong answer, its check and hint; the right one, Bravo, the solution."""
    task = task_of("executer_tool_call")
    show = 'from toolcall_lab.exercises import exercise\n\nex = exercise("executer_tool_call")\nex'
    cells = [nbformat.v4.new_code_cell(show), nbformat.v4.new_code_cell(task.stub)]
    (tmp_path / "course").mkdir()
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)
    nbformat.write(notebook, tmp_path / "course" / "exercise.ipynb")
    wrong = next(wrong for wrong in task.wrong if wrong.name == "the result isn't a text")
    with (
        jupyterlab(tmp_path / "course", tmp_path) as url,
        browser_page() as page,
        opened(page, url, "exercise.ipynb"),
    ):
        run_all(page)
        view = page.locator(".jp-OutputArea-output").first

        def press(button):
            """From the answer's cell up to the panel, along to a button, and down again."""
            page.keyboard.press("k")
            for _ in range(6):
                page.keyboard.press("Tab")
                if (page.evaluate("document.activeElement.innerText") or "").strip() == button:
                    break
            page.keyboard.press("Enter")
            page.keyboard.press("Escape")
            page.locator(".jp-Cell").nth(1).press("Escape")

        def write(source):
            page.keyboard.press("Enter")
            page.keyboard.press("Control+a")
            page.keyboard.insert_text(source.strip())
            page.keyboard.press("Control+Enter")
            page.keyboard.press("Escape")

        page.keyboard.press("Escape")
        press("Check")
        view.get_by_text("There is nothing in executer_tool_call yet").wait_for()
        write(wrong.source)
        press("Check")
        view.get_by_text("failing · tests 3/5").first.wait_for()
        view.get_by_text(
            "it returned {'tool_call_id': 'call_2', 'name': 'add', 'result': 10}"
        ).wait_for()
        press("Hint")
        view.get_by_text("Hint for what you did:").wait_for()
        write("# changed\n" + source_of(task.solution))
        view.get_by_text("changed since it was checked").wait_for()
        press("Official solution")
        view.get_by_text("you have made 1").wait_for()
        press("Check")
        view.get_by_text("Bravo!").wait_for()
        view.get_by_text("passed · tests 5/5 + 7 hidden tests · tries 1 · course 1/11").wait_for()
        press("Official solution")
        view.locator("pre", has_text="def executer_tool_call(").wait_for()
        assert page.errors == []
