"""Where a campaign's traces go: one readable JSON file a finding, named after it, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from fuzzresume.campaign.findings import Finding
from fuzzresume.contract.trace import dumps


class TraceFolder:
    """`<folder>/<target>/<finding id>.json`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, finding: Finding) -> Path:
        """Write the finding's trace and return its absolute path. Raises OSError."""
        folder = (self._folder / finding.target.label).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{finding.id}.json"
        write_whole(path, dumps(finding.to_trace()))
        return path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there as a whole or as it was before. Raises OSError."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            # A temporary file is its owner's alone; this one is to be read as any other that the user makes.
            os.fchmod(handle, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """The permissions that new files do not get; there is no way to ask but to set them."""
    present = os.umask(0o077)
    os.umask(present)
    return present


def require_writable(folder: Path) -> None:
    """Make the folder and prove that it can be written to, before hours are spent. Raises OSError with a one-line text."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error.strerror or error}") from error
