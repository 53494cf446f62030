"""`python -m bench [LETTERS]`: run benchmarks, print the table, write the JSON. Run it from the project's root."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.registry import BENCHMARKS
from bench.results import Row, read, table, write

RESULTS = Path("bench/results/latest.json")


def main(
    letters: Annotated[list[str] | None, typer.Argument(help="Which benchmarks; all of them when none is named.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions: does it run, not how fast.")] = False,
    update: Annotated[bool, typer.Option("--update", help="Keep the rows of other letters that are in the file.")] = False,
    json: Annotated[Path, typer.Option("--json", help="Where the figures go.")] = RESULTS,
) -> None:
    """Measure fuzzresume beside its alternatives. Exits 0 whether or not the targets are met, 2 for an unknown letter."""
    wanted = letters or list(BENCHMARKS)
    if unknown := [letter for letter in wanted if letter not in BENCHMARKS]:
        raise typer.BadParameter(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    old = [row for row in read(json) if row.letter not in wanted] if update else []
    rows: list[Row] = []
    console = Console(stderr=True)
    for letter in wanted:
        console.print(str(sys.modules[BENCHMARKS[letter].__module__].__doc__).split("\n")[0])
        rows += BENCHMARKS[letter](quick)
        # After each letter: a run that is cut short later has lost nothing, and `--update` goes on from there.
        write(sorted([*old, *rows], key=lambda row: row.letter), json, quick=quick)
    Console().print(table(rows))


if __name__ == "__main__":
    typer.run(main)
