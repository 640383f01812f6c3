"""The student edition and the solved one: made of the same notebooks, and they agree."""

import copy
from pathlib import Path

import nbformat
import pytest

from toolcall_lab import ToolcallLabError
from toolcall_lab.cli import main
from toolcall_lab.exercises import NAMES, task_of
from toolcall_lab.exercises.attempt import source_of
from toolcall_lab.exercises.editions import KEY, mark, release, solve

LESSONS = Path(__file__).parent.parent / "notebooks" / "en"


@pytest.fixture(scope="module")
def editions(tmp_path_factory):
    made = {}
    for name, write in (("students", release), ("solved", solve)):
        paths = write(LESSONS, tmp_path_factory.mktemp("editions") / name)
        made[name] = {path.name: nbformat.read(path, as_version=4) for path in paths}
    return made


def parts_of(notebook, part):
    return [cell for cell in notebook.cells if cell.metadata.get(KEY, {}).get("part") == part]


def test_both_are_the_same_but_for_the_answers(editions):
    assert editions["students"].keys() == editions["solved"].keys()
    for name, students in editions["students"].items():
        solved = copy.deepcopy(editions["solved"][name])
        for mine, other in zip(
            parts_of(students, "answer"), parts_of(solved, "answer"), strict=True
        ):
            task = task_of(mine.metadata[KEY]["exercise"])
            assert mine.source == task.stub.rstrip("\n")
            assert other.source == source_of(task.solution)
            other.source = mine.source
        assert solved == students


def test_every_exercise_is_handed_out_once_untouched_and_locked(editions):
    found = [
        cell.metadata[KEY]["exercise"]
        for notebook in editions["students"].values()
        for cell in parts_of(notebook, "answer")
    ]
    assert sorted(found) == sorted(NAMES)
    for notebook in editions["students"].values():
        nbformat.validate(notebook)
        for part in ("panel", "answer", "check"):
            for cell in parts_of(notebook, part):
                assert cell.outputs == []
                assert cell.metadata.get("editable", True) is (part == "answer")
                assert cell.metadata.get("deletable", True) is (part == "answer")
        assert "official solution" not in str(parts_of(notebook, "answer"))


def test_what_the_lessons_read_comes_along(tmp_path):
    release(LESSONS, tmp_path / "out")
    assert (tmp_path / "out" / "notebooks" / "en" / LESSONS.name).parent.is_dir()
    assert (tmp_path / "out" / "recordings" / "lesson_10.jsonl").exists()
    assert (tmp_path / "out" / "docs" / "patterns.md").exists()
    assert not (tmp_path / "out" / "toolcall_lab").exists()  # the solutions are in it


def test_mistakes_are_explained(tmp_path, capsys):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep me")
    with pytest.raises(ToolcallLabError, match="has something in it"):
        release(LESSONS, tmp_path / "full")
    assert (tmp_path / "full" / "mine.txt").read_text() == "keep me"
    assert main(["release", str(tmp_path / "full"), str(tmp_path / "out")]) == 1
    assert "are no notebooks" in capsys.readouterr().err
    (tmp_path / "bad" / "nb").mkdir(parents=True)
    (tmp_path / "bad" / "nb" / "x.ipynb").write_text("no JSON")
    with pytest.raises(ToolcallLabError, match=r"x\.ipynb is no notebook"):
        release(tmp_path / "bad" / "nb", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(ToolcallLabError, match="which is copied; go elsewhere"):
        release(LESSONS, LESSONS.parent.parent / "docs" / "students")


@pytest.mark.parametrize(
    ("panel", "said"),
    [
        ('ex = exercise("capstone")\nex', "capstone isn't whole"),
        ('ex = exercise("capstone")\nex  # show it', "ends with two lines"),
        ("ex = exercise('capstone')\nex", "ends with two lines"),
        ('ex = exercise("capston")\nex', "its names, and ex"),
    ],
)
def test_no_answer_slips_through_an_unusual_panel(panel, said):
    cells = [nbformat.v4.new_code_cell(text) for text in (panel, "SOLVED = 42")]
    with pytest.raises(ToolcallLabError, match=said):
        mark(nbformat.v4.new_notebook(cells=cells))


def test_the_commands(tmp_path, capsys):
    assert main(["release", str(LESSONS), str(tmp_path / "students")]) == 0
    assert main(["solutions", str(LESSONS), str(tmp_path / "solved")]) == 0
    said = capsys.readouterr().out
    assert "12 notebooks" in said
    assert "11 exercises" in said
