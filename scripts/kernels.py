"""Puts other versions of ipykernel beside the installed one, for the browser tests.

Whether a click reaches Python while it works has changed from version to version. Each one is a
folder in `.kernels`, and a kernel that Jupyter finds with `JUPYTER_PATH=.kernels/share`.
`python scripts/kernels.py`, or `make kernels`; what is there already isn't fetched again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).resolve().parent.parent / ".kernels"
VERSIONS = ("6.31.0", "7.3.0", "7.4.0")


def main() -> None:
    for version in VERSIONS:
        folder = PLACE / version
        if not (folder / "ipykernel_launcher.py").exists():
            wanted = [f"ipykernel=={version}", "nest-asyncio"]  # 6.31 needs the second
            install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            if subprocess.run([*install, "--target", str(folder), *wanted]).returncode:
                sys.exit(f"ipykernel {version} couldn't be fetched: that needs the network, once.")
        spec = PLACE / "share" / "kernels" / name_of(version) / "kernel.json"
        spec.parent.mkdir(parents=True, exist_ok=True)
        launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        text = {"argv": launch, "display_name": f"ipykernel {version}", "language": "python"}
        spec.write_text(json.dumps(text | {"env": {"PYTHONPATH": str(folder)}}))


def name_of(version: str) -> str:
    """The kernel's name, in a notebook's metadata."""
    return f"ipykernel-{version}"


if __name__ == "__main__":
    main()
