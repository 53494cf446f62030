"""`fuzzresume race`: how many effects fire when several answer, recover or fork at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fuzzresume.campaign.race_table import OVERS, WORKLOAD, Cell, broken, run_table, unserved
from fuzzresume.cli_files import require_file, write_file
from fuzzresume.cli_run import target_of, workspace
from fuzzresume.contract.commands import MOST_RACERS, UNITS
from fuzzresume.harness.env import Unsupported
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.race_table import race_json, race_table, say_dose
from fuzzresume.report.terminal import Screen, plain
from fuzzresume.report.usage import fail


def race(
    target: Annotated[str, typer.Argument(help="An adapter, such as langgraph or langgraph@1.2.9.")],
    option: Annotated[list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Set an option.")] = None,
    racers: Annotated[
        str, typer.Option("-k", "--racers", help=f"How many, 2 to {MOST_RACERS}, separated by commas.")
    ] = "2,4,8",
    gate: Annotated[str, typer.Option(help="How long the effect takes, in ms, separated by commas.")] = "0,20",
    jitter: Annotated[str, typer.Option(help="How far apart racers start, in ms, separated by commas.")] = "0,20",
    times: Annotated[int, typer.Option(min=1, help="Repetitions of each race.")] = 20,
    over: Annotated[str, typer.Option(help=f"What they race over: {', '.join(OVERS)}.")] = "answers",
    unit: Annotated[str, typer.Option(help=f"What a racer is: {', '.join(UNITS)}.")] = "processes",
    seed: Annotated[int, typer.Option(help="Draws how far apart racers start.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write the table as JSON to this file.")] = None,
) -> None:
    """Count the effects of racers that answer one question, recover one run or fork it at once, however they are timed.

    Held racers wait where their effect is about to fire until all are there; the others are let go. Exit code 0: one
    effect always, or a fork its own. 1: more, or another's. 3: a racer hung, or nobody was served.
    """
    counts = [int(number) for number in numbers_of("-k", racers)]
    if any(not 2 <= count <= MOST_RACERS for count in counts):
        fail(f"-k {racers}: a race has 2 to {MOST_RACERS} racers")
    doses = [(d / 1000, j / 1000) for d in numbers_of("--gate", gate) for j in numbers_of("--jitter", jitter)]
    for name, value, values in (("--over", over, OVERS), ("--unit", unit, UNITS)):
        if value not in values:
            fail(f"{name} {value}: it is one of {', '.join(values)}")
    chosen = target_of(target, option or [])
    require_file(json)
    cells: list[Cell] = []
    interrupted = False
    with workspace(WORKLOAD) as executor, Screen(stderr=True).status("starting") as status:

        def listen(cell: Cell) -> None:
            status.update(f"{cell.racers} racers · {say_dose(cell)} · {len(cell.effects)} of {times}")

        try:
            for cell in run_table(chosen, executor, counts, doses, times, seed, over, unit, listen):  # type: ignore[arg-type]
                cells.append(cell)
        except Unsupported as reason:
            fail(f"{chosen.label} cannot race: {reason}")
        except KeyboardInterrupt:
            interrupted = True
    found = broken(over, cells)  # type: ignore[arg-type]
    code = Exit.INTERRUPTED if interrupted else exit_of(cells, found)
    console = plain()
    console.print(race_table(cells))
    for line in conclusions(cells, found):
        console.print(f"{chosen.label}: {line}")
    if json is not None:
        write_file(json, race_json(chosen, over, unit, seed, cells, found, code))
    raise typer.Exit(code)


def exit_of(cells: Sequence[Cell], found: Mapping[str, str]) -> Exit:
    """Violated, or undetermined where racers hung or nobody was served, or fine."""
    if found:
        return Exit.VIOLATED
    return Exit.UNDETERMINED if unserved(cells) or any(cell.hung for cell in cells) else Exit.OK


def conclusions(cells: Sequence[Cell], found: Mapping[str, str]) -> list[str]:
    """What the table comes to, a line for each point."""
    lines = [f"RR-{name} violated: {words}" for name, words in found.items()]
    if hung := sum(cell.hung for cell in cells):
        lines.append(f"{hung} races hung")
    if missing := unserved(cells):
        lines.append(f"nobody was served in {missing} races")
    races = sum(len(cell.effects) for cell in cells)
    return lines or [f"{races} races, and in none of them more than is owed"]


def numbers_of(name: str, text: str) -> list[float]:
    """Read `2,4,8`. Ends the program on anything else."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or any(number < 0 for number in found):
        fail(f"{name} {text}: write numbers separated by commas, such as 2,4,8")
    return found
