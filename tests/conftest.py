"""The embedded model, plain and trained, each loaded once, and a tiny model, made on the fly."""

import os

import pytest
from hypothesis import settings

from tests.tiny import write_tiny_gguf
from toolcall_lab import load_model
from toolcall_lab.toolkit import default_toolbox

settings.register_profile("course", deadline=None, derandomize=True)  # the same on every machine
settings.load_profile("course")
os.environ.pop("TOOLCALL_LAB_MODEL", None)  # the tests are about the embedded model


@pytest.fixture(scope="session")
def llm():
    embedded = load_model(adapter=None)
    yield embedded
    embedded.close()


@pytest.fixture(scope="session")
def trained():
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
