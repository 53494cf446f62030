"""Keeping a corpus small: a trace goes when the same finding shows on the same packages in fewer commands."""

from __future__ import annotations

from typing import NamedTuple

from fuzzresume.campaign.corpus.file import CorpusFile

SUPERFLUOUS = """
SELECT * FROM (
    SELECT traces.sha256, findings.finding, targets.label, traces.length, (
        SELECT min(length) FROM traces AS others
        WHERE others.finding = traces.finding AND others.target = traces.target
    ) AS enough
    FROM traces
    JOIN findings ON findings.id = traces.finding
    JOIN targets ON targets.id = traces.target
) WHERE length > enough
ORDER BY label, finding, length, sha256
"""


class Superfluous(NamedTuple):
    """A trace of `length` commands, where `enough` of them show the finding on the same packages."""

    sha256: str
    finding: str
    label: str
    length: int
    enough: int


def minimise(corpus: CorpusFile, *, dry: bool = False) -> list[Superfluous]:
    """Drop the traces that a smaller one makes superfluous, and return them; `dry`: only return them. Raises CorpusError."""
    if dry:
        return [Superfluous(*row) for row in corpus.rows(SUPERFLUOUS)]
    with corpus.writing() as db:
        found = [Superfluous(*row) for row in db.execute(SUPERFLUOUS)]
        db.conn.executemany("DELETE FROM traces WHERE sha256 = ?", [(trace.sha256,) for trace in found])
    return found
