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


KNOWN_OPTIONS = set(inspect.signature(llama_cpp.Llama.__init__).parameters) - {
    "self", "kwargs", "model_path", "lora_path",
}  # fmt: skip
RANGES = {  # outside of these, llama.cpp crashes or takes another number silently
    "n_ctx": (256, 2**24),
    "n_batch": (1, 2**16),
    "n_ubatch": (1, 2**16),
    "n_threads": (1, 512),
    "n_threads_batch": (1, 512),
    "n_gpu_layers": (-1, 10_000),
}


def check_options(options: dict[str, Any]) -> None:
    """Refuses what `llama_cpp.Llama` would swallow silently: `nctx=4096` leaves n_ctx at 512."""
    for name, value in options.items():
        if name == "lora_path":
            raise ModelError("load_model() has no option 'lora_path'; give the file as adapter=….")
        if name not in KNOWN_OPTIONS:
            near = difflib.get_close_matches(name, KNOWN_OPTIONS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ModelError(f"load_model() has no option {name!r}{hint}")
        low, high = RANGES.get(name, (0, 0))
        if high and not (type(value) is int and low <= value <= high):
            raise ModelError(f"{name}={value!r}: it must be a whole number from {low} to {high}.")
    if (n_ctx := options.get("n_ctx", 4096)) % 256:
        better = max(256, round(n_ctx / 256) * 256)
        raise ModelError(f"n_ctx={n_ctx}: llama.cpp needs a multiple of 256, for example {better}.")


def check_file(path: Path) -> None:
    """Refuses what llama.cpp would answer with "Failed to load model from file"."""
    try:
        if not path.is_file():
            what = "is a folder, not a file" if path.is_dir() else "does not exist"
            raise ModelError(f"The model file {str(path)!r} {what}; give the path of a GGUF file.")
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(f"The model file can't be read: {error}.") from None
    if magic != b"GGUF":
        raise ModelError(
            f"{str(path)!r} is not a GGUF file (it begins with {magic!r}, not b'GGUF'); "
            "download the model's .gguf file."
        )


@contextmanager
def explained(path: Path, adapter: str | None = None) -> Iterator[None]:
    """Turns llama-cpp-python's bare "Failed to load" into a sentence with llama.cpp's reason."""
    errors: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: errors.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        yield
    except Exception as error:
        reason = re.sub(_WHERE, "", (errors or [str(error)])[0])
        of_adapter = any("lora adapter" in message for message in errors)
        file = adapter if of_adapter else str(path)
        raise ModelError(f"{file!r} can't be loaded: {reason}.{_todo(reason)}") from None
    finally:
        log.removeHandler(handler)


_WHERE = r"^\w+:\s*((error loading model|failed to apply lora adapter):\s*)?"


def _todo(reason: str) -> str:
    """What to do about it, as far as llama.cpp's reason tells."""
    if re.search("alloc|memory|buffer", reason):
        return " It needs more memory than there is: take a smaller n_ctx, or a smaller model."
    if re.search("bounds|read|corrupt|magic|invalid", reason):
        return " The file is cut short or damaged: download it again."
    if "to be 'adapter'" in reason:
        return " It is no adapter: give a model's file as load_model(path)."
    if "CLIP" in reason or "mmproj" in reason:
        return " It is the part of a vision model that sees: give its text model's GGUF."
    if "architecture" in reason:
        return " A newer llama-cpp-python may know it: upgrade."
    return ""


def one_sentence(call: Any, **options: Any) -> Any:
    """Calls llama-cpp-python; what it says about a bad prompt becomes a `ModelError`."""
    try:
        return call(**options)
    except (ValueError, RuntimeError) as error:
        window = "window" in str(error)
        todo = " Shorten it, or load the model with a larger n_ctx." if window else ""
        raise ModelError(f"{error}.{todo}") from None
