"""What a lesson costs on a machine like Binder's: one core. `make bench`.

Each lesson is run from top to bottom in a process of its own that may use one core only; its
seconds and its peak memory, that of the kernel with the model in it, are printed. Needs Linux,
which can keep a process on a core.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUN = """
import resource, sys
import nbformat
from nbclient import NotebookClient

path = sys.argv[1]
notebook = nbformat.read(path, as_version=4)
NotebookClient(notebook, timeout=600, resources={"metadata": {"path": sys.argv[2]}}).execute()
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def one_core() -> None:
    """Keeps the process that is about to start on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def main() -> dict[str, Any]:
    """Prints a line a lesson and returns the table."""
    found = {}
    for path in sorted((ROOT / "notebooks" / "en").glob("*.ipynb")):
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(path), str(path.parent)],
            env=os.environ | {"TOOLCALL_LAB_STATIC": "1"},
            preexec_fn=one_core,
            capture_output=True,
            text=True,
            check=True,
        )
        memory, seconds = int(done.stdout) / 1024**2, time.perf_counter() - started
        found[path.stem] = {"seconds": seconds, "gigabytes": memory}
        print(f"{path.stem:<32} {seconds:6.1f} s on one core, {memory:.2f} GB", flush=True)
    return found


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / Path(__file__).with_suffix(".json").name).write_text(json.dumps(main(), indent=1))
