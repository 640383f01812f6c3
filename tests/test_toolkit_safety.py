"""Tools that do something real stay inside their limits."""

import email
import re
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from toolcall_lab import Toolbox, ToolCall
from toolcall_lab.toolkit import files, live_web, mail, python, shell, web


def run(tools, name, **arguments):
    box = Toolbox(tools if isinstance(tools, list) else [tools])
    return box.execute(ToolCall(name, arguments))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("print('hi')\n6 * 7", "hi\n42"),
        ("x = 1", "(done, nothing was printed)"),
        ("sorted({'b', 'a'})", "['a', 'b']"),
        ("a = 1\na.b", "AttributeError: 'int' object has no attribute 'b' (line 2)"),
        ("x = (", "SyntaxError: unexpected EOF while parsing (line 1)"),
        ("open('/etc/passwd').read()", "Permission denied"),
        ("import os\nos.listdir('/')", "Permission denied"),
        ("import os\nos.system('ls')", "line 2"),
        ("import socket", "No module named 'socket'"),
        ("__import__('subprocess')", "Error"),
        ("while True: pass", "TimeoutError"),
        ("[0] * 10**9", "MemoryError"),
        ("def f(n): return f(n + 1)\nf(0)", "RecursionError"),
        ("print('x' * 20_000)", "more characters were left out"),
    ],
)
def test_python_has_no_way_out(code, text):
    result = run(python(seconds=0.5), "execute_python", code=code)
    assert text in result.text
    assert len(result.text) < 6200


def test_files_stay_in_their_folder(tmp_path):
    folder, outside = tmp_path / "folder", tmp_path / "secret.txt"
    folder.mkdir()
    outside.write_text("secret")
    (folder / "link.txt").symlink_to(outside)
    (folder / "linked").symlink_to(tmp_path)
    tools = files(folder)
    assert run(tools, "write_file", path="notes/été.txt", content="été\n").text == (
        "notes/été.txt written, 6 bytes"
    )
    assert run(tools, "read_file", path="./notes/../notes/été.txt").text == "été\n"
    assert run(tools, "list_files").text == "link.txt 10\nlinked 8\nnotes/".replace(
        "link.txt 10", f"link.txt {len(str(outside))}"
    ).replace("linked 8", "linked/")
    for path in ("../secret.txt", str(outside), "link.txt", "linked/secret.txt", "notes/../../x"):
        for name, more in (("read_file", {}), ("write_file", {"content": "x"})):
            result = run(tools, name, path=path, **more)
            assert result.error, path
            assert "PermissionError" in result.text
    assert outside.read_text() == "secret"
    assert "is a folder" in run(tools, "read_file", path="notes").text
    assert "FileNotFoundError" in run(tools, "read_file", path="nothing.txt").text
    assert (
        "more than 1000000 bytes"
        in run(tools, "write_file", path="big.txt", content="x" * 1_000_001).text
    )
    assert "there is no folder nowhere" in run(tools, "list_files", folder="nowhere").text


def test_mail_is_drafted_and_never_sent(tmp_path):
    for number in (1, 2):
        result = run(
            mail(tmp_path), "draft_mail", to="a@example.org", subject="Déjeuner ?", body="Midi ?"
        )
        assert result.text == f"draft written to déjeuner-{number}.eml; nothing was sent"
    message = email.message_from_bytes((tmp_path / "déjeuner-1.eml").read_bytes())
    assert message["To"] == "a@example.org"
    broken = run(mail(tmp_path), "draft_mail", to="a@example.org\nBcc: b@c", subject="x", body="y")
    assert broken.error
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are a Unix shell's")
def test_the_shell_asks_each_time(tmp_path, monkeypatch):
    asked = []

    def consent(command):
        asked.append(command)
        return "rm" not in command

    tool = shell(tmp_path, consent)
    (tmp_path / "a.txt").write_text("hello")
    assert run(tool, "run_shell", command="cat a.txt").text == "exit code 0\nhello"
    assert run(tool, "run_shell", command="rm a.txt").text.startswith("The person said no")
    assert (tmp_path / "a.txt").exists()
    assert asked == ["cat a.txt", "rm a.txt"]
    assert run(tool, "run_shell", command="false").text == "exit code 1"
    module = sys.modules["toolcall_lab.toolkit.shell"]
    monkeypatch.setattr(module, "SECONDS", 0.3)
    assert "no end after 0.3 s" in run(tool, "run_shell", command="sleep 30 & sleep 30").text
    threads = []
    Toolbox([shell(tmp_path, lambda c: threads.append(threading.current_thread()))]).execute(
        ToolCall("run_shell", {"command": "ls"})
    )
    assert threads == [threading.main_thread()]  # where a keyboard can be read
    for answer, said in (("y\n", True), ("oui\n", True), ("\n", False), ("yep\n", False)):
        monkeypatch.setattr("builtins.input", lambda prompt, answer=answer: answer)
        assert module.ask_at_the_keyboard("ls") is said


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:80/", "refused"),
        ("http://localhost/", "refused"),
        ("http://[::1]/", "refused"),
        ("http://169.254.169.254/latest/meta-data", "refused"),
        ("http://10.0.0.1/", "refused"),
        ("http://0/", "refused"),
        ("http://[::ffff:127.0.0.1]/", "refused"),
        ("http://[64:ff9b::7f00:1]/", "refused"),
        ("http://[2002:7f00:1::]/", "refused"),
        ("http://[::127.0.0.1]/", "refused"),
        ("http://[fec0::1]/", "refused"),
        ("http://224.0.0.1/", "refused"),
        ("http://example.org:abc/", "address"),
        ("file:///etc/passwd", "no web address"),
        ("ftp://example.org/", "no web address"),
        ("notes.txt", "no web address"),
    ],
)
def test_the_live_web_reads_public_addresses_only(url, message):
    with pytest.raises((PermissionError, ValueError), match=message):
        live_web.fetch(url)


@pytest.fixture
def site(monkeypatch):
    """A local server that passes for a public one under the name site.example."""

    class Site(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            code, headers, body = self.server.pages[self.path]
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.server.hosts.append(self.headers["Host"])

    server = HTTPServer(("127.0.0.1", 0), Site)
    server.pages, server.hosts = {}, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    known = socket.getaddrinfo

    def public(host, *rest, **more):
        if host == "site.example":
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 0))]
        return known(host, *rest, **more)

    send = live_web._get
    here = f"127.0.0.1:{server.server_port}"
    monkeypatch.setattr(socket, "getaddrinfo", public)
    monkeypatch.setattr(
        live_web,
        "_get",
        lambda client, url, host, address: send(
            client, url.replace("site.example", here), host, "127.0.0.1"
        ),
    )
    yield server
    server.shutdown()
    server.server_close()


def test_pages_are_read_with_limits(site):
    site.pages = {
        "/": (200, {"Content-Type": "text/plain"}, "déjà vu".encode()),
        "/moved": (302, {"Location": "/"}, b""),
        "/inside": (302, {"Location": "http://127.0.0.1/admin"}, b""),
        "/round": (302, {"Location": "/round"}, b""),
        "/gone": (404, {}, b""),
        "/large": (200, {}, b"x" * (live_web.MAX_BYTES + 1)),
    }
    assert live_web.fetch("http://site.example/") == ("text/plain", "déjà vu")
    assert live_web.fetch("http://site.example/moved")[1] == "déjà vu"
    for path, error, message in (
        ("inside", PermissionError, "refused"),
        ("round", ConnectionError, "redirects"),
        ("gone", ConnectionError, "status 404"),
        ("large", ValueError, "more than 2000000 bytes"),
    ):
        with pytest.raises(error, match=message):
            live_web.fetch(f"http://site.example/{path}")


def test_an_unknown_host_is_said(monkeypatch):
    def nowhere(*args, **more):
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    with pytest.raises(ConnectionError, match=r"no host named nowhere\.example"):
        live_web.fetch("https://nowhere.example/")


def test_the_shipped_web_is_searched_and_read():
    tools = web()
    found = run(tools, "search_web", query="latest Qwen news 2026", limit=5).text
    urls = re.findall(r"https://\S+", found)
    assert len(urls) == 5
    assert sum("qwen" in url for url in urls) >= 4
    assert run(tools, "search_web", query="latest Qwen news 2026", limit=5).text == found
    page = run(tools, "read_page", url=urls[0])
    assert not page.error
    assert page.text.splitlines()[0] in found.replace("1. ", "", 1)
    accents = run(tools, "search_web", query="marees", limit=3).text
    assert run(tools, "search_web", query="marées", limit=3).text == accents
    assert run(tools, "search_web", query='"; DROP TABLE pages; --').error is False
    assert run(tools, "search_web", query="!?").text == "No page was found for '!?'."
    missing = run(tools, "read_page", url="https://news.example/nothing")
    assert "search_web gives addresses that exist" in missing.text


def test_the_shipped_pages_are_sound():
    pages = sys.modules["toolcall_lab.toolkit.web"].pages()
    assert len(pages) == 60
    invented = "This page was invented for the course."
    for page in pages.values():
        assert re.fullmatch(r"https://[a-z]+\.example/[\w-]+", page.url)
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", page.date)
        assert 60 < len(page.text.split()) < 220
        if "invent" in page.text.splitlines()[-1]:
            ending = (
                invented if page.language == "en" else "Cette page a été inventée pour le cours."
            )
            assert page.text.endswith(ending), page.url
        assert not re.search(r"<\||<tool|[{}]", page.text), page.url
    assert sum(page.text.endswith(invented) for page in pages.values()) > 30
    assert {page.language for page in pages.values()} == {"en", "fr"}
