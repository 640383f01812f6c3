"""Makes the recordings anew: `python scripts/record.py model.gguf`, which is `make recordings`.

Runs each lesson that opens a recording, with the given model speaking instead, and then once more
with the recordings, so that its outputs are theirs. If a lesson fails, the old recordings stay.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from run_notebooks import ROOT, run

RECORDINGS = ROOT / "recordings"


def main() -> None:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: make recordings MODEL=path/to/model.gguf")
    lessons = [
        path
        for path in sorted((ROOT / "notebooks").rglob("*.ipynb"))
        if "recording(" in path.read_text(encoding="utf-8")
    ]
    with tempfile.TemporaryDirectory() as kept:
        shutil.copytree(RECORDINGS, kept, dirs_exist_ok=True)
        for path in RECORDINGS.glob("*.jsonl"):
            path.unlink()
        try:
            os.environ["TOOLCALL_LAB_RECORD"] = str(Path(sys.argv[1]).resolve())
            for lesson in lessons:
                print(f"recording {lesson.name}", flush=True)
                run(lesson)
        except BaseException:
            shutil.rmtree(RECORDINGS)
            shutil.copytree(kept, RECORDINGS)
            raise
        finally:
            del os.environ["TOOLCALL_LAB_RECORD"]
    for lesson in lessons:
        print(f"replaying {lesson.name}", flush=True)
        run(lesson)


if __name__ == "__main__":
    main()
