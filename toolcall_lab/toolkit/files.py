"""`read_file`, `write_file`, `list_files`: inside one folder, and nowhere else.

A path is taken from the folder; `..`, absolute paths that lead out of it, and symbolic links are
refused, whoever made them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from ..tools import Tool, tool

MAX_BYTES = 1_000_000

FilePath = Annotated[str, "A path inside the folder, such as notes/todo.txt"]
Folder = Annotated[str, "A folder inside the folder; . is the whole one"]


def files(folder: str | os.PathLike[str]) -> list[Tool]:
    """The three tools on `folder`, which has to exist."""
    root = Path(folder).resolve(strict=True)

    @tool
    def read_file(path: FilePath) -> str:
        """Reads a text file."""
        found = inside(root, path)
        if found.is_dir():
            raise IsADirectoryError(f"{path} is a folder; list_files shows what is in it")
        if not found.exists():
            raise FileNotFoundError(f"there is no file {path}; list_files shows what is there")
        if found.stat().st_size > MAX_BYTES:
            raise ValueError(f"{path} has more than {MAX_BYTES} bytes")
        return found.read_bytes().decode("utf-8", "replace")

    @tool
    def write_file(path: FilePath, content: Annotated[str, "The whole text"]) -> str:
        """Writes a text file; what was in it is replaced."""
        found = inside(root, path)
        data = content.encode()
        if len(data) > MAX_BYTES:
            raise ValueError(f"more than {MAX_BYTES} bytes")
        found.parent.mkdir(parents=True, exist_ok=True)
        found.write_bytes(data)
        return f"{path} written, {len(data)} bytes"

    @tool
    def list_files(folder: Folder = ".") -> str:
        """Lists the files and folders in a folder, with their sizes in bytes."""
        found = inside(root, folder)
        if not found.is_dir():
            raise NotADirectoryError(f"there is no folder {folder}")
        entries = sorted(found.iterdir(), key=lambda entry: entry.name)
        lines = [
            f"{entry.name}/" if entry.is_dir() else f"{entry.name} {entry.lstat().st_size}"
            for entry in entries
        ]
        return "\n".join(lines) or "(empty)"

    return [read_file, write_file, list_files]


def inside(root: Path, path: str) -> Path:
    """The path inside the folder `root`. Raises `PermissionError` if it leads out of it."""
    target = Path(os.path.normpath(root / path))
    if target != root and root not in target.parents:
        raise PermissionError(f"{path} is outside the folder; use a path inside it")
    if Path(os.path.realpath(target)) != target:  # a symbolic link, or a junction of Windows
        raise PermissionError(f"{path} goes through a link, which is refused")
    return target
