"""The commands over traces: `shrink`, `replay` and `show`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from fuzzresume.campaign.replay import moved_versions, replay_trace
from fuzzresume.campaign.shrink import shrink as shrink_trace
from fuzzresume.cli_baseline import known_of, replayed
from fuzzresume.cli_files import OUT, trace_of, traces_of, write_file
from fuzzresume.cli_run import workspace
from fuzzresume.contract.trace import dumps
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import plain
from fuzzresume.report.trace_lines import trace_lines
from fuzzresume.report.usage import fail


def shrink(
    trace: Annotated[Path, typer.Argument(metavar="FINDING", help="A finding's id or a trace file, from wherever.")],
    to: Annotated[Path | None, typer.Option(help="Write the smaller trace to this file. Default: NAME.small.json.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Shrink it on the versions that it recorded.")] = False,
) -> None:
    """Make a trace as small as it gets: shrunk (exit 1, it still violates), nothing to shrink (0), cannot run (3)."""
    loaded = trace_of(trace)
    path = to or trace.with_name(f"{trace.name.removesuffix('.json')}.small.json")
    with workspace(loaded.workload) as executor:
        result = shrink_trace(executor, loaded, exact=exact)
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
    if moved := moved_versions(loaded.packages, finding.target.packages):
        console.print(f"on other versions than the trace's: {moved}")
    raise typer.Exit(Exit.VIOLATED)


def replay(
    findings: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FINDING]", help="A finding's id or a trace file; with --all several, or folders."),
    ] = None,
    record: Annotated[Path | None, typer.Option(help="Write the trace, with what was seen this time, to this file.")] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Replay on the versions that the trace recorded, whatever is installed.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help=f"Replay all that is named, by default all in {OUT}, a line for each.")
    ] = False,
    baseline: Annotated[list[Path] | None, typer.Option(help="With --all: the findings of this baseline file too.")] = None,
) -> None:
    """Replay a trace in real processes: reproduces (exit 1), no longer reproduces (0), cannot run (3).

    With --all: FIXED, STILL (exit 1 if there is one) or CANNOT RUN (3).
    """
    if every:
        _replay_all(findings or [], baseline or [], record, exact)
    if baseline:
        fail("--baseline goes with --all")
    if not findings or len(findings) > 1:
        fail("name one finding, or replay several with --all")
    loaded = trace_of(findings[0])
    with workspace(loaded.workload) as executor:
        result = replay_trace(executor, loaded, exact=exact)
    if record is not None and result.outcome != "cannot run":
        write_file(record, dumps(result.trace))
    console = plain()
    console.print(f"{loaded.found.id if loaded.found is not None else findings[0].name}: {result.words}")
    raise typer.Exit({"reproduces": Exit.VIOLATED, "no longer reproduces": Exit.OK}.get(result.outcome, Exit.UNDETERMINED))


def _replay_all(findings: Sequence[Path], baseline: Sequence[Path], record: Path | None, exact: bool) -> NoReturn:
    if record is not None:
        fail("--record takes one trace, not --all")
    known = known_of(baseline)
    named = findings or ([] if baseline else [OUT])
    healed = replayed([*known, *traces_of(named)], exact=exact)
    words = {one.word for one in healed}
    raise typer.Exit(Exit.VIOLATED if "STILL" in words else Exit.UNDETERMINED if "CANNOT RUN" in words else Exit.OK)


def show(trace: Annotated[Path, typer.Argument(metavar="FINDING", help="A finding's id or a trace file.")]) -> None:
    """Print a trace in words."""
    plain().print("\n".join(trace_lines(trace_of(trace))))
    raise typer.Exit(Exit.OK)
