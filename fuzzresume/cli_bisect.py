"""`fuzzresume bisect`: the release of a package that introduced or fixed a finding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from fuzzresume.campaign.bisect import Answer, Bisection, Probed, say_bisection
from fuzzresume.campaign.confirm import TIMES
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import diagnose
from fuzzresume.campaign.replay import same_finding
from fuzzresume.cli_files import trace_of
from fuzzresume.cli_run import workspace
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.trace import Trace
from fuzzresume.contract.words import say_violation
from fuzzresume.harness.attendant import WorkerError
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.pinned import exact_target, hang_up
from fuzzresume.harness.releases import NoReleases, releases, version_of
from fuzzresume.harness.sessions import Mode
from fuzzresume.harness.target import (
    Target,
    TargetError,
    known_requirements,
    package_of,
    parse_target,
    requirements_of,
    spec_in_registry,
)
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import Screen, plain
from fuzzresume.report.usage import fail


def bisect(
    finding: Annotated[Path, typer.Argument(metavar="FINDING", help="A finding's id or its trace file.")],
    package: Annotated[
        str | None, typer.Option(help="The package whose releases are tried. Default: the target's framework.")
    ] = None,
    good: Annotated[str | None, typer.Option(metavar="V", help="A version in which it does not show.")] = None,
    bad: Annotated[str | None, typer.Option(metavar="V", help="A version in which it shows.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="V", help="The oldest version. Default: the oldest that the target is made for.")
    ] = None,
    versions: Annotated[
        str | None, typer.Option(metavar="V,V…", help="Only these versions, whatever else was released.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Try every version, not only those that tell changes.")] = False,
    pre: Annotated[bool, typer.Option("--pre", help="Pre-releases too.")] = False,
) -> None:
    """Name the release that introduced or fixed a finding: it shows in some version tried (exit 1), in none (0), nobody
    can tell (3)."""
    trace = trace_of(finding)
    try:
        chosen = package_named(trace, package)
        said = said_of(good, bad)
        named = [version_of(text.strip()) for text in versions.split(",")] if versions is not None else []
        oldest = None if since is None else version_of(since)
        history = sorted(set(named)) or history_of(trace, chosen, said, oldest, pre=pre)
    except NoReleases as error:
        fail(str(error), Exit.UNDETERMINED)
    except TargetError as error:
        fail(str(error))
    if good is not None and bad is not None:
        history = [version for version in history if min(said) <= version <= max(said)]
    history = sorted({*history, *said})
    recorded = trace.packages.get(chosen)
    known = [version for version in history if version in said or str(version) == recorded]
    console = plain()
    with workspace(trace.workload) as executor, Screen(stderr=True).status("starting") as status:

        def probe(version: str) -> Probed:
            status.update(f"{chosen} {version} · {len(search.tried)} tried of {len(search.versions)}")
            return probed(executor, trace, chosen, version)

        search = Bisection([str(version) for version in history], probe)
        interrupted = False
        try:
            for version, word in said.items():
                if (answer := search.ask(str(version))) not in (word, "skip"):
                    fail(f"--{word} {version}: it is {answer}: {search.tried[str(version)].why}")
            search.search([str(version) for version in known], everything=everything)
        except KeyboardInterrupt:
            interrupted = True
    console.print(_heading(finding, trace))
    for one in search.versions:
        if one in search.tried:
            console.print(_row(chosen, one, search.tried[one]))
    if interrupted:
        console.print("interrupted: this is what was found until then")
    for line in say_bisection(search):
        console.print(line)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else exit_of(search))


def said_of(good: str | None, bad: str | None) -> dict[Version, Answer]:
    """What the user says of versions. Raises TargetError."""
    labels: list[tuple[Answer, str | None]] = [("good", good), ("bad", bad)]
    said: dict[Version, Answer] = {version_of(text): word for word, text in labels if text is not None}
    if good is not None and bad is not None and len(said) == 1:
        raise TargetError(f"{good} cannot be both good and bad")
    return said


def package_named(trace: Trace, package: str | None) -> str:
    """The package to bisect, spelled as the target declares it. Raises TargetError for one that the target does not use."""
    spec_in_registry(trace.target)
    declared = [package_of(line) for line in requirements_of(trace.target)]
    if not declared:
        raise TargetError(f"{trace.target} has no framework that could have another version")
    if package is None:
        return declared[0]
    used = list(dict.fromkeys([*declared, *trace.packages]))
    for name in used:
        if name.lower() == package.lower():
            return name
    raise TargetError(f"{trace.target} uses no package {package!r}; it uses {', '.join(used)}")


def history_of(trace: Trace, package: str, said: Iterable[Version], since: Version | None, *, pre: bool) -> list[Version]:
    """The releases to search: those that the target declares, reaching as far as the versions `said`. Raises NoReleases."""
    lines = [*requirements_of(trace.target), *known_requirements(trace.target)]
    declared = next((Requirement(line).specifier for line in lines if package_of(line) == package), SpecifierSet())
    given = [*said, *([] if since is None else [since])]
    kept = [str(one) for one in declared if all(one.contains(version, prereleases=True) for version in given)]
    if given and len(kept) < len(declared):
        dropped = {one.operator for one in declared if str(one) not in kept}
        kept += [f"<={max(given)}"] if dropped & {"<", "<="} else []
        kept += [f">={min(given)}"] if dropped - {"<", "<="} else []
    if since is not None:
        kept.append(f">={since}")
    return releases(package, SpecifierSet(",".join(kept)), pre=pre)


def probed(executor: Executor, trace: Trace, package: str, version: str) -> Probed:
    """What the trace shows on that version, in three replays that must agree. Nothing is left running."""
    try:
        target = target_at(trace, package, version)
        found = shown(executor, trace, target)
        beside = {name: one for name, one in target.packages.items() if name != package}
        return replace(found, beside=beside)
    except (TargetError, Unsupported, WorkerError, OSError) as error:
        # A worker's error carries its traceback, whose last line is the error.
        lines = str(error).strip().splitlines()
        return Probed("skip", lines[-1] if lines else type(error).__name__)
    finally:
        hang_up()


def target_at(trace: Trace, package: str, version: str) -> Target:
    """The trace's target with that version of a package. Raises any TargetError.

    What comes with a framework is what its requirements resolve to; another package is tried under the recorded framework.
    """
    framework = package_of(requirements_of(trace.target)[0])
    if package == framework:
        return parse_target(f"{trace.target}@{version}", trace.options)
    recorded = {framework: trace.packages[framework]} if framework in trace.packages else {}
    return exact_target(trace.target, {**recorded, package: version}, trace.options)


def shown(executor: Executor, trace: Trace, target: Target) -> Probed:
    """Replay the trace, in real processes where its store is a file. Raises Unsupported, WorkerError, OSError.

    A run that breaks the contract in another way before the last command ends there, and tells nothing. One that does so at
    the last command no longer shows what the trace shows.
    """
    mode: Mode = "forked" if target.capabilities.durable else "in-process"
    profile = NONE if trace.found is None else frozenset(trace.found.beyond)
    seen: list[str] = []
    instead = ""
    for _ in range(TIMES):
        done = executor.execute(target, trace.commands, mode, profile=profile)
        if done.violation is None:
            if done.stopped:
                return Probed("skip", done.stopped)
            continue
        found = diagnose(executor.reference, done.violation, profile, target)
        words = f"RR-{found.anomaly.property} {_line(say_violation(done.violation)[1])}"
        if trace.found is None or same_finding(found, trace.found):
            seen.append(words)
        elif done.sent < len(trace.commands):
            return Probed("skip", f"command {done.sent} shows something else first: {words}")
        else:
            instead = f"something else shows instead: {words}"
    if not seen:
        admitted = f"the contract admits all {len(trace.commands)} commands"
        return Probed("good", instead or admitted, another=bool(instead))
    if len(seen) < TIMES:
        return Probed("skip", f"flaky: shows in {len(seen)} of {TIMES} replays")
    return Probed("bad", seen[0])


def exit_of(search: Bisection) -> Exit:
    """1 it shows in some version, 0 in none, 3 nobody could tell."""
    answers = {search.tried[version].answer for version in search.answered}
    if not answers:
        return Exit.UNDETERMINED
    return Exit.VIOLATED if "bad" in answers else Exit.OK


def _line(words: str) -> str:
    """Frameworks' errors may have several lines."""
    return " ".join(words.split())


def _heading(file: Path, trace: Trace) -> str:
    if trace.found is None:
        return file.name
    return f"{trace.found.id} RR-{trace.found.property} {trace.found.cls}"


def _row(package: str, version: str, found: Probed) -> str:
    beside = ", ".join(f"{name} {one}" for name, one in found.beside.items())
    return f"{package} {version:<8} {found.answer:<5} {found.why}" + (f" · with {beside}" if beside else "")
