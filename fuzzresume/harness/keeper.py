"""How the harness makes and copies stores: files in a folder, unless an adapter's store lives elsewhere.

Standard library only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from fuzzresume.harness.snapshot import Snapshot


class Keeper(Protocol):
    """Makes, copies and fills stores. A store is known by its folder, wherever its content is."""

    def ready(self) -> None:
        """Make sure that stores can be made. Raises TargetError."""
        ...

    def make(self, folder: Path, beside: Path | None = None) -> None:
        """An empty store in `folder`, which must not exist yet (FileExistsError).

        `beside` is a store that another process made: the new one is to live where that one does. A store is gone when its
        folder is; what it held elsewhere may be given back later.
        """
        ...

    def take(self, folder: Path) -> Snapshot:
        """What is durable in the store now. Equal contents have equal digests."""
        ...

    def fill(self, folder: Path, content: Snapshot) -> None:
        """Put a copy into the store in `folder`, which is empty."""
        ...


class Files:
    """The store is what is in the folder."""

    def ready(self) -> None:
        """See `Keeper`."""

    def make(self, folder: Path, beside: Path | None = None) -> None:
        """See `Keeper`."""
        folder.mkdir(parents=True)

    def take(self, folder: Path) -> Snapshot:
        """See `Keeper`."""
        return Snapshot.take(folder)

    def fill(self, folder: Path, content: Snapshot) -> None:
        """See `Keeper`."""
        content.fill(folder)


FILES = Files()
