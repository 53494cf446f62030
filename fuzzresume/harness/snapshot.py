"""A byte-exact copy of a store, as a rule of its folder, held in memory: a crash image, a twin, a new life's own directory.

Copying a SQLite file from the process that has it open drops that process's POSIX locks on it. Nobody else contends for a
run's private folder, so nothing is lost; never do this to a store that other processes share. Standard library only.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Contents by path relative to the folder, sorted; a directory has the content None. A keeper can have other parts."""

    files: tuple[tuple[str, bytes | None], ...]

    @classmethod
    def take(cls, folder: Path) -> Snapshot:
        """Copy what is in `folder` now. A file that vanishes meanwhile was not there."""
        found: dict[str, bytes | None] = {}
        todo = [""]
        while todo:
            inner = todo.pop()
            with os.scandir(folder / inner) as entries:
                for entry in entries:
                    name = os.path.join(inner, entry.name)
                    if entry.is_dir():
                        found[name] = None
                        todo.append(name)
                        continue
                    try:
                        with open(entry.path, "rb") as file:
                            found[name] = file.read()
                    except FileNotFoundError:
                        continue
        return cls(tuple(sorted(found.items())))

    def fill(self, folder: Path) -> None:
        """Put the copy into `folder`, which must be empty."""
        for name, content in self.files:
            if content is None:
                (folder / name).mkdir()
            else:
                (folder / name).write_bytes(content)

    @property
    def digest(self) -> str:
        """Equal for byte-identical folders."""
        digest = hashlib.blake2b(digest_size=16)
        for name, content in self.files:
            size = -1 if content is None else len(content)
            digest.update(f"{len(name)}:{name}:{size}:".encode() + (content or b""))
        return digest.hexdigest()
