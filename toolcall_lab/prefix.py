"""How far two sequences agree: what a model's context holds of a prompt, where a prompt differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def shared_prefix(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many items at the beginning are the same.

    >>> shared_prefix([1, 2, 3], [1, 2, 4, 5]), shared_prefix("ab", "abc")
    (2, 2)
    """
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
