"""Writes `binder/requirements.txt`: exact versions of all that the lessons need, for Binder.

The versions are those of constraints.txt. llama-cpp-python is compiled there, for any processor
(`GGML_NATIVE=OFF`): Binder's machines differ from the one that builds the image. The requirements
are a layer of their own that Binder keeps while they stay the same; the package itself is installed
on top, by `postBuild`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON, PLATFORM = "3.11", "x86_64-unknown-linux-gnu"
PORTABLE = '--config-settings="cmake.args=-DGGML_NATIVE=OFF;-DLLAVA_BUILD=OFF"'
HEAD = "# Written by `make binder`.\n"


def main() -> None:
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--extra", "lab"]
    command += ["--python-version", PYTHON, "--python-platform", PLATFORM]
    command += ["--constraint", "constraints.txt", "--quiet"]
    command += ["--no-emit-index-url", "--no-annotate", "--no-header"]
    pins = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    lines = [f"{pin} {PORTABLE}" if pin.startswith("llama-cpp-python==") else pin for pin in pins]
    text = HEAD + "\n".join(lines) + "\n"
    (ROOT / "binder" / "requirements.txt").write_text(text, encoding="utf-8")
    (ROOT / "binder" / "runtime.txt").write_text(f"python-{PYTHON}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
