"""A model's exact tokenizer without its weights, for models that don't run.

llama.cpp reads the vocabulary alone, from the whole model's GGUF or from one that holds nothing
else (`write_vocabulary` makes one, of a few MB).
"""

from __future__ import annotations

import atexit
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import ModelError
from .catalog import embedded_path

EMBEDDED = "embedded"


class Vocabulary:
    """The tokenizer of a GGUF; the embedded model's by default.

    >>> vocabulary = Vocabulary()
    >>> vocabulary.tokenize(b"Hello<|im_end|>", add_bos=False, special=True)
    [19556, 2]
    >>> vocabulary.detokenize([19556, 2], special=True)
    b'Hello<|im_end|>'
    """

    def __init__(self, path: str | os.PathLike[str] = EMBEDDED) -> None:
        found = embedded_path() if path == EMBEDDED else Path(path)
        self._llm = _load(found, found.stat().st_mtime_ns if found.exists() else 0)

    @property
    def size(self) -> int:
        """How many tokens it has."""
        return int(self._llm.n_vocab())

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> list[int]:
        """As `llama_cpp.Llama.tokenize`."""
        return list(self._llm.tokenize(text, add_bos=add_bos, special=special))

    def detokenize(
        self, tokens: list[int], prev_tokens: list[int] | None = None, special: bool = False
    ) -> bytes:
        """The exact bytes of `tokens`; control tokens are invisible unless `special`."""
        return bytes(self._llm.detokenize(tokens, prev_tokens, special))


@lru_cache(maxsize=8)
def _load(path: Path, _written: int) -> Any:
    from .loading import check_file
    from .local import LocalModel

    check_file(path)
    llm = LocalModel(path, vocab_only=True)
    atexit.register(llm.close)  # before Python takes llama.cpp's functions away
    return llm


def write_vocabulary(model: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Writes a GGUF with the vocabulary and the chat template of a model, and no weights.

    Needs the package `gguf` (in the extra `lab`).
    """
    try:
        import gguf
    except ImportError:
        raise ModelError("Writing a vocabulary needs gguf: `pip install gguf`.") from None
    reader = gguf.GGUFReader(model)
    architecture = str(reader.fields["general.architecture"].contents())
    writer = gguf.GGUFWriter(out, architecture)
    kept = ("tokenizer.", "general.name", "general.license", f"{architecture}.vocab_size")
    for name, field in reader.fields.items():
        if name.startswith(kept):
            kind, *inner = field.types
            writer.add_key_value(name, field.contents(), kind, inner[-1] if inner else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
