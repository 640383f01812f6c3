"""What lasts beyond a run: notes, and documents to search in. Each is one SQLite file.

Both are searched with SQLite's full-text search, the best first by BM25, and both can be offered to
an agent as tools. What they give back was written by somebody, some day: it comes with its source
and date, and it's content, which can't write a turn or make a call. No vectors: words find words.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from .errors import ToolcallLabError
from .fulltext import TOKENIZE, any_word
from .passages import SUFFIXES, passages, text_of
from .tools import Tool, tool

SECONDS_TO_WAIT = 10.0  # for another kernel that is writing
SEARCH = "search_documents"  # the tool that finds passages


@dataclass(frozen=True, repr=False)
class Note:
    """A note: its number, its text, who or what it's from, and when it was made."""

    number: int
    text: str
    source: str
    date: str

    def __repr__(self) -> str:
        return f"[{self.number}] {self.text} ({self.source}, {self.date})"


@dataclass(frozen=True, repr=False)
class Passage:
    """A stretch of a document: characters `start` to `end` of `source`, which is from `date`."""

    source: str
    text: str
    start: int
    end: int
    date: str

    def __repr__(self) -> str:
        text = " ".join(self.text.split())  # on one line, so that no text can begin another source
        return f"[{self.source}, characters {self.start}-{self.end}, {self.date}] {text}"


class Busy(ToolcallLabError):
    """Somebody else writes to the file, and longer than one waits."""


class _File:
    """A SQLite file in WAL mode: it survives a killed process, and two can use it at once."""

    TABLE = COLUMNS = ""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while True:
            try:
                self._create()
                return
            except Busy:  # another kernel creates it: SQLite doesn't wait for the change to WAL
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _create(self) -> None:
        with self._open() as database:
            if database.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                database.execute("PRAGMA journal_mode = WAL")
            database.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.TABLE} USING fts5({self.COLUMNS}, "
                f"tokenize = '{TOKENIZE}')"
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection for one piece of work, which is done as a whole or not at all.

        Tools run in threads of their own, and a connection belongs to one thread.
        """
        try:
            connection = sqlite3.connect(self.path, timeout=SECONDS_TO_WAIT)
            with closing(connection), connection:
                yield connection
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise Busy(f"{self.path} is being written by somebody else; try again.") from None
            raise ToolcallLabError(
                f"{self.path} can't be used as {type(self).__name__.lower()}: {error}. Give a file "
                "that can be written, or one that doesn't exist yet."
            ) from None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} in {self.path.name}>"

    def __len__(self) -> int:
        raise NotImplementedError


class Notes(_File):
    """Short texts to remember, in the file at `path`.

    >>> import tempfile
    >>> notes = Notes(Path(tempfile.mkdtemp()) / "notes.db")
    >>> notes.remember("Ana likes her answers short.", source="Ana", date="2026-12-01")
    1
    >>> notes.recall("how long should answers be?")
    [[1] Ana likes her answers short. (Ana, 2026-12-01)]
    """

    TABLE, COLUMNS = "notes", "text, source UNINDEXED, date UNINDEXED"

    def remember(self, text: str, *, source: str = "the agent", date: str | None = None) -> int:
        """Keeps a text; gives the note's number. The same text again isn't kept twice."""
        text = " ".join(_plain(text).split())
        if not text:
            raise ToolcallLabError("An empty note says nothing; give it a text.")
        _check_date(date := date or _today())
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            for (number,) in database.execute("SELECT rowid FROM notes WHERE text = ?", (text,)):
                return int(number)
            values = (text, " ".join(_plain(source).split()), date)
            done = database.execute("INSERT INTO notes VALUES (?, ?, ?)", values)
            return int(done.lastrowid or 0)

    def recall(self, query: str, limit: int = 5) -> Sequence[Note]:
        """The notes that share a word with the query, the best first."""
        return self._notes("WHERE notes MATCH ? ORDER BY rank LIMIT ?", any_word(query), limit)

    def list(self) -> Sequence[Note]:
        """All notes, the oldest first."""
        return self._notes("ORDER BY rowid")

    def forget(self, number: int) -> bool:
        """Deletes a note; says whether there was one."""
        if not 0 < number < 2**63:  # what a row can be numbered
            return False
        with self._open() as database:
            return database.execute("DELETE FROM notes WHERE rowid = ?", (number,)).rowcount > 0

    def tools(self) -> Sequence[Tool]:
        """The tools `remember`, `recall`, `list_notes` and `forget`."""

        @tool
        def remember(text: Annotated[str, "What to remember, in a sentence"]) -> str:
            """Keeps a note that lasts."""
            return f"note {self.remember(text)} kept"

        @tool
        def recall(query: Annotated[str, "A few words"]) -> str:
            """Searches the notes."""
            return _lines(self.recall(query)) or f"There is no note on {query!r}."

        @tool
        def list_notes() -> str:
            """Lists all notes."""
            return _lines(self.list()) or "There are no notes."

        @tool
        def forget(number: Annotated[int, "The note's number"]) -> str:
            """Deletes a note."""
            return f"note {number} forgotten" if self.forget(number) else f"There is no {number}."

        return [remember, recall, list_notes, forget]

    def _notes(self, rest: str, *values: object) -> Sequence[Note]:
        if values[:1] == ("",):  # a query without words
            return []
        with self._open() as database:
            rows = database.execute(f"SELECT rowid, text, source, date FROM notes {rest}", values)
            return [Note(*row) for row in rows]

    def __len__(self) -> int:
        return len(self.list())


class Documents(_File):
    """Texts to search in, in the file at `path`, cut into passages along their paragraphs.

    >>> import tempfile
    >>> documents = Documents(Path(tempfile.mkdtemp()) / "documents.db")
    >>> documents.add("hours.txt", "The library opens at nine.", date="2026-12-01")
    1
    >>> documents.search("When does the library open?")
    [[hours.txt, characters 0-26, 2026-12-01] The library opens at nine.]
    """

    TABLE = "passages"
    COLUMNS = "text, source, start UNINDEXED, stop UNINDEXED, date UNINDEXED"

    def add(
        self, source: str | os.PathLike[str], text: str | None = None, *, date: str | None = None
    ) -> int:
        """Adds a text under the name `source`, or the file or folder that `source` is the path of.

        Of a folder, its txt, md and html files, also those further down. Their names begin with the
        folder's, as that of a single file does. What had the same name is replaced. `date` is
        YYYY-MM-DD. Gives the number of passages; raises `ToolcallLabError` if there are none.
        """
        if text is not None:
            return self.add_many([(str(source), text, date or _today())])
        path = Path(source)
        if not _exists(path):
            raise ToolcallLabError(f"There is no {str(path)[:80]}; give a file, a folder, a text.")
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        found = [file for file in files if file.suffix.lower() in SUFFIXES and file.is_file()]
        if not found:
            raise ToolcallLabError(f"In {path} is nothing to read: {', '.join(SUFFIXES)} are read.")
        root = path.resolve().parent if path.is_dir() else path.resolve().parent.parent
        return self.add_many(
            (file.resolve().relative_to(root).as_posix(), text_of(file), date or _day(file))
            for file in found
        )

    def add_many(self, documents: Iterable[tuple[str, str, str]]) -> int:
        """Adds `(source, text, date)` of each document, all of them or none."""
        new: dict[str, list[tuple[str, str, int, int, str]]] = {}
        for source, text, date in documents:  # before the file is taken: reading takes long
            source, text = " ".join(_plain(source).split()), _plain(text)
            _check_date(date)
            new[source] = [(text[a:b], source, a, b, date) for a, b in passages(text)]
        rows = [row for of_one in new.values() for row in of_one]
        if not rows:
            raise ToolcallLabError("There is no text in it, so nothing was added.")
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            there = database.execute("SELECT rowid, source FROM passages")
            old = [(number,) for number, source in there if source in new]
            database.executemany("DELETE FROM passages WHERE rowid = ?", old)
            database.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?)", rows)
        return len(rows)

    def search(self, query: str, limit: int = 3) -> list[Passage]:
        """The passages that share a word with the query, the best first."""
        words = any_word(query)
        if not words:
            return []
        with self._open() as database:
            rows = database.execute(
                "SELECT source, text, start, stop, date FROM passages WHERE passages MATCH ? "
                "ORDER BY bm25(passages, 1, 2), rowid LIMIT ?",
                (words, limit),
            )
            return [Passage(*row) for row in rows]

    def tools(self) -> Sequence[Tool]:
        """The tool `search_documents`."""

        @tool(name=SEARCH)
        def search_documents(query: Annotated[str, "A few words"]) -> str:
            """Searches the documents; gives passages with their sources."""
            return _lines(self.search(query)) or f"No document has anything on {query!r}."

        return [search_documents]

    def sources(self) -> list[str]:
        """The names of all documents."""
        with self._open() as database:
            rows = database.execute("SELECT DISTINCT source FROM passages ORDER BY source")
            return [source for (source,) in rows]

    def __len__(self) -> int:
        return len(self.sources())


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a text, too long or too odd for a path
        return False


def _check_date(date: str) -> None:
    try:
        datetime.strptime(date, "%Y-%m-%d")
    except ValueError:
        raise ToolcallLabError(f"A date is YYYY-MM-DD, not {date!r}.") from None


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # a lone surrogate is no text


def _lines(found: Iterable[object]) -> str:
    return "\n".join(map(repr, found))


def _today() -> str:
    return datetime.now().date().isoformat()


def _day(file: Path) -> str:
    return datetime.fromtimestamp(file.stat().st_mtime).date().isoformat()
