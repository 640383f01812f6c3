"""Where text comes from: `load_model` gives a live model, run by llama.cpp on this machine.

A model is called as `llm(prompt, max_tokens=…, temperature=…, stop=[…])` and answers with a
completion dict. Importing this module loads nothing heavy; `load_model` does.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ModelError
from .catalog import (
    KNOWN_MODELS,
    SMOLLM2,
    TOOLS,
    adapter_path,
    embedded_path,
    identify,
    identify_adapter,
)
from .recorded import RecordedModel, Recorder, record
from .scripted import ScriptedModel

if TYPE_CHECKING:
    from .local import LocalModel

# GNU OpenMP's threads wait by spinning. When another process wants the cores as well (a second
# notebook, the browser), the spinning eats them and generation nearly stops. A short spin doesn't.
# The variable is read when llama.cpp is loaded, so it's set here, before anything loads it.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

__all__ = [
    "KNOWN_MODELS",
    "SMOLLM2",
    "TOOLS",
    "Model",
    "RecordedModel",
    "ScriptedModel",
    "Tokenizer",
    "adapter_path",
    "embedded_path",
    "load_model",
    "record",
    "recording",
]


class Tokenizer(Protocol):
    """The part of a model that turns text into token ids and back."""

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> list[int]: ...
    def detokenize(
        self, tokens: list[int], prev_tokens: list[int] | None = None, special: bool = False
    ) -> bytes: ...


class Model(Tokenizer, Protocol):
    """What the agent loop needs of a model; `llama_cpp.Llama` has it too."""

    def __call__(
        self,
        prompt: Any,
        *,
        max_tokens: int | None = ...,
        temperature: float = ...,
        stop: Any = ...,
    ) -> Any: ...
    def n_ctx(self) -> int: ...


def load_model(
    path: str | os.PathLike[str] | None = None,
    *,
    adapter: str | os.PathLike[str] | None = "embedded",
    n_ctx: int = 4096,
    n_batch: int = 128,
    n_threads: int | None = None,
    n_gpu_layers: int = 0,
    seed: int = 0,
    **options: Any,
) -> LocalModel:
    """A live model: the GGUF at `path`, else at `$TOOLCALL_LAB_MODEL`, else the embedded one.

    `path` may also be a name: the embedded model's, `"smollm2-135m"`, or that of a model which
    `toolcall-lab pull` has fetched. The embedded model comes with the embedded `adapter`, which
    teaches it to call tools; `adapter=None` leaves the plain model, a path loads another one (LoRA,
    as a GGUF), on any model. `n_ctx` is the context window in tokens, prompt and answer together;
    `n_batch` tokens of a prompt are read at a time, and an interrupt takes effect after a batch;
    `n_threads` defaults to the physical cores that this process may use; `n_gpu_layers` layers go
    to the GPU (-1: all). Further options are `llama_cpp.Llama`'s; an unknown one is refused.

    Raises `ModelError`: no such file or name, not a GGUF, a damaged one, one that can't write text,
    more memory needed than is free, an unknown option, an adapter made for another model.

    >>> llm = load_model()
    >>> llm.name, llm.kind, llm.n_ctx()
    ('SmolLM2-135M-Instruct Q4_1 + tools', 'live', 4096)
    >>> llm("The capital of France is", max_tokens=2, temperature=0)["choices"][0]["text"]
    ' Paris.'
    >>> llm.close()
    >>> load_model("smollm2-135m", adapter=None).name
    'SmolLM2-135M-Instruct Q4_1'
    """
    from .hub import find
    from .loading import check_file, check_options
    from .local import LocalModel
    from .needs import check_fits

    chosen = os.fspath(path if path is not None else os.environ.get("TOOLCALL_LAB_MODEL", ""))
    embedded = chosen in ("", SMOLLM2.key)
    found = embedded_path() if embedded else find(chosen) or Path(os.path.expanduser(chosen))
    options |= {"n_ctx": n_ctx, "n_batch": n_batch, "n_gpu_layers": n_gpu_layers, "seed": seed}
    options |= {} if n_threads is None else {"n_threads": n_threads}
    check_options(options)
    check_file(found)
    if not embedded or n_ctx > 4096:
        stretched = any(option.startswith(("rope", "yarn")) for option in options)
        check_fits(found, n_ctx, on_gpu=n_gpu_layers != 0, stretched=stretched)
    entry, known = identify(found), None
    if adapter == "embedded":
        adapter = adapter_path() if embedded else None
    if adapter is not None:
        options["lora_path"] = os.path.expanduser(os.fspath(adapter))
        check_file(Path(options["lora_path"]))
        known = identify_adapter(Path(options["lora_path"]))
        if known and known.base != entry:
            raise ModelError(
                f"The adapter {known.key} was trained on {known.base.name}, and {str(found)!r} is "
                "another file; load that model with adapter=None."
            )
    return LocalModel(found, entry=entry, adapter=known, **options)


def recording(path: str | os.PathLike[str]) -> RecordedModel | Recorder:
    """The recording at `path`, as lessons open it.

    While the environment variable `TOOLCALL_LAB_RECORD` names a GGUF, that model speaks instead,
    and what it says is recorded: so `make recordings MODEL=…` makes the recordings anew.
    """
    model = os.environ.get("TOOLCALL_LAB_RECORD")
    if not model:
        return RecordedModel(path)
    return record(load_model(model), path)
