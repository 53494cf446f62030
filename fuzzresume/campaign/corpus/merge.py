"""Putting one corpus database into another, in one transaction: all of it is there afterwards, or nothing of it.

Keys are natural, so rows are taken over as they are and a second time changes nothing. Where both have a row, the one that
knows more stays: a campaign that ended, a finding as a newer campaign describes it, a sighting after TLC's word.

Nights are numbered in the database that they ran on, and each is compared with the one before it. So they are taken over
where the other database has all the nights of this one: where it is the same database later on, or this one has none. Else
they stay where they ran.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fuzzresume.campaign.corpus.file import CorpusError, CorpusFile
from fuzzresume.campaign.corpus.write import AGAIN, SAYS, SPAN, STARTED, SUPERSEDED

ENDED = (
    "finished", "status", "exit_code", "runs", "commands", "seconds", "states_reached", "states_total", "pairs_reached",
    "pairs_total", "pairs_open",
)  # fmt: skip
"""What of a campaign's row changes while it runs and when it ends."""

SIGHTED = ("trace", "seen", "verdict", "length", "minimal", "confirmed", "tlc", "flaky", "known")
"""What of a sighting changes while its campaign runs and when it ends."""


def _said(columns: tuple[str, ...]) -> str:
    return ", ".join(f"{column} = excluded.{column}" for column in columns)


GOES_ON = """
NOT EXISTS (SELECT 1 FROM main.nights AS ours WHERE NOT EXISTS (
    SELECT 1 FROM other.nights AS theirs WHERE theirs.name = ours.name AND theirs.started = ours.started
))
"""
"""The other database has all the nights of this one: it may have more, and know more of the last one."""

NIGHTS = (
    f"INSERT INTO nights SELECT * FROM other.nights WHERE {GOES_ON} ON CONFLICT DO NOTHING",
    f"INSERT INTO night_targets SELECT * FROM other.night_targets WHERE {GOES_ON} ON CONFLICT (night, target)"
    " DO UPDATE SET unusable = excluded.unusable"
    " WHERE (SELECT finished FROM main.nights WHERE name = excluded.night) IS NULL",
    f"INSERT INTO nights SELECT * FROM other.nights WHERE {GOES_ON} ON CONFLICT (name)"
    " DO UPDATE SET finished = excluded.finished, exit_code = excluded.exit_code WHERE nights.finished IS NULL",
    # In the order in which they were written down, which says what is newer.
    f"INSERT INTO night_campaigns SELECT * FROM other.night_campaigns WHERE {GOES_ON} ORDER BY rowid"
    " ON CONFLICT (campaign) DO UPDATE SET troubles = max(troubles, excluded.troubles)",
    f"INSERT INTO night_checks SELECT * FROM other.night_checks WHERE {GOES_ON} ON CONFLICT DO NOTHING",
)
"""What of the nights is taken over, once their campaigns are there."""

STATEMENTS = (
    "INSERT INTO targets SELECT * FROM other.targets WHERE true ON CONFLICT DO NOTHING",
    f"INSERT INTO campaigns SELECT * FROM other.campaigns WHERE true ON CONFLICT (id) DO UPDATE SET {_said(ENDED)}"
    " WHERE campaigns.status = 'running' AND (excluded.status <> 'running' OR excluded.runs > campaigns.runs)",
    "INSERT INTO verdicts SELECT * FROM other.verdicts WHERE true ON CONFLICT DO NOTHING",
    f"INSERT INTO findings SELECT * FROM other.findings WHERE true ON CONFLICT (id) DO UPDATE SET {SAYS},"
    " last_campaign = excluded.last_campaign"
    f" WHERE {STARTED.format('excluded')} > {STARTED.format('findings')}"
    " OR (excluded.last_campaign = findings.last_campaign AND findings.tlc = 'not run')"
    " OR (coalesce(excluded.last_campaign, findings.last_campaign) IS NULL AND excluded.length < findings.length)",
    f"INSERT INTO traces SELECT * FROM other.traces WHERE true {AGAIN}",
    f"INSERT INTO sightings SELECT * FROM other.sightings WHERE true ON CONFLICT (finding, campaign) DO UPDATE SET"
    f" {_said(SIGHTED)} WHERE excluded.seen > sightings.seen"
    " OR (excluded.seen = sightings.seen AND sightings.tlc = 'not run')",
    f"DELETE FROM traces WHERE {SUPERSEDED}",
    f"{SPAN} WHERE EXISTS (SELECT 1 FROM other.findings AS theirs WHERE theirs.id = findings.id)",
    *NIGHTS,
)


@dataclass(frozen=True, slots=True)
class Merged:
    """How many rows a merge added."""

    campaigns: int
    findings: int
    traces: int

    @property
    def words(self) -> str:
        """Such as `1 campaign, 2 findings, 2 traces`."""
        counts = {"campaign": self.campaigns, "finding": self.findings, "trace": self.traces}
        return ", ".join(f"{number} {name}{'' if number == 1 else 's'}" for name, number in counts.items())


def merge(corpus: CorpusFile, other: Path) -> Merged:
    """Put everything of another file into this one. Raises CorpusError; then nothing of it was written."""
    # Open for as long as it is read: this proves that it is a corpus of this schema, and undamaged.
    with CorpusFile(other, create=False) as source:
        if other.samefile(corpus.path):
            raise CorpusError(f"{other}: that is the very same corpus")
        (told,) = source.rows("PRAGMA quick_check(1)")[0]
        if told != "ok":
            raise CorpusError(f"{other}: the database is damaged ({told}); `sqlite3 FILE .recover` saves what can be read")
        with corpus.errors():
            corpus.connection.execute("ATTACH DATABASE ? AS other", [source.uri])
        try:
            before = _count(corpus)
            with corpus.writing() as db:
                for statement in STATEMENTS:
                    db.execute(statement)
            after = _count(corpus)
        finally:
            with corpus.errors():
                corpus.connection.execute("DETACH DATABASE other")
    return Merged(*(now - then for now, then in zip(after, before, strict=True)))


def _count(corpus: CorpusFile) -> tuple[int, ...]:
    counts = ", ".join(f"(SELECT count(*) FROM main.{table})" for table in ("campaigns", "findings", "traces"))
    return corpus.rows(f"SELECT {counts}")[0]
