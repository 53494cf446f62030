"""A handler that writes a campaign into the corpus database as it goes: what a killed campaign had found is there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fuzzresume.campaign.corpus.file import CorpusFile
from fuzzresume.campaign.corpus.write import clean, json_text, keep_only, write_finding, write_target
from fuzzresume.campaign.events import Event, FindingFound, Progress, TargetFinished, TargetReport, TargetStarted
from fuzzresume.campaign.findings import Finding
from fuzzresume.harness.target import Target

if TYPE_CHECKING:
    from fuzzresume.campaign.campaign import Budget


class CorpusRecorder:
    """Writes each target's campaign as one row with its findings, verdicts and coverage; `campaign` is the newest row's id.

    A finding is durable when its event returns, and says at the end of the campaign what the report says. `exit_code`
    judges a report as the command line does. Raises CorpusError.
    """

    def __init__(
        self,
        corpus: CorpusFile,
        clock: Callable[[], datetime],
        *,
        night: str | None = None,
        pinned: Mapping[str, str] | None = None,
        phases: Sequence[str] = (),
        budget: Budget | None = None,
        exit_code: Callable[[Sequence[TargetReport]], int] | None = None,
    ) -> None:
        self.campaign = ""
        self._corpus = corpus
        self._clock = clock
        self._exit_code = exit_code
        self._started = ""
        self._command: dict[str, Any] = {
            "options": json_text(dict(sorted((pinned or {}).items()))),
            "phases": ",".join(phases),
            "budget_seconds": budget.seconds if budget else None,
            "budget_runs": budget.runs if budget else None,
            "night": night,
        }

    def handle(self, event: Event) -> None:
        """Take one event. Raises CorpusError; whatever was taken before it is kept."""
        match event:
            case TargetStarted(target, seed):
                self._start(target, seed)
            case FindingFound(finding, progress):
                self._found(finding, progress)
            case TargetFinished(report):
                self._finish(report)

    def _start(self, target: Target, seed: int) -> None:
        self.campaign, self._started = uuid.uuid4().hex, self._now()
        with self._corpus.writing() as db:
            row = {
                "id": self.campaign,
                "target": write_target(db, target.adapter.name, target.packages),
                "seed": seed,
                "started": self._started,
                "status": "running",
            }
            db.table("campaigns").insert({**row, **self._command})

    def _found(self, finding: Finding, progress: Progress) -> None:
        with self._corpus.writing() as db:
            write_finding(db, finding, self.campaign, self._started, self._now())
            db.table("campaigns").update(self.campaign, _standing(progress, progress.states, progress.pairs))

    def _finish(self, report: TargetReport) -> None:
        now, coverage = self._now(), report.coverage
        end = {
            **_standing(report.progress, coverage.states, coverage.pairs),
            "pairs_open": coverage.open,
            "finished": now,
            "status": "interrupted" if report.interrupted else "finished",
            "exit_code": None if self._exit_code is None else int(self._exit_code([report])),
        }
        verdicts = [
            {
                "campaign": self.campaign,
                "property": name,
                "verdict": verdict.verdict,
                "findings": json_text(verdict.findings),
                "why": clean(verdict.why),
            }
            for name, verdict in report.verdicts.items()
        ]
        with self._corpus.writing() as db:
            seen = [
                write_finding(db, finding, self.campaign, self._started, now)
                for finding in (*report.findings, *report.known)
            ]
            keep_only(db, self.campaign, seen)
            db.table("verdicts").insert_all(verdicts, replace=True)
            db.table("campaigns").update(self.campaign, end)

    def _now(self) -> str:
        return self._clock().isoformat(timespec="microseconds")


def _standing(progress: Progress, states: tuple[int, int], pairs: tuple[int, int]) -> dict[str, Any]:
    """Where a campaign stands, in the columns of its row; `states` and `pairs` are (reached, total)."""
    return {
        "runs": progress.runs,
        "commands": progress.commands,
        "seconds": round(progress.seconds, 3),
        "states_reached": states[0],
        "states_total": states[1],
        "pairs_reached": pairs[0],
        "pairs_total": pairs[1],
    }
