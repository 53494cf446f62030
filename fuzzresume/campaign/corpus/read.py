"""What can be asked of the corpus database. Every answer is a list of rows; no JSON in them is parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from fuzzresume.campaign.corpus.file import CorpusError, CorpusFile
from fuzzresume.campaign.verdicts import Verdict
from fuzzresume.contract.trace import Trace, TraceError, loads


class FindingRow(NamedTuple):
    """A finding, as the newest campaign that saw it describes it.

    `id` is such as `FD-2dc830`, `target` the adapter's name, `length` the commands of its minimal trace, `traces` how many
    traces show it. `explained_by` is JSON, `words` the minimal trace, a command a line. `first_campaign` and
    `last_campaign` are None for a finding that came from a file.
    """

    id: str
    target: str
    property: str
    verdict: str
    length: int
    confirmed: str
    tlc: str
    flaky: str
    known: str
    first_campaign: str | None
    last_campaign: str | None
    cls: str
    title: str
    explained_by: str
    words: str
    traces: int


class ListedRow(NamedTuple):
    """A finding in a long list: only what a line shows of it."""

    id: str
    target: str
    verdict: str
    length: int
    known: str
    flaky: str
    title: str


class Totals(NamedTuple):
    """How much a corpus holds; `running` campaigns have not ended, or were killed."""

    findings: int
    traces: int
    campaigns: int
    running: int


class TraceRow(NamedTuple):
    """A trace without its content. `finding` is None where it shows none; `recorded` is when it was last put in."""

    sha256: str
    finding: str | None
    target: str
    label: str
    length: int
    recorded: str
    imported: int
    options: str
    packages: str


class CampaignRow(NamedTuple):
    """A campaign. `options`, those pinned, and `packages` are JSON; `budget_seconds` and `budget_runs` None: no bound.

    `status` is `running` (also of one that was killed), `finished` or `interrupted`. Times are UTC, ISO 8601. `states` and
    `pairs` are counted over the reference's graph; None until something was recorded of them.
    """

    id: str
    target: str
    label: str
    packages: str
    options: str
    seed: int
    phases: str
    budget_seconds: float | None
    budget_runs: int | None
    night: str | None
    started: str
    finished: str | None
    status: str
    exit_code: int | None
    runs: int
    commands: int
    seconds: float
    states_reached: int | None
    states_total: int | None
    pairs_reached: int | None
    pairs_total: int | None
    pairs_open: int | None


class SightingRow(NamedTuple):
    """A finding in one campaign, which began at `started`: `seen` violations, and what was said of it then.

    `trace` is the SHA-256 of its minimal trace; None where that was dropped since.
    """

    campaign: str
    started: str
    night: str | None
    label: str
    seed: int
    seen: int
    verdict: str
    length: int
    minimal: int
    confirmed: str
    tlc: str
    flaky: str
    known: str
    trace: str | None


FINDINGS = """
SELECT
    finding, target, property, verdict, length, confirmed, tlc, flaky, known, first_campaign, last_campaign, class, title,
    explained_by, commands, (SELECT count(*) FROM traces WHERE traces.finding = findings.id)
FROM findings
"""

LISTED = "SELECT finding, target, verdict, length, known, flaky, title FROM findings"

TOTALS = """
SELECT (SELECT count(*) FROM findings), (SELECT count(*) FROM traces), count(*), count(*) FILTER (WHERE status = 'running')
FROM campaigns
"""

TRACES = """
SELECT sha256, finding, name, label, length, recorded, imported, options, packages
FROM traces JOIN targets ON targets.id = traces.target
"""

CAMPAIGNS = """
SELECT
    campaigns.id, name, label, packages, options, seed, phases, budget_seconds, budget_runs, night, started, finished,
    status, exit_code, runs, commands, seconds, states_reached, states_total, pairs_reached, pairs_total, pairs_open
FROM campaigns JOIN targets ON targets.id = campaigns.target
"""

HISTORY = """
SELECT
    campaigns.id, started, night, label, seed, seen, sightings.verdict, sightings.length, minimal, sightings.confirmed,
    sightings.tlc, sightings.flaky, sightings.known, trace
FROM findings
JOIN sightings ON sightings.finding = findings.id
JOIN campaigns ON campaigns.id = sightings.campaign
JOIN targets ON targets.id = campaigns.target
WHERE findings.finding = ? AND (? IS NULL OR findings.target = ?)
ORDER BY started, campaigns.id
"""

SMALLEST = """
SELECT trace FROM traces JOIN findings ON findings.id = traces.finding
WHERE findings.finding = ? AND (? IS NULL OR findings.target = ?)
ORDER BY traces.length, recorded DESC, sha256 LIMIT 1
"""


def findings(
    corpus: CorpusFile,
    target: str | None = None,
    property: str | None = None,
    *,
    finding: str | None = None,
    campaign: str | None = None,
    night: str | None = None,
) -> list[FindingRow]:
    """The findings, by target and id: of a target, of a property, of this id, seen in a campaign or in a night."""
    query = _Query(FINDINGS)
    query.where("target = ?", target)
    query.where("property = ?", property)
    query.where("finding = ?", finding)
    query.where("id IN (SELECT finding FROM sightings WHERE campaign = ?)", campaign)
    query.where("id IN (SELECT finding FROM sightings JOIN campaigns ON id = campaign WHERE night = ?)", night)
    return list(map(FindingRow._make, query.ask(corpus, "target, finding")))


def listed(corpus: CorpusFile, target: str | None = None, property: str | None = None) -> list[ListedRow]:
    """As `findings`, for a list of very many."""
    query = _Query(LISTED)
    query.where("target = ?", target)
    query.where("property = ?", property)
    return list(map(ListedRow._make, query.ask(corpus, "target, finding")))


def totals(corpus: CorpusFile) -> Totals:
    """How much the corpus holds."""
    return Totals(*corpus.rows(TOTALS)[0])


def traces(corpus: CorpusFile, finding: str | None = None, target: str | None = None) -> list[TraceRow]:
    """The traces of a finding, the smallest first; without one, those that show no finding."""
    query = _Query(TRACES)
    if finding is None:
        query.where("finding IS NULL")
    query.where("finding IN (SELECT id FROM findings WHERE finding = ?)", finding)
    query.where("name = ?", target)
    return [TraceRow(*row) for row in query.ask(corpus, "length, recorded DESC, sha256")]


def campaigns(corpus: CorpusFile, night: str | None = None, *, target: str | None = None) -> list[CampaignRow]:
    """The campaigns in the order in which they began: of a night, of a target."""
    query = _Query(CAMPAIGNS)
    query.where("night = ?", night)
    query.where("name = ?", target)
    return list(map(CampaignRow._make, query.ask(corpus, "started, campaigns.id")))


def verdicts(corpus: CorpusFile, campaign: str) -> dict[str, Verdict]:
    """What a campaign said of each property; nothing of one that has not ended."""
    rows = corpus.rows("SELECT property, verdict, why, findings FROM verdicts WHERE campaign = ? ORDER BY rowid", [campaign])
    return {name: Verdict(verdict, why, tuple(msgspec.json.decode(ids, type=list[str]))) for name, verdict, why, ids in rows}


def history(corpus: CorpusFile, finding: str, target: str | None = None) -> list[SightingRow]:
    """The campaigns that saw a finding, in the order in which they began."""
    return list(map(SightingRow._make, corpus.rows(HISTORY, [finding, target, target])))


def trace_of(corpus: CorpusFile, finding: str, target: str | None = None) -> Trace | None:
    """The smallest trace of a finding, the newest of several; None where there is none. Raises CorpusError."""
    rows = corpus.rows(SMALLEST, [finding, target, target])
    return _read(corpus, rows[0][0], finding) if rows else None


def trace(corpus: CorpusFile, sha256: str) -> Trace | None:
    """The one trace whose SHA-256 begins so; None where there is none, or are several. Raises CorpusError."""
    # No digit is a g.
    rows = corpus.rows("SELECT sha256, trace FROM traces WHERE sha256 >= ? AND sha256 < ? LIMIT 2", [sha256, f"{sha256}g"])
    return _read(corpus, rows[0][1], f"trace {rows[0][0][:12]}") if len(rows) == 1 else None


class _Query:
    """A query whose conditions are put together one by one."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._conditions: list[str] = []
        self._values: list[str] = []

    def where(self, condition: str, *values: str | None) -> None:
        """One more condition, unless its value is None."""
        if None not in values:
            self._conditions.append(condition)
            self._values += [value for value in values if value is not None]

    def ask(self, corpus: CorpusFile, order: str) -> Sequence[tuple[Any, ...]]:
        """The rows that meet all of them."""
        where = f"WHERE {' AND '.join(self._conditions)}" if self._conditions else ""
        return corpus.rows(f"{self._sql} {where} ORDER BY {order}", self._values)


def _read(corpus: CorpusFile, text: str, name: str) -> Trace:
    try:
        return loads(text.encode(), name)
    except TraceError as error:
        raise CorpusError(f"{corpus.path}: {error}") from error
