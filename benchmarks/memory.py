"""How long documents take to index and to search: `make bench`.

10,000 documents of 120 words each, made of the words of the shipped pages, in a file on disk; the
time for all of them, and of a search, beside reading every text for the words.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from toolcall_lab.memory import Documents
from toolcall_lab.toolkit.web import pages

DOCUMENTS, WORDS, QUERIES = 10_000, 120, 200


def texts() -> list[tuple[str, str, str]]:
    """The documents: `(source, text, date)`."""
    rng = random.Random(7)
    words = sorted({word for page in pages().values() for word in page.text.split()})
    return [
        (f"document {n}", " ".join(rng.choices(words, k=WORDS)), "2026-12-01")
        for n in range(DOCUMENTS)
    ]


def scanned(documents: list[tuple[str, str, str]], query: str) -> int:
    """The plain way: every text is looked through for each word."""
    return sum(any(word in text for word in query.split()) for _, text, _ in documents)


def main() -> dict[str, Any]:
    """Prints and returns what was measured."""
    made = texts()
    rng = random.Random(8)
    queries = [" ".join(rng.sample(rng.choice(made)[1].split(), 3)) for _ in range(QUERIES)]
    with tempfile.TemporaryDirectory() as folder:
        documents = Documents(Path(folder) / "documents.db")
        started = time.perf_counter()
        count = documents.add_many(made)
        indexing = time.perf_counter() - started
        size = documents.path.stat().st_size
        seconds: dict[str, list[float]] = {"search": [], "scan": []}
        for query in queries:
            for name, look in (
                ("search", lambda q: documents.search(q)),
                ("scan", lambda q: scanned(made, q)),
            ):
                started = time.perf_counter()
                look(query)
                seconds[name].append(time.perf_counter() - started)
    found = {name: 1000 * statistics.median(times) for name, times in seconds.items()}
    print(f"{DOCUMENTS} documents, {count} passages: indexed in {indexing:.1f} s, {size >> 20} MB")
    print(f"3 words: {found['search']:.1f} ms; looking through all texts: {found['scan']:.1f} ms")
    return {"passages": count, "indexing": indexing, "bytes": size} | found


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / Path(__file__).with_suffix(".json").name).write_text(json.dumps(main(), indent=1))
