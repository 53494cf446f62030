"""What the corpus database knows of a night: each target's verdicts and findings, and which findings were open before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from fuzzresume.campaign.corpus.database import Corpus
from fuzzresume.campaign.nightly.store import Night
from fuzzresume.campaign.regress import GONE
from fuzzresume.campaign.verdicts import Verdict

SHOWS = "still shows"
"""What is said of a trace that shows a violation again."""


class Seen(NamedTuple):
    """A finding as one night saw it. `finding` is `<target>/<finding id>`; `known`: it is in the baseline, by this name."""

    finding: str
    title: str
    verdict: str
    flaky: str
    known: str
    tlc: str

    @property
    def id(self) -> str:
        """Such as FD-2dc830."""
        return self.finding.rpartition("/")[2]

    @property
    def violates(self) -> bool:
        """Whether it is a violation that one can rely on, and that the baseline does not name."""
        return self.verdict == "violated" and not self.flaky and not self.known


@dataclass(frozen=True, slots=True)
class Slot:
    """One target of a night, by the name that the configuration gives it.

    `label`, `packages` and `exit_code` are its newest campaign's, `ended` whether that was fuzzed to its end. `findings` are
    by `<target>/<finding id>`, also those of a campaign that was killed before it. `checks` say what came of each trace that
    was tried first. `unusable` says why there is no campaign.
    """

    target: str
    label: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    ended: bool = False
    exit_code: int | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    findings: Mapping[str, Seen] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    troubles: int = 0
    unusable: str = ""


@dataclass(frozen=True, slots=True)
class Open:
    """A finding that was seen on an earlier night, the last time on `night`, and is not known to be gone since.

    `flaky`: it did not show every time, so one replay without it says nothing.
    """

    finding: str
    title: str
    night: str
    flaky: bool = False


SLOTS = "SELECT target, unusable FROM night_targets WHERE night = ? ORDER BY position"

CAMPAIGNS = """
SELECT campaigns.id, label, packages, status, exit_code, troubles
FROM night_campaigns JOIN campaigns ON campaigns.id = campaign JOIN targets ON targets.id = campaigns.target
WHERE night_campaigns.night = ? AND night_campaigns.target = ? ORDER BY night_campaigns.rowid DESC
"""
"""The newest first: by the order in which they were written down, for a clock may be set back."""

SEEN = """
SELECT findings.id, title, sightings.verdict, sightings.flaky, sightings.known, sightings.tlc
FROM sightings JOIN findings ON findings.id = sightings.finding WHERE campaign = ?
"""

CHECKS = "SELECT finding, outcome FROM night_checks WHERE campaign = ?"

EVENTS = f"""
SELECT events.finding, coalesce(title, ''), nights.name, events.flaky, gone FROM (
    SELECT finding, campaign, flaky <> '' AS flaky, 0 AS gone FROM sightings
    UNION ALL SELECT finding, campaign, 0, outcome = '{GONE}' FROM night_checks WHERE outcome IN ('{GONE}', '{SHOWS}')
) AS events
JOIN night_campaigns USING (campaign)
JOIN nights ON nights.name = night_campaigns.night
LEFT JOIN findings ON findings.id = events.finding
WHERE night_campaigns.target = ? AND nights.number < ?
ORDER BY nights.number, night_campaigns.rowid, gone DESC
"""
"""What happened to the findings of a target on earlier nights. A campaign's own finding outweighs its first look."""


def slots(corpus: Corpus, night: Night) -> list[Slot]:
    """The targets of a night, in order. Raises CorpusError."""
    return [_slot(corpus, night, target, unusable) for target, unusable in corpus.rows(SLOTS, [night.name])]


def open_before(corpus: Corpus, night: Night, target: str) -> dict[str, Open]:
    """The findings of a target that were open before a night, by `<target>/<finding id>`. Raises CorpusError."""
    found: dict[str, Open] = {}
    for finding, title, name, flaky, gone in corpus.rows(EVENTS, [target, night.number]):
        if not gone:
            found[finding] = Open(finding, title, name, bool(flaky))
        elif finding in found and not found[finding].flaky:
            del found[finding]
    return found


def _slot(corpus: Corpus, night: Night, target: str, unusable: str) -> Slot:
    campaigns = corpus.rows(CAMPAIGNS, [night.name, target])
    if not campaigns:
        return Slot(target, unusable=unusable)
    (newest, label, packages, status, exit_code, troubles), *killed = campaigns
    checks: dict[str, str] = dict(corpus.rows(CHECKS, [newest]))
    findings: dict[str, Seen] = {}
    for campaign, *_ in killed:
        for row in map(Seen._make, corpus.rows(SEEN, [campaign])):
            # What the newest campaign tried again, that one has the say on.
            if checks.get(row.finding) not in (GONE, SHOWS):
                findings.setdefault(row.finding, row)
    findings |= {row.finding: row for row in map(Seen._make, corpus.rows(SEEN, [newest]))}
    return Slot(
        target,
        label,
        msgspec.json.decode(packages, type=dict[str, str]),
        status == "finished",
        exit_code,
        corpus.verdicts(newest),
        findings,
        checks,
        troubles,
        unusable,
    )
