"""SQLite's full-text search (FTS5), as this package uses it: any of the words, the best first."""

from __future__ import annotations

import re

TOKENIZE = "unicode61 remove_diacritics 2"  # é is found by e, and the other way round


def any_word(query: str) -> str:
    """The FTS5 expression for texts with any word of a query; empty if there is none.

    >>> any_word('the "tide" OR NEAR(x)')
    '"the" OR "tide" OR "OR" OR "NEAR" OR "x"'
    """
    return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
