"""llama.cpp's own grammars, behind a guard.

`llama_cpp.LlamaGrammar` keeps a text and checks nothing: a grammar that doesn't parse ends the
process at the first token. And its converter leaves much of a schema out. The package's own engine
is in `grammar.py`; this is for comparison, and for lesson 9.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from .errors import ConstraintError

if TYPE_CHECKING:
    import llama_cpp

    from .models.local import LocalModel

LONGEST = 1000  # maxLength that its parser takes; each character is a rule of its own
IGNORED = (  # keywords of JSON Schema that the converter leaves out, without a word
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems",
    "not", "if", "then", "else", "patternProperties", "contains", "dependentRequired",
)  # fmt: skip


def llama_grammar(llm: LocalModel, schema: dict[str, Any]) -> llama_cpp.LlamaGrammar:
    """The grammar that `LlamaGrammar.from_json_schema` makes of a schema, if llama.cpp takes it.

    Give it to a call: `llm(prompt, grammar=…)`. What comes out need not meet the schema: see
    `ignored`. Raises `ConstraintError`.
    """
    import llama_cpp

    if (longest := max(_values(schema, "maxLength"), default=0)) > LONGEST:
        raise ConstraintError(f"maxLength {longest} is too long for llama.cpp's grammars.")
    try:
        made = llama_cpp.LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False)
    except Exception as error:  # it asserts, and looks keys up that needn't be there
        reason = f"{type(error).__name__}: {error}".strip(": ")
        raise ConstraintError(f"llama-cpp-python can't convert this schema ({reason}).") from None
    with llm.claimed(), _complaints() as complaints:
        vocab = llm._model.vocab
        checked = llama_cpp.llama_sampler_init_grammar(vocab, made._grammar.encode(), b"root")
        complaints.seek(0)
        line = complaints.readline().decode("utf-8", "replace")
    if not checked:
        reason = line.rpartition("grammar: ")[2].partition(" at ")[0]
        raise ConstraintError(
            f"llama.cpp can't parse the grammar of this schema ({reason}); look for \\d, \\w or "
            "\\s in a pattern, and for quotes in an enum."
        )
    llama_cpp.llama_sampler_free(checked)
    return made


@contextmanager
def _complaints() -> Iterator[IO[bytes]]:
    """What C code writes to stderr: llama.cpp says there, and only there, what it can't parse."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield file
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def ignored(schema: dict[str, Any]) -> list[str]:
    """The keywords in a schema that such a grammar doesn't keep.

    >>> ignored({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}})
    ['minimum']
    """
    return [key for key in IGNORED if _values(schema, key)]


def _values(schema: Any, key: str) -> list[Any]:
    """The values of a keyword, wherever it stands in a schema."""
    if isinstance(schema, list):
        return [value for part in schema for value in _values(part, key)]
    if not isinstance(schema, dict):
        return []
    inner = [value for part in schema.values() for value in _values(part, key)]
    return inner + ([schema[key]] if key in schema else [])
