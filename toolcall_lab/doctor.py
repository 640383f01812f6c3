"""Checks of this machine: what is needed to run the course, and how to mend what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .errors import ToolcallLabError

GIGABYTE = 2**30


@dataclass(frozen=True)
class Check:
    """One line of the report. `state` is `ok`, `note` or `fails`; `mend` says what to do."""

    name: str
    state: str
    found: str
    mend: str = ""

    def __str__(self) -> str:
        line = f"{self.state:<6} {self.name:<11} {self.found}"
        return f"{line}\n       {'':<11} -> {self.mend}" if self.mend else line


def examine() -> Iterator[Check]:
    """All checks, one after the other; one that breaks is a check that fails."""
    checks: list[Callable[[], Check]] = [
        _python, _compiler, _llama_cpp, _model, _memory, _jupyter, _widgets,
    ]  # fmt: skip
    for check in checks:
        try:
            yield check()
        except Exception as error:
            name = check.__name__.lstrip("_").replace("_", ".")
            yield Check(name, "fails", f"{type(error).__name__}: {error}", "run `make lab` again")


def _python() -> Check:
    version = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info < (3, 10):  # noqa: UP036 - a check of what pip should have refused
        return Check("Python", "fails", version, "install Python 3.10 or newer")
    return Check("Python", "ok", version)


def _compiler() -> Check:
    found = os.environ.get("CXX") or next(
        filter(None, map(shutil.which, ("c++", "g++", "cl"))), None
    )
    if found:
        return Check("compiler", "ok", found)
    mend = "needed only to build llama-cpp-python anew; `make lab` says which package to install"
    return Check("compiler", "note", "no C++ compiler on the path", mend)


def _llama_cpp() -> Check:
    import llama_cpp

    gpu = "with GPU support" if llama_cpp.llama_supports_gpu_offload() else "CPU only"
    return Check("llama.cpp", "ok", f"llama-cpp-python {llama_cpp.__version__}, {gpu}")


def _model() -> Check:
    from .models import load_model

    try:
        llm = load_model(n_ctx=256)
    except ToolcallLabError as error:
        mend = "unset TOOLCALL_LAB_MODEL to use the embedded model, or run `make lab` again"
        return Check("model", "fails", str(error), mend)
    try:
        text = llm("The capital of France is", max_tokens=4, temperature=0)["choices"][0]["text"]
        known = f"known file, {llm.entry.license}" if llm.entry else "not in the catalog"
        found = f"{llm.name} ({known}), {llm.n_threads} threads; it says: France …{text!r}"
    finally:
        llm.close()
    return Check("model", "ok", found)


def _memory() -> Check:
    import psutil

    free = psutil.virtual_memory().available
    found = f"{free / GIGABYTE:.1f} GB free"
    if free < 0.7 * GIGABYTE:
        return Check("memory", "fails", found, "close programs: the embedded model needs 0.7 GB")
    if free < 4 * GIGABYTE:
        return Check("memory", "note", found, "enough for the embedded model, not for a 4B model")
    return Check("memory", "ok", found)


def _jupyter() -> Check:
    missing = [name for name in ("jupyterlab", "ipykernel") if not _version(name)]
    if missing:
        found = f"{' and '.join(missing)} not installed"
        return Check("Jupyter", "fails", found, "pip install 'toolcall-lab[lab]'")
    return Check(
        "Jupyter", "ok", f"jupyterlab {_version('jupyterlab')}, ipykernel {_version('ipykernel')}"
    )


def _widgets() -> Check:
    front = importlib.util.find_spec("jupyterlab_widgets") is not None
    if not _version("ipywidgets") or not front:
        found = "ipywidgets or its JupyterLab part is missing; views are shown without controls"
        return Check("widgets", "fails", found, "pip install 'toolcall-lab[lab]'")
    if os.environ.get("TOOLCALL_LAB_STATIC") == "1":
        mend = "unset TOOLCALL_LAB_STATIC to get the controls"
        return Check("widgets", "note", "static mode: views are shown without controls", mend)
    return Check("widgets", "ok", f"ipywidgets {_version('ipywidgets')}")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
