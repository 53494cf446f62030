"""What the commands that run campaigns share: their words for time and phases, and how a campaign is set up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.confirm import Confirmer
from fuzzresume.campaign.events import Handler, TargetReport
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.phases import PHASES
from fuzzresume.campaign.second_opinion import SecondOpinion
from fuzzresume.campaign.store import TraceFolder, require_writable
from fuzzresume.cli_files import require_file
from fuzzresume.contract.trace import Trace
from fuzzresume.formal.toolchain import TlcMissing
from fuzzresume.harness.target import NoEnvironment, Target, TargetError, parse_target
from fuzzresume.report.usage import fail

MOST_SEED = 2**63 - 1
"""The greatest seed, which is the greatest whole number that the corpus database holds."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What all campaigns of one command have in common; `budget` is each target's own, `listeners` hear all of them."""

    seed: int
    budget: Budget
    out: Path
    opinion: SecondOpinion | None
    phases: Sequence[str] = PHASES
    known: Sequence[Trace] = ()
    corpus: Sequence[Trace] = ()
    listeners: Sequence[Handler] = ()

    def campaign(self, target: Target, pinned: Mapping[str, str], executor: Executor, handler: Handler) -> Campaign:
        """The campaign of a target, whose findings are confirmed and written to `out`."""
        return Campaign(
            target,
            pinned,
            executor,
            self.seed,
            self.budget,
            [handler, *self.listeners],
            Confirmer(executor),
            TraceFolder(self.out).save,
            self.opinion,
            self.phases,
            self.known,
            self.corpus,
        )


def seconds_of(text: str) -> float:
    """Read `90`, `60s`, `2m` or `1h`. Raises typer.BadParameter."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if match is None or float(match[1]) <= 0:
        raise typer.BadParameter(f"{text!r} is no duration; write 90, 60s, 2m or 1h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def time_of(max_time: str | None, max_runs: int | None) -> float | None:
    """The seconds asked for: a minute where neither time nor runs are bounded, None where only runs are."""
    if max_time is not None:
        return seconds_of(max_time)
    return 60.0 if max_runs is None else None


def phases_of(text: str) -> tuple[str, ...]:
    """Read `tour,random`. Ends the program on a name that is no phase."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in PHASES:
            fail(f"--phases {text}: there is no phase {name!r}; they are {', '.join(PHASES)}")
    if not {"enumerate", "tour", "random", "race", "regress"} & set(names):
        fail(f"--phases {text}: nothing would be run; add one of enumerate, tour, random, race")
    return names


def targets_of(texts: Iterable[str], pinned: Mapping[str, str]) -> tuple[list[Target], list[str]]:
    """The targets, and a line for each that needs an environment which cannot be built: the others go on without it.

    Ends the program on any other mistake.
    """
    found, missing = [], []
    try:
        for text in texts:
            try:
                found.append(parse_target(text, pinned))
            except NoEnvironment as error:
                missing.append(str(error))
    except TargetError as error:
        fail(str(error))
    return found, missing


def prepare(out: Path, files: Iterable[Path | None], tlc: bool, jar: Path | None, java: Path | None) -> SecondOpinion | None:
    """Prove that traces and reports can be written, and find TLC if it is wanted. Ends the program where that fails."""
    try:
        require_writable(out)
        named: set[Path] = set()
        for file in filter(None, files):
            require_file(file)
            if file.resolve() in named:
                fail(f"{file}: two reports cannot be written to one file")
            named.add(file.resolve())
        return SecondOpinion(jar, java) if tlc else None
    except (TlcMissing, OSError) as error:
        fail(str(error))


def say_unasked(opinion: SecondOpinion | None, reports: Iterable[TargetReport]) -> str:
    """Why TLC gave no opinion of the findings although it was wanted; empty if it did, or had nothing to give one of."""
    if opinion is None or not opinion.missing or not any(report.findings for report in reports):
        return ""
    return f"TLC was not asked about the findings: {opinion.missing}"
