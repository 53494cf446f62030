"""The table of figures that README.md quotes, made from the last committed results: `python -m bench.readme`."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

from bench.mutants import ON
from bench.results import Row, number, rows_of
from bench.timing import MACHINE

RESULTS = Path(__file__).parent / "results" / "latest.json"
FASTER = RESULTS.with_name("faster.json")
"""(c) to (f) of an earlier version on a faster machine."""

README = Path(__file__).parents[1] / "README.md"
MARKS = {RESULTS: ("<!-- figures -->\n", "<!-- /figures -->\n"), FASTER: ("<!-- faster -->\n", "<!-- /faster -->\n")}
"""Between which lines of README.md the figures of a file stand."""

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
    of_each = [[row for row in mutants if row.name.endswith(f": {what}")] for what in MUTANTS]
    slowest = [max(rows, key=lambda row: row.value or inf) for rows in of_each if rows]
    return [row for row in targeted if row not in mutants or row in slowest]


def main() -> None:
    """Put the tables between their marks in README.md."""
    text = README.read_text(encoding="utf-8")
    for results, (start, end) in MARKS.items():
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}{figures(rows_of(json.loads(results.read_text())))}{end}{after}"
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
