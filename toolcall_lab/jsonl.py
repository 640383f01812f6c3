"""JSON Lines: one value a line, as runs and recordings are written."""

from __future__ import annotations

import json
from typing import Any


def json_line(value: dict[str, Any]) -> bytes:
    """A value as a line. A lone surrogate, which UTF-8 can't write, becomes JSON's own \\udXXX."""
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
