"""What a model has read, kept: on disk for the next kernel, in memory for several agents.

A state is llama.cpp's own: keys and values of every layer for each token, 22.5 KiB a token for the
embedded model. It's good for one model (file, adapter, window) and one beginning of a prompt, and
its file is named after both. Files of this folder are this machine's own; none comes from anywhere.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .local import LocalModel

MAX_FILES = 20  # the oldest go first
LEAST = 16  # tokens that are worth a file
SETTINGS = ("n_ctx", "rope", "yarn", "type_", "flash", "attention", "swa")  # of a context
DIGEST = 32  # bytes of the checksum in front of a state


def default_folder() -> Path:
    """Where states are kept: in the user's cache folder."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("toolcall-lab", appauthor=False)) / "states"


def warm(llm: LocalModel, ids: Sequence[int], folder: str | os.PathLike[str] | None = None) -> str:
    """Has `ids` in the model's context, the cheapest way, and says which it was.

    `"context"`: they were there; `"disk"`: they came from the disk; `"read"`: the model read them,
    and the state is on disk now. A folder that can't be written is no error: then they're read.
    """
    wanted = [int(token) for token in ids]
    present = llm._input_ids.tolist()
    if len(wanted) < LEAST or present[: len(wanted)] == wanted:
        return "context"
    place = Path(folder) if folder is not None else default_folder()
    try:
        file = place / f"{_key(llm, wanted)}.state"
    except OSError:  # the model's file is gone, or its path was relative to another folder
        llm.next_logits(wanted)
        return "read"
    if _load(llm, wanted, file):
        return "disk"
    llm.next_logits(wanted)
    _save(llm, file)
    return "read"


class Readings:
    """What several agents have read with one model: one agent's is in its context, the others' are
    here, so that going back and forth reads nothing again.
    """

    def __init__(self, llm: Any) -> None:
        self.llm = llm
        self._kept: dict[str, Any] = {}

    @contextmanager
    def of(self, agent: str) -> Iterator[None]:
        """Has this agent's reading in the context, and afterwards what was there before."""
        if not hasattr(self.llm, "save_context"):
            yield
            return
        before = self.llm.save_context()
        if agent in self._kept:
            self.llm.load_context(self._kept[agent])
        try:
            yield
        finally:
            self._kept[agent] = self.llm.save_context()
            self.llm.load_context(before)


def _key(llm: LocalModel, ids: list[int]) -> str:
    import llama_cpp

    files = [Path(path) for path in (llm.model_path, llm.lora_path) if path]
    about = [f"{path.resolve()} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
    context = llm.context_params
    names = [name for name, _ in context._fields_ if name.startswith(SETTINGS)]
    about += [f"{name}={getattr(context, name)}" for name in names]
    about += [llama_cpp.__version__, repr(llm.kv_overrides), repr(llm.lora_scale)]
    return hashlib.sha256(repr((about, ids)).encode()).hexdigest()[:32]


def _load(llm: LocalModel, ids: list[int], file: Path) -> bool:
    """Whether the state in the file is in the context now."""
    try:
        checksum, data = (content := file.read_bytes())[:DIGEST], content[DIGEST:]
    except OSError:
        return False
    if hashlib.sha256(data).digest() != checksum:  # llama.cpp ends the process over a damaged one
        return False
    return put(llm, ids, data)


def put(llm: LocalModel, ids: list[int], data: bytes) -> bool:
    """Whether this state of these tokens is in the context now; what was there before is gone."""
    import llama_cpp

    with llm.claimed():
        llm.reset()
        llm._ctx.kv_cache_clear()
        buffer = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        if not llama_cpp.llama_state_seq_set_data(llm._ctx.ctx, buffer, len(data), 0):
            llm._ctx.kv_cache_clear()
            return False
        llm.input_ids[: len(ids)] = ids
        llm.n_tokens = len(ids)
        llm._requires_eval = True  # there are no logits yet
    return True


def taken(llm: LocalModel) -> bytes:
    """The state of what is in the context."""
    import llama_cpp

    with llm.claimed():
        size = llama_cpp.llama_state_seq_get_size(llm._ctx.ctx, 0)
        buffer = (ctypes.c_uint8 * size)()
        size = llama_cpp.llama_state_seq_get_data(llm._ctx.ctx, buffer, size, 0)
    return bytes(buffer)[:size]


def _save(llm: LocalModel, file: Path) -> None:
    data = taken(llm)
    part = file.with_suffix(f".{os.getpid()}-{time.monotonic_ns()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(hashlib.sha256(data).digest() + data)
        part.replace(file)
        kept = sorted(file.parent.glob("*.state"), key=lambda path: path.stat().st_mtime)
        for old in kept[:-MAX_FILES]:
            old.unlink(missing_ok=True)
    except OSError:
        pass
    finally:
        with suppress(OSError):
            part.unlink()
