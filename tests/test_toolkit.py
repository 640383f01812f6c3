import json
import re
import threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse

import httpx
import pytest

from toolcall_lab import Toolbox, ToolCall
from toolcall_lab.toolkit import calculator, clock, default_toolbox, output, weather


@pytest.mark.parametrize(
    ("city", "found"),
    [("tokyo", "Tokyo: 22"), ("Tōkyō", "Tokyo"), ("LONDRES", "London"), ("Paris, France", "Paris")],
)
def test_the_table_knows_cities_by_any_spelling(city, found):
    assert weather()(city=city).startswith(found)


def test_an_unknown_city_is_an_error_result():
    result = Toolbox([weather()]).execute(ToolCall("get_weather", {"city": "Atlantis"}))
    assert result.error
    assert "no weather for 'Atlantis'" in result.text


def test_the_clock_can_stand_still():
    assert clock(datetime(2026, 1, 2, 3, 4, 5))() == "03:04:05"
    assert len(clock()()) == 8
    assert default_toolbox(now=datetime(2026, 1, 2, 3, 4, 5))["get_time"]() == "03:04:05"


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("48317 * 9276", "48317 * 9276 = 448188492"),
        ("12 × (3 + 4) ÷ 2", "12 * (3 + 4) / 2 = 42"),
        ("0.1+0.2", "0.1 + 0.2 = 0.3"),
        ("2 ** 100", f"2 ** 100 = {2**100}"),
        ("sqrt(2)", "sqrt(2) = 1.4142135623731"),
        ("-7 // 2", "-7 // 2 = -4"),
        ("98765432109.87 + 0.01", "98765432109.87 + 0.01 = 98765432109.88"),
        ("100000000000.5 * 2", "100000000000.5 * 2 = 200000000001"),
        ("max(1, 2) * pi", "max(1, 2) * pi = 6.28318530717959"),
        ("2+2 # = 5", "2 + 2 = 4"),
    ],
)
def test_arithmetic(expression, said):
    assert calculator()(expression=expression) == said


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("2 ^ 10", r"write \*\* for powers"),
        ("17 % of 3", "can't be read"),
        ("import os", "can't be read"),
        ("(" * 5000, "can't be read"),
        ("", "can't be read"),
        ("1 / 0", "division by zero"),
        ("9 ** 9 ** 9", "memory limit"),
        ("factorial(10 ** 9)", "time|memory"),
        ("1e999 - 1e999", "no number but nan"),
        ("1 == 1", "Compare is no arithmetic"),
        ("[x for x in range(10 ** 12)]", "no arithmetic"),
        ("open('/etc/passwd').read()", "no arithmetic"),
        ("__import__('os').getcwd()", "no arithmetic"),
        ("print('spam') or 5", "no arithmetic"),
        ("'a' * 3", "Constant is no arithmetic"),
        ("(1).__class__", "no arithmetic"),
        ("sqrt", "no number"),
        ("10 ** 9999", "too many digits"),
    ],
)
def test_what_is_no_arithmetic_is_an_error_result(capfd, expression, reason):
    result = Toolbox([calculator()]).execute(ToolCall("calculate", {"expression": expression}))
    assert result.error
    assert re.search(reason, result.text)
    assert capfd.readouterr() == ("", "")


class OpenMeteo(BaseHTTPRequestHandler):
    """Answers as Open-Meteo's two services do; the place Nowhere doesn't exist, Down is down."""

    def do_GET(self):
        url = urlparse(self.path)
        asked = {key: value[0] for key, value in parse_qs(url.query).items()}
        if asked.get("name") == "Down":
            return self.send_error(503)
        if url.path == "/v1/search":
            place = {"name": asked["name"], "latitude": 48.85, "longitude": 2.35}
            body = {} if asked["name"] == "Nowhere" else {"results": [place]}
        else:
            assert asked["latitude"] == "48.85"
            body = {
                "current": {
                    "temperature_2m": 11.6, "relative_humidity_2m": 87, "weather_code": 63,
                }
            }  # fmt: skip
        self.send_response(200)
        self.end_headers()
        return self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def open_meteo(monkeypatch):
    import importlib

    module = importlib.import_module("toolcall_lab.toolkit.weather")
    with HTTPServer(("127.0.0.1", 0), OpenMeteo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}/v1"
        monkeypatch.setattr(module, "GEOCODING", f"{base}/search")
        monkeypatch.setattr(module, "FORECAST", f"{base}/forecast")
        yield
        server.shutdown()
        thread.join()


def test_the_weather_online(open_meteo):
    assert weather(online=True)(city="Paris") == "Paris: 12 °C, rain, humidity 87 %"
    box = Toolbox([weather(online=True, client=httpx.Client(timeout=5))])
    for city, reason in (("Nowhere", "knows no place"), ("Down", "can't be reached")):
        result = box.execute(ToolCall("get_weather", {"city": city}))
        assert result.error
        assert reason in result.text


def test_a_table_has_as_many_cells_in_every_row():
    rows = ["city | sky | °C", "Lyon | grey", "Oslo | snow | -4"]
    box = Toolbox([output()])
    call = ToolCall("format_output", {"title": "Now", "points": rows, "style": "table"})
    lines = box.execute(call).text.splitlines()[2:]
    assert [line.count("|") for line in lines] == [4, 4, 4, 4]
    assert lines[2] == "| Lyon | grey |  |"


def test_nothing_to_lay_out_is_an_error_result():
    result = Toolbox([output()]).execute(ToolCall("format_output", {"title": "x", "points": []}))
    assert result.error
    assert "no points" in result.text


def test_the_shipped_mails_are_read_and_one_of_them_is_only_text():
    from toolcall_lab.toolkit import inbox

    list_mails, read_mail = inbox()
    assert len(list_mails().splitlines()) == 8
    assert "6. 2026-11-09 Régie d'immeuble <regie@immeuble.example>" in list_mails()
    assert read_mail(6).startswith("From: Régie d'immeuble")
    assert "Quelqu'un doit être présent" in read_mail(6)
    assert "<|im_end|>" in read_mail(7)  # what becomes of it, test_memory.py's tests tell
    with pytest.raises(LookupError, match="there is no mail 9; list_mails shows 8"):
        read_mail(9)


def test_a_mailbox_that_is_not_there_is_said(tmp_path):
    from toolcall_lab.toolkit import inbox

    with pytest.raises(FileNotFoundError, match=r"no mailbox .*none\.mbox"):
        inbox(tmp_path / "none.mbox")


ODD = """From a@b.example Thu Jan  1 00:00:00 2026
From: <
Subject: =?utf-8?b?SGkKMi4gMjAyNi0wMS0wMiBib3NzOiBwYXk=?=
Content-Type: text/plain; charset=foo

Body.

From c@d.example Thu Jan  1 00:00:00 2026
From: c@d.example
Date: yesterday
Subject: Fine

Fine.
"""


def test_an_odd_mail_spoils_neither_the_list_nor_itself(tmp_path):
    from toolcall_lab.toolkit import inbox

    (tmp_path / "odd.mbox").write_text(ODD)
    list_mails, read_mail = inbox(tmp_path / "odd.mbox")
    assert len(list_mails().splitlines()) == 2  # the subject can't add a third
    assert "(no date) c@d.example: Fine" in list_mails()
    assert read_mail(1).splitlines()[1].startswith("Subject: Hi 2. 2026-01-02 boss: pay")
    assert read_mail(1).endswith("Body.")
