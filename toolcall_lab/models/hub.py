"""Models from Hugging Face: pull one by name, and find it again by that name.

A name is a key of `PULLABLE` or `owner/repo:file.gguf`. Size, licence and hash are read from the
hub. Downloads go to huggingface_hub's own cache; where each one lies is kept in `models.json`, in
the user's configuration folder.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from ..errors import ModelError
from .catalog import KNOWN_MODELS, SMOLLM2, sha256_of

PULLABLE = {
    "qwen3-0.6b": "Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf",
    "qwen3-1.7b": "Qwen/Qwen3-1.7B-GGUF:Qwen3-1.7B-Q8_0.gguf",
    "qwen3-4b": "Qwen/Qwen3-4B-GGUF:Qwen3-4B-Q4_K_M.gguf",
    "qwen2.5-coder-1.5b": "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF:"
    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
}
SPARE = 200_000_000  # bytes that a download leaves free on the disk


@dataclass(frozen=True)
class HubFile:
    """A file as the hub describes it: `size` in bytes, `sha256` and `license` None if it doesn't
    say. `commit` pins the version."""

    repo: str
    file: str
    size: int
    sha256: str | None
    license: str | None
    commit: str


def look_up(name: str) -> HubFile:
    """Asks the hub about a file. Raises `ModelError`: no such name, repo or file; no network."""
    from huggingface_hub import HfApi

    repo, file = _address(name)
    with _explained(name):
        info = HfApi(endpoint=_endpoint()).model_info(repo, files_metadata=True)
    found = {entry.rfilename: entry for entry in info.siblings or ()}
    if file not in found:
        ggufs = [entry for entry in found if entry.endswith(".gguf")]
        near = difflib.get_close_matches(file, ggufs, n=3, cutoff=0.3) or ggufs[:3]
        has = f"it has {', '.join(near)}" if near else "it has no GGUF at all"
        raise ModelError(f"{repo} has no file {file!r}; {has}.")
    entry = found[file]
    license_ = info.card_data.get("license") if info.card_data else None
    sha256 = entry.lfs.sha256 if entry.lfs else None
    return HubFile(repo, file, int(entry.size or 0), sha256, license_, str(info.sha))


def pull(name: str, described: HubFile | None = None) -> Path:
    """Downloads a file with a progress bar, checks its hash, remembers it; returns its path.

    When the connection breaks off, huggingface_hub goes on from there a few times. Raises
    `ModelError` if that fails, if the disk has too little room, or if the file's hash isn't the
    hub's: it's deleted then.
    """
    from huggingface_hub import constants, hf_hub_download

    entry = described or look_up(name)
    cache = Path(constants.HF_HUB_CACHE)
    _check_disk(entry, cache)
    with _explained(name):
        path = Path(
            hf_hub_download(
                entry.repo, entry.file, revision=entry.commit, cache_dir=cache, endpoint=_endpoint()
            )
        )
    if entry.sha256 and (digest := sha256_of(path)) != entry.sha256:
        path.resolve().unlink()
        path.unlink(missing_ok=True)
        raise ModelError(
            f"{entry.file} came damaged: its SHA-256 is {digest[:12]}…, the hub says "
            f"{entry.sha256[:12]}…. It was deleted; pull it again."
        )
    _remember(name, entry, path)
    return path


def remembered() -> dict[str, dict[str, Any]]:
    """What was pulled before, by name: a `HubFile`'s fields and the `path`."""
    try:
        entries = json.loads(_list().read_text(encoding="utf-8"))
        return {name: entry for name, entry in entries.items() if isinstance(entry["path"], str)}
    except (OSError, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return {}  # there is none, or it was damaged: the files can be pulled again


def find(name: str) -> Path | None:
    """Where a model of this name lies; None if this is no such name but maybe a path.

    Raises `ModelError` if it's a name whose file isn't here.
    """
    entry = remembered().get(name)
    if entry and Path(entry["path"]).is_file():
        return Path(entry["path"])
    if entry or name in PULLABLE:
        raise ModelError(
            f"The model {name} is not on this machine; run `toolcall-lab pull {name}`."
        )
    looks_like_a_path = any(mark in name for mark in ("/", "\\", "~")) or name.endswith(".gguf")
    if looks_like_a_path or os.path.exists(name):
        return None
    raise ModelError(_unknown(name))


def _unknown(name: str) -> str:
    names = [*dict.fromkeys([*(known.key for known in KNOWN_MODELS), *PULLABLE, *remembered()])]
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names)}."
    return f"There is no model named {name!r}; {hint}"


def _address(name: str) -> tuple[str, str]:
    """The repository and the file that a name stands for."""
    if name == SMOLLM2.key:
        raise ModelError(f"{name} is the embedded model; it is here already.")
    repo, _, file = PULLABLE.get(name, name).partition(":")
    if repo.count("/") != 1 or not file:
        if "/" in name:
            raise ModelError(f"{name!r}: a model on the hub is named as owner/repo:file.gguf.")
        raise ModelError(_unknown(name))
    return repo, file


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _check_disk(entry: HubFile, cache: Path) -> None:
    folder = next((part for part in (cache, *cache.parents) if part.exists()), None)
    if folder is None:
        raise ModelError(f"There is no folder {cache.anchor}; set HF_HOME to one that exists.")
    free = shutil.disk_usage(folder).free
    blobs = (cache / f"models--{entry.repo.replace('/', '--')}" / "blobs").glob("*")
    there = sum(blob.stat().st_size for blob in blobs if entry.sha256 and entry.sha256 in blob.name)
    if entry.size - there > free - SPARE:
        raise ModelError(
            f"{entry.file} has {entry.size / 1e9:.1f} GB, and {folder} has {free / 1e9:.1f} GB "
            "free; make room, or set HF_HOME to a folder on another disk."
        )


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turns what huggingface_hub raises into one sentence."""
    from huggingface_hub import errors

    try:
        yield
    except errors.LocalEntryNotFoundError:
        raise ModelError(_unreachable(name)) from None
    except (errors.RepositoryNotFoundError, errors.HFValidationError, errors.EntryNotFoundError):
        raise ModelError(
            f"Hugging Face has no {PULLABLE.get(name, name)} that can be seen from here; look up "
            "its exact name there (a gated model needs `hf auth login` first)."
        ) from None
    except errors.HfHubHTTPError as error:
        raise ModelError(f"Hugging Face answered for {name}: {_first_line(error)}") from None
    except OSError as error:
        if isinstance(error, ConnectionError) or error.errno is None:
            raise ModelError(_unreachable(name)) from None
        raise ModelError(
            f"{name} can't be written: {error}. Make room and pull it again."
        ) from None
    except Exception as error:  # the HTTP library's own, which differ between versions
        if "http" not in type(error).__module__:
            raise
        raise ModelError(f"{_unreachable(name)} ({_first_line(error)})") from None


def _unreachable(name: str) -> str:
    return (
        f"The download of {name} broke off or never began: Hugging Face can't be reached. "
        "Check the connection and pull again."
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _list() -> Path:
    return Path(platformdirs.user_config_dir("toolcall-lab", appauthor=False)) / "models.json"


def _remember(name: str, entry: HubFile, path: Path) -> None:
    entries = remembered() | {name: asdict(entry) | {"path": str(path)}}
    _list().parent.mkdir(parents=True, exist_ok=True)
    part = _list().with_suffix(".part")
    part.write_text(json.dumps(entries, indent=1), encoding="utf-8")
    part.replace(_list())
