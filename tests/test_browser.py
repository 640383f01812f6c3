"""Lessons in a real JupyterLab, in a real browser, with a real kernel and the embedded model."""

import re
import shutil
from pathlib import Path

import pytest

from scripts.lab import browser_page, chromium, jupyterlab, opened, run_all

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
    for part in ("notebooks", "recordings", "training"):
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
