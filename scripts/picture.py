"""Takes the README's picture: lesson 2 in JupyterLab, in headless Chromium."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from lab import browser_page, chromium, jupyterlab, opened, run_all

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "lesson_2.png"
LESSON = "notebooks/en/02_a_chat_is_one_string.ipynb"


def main() -> None:
    if chromium() is None:
        sys.exit("Chromium is missing: apt install chromium, then run this again.")
    with tempfile.TemporaryDirectory() as place:
        folder, home = Path(place, "course"), Path(place, "home")
        home.mkdir()
        shutil.copytree(ROOT / "notebooks", folder / "notebooks")
        with (
            jupyterlab(folder, home) as address,
            browser_page(1200, 900) as page,
            opened(page, address, LESSON),
        ):
            run_all(page)
            view = page.locator(".tcl-view", has_text="And of Spain?").last
            view.scroll_into_view_if_needed()
            page.wait_for_timeout(1000)
            PICTURE.parent.mkdir(exist_ok=True)
            page.screenshot(path=PICTURE)
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
