"""The live web, when a person has turned it on: DuckDuckGo's results, and the text of pages.

A model names the addresses, so they are not trusted: only http and https, only hosts whose
addresses are public, and the connection goes to the address that was checked.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urljoin

import httpx

from ..errors import ToolError

SECONDS, MAX_BYTES, MAX_REDIRECTS = 10.0, 2_000_000, 5


def search_live(query: str, limit: int) -> str:
    """The first results of a search, as text."""
    try:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException
    except ImportError:
        raise ToolError("The live web needs its extra: pip install 'toolcall-lab[web]'.") from None
    try:
        found = DDGS(timeout=int(SECONDS)).text(query, max_results=limit)
    except DDGSException as error:
        raise ConnectionError(f"the search failed: {error}") from None
    lines = [
        f"{number}. {entry['title']}\n   {entry['href']}\n   {entry['body']}"
        for number, entry in enumerate(found, 1)
    ]
    return "\n".join(lines) or f"No page was found for {query!r}."


def read_live(url: str) -> str:
    """The main text of a page."""
    try:
        import trafilatura
    except ImportError:
        raise ToolError("The live web needs its extra: pip install 'toolcall-lab[web]'.") from None
    kind, content = fetch(url)
    if "html" not in kind:
        return content
    return trafilatura.extract(content) or "(the page has no readable text)"


def fetch(url: str) -> tuple[str, str]:
    """The content type and the text at an address, redirects followed. Raises `ValueError`,
    `PermissionError` or `ConnectionError`."""
    for _ in range(MAX_REDIRECTS):
        try:
            parts = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ValueError(f"{url} is no web address ({error})") from None
        if parts.scheme not in ("http", "https") or not parts.host:
            raise ValueError(f"{url} is no web address; use http:// or https://")
        address = public_address(parts.host)
        try:
            with httpx.Client(timeout=SECONDS) as client:
                status, headers, body = _get(client, url, parts.host, address)
        except httpx.HTTPError as error:
            raise ConnectionError(f"{url} can't be read ({error})") from None
        if status in (301, 302, 303, 307, 308) and "location" in headers:
            url = urljoin(url, headers["location"])
            continue
        if status >= 400:
            raise ConnectionError(f"{url} answered with status {status}")
        kind = headers.get("content-type", "")
        if kind and not kind.startswith(("text/", "application/json", "application/xhtml")):
            raise ValueError(f"{url} is no text but {kind.split(';')[0]}")
        charset = kind.partition("charset=")[2].strip('"; ') or "utf-8"
        try:
            return kind, body.decode(charset, "replace")
        except LookupError:  # no such charset
            return kind, body.decode("utf-8", "replace")
    raise ConnectionError(f"more than {MAX_REDIRECTS} redirects")


def public_address(host: str) -> str:
    """An address of the host. Raises `PermissionError` unless all of its addresses are public."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ConnectionError(f"there is no host named {host}") from None
    addresses = [str(entry[4][0]).split("%")[0] for entry in found]
    for address in addresses:
        if not _is_public(ipaddress.ip_address(address)):
            raise PermissionError(f"{host} is an address of this machine or its network, refused")
    return addresses[0]


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is one of the open internet, and hides no other one in it."""
    if address.is_multicast or address.is_reserved or not address.is_global:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return True
    hidden = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
    translated = address in ipaddress.IPv6Network("64:ff9b::/96") or int(address) < 2**32
    return not (hidden or translated or address.is_site_local)


def _get(
    client: httpx.Client, url: str, host: str, address: str
) -> tuple[int, httpx.Headers, bytes]:
    """One request, to the address that was checked, under the host's name."""
    target = httpx.URL(url).copy_with(host=address)
    headers = {"Host": httpx.URL(url).netloc.decode(), "User-Agent": "toolcall-lab"}
    extensions = {"sni_hostname": host}
    body = b""
    with client.stream("GET", target, headers=headers, extensions=extensions) as answer:
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > MAX_BYTES:
                raise ValueError(f"{url} has more than {MAX_BYTES} bytes")
        return answer.status_code, answer.headers, body
