"""Findings by their ids: among what campaigns wrote here, in the corpus database, and in what ships with the package,
where a public report has a name instead."""

from __future__ import annotations

import re
from pathlib import Path

from fuzzresume.campaign.gallery import gallery, reports
from fuzzresume.contract.trace import Trace, load

FINDING = re.compile(r"[A-Z]{2}-[0-9a-f]{6}|[a-z][a-z-]*-[a-z0-9]+")
"""What the id of a finding, or the name of a report, looks like."""

DATABASE = "corpus.db"
"""The corpus database in the folder to which campaigns write."""


class UnknownFinding(Exception):
    """No finding has that id, or several have; the message is one line."""


def find(name: str, out: Path) -> Trace:
    """The trace of the finding `name`: one that a campaign wrote to `out`, else the database's there, else a shipped one.

    Raises UnknownFinding, TraceError for a broken file, CorpusError for a broken database.
    """
    files = sorted(out.rglob(f"{name}.json"))
    if len(files) > 1:
        raise UnknownFinding(f"{name} was found more than once, name one of {', '.join(map(str, files))}")
    if files:
        return load(files[0])
    if (out / DATABASE).exists():
        # Only who needs the database waits for what opens it.
        from fuzzresume.campaign.corpus.database import Corpus

        with Corpus(out / DATABASE) as corpus:
            if (known := corpus.trace_of(name)) is not None:
                return known
    shipped = reports()
    for trace in gallery():
        if trace.found is not None:
            shipped.setdefault(trace.found.id, trace)
    if name not in shipped:
        raise UnknownFinding(f"no finding is called {name}: neither in {out} nor among those that ship with fuzzresume")
    return shipped[name]


def alike(trace: Trace) -> list[str]:
    """The names of shipped reports on the same target that a shared mechanism explains."""
    mine = {frozenset(names) for names in trace.found.explained_by} if trace.found is not None else set()
    return [
        name
        for name, report in reports().items()
        if report.target == trace.target
        and report.found is not None
        and report != trace
        and mine & {frozenset(names) for names in report.found.explained_by}
    ]
