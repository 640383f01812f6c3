"""Where text comes from: `load_model` gives a live model, run by llama.cpp on this machine.

A model is called as `llm(prompt, max_tokens=…, temperature=…, stop=[…])` and answers with a
completion dict. Importing this module loads nothing heavy; `load_model` does.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .catalog import KNOWN_MODELS, SMOLLM2, embedded_path

if TYPE_CHECKING:
    from .local import LocalModel

# GNU OpenMP's threads wait by spinning. When another process wants the cores as well (a second
# notebook, the browser), the spinning eats them and generation nearly stops. A short spin doesn't.
# The variable is read when llama.cpp is loaded, so it's set here, before anything loads it.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

__all__ = ["KNOWN_MODELS", "SMOLLM2", "Model", "Tokenizer", "embedded_path", "load_model"]


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
    n_ctx: int = 4096,
    n_batch: int = 128,
    n_threads: int | None = None,
    n_gpu_layers: int = 0,
    seed: int = 0,
    **options: Any,
) -> LocalModel:
    """A live model: the GGUF at `path`, else at `$TOOLCALL_LAB_MODEL`, else the embedded one.

    `path` may also be the embedded model's catalog key, `"smollm2-135m"`. `n_ctx` is the context
    window in tokens, prompt and answer together; `n_batch` tokens of a prompt are read at a time,
    and an interrupt takes effect after a batch; `n_threads` defaults to the physical cores that
    this process may use; `n_gpu_layers` layers go to the GPU (-1: all). Further options are
    `llama_cpp.Llama`'s; an unknown one is refused.

    Raises `ModelError`: no such file, not a GGUF, a damaged GGUF, an unknown option.

    >>> llm = load_model()
    >>> llm.name, llm.kind, llm.n_ctx()
    ('SmolLM2-135M-Instruct Q4_1', 'live', 4096)
    >>> llm("The capital of France is", max_tokens=2, temperature=0)["choices"][0]["text"]
    ' Paris.'
    >>> llm.close()
    """
    from .loading import check_file, check_options
    from .local import LocalModel

    chosen = os.fspath(path if path is not None else os.environ.get("TOOLCALL_LAB_MODEL", ""))
    embedded = chosen in ("", SMOLLM2.key)
    found = embedded_path() if embedded else Path(os.path.expanduser(chosen))
    options |= {"n_ctx": n_ctx, "n_batch": n_batch, "n_gpu_layers": n_gpu_layers, "seed": seed}
    options |= {} if n_threads is None else {"n_threads": n_threads}
    check_options(options)
    check_file(found)
    return LocalModel(found, **options)
