"""What can go wrong before a model is there: options, files, and what llama.cpp says about them.

llama.cpp's messages go to Python's logging, as `toolcall_lab.llama_cpp`.
"""

from __future__ import annotations

import ctypes
import difflib
import inspect
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llama_cpp

from ..errors import ModelError

log = logging.getLogger("toolcall_lab.llama_cpp")

# ggml's levels (ggml.h); llama-cpp-python's own table is out of date and hides the errors.
_LEVELS = {1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR}


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _to_logging(level: int, text: bytes, _user_data: ctypes.c_void_p) -> None:
    message = text.decode("utf-8", "replace").strip()
    if message:
        log.log(_LEVELS.get(level, logging.DEBUG), message)


llama_cpp.llama_log_set(_to_logging, ctypes.c_void_p(0))
log.addHandler(logging.NullHandler())


def check_options(options: dict[str, Any]) -> None:
    """Refuses what `llama_cpp.Llama` would swallow silently: `nctx=4096` leaves n_ctx at 512."""
    known = inspect.signature(llama_cpp.Llama.__init__).parameters
    for name in options:
        if name not in known or name in {"self", "kwargs", "model_path"}:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ModelError(f"load_model() has no option {name!r}{hint}")
    n_ctx = options.get("n_ctx", 4096)
    if not isinstance(n_ctx, int) or n_ctx <= 0 or n_ctx % 256:
        better = max(256, round(int(n_ctx) / 256) * 256) if isinstance(n_ctx, int) else 4096
        raise ModelError(
            f"n_ctx={n_ctx!r}: llama.cpp needs a positive multiple of 256, for example {better}."
        )


def check_file(path: Path) -> None:
    """Refuses what llama.cpp would answer with "Failed to load model from file"."""
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise ModelError(f"The model file {str(path)!r} {what}; give the path of a GGUF file.")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise ModelError(
            f"{str(path)!r} is not a GGUF file (it begins with {magic!r}, not b'GGUF'); "
            "download the model's .gguf file."
        )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns llama-cpp-python's bare "Failed to load" into a sentence with llama.cpp's reason."""
    errors: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: errors.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        yield
    except (ValueError, OSError, AssertionError) as error:
        reason = re.sub(r"^\w+:\s*(error loading model:\s*)?", "", (errors or [str(error)])[0])
        raise ModelError(
            f"{str(path)!r} can't be loaded: {reason}. Cut short or damaged? Download it again. "
            "A new architecture? Upgrade llama-cpp-python."
        ) from None
    finally:
        log.removeHandler(handler)
