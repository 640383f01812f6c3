"""`search_web` and `read_page`: over a small shipped web, the same every day, or the live one.

The shipped pages were written for the course; they are searched with SQLite's full-text search.
What a page says is somebody else's text: data, whatever it asks for.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Annotated

from ..fulltext import TOKENIZE, any_word
from ..tools import Tool, tool

Query = Annotated[str, "What to search for, in a few words"]
Url = Annotated[str, "The address of the page"]


@dataclass(frozen=True)
class Page:
    """A page of the shipped web; `date` is YYYY-MM-DD."""

    url: str
    title: str
    date: str
    language: str
    text: str


def web(*, online: bool = False) -> list[Tool]:
    """The tools `search_web` and `read_page`; `online` needs the extra `web`.

    >>> search_web, read_page = web()
    >>> print(search_web("how tides come about").splitlines()[0][:2])
    1.
    """
    if online:
        from .live_web import read_live, search_live

        search, read = search_live, read_live
    else:
        search, read = search_pages, read_shipped

    @tool
    def search_web(query: Query, limit: Annotated[int, "How many results, at most 10"] = 3) -> str:
        """Searches the web; gives titles, addresses and dates."""
        return search(query, max(1, min(limit, 10)))

    @tool
    def read_page(url: Url) -> str:
        """Reads the text of a web page."""
        return read(url)

    return [search_web, read_page]


def search_pages(query: str, limit: int) -> str:
    """The best pages of the shipped web for a query, as text."""
    words = any_word(query)
    rows = _index().execute(
        "SELECT url, title, date, snippet(pages, 3, '', '', '…', 16) FROM pages "
        "WHERE pages MATCH ? ORDER BY bm25(pages, 0, 4, 0, 1), url LIMIT ?",
        (words, limit),
    ) if words else []  # fmt: skip
    lines = [
        f"{number}. {title} ({date})\n   {url}\n   {' '.join(snippet.split())}"
        for number, (url, title, date, snippet) in enumerate(rows, 1)
    ]
    return "\n".join(lines) or f"No page was found for {query!r}."


def read_shipped(url: str) -> str:
    """The page of the shipped web at this address. Raises `LookupError`."""
    page = pages().get(url.strip().rstrip("/"))
    if page is None:
        raise LookupError(f"there is no page {url}; search_web gives addresses that exist")
    return f"{page.title} ({page.date})\n\n{page.text}"


@lru_cache(maxsize=1)
def pages() -> dict[str, Page]:
    """The shipped pages, by address."""
    found = {}
    for entry in sorted(files(__package__).joinpath("pages").iterdir(), key=lambda e: e.name):
        _, head, text = entry.read_text(encoding="utf-8").split("---\n", 2)
        fields = dict(line.split(": ", 1) for line in head.strip().splitlines())
        found[fields["url"]] = Page(**fields, text=text.strip())
    return found


@lru_cache(maxsize=1)
def _index() -> sqlite3.Connection:
    # Tools run in threads of their own; the index is only read.
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(
        "CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, date UNINDEXED, text, "
        f"tokenize = '{TOKENIZE}')"
    )
    connection.executemany(
        "INSERT INTO pages VALUES (?, ?, ?, ?)",
        [(page.url, page.title, page.date, page.text) for page in pages().values()],
    )
    return connection
