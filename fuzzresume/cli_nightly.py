"""`fuzzresume nightly`: fuzz what a configuration names, every night; say what changed since the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from fuzzresume import cli_tla
from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.corpus.database import Corpus, CorpusError
from fuzzresume.campaign.events import Handler
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.nightly.config import ConfigError, Loaded, config_schema, find_config, load_config
from fuzzresume.campaign.nightly.night import Make, NightRun, NightRunning, Plan, Planned, alone
from fuzzresume.campaign.nightly.store import Night, Nights
from fuzzresume.campaign.phases import PHASES
from fuzzresume.cli_baseline import known_of
from fuzzresume.cli_campaign import MOST_SEED, Setup, prepare, say_unasked, seconds_of
from fuzzresume.cli_outputs import Events, Html, Junit, Outputs, Sarif, Summary, now
from fuzzresume.cli_run import workspace
from fuzzresume.contract.trace import Trace
from fuzzresume.harness.target import Target, TargetError, UnknownTarget, spec_in_registry
from fuzzresume.report.account import Account
from fuzzresume.report.exit_codes import Exit, exit_code
from fuzzresume.report.html_history import MOST
from fuzzresume.report.nightly_json import nightly_json
from fuzzresume.report.nightly_markdown import nightly_markdown
from fuzzresume.report.nightly_page import nightly_page
from fuzzresume.report.nightly_result import NightResult, before, result_of
from fuzzresume.report.nightly_terminal import print_night
from fuzzresume.report.terminal import Screen, Terminal, plain
from fuzzresume.report.usage import fail


def _schema(wanted: bool) -> None:
    if wanted:
        typer.echo(config_schema(), nl=False)
        raise typer.Exit(Exit.OK)


def nightly(
    config: Annotated[
        Path | None,
        typer.Option(help="The configuration. Default: the nearest fuzzresume.toml, or pyproject.toml that has one."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin a new night, even if the last one is not over.")] = False,
    max_time: Annotated[str | None, typer.Option(help="Time for the whole night: 90, 60s, 2m, 1h.")] = None,
    max_runs: Annotated[int | None, typer.Option(min=1, help="Runs of each target, after which its campaign ends.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=MOST_SEED, help="The seed of the night. Default: its number.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="The baseline file: what it names does not fail.")] = None,
    database: Annotated[Path | None, typer.Option("--db", metavar="FILE", help="The corpus database.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the traces of findings.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the night as JSON to this file.")] = None,
    junit: Junit = None,
    sarif: Sarif = None,
    summary: Summary = None,
    html: Html = None,
    events: Events = None,
    tlc: Annotated[
        bool | None, typer.Option("--tlc/--no-tlc", help="Ask TLC about every finding, where it is installed.")
    ] = None,
    jar: cli_tla.Jar = None,
    java: cli_tla.Java = None,
    schema: Annotated[
        bool, typer.Option("--schema", callback=_schema, is_eager=True, help="Print the JSON schema of the configuration.")
    ] = False,
) -> None:
    """Fuzz what a configuration names, within one time for all of it, and say what changed since the last night.

    A night that was killed or interrupted is gone on with by the next call. Options come before what the configuration
    says. Exit code 1: something fails that the baseline does not name. 3: undetermined. 130: interrupted.
    """
    began = monotonic()
    loaded = _load(config)
    said, files = loaded.config, loaded.config.outputs
    database = database or loaded.path(said.database)
    baseline = _file(loaded, baseline, said.baseline)
    known = _known(baseline)
    plan = plan_of(loaded, max_time, max_runs, seed, known)
    json, summary, html = (
        _file(loaded, json, files.json),
        _file(loaded, summary, files.summary),
        _file(loaded, html, files.html),
    )
    outputs = Outputs(
        _file(loaded, events, files.events), junit=_file(loaded, junit, files.junit), sarif=_file(loaded, sarif, files.sarif)
    )
    out = out or loaded.path(said.out)
    opinion = prepare(out, [json, summary, html, *outputs.paths], said.tlc if tlc is None else tlc, jar, java)
    console = Screen()
    try:
        with alone(database), Corpus(database) as corpus:
            nights = Nights(corpus, lambda: datetime.now(UTC))
            night = _begin(nights, plan, console, fresh=fresh)
            streams = outputs.begin(night.seed)
            with workspace() as executor:
                setup = Setup(night.seed, Budget(), out, opinion, plan.phases, known)
                work = NightRun(nights, night, plan, _maker(setup, executor, console, streams), exit_code, began)
                broken = _run(work, loaded)
            result = result_of(nights, night)
            code = Exit.USAGE if broken else result.code(said.fail_on, interrupted=work.interrupted)
            if not work.interrupted and not broken:
                result = result.finished(nights, code)
            account = Account(night.seed, work.reports, code, result.unusable, _named(known, baseline))
            try:
                if unasked := say_unasked(opinion, work.reports):
                    console.print(unasked, style="dim", markup=False, highlight=False)
                print_night(console, result)
            finally:  # also where nobody reads the terminal any more
                outputs.write(
                    account,
                    (json, lambda: nightly_json(result, code)),
                    (summary, lambda: nightly_markdown(account, result)),
                    (html, lambda: nightly_page(account, now(), [*_history(nights, night), result])),
                )
    except (NightRunning, CorpusError) as error:
        fail(str(error))
    if broken:
        fail(broken)
    raise typer.Exit(code)


def _known(baseline: Path | None) -> list[Trace]:
    """What the team knows of; nothing before it has a baseline. Ends the program for one that cannot be used."""
    if baseline is not None and not baseline.exists():
        plain(stderr=True).print(f"fuzzresume: nothing is known yet: there is no {baseline}")
        return []
    return known_of([baseline]) if baseline is not None else []


def plan_of(loaded: Loaded, max_time: str | None, max_runs: int | None, seed: int | None, known: Sequence[Trace]) -> Plan:
    """What the configuration asks for where the command line says nothing. Ends the program for a wrong target."""
    said = loaded.config
    time = max_time or (None if max_runs is not None and said.time is None else said.duration)
    targets = [
        Planned(each.label, each.name, each.options, None if each.time is None else seconds_of(each.time), each.runs)
        for each in said.tables
    ]
    for planned in targets:
        try:
            spec_in_registry(planned.name.partition("@")[0])
        except UnknownTarget as error:
            fail(f"{loaded.file}: targets: {error}")
    return Plan(
        targets,
        None if time is None else seconds_of(time),
        max_runs or said.runs,
        said.seed if seed is None else seed,
        tuple(name for name in PHASES if said.phases is None or name in said.phases),
        known,
    )


def _load(config: Path | None) -> Loaded:
    try:
        return load_config(config or find_config(Path.cwd()))
    except ConfigError as error:
        fail(str(error))


def _maker(setup: Setup, executor: Executor, console: Screen, streams: Sequence[Handler]) -> Make:
    """How a night's campaigns are made. What the streams have told is recorded already."""

    def make(target: Target, planned: Planned, budget: Budget, traces: Sequence[Trace], recorder: Handler) -> Campaign:
        mine = replace(setup, budget=budget, corpus=traces, listeners=[recorder, *streams])
        return mine.campaign(target, planned.options, executor, Terminal(console))

    return make


def _run(work: NightRun, loaded: Loaded) -> str:
    """Work on the night; returns why it cannot be recorded, if it cannot. Ends the program for a slip of the plan."""
    try:
        work.run()
    except CorpusError as error:
        return str(error)
    except TargetError as error:
        fail(f"{loaded.file}: targets: {error}")
    return ""


def _begin(nights: Nights, plan: Plan, console: Screen, *, fresh: bool) -> Night:
    """The night to work on. One that was cut short is gone on with, and this is said."""
    earlier = nights.all()
    night = nights.begin(plan.digest, [planned.label for planned in plan.targets], plan.seed, fresh=fresh)
    if night in earlier:
        done = len(plan.targets) - len(nights.unfinished(night))
        console.print(f"night {night.name} is gone on with: {done} of {len(plan.targets)} targets are done", highlight=False)
    return night


def _file(loaded: Loaded, option: Path | None, key: str | None) -> Path | None:
    """A file that the command line names, else the configuration; None where neither does."""
    return option or (None if key is None else loaded.path(key))


def _named(known: Sequence[Trace], file: Path | None) -> dict[str, Path]:
    """Where each known finding is written down."""
    return {} if file is None else {trace.found.id: file for trace in known if trace.found is not None}


def _history(nights: Nights, night: Night) -> list[NightResult]:
    """The nights before, as many as a page shows beside this one."""
    return [result_of(nights, each) for each in before(nights, night)[1 - MOST :]]
