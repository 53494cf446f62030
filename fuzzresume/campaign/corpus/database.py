"""The corpus database: targets, campaigns, findings, traces, verdicts over time and coverage, in one SQLite file.

It opens in Datasette and sqlite-utils like any other: plain tables, foreign keys, and views such as `newest_verdicts` and
`finding_history` (`schema`). Several programs may write it at once, and a killed one loses nothing that it reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzresume.campaign.corpus import read
from fuzzresume.campaign.corpus.file import PATIENCE, CorpusError, CorpusFile
from fuzzresume.campaign.corpus.merge import Merged, merge
from fuzzresume.campaign.corpus.minimise import Superfluous, minimise
from fuzzresume.campaign.corpus.read import CampaignRow, FindingRow, SightingRow, TraceRow
from fuzzresume.campaign.corpus.record import CorpusRecorder
from fuzzresume.campaign.corpus.write import write_found
from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.verdicts import Verdict
from fuzzresume.contract.trace import Trace

if TYPE_CHECKING:
    from fuzzresume.campaign.campaign import Budget


def _now() -> datetime:
    return datetime.now(UTC)


class Corpus(CorpusFile):
    """A corpus database, opened, or made where there is none; a context manager. Every method may raise CorpusError.

    `create`: whether to make it. `clock` tells the time of what is recorded, in UTC.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        patience: float = PATIENCE,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        super().__init__(path, create=create, patience=patience)
        self._clock = clock

    def recorder(
        self,
        night: str | None = None,
        *,
        pinned: Mapping[str, str] | None = None,
        phases: Sequence[str] = (),
        budget: Budget | None = None,
        exit_code: Callable[[Sequence[TargetReport]], int] | None = None,
    ) -> CorpusRecorder:
        """A handler for a campaign, which writes it here as it goes; `night` is the nightly run that it belongs to.

        `pinned`, `phases` and `budget` are the campaign's, `exit_code` says what a report comes to.
        """
        return CorpusRecorder(
            self, self._clock, night=night, pinned=pinned, phases=phases, budget=budget, exit_code=exit_code
        )

    def add_trace(self, trace: Trace) -> bool:
        """Put in a trace, and the finding that it says it shows; whether it is new, for the same trace is put in once."""
        return self.add_traces([trace]) == 1

    def add_traces(self, traces: Iterable[Trace]) -> int:
        """Put in several traces at once, all of them or none; how many are new."""
        recorded = self._clock().isoformat(timespec="microseconds")
        count = "SELECT count(*) FROM traces"
        with self.writing() as db:
            (before,) = db.execute(count).fetchone()
            for trace in traces:
                write_found(db, trace, recorded)
            (after,) = db.execute(count).fetchone()
        return int(after - before)

    def findings(
        self,
        target: str | None = None,
        property: str | None = None,
        *,
        finding: str | None = None,
        campaign: str | None = None,
        night: str | None = None,
    ) -> list[FindingRow]:
        """The findings, by target and id: of a target, of a property, of this id, seen in a campaign or in a night."""
        return read.findings(self, target, property, finding=finding, campaign=campaign, night=night)

    def traces(self, finding: str | None = None, target: str | None = None) -> list[TraceRow]:
        """The traces of a finding, the smallest first; without one, those that show no finding."""
        return read.traces(self, finding, target)

    def trace_of(self, finding_id: str, target: str | None = None) -> Trace | None:
        """The smallest trace of a finding, the newest of several; None where there is none."""
        return read.trace_of(self, finding_id, target)

    def trace(self, sha256: str) -> Trace | None:
        """The one trace whose SHA-256 begins so; None where there is none, or are several."""
        return read.trace(self, sha256)

    def campaigns(self, night: str | None = None, *, target: str | None = None) -> list[CampaignRow]:
        """The campaigns in the order in which they began: of a night, of a target."""
        return read.campaigns(self, night, target=target)

    def verdicts(self, campaign: str) -> dict[str, Verdict]:
        """What a campaign said of each property; nothing of one that has not ended."""
        return read.verdicts(self, campaign)

    def history(self, finding_id: str, target: str | None = None) -> list[SightingRow]:
        """The campaigns that saw a finding, in the order in which they began."""
        return read.history(self, finding_id, target)

    def merge(self, other: Path) -> Merged:
        """Put everything of another corpus into this one; a second time changes nothing."""
        return merge(self, other)

    def minimise(self, *, dry: bool = False) -> list[Superfluous]:
        """Drop, and return, the traces that a smaller one of the same finding and packages makes superfluous."""
        return minimise(self, dry=dry)


__all__ = ["Corpus", "CorpusError"]
