"""`run_shell`: a command in one folder, each time only after a person has said yes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from ..tools import Tool, tool

SECONDS, MAX_BYTES = 20.0, 200_000


def ask_at_the_keyboard(command: str) -> bool:
    """Asks whether to run a command; anything but y, yes, o or oui is no."""
    return input(f"Run this command? [y/N]\n  {command!r}\n").strip().lower() in (
        "y",
        "yes",
        "o",
        "oui",
    )


def shell(
    folder: str | os.PathLike[str], consent: Callable[[str], bool] = ask_at_the_keyboard
) -> Tool:
    """The tool `run_shell` in `folder`. `consent` is called with each command, before it runs."""
    root = Path(folder).resolve(strict=True)

    @tool(limited=False)  # a person may take their time
    def run_shell(command: Annotated[str, "A command line"]) -> str:
        """Runs a command, if the person at the keyboard agrees."""
        if consent(command) is not True:
            return "The person said no; the command was not run."
        return _run(command, root)

    return run_shell


def _run(command: str, folder: Path) -> str:
    """The exit code and what was written; the whole process group is ended after `SECONDS`."""
    with tempfile.TemporaryFile() as output:  # a pipe would hold everything in memory
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(timeout=SECONDS)
        except BaseException as reason:  # an interrupt as well
            _end(process)
            if not isinstance(reason, subprocess.TimeoutExpired):
                raise
            raise TimeoutError(f"no end after {SECONDS:g} s") from None
        output.seek(0)
        written = output.read(MAX_BYTES).decode("utf-8", "replace")
    return f"exit code {process.returncode}\n{written}".rstrip()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and those it has started."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True)
    else:
        with contextlib.suppress(OSError):  # it has just ended by itself
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
