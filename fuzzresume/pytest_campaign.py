"""A campaign for pytest: what is asked, and what it says as plain data, which workers of pytest-xdist can share."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import typer

from fuzzresume.campaign.campaign import Budget
from fuzzresume.campaign.events import Event, TargetReport
from fuzzresume.campaign.findings import Finding
from fuzzresume.campaign.store import require_writable, write_whole
from fuzzresume.cli_campaign import Setup, time_of
from fuzzresume.cli_run import workspace
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.pinned import hang_up
from fuzzresume.harness.target import NoEnvironment, Target, TargetError, parse_target, resolve, spec_in_registry


@dataclass(frozen=True, slots=True)
class Asked:
    """A campaign: an adapter or its name, pinned options, a workload (None: the default one) and bounds.

    `max_time` are seconds, or words such as `30s`; a minute where neither time nor runs are bounded.
    """

    adapter: str | Adapter
    options: Mapping[str, str]
    workload: Workload | None
    max_runs: int | None
    max_time: float | str | None
    seed: int
    out: Path

    @property
    def budget(self) -> Budget:
        """The bounds. Raises TargetError for what is none."""
        try:
            seconds = time_of(None if self.max_time is None else str(self.max_time), self.max_runs)
        except typer.BadParameter as error:
            raise TargetError(error.message) from error
        if self.max_runs is not None and self.max_runs < 1:
            raise TargetError(f"a campaign of {self.max_runs} runs shows nothing")
        return Budget(seconds, self.max_runs)


class Shown(msgspec.Struct, frozen=True):
    """One finding in words; `trace` is the file that it was saved in."""

    id: str
    title: str
    commands: list[str]
    expected: str
    observed: str
    confirmed: str
    trace: str

    def __str__(self) -> str:
        steps = "\n".join(f"{i}. {line}" for i, line in enumerate(self.commands, 1))
        saw = f"expected  {self.expected}\nobserved  {self.observed}"
        return f"{self.id} {self.title}\n{steps}\n{saw}\nconfirmed {self.confirmed} · trace {self.trace or 'not saved'}"


class Said(msgspec.Struct, frozen=True):
    """The verdict of one property, why, and the findings behind it."""

    verdict: str
    why: str
    findings: list[Shown] = []


class Told(msgspec.Struct, frozen=True):
    """What a campaign says of a target. `problem`: why there was none; `missing`: an environment could not be built."""

    target: str = ""
    verdicts: dict[str, Said] = {}
    troubles: list[str] = []
    problem: str = ""
    missing: bool = False

    def assert_holds(self, *names: str) -> None:
        """Raises AssertionError unless these properties hold, or keep the weaker rule that the framework documents.

        Without names: every property that the target can express. What was not exercised does not hold, and a property
        that is inapplicable is asked for in vain. Raises ValueError for a name that is none.
        """
        __tracebackhide__ = True
        wanted = [name.upper().removeprefix("RR-") for name in names]
        for name, asked in zip(wanted, names, strict=True):
            if name not in PROPERTIES:
                raise ValueError(f"there is no property {asked!r}; they are {', '.join(PROPERTIES)}")
        chosen = wanted or [name for name, said in self.verdicts.items() if said.verdict != "inapplicable"]
        broken = [name for name in chosen if self.verdicts[name].verdict not in ("holds", "documented")]
        if broken:
            raise AssertionError("\n\n".join(self.violated(name) for name in broken))
        if self.troubles:
            raise AssertionError(f"{self.target}: undetermined: {'; '.join(self.troubles)}")

    def violated(self, name: str) -> str:
        """What a property's test says: the verdict, and each finding with its trace."""
        said = self.verdicts[name]
        head = f"{PROPERTIES[name].code} {PROPERTIES[name].title}: {said.verdict} on {self.target}"
        return "\n".join([head, *map(str, said.findings)] if said.findings else [f"{head}: {said.why}"])


def complaint(targets: Iterable[str], asked: Asked) -> str:
    """What is wrong with targets and bounds, as far as that can be told at once; empty if nothing is."""
    try:
        for text in targets:
            spec_in_registry(text.partition("@")[0])
        _ = asked.budget
    except TargetError as error:
        return str(error)
    return ""


def fuzz(asked: Asked) -> Told:
    """Run the campaign; its findings are saved. Raises KeyboardInterrupt, with what was found until then saved too."""
    try:
        budget = asked.budget
        require_writable(asked.out)
        target = _target(asked)
        setup = Setup(asked.seed, budget, asked.out, opinion=None)
        with workspace(asked.workload) as executor:
            report = setup.campaign(target, asked.options, executor, _Silent()).run()
    except NoEnvironment as error:
        return Told(problem=str(error), missing=True)
    except (TargetError, OSError) as error:
        return Told(problem=str(error))
    finally:
        hang_up()
    if report.interrupted:
        raise KeyboardInterrupt
    return _told(report)


def once(asked: Asked, key: str, shared: Path | None) -> Told:
    """What the campaign says that all who share the folder know by `key`: who comes first runs it, the others wait."""
    if shared is None:
        return fuzz(asked)
    path = shared / hashlib.sha256(key.encode()).hexdigest()[:16]
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            write_whole(path, msgspec.json.encode(fuzz(asked)))
        return msgspec.json.decode(path.read_bytes(), type=Told)


class _Silent:
    """Nothing is shown while a campaign runs: pytest has the terminal."""

    def handle(self, event: Event) -> None:
        """Hear of it."""


def _target(asked: Asked) -> Target:
    if isinstance(asked.adapter, str) and ":" not in asked.adapter:
        return parse_target(asked.adapter, asked.options)
    try:
        adapter = resolve(asked.adapter) if isinstance(asked.adapter, str) else asked.adapter
    except (ImportError, AttributeError) as error:
        raise TargetError(f"{asked.adapter}: {type(error).__name__}: {error}") from error
    target = Target(adapter, asked.options)
    target.capabilities.keeper.ready()
    return target


def _told(report: TargetReport) -> Told:
    findings = {finding.id: finding for finding in report.findings}
    verdicts = {
        name: Said(verdict.verdict, verdict.why, [_shown(findings[one]) for one in verdict.findings if one in findings])
        for name, verdict in report.verdicts.items()
    }
    return Told(report.target.label, verdicts, list(report.troubles))


def _shown(finding: Finding) -> Shown:
    expected, observed = finding.expected_observed
    return Shown(
        finding.id,
        finding.title,
        finding.words,
        expected,
        observed,
        finding.confirmed,
        str(finding.trace or ""),
    )
