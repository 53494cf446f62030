"""Where the files of measured runs live: in memory where the machine offers that, as those of `fuzzresume fuzz` do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")


@contextmanager
def place() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(
        prefix="fuzzresume-bench-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None
    ) as folder:
        yield Path(folder)
