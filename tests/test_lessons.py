"""The exercises in the lessons: each has its own, untouched, and the lessons also run solved."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolcall_lab.exercises import NAMES, task_of
from toolcall_lab.exercises.attempt import source_of

ROOT = Path(__file__).parent.parent
LESSONS = sorted((ROOT / "notebooks" / "en").glob("*.ipynb"))
NUMBERS = {int(path.name[:2]): path for path in LESSONS}
WITH_LESSON = [name for name in NAMES if task_of(name).lesson in NUMBERS]


def cells(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook, [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stub_at(code, task):
    """Where the task's stub stands among the code cells."""
    return ["".join(cell["source"]) for cell in code].index(task.stub)


def test_lessons_one_to_eleven_have_an_exercise():
    assert {task_of(name).lesson for name in WITH_LESSON} == set(range(1, 12))


@pytest.mark.parametrize("name", WITH_LESSON)
def test_a_lesson_shows_its_exercise_its_stub_and_its_check(name):
    task = task_of(name)
    _, code = cells(NUMBERS[task.lesson])
    at = stub_at(code, task)
    before, check = ("".join(code[n]["source"]) for n in (at - 1, at + 1))
    assert before.endswith(f'ex = exercise("{name}")\nex')
    assert check == f"ex.check({name})"
    shown = code[at - 1]["outputs"][0]["data"]
    assert "not attempted" in "".join(shown["text/plain"])
    assert "not attempted" in "".join(code[at + 1]["outputs"][0]["data"]["text/plain"])


@pytest.mark.slow
def test_the_lessons_run_solved(tmp_path):
    for part in ("notebooks", "recordings", "training", "docs"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "nbval.cfg", tmp_path / "tests")
    solved = []
    for name in WITH_LESSON:
        task = task_of(name)
        path = tmp_path / NUMBERS[task.lesson].relative_to(ROOT)
        notebook, code = cells(path)
        at = stub_at(code, task)
        code[at]["source"] = source_of(task.solution)
        code[at + 1]["source"] = f"assert ex.check({name}).passed"
        path.write_text(json.dumps(notebook), encoding="utf-8")
        solved.append(str(path))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--nbval-lax",
        "--nbval-current-env",
        "-n",
        "2",
    ]
    command += [
        "--nbval-current-env",
        "--dist",
        "loadscope",
        "--nbval-sanitize-with",
        "tests/nbval.cfg",
    ]
    places = {"TOOLCALL_LAB_HOME": str(tmp_path / "home"), "TOOLCALL_LAB_STATIC": "1"}
    done = subprocess.run(
        [*command, "--nbval-cell-timeout=120", *solved],
        cwd=tmp_path, env=os.environ | places, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    kept = json.loads((tmp_path / "home" / "progress.json").read_text(encoding="utf-8"))
    assert all(kept["exercises"][name]["passed"] for name in WITH_LESSON)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_as_a_page_shows_every_view(path):
    """`jupyter nbconvert --to html`: what a reader without a kernel sees."""
    import nbformat
    from nbconvert import HTMLExporter

    notebook = nbformat.read(path, as_version=4)
    page, _ = HTMLExporter().from_notebook_node(notebook)
    shown = plain(page)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            markup = "".join(output.get("data", {}).get("text/html", ""))
            if "tcl-view" in markup:
                assert plain(markup.split("</style>")[-1]) in shown
    assert "widget-view" not in page


def plain(markup):
    """The words of a page."""
    return "".join(html.unescape(re.sub("<[^>]*>", "", markup)).split())
