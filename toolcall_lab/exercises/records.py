"""What is kept between sessions: one JSON file on this machine, and nothing of it leaves it.

It lies in the user's data folder, or in `TOOLCALL_LAB_HOME`. A lock file lets two notebooks write
at once, each change reads the file first, and it's replaced as a whole, so that nothing is lost.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from .messages import say

VERSION = 1
SECONDS_TO_WAIT = 5.0  # for the lock


@dataclass(frozen=True)
class Record:
    """One exercise: `tries` counts failing code that differed, `best` is the best score so far,
    tests passed of all; `hints` are the numbers of those that were read."""

    passed: bool = False
    tries: int = 0
    best: tuple[int, int] = (0, 0)
    hints: tuple[int, ...] = ()
    solution: bool = False
    code: str = ""  # the last one that was tried, as a fingerprint

    def tried(self, code: str, score: tuple[int, int], passed: bool) -> Record:
        """After a check; the same code again is no new try."""
        new = not passed and code != self.code
        return replace(
            self,
            passed=self.passed or passed,
            tries=self.tries + new,
            best=max(self.best, score),
            code=code,
        )

    def hinted(self, n: int) -> Record:
        """After hint n was read."""
        return replace(self, hints=tuple(sorted({*self.hints, n})))

    def looked(self) -> Record:
        """After the solution was shown."""
        return replace(self, solution=True)


def folder() -> Path:
    """Where the file lies."""
    if home := os.environ.get("TOOLCALL_LAB_HOME"):
        return Path(os.path.expanduser(home))
    import platformdirs

    return Path(platformdirs.user_data_dir("toolcall-lab", appauthor=False))


@dataclass
class State:
    """All that is kept: a record an exercise. `raw` is the file's content, what is unknown too."""

    records: dict[str, Record] = field(default_factory=dict)
    raw: dict[str, Any] = field(default_factory=dict)

    def of(self, name: str) -> Record:
        """An exercise's record, an empty one if there's none yet."""
        return self.records.get(name, Record())

    @classmethod
    def load(cls, place: Path) -> State:
        """What the file says; an unreadable one counts as empty, and is kept aside on writing."""
        try:
            return cls._read(place / "progress.json")
        except (OSError, ValueError):
            return cls()

    @classmethod
    def _read(cls, file: Path) -> State:
        try:
            raw = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls()
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        try:
            records = {name: _record(kept) for name, kept in raw["exercises"].items()}
        except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from None
        return cls(records, raw)

    @classmethod
    def update(
        cls, place: Path, name: str, change: Callable[[Record], Record], language: str = "en"
    ) -> str:
        """Changes one record in the file. Says in a sentence what went wrong, if something did."""
        import filelock

        file = place / "progress.json"
        try:
            place.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(file.with_suffix(".lock"), timeout=SECONDS_TO_WAIT):
                note = ""
                try:
                    state = cls._read(file)
                except ValueError as error:
                    kept = file.with_name(f"progress.broken-{time.time_ns()}.json")
                    file.replace(kept)
                    note = say(language, "broken file", reason=error, kept=kept)
                    state = cls()
                if (version := state.raw.get("version", VERSION)) != VERSION:
                    return say(language, "newer file", version=version, file=file)
                state.records[name] = change(state.of(name))
                state._write(file)
                return note
        except (OSError, NotImplementedError, filelock.Timeout) as error:
            return say(language, "not saved", reason=error)

    def _write(self, file: Path) -> None:
        """Replaces the file as a whole, once the new one is on the disk."""
        part = file.with_suffix(f".{os.getpid()}.part")
        with part.open("w", encoding="utf-8") as new:
            new.write(self.to_json())
            new.flush()
            os.fsync(new.fileno())
        part.replace(file)

    def to_json(self) -> str:
        """The file's text."""
        before = self.raw.get("exercises", {})
        kept = {name: before.get(name, {}) | asdict(r) for name, r in self.records.items()}
        return json.dumps(self.raw | {"version": VERSION, "exercises": kept}, indent=1)


def _record(kept: dict[str, Any]) -> Record:
    passed, of = kept.get("best", (0, 0))
    return Record(
        bool(kept.get("passed")),
        int(kept.get("tries", 0)),
        (int(passed), int(of)),
        tuple(int(n) for n in kept.get("hints", ())),
        bool(kept.get("solution")),
        str(kept.get("code", "")),
    )
