"""The files that a command line names: traces to read, by path or by a finding's id, and reports to write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzzresume.campaign.corpus.file import CorpusError
from fuzzresume.campaign.gallery import reports
from fuzzresume.campaign.lookup import FINDING, UnknownFinding, find
from fuzzresume.campaign.store import require_writable, write_whole
from fuzzresume.contract.trace import Trace, TraceError, load
from fuzzresume.report.usage import fail

OUT = Path(".fuzzresume")
"""Where a campaign writes when it is not told otherwise, so where a finding's id is looked for."""

REPORTS = "reports"
"""The word for the public reports that ship with fuzzresume as seed traces."""

HELD = {b"SQLite format 3": "a database", b"fuzzresume.baseline/": "a baseline", b"fuzzresume.trace/": "a trace"}
"""What no report may replace, by what its first bytes hold."""


def files_of(paths: Sequence[Path]) -> Iterator[Path]:
    """The files named, and every .json file below the folders named. Ends the program for a path that is not there."""
    for path in paths:
        if path.is_dir():
            found = sorted(path.rglob("*.json"))
            if not found:
                fail(f"{path}: there is no trace in this folder")
            yield from found
        elif path.exists():
            yield path
        else:
            fail(f"{path}: there is no such file")


def trace_of(path: Path) -> Trace:
    """The trace in a file, or of the finding that has this id (`FD-2dc830`). Ends the program where there is none."""
    try:
        if not path.exists() and FINDING.fullmatch(str(path)):
            return find(str(path), OUT)
        return load(path)
    except (TraceError, UnknownFinding, CorpusError) as error:
        fail(str(error))


def traces_of(paths: Sequence[Path]) -> list[Trace]:
    """The traces in files and folders, of findings named by their ids, and for `reports` the public reports that ship.

    Ends the program at the first that is none.
    """
    found: list[Trace] = []
    for path in paths:
        if str(path) == REPORTS and not path.exists():
            found += reports().values()
            continue
        if path.is_dir():
            # A campaign's report may lie beside its traces.
            found += [trace_of(file) for file in files_of([path]) if not _is_report(file)]
        else:
            named = FINDING.fullmatch(str(path)) and not path.exists()
            found += [trace_of(path)] if named else [trace_of(file) for file in files_of([path])]
    return found


def _is_report(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            head = stream.read(200)
    except OSError:
        return False
    return b'"fuzzresume.' in head and b'"fuzzresume.trace/' not in head


def require_file(path: Path | None) -> None:
    """Prove that a report can be written there, before hours are spent, and that nothing is lost by it.

    Ends the program when it cannot, or where there is a database, a baseline or a trace now.
    """
    if path is None:
        return
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(200)
        if held := next((what for mark, what in HELD.items() if mark in head), ""):
            fail(f"{path}: that is {held}, and a report would take its place")
    try:
        require_writable(path.parent)
    except OSError as error:
        fail(str(error))
    if path.is_dir() or not path.name:
        fail(f"{path}: that is a folder, not a file")


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole. Ends the program when the disk refuses it."""
    try:
        write_whole(path, data)
    except OSError as error:
        fail(f"{path}: {error.strerror or error}")
