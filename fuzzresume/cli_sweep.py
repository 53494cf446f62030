"""`fuzzresume sweep`: every crash state of a run, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.sweep.compare import barred, cheapest, compared, differences
from fuzzresume.campaign.sweep.result import Swept
from fuzzresume.campaign.sweep.sweeper import Sweeper
from fuzzresume.cli_files import require_file, write_file
from fuzzresume.cli_run import target_of, workspace
from fuzzresume.harness.sessions import MODES, Mode
from fuzzresume.harness.target import Target
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.sweep_json import sweep_json
from fuzzresume.report.sweep_terminal import print_sweep, progress_line
from fuzzresume.report.terminal import Screen, plain
from fuzzresume.report.usage import fail


def sweep(
    target: Annotated[str, typer.Argument(help="An adapter, such as langgraph or langgraph@1.2.9.")],
    option: Annotated[list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Set an option.")] = None,
    mode: Annotated[
        str | None, typer.Option(help=f"The way to die: {', '.join(MODES)}, or all to compare them. Default: the cheapest.")
    ] = None,
    second: Annotated[
        bool, typer.Option("--second", help="Die a second time too, at every point of each recovery.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="Write the sweep as JSON to this file.")] = None,
) -> None:
    """List every crash state of a run: its window, its frontier, what fires again, is lost or stuck, what a restart is."""
    chosen = target_of(target, option or [])
    require_file(json)
    ways, notes = ways_of(chosen, mode)
    console = plain()
    for note in notes:
        console.print(note)
    with workspace() as executor:
        sweeps = sweep_all(chosen, executor, ways, second)
    apart = differences(sweeps) if chosen.capabilities.deterministic else []
    print_sweep(console, sweeps[0])
    if mode == "all":
        for other in sweeps[1:]:
            console.print(f"{other.mode}: {other.points} points, {other.executions} commands, {other.seconds:.1f} s")
        console.print(agreement(chosen, sweeps, apart))
    code = exit_of(sweeps, apart)
    if json is not None:
        write_file(json, sweep_json(sweeps, apart, code))
    raise typer.Exit(code)


def ways_of(target: Target, mode: str | None) -> tuple[list[Mode], list[str]]:
    """The ways to die that were asked for, and why some of all are not among them. Ends the program for one it has not."""
    if mode is None:
        return [cheapest(target)], []
    if mode == "all":
        notes = [f"not {way}: {reason}" for way in MODES if (reason := barred(target, way))]
        return [way for way in (cheapest(target), *MODES) if not barred(target, way)], notes
    for way in MODES:
        if way == mode:
            if reason := barred(target, way):
                fail(f"--mode {mode}: {reason}")
            return [way], []
    fail(f"--mode {mode}: it is one of {', '.join(MODES)}, all")


def sweep_all(target: Target, executor: Executor, ways: Sequence[Mode], second: bool) -> list[Swept]:
    """Sweep by each way, once, with a line of progress on stderr; an interrupt ends it with what there is."""
    sweeps: list[Swept] = []
    with Screen(stderr=True).status("starting") as status:
        for way in dict.fromkeys(ways):
            sweeper = Sweeper(target, executor, way, lambda swept: status.update(progress_line(swept)))
            sweeps.append(sweeper.run(second=second))
            if sweeps[-1].interrupted:
                break
    return sweeps


def agreement(target: Target, sweeps: Sequence[Swept], apart: Sequence[str]) -> str:
    """Whether the ways to die agree, in a line for each point at which they do not."""
    if len(sweeps) < 2:
        return "there is no second way to die to compare with"
    if not target.capabilities.deterministic:
        return "not compared: this target does not pass the same points twice"
    names = ", ".join(one.mode for one in sweeps)
    if not apart:
        return f"{names} agree at all {compared(sweeps)} points"
    return "\n".join([f"{names} do not agree, which is a fault of the adapter or of fuzzresume:", *apart])


def exit_of(sweeps: Sequence[Swept], apart: Sequence[str]) -> Exit:
    """Where the ways to die differ nothing else can be trusted; then the worst of the sweeps."""
    if any(one.interrupted for one in sweeps):
        return Exit.INTERRUPTED
    if apart:
        return Exit.UNDETERMINED
    if any(one.violated for one in sweeps):
        return Exit.VIOLATED
    return Exit.UNDETERMINED if any(one.troubles or not one.points for one in sweeps) else Exit.OK
