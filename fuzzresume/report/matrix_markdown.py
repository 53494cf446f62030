"""A matrix as Markdown: the table, then a table for each target with what is behind its cells. A pure writer."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzresume.campaign.findings import options_text
from fuzzresume.campaign.matrix import Cell, Matrix, Row
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.report.matrix_words import say_bounds, say_depth, say_difference, say_evidence, say_paper, say_totals


def matrix_markdown(matrix: Matrix) -> bytes:
    """The file's bytes. Traces are named as they lie below the folder of traces; no timing is in it."""
    lines = ["# Frameworks by properties", "", f"`fuzzresume matrix` · {say_bounds(matrix)}", ""]
    lines += _table(["target", *PROPERTIES, "runs", "states", "pairs", "depth"], [_summary(row) for row in matrix.rows])
    lines += ["", _text(f"{say_totals(matrix.rows)}."), ""]
    lines += [line for row in matrix.rows for line in _section(row)]
    return "\n".join(lines).encode()


def _summary(row: Row) -> list[str]:
    if row.unusable:
        return [_text(row.target), *("unusable" for _ in PROPERTIES), *("-" for _ in range(4))]
    counts = (f"{reached}/{total}" for reached, total in (row.states, row.pairs))
    return [_text(row.target), *(_cell(cell) for cell in row.cells.values()), str(row.runs), *counts, say_depth(row)]


def _cell(cell: Cell) -> str:
    verdict = f"**{cell.verdict}**" if cell.verdict == "violated" else cell.verdict
    ids = " ".join(one.id for one in cell.evidence)
    return "<br>".join(filter(None, (verdict, ids, say_paper(cell))))


def _section(row: Row) -> list[str]:
    lines = [f"## {_text(row.target)}", ""]
    if row.unusable:
        return [*lines, f"Unusable: {_text(row.unusable)}", ""]
    packages = ", ".join(f"{name} {version}" for name, version in row.packages.items())
    facts = [packages, f"pinned {options_text(row.pinned)}" if row.pinned else "", f"{row.untried} pairs not tried yet"]
    lines += [_text(" · ".join(filter(None, facts))), ""]
    lines += _table(
        ["", "verdict", "behind it", "the paper", ""],
        [[name, cell.verdict, _behind(cell), _claim(cell), _text(say_difference(cell))] for name, cell in row.cells.items()],
    )
    troubles = [f"- trouble: {_text(words)}" for words in row.troubles]
    troubles += ["- interrupted: this is what was found until then"] if row.interrupted else []
    return [*lines, "", *troubles, *([""] if troubles else [])]


def _behind(cell: Cell) -> str:
    rules = [] if cell.evidence and cell.verdict != "documented" else [cell.why]
    return "<br>".join(_text(words) for words in [*rules, *map(say_evidence, cell.evidence)])


def _claim(cell: Cell) -> str:
    return "" if cell.paper is None else _text(f"{cell.paper.verdict}: {cell.paper.claim}")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_line(headings), _line(["---"] * len(headings)), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(words: str) -> str:
    """Words as they are: nothing in them is Markdown, and none of it ends a cell."""
    for special in ("\\", "|", "<", "*", "_", "`"):
        words = words.replace(special, f"\\{special}")
    return " ".join(words.split())
