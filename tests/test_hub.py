"""Pulling models, against a local server that speaks the hub's protocol."""

import hashlib
import json
import shutil
import threading
from collections import namedtuple
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from toolcall_lab import cli, load_model
from toolcall_lab.errors import ModelError
from toolcall_lab.models import hub

REPO, FILE, COMMIT = "someone/Tiny-GGUF", "tiny.gguf", "a" * 40
NAME = f"{REPO}:{FILE}"


class Hub(BaseHTTPRequestHandler):
    """One repository with one file; what goes wrong is set on the server."""

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        server = self.server
        if self.path.startswith(f"/api/models/{REPO}"):
            lfs = {"sha256": server.sha256, "size": len(server.content), "pointerSize": 1}
            files = [{"rfilename": FILE, "size": len(server.content), "lfs": lfs}]
            card = {"license": "apache-2.0"}
            body = {"id": REPO, "sha": COMMIT, "siblings": files, "cardData": card}
            self._send(200, json.dumps(body).encode(), {"Content-Type": "application/json"})
        elif self.path == f"/{REPO}/resolve/{COMMIT}/{FILE}":
            self._send_file()
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _send_file(self):
        server, start = self.server, 0
        if wanted := self.headers.get("Range"):
            start = int(wanted.removeprefix("bytes=").split("-")[0])
        if self.command == "GET":
            server.asked_from.append(start)
        rest = server.content[start:]
        headers = {"ETag": f'"{server.sha256}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if start:
            end = len(server.content)
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{end}"
        cut = server.cuts.pop(0) if server.cuts and self.command == "GET" else None
        self._send(206 if start else 200, rest, headers, cut)

    def _send(self, code, body, headers, cut=None):
        self.send_response(code)
        for key, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:cut])
        self.close_connection = True


@pytest.fixture
def server(monkeypatch, tmp_path, tiny_path):
    from huggingface_hub import constants

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.content = tiny_path.read_bytes()
    server.sha256 = hashlib.sha256(server.content).hexdigest()
    server.cuts, server.asked_from = [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub, "_list", lambda: tmp_path / "config" / "models.json")
    yield server
    server.shutdown()
    server.server_close()


def test_a_model_is_pulled_checked_remembered_and_loaded_by_its_name(server, capsys):
    entry = hub.look_up(NAME)
    assert (entry.size, entry.sha256, entry.license) == (
        len(server.content),
        server.sha256,
        "apache-2.0",
    )
    assert cli.main(["pull", NAME]) == 0
    out = capsys.readouterr().out
    for words in ("apache-2.0", server.sha256, "GB", f"toolcall-lab ask --model {NAME}"):
        assert words in out
    assert hub.find(NAME).read_bytes() == server.content
    model = load_model(NAME, n_ctx=256)
    assert model.name == "Tiny F32"
    model.close()
    assert cli.main(["models"]) == 0
    assert NAME in capsys.readouterr().out
    server.asked_from.clear()
    hub.pull(NAME)
    assert server.asked_from == []  # it's here already


@pytest.fixture
def impatient(monkeypatch):
    """huggingface_hub, with small pieces and no waiting between its attempts."""
    from huggingface_hub import constants, file_download

    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 4096)
    monkeypatch.setattr(file_download.time, "sleep", lambda seconds: None)


def test_a_download_that_breaks_off_goes_on_where_it_was(server, impatient):
    server.cuts = [len(server.content) // 3, len(server.content) // 4]
    assert hub.pull(NAME).read_bytes() == server.content
    first, second, third = server.asked_from
    assert 0 == first < second < third


def test_a_download_that_never_ends_says_so(server, impatient):
    server.cuts = [0] * 20
    with pytest.raises(ModelError, match=r"broke off or never began.* pull again"):
        hub.pull(NAME)
    assert NAME not in hub.remembered()
    server.cuts = []
    assert hub.pull(NAME).read_bytes() == server.content


def test_a_file_with_another_hash_is_not_kept(server):
    server.content = server.content[:-1] + b"!"
    with pytest.raises(ModelError, match=r"came damaged: its SHA-256 is .* It was deleted"):
        hub.pull(NAME)
    assert NAME not in hub.remembered()
    server.content = server.content[:-1] + b"\0"
    server.sha256 = hashlib.sha256(server.content).hexdigest()
    assert hub.pull(NAME).read_bytes() == server.content


def test_a_full_disk_is_seen_before_the_download(server, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 1000))
    with pytest.raises(
        ModelError, match=r"tiny.gguf has 0.0 GB, .* free; make room, or set HF_HOME"
    ):
        hub.pull(NAME)
    assert server.asked_from == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("someone/Nothing:tiny.gguf", "Hugging Face has no someone/Nothing:tiny.gguf"),
        (f"{REPO}:tiny.ggu", "has no file 'tiny.ggu'; it has tiny.gguf"),
        ("someone/Tiny-GGUF", "named as owner/repo:file.gguf"),
        ("qwen3-4", "did you mean qwen3-4b"),
        ("zzz", "There is no model named 'zzz'; known are smollm2-135m"),
        ("smollm2-135m", "embedded model; it is here already"),
    ],
)
def test_names_that_lead_nowhere(server, name, message, capsys):
    assert cli.main(["pull", name]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_without_a_network_it_says_so(server, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match="can't be reached"):
        hub.pull(NAME)


def test_loading_by_name(server):
    with pytest.raises(ModelError, match="qwen3-4b is not on this machine; run `toolcall-lab pull"):
        load_model("qwen3-4b")
    with pytest.raises(ModelError, match="no model named 'qwen3-5b'; did you mean qwen3-4b"):
        load_model("qwen3-5b")
    path = hub.pull(NAME)
    path.unlink()
    with pytest.raises(ModelError, match="is not on this machine; run"):
        load_model(NAME)
    hub._list().write_text("[broken")
    assert hub.remembered() == {}
