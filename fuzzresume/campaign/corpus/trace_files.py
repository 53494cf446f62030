"""Traces between the corpus database and trace files that a person can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fuzzresume.campaign.corpus.database import Corpus
from fuzzresume.campaign.corpus.file import CorpusError, CorpusFile
from fuzzresume.campaign.corpus.write import NAME, require_names
from fuzzresume.campaign.store import write_whole
from fuzzresume.contract.rejudge import violates
from fuzzresume.contract.trace import Trace, TraceError, load

AT_ONCE = 200
"""Traces that go in with one transaction: few enough that other writers need not wait for long."""

SMALLEST = """
SELECT findings.target, findings.finding, (
    SELECT trace FROM traces WHERE traces.finding = findings.id ORDER BY length, recorded DESC, sha256 LIMIT 1
) AS trace
FROM findings WHERE (:target IS NULL OR findings.target = :target) AND trace IS NOT NULL
UNION ALL
SELECT targets.name, 'trace-' || substr(sha256, 1, 12), trace
FROM traces JOIN targets ON targets.id = traces.target
WHERE finding IS NULL AND (:target IS NULL OR targets.name = :target)
"""


@dataclass
class Imported:
    """What came of importing: traces read, how many of them were new, and a line for each file that is no trace."""

    read: int = 0
    new: int = 0
    broken: list[str] = field(default_factory=list)


def import_traces(corpus: Corpus, paths: Iterable[Path]) -> Imported:
    """Put in the traces of files and of folders, however deep. Raises CorpusError; what went in before it stays."""
    done = Imported()
    batch: list[Trace] = []
    for path in _files(paths, done):
        try:
            trace = load(path)
            require_names(trace)
            _require_shown(trace)
        except (TraceError, CorpusError) as error:
            name = "" if isinstance(error, TraceError) else f"{path.name}: "
            done.broken.append(f"{name}{error}")
            continue
        batch.append(trace)
        if len(batch) == AT_ONCE:
            _add(corpus, batch, done)
    _add(corpus, batch, done)
    return done


def _require_shown(trace: Trace) -> None:
    """A finding's trace stands for it from now on, so what it recorded must show a violation. Raises CorpusError."""
    if trace.found is None:
        return
    if not trace.seen:
        raise CorpusError("it does not record what was seen; `fuzzresume replay FILE --record FILE` does")
    if not violates(trace):
        raise CorpusError(f"what it records is no violation, whatever it says of {trace.found.id}")


def export_traces(corpus: CorpusFile, folder: Path, target: str | None = None) -> int:
    """Write `<folder>/<target>/<finding>.json`, the smallest trace of each finding, and `trace-<digits>.json` for each that
    shows none; returns how many. Raises OSError."""
    written = 0
    with corpus.errors():
        for name, finding, trace in corpus.connection.execute(SMALLEST, {"target": target}):
            if not (NAME.fullmatch(name) and NAME.fullmatch(finding)):
                raise CorpusError(f"{corpus.path}: {name!r}, {finding!r}: these cannot be the name of a file")
            place = folder / name
            place.mkdir(parents=True, exist_ok=True)
            write_whole(place / f"{finding}.json", trace.encode())
            written += 1
    return written


def _files(paths: Iterable[Path], done: Imported) -> Iterator[Path]:
    for path in paths:
        files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        if not files:
            done.broken.append(f"{path}: there is no trace in this folder")
        yield from files


def _add(corpus: Corpus, batch: list[Trace], done: Imported) -> None:
    done.read += len(batch)
    done.new += corpus.add_traces(batch)
    batch.clear()
