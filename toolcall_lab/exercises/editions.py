"""Two editions of the lessons, made from the same notebooks: for students, and solved.

In the student edition each answer is the stub and nothing of an exercise has an output; in the
solved one each answer is the official solution. Cells of an exercise are marked in their metadata,
so that a grader finds them again, and the cells that show and check it can't be edited or deleted.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from ..errors import ToolcallLabError
from . import NAMES, task_of
from .attempt import source_of

KEY = "toolcall_lab"  # of the metadata: {"exercise": name, "part": "panel", "answer" or "check"}
BESIDE = ("recordings", "docs", "training")  # folders that lessons read from
PANEL = re.compile(r'exercise\("(\w+)"\)\s*ex\s*$')


def release(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> list[Path]:
    """Writes the student edition of the notebooks in `source` to `target`; gives its notebooks.

    What the lessons read (recordings, pages of docs, training data) is copied too, if it's there.
    `target` must be new or empty.
    """
    return _edition(Path(source), Path(target), solved=False)


def solve(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> list[Path]:
    """Writes the solved edition, as `release` writes the student edition."""
    return _edition(Path(source), Path(target), solved=True)


def _edition(source: Path, target: Path, *, solved: bool) -> list[Path]:
    import nbformat

    found = sorted(source.glob("*.ipynb"))
    if not found:
        raise ToolcallLabError(f"In {source} are no notebooks; give the folder notebooks/en.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ToolcallLabError(f"{target} has something in it; give a new or empty folder.")
    root = source.resolve().parent.parent
    copied = [root / name for name in BESIDE if (root / name).is_dir()]
    for folder in (*copied, source.resolve()):
        if target.resolve().is_relative_to(folder):
            raise ToolcallLabError(f"{target} is inside {folder}, which is copied; go elsewhere.")
    ready = {}
    for path in found:
        try:
            notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        except ValueError as error:  # NotJSONError is one
            reason = str(error).splitlines()[0][:200]
            raise ToolcallLabError(f"{path} is no notebook: {reason}") from None
        mark(notebook, solved=solved)
        ready[path.name] = notebook
    folder = target / source.resolve().parent.name / source.resolve().name
    folder.mkdir(parents=True)
    for name, notebook in ready.items():
        nbformat.write(notebook, folder / name)  # type: ignore[no-untyped-call]
    for beside in copied:
        ignored = shutil.ignore_patterns("__pycache__", "*.pt", ".*")
        shutil.copytree(beside, target / beside.name, ignore=ignored)
    return [folder / name for name in ready]


def mark(notebook: Any, *, solved: bool = False) -> list[str]:
    """Turns a notebook into an edition, in place; gives the names of its exercises.

    Raises `ToolcallLabError` if an exercise isn't whole: panel, answer, check, in this order.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    names = []
    for at, cell in enumerate(code):
        found = PANEL.search(cell.source)
        if "exercise(" not in cell.source:
            continue
        if found is None or found.group(1) not in NAMES:
            raise ToolcallLabError(
                "A cell that shows an exercise ends with two lines, ex = exercise(…) with one of "
                f"its names, and ex. This one doesn't: {cell.source[-80:]!r}"
            )
        name = found.group(1)
        answer, check = [*code[at + 1 : at + 3], None, None][:2]
        if answer is None or check is None or check.source.strip() != f"ex.check({name})":
            raise ToolcallLabError(
                f"The exercise {name} isn't whole: behind the cell that shows it, one has to be "
                f"for the answer, and one that says ex.check({name})."
            )
        task = task_of(name)
        answer.source = source_of(task.solution) if solved else task.stub.rstrip("\n")
        for part, of in (("panel", cell), ("answer", answer), ("check", check)):
            of.metadata[KEY] = {"exercise": name, "part": part}
            of.outputs, of.execution_count = [], None
            if part != "answer":
                of.metadata |= {"editable": False, "deletable": False}
        names.append(name)
    return names
