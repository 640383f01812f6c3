"""Makes `.venv` and installs everything into it; says what it does while it does it.

Standard library only: it runs before anything is installed. `make lab` and `make test` call it; it
returns at once when nothing has changed since the last time.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOG = VENV / "setup.log"
STAMP = VENV / "setup.stamp"
CONSTRAINTS = ROOT / "constraints.txt"

COMPILER_HELP = """\
llama-cpp-python is compiled on this machine, and no C/C++ compiler was found. Install one:
  Debian, Ubuntu   sudo apt install build-essential
  Fedora           sudo dnf install gcc-c++ make
  macOS            xcode-select --install
  Windows          winget install Microsoft.VisualStudio.2022.BuildTools, with "Desktop
                   development with C++" ticked in its installer
Then run the same command again."""

VENV_HELP = """\
This Python can't make a virtual environment. On Debian or Ubuntu: sudo apt install python3-venv
Then run the same command again."""


def main() -> None:
    if sys.version_info < (3, 10):  # noqa: UP036 - which Python runs this is not known yet
        sys.exit(f"Python 3.10 or newer is needed; this is {sys.version.split()[0]}.")
    if STAMP.exists() and STAMP.read_text() == fingerprint():
        return
    if not PYTHON.exists():
        say("Making the virtual environment .venv")
        made = subprocess.run([sys.executable, "-m", "venv", str(VENV)], capture_output=True)
        if made.returncode:
            shutil.rmtree(VENV, ignore_errors=True)
            sys.exit(VENV_HELP)
    LOG.write_text("")
    if not installed("llama_cpp"):
        install_llama_cpp()
    say("Installing the package, JupyterLab and the test tools")
    pip("install", "--editable", ".[lab,test]")
    STAMP.write_text(fingerprint())
    say("Ready")


def fingerprint() -> str:
    """What the environment was made from."""
    parts = [sys.version, *(p.read_text() for p in (ROOT / "pyproject.toml", CONSTRAINTS))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def install_llama_cpp() -> None:
    """Builds llama-cpp-python, which has no ready-made packages on PyPI."""
    if not has_compiler():
        sys.exit(COMPILER_HELP)
    # Its multimodal part takes long to build and is unused here.
    os.environ.setdefault("CMAKE_ARGS", "-DLLAVA_BUILD=OFF")
    say(f"Building llama-cpp-python with CMAKE_ARGS={os.environ['CMAKE_ARGS']}")
    say("This takes 5 to 15 minutes, once; pip keeps the result for next time")
    pip("install", "--verbose", "llama-cpp-python")


def has_compiler() -> bool:
    """Whether CMake will find a C++ compiler."""
    names = ["c++", "g++", "clang++", "cl"]
    if os.environ.get("CXX") or any(map(shutil.which, names)):
        return True
    studio = Path(os.environ.get("PROGRAMFILES(X86)", "")) / "Microsoft Visual Studio"
    return os.name == "nt" and (studio / "Installer" / "vswhere.exe").exists()


def installed(module: str) -> bool:
    """Whether the environment has the module, without importing it."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"
    return subprocess.run([str(PYTHON), "-c", code]).returncode == 0


def pip(*arguments: str) -> None:
    """Runs pip in the environment; shows that it goes on, and the end of its log if it fails."""
    command = [str(PYTHON), "-m", "pip", arguments[0], "--constraint", str(CONSTRAINTS)]
    process = subprocess.Popen(
        [*command, *arguments[1:]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    started = shown = time.monotonic()
    assert process.stdout is not None
    with LOG.open("a", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(line)
            now = time.monotonic()
            if now - shown >= 10:
                shown = now
                say(f"  {progress(line)} ({now - started:.0f} s)")
    if process.wait():
        tail = "\n".join(LOG.read_text(encoding="utf-8").splitlines()[-30:])
        sys.exit(f"{tail}\n\npip failed; its whole output is in {LOG.relative_to(ROOT)}.")


def progress(line: str) -> str:
    """What pip is at, from a line of its output."""
    if step := re.search(r"\[(\d+)/(\d+)\]", line):
        return f"compiling llama.cpp, file {step[1]} of {step[2]}"
    return line.strip()[:70] or "working"


def say(text: str) -> None:
    print(f"toolcall_lab: {text}", flush=True)


if __name__ == "__main__":
    main()
