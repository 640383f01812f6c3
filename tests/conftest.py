"""The embedded model, loaded once, and a tiny model with Qwen-like tokens, made on the fly."""

import os

import pytest

from tests.tiny import write_tiny_gguf
from toolcall_lab import load_model
from toolcall_lab.toolkit import default_toolbox

os.environ.pop("TOOLCALL_LAB_MODEL", None)  # the tests are about the embedded model


@pytest.fixture(scope="session")
def llm():
    embedded = load_model()
    yield embedded
    embedded.close()


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    write_tiny_gguf(path)
    return path


@pytest.fixture(scope="session")
def tiny(tiny_path):
    model = load_model(tiny_path, n_ctx=512)
    yield model
    model.close()


@pytest.fixture
def box():
    return default_toolbox()
