"""What a GGUF is and how much memory it needs, seen before it's loaded."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

from ..errors import ModelError

BUFFERS = 150_000_000  # bytes: llama.cpp's working memory for a small batch, roughly
CGROUP = Path("/sys/fs/cgroup")


def check_fits(path: Path, n_ctx: int, *, on_gpu: bool, stretched: bool) -> None:
    """Refuses a model that can't write text or doesn't fit; warns of one that can't chat.

    With `on_gpu` the memory isn't checked, with `stretched` (rope options are set) the context
    window isn't. Raises `ModelError`.
    """
    metadata = read_metadata(path)
    architecture = metadata.get("general.architecture", "")
    if f"{architecture}.pooling_type" in metadata or "bert" in architecture:
        raise ModelError(
            f"{path.name} is an embedding model ({architecture}): it turns texts into vectors and "
            "writes none; take an instruct model."
        )
    trained = _number(metadata, f"{architecture}.context_length")
    if trained and n_ctx > trained and not stretched:
        raise ModelError(
            f"n_ctx={n_ctx}: {path.name} was trained for {trained} tokens; take at most that."
        )
    need, free = _memory(path, metadata, n_ctx), memory_free()
    if need > free and not on_gpu:
        raise ModelError(
            f"{path.name} needs about {need / 1e9:.1f} GB of memory with n_ctx={n_ctx}, and "
            f"{free / 1e9:.1f} GB are free; close programs, or take a smaller n_ctx or model."
        )
    if "tokenizer.chat_template" not in metadata:
        warnings.warn(
            f"{path.name} has no chat template: it continues texts (lesson 1), but it may never "
            "have been trained to answer; from lesson 2 on, take an instruct model.",
            stacklevel=3,
        )


def read_metadata(path: Path) -> dict[str, str]:
    """A GGUF's metadata, without its weights. Raises `ModelError` if it can't be read."""
    from .loading import check_file
    from .local import LocalModel

    check_file(path)
    llm = LocalModel(path, vocab_only=True)
    try:
        return {**llm.metadata, "n_vocab": str(llm.n_vocab())}
    finally:
        llm.close()


def memory_needed(path: Path, n_ctx: int) -> int:
    """About how many bytes a model takes: weights, the cache for `n_ctx` tokens, buffers."""
    return _memory(path, read_metadata(path), n_ctx)


def memory_free() -> int:
    """Bytes that can be had: the machine's, or what a container has left of its limit."""
    import psutil

    free = int(psutil.virtual_memory().available)
    try:
        limit, used = ((CGROUP / f"memory.{name}").read_text() for name in ("max", "current"))
        stat = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        cached = int(stat.get("inactive_file", 0))  # files that were read; given back when needed
        return min(free, int(limit) - int(used) + cached)
    except (OSError, ValueError):  # no control groups, or "max": no limit
        return free


def _memory(path: Path, metadata: dict[str, str], n_ctx: int) -> int:
    a = metadata.get("general.architecture", "")
    heads = _number(metadata, f"{a}.attention.head_count") or 1
    width = _number(metadata, f"{a}.embedding_length") // heads
    layers = _number(metadata, f"{a}.block_count")
    per_layer = re.findall(r"\d+", metadata.get(f"{a}.attention.head_count_kv", "")) or [heads]
    kv_heads = sum(map(int, per_layer)) if len(per_layer) > 1 else layers * int(per_layer[0])
    key, value = (
        _number(metadata, f"{a}.attention.{part}_length") or width for part in ("key", "value")
    )
    cache = 2 * n_ctx * kv_heads * (key + value)  # 16 bits each
    return path.stat().st_size + cache + BUFFERS


def _number(metadata: dict[str, Any], key: str) -> int:
    value = str(metadata.get(key, ""))
    return int(value) if value.isdigit() else 0
