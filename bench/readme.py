"""The table of figures that README.md quotes, made from the last committed results: `python -m bench.readme`."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

from bench.mutants import ON
from bench.results import Row, number, rows_of
from bench.timing import MACHINE

RESULTS = Path(__file__).parent / "results" / "latest.json"
README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- figures -->\n", "<!-- /figures -->\n"

MUTANTS = ("runs to find", "executions to shrink", f"findings in {ON} runs, the most of any seed")
"""What is measured for each mutant; the table shows the slowest of them."""


def figures(rows: list[Row]) -> str:
    """Every figure that has a target, beside it and beside its alternative; of the mutants the slowest one. And how fast the
    machine was."""
    lines = ["| | figure | target | | beside it |", "|---|---|---|---|---|"]
    for row in _quoted(rows):
        value = number(row.value) if row.value is None else f"{number(row.value)} {row.unit}"
        other = f"{row.alternative}: {number(row.alternative_value)}" if row.alternative else ""
        target = met = ""
        if row.target is not None:
            target = f"{'at least' if row.target.direction == '>=' else 'at most'} {number(row.target.figure)}"
            met = "met" if row.met == "yes" else "missed"
        lines.append(f"| {row.name} | {value} | {target} | {met} | {other} |")
    return "\n".join(lines) + "\n"


def _quoted(rows: list[Row]) -> list[Row]:
    """The rows with a target and those of the machine, each name once; those of the mutants give way to the slowest."""
    told = [row for row in rows if row.target is not None or row.name.startswith(MACHINE)]
    targeted = list({(row.letter, row.name): row for row in reversed(told)}.values())[::-1]
    mutants = [row for row in targeted if row.letter == "b" and not row.name.startswith("langgraph")]
    slowest = [
        max((row for row in mutants if row.name.endswith(f": {what}")), key=lambda row: row.value or inf) for what in MUTANTS
    ]
    return [row for row in targeted if row not in mutants or row in slowest]


def main() -> None:
    """Put the table between its markers in README.md."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{START}{figures(rows_of(json.loads(RESULTS.read_text())))}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
