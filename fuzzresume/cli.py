"""The command line. Parses, calls, prints; every other thing is done elsewhere."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from fuzzresume import (
    __version__,
    cli_baseline,
    cli_bisect,
    cli_check,
    cli_corpus,
    cli_environments,
    cli_matrix,
    cli_nightly,
    cli_race,
    cli_repro,
    cli_sweep,
    cli_tla,
    cli_trace,
)
from fuzzresume.campaign.campaign import Budget
from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.lookup import DATABASE
from fuzzresume.campaign.phases import PHASES
from fuzzresume.cli_baseline import known_of
from fuzzresume.cli_campaign import MOST_SEED, Setup, phases_of, prepare, say_unasked, targets_of, time_of
from fuzzresume.cli_corpus import opened
from fuzzresume.cli_files import OUT, traces_of
from fuzzresume.cli_outputs import Events, Html, Junit, Outputs, Sarif, Summary, known_files
from fuzzresume.cli_run import options_of, workspace
from fuzzresume.cli_signals import listen
from fuzzresume.cli_stdout import Unread, let_go, prepare_streams
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.harness.target import available, parse_target
from fuzzresume.report.account import Account
from fuzzresume.report.campaign_json import campaign_json
from fuzzresume.report.exit_codes import Exit, exit_code
from fuzzresume.report.terminal import Screen, Terminal, plain
from fuzzresume.report.usage import fail

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Find the interleaving that makes an agent framework's resume lie.",
    epilog="Exit codes: 0 nothing violated, 1 violated, 2 usage, 3 undetermined, 130 interrupted.",
)
app.add_typer(cli_tla.app, name="tla")
app.add_typer(cli_baseline.app, name="baseline")
app.add_typer(cli_corpus.app, name="corpus")
app.command()(cli_sweep.sweep)
app.command()(cli_race.race)
app.command()(cli_check.check_adapter)
app.command()(cli_matrix.matrix)
app.command()(cli_environments.prepare)
app.command()(cli_trace.shrink)
app.command()(cli_trace.replay)
app.command()(cli_trace.show)
app.command()(cli_repro.repro)
app.command()(cli_bisect.bisect)
app.command()(cli_nightly.nightly)


def main() -> None:
    """Entry point of the `fuzzresume` script."""
    prepare_streams()
    listen()
    try:
        app()
    except (BrokenPipeError, Unread):
        sys.exit(Exit.UNDETERMINED)
    except Exception:
        # Python's own exit code for this is 1, which here says that something is violated.
        traceback.print_exc()
        sys.exit(Exit.UNDETERMINED)
    finally:
        let_go()


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fuzzresume {__version__}")
        raise typer.Exit(Exit.OK)


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Find the interleaving that makes an agent framework's resume lie."""


@app.command()
def fuzz(
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="An adapter, such as langgraph or langgraph@1.2.9.")
    ],
    max_time: Annotated[
        str | None, typer.Option(help="Time for the whole campaign: 90, 60s, 2m, 1h. Default 60s without --max-runs.")
    ] = None,
    max_runs: Annotated[int | None, typer.Option(min=1, help="Runs per target, after which its campaign ends.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Same seed, same versions: same findings.")] = 0,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Pin an option.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the campaign as JSON to this file.")] = None,
    junit: Junit = None,
    sarif: Sarif = None,
    summary: Summary = None,
    html: Html = None,
    events: Events = None,
    out: Annotated[Path, typer.Option(help="Folder for the traces of findings.")] = OUT,
    phases: Annotated[
        str, typer.Option(metavar="NAMES", help=f"Phases to go through, separated by commas. Default {','.join(PHASES)}.")
    ] = ",".join(PHASES),
    profile: Annotated[
        list[Path] | None, typer.Option(help="Known findings, a trace or a folder of them: the campaign looks past them.")
    ] = None,
    baseline: Annotated[
        list[Path] | None, typer.Option(help="Known findings, a file that `fuzzresume baseline` keeps: as --profile.")
    ] = None,
    fail_on_fixed: Annotated[
        bool, typer.Option("--fail-on-fixed", help="Exit with 1 also where a known finding no longer reproduces.")
    ] = False,
    corpus: Annotated[list[Path] | None, typer.Option(help="Traces to try first, a file or a folder of them.")] = None,
    tlc: Annotated[bool, typer.Option("--tlc/--no-tlc", help="Ask TLC about every finding, where it is installed.")] = True,
    jar: cli_tla.Jar = None,
    java: cli_tla.Java = None,
) -> None:
    """Fuzz the recovery plane of one or more targets and report a verdict for each property."""
    seconds = time_of(max_time, max_runs)
    pinned = options_of(option or [])
    wanted = phases_of(phases)
    known, seeds = [*traces_of(profile or []), *known_of(baseline or [])], traces_of(corpus or [])
    if (known or seeds) and "regress" not in wanted:
        # Who names traces wants them tried, whatever other phases are wanted.
        wanted = ("regress", *wanted)
    known_in = known_files(profile or [])
    chosen, missing = targets_of(targets, pinned)
    outputs = Outputs(events, junit=junit, sarif=sarif, summary=summary, html=html)
    opinion = prepare(out, [json, *outputs.paths], tlc, jar, java)
    budget = Budget(seconds / max(len(chosen), 1) if seconds is not None else None, max_runs)
    console = Screen()
    for line in missing:
        plain(stderr=True).print(f"fuzzresume: {line}")
    reports: list[TargetReport] = []
    with opened(out / DATABASE, create=True) as book, workspace() as executor:
        recorder = book.recorder(pinned=pinned, phases=wanted, budget=budget, exit_code=exit_code)
        setup = Setup(seed, budget, out, opinion, wanted, known, seeds, [*outputs.begin(seed), recorder])
        for target in chosen:
            reports.append(setup.campaign(target, pinned, executor, Terminal(console)).run())
            if reports[-1].interrupted:
                break
    if unasked := say_unasked(opinion, reports):
        console.print(unasked, style="dim", markup=False, highlight=False)
    code = exit_code(reports, fixed=fail_on_fixed)
    if missing and code is Exit.OK:
        code = Exit.UNDETERMINED
    account = Account(seed, reports, code, missing, known_in)
    outputs.write(account, (json, lambda: campaign_json(seed, reports, code)))
    raise typer.Exit(code)


@app.command()
def targets() -> None:
    """List the targets: installed or missing, the command that installs them, their options and capabilities."""
    console = plain()
    for row in available():
        if row.version is None:
            state = "in an environment of its own" if row.apart else "missing"
            console.print(f"{row.name}  {state}\n  install  {row.install}\n  {row.error}")
            continue
        can = parse_target(row.name).capabilities
        options = "  ".join(f"{key}={'|'.join(values)}" for key, values in row.options.items())
        console.print(f"{row.name}  {row.version}\n  install  {row.install}\n  options, the default first  {options}")
        console.print(f"  fork  {can.fork or 'none'}\n  damage  {', '.join(can.tamper) or 'none'}")
        console.print(f"  racers  {', '.join(('processes', *can.units)) if can.durable else 'none: its store is in memory'}")


@app.command()
def explain(code: Annotated[str, typer.Argument(help="A property, such as RR-FD or FD.")]) -> None:
    """Say what a property means and what must happen for it to be judged."""
    name = code.upper().removeprefix("RR-")
    if name not in PROPERTIES:
        fail(f"there is no property {code!r}; the codes are {', '.join(p.code for p in PROPERTIES.values())}")
    found = PROPERTIES[name]
    plain().print(
        f"{found.code} {found.title}\nviolated when {found.violated}\njudged after {found.exercise}\nsource {found.source}"
    )
