"""Runs notebooks from top to bottom and keeps their outputs, as GitHub can show them: static.

`python scripts/run_notebooks.py [notebook …]`; without arguments, all of them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def main() -> None:
    paths = [Path(argument) for argument in sys.argv[1:]]
    for path in paths or sorted((ROOT / "notebooks").rglob("*.ipynb")):
        print(path, flush=True)
        run(path)


def run(path: Path) -> None:
    """Runs one notebook and writes it back without anything that differs between machines."""
    os.environ["TOOLCALL_LAB_STATIC"] = "1"
    os.environ.pop("TOOLCALL_LAB_MODEL", None)  # outputs are the default model's
    os.environ["TOOLCALL_LAB_HOME"] = tempfile.mkdtemp()  # nobody has tried an exercise yet
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(
        notebook,
        timeout=300,
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
    ).execute()
    notebook.metadata = METADATA
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
