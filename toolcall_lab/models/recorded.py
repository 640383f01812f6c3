"""Recordings: completions of a real model, written down once and replayed anywhere.

`record(llm, path)` wraps a live model and notes each completion; `RecordedModel(path)` gives them
back for the same prompt tokens and sampling settings. A file is JSON Lines: a header that says
which model spoke, then a completion a line.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..jsonl import json_line
from ..prefix import shared_prefix
from .replayed import ReplayedModel
from .vocabulary import EMBEDDED, write_vocabulary

Make = Callable[[Any], dict[str, Any]]
HEADER = ("model", "sha256", "calls_tools", "n_ctx", "vocabulary", "llama_cpp_python")
FIELDS = {
    "text": str, "tokens": list, "finish_reason": str, "settings": dict, "prompt": str,
    "seconds": float,
}  # fmt: skip


def key_of(ids: Sequence[int], settings: dict[str, Any]) -> str:
    """The key of a completion: a hash of the prompt's token ids and the settings.

    >>> key_of([1, 2], {"temperature": 0, "max_tokens": 16})[:16]
    '0aeb9fb726564c03'
    """
    text = json.dumps([[int(token) for token in ids], settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def settings_of(
    max_tokens: int | None = 16,
    temperature: float = 0.8,
    stop: str | Sequence[str] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """A call's options in one form: `0` and `0.0`, `"x"` and `["x"]` are the same.

    The defaults are llama-cpp-python's.
    """
    if others.pop("stream", False):
        raise ModelError("A recording has whole completions; call it without stream=True.")
    stops = [stop] if isinstance(stop, str) else sorted(stop or ())
    return others | {"max_tokens": max_tokens, "temperature": float(temperature), "stop": stops}


class RecordedModel(ReplayedModel):
    """Gives back what `record` has noted down in the file at `path`.

    For a prompt that isn't there it asks `fallback`, a live model with the same vocabulary (or a
    function that loads one), else it raises `ModelError`. A damaged line is skipped with a warning.
    """

    kind = "recorded"

    def __init__(self, path: str | os.PathLike[str], fallback: Any = None) -> None:
        self.path, self.fallback = Path(path), fallback
        self.header, self._entries = _read(self.path)
        vocabulary = self.header["vocabulary"]
        super().__init__(
            self.header["model"],
            self.header["n_ctx"],
            EMBEDDED if vocabulary == EMBEDDED else self.path.parent / vocabulary,
        )
        self.calls_tools = self.header["calls_tools"]

    def __len__(self) -> int:
        return len(self._entries)

    def __call__(self, prompt: str | Sequence[int], **options: Any) -> dict[str, Any]:
        """The recorded completion dict; the options are those of the live model's call."""
        ids, settings = self._ids(prompt), settings_of(**options)
        return self.replay(ids, settings, lambda llm: llm(ids, **settings))

    def replay(self, ids: list[int], settings: dict[str, Any], make: Make) -> dict[str, Any]:
        """The completion for this prompt and these settings; `make` has a live model write it."""
        entry = self._entries.get(key_of(ids, settings))
        if entry is None:
            return self._live(ids, settings, make)
        answer = self._answer(ids, entry["text"], list(entry["tokens"]), entry["finish_reason"])
        answer["seconds"] = entry["seconds"]
        answer["usage"]["prompt_seconds"] = entry.get("prompt_seconds", 0.0)
        answer["choices"][0]["alternatives"] = entry.get("alternatives")
        answer["generation"] = entry.get("generation")
        return answer

    def _live(self, ids: list[int], settings: dict[str, Any], make: Make) -> dict[str, Any]:
        if self.fallback is None:
            raise ModelError(self._missing(ids, settings))
        if not hasattr(self.fallback, "tokenize"):
            self.fallback = self.fallback()
        text = self.detokenize(ids, special=True)
        if self.fallback.tokenize(text, add_bos=False, special=True) != self.tokenize(
            text, add_bos=False, special=True
        ):
            raise ModelError(
                f"{self.fallback.name} can't stand in for {self.name}: it has another vocabulary."
            )
        return make(self.fallback)

    def _missing(self, ids: list[int], settings: dict[str, Any]) -> str:
        """What isn't recorded, where it first differs from what is, and what to do."""
        asked = self.detokenize(ids, special=True).decode("utf-8", "replace")
        todo = (
            f"Record it with `record(load_model(…), {str(self.path)!r})`, or give a fallback: "
            "RecordedModel(path, fallback=load_model)."
        )
        if not self._entries:
            return f"{self.path} holds no completion. {todo}"
        near = max(self._entries.values(), key=lambda entry: shared_prefix(asked, entry["prompt"]))
        if asked == near["prompt"]:
            differ = _differences(settings, near["settings"]) or "these token ids"
            return f"This prompt is recorded in {self.path}, but not with {differ}. {todo}"
        at = shared_prefix(asked, near["prompt"])
        here, there = (repr(text[at : at + 30]) for text in (asked, near["prompt"]))
        return (
            f"This prompt isn't recorded in {self.path}. It first differs at character {at}, after "
            f"{asked[max(0, at - 30) : at]!r}: {here} is asked, {there} is recorded. {todo}"
        )


def _differences(asked: dict[str, Any], recorded: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={asked.get(name)!r} (recorded: {recorded.get(name)!r})"
        for name in asked | recorded
        if asked.get(name) != recorded.get(name)
    )


class Recorder:
    """A live model whose completions are noted down. Made by `record`."""

    streams = False

    def __init__(self, llm: Any, path: Path, alternatives: int) -> None:
        self.llm, self.path, self.alternatives = llm, path, alternatives

    def __getattr__(self, name: str) -> Any:
        return getattr(self.llm, name)

    def __repr__(self) -> str:
        return f"<{self.llm.name}, recorded to {self.path.name}>"

    def __call__(self, prompt: str | Sequence[int], **options: Any) -> dict[str, Any]:
        """The live model's completion dict, which is noted down."""
        settings = settings_of(**options)
        if isinstance(prompt, str):
            prompt = self.llm.tokenize(prompt.encode("utf-8", "replace"), special=True)
        ids = [int(token) for token in prompt]
        return self.replay(ids, settings, lambda llm: llm(ids, **settings))

    def replay(self, ids: list[int], settings: dict[str, Any], make: Make) -> dict[str, Any]:
        """Has the live model write, and notes it down."""
        started = time.perf_counter()
        answer = make(self.llm)
        seconds = time.perf_counter() - started
        choice = answer["choices"][0]
        entry = {
            "key": key_of(ids, settings),
            "prompt": self.llm.detokenize(ids, special=True).decode("utf-8", "replace"),
            "settings": settings,
            "text": choice["text"],
            "tokens": choice["tokens"],
            "finish_reason": choice["finish_reason"],
            "seconds": float(round(seconds, 3)),
            "prompt_seconds": round(answer["usage"].get("prompt_seconds", 0.0), 3),
        }
        if "generation" in answer:  # under a constraint: which tokens were allowed, which forced
            entry["generation"] = answer["generation"]
        elif self.alternatives:
            entry["alternatives"] = self._look_back(ids, choice["tokens"])
        with self.path.open("ab") as file:
            file.write(json_line(entry))
        return answer

    def _look_back(self, ids: list[int], tokens: list[int]) -> list[list[list[float]]]:
        """For each generated token, the likeliest ones at its place: [id, probability]."""
        import numpy as np

        found = []
        for number in range(len(tokens)):
            logits = self.llm.next_logits(ids + tokens[:number])
            weights = np.exp(logits - logits.max())
            best = np.argsort(-weights)[: self.alternatives]
            shares = weights / weights.sum()
            found.append([[int(token), round(float(shares[token]), 6)] for token in best])
        return found


def record(llm: Any, path: str | os.PathLike[str], *, alternatives: int = 0) -> Recorder:
    """The live model `llm`, noting each completion in the file at `path`.

    A file that is there already is continued; of two completions with the same key, the later one
    counts. With `alternatives`, the likeliest tokens at each place are noted as well. Raises
    `ModelError` if the file is another model's.
    """
    target = Path(path)
    header = _header(llm, target)
    if target.exists():
        there = _read(target)[0]
        if (there["model"], there["sha256"]) != (header["model"], header["sha256"]):
            raise ModelError(
                f"{target} has recordings of {there['model']}; record {llm.name} to another file."
            )
        if not target.read_bytes().endswith(b"\n"):  # its last line was cut
            with target.open("ab") as file:
                file.write(b"\n")
    else:
        target.write_bytes(json_line(header))
    return Recorder(llm, target, alternatives)


def _header(llm: Any, path: Path) -> dict[str, Any]:
    """Who speaks. A vocabulary that isn't the embedded one is written beside the recording."""
    import llama_cpp

    from .catalog import SMOLLM2, sha256_of

    if llm.entry is SMOLLM2:
        vocabulary = EMBEDDED
    else:
        vocabulary = f"{Path(llm.model_path).stem}.vocab.gguf"
        if not (path.parent / vocabulary).exists():
            write_vocabulary(llm.model_path, path.parent / vocabulary)
    return {
        "recording": 1,
        "model": llm.name,
        "sha256": llm.entry.sha256 if llm.entry else sha256_of(Path(llm.model_path)),
        "calls_tools": llm.calls_tools,
        "n_ctx": llm.n_ctx(),
        "vocabulary": vocabulary,
        "llama_cpp_python": llama_cpp.__version__,
    }


def _read(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ModelError(f"The recording can't be read: {error}.") from None
    try:
        first = json.loads(lines[0])
        header = {name: first[name] for name in HEADER}
    except (IndexError, ValueError, KeyError, TypeError, RecursionError):
        raise ModelError(f"{path} is not a recording: its first line says no model.") from None
    entries = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            entry = json.loads(line)
            wrong = [name for name, kind in FIELDS.items() if not isinstance(entry[name], kind)]
            if wrong:
                raise ValueError(f"no {wrong[0]}")
            entries[str(entry["key"])] = entry
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            warnings.warn(
                f"{path}, line {number} is damaged ({error}) and was skipped.", stacklevel=3
            )
    return header, entries
