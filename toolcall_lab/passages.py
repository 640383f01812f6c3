"""Texts of files, and the passages that they are cut into along their paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .errors import ToolcallLabError

CHUNK = 800  # characters that a passage has at most, if its paragraphs allow it
SUFFIXES = (".txt", ".md", ".html", ".htm")
MAX_BYTES = 10_000_000  # of a file


def passages(text: str) -> Iterator[tuple[int, int]]:
    """Where the passages of a text begin and end: whole paragraphs, as many as `CHUNK` holds.

    A longer paragraph is cut behind a sentence, or else a word.

    >>> list(passages("One.\\n\\nTwo."))
    [(0, 10)]
    """
    start = end = 0
    for found in re.finditer(r"\S(?:.|\n(?!\s*\n))*", text):
        first, last = found.start(), found.start() + len(found.group().rstrip())
        if end and last - start > CHUNK:
            yield start, end
            end = 0
        start = start if end else first
        end = last
        while end - start > CHUNK:
            window = text[start : start + CHUNK]
            stops = [m.end() for m in re.finditer(r"[.!?](?=\s)", window)]
            cut = start + (stops[-1] if stops else window.rfind(" ") if " " in window else CHUNK)
            yield start, cut
            start = _BLANKS.match(text, cut).end()  # type: ignore[union-attr]
    if end:
        yield start, end


_BLANKS = re.compile(r"\s*")


def text_of(file: Path) -> str:
    """The text of a file; of HTML, what a reader sees of it."""
    if file.stat().st_size > MAX_BYTES:
        raise ToolcallLabError(f"{file.name} has more than {MAX_BYTES} bytes; split it.")
    text = file.read_bytes().decode("utf-8", "replace")
    if file.suffix.lower() not in (".html", ".htm"):
        return text
    from bs4 import BeautifulSoup

    page = BeautifulSoup(text, "html.parser")
    for unseen in page(["script", "style", "template", "noscript", "title"]):
        unseen.decompose()
    return page.get_text("\n\n", strip=True)
