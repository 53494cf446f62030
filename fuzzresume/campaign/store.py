"""Where a campaign's traces go: one readable JSON file a finding, named after it, written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import replace
from pathlib import Path

import msgspec

from fuzzresume.campaign.findings import Finding
from fuzzresume.contract.trace import Trace, TraceError, dumps, load


class TraceFolder:
    """`<folder>/<target>/<finding id>.json`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, finding: Finding) -> Path:
        """Write the finding's trace and return its absolute path. Raises OSError."""
        folder = (self._folder / finding.target.label).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{finding.id}.json"
        write_whole(path, dumps(_with_word(finding.to_trace(), path)))
        return path


def _with_word(trace: Trace, path: Path) -> Trace:
    """The trace, with TLC's word on the same run from the file that it replaces, where it has none itself."""
    if trace.found is None or trace.found.tlc != "not run":
        return trace
    try:
        before = load(path)
    except TraceError:
        return trace
    if before.found is None or (before.commands, before.seen, before.options) != (trace.commands, trace.seen, trace.options):
        return trace
    return replace(trace, found=msgspec.structs.replace(trace.found, tlc=before.found.tlc))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there as a whole or as it was before. Raises OSError.

    A link's file is written, not the link; a pipe or a device is written to as it is, for nothing may take its place.
    """
    if path.exists():
        if not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as stream:
                stream.write(data)
            return
        path = path.resolve()
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
