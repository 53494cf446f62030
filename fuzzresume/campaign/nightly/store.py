"""Nights in the corpus database: which there were, what was to be fuzzed, and what came of every trace that was tried.

A night is over when its row says so. What of it is not done yet is read off its campaigns, so a killed one needs no tidying
up: its next call goes on with the targets that have no finished campaign.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from fuzzresume.campaign.corpus.database import Corpus
from fuzzresume.campaign.corpus.record import CorpusRecorder
from fuzzresume.campaign.events import Event, KnownChecked, TargetFinished, TargetStarted
from fuzzresume.campaign.gallery import that_could_be_drawn
from fuzzresume.campaign.known import key
from fuzzresume.contract.trace import Trace
from fuzzresume.harness.target import Target

NIGHTS = "SELECT name, number, seed, config, started, finished, exit_code FROM nights"

UNFINISHED = """
SELECT night_targets.target FROM night_targets WHERE night = ? AND NOT EXISTS (
    SELECT 1 FROM night_campaigns JOIN campaigns ON campaigns.id = campaign
    WHERE night_campaigns.night = night_targets.night AND night_campaigns.target = night_targets.target
    AND status = 'finished'
) ORDER BY position
"""

SPENT = """
SELECT coalesce(sum(seconds), 0) FROM night_campaigns JOIN campaigns ON campaigns.id = campaign
WHERE night_campaigns.night = ? AND status <> 'running'
"""


class Night(NamedTuple):
    """A night: `name` is its date and `number`; `finished` None while it is not over. Times are UTC, ISO 8601."""

    name: str
    number: int
    seed: int
    config: str
    started: str
    finished: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Nights:
    """The nights of a corpus database. Every method may raise CorpusError."""

    corpus: Corpus
    clock: Callable[[], datetime]

    def begin(self, config: str, targets: Sequence[str], seed: int | None, *, fresh: bool = False) -> Night:
        """The newest night, if it was to do the same and is not over (unless `fresh`), else a new one of these targets.

        `seed` None: the number of the night.
        """
        newest = self.all()[-1:]
        if newest and newest[0].finished is None and newest[0].config == config and not fresh:
            return newest[0]
        now = self.clock()
        number = newest[0].number + 1 if newest else 1
        name = f"{now.date().isoformat()}.{number}"
        night = Night(name, number, number if seed is None else seed, config, self._time(now), None, None)
        rows = [{"night": name, "position": i, "target": target, "unusable": ""} for i, target in enumerate(targets)]
        with self.corpus.writing() as db:
            db.table("nights").insert(night._asdict())
            db.table("night_targets").insert_all(rows)
        return night

    def all(self) -> list[Night]:
        """Every night, the oldest first."""
        return list(map(Night._make, self.corpus.rows(f"{NIGHTS} ORDER BY number")))

    def unfinished(self, night: Night) -> list[str]:
        """The targets that have no finished campaign yet, in order."""
        return [target for (target,) in self.corpus.rows(UNFINISHED, [night.name])]

    def spent(self, night: Night) -> float:
        """The seconds of the night's campaigns that ended."""
        return float(self.corpus.rows(SPENT, [night.name])[0][0])

    def unusable(self, night: Night, target: str, why: str) -> None:
        """Write down why a target has no campaign; an empty reason takes it back."""
        with self.corpus.writing() as db:
            db.execute("UPDATE night_targets SET unusable = ? WHERE night = ? AND target = ?", [why, night.name, target])

    def finish(self, night: Night, exit_code: int) -> Night:
        """The night is over."""
        done = night._replace(finished=self._time(self.clock()), exit_code=exit_code)
        with self.corpus.writing() as db:
            db.table("nights").update(night.name, {"finished": done.finished, "exit_code": exit_code})
        return done

    def traces(self, target: Target, pinned: dict[str, str], known: Sequence[Trace], first: Collection[str]) -> list[Trace]:
        """The smallest trace of every finding of a target's adapter that its campaign could meet and `known` does not name;
        those of `first` (`<target>/<finding id>`) before the others."""
        name = target.adapter.name
        rows = sorted(self.corpus.findings(name), key=lambda row: f"{name}/{row.id}" not in first)
        found = [trace for row in rows if (trace := self.corpus.trace_of(row.id, name)) is not None]
        named = {key(trace) for trace in known}
        return [trace for trace in that_could_be_drawn(found, target, pinned) if key(trace) not in named]

    @staticmethod
    def _time(moment: datetime) -> str:
        return moment.isoformat(timespec="microseconds")


class NightRecorder:
    """Writes the campaign of a night's target as `recorder` does, and what belongs to the night. Raises CorpusError."""

    def __init__(self, recorder: CorpusRecorder, corpus: Corpus, night: Night, target: str) -> None:
        self._recorder = recorder
        self._corpus = corpus
        self._night = night
        self._target = target
        self._adapter = ""

    def handle(self, event: Event) -> None:
        """Take one event; what it tells is durable on return."""
        match event:
            case TargetStarted(target, _):
                self._recorder.handle(event)
                self._adapter = target.adapter.name
                row = {"night": self._night.name, "target": self._target, "troubles": 0}
                with self._corpus.writing() as db:
                    db.table("night_campaigns").insert({"campaign": self._recorder.campaign, **row})
            case KnownChecked(checked):
                finding = f"{self._adapter}/{checked.name}"
                row = {"finding": finding, "known": checked.known, "outcome": checked.outcome}
                with self._corpus.writing() as db:
                    db.table("night_checks").insert({"campaign": self._recorder.campaign, **row}, replace=True)
            case TargetFinished(report):
                # Before the campaign counts as finished, for a finished one is not looked at again.
                with self._corpus.writing() as db:
                    db.table("night_campaigns").update(self._recorder.campaign, {"troubles": len(report.troubles)})
                self._recorder.handle(event)
            case _:
                self._recorder.handle(event)
