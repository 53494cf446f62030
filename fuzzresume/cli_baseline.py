"""`fuzzresume baseline`: the findings that a team knows of, in a file of its own; and replaying all that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fuzzresume.campaign.known import (
    BaselineFileError,
    Healed,
    added,
    heal,
    key,
    read_baseline,
    write_baseline,
)
from fuzzresume.cli_files import OUT, traces_of, write_file
from fuzzresume.cli_run import workspace
from fuzzresume.contract.trace import Trace
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.plain_words import printable
from fuzzresume.report.terminal import plain
from fuzzresume.report.usage import fail

app = typer.Typer(no_args_is_help=True, help="Known findings in a file: a campaign lists them, and fails on new ones only.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The baseline file.")]


def known_of(paths: Sequence[Path]) -> list[Trace]:
    """The traces of baseline files. Ends the program at one that cannot be used."""
    try:
        return [trace for path in paths for trace in read_baseline(path)]
    except BaselineFileError as error:
        fail(str(error))


@app.command()
def update(
    file: File,
    findings: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FINDING...]", help=f"Ids, trace files or folders of traces. Default: {OUT}."),
    ] = None,
) -> None:
    """Add findings to the file, which is made if it is not there. What is known already stays as it is."""
    known = known_of([file]) if file.exists() else []
    # Before the first campaign nothing is known, and an empty file says so.
    named = findings or ([OUT] if any(OUT.rglob("*.json")) else [])
    found = [trace for trace in traces_of(named) if trace.found is not None]
    new = added(known, found)
    write_file(file, write_baseline([*known, *new]))
    for trace in new:
        plain().print(f"new  {say(trace)}")
    plain().print(f"{len(new)} new, {len(known)} known before: {file}")


@app.command()
def show(file: File) -> None:
    """List the findings of the file."""
    for trace in known_of([file]):
        plain().print(f"{say(trace)}\n  " + "; ".join(trace.words))


@app.command()
def prune(
    file: File,
    exact: Annotated[bool, typer.Option("--exact", help="Replay each on the versions that it recorded.")] = False,
) -> None:
    """Replay every finding of the file and take out those that are fixed. Exit code 3: some could not be run, and stay."""
    known = known_of([file])
    healed = replayed(known, exact=exact)
    kept = [one.trace for one in healed if one.word != "FIXED"]
    if len(kept) < len(known):
        write_file(file, write_baseline(kept))
    plain().print(f"{len(known) - len(kept)} taken out, {len(kept)} left: {file}")
    raise typer.Exit(Exit.UNDETERMINED if any(one.word == "CANNOT RUN" for one in healed) else Exit.OK)


def replayed(traces: Sequence[Trace], *, exact: bool) -> list[Healed]:
    """Replay them all, and print a line for each: FIXED, STILL or CANNOT RUN."""
    console, healed = plain(), []
    with workspace() as executor:
        for one in heal(executor, traces, exact=exact):
            said = say(replace(one.trace, packages=dict(one.packages)))
            console.print(f"{one.word:<10}  {said}" + (f"\n  {one.why}" if one.word == "CANNOT RUN" else ""))
            healed.append(one)
    counts = Counter(one.word for one in healed)
    console.print(", ".join(f"{counts[word]} {word.lower()}" for word in ("FIXED", "STILL", "CANNOT RUN")))
    return healed


def say(trace: Trace) -> str:
    """`langgraph FD-2dc830 a fork was not served its own answer (langgraph 1.2.9)`."""
    target, name = key(trace)
    version = "".join(f" ({package} {version})" for package, version in list(trace.packages.items())[:1])
    return printable(f"{target} {name} {trace.found.cls if trace.found else ''}{version}")
