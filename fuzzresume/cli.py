"""The command line. Parses, calls, prints; every other thing is done elsewhere."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from fuzzresume import __version__, cli_race, cli_sweep, cli_tla
from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.confirm import Confirmer
from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.phases import PHASES
from fuzzresume.campaign.replay import replay_trace
from fuzzresume.campaign.second_opinion import SecondOpinion
from fuzzresume.campaign.shrink import shrink as shrink_trace
from fuzzresume.campaign.store import TraceFolder, require_writable
from fuzzresume.cli_files import require_file, trace_of, traces_of, write_file
from fuzzresume.cli_run import options_of, workspace
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.trace import dumps
from fuzzresume.contract.words import say_commands, say_explanation
from fuzzresume.formal.toolchain import TlcMissing
from fuzzresume.harness.target import TargetError, available, parse_target
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
app.command()(cli_sweep.sweep)
app.command()(cli_race.race)


def main() -> None:
    """Entry point of the `fuzzresume` script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt_once)
    try:
        app()
    except BrokenPipeError:
        sys.exit(Exit.UNDETERMINED)
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            # Whoever read us is gone; the exit code and the files still say what was found.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def interrupt_once(number: int, frame: object) -> None:
    """The first signal ends what runs, with everything found so far; later ones must not cut the report short."""
    for again in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(again, signal.SIG_IGN)
    raise KeyboardInterrupt


def seconds_of(text: str) -> float:
    """Read `90`, `60s`, `2m` or `1h`. Raises typer.BadParameter."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if match is None or float(match[1]) <= 0:
        raise typer.BadParameter(f"{text!r} is no duration; write 90, 60s, 2m or 1h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


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
    seed: Annotated[int, typer.Option(help="Same seed, same versions: same findings.")] = 0,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Pin an option.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the campaign as JSON to this file.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the traces of findings.")] = Path(".fuzzresume"),
    phases: Annotated[
        str, typer.Option(metavar="NAMES", help=f"Phases to go through, separated by commas. Default {','.join(PHASES)}.")
    ] = ",".join(PHASES),
    profile: Annotated[
        list[Path] | None, typer.Option(help="Known findings, a trace or a folder of them: the campaign looks past them.")
    ] = None,
    corpus: Annotated[list[Path] | None, typer.Option(help="Traces to try first, a file or a folder of them.")] = None,
    tlc: Annotated[bool, typer.Option("--tlc/--no-tlc", help="Ask TLC about every finding, where it is installed.")] = True,
    jar: cli_tla.Jar = None,
    java: cli_tla.Java = None,
) -> None:
    """Fuzz the recovery plane of one or more targets and report a verdict for each property."""
    seconds = seconds_of(max_time) if max_time is not None else (60.0 if max_runs is None else None)
    pinned = options_of(option or [])
    wanted = phases_of(phases)
    known, seeds = traces_of(profile or []), traces_of(corpus or [])
    try:
        chosen = [parse_target(text, pinned) for text in targets]
        require_writable(out)
        require_file(json)
        opinion = SecondOpinion(jar, java) if tlc else None
    except (TargetError, TlcMissing, OSError) as error:
        fail(str(error))
    budget = Budget(seconds / len(chosen) if seconds is not None else None, max_runs)
    console = Screen()
    reports: list[TargetReport] = []
    with workspace() as executor:
        for target in chosen:
            campaign = Campaign(
                target,
                pinned,
                executor,
                seed,
                budget,
                [Terminal(console)],
                Confirmer(executor),
                TraceFolder(out).save,
                opinion,
                wanted,
                known,
                seeds,
            )
            reports.append(campaign.run())
            if reports[-1].interrupted:
                break
    if opinion is not None and opinion.missing and any(report.findings for report in reports):
        console.print(f"TLC was not asked about the findings: {opinion.missing}", style="dim", markup=False, highlight=False)
    code = exit_code(reports)
    if json is not None:
        write_file(json, campaign_json(seed, reports, code))
    raise typer.Exit(code)


@app.command()
def shrink(
    trace: Annotated[Path, typer.Argument(help="A trace file, from wherever.")],
    to: Annotated[Path | None, typer.Option(help="Write the smaller trace to this file. Default: NAME.small.json.")] = None,
) -> None:
    """Make a trace as small as it gets: shrunk (exit 1, it still violates), nothing to shrink (0), cannot run (3)."""
    loaded = trace_of(trace)
    path = to or trace.with_name(f"{trace.name.removesuffix('.json')}.small.json")
    with workspace(loaded.workload) as executor:
        result = shrink_trace(executor, loaded)
    console = plain()
    if (finding := result.finding) is None:
        console.print(f"{trace.name}: {result.why}")
        raise typer.Exit(Exit.OK if result.why.startswith("the contract") else Exit.UNDETERMINED)
    write_file(path, dumps(finding.to_trace()))
    minimal = "1-minimal" if finding.minimal else "not minimal: the budget was used up"
    console.print(f"{finding.id} RR-{finding.property_name} {finding.title}")
    for i, line in enumerate(finding.words, 1):
        console.print(f"{i}. {line}")
    console.print(
        f"{len(loaded.commands)} commands → {len(finding.commands)}, {minimal}, {finding.executions} executions · "
        f"confirmed {finding.confirmed} · {path}"
    )
    raise typer.Exit(Exit.VIOLATED)


@app.command()
def replay(
    trace: Annotated[Path, typer.Argument(help="A trace file that a campaign wrote.")],
    record: Annotated[Path | None, typer.Option(help="Write the trace, with what was seen this time, to this file.")] = None,
) -> None:
    """Replay a trace in real processes: reproduces (exit 1), no longer reproduces (0), cannot run (3)."""
    loaded = trace_of(trace)
    with workspace(loaded.workload) as executor:
        result = replay_trace(executor, loaded)
    if record is not None and result.outcome != "cannot run":
        write_file(record, dumps(result.trace))
    console = plain()
    console.print(f"{trace.name}: {result.words}")
    raise typer.Exit({"reproduces": Exit.VIOLATED, "no longer reproduces": Exit.OK}.get(result.outcome, Exit.UNDETERMINED))


@app.command()
def show(trace: Annotated[Path, typer.Argument(help="A trace file.")]) -> None:
    """Print a trace in words."""
    loaded = trace_of(trace)
    console = plain()
    packages = ", ".join(f"{name} {version}" for name, version in loaded.packages.items())
    console.print(f"{loaded.target} · {packages}\noptions " + " ".join(f"{k}={v}" for k, v in loaded.options.items()))
    for i, line in enumerate(say_commands(loaded.workload, loaded.commands), 1):
        console.print(f"{i}. {line}")
    if (found := loaded.found) is not None:
        console.print(f"{found.id} RR-{found.property} {found.cls}\nexpected  {found.expected}\nobserved  {found.observed}")
        if found.explained_by:
            console.print(f"explained by {say_explanation(found.explained_by)}")
    raise typer.Exit(Exit.OK)


@app.command()
def targets() -> None:
    """List the targets: installed or missing, the command that installs them, their options and capabilities."""
    console = plain()
    for row in available():
        if row.version is None:
            console.print(f"{row.name}  missing\n  install  {row.install}\n  {row.error}")
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


def phases_of(text: str) -> tuple[str, ...]:
    """Read `tour,random`. Ends the program on a name that is no phase."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in PHASES:
            fail(f"--phases {text}: there is no phase {name!r}; they are {', '.join(PHASES)}")
    if not {"enumerate", "tour", "random", "race", "regress"} & set(names):
        fail(f"--phases {text}: nothing would be run; add one of enumerate, tour, random, race")
    return names
